/**
 * Programs whose system clock a test sets while they run, with libfaketime. Their monotonic clock is not
 * changed.
 */

import { globSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Environment } from './engine-database.ts';

export type FakedClock = Disposable & {
  /** The environment of a program with this clock. */
  readonly environment: Environment;
  /** Sets the clock ahead of the machine's clock. */
  set(secondsAhead: number): void;
};

/** @throws Error if libfaketime is not installed. */
export function fakedClock(secondsAhead = 0): FakedClock {
  const [library] = globSync('/usr/lib/{*/,}faketime/libfaketimeMT.so.1');
  if (library === undefined)
    throw new Error('libfaketimeMT.so.1 is missing: install the Debian package faketime');
  const folder = mkdtempSync(join(tmpdir(), 'largesse-clock-'));
  const file = join(folder, 'offset');
  const set = (seconds: number): void => writeFileSync(file, `${seconds < 0 ? '' : '+'}${seconds}\n`);
  set(secondsAhead);
  return {
    environment: {
      LD_PRELOAD: library,
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_NO_CACHE: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
      DONT_FAKE_MONOTONIC: '1',
    },
    set,
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}
