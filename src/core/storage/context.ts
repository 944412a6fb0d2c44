/** The dependencies of scripts and their callers: time, randomness and keys. */

import type { Clock, TestClock, WallClock } from '../../platform/clock.ts';
import type { Random } from '../../platform/random.ts';
import type { CodeCohorts } from '../cards/storage/code-cohorts.ts';
import type { Keys } from '../../platform/keys.ts';
import type { Tracing } from '../../platform/tracing.ts';

export type Context = {
  readonly clock: Clock;
  readonly wallClock: WallClock;
  /** Null: the database is not a sandbox. */
  readonly testClock: TestClock | null;
  readonly random: Random;
  readonly keys: Keys;
  readonly codeCohorts: CodeCohorts;
  /** Absent: nothing is traced. */
  readonly messageContext?: Tracing['messageContext'];
};
