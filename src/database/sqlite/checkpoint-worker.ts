/**
 * The checkpoint thread. It moves pages from the log into the database file on request.
 *
 * `synchronous` has SQLite's default here (full): the log is synced before its pages are moved, and the file
 * before the log restarts.
 */

import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';
import type { CheckpointResult, Order } from './checkpoint-thread.ts';
import { checkpointing, type WalState } from './checkpoints.ts';
import { nameSourcesInStacks } from '../../platform/stack-traces.ts';

nameSourcesInStacks();

assert(parentPort, 'this module runs in a worker thread only');
const port = parentPort;
const { file } = workerData as { readonly file: string };
/** The longest wait of emptying the log for transactions that use it. */
const busyMs = 500;
const database = new DatabaseSync(file, { timeout: busyMs });
const checkpoint = checkpointing(database, 'passive');

port.on('message', (order: Order) => {
  if (order === 'checkpoint') return port.postMessage(attempt(checkpoint));
  if (order === 'truncate') return port.postMessage(attempt(truncate));
  database.close();
  port.close();
});

/** Most pages are moved before the log is locked, so that writes wait only for the rest. */
function truncate(): WalState {
  checkpoint();
  return checkpointing(database, 'truncate')();
}

function attempt(run: () => WalState): CheckpointResult {
  try {
    return { log: run() };
  } catch (error) {
    // Only the message of an error can be sent to another thread.
    return { message: String(error), errcode: (error as { readonly errcode?: number }).errcode };
  }
}
