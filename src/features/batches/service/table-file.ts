/**
 * Reads uploaded tables in a thread of their own, whose memory and processor time are limited: whatever is in a file, the
 * result is its text or a sentence about it, and other requests do not wait.
 */

import { createHash } from 'node:crypto';
import type { Worker } from 'node:worker_threads';
import { batchFileBytesMax } from '../domain/columns.ts';
import { fileTooLarge, MalformedTable, tooMuchWork } from '../../../core/tables/domain/table-text.ts';
import { startThread } from '../../../platform/program-files.ts';
import type { TableFile, TableNotation } from './table-reader.ts';

/** The digest by which a file is known again, in hexadecimal digits. */
export function digestOfFile(file: Uint8Array | string): string {
  return createHash('sha256').update(file).digest('hex');
}

export type TableOrder = TableNotation & { readonly bytes: Uint8Array };

export type TableReport =
  /** The modules are loaded: later errors are due to the file. */
  | { readonly kind: 'begun' }
  | { readonly kind: 'table'; readonly table: TableFile }
  | { readonly kind: 'malformed'; readonly line: number; readonly message: string };

/** 10,000 rows of 64 cells need half of it. `--max-old-space-size` has priority in V8; the reader limits lengths first. */
const resourceLimits = { maxOldGenerationSizeMb: 96, maxYoungGenerationSizeMb: 16 };

/** 10,000 rows of 64 cells need less than half of it, and usual files a tenth. */
const ownProcessorMsMax = 4_000;
const checkPeriodMs = 100;
/** A thread that does not say its processor time for 30 seconds is ended as well. */
const checksMax = 300;

function startOwn(order: TableOrder): Worker {
  return startThread('features/batches/service/table-thread-main', {
    name: 'table',
    workerData: order,
    execArgv: [],
    resourceLimits,
  });
}

/** @throws MalformedTable if the file is not a table, or above a limit. */
export async function readTableFile(
  bytes: Uint8Array,
  notation: TableNotation,
  {
    start = startOwn,
    processorMsMax = ownProcessorMsMax,
  }: { readonly start?: (order: TableOrder) => Worker; readonly processorMsMax?: number } = {},
): Promise<TableFile> {
  if (bytes.length > batchFileBytesMax) throw new MalformedTable(1, fileTooLarge);
  // A view would be sent with the whole request.
  const worker = start({ ...notation, bytes: Uint8Array.from(bytes) });
  const { promise, resolve, reject } = Promise.withResolvers<Exclude<TableReport, { kind: 'begun' }>>();
  const exceeded = (cause?: unknown): void => reject(new MalformedTable(1, tooMuchWork, { cause }));
  let hasBegun = false;
  worker.on('message', (report: TableReport) => {
    if (report.kind === 'begun') hasBegun = true;
    else resolve(report);
  });
  let failure: unknown;
  worker.on('error', (error: unknown) => (failure = error));
  // An error can arrive before an earlier message, and the end after all of them.
  worker.on('exit', () => {
    if (hasBegun || failure === undefined) exceeded(failure);
    else
      reject(
        failure instanceof Error ? failure : new Error('the thread of a table has ended', { cause: failure }),
      );
  });
  const watch = watchProcessorTime(worker, { processorMsMax, exceeded });
  try {
    const report = await promise;
    if (report.kind === 'malformed') throw new MalformedTable(report.line, report.message);
    return report.table;
  } finally {
    clearInterval(watch);
    await worker.terminate();
  }
}

/** Measures processor time, so that a busy machine does not reject a file. */
function watchProcessorTime(
  worker: Worker,
  { processorMsMax, exceeded }: { readonly processorMsMax: number; readonly exceeded: () => void },
): NodeJS.Timeout {
  let unanswered = 0;
  return setInterval(() => {
    unanswered += 1;
    if (unanswered > checksMax) exceeded();
    if (unanswered > 1) return;
    worker.cpuUsage().then(
      ({ user, system }) => {
        unanswered = 0;
        if ((user + system) / 1_000 > processorMsMax) exceeded();
      },
      // It has ended, which is an event of its own.
      () => undefined,
    );
  }, checkPeriodMs);
}
