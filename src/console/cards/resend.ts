/** Gives a card a new code: in an email, or on a page to print. Codes are not stored, so the old one cannot be sent again. */

import { isSuspended } from '../../domain/cards/card.ts';
import { spendStateOf } from '../../domain/cards/state.ts';
import { parseEmail } from '../../domain/email-address.ts';
import { holderOf } from '../../domain/emails/email.ts';
import { markup, type Markup } from '../../platform/markup.ts';
import { today } from '../../service/money/money.ts';
import { emailNewCode, printNewCode } from '../../service/staff-actions/card.ts';
import { readEmailSettings } from '../../service/emails/settings.ts';
import type { Script } from '../../storage/sql/sql.ts';
import {
  backLink,
  change,
  changePage,
  earlierResult,
  openCard,
  changeTexts,
  unavailablePage,
  unusableReason,
  type Done,
  type OpenedCard,
} from './change-form.ts';
import { keptNotice } from '../emails/texts.ts';
import { alert, inputField } from '../kit/form.ts';
import { amountText } from '../kit/format.ts';
import { keyInput, keyOf, type Json } from '../kit/once.ts';
import { byOf } from '../kit/page-context.ts';
import { formText } from '../kit/request.ts';
import {
  seeOther,
  type ConsoleResponse,
  type ConsoleServices,
  type StaffRequest,
  type StaffRoute,
} from '../kit/route.ts';
import { fillPlain } from '../kit/texts.ts';

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

async function openToSend(services: ConsoleServices, request: StaffRequest): Promise<OpenedToSend> {
  const opened = await openCard(services, request);
  const { enabled } = await services.storage.read(() => readEmailSettings(opened.card.storeId));
  return { ...opened, canSend: services.canSend && enabled && !isSuspended(opened.card) };
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
  services: ConsoleServices,
  request: StaffRequest,
  opened: OpenedToSend,
  { how, address, error, notice }: Form,
): ConsoleResponse {
  const { ctx, frame } = services;
  const { resend, cancel } = changeTexts[request.language];
  const { card, path, canSend } = opened;
  const title = resend.title;
  const isRejected = error !== undefined || notice !== undefined;
  const status = isRejected ? 422 : 200;
  const isStopped = spendStateOf(card, today(ctx, request.signedIn.store)) === 'suspended';
  const reason = isStopped ? undefined : unusableReason(services, request, card);
  if (reason !== undefined) return unavailablePage(services, request, opened, { title, reason, status });
  const { language } = request;
  const amount = amountText(card.balance, language);
  const held =
    card.held.minor > 0n
      ? ` ${fillPlain(resend.held, { amount: amountText(card.held, language) })}`
      : undefined;
  const chosen = canSend ? how : 'print';
  const email = canSend
    ? markup`<div class="shown-if-chosen">${inputField({ name: 'address', label: resend.address, type: 'email', value: address, isOptional: true, hint: resend.addressHint, error })}${keptNotice(services, request.language)}</div>`
    : markup`<p class="hint">${isStopped ? resend.suspended : resend.noEmails}</p>`;
  const body = markup`<section class="panel stack change" aria-label="${title}">${notice === undefined ? undefined : alert(notice)}
<p><strong>${fillPlain(resend.consequence, { amount })}${held}</strong></p>
<p class="soft">${resend.notStored}</p>
<form class="stack" method="post" action="${frame.basePath}${path}/resend">${keyInput(ctx, isRejected ? keyOf(request) : undefined)}
<fieldset class="stack"><legend>${resend.how}</legend><div class="choices">${canSend ? choice('email', resend.byEmail, chosen === 'email') : undefined}${choice('print', resend.toPrint, chosen === 'print')}</div>
${email}</fieldset>
<div class="row"><button class="button first">${resend.action}</button>${backLink(services, request, { path, text: cancel, kind: 'quiet' })}</div>
</form></section>`;
  return changePage(services, request, opened, { title, body, status });
}

async function submit(services: ConsoleServices, request: StaffRequest): Promise<ConsoleResponse> {
  const { ctx } = services;
  const { resend, errors: messages } = changeTexts[request.language];
  const opened = await openToSend(services, request);
  const earlier = await earlierResult(services, request, opened);
  if (earlier) return earlier;
  const { card, canSend } = opened;
  const chosen = formText(request, 'how');
  const form: Form = { how: chosen === 'email' ? 'email' : 'print', address: formText(request, 'address') };
  const again = (found: Partial<Form>): ConsoleResponse =>
    resendPage(services, request, opened, { ...form, ...found });
  if (chosen !== 'email' && chosen !== 'print') return again({ notice: messages.expiredForm });
  const address = parseEmail(form.address);
  if (form.how === 'email' && !address.ok) return again({ error: messages.badEmail });
  return await change(services, request, opened, {
    title: resend.title,
    *script(): Script<Done & { readonly [name: string]: Json }> {
      const { id: cardId } = card;
      if (form.how === 'email' && address.ok) {
        yield* emailNewCode(ctx, byOf(request), { cardId, canSend, address: address.value });
        return { done: 'sent', card: cardId, address: address.value.address };
      }
      // The result is sealed; the page of the result shows the code.
      const code = yield* printNewCode(ctx, byOf(request), cardId);
      return { done: 'rotated', card: cardId, code: code.reveal() };
    },
    rejected: (fault) => (fault ? undefined : again({ notice: messages.expiredForm })),
  });
}

export const resendRoutes: readonly StaffRoute[] = [
  {
    method: 'GET',
    path: '/cards/:id/resend',
    access: 'changeCards',
    async handle(services, request) {
      const opened = await openToSend(services, request);
      return resendPage(services, request, opened, newForm(opened, request));
    },
  },
  { method: 'POST', path: '/cards/:id/resend', access: 'changeCards', handle: submit },
  {
    // Printing needs a code, and codes are not stored.
    method: 'GET',
    path: '/cards/:id/print',
    access: 'changeCards',
    handle: async (services, request) =>
      seeOther(`${(await openCard(services, request)).path}/resend?how=print`),
  },
];
