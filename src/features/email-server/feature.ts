import type { Feature } from '../../feature.ts';

export const emailServerFeature: Feature = {
  name: 'email-server',
  loadPages: async () => ({ routes: (await import('./pages/email-server.ts')).emailServerRoutes }),
};
