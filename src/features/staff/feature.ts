import type { Feature } from '../../feature.ts';
import { addStaffCommands } from './cli/staff.ts';

export const staffFeature: Feature = {
  name: 'staff',
  addCommands: addStaffCommands,
  loadPages: async () => (await import('./pages/routes.ts')).staffPages,
};
