/**
 * Online sales and their payment providers: creates sessions, reads payments, sends refunds, and compares each night what the
 * providers have moved. A request is made outside of transactions, and each can be repeated.
 */

import type {
  ProviderCredential,
  ProviderKind,
  ProviderMovementPage,
  ProviderOutcome,
} from '../domain/online-sales/payment.ts';
import { keyOfSale, type OnlineSale, type SaleKey } from '../domain/online-sales/sale.ts';
import { dayMs, disputableMs, waitAfter } from '../domain/online-sales/schedule.ts';
import type { Checkout } from '../service/online-sales/checkout.ts';
import { comparedFrom, recordMovements } from '../service/online-sales/compare.ts';
import { expireUnrecorded } from '../service/online-sales/settle.ts';
import type { Context } from '../storage/context.ts';
import {
  listProvidersToCompare,
  recordComparison,
  type ProviderPlace,
} from '../storage/online-sales/provider.ts';
import {
  claimDueSales,
  deferSale,
  listPaidSales,
  listSalesOf,
  listStoresWithDueSales,
  makeSaleDue,
  type StoredSale,
} from '../storage/online-sales/sale.ts';
import { mayClaim } from '../storage/sandbox.ts';
import type { Storage } from '../storage/storage.ts';
import { findStore, isStoreClosed } from '../storage/stores/store.ts';
import { OrderReadings } from './order-readings.ts';
import { SaleRequests, type OpenedProvider, type SaleRequestParts } from './sale-requests.ts';

export type OnlineSales = Checkout & {
  /** Reads the sales that are due at their providers, and settles them. @returns how many. */
  readonly run: () => Promise<number>;
  /** Compares the movements of providers that were not compared for a day. */
  readonly compare: () => Promise<void>;
};

type Parts = SaleRequestParts & {
  /** Sends the emails that a run has made due. */
  readonly notify: () => Promise<unknown>;
};

/** Longer than all requests about the sales of one claim. */
const claimMs = 5 * 60_000;
const claimedMax = 10;
const storesMax = 20;
const comparedMax = 100;
const readMax = 100;
/** Pages of movements of one comparison: more than a busy shop has in five days. */
const movementPagesMax = 2_000;

class SaleRuns implements OnlineSales {
  readonly #ctx: Context;
  readonly #storage: Storage;
  readonly #providers: Parts['providers'];
  readonly #logger: Parts['logger'];
  readonly #notify: Parts['notify'];
  readonly #requests: SaleRequests;
  readonly #orderReadings = new OrderReadings();

  constructor({ notify, ...parts }: Parts) {
    this.#ctx = parts.database.ctx;
    this.#storage = parts.database.storage;
    this.#providers = parts.providers;
    this.#logger = parts.logger;
    this.#notify = notify;
    this.#requests = new SaleRequests(parts);
  }

  /** Everything that is due for a sale. @returns whether the provider has responded. */
  async #advance(sale: StoredSale): Promise<boolean> {
    const opened = await this.#requests.openOf(sale);
    const record = await this.#storage.read(() => findStore(sale.storeId));
    if (!opened || record?.status !== 'open') return false;
    const key = keyOfSale(sale);
    if (sale.sessionId === null) {
      if ((await this.#storage.write(() => expireUnrecorded(this.#ctx, key))).state === 'expired')
        return true;
      return (await this.#requests.createSession(opened, record.store, sale)).sessionId !== null;
    }
    if (!(await this.#requests.readAndSettle(opened, sale))) return false;
    await this.#requests.sendRequested(opened, key);
    return true;
  }

  async #runStore(storeId: number): Promise<number> {
    const now = this.#ctx.clock.now();
    const lease = this.#ctx.random.id();
    const claim = { now, until: now + claimMs, lease };
    const ctx = this.#ctx;
    const claimed = await this.#storage.write(function* claimed() {
      return (yield* mayClaim(ctx)) ? yield* claimDueSales(storeId, claim, claimedMax) : [];
    });
    for (const sale of claimed) {
      const failed = await this.#advance(sale).then(
        (isDone) => !isDone,
        (error: unknown) => {
          if (isStoreClosed(error)) throw error;
          this.#logger.error(
            { err: error, sale: this.#ctx.keys.publicIds.of(sale.id) },
            'a sale could not be settled',
          );
          return true;
        },
      );
      if (failed)
        await this.#storage.write(() =>
          deferSale(keyOfSale(sale), lease, this.#ctx.clock.now() + waitAfter(sale.attempts)),
        );
    }
    return claimed.length;
  }

  /** After a restore, reads the sales again that can be disputed: not every warning is a movement. */
  async #readCopied(opened: OpenedProvider): Promise<boolean> {
    const { copiedAt } = opened.provider;
    if (copiedAt === null) return true;
    for (let after: number | undefined = 0; after !== undefined;) {
      const page = { since: copiedAt - disputableMs, after, limit: readMax };
      const sales: readonly StoredSale[] = await this.#storage.read(() => listPaidSales(opened.place, page));
      for (const sale of sales) if (!(await this.#requests.readAndSettle(opened, sale))) return false;
      after = sales.length === readMax ? sales.at(-1)?.id : undefined;
    }
    return true;
  }

  async #comparePlace(place: ProviderPlace): Promise<void> {
    const until = this.#ctx.clock.now();
    const opened = await this.#requests.open(place);
    if (!opened) return;
    const since = this.#requests.providerTime(place, comparedFrom(opened.provider));
    let cursor: string | null = null;
    for (let page = 0; page < movementPagesMax; page += 1) {
      const from: string | null = cursor;
      const outcome: ProviderOutcome<ProviderMovementPage> = await this.#requests.ask(
        opened,
        (api, credential) => api.listMovements(credential, { since, cursor: from }),
      );
      if (outcome.kind !== 'done') return;
      const changed = await this.#storage.write(() => recordMovements(place, outcome.value));
      for (const key of changed) {
        // Without a response, the comparison is repeated.
        if (!(await this.#requests.readAndSettle(opened, await this.#requests.requireStored(key)))) return;
        await this.#requests.sendRequested(opened, key);
      }
      cursor = outcome.value.next;
      if (cursor === null) {
        if (!(await this.#readCopied(opened))) return;
        await this.#storage.write(() => recordComparison(place, until));
        return;
      }
    }
    this.#logger.warn(
      { provider: place.kind },
      'a provider has more movements than are compared in one night',
    );
  }

  async run(): Promise<number> {
    const ids = await this.#storage.read(() => listStoresWithDueSales(this.#ctx.clock.now(), storesMax));
    let count = 0;
    for (const id of ids)
      try {
        count += await this.#runStore(id);
      } catch (error) {
        if (!isStoreClosed(error)) throw error;
      }
    await this.#notify();
    return count;
  }

  async compare(): Promise<void> {
    const before = this.#ctx.clock.now() - dayMs;
    for (const place of await this.#storage.read(() => listProvidersToCompare(before, comparedMax)))
      try {
        await this.#comparePlace(place);
      } catch (error) {
        // A provider that cannot be compared does not stop the others.
        if (!isStoreClosed(error))
          this.#logger.error(
            { err: error, provider: place.kind },
            'a payment provider could not be compared',
          );
      }
  }

  async openSession(key: SaleKey): Promise<OnlineSale> {
    const sale = await this.#requests.requireStored(key);
    const [opened, record] = [
      await this.#requests.openOf(sale),
      await this.#storage.read(() => findStore(key.storeId)),
    ];
    if (sale.sessionId !== null || !opened || !record) return sale;
    return await this.#requests.createSession(opened, record.store, sale);
  }

  async refresh(key: SaleKey): Promise<OnlineSale> {
    const sale = await this.#requests.requireStored(key);
    const opened = await this.#requests.openOf(sale);
    if (!opened || sale.sessionId === null) return sale;
    await this.#requests.readAndSettle(opened, sale);
    return await this.#requests.requireStored(key);
  }

  async follow(key: SaleKey): Promise<void> {
    const now = this.#ctx.clock.monotonic();
    await this.#orderReadings.read(key, now, async () => await this.refresh(key));
  }

  async sendRefunds(key: SaleKey): Promise<OnlineSale> {
    const opened = await this.#requests.openOf(await this.#requests.requireStored(key));
    if (opened) await this.#requests.sendRequested(opened, key);
    return await this.#requests.requireStored(key);
  }

  async receiveHint({
    storeId,
    kind,
    ...hint
  }: Parameters<OnlineSales['receiveHint']>[0]): ReturnType<OnlineSales['receiveHint']> {
    const due: SaleKey[] = [];
    const now = this.#ctx.clock.now();
    for (const isTest of [false, true]) {
      const opened = await this.#requests.open({ storeId, kind, isTest });
      if (!opened) continue;
      for (const id of opened.api.readHint(opened.credential, hint)) {
        const found = await this.#storage.read(() => listSalesOf(storeId, { provider: kind, id }));
        due.push(...found.filter((sale) => sale.isTest === isTest).map(keyOfSale));
      }
    }
    if (due.length > 0)
      await this.#storage.write(function* makeDue() {
        for (const key of due) yield* makeSaleDue(key, now);
      });
    return due;
  }

  async examine(kind: ProviderKind, credential: ProviderCredential): ReturnType<OnlineSales['examine']> {
    const api = this.#providers.of(kind);
    return api
      ? await api.examine(credential)
      : { kind: 'rejected', detail: 'the service has no such provider' };
  }
}

export function onlineSales(parts: Parts): OnlineSales {
  return new SaleRuns(parts);
}
