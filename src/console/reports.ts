/** The reports from the books, one page and one CSV file each. */

import { activityRoutes } from './report-activity.ts';
import { agingRoutes } from './report-aging.ts';
import { breakageRoutes } from './report-breakage.ts';
import { journalRoutes } from './report-journal.ts';
import { liabilityRoutes } from './report-liability.ts';
import type { StaffRoute } from './route.ts';

export const reportRoutes: readonly StaffRoute[] = [
  ...liabilityRoutes,
  ...journalRoutes,
  ...agingRoutes,
  ...activityRoutes,
  ...breakageRoutes,
];
