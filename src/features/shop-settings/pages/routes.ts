/** The pages and forms of this feature. */

import type { FeaturePages } from '../../../pages/kit/server.ts';
import { shopSettingsRoutes } from './shop.ts';
import { limitSettingsRoutes } from './limits.ts';
import { locationSettingsRoutes } from './locations.ts';

export const shopSettingsPages: FeaturePages = {
  routes: [...shopSettingsRoutes, ...limitSettingsRoutes, ...locationSettingsRoutes],
};
