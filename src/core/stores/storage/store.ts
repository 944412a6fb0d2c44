/** Stores and their proxy secrets. */

import type { Context } from '../../storage/context.ts';
import { currencyOf } from '../../money/domain/currency.ts';
import { Fault } from '../../domain/fault.ts';
import { Secret } from '../../../platform/secret.ts';
import { formatDatev, parseDatev, type Datev } from '../domain/datev.ts';
import type { AccountNames, StockRequirement, Store, StoreStatus } from '../domain/store.ts';
import { formatVat, readVat } from '../../money/domain/vat.ts';
import { sealNonceLength } from '../../../platform/keys.ts';
import {
  columns,
  flag,
  integer,
  integerOrNull,
  text,
  writeOnly,
  type RowOf,
} from '../../../database/sql/columns.ts';
import { all, first, execute, sql, toNumber, type Script } from '../../../database/sql/sql.ts';
import { forUpdate, fragment } from '../../../database/sql/fragments.ts';

/** A store, and the sealed secret of its app proxy, if it has one. */
export type StoreRecord = {
  readonly store: Store;
  readonly sealedSecret: Uint8Array | null;
  readonly status: StoreStatus;
};

function datevOf(stored: string): Datev {
  const datev = parseDatev(stored);
  if (!datev.ok) throw new RangeError(`${stored} is not a setting of DATEV`);
  return datev.value;
}

const changeable = {
  name: text('name'),
  time_zone: text('timeZone'),
  issue_limit: {
    field: 'issueLimit',
    read: (minor: bigint | null, row: { readonly currency: string }) =>
      minor === null ? null : { minor, currency: currencyOf(row.currency) },
    write: ({ issueLimit }: Store) => issueLimit?.minor ?? null,
  },
  require_signature: flag('requireSignature'),
  customer_search: flag('customerSearch'),
  stock_required: {
    field: 'stockRequired',
    read: (required: bigint, { stock_asked: asked }: { readonly stock_asked: bigint }): StockRequirement => {
      if (required === 1n) return 'yes';
      return asked === 1n ? 'ask' : 'no';
    },
    write: ({ stockRequired }: Store) => Number(stockRequired === 'yes'),
  },
  stock_asked: writeOnly<bigint>()(({ stockRequired }: Store) => Number(stockRequired !== 'no')),
  undo_window_minutes: integer('undoWindowMinutes'),
  expiring_soon_days: integer('expiringSoonDays'),
  hold_limit_days: integer('holdLimitDays'),
  lookup_failures_per_hour: integerOrNull('lookupFailuresPerHour'),
  vat: {
    field: 'vat',
    read: (stored: string | null) => (stored === null ? null : readVat(stored)),
    write: ({ vat }: Store) => vat && formatVat(vat),
  },
  account_names: {
    field: 'accountNames',
    read: (stored: string | null) => (stored === null ? {} : (JSON.parse(stored) as AccountNames)),
    write: ({ accountNames }: Store) =>
      Object.keys(accountNames).length === 0 ? null : JSON.stringify(accountNames),
  },
  datev: {
    field: 'datev',
    read: (stored: string | null) => (stored === null ? null : datevOf(stored)),
    write: ({ datev }: Store) => datev && formatDatev(datev),
  },
} as const;

const changes = columns(changeable);
const stores = columns({
  id: integer('id'),
  domain: text('domain'),
  currency: {
    field: 'currency',
    read: (code: string) => currencyOf(code),
    write: ({ currency }: Store) => currency.code,
  },
  demonstration: flag('demonstration'),
  ...changeable,
});

export type StoreRow = RowOf<typeof stores> & {
  readonly proxy_secret: Uint8Array | null;
  readonly store_status: StoreStatus;
};

/** `select ${storeColumns} from stores s`: the columns of `StoreRow`. */
export const storeColumns = fragment`${stores.of('s')}, s.proxy_secret, s.status as store_status`;

export function toStoreRecord(row: StoreRow): StoreRecord {
  return { store: stores.read(row), sealedSecret: row.proxy_secret, status: row.store_status };
}

/** Seconds after which a request of a closed store can be repeated. */
const closedRetrySeconds = 30;

/** The error of a request of a store that is closed. */
export function storeClosed(cause?: unknown): Fault {
  return new Fault('store-closed', { retryAfterSeconds: closedRetrySeconds, cause });
}

/** Whether a store is closed, which is not an error of a background job. */
export function isStoreClosed(error: unknown): boolean {
  return error instanceof Fault && error.code === 'store-closed';
}

/** @throws Fault `store-closed` if the store is moved to another installation, or from one. */
export function assertStoreOpen({ status }: Pick<StoreRecord, 'status'>): void {
  if (status !== 'open') throw storeClosed();
}

/** A condition on rows of any store: background jobs omit stores that are not open. */
export const ofOpenStore = fragment`store_id not in (select id from stores where status <> 'open')`;

/**
 * Decrypts the secret of a store's app proxy. Returns null if the store has none.
 * @throws Error if it was sealed for another store.
 */
export function openProxySecret(
  { keys }: Context,
  { store, sealedSecret }: Omit<StoreRecord, 'status'>,
): Secret | null {
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
    select ${storeColumns} from stores s where s.id = ${id}`);
  return row && toStoreRecord(row);
}

/** Returns the store of a domain. @param domain in lower case. */
export function* findStoreByDomain(domain: string): Script<StoreRecord | undefined> {
  const row = yield* first(sql<StoreRow>`
    select ${storeColumns} from stores s where s.domain = ${domain}`);
  return row && toStoreRecord(row);
}

/** Finds a store by its domain, and locks it until the transaction ends. */
export function* claimStore(domain: string): Script<StoreRecord | undefined> {
  const row = yield* first(sql<StoreRow>`
    select ${storeColumns} from stores s where s.domain = ${domain} ${forUpdate}`);
  return row && toStoreRecord(row);
}

/** Returns all stores, ordered by domain. */
export function* listStores(): Script<readonly StoreRecord[]> {
  const rows = yield* all(sql<StoreRow>`
    select ${storeColumns} from stores s order by s.domain`);
  return rows.map(toStoreRecord);
}

/** Returns the ids of all stores: of any version, because it reads no other column. */
export function* listStoreIds(): Script<readonly number[]> {
  const rows = yield* all(sql<{ id: bigint }>`select id from stores order by domain`);
  return rows.map(({ id }) => toNumber(id));
}

/** Returns the stores that are open, ordered by domain. */
export function* listOpenStores(): Script<readonly StoreRecord[]> {
  return (yield* listStores()).filter(({ status }) => status === 'open');
}

/** Returns the first open store in the order of the domains. */
export function* findFirstOpenStore(): Script<StoreRecord | undefined> {
  const row = yield* first(sql<StoreRow>`
    select ${storeColumns} from stores s where s.status = 'open' order by s.domain limit 1`);
  return row && toStoreRecord(row);
}

/** Returns whether a store other than the demonstration store exists. */
export function* hasRealStores(): Script<boolean> {
  const row = yield* first(sql<{ id: bigint }>`select id from stores where demonstration = 0 limit 1`);
  return row !== undefined;
}

/** Returns whether there is more than one store other than the demonstration store. */
export function* hasSeveralRealStores(): Script<boolean> {
  const rows = yield* all(sql<{ id: bigint }>`select id from stores where demonstration = 0 limit 2`);
  return rows.length > 1;
}

/** Returns when the first store other than the demonstration store was created (ms); null: there is none. */
export function* findFirstRealStoreAt(): Script<number | null> {
  // Ids rise with the time, so the first row along the primary key is enough.
  const row = yield* first(
    sql<{ created_at: bigint }>`select created_at from stores where demonstration = 0 order by id limit 1`,
  );
  return row ? toNumber(row.created_at) : null;
}

/** Returns the oldest store other than the demonstration store. */
export function* findFirstRealStore(): Script<StoreRecord | undefined> {
  const row = yield* first(sql<StoreRow>`
    select ${storeColumns} from stores s where s.demonstration = 0 order by s.created_at, s.id limit 1`);
  return row && toStoreRecord(row);
}

export function* findDemonstrationStore(): Script<StoreRecord | undefined> {
  const row = yield* first(sql<StoreRow>`
    select ${storeColumns} from stores s where s.demonstration = 1 order by s.id limit 1`);
  return row && toStoreRecord(row);
}

/** Returns false if another store has the domain. */
export function* insertStore(
  ctx: Context,
  { store, sealedSecret }: Omit<StoreRecord, 'status'>,
): Script<boolean> {
  const now = ctx.clock.now();
  const inserted = yield* first(sql<{ id: bigint }>`
    insert into stores (${stores.names}, proxy_secret, created_at, updated_at)
    values (${stores.values(store)}, ${sealedSecret}, ${now}, ${now})
    on conflict (domain) do nothing
    returning id`);
  return inserted !== undefined;
}

/** Updates a store that `claimStore` has locked. */
export function* updateStore(
  ctx: Context,
  { store, sealedSecret }: Omit<StoreRecord, 'status'>,
): Script<void> {
  yield* execute(sql`
    update stores set (${changes.names}) = (${changes.values(store)}), proxy_secret = ${sealedSecret},
      updated_at = ${ctx.clock.now()}
    where id = ${store.id}`);
}

/** Returns the ids of the stores whose rows are being copied into this database. */
export function* listArrivingStores(): Script<readonly number[]> {
  const rows = yield* all(sql<{ id: bigint }>`select id from stores where status = 'arriving'`);
  return rows.map(({ id }) => toNumber(id));
}
