/** The content of a pass in Apple Wallet: a store card (https://developer.apple.com/documentation/walletpasses/pass). */

import { addDays, formatInstant, startOfDay } from '../day.ts';
import { isDisabled, isExpired, isSuspended, unheldOf, type Card } from '../cards/card.ts';
import { cardLink } from '../emails/recipient-page.ts';
import { formatMoney } from '../money/money.ts';
import type { Secret } from '../../platform/secret.ts';
import type { Store } from '../stores/store.ts';

export type ApplePass = {
  readonly passTypeId: string;
  readonly teamId: string;
  /** The public id of the card. */
  readonly serial: string;
  /** The URL to which devices send their requests, without `/v1`. */
  readonly serviceUrl: string;
  readonly token: Secret;
  readonly store: Pick<Store, 'timeZone'>;
  readonly shop: string;
  readonly card: Card;
  /** The code of the card; null: it has another one now, so the pass is void. */
  readonly code: Secret | null;
  /** The URL of the store's page of recipients. */
  readonly page: string;
  /** The address to which recipients write; null: there is none. */
  readonly contact: string | null;
  /** `#rrggbb`: the ground, and the text on it. */
  readonly color: string;
  readonly textColor: string;
  readonly today: string;
};

/** The names of the texts of a pass, which its `pass.strings` translate. */
export const passTextNames = [
  'cardTitle',
  'balanceLabel',
  'expiryLabel',
  'codeLabel',
  'checkBalance',
] as const;

/** Whether a pass cannot be used: the card is disabled, suspended or empty, or has another code. */
export function isVoid(card: Card, code: Secret | null): boolean {
  return code === null || isDisabled(card) || isSuspended(card) || card.balance.minor === 0n;
}

/** @returns `pass.json` as an object. */
export function applePass({ card, code, ...pass }: ApplePass): object {
  const isUsable = !isVoid(card, code) && !isExpired(card, pass.today);
  const available = isUsable ? unheldOf(card) : { ...card.balance, minor: 0n };
  const end =
    card.expiresOn === null
      ? null
      : formatInstant(startOfDay(addDays(card.expiresOn, 1), pass.store.timeZone));
  const back = [
    { key: 'page', label: 'checkBalance', value: pass.page },
    ...(pass.contact === null ? [] : [{ key: 'contact', label: pass.shop, value: pass.contact }]),
  ];
  return {
    formatVersion: 1,
    passTypeIdentifier: pass.passTypeId,
    teamIdentifier: pass.teamId,
    serialNumber: pass.serial,
    organizationName: pass.shop,
    description: pass.shop,
    logoText: pass.shop,
    backgroundColor: rgb(pass.color),
    foregroundColor: rgb(pass.textColor),
    labelColor: rgb(pass.textColor),
    webServiceURL: pass.serviceUrl,
    authenticationToken: pass.token.reveal(),
    ...(end !== null && { expirationDate: end }),
    ...(isVoid(card, code) && { voided: true }),
    storeCard: {
      primaryFields: [
        {
          key: 'balance',
          label: 'balanceLabel',
          value: Number(formatMoney(available)),
          currencyCode: available.currency.code,
          changeMessage: '%@',
        },
      ],
      // The last day itself, which reads the same in every time zone.
      secondaryFields:
        card.expiresOn === null
          ? []
          : [
              {
                key: 'expires',
                label: 'expiryLabel',
                value: `${card.expiresOn}T12:00:00Z`,
                dateStyle: 'PKDateStyleMedium',
                ignoresTimeZone: true,
              },
            ],
      auxiliaryFields: [
        { key: 'code', label: 'codeLabel', value: `•••• ${card.lastCharacters.toUpperCase()}` },
      ],
      backFields: back,
    },
    ...(isUsable && code && { barcodes: [barcodeOf(code, pass.page)] }),
  };
}

/** The same QR code as that of the page. */
function barcodeOf(code: Secret, page: string) {
  return {
    format: 'PKBarcodeFormatQR',
    message: cardLink(page, code),
    messageEncoding: 'iso-8859-1',
    altText: (
      code
        .reveal()
        .toUpperCase()
        .match(/.{1,4}/g) ?? []
    ).join(' '),
  };
}

function rgb(color: string): string {
  const [red, green, blue] = [1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16));
  return `rgb(${red}, ${green}, ${blue})`;
}
