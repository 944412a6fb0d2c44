/** The content of a pass in Apple Wallet: a store card (https://developer.apple.com/documentation/walletpasses/pass). */

import { formatMoney } from '../../../core/money/domain/money.ts';
import type { Secret } from '../../../platform/secret.ts';
import { faceOf, isVoid, type FaceParts } from './face.ts';

export type ApplePass = FaceParts & {
  readonly passTypeId: string;
  readonly teamId: string;
  /** The public id of the card. */
  readonly serial: string;
  /** The URL to which devices send their requests, without `/v1`. */
  readonly serviceUrl: string;
  readonly token: Secret;
  readonly shop: string;
  /** The address to which recipients write; null: there is none. */
  readonly contact: string | null;
  /** `#rrggbb`: the ground, and the text on it. */
  readonly color: string;
  readonly textColor: string;
};

/** The names of the texts of a pass, which its `pass.strings` translate. */
export const passTextNames = [
  'cardTitle',
  'balanceLabel',
  'expiryLabel',
  'codeLabel',
  'checkBalance',
] as const;

/** @returns `pass.json` as an object. */
export function applePass({ card, code, ...pass }: ApplePass): object {
  const { available, ending, end, barcode } = faceOf({ ...pass, card, code });
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
      auxiliaryFields: [{ key: 'code', label: 'codeLabel', value: ending }],
      backFields: back,
    },
    ...(barcode && {
      barcodes: [
        {
          format: 'PKBarcodeFormatQR',
          message: barcode.message,
          messageEncoding: 'iso-8859-1',
          altText: barcode.text,
        },
      ],
    }),
  };
}

function rgb(color: string): string {
  const [red, green, blue] = [1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16));
  return `rgb(${red}, ${green}, ${blue})`;
}
