/**
 * The cards in wallets, and the devices that show them. A trigger enqueues the update of a card with the event of its
 * change: one row has all changes that are not sent yet.
 *
 * A process owns a claimed update until the lease expires, as with deliveries to webhooks.
 */

import { devicesMax, type WalletKind } from '../domain/wallet.ts';
import { forUpdateSkipLocked } from '../../../database/sql/fragments.ts';
import {
  all,
  execute,
  first,
  sql,
  toNumber,
  toNumberOrNull,
  type Script,
} from '../../../database/sql/sql.ts';
import { toWallet, walletColumns, type Wallet, type WalletRow } from './wallet.ts';

type CardKey = { readonly storeId: number; readonly cardId: number };
type WalletCardKey = CardKey & { readonly kind: WalletKind };
type WalletKey = Pick<Wallet, 'storeId' | 'kind'>;

export type Device = { readonly device: string; readonly pushToken: string };

/**
 * Registers a device for a card, which is then in the wallet. Above `devicesMax`, the oldest device is removed. It counts as
 * a change, because the card can have changed since the device received the pass. The caller has locked the card.
 * @returns whether it was not registered.
 */
export function* saveDevice(
  { storeId, cardId, device, pushToken }: CardKey & Device,
  now: number,
): Script<boolean> {
  yield* execute(sql`
    insert into wallet_cards (store_id, card_id, kind, changed_at, next_at)
    values (${storeId}, ${cardId}, 'apple', ${now}, ${now})
    on conflict (store_id, card_id, kind) do update set next_at = coalesce(wallet_cards.next_at, excluded.next_at),
      changed_at = case when wallet_cards.changed_at >= ${now} then wallet_cards.changed_at + 1 else ${now} end`);
  const known = yield* first(sql<{ one: bigint }>`
    select 1 as one from wallet_devices
    where store_id = ${storeId} and card_id = ${cardId} and device = ${device}`);
  yield* execute(
    sql`
      insert into wallet_devices (store_id, card_id, device, push_token, registered_at)
      values (${storeId}, ${cardId}, ${device}, ${pushToken}, ${now})
      on conflict (store_id, card_id, device) do update set push_token = excluded.push_token,
        registered_at = excluded.registered_at`,
    sql`
      delete from wallet_devices where store_id = ${storeId} and card_id = ${cardId} and device in (
        select device from wallet_devices where store_id = ${storeId} and card_id = ${cardId}
        order by registered_at desc, device limit 1000 offset ${devicesMax})`,
  );
  return known === undefined;
}

/** Without a device, the card is no longer in the wallet. */
export function* unregisterDevices({ storeId, cardId }: CardKey, devices: readonly string[]): Script<void> {
  for (const device of devices)
    yield* execute(sql`
      delete from wallet_devices where store_id = ${storeId} and card_id = ${cardId} and device = ${device}`);
  yield* execute(sql`
    delete from wallet_cards where store_id = ${storeId} and card_id = ${cardId} and kind = 'apple'
      and not exists (select 1 from wallet_devices where store_id = ${storeId} and card_id = ${cardId})`);
}

export function* listPassDevices({ storeId, cardId }: CardKey): Script<readonly Device[]> {
  const rows = yield* all(sql<{ device: string; push_token: string }>`
    select device, push_token from wallet_devices where store_id = ${storeId} and card_id = ${cardId}
    order by device limit ${devicesMax}`);
  return rows.map(({ device, push_token: pushToken }) => ({ device, pushToken }));
}

/** Removes the card of an update, which is no longer in the wallet, unless it has changed or was added again since. */
export function* removeCard({ storeId, cardId, kind, lease, changedAt }: ClaimedUpdate): Script<void> {
  yield* execute(sql`
    delete from wallet_cards
    where store_id = ${storeId} and card_id = ${cardId} and kind = ${kind} and lease = ${lease}
      and changed_at = ${changedAt}`);
}

export type ChangedPass = { readonly cardId: number; readonly changedAt: number };

/** The cards on a device that have changed since an instant (ms), the first change first. */
export function* listChangedPasses(
  { storeId, device, since }: { readonly storeId: number; readonly device: string; readonly since: number },
  limit: number,
): Script<readonly ChangedPass[]> {
  const rows = yield* all(sql<{ card_id: bigint; changed_at: bigint }>`
    select c.card_id, c.changed_at from wallet_devices d
    join wallet_cards c on c.store_id = d.store_id and c.card_id = d.card_id and c.kind = d.kind
    where d.store_id = ${storeId} and d.device = ${device} and c.changed_at >= ${since}
    order by c.changed_at, c.card_id limit ${limit}`);
  return rows.map((row) => ({ cardId: toNumber(row.card_id), changedAt: toNumber(row.changed_at) }));
}

/** The last change of a card in a wallet (ms); null: it is not in it. */
export function* findChangedAt({ storeId, cardId, kind }: WalletCardKey): Script<number | null> {
  const row = yield* first(sql<{ changed_at: bigint }>`
    select changed_at from wallet_cards
    where store_id = ${storeId} and card_id = ${cardId} and kind = ${kind}`);
  return row ? toNumber(row.changed_at) : null;
}

/** The position at which a list of wallets continues. */
export type WalletPlace = { readonly storeId: number; readonly kind: string };

/**
 * The wallets of all stores with updates that are due, after a position. Those of a restored backup wait until an owner has
 * confirmed it, because the balances can be old.
 */
export function* listDueWallets(
  after: WalletPlace,
  { now, limit }: { readonly now: number; readonly limit: number },
): Script<readonly Wallet[]> {
  const rows = yield* all(sql<WalletRow>`
    select ${walletColumns} from wallets w join stores s on s.id = w.store_id
    where s.status = 'open' and (w.store_id, w.kind) > (${after.storeId}, ${after.kind})
      and exists (select 1 from wallet_cards c
        where c.store_id = w.store_id and c.kind = w.kind and c.next_at <= ${now})
      and not exists (select 1 from setup_steps t where t.store_id = w.store_id and t.step = 'restored_copy')
    order by w.store_id, w.kind limit ${limit}`);
  return rows.map(toWallet);
}

/** An update that this process has claimed. */
export type ClaimedUpdate = WalletCardKey & {
  readonly lease: number;
  /** The last change that it includes (ms). */
  readonly changedAt: number;
  readonly attempts: number;
  readonly firstAt: number | null;
};

/** Claims up to `limit` due updates of a wallet, the longest due first. @param until when the lease expires (ms). */
export function* claimUpdates(
  { storeId, kind, limit }: WalletKey & { readonly limit: number },
  { lease, now, until }: { readonly lease: number; readonly now: number; readonly until: number },
): Script<readonly ClaimedUpdate[]> {
  const rows = yield* all(sql<{
    card_id: bigint;
    changed_at: bigint;
    attempts: bigint;
    first_at: bigint | null;
  }>`
    with due as materialized (
      select card_id from wallet_cards where store_id = ${storeId} and kind = ${kind} and next_at <= ${now}
      order by next_at, card_id limit ${limit} ${forUpdateSkipLocked})
    update wallet_cards set lease = ${lease}, next_at = ${until}
    where store_id = ${storeId} and kind = ${kind} and card_id in (select card_id from due)
    returning card_id, changed_at, attempts, first_at`);
  return rows.map((row) => ({
    storeId,
    kind,
    cardId: toNumber(row.card_id),
    lease,
    changedAt: toNumber(row.changed_at),
    attempts: toNumber(row.attempts),
    firstAt: toNumberOrNull(row.first_at),
  }));
}

/**
 * Records that an update was sent, or that it is not tried again. A change since the claim is due at once. Nothing happens
 * if another process has claimed it.
 */
export function* settleUpdate(claimed: ClaimedUpdate, now: number): Script<void> {
  const { storeId, cardId, kind, lease, changedAt } = claimed;
  yield* execute(sql`
    update wallet_cards set lease = null, attempts = 0, first_at = null,
      next_at = case when changed_at > ${changedAt} then cast(${now} as bigint) else null end
    where store_id = ${storeId} and card_id = ${cardId} and kind = ${kind} and lease = ${lease}`);
}

/** Records a failed attempt. @param nextAt when it is tried again (ms). */
export function* retryUpdate(
  { storeId, cardId, kind, lease }: ClaimedUpdate,
  { firstAt, nextAt }: { readonly firstAt: number; readonly nextAt: number },
): Script<void> {
  yield* execute(sql`
    update wallet_cards set lease = null, attempts = attempts + 1, first_at = coalesce(first_at, ${firstAt}),
      next_at = ${nextAt}
    where store_id = ${storeId} and card_id = ${cardId} and kind = ${kind} and lease = ${lease}`);
}

/** Ends the claim of an update that was not tried. */
export function* releaseUpdate({ storeId, cardId, kind, lease }: ClaimedUpdate, now: number): Script<void> {
  yield* execute(sql`
    update wallet_cards set lease = null, next_at = ${now}
    where store_id = ${storeId} and card_id = ${cardId} and kind = ${kind} and lease = ${lease}`);
}
