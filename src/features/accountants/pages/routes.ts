/** The pages and forms of this feature. */

import type { FeaturePages } from '../../../pages/kit/server.ts';
import { accountantRoutes } from './settings.ts';
import { monthRoutes } from './open.ts';

export const accountantsPages: FeaturePages = {
  routes: [...accountantRoutes, ...monthRoutes],
};
