/** Limits the files of tables that are read and checked at the same time: one of a store, and a few of all stores. */

import { ToolKey } from '../../../platform/tools.ts';
import { Fault } from '../../../core/domain/fault.ts';
import type { Paused } from '../../../core/domain/paused.ts';
import { setImmediate } from 'node:timers/promises';

/** Runs work on a file. @throws Fault `too-many-requests` if the store has another one, `overloaded` if many are waiting. */
export type TableTurns = <Result>(storeId: number, work: () => Promise<Result>) => Promise<Result>;

export const tableTurnsTool = new ToolKey<TableTurns>('turns of tables');

/** A file takes a second at most, unless it is made to take longer. */
const retryAfterSeconds = 5;

const otherFile = 'cannot be read while another file of the store is being read';

/** @param tablesAtOnceMax how many are read at the same time. @param tablesWaitingMax how many can wait. */
export function createTableTurns({
  tablesAtOnceMax,
  tablesWaitingMax,
}: {
  readonly tablesAtOnceMax: number;
  readonly tablesWaitingMax: number;
}): TableTurns {
  const stores = new Set<number>();
  const waiting: (() => void)[] = [];
  let running = 0;
  const begin = async (): Promise<void> => {
    if (running < tablesAtOnceMax) {
      running += 1;
      return;
    }
    const { promise, resolve } = Promise.withResolvers<void>();
    waiting.push(resolve);
    await promise;
  };
  const end = (): void => {
    const next = waiting.shift();
    if (next) next();
    else running -= 1;
  };
  return async (storeId, work) => {
    if (stores.has(storeId))
      throw new Fault('too-many-requests', { errors: { file: [otherFile] }, retryAfterSeconds });
    if (waiting.length >= tablesWaitingMax) throw new Fault('overloaded', { retryAfterSeconds });
    stores.add(storeId);
    try {
      await begin();
      try {
        return await work();
      } finally {
        end();
      }
    } finally {
      stores.delete(storeId);
    }
  };
}

/** Runs work in steps, between which other requests run. */
export async function withPauses<Result>(work: Paused<Result>): Promise<Result> {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
    await setImmediate();
  }
}
