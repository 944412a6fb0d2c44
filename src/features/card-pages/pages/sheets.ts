/** Cards on paper, in the design of the store: one on each sheet, or several labels, and many on one page of the browser. */

import type { Card } from '../../../core/cards/domain/card.ts';
import { designOf } from '../../../core/cards/domain/design.ts';
import { markup, type Markup } from '../../../platform/markup.ts';
import { readEmailSettings } from '../../emails/service/settings.ts';
import { cardLabel } from './label.ts';
import { cardSheet, sheetLookOf, type Sheet } from './sheet.ts';
import { drawingOf } from '../../../pages/kit/gift.ts';
import { documentOf } from '../../../pages/kit/page.ts';
import type { ConsoleResponse } from '../../../pages/kit/route.ts';
import { catalogue } from '../../../pages/kit/texts.ts';
import type { Page } from '../../../pages/kit/page-context.ts';

/** The ways in which cards are on a sheet of paper: the cards of a sheet, and the class of its labels. */
const layouts = {
  '1': { cards: 1 },
  '8': { cards: 8, labels: 'eight' },
  '10': { cards: 10, labels: 'ten' },
  letter: { cards: 10, labels: 'letter' },
} as const;
const layoutNames = ['1', '8', '10', 'letter'] as const satisfies readonly (keyof typeof layouts)[];

/** The most cards on one page of the browser. */
const cardsOnPage = 50;

type Layout = (typeof layoutNames)[number];

/** The part of the cards that a request asks for. */
type SheetPlace = { readonly layout: Layout; readonly from: number; readonly limit: number };

/** @param isAnyPlace whether a page can begin at any card. */
export function sheetPlaceOf(page: Page, { isAnyPlace = false } = {}): SheetPlace {
  const layout = layoutNames.find((name) => name === page.request.query.get('per')) ?? '1';
  const limit = cardsOnPage - (cardsOnPage % layouts[layout].cards);
  const sent = page.request.query.get('from') ?? '';
  const from = /^\d{1,9}$/.test(sent) ? Number(sent) : 0;
  return { layout, limit, from: isAnyPlace ? from : Math.floor(from / limit) * limit };
}

type Sheets = {
  /** The path of the cards' own page, without the base path. */
  readonly path: string;
  readonly place: SheetPlace;
  readonly cards: readonly (Pick<Sheet, 'card' | 'code' | 'amount' | 'at'> & Pick<Card, 'design'>)[];
  /** The hint on the page. */
  readonly hint: string;
  /** The start of the neighboring pages; null: there is none. */
  readonly previous: number | null;
  readonly next: number | null;
};

/** The sheets, in the language of the store's emails. */
export async function sheetsPage(
  page: Page,
  { path, place, cards, hint, previous, next }: Sheets,
): Promise<ConsoleResponse> {
  const { print: text } = catalogue[page.language].batches;
  const { layout } = place;
  const settings = await page.read(() => readEmailSettings(page.store.id));
  const look = sheetLookOf(page.services, page.store, settings);
  const { brand } = look;
  const common = { ...look, fold: text.fold };
  const sheets = cards.map(({ design, ...card }) => {
    const drawing = drawingOf(page.services.frame, designOf(design, settings.design));
    const sheet = { ...card, ...common, drawing };
    return layout === '1' ? cardSheet(sheet) : cardLabel(sheet);
  });
  const own = `${page.basePath}${path}`;
  const pathOf = (per: Layout, start: number): string => `${own}/print?per=${per}&from=${start}`;
  const link = (start: number | null, rel: 'prev' | 'next', name: string): Markup | undefined =>
    start === null
      ? undefined
      : markup`<a class="button" rel="${rel}" href="${pathOf(layout, start)}">${name}</a>`;
  const print =
    sheets.length === 0
      ? undefined
      : markup`<button class="button first" type="button" data-print hidden>${text.title}</button>`;
  const choices = layoutNames.map((per) => {
    const current = per === layout ? markup` aria-current="true"` : undefined;
    return markup`<a href="${pathOf(per, 0)}"${current}>${per === 'letter' ? text.letter : per}</a>`;
  });
  const body = markup`<main class="branded" id="content"><h1 class="sr">${text.title}</h1>
<div class="tools noprint">${print}${link(previous, 'prev', text.previous)}${link(next, 'next', text.next)}<a class="button" href="${own}">${text.back}</a><nav class="pills" aria-label="${text.per}"><span class="small soft">${text.per}</span>${choices}</nav><p class="small">${hint}</p></div>
${pagesOf(sheets, layout)}</main>`;
  const title = `${text.title} · ${page.store.name}`;
  return { status: 200, body: documentOf(page.services, page.request, { title, body, brand }) };
}

/** One sheet of paper for each card, or for several labels. */
function pagesOf(sheets: readonly Markup[], layout: Layout): readonly Markup[] {
  if (layout === '1') return sheets;
  const { cards, labels: kind } = layouts[layout];
  return chunksOf(sheets, cards).map(
    (labels) => markup`<section class="labels ${kind}">${labels}</section>
`,
  );
}

function chunksOf<T>(items: readonly T[], size: number): readonly (readonly T[])[] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, place) =>
    items.slice(place * size, (place + 1) * size),
  );
}
