/** Sells more value on a card: an amount and, for a card that expires, a later day. */

import { accepted } from '../../../platform/parsed.ts';
import { parseDay } from '../../../core/domain/day.ts';
import { parseText } from '../../../core/domain/text.ts';
import { markup } from '../../../platform/markup.ts';
import { topUpCard } from '../../till/service/sale.ts';
import { inputField } from '../../../pages/kit/form.ts';
import { amountText, dayText, figure } from '../../../pages/kit/format.ts';
import { fillPlain } from '../../../pages/kit/texts.ts';
import { amountChange } from './amount-change.ts';
import { badText, openCard, unusableReason } from './change-form.ts';

export const addRoutes = amountChange({
  path: '/cards/:id/add',
  done: 'added',
  open: openCard,
  textOf: (page) => page.text.cardActions.add,
  obstacle: (page, { card }) => unusableReason(page, card),
  head: (page, { card }) =>
    markup`${figure(card.balance, page.language)}<p class="soft">${page.text.cardActions.adjust.present}</p>`,
  inputs: {
    expires_on: {
      parse: (typed) => (typed === '' ? accepted(null) : parseDay(typed)),
      error: (page) => page.text.cardActions.add.badDay,
    },
    note: { parse: (typed) => parseText(typed), error: badText },
  },
  fields(page, { card: { expiresOn } }, { values, errors }) {
    const { add, noteHint } = page.text.cardActions;
    // A card that never expires has no such field.
    const expiry =
      expiresOn === null
        ? undefined
        : inputField({
            name: 'expires_on',
            label: add.expires,
            type: 'date',
            value: values.expires_on,
            isOptional: true,
            hint: fillPlain(add.expiresHint, { date: dayText(expiresOn, page.language) }),
            error: errors.expires_on,
          });
    return markup`${expiry}
${inputField({ name: 'note', label: add.note, value: values.note, isOptional: true, hint: noteHint, error: errors.note })}`;
  },
  script: (page, { card }, { expires_on: expiresOn, ...read }) =>
    topUpCard(page.ctx, page.by, { cardId: card.id, expiresOn, ...read }),
  errorsOf({ language, store, text }, fault, { card: { expiresOn } }) {
    if (fault.code !== 'invalid-parameter') return undefined;
    const { add, errors } = text.cardActions;
    const limit = store.issueLimit && amountText(store.issueLimit, language);
    const day = expiresOn === null ? '' : dayText(expiresOn, language);
    return {
      ...(fault.errors?.['amount'] && {
        amount: limit === null ? add.tooMuch : fillPlain(errors.storeLimit, { amount: limit }),
      }),
      ...(fault.errors?.['expires_on'] && { expires_on: fillPlain(add.earlier, { date: day }) }),
    };
  },
});
