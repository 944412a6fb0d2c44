/** The background jobs of the service, such as erasing expired data, closing expired holds and enqueuing reminders. */

import type { FastifyBaseLogger } from 'fastify';
import type { ClockGuard } from './clock-guard.ts';
import type { Limits } from '../platform/limits.ts';
import type { BackupRuns } from '../features/backups/start/backups.ts';
import type { CommitListeners } from './commits.ts';
import type { AccountantEmails } from '../features/accountants/start/accountants.ts';
import type { OnlineSales } from '../features/online-sales/start/online-sales.ts';
import type { OwnerNotices } from '../features/owner-notices/start/owner-notices.ts';
import type { VersionRuns } from '../features/upgrade/start/versions.ts';
import type { Database } from './database.ts';
import { DueWork } from './due-work.ts';
import type { Metrics } from '../http/metrics.ts';
import type { EmailServices } from '../http/services.ts';
import type { RecordedRequests } from '../features/developers/http/recorded-requests.ts';
import type { RetiredCodeUses, StockTries } from '../core/cards/http/code-uses.ts';
import type { TokenUses } from '../core/stores/http/token-last-used.ts';
import { createVerifying } from '../features/proofs/jobs/verifying.ts';
import { createErasures, eraseOldRequests } from '../jobs/erasing.ts';
import { afterCommits, retryLater, startJob, stoppable, type Job, type JobTools } from '../jobs/job.ts';
import type { Retention } from '../core/storage/retention.ts';
import { requestWriter, type RequestWriter } from '../features/developers/service/api-requests.ts';
import { continueBatch } from '../features/batches/service/batch.ts';
import { paceByRequests } from '../features/batches/service/pace.ts';
import { recordTokenUses } from '../core/stores/service/caller.ts';
import { createAppending } from '../features/proofs/service/log.ts';
import { recordRetiredCodeUses } from '../core/cards/service/lookup-throttle.ts';
import { recordTries } from '../features/stock/service/tries.ts';
import { continueStock } from '../features/stock/service/stock.ts';
import { findDelay, findUpkeep, type Delay, type Upkeep } from '../features/health/service/upkeep.ts';
import { listRunningBatches } from '../features/batches/storage/batch.ts';
import { listRunningStocks } from '../core/stocks/storage/stock.ts';
import { writeByStore } from '../database/sql/by-store.ts';
import { beat } from '../database/heartbeat.ts';
import type { Storage } from '../database/storage.ts';
import { listDueStores, presentOf } from '../core/stores/service/work.ts';
import { isStoreClosed } from '../core/stores/storage/store.ts';

export type Background = {
  /** Does everything of the jobs that is due now, except for what the queues send. */
  readonly due: Pick<DueWork, 'run' | 'whilePaused'>;
  /** Issues the cards of new batches, and adds the codes of new stocks, without waiting for the next period. */
  startBatches(): void;
  /**
   * Waits for the statements of running jobs, then writes a heartbeat, the last token uses, the last uses of codes that no
   * card has, and the last requests.
   */
  stop(): Promise<void>;
};

type Options = {
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
  /** Receives what operators are alerted of, and the delays of the stores that have any. */
  readonly examined: (upkeep: Upkeep, delays: readonly Delay[]) => void;
  /** Null: the database is on a server. */
  readonly backups: Pick<BackupRuns, 'runIfDue' | 'removeLeft' | 'stop'> | null;
  readonly versions: Pick<VersionRuns, 'runIfDue'>;
  readonly notices: Pick<OwnerNotices, 'sendDue' | 'noticeCertificate'>;
  readonly accountants: Pick<AccountantEmails, 'run'>;
  /** Null: the service has no pages, or does not know its own URL. */
  readonly onlineSales: Pick<OnlineSales, 'run' | 'compare'> | null;
  /** Adds a listener to the commits of this process. */
  readonly onCommit: CommitListeners['add'];
  readonly logger: FastifyBaseLogger;
};

export function startBackground(options: Options): Background {
  const { limits, retention, guard, logger, backups, versions, notices, accountants, onlineSales } = options;
  const { ctx } = options.database;
  let isStopping = false;
  const storage = stoppable(options.database.storage, () => isStopping);
  const database = { ...options.database, storage };
  const tools = { ctx, storage, limits, retention };
  const appendEntries = createAppending(database);
  const append = retryLater(appendEntries, limits.logRetryMs);
  const { canSend } = options.email;
  const { trustedUntil } = options;
  const due = new DueWork(tools, {
    canSend,
    trustedUntil,
    append: appendEntries,
    accountants,
    onlineSales,
  });
  const requests = requestWriter(options.database);
  const last = lastWrites(options, requests);

  const repeat = (task: () => Promise<unknown>, periodMs: number): Job =>
    startJob(task, periodMs, (error) => {
      // A store that is closed while a job works on it ends this run of the job.
      if (!isStopping && !isStoreClosed(error)) logger.error({ err: error }, 'a background task failed');
    });
  const repeatAfterCommits = (task: () => Promise<void>, periodMs: number): Job =>
    repeat(afterCommits(task, options.onCommit), periodMs);
  const batches = repeatAfterCommits(issuing(options, database), limits.batchPeriodMs);
  const examination = repeat(examining(options, storage), limits.examinationPeriodMs);
  const closing = repeat(() => due.closeEndedDays(), limits.closingPeriodMs);
  const jobs = [
    batches,
    examination,
    closing,
    ...last.map(({ write, periodMs }) => repeat(write, periodMs)),
    ...due.tasks().map(({ task, periodMs }) => repeat(whileTrusted(guard, task), periodMs)),
    repeatAfterCommits(append, limits.logPeriodMs),
    repeatAfterCommits(verifying(options, tools), limits.verifyingPeriodMs),
    repeatAfterCommits(createErasures(tools), limits.erasurePeriodMs),
    repeat(() => eraseOldRequests(tools, requests.takeGrown()), limits.upkeepPeriodMs),
    ...(backups ? [repeat(backups.runIfDue, limits.backupPeriodMs)] : []),
    repeat(versions.runIfDue, limits.versionsPeriodMs),
    repeat(notices.sendDue, limits.noticesPeriodMs),
    repeat(whileTrusted(guard, notices.noticeCertificate), limits.certificateNoticePeriodMs),
  ];
  // Metrics show the state of the database from the start.
  examination.wake();
  // The database can be a restored or imported one, with many days to close.
  closing.wake();
  const first = firstTasks(options, last);
  return {
    due,
    startBatches: () => batches.wake(),
    async stop() {
      isStopping = true;
      await backups?.stop();
      await Promise.all(jobs.map((job) => job.stop()));
      await first;
      for (const { what, write } of last)
        await write().catch((error: unknown) =>
          logger.warn({ err: error }, `the last ${what} could not be written`),
        );
    },
  };
}

/** Skips a task that cannot be undone while the clock is not trusted. */
function whileTrusted(
  guard: Pick<ClockGuard, 'isTrusted'>,
  task: () => Promise<unknown>,
): () => Promise<void> {
  return async () => {
    if (guard.isTrusted()) await task();
  };
}

type LastWrite = {
  readonly what: string;
  readonly write: () => Promise<void>;
  readonly periodMs: number;
};

/** The tasks that also run when the service stops. The first is the heartbeat. */
function lastWrites(
  options: Options,
  requests: RequestWriter,
): readonly [heartbeat: LastWrite, ...LastWrite[]] {
  const { limits, guard } = options;
  const { ctx, storage } = options.database;
  return [
    {
      what: 'heartbeat',
      write: whileTrusted(guard, () => storage.write(() => beat(ctx.clock.now()))),
      periodMs: limits.heartbeatPeriodMs,
    },
    {
      what: 'token uses',
      write: () => writeByStore({ storage }, options.tokenUses.take(), recordTokenUses),
      periodMs: limits.tokenUsesPeriodMs,
    },
    {
      what: 'uses of replaced codes',
      write: () =>
        writeByStore({ storage }, options.retiredCodeUses.take(), (uses) => recordRetiredCodeUses(ctx, uses)),
      periodMs: limits.retiredCodesPeriodMs,
    },
    {
      what: 'tries of codes in stock',
      write: () => writeByStore({ storage }, options.stockTries.take(), (tries) => recordTries(ctx, tries)),
      periodMs: limits.retiredCodesPeriodMs,
    },
    {
      what: 'requests',
      write: () => requests.write(options.recordedRequests.take()),
      periodMs: limits.requestLogPeriodMs,
    },
  ];
}

/** Issues the cards of batches, and adds the codes of stocks. */
function issuing({ limits, metrics }: Options, database: Database): () => Promise<void> {
  const pace = paceByRequests(metrics.requestCount);
  const { storage } = database;
  return async () => {
    const errors: unknown[] = [];
    for (const key of await storage.read(() => listRunningBatches(limits.batchesMax)))
      await continueBatch(database, key, { pace }).catch((error: unknown) => void errors.push(error));
    for (const key of await storage.read(() => listRunningStocks(limits.batchesMax)))
      await continueStock(database, key, { pace }).catch((error: unknown) => void errors.push(error));
    // A batch or stock that fails does not stop the others.
    if (errors.length > 0) throw errors[0];
  };
}

/** Finds what operators are alerted of. */
function examining({ database: { ctx }, examined }: Options, storage: Storage): () => Promise<void> {
  return async () => {
    const upkeep = await storage.read(() => findUpkeep(ctx));
    const delays: Delay[] = [];
    for (const store of await listDueStores(storage, ['closing', 'checkpoint'], presentOf(ctx)))
      delays.push(await storage.read(() => findDelay(ctx, store)));
    examined(upkeep, delays);
  };
}

function verifying({ metrics, logger }: Options, tools: JobTools): () => Promise<void> {
  return createVerifying(tools, {
    cardsVerified: metrics.cardsVerified,
    setMismatches: metrics.setMismatches,
    mismatchFound: (mismatch) => logger.error(mismatch, 'a gift card does not match the ledger'),
  });
}

/** The tasks that run once. It resolves when they have ended. */
async function firstTasks(
  { backups, logger }: Options,
  [heartbeat]: readonly [heartbeat: LastWrite, ...LastWrite[]],
): Promise<void> {
  const removing = backups
    ?.removeLeft()
    .catch((error: unknown) =>
      logger.error({ err: error }, 'the files of a backup that was interrupted could not be removed'),
    );
  // The first heartbeat is written now, because the process can stop before the first period ends.
  await heartbeat
    .write()
    .catch((error: unknown) => logger.warn({ err: error }, 'the first heartbeat could not be written'));
  await removing;
}
