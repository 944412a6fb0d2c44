/** Looks cards up by their codes and by text. */

import type { Context } from '../../storage/context.ts';
import { choose, type Card } from '../domain/card.ts';
import { emailKey, type EmailAddress } from '../../domain/email-address.ts';
import { spendStateOf } from '../domain/state.ts';
import type { Reading, Readings } from '../domain/given-code.ts';
import type { Store } from '../../stores/domain/store.ts';
import { findCardsOf } from '../storage/card.ts';
import { findByCode } from '../storage/code.ts';
import type { Script } from '../../../database/sql/sql.ts';
import { today } from '../../stores/service/day.ts';

export type SearchCommand = {
  readonly store: Store;
  readonly address: EmailAddress;
  /** The readings of the last characters, in the order in which they are tried. */
  readonly lastCharacters: readonly string[];
  /** The only customer of the storefront whose cards are found; null: any customer. */
  readonly onlyStorefrontCustomerId: number | null;
};

/** The best match of a search, or undefined. */
export function* search(ctx: Context, command: SearchCommand): Script<Card | undefined> {
  const { store, address, lastCharacters, onlyStorefrontCustomerId } = command;
  const cards = yield* findCardsOf({ storeId: store.id, address, onlyStorefrontCustomerId }, lastCharacters);
  // Cards that match as given precede those of other readings.
  const [given] = lastCharacters;
  const exact = cards.filter((card) => card.lastCharacters === given);
  return choose(exact.length > 0 ? exact : cards, today(ctx, store));
}

export type LookupCommand = {
  readonly store: Store;
  readonly readings: Readings;
  /** Treats unusable cards as unknown, because callers who cannot read cards must not learn that they exist. */
  readonly usableOnly: boolean;
};

export type Found =
  | {
      readonly kind: 'found';
      readonly card: Card;
      /** The reading that is its code. */
      readonly reading: Reading;
      /** The lookup value of the code. A movement can require that the card still has this code. */
      readonly codeLookup: bigint;
      /** Whether the service generated the code, so that it cannot be guessed. */
      readonly isGenerated: boolean;
    }
  /** No card has this code. `use` says what else it is; null: nothing. */
  | { readonly kind: 'missed'; readonly use: CodeUse | null };

/** The use of a code that no card has: of one that a card had before its current one, or of one that is in a stock. */
export type CodeUse =
  | { readonly kind: 'replaced'; readonly cardId: number }
  | {
      readonly kind: 'stocked';
      readonly lookup: bigint;
      /** Whether the service generated the code. */
      readonly isGenerated: boolean;
      /** The reading that it is. */
      readonly reading: Reading;
    };

export type UsesByKind = {
  /** The cards that had the codes before they were given others. */
  readonly retired: readonly number[];
  /** The lookup values of codes in stock. */
  readonly stocked: readonly bigint[];
};

export function usesByKind(uses: readonly CodeUse[]): UsesByKind {
  return {
    retired: uses.flatMap((use) => (use.kind === 'replaced' ? [use.cardId] : [])),
    stocked: uses.flatMap((use) => (use.kind === 'stocked' ? [use.lookup] : [])),
  };
}

/**
 * Finds the card with a code, with the same query for known and unknown codes. The first reading that the store has ever used
 * counts, whatever became of it.
 */
export function* lookUp(ctx: Context, { store, readings, usableOnly }: LookupCommand): Script<Found> {
  const codes = readings.map(({ code }) => code);
  const found = yield* findByCode(ctx, { storeId: store.id, codes, now: ctx.clock.earliest() });
  if (!found) return { kind: 'missed', use: null };
  const { lookup, isGenerated } = found;
  const reading = readings[found.place] ?? readings[0];
  if (!found.state) return { kind: 'missed', use: { kind: 'stocked', lookup, isGenerated, reading } };
  const { card } = found.state;
  if (!found.isCurrent) return { kind: 'missed', use: { kind: 'replaced', cardId: card.id } };
  if (usableOnly && spendStateOf(card, today(ctx, store)) !== 'active') return { kind: 'missed', use: null };
  return { kind: 'found', card, reading, codeLookup: lookup, isGenerated };
}

/** Whether the address is that of the card's customer or recipient. */
export function isAddressOf({ customer, recipient }: Card, address: EmailAddress | null): boolean {
  return [customer?.email, recipient?.email].some(
    (own) => typeof own === 'string' && emailKey(own) === address?.key,
  );
}
