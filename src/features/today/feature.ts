import type { Feature } from '../../feature.ts';

export const todayFeature: Feature = {
  name: 'today',
  loadPages: async () => (await import('./pages/routes.ts')).todayPages,
};
