import type { Feature } from '../../feature.ts';

export const batchesFeature: Feature = {
  name: 'batches',
  loadPages: async () => ({ routes: (await import('./pages/list.ts')).batchRoutes }),
};
