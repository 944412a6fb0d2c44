/**
 * The steps of `largesse copy --store`. A store leaves a file while it is open (`open-copying.ts`). On a server, it is closed
 * first.
 */

import { assertSameTables, CopyError, identify } from '../service/copy.ts';
import {
  assertSameKeys,
  closeStore,
  failArrival,
  findArrival,
  findMovable,
  recordMoved,
} from '../service/store-copy.ts';
import { verify } from '../../proofs/service/verify.ts';
import { findRecording } from '../storage/moving-changes.ts';
import { listKeyChecks } from '../../proofs/storage/key-check.ts';
import { resolved } from '../../../database/sql/sql.ts';
import { listTables } from '../../../database/sql/table.ts';
import { countInversions, storeTablesOf, type StoreTables } from '../../../core/stores/storage/table.ts';
import { assertSameSchema } from './copying.ts';
import { atTarget, fromSource, nameSide } from './copy-sides.ts';
import { commandOf, noted, type Move, type MoveOutcome } from './moving.ts';
import { allTables, endRecordingOf, moveWhileOpen } from './open-copying.ts';
import { compareSides, copyRows, openInTarget, prepareTarget } from './store-arrival.ts';
import { closeFully } from './store-closing.ts';

/**
 * Moves a store into a database that has other stores, or continues an interrupted move.
 * @throws CopyError if the store cannot be moved there; CommandError if a database is temporarily unavailable.
 */
export async function moveStore(move: Move): Promise<MoveOutcome> {
  const { source, domain } = move;
  const tables = await assertMovable(move);
  const state = await fromSource(source.storage, () => findMovable(domain));
  // A wrong ledger is found before the store is closed, and before the target has any of its rows.
  if (state.status === 'open') await assertSound(move, state.id);
  const recording = source.isFile
    ? await fromSource(source.storage, () => findRecording(state.id, allTables(tables)))
    : undefined;
  const isRecorded = recording !== undefined && state.status !== 'moved';
  return source.isFile && (state.status === 'open' || isRecorded)
    ? await moveWhileOpen(move, { tables, state, recording })
    : await moveClosed(move, { tables, recording });
}

/** Moves a store that is closed from the beginning on. */
async function moveClosed(
  move: Move,
  { tables, recording }: { readonly tables: StoreTables; readonly recording: number | undefined },
): Promise<MoveOutcome> {
  const { source, target, domain } = move;
  const store = await nameSide(
    'source',
    source.storage.write(() => closeStore(source.ctx, domain)),
  );
  try {
    if (store.status !== 'moved') await closeFully(move, { store, tables });
    const command = await commandOf(move, { ...store, closedAt: recording ?? store.closedAt });
    const resumed = await prepareTarget(move, { command, tables });
    const copied = await copyRows(move, { command, tables });
    // Before the store is open in the target, so that the command can be repeated if this fails.
    const reordered = target.isFile ? await fromSource(source.storage, () => countInversions(store.id)) : 0;
    const nothing = { first: () => resolved(undefined), between: async () => undefined };
    const { inventory, differences } = await compareSides(move, { command, tables }, nothing);
    if (differences.length > 0) await atTarget(target.storage.write(() => failArrival(target.ctx, command)));
    else {
      await nameSide(
        'source',
        source.storage.write(() => recordMoved(store, target.shown)),
      );
      await openInTarget(move, command);
      if (recording !== undefined) await endRecordingOf(source.storage, store.id);
    }
    const closedSeconds = (source.ctx.clock.now() - store.closedAt) / 1_000;
    return { resumed, copied, closedSeconds, isSourceOpen: false, source: inventory, differences, reordered };
  } catch (error) {
    throw noted(
      error,
      `${domain} is closed: run the same command again to continue, or open it in the source with "largesse store reopen"`,
    );
  }
}

/** Checks everything that can prevent the move, before anything changes. */
async function assertMovable({ domain, source, target }: Move): Promise<StoreTables> {
  if (source.storage.isDistributed || target.storage.isDistributed)
    throw new CopyError(
      'a store cannot be moved into or out of a Citus cluster: "largesse copy" copies all stores',
    );
  await assertSameSchema({ source: source.storage, target: target.storage });
  const tables = await fromSource(source.storage, listTables);
  assertSameTables(tables, await atTarget(target.storage.read(listTables)));
  assertSameKeys(
    await fromSource(source.storage, listKeyChecks),
    await atTarget(target.storage.read(listKeyChecks)),
  );
  const state = await fromSource(source.storage, () => findMovable(domain));
  const from = await fromSource(source.storage, identify);
  await atTarget(target.storage.read(() => findArrival(state, from)));
  return storeTablesOf(tables);
}

async function assertSound({ domain, source }: Move, storeId: number): Promise<void> {
  const { mismatches } = await fromSource(source.storage, () =>
    verify(1, { keys: source.ctx.keys, onlyStore: storeId }),
  );
  const [mismatch] = mismatches;
  if (mismatch)
    throw new CopyError(`the ledger of ${domain} is wrong (${mismatch.problem}): see "largesse verify"`);
}
