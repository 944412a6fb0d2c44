/** The common parts of the pages of online sales: the state of a sale, and who it is for. */

import type { OnlineSale, SaleState } from '../domain/sale.ts';
import { markup, type Markup, type MarkupPart } from '../../../platform/markup.ts';
import type { Page } from '../../../pages/kit/page-context.ts';
import { small, tag } from '../../../pages/kit/parts.ts';
import { fillPlain } from '../../../pages/kit/texts.ts';

export const salesPath = '/sales';

export function pathOfSale(page: Page, { id }: Pick<OnlineSale, 'id'>): string {
  return `${salesPath}/${String(page.publicId(id))}`;
}

/** The state that a list shows of a sale. A refund or a dispute is more than the state that it had before. */
type ShownState = SaleState | 'refunded' | 'disputed' | 'warned';

function shownStateOf({ state, dispute, refunded, amount }: OnlineSale): ShownState {
  if (dispute === 'open' || dispute === 'lost') return 'disputed';
  if (dispute === 'warning') return 'warned';
  return state === 'issued' && refunded.minor > 0n && refunded.minor === amount.minor ? 'refunded' : state;
}

const kinds = {
  new: 'wait',
  open: 'wait',
  waiting: 'wait',
  review: 'wait',
  issued: 'good',
  returned: 'ended',
  expired: 'ended',
  failed: 'ended',
  refunded: 'ended',
  disputed: 'bad',
  warned: 'bad',
} as const satisfies Readonly<Record<ShownState, Parameters<typeof tag>[0]>>;

export function saleStateTag(page: Page, sale: OnlineSale): Markup {
  const state = shownStateOf(sale);
  const test = sale.isTest ? markup` ${small(page.text.onlineSales.test)}` : undefined;
  return markup`${tag(kinds[state], page.text.onlineSales.stateOf[state])}${test}`;
}

/** A line below the state: what staff have to know first. Undefined: nothing. */
export function stateNote(page: Page, sale: OnlineSale): MarkupPart | undefined {
  const { notes } = page.text.onlineSales;
  const { state, loss, refunded, amount, reviewUntil } = sale;
  if (loss.minor > 0n) return fillPlain(notes.loss, { amount: page.amount(loss) });
  if (state === 'review' && reviewUntil !== null) return markup`${notes.until} ${page.time(reviewUntil)}`;
  if (state === 'returned' && sale.returnReason !== null)
    return page.text.onlineSales.returnReasons[sale.returnReason];
  if (refunded.minor > 0n && refunded.minor !== amount.minor)
    return fillPlain(notes.refunded, { amount: page.amount(refunded) });
  if (state === 'issued' && sale.sendOn !== null) return markup`${notes.sendOn} ${page.day(sale.sendOn)}`;
  return undefined;
}

/** A name with an address; an erased person has neither. */
export function personOf(page: Page, name: string | null, address: string | null): Markup {
  const { erased } = page.text.onlineSales;
  if (name === null && address === null) return markup`<em>${erased}</em>`;
  if (address === null) return markup`<bdi>${name ?? ''}</bdi>`;
  if (name === null) return markup`<bdi>${address}</bdi>`;
  return markup`<bdi>${name}</bdi><br><span class="small soft"><bdi>${address}</bdi></span>`;
}

export function recipientOf(page: Page, sale: OnlineSale): Markup {
  const { forBuyer } = page.text.onlineSales;
  if (sale.delivery === 'self' && sale.recipientName === null) return markup`${forBuyer}`;
  return personOf(page, sale.recipientName, sale.recipientAddress);
}

/** The reasons for which staff decide about a sale. */
export function reasonList(page: Page, sale: OnlineSale): Markup {
  const { reviewReasons, notBankChecked, bankChecked } = page.text.onlineSales;
  const checked = sale.isBankChecked === null ? [] : [sale.isBankChecked ? bankChecked : notBankChecked];
  const reasons = [...sale.reviewReasons.map((reason) => reviewReasons[reason]), ...checked];
  return markup`<ul class="plain">${reasons.map((reason) => markup`<li>${reason}</li>`)}</ul>`;
}
