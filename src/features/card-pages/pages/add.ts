/** Sells more value on a card: an amount and, for a card that expires, a later day. */

import type { Fault } from '../../../core/domain/fault.ts';
import { parseDay } from '../../../core/domain/day.ts';
import { formatMoney } from '../../../core/money/domain/money.ts';
import { parseText } from '../../../core/domain/text.ts';
import { markup, type Markup } from '../../../platform/markup.ts';
import { topUpCard } from '../../till/service/sale.ts';
import type { Script } from '../../../database/sql/sql.ts';
import {
  amountError,
  backLink,
  change,
  changePage,
  earlierResult,
  openCard,
  unavailablePage,
  unreadableAmount,
  unusableReason,
  type Done,
  type OpenedCard,
} from './change-form.ts';
import { changeTexts } from '../../../pages/kit/card-texts.ts';
import { inputField } from '../../../pages/kit/form.ts';
import { amountText, dayText, figure, parseTypedAmount } from '../../../pages/kit/format.ts';
import { keyInput } from '../../../pages/kit/once.ts';
import type { ConsoleResponse, StaffRequest, StaffRoute } from '../../../pages/kit/route.ts';
import { fillPlain } from '../../../pages/kit/texts.ts';
import { get, post, type Page } from '../../../pages/kit/page-context.ts';

type Values = Readonly<Record<'amount' | 'expires_on' | 'note', string>>;
type Errors = Readonly<Partial<Values>>;

function addPage(
  page: Page,
  opened: OpenedCard,
  { values, errors }: { readonly values: Values; readonly errors: Errors },
): ConsoleResponse {
  const { add, adjust, ...text } = page.text.cardActions;
  const { card, path } = opened;
  const isRejected = Object.keys(errors).length > 0;
  const status = isRejected ? 422 : 200;
  const reason = unusableReason(page, card);
  if (reason !== undefined) return unavailablePage(page, opened, { title: add.title, reason, status });
  const body = markup`<section class="panel stack change" aria-label="${add.title}">
<div>${figure(card.balance, page.language)}<p class="soft">${adjust.present}</p></div>
<form class="stack" method="post" action="${page.basePath}${path}/add">${keyInput(page.ctx, isRejected ? page.key : undefined)}
${inputField({ name: 'amount', label: add.amount, value: values.amount, inputMode: 'decimal', kind: 'amount', error: errors.amount })}
${expiryField(page, opened, { value: values.expires_on, error: errors.expires_on })}
${inputField({ name: 'note', label: add.note, value: values.note, isOptional: true, hint: text.noteHint, error: errors.note })}
<p class="hint">${add.consequence}</p>
<div class="row"><button class="button first">${add.action}</button>${backLink(page, { path, text: text.cancel, kind: 'quiet' })}</div>
</form></section>`;
  return changePage(page, opened, { title: add.title, body, status });
}

/** A card that never expires has no such field. */
function expiryField(
  page: Page,
  { card: { expiresOn } }: OpenedCard,
  { value, error }: { readonly value: string; readonly error: string | undefined },
): Markup | undefined {
  if (expiresOn === null) return undefined;
  const { add } = page.text.cardActions;
  const hint = fillPlain(add.expiresHint, { date: dayText(expiresOn, page.language) });
  return inputField({ name: 'expires_on', label: add.expires, type: 'date', value, isOptional: true, hint, error });
} // prettier-ignore

/** The messages at the fields that a fault rejects; undefined: the fault is not about the fields. */
function errorsOf(
  fault: Fault,
  { language, signedIn: { store } }: StaffRequest,
  { card: { expiresOn } }: OpenedCard,
): Errors | undefined {
  const { add, errors } = changeTexts[language];
  const message = amountError(fault, { currency: store.currency, language });
  if (message !== undefined) return { amount: message };
  if (fault.code !== 'invalid-parameter') return undefined;
  const limit = store.issueLimit && amountText(store.issueLimit, language);
  const day = expiresOn === null ? '' : dayText(expiresOn, language);
  return {
    ...(fault.errors?.['amount'] && {
      amount: limit === null ? add.tooMuch : fillPlain(errors.storeLimit, { amount: limit }),
    }),
    ...(fault.errors?.['expires_on'] && { expires_on: fillPlain(add.earlier, { date: day }) }),
  };
}

async function submit(page: Page): Promise<ConsoleResponse> {
  const { add, errors: messages } = page.text.cardActions;
  const opened = await openCard(page);
  const earlier = await earlierResult(page, opened);
  if (earlier) return earlier;
  const values: Values = {
    amount: page.typed('amount'),
    expires_on: page.typed('expires_on'),
    note: page.typed('note'),
  };
  const amount = parseTypedAmount(values.amount, page.store, page.request);
  const note = parseText(values.note);
  const day = values.expires_on === '' ? null : parseDay(values.expires_on);
  const again = (errors: Errors, current = opened): ConsoleResponse =>
    addPage(page, current, { values, errors });
  if (!amount.ok || !note.ok || day?.ok === false)
    return again({
      ...(!amount.ok && { amount: unreadableAmount(values.amount, page.store, { language: page.language }) }),
      ...(day?.ok === false && { expires_on: add.badDay }),
      ...(!note.ok && { note: messages.badText }),
    });
  const cardId = opened.card.id;
  return await change(page, opened, {
    title: add.title,
    *script(): Script<Done> {
      const expiresOn = day?.value ?? null;
      const sold = { cardId, amount: amount.value, expiresOn, note: note.value };
      const { transfer, card } = yield* topUpCard(page.ctx, page.by, sold);
      return {
        done: 'added',
        card: cardId,
        amount: formatMoney(amount.value),
        left: formatMoney(card.balance),
        entry: transfer.id,
      };
    },
    async rejected(fault) {
      if (!fault) return again({ amount: messages.expiredForm });
      const current = await openCard(page);
      const errors = errorsOf(fault, page.request, current);
      return errors && again(errors, current);
    },
  });
}

const path = '/cards/:id/add';

export const addRoutes: readonly StaffRoute[] = [
  get(path, 'changeCards', async (page) =>
    addPage(page, await openCard(page), {
      values: { amount: '', expires_on: '', note: '' },
      errors: {},
    }),
  ),
  post(path, 'changeCards', submit),
];
