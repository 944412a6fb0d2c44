import type { Feature } from '../../feature.ts';

export const cardPagesFeature: Feature = {
  name: 'card-pages',
  loadPages: async () => (await import('./pages/routes.ts')).cardPagesPages,
};
