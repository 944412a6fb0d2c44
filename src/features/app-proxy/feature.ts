import type { Feature } from '../../feature.ts';
import { addAppProxyCommand } from './cli/app-proxy.ts';

export const appProxyFeature: Feature = {
  name: 'app-proxy',
  addCommands: addAppProxyCommand,
  loadPages: async () => ({ routes: (await import('./pages/proxy.ts')).proxySettingsRoutes }),
};
