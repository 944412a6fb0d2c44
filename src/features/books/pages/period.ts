/** The day or the period of a report, as it was typed, and what is wrong with it. */

import { addDays, parseDay } from '../../../core/domain/day.ts';
import { problemOfDays, type ReportDays } from '../domain/report-days.ts';
import { markup, type Markup } from '../../../platform/markup.ts';
import { inputField } from '../../../pages/kit/form.ts';
import { reportTexts } from './texts.ts';
import type { PageLanguage } from '../../../pages/kit/texts.ts';

type DayProblem = keyof (typeof reportTexts)['en']['errors'];

/** A field with a day. */
type TypedDay = { readonly typed: string; readonly problem?: DayProblem };

const typedLengthMax = 10;

function typedDay(typed: string, today: string): TypedDay {
  const shown = typed.slice(0, typedLengthMax);
  if (typed.length > typedLengthMax || !parseDay(typed).ok) return { typed: shown, problem: 'noDay' };
  return typed > today ? { typed, problem: 'future' } : { typed };
}

function dayField(
  name: 'as_of' | 'from' | 'to',
  { typed, problem }: TypedDay,
  language: PageLanguage,
): Markup {
  const text = reportTexts[language];
  const error = problem && text.errors[problem];
  return inputField({ name, label: text.fields[name], type: 'date', value: typed, error });
}

/** The query of a request. */
export type Asked<Query> = {
  /** Undefined: a field is rejected. */
  readonly query: Query | undefined;
  readonly fields: Markup;
};

/** The end of which day. The default is today. */
export function askedDay(
  typed: ReadonlyMap<string, string>,
  { today, language }: { readonly today: string; readonly language: PageLanguage },
): Asked<string> {
  const day = typedDay(typed.get('as_of') || today, today);
  return { query: day.problem ? undefined : day.typed, fields: dayField('as_of', day, language) };
}

/** From which day to which. The default is for a request with neither. */
export function askedDays(
  typed: ReadonlyMap<string, string>,
  {
    today,
    language,
    usual,
  }: { readonly today: string; readonly language: PageLanguage; readonly usual: ReportDays },
): Asked<ReportDays> {
  const isTyped = typed.has('from') || typed.has('to');
  const given = isTyped ? { from: typed.get('from') ?? '', to: typed.get('to') ?? '' } : usual;
  const from = typedDay(given.from, today);
  const to = typedDay(given.to, today);
  const days = { from: from.typed, to: to.typed };
  const isWrong = from.problem !== undefined || to.problem !== undefined;
  const problem = isWrong ? undefined : problemOfDays(days);
  const shownTo: TypedDay = problem
    ? { typed: to.typed, problem: problem === 'reversed' ? 'reversed' : 'tooLong' }
    : to;
  return {
    query: isWrong || problem ? undefined : days,
    fields: markup`${dayField('from', from, language)}${dayField('to', shownTo, language)}`,
  };
}

function firstOfMonth(day: string, months = 0): string {
  return Temporal.PlainDate.from(day).with({ day: 1 }).add({ months }).toString();
}

/** Periods that accountants ask for. Those that have not ended end today. */
export const usualPeriods = {
  thisMonth: (today) => ({ from: firstOfMonth(today), to: today }),
  lastMonth: (today) => ({ from: firstOfMonth(today, -1), to: addDays(firstOfMonth(today), -1) }),
  thisQuarter: (today) => ({ from: firstOfQuarter(today), to: today }),
  lastQuarter: (today) => ({
    from: firstOfMonth(firstOfQuarter(today), -3),
    to: addDays(firstOfQuarter(today), -1),
  }),
  thisYear: (today) => ({ from: `${today.slice(0, 4)}-01-01`, to: today }),
  lastYear: (today) => {
    const from = firstOfMonth(`${today.slice(0, 4)}-01-01`, -12);
    return { from, to: addDays(`${today.slice(0, 4)}-01-01`, -1) };
  },
} as const satisfies Readonly<Record<string, (today: string) => ReportDays>>;

function firstOfQuarter(day: string): string {
  const { month } = Temporal.PlainDate.from(day);
  return firstOfMonth(day, -((month - 1) % 3));
}

/** Twelve months up to today. */
export function lastTwelveMonths(today: string): ReportDays {
  return { from: firstOfMonth(today, -11), to: today };
}

/** Links to the usual periods. @param path with a query, to which the days are added. */
export function periodLinks(
  path: (days: ReportDays) => string,
  {
    today,
    language,
    current,
  }: { readonly today: string; readonly language: PageLanguage; readonly current: ReportDays | undefined },
): Markup {
  const text = reportTexts[language];
  const links = Object.entries(usualPeriods).map(([name, daysOf]) => {
    const days = daysOf(today);
    const isCurrent = days.from === current?.from && days.to === current.to;
    const label = text.periods[name as keyof typeof usualPeriods];
    return markup`<a href="${path(days)}"${isCurrent ? markup` aria-current="true"` : undefined}>${label}</a>`;
  });
  return markup`<nav class="pills" aria-label="${text.period}">${links}</nav>`;
}

/**
 * The distance of the period before, in months. A quarter and a year that have not ended are compared with the one before
 * from its beginning, and other periods with as many months.
 */
function monthsBefore(first: Temporal.PlainDate, last: Temporal.PlainDate): number {
  const months = (last.year - first.year) * 12 + last.month - first.month + 1;
  if (first.day !== 1 || months === 1) return months;
  if ((first.month - 1) % 3 === 0 && months <= 3) return 3;
  return first.month === 1 && months <= 12 ? 12 : months;
}

/**
 * The period before, and its day or month for one of this period. A period that begins with a month is compared day by day
 * with whole months before; another one with the same number of days, or of months if the report is by month.
 */
export function periodBefore(
  { from, to }: ReportDays,
  by: 'day' | 'month',
): {
  readonly days: ReportDays;
  /** Undefined: the month before has no such day. */
  readonly earlier: (group: string) => string | undefined;
} {
  const [first, last] = [Temporal.PlainDate.from(from), Temporal.PlainDate.from(to)];
  if (by === 'day' && first.day !== 1) {
    const days = first.until(last).days + 1;
    const earlier = (day: string): string => addDays(day, -days);
    return { days: { from: earlier(from), to: earlier(to) }, earlier };
  }
  const months = monthsBefore(first, last);
  return {
    days: { from: first.subtract({ months }).toString(), to: last.subtract({ months }).toString() },
    earlier: (group) => {
      if (group.length === 'YYYY-MM'.length)
        return Temporal.PlainYearMonth.from(group).subtract({ months }).toString();
      const day = Temporal.PlainDate.from(group);
      const before = day.subtract({ months });
      return before.day === day.day ? before.toString() : undefined;
    },
  };
}
