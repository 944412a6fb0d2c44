/** The background jobs of the service, such as erasing expired data, closing expired holds and enqueuing reminders. */

import { setTimeout as wait } from 'node:timers/promises';
import type { FastifyBaseLogger } from 'fastify';
import type { ClockGuard } from './clock-guard.ts';
import type { Limits } from './config.ts';
import type { Database } from './database.ts';
import type { Metrics } from './http/metrics.ts';
import type { RecordedRequests } from './http/recorded-requests.ts';
import type { RetiredCodeUses } from './http/retired-codes.ts';
import type { TokenUses } from './http/token-last-used.ts';
import type { Retention } from './retention.ts';
import { Fault } from './domain/fault.ts';
import { eraseRequests, hasOldRequests, requestWriter } from './service/api-requests.ts';
import { continueBatch } from './service/batch.ts';
import { paceByRequests } from './service/batch-pace.ts';
import { recordTokenUses } from './service/caller.ts';
import { shownId } from './domain/public-id.ts';
import {
  beginClosing,
  closeStep,
  firstCandidates,
  listCandidates,
  loadClosing,
  type Books,
  type CandidatePage,
  type Candidates,
} from './service/books.ts';
import { writeByStore } from './storage/by-store.ts';
import { hasExpiryToRecord, recordExpired, recordExpiringSoon } from './service/expiry.ts';
import { continueErasure } from './service/erasure.ts';
import { expireHolds, findExpiredHolds } from './service/hold.ts';
import { addDueCheckpoint, needsNoCheckpoint } from './service/checkpoint.ts';
import { appendEntries } from './service/log.ts';
import { recordRetiredCodeUses } from './service/lookup-throttle.ts';
import { enqueueReminders, firstPlace, planReminders, type ReminderPlace } from './service/reminder.ts';
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
  type Outdated,
} from './service/retention.ts';
import { verifyPage } from './service/ledger-check.ts';
import { listRunningBatches } from './storage/batch.ts';
import { findNewestTransaction, haveEnded, type ClosingKey } from './storage/books.ts';
import { beat } from './storage/heartbeat.ts';
import { listRemindingStores } from './storage/email.ts';
import { findDelay, findUpkeep, type Delay } from './service/upkeep.ts';
import { firstEmailOf, hasEmails, type EmailPlace } from './storage/email-retention.ts';
import { hasErasures, listUnfinishedErasures } from './storage/erasure.ts';
import type { ScannedInteger, Script } from './storage/sql.ts';
import type { Storage } from './storage/storage.ts';
import { isStoreClosed, listOpenStores } from './storage/store.ts';
import type { Store } from './domain/store.ts';
import { listWebhookPlaces, type WebhookPlace } from './storage/webhook.ts';

/** How long a closing waits for older transactions. If they do not end, the next run closes the day. */
const transactionWaitMaxMs = 5_000;
const pollMs = 50;

export type Background = {
  /** Issues the cards of new batches, without waiting for the next period. */
  startBatches(): void;
  /**
   * Waits for the statements of running jobs, then writes a heartbeat, the last token uses, the last uses of replaced codes
   * and the last requests.
   */
  stop(): Promise<void>;
};

export function startBackground(options: {
  readonly database: Database;
  readonly limits: Limits;
  readonly retention: Retention;
  readonly guard: ClockGuard;
  readonly metrics: Metrics;
  readonly tokenUses: TokenUses;
  readonly retiredCodeUses: RetiredCodeUses;
  readonly recordedRequests: RecordedRequests;
  /** Whether the service sends email. */
  readonly canSend: boolean;
  readonly logger: FastifyBaseLogger;
}): Background {
  const { limits, retention, guard, logger } = options;
  const { ctx, storage: unstopped } = options.database;
  let isStopping = false;
  const storage = stoppable(unstopped, () => isStopping);
  const database = { ...options.database, storage };

  const recordUses = async (): Promise<void> => {
    const uses = options.tokenUses.take();
    await writeByStore({ storage: unstopped }, uses, recordTokenUses);
  };
  const publishRetiredUses = async (): Promise<void> => {
    const uses = options.retiredCodeUses.take();
    await writeByStore({ storage: unstopped }, uses, (ofStore) => recordRetiredCodeUses(ctx, ofStore));
  };
  const requests = requestWriter({ ctx, storage: unstopped });
  const writeRequests = async (): Promise<void> => {
    await requests.write(options.recordedRequests.take());
  };
  const eraseOldRequests = async (): Promise<void> => {
    for (const { store } of await storage.read(listOpenStores)) {
      if (!(await storage.read(() => hasOldRequests(ctx, store.id)))) continue;
      while (await storage.write(() => eraseRequests(ctx, store.id, limits.upkeepRowsMax)));
    }
  };
  /** Finds rows of all stores and works on them, until there are no more or other processes work on the rest. */
  const work = async <Row extends { readonly storeId: number }>(
    find: () => Script<readonly Row[]>,
    { limit, run }: { readonly limit: number; readonly run: (rows: readonly Row[]) => Script<number> },
  ): Promise<void> => {
    for (;;) {
      const found = await storage.read(find);
      let done = 0;
      await writeByStore({ storage, committed: (count: number) => void (done += count) }, found, run);
      if (done === 0 || found.length < limit) return;
    }
  };
  const eraseAll = async <Row extends { readonly storeId: number }>(
    { find, erase: run }: Outdated<Row>,
    limit: number,
  ): Promise<void> => work(() => find(limit), { limit, run });
  const ofDeliveries = { deliveriesMs: retention.deliveriesMs, limit: limits.upkeepRowsMax };
  const erase = async (): Promise<void> => {
    await eraseAll(outdatedRecords(ctx, retention), limits.upkeepRowsMax);
    await eraseAll(outdatedBudgets(ctx, retention), limits.upkeepRowsMax);
    await eraseAll(outdatedCodes(ctx), limits.batchesErasedMax);
    for (let place: WebhookPlace | undefined = { storeId: 0, id: 0 }; place;) {
      const after: WebhookPlace = place;
      const webhooks = await storage.read(() => listWebhookPlaces(after, limits.upkeepRowsMax));
      for (const webhook of webhooks)
        while (await storage.write(() => eraseDeliveriesOf(ctx, webhook, ofDeliveries)));
      place = webhooks.at(-1);
    }
  };
  const eraseOldEvents = async (): Promise<void> => {
    const { eventsMs } = retention;
    if (eventsMs === null) return;
    const page = { eventsMs, limit: limits.retentionRowsMax };
    for (const { store } of await storage.read(listOpenStores)) {
      for (let after: number | undefined = 0; after !== undefined;) {
        const from: { readonly storeId: number; readonly after: number } = { storeId: store.id, after };
        // Reads first, because most stores have nothing to erase and do not need a write transaction.
        if (!(await storage.read(() => hasOldEvents(ctx, from, eventsMs)))) break;
        after = await storage.write(() => eraseEvents(ctx, from, page));
      }
    }
  };
  const eraseOldEmails = async (): Promise<void> => {
    const { emailsMs } = retention;
    if (emailsMs === null) return;
    const page = { emailsMs, limit: limits.retentionRowsMax };
    for (const { store } of await storage.read(listOpenStores)) {
      // Reads first, because most stores have nothing to erase and do not need a write transaction.
      if (!(await storage.read(() => hasEmails(store.id)))) continue;
      for (let after: EmailPlace | undefined = firstEmailOf(store.id); after;) {
        const from: EmailPlace = after;
        after = await storage.write(() => eraseEmails(ctx, from, page));
      }
    }
  };
  const eraseOldAccess = async (): Promise<void> => {
    const page = { sessionsMs: retention.sessionsMs, limit: limits.retentionRowsMax };
    for (const { store } of await storage.read(listOpenStores)) {
      if (!(await storage.read(() => hasOldAccess(ctx, store.id, page.sessionsMs)))) continue;
      while (await storage.write(() => eraseAccess(ctx, store.id, page)));
    }
  };
  const eraseOld = async (): Promise<void> => {
    await eraseOldAccess();
    await eraseOldEvents();
    await eraseOldEmails();
  };
  /** Undefined: an earlier process can have been killed between an erasure and the clearing of its file. */
  let hasDeleted: boolean | undefined;
  const continueErasures = async (): Promise<void> => {
    for (const key of await storage.read(() => listUnfinishedErasures(limits.erasuresMax))) {
      while (!(await storage.write(() => continueErasure(ctx, key))));
      hasDeleted = true;
    }
    // While another process uses the log, this is retried.
    hasDeleted ??= await storage.read(hasErasures);
    if (hasDeleted && (await storage.clearDeleted())) hasDeleted = false;
  };
  const recordExpiries = async (): Promise<void> => {
    for (const { store } of await storage.read(listOpenStores)) {
      // Reads first, because most stores have nothing to publish and do not need a write transaction.
      if (!(await storage.read(() => hasExpiryToRecord(ctx, store)))) continue;
      while (await storage.write(() => recordExpired(ctx, store, limits.upkeepRowsMax)));
      while (await storage.write(() => recordExpiringSoon(ctx, store, limits.upkeepRowsMax)));
    }
  };
  const expire = async (): Promise<void> => {
    const limit = limits.upkeepRowsMax;
    await work(() => findExpiredHolds(ctx, limit), { limit, run: (holds) => expireHolds(ctx, holds) });
  };
  const createCheckpoints = async (): Promise<void> => {
    for (const { store } of await storage.read(listOpenStores)) {
      if (await storage.read(() => needsNoCheckpoint(ctx, store))) continue;
      await storage.write(() => addDueCheckpoint(ctx, store));
    }
  };
  const pace = paceByRequests(options.metrics.requestCount);
  const issueBatches = async (): Promise<void> => {
    const errors: unknown[] = [];
    for (const key of await storage.read(() => listRunningBatches(limits.batchesMax)))
      await continueBatch(database, key, { pace }).catch((error: unknown) => void errors.push(error));
    // A batch that fails does not stop the others.
    if (errors.length > 0) throw errors[0];
  };
  const recordHeartbeat = async (): Promise<void> => {
    await unstopped.write(() => beat(ctx.clock.now()));
  };
  /** Skips a task that cannot be undone while the clock is not trusted. */
  const whileTrusted = (task: () => Promise<void>) => async (): Promise<void> => {
    if (guard.isTrusted()) await task();
  };
  const examine = async (): Promise<void> => {
    const upkeep = await storage.read(() => findUpkeep(ctx));
    const delays: Delay[] = [];
    for (const { store } of await storage.read(listOpenStores))
      delays.push(await storage.read(() => findDelay(ctx, store)));
    options.metrics.upkeepFound(upkeep, delays);
  };
  const audit = createAudit({ ...options, database });
  const remind = createReminders({ ...options, database });
  const repeat = (
    task: () => Promise<void>,
    periodMs: number,
    { isImmediate = false }: { readonly isImmediate?: boolean } = {},
  ): Job => {
    const job = startJob(task, periodMs, (error) => {
      // A store that is closed while a job works on it ends this run of the job.
      if (!isStopping && !isStoreClosed(error)) logger.error({ err: error }, 'a background task failed');
    });
    if (isImmediate) job.wake();
    return job;
  };

  const batches = repeat(issueBatches, limits.batchPeriodMs);
  const jobs = [
    batches,
    repeat(recordUses, limits.tokenUsesPeriodMs),
    repeat(publishRetiredUses, limits.retiredCodesPeriodMs),
    repeat(writeRequests, limits.requestLogPeriodMs),
    repeat(eraseOldRequests, limits.upkeepPeriodMs),
    repeat(whileTrusted(erase), limits.upkeepPeriodMs),
    repeat(whileTrusted(eraseOld), limits.retentionPeriodMs),
    repeat(continueErasures, limits.erasurePeriodMs),
    repeat(whileTrusted(expire), limits.holdExpiryPeriodMs),
    repeat(whileTrusted(recordExpiries), limits.expiryPeriodMs),
    repeat(whileTrusted(recordHeartbeat), limits.heartbeatPeriodMs),
    repeat(
      whileTrusted(() => closeDays(database, limits.closingRowsMax)),
      limits.closingPeriodMs,
    ),
    repeat(audit, limits.auditPeriodMs),
    repeat(
      retryLater(() => appendEntries(database), limits.logRetryMs),
      limits.logPeriodMs,
    ),
    repeat(whileTrusted(createCheckpoints), limits.checkpointPeriodMs),
    repeat(whileTrusted(remind), limits.reminderPeriodMs),
    repeat(examine, limits.examinationPeriodMs, { isImmediate: true }),
  ];
  // The first heartbeat is written now, because the process can stop before the first period ends.
  const firstHeartbeat = whileTrusted(recordHeartbeat)().catch((error: unknown) =>
    logger.warn({ err: error }, 'the first heartbeat could not be written'),
  );
  return {
    startBatches: () => batches.wake(),
    async stop() {
      isStopping = true;
      await Promise.all(jobs.map((job) => job.stop()));
      await firstHeartbeat;
      await whileTrusted(recordHeartbeat)().catch((error: unknown) =>
        logger.warn({ err: error }, 'the last heartbeat could not be written'),
      );
      await recordUses().catch((error: unknown) =>
        logger.warn({ err: error }, 'the last token uses could not be written'),
      );
      await publishRetiredUses().catch((error: unknown) =>
        logger.warn({ err: error }, 'the last uses of replaced codes could not be published'),
      );
      await writeRequests().catch((error: unknown) =>
        logger.warn({ err: error }, 'the last requests could not be written'),
      );
    },
  };
}

/** The storage of jobs: once the service stops, each further script fails, which ends the job. */
function stoppable(storage: Storage, isStopping: () => boolean): Storage {
  const assertRunning = (): void => {
    if (isStopping()) throw new Fault('closing', { retryAfterSeconds: 1 });
  };
  return {
    ...storage,
    async read(script) {
      assertRunning();
      return await storage.read(script);
    },
    async write(script, scope) {
      assertRunning();
      return await storage.write(script, scope);
    },
  };
}

type Job = {
  /** Runs the task now, or again after the run in progress. */
  wake(): void;
  /** Stops its timer, and waits until a run in progress has ended. */
  stop(): Promise<void>;
};

/** Runs a task periodically, one run at a time. A failed run is retried after the next period. */
function startJob(task: () => Promise<void>, periodMs: number, failed: (error: unknown) => void): Job {
  let running: Promise<void> | undefined;
  let isWoken = false;
  const run = (): void => {
    running ??= task()
      .catch(failed)
      .finally(() => {
        running = undefined;
        if (!isWoken) return;
        isWoken = false;
        run();
      });
  };
  const timer = setInterval(run, periodMs);
  timer.unref();
  return {
    wake() {
      isWoken = running !== undefined;
      run();
    },
    async stop() {
      clearInterval(timer);
      isWoken = false;
      await running;
    },
  };
}

/** After a failure, skips the task for a while, because a full disk or an unavailable server lasts longer than its period. */
function retryLater(task: () => Promise<void>, pauseMs: number): () => Promise<void> {
  let pausedUntil = 0;
  return async () => {
    if (performance.now() < pausedUntil) return;
    pausedUntil = performance.now() + pauseMs;
    await task();
    pausedUntil = 0;
  };
}

/** Returns a job that verifies one page of cards per call, store by store, and then starts over. */
function createAudit({
  database,
  metrics,
  logger,
}: Parameters<typeof startBackground>[0]): () => Promise<void> {
  const { ctx, storage } = database;
  let stores: Store[] = [];
  let after: ScannedInteger = 0;
  let found = 0;
  let foundLast = 0;
  return async () => {
    const store = stores[0];
    if (!store) {
      stores = (await storage.read(listOpenStores)).map(({ store: listed }) => listed);
      foundLast = found;
      found = 0;
      metrics.setMismatches(foundLast);
      return;
    }
    const page = await storage.read(() => verifyPage(store, after));
    metrics.audited(page.cards);
    for (const { cardId, problem } of page.mismatches) {
      found += 1;
      const card = cardId === null ? null : shownId(ctx.keys.publicIds, cardId);
      logger.error({ store: store.domain, card, problem }, 'a gift card does not match the ledger');
    }
    metrics.setMismatches(Math.max(found, foundLast));
    after = page.next ?? 0;
    if (page.next === undefined) stores.shift();
  };
}

/**
 * Returns a job that enqueues due reminders, one page of cards per transaction. Each store is processed once a day, and
 * again after a change of its schedule or a restart. Reminders that were enqueued before are skipped.
 */
function createReminders({
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
            enqueueReminders(ctx, { store: plan.store, task, from, limit: limits.upkeepRowsMax }),
          );
        }
      }
      done.set(storeId, plan.name);
    }
  };
}

/**
 * Closes all days that ended more than ten minutes ago, in small transactions. Several processes can do it at the same
 * time: each transaction locks the day and continues where the last one ended.
 */
export async function closeDays(database: Pick<Database, 'ctx' | 'storage'>, rowsMax: number): Promise<void> {
  const { storage } = database;
  for (const { store } of await storage.read(listOpenStores))
    while (await closeDay(database, store, rowsMax));
}

/** Closes one day of a store. @returns whether it was closed; if not, there is none or a transaction is still open. */
async function closeDay(
  { ctx, storage }: Pick<Database, 'ctx' | 'storage'>,
  store: Store,
  rowsMax: number,
): Promise<boolean> {
  // Reads first, because most calls find no day to close.
  if (!(await storage.read(() => beginClosing(ctx, store, { isDryRun: true })))) return false;
  const begun = await storage.write(() => beginClosing(ctx, store, { isDryRun: false }));
  if (!begun) return false;
  // Transactions that could not see the closing are either committed before the sums, or rolled back.
  if (!(await untilOthersEnd(storage, { storeId: store.id, day: begun.day }))) return false;
  const books = await storage.read(() => loadClosing(store, begun.day));
  if (!books) return true;
  const candidates = await listAllCandidates(storage, books, rowsMax);
  for (;;) {
    const { part } = await storage.write(() => closeStep(ctx, books, { candidates, limit: rowsMax }));
    if (part === 'closed') return true;
  }
}

/** Waits for the transactions that are open now. @returns whether they ended in time. */
async function untilOthersEnd(storage: Storage, closing: ClosingKey): Promise<boolean> {
  const newest = await storage.read(() => findNewestTransaction(closing));
  for (let waited = 0; !(await storage.read(() => haveEnded(closing, newest))); waited += pollMs) {
    if (waited >= transactionWaitMaxMs) return false;
    await wait(pollMs);
  }
  return true;
}

async function listAllCandidates(storage: Storage, books: Books, limit: number): Promise<readonly number[]> {
  const found = new Set<number>();
  for (let page: CandidatePage | undefined = firstCandidates(books.period); page;) {
    const at: CandidatePage = page;
    const { cards, next }: Candidates = await storage.read(() => listCandidates(books, at, limit));
    for (const id of cards) found.add(id);
    page = next;
  }
  return [...found].toSorted((left, right) => left - right);
}
