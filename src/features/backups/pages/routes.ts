/** The pages and forms of this feature. */

import type { FeaturePages } from '../../../pages/kit/server.ts';
import { restoredRoutes } from './restored.ts';
import { backupSettingsRoutes } from './backups.ts';

export const backupsPages: FeaturePages = {
  routes: [...restoredRoutes, ...backupSettingsRoutes],
};
