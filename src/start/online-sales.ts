/**
 * Online sales and their payment providers: creates sessions, reads payments, sends refunds, and compares each night what the
 * providers have moved. A request is made outside of transactions, and each can be repeated.
 */

import type { PaymentProviders } from '../delivery/payments/payments.ts';
import { sandboxNotice } from '../domain/sandbox.ts';
import { formatMoney } from '../domain/money/money.ts';
import { filledFormPath, hintPath, orderPath } from '../domain/online-sales/links.ts';
import type {
  ProviderMovementPage,
  PaymentProvider,
  ProviderCredential,
  ProviderOutcome,
} from '../domain/online-sales/payment.ts';
import { keyOfSale, type OnlineSale, type SaleKey } from '../domain/online-sales/sale.ts';
import { dayMs, sessionMs, waitAfter } from '../domain/online-sales/schedule.ts';
import type { Store } from '../domain/stores/store.ts';
import type { Log } from '../platform/log.ts';
import { recordSession } from '../service/online-sales/begin.ts';
import { saleToken } from '../storage/online-sales/order-link.ts';
import type { Checkout } from '../service/online-sales/checkout.ts';
import { comparedFrom, recordMovements } from '../service/online-sales/compare.ts';
import { listRequested, recordRefund } from '../service/online-sales/refund.ts';
import { expireUnrecorded, settleSale } from '../service/online-sales/settle.ts';
import {
  findCredential,
  listProvidersToCompare,
  recordComparison,
  recordProviderHealth,
  type ProviderPlace,
  type StoreProvider,
} from '../storage/online-sales/provider.ts';
import {
  claimDueSales,
  deferSale,
  findStoredSale,
  listPaidSales,
  listSalesOf,
  listStoresWithDueSales,
  makeSaleDue,
  type StoredSale,
} from '../storage/online-sales/sale.ts';
import { mayClaim } from '../storage/sandbox.ts';
import { findStore, isStoreClosed } from '../storage/stores/store.ts';
import type { Database } from './database.ts';

export type OnlineSales = Checkout & {
  /** Reads the sales that are due at their providers, and settles them. @returns how many. */
  readonly run: () => Promise<number>;
  /** Compares the movements of providers that were not compared for a day. */
  readonly compare: () => Promise<void>;
};

type Parts = {
  readonly database: Pick<Database, 'ctx' | 'storage'>;
  readonly providers: Pick<PaymentProviders, 'of'>;
  /** The base of the links to the pages. */
  readonly pagesUrl: string;
  /** Whether providers can reach the service. */
  readonly isPublic: boolean;
  readonly logger: Pick<Log['logger'], 'warn' | 'error'>;
};

/** Longer than all requests about the sales of one claim. */
const claimMs = 5 * 60_000;
const claimedMax = 10;
const storesMax = 20;
const comparedMax = 100;
/** Payments can be disputed for about this time. */
const disputableMs = 120 * dayMs;
const readMax = 100;
/** Pages of movements of one comparison: more than a busy shop has in five days. */
const movementPagesMax = 2_000;

/** A provider of a store that can be asked. */
type Opened = {
  readonly place: ProviderPlace;
  readonly api: PaymentProvider;
  readonly credential: ProviderCredential;
  /** The last failure of a request; null: the last one succeeded. */
  failure: string | null;
};

/** Whether the provider cannot be reached, or no longer accepts the key. */
function hasFailed(
  outcome: ProviderOutcome<unknown>,
): outcome is Exclude<ProviderOutcome<unknown>, { readonly kind: 'done' }> {
  return (
    outcome.kind === 'unknown' || (outcome.kind === 'rejected' && [401, 403].includes(outcome.status ?? 0))
  );
}

export function onlineSales({ database, providers, pagesUrl, isPublic, logger }: Parts): OnlineSales {
  const { ctx, storage } = database;

  /** An instant of the service (ms) as a provider has it: only the one of sandboxes has their clock. */
  const providerTime = ({ kind }: ProviderPlace, instant: number): number =>
    kind === 'sandbox' ? instant : instant - (ctx.testClock?.offsetMs() ?? 0);

  /** Undefined: the store has removed its key, or this database has no such provider. */
  const open = async (place: ProviderPlace): Promise<Opened | undefined> => {
    const found = await storage.read(() => findCredential(ctx, place));
    const api = providers.of(place.kind);
    return found && api && { place, api, credential: found.credential, failure: found.provider.failure };
  };

  const openOf = async ({ storeId, provider: kind, isTest }: OnlineSale): Promise<Opened | undefined> =>
    await open({ storeId, kind, isTest });

  /** Makes a request, and records whether the provider can be used. */
  const ask = async <T>(
    opened: Opened,
    request: (api: PaymentProvider, credential: ProviderCredential) => Promise<ProviderOutcome<T>>,
  ): Promise<ProviderOutcome<T>> => {
    const outcome = await request(opened.api, opened.credential);
    const failure = hasFailed(outcome) ? outcome.detail : null;
    // Most requests change nothing.
    if (failure !== opened.failure)
      await storage.write(() => recordProviderHealth(opened.place, { failure, now: ctx.clock.now() }));
    opened.failure = failure;
    return outcome;
  };

  const requireStored = async (key: SaleKey): Promise<StoredSale> => {
    const sale = await storage.read(() => findStoredSale(key));
    if (!sale) throw new Error('sales are never deleted');
    return sale;
  };

  const createSession = async (opened: Opened, store: Store, sale: StoredSale): Promise<StoredSale> => {
    const token = saleToken(ctx, sale);
    const language = sale.language;
    const name = `${store.name} ${formatMoney(sale.amount)} ${store.currency.code}`;
    const outcome = await ask(opened, (api, credential) =>
      api.createSession(credential, {
        saleKey: sale.key,
        amount: sale.amount,
        description: ctx.testClock ? `${name} (${sandboxNotice(language)})` : name,
        returnUrl: `${pagesUrl}${orderPath(store.domain, token)}`,
        cancelUrl: `${pagesUrl}${filledFormPath(store.domain, token)}`,
        hintUrl: isPublic
          ? `${pagesUrl}${hintPath(opened.place.kind, ctx.keys.publicIds.of(store.id))}`
          : null,
        locale: language,
        buyerAddress: sale.buyerAddress ?? '',
        // Equal on every attempt: a request with other content would be rejected.
        expiresAt: providerTime(opened.place, sale.createdAt + sessionMs),
      }),
    );
    if (outcome.kind === 'done')
      await storage.write(() => recordSession(ctx, keyOfSale(sale), outcome.value));
    else
      logger.warn({ store: store.domain, detail: outcome.detail }, 'a payment session could not be created');
    return await requireStored(keyOfSale(sale));
  };

  /** Reads the payment of a sale that has a session, and settles it. @returns whether the provider has responded. */
  const readAndSettle = async (opened: Opened, sale: StoredSale): Promise<boolean> => {
    const { sessionId } = sale;
    if (sessionId === null) return false;
    const outcome = await ask(opened, (api, credential) => api.readPayment(credential, sessionId));
    if (outcome.kind !== 'done') return false;
    await storage.write(() => settleSale(ctx, keyOfSale(sale), outcome.value));
    return true;
  };

  /** Sends the refunds that the provider has not confirmed. The payment was read before, which finds those it has made. */
  const sendRequested = async (opened: Opened, key: SaleKey): Promise<void> => {
    for (const { sale, refund } of await storage.read(() => listRequested(key))) {
      const { paymentId } = sale;
      if (paymentId === null) continue;
      const request = { refundKey: refund.key, paymentId, amount: refund.amount };
      const outcome = await ask(opened, (api, credential) => api.refund(credential, request));
      await storage.write(() => recordRefund(ctx, refund, outcome));
    }
  };

  /** Everything that is due for a sale. @returns whether the provider has responded. */
  const advance = async (sale: StoredSale): Promise<boolean> => {
    const opened = await openOf(sale);
    const record = await storage.read(() => findStore(sale.storeId));
    if (!opened || record?.status !== 'open') return false;
    const key = keyOfSale(sale);
    if (sale.sessionId === null) {
      if ((await storage.write(() => expireUnrecorded(ctx, key))).state === 'expired') return true;
      return (await createSession(opened, record.store, sale)).sessionId !== null;
    }
    if (!(await readAndSettle(opened, sale))) return false;
    await sendRequested(opened, key);
    return true;
  };

  const runStore = async (storeId: number): Promise<number> => {
    const now = ctx.clock.now();
    const lease = ctx.random.id();
    const claim = { now, until: now + claimMs, lease };
    const claimed = await storage.write(function* () {
      return (yield* mayClaim(ctx)) ? yield* claimDueSales(storeId, claim, claimedMax) : [];
    });
    for (const sale of claimed) {
      const failed = await advance(sale).then(
        (isDone) => !isDone,
        (error: unknown) => {
          if (isStoreClosed(error)) throw error;
          logger.error({ err: error, sale: ctx.keys.publicIds.of(sale.id) }, 'a sale could not be settled');
          return true;
        },
      );
      if (failed)
        await storage.write(() =>
          deferSale(keyOfSale(sale), lease, ctx.clock.now() + waitAfter(sale.attempts)),
        );
    }
    return claimed.length;
  };

  /** After a restore, reads the sales again that can be disputed: not every warning is a movement. */
  const readCopied = async (opened: Opened, { copiedAt }: StoreProvider): Promise<boolean> => {
    if (copiedAt === null) return true;
    for (let after: number | undefined = 0; after !== undefined;) {
      const page = { since: copiedAt - disputableMs, after, limit: readMax };
      const sales: readonly StoredSale[] = await storage.read(() => listPaidSales(opened.place, page));
      for (const sale of sales) if (!(await readAndSettle(opened, sale))) return false;
      after = sales.length === readMax ? sales.at(-1)?.id : undefined;
    }
    return true;
  };

  const comparePlace = async (place: ProviderPlace): Promise<void> => {
    const until = ctx.clock.now();
    const found = await storage.read(() => findCredential(ctx, place));
    const opened = await open(place);
    if (!found || !opened) return;
    const since = providerTime(place, comparedFrom(found.provider));
    let cursor: string | null = null;
    for (let page = 0; page < movementPagesMax; page += 1) {
      const from: string | null = cursor;
      const outcome: ProviderOutcome<ProviderMovementPage> = await ask(opened, (api, credential) =>
        api.listMovements(credential, { since, cursor: from }),
      );
      if (outcome.kind !== 'done') return;
      const changed = await storage.write(() => recordMovements(place, outcome.value));
      for (const key of changed) {
        // Without a response, the comparison is repeated.
        if (!(await readAndSettle(opened, await requireStored(key)))) return;
        await sendRequested(opened, key);
      }
      cursor = outcome.value.next;
      if (cursor === null) {
        if (!(await readCopied(opened, found.provider))) return;
        await storage.write(() => recordComparison(place, until));
        return;
      }
    }
    logger.warn({ provider: place.kind }, 'a provider has more movements than are compared in one night');
  };

  return {
    async run() {
      const ids = await storage.read(() => listStoresWithDueSales(ctx.clock.now(), storesMax));
      let count = 0;
      for (const id of ids)
        try {
          count += await runStore(id);
        } catch (error) {
          if (!isStoreClosed(error)) throw error;
        }
      return count;
    },

    async compare() {
      const before = ctx.clock.now() - dayMs;
      for (const place of await storage.read(() => listProvidersToCompare(before, comparedMax)))
        try {
          await comparePlace(place);
        } catch (error) {
          // A provider that cannot be compared does not stop the others.
          if (!isStoreClosed(error))
            logger.error({ err: error, provider: place.kind }, 'a payment provider could not be compared');
        }
    },

    async openSession(key) {
      const sale = await requireStored(key);
      const [opened, record] = [await openOf(sale), await storage.read(() => findStore(key.storeId))];
      if (sale.sessionId !== null || !opened || !record) return sale;
      return await createSession(opened, record.store, sale);
    },

    async refresh(key) {
      const sale = await requireStored(key);
      const opened = await openOf(sale);
      if (!opened || sale.sessionId === null) return sale;
      await readAndSettle(opened, sale);
      return await requireStored(key);
    },

    async sendRefunds(key) {
      const opened = await openOf(await requireStored(key));
      if (opened) await sendRequested(opened, key);
      return await requireStored(key);
    },

    async receiveHint({ storeId, kind, ...hint }) {
      const due: SaleKey[] = [];
      for (const isTest of [false, true]) {
        const opened = await open({ storeId, kind, isTest });
        if (!opened) continue;
        for (const id of opened.api.readHint(opened.credential, hint)) {
          const found = await storage.read(() => listSalesOf(storeId, { provider: kind, id }));
          due.push(...found.filter((sale) => sale.isTest === isTest).map(keyOfSale));
        }
      }
      if (due.length > 0)
        await storage.write(function* () {
          for (const key of due) yield* makeSaleDue(key, ctx.clock.now());
        });
      return due;
    },

    async examine(kind, credential) {
      const api = providers.of(kind);
      return api
        ? await api.examine(credential)
        : { kind: 'rejected', detail: 'the service has no such provider' };
    },
  };
}
