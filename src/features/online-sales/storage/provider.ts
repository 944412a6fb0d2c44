/** The payment providers of stores, with their sealed keys. */

import type { ProviderCredential, ProviderKind } from '../domain/payment.ts';
import { Secret } from '../../../platform/secret.ts';
import { sealNonceLength } from '../../../platform/keys.ts';
import type { Context } from '../../../core/storage/context.ts';
import {
  bytes,
  columns,
  flag,
  integer,
  integerOrNull,
  text,
  textOrNull,
  unchanged,
  type RowOf,
} from '../../../database/sql/columns.ts';
import { all, execute, first, one, sql, toNumber, type Script } from '../../../database/sql/sql.ts';
import { ofOpenStore } from '../../../core/stores/storage/store.ts';

const providers = columns({
  store_id: integer('storeId'),
  kind: unchanged<ProviderKind>()('kind'),
  is_test: flag('isTest'),
  account: text('account'),
  is_active: flag('isActive'),
  has_hint_secret: flag('hasHintSecret'),
  key_set_at: integer('keySetAt'),
  failing_since: integerOrNull('failingSince'),
  failure: textOrNull('failure'),
  compared_until: integerOrNull('comparedUntil'),
  copied_at: integerOrNull('copiedAt'),
  hints_rejected_since: integerOrNull('hintsRejectedSince'),
  hints_rejected_at: integerOrNull('hintsRejectedAt'),
});

/**
 * A provider that a store has set up, without its keys. `isTest`: it takes no real money; a store can have both keys of a
 * provider. `isActive`: new sales are paid there; sales of another one are still read and refunded. `comparedUntil`: its
 * movements up to this instant (ms) were compared with the sales. `copiedAt`: the database was restored from a backup of
 * this time, and the payments since then were not compared yet. `hintsRejectedSince`: its notifications have had wrong
 * signatures since then, without a right one; `hintsRejectedAt`: when that was last recorded.
 */
export type StoreProvider = ReturnType<typeof providers.read>;

/** The primary key of a provider. */
export type ProviderPlace = Pick<StoreProvider, 'storeId' | 'kind' | 'isTest'>;

const sealedColumns = columns({ credential: bytes('sealed') });

/** Sealed keys are valid only for this provider of this store. */
function boundTo({ storeId, kind, isTest }: ProviderPlace): string {
  return JSON.stringify(['payment provider', storeId, kind, isTest]);
}

function seal(
  { keys, random }: Context,
  place: ProviderPlace,
  { key, hintSecret }: ProviderCredential,
): Uint8Array {
  const plain = JSON.stringify([key.reveal(), hintSecret && hintSecret.reveal()]);
  const nonce = random.bytes(sealNonceLength);
  return keys.seal('payment-provider', Buffer.from(plain), boundTo(place), nonce);
}

/** @throws Error if it was sealed for another provider, or its key is missing. */
function open({ keys }: Pick<Context, 'keys'>, place: ProviderPlace, sealed: Uint8Array): ProviderCredential {
  const plain = Buffer.from(keys.open('payment-provider', sealed, boundTo(place))).toString();
  // The text is authenticated, so it comes from `seal`.
  const [key, hintSecret] = JSON.parse(plain) as [string, string | null];
  return { key: new Secret(key), hintSecret: hintSecret === null ? null : new Secret(hintSecret) };
}

/** The providers of a store, the active one first. */
export function* listProviders(storeId: number): Script<readonly StoreProvider[]> {
  const rows = yield* all(sql<RowOf<typeof providers>>`
    select ${providers.names} from payment_providers where store_id = ${storeId}
    order by is_active desc, kind, is_test`);
  return rows.map(providers.read);
}

/** A provider with its keys; undefined: the store has none of this kind. @throws Error as `open` does. */
export function* findCredential(
  ctx: Pick<Context, 'keys'>,
  place: ProviderPlace,
): Script<{ readonly provider: StoreProvider; readonly credential: ProviderCredential } | undefined> {
  const { storeId, kind, isTest } = place;
  type Row = RowOf<typeof providers> & RowOf<typeof sealedColumns>;
  const row = yield* first(sql<Row>`
    select ${providers.names}, ${sealedColumns.names} from payment_providers
    where store_id = ${storeId} and kind = ${kind} and is_test = ${Number(isTest)}`);
  return row && { provider: providers.read(row), credential: open(ctx, place, row.credential) };
}

/** Saves a provider with its keys. If it is active, the others are not. */
export function* saveProvider(
  ctx: Context,
  provider: StoreProvider,
  credential: ProviderCredential,
): Script<void> {
  const { storeId, isActive } = provider;
  if (isActive) yield* execute(sql`update payment_providers set is_active = 0 where store_id = ${storeId}`);
  yield* execute(sql`
    insert into payment_providers (${providers.names}, credential)
    values (${providers.values(provider)}, ${seal(ctx, provider, credential)})
    on conflict (store_id, kind, is_test) do update set ${providers.excluded}, credential = excluded.credential`);
}

export function* removeProvider({ storeId, kind, isTest }: ProviderPlace): Script<void> {
  yield* execute(sql`
    delete from payment_providers
    where store_id = ${storeId} and kind = ${kind} and is_test = ${Number(isTest)}`);
}

/** @param failure null: the last request had a response. */
export function* recordProviderHealth(
  { storeId, kind, isTest }: ProviderPlace,
  { failure, now }: { readonly failure: string | null; readonly now: number },
): Script<void> {
  const test = Number(isTest);
  yield* execute(
    failure === null
      ? sql`
          update payment_providers set failing_since = null, failure = null
          where store_id = ${storeId} and kind = ${kind} and is_test = ${test} and failing_since is not null`
      : sql`
          update payment_providers set failing_since = coalesce(failing_since, ${now}), failure = ${failure}
          where store_id = ${storeId} and kind = ${kind} and is_test = ${test}`,
  );
}

/** Records that notifications have wrong signatures, unless it is recorded. @param now in ms. */
export function* recordHintsRejected({ storeId, kind, isTest }: ProviderPlace, now: number): Script<void> {
  yield* execute(sql`
    update payment_providers set hints_rejected_since = ${now}, hints_rejected_at = ${now}
    where store_id = ${storeId} and kind = ${kind} and is_test = ${Number(isTest)}
      and hints_rejected_since is null`);
}

/** Records that a notification had a right signature. */
export function* recordHintAccepted({ storeId, kind, isTest }: ProviderPlace): Script<void> {
  yield* execute(sql`
    update payment_providers set hints_rejected_since = null
    where store_id = ${storeId} and kind = ${kind} and is_test = ${Number(isTest)}`);
}

/** A provider whose notifications have wrong signatures, with the store. */
export type RejectedHints = { readonly domain: string; readonly kind: ProviderKind; readonly since: number };

/** The providers of all open stores whose notifications have wrong signatures, the longest first. */
export function* listRejectedHints(limit: number): Script<readonly RejectedHints[]> {
  const rows = yield* all(sql<{ domain: string; kind: ProviderKind; since: bigint }>`
    select s.domain, p.kind, p.hints_rejected_since as since
    from payment_providers p join stores s on s.id = p.store_id
    where p.hints_rejected_since is not null and s.status = 'open'
    order by p.hints_rejected_since, s.domain limit ${limit}`);
  return rows.map(({ since, ...row }) => ({ ...row, since: toNumber(since) }));
}

/** Counts them. */
export function* countRejectedHints(): Script<number> {
  const { rejected } = yield* one(sql<{ rejected: bigint }>`
    select count(*) as rejected from payment_providers
    where hints_rejected_since is not null and ${ofOpenStore}`);
  return toNumber(rejected);
}

/** Records that movements up to an instant (ms) were compared, and so those since a restored backup. */
export function* recordComparison(
  { storeId, kind, isTest }: ProviderPlace,
  comparedUntil: number,
): Script<void> {
  yield* execute(sql`
    update payment_providers set compared_until = ${comparedUntil}, copied_at = null
    where store_id = ${storeId} and kind = ${kind} and is_test = ${Number(isTest)}`);
}

/** Requires that payments since the time of a backup (ms) are compared before anything is sold. */
export function* markCopiedProviders(storeId: number, copiedAt: number): Script<void> {
  yield* execute(sql`
    update payment_providers set copied_at = ${copiedAt}
    where store_id = ${storeId} and (copied_at is null or copied_at > ${copiedAt})`);
}

/** The providers of all stores that were not compared since an instant (ms), the one that waits for longest first. */
export function* listProvidersToCompare(
  before: number,
  { isFailing, limit }: { readonly isFailing: boolean; readonly limit: number },
): Script<readonly ProviderPlace[]> {
  type Row = { store_id: bigint; kind: ProviderKind; is_test: bigint };
  const rows = yield* all(sql<Row>`
    select store_id, kind, is_test from payment_providers p
    where (compared_until is null or compared_until < ${before} or copied_at is not null) and ${ofOpenStore}
      and (failing_since is not null) = (${Number(isFailing)} = 1)
      and not exists (select 1 from setup_steps t where t.store_id = p.store_id and t.step = 'restored_copy')
    order by coalesce(compared_until, 0), store_id, kind, is_test limit ${limit}`);
  return rows.map((row) => ({
    storeId: toNumber(row.store_id),
    kind: row.kind,
    isTest: row.is_test === 1n,
  }));
}
