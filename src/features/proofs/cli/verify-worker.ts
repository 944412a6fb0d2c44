/** The main module of a thread in `verify-thread.ts`. */

import assert from 'node:assert/strict';
import { parentPort, workerData } from 'node:worker_threads';
import { publicIdsOf } from '../../../platform/public-id.ts';
import { runTasks } from '../service/verify.ts';
import { connect } from '../../../database/sqlite/connection.ts';
import { openToRead } from '../../../database/sqlite/open-file.ts';
import { nextTask, type ThreadData } from './verify-tasks.ts';
import { nameSourcesInStacks } from '../../../platform/stack-traces.ts';

nameSourcesInStacks();

assert(parentPort, 'this module runs in a worker thread only');
const { file, plan, publicIdKey, externalIdKeys, mismatchesMax, thread, progress } = workerData as ThreadData;
const { database, begin, drive } = openToRead(file, (name) => connect(name, { readOnly: true })).opened;
try {
  begin();
  const options = {
    mismatchesMax,
    keys: { publicIds: publicIdsOf(publicIdKey), digestKeys: () => externalIdKeys },
    reached: (rows: number) => void Atomics.store(progress.rowsRead, thread, BigInt(rows)),
    next: nextTask(plan, progress),
  };
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, and not a window
  parentPort.postMessage(drive(runTasks(plan, options)));
} finally {
  database.close();
}
