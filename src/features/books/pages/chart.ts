/** The chart of the outstanding balance: an SVG with a title, and the same figures as a table. */

import { formatMoney, type Money } from '../../../core/money/domain/money.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import { markup, type Markup } from '../../../platform/markup.ts';
import type { MonthEnds } from '../service/month-ends.ts';
import { addDays, dayOf } from '../../../core/domain/day.ts';
import { amountText, dayText, monthText } from '../../../pages/kit/format.ts';
import { fill, fillPlain, textsOf, type PageLanguage } from '../../../pages/kit/texts.ts';

const texts = textsOf('chart');

type ChartPoint = {
  /** `YYYY-MM` */
  readonly month: string;
  /** Minor units. */
  readonly amount: bigint;
};

const monthsMax = 12;

const area = { left: 56, right: 462, top: 14, bottom: 200 } as const;
const lines = 3;

/** The last point: what the store owes on a day. */
export type ChartEnd = {
  readonly day: string;
  /** Minor units. */
  readonly outstanding: bigint;
  /** The name of the day. */
  readonly name: string;
  /** The instant (ms) up to which the clock is trusted. */
  readonly trustedUntil: number;
  /** The title of the drawing, with `{from}`, `{start}`, `{to}` and `{day}`. */
  readonly title: string;
};

/** The chart of twelve months that end on a day, and which days are not in it yet. */
export function monthsChart(
  { months, closedUpTo, from }: MonthEnds,
  end: ChartEnd,
  store: Pick<Store, 'currency' | 'timeZone'>,
  language: PageLanguage,
): Markup {
  const text = texts[language];
  const month = end.day.slice(0, 7);
  const points: readonly ChartPoint[] = [
    ...months
      .filter((each) => each.month < month)
      .map((each) => ({ month: each.month, amount: each.outstanding })),
    { month, amount: end.outstanding },
  ].slice(-monthsMax);
  const missing = { from: closedUpTo === null ? from : addDays(closedUpTo, 1), to: addDays(end.day, -1) };
  // The day before is closed some minutes after midnight.
  const isBehind = missing.from !== null && missing.from < missing.to && missing.from.slice(0, 7) < month;
  // Days that ended before the clock was trusted for the last time are being summed.
  const waitsForClock =
    Number.isFinite(end.trustedUntil) &&
    missing.from !== null &&
    dayOf(end.trustedUntil, store.timeZone) <= missing.from;
  const behind =
    isBehind && missing.from !== null
      ? markup`<p class="small soft">${fill(waitsForClock ? text.behindClock : text.behind, { from: dayText(missing.from, language), to: dayText(missing.to, language) })}</p>`
      : undefined;
  if (points.length > 1) return markup`${balanceChart(points, end, store, language)}${behind}`;
  return behind ?? markup`<p class="small soft">${text.later}</p>`;
}

/** @param points the earliest first, at least one. */
function balanceChart(
  points: readonly ChartPoint[],
  end: ChartEnd,
  { currency }: Pick<Store, 'currency'>,
  language: PageLanguage,
): Markup {
  const text = texts[language];
  const shownOf = (amount: bigint): string => amountText({ minor: amount, currency }, language);
  const [first] = points;
  if (!first) return markup``;
  const title = fillPlain(end.title, {
    from: shownOf(first.amount),
    start: monthText(first.month, language),
    to: shownOf(end.outstanding),
    day: end.name,
  });
  const rows = points.map(
    ({ month, amount }, place) =>
      markup`<tr><th scope="row">${place === points.length - 1 ? end.name : monthText(month, language)}</th><td class="sum">${shownOf(amount)}</td></tr>
`,
  );
  return markup`${drawing(points, { currency }, language, title)}
<details class="small"><summary>${text.table}</summary><table class="table"><thead><tr><th scope="col">${text.month}</th><th scope="col" class="sum">${text.outstanding}</th></tr></thead><tbody>
${rows}</tbody></table></details>`;
}

function drawing(
  points: readonly ChartPoint[],
  { currency }: Pick<Money, 'currency'>,
  language: PageLanguage,
  title: string,
): Markup {
  const step = stepOf(
    points.map(({ amount }) => amount),
    lines,
  );
  const top = step * BigInt(lines);
  const { left, right, bottom } = area;
  const x = (place: number): string =>
    (points.length === 1 ? right : left + ((right - left) * place) / (points.length - 1)).toFixed(1);
  const height = bottom - area.top;
  const y = (amount: bigint): string => (bottom - heightOf(amount, top, height)).toFixed(1);
  const grid = Array.from({ length: lines + 1 }, (_, place) => {
    const amount = step * BigInt(place);
    const at = y(amount);
    return markup`<line class="grid" x1="${left}" x2="${right}" y1="${at}" y2="${at}"/><text x="${left - 8}" y="${(Number(at) + 4).toFixed(1)}" text-anchor="end">${compactText({ minor: amount, currency }, language)}</text>`;
  });
  const line = points.map(({ amount }, place) => `${x(place)},${y(amount)}`).join(' ');
  const months = points.map(
    ({ month }, place) =>
      markup`<text class="month" x="${x(place)}" y="222" text-anchor="middle">${monthText(month, language, 'short')}</text>`,
  );
  const last = points.at(-1);
  const end = last
    ? markup`<circle class="dot" cx="${x(points.length - 1)}" cy="${y(last.amount)}" r="5"/><text class="now" x="${right + 12}" y="${(Number(y(last.amount)) + 4).toFixed(1)}">${compactText({ minor: last.amount, currency }, language)}</text>`
    : undefined;
  return markup`<svg class="plot" viewBox="0 0 540 230" role="img" aria-labelledby="chart-title"><title id="chart-title">${title}</title>${grid}<polygon class="area" points="${x(0)},${bottom} ${line} ${x(points.length - 1)},${bottom}"/><polyline class="line" points="${line}"/>${end}${months}</svg>`;
}

/** The part of a height that an amount has; a negative one has none. @param top the amount of the whole height. */
export function heightOf(amount: bigint, top: bigint, height: number): number {
  // Hundred thousandths, so that amounts beyond 2^53 are exact enough.
  return (height * Number(((amount < 0n ? 0n : amount) * 100_000n) / top)) / 100_000;
}

/** The distance of the lines of a chart, in minor units: 1, 2 or 5 times a power of ten. */
export function stepOf(amounts: readonly bigint[], count: number): bigint {
  const highest = amounts.reduce((most, amount) => (amount > most ? amount : most), 1n);
  const least = (highest + BigInt(count) - 1n) / BigInt(count);
  for (let power = 1n; ; power *= 10n)
    for (const factor of [1n, 2n, 5n]) if (factor * power >= least) return factor * power;
}

/** An amount without its currency and with few digits, such as `1.2K`. */
export function compactText(money: Money, language: PageLanguage): string {
  return new Intl.NumberFormat(language, { notation: 'compact', maximumSignificantDigits: 3 }).format(
    formatMoney(money) as `${number}`,
  );
}
