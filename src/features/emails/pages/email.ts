/** The page of an email: its attempts, what happens next, what can be done about it, and a preview without the code. */

import { emailPreviewTool } from './tools.ts';
import { spendStateOf } from '../../../core/cards/domain/state.ts';
import { parseEmail } from '../../../core/domain/email-address.ts';
import { Fault } from '../../../core/domain/fault.ts';
import type { EmailDelivery } from '../../../core/emails/domain/email.ts';
import { isPermitted } from '../../../core/staff/domain/staff.ts';
import { markup, type Markup, type MarkupPart } from '../../../platform/markup.ts';
import { cancelByStaff, correctAddress } from '../service/staff-email.ts';
import { findPreviewParts, hasFailed, isToRecipient, showEmail, type ShownEmail } from '../service/list.ts';
import { today } from '../../../core/stores/service/day.ts';
import type { Script } from '../../../database/sql/sql.ts';
import { endingOf, pathOfCard, reasonOf } from '../../../pages/kit/card-texts.ts';
import { withoutAccess } from '../../../pages/kit/without-access.ts';
import { emailTag, keepsEmails, keptNotice, reasonOfEmail, responseText } from './texts.ts';
import { alert, inputField } from '../../../pages/kit/form.ts';
import { timeElement } from '../../../pages/kit/format.ts';
import { idIn } from '../../../pages/kit/ids.ts';
import { findResult, keyInput, runOnce, type Json } from '../../../pages/kit/once.ts';
import type { ConsoleServices } from '../../../pages/kit/services.ts';
import {
  seeOther,
  throttled,
  type ConsoleResponse,
  type PageResponse,
  type StaffRoute,
} from '../../../pages/kit/route.ts';
import { fill } from '../../../pages/kit/texts.ts';
import { get, post, type Page } from '../../../pages/kit/page-context.ts';
import { walletKindsOf } from '../../wallets/pages/kinds.ts';

/** An email, and the path of its page. */
type OpenedEmail = ShownEmail & { readonly path: string };

/** The email in the path. @throws Fault `not-found`. */
async function openEmail(page: Page): Promise<OpenedEmail> {
  const id = idIn(page.services, page.request);
  const shown = await page.read(() => showEmail(page.store.id, id));
  return { ...shown, path: pathOfEmail(page.services, shown.email.id) };
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

function emailPage(page: Page, opened: OpenedEmail, form: Form = {}): PageResponse {
  const { page: text } = page.text.emails;
  const { email, card } = opened;
  const isRejected = form.error !== undefined || form.notice !== undefined;
  const done = isRejected ? undefined : doneNotice(page);
  const body = markup`<div class="stack">${form.notice === undefined ? done : alert(form.notice)}
<section class="panel" aria-label="${text.title}">${facts(page, opened)}</section>
<section class="panel stack change" aria-labelledby="next"><h2 id="next">${text.next}</h2>
<p>${nextText(page, opened)}</p>${opened.isReplaced && email.kind === 'gift_card' ? markup`<p class="soft">${text.isReplaced}</p>` : undefined}
${actions(page, opened, form)}</section>
${previewPanel(page, opened)}</div>`;
  const kind = page.text.emails.kindOf[email.kind];
  const heading = markup`${text.title} <span class="soft">/</span> ${kind}`;
  const title = `${text.title} · ${kind} · ${endingOf(card)}`;
  const all = markup`<a class="button" href="${page.basePath}/emails">${page.text.emails.all}</a>`;
  return page.show('/emails', { status: isRejected ? 422 : 200, title, heading, actions: all, body });
}

/** Returns the notice about the form before this page. */
function doneNotice(page: Page): Markup | undefined {
  const { page: text } = page.text.emails;
  const done = page.request.query.get('done') ?? '';
  const isKept = done === 'sent' && keepsEmails(page.services);
  const said = { sent: isKept ? text.keptNow : text.sentNow, cancelled: text.cancelledNow };
  if (!Object.hasOwn(said, done)) return undefined;
  const again = page.request.query.has('again') ? markup`<p class="notice">${text.again}</p>` : undefined;
  return markup`${again}<div class="notice${isKept ? undefined : ' good'}" role="status"><p>${said[done as keyof typeof said]}</p></div>`;
}

function fact(name: string, value: MarkupPart): Markup {
  return markup`<dt>${name}</dt><dd>${value}</dd>`;
}

function facts(page: Page, { email, card, isReplaced }: OpenedEmail): Markup {
  const { page: text, ...texts } = page.text.emails;
  const { address, state, sendAt, attempts, lastAt, response, createdAt, endedAt } = email;
  const time = (instant: number): Markup => page.time(instant);
  const count = new Intl.NumberFormat(page.language).format(attempts);
  const reason = reasonOfEmail(email, page.language);
  const isFromServer = response !== null && state !== 'cancelled' && state !== 'kept';
  const cardLink = markup`<a class="code" href="${page.basePath}${pathOfCard(page.services, card)}">${endingOf(card)}</a>`;
  return markup`<dl class="facts">${fact(text.to, address === '' ? markup`<em>${texts.erased}</em>` : address)}${fact(text.what, texts.kindOf[email.kind])}${fact(text.card, cardLink)}${fact(text.state, markup`${emailTag({ email, isReplaced }, page.language)}${reason === undefined ? undefined : markup` ${reason}`}`)}${fact(text.created, time(createdAt))}${sendAt > createdAt ? fact(text.sendAt, time(sendAt)) : undefined}${fact(text.attempts, attempts === 0 ? text.noAttempt : count)}${lastAt === null ? undefined : fact(text.lastAttempt, time(lastAt))}${isFromServer ? fact(text.response, markup`<span class="mono">${responseText(response)}</span>`) : undefined}${endedAt === null ? undefined : fact(text.ended, time(endedAt))}</dl>${address === '' ? markup`<p class="soft">${text.erasedText}</p>` : undefined}`;
}

function nextText(page: Page, { email }: OpenedEmail): Markup {
  const { state, nextAt, endedAt, sendAt } = email;
  const time = timeElement(nextAt ?? endedAt ?? sendAt, page.store, page.language);
  return fill(page.text.emails.page.nextOf[state], { time });
}

/** Returns the actions that a person has for an email. Only a card that can be used gets a new code. */
function actions(page: Page, opened: OpenedEmail, form: Form): Markup | undefined {
  const { email, isReplaced } = opened;
  if (!isPermitted(page.member, 'changeEmails') || email.address === '') return undefined;
  if (email.state === 'scheduled') return cancelForm(page, opened);
  if (email.kind !== 'gift_card' || isReplaced) return undefined;
  const reason = whyNot(page, opened);
  if (reason !== undefined) return markup`<p class="soft">${reason}</p>`;
  if (hasFailed(email)) return correctForm(page, opened, form);
  const { page: text } = page.text.emails;
  const path = `${page.basePath}${pathOfCard(page.services, opened.card)}/resend`;
  return markup`${keptNotice(page.services, page.language)}<p class="hint">${text.resendHint}</p>
<div class="row"><a class="button" href="${path}">${text.resend}</a><a class="button quiet" href="${path}?how=print">${text.print}</a></div>`;
}

/** The reason why the card gets no new code; undefined: it can. */
function whyNot(page: Page, { card }: OpenedEmail): string | undefined {
  const state = spendStateOf(card, today(page.ctx, page.store));
  if (state === 'active') return undefined;
  return reasonOf({ code: `card-${state}`, retryAfterSeconds: 0 }, card, page.language);
}

function correctForm(
  page: Page,
  { email, card, path }: OpenedEmail,
  { address, correctsRecipient = true, error, notice }: Form,
): Markup {
  const { page: text } = page.text.emails;
  const key = error === undefined && notice === undefined ? undefined : page.key;
  const value = address ?? email.address;
  const isRecipient = isToRecipient(email, card);
  const hint = isRecipient ? text.correctHint : `${text.correctHint} ${text.correctOnlyThis}`;
  const checked = correctsRecipient ? markup` checked` : undefined;
  const recipient = isRecipient
    ? markup`<label class="check"><input type="checkbox" name="recipient" value="yes"${checked}><span>${text.correctRecipient}</span><span class="soft">${text.correctRecipientHint}</span></label>
`
    : undefined;
  return markup`<form class="stack" method="post" action="${page.basePath}${path}/correct">${keyInput(page.ctx, key)}
${inputField({ name: 'address', label: text.correctTitle, type: 'email', value, hint, error })}
${recipient}${keptNotice(page.services, page.language)}<div class="row"><button class="button first">${text.correct}</button><a class="button quiet" href="${page.basePath}${pathOfCard(page.services, card)}/resend?how=print">${text.print}</a></div>
</form>`;
}

function cancelForm(page: Page, { email, path }: OpenedEmail): Markup {
  const { page: text } = page.text.emails;
  const hint = email.kind === 'gift_card' ? text.cancelCodeHint : text.cancelHint;
  return markup`<form class="stack" method="post" action="${page.basePath}${path}/cancel">${keyInput(page.ctx)}
<p class="hint">${hint}</p>
<div class="row"><button class="button">${text.cancel}</button></div>
</form>`;
}

function previewPanel(page: Page, { path, email }: OpenedEmail): Markup | undefined {
  if (email.address === '') return undefined;
  const { page: text } = page.text.emails;
  const src = `${page.basePath}${path}/preview`;
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
async function submit(page: Page, { done: name, check, script }: Change): Promise<ConsoleResponse> {
  const { page: text } = page.text.emails;
  const opened = await openEmail(page);
  const key = page.key;
  const typed: Form = page.request.form.has('address')
    ? { address: page.typed('address'), correctsRecipient: asksForRecipient(page) }
    : {};
  if (key === undefined) return emailPage(page, opened, { ...typed, notice: text.expiredForm });
  const after = ({ done, email }: Done, isRepeated: boolean): ConsoleResponse =>
    seeOther(`${pathOfEmail(page.services, email)}?done=${done}${isRepeated ? '&again=1' : ''}`);
  const earlier = await findResult(page.services, page.request, key, isDone);
  if (earlier) return after(earlier, true);
  const rejected = check?.(opened);
  if (rejected) return emailPage(page, opened, { ...typed, ...rejected });
  try {
    const { result, isRepeated } = await runOnce<Done>(page.services, page.request, key, function* run() {
      return { done: name, email: (yield* script(opened)).id };
    });
    return after(result, isRepeated);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return await deniedPage(page, typed, error);
  }
}

/** The page that says why a change was rejected. @throws the fault, if it is not about the change. */
async function deniedPage(page: Page, typed: Form, fault: Fault): Promise<ConsoleResponse> {
  const denied = withoutAccess(page, fault);
  if (denied) return denied;
  const opened = await openEmail(page);
  const notice =
    fault.code === 'precondition-failed'
      ? page.text.emails.page.changed
      : reasonOf(fault, opened.card, page.language);
  if (notice === undefined) throw fault;
  const shown = emailPage(page, opened, { ...typed, notice });
  return fault.code === 'too-many-requests'
    ? throttled(shown, (fault.retryAfterSeconds ?? 1) * 1_000)
    : shown;
}

function asksForRecipient(page: Page): boolean {
  return page.typed('recipient') === 'yes';
}

async function correct(page: Page): Promise<ConsoleResponse> {
  const { page: text } = page.text.emails;
  const address = parseEmail(page.typed('address'));
  return await submit(page, {
    done: 'sent',
    check({ email }) {
      if (!address.ok) return { error: text.badAddress };
      return address.value.address === email.address ? { error: text.sameAddress } : undefined;
    },
    script(opened) {
      if (!address.ok) throw new Fault('precondition-failed');
      return correctAddress(page.ctx, page.by, opened, {
        address: address.value,
        canSend: page.services.canSend,
        correctsRecipient: asksForRecipient(page),
      });
    },
  });
}

async function cancel(page: Page): Promise<ConsoleResponse> {
  return await submit(page, {
    done: 'cancelled',
    script: (opened) => cancelByStaff(page.ctx, page.by, opened),
  });
}

async function preview(page: Page): Promise<ConsoleResponse> {
  const { email, card } = await openEmail(page);
  const { page: text } = page.text.emails;
  // An erased email has no preview: the names and texts of the card were erased as well.
  const found =
    email.address === ''
      ? undefined
      : page.services.tools.of(emailPreviewTool)({
          email,
          card,
          store: page.store,
          ...(await page.read(() => findPreviewParts({ email, card }))),
          wallets: await walletKindsOf(page.services, page.store.id),
        });
  const empty = markup`<!doctype html><html lang="${page.language}"><meta charset="utf-8"><title>${text.preview}</title><p>${text.noPreview}</p></html>`;
  return { status: 200, framed: found?.html ?? empty.toString() };
}

export const emailPageRoutes: readonly StaffRoute[] = [
  get('/emails/:id', 'readStore', async (page) => emailPage(page, await openEmail(page)), { hasFrame: true }),
  get('/emails/:id/preview', 'readStore', preview),
  post('/emails/:id/correct', 'changeEmails', correct, { hasFrame: true }),
  post('/emails/:id/cancel', 'changeEmails', cancel, { hasFrame: true }),
];
