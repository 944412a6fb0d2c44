/** The transactions of a period by day, month, or who made them. */

import type { ReportDays } from '../../domain/books/report-days.ts';
import { markup, type Markup } from '../../platform/markup.ts';
import {
  activityGroups,
  readActivity,
  type ActivityReport,
  type ActivityGroup,
} from '../../service/books/reports.ts';
import { actorName, listActors } from '../kit/actors.ts';
import { select } from '../kit/form.ts';
import { dayText, monthText } from '../kit/format.ts';
import {
  amountsOf,
  countText,
  periodPath,
  periodText,
  routesOfReport,
  tablePanel,
  type ReportContext,
} from './page.ts';
import { askedDays, periodLinks, usualPeriods } from './period.ts';
import { reportTexts } from './texts.ts';
import { fillPlain, plural } from '../kit/texts.ts';

type Query = ReportDays & { readonly by: ActivityGroup };
type ActivityRow = ActivityReport['rows'][number];

/** More are only in the CSV file. A period has fewer days; a store can have more people, tokens and customers. */
const rowsListed = 500;

function groupIn({ request }: ReportContext): ActivityGroup {
  return activityGroups.find((group) => group === request.query.get('by')) ?? 'day';
}

export const activityRoutes = routesOfReport<Query, ActivityReport>({
  name: 'activity',
  ask(context) {
    const { request, today, language } = context;
    const text = reportTexts[language];
    const by = groupIn(context);
    const asked = askedDays(request.query, { today, language, usual: usualPeriods.thisMonth(today) });
    const options = activityGroups.map((value) => ({ value, text: text.groups[value] }));
    return {
      query: asked.query && { ...asked.query, by },
      fields: markup`${asked.fields}${select({ name: 'by', label: text.fields.by, options, value: by })}`,
    };
  },
  search: ({ by, from, to }) => ({ by, from, to }),
  read: ({ source }, query) => readActivity(source, query),
  file: ({ rows }, { from, to }) => ({ rows, about: `${from}-${to}` }),
  links: (context, current) =>
    periodLinks((days) => periodPath(context, 'activity', { by: groupIn(context), ...days }), {
      ...context,
      current,
    }),
  async show(context, { rows }, query) {
    const { language } = context;
    const text = reportTexts[language];
    const nameOf = await groupNames(context, query.by);
    const listed =
      query.by === 'actor'
        ? rows.toSorted((left, right) => right.transactions - left.transactions).slice(0, rowsListed)
        : rows;
    const left = rows.length - listed.length;
    const cut =
      left === 0 ? undefined : markup`<p class="small soft">${plural(language, text.cut, left)}</p>`;
    return markup`${groupsPanel(context, { rows, listed, query, nameOf })}${cut}`;
  },
});

/** How the groups are called: days and months in the language, and people by their names. */
async function groupNames(
  { source, store, language }: ReportContext,
  by: ActivityGroup,
): Promise<(group: string) => string> {
  if (by === 'day') return (day) => dayText(day, language);
  if (by === 'month') return (month) => monthText(month, language);
  const actors = await source.storage.read(() => listActors(store));
  return (actor) => actorName(actor, actors, language);
}

function groupsPanel(
  context: ReportContext,
  {
    rows,
    listed,
    query,
    nameOf,
  }: {
    readonly rows: readonly ActivityRow[];
    readonly listed: readonly ActivityRow[];
    readonly query: Query;
    readonly nameOf: (group: string) => string;
  },
): Markup {
  const { language, store } = context;
  const { columns, ...text } = reportTexts[language];
  const amount = amountsOf(context);
  const names = ['issued', 'topped_up', 'redeemed', 'refunded', 'adjusted', 'change'] as const;
  const sums = names.map((name) => amount(rows.reduce((sum, row) => sum + row[name], 0n)));
  const transactions = rows.reduce((sum, row) => sum + row.transactions, 0);
  return tablePanel(
    {
      id: 'activity',
      heading: `${text.titles.activity}, ${periodText(query, language)}`,
      note: `${fillPlain(text.amountsIn, { currency: store.currency.code })} ${text.undoneInBoth}`,
      columns: [
        { name: text.groups[query.by], isTime: query.by !== 'actor' },
        { name: columns.transactions, isSum: true },
        ...names.map((name) => ({ name: columns[name], isSum: true })),
      ],
      rows: listed.map((row) => ({
        name: nameOf(row.group),
        cells: [countText(row.transactions, language), ...names.map((name) => amount(row[name]))],
      })),
      total: { name: columns.total, cells: [countText(transactions, language), ...sums] },
    },
    text.none,
  );
}
