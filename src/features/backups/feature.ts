import type { Feature } from '../../feature.ts';
import { addRestoreCommand } from './cli/restore.ts';

export const backupsFeature: Feature = {
  name: 'backups',
  addCommands: addRestoreCommand,
  loadPages: async () => (await import('./pages/routes.ts')).backupsPages,
};
