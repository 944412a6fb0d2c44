/** Refunds an entry of a card's ledger, in whole or in part. */

import { Fault } from '../../../core/domain/fault.ts';
import { isAddition, isReversible, type Transfer } from '../../../core/money/domain/ledger.ts';
import type { Money } from '../../../core/money/domain/money.ts';
import { parseText } from '../../../core/domain/text.ts';
import { markup } from '../../../platform/markup.ts';
import { findEntry, refundEntry } from '../../till/service/refund.ts';
import { reasonOf } from '../../../pages/kit/card-texts.ts';
import { inputField } from '../../../pages/kit/form.ts';
import { amountValue, figure } from '../../../pages/kit/format.ts';
import { fill, fillPlain } from '../../../pages/kit/texts.ts';
import { idIn } from '../../../pages/kit/ids.ts';
import type { Page } from '../../../pages/kit/page-context.ts';
import { amountChange } from './amount-change.ts';
import { badText, openCard, type OpenedCard } from './change-form.ts';

type OpenedEntry = OpenedCard & {
  readonly entry: Transfer;
  /** The amount that can still be refunded. */
  readonly rest: Money;
};

/** @throws Fault `not-found` if the card has no such entry. */
async function openEntry(page: Page): Promise<OpenedEntry> {
  const opened = await openCard(page);
  const { storeId, id: cardId } = opened.card;
  const entryId = idIn(page.services, page.request, 'entry');
  const found = await page.read(() => findEntry({ storeId, cardId }, entryId));
  return { ...opened, entry: found.transfer, rest: found.left };
}

/** The reason why the entry cannot be refunded; undefined: it can. */
function obstacle(page: Page, { card, entry, rest }: OpenedEntry): string | undefined {
  if (!isReversible(entry.kind)) return reasonOf(new Fault('not-reversible'), card, page.language);
  if (card.disabledAt !== null) return reasonOf(new Fault('card-disabled'), card, page.language);
  return rest.minor === 0n ? page.text.cardActions.refund.done : undefined;
}

export const refundRoutes = amountChange({
  path: '/cards/:id/entries/:entry/refund',
  done: 'refunded',
  open: openEntry,
  textOf(page, { entry }) {
    const { refund } = page.text.cardActions;
    return isAddition(entry.kind) ? { ...refund, consequence: refund.consequenceSale } : refund;
  },
  obstacle,
  head(page, { entry, rest }) {
    const { refund } = page.text.cardActions;
    const partly =
      rest.minor < entry.amount.minor
        ? markup`<p class="soft">${fillPlain(refund.partly, { amount: page.amount(rest) })}</p>`
        : undefined;
    const done = fill(isAddition(entry.kind) ? refund.sold : refund.redeemed, {
      time: page.time(entry.createdAt),
    });
    const reference = entry.reference === null ? undefined : markup` · ${entry.reference}`;
    return markup`${figure(entry.amount, page.language)}<p class="soft">${done}${reference}</p>${partly}`;
  },
  startAmount: (page, { rest }) => amountValue(rest, page.language),
  inputs: { note: { parse: (typed) => parseText(typed), error: badText } },
  fields(page, _opened, { values, errors }) {
    const { refund, noteHint } = page.text.cardActions;
    return inputField({
      name: 'note',
      label: refund.reason,
      value: values.note,
      isOptional: true,
      hint: noteHint,
      error: errors.note,
    });
  },
  script: (page, { entry }, read) => refundEntry(page.ctx, page.by, { transferId: entry.id, ...read }),
});
