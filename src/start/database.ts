/** The database and its keys, opened together: neither is of use without the other. */

import { dirname, join } from 'node:path';
import { liveClock, systemClock, testClockOf, type Clock, type WallClock } from '../platform/clock.ts';
import { systemRandom, type Random } from '../platform/random.ts';
import { CodeCohorts } from '../core/cards/storage/code-cohorts.ts';
import { shownLocation, type DatabaseConfig } from './config.ts';
import type { Context } from '../core/storage/context.ts';
import { Fault } from '../core/domain/fault.ts';
import type { Secret } from '../platform/secret.ts';
import { KeyFileError, makeKeyFile, readKeyFile } from '../platform/key-file.ts';
import { keysOf } from '../platform/keys.ts';
import { assertNotHalfCopied } from '../features/moves/service/copy.ts';
import { checkKeys, checkKeysWithoutWriting, hasKeys } from '../features/proofs/service/key-check.ts';
import { isBeforeRelease, loadMigrations, pending, type Migration } from '../database/schema/migrate.ts';
import { MigrationError } from '../database/schema/migration-error.ts';
import { listStoreIds } from '../core/stores/storage/store.ts';
import { parallel, type Script } from '../database/sql/sql.ts';
import { lastBeat } from '../database/heartbeat.ts';
import { StartError } from './error.ts';
import { openSqlite } from '../database/sqlite/engine.ts';
import type { WriteTurns } from '../database/sqlite/write-lock.ts';
import { followingStorage } from '../features/sandbox/storage/following.ts';
import { findSandbox, insertSandbox } from '../features/sandbox/storage/sandbox.ts';
import type { Storage, StorageObserver } from '../database/storage.ts';
import { timelineFile } from '../platform/timeline-file.ts';

export type Database = AsyncDisposable & { readonly ctx: Context; readonly storage: Storage };

export type OpenOptions = {
  /** Whether to create the file and its keys and to migrate the schema. If false, they must exist and be current. */
  readonly prepare: boolean;
  /** Whether transactions have no time limit, for a command that reads everything. */
  readonly withoutTimeLimit?: boolean;
  /** Whether keys of the key file that the database does not know are recorded, so that every process needs them. */
  readonly recordsKeys?: boolean;
  /** Whether the database can be from before the first release, because it is only read to convert it. */
  readonly isConverted?: boolean;
  /** Whether the process serves requests: then it starts with an empty log. */
  readonly serves?: boolean;
  /** Whether a database without stores becomes a sandbox. */
  readonly becomesSandbox?: boolean;
  readonly observer?: StorageObserver;
  readonly clock?: WallClock;
  /** The order in which the processes of a service write to its file; null or absent: this process is the only one. */
  readonly turns?: WriteTurns | null;
};

const noObserver: StorageObserver = { committed() {}, failed() {} };

/** The settings of the database alone, which can be sent to a thread. */
export function databaseConfigOf(config: DatabaseConfig): DatabaseConfig {
  const { database, keysFile, connectionsMax, partitions, limits: ofConfig } = config;
  const { asynchronousStandbyAllowed, implausibleClockAllowed } = config;
  return {
    database,
    keysFile,
    connectionsMax,
    partitions,
    asynchronousStandbyAllowed,
    implausibleClockAllowed,
    limits: ofConfig,
  };
}

/** @throws MigrationError, KeyFileError, TimelineFileError, or Error if the file does not exist or is not a database. */
export async function openDatabase(
  config: DatabaseConfig,
  {
    prepare,
    withoutTimeLimit = false,
    recordsKeys = true,
    isConverted = false,
    serves = false,
    becomesSandbox = false,
    observer = noObserver,
    clock: wallClock = systemClock,
    turns = null,
  }: OpenOptions,
): Promise<Database> {
  const options = {
    create: prepare,
    moveLog: serves,
    withoutTimeLimit,
    clock: liveClock(wallClock),
    random: systemRandom(wallClock),
    observer,
  };
  const storage = await openStorage(config, { ...options, turns });
  try {
    const migrations = migrationsOf(config);
    if (prepare) await storage.migrate(migrations);
    const applied = await storage.applied();
    const missing = isConverted && isBeforeRelease(applied) ? [] : pending(migrations, applied);
    if (missing.length > 0)
      throw new MigrationError(
        `the database is older than this version, ${shownLocation(config.database)}: run "largesse migrate"`,
      );
    await storage.read(assertNotHalfCopied);
    const isOld = isBeforeRelease(applied);
    if (becomesSandbox) await storage.write(() => becomeSandbox(wallClock.now()));
    const sandbox = isOld ? undefined : await storage.read(findSandbox);
    const testClock = sandbox ? testClockOf(wallClock) : null;
    testClock?.follow(sandbox?.offsetMs ?? 0);
    const clock = testClock?.clock ?? liveClock(wallClock);
    const random = systemRandom(clock);

    // With key checks, the database had a key file: another process has just created both, or the file is missing.
    if (prepare && !readKeyFile(config.keysFile) && !(await storage.read(hasKeys)))
      makeKeyFile(config.keysFile, random);
    const masterKeys = readKeyFile(config.keysFile);
    if (!masterKeys) throw new KeyFileError(missingKeys(config));
    const opening: Context = {
      clock,
      wallClock,
      testClock,
      random,
      keys: keysOf(masterKeys),
      codeCohorts: new CodeCohorts(),
    };
    const oldestKey = recordsKeys
      ? await checkAllKeys(storage, opening)
      : await storage.read(() => checkKeysWithoutWriting(opening));
    const ctx: Context = { ...opening, keys: keysOf(masterKeys, oldestKey) };
    return {
      ctx,
      storage: testClock ? followingStorage(storage, testClock) : storage,
      [Symbol.asyncDispose]: () => storage[Symbol.asyncDispose](),
    };
  } catch (error) {
    await storage[Symbol.asyncDispose]();
    throw error;
  }
}

/**
 * Marks a database without stores as a sandbox; a sandbox stays one. @throws StartError if there are stores, or a service has
 * used it, which can still run.
 */
function* becomeSandbox(at: number): Script<void> {
  if (yield* findSandbox()) return;
  const [stores, beat] = yield* parallel(listStoreIds(), lastBeat());
  if (stores.length > 0 || beat > 0)
    throw new StartError(
      `the database ${stores.length > 0 ? 'has stores' : 'was served'} and is not a sandbox, and never becomes one: set DATABASE_URL to a new database`,
    );
  yield* insertSandbox(at);
}

/** Checks the keys, without writing if the disk is full or read-only. */
async function checkAllKeys(storage: Storage, opening: Context): Promise<string> {
  try {
    return await storage.write(() => checkKeys(opening));
  } catch (error) {
    if (!(error instanceof Fault && error.code === 'not-writable') || !(await storage.read(hasKeys)))
      throw error;
    return storage.read(() => checkKeysWithoutWriting(opening));
  }
}

/**
 * Opens an existing database without its keys, for a command that examines it: nothing is migrated, and neither its schema
 * nor its keys are checked.
 * @throws the error of opening it.
 */
export async function openToExamine(
  config: DatabaseConfig,
  observer: Partial<StorageObserver> = {},
): Promise<Storage> {
  return await openStorage(config, {
    create: false,
    moveLog: false,
    withoutTimeLimit: false,
    clock: liveClock(systemClock),
    random: systemRandom(systemClock),
    observer: { ...noObserver, ...observer },
  });
}

/**
 * Creates or migrates the target of a copy, and opens it without its keys, because the key checks are copied.
 * @throws MigrationError, or the error of opening it.
 */
export async function openTarget(config: DatabaseConfig): Promise<Storage> {
  const clock = liveClock(systemClock);
  const options = {
    create: true,
    moveLog: false,
    withoutTimeLimit: true,
    clock,
    random: systemRandom(clock),
    observer: noObserver,
  };
  const storage = await openStorage(config, options);
  try {
    await storage.migrate(migrationsOf(config));
    return storage;
  } catch (error) {
    await storage[Symbol.asyncDispose]();
    throw error;
  }
}

/** The migrations for the kind of database that is configured. */
export function migrationsOf({ database }: DatabaseConfig): readonly Migration[] {
  return loadMigrations(database.kind === 'file' ? 'sqlite' : 'postgres');
}

async function openStorage(
  config: DatabaseConfig,
  options: {
    readonly create: boolean;
    readonly moveLog: boolean;
    readonly withoutTimeLimit: boolean;
    readonly clock: Clock;
    readonly random: Random;
    readonly observer: StorageObserver;
    readonly turns?: WriteTurns | null;
  },
): Promise<Storage> {
  const { database, limits } = config;
  if (database.kind === 'file') {
    return openSqlite({
      ...options,
      file: database.file,
      queueMax: limits.scriptsQueuedMax,
      groupMax: limits.scriptsInGroupMax,
      lockWaitMaxMs: limits.lockWaitMaxMs,
    });
  }
  const { openPostgres } = await import('../database/postgres/engine.ts');
  return openPostgres({
    ...options,
    urls: database.urls,
    timelines: timelineFile({
      path: join(dirname(config.keysFile), 'largesse.timelines.json'),
      hosts: database.urls.map(hostAndPort),
      create: options.create,
    }),
    connectionsMax: config.connectionsMax,
    partitions: config.partitions,
    waitingMax: limits.scriptsQueuedMax,
    waitMaxMs: limits.connectionWaitMaxMs,
    migrationWaitMaxMs: limits.migrationWaitMaxMs,
    scriptMaxMs: options.withoutTimeLimit ? Number.POSITIVE_INFINITY : limits.scriptMaxMs,
    connectTimeoutMs: limits.connectTimeoutMs,
    lockWaitMaxMs: limits.lockWaitMaxMs,
    idleTransactionMaxMs: limits.idleTransactionMaxMs,
    primaryCheckPeriodMs: limits.primaryCheckPeriodMs,
  });
}

function hostAndPort(url: Secret): string {
  const { hostname, port } = new URL(url.reveal());
  return `${hostname}:${port || 5432}`;
}

function missingKeys({ keysFile, database }: DatabaseConfig): string {
  return `the key file ${keysFile} is missing, and ${shownLocation(database)} was written with its keys: put it back, or set KEYS_FILE`;
}
