/** The main module of the thread in `verify-thread.ts`. */

import assert from 'node:assert/strict';
import { parentPort, workerData } from 'node:worker_threads';
import { verifyPart } from '../service/proofs/verify.ts';
import { connect } from '../storage/sqlite/connection.ts';
import type { ThreadData } from './verify-thread.ts';

assert(parentPort, 'this module runs in a worker thread only');
const { file, mismatchesMax, rowsRead } = workerData as ThreadData;
const { database, begin, drive } = connect(file, { readOnly: true });
try {
  begin();
  const reached = (rows: number): void => void Atomics.store(rowsRead, 0, BigInt(rows));
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, and not a window
  parentPort.postMessage(drive(verifyPart(mismatchesMax, { part: 'stores', reached })));
} finally {
  database.close();
}
