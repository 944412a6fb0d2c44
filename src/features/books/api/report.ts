/** An operation that returns a report: an object with rows as JSON, or the rows as CSV. */

import Type, { type Static, type TObject } from 'typebox';
import { csvOf } from '../../../core/tables/domain/csv.ts';
import { dayOf, dayPattern, parseDay } from '../../../core/domain/day.ts';
import { Fault } from '../../../core/domain/fault.ts';
import { accepted, rejected } from '../../../platform/parsed.ts';
import {
  momentOfDay,
  problemOfDays,
  reportDaysMax,
  type ReportDays,
  type ReportMoment,
} from '../domain/report-days.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import type { ExportRow } from '../../../core/tables/domain/export-table.ts';
import type { HttpResponse } from '../../../core/requests/service/http-response.ts';
import { reportRunsTool } from '../service/report-runs.ts';
import type { SumsSource } from '../service/report-sums.ts';
import { reportColumns, reportFile, type ReportFile, type ReportName } from '../service/report-file.ts';
import { csvHeaders, format, prefersCsv, type formats } from '../../../api/csv.ts';
import { field, required, type Fields, type Values } from '../../../api/field.ts';
import {
  type Common,
  type Operation,
  commonDocumentation,
  queryReader,
  routeOf,
} from '../../../api/operation-route.ts';
import { responseOf } from '../../../api/response.ts';

const asOfPattern =
  '^[0-9]{4}-[0-9]{2}-[0-9]{2}(?:T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:[.][0-9]{1,9})?(?:Z|[+-][0-9]{2}:[0-9]{2}))?$';
const instantForm = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/;

function parseInstant(value: string): number | undefined {
  try {
    return Temporal.Instant.from(value).epochMilliseconds;
  } catch {
    return undefined;
  }
}

export const reportMoment = field<ReportMoment>(
  Type.String({
    pattern: asOfPattern,
    description:
      'The moment of the report: a date and time with `Z` or an offset, or a date, which means the end of that day in the store’s time zone. A time in whole seconds includes the whole second. Not in the future. Default: now.',
    examples: ['2026-06-30', '2026-06-30T12:00:00Z'],
  }),
  (value, { store, now }) => {
    const error = 'must be a date, or a date and time with Z or an offset';
    if (typeof value !== 'string' || value.length > 40) return rejected(error);
    if (instantForm.test(value)) {
      const instant = parseInstant(value);
      if (instant === undefined) return rejected(error);
      if (instant > now) return rejected('must not be in the future');
      const until = value.includes('.') ? instant + 1 : instant + 1_000;
      return accepted({ until: Math.min(until, now + 1), shown: value });
    }
    const day = parseDay(value);
    if (!day.ok) return rejected(error);
    if (day.value > dayOf(now, store.timeZone)) return rejected('must not be in the future');
    return accepted(momentOfDay(day.value, store, now));
  },
);

function dayField(description: string) {
  return required(
    field<string>(
      Type.String({ pattern: dayPattern, description, examples: ['2026-06-30'] }),
      (value, { store, now }) => {
        const day = parseDay(value);
        return day.ok && day.value > dayOf(now, store.timeZone) ? rejected('must not be in the future') : day;
      },
    ),
  );
}

export const daysOfReport = {
  from: dayField('The first day, in the store’s time zone.'),
  to: dayField('The last day, today at the latest. A report has at most 366 days.'),
};

function wrongRange(message: string): Fault {
  return new Fault('invalid-query', { errors: { to: [message] } });
}

/** @throws Fault `invalid-query` if the days are in the wrong order, or too many. */
export function assertRange(days: ReportDays): void {
  const problem = problemOfDays(days);
  if (problem === 'reversed') throw wrongRange('must not be before from');
  if (problem === 'too-long') throw wrongRange(`must be at most ${reportDaysMax} days from the first day on`);
}

/** The parts of a report: the members of its object, and its rows. */
export type ReportResult<S extends TObject> = {
  readonly report: Static<S>;
  /** The rows of the CSV. */
  readonly rows: Parameters<typeof reportFile>[2]['rows'];
  /** The moment or period of the report, as a part of the file's name. */
  readonly about: string;
};

export function report<const Id extends string, const P extends string, S extends TObject, Q extends Fields>(
  definition: Omit<Common<Id, P>, 'scopes' | 'tag' | 'errors'> & {
    readonly query: Q;
    /** The name of the report in the response. */
    readonly member: ReportName;
    readonly schema: S;
    readonly example: NoInfer<Static<S>>;
    readonly responseDescription: string;
    readonly exampleRow: ExportRow;
    readonly run: (source: SumsSource, query: Values<Q>) => Promise<ReportResult<S>>;
  },
): Operation<Id> {
  const { member, schema, example, exampleRow, run, responseDescription } = definition;
  const common = { ...definition, scopes: ['read_reports'], tag: 'Reports', errors: [] } as const;
  const query = { ...definition.query, format };
  const readQuery = queryReader(query, 'invalid-query');
  return {
    ...routeOf(common, 'GET'),
    query: Object.keys(query),
    async handle(requestContext) {
      const { ctx, tools, caller, request } = requestContext;
      const { store } = caller;
      const now = ctx.clock.now();
      const queried = readQuery(requestContext, { store, now });
      // The type of the fields without `format`, which no report has.
      const values = queried as unknown as Values<Q> & { readonly format?: (typeof formats)[number] };
      const { format: _, ...parameters } = values;
      const requested = {
        store,
        name: member,
        made: ['operation', parameters],
        isPast: isPast(parameters, { store, now }),
        signal: request.signal,
      } as const;
      const made = await tools.of(reportRunsTool)(requested, (source) => run({ ...source, store }, values));
      const isCsv = values.format ? values.format === 'csv' : prefersCsv(request.headers.accept);
      if (!isCsv) return responseOf(200, { body: { [member]: made.report }, headers: { vary: 'Accept' } });
      return fileResponse(reportFile(store, member, made));
    },
    documentation: {
      ...commonDocumentation(common),
      query,
      response: {
        status: 200,
        description: responseDescription,
        headers: [],
        content: { members: { [member]: schema }, example: { [member]: example } },
        alternative: { type: 'text/csv', example: csvOf(reportColumns[member], [exampleRow]) },
      },
    },
  };
}

function fileResponse({ name, text }: ReportFile): HttpResponse {
  return {
    status: 200,
    headers: csvHeaders(name),
    body: text,
  };
}

/** Whether the moment, or the last day, of a report is over. */
function isPast(
  { as_of: moment, to }: { readonly as_of?: ReportMoment; readonly to?: string },
  { store, now }: { readonly store: Store; readonly now: number },
): boolean {
  if (moment) return moment.until <= now;
  return to !== undefined && to < dayOf(now, store.timeZone);
}
