/** The reports from the books, one page and one CSV file each. */

import { activityRoutes } from './activity.ts';
import { agingRoutes } from './aging.ts';
import { breakageRoutes } from './breakage.ts';
import { journalRoutes } from './journal.ts';
import { liabilityRoutes } from './liability.ts';
import type { StaffRoute } from '../../../pages/kit/route.ts';

export const reportRoutes: readonly StaffRoute[] = [
  ...liabilityRoutes,
  ...journalRoutes,
  ...agingRoutes,
  ...activityRoutes,
  ...breakageRoutes,
];
