/**
 * Charts as SVG: figures of several series, side by side in groups, along one horizontal axis.
 *
 * They are images of a page that may be light or dark; their colours follow the reader's setting.
 */

import type { Spread } from './statistics.ts';

export type Chart = {
  readonly title: string;
  /** What the axis counts, with its unit. */
  readonly axis: string;
  /**
   * `bars`: from zero to the median, with the lowest and the highest as a whisker. `ranges`: from the lowest to the
   * highest, with the median between them, on a logarithmic axis.
   */
  readonly kind: 'bars' | 'ranges';
  readonly series: readonly string[];
  /** A mark for each series, in their order; null where there is none. */
  readonly groups: readonly { readonly label: string; readonly marks: readonly (Spread | null)[] }[];
  /** As many decimals as a figure is told with. */
  readonly decimals: number;
};

/** A place on the axis, in pixels. */
type Scale = (value: number) => number;

const width = 760;
/** Where the axis starts, behind the labels, and where it ends, before the figures. */
const plot = { left: 170, right: 690 } as const;
const top = 70;
const markHeight = 14;
const groupGap = 12;
const colours = { light: ['#8a8f98', '#1f77a4', '#c0651a', '#6b4fa0'], dark: ['#9aa0a8', '#58b0de', '#f0a35c', '#b096e8'] } as const; // prettier-ignore

const style = `
  text { font: 12px system-ui, sans-serif; fill: #24292f }
  .title { font-size: 15px; font-weight: 600 }
  .figure, .tick { font-size: 11px; fill: #57606a }
  .grid { stroke: #d0d7de } .whisker { stroke: #24292f; stroke-width: 1.2 }
${colours.light.map((colour, index) => `  .s${index} { fill: ${colour}; stroke: ${colour} }`).join('\n')}
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 } .figure, .tick { fill: #9da7b3 }
    .grid { stroke: #3d444d } .whisker { stroke: #e6edf3 }
${colours.dark.map((colour, index) => `    .s${index} { fill: ${colour}; stroke: ${colour} }`).join('\n')}
  }`;

/** The whole image. */
export function draw(chart: Chart): string {
  const { title, axis, groups, series } = chart;
  const groupHeight = series.length * markHeight + groupGap;
  const bottom = top + groups.length * groupHeight;
  const marks = groups.flatMap((group) => group.marks.filter((mark) => mark !== null));
  const [ticks, scale] = chart.kind === 'bars' ? linearAxis(marks) : logarithmicAxis(marks);
  const height = bottom + 50;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-label="${escape(title)}">`,
    `<title>${escape(title)}</title><style>${style}\n</style>`,
    `<text class="title" x="10" y="24">${escape(title)}</text>`,
    ...legend(series),
    ...ticks.flatMap((tick) => tickLines(tick, { x: scale(tick), bottom })),
    `<text x="${(plot.left + plot.right) / 2}" y="${height - 10}" text-anchor="middle">${escape(axis)}</text>`,
    ...groups.flatMap((group, index) => drawGroup(chart, { group, y: top + index * groupHeight, scale })),
    '</svg>',
    '',
  ].join('\n');
}

function legend(series: readonly string[]): readonly string[] {
  return series.map((name, index) => {
    const x = plot.left + index * 150;
    const square = `<rect class="s${index}" x="${x}" y="38" width="10" height="10"/>`;
    return `${square}<text x="${x + 16}" y="47">${escape(name)}</text>`;
  });
}

function tickLines(
  tick: number,
  { x, bottom }: { readonly x: number; readonly bottom: number },
): readonly string[] {
  return [
    `<line class="grid" x1="${px(x)}" y1="${top - 8}" x2="${px(x)}" y2="${bottom}"/>`,
    `<text class="tick" x="${px(x)}" y="${bottom + 16}" text-anchor="middle">${tick}</text>`,
  ];
}

function drawGroup(
  chart: Chart,
  given: { readonly group: Chart['groups'][number]; readonly y: number; readonly scale: Scale },
): readonly string[] {
  const { group, y, scale } = given;
  const middle = y + (chart.series.length * markHeight) / 2 + 4;
  const label = `<text x="${plot.left - 12}" y="${middle}" text-anchor="end">${escape(group.label)}</text>`;
  const drawMark = chart.kind === 'bars' ? drawBar : drawRange;
  const marks = group.marks.flatMap((mark, index) => {
    if (!mark) return [];
    const markY = y + index * markHeight + markHeight / 2;
    const figure = `<text class="figure" x="${px(scale(mark.high) + 8)}" y="${px(markY + 4)}">${mark.median.toFixed(chart.decimals)}</text>`;
    return [drawMark(mark, { series: index, y: markY, scale }), figure];
  });
  return [label, ...marks];
}

type Place = { readonly series: number; readonly y: number; readonly scale: Scale };

function drawBar(mark: Spread, { series, y, scale }: Place): string {
  const [start, end] = [scale(0), scale(mark.median)];
  const bar = `<rect class="s${series}" x="${px(start)}" y="${px(y - 5)}" width="${px(end - start)}" height="10"/>`;
  return `${bar}<line class="whisker" x1="${px(scale(mark.low))}" y1="${px(y)}" x2="${px(scale(mark.high))}" y2="${px(y)}"/>`;
}

function drawRange({ low, median, high }: Spread, { series, y, scale }: Place): string {
  const line = `<line class="s${series}" stroke-width="2" x1="${px(scale(low))}" y1="${px(y)}" x2="${px(scale(high))}" y2="${px(y)}"/>`;
  const dots = [low, median, high].map(
    (value) => `<circle class="s${series}" cx="${px(scale(value))}" cy="${px(y)}" r="3.5"/>`,
  );
  return [line, ...dots].join('');
}

/** From zero past the highest value, with a tick every 1, 2 or 5 of some power of ten. */
function linearAxis(marks: readonly Spread[]): readonly [ticks: readonly number[], scale: Scale] {
  const highest = Math.max(...marks.map(({ high }) => high));
  const step = roundStep(highest / 5);
  const count = Math.ceil(highest / step);
  const ticks = Array.from({ length: count + 1 }, (_, index) => Number((index * step).toPrecision(6)));
  return [ticks, (value) => plot.left + (value / (count * step)) * (plot.right - plot.left)];
}

/** The least of 1, 2, 5, 10, 20, … and of their tenths that is not below the value. */
export function roundStep(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  const factor = [1, 2, 5].find((one) => one * power >= value * (1 - Number.EPSILON)) ?? 10;
  return factor * power;
}

/** Whole powers of ten around all values, a tick at each. */
function logarithmicAxis(marks: readonly Spread[]): readonly [ticks: readonly number[], scale: Scale] {
  const from = Math.floor(Math.log10(Math.min(...marks.map(({ low }) => low))));
  const to = Math.ceil(Math.log10(Math.max(...marks.map(({ high }) => high))));
  const powers = Math.max(1, to - from);
  const ticks = Array.from({ length: powers + 1 }, (_, index) =>
    Number((10 ** (from + index)).toPrecision(6)),
  );
  return [ticks, (value) => plot.left + ((Math.log10(value) - from) / powers) * (plot.right - plot.left)];
}

/** Pixels, to a tenth. */
function px(value: number): string {
  return String(Math.round(value * 10) / 10);
}

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}
