/** The parts of a card in a wallet that all kinds of wallets show. */

import { isDisabled, isExpired, isSuspended, unheldOf, type Card } from '../../../core/cards/domain/card.ts';
import { addDays, formatInstant, startOfDay } from '../../../core/domain/day.ts';
import { cardLink } from '../../../core/emails/domain/recipient-page.ts';
import type { Money } from '../../../core/money/domain/money.ts';
import type { Secret } from '../../../platform/secret.ts';
import type { Store } from '../../../core/stores/domain/store.ts';

export type FaceParts = {
  readonly store: Pick<Store, 'timeZone'>;
  readonly card: Card;
  /** The code of the card; null: it has another one now, so the card in the wallet is void. */
  readonly code: Secret | null;
  /** The URL of the store's page of recipients. */
  readonly page: string;
  readonly today: string;
};

export type Face = {
  /** The amount that can be spent now. */
  readonly available: Money;
  /** The code with its last characters only. */
  readonly ending: string;
  /** The instant at which the card ends (`…Z`); null: never. */
  readonly end: string | null;
  /** The same QR code as that of the page, and the code in groups; null: the card cannot be used. */
  readonly barcode: { readonly message: string; readonly text: string } | null;
};

/** Whether a card in a wallet is void: it is disabled, suspended or empty, or has another code. */
export function isVoid(card: Card, code: Secret | null): boolean {
  return code === null || isDisabled(card) || isSuspended(card) || card.balance.minor === 0n;
}

export function faceOf({ store, card, code, page, today }: FaceParts): Face {
  const isUsable = !isVoid(card, code) && !isExpired(card, today);
  return {
    available: isUsable ? unheldOf(card) : { ...card.balance, minor: 0n },
    ending: `•••• ${card.lastCharacters.toUpperCase()}`,
    end:
      card.expiresOn === null ? null : formatInstant(startOfDay(addDays(card.expiresOn, 1), store.timeZone)),
    barcode:
      isUsable && code
        ? {
            message: cardLink(page, code),
            text: (
              code
                .reveal()
                .toUpperCase()
                .match(/.{1,4}/g) ?? []
            ).join(' '),
          }
        : null,
  };
}
