/** Tables that are exported, as rows of typed cells: files of CSV and workbooks are written from them. */

/** A number with a point, such as `-25.00`. */
type Decimal = { readonly decimal: string };

export type ExportCell = string | number | Decimal | null;

export type ExportRow = Readonly<Record<string, ExportCell>>;

/** A table with the names of the API, in parts: other requests run before the next one. */
export type ExportTable<Name extends string = string> = {
  readonly columns: readonly Name[];
  readonly parts: AsyncIterable<readonly ExportRow[]>;
};

/**
 * The content of a column, except for amounts, which are decimals in any column. `day`: `YYYY-MM-DD`. `month`: `YYYY-MM`.
 * `time`: an instant, which people see in the time zone of the store. `text`: never a number, such as an id.
 */
export type ColumnKind = 'text' | 'count' | 'day' | 'month' | 'time';

/** A column as people see it. */
export type ShownColumn = { readonly name: string; readonly heading: string; readonly kind: ColumnKind };

export type ShownTable = {
  readonly columns: readonly ShownColumn[];
  readonly parts: AsyncIterable<readonly ExportRow[]>;
  /** The store’s. */
  readonly timeZone: string;
};

/** The kinds of columns by the names of the API, which mean the same in all tables. Others have texts. */
const kinds: Readonly<Record<string, ColumnKind>> = {
  as_of: 'day',
  day: 'day',
  expires_on: 'day',
  month: 'month',
  created_at: 'time',
  disabled_at: 'time',
  suspended_at: 'time',
  index: 'count',
  line: 'count',
  transactions: 'count',
  cards: 'count',
  cards_active: 'count',
  cards_suspended: 'count',
  cards_expired: 'count',
  cards_disabled: 'count',
};

export function columnKindOf(name: string): ColumnKind {
  return Object.hasOwn(kinds, name) ? (kinds[name] ?? 'text') : 'text';
}

/** An instant such as `2026-06-30T10:00:00Z` as people in a time zone write it: `2026-06-30 12:00:00`. */
export function localTimeOf(instant: string, timeZone: string): string {
  const local = Temporal.Instant.from(instant).toZonedDateTimeISO(timeZone).toPlainDateTime();
  return local.toString({ smallestUnit: 'second' }).replace('T', ' ');
}
