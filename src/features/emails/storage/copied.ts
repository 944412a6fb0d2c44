/**
 * The emails that were due when a backup was made, which the machine before may have sent since: they wait until an owner
 * decides.
 */

import { heldMs } from '../../../core/domain/held.ts';
import { execute, one, sql, toNumber, type Script } from '../../../database/sql/sql.ts';

/** @param now in ms: emails that are scheduled for later are sent at their time. */
export function* holdCopiedEmails(storeId: number, now: number): Script<void> {
  yield* execute(sql`
    update email_deliveries set next_at = next_at + ${heldMs}, lease = null
    where store_id = ${storeId} and send_at <= ${now} and next_at < ${heldMs}`);
}

export function* countCopiedEmails(storeId: number): Script<number> {
  const { held } = yield* one(sql<{ held: bigint }>`
    select count(*) as held from email_deliveries where store_id = ${storeId} and next_at >= ${heldMs}`);
  return toNumber(held);
}

export function* sendCopiedEmails(storeId: number): Script<void> {
  yield* execute(sql`
    update email_deliveries set next_at = next_at - ${heldMs}
    where store_id = ${storeId} and next_at >= ${heldMs}`);
}

/** @param response says why they were not sent. */
export function* dropCopiedEmails(
  storeId: number,
  { now, response }: { readonly now: number; readonly response: string },
): Script<void> {
  yield* execute(sql`
    update email_deliveries set state = 'cancelled', next_at = null, code = null, ended_at = ${now},
      response = ${response}
    where store_id = ${storeId} and next_at >= ${heldMs}`);
}
