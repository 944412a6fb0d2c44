/**
 * Turns for reads that take some milliseconds. SQLite runs in the service's only thread, so many of them at once would
 * delay every other request by their sum. One starts in each turn of the event loop, and other requests run in between.
 */

import { Fault } from '../domain/fault.ts';

/** Runs a function in a turn of its own. @throws Fault `overloaded` if too many are waiting, and its errors. */
export type Turns = <Result>(run: () => Promise<Result>) => Promise<Result>;

/** @param waitingMax how many can wait. */
export function createTurns(waitingMax: number): Turns {
  const waiting: (() => void)[] = [];
  let isTaken = false;
  // An immediate runs after the event loop has received what arrived on the sockets.
  const release = (): void => {
    const next = waiting.shift();
    isTaken = next !== undefined;
    if (!next) return;
    setImmediate(release);
    next();
  };
  return async (run) => {
    if (waiting.length >= waitingMax) throw new Fault('overloaded', { retryAfterSeconds: 1 });
    if (isTaken) {
      const { promise, resolve } = Promise.withResolvers<void>();
      waiting.push(resolve);
      await promise;
    } else {
      isTaken = true;
      setImmediate(release);
    }
    return await run();
  };
}
