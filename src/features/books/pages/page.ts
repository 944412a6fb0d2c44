/** The common parts of reports: a page with its fields and tables, and its files. */

import { reportRunsTool } from '../service/report-runs.ts';
import { dayOf } from '../../../core/domain/day.ts';
import type { ReportDays } from '../domain/report-days.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import { isPermitted, type Permission } from '../../../core/staff/domain/staff.ts';
import type { Location } from '../../../core/stores/domain/location.ts';
import { markup, type Markup, type MarkupPart } from '../../../platform/markup.ts';
import type { ReportName } from '../service/report-file.ts';
import type { SumsSource } from '../service/report-sums.ts';
import { dayText, decimalText, timeText } from '../../../pages/kit/format.ts';
import { longReads } from '../../../pages/kit/long-reads.ts';
import { get, type Page } from '../../../pages/kit/page-context.ts';
import { listPlaces } from '../../../pages/kit/places.ts';
import { tableFormats, tableLinks } from '../../../pages/kit/table-file.ts';
import { reportTableFile, type ReportTable } from './file.ts';
import type { Asked } from './period.ts';
import { reportTexts } from './texts.ts';
import type { ConsoleResponse, StaffRequest, StaffRoute } from '../../../pages/kit/route.ts';
import { fillPlain, type PageLanguage } from '../../../pages/kit/texts.ts';

/** The API has `/reports/…`, so the pages have other paths. */
const reportPaths = {
  liability: '/books/liability',
  journal: '/books/journal',
  aging: '/books/aging',
  activity: '/books/activity',
  breakage: '/books/breakage',
} as const satisfies Readonly<Record<ReportName, string>>;

/** The liability is not divided by location. */
const reportAccess = {
  liability: 'readStore',
  journal: 'readCards',
  aging: 'readStore',
  activity: 'readCards',
  breakage: 'readStore',
} as const satisfies Readonly<Record<ReportName, Permission>>;

/** The data of a report, and the page that shows it. */
export type ReportContext = {
  readonly source: SumsSource;
  readonly language: PageLanguage;
  readonly store: Store;
  /** The locations that the person sees, also closed ones; most stores have none. */
  readonly locations: readonly Location[];
  /** In the time zone of the store. */
  readonly today: string;
  readonly basePath: string;
  readonly page: Page;
  readonly request: StaffRequest;
  /** Returns the instant (ms) up to which the clock is trusted. */
  readonly findTrustedUntil: () => Promise<number>;
};

/** A file for another program. */
type ReportExport = { readonly name: string; readonly bytes: Buffer };

type ReportDefinition<Query, Made> = {
  readonly name: ReportName;
  readonly ask: (context: ReportContext) => Asked<Query>;
  /** The query of the files. */
  readonly search: (query: Query) => Readonly<Record<string, string>>;
  readonly read: (context: ReportContext, query: Query) => Promise<Made>;
  /** Returns the query of the period before, which the page shows too. */
  readonly compare?: (query: Query) => Query | undefined;
  readonly file: (made: Made, query: Query, context: ReportContext) => ReportTable | Promise<ReportTable>;
  /** Other files of the report, by the names of their paths; undefined: it cannot be made. */
  readonly exports?: Readonly<
    Record<string, (context: ReportContext, made: Made, query: Query) => ReportExport | undefined>
  >;
  /** Links to other periods, above the fields. */
  readonly links?: (context: ReportContext, query: Query | undefined) => Markup;
  readonly show: (
    context: ReportContext,
    made: Made,
    query: Query,
    before: Made | undefined,
  ) => Promise<Markup> | Markup;
};

async function contextOf(page: Page): Promise<ReportContext> {
  const { services, request, store, now, language, basePath } = page;
  const storage = longReads(services);
  return {
    source: { storage, store, now },
    locations: await storage.read(() => listPlaces(request.signedIn)),
    language,
    store,
    today: dayOf(now, store.timeZone),
    basePath,
    page,
    request,
    findTrustedUntil: services.condition.trustedUntil,
  };
}

function pills({ language, basePath, request }: ReportContext, current: ReportName): Markup {
  const text = reportTexts[language];
  const { member } = request.signedIn;
  const names = Object.keys(reportPaths) as readonly ReportName[];
  const open = names.filter((name) => isPermitted(member, reportAccess[name]));
  const links = open.map((name) => {
    const isCurrent = name === current ? markup` aria-current="true"` : undefined;
    return markup`<a href="${basePath}${reportPaths[name]}"${isCurrent}>${text.names[name]}</a>`;
  });
  return markup`<nav class="pills" aria-label="${text.title}">${links}</nav>`;
}

async function make<Query, Made>(
  { name, search, read }: ReportDefinition<Query, Made>,
  context: ReportContext,
  query: Query,
): Promise<Made> {
  const { store, today, page, request } = context;
  const parameters = search(query);
  const { as_of: day, to = day } = parameters;
  const isPast = to !== undefined && to < today;
  // Equal parameters are another report for a person who is limited to locations.
  const made = ['page', { ...parameters, limit: page.member.locationIds }] as const;
  const requested = { store, name, made, isPast, signal: request.signal } as const;
  return await page.services.tools.of(reportRunsTool)(requested, (source) =>
    read({ ...context, source: { ...source, store } }, query),
  );
}

function pageOf<Query, Made>(
  { name, search, links }: ReportDefinition<Query, Made>,
  context: ReportContext,
  {
    query,
    fields,
    content,
    status = query === undefined ? 422 : 200,
  }: Asked<Query> & { readonly content?: Markup; readonly status?: 200 | 422 | undefined },
): ConsoleResponse {
  const { language, store, today, page } = context;
  const text = page.text.reports;
  const path = page.url(reportPaths[name]);
  const actions =
    query === undefined
      ? undefined
      : markup`<button class="button" type="button" data-print hidden>${text.print}</button>${tableLinks(path, new URLSearchParams(search(query)), language)}`;
  const printed = fillPlain(text.printed, { store: store.name, day: dayText(today, language) });
  const body = markup`<div class="stack report">${pills(context, name)}
<p class="only-print small">${printed}</p>
${links?.(context, query)}
<form class="panel filters" action="${path}" aria-label="${text.titles[name]}">${fields}<button class="button">${text.show}</button></form>
${content}</div>`;
  const section = isPermitted(page.member, 'readStore') ? reportPaths.liability : reportPaths.activity;
  return page.show(section, { status, title: text.titles[name], actions, body });
}

/** The page of a report, and its files. */
export function routesOfReport<Query, Made>(report: ReportDefinition<Query, Made>): readonly StaffRoute[] {
  const { name, ask, file, show, exports = {} } = report;
  const [path, access] = [reportPaths[name], reportAccess[name]];
  return [
    get(path, access, async (page) => {
      const context = await contextOf(page);
      const asked = ask(context);
      const { query } = asked;
      if (query === undefined) return pageOf(report, context, asked);
      return await shownPage(context, asked, query);
    }),
    ...tableFormats.map((format) =>
      get(
        `${path}.${format}`,
        access,
        async (page) => {
          const context = await contextOf(page);
          const asked = ask(context);
          const { query } = asked;
          if (query === undefined) return pageOf(report, context, asked);
          const table = await file(await make(report, context, query), query, context);
          const { language, store } = page;
          return { status: 200, file: reportTableFile(store, name, table, { format, language }) };
        },
        { sendsFile: 'other' },
      ),
    ),
    ...Object.entries(exports).map(([program, exported]) =>
      get(
        `${path}/${program}.csv`,
        access,
        async (page) => {
          const context = await contextOf(page);
          const asked = ask(context);
          const { query } = asked;
          if (query === undefined) return pageOf(report, context, asked);
          const made = exported(context, await make(report, context, query), query);
          // The page says why.
          if (made === undefined) return await shownPage(context, asked, query, 422);
          return { status: 200, file: { name: made.name, type: 'text/csv', parts: partsOf(made.bytes) } };
        },
        { sendsFile: 'other' },
      ),
    ),
  ];

  async function shownPage(
    context: ReportContext,
    asked: Asked<Query>,
    query: Query,
    status?: 422,
  ): Promise<ConsoleResponse> {
    const made = await make(report, context, query);
    const earlier = report.compare?.(query);
    const before = earlier === undefined ? undefined : await make(report, context, earlier);
    const content = await show(context, made, query, before);
    return pageOf(report, context, { ...asked, content, status });
  }
}

async function* partsOf(file: Buffer): AsyncGenerator<Buffer, void> {
  yield file;
}

/** The path of a report of a period. */
export function periodPath(
  { basePath }: Pick<ReportContext, 'basePath'>,
  name: ReportName,
  query: Readonly<Record<string, string>>,
): string {
  return `${basePath}${reportPaths[name]}?${new URLSearchParams(query).toString()}`;
}

/** When the figures are of: the end of a day, or now. */
export function momentText({ source, store, language, today }: ReportContext, day: string): string {
  const text = reportTexts[language];
  const zone = store.timeZone;
  return day === today
    ? fillPlain(text.untilNow, { time: timeText(source.now, store, language), zone })
    : fillPlain(text.untilDay, { day: dayText(day, language), zone });
}

/** A period as a heading. */
export function periodText({ from, to }: ReportDays, language: PageLanguage): string {
  if (from === to) return dayText(from, language);
  return `${dayText(from, language)} – ${dayText(to, language)}`;
}

/** Amounts in the columns of a table, without the currency. */
export function amountsOf({ store: { currency }, language }: Pick<ReportContext, 'store' | 'language'>) {
  return (minor: bigint): string => decimalText({ minor, currency }, language);
}

export function countText(count: number, language: PageLanguage): string {
  return new Intl.NumberFormat(language).format(count);
}

/** A column of a table: its heading, and whether it has figures, or days or months, which stay on one line. */
type Column = { readonly name: string; readonly isSum?: boolean; readonly isTime?: boolean };

/** The row of a table: its heading, and the other cells. */
type Row = { readonly name: MarkupPart; readonly cells: readonly MarkupPart[] };

/** A table in a panel. */
export function tablePanel(
  {
    id,
    heading,
    note,
    columns,
    rows,
    total,
  }: {
    readonly id: string;
    readonly heading: string;
    /** After the heading. */
    readonly note?: MarkupPart;
    readonly columns: readonly [Column, ...Column[]];
    readonly rows: readonly Row[];
    readonly total?: Row;
  },
  empty: string,
): Markup {
  const heads = columns.map(
    ({ name, isSum = false }) =>
      markup`<th scope="col"${isSum ? markup` class="sum"` : undefined}>${name}</th>`,
  );
  const rowOf = ({ name, cells }: Row): Markup => {
    const shown = cells.map((cell, place) =>
      columns[place + 1]?.isSum === true ? markup`<td class="sum">${cell}</td>` : markup`<td>${cell}</td>`,
    );
    const kind = columns[0].isTime === true ? markup` class="nowrap"` : undefined;
    return markup`<tr><th scope="row"${kind}>${name}</th>${shown}</tr>
`;
  };
  const table =
    rows.length === 0
      ? markup`<p class="empty">${empty}</p>`
      : markup`<div class="scroll" tabindex="0" role="group" aria-labelledby="${id}"><table class="table"><thead><tr>${heads}</tr></thead><tbody>
${rows.map(rowOf)}</tbody>${total && markup`<tfoot>${rowOf(total)}</tfoot>`}</table></div>`;
  return markup`<section class="panel flush" aria-labelledby="${id}"><div class="head"><h2 id="${id}">${heading}</h2>${note === undefined ? undefined : markup`<p class="soft small">${note}</p>`}</div>
${table}</section>`;
}
