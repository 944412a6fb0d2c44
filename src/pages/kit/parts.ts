/** Parts of pages: tables, facts, panels, tags and small print. */

import { markup, type Markup, type MarkupPart } from '../../platform/markup.ts';
import type { ListPage } from '../../core/money/service/movements.ts';

/**
 * The links to the neighboring pages of a list, as `placeIn` reads them; undefined: there are none.
 * @param url of the list, without a query.
 * @param ids of the entries on this page, newest first.
 */
export function newerOlder(
  url: string,
  ids: readonly number[],
  { hasNewer, hasOlder }: Pick<ListPage<unknown>, 'hasNewer' | 'hasOlder'>,
  text: { readonly newer: string; readonly older: string; readonly pages: string },
): Markup | undefined {
  const [newest, oldest] = [ids.at(0), ids.at(-1)];
  if (newest === undefined || oldest === undefined || !(hasNewer || hasOlder)) return undefined;
  const link = (query: string, rel: 'prev' | 'next', name: string) =>
    markup`<a class="button" rel="${rel}" href="${url}?${query}">${name}</a>`;
  const newer = hasNewer ? link(`after=${newest}`, 'prev', text.newer) : undefined;
  const older = hasOlder ? link(`before=${oldest}`, 'next', text.older) : undefined;
  return markup`<nav class="row" aria-label="${text.pages}">${newer}${older}</nav>`;
}

/** A cell with classes of the style sheet, or the heading of its row. */
type MarkedCell = { readonly class: string; readonly html: MarkupPart } | { readonly heading: MarkupPart };

/** The cells of a row of a table. */
export type Row = readonly (MarkupPart | MarkedCell)[];

/** A column with its heading; a hidden one is for screen readers. */
type Column = string | { readonly class: string; readonly name: string; readonly isHidden?: boolean };

type Table = {
  /** For screen readers; absent: the heading of the panel says it. */
  readonly caption?: string;
  readonly columns: readonly Column[];
  readonly rows: readonly Row[];
  /** Classes of the style sheet. Default: `lines`. */
  readonly kind?: string;
};

function isMarked(cell: MarkupPart | MarkedCell): cell is MarkedCell {
  return typeof cell === 'object' && ('html' in cell || 'heading' in cell);
}

function cellOf(cell: MarkupPart | MarkedCell): Markup {
  if (!isMarked(cell)) return markup`<td role="cell">${cell}</td>`;
  return 'heading' in cell
    ? markup`<th scope="row" role="rowheader">${cell.heading}</th>`
    : markup`<td role="cell" class="${cell.class}">${cell.html}</td>`;
}

function headOf(column: Column): Markup {
  if (typeof column === 'string') return markup`<th scope="col" role="columnheader">${column}</th>`;
  const name = column.isHidden ? markup`<span class="sr">${column.name}</span>` : column.name;
  return markup`<th scope="col" role="columnheader" class="${column.class}">${name}</th>`;
}

export function table({ caption, columns, rows, kind = 'lines' }: Table): Markup {
  const name = caption === undefined ? undefined : markup`<caption class="sr">${caption}</caption>`;
  const lines = rows.map((row) => markup`<tr role="row">${row.map(cellOf)}</tr>\n`);
  return markup`<table class="table ${kind}" role="table">${name}<thead role="rowgroup"><tr role="row">${columns.map(headOf)}</tr></thead><tbody role="rowgroup">
${lines}</tbody></table>`;
}

export function tag(kind: 'good' | 'bad' | 'wait' | 'ended', text: MarkupPart): Markup {
  return markup`<span class="tag ${kind}">${text}</span>`;
}

/** The state of something that is made in parts: a batch, or a stock of printed cards. */
export function runTag(
  { state, failed }: { readonly state: 'running' | 'complete'; readonly failed: number },
  states: { readonly running: string; readonly failed: string; readonly complete: string },
): Markup {
  if (state === 'running') return tag('wait', states.running);
  return failed > 0 ? tag('bad', states.failed) : tag('good', states.complete);
}

export function small(text: MarkupPart): Markup {
  return markup`<span class="small soft">${text}</span>`;
}

/** Names and their values. */
export function facts(rows: Readonly<Record<string, MarkupPart>>): Markup {
  const lines = Object.entries(rows).map(([name, value]) => markup`<dt>${name}</dt><dd>${value}</dd>`);
  return markup`<dl class="facts">${lines}</dl>`;
}

/** A panel for one change. @param label for screen readers. */
export function panel(label: string, body: MarkupPart): Markup {
  return markup`<section class="panel stack change" aria-label="${label}">${body}</section>`;
}
