/** The pages and forms of this feature. */

import type { FeaturePages } from '../../../pages/kit/server.ts';
import { setupRoutes } from './setup.ts';
import { restoreRoutes } from './restore.ts';

export const setupPages: FeaturePages = {
  routes: [...setupRoutes, ...restoreRoutes],
};
