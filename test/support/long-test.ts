import test from 'node:test';
import type { StorageFactory } from './database.ts';

/**
 * A test of thousands of operations. On a server, where each statement is a round trip, it runs only in the soak, which sets
 * `LONG_TESTS`.
 */
export function longTest(
  factory: StorageFactory,
  name: string,
  run: (t: test.TestContext) => Promise<void>,
): void {
  if (!factory.isServer || process.env['LONG_TESTS'] !== undefined) test(name, run);
}
