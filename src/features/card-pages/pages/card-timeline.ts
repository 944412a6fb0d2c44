/** The timeline of a card’s page: entries, holds, emails, changes and what staff did. */

import { isCardField, type CardFieldName } from '../../../core/cards/domain/fields.ts';
import { isDisabled, isExpired } from '../../../core/cards/domain/card.ts';
import type { CardChange, FieldChange } from '../../../core/cards/domain/change.ts';
import { addDays, startOfDay } from '../../../core/domain/day.ts';
import { isHoldExpired } from '../../../core/money/domain/hold.ts';
import { isAddition } from '../../../core/money/domain/ledger.ts';
import { takenBackBy } from '../../till/domain/till-day.ts';
import { joinMarkup, markup, type Markup, type MarkupPart } from '../../../platform/markup.ts';
import type { CardRecord } from '../service/card-page.ts';
import type { TimelineItem } from '../service/timeline.ts';
import { actorName } from '../../../pages/kit/actors.ts';
import { fieldLabel, shownOf } from './fields.ts';
import { canRelease, canReverse, type CardView } from './possible.ts';
import { cardTexts, movementName, signedAmount } from './texts.ts';
import { timeElement } from '../../../pages/kit/format.ts';
import type { StaffRequest } from '../../../pages/kit/route.ts';
import { fill, fillPlain } from '../../../pages/kit/texts.ts';
import type { Page } from '../../../pages/kit/page-context.ts';

/** Everything that the page shows. */
export type ShownCard = CardView & CardRecord & { readonly path: string; readonly isFirst: boolean };

export function historyPanel(page: Page, shown: ShownCard): Markup {
  const text = page.text.card;
  const { timeline, path, isFirst } = shown;
  const items = timeline.items.map((item) => ({ at: item.at, line: lineOf(page, shown, item) }));
  const expiry = isFirst ? expiryLine(page, shown) : undefined;
  if (expiry) {
    const place = items.findIndex(({ at }) => at < expiry.at);
    items.splice(place < 0 ? items.length : place, 0, expiry);
  }
  const newest = isFirst ? undefined : markup`<a class="button" href="${path}">${text.newest}</a>`;
  const older =
    timeline.older === null
      ? undefined
      : markup`<a class="button" rel="next" href="${path}?history=${timeline.older}">${text.older}</a>`;
  const pages =
    newest || older
      ? markup`<nav class="row" aria-label="${text.history}">${newest}${older}</nav>
`
      : undefined;
  return markup`<section class="panel stack"><h2>${text.history}</h2><ol class="timeline">
${items.map(({ line }) => line)}</ol>
${pages}<p class="small soft">${text.chained} <a href="${path}/verify">${text.verify}</a></p></section>`;
}

type Line = {
  /** The kind of the mark on the line. */
  readonly kind?: 'money' | 'fail';
  readonly what: string;
  readonly details?: MarkupPart;
  readonly amount?: MarkupPart;
  readonly when: MarkupPart;
  readonly links?: MarkupPart;
  readonly after?: MarkupPart;
};

function lineMarkup({ kind, what, details, amount, when, links, after }: Line): Markup {
  const mark = kind && markup` class="${kind}"`;
  return markup`<li${mark}><div><strong>${what}</strong>${details === undefined ? undefined : markup` <span class="soft">${details}</span>`}</div><span class="sum">${amount}</span><span class="soft">${when}${links === undefined ? undefined : markup` · ${links}`}</span>${after}</li>
`;
}

/** An expiry follows from the last valid day, without an entry. */
function expiryLine(
  page: Page,
  { found: { card }, today: day }: ShownCard,
): { readonly at: number; readonly line: Markup } | undefined {
  if (isDisabled(card) || !isExpired(card, day) || card.expiresOn === null) return undefined;
  const at = startOfDay(addDays(card.expiresOn, 1), page.store.timeZone);
  const line = { what: page.text.card.expired, when: page.time(at) };
  return { at, line: lineMarkup(line) };
}

function lineOf(page: Page, shown: ShownCard, item: TimelineItem): Markup {
  switch (item.kind) {
    case 'transfer':
      return lineMarkup(transferLine(page, shown, item));
    case 'hold':
      return lineMarkup(holdLine(page, shown, item));
    case 'email':
      return lineMarkup(emailLine(page, item));
    case 'change':
      return lineMarkup(changeLine(page, shown, item));
    case 'action': {
      const { staffActions } = page.text.card;
      const { action, staffId } = item.action;
      const what = Object.hasOwn(staffActions, action)
        ? staffActions[action as keyof typeof staffActions]
        : action;
      const actor = staffId === null ? null : `staff:${staffId}`;
      return lineMarkup({ what, when: whenAndWho(page, shown, { item, actor }) });
    }
  }
}

function whenAndWho(
  page: Page,
  { actors }: ShownCard,
  { item, actor }: { readonly item: TimelineItem; readonly actor: string | null },
): Markup {
  const text = page.text.card;
  const name = actorName(actor, actors, page.language);
  const till = item.staffAction?.till ?? null;
  const who = till === null ? name : fillPlain(text.atTill, { who: name, till });
  return fill(text.who, { time: page.time(item.at), who });
}

/** Reference, note, order and reason, as far as there are any. */
function why(
  language: StaffRequest['language'],
  entry: { readonly reference: string | null; readonly note: string | null; readonly orderId: number | null },
): string | undefined {
  const text = cardTexts[language];
  const parts = [
    entry.reference,
    entry.note,
    entry.orderId === null ? null : fillPlain(text.orderNumber, { number: entry.orderId }),
  ].filter((part) => part !== null);
  return parts.length === 0 ? undefined : parts.join(' · ');
}

function transferLine(
  page: Page,
  shown: ShownCard,
  item: Extract<TimelineItem, { readonly kind: 'transfer' }>,
): Line {
  const text = page.text.card;
  const { transfer, left } = item;
  const details = why(page.language, transfer);
  const takenBack = item.staffAction && takenBackBy(item.staffAction);
  const refund =
    left && canReverse(shown, item)
      ? markup`<a href="${shown.path}/entries/${page.publicId(transfer.id)}/refund">${isAddition(transfer.kind) ? text.reverseCredit : text.refund}</a>${left.minor < transfer.amount.minor ? markup` <span>(${fillPlain(text.ofLeft, { amount: page.amount(left) })})</span>` : undefined}`
      : undefined;
  return {
    kind: 'money',
    what: takenBack ? text.reversals[takenBack] : movementName(transfer, page.language),
    ...(details !== undefined && { details }),
    amount: signedAmount(transfer, page.language),
    when: whenAndWho(page, shown, { item, actor: transfer.actor }),
    ...(refund && { links: refund }),
    after: markup`<span class="sum soft"><span class="sr">${text.balanceAfter} </span>${page.amount(transfer.balanceAfter)}</span>`,
  };
}

function holdLine(
  page: Page,
  shown: ShownCard,
  item: Extract<TimelineItem, { readonly kind: 'hold' }>,
): Line {
  const text = page.text.card;
  const { hold } = item;
  const status = isHoldExpired(hold, shown.now) ? 'expired' : hold.status;
  const end = status === 'open' ? fill(text.holdUntil, { time: page.time(hold.expiresAt) }) : undefined;
  const { extension } = item;
  const extended =
    extension &&
    fill(text.holdExtended, {
      actor: actorName(extension.actor, shown.actors, page.language),
      time: page.time(extension.createdAt),
    });
  const captured =
    status === 'captured' && hold.captured.minor < hold.amount.minor
      ? fillPlain(text.captured, { amount: page.amount(hold.captured) })
      : undefined;
  const parts: readonly MarkupPart[] = [why(page.language, hold), end, extended, captured].filter(
    (part) => part !== undefined && part !== null,
  );
  return {
    what: text.holds[status],
    ...(parts.length > 0 && { details: joinMarkup(parts, ' · ') }),
    amount: markup`<span class="soft">${page.amount(hold.amount)}</span>`,
    when: whenAndWho(page, shown, { item, actor: hold.actor }),
    ...(canRelease(shown, hold) && {
      links: markup`<a href="${shown.path}/holds/${page.publicId(hold.id)}/release">${text.release}</a>`,
    }),
  };
}

function emailLine(page: Page, { email, at }: Extract<TimelineItem, { readonly kind: 'email' }>): Line {
  const text = page.text.card;
  const { id, state, kind, response, nextAt, endedAt, lastAt } = email;
  // The address of an erased person is empty.
  const address = email.address === '' ? text.erased : email.address;
  const moment = nextAt ?? endedAt ?? lastAt;
  const time = timeElement(moment ?? at, page.store, page.language);
  const hasFailed = state === 'bounced' || state === 'dead';
  const reason = hasFailed && response !== null ? `: ${response}` : '';
  return {
    ...(hasFailed && { kind: 'fail' }),
    what: text.emails[kind],
    details: markup`${fillPlain(text.emailTo, { address })} · ${fill(text.emailStates[state], { time })}${reason}`,
    when: page.time(at),
    links: markup`<a href="${page.basePath}/emails/${String(page.publicId(id))}">${text.showEmail}</a>`,
  };
}

function changeLine(
  page: Page,
  shown: ShownCard,
  item: Extract<TimelineItem, { readonly kind: 'change' }>,
): Line {
  const { change } = item;
  const details = change.fields.map((field) => fieldText(field, page.language)).filter((each) => each !== '');
  return {
    what: changeName(change, page.language),
    ...(details.length > 0 && { details: details.join(' · ') }),
    when: whenAndWho(page, shown, { item, actor: change.actor }),
  };
}

function changeName({ fields }: CardChange, language: StaffRequest['language']): string {
  const text = cardTexts[language];
  const disabling = fields.find(({ field }) => field === 'disabled_at');
  if (disabling) return disabling.new === null ? text.cardEnabled : text.cardDisabled;
  const suspension = fields.find(({ field }) => field === 'suspended_at');
  if (suspension) return suspension.new === null ? text.cardResumed : text.cardSuspended;
  return fields.some(({ field }) => field === 'code') ? text.codeReplaced : text.changed;
}

const shownLengthMax = 80;

function fieldText(change: FieldChange, language: StaffRequest['language']): string {
  const text = cardTexts[language];
  const { field, isErased } = change;
  const shown = (value: FieldChange['old']): string => {
    if (isErased === true) return text.erased;
    if (value === null) return field === 'expires_on' ? text.never : text.empty;
    const line = isCardField(field) ? shownOf(field, String(value), language) : String(value);
    const characters = Array.from(line);
    return characters.length > shownLengthMax ? `${characters.slice(0, shownLengthMax).join('')}…` : line;
  };
  const values = { old: shown(change.old), new: shown(change.new) };
  if (field === 'code') return fillPlain(text.codeReplacedText, values);
  if (field === 'disabled_at' || field === 'suspended_at') return '';
  if (field === 'suspend_reason')
    return change.new === null && isErased !== true
      ? ''
      : fillPlain(text.suspendReason, { reason: values.new });
  const short: Readonly<Partial<Record<CardFieldName, string>>> = text.fields;
  return fillPlain(text.fieldChange, { field: short[field] ?? fieldLabel(field, language), ...values });
}
