/** Background work in one transaction, whose parts the service runs one after another. */

import type { Context } from '../../src/core/storage/context.ts';
import { expireHolds as expireFound, findExpiredHolds } from '../../src/core/money/service/hold.ts';
import { appendNewEntries as appendOf } from '../../src/features/proofs/service/log.ts';
import {
  outdatedBudgets,
  outdatedCodes,
  outdatedRecords,
  outdatedStockCodes,
  type Outdated,
} from '../../src/jobs/retention.ts';
import {
  claimEmails as claimFound,
  listDueEmails,
  type ClaimedEmail,
} from '../../src/features/emails/storage/queue.ts';
import { listOwnersToAppend, listOwnersToBegin } from '../../src/core/log/storage/log-cursor.ts';
import type { Script } from '../../src/database/sql/sql.ts';

/** Closes up to `limit` expired holds of all stores. @returns whether there can be more. */
export function* expireHolds(ctx: Context, limit: number): Script<boolean> {
  return (yield* expireFound(ctx, yield* findExpiredHolds(ctx, limit))) === limit;
}

function* erase<Row extends { readonly storeId: number }>(
  kind: Outdated<Row>,
  limit: number,
): Script<boolean> {
  return (yield* kind.erase(yield* kind.find(limit))) === limit;
}

/** Erases up to `limit` idempotency records, and up to `limit` refilled budgets. @returns whether there can be more. */
export function* eraseOutdated(ctx: Context, limit: number): Script<boolean> {
  const hasRecords = yield* erase(outdatedRecords(ctx), limit);
  const hasBudgets = yield* erase(outdatedBudgets(ctx), limit);
  return hasRecords || hasBudgets;
}

/** Erases the codes of up to `limit` batches. @returns whether there can be more. */
export function* eraseCodesOfBatches(ctx: Context, limit: number): Script<boolean> {
  return yield* erase(outdatedCodes(ctx), limit);
}

export function* eraseCodesOfStocks(ctx: Context, limit: number): Script<boolean> {
  return yield* erase(outdatedStockCodes(ctx), limit);
}

/** Claims up to `limit` due emails of all stores. */
export function* claimEmails({
  limit,
  ...claim
}: Parameters<typeof claimFound>[1] & { readonly limit: number }): Script<readonly ClaimedEmail[]> {
  return yield* claimFound(yield* listDueEmails(claim.now, limit), claim);
}

/** At most 32 owners of cursors. */
function* listOwners(): Script<readonly number[]> {
  const toBegin = yield* listOwnersToBegin(32);
  return toBegin.length > 0 ? toBegin.slice(0, 32) : (yield* listOwnersToAppend(32)).slice(0, 32);
}

/** Whether there are entries that a log does not contain, or a cursor that has to begin. */
export function* hasEntriesToAppend(): Script<boolean> {
  return (yield* listOwners()).length > 0;
}

/** Appends new entries of all stores to their logs. @returns whether there can be more. */
export function* appendNewEntries(ctx: Context): Script<boolean> {
  const owners = yield* listOwners();
  return owners.length > 0 && (yield* appendOf(ctx, owners)) !== 'nothing';
}
