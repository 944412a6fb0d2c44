import type { Feature } from '../../feature.ts';
import { addLocationCommands } from './cli/location.ts';

export const shopSettingsFeature: Feature = {
  name: 'shop-settings',
  addCommands: addLocationCommands,
  loadPages: async () => (await import('./pages/routes.ts')).shopSettingsPages,
};
