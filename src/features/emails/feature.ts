import type { Feature } from '../../feature.ts';
import { addEmailCommands } from './cli/email.ts';

export const emailsFeature: Feature = {
  name: 'emails',
  addCommands: addEmailCommands,
  loadPages: async () => (await import('./pages/routes.ts')).emailsPages,
};
