import type { Feature } from '../../feature.ts';

export const accountantsFeature: Feature = {
  name: 'accountants',
  loadPages: async () => (await import('./pages/routes.ts')).accountantsPages,
};
