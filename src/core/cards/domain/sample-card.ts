/** A card with sample data and its movements, for previews of what customers get. */

import type { Currency } from '../../money/domain/currency.ts';
import { debitOf, issueOf, type Transfer } from '../../money/domain/ledger.ts';
import { subtract, type Money } from '../../money/domain/money.ts';
import type { Store } from '../../stores/domain/store.ts';
import type { Card } from './card.ts';
import { noDetails } from './fields.ts';

export const sample = {
  code: 'qyw7j8tjrj3pvkhh',
  lastCharacters: 'vkhh',
  senderName: 'Ada',
  recipientName: 'Grace',
  expiresOn: '2031-12-31',
  /** 2026-01-15T09:30Z, the time of every preview, so that equal previews have equal bytes. */
  at: 1_768_469_400_000,
} as const;

/** An amount in units; a hundred times as many in a currency without decimals, as a yen is worth about a cent. */
export function sampleAmount(currency: Currency, units: bigint): Money {
  const minorInUnit = currency.decimals === 0 ? 100n : 10n ** BigInt(currency.decimals);
  return { minor: units * minorInUnit, currency };
}

/** 2026-02-14T15:05Z. */
const redeemedAt = 1_771_081_500_000;

type SampleCard = {
  readonly card: Card;
  /** The newest first. */
  readonly transfers: readonly [redemption: Transfer, issue: Transfer];
};

/** @param options.actor of the redemption. */
export function sampleCardOf(
  { id: storeId, currency }: Pick<Store, 'id' | 'currency'>,
  {
    message,
    actor,
    locationId,
  }: { readonly message: string; readonly actor: string; readonly locationId: number | null },
): SampleCard {
  const [value, spent] = [sampleAmount(currency, 50n), sampleAmount(currency, 35n)];
  const balance = subtract(value, spent);
  const common = {
    storeId,
    cardId: 0,
    reference: null,
    note: null,
    orderReference: null,
    externalId: null,
    orderId: null,
    holdId: null,
    reverses: null,
    actor,
    locationId,
  };
  return {
    card: {
      storeId,
      id: 0,
      version: 1,
      initialValue: value,
      balance,
      held: { minor: 0n, currency },
      lastCharacters: sample.lastCharacters,
      customer: null,
      recipient: null,
      ...noDetails,
      message,
      expiresOn: sample.expiresOn,
      senderName: sample.senderName,
      recipientName: sample.recipientName,
      disabledAt: null,
      suspendedAt: null,
      suspendReason: null,
      createdAt: sample.at,
      lineItemId: null,
      orderId: null,
      userId: null,
      apiClientId: null,
      vat: null,
    },
    transfers: [
      { ...common, ...debitOf(spent), id: 2, sequence: 2, balanceAfter: balance, createdAt: redeemedAt },
      { ...common, ...issueOf(value), id: 1, sequence: 1, balanceAfter: value, createdAt: sample.at },
    ],
  };
}
