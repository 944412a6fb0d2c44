/** The dependencies of scripts and their callers: time, randomness and keys. */

import type { Chance, Clock } from './clock-and-chance.ts';
import type { Keys } from './keys.ts';

export type Context = {
  readonly clock: Clock;
  readonly chance: Chance;
  readonly keys: Keys;
};
