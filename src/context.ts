/** The dependencies of scripts and their callers: time, randomness and keys. */

import type { Clock } from './clock.ts';
import type { Random } from './random.ts';
import type { CodeCohorts } from './code-cohorts.ts';
import type { Keys } from './keys.ts';
import type { Tracing } from './tracing.ts';

export type Context = {
  readonly clock: Clock;
  readonly random: Random;
  readonly keys: Keys;
  readonly codeCohorts: CodeCohorts;
  /** Absent: nothing is traced. */
  readonly messageContext?: Tracing['messageContext'];
};
