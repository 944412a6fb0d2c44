import type { Feature } from '../../feature.ts';
import { addSetupCommands } from './cli/setup.ts';

export const setupFeature: Feature = {
  name: 'setup',
  addCommands: addSetupCommands,
  loadPages: async () => (await import('./pages/routes.ts')).setupPages,
};
