/** The credentials that sign the passes of a store. */

import type { WalletKind } from '../domain/wallet.ts';
import { sealNonceLength } from '../../../platform/keys.ts';
import type { Context } from '../../../core/storage/context.ts';
import {
  bytes,
  columns,
  integer,
  integerOrNull,
  text,
  textOrNull,
  unchanged,
  type RowOf,
} from '../../../database/sql/columns.ts';
import { all, execute, first, sql, type Script } from '../../../database/sql/sql.ts';

const wallets = columns({
  store_id: integer('storeId'),
  kind: unchanged<WalletKind>()('kind'),
  name: text('name'),
  holder: text('holder'),
  credential: bytes('sealed'),
  expires_at: integerOrNull('expiresAt'),
  set_at: integer('setAt'),
  failing_since: integerOrNull('failingSince'),
  failure: textOrNull('failure'),
});

export type WalletRow = RowOf<typeof wallets>;

/** `name` and `holder` are the pass type id and the team of Apple, or the issuer id and the service account of Google. */
export type Wallet = ReturnType<typeof wallets.read>;

export const walletColumns = wallets.of('w');

export const toWallet: (row: WalletRow) => Wallet = wallets.read;

type BoundTo = Pick<Wallet, 'storeId' | 'kind' | 'name' | 'holder'>;

/** A sealed credential is valid only for this wallet of this store. */
function boundTo({ storeId, kind, name, holder }: BoundTo): string {
  return JSON.stringify(['wallet', storeId, kind, name, holder]);
}

export function sealCredential({ keys, random }: Context, wallet: BoundTo, credential: string): Uint8Array {
  return keys.seal('wallet', Buffer.from(credential), boundTo(wallet), random.bytes(sealNonceLength));
}

/** @throws Error if the credential was sealed for another wallet, or its key is missing. */
export function openCredential(
  { keys }: Pick<Context, 'keys'>,
  wallet: BoundTo & Pick<Wallet, 'sealed'>,
): string {
  return Buffer.from(keys.open('wallet', wallet.sealed, boundTo(wallet))).toString();
}

export function* listWallets(storeId: number): Script<readonly Wallet[]> {
  const rows = yield* all(sql<WalletRow>`
    select ${walletColumns} from wallets w where store_id = ${storeId} order by kind`);
  return rows.map(toWallet);
}

export function* findWallet(storeId: number, kind: WalletKind): Script<Wallet | undefined> {
  const row = yield* first(sql<WalletRow>`
    select ${walletColumns} from wallets w where store_id = ${storeId} and kind = ${kind}`);
  return row && toWallet(row);
}

/** Whether any store has a wallet, whose cards can have updates. */
export function* hasWallets(): Script<boolean> {
  const row = yield* first(sql<{ one: bigint }>`select 1 as one from wallets limit 1`);
  return row !== undefined;
}

/** Replaces the wallet. The cards of one with another name do not belong to it. */
export function* saveWallet(wallet: Wallet): Script<void> {
  const { storeId, kind, name } = wallet;
  yield* execute(
    sql`delete from wallets where store_id = ${storeId} and kind = ${kind} and name <> ${name}`,
    sql`
      insert into wallets (${wallets.names}) values (${wallets.values(wallet)})
      on conflict (store_id, kind) do update set ${wallets.excluded}`,
  );
}

/** Removes the wallet with its cards and devices. */
export function* removeWallet(storeId: number, kind: WalletKind): Script<void> {
  yield* execute(sql`delete from wallets where store_id = ${storeId} and kind = ${kind}`);
}

/** @param failure null: the last update was accepted. */
export function* recordWalletHealth(
  { storeId, kind }: Pick<Wallet, 'storeId' | 'kind'>,
  { failure, now }: { readonly failure: string | null; readonly now: number },
): Script<void> {
  yield* execute(
    failure === null
      ? sql`
          update wallets set failing_since = null, failure = null
          where store_id = ${storeId} and kind = ${kind} and failing_since is not null`
      : sql`
          update wallets set failing_since = coalesce(failing_since, ${now}), failure = ${failure}
          where store_id = ${storeId} and kind = ${kind}`,
  );
}
