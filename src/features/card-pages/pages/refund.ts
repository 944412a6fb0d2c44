/** Refunds an entry of a card's ledger, in whole or in part. */

import { Fault } from '../../../core/domain/fault.ts';
import { isAddition, isReversible, type Transfer } from '../../../core/money/domain/ledger.ts';
import { formatMoney, type Money } from '../../../core/money/domain/money.ts';
import { parseText } from '../../../core/domain/text.ts';
import { markup } from '../../../platform/markup.ts';
import { findEntry, refundEntry } from '../../till/service/refund.ts';
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
  type Done,
  type OpenedCard,
} from './change-form.ts';
import { reasonOf } from '../../../pages/kit/card-texts.ts';
import { inputField } from '../../../pages/kit/form.ts';
import { amountValue, figure, parseTypedAmount } from '../../../pages/kit/format.ts';
import { keyInput } from '../../../pages/kit/once.ts';
import type { ConsoleResponse, StaffRoute } from '../../../pages/kit/route.ts';
import { fill, fillPlain } from '../../../pages/kit/texts.ts';
import { idIn } from '../../../pages/kit/ids.ts';
import { get, post, type Page } from '../../../pages/kit/page-context.ts';

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

type Form = {
  readonly amount: string;
  readonly note: string;
  readonly errors: Readonly<Partial<Record<'amount' | 'note', string>>>;
};

/** The reason why the entry cannot be refunded; undefined: it can. */
function obstacle(page: Page, { card, entry, rest }: OpenedEntry): string | undefined {
  if (!isReversible(entry.kind)) return reasonOf(new Fault('not-reversible'), card, page.language);
  if (card.disabledAt !== null) return reasonOf(new Fault('card-disabled'), card, page.language);
  return rest.minor === 0n ? page.text.cardActions.refund.done : undefined;
}

function refundPage(page: Page, opened: OpenedEntry, { amount, note, errors }: Form): ConsoleResponse {
  const { refund, ...text } = page.text.cardActions;
  const { entry, rest, path } = opened;
  const title = refund.title;
  const isRejected = Object.keys(errors).length > 0;
  const status = isRejected ? 422 : 200;
  const reason = obstacle(page, opened);
  if (reason !== undefined) return unavailablePage(page, opened, { title, reason, status });
  const isSale = isAddition(entry.kind);
  const partly =
    rest.minor < entry.amount.minor
      ? markup`<p class="soft">${fillPlain(refund.partly, { amount: page.amount(rest) })}</p>`
      : undefined;
  const when = page.time(entry.createdAt);
  const reference = entry.reference === null ? undefined : markup` · ${entry.reference}`;
  const body = markup`<section class="panel stack change" aria-label="${title}">
<div>${figure(entry.amount, page.language)}<p class="soft">${fill(isSale ? refund.sold : refund.redeemed, { time: when })}${reference}</p>${partly}</div>
<form class="stack" method="post" action="${page.basePath}${path}/entries/${page.param('entry')}/refund">
${keyInput(page.ctx, isRejected ? page.key : undefined)}
${inputField({ name: 'amount', label: refund.amount, value: amount, inputMode: 'decimal', kind: 'amount', error: errors.amount })}
${inputField({ name: 'note', label: refund.reason, value: note, isOptional: true, hint: text.noteHint, error: errors.note })}
<p class="hint">${isSale ? refund.consequenceSale : refund.consequence}</p>
<div class="row"><button class="button first">${refund.action}</button>${backLink(page, { path, text: text.cancel, kind: 'quiet' })}</div>
</form></section>`;
  return changePage(page, opened, { title, body, status });
}

async function submit(page: Page): Promise<ConsoleResponse> {
  const { refund, errors: messages } = page.text.cardActions;
  const opened = await openEntry(page);
  const earlier = await earlierResult(page, opened);
  if (earlier) return earlier;
  const form = { amount: page.typed('amount'), note: page.typed('note') };
  const [amount, note] = [parseTypedAmount(form.amount, page.store, page.request), parseText(form.note)];
  const again = (errors: Form['errors'], current = opened): ConsoleResponse =>
    refundPage(page, current, { ...form, errors });
  if (!amount.ok || !note.ok)
    return again({
      ...(!amount.ok && { amount: unreadableAmount(form.amount, page.store, { language: page.language }) }),
      ...(!note.ok && { note: messages.badText }),
    });
  const [value, cardId, transferId] = [amount.value, opened.card.id, opened.entry.id];
  return await change(page, opened, {
    title: refund.title,
    *script(): Script<Done> {
      const { transfer, card } = yield* refundEntry(page.ctx, page.by, {
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
      const message = amountError(fault, { currency: page.store.currency, language: page.language });
      return message === undefined ? undefined : again({ amount: message }, await openEntry(page));
    },
  });
}

const path = '/cards/:id/entries/:entry/refund';

export const refundRoutes: readonly StaffRoute[] = [
  get(path, 'changeCards', async (page) => {
    const opened = await openEntry(page);
    const amount = amountValue(opened.rest, page.language);
    return refundPage(page, opened, { amount, note: '', errors: {} });
  }),
  post(path, 'changeCards', submit),
];
