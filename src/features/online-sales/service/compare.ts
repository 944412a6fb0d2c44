/** Compares what payment providers say that they moved with the sales, and names every difference. */

import type { ProviderMovementPage } from '../domain/payment.ts';
import { isPaid, keyOfSale, type OnlineSale, type SaleKey } from '../domain/sale.ts';
import { dayMs } from '../domain/schedule.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import type { Context } from '../../../core/storage/context.ts';
import {
  listComparedSales,
  listUnknownPayments,
  listUnlistedSales,
  recordMovement,
  type ComparedSale,
  type UnknownPayment,
} from '../storage/movement.ts';
import { listRefunds } from '../storage/refund.ts';
import { listProviders, type ProviderPlace, type StoreProvider } from '../storage/provider.ts';
import type { StoredSale } from '../storage/sale.ts';
import type { Script } from '../../../database/sql/sql.ts';

/** Providers list some movements late, so each comparison begins some days before the end of the last one. */
const overlapMs = 4 * dayMs;

/** The instant (ms) from which the movements of a provider are compared next. */
export function comparedFrom({
  comparedUntil,
  copiedAt,
  keySetAt,
}: Pick<StoreProvider, 'comparedUntil' | 'copiedAt' | 'keySetAt'>): number {
  const until = comparedUntil ?? keySetAt;
  return Math.min(until, copiedAt ?? until) - overlapMs;
}

/**
 * Records a page of movements. @returns the sales that have to be read again: a payment of one that is not paid here, a
 * refund or a dispute.
 */
export function* recordMovements(
  place: ProviderPlace,
  { movements }: Pick<ProviderMovementPage, 'movements'>,
): Script<readonly SaleKey[]> {
  const sales = new Map<number, SaleKey>();
  for (const movement of movements) {
    const sale = yield* recordMovement(place, movement);
    if (!sale || sale.sessionId === null) continue;
    const isKnown = movement.kind === 'payment' || movement.kind === 'fee' ? isPaid(sale.state) : false;
    if (!isKnown) sales.set(sale.id, keyOfSale(sale));
  }
  return [...sales.values()];
}

/** A difference between the payments at a provider and the sales. */
export type Difference =
  | { readonly kind: 'unknown-payment'; readonly payment: UnknownPayment }
  /** `unpaid`: paid at the provider, without a card. `unlisted`: a card without a payment at the provider. */
  | { readonly kind: 'unpaid' | 'unlisted'; readonly sale: OnlineSale }
  | {
      readonly kind: 'amount' | 'refunds';
      readonly sale: OnlineSale;
      /** Minor units, at the provider and here. */
      readonly atProvider: bigint;
      readonly here: bigint;
    };

/** Differences are named for this long. */
const namedMs = 90 * dayMs;
/** Providers list a payment some days after it at the latest. */
const listedMs = 2 * dayMs;

/** @param comparedUntil the instant (ms) up to which the movements are known. */
function* differenceOf(
  { sale, paid, wentBack }: ComparedSale,
  comparedUntil: number,
): Script<Difference | undefined> {
  if (!isPaid(sale.state)) return paid > 0n ? { kind: 'unpaid', sale } : undefined;
  if (paid !== sale.paid.minor) return { kind: 'amount', sale, atProvider: paid, here: sale.paid.minor };
  // Most sales agree, and need no further read.
  if (wentBack === sale.refunded.minor + sale.disputed.minor) return undefined;
  const here = yield* wentBackHere(sale, comparedUntil);
  if (here === undefined || here === wentBack) return undefined;
  // The money of a dispute that was won is back later than its end.
  const isReturning = sale.dispute === 'won' && wentBack > here && wentBack <= sale.paid.minor;
  return isReturning ? undefined : { kind: 'refunds', sale, atProvider: wentBack, here };
}

/** The sum that went back according to the sale, in minor units; undefined: a part is on its way, or newer than the movements. */
function* wentBackHere(sale: StoredSale, comparedUntil: number): Script<bigint | undefined> {
  const refunds = yield* listRefunds(keyOfSale(sale));
  if (refunds.some(({ state }) => state === 'requested' || state === 'pending')) return undefined;
  const paid = refunds.filter(({ state }) => state === 'paid');
  const changes = [...paid.map(({ settledAt }) => settledAt), sale.disputedAt];
  if (changes.some((at) => at !== null && at >= comparedUntil)) return undefined;
  return paid.reduce((sum, { amount }) => sum + amount.minor, sale.disputed.minor);
}

/** The differences of a store, by kind, the newest first. */
export function* listDifferences(ctx: Pick<Context, 'clock'>, store: Store): Script<readonly Difference[]> {
  const now = ctx.clock.now();
  const since = now - namedMs;
  const found: Difference[] = [];
  for (const payment of yield* listUnknownPayments(store.id, { from: since, to: now + dayMs }))
    found.push({ kind: 'unknown-payment', payment });
  const providers = yield* listProviders(store.id);
  const until = new Map(
    providers.map(({ kind, isTest, ...known }) => [`${kind} ${isTest}`, known.comparedUntil]),
  );
  for (const compared of yield* listComparedSales(store.id, since)) {
    const { provider, isTest } = compared.sale;
    const difference = yield* differenceOf(compared, until.get(`${provider} ${isTest}`) ?? 0);
    if (difference) found.push(difference);
  }
  for (const { comparedUntil, keySetAt, ...provider } of providers) {
    if (comparedUntil === null) continue;
    const period = { from: Math.max(since, keySetAt), to: comparedUntil - listedMs };
    for (const sale of yield* listUnlistedSales(provider, period)) found.push({ kind: 'unlisted', sale });
  }
  return found;
}
