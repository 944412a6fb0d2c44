/** A database with one store, for scripts without HTTP, and a clock that only the test moves. */

import assert from 'node:assert/strict';
import { plainClock, wallClockOf } from '../../src/platform/clock.ts';
import { readConfig } from '../../src/start/config.ts';
import { openDatabase, type Database } from '../../src/start/database.ts';
import { currencyOf } from '../../src/core/money/domain/currency.ts';
import type { Store } from '../../src/core/stores/domain/store.ts';
import { createStore, type NewStore } from '../../src/core/stores/service/store.ts';
import { verify } from '../../src/features/proofs/service/verify.ts';
import type { Storage } from '../../src/database/storage.ts';
import { engine } from '../support/engine.ts';
import type { TestClock } from '../support/service.ts';

export type StoppedClock = Omit<TestClock, 'stop'>;

/** A clock that only changes when it is set. */
export function stoppedClock(start = Date.UTC(2027, 4, 14, 9, 30)): StoppedClock {
  let now = start;
  return {
    ...plainClock(() => now),
    monotonic: () => now,
    uptime: () => now,
    advance(ms) {
      now += ms;
    },
    jump(ms) {
      now += ms;
    },
  };
}

const currency = currencyOf('USD');

export const newStore: NewStore = {
  domain: 'flowers.example',
  name: 'Flowers',
  currency,
  timeZone: 'Etc/GMT-9',
  issueLimit: { minor: 5_000n, currency },
  proxySecret: null,
  requireSignature: false,
  customerSearch: false,
  stockRequired: 'no',
  undoWindowMinutes: 10,
};

/** Ahead of UTC. The sign in `Etc/GMT-9` is inverted. */
export const hoursAheadOfUtc = 9;

export type Books = AsyncDisposable & Database & { readonly store: Store; readonly clock: StoppedClock };

export async function openBooks(): Promise<Books> {
  const made = await engine.createDatabase();
  const clock = stoppedClock();
  const config = readConfig(made.environment);
  const database = await openDatabase(config, { prepare: true, clock: wallClockOf(clock) });
  const { ctx, storage } = database;
  const store = await storage.write(() => createStore(ctx, newStore));
  return {
    ctx,
    storage,
    store,
    clock,
    async [Symbol.asyncDispose]() {
      await database[Symbol.asyncDispose]();
      await made[Symbol.asyncDispose]();
    },
  };
}

/** Verifies the ledger, and that the accounts of each store sum to zero. @returns the outstanding amount. */
export async function assertVerified(storage: Pick<Storage, 'read'>): Promise<bigint> {
  const { stores, mismatches } = await storage.read(() => verify(10));
  assert.deepEqual(mismatches, []);
  assert.notEqual(stores.length, 0);
  for (const { outstanding, accounts } of stores) {
    const sum = Object.values(accounts).reduce((total, minor) => total + minor, outstanding);
    assert.equal(sum, 0n, 'the accounts do not sum to zero');
  }
  return stores.reduce((total, { outstanding }) => total + outstanding, 0n);
}
