/** A migrated database with one store, for tests of scripts. */

import type { Card } from '../../src/core/cards/domain/card.ts';
import type { Secret } from '../../src/platform/secret.ts';
import type { Store } from '../../src/core/stores/domain/store.ts';
import { issue } from '../../src/core/cards/service/issue.ts';
import { AlreadyProcessed } from '../../src/core/requests/service/idempotency.ts';
import type { HttpResponse } from '../../src/core/requests/service/http-response.ts';
import { addLocation } from '../../src/core/stores/service/location.ts';
import { createStore, type NewStore } from '../../src/core/stores/service/store.ts';
import { all, sql, type Script } from '../../src/database/sql/sql.ts';
import type { Context } from '../../src/core/storage/context.ts';
import type { Storage } from '../../src/database/storage.ts';
import { openMigrated, type StorageFactory, type TestDatabase } from './database.ts';
import { issueCommand, newStore, testContext, type IssueOptions, type TestContext } from './fixtures.ts';

export type OpenStore = AsyncDisposable & {
  readonly database: TestDatabase;
  readonly storage: Storage;
  readonly ctx: TestContext;
  readonly store: Store;
  readonly issue: (given?: IssueOptions) => Promise<{ readonly card: Card; readonly code: Secret }>;
};

export async function openStore(
  factory: StorageFactory,
  { ctx = testContext(), ...given }: Partial<NewStore> & { readonly ctx?: TestContext } = {},
): Promise<OpenStore> {
  const { database, storage } = await openMigrated(factory);
  const store = await storage.write(() => createStore(ctx, newStore(given)));
  return {
    database,
    storage,
    ctx,
    store,
    issue: (command) => storage.write(() => issue(ctx, issueCommand(store, command))),
    [Symbol.asyncDispose]: () => database[Symbol.asyncDispose](),
  };
}

/** Adds a location to the store. @returns its id. */
export async function addShop({
  ctx,
  storage,
  store,
}: Pick<OpenStore, 'storage' | 'store'> & { readonly ctx: Context }): Promise<number> {
  const fields = { name: 'Harbour', address: null, timeZone: null };
  return (await storage.write(() => addLocation(ctx, store.id, fields))).id;
}

export type StoredEvent = {
  readonly type: string;
  readonly subject: number;
  readonly version: number;
  readonly data: Readonly<Record<string, unknown>>;
};

/** The outbox, in the order in which it was written. */
export function* listEvents(): Script<readonly StoredEvent[]> {
  const rows = yield* all(
    sql<{ type: string; subject_id: bigint; subject_version: bigint; data: string }>`
      select type, subject_id, subject_version, data from events order by id`,
  );
  return rows.map((row) => ({
    type: row.type,
    subject: Number(row.subject_id),
    version: Number(row.subject_version),
    data: JSON.parse(row.data) as StoredEvent['data'],
  }));
}

export type Counts = Readonly<Record<'cards' | 'codes' | 'customers' | 'transfers' | 'events', number>>;

/** Counts the rows of each kind that an issue creates. */
export function* countRows(): Script<Counts> {
  const [row] = yield* all(
    sql<Record<keyof Counts, bigint>>`
      select (select count(*) from gift_cards) as cards, (select count(*) from gift_card_codes) as codes,
        (select count(*) from customers) as customers, (select count(*) from transfers) as transfers,
        (select count(*) from events) as events`,
  );
  return {
    cards: Number(row?.cards),
    codes: Number(row?.codes),
    customers: Number(row?.customers),
    transfers: Number(row?.transfers),
    events: Number(row?.events),
  };
}

/** Returns the outcome of a script of `once`, as its caller sees it. */
export async function outcomeOf(
  writing: Promise<HttpResponse>,
): Promise<{ readonly response: HttpResponse; readonly replayed: boolean }> {
  try {
    return { response: await writing, replayed: false };
  } catch (error) {
    if (error instanceof AlreadyProcessed) return { response: error.response, replayed: true };
    throw error;
  }
}
