/** The source and the target of a copy: their errors name the one that cannot be used. */

import { Fault } from '../../../core/domain/fault.ts';
import type { Script } from '../../../database/sql/sql.ts';
import type { Storage } from '../../../database/storage.ts';
import { CommandError } from '../../../cli/failure.ts';

export function fromSource<T>(source: Storage, script: () => Script<T>): Promise<T> {
  return nameSide('source', source.read(script));
}

export function atTarget<T>(work: Promise<T>): Promise<T> {
  return nameSide('target', work);
}

/** Adds to an error which of the two databases cannot be used. */
export async function nameSide<T>(side: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    const why = error.cause instanceof Error ? error.cause.message : error.code;
    throw new CommandError(`the ${side} cannot be used (${why}): run the same command again to continue`, {
      cause: error,
    });
  }
}
