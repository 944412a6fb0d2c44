import type { Feature } from '../../feature.ts';

export const walletsFeature: Feature = {
  name: 'wallets',
  loadPages: async () => (await import('./pages/routes.ts')).walletsPages,
};
