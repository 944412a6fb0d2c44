/** The audit log of a store: who did what, when, and on which till. */

import { isCardField } from '../../../core/cards/domain/fields.ts';
import { isRole, type StaffMember } from '../../../core/staff/domain/staff.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import { joinMarkup, markup, type Markup, type MarkupPart } from '../../../platform/markup.ts';
import { showStaffActions, type ShownActions } from '../service/people.ts';
import type { UnknownAttempts } from '../service/failed-sign-in.ts';
import type { StaffAction, StaffActionName } from '../../../core/staff/storage/action.ts';
import { fieldLabel } from '../../card-pages/pages/fields.ts';
import { select } from '../../../pages/kit/form.ts';
import { amountText, dayText, monthText, timeElement, timeText } from '../../../pages/kit/format.ts';
import type { ConsoleServices } from '../../../pages/kit/services.ts';
import type { ConsoleResponse, StaffRoute } from '../../../pages/kit/route.ts';
import { staffPills } from './pills.ts';
import { parseAmount } from '../../../core/money/domain/money.ts';
import { fillPlain, type PageLanguage, plural, textsOf } from '../../../pages/kit/texts.ts';
import { readStoredId } from '../../../pages/kit/ids.ts';
import { type Page, get } from '../../../pages/kit/page-context.ts';

const texts = textsOf('audit');
const frames = textsOf('frame');

type Kind = 'money' | 'signIn' | 'staff' | 'settings';

/** The group of each action, and the kind of its subject. */
const actions = {
  'signed-in': ['signIn', 'person'],
  'sign-in-failed': ['signIn', 'person'],
  'signed-out': ['signIn', 'person'],
  'pin-locked': ['signIn', 'person'],
  'pin-unlocked': ['staff', 'person'],
  'session-ended': ['signIn', 'person'],
  'password-changed': ['staff', 'person'],
  'pin-changed': ['staff', 'person'],
  'passkey-added': ['staff', 'person'],
  'passkey-removed': ['staff', 'person'],
  'staff-invited': ['staff', 'person'],
  'staff-joined': ['staff', 'person'],
  'staff-changed': ['staff', 'person'],
  'staff-disabled': ['staff', 'person'],
  'staff-enabled': ['staff', 'person'],
  'till-enrolled': ['staff', 'till'],
  'till-revoked': ['staff', 'till'],
  'till-moved': ['staff', 'till'],
  'till-paper-set': ['staff', 'till'],
  'location-added': ['settings', null],
  'location-changed': ['settings', null],
  'location-closed': ['settings', null],
  'location-reopened': ['settings', null],
  'till-locked': ['signIn', 'person'],
  'card-issued': ['money', 'card'],
  'card-changed': ['money', 'card'],
  'card-disabled': ['money', 'card'],
  'card-reenabled': ['money', 'card'],
  'card-suspended': ['money', 'card'],
  'card-resumed': ['money', 'card'],
  'card-redeemed': ['money', 'card'],
  'card-refunded': ['money', 'card'],
  'card-credited': ['money', 'card'],
  'hold-released': ['money', 'card'],
  'sale-refunded': ['money', 'card'],
  'sale-released': ['money', 'card'],
  'sale-returned': ['money', 'card'],
  'code-sent': ['money', 'card'],
  'email-cancelled': ['money', 'card'],
  'recipient-corrected': ['money', 'card'],
  'cards-exported': ['settings', null],
  'batch-checked': ['money', null],
  'batch-issued': ['money', null],
  'batch-codes-read': ['money', null],
  'batch-addresses-read': ['money', null],
  'batch-resent': ['money', null],
  'batch-corrected': ['money', null],
  'batch-cancelled': ['money', null],
  'batch-rescheduled': ['money', null],
  'stock-added': ['money', null],
  'stock-codes-read': ['money', null],
  'stock-voided': ['money', null],
  'settings-changed': ['settings', null],
  'token-created': ['settings', null],
  'token-revoked': ['settings', null],
  'webhook-created': ['settings', null],
  'webhook-changed': ['settings', null],
  'webhook-deleted': ['settings', null],
  'event-sent': ['settings', null],
  'month-sent': ['settings', null],
  'month-opened': ['settings', null],
  'database-restored': ['settings', null],
  'restore-confirmed': ['settings', null],
} as const satisfies Readonly<Record<StaffActionName, readonly [Kind, 'person' | 'till' | 'card' | null]>>;

const actionNames = Object.keys(actions) as readonly StaffActionName[];
const actionsOfCards = new Set(actionNames.filter((name) => actions[name][1] === 'card'));

const failures: readonly StaffActionName[] = ['sign-in-failed', 'pin-locked'];

const kinds = ['money', 'signIn', 'failures', 'staff', 'settings'] as const;

type Filter = { readonly staffId: number | null; readonly kind: (typeof kinds)[number] | null };

function actionsOf(kind: (typeof kinds)[number]): readonly StaffActionName[] {
  return kind === 'failures' ? failures : actionNames.filter((name) => actions[name][0] === kind);
}

function filterOf(page: Page): Filter {
  const kind = kinds.find((each) => each === page.request.query.get('kind')) ?? null;
  return { staffId: readStoredId(page.request.query.get('staff')) ?? null, kind };
}

type Names = Pick<ShownActions, 'tills' | 'cards' | 'unknown'> & {
  readonly store: Store;
  readonly members: ReadonlyMap<number, StaffMember>;
};

async function auditPage(page: Page): Promise<ConsoleResponse> {
  const { services, request, language, store } = page;
  const { audit: text } = page.text;
  const filter = filterOf(page);
  const asked = readStoredId(request.query.get('before'));
  const shown = await page.read(() =>
    showStaffActions(page.ctx, store, {
      before: asked ?? Number.MAX_SAFE_INTEGER,
      filter: {
        ...(filter.staffId !== null && { staffId: filter.staffId }),
        ...(filter.kind !== null && { actions: actionsOf(filter.kind) }),
      },
      ofCards: actionsOfCards,
    }),
  );
  const { actions: listed, continuesBefore: before, people } = shown;
  const names: Names = { ...shown, store, members: new Map(people.map((each) => [each.id, each])) };
  const path = (from: number | null): string => {
    const parameters = new URLSearchParams({
      ...(filter.staffId !== null && { staff: String(filter.staffId) }),
      ...(filter.kind !== null && { kind: filter.kind }),
      ...(from !== null && { before: String(from) }),
    });
    return page.url(`/audit${parameters.size > 0 ? '?' : ''}${parameters.toString()}`);
  };
  const older =
    before === null
      ? undefined
      : markup`<a class="button" href="${path(before)}" rel="next">${text.older}</a>`;
  const newest =
    asked === undefined ? undefined : markup`<a class="button quiet" href="${path(null)}">${text.newest}</a>`;
  const body = markup`<div class="stack">${staffPills(page, 'audit')}
${filterForm(services, language, people, filter)}
${listed.length === 0 ? emptyPanel(services, language, before !== null) : table(services, language, listed, names)}
<div class="row apart"><span class="small soft">${fillPlain(text.note, { zone: store.timeZone })}</span><span class="row">${newest}${older}</span></div></div>`;
  return page.show('/audit', { title: text.title, body });
}

function filterForm(
  { frame }: ConsoleServices,
  language: PageLanguage,
  people: readonly StaffMember[],
  { staffId, kind }: Filter,
): Markup {
  const text = texts[language];
  const who = [
    { value: '', text: text.everyone },
    ...people.map(({ id, name }) => ({ value: String(id), text: name })),
  ];
  const what = [
    { value: '', text: text.everything },
    ...kinds.map((each) => ({ value: each, text: text.kinds[each] })),
  ];
  return markup`<form class="panel filters" role="search" aria-label="${text.title}" action="${frame.basePath}/audit">${select({ name: 'staff', label: text.who, options: who, value: staffId === null ? '' : String(staffId) })}${select({ name: 'kind', label: text.what, options: what, value: kind ?? '' })}<button class="button">${text.show}</button></form>`;
}

function emptyPanel({ frame }: ConsoleServices, language: PageLanguage, hasOlder: boolean): Markup {
  const text = texts[language];
  return markup`<section class="panel empty"><p>${hasOlder ? text.noneHere : text.none}</p><p><a class="button" href="${frame.basePath}/audit">${text.all}</a></p></section>`;
}

function table(
  services: ConsoleServices,
  language: PageLanguage,
  shown: readonly StaffAction[],
  names: Names,
): Markup {
  const text = texts[language];
  const rows = shown.map((entry) => {
    const { at, staffId, tillId, action } = entry;
    const who =
      staffId === null ? withoutMember(entry, language) : (names.members.get(staffId)?.name ?? text.unknown);
    const till =
      tillId === null ? undefined : fillPlain(text.onTill, { till: names.tills.get(tillId) ?? text.unknown });
    const done = actionText(entry, language);
    const what = failures.includes(action) ? markup`<span class="tag bad">${done}</span>` : done;
    const details = detailsOf(entry, names, language);
    const more =
      details.length === 0 ? undefined : markup` <span class="soft">${joinMarkup(details, ', ')}</span>`;
    return markup`<tr role="row"><td role="cell" class="soft small nowrap aside">${timeElement(at, names.store, language)}</td><td role="cell"><strong>${who}</strong></td><td role="cell" class="whole-line">${what}${more}</td><td role="cell" class="whole-line">${subjectOf(services, entry, names, language)}</td><td role="cell" class="small soft whole-line">${till}</td></tr>
`;
  });
  return markup`<section class="panel flush"><table class="table lines log" role="table"><caption class="sr">${text.caption}</caption><thead role="rowgroup"><tr role="row"><th scope="col" role="columnheader">${text.when}</th><th scope="col" role="columnheader">${text.who}</th><th scope="col" role="columnheader">${text.what}</th><th scope="col" role="columnheader">${text.subject}</th><th scope="col" role="columnheader">${text.where}</th></tr></thead><tbody role="rowgroup">
${rows}</tbody></table></section>`;
}

/** Returns the author of an action without a member: a person who did not sign in, or the command line. */
function withoutMember({ action }: StaffAction, language: PageLanguage): string {
  const text = texts[language];
  if (action === 'month-opened') return text.byLink;
  return failures.includes(action) ? text.notSignedIn : text.command;
}

/** Returns the text of an action. An undone redemption is a refund in the ledger; a cancelled sale disables its card. */
function actionText({ action, details }: StaffAction, language: PageLanguage): string {
  const text = texts[language];
  if ('undoes' in details) return text.undone;
  return 'cancels' in details ? text.cancelled : text.actions[action];
}

function subjectOf(
  { ctx, frame }: ConsoleServices,
  { action, subjectId, staffId }: StaffAction,
  { members, tills, cards }: Names,
  language: PageLanguage,
): Markup | string | undefined {
  if (subjectId === null) return undefined;
  const text = texts[language];
  switch (actions[action][1]) {
    case 'card': {
      const last = cards.get(subjectId);
      if (last === undefined) return undefined;
      const href = `${frame.basePath}/cards/${String(ctx.keys.publicIds.of(subjectId))}`;
      return markup`<a class="code nowrap" href="${href}" aria-label="${text.card} ${last}">•••• ${last}</a>`;
    }
    case 'person': {
      const member = members.get(subjectId);
      if (!member || subjectId === staffId) return undefined;
      return markup`<a href="${frame.basePath}/staff/${String(subjectId)}">${member.name}</a>`;
    }
    case 'till': {
      const till = tills.get(subjectId);
      return till === undefined ? undefined : fillPlain(text.onTill, { till });
    }
    case null:
      return undefined;
  }
}

/** The details as parts of the sentence. Those that have no text are shown by name. */
function detailsOf(
  { id, details }: StaffAction,
  { store, unknown }: Names,
  language: PageLanguage,
): readonly MarkupPart[] {
  const { details: parts } = texts[language];
  const named = Object.entries(details).flatMap(([name, value]): readonly MarkupPart[] => {
    if (value === null || value === '' || value === false || hiddenDetails.has(name)) return [];
    if (isFlag(name)) return [parts[name]];
    const counted = typeof value === 'number' ? countOf(name, value, language) : undefined;
    const shown = counted ?? detailOf(name, String(value), store, language);
    return shown === undefined ? [] : [shown];
  });
  return [...named, ...attemptsOf(unknown.get(id), store, language)];
}

/** The attempts to sign in without an account, which one entry has for a day. */
function attemptsOf(
  found: UnknownAttempts | undefined,
  store: Store,
  language: PageLanguage,
): readonly MarkupPart[] {
  if (!found) return [];
  const { details: parts } = texts[language];
  const { name, attempts, lastAt } = found;
  const address = name === null ? parts.otherAddresses : fillPlain(parts.unknownAddress, { value: name });
  if (attempts === 1 || lastAt === null) return name === null ? [] : [address];
  const time = timeText(lastAt, store, language, { timeStyle: 'short' });
  return [address, plural(language, parts.attempts, attempts, { time })];
}

/** The movement in the ledger, which the page of the card shows. */
const hiddenDetails = new Set(['entry', 'refunds', 'undoes', 'cancels']);

/** Details that are true or absent. */
const flags = [
  'emailed',
  'holdsReleased',
  'unlocked',
  'removed',
  'link',
  'copied',
  'confirm',
  'all',
  'everywhere',
  'paused',
  'resumed',
  'rotated',
  'test',
  'verified',
  'dropped',
  'downloaded',
  'allowed',
  'declined',
  'linksEnded',
] as const;

function isFlag(name: string): name is (typeof flags)[number] {
  return flags.some((flag) => flag === name);
}

function countOf(name: string, count: number, language: PageLanguage): string | undefined {
  const { details: parts } = texts[language];
  if (name === 'codes') return plural(language, parts.codes, count);
  if (name === 'emails' || name === 'events') return plural(language, parts[name], count);
  return name === 'rows' || name === 'count' ? plural(language, parts.rows, count) : undefined;
}

/** Undefined: a later version has added a method. */
function detailOf(name: string, shown: string, store: Store, language: PageLanguage): string | undefined {
  const text = texts[language];
  const parts = text.details;
  switch (name) {
    case 'method':
      return Object.hasOwn(text.methods, shown)
        ? text.methods[shown as keyof typeof text.methods]
        : undefined;
    case 'role':
      return fillPlain(parts.role, { value: isRole(shown) ? frames[language].roles[shown] : shown });
    case 'amount':
      return detailAmount(shown, store, language);
    case 'month':
      return monthText(shown, language);
    case 'day':
      return fillPlain(parts.day, { value: dayText(shown, language) });
    case 'before':
    case 'balance':
      return fillPlain(parts[name], { value: detailAmount(shown, store, language) });
    case 'how':
      return shown === 'email' ? parts.emailed : parts.printed;
    case 'fields':
      return shown
        .split(', ')
        .map((each) => fieldName(each, language))
        .join(', ');
    case 'email':
    case 'locations':
    case 'name':
    case 'order':
    case 'reason':
      return fillPlain(parts[name], { value: shown });
    case 'scopes':
    case 'event':
    case 'codes':
    case 'rows':
    case 'count':
      return shown;
    default:
      return `${name}: ${shown}`;
  }
}

/** A field of a card or a setting. */
function fieldName(name: string, language: PageLanguage): string {
  const { fields } = texts[language];
  if (Object.hasOwn(fields, name)) return fields[name as keyof typeof fields];
  return isCardField(name) ? fieldLabel(name, language) : name;
}

function detailAmount(shown: string, { currency }: Store, language: PageLanguage): string {
  const isNegative = shown.startsWith('-');
  const parsed = parseAmount(isNegative ? shown.slice(1) : shown, { currency, zeroAllowed: true });
  if (!parsed.ok) return shown;
  const { minor } = parsed.value;
  return amountText({ minor: isNegative ? -minor : minor, currency }, language);
}

export const auditRoutes: readonly StaffRoute[] = [get('/audit', 'readAuditLog', auditPage)];
