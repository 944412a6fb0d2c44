/**
 * Days as people and spreadsheets write them: `2026-12-31`, `31.12.2026`, `31/12/26`, `12/31/2026`. A day whose numbers
 * can be in two orders, such as `05/06/2026`, needs the order of its writer.
 */

/** The order of the day and the month in front of the year. */
export type DayOrder = 'day-month' | 'month-day';

export const ambiguousDay =
  'is ambiguous: its first two numbers can be in two orders; write it as YYYY-MM-DD';

const writtenLengthMax = 40;

/** Cells of a day can have its first second as well. */
const midnight = /[ T]0?0:00(?::00(?:\.0{1,9})?)?Z?$/;
const yearFirst = /^(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})$/;
const yearLast = /^(\d{1,2})([-/.])(\d{1,2})\2(\d{4}|\d{2})$/;

type Written =
  | { readonly kind: 'day'; readonly day: string }
  | {
      readonly kind: 'two orders';
      readonly first: number;
      readonly second: number;
      readonly year: string;
      /** Null: both are possible. */
      readonly order: DayOrder | null;
    };

function read(text: string): Written | undefined {
  if (text.length > writtenLengthMax) return undefined;
  const written = text.trim().replace(midnight, '').replaceAll(/\. /g, '.');
  const [isYearFirst, firstYear = '', firstMonth = '', firstDay = ''] = yearFirst.exec(written) ?? [];
  if (isYearFirst !== undefined) return { kind: 'day', day: dayOf(firstYear, firstMonth, firstDay) };
  const [isYearLast, one = '', separator, other = '', digits = ''] = yearLast.exec(written) ?? [];
  if (isYearLast === undefined) return undefined;
  // With hyphens and two digits it could begin with the year.
  if (separator === '-' && digits.length === 2) return undefined;
  const year = digits.length === 2 ? `20${digits}` : digits;
  // Points are only written between the day and the month, in this order.
  if (separator === '.') return { kind: 'day', day: dayOf(year, other, one) };
  const [first, second] = [Number(one), Number(other)];
  const order = orderOf(first, second);
  return { kind: 'two orders', first, second, year, order };
}

function orderOf(first: number, second: number): DayOrder | null {
  if (first > 12) return 'day-month';
  return second > 12 ? 'month-day' : null;
}

function dayOf(year: string, month: string | number, day: string | number): string {
  return `${year}-${String(month).padStart(2, '0')}-${String(day).padStart(2, '0')}`;
}

/**
 * The day as `YYYY-MM-DD`, which is not checked to exist. Null: it is ambiguous; undefined: the text is not a day in one of these forms.
 * @param order that of the writer; null: unknown.
 */
export function writtenDay(text: string, order: DayOrder | null): string | null | undefined {
  const written = read(text);
  if (written?.kind !== 'two orders') return written?.day;
  const { first, second, year } = written;
  if (first === second) return dayOf(year, first, second);
  const used = written.order ?? order;
  if (used === null) return null;
  return used === 'day-month' ? dayOf(year, second, first) : dayOf(year, first, second);
}

/** The order of the writer of a day; null: the day does not show it. */
export function dayOrderOf(text: string): DayOrder | null {
  const written = read(text);
  return written?.kind === 'two orders' ? written.order : null;
}
