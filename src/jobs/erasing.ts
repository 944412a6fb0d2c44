/** Tasks that erase what is older than its retention period, and the data of customers who have asked for it. */

import { eraseRequests, hasOldRequests } from '../service/requests/api-requests.ts';
import { continueErasure } from '../service/customers/erasure.ts';
import {
  eraseAccess,
  eraseDeliveriesOf,
  eraseEmails,
  eraseEvents,
  hasOldAccess,
  hasOldEvents,
  outdatedBudgets,
  outdatedCodes,
  outdatedRecords,
  outdatedStockCodes,
  outdatedTraces,
  outdatedUnpaidSales,
  type Outdated,
} from '../service/retention.ts';
import { firstEmailOf, hasEmails, type EmailPlace } from '../storage/emails/retention.ts';
import { hasErasures, listUnfinishedErasures } from '../storage/customers/erasure.ts';
import type { Storage } from '../storage/storage.ts';
import { listOpenStores } from '../storage/stores/store.ts';
import { listWebhookPlaces, type WebhookPlace } from '../storage/events/webhook.ts';
import type { JobTools } from './job.ts';
import { workThrough } from './work.ts';

/** Erases stored responses, lookup budgets, codes of batches and stocks, data of online sales, and deliveries of webhooks. */
export async function eraseOutdated({ ctx, storage, limits, retention }: JobTools): Promise<void> {
  await eraseAll(storage, outdatedRecords(ctx, retention), limits.upkeepRowsMax);
  await eraseAll(storage, outdatedBudgets(ctx, retention), limits.upkeepRowsMax);
  await eraseAll(storage, outdatedCodes(ctx), limits.batchesErasedMax);
  await eraseAll(storage, outdatedStockCodes(ctx), limits.batchesErasedMax);
  await eraseAll(storage, outdatedUnpaidSales(ctx), limits.upkeepRowsMax);
  await eraseAll(storage, outdatedTraces(ctx), limits.upkeepRowsMax);
  const page = { deliveriesMs: retention.deliveriesMs, limit: limits.upkeepRowsMax };
  for (let place: WebhookPlace | undefined = { storeId: 0, id: 0 }; place;) {
    const after: WebhookPlace = place;
    const webhooks = await storage.read(() => listWebhookPlaces(after, limits.upkeepRowsMax));
    for (const webhook of webhooks) while (await storage.write(() => eraseDeliveriesOf(ctx, webhook, page)));
    place = webhooks.at(-1);
  }
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

// The tasks that follow go from store to store. They read first, because most stores have nothing to erase and need no
// write transaction.

/** Erases the list of requests for developers. */
export async function eraseOldRequests({ ctx, storage, limits }: JobTools): Promise<void> {
  for (const { store } of await storage.read(listOpenStores)) {
    if (!(await storage.read(() => hasOldRequests(ctx, store.id)))) continue;
    while (await storage.write(() => eraseRequests(ctx, store.id, limits.upkeepRowsMax)));
  }
}

async function eraseOldAccess({ ctx, storage, limits, retention }: JobTools): Promise<void> {
  const page = { sessionsMs: retention.sessionsMs, limit: limits.retentionRowsMax };
  for (const { store } of await storage.read(listOpenStores)) {
    if (!(await storage.read(() => hasOldAccess(ctx, store.id, page.sessionsMs)))) continue;
    while (await storage.write(() => eraseAccess(ctx, store.id, page)));
  }
}

async function eraseOldEvents({ ctx, storage, limits, retention }: JobTools): Promise<void> {
  const { eventsMs } = retention;
  if (eventsMs === null) return;
  const page = { eventsMs, limit: limits.retentionRowsMax };
  for (const { store } of await storage.read(listOpenStores)) {
    for (let after: number | undefined = 0; after !== undefined;) {
      const from: { readonly storeId: number; readonly after: number } = { storeId: store.id, after };
      if (!(await storage.read(() => hasOldEvents(ctx, from, eventsMs)))) break;
      after = await storage.write(() => eraseEvents(ctx, from, page));
    }
  }
}

async function eraseOldEmails({ ctx, storage, limits, retention }: JobTools): Promise<void> {
  const { emailsMs } = retention;
  if (emailsMs === null) return;
  const page = { emailsMs, limit: limits.retentionRowsMax };
  for (const { store } of await storage.read(listOpenStores)) {
    if (!(await storage.read(() => hasEmails(store.id)))) continue;
    for (let after: EmailPlace | undefined = firstEmailOf(store.id); after;) {
      const from: EmailPlace = after;
      after = await storage.write(() => eraseEmails(ctx, from, page));
    }
  }
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
