/**
 * The movements of payments at Stripe. A balance transaction does not name its payout, so the transactions of each automatic
 * payout are listed as well (https://docs.stripe.com/api/balance_transactions/list). Manual payouts have no list.
 */

import type { Static } from 'typebox';
import type { ProviderMovementPage } from '../domain/payment.ts';
import { mapOutcome, type CallOutcome } from './provider-call.ts';
import { movementsOf, type balancePage } from './stripe-objects.ts';

const pageSize = 50;
const secondMs = 1_000;
/** More payouts of a few days are not read. */
const payoutsMax = 100;

/** `payout`: the transactions of a payout are listed; null: those since an instant. `waiting`: the payouts after it. */
type Position = {
  readonly payout: string | null;
  readonly after: string | null;
  readonly waiting: readonly string[];
};

const part = /^\w{1,255}$/;

/** A cursor has the payout, the last transaction, and the payouts that are listed later. */
function positionOf(cursor: string | null): Position | undefined {
  if (cursor === null) return { payout: null, after: null, waiting: [] };
  const [payout = '', after = '', ...waiting] = cursor.split(' ', payoutsMax + 2);
  const isValid = [payout, after].every((each) => each === '' || part.test(each));
  return isValid && waiting.every((each) => part.test(each))
    ? { payout: payout === '' ? null : payout, after: after === '' ? null : after, waiting }
    : undefined;
}

function cursorOf({ payout, after, waiting }: Position): string {
  return [payout ?? '', after ?? '', ...waiting].join(' ');
}

/** @param get reads the balance transactions that have parameters. */
export async function readStripeMovements(
  get: (parameters: Readonly<Record<string, string>>) => Promise<CallOutcome<Static<typeof balancePage>>>,
  { since, cursor }: { readonly since: number; readonly cursor: string | null },
): Promise<CallOutcome<ProviderMovementPage>> {
  const position = positionOf(cursor);
  if (!position) return { kind: 'rejected', detail: 'the cursor is not valid', status: 400 };
  const { payout, after } = position;
  const page = await get({
    limit: String(pageSize),
    'expand[]': 'data.source',
    ...(payout === null ? { 'created[gte]': String(Math.floor(since / secondMs)) } : { payout }),
    ...(after !== null && { starting_after: after }),
  });
  return mapOutcome(page, ({ data, has_more: hasMore }) => {
    const movements = data.flatMap((each) => movementsOf(each, payout));
    const payouts = payout === null ? movements.flatMap(({ payoutId }) => payoutId ?? []) : [];
    const waiting = [...new Set([...position.waiting, ...payouts])].slice(0, payoutsMax);
    const last = data.at(-1)?.id;
    if (hasMore && last !== undefined) return { movements, next: cursorOf({ payout, after: last, waiting }) };
    const [following, ...rest] = waiting;
    const next = following === undefined ? null : cursorOf({ payout: following, after: null, waiting: rest });
    return { movements, next };
  });
}
