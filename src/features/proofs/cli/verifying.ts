/** Verifies a whole database: its file, if it has one, and then its rows. */

import type { DatabaseConfig } from '../../../start/config.ts';
import { openDatabase, type Database } from '../../../start/database.ts';
import { shownId } from '../../../platform/public-id.ts';
import { recordVerification } from '../service/verification.ts';
import { countVerifiedRows, type Mismatch, type Verification } from '../service/verify.ts';
import { inspectFile } from '../../../database/sqlite/inspection.ts';
import type { Progress } from '../../../cli/progress.ts';
import { verifyRows } from './verify-thread.ts';

const mismatchesMax = 1_000;

/** A mismatch with the public id of its card. */
type ShownMismatch = Mismatch & { readonly gift_card_id: number | null };

export type VerifiedDatabase = {
  readonly stores: Verification['stores'];
  readonly isSandbox: boolean;
  readonly mismatches: readonly ShownMismatch[];
  /** The reason why the result was not recorded for the console; absent: it was recorded, or was not to be. */
  readonly unrecorded?: unknown;
};

/**
 * Verifies the configured database, which services can use at the same time. If its file is too damaged to be opened or
 * read to the end, only the damage is reported.
 * @param options.prepare whether a database of an earlier version is migrated first, and a missing one is created.
 * @param options.progress shows the rows that were read.
 * @param options.isRecorded whether the result is recorded for the console. A damaged file is not written to.
 * @throws the error of a file that is not damaged and cannot be opened or read.
 */
export async function verifyDatabase(
  config: DatabaseConfig,
  {
    prepare = false,
    isRecorded = false,
    progress,
  }: { readonly prepare?: boolean; readonly isRecorded?: boolean; readonly progress?: Progress } = {},
): Promise<VerifiedDatabase> {
  let damage: readonly ShownMismatch[] | undefined;
  try {
    await using database = await openDatabase(config, { prepare, withoutTimeLimit: true });
    damage = damageOf(config);
    const { keys, clock, testClock } = database.ctx;
    if (progress)
      progress.begin('verified', { total: await database.storage.read(countVerifiedRows), done: 0 });
    const verifiedAt = clock.now();
    let rowsRead = 0;
    const { stores, mismatches } = await verifyRows(database, config, {
      mismatchesMax,
      reached(rows) {
        rowsRead = rows;
        progress?.reach(rows);
      },
    });
    progress?.end();
    const unrecorded =
      isRecorded && damage.length === 0
        ? await recordResult(database, { verifiedAt, rowsRead, mismatches })
        : undefined;
    const ofRows = mismatches.map((mismatch) => ({
      ...mismatch,
      gift_card_id: mismatch.cardId === null ? null : shownId(keys.publicIds, mismatch.cardId),
    }));
    return {
      stores,
      isSandbox: testClock !== null,
      mismatches: [...damage, ...ofRows].slice(0, mismatchesMax),
      ...(unrecorded !== undefined && { unrecorded }),
    };
  } catch (error) {
    damage ??= damageBehind(config, error);
    if (damage.length === 0) throw error;
    return { stores: [], isSandbox: false, mismatches: damage };
  }
}

/** @returns why the result could not be recorded, such as a read-only disk: it is valid without the record. */
async function recordResult(
  { storage }: Pick<Database, 'storage'>,
  result: Parameters<typeof recordVerification>[0],
): Promise<unknown> {
  try {
    await storage.write(() => recordVerification(result));
    return undefined;
  } catch (error) {
    return error;
  }
}

function damageOf({ database }: DatabaseConfig): readonly ShownMismatch[] {
  if (database.kind !== 'file') return [];
  const problems = inspectFile(database.file).slice(0, mismatchesMax);
  return problems.map((problem) => ({ store: null, cardId: null, gift_card_id: null, problem }));
}

/** The damage that may be the cause of an error. @throws the error if the file cannot be inspected. */
function damageBehind(config: DatabaseConfig, error: unknown): readonly ShownMismatch[] {
  try {
    return damageOf(config);
  } catch {
    throw error;
  }
}

export function describeMismatch({ store, cardId, gift_card_id: id, problem }: ShownMismatch): string {
  if (store === null) return problem;
  return `${store}${id === null ? '' : `, gift card ${id} (row ${cardId})`}: ${problem}`;
}
