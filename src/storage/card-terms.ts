/** The recorded changes of the terms that decide a card's bucket: its expiry and whether it is disabled. */

import type { CardKey } from './card.ts';
import { resolved, type Script } from './sql.ts';

/** A change of a card's terms: the values before it. An absent value was not changed. */
export type TermsChange = {
  /** Instant in ms. */
  readonly createdAt: number;
  /** If the change is a late entry. */
  readonly late: { readonly day: string | null } | null;
  readonly expiresOn?: string | null;
  readonly disabledAt?: number | null;
};

/** Returns the changes of a card's terms, the latest first. */
export function listTermsChanges(_: CardKey): Script<readonly TermsChange[]> {
  return resolved([]);
}

/** Returns the ids of the cards of a page of changes with ids above `after`, and where the next page starts. */
export function listChangedCards(
  _storeId: number,
  _page: { readonly after: number; readonly limit: number },
): Script<{ readonly cards: readonly number[]; readonly next: number | undefined }> {
  return resolved({ cards: [], next: undefined });
}
