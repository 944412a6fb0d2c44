/** The deliveries to webhooks that were due when a backup was made, as `emails/storage/copied.ts`. */

import { heldMs } from '../../../core/domain/held.ts';
import { execute, one, sql, toNumber, type Script } from '../../../database/sql/sql.ts';

export function* holdCopiedDeliveries(storeId: number): Script<void> {
  yield* execute(sql`
    update webhook_deliveries set next_at = next_at + ${heldMs}, lease = null
    where store_id = ${storeId} and next_at < ${heldMs}`);
}

export function* countCopiedDeliveries(storeId: number): Script<number> {
  const { held } = yield* one(sql<{ held: bigint }>`
    select count(*) as held from webhook_deliveries where store_id = ${storeId} and next_at >= ${heldMs}`);
  return toNumber(held);
}

export function* sendCopiedDeliveries(storeId: number): Script<void> {
  yield* execute(sql`
    update webhook_deliveries set next_at = next_at - ${heldMs}
    where store_id = ${storeId} and next_at >= ${heldMs}`);
}

/** They stay in the list of deliveries, where each can be requested again. @param failure says why they were not sent. */
export function* dropCopiedDeliveries(storeId: number, failure: string): Script<void> {
  yield* execute(sql`
    update webhook_deliveries set status = 'dead', next_at = null, lease = null, failure = ${failure}
    where store_id = ${storeId} and next_at >= ${heldMs}`);
}
