/** A store that sells online with a provider that loses responses, and processes that end at any step. */

import { Secret } from '../../src/platform/secret.ts';
import type { SalePage } from '../../src/features/online-sales/domain/rules.ts';
import type { Money } from '../../src/core/money/domain/money.ts';
import { findBuyPage, type BuyPage } from '../../src/features/online-sales/service/begin.ts';
import { defaultSalePage } from '../../src/features/online-sales/service/settings.ts';
import { changeStore } from '../../src/core/stores/service/store.ts';
import { onlineSales, type OnlineSales } from '../../src/features/online-sales/start/online-sales.ts';
import type { Database } from '../../src/start/database.ts';
import type { Store } from '../../src/core/stores/domain/store.ts';
import { saveProvider } from '../../src/features/online-sales/storage/provider.ts';
import { saveSalePage } from '../../src/features/online-sales/storage/settings.ts';
import type { Script } from '../../src/database/sql/sql.ts';
import type { Storage } from '../../src/database/storage.ts';
import type { LossyProvider } from './lossy-provider.ts';

export type Shop = Pick<Database, 'ctx' | 'storage'> & { readonly store: Store };

/** Opens the buy page of a store. Its limits of a day are off, unless they are given. */
export async function openBuyPage(shop: Shop, given: Partial<SalePage> = {}): Promise<BuyPage> {
  const { ctx, storage, store } = shop;
  const place = { storeId: store.id, kind: 'stripe', isTest: false } as const;
  const provider = {
    ...place,
    account: 'acct_1',
    isActive: true,
    hasHintSecret: true,
    keySetAt: ctx.clock.now(),
    failingSince: null,
    failure: null,
    comparedUntil: null,
    copiedAt: null,
    hintsRejectedSince: null,
    hintsRejectedAt: null,
  };
  const unlimited = { addressLimit: null, cardLimit: null, networkLimit: null, storeLimit: null };
  const page = {
    ...defaultSalePage(store),
    ...unlimited,
    isOpen: true,
    termsUrl: 'https://flowers.example/terms',
    ...given,
  };
  return await storage.write(function* () {
    yield* changeStore(ctx, store.domain, { vat: { kind: 'single_purpose', rate: '19' } });
    yield* saveProvider(ctx, provider, { key: new Secret('sk_live_1'), hintSecret: new Secret('whsec_1') });
    yield* saveSalePage(page);
    const buy = yield* findBuyPage(ctx, store.domain);
    if (!buy) throw new Error('the buy page was not found');
    return buy;
  });
}

export function amountIn({ currency }: Store, minor: number): Money {
  return { minor: BigInt(minor), currency };
}

/** The error of a process that has ended. */
class Crash extends Error {}

/** The ends of processes, and the errors that they have logged. */
export type Fate = {
  /** The probability with which a process ends before, and after, each transaction. */
  crashRate: number;
  crashes: number;
  readonly random: () => number;
  readonly errors: unknown[];
};

/** A storage that ends with its process: before a transaction, or after it, so that its result is lost. */
function mortal(storage: Storage, fate: Fate) {
  const state = { isDead: false };
  const assertAlive = (): void => {
    if (state.isDead) throw new Crash('the process has ended');
  };
  const perhapsDie = (): void => {
    assertAlive();
    if (fate.random() >= fate.crashRate) return;
    state.isDead = true;
    fate.crashes += 1;
    assertAlive();
  };
  const dying: Storage = {
    ...storage,
    get queueDepth() {
      return storage.queueDepth;
    },
    async read<T>(script: () => Script<T>) {
      assertAlive();
      return await storage.read(script);
    },
    async write<T>(script: () => Script<T>) {
      perhapsDie();
      const result = await storage.write(script);
      perhapsDie();
      return result;
    },
  };
  return { state, storage: dying };
}

/** Runs a task in a process. Undefined: the process has ended, and another one is started for the next task. */
export type Process = <T>(
  task: (sales: OnlineSales, storage: Storage) => Promise<T>,
) => Promise<T | undefined>;

export function processOf({ ctx, storage }: Shop, provider: LossyProvider, fate: Fate): Process {
  const start = () => {
    const alive = mortal(storage, fate);
    const sales = onlineSales({
      database: { ctx, storage: alive.storage },
      providers: { of: () => provider },
      pagesUrl: 'https://flowers.example',
      isPublic: true,
      logger: {
        warn() {},
        error(details: unknown) {
          if (!alive.state.isDead) fate.errors.push(details);
        },
      },
      notify: () => Promise.resolve(),
      isStopping: () => false,
      metrics: { paymentNotified() {} },
    });
    return { ...alive, sales };
  };
  let running = start();
  return async (task) => {
    if (running.state.isDead) running = start();
    const { state, sales, storage: own } = running;
    try {
      return await task(sales, own);
    } catch (error) {
      if (state.isDead) return undefined;
      throw error;
    }
  };
}
