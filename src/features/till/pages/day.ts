/** The totals of a day at the till. */

import { addDays, dayOf, parseDay } from '../../../core/domain/day.ts';
import { isPermitted } from '../../../core/staff/domain/staff.ts';
import type { Location } from '../../../core/stores/domain/location.ts';
import {
  figuresBy,
  figuresOf,
  redeemedOf,
  soldOf,
  type Count,
  type TillEntry,
  type TillFigures,
} from '../domain/till-day.ts';
import { markup, type Markup, type MarkupPart } from '../../../platform/markup.ts';
import { readTillDay } from '../service/till-day.ts';
import { findStaffNames } from '../../../core/staff/service/actors.ts';
import { listAllLocations } from '../../../core/stores/service/location.ts';
import { alert } from '../../../pages/kit/form.ts';
import { cardTail, amountText, figure } from '../../../pages/kit/format.ts';
import { longReads } from '../../../pages/kit/long-reads.ts';
import type { ConsoleResponse, StaffRequest, StaffRoute } from '../../../pages/kit/route.ts';
import { catalogue, fill, fillPlain, plural } from '../../../pages/kit/texts.ts';
import { tillPage } from './page.ts';
import { tillReceiptRoutes } from './receipts.ts';
import { get, type Page } from '../../../pages/kit/page-context.ts';

const listedMax = 50;

/** The day that a request asks for; today if there is none, or it is not a day that has begun. */
function dayIn(page: Page, today: string): { readonly day: string; readonly isInvalid: boolean } {
  const asked = page.request.query.get('day');
  if (asked === undefined || asked === '') return { day: today, isInvalid: false };
  const parsed = asked.length > 10 ? undefined : parseDay(asked);
  return parsed?.ok && parsed.value <= today
    ? { day: parsed.value, isInvalid: false }
    : { day: today, isInvalid: true };
}

/** The entries and figures that the person sees: managers all, others their own and those of their device. */
type View = {
  readonly seesAll: boolean;
  /** The entries of the list. */
  readonly entries: readonly TillEntry[];
  readonly main: TillFigures;
  /** The figures of the device on which the person works; undefined: it is not enrolled. */
  readonly device: TillFigures | undefined;
};

function viewOf(page: Page, entries: readonly TillEntry[]): View {
  const seesAll = page.request.signedIn.session.tillId === null && isPermitted(page.member, 'readCards');
  if (seesAll) return { seesAll, entries, main: figuresOf(entries), device: undefined };
  const own = entries.filter(({ staffId }) => staffId === page.member.id);
  const device =
    page.request.signedIn.session.tillId === null
      ? undefined
      : figuresOf(entries.filter((entry) => entry.tillId === page.request.signedIn.session.tillId));
  return { seesAll, entries: own, main: figuresOf(own), device };
}

/** The formats of a page: amounts in the currency of the store. */
function amountsOf(page: Page) {
  const { currency } = page.store;
  return (minor: bigint): string => amountText({ minor, currency }, page.language);
}

async function dayPage(page: Page): Promise<ConsoleResponse> {
  const text = page.text.tillDay;
  const now = page.ctx.clock.now();
  const today = dayOf(now, page.store.timeZone);
  const { day, isInvalid } = dayIn(page, today);
  const { entries: all, isCut } = await readTillDay(
    { ctx: page.ctx, storage: longReads(page.services) },
    { store: page.store, day, places: page.member.locationIds },
  );
  const view = viewOf(page, all);
  const tillIds = new Set(all.map(({ tillId }) => tillId).filter((id) => id !== null));
  if (page.request.signedIn.session.tillId !== null) tillIds.add(page.request.signedIn.session.tillId);
  const { members: memberNames, tills: tillNames } = await page.read(() =>
    findStaffNames(page.store, [...tillIds]),
  );
  const names = {
    member: (id: number): string => memberNames.get(id) ?? text.unknown,
    till: (id: number | null): string => (id === null ? text.noTill : (tillNames.get(id) ?? text.unknown)),
  };
  const asOf =
    day === today ? fill(text.asOf, { time: page.time(now, { timeStyle: 'short' }) }) : text.closed;
  const path = `${page.basePath}/till/day`;
  const later =
    day < today ? markup` · <a href="${path}?day=${addDays(day, 1)}">${text.after}</a>` : undefined;
  const cut = isCut
    ? alert(fillPlain(text.cut, { count: new Intl.NumberFormat(page.language).format(all.length) }))
    : undefined;
  const places =
    view.seesAll && all.some(({ locationId }) => locationId !== null)
      ? await page.read(() => listAllLocations(page.store.id))
      : [];
  const groups = view.seesAll
    ? markup`${locationsPanel(page, view.entries, places)}
${groupPanel(
  page,
  { id: 'staff', heading: text.byStaff, caption: text.byStaffCaption, column: text.who },
  figuresBy(view.entries, ({ staffId }) => names.member(staffId)),
)}
${groupPanel(
  page,
  { id: 'tills', heading: text.byTill, caption: text.byTillCaption, column: text.till },
  figuresBy(view.entries, ({ tillId }) => names.till(tillId)),
)}`
    : view.device && figuresPanel(page, 'device', text.device, view.device);
  const body = markup`<header><h2>${longDay(day, page.language)}</h2><p class="soft small">${asOf} <span class="noprint">· <a href="${path}?day=${addDays(day, -1)}">${text.before}</a>${later}</span></p></header>
${isInvalid ? alert(text.invalidDay) : undefined}${cut}
${figuresPanel(page, 'main', view.seesAll ? text.all : text.yours, view.main)}
${groups}
${entriesPanel(page, { day, view, names })}
<form class="row noprint" method="get" action="${path}"><label for="day">${text.chooseDay}</label><input class="field fit" type="date" id="day" name="day" value="${day}" max="${today}" required><button class="button">${text.show}</button></form>
<button class="button noprint" type="button" data-print hidden>${text.print}</button>
<div class="paybar noprint"><a class="button first big" href="${page.basePath}/till">${text.next}</a></div>`;
  const title = `${text.title} · ${day}`;
  return { status: 200, body: tillPage(page.services, page.request, { title, body }) };
}

function longDay(day: string, language: StaffRequest['language']): string {
  const noon = Temporal.PlainDate.from(day).toZonedDateTime({ timeZone: 'UTC', plainTime: '12:00' });
  return new Intl.DateTimeFormat(language, {
    weekday: 'long',
    day: 'numeric',
    month: 'long',
    year: 'numeric',
    timeZone: 'UTC',
    calendar: 'gregory',
  }).format(noon.epochMilliseconds);
}

function figuresPanel(page: Page, id: string, heading: string, figures: TillFigures): Markup {
  const { currency } = page.store;
  const text = page.text.tillDay;
  const shown = amountsOf(page);
  const [redeemed, sold] = [redeemedOf(figures), soldOf(figures)];
  const line = (name: string, { entries, minor }: Count, isAlways = false): Markup | undefined =>
    entries === 0 && !isAlways
      ? undefined
      : markup`<dt>${name}</dt><dd class="sum">${new Intl.NumberFormat(page.language).format(entries)} · ${shown(minor)}</dd>`;
  const hasTaken = figures.undone.entries + figures.cancelled.entries > 0;
  return markup`<section class="panel" aria-labelledby="${id}"><h2 id="${id}">${heading}</h2><p class="soft">${text.redeemed}</p><p>${figure({ minor: redeemed.minor, currency }, page.language)}</p><p class="soft small">${plural(page.language, text.times, redeemed.entries)} ${id === 'main' ? text.shouldEqual : undefined}</p>
<dl class="facts"><dt>${text.sold}</dt><dd class="sum">${plural(page.language, text.cards, sold.entries)} · ${shown(sold.minor)}</dd>${line(text.refunded, figures.refunded, true)}${line(text.undone, figures.undone)}${line(text.cancelled, figures.cancelled)}${line(text.toppedUp, figures.toppedUp)}${line(text.adjusted, figures.adjusted)}</dl>
${hasTaken ? markup`<p class="soft small">${text.notIncluded}</p>` : undefined}</section>`;
}

function groupPanel(
  page: Page,
  {
    id,
    heading,
    caption,
    column,
  }: { readonly id: string; readonly heading: string; readonly caption: string; readonly column: string },
  groups: ReadonlyMap<string, TillFigures>,
): Markup | undefined {
  if (groups.size === 0) return undefined;
  const text = page.text.tillDay;
  const shown = amountsOf(page);
  const cell = ({ entries, minor }: Count): Markup =>
    entries === 0 && minor === 0n
      ? markup`<td role="cell" class="sum"></td>`
      : markup`<td role="cell" class="sum">${shown(minor)}<br><span class="small soft">${new Intl.NumberFormat(page.language).format(entries)}</span></td>`;
  const rows = Array.from(groups).map(
    ([name, figures]) =>
      markup`<tr role="row"><th scope="row" role="rowheader">${name}</th>${cell(soldOf(figures))}${cell(redeemedOf(figures))}${cell(figures.refunded)}</tr>
`,
  );
  return markup`<section class="panel flush" aria-labelledby="${id}"><h2 id="${id}">${heading}</h2><div class="scroll" tabindex="0" role="group" aria-labelledby="${id}"><table class="table" role="table"><caption class="sr">${caption}</caption><thead role="rowgroup"><tr role="row"><th scope="col" role="columnheader">${column}</th><th scope="col" role="columnheader" class="sum">${text.sold}</th><th scope="col" role="columnheader" class="sum">${text.redeemed}</th><th scope="col" role="columnheader" class="sum">${text.refunded}</th></tr></thead><tbody role="rowgroup">
${rows}</tbody></table></div></section>`;
}

/** The figures of each location, if an entry of the day has one. */
function locationsPanel(
  page: Page,
  entries: readonly TillEntry[],
  places: readonly Location[],
): Markup | undefined {
  if (places.length === 0) return undefined;
  const { locations: text } = catalogue[page.language];
  const names = new Map(places.map(({ id, name }) => [id, name]));
  return groupPanel(
    page,
    { id: 'locations', heading: text.byLocation, caption: text.byLocation, column: text.till },
    figuresBy(entries, ({ locationId }) =>
      locationId === null ? text.noLocation : (names.get(locationId) ?? String(locationId)),
    ),
  );
}

/** The newest entries, or those before an entry. */
function entriesPanel(
  page: Page,
  {
    day,
    view,
    names,
  }: {
    readonly day: string;
    readonly view: View;
    readonly names: { readonly member: (id: number) => string; readonly till: (id: number | null) => string };
  },
): Markup {
  const text = page.text.tillDay;
  const shown = amountsOf(page);
  const path = `${page.basePath}/till/day?day=${day}`;
  const before =
    page.ctx.keys.publicIds.read(Number(page.request.query.get('before') ?? '')) ?? Number.MAX_SAFE_INTEGER;
  const found = view.entries.filter(({ id }) => id < before).toReversed();
  const listed = found.slice(0, listedMax);
  const rows = listed.map((entry) => {
    const receipt = String(page.publicId(entry.id));
    const where: MarkupPart = view.seesAll
      ? markup`<br><span class="small soft">${names.member(entry.staffId)} · ${names.till(entry.tillId)}</span>`
      : undefined;
    return markup`<tr role="row"><th scope="row" role="rowheader"><a class="whole" href="${page.basePath}/till/receipts/${receipt}">${text.kinds[entry.part]}</a>${where}</th><td role="cell">${page.time(entry.createdAt, { timeStyle: 'short' })} · ${cardTail(entry.lastCharacters)}</td><td role="cell" class="aside sum">${shown(entry.counted)}</td></tr>
`;
  });
  const last = listed.at(-1);
  const older =
    last && found.length > listedMax
      ? markup`<a class="button" href="${path}&before=${String(page.publicId(last.id))}">${text.older}</a>`
      : undefined;
  const newest = page.request.query.has('before')
    ? markup`<a class="button" href="${path}">${text.newest}</a>`
    : undefined;
  const table =
    rows.length === 0
      ? markup`<p class="empty">${text.entriesNone}</p>`
      : markup`<table class="table lines" role="table"><thead role="rowgroup"><tr role="row"><th scope="col" role="columnheader">${text.what}</th><th scope="col" role="columnheader">${text.time} · ${text.card}</th><th scope="col" role="columnheader" class="sum">${text.amount}</th></tr></thead><tbody role="rowgroup">
${rows}</tbody></table>`;
  return markup`<section class="panel flush" aria-labelledby="entries"><h2 id="entries">${text.entries}</h2>${table}</section>
${newest || older ? markup`<div class="quick two-up noprint">${newest}${older}</div>` : undefined}`;
}

export const tillDayRoutes: readonly StaffRoute[] = [
  get('/till/day', 'useTill', dayPage),
  ...tillReceiptRoutes,
];
