/**
 * Verifies a large SQLite file with several threads, which share the tasks of the verification. Each has its own state of
 * the file, which is enough, because each task compares rows of only one.
 */

import { availableParallelism } from 'node:os';
import { statSync } from 'node:fs';
import type { Worker } from 'node:worker_threads';
import type { DatabaseConfig } from '../../../start/config.ts';
import type { Database } from '../../../start/database.ts';
import { startThread } from '../../../platform/program-files.ts';
import {
  cardsInPassOf,
  concludeVerification,
  planVerification,
  runTasks,
  verify,
  type Verification,
  type Verified,
} from '../service/verify.ts';
import { nextTask, type SharedProgress, type ThreadData } from './verify-tasks.ts';

/** A thread takes 0.3 s to start, in which 10,000 entries are verified. */
const threadedBytesMin = 64 * 2 ** 20;

/** Each thread reads all rows of the tables without an index by card, and uses 100 MB. */
const threadsMax = 8;

export type ThreadedOptions = {
  readonly mismatchesMax: number;
  /** Receives the number of rows that were read so far. */
  readonly reached: (rows: number) => void;
  /** The number of threads for a file. Default: those of the machine for a large file, otherwise one. */
  readonly threads?: number;
  /** Default: the cards are divided among the threads. */
  readonly cardsInPass?: number;
};

/** Verifies all rows of a database, which is open with this configuration. */
export async function verifyRows(
  { storage, ctx: { keys } }: Database,
  { database }: Pick<DatabaseConfig, 'database'>,
  { mismatchesMax, reached, threads = threadsFor(database), cardsInPass }: ThreadedOptions,
): Promise<Verification> {
  if (database.kind !== 'file' || threads === 1)
    return await storage.read(() => verify(mismatchesMax, { keys, reached }));
  const { file } = database;
  const { publicIdKey } = keys;
  const externalIdKeys = keys.digestKeys('external-id');
  const plan = await storage.read(function* () {
    return yield* planVerification({ cardsInPass: cardsInPass ?? (yield* cardsInPassOf(threads)) });
  });
  const progress: SharedProgress = {
    next: new Int32Array(new SharedArrayBuffer(4)),
    rowsRead: new BigInt64Array(new SharedArrayBuffer(8 * threads)),
  };
  const others = Array.from({ length: threads - 1 }, (_, other) =>
    startVerifying({ file, plan, publicIdKey, externalIdKeys, mismatchesMax, thread: other + 1, progress }),
  );
  try {
    const reach = (rows: number): void => {
      progress.rowsRead[0] = BigInt(rows);
      reached(Number(progress.rowsRead.reduce((sum, ofThread) => sum + ofThread, 0n)));
    };
    const own = { mismatchesMax, keys, reached: reach };
    const verified = [
      ...(await storage.read(() => runTasks(plan, { ...own, next: nextTask(plan, progress) }))),
    ];
    const readBefore = Number(progress.rowsRead[0]);
    for (const [other, { result }] of others.entries()) {
      const ofThread = await result;
      if (ofThread) verified.push(...ofThread);
      else progress.rowsRead[other + 1] = 0n;
    }
    // The tasks of a thread that could not open or read the file are run in this thread, which throws the error.
    const done = new Set(verified.map(({ place }) => place));
    const missing = plan.tasks.keys().filter((place) => !done.has(place));
    const after = { ...own, reached: (rows: number) => reach(readBefore + rows) };
    reach(readBefore);
    return await storage.read(function* () {
      verified.push(...(yield* runTasks(plan, { ...after, next: () => missing.next().value })));
      return yield* concludeVerification(plan, verified, mismatchesMax);
    });
  } finally {
    await Promise.all(others.map(({ worker }) => worker.terminate()));
  }
}

function threadsFor(database: DatabaseConfig['database']): number {
  if (database.kind !== 'file' || statSync(database.file).size < threadedBytesMin) return 1;
  return Math.min(availableParallelism(), threadsMax);
}

/** Starts a thread, which runs tasks until none is left. Its result is undefined if it has failed. */
export function startVerifying(data: ThreadData): {
  readonly worker: Worker;
  readonly result: Promise<readonly Verified[] | undefined>;
} {
  const worker = startThread('features/proofs/cli/verify-worker', { name: 'verify', workerData: data });
  const result = new Promise<readonly Verified[] | undefined>((resolve) => {
    worker.on('message', resolve);
    worker.on('error', () => resolve(undefined));
    worker.on('exit', () => resolve(undefined));
  });
  return { worker, result };
}
