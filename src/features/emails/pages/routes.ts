/** The pages and forms of this feature. */

import type { FeaturePages } from '../../../pages/kit/server.ts';
import { emailRoutes } from './list.ts';
import { emailSettingsRoutes } from './settings/emails.ts';
import { textSettingsRoutes } from './settings/wording.ts';

export const emailsPages: FeaturePages = {
  routes: [...emailRoutes, ...emailSettingsRoutes, ...textSettingsRoutes],
};
