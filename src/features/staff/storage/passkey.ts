/** Passkeys of members of staff. */

import { bytes, columns, integer, integerOrNull, text, type RowOf } from '../../../database/sql/columns.ts';
import { all, execute, first, lock, sql, toNumber, type Script } from '../../../database/sql/sql.ts';
import { forUpdate } from '../../../database/sql/fragments.ts';

export type Passkey = {
  readonly storeId: number;
  readonly id: number;
  readonly staffId: number;
  readonly credentialId: Uint8Array;
  /** A COSE key (RFC 9052). */
  readonly publicKey: Uint8Array;
  /** 0: the authenticator does not count. */
  readonly signCount: number;
  /** The transports of the authenticator, such as `internal` and `hybrid`. */
  readonly transports: readonly string[];
  /** Chosen by the person. */
  readonly name: string;
  /** Instants in ms. */
  readonly createdAt: number;
  readonly lastUsedAt: number | null;
};

const passkeys = columns({
  store_id: integer('storeId'),
  id: integer('id'),
  staff_id: integer('staffId'),
  credential_id: bytes('credentialId'),
  public_key: bytes('publicKey'),
  sign_count: integer('signCount'),
  transports: {
    field: 'transports',
    read: (transports: string): readonly string[] => (transports === '' ? [] : transports.split(' ')),
    write: ({ transports }: Pick<Passkey, 'transports'>) => transports.join(' '),
  },
  name: text('name'),
  created_at: integer('createdAt'),
  last_used_at: integerOrNull('lastUsedAt'),
});

type PasskeyRow = RowOf<typeof passkeys>;
type Owner = { readonly storeId: number; readonly staffId: number };

/** Locks the member, so that two changes cannot exceed a limit or remove the last two ways to sign in. */
export function* lockPasskeysOf({ storeId, staffId }: Owner): Script<void> {
  yield* execute(lock`select id from staff where store_id = ${storeId} and id = ${staffId} ${forUpdate}`);
}

/** @returns whether the passkey was inserted; false if the store has the credential. */
export function* insertPasskey(passkey: Passkey): Script<boolean> {
  const row = yield* first(sql<{ id: bigint }>`
    insert into passkeys (${passkeys.names}) values (${passkeys.values(passkey)})
    on conflict (store_id, credential_id) do nothing returning id`);
  return row !== undefined;
}

export function* findPasskey(storeId: number, credentialId: Uint8Array): Script<Passkey | undefined> {
  const row = yield* first(sql<PasskeyRow>`
    select ${passkeys.names} from passkeys where store_id = ${storeId} and credential_id = ${credentialId}`);
  return row && passkeys.read(row);
}

/** The passkeys of a member, oldest first. */
export function* listPasskeys({ storeId, staffId }: Owner): Script<readonly Passkey[]> {
  const rows = yield* all(sql<PasskeyRow>`
    select ${passkeys.names} from passkeys where store_id = ${storeId} and staff_id = ${staffId} order by id`);
  return rows.map(passkeys.read);
}

/** The numbers of passkeys of a store's members, by the member's id. */
export function* countPasskeys(storeId: number): Script<ReadonlyMap<number, number>> {
  const rows = yield* all(sql<{ staff_id: bigint; passkeys: bigint }>`
    select staff_id, count(*) as passkeys from passkeys where store_id = ${storeId} group by staff_id`);
  return new Map(rows.map((row) => [toNumber(row.staff_id), toNumber(row.passkeys)]));
}

/**
 * Records a use.
 * @returns whether the counter is above the stored one. If it is not, the authenticator was copied.
 */
export function* updatePasskeyUse(
  { storeId, id }: Passkey,
  { signCount, now }: { readonly signCount: number; readonly now: number },
): Script<boolean> {
  const row = yield* first(sql<{ id: bigint }>`
    update passkeys set sign_count = ${signCount}, last_used_at = ${now}
    where store_id = ${storeId} and id = ${id}
      and (sign_count < ${signCount} or (sign_count = 0 and ${signCount} = 0))
    returning id`);
  return row !== undefined;
}

export function* updatePasskeyName(
  { storeId, staffId }: Owner,
  { id, name }: { readonly id: number; readonly name: string },
): Script<boolean> {
  const row = yield* first(sql<{ id: bigint }>`
    update passkeys set name = ${name}
    where store_id = ${storeId} and id = ${id} and staff_id = ${staffId} returning id`);
  return row !== undefined;
}

/** @returns the name of the deleted passkey; undefined if the member does not have it. */
export function* deletePasskey({ storeId, staffId }: Owner, id: number): Script<string | undefined> {
  const row = yield* first(sql<{ name: string }>`
    delete from passkeys where store_id = ${storeId} and id = ${id} and staff_id = ${staffId} returning name`);
  return row?.name;
}
