/** Requests to payment providers about online sales. Each is made outside of transactions, and can be repeated. */

import type { PaymentProviders } from '../delivery/payments.ts';
import { sandboxNotice } from '../../../core/domain/sandbox.ts';
import { formatMoney } from '../../../core/money/domain/money.ts';
import { filledFormPath, hintPath, orderPath } from '../domain/links.ts';
import type { PaymentProvider, ProviderCredential, ProviderOutcome } from '../domain/payment.ts';
import { keyOfSale, type OnlineSale, type SaleKey } from '../domain/sale.ts';
import { sessionMs } from '../domain/schedule.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import type { Log } from '../../../platform/log.ts';
import { recordSession, saleToken } from '../service/begin.ts';
import { listRequested, recordRefund } from '../service/refund.ts';
import { settleSale } from '../service/settle.ts';
import type { Context } from '../../../core/storage/context.ts';
import {
  findCredential,
  recordProviderHealth,
  type ProviderPlace,
  type StoreProvider,
} from '../storage/provider.ts';
import { findStoredSale, type StoredSale } from '../storage/sale.ts';
import type { Storage } from '../../../database/storage.ts';
import type { Database } from '../../../start/database.ts';

export type SaleRequestParts = {
  readonly database: Pick<Database, 'ctx' | 'storage'>;
  readonly providers: Pick<PaymentProviders, 'of'>;
  /** The base of the links to the pages. */
  readonly pagesUrl: string;
  /** Whether providers can reach the service. */
  readonly isPublic: boolean;
  readonly logger: Pick<Log['logger'], 'warn' | 'error'>;
};

/** A provider of a store, with what a request needs. */
export type OpenedProvider = {
  readonly place: ProviderPlace;
  readonly provider: StoreProvider;
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

export class SaleRequests {
  readonly #ctx: Context;
  readonly #storage: Storage;
  readonly #providers: SaleRequestParts['providers'];
  readonly #pagesUrl: string;
  readonly #isPublic: boolean;
  readonly #logger: SaleRequestParts['logger'];

  constructor({ database: { ctx, storage }, providers, pagesUrl, isPublic, logger }: SaleRequestParts) {
    this.#ctx = ctx;
    this.#storage = storage;
    this.#providers = providers;
    this.#pagesUrl = pagesUrl;
    this.#isPublic = isPublic;
    this.#logger = logger;
  }

  /** An instant of the service (ms) as a provider has it: only the one of sandboxes has their clock. */
  providerTime({ kind }: ProviderPlace, instant: number): number {
    return kind === 'sandbox' ? instant : instant - (this.#ctx.testClock?.offsetMs() ?? 0);
  }

  /** Undefined: the store has removed its key, or this database has no such provider. */
  async open(place: ProviderPlace): Promise<OpenedProvider | undefined> {
    const found = await this.#storage.read(() => findCredential(this.#ctx, place));
    const api = this.#providers.of(place.kind);
    return found && api && { place, api, ...found, failure: found.provider.failure };
  }

  async openOf({ storeId, provider: kind, isTest }: OnlineSale): Promise<OpenedProvider | undefined> {
    return await this.open({ storeId, kind, isTest });
  }

  /** Makes a request, and records whether the provider can be used. */
  async ask<T>(
    opened: OpenedProvider,
    request: (api: PaymentProvider, credential: ProviderCredential) => Promise<ProviderOutcome<T>>,
  ): Promise<ProviderOutcome<T>> {
    const outcome = await request(opened.api, opened.credential);
    const failure = hasFailed(outcome) ? outcome.detail : null;
    // Most requests change nothing.
    if (failure !== opened.failure)
      await this.#storage.write(() =>
        recordProviderHealth(opened.place, { failure, now: this.#ctx.clock.now() }),
      );
    opened.failure = failure;
    return outcome;
  }

  async requireStored(key: SaleKey): Promise<StoredSale> {
    const sale = await this.#storage.read(() => findStoredSale(key));
    if (!sale) throw new Error('sales are never deleted');
    return sale;
  }

  async createSession(opened: OpenedProvider, store: Store, sale: StoredSale): Promise<StoredSale> {
    const token = saleToken(this.#ctx, sale);
    const language = sale.language;
    const name = `${store.name} ${formatMoney(sale.amount)} ${store.currency.code}`;
    const outcome = await this.ask(opened, (api, credential) =>
      api.createSession(credential, {
        saleKey: sale.key,
        amount: sale.amount,
        description: this.#ctx.testClock ? `${name} (${sandboxNotice(language)})` : name,
        returnUrl: `${this.#pagesUrl}${orderPath(store.domain, token)}`,
        cancelUrl: `${this.#pagesUrl}${filledFormPath(store.domain, token)}`,
        hintUrl: this.#isPublic
          ? `${this.#pagesUrl}${hintPath(opened.place.kind, this.#ctx.keys.publicIds.of(store.id))}`
          : null,
        locale: language,
        buyerAddress: sale.buyerAddress ?? '',
        // Equal on every attempt: a request with other content would be rejected.
        expiresAt: this.providerTime(opened.place, sale.createdAt + sessionMs),
      }),
    );
    if (outcome.kind === 'done')
      await this.#storage.write(() => recordSession(this.#ctx, keyOfSale(sale), outcome.value));
    else
      this.#logger.warn(
        { store: store.domain, detail: outcome.detail },
        'a payment session could not be created',
      );
    return await this.requireStored(keyOfSale(sale));
  }

  /** Reads the payment of a sale that has a session, and settles it. @returns whether the provider has responded. */
  async readAndSettle(opened: OpenedProvider, sale: StoredSale): Promise<boolean> {
    const { sessionId } = sale;
    if (sessionId === null) return false;
    const outcome = await this.ask(opened, (api, credential) => api.readPayment(credential, sessionId));
    if (outcome.kind !== 'done') return false;
    await this.#storage.write(() => settleSale(this.#ctx, keyOfSale(sale), outcome.value));
    return true;
  }

  /** Sends the refunds that the provider has not confirmed. The payment was read before, which finds those it has made. */
  async sendRequested(opened: OpenedProvider, key: SaleKey): Promise<void> {
    for (const { sale, refund } of await this.#storage.read(() => listRequested(key))) {
      const { paymentId } = sale;
      if (paymentId === null) continue;
      const request = { refundKey: refund.key, paymentId, amount: refund.amount };
      const outcome = await this.ask(opened, (api, credential) => api.refund(credential, request));
      await this.#storage.write(() => recordRefund(this.#ctx, refund, outcome));
    }
  }
}
