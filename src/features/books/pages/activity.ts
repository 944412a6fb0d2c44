/** The transactions of a period by day, month, or who made them. */

import { visiblePlaces } from '../../../core/staff/domain/staff.ts';
import { markup, type Markup } from '../../../platform/markup.ts';
import {
  activityGroups,
  readActivity,
  type ActivityReport,
  type ActivityGroup,
  type ActivityQuery,
} from '../service/reports.ts';
import { actorName, listActors } from '../../../pages/kit/actors.ts';
import { barsPanel, comparedDays } from './bars.ts';
import { select } from '../../../pages/kit/form.ts';
import { chosenPlace, placeField, placeText } from '../../../pages/kit/places.ts';
import { dayText, monthText } from '../../../pages/kit/format.ts';
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
import { fillPlain, plural } from '../../../pages/kit/texts.ts';

type ActivityRow = ActivityReport['rows'][number];

/** More are only in the CSV file. A period has fewer days; a store can have more people, tokens and customers. */
const rowsListed = 500;

/** Only a store with locations has the group of locations. */
function groupsOf({ locations }: ReportContext): readonly ActivityGroup[] {
  return activityGroups.filter((group) => group !== 'location' || locations.length > 0);
}

function groupIn(context: ReportContext): ActivityGroup {
  const asked = context.request.query.get('by');
  return groupsOf(context).find((group) => group === asked) ?? 'day';
}

/** The location that the report is of; undefined: all those that the person sees. */
function locationIn({ request, locations }: ReportContext): number | null | undefined {
  return chosenPlace(request.query.get('location'), request.signedIn, locations);
}

/** The parameters except the days. */
function splitOf(
  by: ActivityGroup,
  location: number | null | undefined,
): Readonly<Record<'by', string>> & { readonly location?: string } {
  return {
    by,
    ...(location !== undefined && { location: placeText(location) }),
  };
}

export const activityRoutes = routesOfReport<ActivityQuery, ActivityReport>({
  name: 'activity',
  ask(context) {
    const { request, today, language } = context;
    const text = reportTexts[language];
    const by = groupIn(context);
    const asked = askedDays(request.query, { today, language, usual: usualPeriods.thisMonth(today) });
    const location = locationIn(context);
    const options = groupsOf(context).map((value) => ({ value, text: text.groups[value] }));
    return {
      query: asked.query && {
        ...asked.query,
        by,
        locations: visiblePlaces(request.signedIn.member, location) ?? undefined,
      },
      fields: markup`${asked.fields}${select({ name: 'by', label: text.fields.by, options, value: by })}${placeField(request, { locations: context.locations, chosen: location })}`,
    };
  },
  search: ({ by, from, to, locations }) => ({
    ...splitOf(by, locations?.length === 1 ? locations[0] : undefined),
    from,
    to,
  }),
  read: ({ source }, query) => readActivity(source, query),
  compare(query) {
    const days = comparedDays(query);
    return days && { ...query, ...days };
  },
  async file({ rows }, { from, to, by }, context) {
    const heading = reportTexts[context.language].groups[by];
    const isTime = by === 'day' || by === 'month';
    const nameOf = by === 'actor' ? await groupNames(context, by) : undefined;
    return {
      rows,
      about: `${from}-${to}`,
      group: { heading, ...(isTime && { kind: by }) },
      ...(nameOf && { groupName: nameOf }),
    };
  },
  links: (context, current) =>
    periodLinks(
      (days) =>
        periodPath(context, 'activity', { ...splitOf(groupIn(context), locationIn(context)), ...days }),
      { ...context, current },
    ),
  async show(context, made, query, before) {
    const { rows } = made;
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
    const bars = before && barsPanel(context, made, before);
    return markup`${bars}${groupsPanel(context, { rows, listed, query, nameOf })}${cut}`;
  },
});

/** The names of the groups: days and months in the language, and people by their names. */
async function groupNames(
  { source, store, language, locations }: ReportContext,
  by: ActivityGroup,
): Promise<(group: string) => string> {
  if (by === 'location') {
    const names = new Map(locations.map(({ id, name }) => [String(id), name]));
    return (id) => names.get(id) ?? id;
  }
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
    readonly query: ActivityQuery;
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
        { name: text.groups[query.by], isTime: query.by === 'day' || query.by === 'month' },
        { name: columns.transactions, isSum: true },
        ...names.map((name) => ({ name: columns[name], isSum: true })),
      ],
      rows: listed.map((row) => ({
        name: row.group === null ? text.noLocation : nameOf(row.group),
        cells: [countText(row.transactions, language), ...names.map((name) => amount(row[name]))],
      })),
      total: { name: columns.total, cells: [countText(transactions, language), ...sums] },
    },
    text.none,
  );
}
