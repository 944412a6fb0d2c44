/** Options of the embedded engine. */

import type { Clock } from '../../platform/clock.ts';
import type { Random } from '../../platform/random.ts';
import type { Checkpointer } from './checkpoints.ts';
import type { Sync } from './durability.ts';
import type { StorageObserver } from '../storage.ts';
import type { WriteTurns } from './write-lock.ts';

export type SqliteOptions = {
  readonly file: string;
  /** Whether to create the file if it does not exist. */
  readonly create: boolean;
  /** Whether opening the file moves the log into it. For long-running processes. */
  readonly moveLog?: boolean;
  readonly clock: Clock;
  readonly random: Random;
  readonly observer: StorageObserver;
  /** Limit of scripts that wait to be run or to be durable. Further ones are rejected. */
  readonly queueMax: number;
  /** Limit of scripts in one transaction. */
  readonly groupMax: number;
  /** The longest wait of a write for another process that writes to the file. */
  readonly lockWaitMaxMs: number;
  /** The order in which the processes of a service write; null or absent: this process is the only one. */
  readonly turns?: WriteTurns | null;
  /** Makes the log durable; default: a sync. Tests use one that waits or fails. */
  readonly sync?: Sync;
  /** Moves pages from the log into the file; default: a thread. */
  readonly startCheckpointer?: () => Checkpointer;
};
