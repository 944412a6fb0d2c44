import type { Feature } from '../../feature.ts';

export const recipientFeature: Feature = {
  name: 'recipient',
  loadPages: async () => (await import('./pages/routes.ts')).recipientPages,
};
