/** Redeems an amount of a card. */

import { unheldOf } from '../../../core/cards/domain/card.ts';
import { formatMoney } from '../../../core/money/domain/money.ts';
import { parseText, referenceLengthMax } from '../../../core/domain/text.ts';
import { markup } from '../../../platform/markup.ts';
import { redeem as redeemAsStaff } from '../../till/service/redemption.ts';
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
import { inputField } from '../../../pages/kit/form.ts';
import { amountValue, figure, parseTypedAmount } from '../../../pages/kit/format.ts';
import { keyInput } from '../../../pages/kit/once.ts';
import type { ConsoleResponse, StaffRoute } from '../../../pages/kit/route.ts';
import { fillPlain } from '../../../pages/kit/texts.ts';
import { get, post, type Page } from '../../../pages/kit/page-context.ts';

type Form = {
  readonly amount: string;
  readonly reference: string;
  readonly note: string;
  readonly errors: Readonly<Partial<Record<'amount' | 'reference' | 'note', string>>>;
};

const empty: Form = { amount: '', reference: '', note: '', errors: {} };

function redeemPage(
  page: Page,
  opened: OpenedCard,
  { amount, reference, note, errors }: Form,
): ConsoleResponse {
  const { redeem, ...text } = page.text.cardActions;
  const { card, path } = opened;
  const available = unheldOf(card);
  const title = redeem.title;
  const reason = unusableReason(page, card) ?? (available.minor > 0n ? undefined : redeem.nothing);
  const isRejected = Object.keys(errors).length > 0;
  const status = isRejected ? 422 : 200;
  if (reason !== undefined) return unavailablePage(page, opened, { title, reason, status });
  const held =
    card.held.minor > 0n
      ? markup`<p class="soft">${fillPlain(redeem.held, { amount: page.amount(card.held) })}</p>`
      : undefined;
  const all = fillPlain(redeem.all, { amount: page.amount(available) });
  const body = markup`<section class="panel stack change" aria-label="${title}">
<div>${figure(available, page.language)}<p class="soft">${redeem.available}</p>${held}</div>
<form class="stack" method="post" action="${page.basePath}${path}/redeem">
${keyInput(page.ctx, isRejected ? page.key : undefined)}
${inputField({ name: 'amount', label: redeem.amount, value: amount, inputMode: 'decimal', kind: 'amount', error: errors.amount })}
<div class="fields">${inputField({ name: 'reference', label: redeem.reference, value: reference, isOptional: true, error: errors.reference })}
${inputField({ name: 'note', label: text.note, value: note, isOptional: true, hint: text.noteHint, error: errors.note })}</div>
<p class="hint">${redeem.consequence}</p>
<div class="row"><button class="button first">${redeem.action}</button><button class="button" name="all" value="${amountValue(available, page.language)}" formnovalidate>${all}</button>${backLink(page, { path, text: text.cancel, kind: 'quiet' })}</div>
</form></section>`;
  return changePage(page, opened, { title, body, status });
}

async function submit(page: Page): Promise<ConsoleResponse> {
  const { redeem, errors: messages } = page.text.cardActions;
  const opened = await openCard(page);
  const earlier = await earlierResult(page, opened);
  if (earlier) return earlier;
  // The button for all submits the amount that the person saw.
  const typed = page.typed('all') || page.typed('amount');
  const form = { amount: typed, reference: page.typed('reference'), note: page.typed('note') };
  const amount = parseTypedAmount(typed, page.store, page.request);
  const reference = parseText(form.reference, referenceLengthMax);
  const note = parseText(form.note);
  const again = (errors: Form['errors'], current = opened): ConsoleResponse =>
    redeemPage(page, current, { ...form, errors });
  if (!amount.ok || !reference.ok || !note.ok)
    return again({
      ...(!amount.ok && { amount: unreadableAmount(typed, page.store, { language: page.language }) }),
      ...(!reference.ok && { reference: messages.badText }),
      ...(!note.ok && { note: messages.badText }),
    });
  const [value, cardId] = [amount.value, opened.card.id];
  return await change(page, opened, {
    title: redeem.title,
    *script(): Script<Done> {
      const { transfer, card } = yield* redeemAsStaff(page.ctx, page.by, {
        cardId,
        amount: value,
        reference: reference.value,
        note: note.value,
      });
      return {
        done: 'redeemed',
        card: cardId,
        amount: formatMoney(value),
        left: formatMoney(card.balance),
        entry: transfer.id,
      };
    },
    async rejected(fault) {
      if (!fault) return again({ amount: messages.expiredForm });
      const message = amountError(fault, { currency: page.store.currency, language: page.language });
      return message === undefined ? undefined : again({ amount: message }, await openCard(page));
    },
  });
}

export const redeemRoutes: readonly StaffRoute[] = [
  get('/cards/:id/redeem', 'changeCards', async (page) => redeemPage(page, await openCard(page), empty)),
  post('/cards/:id/redeem', 'changeCards', submit),
];
