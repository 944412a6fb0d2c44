/** The external ids that callers have used, as keyed digests. They are never changed or deleted. */

import type { ExternalKind } from '../../domain/external-id.ts';
import {
  bytesOrNull,
  columns,
  integer,
  integerOrNull,
  text,
  type RowOf,
} from '../../../database/sql/columns.ts';
import { all, execute, first, lock, parallel, sql, type Script } from '../../../database/sql/sql.ts';
import { lockNumberOf } from './idempotency.ts';

/** Bytes of a stored digest. Two ids of a store have the same with a probability of 2^-128. */
export const externalDigestLength = 16;

/** The stored form of an external id. */
export type ExternalKey = {
  readonly storeId: number;
  readonly kind: ExternalKind;
  /** Keyed digests under every key of the key file, the current key first. */
  readonly digests: readonly [Uint8Array, ...Uint8Array[]];
};

export type ExternalUse = {
  /** The caller: `api_client:7`, `staff:3`, … */
  readonly actor: string;
  /** Null: it was used up before an object had it, so none ever has. */
  readonly objectId: number | null;
  /** A keyed digest of what was asked for; null without an object. */
  readonly content: Uint8Array | null;
  /** Instant in ms. */
  readonly createdAt: number;
};

const uses = columns({
  actor: text('actor'),
  object_id: integerOrNull('objectId'),
  content: bytesOrNull('content'),
  created_at: integer('createdAt'),
});

/** Returns the use of an external id; undefined: it is unused. */
export function* findExternalUse({ storeId, kind, digests }: ExternalKey): Script<ExternalUse | undefined> {
  // The unique index contains one digest per id. The lock serializes processes that use different keys of the file.
  if (digests.length > 1) yield* execute(lock`select pg_advisory_xact_lock(2, ${lockNumberOf(digests)})`);
  const found = yield* parallel(
    ...digests.map((digest) =>
      all(sql<RowOf<typeof uses>>`
        select ${uses.names} from external_ids
        where store_id = ${storeId} and kind = ${kind} and digest = ${digest}`),
    ),
  );
  const [row] = found.flat();
  return row && uses.read(row);
}

/** Returns false if the external id was used, also by a transaction that this one has waited for. */
export function* insertExternalUse(
  { storeId, kind, digests: [digest] }: ExternalKey,
  use: ExternalUse,
): Script<boolean> {
  const row = yield* first(sql<{ created_at: bigint }>`
    insert into external_ids (store_id, kind, digest, ${uses.names})
    values (${storeId}, ${kind}, ${digest}, ${uses.values(use)})
    on conflict (store_id, kind, digest) do nothing returning created_at`);
  return row !== undefined;
}
