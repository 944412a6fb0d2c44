/**
 * The content of a card in Google Wallet: an object of the card, and the class with what all cards of a store share
 * (https://developers.google.com/wallet/reference/rest/v1/giftcardobject).
 */

import { isDisabled, isExpired, isSuspended, type Card } from '../../../core/cards/domain/card.ts';
import { formatInstant } from '../../../core/domain/day.ts';
import type { Money } from '../../../core/money/domain/money.ts';
import type { Secret } from '../../../platform/secret.ts';
import { faceOf, type FaceParts } from './face.ts';

/** `EXPIRED`, `COMPLETED` and `INACTIVE` are below the other cards of the wallet. */
type State = 'ACTIVE' | 'INACTIVE' | 'COMPLETED' | 'EXPIRED';

function stateOf(card: Card, code: Secret | null, today: string): State {
  if (code === null || isDisabled(card)) return 'INACTIVE';
  if (isExpired(card, today)) return 'EXPIRED';
  if (isSuspended(card)) return 'INACTIVE';
  return card.balance.minor === 0n ? 'COMPLETED' : 'ACTIVE';
}

/** Amounts have at most 4 decimals and 12 digits before them, so the result fits in 64 bits. */
function moneyOf({ minor, currency }: Money): object {
  return { micros: String(minor * 10n ** BigInt(6 - currency.decimals)), currencyCode: currency.code };
}

/** @param at when the balance was read (ms). @returns the changing fields of the object; null removes a field. */
export function googleObject({ at, ...parts }: FaceParts & { readonly at: number }): object {
  const { available, ending, end, barcode } = faceOf(parts);
  return {
    state: stateOf(parts.card, parts.code, parts.today),
    cardNumber: ending,
    balance: moneyOf(available),
    balanceUpdateTime: { date: formatInstant(at) },
    validTimeInterval: end === null ? null : { end: { date: end } },
    barcode: barcode && {
      type: 'QR_CODE',
      value: barcode.message,
      alternateText: barcode.text,
    },
  };
}

/** The fields of an object that is not updated. It does not say whose card it was. */
export function endedObject(): object {
  return { state: 'EXPIRED', cardNumber: '••••', balance: null, validTimeInterval: null, barcode: null };
}

/** A text in a language (BCP 47). */
type Translated = { readonly language: string; readonly value: string };

/** A text in the language of the store, and in all languages. */
export type LocalizedText = { readonly own: Translated; readonly all: readonly Translated[] };

function localized({ own, all }: LocalizedText): object {
  return { defaultValue: own, translatedValues: all };
}

export type GoogleClassParts = {
  readonly id: string;
  readonly shop: string;
  /** The URL of the store's page of recipients. */
  readonly page: string;
  /** The URL of the logo; null: there is none. */
  readonly logo: string | null;
  /** `#rrggbb` */
  readonly color: string;
  readonly cardNumberLabel: LocalizedText;
  readonly pageLabel: LocalizedText;
};

/** Google shows no more of the name of a shop than its first 20 characters on small screens. */
export function googleClass(parts: GoogleClassParts): object {
  const { id, shop, page, logo, color, cardNumberLabel, pageLabel } = parts;
  return {
    id,
    issuerName: shop,
    merchantName: shop,
    // Google reviews the class; this is the only status that an issuer sets for a class in use.
    reviewStatus: 'UNDER_REVIEW',
    hexBackgroundColor: color,
    programLogo: logo === null ? null : { sourceUri: { uri: logo } },
    allowBarcodeRedemption: true,
    // The person who gives a card and the one who receives it can both add it.
    multipleDevicesAndHoldersAllowedStatus: 'MULTIPLE_HOLDERS',
    cardNumberLabel: cardNumberLabel.own.value,
    localizedCardNumberLabel: localized(cardNumberLabel),
    homepageUri: { uri: page, description: pageLabel.own.value, localizedDescription: localized(pageLabel) },
  };
}
