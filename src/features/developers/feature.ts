import type { Feature } from '../../feature.ts';
import { addTokenCommands } from './cli/token.ts';

export const developersFeature: Feature = {
  name: 'developers',
  addCommands: addTokenCommands,
  loadPages: async () => ({ routes: (await import('./pages/developers.ts')).developerRoutes }),
};
