/** The common parts of sales at the till: amounts and their limits, and the sale itself, which happens once. */

import type { Reading } from '../../../core/cards/domain/given-code.ts';
import type { Fault, FaultCode } from '../../../core/domain/fault.ts';
import { exceeds, formatMoney, type Money } from '../../../core/money/domain/money.ts';
import { sellCard, type CardToSell } from '../service/sale.ts';
import { amountText, amountValue } from '../../../pages/kit/format.ts';
import { hasFields, runOnce, type Outcome } from '../../../pages/kit/once.ts';
import type { StaffRequest } from '../../../pages/kit/route.ts';
import { fillPlain } from '../../../pages/kit/texts.ts';
import { storedAmount } from './parts.ts';
import { saleTexts as texts } from './sale-forms.ts';
import type { Page } from '../../../pages/kit/page-context.ts';

export function amountErrorText(page: Page): string {
  const example = amountValue(
    { minor: 25n * 10n ** BigInt(page.store.currency.decimals), currency: page.store.currency },
    page.language,
  );
  return fillPlain(page.text.tillSales.amountInvalid, { example });
}

/** The sentence for an amount that a limit or a printed card does not allow, which the fault names. */
export function limitText(fault: Fault, { language, signedIn: { store } }: StaffRequest): string | undefined {
  const text = texts[language];
  const { sale_limit: own, store_limit: ofStore } = fault.extensions ?? {};
  const shown = (limit: string): string => amountText(storedAmount(limit, store), language);
  if (own !== undefined) return fillPlain(text.aboveSaleLimit, { amount: shown(own) });
  if (ofStore !== undefined) return fillPlain(text.aboveStoreLimit, { amount: shown(ofStore) });
  const { fixed_value: fixed, minimum_value: lowest, maximum_value: highest } = fault.extensions ?? {};
  if (fixed !== undefined) return fillPlain(text.printedValue, { amount: shown(fixed) });
  return lowest === undefined || highest === undefined
    ? undefined
    : fillPlain(text.printedRange, { lowest: shown(lowest), highest: shown(highest) });
}

/** The sentence for an amount above the limit of the person or the store; undefined: it is within both. */
export function aboveHighest(amount: Money, request: StaffRequest): string | undefined {
  const { store, member } = request.signedIn;
  const text = texts[request.language];
  const { saleLimit } = member;
  const shown = (limit: Money) => ({ amount: amountText(limit, request.language) });
  if (saleLimit && exceeds(amount, saleLimit)) return fillPlain(text.aboveSaleLimit, shown(saleLimit));
  const { issueLimit } = store;
  return issueLimit && exceeds(amount, issueLimit)
    ? fillPlain(text.aboveStoreLimit, shown(issueLimit))
    : undefined;
}

/** The content of the page of the result. */
type SoldResult = {
  readonly card: number;
  readonly entry: number;
  readonly amount: string;
  /** Null: the customer has it on a plastic card. */
  readonly code: string | null;
  readonly email: string | null;
  /** Whether the code of a printed card was tried before. */
  readonly isTried: boolean;
  /** The kind of the reading of a printed card; null: the card is not one. */
  readonly way: Reading['way'] | null;
};

export const isSold = hasFields<SoldResult>('code', 'entry');

/** The faults of a sale that the person can correct. */
export const rejections: ReadonlySet<FaultCode> = new Set([
  'invalid-parameter',
  'already-activated',
  'too-many-misses',
]);

/** Sells a card once, and stores what the page of the result shows. */
export function sellOnce(page: Page, key: string, sold: CardToSell): Promise<Outcome<SoldResult>> {
  return runOnce<SoldResult>(page.services, page.request, key, function* run() {
    const { card, code, transferId, activation } = yield* sellCard(page.ctx, page.by, sold);
    const { publicIds } = page.ctx.keys;
    return {
      card: publicIds.of(card.id),
      entry: publicIds.of(transferId),
      amount: formatMoney(sold.value),
      code: sold.code ? null : code.reveal(),
      email: sold.emails ? (sold.recipient?.address ?? null) : null,
      isTried: typeof activation?.triedAt === 'number',
      way: activation?.reading.way ?? null,
    };
  });
}
