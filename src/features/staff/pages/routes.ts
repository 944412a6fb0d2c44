/** The pages and forms of this feature. */

import type { FeaturePages } from '../../../pages/kit/server.ts';
import { signInRoutes } from './gate/sign-in.ts';
import { passkeyRoutes } from './passkeys.ts';
import { joinRoutes } from './gate/join.ts';
import { staffRoutes } from './people.ts';
import { accountRoutes } from './account.ts';
import { auditRoutes } from './actions.ts';

export const staffPages: FeaturePages = {
  routes: [
    ...signInRoutes,
    ...passkeyRoutes,
    ...joinRoutes,
    ...staffRoutes,
    ...accountRoutes,
    ...auditRoutes,
  ],
};
