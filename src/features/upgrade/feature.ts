import type { Feature } from '../../feature.ts';
import { addUpgradeCommand } from './cli/upgrade.ts';

export const upgradeFeature: Feature = {
  name: 'upgrade',
  addCommands: addUpgradeCommand,
  loadPages: async () => ({ routes: (await import('./pages/versions.ts')).versionRoutes }),
};
