/** Races that are held where all callers ask one process, and where they ask two that share a database. */

import test from 'node:test';

/** How many service processes there are. */
export type Processes = 1 | 2;

export function race(name: string, body: (processes: Processes) => Promise<void>): void {
  test(`${name}, at one process`, () => body(1));
  test(`${name}, at two processes`, () => body(2));
}
