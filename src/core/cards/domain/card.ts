/** Gift cards: their fields and the rules for changes. A *usable* card is neither disabled, expired nor suspended. */

import { editableFields, propertyOf, type CardDetails, type EditableDetails } from './fields.ts';
import type { ErrorsByField } from '../../domain/fault.ts';
import { FieldErrors } from '../../domain/fault.ts';
import { equal, exceeds, formatMoney, subtract, type Money } from '../../money/domain/money.ts';
import type { Vat } from '../../money/domain/vat.ts';

export type Customer = {
  readonly id: number;
  /** The address as first received. */
  readonly email: string;
};

export type Card = CardDetails & {
  readonly storeId: number;
  readonly id: number;
  /** Counts the changes, starting at 1. */
  readonly version: number;
  readonly initialValue: Money;
  readonly balance: Money;
  /** The part of the balance that open holds reserve. The rest is *available*. */
  readonly held: Money;
  readonly lastCharacters: string;
  readonly customer: Customer | null;
  readonly recipient: Customer | null;
  /** Instant in ms; null while the card is not disabled. */
  readonly disabledAt: number | null;
  /** Instant in ms; null while the card is not suspended. */
  readonly suspendedAt: number | null;
  /** The reason why the card is suspended, for the store only; null: no reason was given, or the card is not suspended. */
  readonly suspendReason: string | null;
  /** Instant in ms. */
  readonly createdAt: number;
  readonly lineItemId: number | null;
  readonly orderId: number | null;
  readonly userId: number | null;
  readonly apiClientId: number | null;
  /** Null: none is recorded. */
  readonly vat: Vat | null;
};

const changeableDetails = editableFields.map(propertyOf);

/** The changes in an update. Absent fields keep their values. */
export type CardChanges = Partial<EditableDetails> & { readonly disable?: boolean; readonly balance?: Money };

/** Whether open holds are released when a card is disabled. Otherwise they prevent it. */
export type DisableOptions = { readonly releaseHolds: boolean };

export function isDisabled(card: Card): boolean {
  return card.disabledAt !== null;
}

export function isSuspended(card: Card): boolean {
  return card.suspendedAt !== null;
}

/** Whether the card's last valid day is before `today`, a day in the store's time zone. */
export function isExpired(card: Card, today: string): boolean {
  return card.expiresOn !== null && card.expiresOn < today;
}

/** The balance minus open holds. Only a usable card can spend it (`availableOf`). */
export function unheldOf({ balance, held }: Pick<Card, 'balance' | 'held'>): Money {
  return subtract(balance, held);
}

/** Returns only the changes that differ from the card. An update can repeat a current value on any card. */
export function effectiveChanges(card: Card, changes: CardChanges): CardChanges {
  return {
    ...(changes.disable === true && !isDisabled(card) && { disable: true }),
    ...(changes.balance !== undefined &&
      !equal(changes.balance, card.balance) && { balance: changes.balance }),
    ...Object.fromEntries(
      changeableDetails
        .filter((name) => changes[name] !== undefined && changes[name] !== card[name])
        .map((name) => [name, changes[name]]),
    ),
  };
}

/** Returns the errors of all changes that the card's state does not allow. */
export function validateChanges(
  card: Card,
  changes: CardChanges,
  { releaseHolds }: DisableOptions,
): ErrorsByField {
  const errors = new FieldErrors();
  const isReleased = releaseHolds && changes.disable === true;
  if (card.held.minor > 0n && !isReleased) {
    if (changes.disable === true && !isDisabled(card)) {
      errors.add('disable', 'cannot be true: the card has open holds, which release_holds releases');
    }
    if (changes.balance && exceeds(card.held, changes.balance)) {
      errors.add('balance', `must be at least ${formatMoney(card.held)}, the held amount`);
    }
  }
  if (isDisabled(card)) {
    const effective = effectiveChanges(card, changes);
    if (changes.disable === false) errors.add('disable', 'cannot be undone');
    if (effective.balance !== undefined) errors.add('balance', 'cannot be changed: the card is disabled');
    if (effective.expiresOn !== undefined)
      errors.add('expires_on', 'cannot be changed: the card is disabled');
  } else if (isSuspended(card) && effectiveChanges(card, changes).balance !== undefined) {
    errors.add('balance', 'cannot be changed: the card is suspended');
  }
  return errors.toErrors();
}

/**
 * Chooses the result of a search: usable cards precede suspended ones, and these all others; then the newest one. Returns
 * undefined for an empty list.
 */
export function choose(cards: readonly Card[], today: string): Card | undefined {
  let best: Card | undefined;
  for (const card of cards) {
    if (!best || comesBefore(card, best, today)) best = card;
  }
  return best;
}

function comesBefore(left: Card, right: Card, today: string): boolean {
  const [leftRank, rightRank] = [rankOf(left, today), rankOf(right, today)];
  if (leftRank !== rightRank) return leftRank < rightRank;
  return left.createdAt === right.createdAt ? left.id > right.id : left.createdAt > right.createdAt;
}

function rankOf(card: Card, today: string): number {
  if (isDisabled(card) || isExpired(card, today)) return 2;
  return isSuspended(card) ? 1 : 0;
}
