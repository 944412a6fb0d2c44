/** What the service does by itself, a little at a time: erase what has run out, release expired holds, tell of expiries, verify the ledger, note token uses. */

import type { FastifyBaseLogger } from 'fastify';
import type { ClockGuard } from './clock-guard.ts';
import type { Limits } from './config.ts';
import type { Database } from './database.ts';
import type { Metrics } from './http/metrics.ts';
import type { RetiredCodeUses } from './http/retired-codes.ts';
import type { TokenUses } from './http/token-uses.ts';
import { noteTokenUses } from './service/caller.ts';
import { shownId } from './domain/public-id.ts';
import { hasExpiryToTell, tellExpired, tellExpiringSoon } from './service/expiry.ts';
import { expireHolds } from './service/hold.ts';
import { recordRetiredCodeUses } from './service/lookup-throttle.ts';
import { bookReminders, firstPlace, planReminders, type ReminderPlace } from './service/reminder.ts';
import { eraseDeliveriesOf, eraseOutdated } from './service/upkeep.ts';
import { verifyPage } from './service/verify.ts';
import { beat } from './storage/heartbeat.ts';
import { listRemindingStores } from './storage/mail.ts';
import { listStores } from './storage/store.ts';
import { listWebhookPlaces, type WebhookPlace } from './storage/webhook.ts';

export type Background = {
  /** Ends it, after the last token uses and uses of replaced codes are written. */
  stop(): Promise<void>;
};

export function startBackground(given: {
  readonly database: Database;
  readonly limits: Limits;
  readonly guard: ClockGuard;
  readonly metrics: Metrics;
  readonly tokenUses: TokenUses;
  readonly retiredCodeUses: RetiredCodeUses;
  /** Whether the service sends email. */
  readonly canSend: boolean;
  readonly logger: FastifyBaseLogger;
}): Background {
  const { database, limits, guard, logger } = given;
  const { ctx, storage } = database;

  const noteUses = async (): Promise<void> => {
    const uses = given.tokenUses.take();
    if (uses.length > 0) await storage.write(() => noteTokenUses(uses));
  };
  const publishRetiredUses = async (): Promise<void> => {
    const uses = given.retiredCodeUses.take();
    if (uses.length > 0) await storage.write(() => recordRetiredCodeUses(ctx, uses));
  };
  const erase = async (): Promise<void> => {
    while (await storage.write(() => eraseOutdated(ctx, limits.upkeepRowsMax)));
    for (let place: WebhookPlace | undefined = { storeId: 0, id: 0 }; place;) {
      const after: WebhookPlace = place;
      const webhooks = await storage.read(() => listWebhookPlaces(after, limits.upkeepRowsMax));
      for (const webhook of webhooks)
        while (await storage.write(() => eraseDeliveriesOf(ctx, webhook, limits.upkeepRowsMax)));
      place = webhooks.at(-1);
    }
  };
  const tellExpiries = async (): Promise<void> => {
    for (const { store } of await storage.read(listStores)) {
      // Most of the time there is nothing, and then nothing is to be written.
      if (!(await storage.read(() => hasExpiryToTell(ctx, store)))) continue;
      while (await storage.write(() => tellExpired(ctx, store, limits.upkeepRowsMax)));
      while (await storage.write(() => tellExpiringSoon(ctx, store, limits.upkeepRowsMax)));
    }
  };
  const expire = async (): Promise<void> => {
    while (await storage.write(() => expireHolds(ctx, limits.upkeepRowsMax)));
  };
  const keepTime = async (): Promise<void> => {
    await storage.write(() => beat(ctx.clock.now()));
  };
  /** What cannot be undone is only done by a clock that is trusted. */
  const whileTrusted = (task: () => Promise<void>) => async (): Promise<void> => {
    if (guard.isTrusted()) await task();
  };
  const audit = auditor(given);
  const remind = reminding(given);

  const timers = [
    repeat(noteUses, limits.tokenUsesPeriodMs, logger),
    repeat(publishRetiredUses, limits.retiredCodesPeriodMs, logger),
    repeat(whileTrusted(erase), limits.upkeepPeriodMs, logger),
    repeat(whileTrusted(expire), limits.holdExpiryPeriodMs, logger),
    repeat(whileTrusted(tellExpiries), limits.expiryPeriodMs, logger),
    repeat(whileTrusted(keepTime), limits.heartbeatPeriodMs, logger),
    repeat(audit, limits.auditPeriodMs, logger),
    repeat(whileTrusted(remind), limits.reminderPeriodMs, logger),
  ];
  // The next start may come before the first period ends.
  const firstTime = whileTrusted(keepTime)().catch((error: unknown) =>
    logger.warn({ err: error }, 'the time was not written'),
  );
  return {
    async stop() {
      for (const timer of timers) clearInterval(timer);
      await firstTime;
      await whileTrusted(keepTime)().catch((error: unknown) =>
        logger.warn({ err: error }, 'the last time was not written'),
      );
      await noteUses().catch((error: unknown) =>
        logger.warn({ err: error }, 'the last token uses were not noted'),
      );
      await publishRetiredUses().catch((error: unknown) =>
        logger.warn({ err: error }, 'the last uses of replaced codes were not published'),
      );
    },
  };
}

/** Runs a task every so often, never twice at once. A task that fails is logged and comes round again. */
function repeat(task: () => Promise<void>, periodMs: number, logger: FastifyBaseLogger): NodeJS.Timeout {
  let isRunning = false;
  const timer = setInterval(() => {
    if (isRunning) return;
    isRunning = true;
    task()
      .catch((error: unknown) => logger.error({ err: error }, 'a background task failed'))
      .finally(() => {
        isRunning = false;
      });
  }, periodMs);
  return timer.unref();
}

/** Verifies one page of cards a call, store after store, and starts over at the end. */
function auditor({ database, metrics, logger }: Parameters<typeof startBackground>[0]): () => Promise<void> {
  const { ctx, storage } = database;
  let stores: { readonly id: number; readonly domain: string }[] = [];
  let after = 0;
  let found = 0;
  let foundLast = 0;
  return async () => {
    const store = stores[0];
    if (!store) {
      stores = (await storage.read(listStores)).map(({ store: { id, domain } }) => ({ id, domain }));
      foundLast = found;
      found = 0;
      metrics.setMismatches(foundLast);
      return;
    }
    const page = await storage.read(() => verifyPage(store.id, after));
    metrics.audited(page.cards.length);
    for (const { cardId, problem } of page.mismatches) {
      found += 1;
      const card = cardId === null ? null : shownId(ctx.keys.publicIds, cardId);
      logger.error({ store: store.domain, card, problem }, 'the ledger does not agree with a card');
    }
    metrics.setMismatches(Math.max(found, foundLast));
    after = page.next ?? 0;
    if (page.next === undefined) stores.shift();
  };
}

/**
 * Books the reminders that have fallen due: each day of a store is gone through once, a page of cards a transaction,
 * and once more when the store's schedule or the process is new. What is booked already is not booked again.
 */
function reminding({
  database,
  limits,
  canSend,
}: Parameters<typeof startBackground>[0]): () => Promise<void> {
  const { ctx, storage } = database;
  const done = new Map<number, string>();
  return async () => {
    if (!canSend) return;
    for (const storeId of await storage.read(listRemindingStores)) {
      const plan = await storage.read(() => planReminders(ctx, storeId));
      if (!plan || done.get(storeId) === plan.name) continue;
      for (const task of plan.tasks) {
        let place: ReminderPlace | undefined = firstPlace;
        while (place) {
          const from: ReminderPlace = place;
          place = await storage.write(() =>
            bookReminders(ctx, { store: plan.store, task, from, limit: limits.upkeepRowsMax }),
          );
        }
      }
      done.set(storeId, plan.name);
    }
  };
}
