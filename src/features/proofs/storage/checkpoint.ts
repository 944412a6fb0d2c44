/** Checkpoints of the logs, and the public keys that have signed them. */

import type { Checkpoint } from '../domain/checkpoint.ts';
import { bytes, columns, integer, text, textOrNull, type RowOf } from '../../../database/sql/columns.ts';
import { all, execute, first, sql, toNumber, type Script } from '../../../database/sql/sql.ts';
import { ofOpenStore } from '../../../core/stores/storage/store.ts';

const checkpoints = columns({
  id: integer('id'),
  size: integer('size'),
  root: bytes('root'),
  day: textOrNull('day'),
  note: text('note'),
  created_at: integer('createdAt'),
});

type CheckpointRow = RowOf<typeof checkpoints>;

const keys = columns({
  key_id: text('keyId'),
  public_key: bytes('publicKey'),
  created_at: integer('createdAt'),
});

/** A public key that has signed checkpoints of a store. `keyId` is the id of the master key. */
export type CheckpointKey = ReturnType<typeof keys.read>;

/** Returns the ids of open stores with checkpoints, of which a key has signed none. */
export function* listStoresWithoutKey(
  publicKey: Uint8Array,
  { after, limit }: { readonly after: number; readonly limit: number },
): Script<readonly number[]> {
  const rows = yield* all(sql<{ store_id: bigint }>`
    select distinct store_id from checkpoint_keys k
    where store_id > ${after} and ${ofOpenStore} and not exists (
      select 1 as one from checkpoint_keys c where c.store_id = k.store_id and c.public_key = ${publicKey})
    order by store_id limit ${limit}`);
  return rows.map((row) => toNumber(row.store_id));
}

export function* insertCheckpoint(storeId: number, checkpoint: Checkpoint): Script<void> {
  yield* execute(sql`
    insert into checkpoints (store_id, ${checkpoints.names}) values (${storeId}, ${checkpoints.values(checkpoint)})`);
}

export function* findCheckpoint(storeId: number, id: number): Script<Checkpoint | undefined> {
  const row = yield* first(sql<CheckpointRow>`
    select ${checkpoints.names} from checkpoints where store_id = ${storeId} and id = ${id}`);
  return row && checkpoints.read(row);
}

export function* findDailyCheckpoint(storeId: number, day: string): Script<Checkpoint | undefined> {
  const row = yield* first(sql<CheckpointRow>`
    select ${checkpoints.names} from checkpoints where store_id = ${storeId} and day = ${day}`);
  return row && checkpoints.read(row);
}

/** Returns the newest checkpoints, or those before the one with the id `before`, newest first. */
export function* listCheckpointsBefore(
  storeId: number,
  { before, limit }: { readonly before: number; readonly limit: number },
): Script<readonly Checkpoint[]> {
  const rows = yield* all(sql<CheckpointRow>`
    select ${checkpoints.names} from checkpoints where store_id = ${storeId} and id < ${before}
    order by id desc limit ${limit}`);
  return rows.map(checkpoints.read);
}

/** Returns the checkpoints after the one with the id `after`, oldest first. */
export function* listCheckpointsAfter(
  storeId: number,
  { after, limit }: { readonly after: number; readonly limit: number },
): Script<readonly Checkpoint[]> {
  const rows = yield* all(sql<CheckpointRow>`
    select ${checkpoints.names} from checkpoints where store_id = ${storeId} and id > ${after}
    order by id limit ${limit}`);
  return rows.map(checkpoints.read);
}

/** Returns the keys in the order of their first checkpoints. */
export function* listPublicKeys(storeId: number): Script<readonly CheckpointKey[]> {
  const rows = yield* all(sql<RowOf<typeof keys>>`
    select ${keys.names} from checkpoint_keys where store_id = ${storeId} order by created_at, key_id`);
  return rows.map(keys.read);
}

export function* insertCheckpointKey(storeId: number, key: CheckpointKey): Script<void> {
  yield* execute(sql`
    insert into checkpoint_keys (store_id, ${keys.names}) values (${storeId}, ${keys.values(key)})
    on conflict do nothing`);
}
