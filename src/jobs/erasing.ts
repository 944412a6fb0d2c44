/** Tasks that erase what is older than its retention period, and the data of customers who have asked for it. */

import {
  eraseRequests,
  findOldestRequest,
  hasOldRequests,
  requestsKeptMs,
} from '../features/developers/service/api-requests.ts';
import { continueErasure } from '../features/privacy/service/erasure.ts';
import {
  eraseAccess,
  eraseDeliveriesOf,
  eraseEmails,
  eraseEvents,
  hasOldAccess,
  hasOldEvents,
  listWebhooksWithOldDeliveries,
  outdatedBudgets,
  outdatedCodes,
  outdatedRecords,
  outdatedStockCodes,
  outdatedTraces,
  outdatedUnpaidSales,
  type Outdated,
} from './retention.ts';
import { firstEmailOf, hasEmails, type EmailPlace } from '../features/emails/storage/retention.ts';
import { hasErasures, listUnfinishedErasures } from '../features/privacy/storage/erasure.ts';
import type { Storage } from '../database/storage.ts';
import { findOldestEvent } from '../features/webhooks/storage/retention.ts';
import { findOldestDelivery } from '../features/webhooks/storage/webhook-delivery.ts';
import { findOldestAccess } from '../features/staff/storage/retention.ts';
import { ageOf, forDueStores, nextErasing } from '../core/stores/service/work.ts';
import type { JobTools } from './job.ts';
import { workThrough } from './work.ts';

/** Erases stored responses, lookup budgets, codes of batches and stocks, data of online sales, and deliveries of webhooks. */
export async function eraseOutdated(tools: JobTools): Promise<void> {
  const { ctx, storage, limits, retention } = tools;
  await eraseAll(storage, outdatedRecords(ctx, retention), limits.upkeepRowsMax);
  await eraseAll(storage, outdatedBudgets(ctx, retention), limits.upkeepRowsMax);
  await eraseAll(storage, outdatedCodes(ctx), limits.batchesErasedMax);
  await eraseAll(storage, outdatedStockCodes(ctx), limits.batchesErasedMax);
  await eraseAll(storage, outdatedUnpaidSales(ctx), limits.upkeepRowsMax);
  await eraseAll(storage, outdatedTraces(ctx), limits.upkeepRowsMax);
  await eraseOldDeliveries(tools);
}

async function eraseAll<Row extends { readonly storeId: number }>(
  storage: Storage,
  { find, erase }: Outdated<Row>,
  limit: number,
): Promise<void> {
  await workThrough(storage, () => find(limit), { limit, run: erase });
}

/** Erases sessions and the like, events and emails of each store. */
export async function eraseOld(tools: JobTools): Promise<void> {
  await eraseOldAccess(tools);
  await eraseOldEvents(tools);
  await eraseOldEmails(tools);
}

// The tasks that follow go to the stores whose oldest rows are old enough.

async function eraseOldDeliveries({ ctx, storage, limits, retention }: JobTools): Promise<void> {
  const page = { deliveriesMs: retention.deliveriesMs, limit: limits.upkeepRowsMax };
  const time = ageOf(ctx.clock, retention.deliveriesMs);
  await forDueStores(storage, { kind: 'deliveries', time }, async (store) => {
    for (const webhook of await storage.read(() => listWebhooksWithOldDeliveries(ctx, store.id, page)))
      while (await storage.write(() => eraseDeliveriesOf(ctx, webhook, page)));
    return nextErasing(time, await storage.read(() => findOldestDelivery(store.id)));
  });
}

/**
 * Erases the list of requests for developers.
 * @param grown stores to which this process has added many requests, which can be too many.
 */
export async function eraseOldRequests(
  { ctx, storage, limits }: JobTools,
  grown: Iterable<number>,
): Promise<void> {
  const erase = async (storeId: number): Promise<void> => {
    if (!(await storage.read(() => hasOldRequests(ctx, storeId)))) return;
    while (await storage.write(() => eraseRequests(ctx, storeId, limits.upkeepRowsMax)));
  };
  const time = ageOf(ctx.clock, requestsKeptMs);
  await forDueStores(storage, { kind: 'requests', time }, async ({ id }) => {
    await erase(id);
    return nextErasing(time, await storage.read(() => findOldestRequest(id)));
  });
  for (const storeId of grown) await erase(storeId);
}

async function eraseOldAccess({ ctx, storage, limits, retention }: JobTools): Promise<void> {
  const page = { sessionsMs: retention.sessionsMs, limit: limits.retentionRowsMax };
  const time = ageOf(ctx.wallClock, retention.sessionsMs);
  await forDueStores(storage, { kind: 'access', time }, async ({ id }) => {
    if (await storage.read(() => hasOldAccess(ctx, id, page.sessionsMs)))
      while (await storage.write(() => eraseAccess(ctx, id, page)));
    return nextErasing(time, await storage.read(() => findOldestAccess(id)));
  });
}

async function eraseOldEvents({ ctx, storage, limits, retention }: JobTools): Promise<void> {
  const { eventsMs } = retention;
  if (eventsMs === null) return;
  const page = { eventsMs, limit: limits.retentionRowsMax };
  const time = ageOf(ctx.clock, eventsMs);
  await forDueStores(storage, { kind: 'events', time }, async (store) => {
    for (let after: number | undefined = 0; after !== undefined;) {
      const from: { readonly storeId: number; readonly after: number } = { storeId: store.id, after };
      if (!(await storage.read(() => hasOldEvents(ctx, from, eventsMs)))) break;
      after = await storage.write(() => eraseEvents(ctx, from, page));
    }
    return nextErasing(time, await storage.read(() => findOldestEvent(store.id)));
  });
}

async function eraseOldEmails({ ctx, storage, limits, retention }: JobTools): Promise<void> {
  const { emailsMs } = retention;
  if (emailsMs === null) return;
  const page = { emailsMs, limit: limits.retentionRowsMax };
  const time = ageOf(ctx.clock, emailsMs);
  await forDueStores(storage, { kind: 'emails', time }, async (store) => {
    let oldest: number | null = null;
    if (await storage.read(() => hasEmails(store.id)))
      for (let after: EmailPlace | undefined = firstEmailOf(store.id); after;) {
        const from: EmailPlace = after;
        const erased = await storage.write(() => eraseEmails(ctx, from, page));
        after = erased.next;
        if (erased.oldest !== null) oldest = Math.min(oldest ?? erased.oldest, erased.oldest);
      }
    return nextErasing(time, oldest);
  });
}

/** Returns a task that completes the erasures of customers. */
export function createErasures({ ctx, storage, limits }: JobTools): () => Promise<void> {
  /** Undefined: an earlier process can have been killed between an erasure and the clearing of its file. */
  let hasDeleted: boolean | undefined;
  return async () => {
    for (const key of await storage.read(() => listUnfinishedErasures(limits.erasuresMax))) {
      while (!(await storage.write(() => continueErasure(ctx, key))));
      hasDeleted = true;
    }
    // While another process uses the log, this is retried.
    hasDeleted ??= await storage.read(hasErasures);
    if (hasDeleted && (await storage.clearDeleted())) hasDeleted = false;
  };
}
