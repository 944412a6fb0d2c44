/** What scripts and their callers are given besides their command. */

import type { Chance, Clock } from './clock-and-chance.ts';
import type { Keys } from './keys.ts';

export type Context = {
  readonly clock: Clock;
  readonly chance: Chance;
  readonly keys: Keys;
};
