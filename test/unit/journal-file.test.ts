/** The files of the journal for accounting programs. */

import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import type { DaySum } from '../../src/features/books/domain/books.ts';
import { journalOf, withoutLocations, type JournalLine } from '../../src/features/books/domain/reports.ts';
import { currencyOf } from '../../src/core/money/domain/currency.ts';
import { formatDatev, parseDatev, type Datev } from '../../src/core/stores/domain/datev.ts';
import {
  journalAccounts,
  type AccountNames,
  type JournalAccount,
} from '../../src/core/stores/domain/store.ts';
import { postingsOf } from '../../src/features/books/service/datev-file.ts';
import {
  journalFile,
  journalFileProblem,
  type JournalFormat,
  type JournalSource,
} from '../../src/features/books/service/journal-file.ts';

const eur = currencyOf('EUR');
const datev: Datev = { consultant: 29098, client: 55003, firstMonth: 7, accountLength: 4 };
const accountNames: AccountNames = Object.fromEntries(
  journalAccounts.map((account, place) => [account, `${1300 + place} Konto`]),
);
const days = { from: '2026-11-01', to: '2026-11-30' };

const amount = fc.bigInt({ min: 0n, max: 10n ** 9n });
const vat = fc.constantFrom('', 'multi_purpose', 'single_purpose 19', 'single_purpose 7');
const day = fc.integer({ min: 1, max: 30 }).map((date) => `2026-11-${String(date).padStart(2, '0')}`);
const place = fc.constantFrom(null, 1, 2);

function sumOf(changes: Partial<DaySum>): DaySum {
  return {
    day: '2026-11-01',
    kind: 'issue',
    bucket: 'active',
    account: 'sales',
    actor: '',
    vat: '',
    locationId: null,
    entries: 1,
    raised: 0n,
    lowered: 0n,
    raisedTax: 0n,
    loweredTax: 0n,
    cards: 0,
    ...changes,
  };
}

/** Sums of transfers. */
const transfers = fc
  .record({
    day,
    vat,
    locationId: place,
    of: fc.constantFrom(
      ...([
        'issue sales',
        'credit top_ups',
        'debit redemptions',
        'reversal sales',
        'adjustment adjustments',
      ] as const),
    ),
    bucket: fc.constantFrom('active', 'expired', 'disabled'),
    raised: amount,
    lowered: amount,
  })
  .map(({ of, ...rest }) => {
    const [kind, account] = of.split(' ') as [DaySum['kind'], DaySum['account']];
    const tax = (gross: bigint): bigint => (rest.vat.startsWith('single') ? gross / 7n : 0n);
    return [sumOf({ ...rest, kind, account, raisedTax: tax(rest.raised), loweredTax: tax(rest.lowered) })];
  });

/** A card that expired: its balance moves between two parts of the liability. */
const moves = fc.record({ day, vat, amount }).map(({ amount: moved, ...rest }) => {
  const tax = rest.vat.startsWith('single') ? moved / 7n : 0n;
  const both = { ...rest, kind: 'expire', account: '' } as const;
  return [
    sumOf({ ...both, bucket: 'active', lowered: moved, loweredTax: tax }),
    sumOf({ ...both, bucket: 'expired', raised: moved, raisedTax: tax }),
  ];
});

const journals = fc
  .array(fc.oneof(transfers, moves), { maxLength: 40 })
  .map((sums) => journalOf(withoutLocations(sums.flat())));

type Balances = Readonly<Record<string, bigint>>;

/** The debits of each account less its credits. */
function balancesOf(lines: readonly (readonly [account: string, debited: bigint])[]): Balances {
  const balances: Record<string, bigint> = {};
  for (const [account, debited] of lines) balances[account] = (balances[account] ?? 0n) + debited;
  return Object.fromEntries(Object.entries(balances).filter(([, balance]) => balance !== 0n));
}

function balancesOfLines(
  lines: readonly JournalLine[],
  nameOf: (account: JournalAccount) => string,
): Balances {
  return balancesOf(lines.map(({ account, debit, credit }) => [nameOf(account), debit - credit]));
}

function made(format: JournalFormat, lines: readonly JournalLine[], store: object = {}, period = days) {
  const source: JournalSource = {
    store: { currency: eur, accountNames, datev, ...store },
    days: period,
    lines,
    usualNameOf: (account) => account,
    textOf: (kind) => `“${kind}” – ä’;"`,
    taxRate: 'No VAT',
    now: Date.UTC(2026, 10, 26, 12, 34, 56, 789),
  };
  const problem = journalFileProblem(format, source);
  return problem
    ? ({ ok: false, problem } as const)
    : { ok: true as const, file: journalFile(format, source) };
}

function textOfFile(format: JournalFormat, lines: readonly JournalLine[]): string {
  const result = made(format, lines);
  assert.ok(result.ok);
  return result.file.bytes.toString(format === 'datev' ? 'latin1' : 'utf8');
}

function minor(text: string): bigint {
  return BigInt(text.replace(/[.,]/, ''));
}

/** A cell as the DATEV format describes it: a text in quotation marks, or a number. */
function datevCells(line: string): readonly string[] {
  const cells = [...line.matchAll(/(?:^|;)("(?:[^"]|"")*"|[^";]*)/g)].map(([, cell = '']) => cell);
  assert.equal(cells.join(';'), line);
  return cells;
}

test('postings have the debits and credits of the lines, by day and kind', () => {
  fc.assert(
    fc.property(journals, (lines) => {
      const postings = postingsOf(lines);
      for (const posting of postings) assert.ok(posting.amount > 0n && posting.debited !== posting.credited);
      const key = (of: { readonly day: string; readonly kind: string }, account: string): string =>
        `${of.day} ${of.kind} ${account}`;
      assert.deepEqual(
        balancesOf(
          postings.flatMap((posting) => [
            [key(posting, posting.debited), posting.amount],
            [key(posting, posting.credited), -posting.amount],
          ]),
        ),
        balancesOf(lines.map((line) => [key(line, line.account), line.debit - line.credit])),
      );
    }),
  );
});

test('the file for DATEV is of version 13 of its format, and has the balances of the journal', () => {
  const header =
    '"EXTF";700;21;"Buchungsstapel";13;20261126123456789;;"";"";"";29098;55003;20260701;4;20261101;20261130;"Gutscheine 2026-11";"";1;0;0;"EUR";;"";;;"";;;"";""';
  const forms: readonly (readonly [column: number, form: RegExp])[] = [
    [1, /^(?!0{1,10},00)\d{1,10},\d{2}$/],
    [2, /^"[SH]"$/],
    [3, /^"[A-Z]{3}"$/],
    [7, /^(?!0{1,9}$)\d{1,9}$/],
    [8, /^(?!0{1,9}$)\d{1,9}$/],
    [10, /^(?:0[1-9]|[12]\d|3[01])11$/],
    [11, /^"[a-zA-Z0-9$%&*+\-/]{0,36}"$/],
    [14, /^"(?:[^"]|""){0,60}"$/],
  ];
  fc.assert(
    fc.property(journals, (lines) => {
      const [first, headings, ...rows] = textOfFile('datev', lines).trimEnd().split('\r\n');
      assert.equal(first, header);
      assert.equal(headings?.split(';').length, 125);
      const moved = rows.flatMap((row) => {
        const cells = datevCells(row);
        assert.equal(cells.length, 125);
        for (const [column, form] of forms) assert.match(cells[column - 1] ?? '', form);
        const [debited = '', credited = ''] = [cells[6], cells[7]];
        const booking = minor(cells[0] ?? '');
        return [
          [debited, booking],
          [credited, -booking],
        ] as const;
      });
      const numberOf = (account: JournalAccount): string => String(1300 + journalAccounts.indexOf(account));
      assert.deepEqual(balancesOf(moved), balancesOfLines(lines, numberOf));
    }),
  );
});

test('an amount with more digits than a row of DATEV has is in several rows', () => {
  const lines = journalOf([sumOf({ raised: 2_500_000_000_000n })]);
  const rows = textOfFile('datev', lines).trimEnd().split('\r\n').slice(2);
  assert.deepEqual(
    rows.map((row) => row.split(';')[0]),
    ['9999999999,99', '9999999999,99', '5000000000,02'],
  );
});

test('DATEV has no row for a move within one account of the accountant', () => {
  const both = { kind: 'expire', account: '' } as const;
  const lines = journalOf([
    sumOf({ raised: 500n }),
    sumOf({ ...both, bucket: 'active', lowered: 200n }),
    sumOf({ ...both, bucket: 'expired', raised: 200n }),
  ]);
  const one = { ...accountNames, liability_active: '1604', liability_expired: '1604' };
  const result = made('datev', lines, { accountNames: one });
  assert.ok(result.ok);
  const rows = result.file.bytes.toString('latin1').trimEnd().split('\r\n').slice(2);
  assert.deepEqual(
    rows.map((row) => row.split(';').slice(0, 8).join(';')),
    ['5,00;"S";"EUR";;;;1303;1604'],
  );
});

test('the files for QuickBooks and Xero have the lines of each day, which are in balance', () => {
  fc.assert(
    fc.property(journals, (lines) => {
      const [headings, ...rows] = textOfFile('quickbooks', lines).trimEnd().split('\r\n');
      assert.equal(headings, 'Journal No.,Journal Date,Account Name,Description,Debits,Credits');
      assert.equal(rows.length, lines.length);
      const cellsOf = (row: string): readonly string[] => row.replace(/"(?:[^"]|"")*"/, 'text').split(',');
      const moved = rows.map((row) => {
        const [, date = '', account = '', , debit = '', credit = ''] = cellsOf(row);
        assert.match(date, /^11\/\d\d\/2026$/);
        return [account, minor(debit || '0') - minor(credit || '0')] as const;
      });
      assert.deepEqual(
        balancesOf(moved),
        balancesOfLines(lines, (account) => accountNames[account] ?? ''),
      );

      const [, ...xero] = textOfFile('xero', lines).trimEnd().split('\r\n');
      const journal = xero.map((row) => {
        const [narration = '', date = '', , code = '', rate, debited = ''] = cellsOf(row);
        assert.match(date, /^\d\d\/11\/2026$/);
        assert.equal(rate, 'No VAT');
        return { narration, code, debited: minor(debited) };
      });
      for (const each of Map.groupBy(journal, ({ narration }) => narration).values())
        assert.equal(
          each.reduce((sum, { debited }) => sum + debited, 0n),
          0n,
        );
      const codeOf = (account: JournalAccount): string => String(1300 + journalAccounts.indexOf(account));
      assert.deepEqual(
        balancesOf(journal.map(({ code, debited }) => [code, debited])),
        balancesOfLines(lines, codeOf),
      );
    }),
  );
});

test('a longer journal has a line of each month for Xero, dated within the period', () => {
  const sums = Array.from({ length: 200 }, (_, offset) =>
    sumOf({ day: Temporal.PlainDate.from('2026-04-20').add({ days: offset }).toString(), raised: 100n }),
  );
  const period = { from: '2026-04-20', to: '2026-11-05' };
  const result = made('xero', journalOf(sums), {}, period);
  assert.ok(result.ok);
  const rows = result.file.bytes.toString().trimEnd().split('\r\n').slice(1);
  assert.equal(rows.length, 16);
  assert.deepEqual([rows[0]?.split(',')[1], rows.at(-1)?.split(',')[1]], ['30/04/2026', '05/11/2026']);
});

test('a file that the program would reject is not made', () => {
  const lines = journalOf([sumOf({ raised: 100n })]);
  const problemOf = (format: JournalFormat, store: object, period = days) => {
    const result = made(format, lines, store, period);
    return result.ok ? undefined : result.problem;
  };
  const accounts = ['liability_active', 'sales'];
  assert.deepEqual(problemOf('datev', { datev: null }), { name: 'datev' });
  assert.deepEqual(problemOf('datev', { currency: currencyOf('KWD') }), { name: 'currency' });
  assert.deepEqual(problemOf('datev', {}, { from: '2026-06-30', to: '2026-07-01' }), { name: 'years' });
  assert.equal(problemOf('datev', {}, { from: '2026-07-01', to: '2027-06-30' }), undefined);
  assert.deepEqual(problemOf('datev', { accountNames: {} }), { name: 'accounts', accounts });
  assert.deepEqual(problemOf('datev', { accountNames: { ...accountNames, sales: '13600' } }), {
    name: 'accounts',
    accounts: ['sales'],
  });
  assert.deepEqual(problemOf('xero', { accountNames: { sales: 'GC-SALES-2026' } }), {
    name: 'accounts',
    accounts,
  });
  assert.equal(problemOf('quickbooks', { accountNames: {} }), undefined);
});

test('the settings of DATEV are two or four numbers, in the ranges that it accepts', () => {
  assert.deepEqual(parseDatev('29098/55003'), {
    ok: true,
    value: { consultant: 29098, client: 55003, firstMonth: 1, accountLength: 4 },
  });
  const valid = fc.record({
    consultant: fc.integer({ min: 1001, max: 9_999_999 }),
    client: fc.integer({ min: 1, max: 99_999 }),
    firstMonth: fc.integer({ min: 1, max: 12 }),
    accountLength: fc.integer({ min: 4, max: 8 }),
  });
  fc.assert(
    fc.property(valid, (value) =>
      assert.deepEqual(parseDatev(formatDatev(value)), { ok: true, value: { ...value } }),
    ),
  );
  const wrong = [
    '1000/1',
    '29098',
    '29098/0',
    '29098/1/13/4',
    '29098/1/1/3',
    '29098/1/1',
    '29098/1/1/4/',
    ' 29098/1',
  ];
  for (const text of [...wrong, '9'.repeat(1_000)]) assert.equal(parseDatev(text).ok, false, text);
});
