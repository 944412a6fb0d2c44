/** Stores and their proxy secrets. */

import type { Context } from '../context.ts';
import { currencyOf } from '../domain/currency.ts';
import { Secret } from '../domain/secret.ts';
import type { Store } from '../domain/store.ts';
import { sealNonceLength } from '../keys.ts';
import { all, first, forUpdate, execute, sql, toNumber, toNumberOrNull, type Script } from './sql.ts';

export type StoreRow = {
  readonly id: bigint;
  readonly domain: string;
  readonly name: string;
  readonly currency: string;
  readonly time_zone: string;
  readonly issue_limit: bigint | null;
  readonly proxy_secret: Uint8Array | null;
  readonly require_signature: bigint;
  readonly customer_search: bigint;
  readonly undo_window_minutes: bigint;
  readonly expiring_soon_days: bigint;
  readonly lookup_failures_per_hour: bigint | null;
  readonly demonstration: bigint;
};

/** A store, and the sealed secret of its app proxy, if it has one. */
export type StoreRecord = { readonly store: Store; readonly sealedSecret: Uint8Array | null };

export function toStoreRecord(row: StoreRow): StoreRecord {
  const currency = currencyOf(row.currency);
  return {
    store: {
      id: toNumber(row.id),
      domain: row.domain,
      name: row.name,
      currency,
      timeZone: row.time_zone,
      issueLimit: row.issue_limit === null ? null : { minor: row.issue_limit, currency },
      requireSignature: row.require_signature === 1n,
      customerSearch: row.customer_search === 1n,
      undoWindowMinutes: toNumber(row.undo_window_minutes),
      expiringSoonDays: toNumber(row.expiring_soon_days),
      lookupFailuresPerHour: toNumberOrNull(row.lookup_failures_per_hour),
      demonstration: row.demonstration === 1n,
    },
    sealedSecret: row.proxy_secret,
  };
}

/**
 * Decrypts the secret of a store's app proxy. Returns null if the store has none.
 * @throws Error if it was sealed for another store.
 */
export function openProxySecret({ keys }: Context, { store, sealedSecret }: StoreRecord): Secret | null {
  return (
    sealedSecret &&
    new Secret(Buffer.from(keys.open('store-secret', sealedSecret, boundTo(store.id))).toString())
  );
}

/** Encrypts the secret of a store's app proxy. The result is valid for this store only. */
export function sealProxySecret({ keys, random }: Context, storeId: number, secret: Secret): Uint8Array {
  return keys.seal(
    'store-secret',
    Buffer.from(secret.reveal()),
    boundTo(storeId),
    random.bytes(sealNonceLength),
  );
}

function boundTo(storeId: number): string {
  return `store ${storeId}`;
}

export function* findStore(id: number): Script<StoreRecord | undefined> {
  const row = yield* first(sql<StoreRow>`
    select id, domain, name, currency, time_zone, issue_limit, proxy_secret,
      require_signature, customer_search, undo_window_minutes, expiring_soon_days,
      lookup_failures_per_hour, demonstration
    from stores where id = ${id}`);
  return row && toStoreRecord(row);
}

/** Returns the store of a domain. @param domain in lower case. */
export function* findStoreByDomain(domain: string): Script<StoreRecord | undefined> {
  const row = yield* first(sql<StoreRow>`
    select id, domain, name, currency, time_zone, issue_limit, proxy_secret,
      require_signature, customer_search, undo_window_minutes, expiring_soon_days,
      lookup_failures_per_hour, demonstration
    from stores where domain = ${domain}`);
  return row && toStoreRecord(row);
}

/** As `findStoreByDomain`, and locks the store until the transaction ends. */
export function* claimStore(domain: string): Script<StoreRecord | undefined> {
  const row = yield* first(sql<StoreRow>`
    select id, domain, name, currency, time_zone, issue_limit, proxy_secret,
      require_signature, customer_search, undo_window_minutes, expiring_soon_days,
      lookup_failures_per_hour, demonstration
    from stores where domain = ${domain} ${forUpdate}`);
  return row && toStoreRecord(row);
}

/** Returns all stores, ordered by domain. */
export function* listStores(): Script<readonly StoreRecord[]> {
  const rows = yield* all(sql<StoreRow>`
    select id, domain, name, currency, time_zone, issue_limit, proxy_secret,
      require_signature, customer_search, undo_window_minutes, expiring_soon_days,
      lookup_failures_per_hour, demonstration
    from stores order by domain`);
  return rows.map(toStoreRecord);
}

/** Returns whether a store other than the demonstration store exists. */
export function* hasRealStores(): Script<boolean> {
  const row = yield* first(sql<{ id: bigint }>`select id from stores where demonstration = 0 limit 1`);
  return row !== undefined;
}

export function* findDemonstrationStore(): Script<StoreRecord | undefined> {
  const row = yield* first(sql<StoreRow>`
    select id, domain, name, currency, time_zone, issue_limit, proxy_secret,
      require_signature, customer_search, undo_window_minutes, expiring_soon_days,
      lookup_failures_per_hour, demonstration
    from stores where demonstration = 1 order by id limit 1`);
  return row && toStoreRecord(row);
}

/** Returns false if another store has the domain. */
export function* insertStore(ctx: Context, { store, sealedSecret }: StoreRecord): Script<boolean> {
  const now = ctx.clock.now();
  const inserted = yield* first(sql<{ id: bigint }>`
    insert into stores (id, domain, name, currency, time_zone, issue_limit, proxy_secret,
      require_signature, customer_search, undo_window_minutes, expiring_soon_days,
      lookup_failures_per_hour, demonstration,
      created_at, updated_at)
    values (${store.id}, ${store.domain}, ${store.name}, ${store.currency.code}, ${store.timeZone},
      ${store.issueLimit?.minor ?? null}, ${sealedSecret},
      ${Number(store.requireSignature)}, ${Number(store.customerSearch)}, ${store.undoWindowMinutes}, ${store.expiringSoonDays},
      ${store.lookupFailuresPerHour}, ${Number(store.demonstration)},
      ${now}, ${now})
    on conflict (domain) do nothing
    returning id`);
  return inserted !== undefined;
}

/** Updates a store that `claimStore` has locked. */
export function* updateStore(ctx: Context, { store, sealedSecret }: StoreRecord): Script<void> {
  yield* execute(sql`
    update stores set name = ${store.name}, time_zone = ${store.timeZone},
      issue_limit = ${store.issueLimit?.minor ?? null},
      proxy_secret = ${sealedSecret},
      require_signature = ${Number(store.requireSignature)},
      customer_search = ${Number(store.customerSearch)},
      undo_window_minutes = ${store.undoWindowMinutes}, expiring_soon_days = ${store.expiringSoonDays},
      lookup_failures_per_hour = ${store.lookupFailuresPerHour}, updated_at = ${ctx.clock.now()}
    where id = ${store.id}`);
}
