/** A move of a store between two databases, and its result. */

import type { Context } from '../../../core/storage/context.ts';
import { CopyError, identify } from '../service/copy.ts';
import type { ArrivalCommand, MovedStore, StoreInventory } from '../service/store-copy.ts';
import type { Storage } from '../../../database/storage.ts';
import type { CopyOutcome } from './copying.ts';
import { fromSource } from './copy-sides.ts';
import { CommandError } from '../../../cli/failure.ts';
import type { Progress } from '../../../cli/progress.ts';

/** One side of a move. */
export type MoveSide = {
  readonly ctx: Context;
  readonly storage: Storage;
  /** Its location, without a password. */
  readonly shown: string;
  readonly isFile: boolean;
};

export type Move = {
  readonly domain: string;
  readonly source: MoveSide;
  readonly target: MoveSide;
  readonly run: string;
  readonly progress: Progress;
};

export type MoveOutcome = CopyOutcome<StoreInventory> & {
  /** For how long the store was closed, in seconds. */
  readonly closedSeconds: number;
  /** Whether it is open in the source, because the copy differs. */
  readonly isSourceOpen: boolean;
};

/** @param store with the time of its closing, or the id of the recording of its changes: another one begins the copy again. */
export async function commandOf({ source, run }: Move, store: MovedStore): Promise<ArrivalCommand> {
  return { store, source: await fromSource(source.storage, identify), sourceShown: source.shown, run };
}

/** Adds to an expected error what the state of the store is. */
export function noted(error: unknown, note: string): unknown {
  if (!(error instanceof CopyError || error instanceof CommandError)) return error;
  return new CommandError(`${error.message}\n${note}`, { cause: error });
}
