/** Two installations between which a store moves, in this process. */

import assert from 'node:assert/strict';
import { setTimeout as wait } from 'node:timers/promises';
import type { MoveSide } from '../../src/features/moves/cli/moving.ts';
import { moveStore } from '../../src/features/moves/cli/store-copying.ts';
import type { Context } from '../../src/core/storage/context.ts';
import type { WrittenEvent } from '../../src/core/events/domain/event.ts';
import type { Store } from '../../src/core/stores/domain/store.ts';
import { issue } from '../../src/core/cards/service/issue.ts';
import { checkKeys } from '../../src/features/proofs/service/key-check.ts';
import { appendEntries } from '../../src/features/proofs/service/log.ts';
import { debit } from '../../src/core/money/service/spend.ts';
import { createStore } from '../../src/core/stores/service/store.ts';
import { listFirstEvents } from '../../src/core/events/storage/event.ts';
import { findLog } from '../../src/core/log/storage/log.ts';
import { all, sql } from '../../src/database/sql/sql.ts';
import type { Storage } from '../../src/database/storage.ts';
import { openMigrated, type StorageFactory, type TestDatabase } from './database.ts';
import { code, email, issueCommand, masterKey, money, newStore, testContext } from './fixtures.ts';
import { postgresFactory } from './postgres.ts';
import { sqliteFactory } from './sqlite.ts';

export const factories = { SQLite: sqliteFactory, PostgreSQL: postgresFactory(null) };
export const masters = [masterKey('test', 7)];
export const domain = 'flowers.example';
export const quiet = { begin() {}, reach() {}, end() {} };

export type Installation = AsyncDisposable &
  Omit<MoveSide, 'ctx'> & {
    readonly ctx: ReturnType<typeof testContext>;
    readonly database: TestDatabase;
    readonly other: Store;
  };

/** An installation with one store. */
export async function install(
  factory: StorageFactory,
  { ctx = testContext({ masters }), shown = 'there', other = 'tea.example' } = {},
): Promise<Installation> {
  const { database, storage } = await openMigrated(factory);
  await storage.write(() => checkKeys(ctx));
  const store = await storage.write(() => createStore(ctx, newStore({ domain: other })));
  await storage.write(() => issue(ctx, issueCommand(store, { code: code('same-code-0001') })));
  return {
    ctx,
    storage,
    shown,
    isFile: factory === sqliteFactory,
    database,
    other: store,
    [Symbol.asyncDispose]: () => database[Symbol.asyncDispose](),
  };
}

/** Adds a store with cards, entries, customers and events. */
export async function fill({
  ctx,
  storage,
}: {
  readonly ctx: Context;
  readonly storage: Storage;
}): Promise<Store> {
  const store = await storage.write(() => createStore(ctx, newStore({ domain })));
  const { card } = await storage.write(() =>
    issue(ctx, issueCommand(store, { code: code('same-code-0001'), customer: email('ann@example.com') })),
  );
  const spent = {
    store,
    cardId: card.id,
    actor: 'test',
    reference: 'r-1',
    note: null,
    orderId: null,
    versions: null,
  };
  for (let count = 0; count < 3; count += 1)
    await storage.write(() => debit(ctx, { ...spent, amount: money('1'), partial: false }));
  return store;
}

export function move(
  source: MoveSide,
  target: MoveSide,
  options: { readonly domain?: string; readonly run?: string } = {},
) {
  return moveStore({ domain, run: 'run', source, target, progress: quiet, ...options });
}

export function statusOf({ storage }: MoveSide, name = domain): Promise<readonly unknown[]> {
  return storage.read(() => all(sql`select status from stores where domain = ${name}`));
}

/** All events of a store, once they are final: transactions in other databases of the server delay them. */
export async function listEvents(
  { storage }: Pick<MoveSide, 'storage'>,
  storeId: number,
): Promise<readonly WrittenEvent[]> {
  for (;;) {
    const [row] = await storage.read(() =>
      all(sql<{ events: bigint }>`select count(*) as events from events where store_id = ${storeId}`),
    );
    const events = await storage.read(() => listFirstEvents(storeId, 100));
    if (events.length === Number(row?.events)) return events;
    await wait(20);
  }
}

/** Appends entries to the log of a store until it has so many. */
export async function appendAll(
  { ctx, storage }: Pick<MoveSide, 'ctx' | 'storage'>,
  storeId: number,
  size: number,
): Promise<void> {
  for (;;) {
    await appendEntries({ ctx, storage });
    const log = await storage.read(() => findLog(storeId));
    assert.ok((log?.size ?? 0) <= size, 'the log has an entry twice');
    if (log?.size === size) return;
    await wait(20);
  }
}
