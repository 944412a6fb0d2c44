/**
 * Verifies a large SQLite file with two threads: the ledgers in this one, and the changes, logs, days, sums and references
 * in a thread of their own. Each has its own state of the file, which is enough, because each check reads only one.
 */

import { availableParallelism } from 'node:os';
import { statSync } from 'node:fs';
import type { DatabaseConfig } from '../start/config.ts';
import type { Database } from '../start/database.ts';
import { startThread } from '../platform/program-files.ts';
import {
  joinParts,
  verify,
  verifyPart,
  type Verification,
  type VerifiedPart,
} from '../service/proofs/verify.ts';

/** A thread takes 0.3 s to start, in which 10,000 entries are verified. */
const threadedFrom = availableParallelism() > 1 ? 64 * 2 ** 20 : Number.POSITIVE_INFINITY;

export type ThreadData = {
  readonly file: string;
  readonly mismatchesMax: number;
  /** One number: the rows that the thread has read. Shared, because this thread reads no messages while it verifies. */
  readonly rowsRead: BigInt64Array;
};

export type ThreadedOptions = {
  readonly mismatchesMax: number;
  /** Receives the number of rows that were read so far. */
  readonly reached: (rows: number) => void;
  /** The size in bytes from which a file is verified with two threads. */
  readonly threadsFrom?: number;
};

/** Verifies all rows of a database, which is open with this configuration. */
export async function verifyRows(
  { storage, ctx: { keys } }: Database,
  { database }: Pick<DatabaseConfig, 'database'>,
  { mismatchesMax, reached, threadsFrom = threadedFrom }: ThreadedOptions,
): Promise<Verification> {
  if (database.kind !== 'file' || statSync(database.file).size < threadsFrom)
    return await storage.read(() => verify(mismatchesMax, { keys, reached }));
  const rowsRead = new BigInt64Array(new SharedArrayBuffer(8));
  const data: ThreadData = { file: database.file, mismatchesMax, rowsRead };
  const thread = startThread('cli/verify-worker', { name: 'verify', workerData: data });
  try {
    const ofThread = new Promise<VerifiedPart | undefined>((resolve) => {
      thread.on('message', resolve);
      // A file that a second connection cannot open or read is verified in this thread, which throws the error.
      thread.on('error', () => resolve(undefined));
      thread.on('exit', () => resolve(undefined));
    });
    let own = 0;
    const reach = (rows: number): void => {
      own = rows;
      reached(own + Number(Atomics.load(rowsRead, 0)));
    };
    const ledgers = await storage.read(() =>
      verifyPart(mismatchesMax, { keys, part: 'ledgers', reached: reach }),
    );
    let stores = await ofThread;
    if (!stores) {
      Atomics.store(rowsRead, 0, 0n);
      const before = own;
      const reachedAfter = (rows: number): void => reached(before + rows);
      stores = await storage.read(() =>
        verifyPart(mismatchesMax, { keys, part: 'stores', reached: reachedAfter }),
      );
    } else reach(own);
    return joinParts(mismatchesMax, [ledgers, stores]);
  } finally {
    await thread.terminate();
  }
}
