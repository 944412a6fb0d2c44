/** Stores and their proxy secrets. */

import type { Context } from '../context.ts';
import { currencyOf } from '../domain/currency.ts';
import { Secret } from '../domain/secret.ts';
import type { Store } from '../domain/store.ts';
import { sealNonceLength } from '../keys.ts';
import { all, first, run, sql, toNumber, type Script } from './sql.ts';

type StoreRow = {
  readonly id: bigint;
  readonly domain: string;
  readonly name: string;
  readonly currency: string;
  readonly time_zone: string;
  readonly issue_limit: bigint | null;
  readonly proxy_secret: Uint8Array | null;
  readonly require_signature: bigint;
  readonly customer_search: bigint;
  readonly demonstration: bigint;
};

/** A store with the secret it shares with its storefront's app proxy, if it has one. */
export type StoreRecord = { readonly store: Store; readonly proxySecret: Secret | null };

function toRecord(ctx: Context, row: StoreRow): StoreRecord {
  const currency = currencyOf(row.currency);
  const id = toNumber(row.id);
  return {
    store: {
      id,
      domain: row.domain,
      name: row.name,
      currency,
      timeZone: row.time_zone,
      issueLimit: row.issue_limit === null ? null : { minor: row.issue_limit, currency },
      requireSignature: row.require_signature === 1n,
      customerSearch: row.customer_search === 1n,
      demonstration: row.demonstration === 1n,
    },
    proxySecret: row.proxy_secret && new Secret(openSecret(ctx, row.proxy_secret, id)),
  };
}

function openSecret({ keys }: Context, sealed: Uint8Array, storeId: number): string {
  return Buffer.from(keys.open('store-secret', sealed, `store ${storeId}`)).toString();
}

function sealSecret({ keys, chance }: Context, secret: Secret, storeId: number): Uint8Array {
  const plain = Buffer.from(secret.reveal());
  return keys.seal('store-secret', plain, `store ${storeId}`, chance.bytes(sealNonceLength));
}

export function* findStore(ctx: Context, id: number): Script<StoreRecord | undefined> {
  const row = yield* first(sql<StoreRow>`
    select id, domain, name, currency, time_zone, issue_limit, proxy_secret,
      require_signature, customer_search, demonstration
    from stores where id = ${id}`);
  return row && toRecord(ctx, row);
}

/** The store of a domain, which must be in lower case. */
export function* findStoreByDomain(ctx: Context, domain: string): Script<StoreRecord | undefined> {
  const row = yield* first(sql<StoreRow>`
    select id, domain, name, currency, time_zone, issue_limit, proxy_secret,
      require_signature, customer_search, demonstration
    from stores where domain = ${domain}`);
  return row && toRecord(ctx, row);
}

/** Every store, by domain. */
export function* listStores(ctx: Context): Script<readonly StoreRecord[]> {
  const rows = yield* all(sql<StoreRow>`
    select id, domain, name, currency, time_zone, issue_limit, proxy_secret,
      require_signature, customer_search, demonstration
    from stores order by domain`);
  return rows.map((row) => toRecord(ctx, row));
}

/** Whether there is any store besides the demonstration one. */
export function* hasRealStores(): Script<boolean> {
  const row = yield* first(sql<{ id: bigint }>`select id from stores where demonstration = 0 limit 1`);
  return row !== undefined;
}

export function* findDemonstrationStore(ctx: Context): Script<StoreRecord | undefined> {
  const row = yield* first(sql<StoreRow>`
    select id, domain, name, currency, time_zone, issue_limit, proxy_secret,
      require_signature, customer_search, demonstration
    from stores where demonstration = 1 order by id limit 1`);
  return row && toRecord(ctx, row);
}

/** False if the domain is taken. */
export function* insertStore(ctx: Context, { store, proxySecret }: StoreRecord): Script<boolean> {
  const now = ctx.clock.now();
  const inserted = yield* first(sql<{ id: bigint }>`
    insert into stores (id, domain, name, currency, time_zone, issue_limit, proxy_secret,
      require_signature, customer_search, demonstration, created_at, updated_at)
    values (${store.id}, ${store.domain}, ${store.name}, ${store.currency.code}, ${store.timeZone},
      ${store.issueLimit?.minor ?? null}, ${proxySecret && sealSecret(ctx, proxySecret, store.id)},
      ${Number(store.requireSignature)}, ${Number(store.customerSearch)}, ${Number(store.demonstration)},
      ${now}, ${now})
    on conflict (domain) do nothing
    returning id`);
  return inserted !== undefined;
}

/** Writes what may change of a store. */
export function* updateStore(ctx: Context, { store, proxySecret }: StoreRecord): Script<void> {
  yield* run(sql`
    update stores set name = ${store.name}, time_zone = ${store.timeZone},
      issue_limit = ${store.issueLimit?.minor ?? null},
      proxy_secret = ${proxySecret && sealSecret(ctx, proxySecret, store.id)},
      require_signature = ${Number(store.requireSignature)},
      customer_search = ${Number(store.customerSearch)}, updated_at = ${ctx.clock.now()}
    where id = ${store.id}`);
}
