/** Readings of payments for the pages of orders. A link can be shared and reloaded, so this process limits them for each sale. */

import type { SaleKey } from '../domain/sale.ts';

/** The page requests itself less often. */
const pauseMs = 3_000;
const keptMax = 10_000;

type Reading = { readonly at: number; readonly ended: Promise<void> };

export class OrderReadings {
  /** The oldest first. */
  readonly #readings = new Map<string, Reading>();

  /**
   * Reads the payment of a sale, unless it was read in the last seconds. Requests during a reading wait for its end.
   * @param now monotonic, in ms.
   */
  async read({ storeId, saleId }: SaleKey, now: number, read: () => Promise<unknown>): Promise<void> {
    this.#forget(now);
    const name = `${storeId} ${saleId}`;
    const reading = this.#readings.get(name) ?? { at: now, ended: read().then(() => undefined) };
    this.#readings.set(name, reading);
    try {
      await reading.ended;
    } catch (error) {
      this.#readings.delete(name);
      throw error;
    }
  }

  #forget(now: number): void {
    for (const [name, { at }] of this.#readings) {
      if (now - at < pauseMs && this.#readings.size < keptMax) return;
      this.#readings.delete(name);
    }
  }
}
