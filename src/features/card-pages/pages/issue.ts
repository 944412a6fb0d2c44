/** Issues a card. */

import { Fault } from '../../../core/domain/fault.ts';
import { designOf } from '../../../core/cards/domain/design.ts';
import { formatMoney } from '../../../core/money/domain/money.ts';
import { isPermitted } from '../../../core/staff/domain/staff.ts';
import { markup, type Markup } from '../../../platform/markup.ts';
import { issueCard, type NewCard } from '../../till/service/sale.ts';
import { readOffer, type Offer } from '../../till/service/usual-amounts.ts';
import type { Script } from '../../../database/sql/sql.ts';
import { amountError } from './change-form.ts';
import { withoutAccess } from '../../../pages/kit/without-access.ts';
import { keptNotice } from '../../emails/pages/texts.ts';
import { designName, fieldInput, fieldLabel, otherFields, type InputField } from './fields.ts';
import { designChoice } from '../../../pages/kit/gift.ts';
import { alert, inputField } from '../../../pages/kit/form.ts';
import { issuedRoutes, type ShownCode } from './issued.ts';
import {
  emptyForm,
  expiryYears,
  messageLengthMax,
  parseForm,
  middleAmount,
  typedValues,
  type Errors,
  type IssueField,
  type IssueValues,
} from './issue-form.ts';
import { issuePreview, issuePreviewPanel, previewPath } from './issue-preview.ts';
import { hasResult, keyInput } from '../../../pages/kit/once.ts';
import { seeOther, type ConsoleResponse, type ConsoleRoute } from '../../../pages/kit/route.ts';
import { fillPlain, plural } from '../../../pages/kit/texts.ts';
import { get, post, type Page } from '../../../pages/kit/page-context.ts';

function offerOf(page: Page): Promise<Offer> {
  return page.read(() => readOffer(page.store, page.member.saleLimit, page.services.canSend));
}

type Choice = {
  readonly name: IssueField;
  readonly value: string;
  readonly text: string;
  readonly chosen: string;
  /** Whether fields are shown only with this choice. */
  readonly opens?: boolean;
};

function choice({ name, value, text, chosen, opens = false }: Choice): Markup {
  const checked = value === chosen ? markup` checked` : undefined;
  return markup`<label class="choice${opens ? ' opens' : ''}"><input type="radio" name="${name}" value="${value}"${checked}>${text}</label>`;
}

function groupError(name: IssueField, error: string | undefined): Markup | undefined {
  return error === undefined ? undefined : markup`<p class="error" id="${name}-error">${error}</p>`;
}

/** The error of a group of choices, for assistive technology. */
function describedGroup(name: IssueField, error: string | undefined): Markup | undefined {
  return error === undefined ? undefined : markup` aria-describedby="${name}-error"`;
}

type Form = {
  readonly offer: Offer;
  readonly values: IssueValues;
  readonly errors: Errors;
  /** Above the form. */
  readonly notice?: string;
};

function amountFields(page: Page, { offer, values, errors }: Form): Markup {
  const text = page.text.issue;
  const { usual } = offer;
  const chosen = values.amount === '' ? middleAmount(offer) : values.amount;
  const known = usual.some((amount) => formatMoney(amount) === chosen) ? chosen : 'other';
  const choices = usual.map((amount) =>
    choice({ name: 'amount', value: formatMoney(amount), text: page.amount(amount), chosen: known }),
  );
  // An amount that is no longer usual when the form is shown again.
  const typed = values.amount === known || values.amount === '' ? values.other : values.amount;
  return markup`<fieldset class="stack"${describedGroup('amount', errors.amount)}><legend><h2>${text.amount}</h2></legend><div class="choices">${choices}${choice({ name: 'amount', value: 'other', text: text.other, chosen: known, opens: true })}</div>${groupError('amount', errors.amount)}
<div class="shown-if-chosen">${inputField({ name: 'other', label: text.otherAmount, value: typed, inputMode: 'decimal', kind: 'amount', isOptional: true, error: errors.other })}</div></fieldset>`;
}

function expiryFields(page: Page, { values, errors }: Form): Markup {
  const text = page.text.issue;
  const chosen = values.expires === '' ? 'never' : values.expires;
  const years = expiryYears.map((count) =>
    choice({
      name: 'expires',
      value: String(count),
      text: plural(page.language, text.inYears, count),
      chosen,
    }),
  );
  return markup`<fieldset class="stack"><legend>${text.expires}</legend><div class="choices">${choice({ name: 'expires', value: 'never', text: text.never, chosen })}${years}${choice({ name: 'expires', value: 'date', text: text.onDay, chosen, opens: true })}</div>
<div class="shown-if-chosen">${inputField({ name: 'expires_on', label: fieldLabel('expires_on', page.language), type: 'date', value: values.expires_on, isOptional: true, error: errors.expires_on })}</div></fieldset>`;
}

function designFields(page: Page, { offer, values, errors }: Form): Markup {
  return designChoice(page.services.frame, {
    legend: fieldLabel('design', page.language),
    chosen: designOf(values.design, offer.design),
    nameOf: (design) => designName(design, page.language),
    error: errors.design,
  });
}

function personFields(page: Page, { offer, values, errors }: Form): Markup {
  const text = page.text.issue;
  const optional = (name: IssueField, label: string) => ({
    name,
    label,
    value: values[name],
    error: errors[name],
    isOptional: true,
  });
  const detail = (name: InputField, hint?: string): Markup => {
    const label = fieldLabel(name, page.language);
    return fieldInput(name, { ...optional(name, label), ...(hint !== undefined && { hint }) });
  };
  const receipt = offer.canSend ? { hint: text.buyerHint } : {};
  const count = new Intl.NumberFormat(page.language).format(messageLengthMax);
  return markup`<section class="panel stack" aria-labelledby="people"><h2 id="people">${text.people}</h2><div class="fields">${detail('recipient_name')}
${inputField({ ...optional('recipient_email', text.recipientEmail), type: 'email' })}
${detail('sender_name')}
${inputField({ ...optional('email', text.buyerEmail), type: 'email', ...receipt })}</div>
${detail('message', fillPlain(text.messageHint, { count }))}
${inputField({ ...optional('note', fieldLabel('note', page.language)), hint: text.noteHint })}
${otherFields.map((name) => detail(name))}</section>`;
}

function deliveryFields(page: Page, { offer, values, errors }: Form): Markup {
  const text = page.text.issue;
  if (!offer.canSend)
    return markup`<section class="panel stack" aria-labelledby="delivery"><h2 id="delivery">${text.delivery}</h2><p>${text.noEmails}</p></section>`;
  const chosen = values.how === 'print' ? 'print' : 'email';
  const when = values.when === 'later' ? 'later' : 'now';
  const zone = fillPlain(text.time, { zone: page.store.timeZone });
  return markup`<section class="panel stack" aria-labelledby="delivery"><h2 id="delivery">${text.delivery}</h2>
<fieldset class="stack how"><legend>${text.how}</legend><div class="choices">${choice({ name: 'how', value: 'email', text: text.byEmail, chosen, opens: true })}${choice({ name: 'how', value: 'print', text: text.toPrint, chosen })}</div>
<fieldset class="stack shown-if-chosen"><legend>${text.when}</legend><div class="choices">${choice({ name: 'when', value: 'now', text: text.now, chosen: when })}${choice({ name: 'when', value: 'later', text: text.later, chosen: when, opens: true })}</div>
<div class="fields shown-if-chosen">${inputField({ name: 'date', label: text.date, type: 'date', value: values.date, isOptional: true, error: errors.date })}
${inputField({ name: 'time', label: zone, type: 'time', value: values.time, isOptional: true, error: errors.time })}</div>
${keptNotice(page.services, page.language)}</fieldset></fieldset></section>`;
}

function formPage(page: Page, form: Form): ConsoleResponse {
  const text = page.text.issue;
  const { offer, errors, notice } = form;
  // The frame has the preview of a new form until the script updates it.
  const previews = offer.canSend
    ? markup` data-previews="${page.request.method === 'POST' ? 'now' : 'later'}"`
    : undefined;
  const isRejected = Object.keys(errors).length > 0 || notice !== undefined;
  const { saleLimit } = page.member;
  const limit =
    saleLimit === null
      ? undefined
      : markup`<p class="hint">${fillPlain(text.limit, { amount: page.amount(saleLimit) })}</p>`;
  const back = isPermitted(page.member, 'readCards') ? '/cards' : '/till';
  const body = markup`${notice === undefined ? undefined : alert(notice)}<form class="grid two issue" method="post" action="${page.basePath}/cards/new"${previews}>${keyInput(page.ctx, isRejected ? page.key : undefined)}
<div class="stack"><section class="panel stack" aria-label="${text.amount}">${amountFields(page, form)}${limit}
${expiryFields(page, form)}</section>
<section class="panel" aria-label="${fieldLabel('design', page.language)}">${designFields(page, form)}</section>
${personFields(page, form)}
${deliveryFields(page, form)}</div>
<aside class="stack sticky" aria-label="${text.issue}"><section class="panel stack"><p>${text.consequence}</p>
<button class="button first big">${text.issue}</button><a class="button quiet" href="${page.basePath}${back}">${text.cancel}</a></section>
${offer.canSend ? issuePreviewPanel(page) : undefined}</aside></form>`;
  return page.show('/cards', {
    status: isRejected ? 422 : 200,
    title: text.title,
    ...(offer.canSend && { scripts: ['preview.js'] }),
    ...(isPermitted(page.member, 'issueBatches') && {
      actions: markup`<a class="button" href="${page.basePath}/cards/batches/new">${text.many}</a>`,
    }),
    body,
  });
}

/** Issues a card, and returns what the next page shows. */
function* sell(page: Page, sold: NewCard): Script<ShownCode> {
  const { isEmailed, sendAt } = sold;
  const { card, code } = yield* issueCard(page.ctx, page.by, sold);
  const holder = card.recipient ?? card.customer;
  const isForOther =
    card.recipient !== null && card.customer !== null && card.recipient.id !== card.customer.id;
  return {
    done: 'issued',
    card: card.id,
    code: code.reveal(),
    address: isEmailed ? (holder?.email ?? null) : null,
    sendAt,
    receipt: isEmailed && isForOther ? (card.customer?.email ?? null) : null,
  };
}

async function submit(page: Page): Promise<ConsoleResponse> {
  const key = page.key;
  // A form that was sent before leads to its card, whatever its fields are now.
  if (key !== undefined && (await hasResult(page.services, page.request, key)))
    return seeOther(`/cards/issued/${key}`);
  const offer = await offerOf(page);
  const values = typedValues(page);
  const again = (errors: Errors, notice?: string): ConsoleResponse =>
    formPage(page, { offer, values, errors, ...(notice !== undefined && { notice }) });
  const { canSend } = offer;
  const parsed = parseForm(values, {
    store: page.store,
    language: page.language,
    now: page.ctx.clock.now(),
    canSend,
  });
  if ('errors' in parsed) return again(parsed.errors);
  if (key === undefined) return again({}, page.text.issue.errors.incomplete);
  try {
    await page.once(key, () => sell(page, parsed.card));
    return seeOther(`/cards/issued/${key}`);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    const withheld = withoutAccess(page, error);
    if (withheld) return withheld;
    const message = amountError(error, { currency: page.store.currency, language: page.language });
    if (message !== undefined) return again({ [values.amount === 'other' ? 'other' : 'amount']: message });
    // The store has stopped sending emails since the form was shown.
    if (error.errors?.['send_on']) return again({ date: page.text.issue.noEmails });
    throw error;
  }
}

async function preview(page: Page): Promise<ConsoleResponse> {
  return await issuePreview(page, await offerOf(page));
}

export const issueRoutes: readonly ConsoleRoute[] = [
  get(
    '/cards/new',
    'useTill',
    async (page) => {
      const offer = await offerOf(page);
      return formPage(page, { offer, values: emptyForm(offer), errors: {} });
    },
    { hasFrame: true },
  ),
  post('/cards/new', 'useTill', submit, { hasFrame: true }),
  get(previewPath, 'useTill', preview),
  post(previewPath, 'useTill', preview),
  ...issuedRoutes,
];
