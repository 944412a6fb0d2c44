/** Creates and changes stores, and creates the demonstration store of development mode. */

import type { Context } from '../../storage/context.ts';
import { currencyOf, type Currency } from '../../money/domain/currency.ts';
import { Fault } from '../../domain/fault.ts';
import { holdLimitDefaultDays } from '../../money/domain/hold.ts';
import type { Money } from '../../money/domain/money.ts';
import type { Secret } from '../../../platform/secret.ts';
import {
  undoWindowDefaultMinutes,
  type AccountNames,
  type StockRequirement,
  type Store,
} from '../domain/store.ts';
import type { Datev } from '../domain/datev.ts';
import type { Vat } from '../../money/domain/vat.ts';
import { parallel, type Script } from '../../../database/sql/sql.ts';
import {
  claimStore,
  findDemonstrationStore,
  findStoreByDomain,
  hasRealStores,
  insertStore,
  sealProxySecret,
  updateStore,
  type StoreRecord,
} from '../storage/store.ts';
import { recordStoreChange } from '../storage/change.ts';
import { beginCursors } from '../../log/storage/log-cursor.ts';
import { insertFirstWork, makeWorkDue } from '../storage/work.ts';

export { hasRealStores } from '../storage/store.ts';

export type NewStore = {
  readonly domain: string;
  readonly name: string;
  readonly currency: Currency;
  readonly timeZone: string;
  readonly issueLimit: Money | null;
  readonly proxySecret: Secret | null;
  readonly requireSignature: boolean;
  readonly customerSearch: boolean;
  readonly stockRequired: StockRequirement;
  readonly undoWindowMinutes: number;
  /** Default: 0. */
  readonly expiringSoonDays?: number;
  /** Default: 7. */
  readonly holdLimitDays?: number;
  /** Default: null, the limit of the service. */
  readonly lookupFailuresPerHour?: number | null;
  /** Default: null. */
  readonly vat?: Vat | null;
  /** Default: the default names. */
  readonly accountNames?: AccountNames;
  /** Default: null. */
  readonly datev?: Datev | null;
};

/** @throws Fault `invalid-parameter` if the domain is taken. */
export function* createStore(ctx: Context, settings: NewStore): Script<Store> {
  const record = recordOf(ctx, settings, { demonstration: false });
  if (!(yield* insertStore(ctx, record))) {
    throw new Fault('invalid-parameter', { errors: { domain: ['is taken'] } });
  }
  yield* beginStore(ctx, record.store.id);
  return record.store;
}

/** Adds what the background jobs need of a new store. */
function* beginStore(ctx: Context, storeId: number): Script<void> {
  yield* insertFirstWork(ctx, storeId);
  yield* beginCursors(storeId);
}

function recordOf(
  ctx: Context,
  { proxySecret, ...settings }: NewStore,
  { demonstration }: { readonly demonstration: boolean },
): Omit<StoreRecord, 'status'> {
  const store: Store = {
    expiringSoonDays: 0,
    holdLimitDays: holdLimitDefaultDays,
    lookupFailuresPerHour: null,
    vat: null,
    accountNames: {},
    datev: null,
    ...settings,
    id: ctx.random.id(),
    demonstration,
  };
  return { store, sealedSecret: proxySecret && sealProxySecret(ctx, store.id, proxySecret) };
}

/** The changes of a store. Absent fields keep their values. The domain and the currency never change. */
export type StoreChanges = Partial<
  Pick<
    Store,
    | 'name'
    | 'timeZone'
    | 'issueLimit'
    | 'requireSignature'
    | 'customerSearch'
    | 'stockRequired'
    | 'undoWindowMinutes'
    | 'expiringSoonDays'
    | 'holdLimitDays'
    | 'lookupFailuresPerHour'
    | 'vat'
    | 'accountNames'
    | 'datev'
  >
> & {
  readonly proxySecret?: Secret | null;
  /** The author of the change. Default: the command line. */
  readonly actor?: string;
};

/** @throws Fault `not-found`; `invalid-parameter` if the store would require signatures without a secret. */
export function* changeStore(ctx: Context, domain: string, changes: StoreChanges): Script<StoreRecord> {
  const record = orNotFound(domain, yield* claimStore(domain));
  const { proxySecret, actor = 'command_line', ...values } = changes;
  const store = { ...record.store, ...values };
  const sealedSecret =
    proxySecret === undefined
      ? record.sealedSecret
      : proxySecret && sealProxySecret(ctx, store.id, proxySecret);
  if (store.requireSignature && !sealedSecret) {
    throw new Fault('invalid-parameter', {
      errors: { require_signature: ['cannot be true without a proxy secret'] },
    });
  }
  yield* updateStore(ctx, { store, sealedSecret });
  // Days begin at another time, or cards expire soon earlier.
  yield* makeWorkDue(ctx, store.id, ['closing', 'checkpoint', 'expiry', 'reminders', 'months']);
  if (store.timeZone !== record.store.timeZone)
    yield* recordStoreChange(ctx, {
      storeId: store.id,
      field: 'time_zone',
      old: record.store.timeZone,
      new: store.timeZone,
      actor,
    });
  return { ...record, store, sealedSecret };
}

/** @throws Fault `not-found` if there is no store of this domain (lower case). */
export function* requireStore(domain: string): Script<StoreRecord> {
  return orNotFound(domain, yield* findStoreByDomain(domain));
}

function orNotFound(domain: string, record: StoreRecord | undefined): StoreRecord {
  if (!record) throw new Fault('not-found', { detail: `there is no store ${domain}` });
  return record;
}

/** The settings of a store whose cards have no value: it needs no limit and no signature. */
export const valuelessStore = {
  timeZone: 'UTC',
  issueLimit: null,
  proxySecret: null,
  requireSignature: false,
  customerSearch: false,
  stockRequired: 'no',
  undoWindowMinutes: undoWindowDefaultMinutes,
} as const satisfies Partial<NewStore>;

const demonstration: NewStore = {
  ...valuelessStore,
  domain: 'demo.localhost',
  name: 'Demonstration store',
  currency: currencyOf('USD'),
};

/** Creates the demonstration store, unless it exists or the database contains real stores. */
export function* ensureDemonstrationStore(ctx: Context): Script<void> {
  const [hasOthers, present] = yield* parallel(hasRealStores(), findDemonstrationStore());
  // If the domain is taken, another process that starts at the same time has created the store.
  if (hasOthers || present) return;
  const record = recordOf(ctx, demonstration, { demonstration: true });
  if (yield* insertStore(ctx, record)) yield* beginStore(ctx, record.store.id);
}
