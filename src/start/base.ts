/** The parts that the service opens before it serves: the database, and its observers. */

import { dirname } from 'node:path';
import type { TimeSource } from '../platform/clock.ts';
import { guardClock, type ClockGuard } from './clock-guard.ts';
import type { Config } from './config.ts';
import { openDatabase, type Database } from './database.ts';
import { freeSpaceOf, type FreeSpace } from '../platform/disk.ts';
import { createMetrics, type Metrics } from '../http/metrics.ts';
import type { Log } from '../platform/log.ts';
import type { Unreadiness } from '../http/readiness.ts';
import { readiness, watchPrimaries } from './readiness.ts';
import { removeAbandonedCopies } from '../database/sqlite/restore.ts';
import { assertDurable, checkClock, clockLog } from './checks.ts';
import { tracedStorage } from '../database/traced.ts';
import { openTracing, type Tracing } from '../platform/tracing.ts';
import type { TestClockRuns } from '../features/sandbox/service/test-clock.ts';
import type { Upkeep } from '../features/health/service/upkeep.ts';
import type { PublicNetwork } from '../delivery/public-socket.ts';
import { commitListeners, type CommitListeners } from './commits.ts';
import type { Channel } from './processes/channel.ts';
import { noCertificate, type CertificateStatus } from '../features/https/start/https.ts';
import { chooseMode } from './mode.ts';
import { finishRestore } from '../features/backups/start/restore-install.ts';
import { listRestoredCopies } from '../features/backups/service/restored.ts';

/** The clock, the log and the network, which tests replace. */
export type StartOptions = {
  readonly clock: TimeSource;
  readonly log: Log;
  /** The connection to the mail servers of stores. Absent: as any public host. */
  readonly emailNetwork?: PublicNetwork;
  /** The mounts of this machine, as Linux lists them. Absent: those of this process. */
  readonly readMounts?: () => string;
  /** Writes to the terminal of the person who starts the service. Absent: there is none, and the log says where it serves. */
  readonly terminal?: ((text: string) => void) | undefined;
  /** The channel to the process that supervises this one. Null or absent: there is none. */
  readonly channel?: Channel | null;
};

type Opening = Required<Omit<StartOptions, 'terminal'>>;

/** The parts that the service opens before it serves. */
export type Base = {
  readonly config: Config;
  readonly log: Log;
  readonly emailNetwork: PublicNetwork;
  readonly readMounts: () => string;
  readonly guard: ClockGuard;
  readonly freeSpace: FreeSpace | null;
  readonly metrics: Metrics;
  readonly tracing: Tracing | null;
  readonly database: Database;
  readonly commits: CommitListeners;
  /** Calls the listener after each commit of this process, and soon after those of the other processes of the service. */
  readonly onAnyCommit: CommitListeners['add'];
  readonly primaries: ReturnType<typeof watchPrimaries>;
  /** Null: HTTPS is off. */
  readonly certificate: CertificateStatus | null;
  /** Resolves when the database can no longer be trusted. */
  readonly failed: Promise<unknown>;
  /** Resolves when a backup is to be restored by the next start. */
  readonly restored: PromiseWithResolvers<void>;
  /** The stores that a backup has restored, until an owner confirms it: when it was made, in ms. */
  readonly restoredCopies: Map<number, number>;
  /** The state that changes while the service runs. */
  readonly state: State;
};

type State = {
  isClosing: boolean;
  hasFailed: boolean;
  /** Whether the service can serve. */
  unreadiness: () => Promise<Unreadiness | null>;
  /** The last findings of the jobs in the database; null: there are none yet. */
  upkeep: Upkeep | null;
  /** Advances the clock of a sandbox; null: it is live, or not started. */
  testClock: TestClockRuns | null;
  /** Does nothing until the jobs are started, which then find new batches themselves. */
  startBatches: () => void;
};

function initialState(): State {
  return {
    isClosing: false,
    hasFailed: false,
    unreadiness: () => Promise.resolve('unavailable'),
    upkeep: null,
    testClock: null,
    startBatches() {},
  };
}

/** Opens the database, and what observes it. @throws the error of opening the database. */
export async function openBase(
  given: Config,
  { clock: source, log, emailNetwork, readMounts, channel }: Opening,
): Promise<Base> {
  const { logger } = log;
  const guard = guardClock(source, given.limits, clockLog(given, logger));
  const { promise: failed, resolve: fail } = Promise.withResolvers<unknown>();
  const commits = commitListeners();
  const anyCommits = commitListeners();
  commits.add(anyCommits.notify);
  channel?.onCommitted(anyCommits.notify);
  const state = initialState();
  const freeSpace = given.database.kind === 'file' ? freeSpaceOf(dirname(given.database.file)) : null;
  const certificate: CertificateStatus | null = given.https.kind === 'off' ? null : noCertificate();
  const metrics = createMetrics({
    queueDepth: () => database.storage.queueDepth,
    clockJumpMs: () => guard.jumpMs(),
    freeSpace,
    certificate,
    isReady: async () => (await state.unreadiness()) === null,
    processes: channel && {
      number: channel.number,
      count: () => (channel.isAlone() ? 1 : given.processes),
      metrics: () => channel.metrics(),
    },
  });
  await finishRestore(given, logger);
  const primaries = watchPrimaries(metrics, logger);
  const tracing = openTracing();
  const opened = await openDatabase(given, {
    prepare: true,
    serves: true,
    clock: guard.clock,
    turns: channel?.turns ?? null,
    observer: {
      committed(group) {
        metrics.committed(group);
        channel?.committed();
        if (tracing) tracing.outside(commits.notify);
        else commits.notify();
      },
      readOnly(cause) {
        logger.error({ err: cause }, 'the database is read-only: every change is rejected');
      },
      failed(cause) {
        state.hasFailed = true;
        logger.fatal({ err: cause }, 'the database can no longer be trusted; the service ends');
        fail(cause);
      },
      primariesFound: primaries.found,
      warned: (message, cause) => logger.warn({ err: cause }, message),
    },
  });
  const database = tracing ? traced(opened, tracing) : opened;
  // A sandbox sends no email.
  const config = opened.ctx.testClock ? { ...given, email: null, isSandbox: true } : given;
  return {
    config,
    log,
    emailNetwork,
    readMounts,
    guard,
    freeSpace,
    metrics,
    tracing,
    database,
    commits,
    onAnyCommit: anyCommits.add,
    primaries,
    certificate,
    failed,
    restored: Promise.withResolvers<void>(),
    restoredCopies: new Map(),
    state,
  };
}

/**
 * Checks the database and the clock. Returns whether the service runs in development mode.
 * @throws StartError if the service cannot serve.
 */
export async function prepare({ config, log: { logger }, ...base }: Base): Promise<boolean> {
  const { database, guard, freeSpace, primaries, state } = base;
  primaries.assertOne();
  await assertDurable(config, database.storage, (risk) => logger.warn(risk));
  await checkClock(config, { database, guard, logger });
  if (config.database.kind === 'file') removeCopies(config.database.file, logger);
  const developmentMode = await chooseMode(config, database);
  if (config.database.kind === 'file') await followRestoredCopies(base);
  state.unreadiness = readiness(
    config,
    { ...database, guard, freeSpace },
    () => !state.isClosing && !state.hasFailed && primaries.hasAtMostOne(),
  );
  return developmentMode;
}

/** Reads which stores a backup has restored, and again after commits while there are any: an owner confirms it in one process. */
async function followRestoredCopies({
  database,
  restoredCopies,
  onAnyCommit,
}: Pick<Base, 'database' | 'restoredCopies' | 'onAnyCommit'>): Promise<void> {
  const read = async (): Promise<void> => {
    const found = await database.storage.read(listRestoredCopies);
    restoredCopies.clear();
    for (const { storeId, doneAt } of found) restoredCopies.set(storeId, doneAt);
    if (found.length === 0) unsubscribe();
  };
  const readAgain = (): void => void read().catch(() => undefined);
  const unsubscribe = onAnyCommit(readAgain);
  await read();
}

/** Removes the copies of all data that an interrupted restore has left. */
function removeCopies(file: string, logger: Log['logger']): void {
  const { removed, left } = removeAbandonedCopies(file);
  if (removed.length > 0)
    logger.warn({ files: removed }, 'removed the copies of a restore that was interrupted');
  if (left.length > 0)
    logger.error({ files: left }, 'a restore that was interrupted left copies of all data: delete them');
}

function traced(database: Database, tracing: Tracing): Database {
  const ctx = { ...database.ctx, messageContext: tracing.messageContext };
  return { ...database, ctx, storage: tracedStorage(database.storage, tracing) };
}
