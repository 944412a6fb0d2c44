/**
 * Notifications of payment providers. Strangers can send some, so each costs little: it makes sales due, and wrong signatures
 * are counted in memory.
 */

import { Fault } from '../../../core/domain/fault.ts';
import type { HintReading } from '../domain/payment.ts';
import { keyOfSale, type SaleKey } from '../domain/sale.ts';
import type { Metrics } from '../../../http/metrics.ts';
import type { Log } from '../../../platform/log.ts';
import type { Checkout } from '../service/checkout.ts';
import type { Context } from '../../../core/storage/context.ts';
import { recordHintAccepted, recordHintsRejected, type ProviderPlace } from '../storage/provider.ts';
import { listSalesOf, makeSaleDue } from '../storage/sale.ts';
import type { Storage } from '../../../database/storage.ts';
import type { OpenedProvider, SaleRequests } from './sale-requests.ts';

/** Wrong signatures in a row with which people are notified. */
const wrongMin = 3;
/** The time between two records that signatures of a provider are wrong, and between two lines of the log. */
const recordMs = 10 * 60_000;
const logMs = 60 * 60_000;
/** Providers with wrong signatures in memory. Above it, the one that was seen least recently is forgotten. */
const rowsMax = 1_000;

/** The wrong signatures of a provider since its last right one, as far as this process knows. */
type Row = { readonly wrong: number; readonly isRecorded: boolean; readonly loggedAt: number | null };

const none: Row = { wrong: 0, isRecorded: false, loggedAt: null };

type Parts = {
  readonly ctx: Context;
  readonly storage: Storage;
  readonly requests: SaleRequests;
  readonly metrics: Pick<Metrics, 'paymentNotified'>;
  readonly logger: Pick<Log['logger'], 'warn'>;
};

export class PaymentHints {
  readonly #parts: Parts;
  /** In the order of the last wrong signature. */
  readonly #rows = new Map<string, Row>();

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** @throws Fault `unavailable` if a signed notification has to be sent again, because the provider did not respond. */
  async receive({
    storeId,
    kind,
    ...hint
  }: Parameters<Checkout['receiveHint']>[0]): Promise<readonly SaleKey[]> {
    const { ctx, storage, requests, metrics } = this.#parts;
    const due: SaleKey[] = [];
    const now = ctx.clock.now();
    const signatures: HintReading['signature'][] = [];
    for (const isTest of [false, true]) {
      const opened = await requests.open({ storeId, kind, isTest });
      if (!opened) continue;
      const reading = opened.api.readHint(opened.credential, hint);
      signatures.push(reading.signature);
      await this.#noteSignature(opened, reading.signature);
      for (const id of await this.#idsOf(opened, reading)) {
        const found = await storage.read(() => listSalesOf(storeId, { provider: kind, id }));
        due.push(...found.filter((sale) => sale.isTest === isTest).map(keyOfSale));
      }
    }
    const signature = (['right', 'wrong'] as const).find((each) => signatures.includes(each)) ?? 'none';
    if (signatures.length > 0) metrics.paymentNotified(kind, signature);
    if (due.length > 0)
      await storage.write(function* makeDue() {
        for (const key of due) yield* makeSaleDue(key, now);
      });
    return due;
  }

  async #idsOf(opened: OpenedProvider, { ids, related }: HintReading): Promise<readonly string[]> {
    if (related === null) return ids;
    const outcome = await this.#parts.requests.ask(opened, (api, credential) =>
      api.findPaymentOf(credential, related),
    );
    // The provider sends it again.
    if (outcome.kind === 'unknown') throw new Fault('unavailable', { retryAfterSeconds: 60 });
    return outcome.kind === 'done' && outcome.value !== null ? [outcome.value] : [];
  }

  async #noteSignature(opened: OpenedProvider, signature: HintReading['signature']): Promise<void> {
    const { storage } = this.#parts;
    const { place, provider } = opened;
    const name = `${place.storeId} ${place.kind} ${place.isTest}`;
    if (signature === 'right') {
      const row = this.#rows.get(name);
      // The time of the last line of the log stays.
      if (row) this.#rows.set(name, { ...none, loggedAt: row.loggedAt });
      if (provider.hintsRejectedSince !== null) await storage.write(() => recordHintAccepted(place));
    }
    if (signature === 'wrong') await this.#noteWrong(name, opened);
  }

  async #noteWrong(name: string, { place, provider }: OpenedProvider): Promise<void> {
    const { ctx, storage } = this.#parts;
    const now = ctx.clock.now();
    const known = this.#rows.get(name) ?? none;
    // Another process has received a right one since.
    const wasAccepted = known.isRecorded && provider.hintsRejectedSince === null;
    const wrong = wasAccepted ? 1 : Math.min(known.wrong + 1, wrongMin);
    const isSeen = wrong >= wrongMin;
    const isRecent = provider.hintsRejectedAt !== null && Math.abs(now - provider.hintsRejectedAt) < recordMs;
    const isRecorded = isSeen && (provider.hintsRejectedSince !== null || !isRecent);
    const loggedAt = isSeen ? this.#log(place, known.loggedAt) : known.loggedAt;
    this.#rows.delete(name);
    this.#rows.set(name, { wrong, isRecorded, loggedAt });
    const [longestUnseen] = this.#rows.keys();
    if (this.#rows.size > rowsMax && longestUnseen !== undefined) this.#rows.delete(longestUnseen);
    if (isRecorded && provider.hintsRejectedSince === null)
      await storage.write(() => recordHintsRejected(place, now));
  }

  /** @returns when it was last logged, on the monotonic clock. */
  #log({ storeId, kind, isTest }: ProviderPlace, loggedAt: number | null): number {
    const { ctx, logger } = this.#parts;
    const now = ctx.clock.monotonic();
    if (loggedAt !== null && now - loggedAt < logMs) return loggedAt;
    logger.warn(
      { store_id: ctx.keys.publicIds.of(storeId), provider: kind, is_test: isTest },
      'notifications of a payment provider have wrong signatures: the signing secret is wrong, or others send requests',
    );
    return now;
  }
}
