/** The journal as a file that an accounting program imports. */

import { csvOf } from '../../../core/tables/domain/csv.ts';
import type { ReportDays } from '../domain/report-days.ts';
import { monthlyLinesOf, type JournalLine } from '../domain/reports.ts';
import { addDays } from '../../../core/domain/day.ts';
import { formatMoney } from '../../../core/money/domain/money.ts';
import type { Datev } from '../../../core/stores/domain/datev.ts';
import { journalAccounts, type JournalAccount, type Store } from '../../../core/stores/domain/store.ts';
import { datevFile, fiscalYearOf } from './datev-file.ts';

export const journalFormats = ['datev', 'quickbooks', 'xero'] as const;

export type JournalFormat = (typeof journalFormats)[number];

/** More lines are an error in Xero. */
const xeroLinesMax = 300;
const xeroCodeLengthMax = 10;

/** The reason for which a file cannot be made. */
export type JournalFileProblem =
  /** Accounts of the lines that have no number, which the program needs. */
  | { readonly name: 'accounts'; readonly accounts: readonly JournalAccount[] }
  /** The store has no settings of DATEV. */
  | { readonly name: 'datev' }
  /** DATEV’s amounts have two decimals. */
  | { readonly name: 'currency' }
  /** The days are in two fiscal years. */
  | { readonly name: 'years' }
  /** Xero accepts at most 300 lines. */
  | { readonly name: 'lines' };

type JournalFile = { readonly name: string; readonly bytes: Buffer };

export type JournalSource = {
  readonly store: Pick<Store, 'currency' | 'accountNames' | 'datev'>;
  readonly days: ReportDays;
  /** The lines of all locations together. */
  readonly lines: readonly JournalLine[];
  /** The name of an account to which the store gave none. */
  readonly usualNameOf: (account: JournalAccount) => string;
  /** Returns the text of a line. */
  readonly textOf: (kind: JournalLine['kind']) => string;
  /** The name of the tax rate in Xero that means no tax. */
  readonly taxRate: string;
  /** ms */
  readonly now: number;
};

/** Says why the file of a format cannot be made; undefined: it can. */
export function journalFileProblem(
  format: JournalFormat,
  source: JournalSource,
): JournalFileProblem | undefined {
  return programs[format].problem(source);
}

/** Makes the file of a format, of which `journalFileProblem` says nothing. */
export function journalFile(format: JournalFormat, source: JournalSource): JournalFile {
  const { from, to } = source.days;
  const name = format === 'datev' ? `EXTF_Buchungsstapel_${from}_${to}` : `${format}-journal-${from}-${to}`;
  return { name: `${name}.csv`, bytes: programs[format].make(source) };
}

type Program = {
  readonly problem: (source: JournalSource) => JournalFileProblem | undefined;
  readonly make: (source: JournalSource) => Buffer;
};

const programs: Readonly<Record<JournalFormat, Program>> = {
  datev: {
    problem({ store, days, lines }) {
      const { datev, currency } = store;
      if (datev === null) return { name: 'datev' };
      if (currency.decimals > 2) return { name: 'currency' };
      if (fiscalYearOf(days.from, datev) !== fiscalYearOf(days.to, datev)) return { name: 'years' };
      return missingIn(lines, datevNumbers(store, datev));
    },
    make({ store, days, lines, textOf, now }) {
      const { datev } = store;
      if (datev === null) throw new Error('the store has no settings of DATEV');
      const numbers = datevNumbers(store, datev);
      const numberOf = (account: JournalAccount): string => numbers.get(account) ?? '';
      return datevFile(store, { datev, days, lines, numberOf, textOf, createdAt: now });
    },
  },

  /** A journal for each day. QuickBooks knows accounts by their names. */
  quickbooks: {
    problem: () => undefined,
    make({ store, lines, usualNameOf, textOf }) {
      const columns = ['Journal No.', 'Journal Date', 'Account Name', 'Description', 'Debits', 'Credits'];
      const rows = lines.map(({ day, kind, account, debit, credit }) => {
        const [year, month, date] = day.split('-');
        return {
          'Journal No.': `GC${day.replaceAll('-', '')}`,
          'Journal Date': `${month}/${date}/${year}`,
          'Account Name': store.accountNames[account] ?? usualNameOf(account),
          Description: textOf(kind),
          Debits: amountOf(store, debit),
          Credits: amountOf(store, credit),
        };
      });
      return Buffer.from(csvOf(columns, rows));
    },
  },

  /** A journal for each day, or for each month if there are too many lines. */
  xero: {
    problem({ store, lines }) {
      if (xeroLines(lines).length > xeroLinesMax) return { name: 'lines' };
      return missingIn(lines, xeroCodes(store));
    },
    make({ store, days, lines, textOf, taxRate }) {
      const codes = xeroCodes(store);
      const columns = ['*Narration', '*Date', 'Description', '*AccountCode', '*TaxRate', '*Amount'];
      const tracking = ['TrackingName1', 'TrackingOption1', 'TrackingName2', 'TrackingOption2'];
      const rows = xeroLines(lines).map(({ day, kind, account, debit, credit }) => {
        const [year, month, date] = dateOf(day, days).split('-');
        return {
          '*Narration': `Gift cards ${day}`,
          '*Date': `${date}/${month}/${year}`,
          Description: textOf(kind),
          '*AccountCode': codes.get(account) ?? null,
          '*TaxRate': taxRate,
          '*Amount': amountOf(store, debit - credit),
        };
      });
      return Buffer.from(csvOf([...columns, ...tracking], rows));
    },
  },
};

type Names = Pick<Store, 'accountNames'>;

function datevNumbers(store: Names, { accountLength }: Datev): ReadonlyMap<JournalAccount, string> {
  return codesOf(store, (code) => code.length <= accountLength && /^\d+$/.test(code) && Number(code) > 0);
}

function xeroCodes(store: Names): ReadonlyMap<JournalAccount, string> {
  return codesOf(store, (code) => code.length <= xeroCodeLengthMax);
}

function xeroLines(lines: readonly JournalLine[]): readonly JournalLine[] {
  return lines.length > xeroLinesMax ? monthlyLinesOf(lines) : lines;
}

/** The date of a day’s lines, or of a month’s: its last day in the period. */
function dateOf(day: string, { to }: ReportDays): string {
  if (day.length > 'YYYY-MM'.length) return day;
  const first = Temporal.PlainDate.from(`${day}-01`);
  const last = addDays(first.add({ months: 1 }).toString(), -1);
  return last < to ? last : to;
}

/** The accounts’ numbers or codes: the first words of the names that the store gave them. */
function codesOf(
  { accountNames }: Names,
  isCode: (word: string) => boolean,
): ReadonlyMap<JournalAccount, string> {
  const codes = journalAccounts.map(
    (account) => [account, accountNames[account]?.split(/\s/, 1)[0]] as const,
  );
  return new Map(
    codes.filter((each): each is [JournalAccount, string] => each[1] !== undefined && isCode(each[1])),
  );
}

function missingIn(
  lines: readonly JournalLine[],
  codes: ReadonlyMap<JournalAccount, string>,
): JournalFileProblem | undefined {
  const used = new Set(lines.map(({ account }) => account));
  const accounts = journalAccounts.filter((account) => used.has(account) && !codes.has(account));
  return accounts.length === 0 ? undefined : { name: 'accounts', accounts };
}

/** An amount as a number; null: 0. */
function amountOf({ currency }: Pick<Store, 'currency'>, minor: bigint): { readonly decimal: string } | null {
  return minor === 0n ? null : { decimal: formatMoney({ minor, currency }) };
}
