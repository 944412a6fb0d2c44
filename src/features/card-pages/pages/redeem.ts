/** Redeems an amount of a card. */

import { unheldOf } from '../../../core/cards/domain/card.ts';
import { parseText, referenceLengthMax } from '../../../core/domain/text.ts';
import { markup } from '../../../platform/markup.ts';
import { redeem as redeemAsStaff } from '../../till/service/redemption.ts';
import { inputField } from '../../../pages/kit/form.ts';
import { amountValue, figure } from '../../../pages/kit/format.ts';
import { fillPlain } from '../../../pages/kit/texts.ts';
import { amountChange } from './amount-change.ts';
import { badText, openCard, unusableReason } from './change-form.ts';

export const redeemRoutes = amountChange({
  path: '/cards/:id/redeem',
  done: 'redeemed',
  open: openCard,
  textOf: (page) => page.text.cardActions.redeem,
  obstacle(page, { card }) {
    const nothing = unheldOf(card).minor > 0n ? undefined : page.text.cardActions.redeem.nothing;
    return unusableReason(page, card) ?? nothing;
  },
  head(page, { card }) {
    const { redeem } = page.text.cardActions;
    const held =
      card.held.minor > 0n
        ? markup`<p class="soft">${fillPlain(redeem.held, { amount: page.amount(card.held) })}</p>`
        : undefined;
    return markup`${figure(unheldOf(card), page.language)}<p class="soft">${redeem.available}</p>${held}`;
  },
  inputs: {
    reference: { parse: (typed) => parseText(typed, referenceLengthMax), error: badText },
    note: { parse: (typed) => parseText(typed), error: badText },
  },
  fields(page, _opened, { values, errors }) {
    const { redeem, note, noteHint } = page.text.cardActions;
    return markup`<div class="fields">${inputField({ name: 'reference', label: redeem.reference, value: values.reference, isOptional: true, error: errors.reference })}
${inputField({ name: 'note', label: note, value: values.note, isOptional: true, hint: noteHint, error: errors.note })}</div>`;
  },
  moreButtons(page, { card }) {
    const available = unheldOf(card);
    const all = fillPlain(page.text.cardActions.redeem.all, { amount: page.amount(available) });
    return markup`<button class="button" name="all" value="${amountValue(available, page.language)}" formnovalidate>${all}</button>`;
  },
  script: (page, { card }, read) => redeemAsStaff(page.ctx, page.by, { cardId: card.id, ...read }),
});
