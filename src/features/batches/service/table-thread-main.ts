/** The main module of the thread in `table-file.ts`. */

import assert from 'node:assert/strict';
import { setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import { MalformedTable } from '../../../core/tables/domain/table-text.ts';
import type { TableOrder, TableReport } from './table-file.ts';
import { readTableBytes } from './table-reader.ts';

/** The value of nice(1): a quarter of the processor time of requests, if both need more than is available. */
const niceness = 5;

async function run({ bytes, ...notation }: TableOrder): Promise<TableReport> {
  try {
    return { kind: 'table', table: await readTableBytes(bytes, notation) };
  } catch (error) {
    if (!(error instanceof MalformedTable)) throw error;
    return { kind: 'malformed', line: error.line, message: error.message };
  }
}

assert(parentPort, 'this module runs as a thread');
// Only Linux has a priority per thread.
if (process.platform === 'linux') setPriority(niceness);
const port = parentPort;
const report = (sent: TableReport): void => {
  port.postMessage(sent);
};
report({ kind: 'begun' });
void run(workerData as TableOrder).then(report);
