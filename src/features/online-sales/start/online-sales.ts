/**
 * Online sales and their payment providers: creates sessions, reads payments, sends refunds, and compares each night what the
 * providers have moved. A request is made outside of transactions, and each can be repeated.
 */

import type {
  ProviderCredential,
  ProviderKind,
  ProviderMovementPage,
  ProviderOutcome,
} from '../domain/payment.ts';
import { keyOfSale, type OnlineSale, type SaleKey } from '../domain/sale.ts';
import { dayMs, disputableMs, waitAfter } from '../domain/schedule.ts';
import type { Checkout } from '../service/checkout.ts';
import { comparedFrom, recordMovements } from '../service/compare.ts';
import { expireUnrecorded } from '../service/settle.ts';
import type { Context } from '../../../core/storage/context.ts';
import { listProvidersToCompare, recordComparison, type ProviderPlace } from '../storage/provider.ts';
import {
  claimDueSale,
  deferSale,
  listPaidSales,
  listPlacesWithDueSales,
  type StoredSale,
} from '../storage/sale.ts';
import { mayClaim } from '../../sandbox/storage/sandbox.ts';
import type { Storage } from '../../../database/storage.ts';
import { findStore, isStoreClosed } from '../../../core/stores/storage/store.ts';
import type { Metrics } from '../../../http/metrics.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import { OrderReadings } from './order-readings.ts';
import { PaymentHints } from './payment-hints.ts';
import { SaleRequests, type OpenedProvider, type SaleRequestParts } from './sale-requests.ts';
import { searchMs, workSideBySide } from './side-by-side.ts';

/** `later`: it is read again at a later time. `failing`: the provider could not be used. */
type Advance = 'done' | 'later' | 'failing';

export type OnlineSales = Checkout & {
  /** Reads the sales that are due at their providers, and settles them, until none is due. @returns how many readings. */
  readonly run: () => Promise<number>;
  /** Compares the movements of providers that were not compared for a day. */
  readonly compare: () => Promise<void>;
};

type Parts = SaleRequestParts & {
  /** Sends the emails that a run has made due. */
  readonly notify: () => Promise<unknown>;
  /** Whether the service stops, so that nothing more is begun. */
  readonly isStopping: () => boolean;
  readonly metrics: Pick<Metrics, 'paymentNotified'>;
};

/** Longer than all requests about a sale. */
const claimMs = 5 * 60_000;
/** Sales of one provider at the same time, unless its last request has failed. */
const salesAtOnceMax = 4;
/** The time after which other providers have their turn, if they wait for one. */
const turnMs = 10_000;
const readMax = 100;
/** Pages of movements of one comparison: more than a busy shop has in five days. */
const movementPagesMax = 2_000;

class SaleRuns implements OnlineSales {
  readonly #ctx: Context;
  readonly #storage: Storage;
  readonly #providers: Parts['providers'];
  readonly #logger: Parts['logger'];
  readonly #notify: Parts['notify'];
  readonly #isStopping: Parts['isStopping'];
  readonly #requests: SaleRequests;
  readonly #hints: PaymentHints;
  readonly #orderReadings = new OrderReadings();
  #hasNews = false;
  #notifying: Promise<void> | undefined;

  constructor({ notify, isStopping, metrics, ...parts }: Parts) {
    this.#ctx = parts.database.ctx;
    this.#storage = parts.database.storage;
    this.#providers = parts.providers;
    this.#logger = parts.logger;
    this.#notify = notify;
    this.#isStopping = isStopping;
    this.#requests = new SaleRequests(parts);
    const { ctx, storage } = parts.database;
    this.#hints = new PaymentHints({
      ctx,
      storage,
      requests: this.#requests,
      metrics,
      logger: parts.logger,
    });
  }

  /** Everything that is due for a sale. */
  async #advance(sale: StoredSale): Promise<Advance> {
    const opened = await this.#requests.openOf(sale);
    const record = await this.#storage.read(() => findStore(sale.storeId));
    if (!opened || record?.status !== 'open') return 'later';
    const isDone = await this.#advanceAt(opened, record.store, sale);
    if (isDone) return 'done';
    return opened.failure === null ? 'later' : 'failing';
  }

  /** @returns whether the provider has responded. */
  async #advanceAt(opened: OpenedProvider, store: Store, sale: StoredSale): Promise<boolean> {
    const key = keyOfSale(sale);
    if (sale.sessionId === null) {
      if ((await this.#storage.write(() => expireUnrecorded(this.#ctx, key))).state === 'expired')
        return true;
      return (await this.#requests.createSession(opened, store, sale)).sessionId !== null;
    }
    if (!(await this.#requests.readAndSettle(opened, sale))) return false;
    await this.#requests.sendRequested(opened, key);
    return true;
  }

  async #claim(place: ProviderPlace, lease: number): Promise<StoredSale | undefined> {
    const ctx = this.#ctx;
    const now = ctx.clock.now();
    return await this.#storage.write(function* claim() {
      if (!(yield* mayClaim(ctx))) return undefined;
      return yield* claimDueSale(place, { now, until: now + claimMs, lease });
    });
  }

  /** Claims a sale, and does what is due for it. Undefined: none is due. */
  async #advanceNext(place: ProviderPlace): Promise<Advance | undefined> {
    const lease = this.#ctx.random.id();
    const sale = await this.#claim(place, lease);
    if (!sale) return undefined;
    const advance = await this.#advance(sale).catch((error: unknown): Advance => {
      if (isStoreClosed(error)) throw error;
      const id = this.#ctx.keys.publicIds.of(sale.id);
      this.#logger.error({ err: error, sale: id }, 'a sale could not be settled');
      return 'later';
    });
    if (advance !== 'done')
      await this.#storage.write(() =>
        deferSale(keyOfSale(sale), lease, this.#ctx.clock.now() + waitAfter(sale.attempts)),
      );
    return advance;
  }

  /** Sends the emails that readings have made due. Readings do not wait for mail servers. */
  async #sendNotices(): Promise<void> {
    this.#hasNews = true;
    this.#notifying ??= (async () => {
      while (this.#hasNews) {
        this.#hasNews = false;
        await this.#notify();
      }
    })().finally(() => (this.#notifying = undefined));
    await this.#notifying;
  }

  /** A turn of a provider: its sales that are due, a few at a time, until it fails. @returns how many were read. */
  async #takeTurn(place: ProviderPlace, isFailing: boolean): Promise<number> {
    const until = performance.now() + turnMs;
    const turn = { count: 0, hasFailed: false };
    const advanceAll = async (): Promise<void> => {
      while (!turn.hasFailed && !this.#isStopping() && performance.now() < until) {
        const advance = await this.#advanceNext(place);
        if (advance === undefined) return;
        turn.count += 1;
        turn.hasFailed ||= advance === 'failing';
      }
    };
    try {
      const lanes = Array.from({ length: isFailing ? 1 : salesAtOnceMax }, advanceAll);
      for (const lane of await Promise.allSettled(lanes)) if (lane.status === 'rejected') throw lane.reason;
    } catch (error) {
      if (!isStoreClosed(error)) throw error;
    }
    // An error appears at the end of the run, which repeats it.
    if (turn.count > 0) void this.#sendNotices().catch(() => undefined);
    return turn.count;
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
    const count = await workSideBySide({
      list: (wish) => this.#storage.read(() => listPlacesWithDueSales(this.#ctx.clock.now(), wish)),
      take: (place, isFailing) => this.#takeTurn(place, isFailing),
      restMs: searchMs,
      isStopping: this.#isStopping,
    });
    await this.#sendNotices();
    return count;
  }

  async compare(): Promise<void> {
    const before = this.#ctx.clock.now() - dayMs;
    await workSideBySide({
      list: (wish) => this.#storage.read(() => listProvidersToCompare(before, wish)),
      take: async (place) => {
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
        return 0;
      },
      restMs: Number.POSITIVE_INFINITY,
      isStopping: this.#isStopping,
    });
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

  async receiveHint(hint: Parameters<OnlineSales['receiveHint']>[0]): ReturnType<OnlineSales['receiveHint']> {
    return await this.#hints.receive(hint);
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
