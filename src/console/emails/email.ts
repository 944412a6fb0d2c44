/** The page of an email: its attempts, what happens next, what can be done about it, and a preview without the code. */

import { spendStateOf } from '../../domain/cards/state.ts';
import { parseEmail } from '../../domain/email-address.ts';
import { Fault } from '../../domain/fault.ts';
import type { EmailDelivery } from '../../domain/emails/email.ts';
import { isPermitted } from '../../domain/staff/staff.ts';
import { markup, type Markup, type MarkupPart } from '../../platform/markup.ts';
import { cancelByStaff, correctAddress } from '../../service/staff-actions/email.ts';
import {
  findPreviewParts,
  hasFailed,
  isToRecipient,
  showEmail,
  type ShownEmail,
} from '../../service/emails/list.ts';
import { today } from '../../service/money/money.ts';
import type { Script } from '../../storage/sql/sql.ts';
import { endingOf, pathOfCard, reasonOf, withoutAccess } from '../cards/change-form.ts';
import { emailTag, emailTexts, keepsEmails, keptNotice, reasonOfEmail, responseText } from './texts.ts';
import { alert, inputField } from '../kit/form.ts';
import { timeElement } from '../kit/format.ts';
import { idIn } from '../kit/ids.ts';
import { findResult, keyInput, keyOf, runOnce, type Json } from '../kit/once.ts';
import { byOf } from '../kit/page-context.ts';
import { shellPage } from '../kit/page.ts';
import { formText } from '../kit/request.ts';
import {
  seeOther,
  throttled,
  type ConsoleResponse,
  type ConsoleServices,
  type PageResponse,
  type StaffRequest,
  type StaffRoute,
} from '../kit/route.ts';
import { fill } from '../kit/texts.ts';

/** An email, and the path of its page. */
type OpenedEmail = ShownEmail & { readonly path: string };

/** The email in the path. @throws Fault `not-found`. */
async function openEmail(services: ConsoleServices, request: StaffRequest): Promise<OpenedEmail> {
  const id = idIn(services, request);
  const shown = await services.storage.read(() => showEmail(request.signedIn.store.id, id));
  return { ...shown, path: pathOfEmail(services, shown.email.id) };
}

function pathOfEmail({ ctx }: Pick<ConsoleServices, 'ctx'>, id: number): string {
  return `/emails/${String(ctx.keys.publicIds.of(id))}`;
}

type Form = {
  /** The typed text; absent: the form was not submitted. */
  readonly address?: string;
  /** Whether the address is also that of the card's recipient. Default: true. */
  readonly correctsRecipient?: boolean;
  /** At the field. */
  readonly error?: string;
  /** Above the page. */
  readonly notice?: string;
};

function emailPage(
  services: ConsoleServices,
  request: StaffRequest,
  opened: OpenedEmail,
  form: Form = {},
): PageResponse {
  const { language } = request;
  const { page: text } = emailTexts[language];
  const { email, card } = opened;
  const isRejected = form.error !== undefined || form.notice !== undefined;
  const done = isRejected ? undefined : doneNotice(services, request);
  const body = markup`<div class="stack">${form.notice === undefined ? done : alert(form.notice)}
<section class="panel" aria-label="${text.title}">${facts(services, request, opened)}</section>
<section class="panel stack change" aria-labelledby="next"><h2 id="next">${text.next}</h2>
<p>${nextText(request, opened)}</p>${opened.isReplaced && email.kind === 'gift_card' ? markup`<p class="soft">${text.isReplaced}</p>` : undefined}
${actions(services, request, opened, form)}</section>
${previewPanel(services, request, opened)}</div>`;
  const kind = emailTexts[language].kindOf[email.kind];
  const heading = markup`${text.title} <span class="soft">/</span> ${kind}`;
  const title = `${text.title} · ${kind} · ${endingOf(card)}`;
  const all = markup`<a class="button" href="${services.frame.basePath}/emails">${emailTexts[language].all}</a>`;
  return {
    status: isRejected ? 422 : 200,
    body: shellPage(services, request, { title, heading, actions: all, path: '/emails', body }),
  };
}

/** Returns the notice about the form before this page. */
function doneNotice(services: ConsoleServices, { language, query }: StaffRequest): Markup | undefined {
  const { page: text } = emailTexts[language];
  const done = query.get('done') ?? '';
  const isKept = done === 'sent' && keepsEmails(services);
  const said = { sent: isKept ? text.keptNow : text.sentNow, cancelled: text.cancelledNow };
  if (!Object.hasOwn(said, done)) return undefined;
  const again = query.has('again') ? markup`<p class="notice">${text.again}</p>` : undefined;
  return markup`${again}<div class="notice${isKept ? undefined : ' good'}" role="status"><p>${said[done as keyof typeof said]}</p></div>`;
}

function fact(name: string, value: MarkupPart): Markup {
  return markup`<dt>${name}</dt><dd>${value}</dd>`;
}

function facts(
  services: ConsoleServices,
  { language, signedIn: { store } }: StaffRequest,
  { email, card, isReplaced }: OpenedEmail,
): Markup {
  const { page: text, ...texts } = emailTexts[language];
  const { address, state, sendAt, attempts, lastAt, response, createdAt, endedAt } = email;
  const time = (instant: number): Markup => timeElement(instant, store, language);
  const count = new Intl.NumberFormat(language).format(attempts);
  const reason = reasonOfEmail(email, language);
  const isFromServer = response !== null && state !== 'cancelled' && state !== 'kept';
  const cardLink = markup`<a class="code" href="${services.frame.basePath}${pathOfCard(services, card)}">${endingOf(card)}</a>`;
  return markup`<dl class="facts">${fact(text.to, address === '' ? markup`<em>${texts.erased}</em>` : address)}${fact(text.what, texts.kindOf[email.kind])}${fact(text.card, cardLink)}${fact(text.state, markup`${emailTag({ email, isReplaced }, language)}${reason === undefined ? undefined : markup` ${reason}`}`)}${fact(text.created, time(createdAt))}${sendAt > createdAt ? fact(text.sendAt, time(sendAt)) : undefined}${fact(text.attempts, attempts === 0 ? text.noAttempt : count)}${lastAt === null ? undefined : fact(text.lastAttempt, time(lastAt))}${isFromServer ? fact(text.response, markup`<span class="mono">${responseText(response)}</span>`) : undefined}${endedAt === null ? undefined : fact(text.ended, time(endedAt))}</dl>${address === '' ? markup`<p class="soft">${text.erasedText}</p>` : undefined}`;
}

function nextText({ language, signedIn: { store } }: StaffRequest, { email }: OpenedEmail): Markup {
  const { state, nextAt, endedAt, sendAt } = email;
  const time = timeElement(nextAt ?? endedAt ?? sendAt, store, language);
  return fill(emailTexts[language].page.nextOf[state], { time });
}

/** Returns the actions that a person has for an email. Only a card that can be used gets a new code. */
function actions(
  services: ConsoleServices,
  request: StaffRequest,
  opened: OpenedEmail,
  form: Form,
): Markup | undefined {
  const { email, isReplaced } = opened;
  if (!isPermitted(request.signedIn.member, 'changeEmails') || email.address === '') return undefined;
  if (email.state === 'scheduled') return cancelForm(services, request, opened);
  if (email.kind !== 'gift_card' || isReplaced) return undefined;
  const reason = whyNot(services, request, opened);
  if (reason !== undefined) return markup`<p class="soft">${reason}</p>`;
  if (hasFailed(email)) return correctForm(services, request, opened, form);
  const { page: text } = emailTexts[request.language];
  const path = `${services.frame.basePath}${pathOfCard(services, opened.card)}/resend`;
  return markup`${keptNotice(services, request.language)}<p class="hint">${text.resendHint}</p>
<div class="row"><a class="button" href="${path}">${text.resend}</a><a class="button quiet" href="${path}?how=print">${text.print}</a></div>`;
}

/** The reason why the card gets no new code; undefined: it can. */
function whyNot(
  { ctx }: ConsoleServices,
  { language, signedIn: { store } }: StaffRequest,
  { card }: OpenedEmail,
): string | undefined {
  const state = spendStateOf(card, today(ctx, store));
  if (state === 'active') return undefined;
  return reasonOf({ code: `card-${state}`, retryAfterSeconds: 0 }, card, language);
}

function correctForm(
  services: ConsoleServices,
  request: StaffRequest,
  { email, card, path }: OpenedEmail,
  { address, correctsRecipient = true, error, notice }: Form,
): Markup {
  const { ctx, frame } = services;
  const { page: text } = emailTexts[request.language];
  const key = error === undefined && notice === undefined ? undefined : keyOf(request);
  const value = address ?? email.address;
  const isRecipient = isToRecipient(email, card);
  const hint = isRecipient ? text.correctHint : `${text.correctHint} ${text.correctOnlyThis}`;
  const checked = correctsRecipient ? markup` checked` : undefined;
  const recipient = isRecipient
    ? markup`<label class="check"><input type="checkbox" name="recipient" value="yes"${checked}><span>${text.correctRecipient}</span><span class="soft">${text.correctRecipientHint}</span></label>
`
    : undefined;
  return markup`<form class="stack" method="post" action="${frame.basePath}${path}/correct">${keyInput(ctx, key)}
${inputField({ name: 'address', label: text.correctTitle, type: 'email', value, hint, error })}
${recipient}${keptNotice(services, request.language)}<div class="row"><button class="button first">${text.correct}</button><a class="button quiet" href="${frame.basePath}${pathOfCard(services, card)}/resend?how=print">${text.print}</a></div>
</form>`;
}

function cancelForm(
  { ctx, frame }: ConsoleServices,
  { language }: StaffRequest,
  { email, path }: OpenedEmail,
): Markup {
  const { page: text } = emailTexts[language];
  const hint = email.kind === 'gift_card' ? text.cancelCodeHint : text.cancelHint;
  return markup`<form class="stack" method="post" action="${frame.basePath}${path}/cancel">${keyInput(ctx)}
<p class="hint">${hint}</p>
<div class="row"><button class="button">${text.cancel}</button></div>
</form>`;
}

function previewPanel(
  { frame }: ConsoleServices,
  { language }: StaffRequest,
  { path, email }: OpenedEmail,
): Markup | undefined {
  if (email.address === '') return undefined;
  const { page: text } = emailTexts[language];
  const src = `${frame.basePath}${path}/preview`;
  // A focus inside of a frame is not visible, so the keyboard skips it; the link opens the same document.
  return markup`<section class="panel stack" aria-labelledby="preview-title"><h2 id="preview-title">${text.preview}</h2>
<p class="hint">${text.previewHint}</p>
<iframe class="email-preview" src="${src}" title="${text.previewTitle}" tabindex="-1" sandbox loading="lazy"></iframe>
<p><a href="${src}" target="_blank">${text.openPreview}</a></p></section>`;
}

/** The result of a form, with the internal id of the email that the next page shows. */
type Done = { readonly done: 'sent' | 'cancelled'; readonly email: number };

function isDone(result: Json): result is Done {
  return (
    typeof result === 'object' &&
    result !== null &&
    'email' in result &&
    'done' in result &&
    (result['done'] === 'sent' || result['done'] === 'cancelled')
  );
}

type Change = {
  readonly done: Done['done'];
  /** The error of a field; undefined: there is none. */
  readonly check?: (opened: OpenedEmail) => Form | undefined;
  /** @returns the email that the next page shows. */
  readonly script: (opened: OpenedEmail) => Script<EmailDelivery>;
};

/** Runs a change of an email once, and leads to the page of the email that shows the result. */
async function submit(
  services: ConsoleServices,
  request: StaffRequest,
  { done: name, check, script }: Change,
): Promise<ConsoleResponse> {
  const { page: text } = emailTexts[request.language];
  const opened = await openEmail(services, request);
  const key = keyOf(request);
  const typed: Form = request.form.has('address')
    ? { address: formText(request, 'address'), correctsRecipient: asksForRecipient(request) }
    : {};
  if (key === undefined) return emailPage(services, request, opened, { ...typed, notice: text.expiredForm });
  const after = ({ done, email }: Done, isRepeated: boolean): ConsoleResponse =>
    seeOther(`${pathOfEmail(services, email)}?done=${done}${isRepeated ? '&again=1' : ''}`);
  const earlier = await findResult(services, request, key, isDone);
  if (earlier) return after(earlier, true);
  const rejected = check?.(opened);
  if (rejected) return emailPage(services, request, opened, { ...typed, ...rejected });
  try {
    const { result, isRepeated } = await runOnce<Done>(services, request, key, function* run() {
      return { done: name, email: (yield* script(opened)).id };
    });
    return after(result, isRepeated);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return await deniedPage(services, request, typed, error);
  }
}

/** The page that says why a change was rejected. @throws the fault, if it is not about the change. */
async function deniedPage(
  services: ConsoleServices,
  request: StaffRequest,
  typed: Form,
  fault: Fault,
): Promise<ConsoleResponse> {
  const denied = withoutAccess(services, request, fault);
  if (denied) return denied;
  const opened = await openEmail(services, request);
  const notice =
    fault.code === 'precondition-failed'
      ? emailTexts[request.language].page.changed
      : reasonOf(fault, opened.card, request.language);
  if (notice === undefined) throw fault;
  const page = emailPage(services, request, opened, { ...typed, notice });
  return fault.code === 'too-many-requests' ? throttled(page, (fault.retryAfterSeconds ?? 1) * 1_000) : page;
}

function asksForRecipient(request: StaffRequest): boolean {
  return formText(request, 'recipient') === 'yes';
}

async function correct(services: ConsoleServices, request: StaffRequest): Promise<ConsoleResponse> {
  const { ctx, canSend } = services;
  const { page: text } = emailTexts[request.language];
  const address = parseEmail(formText(request, 'address'));
  return await submit(services, request, {
    done: 'sent',
    check({ email }) {
      if (!address.ok) return { error: text.badAddress };
      return address.value.address === email.address ? { error: text.sameAddress } : undefined;
    },
    script(opened) {
      if (!address.ok) throw new Fault('precondition-failed');
      return correctAddress(ctx, byOf(request), opened, {
        address: address.value,
        canSend,
        correctsRecipient: asksForRecipient(request),
      });
    },
  });
}

async function cancel(services: ConsoleServices, request: StaffRequest): Promise<ConsoleResponse> {
  return await submit(services, request, {
    done: 'cancelled',
    script: (opened) => cancelByStaff(services.ctx, byOf(request), opened),
  });
}

async function preview(services: ConsoleServices, request: StaffRequest): Promise<ConsoleResponse> {
  const { store } = request.signedIn;
  const { email, card } = await openEmail(services, request);
  const { page: text } = emailTexts[request.language];
  // An erased email has no preview: the names and texts of the card were erased as well.
  const found =
    email.address === ''
      ? undefined
      : services.previewOf({
          email,
          card,
          store,
          ...(await services.storage.read(() => findPreviewParts({ email, card }))),
        });
  const empty = markup`<!doctype html><html lang="${request.language}"><meta charset="utf-8"><title>${text.preview}</title><p>${text.noPreview}</p></html>`;
  return { status: 200, framed: found?.html ?? empty.toString(), imageOrigin: found?.logoOrigin ?? null };
}

export const emailPageRoutes: readonly StaffRoute[] = [
  {
    method: 'GET',
    path: '/emails/:id',
    access: 'readStore',
    hasFrame: true,
    handle: async (services, request) => emailPage(services, request, await openEmail(services, request)),
  },
  { method: 'GET', path: '/emails/:id/preview', access: 'readStore', handle: preview },
  { method: 'POST', path: '/emails/:id/correct', access: 'changeEmails', hasFrame: true, handle: correct },
  { method: 'POST', path: '/emails/:id/cancel', access: 'changeEmails', hasFrame: true, handle: cancel },
];
