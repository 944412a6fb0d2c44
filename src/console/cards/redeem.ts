/** Redeems an amount of a card. */

import { unheldOf } from '../../domain/cards/card.ts';
import { formatMoney } from '../../domain/money/money.ts';
import { parseText, referenceLengthMax } from '../../domain/text.ts';
import { markup } from '../../platform/markup.ts';
import { redeem as redeemAsStaff } from '../../service/staff-actions/redemption.ts';
import type { Script } from '../../storage/sql/sql.ts';
import {
  amountError,
  backLink,
  change,
  changePage,
  earlierResult,
  openCard,
  changeTexts,
  unavailablePage,
  unreadableAmount,
  unusableReason,
  type Done,
  type OpenedCard,
} from './change-form.ts';
import { inputField } from '../kit/form.ts';
import { amountText, amountValue, figure, parseTypedAmount } from '../kit/format.ts';
import { keyInput, keyOf } from '../kit/once.ts';
import { byOf } from '../kit/page-context.ts';
import { formText } from '../kit/request.ts';
import type { ConsoleResponse, ConsoleServices, StaffRequest, StaffRoute } from '../kit/route.ts';
import { fillPlain } from '../kit/texts.ts';

type Form = {
  readonly amount: string;
  readonly reference: string;
  readonly note: string;
  readonly errors: Readonly<Partial<Record<'amount' | 'reference' | 'note', string>>>;
};

const empty: Form = { amount: '', reference: '', note: '', errors: {} };

function redeemPage(
  services: ConsoleServices,
  request: StaffRequest,
  opened: OpenedCard,
  { amount, reference, note, errors }: Form,
): ConsoleResponse {
  const { ctx, frame } = services;
  const { language } = request;
  const { redeem, ...text } = changeTexts[language];
  const { card, path } = opened;
  const available = unheldOf(card);
  const title = redeem.title;
  const reason =
    unusableReason(services, request, card) ?? (available.minor > 0n ? undefined : redeem.nothing);
  const isRejected = Object.keys(errors).length > 0;
  const status = isRejected ? 422 : 200;
  if (reason !== undefined) return unavailablePage(services, request, opened, { title, reason, status });
  const held =
    card.held.minor > 0n
      ? markup`<p class="soft">${fillPlain(redeem.held, { amount: amountText(card.held, language) })}</p>`
      : undefined;
  const all = fillPlain(redeem.all, { amount: amountText(available, language) });
  const body = markup`<section class="panel stack change" aria-label="${title}">
<div>${figure(available, language)}<p class="soft">${redeem.available}</p>${held}</div>
<form class="stack" method="post" action="${frame.basePath}${path}/redeem">
${keyInput(ctx, isRejected ? keyOf(request) : undefined)}
${inputField({ name: 'amount', label: redeem.amount, value: amount, inputMode: 'decimal', kind: 'amount', error: errors.amount })}
<div class="fields">${inputField({ name: 'reference', label: redeem.reference, value: reference, isOptional: true, error: errors.reference })}
${inputField({ name: 'note', label: text.note, value: note, isOptional: true, hint: text.noteHint, error: errors.note })}</div>
<p class="hint">${redeem.consequence}</p>
<div class="row"><button class="button first">${redeem.action}</button><button class="button" name="all" value="${amountValue(available, language)}" formnovalidate>${all}</button>${backLink(services, request, { path, text: text.cancel, kind: 'quiet' })}</div>
</form></section>`;
  return changePage(services, request, opened, { title, body, status });
}

async function submit(services: ConsoleServices, request: StaffRequest): Promise<ConsoleResponse> {
  const { ctx } = services;
  const { language, signedIn } = request;
  const { store } = signedIn;
  const { redeem, errors: messages } = changeTexts[language];
  const opened = await openCard(services, request);
  const earlier = await earlierResult(services, request, opened);
  if (earlier) return earlier;
  // The button for all submits the amount that the person saw.
  const typed = formText(request, 'all') || formText(request, 'amount');
  const form = { amount: typed, reference: formText(request, 'reference'), note: formText(request, 'note') };
  const amount = parseTypedAmount(typed, store, request);
  const reference = parseText(form.reference, referenceLengthMax);
  const note = parseText(form.note);
  const again = (errors: Form['errors'], current = opened): ConsoleResponse =>
    redeemPage(services, request, current, { ...form, errors });
  if (!amount.ok || !reference.ok || !note.ok)
    return again({
      ...(!amount.ok && { amount: unreadableAmount(typed, store, { language }) }),
      ...(!reference.ok && { reference: messages.badText }),
      ...(!note.ok && { note: messages.badText }),
    });
  const [value, cardId] = [amount.value, opened.card.id];
  return await change(services, request, opened, {
    title: redeem.title,
    *script(): Script<Done> {
      const { transfer, card } = yield* redeemAsStaff(ctx, byOf(request), {
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
      const message = amountError(fault, { currency: store.currency, language });
      return message === undefined
        ? undefined
        : again({ amount: message }, await openCard(services, request));
    },
  });
}

export const redeemRoutes: readonly StaffRoute[] = [
  {
    method: 'GET',
    path: '/cards/:id/redeem',
    access: 'changeCards',
    handle: async (services, request) =>
      redeemPage(services, request, await openCard(services, request), empty),
  },
  { method: 'POST', path: '/cards/:id/redeem', access: 'changeCards', handle: submit },
];
