/**
 * The amounts sold and redeemed in a period as bars, with those of the period before: SVGs whose days are stops of the
 * keyboard. The table of the report has the same figures.
 */

import { addDays } from '../../../core/domain/day.ts';
import type { ReportDays } from '../domain/report-days.ts';
import { markup, type Markup } from '../../../platform/markup.ts';
import type { ActivityQuery, ActivityReport } from '../service/reports.ts';
import { compactText, heightOf, stepOf } from './chart.ts';
import { amountText, dayText, monthText } from '../../../pages/kit/format.ts';
import { fillPlain } from '../../../pages/kit/texts.ts';
import { periodText, type ReportContext } from './page.ts';
import { periodBefore } from './period.ts';
import { reportTexts } from './texts.ts';

/** Minor units. */
type Amounts = { readonly issued: bigint; readonly redeemed: bigint };

/** A day or a month. */
type Slot = Amounts & {
  /** `YYYY-MM-DD` or `YYYY-MM` */
  readonly group: string;
  /** The same day or month of the period before; undefined: it has none, as the 31st after a month of 30 days. */
  readonly before: (Amounts & { readonly group: string }) | undefined;
};

/** Days of a longer period are shown as months. */
const daysMax = 62;

/** A phone shows the last days or months. */
const slotsOnPhones = 9;

const lines = 3;

/** The room of a drawing; the values of a day are above `top`. */
const rooms = {
  wide: { width: 760, left: 48 },
  narrow: { width: 326, left: 40 },
} as const;
const top = 48;
const bottom = 208;
const slotWidthMax = 64;
/** Names below the bars have this room. */
const nameWidth = { day: 26, month: 44 } as const;

/** The panel of a report by day or by month; undefined: nothing was sold or redeemed. */
export function barsPanel(
  context: ReportContext,
  { summary, rows }: ActivityReport,
  before: ActivityReport,
): Markup | undefined {
  const { store, language } = context;
  const { columns, bars: text } = reportTexts[language];
  const slots = slotsOf(summary, rows, before.rows);
  const shown = (minor: bigint): string => amountText({ minor, currency: store.currency }, language);
  const [now, then] = [totalOf(rows), totalOf(before.rows)];
  if (slots.every(({ issued, redeemed }) => issued === 0n && redeemed === 0n)) return undefined;
  const isCompared = before.rows.length > 0;
  const period = periodText(before.summary, language);
  const figureOf = (name: 'issued' | 'redeemed'): Markup => {
    const compared = fillPlain(text.before, { period, amount: shown(then[name]) });
    const change = then[name] === 0n ? '' : ` (${changeText(now[name], then[name], language)})`;
    const note = isCompared ? markup`<dd class="soft small">${compared}${change}</dd>` : undefined;
    return markup`<div><dt>${columns[name]}</dt><dd>${shown(now[name])}</dd>${note}</div>`;
  };
  const drawing = (room: keyof typeof rooms, shownSlots: readonly Slot[]): Markup =>
    drawingOf(context, { room, slots: shownSlots, isCompared });
  const legend = [
    ['bar-sold', columns.issued],
    ['bar-redeemed', columns.redeemed],
    ...(isCompared ? [['bar-before', fillPlain(text.soldBefore, { period })] as const] : []),
  ] as const;
  const items = legend.map(
    ([kind, name]) =>
      markup`<li><svg class="bars" viewBox="0 0 14 14" aria-hidden="true"><rect class="${kind}" x="1" y="1" width="12" height="12" rx="2"/></svg>${name}</li>`,
  );
  return markup`<section class="panel stack" aria-labelledby="bars"><h2 id="bars">${text.title}</h2>
<dl class="figures">${figureOf('issued')}${figureOf('redeemed')}</dl>
${drawing('wide', slots)}${drawing('narrow', slots.slice(-slotsOnPhones))}<ul class="legend small soft">${items}</ul></section>`;
}

function totalOf(rows: readonly Amounts[]): Amounts {
  return {
    issued: rows.reduce((sum, { issued }) => sum + issued, 0n),
    redeemed: rows.reduce((sum, { redeemed }) => sum + redeemed, 0n),
  };
}

/** The difference as a share of what was before, such as `+36%`. @param before minor units, not 0. */
function changeText(now: bigint, before: bigint, language: string): string {
  const share = Number(((now - before) * 1000n) / before) / 1000;
  return new Intl.NumberFormat(language, {
    style: 'percent',
    signDisplay: 'exceptZero',
    maximumFractionDigits: 0,
  })
    .format(share)
    .replace('-', '−');
}

type Row = ActivityReport['rows'][number];

/** All days or months of the period, also those without an entry. */
function slotsOf(
  { by, from, to }: ActivityReport['summary'],
  rows: readonly Row[],
  before: readonly Row[],
): readonly Slot[] {
  const unit = unitOf({ by, from, to });
  const isDaily = unit === 'day';
  const nameOf = (group: string): string => (isDaily ? group : group.slice(0, 7));
  const [now, then] = [amountsBy(rows, nameOf), amountsBy(before, nameOf)];
  const none: Amounts = { issued: 0n, redeemed: 0n };
  const { earlier } = periodBefore({ from, to }, unit);
  const names = new Set<string>();
  for (let day = from; day <= to; day = addDays(day, 1)) names.add(nameOf(day));
  return Array.from(names, (group) => {
    const name = earlier(group);
    return {
      group,
      ...(now.get(group) ?? none),
      before: name === undefined ? undefined : { group: name, ...(then.get(name) ?? none) },
    };
  });
}

function amountsBy(rows: readonly Row[], nameOf: (group: string) => string): ReadonlyMap<string, Amounts> {
  const groups = Map.groupBy(rows, ({ group }) => nameOf(group ?? ''));
  return new Map([...groups].map(([name, grouped]) => [name, totalOf(grouped)]));
}

function drawingOf(
  context: ReportContext,
  {
    room,
    slots,
    isCompared,
  }: { readonly room: keyof typeof rooms; readonly slots: readonly Slot[]; readonly isCompared: boolean },
): Markup {
  const { language, store } = context;
  const { width, left } = rooms[room];
  const amounts = slots.flatMap(({ issued, redeemed, before }) => [issued, redeemed, before?.issued ?? 0n]);
  const step = stepOf(amounts, lines);
  const y = (amount: bigint): number => bottom - heightOf(amount, step * BigInt(lines), bottom - top);
  const grid = Array.from({ length: lines + 1 }, (_, line) => {
    const minor = step * BigInt(line);
    const at = y(minor);
    return markup`<line class="grid" x1="${left}" x2="${width}" y1="${at.toFixed(1)}" y2="${at.toFixed(1)}"/><text x="${left - 6}" y="${(at + 4).toFixed(1)}" text-anchor="end">${compactText({ minor, currency: store.currency }, language)}</text>`;
  });
  const slotWidth = Math.min((width - left) / slots.length, slotWidthMax);
  const isDaily = slots[0]?.group.length === 'YYYY-MM-DD'.length;
  const every = Math.ceil(nameWidth[isDaily ? 'day' : 'month'] / slotWidth);
  const bars = slots.map((slot, place) => {
    const last = slots.length - 1;
    const shapes = slotOf(context, { slot, isCompared, y, x: left + slotWidth * place, slotWidth, left });
    const name = isDaily ? String(Number(slot.group.slice(-2))) : monthText(slot.group, language, 'short');
    const label =
      (last - place) % every === 0
        ? markup`<text x="${(left + slotWidth * (place + 0.5)).toFixed(1)}" y="${bottom + 20}" text-anchor="middle">${name}</text>`
        : undefined;
    const kind = place === last ? 'slot last' : 'slot';
    return markup`<g class="${kind}">${shapes}${label}</g>`;
  });
  return markup`<svg class="plot bars ${room}" viewBox="0 0 ${width} 236" role="group" aria-labelledby="bars">${grid}${bars}</svg>`;
}

/** The bars of a day or month, and its values in words. */
function slotOf(
  { language, store }: ReportContext,
  {
    slot: { group, issued, redeemed, before },
    isCompared,
    x,
    y,
    slotWidth,
    left,
  }: {
    readonly slot: Slot;
    readonly isCompared: boolean;
    readonly x: number;
    readonly y: (amount: bigint) => number;
    readonly slotWidth: number;
    readonly left: number;
  },
): Markup {
  const text = reportTexts[language].bars;
  const shown = (minor: bigint): string => amountText({ minor, currency: store.currency }, language);
  const nameOf = (name: string): string =>
    name.length === 'YYYY-MM'.length ? monthText(name, language) : dayText(name, language);
  const values = fillPlain(text.values, {
    period: nameOf(group),
    sold: shown(issued),
    redeemed: shown(redeemed),
  });
  const compared =
    isCompared && before
      ? fillPlain(text.valuesBefore, { period: nameOf(before.group), sold: shown(before.issued) })
      : undefined;
  const bar = (kind: string, from: number, share: number, amount: bigint): Markup =>
    markup`<rect class="${kind}" x="${(x + slotWidth * from).toFixed(1)}" y="${y(amount).toFixed(1)}" width="${(slotWidth * share).toFixed(1)}" height="${(bottom - y(amount)).toFixed(1)}"/>`;
  const outline = isCompared && before ? bar('bar-before', 0.08, 0.84, before.issued) : undefined;
  const lineOf = (words: string | undefined, at: number): Markup | undefined =>
    words === undefined ? undefined : markup`<text class="value" x="${left}" y="${at}">${words}</text>`;
  const label = [values, compared].filter((part) => part !== undefined).join('; ');
  // The stop of the keyboard and the pointer is over the bars, so that its outline is as wide as the day.
  return markup`${outline}${bar('bar-sold', 0.15, 0.34, issued)}${bar('bar-redeemed', 0.51, 0.34, redeemed)}<rect class="hit" tabindex="0" role="img" aria-label="${label}" x="${x.toFixed(1)}" y="${top}" width="${slotWidth.toFixed(1)}" height="${bottom - top}"/>${lineOf(values, 14)}${lineOf(compared, 32)}`;
}

/** The unit of the bars of a report. */
function unitOf({ by, from, to }: BarsQuery): 'day' | 'month' {
  return by === 'day' && addDays(from, daysMax) > to ? 'day' : 'month';
}

type BarsQuery = Pick<ActivityQuery, 'by' | 'from' | 'to'>;

/** The days that a report is compared with; undefined: it has no bars, or they are too long ago for a calendar. */
export function comparedDays(query: BarsQuery): ReportDays | undefined {
  if (query.by !== 'day' && query.by !== 'month') return undefined;
  const before = periodBefore(query, unitOf(query));
  return before.days.from < '1900' ? undefined : before.days;
}
