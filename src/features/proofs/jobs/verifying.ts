/** The task that compares the cards with the ledger while the service runs. */

import { shownId } from '../../../platform/public-id.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import { verifyPage } from '../service/ledger-check.ts';
import type { ScannedInteger } from '../../../database/sql/sql.ts';
import { listOpenStores } from '../../../core/stores/storage/store.ts';
import type { JobTools } from '../../../jobs/job.ts';

export type VerifyingObserver = {
  /** Cards were compared. */
  cardsVerified(cards: number): void;
  /** @param mismatch with the public id of the card; null: it is not known. */
  mismatchFound(mismatch: {
    readonly store: string;
    readonly card: number | null;
    readonly problem: string;
  }): void;
  /** The number that the last complete pass has found, or this one if it has found more. */
  setMismatches(count: number): void;
};

/** Returns a task that verifies one page of cards per call, store by store, and then starts over. */
export function createVerifying(
  { ctx, storage }: Pick<JobTools, 'ctx' | 'storage'>,
  observer: VerifyingObserver,
): () => Promise<void> {
  let stores: Store[] = [];
  let after: ScannedInteger = 0;
  let found = 0;
  let foundLast = 0;
  return async () => {
    const store = stores[0];
    if (!store) {
      stores = (await storage.read(listOpenStores)).map(({ store: listed }) => listed);
      foundLast = found;
      found = 0;
      observer.setMismatches(foundLast);
      return;
    }
    const page = await storage.read(() => verifyPage(store, after));
    observer.cardsVerified(page.cards);
    for (const { cardId, problem } of page.mismatches) {
      found += 1;
      const card = cardId === null ? null : shownId(ctx.keys.publicIds, cardId);
      observer.mismatchFound({ store: store.domain, card, problem });
    }
    observer.setMismatches(Math.max(found, foundLast));
    after = page.next ?? 0;
    if (page.next === undefined) stores.shift();
  };
}
