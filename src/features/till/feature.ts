import type { Feature } from '../../feature.ts';

export const tillFeature: Feature = {
  name: 'till',
  loadPages: async () => (await import('./pages/routes.ts')).tillPages,
};
