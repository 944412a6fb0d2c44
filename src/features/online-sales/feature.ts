import type { Feature } from '../../feature.ts';

export const onlineSalesFeature: Feature = {
  name: 'online-sales',
  loadPages: async () => (await import('./pages/routes.ts')).onlineSalesPages,
};
