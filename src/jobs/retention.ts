/**
 * Erases old data in small transactions, each kind after its own period. While the clock is not trusted, nothing is
 * erased. Gift cards, codes, transfers, holds and customers are never erased by age.
 */

import { idsAt } from '../platform/random.ts';
import type { Retention } from '../core/storage/retention.ts';
import type { Context } from '../core/storage/context.ts';
import { dayOf } from '../core/domain/day.ts';
import { eraseStockCodes, listStocksWithOldCodes, type StockKey } from '../core/stocks/storage/stock.ts';
import {
  eraseBatchCodes,
  listBatchesWithOldCodes,
  type BatchKey,
} from '../features/batches/storage/batch.ts';
import { eraseEmail, listEmailsFrom, type EmailPlace } from '../features/emails/storage/retention.ts';
import {
  eraseDeliveriesIn,
  eraseEvent,
  eraseEventsIn,
  listOldEvents,
  listUndelivered,
  recordErasedThrough,
  recordErasedVersion,
} from '../features/webhooks/storage/retention.ts';
import {
  eraseIdempotencyRecords,
  listOldRecords,
  type RecordKey,
} from '../core/stores/storage/idempotency.ts';
import {
  eraseTraces,
  listTracedSales,
  listUnpaidSales,
  removeUnpaidSales,
} from '../features/online-sales/storage/erasure.ts';
import { codeShownDays, unpaidKeptDays } from '../features/online-sales/domain/sale.ts';
import { eraseRefilled, listRefilled, type LookupCaller } from '../core/stores/storage/lookup-throttle.ts';
import { parallel, type Script } from '../database/sql/sql.ts';
import {
  eraseSessions,
  eraseStaffLinks,
  eraseTills,
  hasEndedAccess,
} from '../features/staff/storage/retention.ts';
import { eraseUnknownAddresses } from '../features/staff/storage/unknown-address.ts';
import { eraseDeliveries, listWebhooksWithEnded } from '../features/webhooks/storage/webhook-delivery.ts';
import type { WebhookPlace } from '../features/webhooks/storage/webhook.ts';
import { idempotencyPeriodMs } from '../core/requests/service/idempotency.ts';

/** A kind of rows that are erased by their age, whichever store they belong to. */
export type Outdated<Row extends { readonly storeId: number }> = {
  /** Returns up to `limit` rows of all stores that are old enough. */
  readonly find: (limit: number) => Script<readonly Row[]>;
  /** Erases rows that it has found, and returns their number, without those that another process erases. */
  readonly erase: (rows: readonly Row[]) => Script<number>;
};

/** Expired idempotency records. */
export function outdatedRecords(
  ctx: Context,
  { idempotencyMs = idempotencyPeriodMs }: Partial<Pick<Retention, 'idempotencyMs'>> = {},
): Outdated<RecordKey> {
  const since = ctx.wallClock.retainFrom(idempotencyMs);
  return {
    find: (limit) => listOldRecords(since, limit),
    erase: (rows) => eraseIdempotencyRecords(rows, since),
  };
}

/** Budgets of lookups that are available again. */
export function outdatedBudgets(
  ctx: Context,
  { lookupsMs = 0 }: Partial<Pick<Retention, 'lookupsMs'>> = {},
): Outdated<LookupCaller> {
  const now = ctx.wallClock.earliest() - lookupsMs;
  return { find: (limit) => listRefilled(now, limit), erase: (rows) => eraseRefilled(rows, now) };
}

/** Codes of batches that can no longer be read. */
export function outdatedCodes(ctx: Context): Outdated<BatchKey> {
  const before = ctx.clock.retainFrom(0);
  return {
    find: (limit) => listBatchesWithOldCodes(before, limit),
    *erase(rows) {
      let erased = 0;
      for (const key of rows) erased += Number(yield* eraseBatchCodes(key));
      return erased;
    },
  };
}

/** Codes of stocks that can no longer be read. Their digests stay. */
export function outdatedStockCodes(ctx: Context): Outdated<StockKey> {
  const before = ctx.clock.retainFrom(0);
  return {
    find: (limit) => listStocksWithOldCodes(before, limit),
    *erase(rows) {
      let erased = 0;
      for (const key of rows) erased += Number(yield* eraseStockCodes(key));
      return erased;
    },
  };
}

/** Online sales that were not paid, as a whole or, while a payment can still arrive, without texts and addresses. */
export function outdatedUnpaidSales(ctx: Context): ReturnType<typeof outdatedTraces> {
  const before = ctx.clock.retainFrom(unpaidKeptDays * dayMs);
  return {
    find: (limit) => listUnpaidSales(before, limit),
    erase: (rows) => removeUnpaidSales(rows, ctx.clock.now()),
  };
}

/** Codes of online sales that their buyers can no longer see, and the digests for the limits of a day. */
export function outdatedTraces(ctx: Context): Outdated<{ readonly storeId: number; readonly id: number }> {
  const before = ctx.clock.retainFrom(codeShownDays * dayMs);
  return { find: (limit) => listTracedSales(before, limit), erase: eraseTraces };
}

/** Returns the webhooks of a store that have ended deliveries of events from before the period. */
export function* listWebhooksWithOldDeliveries(
  ctx: Context,
  storeId: number,
  { deliveriesMs }: Pick<Retention, 'deliveriesMs'>,
): Script<readonly WebhookPlace[]> {
  const before = idsAt(ctx.clock.retainFrom(deliveriesMs));
  return yield* listWebhooksWithEnded(storeId, before);
}

/**
 * Erases up to `limit` ended deliveries to a webhook, of events from before the period.
 * @returns whether there can be more.
 */
export function* eraseDeliveriesOf(
  ctx: Context,
  { storeId, id }: WebhookPlace,
  { deliveriesMs, limit }: Pick<Retention, 'deliveriesMs'> & { readonly limit: number },
): Script<boolean> {
  const before = idsAt(ctx.clock.retainFrom(deliveriesMs));
  return (yield* eraseDeliveries({ storeId, webhookId: id }, { before, limit })) === limit;
}

/** Whether a store has events after one that are older than the period. */
export function* hasOldEvents(
  ctx: Context,
  { storeId, after }: { readonly storeId: number; readonly after: number },
  eventsMs: number,
): Script<boolean> {
  const before = idsAt(ctx.clock.retainFrom(eventsMs));
  return (yield* listOldEvents({ storeId, after, before }, 1)).length > 0;
}

/**
 * Erases up to `limit` events of a store that are older than the period, and their deliveries. Events that a webhook
 * still has to deliver stay.
 * @param after the last event that an earlier call has seen.
 * @returns where the next call continues; undefined after the last event.
 */
export function* eraseEvents(
  ctx: Context,
  { storeId, after }: { readonly storeId: number; readonly after: number },
  { eventsMs, limit }: { readonly eventsMs: number; readonly limit: number },
): Script<number | undefined> {
  const before = idsAt(ctx.clock.retainFrom(eventsMs));
  const events = yield* listOldEvents({ storeId, after, before }, limit);
  const last = events.at(-1);
  if (!last) return undefined;
  const range = { storeId, after, upTo: last.id };
  const undelivered = yield* listUndelivered(range);
  const erased = events.filter(({ id }) => !undelivered.has(id));
  const newest = erased.at(-1);
  if (newest) {
    yield* eraseDeliveriesIn(range);
    if (undelivered.size === 0) yield* eraseEventsIn(range);
    else for (const { id } of erased) yield* eraseEvent(storeId, id);
    const versions = new Map<number, number>();
    for (const { isAboutCard, subjectId, version } of erased)
      if (isAboutCard) versions.set(subjectId, Math.max(version, versions.get(subjectId) ?? 0));
    for (const [cardId, version] of versions) yield* recordErasedVersion(storeId, { cardId, version });
    yield* recordErasedThrough(storeId, newest.id);
  }
  return events.length === limit ? last.id : undefined;
}

/** Whether a store has sessions, links or tills that ended, or attempts to sign in, from before the period. */
export function* hasOldAccess(ctx: Context, storeId: number, sessionsMs: number): Script<boolean> {
  return yield* hasEndedAccess(storeId, ctx.wallClock.retainFrom(sessionsMs));
}

/**
 * Erases up to `limit` sessions, links and tills each of a store that ended before the period, and digests of addresses of
 * failed attempts to sign in.
 * @returns whether there can be more.
 */
export function* eraseAccess(
  ctx: Context,
  storeId: number,
  { sessionsMs, limit }: Pick<Retention, 'sessionsMs'> & { readonly limit: number },
): Script<boolean> {
  const ended = { before: ctx.wallClock.retainFrom(sessionsMs), limit };
  const [sessions, links, addresses] = yield* parallel(
    eraseSessions(storeId, ended),
    eraseStaffLinks(storeId, ended),
    eraseUnknownAddresses(storeId, ended),
  );
  // A session names its till.
  const tills = yield* eraseTills(storeId, ended);
  return [sessions, links, addresses, tills].includes(limit);
}

/** The day in an occasion `expiry 2031-12-31 30`. */
const expiryOccasion = /^expiry (\d{4}-\d\d-\d\d) /;
const dayMs = 24 * 60 * 60 * 1_000;

/**
 * Erases those of the next `limit` emails of a store that ended before the period. A reminder of an expiry that has
 * not passed stays, because it would be sent again.
 * @param after of the same store.
 * @returns where the next call continues, undefined after the last email; and the age of the oldest email that stays and
 * has ended (ms), null if there is none. One that waits for its day is erased a day later at the earliest.
 */
export function* eraseEmails(
  ctx: Context,
  after: EmailPlace,
  { emailsMs, limit }: { readonly emailsMs: number; readonly limit: number },
): Script<{ readonly next: EmailPlace | undefined; readonly oldest: number | null }> {
  const before = ctx.clock.retainFrom(emailsMs);
  // The day has passed in every time zone.
  const passed = dayOf(ctx.clock.earliest() - 2 * dayMs, 'UTC');
  const emails = yield* listEmailsFrom(after, limit);
  let oldest: number | null = null;
  for (const email of emails) {
    if (email.endedAt === null) continue;
    if (email.endedAt >= before) {
      oldest = Math.min(oldest ?? email.endedAt, email.endedAt);
      continue;
    }
    const [, day] = expiryOccasion.exec(email.occasion ?? '') ?? [];
    if (day === undefined || day < passed) yield* eraseEmail(email);
    else oldest = Math.min(oldest ?? before + dayMs, before + dayMs);
  }
  return { next: emails.length === limit ? emails.at(-1) : undefined, oldest };
}
