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
import { checkpointing } from './checkpoints.ts';

assert(parentPort, 'this module runs in a worker thread only');
const port = parentPort;
const { file } = workerData as { readonly file: string };
const database = new DatabaseSync(file);
const checkpoint = checkpointing(database, 'passive');

port.on('message', (order: Order) => {
  if (order === 'checkpoint') return port.postMessage(attempt());
  database.close();
  port.close();
});

function attempt(): CheckpointResult {
  try {
    return { log: checkpoint() };
  } catch (error) {
    // Only the message of an error can be sent to another thread.
    return { message: String(error), errcode: (error as { readonly errcode?: number }).errcode };
  }
}
