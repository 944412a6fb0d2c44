/** The background jobs of the service, such as erasing expired data, closing expired holds and enqueuing reminders. */

import type { FastifyBaseLogger } from 'fastify';
import type { ClockGuard } from './clock-guard.ts';
import type { Limits } from '../platform/limits.ts';
import type { BackupRuns } from './backups/backups.ts';
import type { OwnerNotices } from './owner-notices.ts';
import type { VersionRuns } from './versions.ts';
import type { Database } from './database.ts';
import type { Metrics } from '../http/metrics.ts';
import type { EmailServices } from '../http/services.ts';
import type { RecordedRequests } from '../http/recorded-requests.ts';
import type { RetiredCodeUses, StockTries } from '../http/code-uses.ts';
import type { TokenUses } from '../http/token-last-used.ts';
import { createVerifying } from '../jobs/verifying.ts';
import { addCheckpoints, closeDueHolds, recordExpiries } from '../jobs/due.ts';
import { createErasures, eraseOld, eraseOldRequests, eraseOutdated } from '../jobs/erasing.ts';
import { retryLater, startJob, stoppable, type Job } from '../jobs/job.ts';
import { createReminders } from '../jobs/reminders.ts';
import type { Retention } from '../storage/retention.ts';
import { requestWriter } from '../service/requests/api-requests.ts';
import { continueBatch } from '../service/batches/batch.ts';
import { paceByRequests } from '../service/batches/pace.ts';
import { recordTokenUses } from '../service/stores/caller.ts';
import { appendEntries } from '../service/proofs/log.ts';
import { closeDays } from '../service/books/closing.ts';
import { recordRetiredCodeUses } from '../service/cards/lookup-throttle.ts';
import { recordTries } from '../service/stocks/activation.ts';
import { continueStock } from '../service/stocks/stock.ts';
import { findDelay, findUpkeep, type Delay, type Upkeep } from '../service/upkeep.ts';
import { listRunningBatches } from '../storage/batches/batch.ts';
import { listRunningStocks } from '../storage/stocks/stock.ts';
import { writeByStore } from '../storage/sql/by-store.ts';
import { beat } from '../storage/heartbeat.ts';
import { findSandbox } from '../storage/sandbox.ts';
import { isStoreClosed, listOpenStores } from '../storage/stores/store.ts';

export type Background = {
  /** Runs everything of the jobs that is due now, in order, except for what the queues send. */
  runDue(
    send: () => Promise<void>,
    options: { /** Whether it also erases what is old. */ readonly erases: boolean },
  ): Promise<DueCounts>;
  /** Runs a task while no job that does what became due is running. */
  whilePaused<Result>(task: () => Promise<Result>): Promise<Result>;
  /** Issues the cards of new batches, and adds the codes of new stocks, without waiting for the next period. */
  startBatches(): void;
  /**
   * Waits for the statements of running jobs, then writes a heartbeat, the last token uses, the last uses of codes that no
   * card has, and the last requests.
   */
  stop(): Promise<void>;
};

/** The work that the jobs have done. */
type DueCounts = {
  readonly holdsExpired: number;
  readonly cardsExpired: number;
  readonly cardsExpiringSoon: number;
  readonly daysClosed: number;
};

export function startBackground(options: {
  readonly database: Database;
  readonly limits: Limits;
  readonly retention: Retention;
  readonly guard: ClockGuard;
  /** The instant (ms) up to which the clock is trusted. */
  readonly trustedUntil: () => Promise<number>;
  readonly metrics: Metrics;
  readonly tokenUses: TokenUses;
  readonly retiredCodeUses: RetiredCodeUses;
  readonly stockTries: StockTries;
  readonly recordedRequests: RecordedRequests;
  readonly email: Pick<EmailServices, 'canSend'>;
  /** Receives what operators are alerted of. */
  readonly examined: (upkeep: Upkeep) => void;
  /** Null: the database is on a server. */
  readonly backups: Pick<BackupRuns, 'runIfDue' | 'removeLeft' | 'stop'> | null;
  readonly versions: Pick<VersionRuns, 'runIfDue'>;
  readonly notices: Pick<OwnerNotices, 'sendDue' | 'noticeCertificate'>;
  readonly logger: FastifyBaseLogger;
}): Background {
  const { limits, retention, guard, metrics, logger, backups, versions, notices } = options;
  const { ctx, storage: unstopped } = options.database;
  let isStopping = false;
  const storage = stoppable(unstopped, () => isStopping);
  const database = { ...options.database, storage };

  const tools = { ctx, storage, limits, retention };
  /** Skips a task that cannot be undone while the clock is not trusted. */
  const whileTrusted = (task: () => Promise<unknown>) => async (): Promise<void> => {
    if (guard.isTrusted()) await task();
  };

  const recordHeartbeat = whileTrusted(async () => {
    await unstopped.write(() => beat(ctx.clock.now()));
  });
  const recordUses = async (): Promise<void> => {
    const uses = options.tokenUses.take();
    await writeByStore({ storage: unstopped }, uses, recordTokenUses);
  };
  const publishRetiredUses = async (): Promise<void> => {
    const uses = options.retiredCodeUses.take();
    await writeByStore({ storage: unstopped }, uses, (ofStore) => recordRetiredCodeUses(ctx, ofStore));
  };
  const publishStockTries = async (): Promise<void> => {
    const tries = options.stockTries.take();
    await writeByStore({ storage: unstopped }, tries, (ofStore) => recordTries(ctx, ofStore));
  };
  const requests = requestWriter({ ctx, storage: unstopped });
  const writeRequests = async (): Promise<void> => {
    await requests.write(options.recordedRequests.take());
  };
  /** The tasks that also run when the service stops. */
  const lastWritten = [
    { what: 'heartbeat', write: recordHeartbeat, periodMs: limits.heartbeatPeriodMs },
    { what: 'token uses', write: recordUses, periodMs: limits.tokenUsesPeriodMs },
    { what: 'uses of replaced codes', write: publishRetiredUses, periodMs: limits.retiredCodesPeriodMs },
    { what: 'tries of codes in stock', write: publishStockTries, periodMs: limits.retiredCodesPeriodMs },
    { what: 'requests', write: writeRequests, periodMs: limits.requestLogPeriodMs },
  ];

  const pace = paceByRequests(metrics.requestCount);
  const issueBatches = async (): Promise<void> => {
    const errors: unknown[] = [];
    for (const key of await storage.read(() => listRunningBatches(limits.batchesMax)))
      await continueBatch(database, key, { pace }).catch((error: unknown) => void errors.push(error));
    for (const key of await storage.read(() => listRunningStocks(limits.batchesMax)))
      await continueStock(database, key, { pace }).catch((error: unknown) => void errors.push(error));
    // A batch or stock that fails does not stop the others.
    if (errors.length > 0) throw errors[0];
  };
  const examine = async (): Promise<void> => {
    const upkeep = await storage.read(() => findUpkeep(ctx));
    const delays: Delay[] = [];
    for (const { store } of await storage.read(listOpenStores))
      delays.push(await storage.read(() => findDelay(ctx, store)));
    metrics.upkeepFound(upkeep, delays);
    options.examined(upkeep);
  };
  const verifyPages = createVerifying(tools, {
    cardsVerified: metrics.cardsVerified,
    setMismatches: metrics.setMismatches,
    mismatchFound: (mismatch) => logger.error(mismatch, 'a gift card does not match the ledger'),
  });

  const repeat = (task: () => Promise<unknown>, periodMs: number): Job =>
    startJob(task, periodMs, (error) => {
      // A store that is closed while a job works on it ends this run of the job.
      if (!isStopping && !isStoreClosed(error)) logger.error({ err: error }, 'a background task failed');
    });
  const repeatTrusted = (task: () => Promise<unknown>, periodMs: number): Job =>
    repeat(whileTrusted(task), periodMs);
  let isPaused = false;
  const due = new Set<Promise<unknown>>();
  const isAdvancing = async (): Promise<boolean> =>
    ctx.testClock !== null && (await storage.read(findSandbox))?.isAdvancing === true;
  /** Skips a task while a process advances the clock of a sandbox, which runs it itself. */
  const unlessPaused = (task: () => Promise<unknown>) => async (): Promise<void> => {
    if (await isAdvancing()) return;
    if (isPaused) return;
    const running = task();
    due.add(running);
    await running.finally(() => due.delete(running));
  };
  const append = retryLater(() => appendEntries(database), limits.logRetryMs);
  const batches = repeat(issueBatches, limits.batchPeriodMs);
  const examination = repeat(examine, limits.examinationPeriodMs);
  const closeEndedDays = async (): Promise<number> =>
    closeDays(tools, limits.closingRowsMax, await options.trustedUntil());
  const closing = repeat(unlessPaused(closeEndedDays), limits.closingPeriodMs);
  const remind = createReminders({ ...tools, canSend: options.email.canSend });
  const jobs = [
    batches,
    examination,
    ...lastWritten.map(({ write, periodMs }) => repeat(write, periodMs)),
    repeat(append, limits.logPeriodMs),
    repeat(verifyPages, limits.verifyingPeriodMs),
    repeat(createErasures(tools), limits.erasurePeriodMs),
    repeat(() => eraseOldRequests(tools), limits.upkeepPeriodMs),
    repeatTrusted(
      unlessPaused(() => eraseOutdated(tools)),
      limits.upkeepPeriodMs,
    ),
    repeatTrusted(
      unlessPaused(() => eraseOld(tools)),
      limits.retentionPeriodMs,
    ),
    repeatTrusted(
      unlessPaused(() => closeDueHolds(tools)),
      limits.holdExpiryPeriodMs,
    ),
    repeatTrusted(
      unlessPaused(() => recordExpiries(tools)),
      limits.expiryPeriodMs,
    ),
    closing,
    repeatTrusted(
      unlessPaused(() => addCheckpoints(tools)),
      limits.checkpointPeriodMs,
    ),
    ...(backups ? [repeat(backups.runIfDue, limits.backupPeriodMs)] : []),
    repeat(versions.runIfDue, limits.versionsPeriodMs),
    repeat(notices.sendDue, limits.noticesPeriodMs),
    repeatTrusted(notices.noticeCertificate, limits.certificateNoticePeriodMs),
    repeatTrusted(unlessPaused(remind), limits.reminderPeriodMs),
  ];
  const removing = backups
    ?.removeLeft()
    .catch((error: unknown) =>
      logger.error({ err: error }, 'the files of a backup that was interrupted could not be removed'),
    );
  // Metrics show the state of the database from the start.
  examination.wake();
  // The database can be a restored or imported one, with many days to close.
  closing.wake();
  // The first heartbeat is written now, because the process can stop before the first period ends.
  const firstHeartbeat = recordHeartbeat().catch((error: unknown) =>
    logger.warn({ err: error }, 'the first heartbeat could not be written'),
  );
  return {
    async runDue(send, { erases }) {
      const holdsExpired = await closeDueHolds(tools);
      const { expired, expiringSoon } = await recordExpiries(tools);
      await remind();
      await send();
      const daysClosed = await closeDays(tools, limits.closingRowsMax);
      await append();
      await addCheckpoints(tools);
      if (erases) {
        await eraseOutdated(tools);
        await eraseOld(tools);
      }
      return { holdsExpired, cardsExpired: expired, cardsExpiringSoon: expiringSoon, daysClosed };
    },
    async whilePaused(task) {
      isPaused = true;
      try {
        await Promise.allSettled(due);
        return await task();
      } finally {
        isPaused = false;
      }
    },
    startBatches: () => batches.wake(),
    async stop() {
      isStopping = true;
      await backups?.stop();
      await Promise.all(jobs.map((job) => job.stop()));
      await Promise.all([firstHeartbeat, removing]);
      for (const { what, write } of lastWritten)
        await write().catch((error: unknown) =>
          logger.warn({ err: error }, `the last ${what} could not be written`),
        );
    },
  };
}
