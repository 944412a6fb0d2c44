/** Gives a card a new code: in an email, or on a page to print. Codes are not stored, so the old one cannot be sent again. */

import { isSuspended } from '../../../core/cards/domain/card.ts';
import { spendStateOf } from '../../../core/cards/domain/state.ts';
import { parseEmail } from '../../../core/domain/email-address.ts';
import { holderOf } from '../../../core/emails/domain/email.ts';
import { markup, type Markup } from '../../../platform/markup.ts';
import { today } from '../../../core/stores/service/day.ts';
import { emailNewCode, printNewCode } from '../service/card.ts';
import { readEmailSettings } from '../../emails/service/settings.ts';
import type { Script } from '../../../database/sql/sql.ts';
import {
  backLink,
  change,
  changePage,
  changeRoutes,
  openCard,
  unavailablePage,
  unusableReason,
  type Done,
  type OpenedCard,
} from './change-form.ts';
import { keptNotice } from '../../emails/pages/texts.ts';
import { alert, inputField } from '../../../pages/kit/form.ts';
import { keyInput, type Json } from '../../../pages/kit/once.ts';
import {
  seeOther,
  type ConsoleResponse,
  type StaffRequest,
  type StaffRoute,
} from '../../../pages/kit/route.ts';
import { fillPlain } from '../../../pages/kit/texts.ts';
import { get, type Page } from '../../../pages/kit/page-context.ts';

type How = 'email' | 'print';

type Form = {
  readonly how: How;
  readonly address: string;
  readonly error?: string;
  /** Above the form. */
  readonly notice?: string;
};

/** The emails of a suspended card wait, so its new code is printed. */
type OpenedToSend = OpenedCard & { readonly canSend: boolean };

async function openToSend(page: Page): Promise<OpenedToSend> {
  const opened = await openCard(page);
  const { enabled } = await page.read(() => readEmailSettings(opened.card.storeId));
  return { ...opened, canSend: page.services.canSend && enabled && !isSuspended(opened.card) };
}

/** A new form: with the address of the person who has the card, unless a code to print is requested. */
function newForm({ card, canSend }: OpenedToSend, { query }: StaffRequest): Form {
  const address = holderOf(card)?.email ?? '';
  const how = canSend && address !== '' && query.get('how') !== 'print' ? 'email' : 'print';
  return { how, address };
}

function choice(how: How, text: string, isChosen: boolean): Markup {
  const checked = isChosen ? markup` checked` : undefined;
  const opens = how === 'email' ? ' opens' : '';
  return markup`<label class="choice${opens}"><input type="radio" name="how" value="${how}"${checked}>${text}</label>`;
}

function resendPage(
  page: Page,
  opened: OpenedToSend,
  { how, address, error, notice }: Form,
): ConsoleResponse {
  const { resend, cancel } = page.text.cardActions;
  const { card, path, canSend } = opened;
  const title = resend.title;
  const isRejected = error !== undefined || notice !== undefined;
  const status = isRejected ? 422 : 200;
  const isStopped = spendStateOf(card, today(page.ctx, page.store)) === 'suspended';
  const reason = isStopped ? undefined : unusableReason(page, card);
  if (reason !== undefined) return unavailablePage(page, opened, { title, reason, status });
  const amount = page.amount(card.balance);
  const held =
    card.held.minor > 0n ? ` ${fillPlain(resend.held, { amount: page.amount(card.held) })}` : undefined;
  const chosen = canSend ? how : 'print';
  const email = canSend
    ? markup`<div class="shown-if-chosen">${inputField({ name: 'address', label: resend.address, type: 'email', value: address, isOptional: true, hint: resend.addressHint, error })}${keptNotice(page.services, page.language)}</div>`
    : markup`<p class="hint">${isStopped ? resend.suspended : resend.noEmails}</p>`;
  const body = markup`<section class="panel stack change" aria-label="${title}">${notice === undefined ? undefined : alert(notice)}
<p><strong>${fillPlain(resend.consequence, { amount })}${held}</strong></p>
<p class="soft">${resend.notStored}</p>
<form class="stack" method="post" action="${page.basePath}${path}/resend">${keyInput(page.ctx, isRejected ? page.key : undefined)}
<fieldset class="stack"><legend>${resend.how}</legend><div class="choices">${canSend ? choice('email', resend.byEmail, chosen === 'email') : undefined}${choice('print', resend.toPrint, chosen === 'print')}</div>
${email}</fieldset>
<div class="row"><button class="button first">${resend.action}</button>${backLink(page, { path, text: cancel, kind: 'quiet' })}</div>
</form></section>`;
  return changePage(page, opened, { title, body, status });
}

async function submit(page: Page, opened: OpenedToSend): Promise<ConsoleResponse> {
  const { resend, errors: messages } = page.text.cardActions;
  const { card, canSend } = opened;
  const chosen = page.typed('how');
  const form: Form = { how: chosen === 'email' ? 'email' : 'print', address: page.typed('address') };
  const again = (found: Partial<Form>): ConsoleResponse => resendPage(page, opened, { ...form, ...found });
  if (chosen !== 'email' && chosen !== 'print') return again({ notice: messages.expiredForm });
  const address = parseEmail(form.address);
  if (form.how === 'email' && !address.ok) return again({ error: messages.badEmail });
  return await change(page, opened, {
    title: resend.title,
    *script(): Script<Done & { readonly [name: string]: Json }> {
      const { id: cardId } = card;
      if (form.how === 'email' && address.ok) {
        yield* emailNewCode(page.ctx, page.by, { cardId, canSend, address: address.value });
        return { done: 'sent', card: cardId, address: address.value.address };
      }
      // The result is sealed; the page of the result shows the code.
      const code = yield* printNewCode(page.ctx, page.by, cardId);
      return { done: 'rotated', card: cardId, code: code.reveal() };
    },
    rejected: (fault) => (fault ? undefined : again({ notice: messages.expiredForm })),
  });
}

export const resendRoutes: readonly StaffRoute[] = [
  ...changeRoutes('/cards/:id/resend', {
    open: openToSend,
    show: (page, opened) => resendPage(page, opened, newForm(opened, page.request)),
    submit,
  }),
  get('/cards/:id/print', 'changeCards', async (page) =>
    seeOther(`${(await openCard(page)).path}/resend?how=print`),
  ),
];
