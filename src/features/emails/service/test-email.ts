/** The limit on test emails, which a person sends to the own address: a budget per hour that refills continuously. */

import type { Context } from '../../../core/storage/context.ts';
import type { StaffMember } from '../../../core/staff/domain/staff.ts';
import { findRefilledAt, type LookupCaller } from '../../../core/stores/storage/lookup-throttle.ts';
import type { Script } from '../../../database/sql/sql.ts';
import { lookupPeriodMs, recordFailedLookup } from '../../../core/cards/service/lookup-throttle.ts';

/** Test emails of one person per hour. */
const perHour = 10;

/** Uses a share of the person's budget. @returns 0, or the ms until the next test email is allowed. */
export function* reserveTestEmail(
  ctx: Context,
  { storeId, id }: Pick<StaffMember, 'storeId' | 'id'>,
): Script<number> {
  const caller: LookupCaller = { storeId, caller: `test-email:${id}` };
  const now = ctx.clock.now();
  if ((yield* recordFailedLookup(caller, { now, perHour })) !== undefined) return 0;
  const refilledAt = (yield* findRefilledAt(caller)) ?? now;
  return Math.max(1, refilledAt - now - (lookupPeriodMs - Math.floor(lookupPeriodMs / perHour)));
}
