/** Refunds an entry of a card's ledger, in whole or in part. */

import { Fault } from '../../domain/fault.ts';
import { isAddition, isReversible, type Transfer } from '../../domain/money/ledger.ts';
import { formatMoney, type Money } from '../../domain/money/money.ts';
import { parseText } from '../../domain/text.ts';
import { markup } from '../../platform/markup.ts';
import { findEntry, refundEntry } from '../../service/staff-actions/refund.ts';
import type { Script } from '../../storage/sql/sql.ts';
import {
  amountError,
  backLink,
  change,
  changePage,
  earlierResult,
  openCard,
  reasonOf,
  changeTexts,
  unavailablePage,
  unreadableAmount,
  type Done,
  type OpenedCard,
} from './change-form.ts';
import { inputField } from '../kit/form.ts';
import { amountText, amountValue, figure, parseTypedAmount, timeElement } from '../kit/format.ts';
import { keyInput, keyOf } from '../kit/once.ts';
import { byOf } from '../kit/page-context.ts';
import { formText } from '../kit/request.ts';
import type { ConsoleResponse, ConsoleServices, StaffRequest, StaffRoute } from '../kit/route.ts';
import { fill, fillPlain } from '../kit/texts.ts';
import { idIn } from '../kit/ids.ts';

type OpenedEntry = OpenedCard & {
  readonly entry: Transfer;
  /** The amount that can still be refunded. */
  readonly rest: Money;
};

/** @throws Fault `not-found` if the card has no such entry. */
async function openEntry(services: ConsoleServices, request: StaffRequest): Promise<OpenedEntry> {
  const opened = await openCard(services, request);
  const { storeId, id: cardId } = opened.card;
  const entryId = idIn(services, request, 'entry');
  const found = await services.storage.read(() => findEntry({ storeId, cardId }, entryId));
  return { ...opened, entry: found.transfer, rest: found.left };
}

type Form = {
  readonly amount: string;
  readonly note: string;
  readonly errors: Readonly<Partial<Record<'amount' | 'note', string>>>;
};

/** The reason why the entry cannot be refunded; undefined: it can. */
function obstacle({ language }: StaffRequest, { card, entry, rest }: OpenedEntry): string | undefined {
  if (!isReversible(entry.kind)) return reasonOf(new Fault('not-reversible'), card, language);
  if (card.disabledAt !== null) return reasonOf(new Fault('card-disabled'), card, language);
  return rest.minor === 0n ? changeTexts[language].refund.done : undefined;
}

function refundPage(
  services: ConsoleServices,
  request: StaffRequest,
  opened: OpenedEntry,
  { amount, note, errors }: Form,
): ConsoleResponse {
  const { ctx, frame } = services;
  const { language, signedIn } = request;
  const { refund, ...text } = changeTexts[language];
  const { entry, rest, path } = opened;
  const title = refund.title;
  const isRejected = Object.keys(errors).length > 0;
  const status = isRejected ? 422 : 200;
  const reason = obstacle(request, opened);
  if (reason !== undefined) return unavailablePage(services, request, opened, { title, reason, status });
  const isSale = isAddition(entry.kind);
  const partly =
    rest.minor < entry.amount.minor
      ? markup`<p class="soft">${fillPlain(refund.partly, { amount: amountText(rest, language) })}</p>`
      : undefined;
  const when = timeElement(entry.createdAt, signedIn.store, language);
  const reference = entry.reference === null ? undefined : markup` · ${entry.reference}`;
  const body = markup`<section class="panel stack change" aria-label="${title}">
<div>${figure(entry.amount, language)}<p class="soft">${fill(isSale ? refund.sold : refund.redeemed, { time: when })}${reference}</p>${partly}</div>
<form class="stack" method="post" action="${frame.basePath}${path}/entries/${request.params['entry'] ?? ''}/refund">
${keyInput(ctx, isRejected ? keyOf(request) : undefined)}
${inputField({ name: 'amount', label: refund.amount, value: amount, inputMode: 'decimal', kind: 'amount', error: errors.amount })}
${inputField({ name: 'note', label: refund.reason, value: note, isOptional: true, hint: text.noteHint, error: errors.note })}
<p class="hint">${isSale ? refund.consequenceSale : refund.consequence}</p>
<div class="row"><button class="button first">${refund.action}</button>${backLink(services, request, { path, text: text.cancel, kind: 'quiet' })}</div>
</form></section>`;
  return changePage(services, request, opened, { title, body, status });
}

async function submit(services: ConsoleServices, request: StaffRequest): Promise<ConsoleResponse> {
  const { ctx } = services;
  const { language, signedIn } = request;
  const { store } = signedIn;
  const { refund, errors: messages } = changeTexts[language];
  const opened = await openEntry(services, request);
  const earlier = await earlierResult(services, request, opened);
  if (earlier) return earlier;
  const form = { amount: formText(request, 'amount'), note: formText(request, 'note') };
  const [amount, note] = [parseTypedAmount(form.amount, store, request), parseText(form.note)];
  const again = (errors: Form['errors'], current = opened): ConsoleResponse =>
    refundPage(services, request, current, { ...form, errors });
  if (!amount.ok || !note.ok)
    return again({
      ...(!amount.ok && { amount: unreadableAmount(form.amount, store, { language }) }),
      ...(!note.ok && { note: messages.badText }),
    });
  const [value, cardId, transferId] = [amount.value, opened.card.id, opened.entry.id];
  return await change(services, request, opened, {
    title: refund.title,
    *script(): Script<Done> {
      const { transfer, card } = yield* refundEntry(ctx, byOf(request), {
        transferId,
        amount: value,
        note: note.value,
      });
      return {
        done: 'refunded',
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
        : again({ amount: message }, await openEntry(services, request));
    },
  });
}

const path = '/cards/:id/entries/:entry/refund';

export const refundRoutes: readonly StaffRoute[] = [
  {
    method: 'GET',
    path,
    access: 'changeCards',
    async handle(services, request) {
      const opened = await openEntry(services, request);
      const amount = amountValue(opened.rest, request.language);
      return refundPage(services, request, opened, { amount, note: '', errors: {} });
    },
  },
  { method: 'POST', path, access: 'changeCards', handle: submit },
];
