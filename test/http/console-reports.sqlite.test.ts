/** The pages of reports: their figures and CSV files are those of the API. */

import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { parse } from 'csv-parse/sync';
import en from '../../src/pages/locales/en.json' with { type: 'json' };
import { loadPages } from '../../src/start/routes.ts';
import { roles, type Role } from '../../src/core/staff/domain/staff.ts';
import { closingDelayMs } from '../../src/features/books/service/closing.ts';
import { journalFormats } from '../../src/features/books/service/journal-file.ts';
import { readTableFile } from '../../src/features/batches/service/table-file.ts';
import { addDays, dayOf } from '../../src/core/domain/day.ts';
import { openBrowser, type Browser } from '../support/browser.ts';
import { consoleDomain, join, staffPassword } from '../support/console.ts';
import { until } from '../support/delivering.ts';
import { seeded } from '../support/seeded.ts';

import { startService, type TestService } from '../support/service.ts';
import { changeStoreElsewhere } from '../support/second-process.ts';
import { shopOf, type Shop } from '../support/shop.ts';

const { routes: consoleRoutes } = await loadPages();

const zone = 'Europe/Berlin';
const dayMs = 24 * 60 * 60_000;
const reports = ['liability', 'journal', 'aging', 'activity', 'breakage'] as const;

const service = await startService({
  stores: [
    {
      domain: consoleDomain,
      name: 'Flowers <& Co>',
      currency: 'EUR',
      timeZone: zone,
      vat: { kind: 'single_purpose', rate: '19' },
      accountNames: { sales: '1360 <b>', redemptions: '=SUM(A1)' },
    },
  ],
  limits: { closingPeriodMs: 50 },
});
after(() => service[Symbol.asyncDispose]());

function today({ clock }: Pick<TestService, 'clock'> = service): string {
  return dayOf(clock.now(), zone);
}

type Report = Readonly<Record<string, unknown>>;
type Row = Readonly<Record<string, string | number | null>>;

/** A report of the API. */
async function reportOf(shop: Shop, path: string): Promise<Report> {
  const response = await shop.ask(`GET /reports/${path}`);
  assert.equal(response.status, 200, `${path}: ${response.text}`);
  return Object.values(response.json as Readonly<Record<string, Report>>)[0] ?? assert.fail(path);
}

async function pageOf(browser: Browser, path: string): Promise<string> {
  const { status, text } = await browser.get(`/books/${path}`);
  assert.equal(status, 200, path);
  return text;
}

const unescaped = { '&amp;': '&', '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#39;': "'" } as const;

/** The cells of a table as text, a row each. */
function cellsOf(page: string, id: string): readonly (readonly string[])[] {
  const [, panel = assert.fail(`no ${id}`)] =
    new RegExp(`<section[^>]*aria-labelledby="${id}">(.*?)</section>`, 's').exec(page) ?? [];
  const [, , rows = ''] = /<table(.*?)<tbody>(.*)<\/table>/s.exec(panel) ?? [];
  return Array.from(rows.matchAll(/<tr>(.*?)<\/tr>/gs), ([, row = '']) =>
    Array.from(row.matchAll(/<t[hd][^>]*>(.*?)<\/t[hd]>/gs), ([, cell = '']) =>
      cell
        .replaceAll(/<[^>]*>/g, '')
        .replaceAll(/&\w+;|&#39;/g, (entity) => unescaped[entity as keyof typeof unescaped]),
    ),
  );
}

/** An amount of the API as the tables have it. */
function shown(amount: unknown): string {
  return new Intl.NumberFormat('en', { minimumFractionDigits: 2 })
    .format(String(amount) as `${number}`)
    .replace('-', '−');
}

function shownOrEmpty(amount: unknown): string {
  return Number(amount) === 0 ? '' : shown(amount);
}

function figureOf(page: string): string {
  return (/<span class="figure">(.*?)<\/span>/.exec(page)?.[1] ?? '').replaceAll(/<[^>]*>/g, '');
}

/** Issues cards and changes them at random, over some months. */
async function tradeAtRandom(shop: Shop, seed: number): Promise<void> {
  const random = seeded(seed);
  const cards: number[] = [];
  const debits: number[] = [];
  const amount = (): string => `${random.between(1, 90)}.${random.between(10, 99)}`;
  for (let step = 0; step < 60; step += 1) {
    if (step % 3 === 2) service.clock.advance(random.between(1, 6) * dayMs + random.between(0, dayMs));
    const [id = 0] = random.chooseSome(cards, 1);
    const kind = cards.length < 3 ? 0 : random.between(0, 9);
    if (kind <= 2) {
      const expiry = random() < 0.4 ? { expires_on: addDays(today(), random.between(1, 30)) } : {};
      const vat = random() < 0.3 ? { vat_kind: 'multi_purpose' } : {};
      const { id: issued } = await shop.issue({ initial_value: `1${amount()}`, ...expiry, ...vat });
      cards.push(issued);
      continue;
    }
    // Some are rejected, as the card is disabled, expired or empty.
    const requests = [
      ['POST', `/gift_card/${id}/debit`, { amount: amount() }],
      ['POST', `/gift_card/${id}/debit`, { amount: amount() }],
      ['POST', `/gift_card/${id}/credit`, { amount: amount() }],
      ['PUT', `/gift_card/${id}`, { balance: amount() }],
      ['POST', `/gift_card/${id}/${random() < 0.5 ? 'disable' : 'enable'}`, {}],
      ['POST', `/gift_card/${id}/holds`, { amount: '1.00', expires_in: 86_400 }],
      ['POST', `/transactions/${debits.at(-1) ?? 0}/reverse`, { amount: '0.50' }],
    ] as const;
    const [method, path, json] = requests[kind - 3] ?? assert.fail();
    const response = await shop.ask(`${method} ${path}`, { json });
    if (path.endsWith('/debit') && response.status === 201)
      debits.push((response.json as { readonly transaction: { readonly id: number } }).transaction.id);
  }
}

async function untilClosed(): Promise<void> {
  // A day is closed ten minutes after its end, and the clock does not move.
  const yesterday = addDays(dayOf(service.clock.now() - closingDelayMs, zone), -1);
  await until(async () => {
    const [row] = await service.query(`select max(day) as day from store_closings where part = 'closed'`);
    return row?.['day'] === yesterday;
  }, 60_000);
}

// The clock of the command that invites people is not ahead.
const joined = new Map<Role, Browser>();
for (const role of roles) joined.set(role, await join(service, role));

async function signIn(role: Role): Promise<Browser> {
  const browser = openBrowser(service);
  const response = await browser.post('/sign-in', {
    email: `${role}@${consoleDomain}`,
    password: staffPassword,
  });
  assert.equal(response.status, 303, response.text);
  return browser;
}

test('an empty store has every report, without a figure', async () => {
  const owner = joined.get('owner') ?? assert.fail();
  for (const name of reports) {
    const text = await pageOf(owner, name);
    assert.match(text, /<a href="\/books\/liability" aria-current="page">/, name);
    const none =
      name === 'liability' || name === 'aging' ? /starts with your first card/ : /no entries in this/;
    assert.match(text, none, name);
    const { status, headers } = await owner.get(`/books/${name}.csv`);
    assert.equal(status, 200, name);
    assert.match(headers.get('content-type') ?? '', /^text\/csv; charset=utf-8/);
  }
  assert.equal(figureOf(await pageOf(owner, 'liability')), '€0.00');
  assert.match(await pageOf(owner, 'liability'), /href="\/cards\/new">Issue a card/);
});

test('the figures of the pages and the CSV files are those of the API, on random days', async () => {
  const seed = Number(process.env['SEED'] ?? Date.now() % 1_000_000);
  const shop = await shopOf(service, consoleDomain);
  const begun = today();
  await tradeAtRandom(shop, seed);
  const random = seeded(seed + 1);
  const span = Temporal.PlainDate.from(begun).until(today()).days;
  const someDay = (): string => addDays(begun, random.between(-1, span));
  const accountant = await signIn('accountant');
  const what = `SEED=${seed}`;
  for (const isClosed of [false, true]) {
    if (isClosed) await untilClosed();
    for (const day of [today(), someDay(), someDay(), addDays(begun, -400)])
      await assertDay(shop, accountant, day, what);
    const ranges = [
      [begun, today()],
      [someDay(), someDay()].toSorted(),
      [addDays(today(), -365), today()],
      [addDays(begun, -400), addDays(begun, -380)],
      [`${today().slice(0, 7)}-01`, today()],
      [`${addDays(today(), -31).slice(0, 7)}-01`, today()],
      // Longer than 62 days, and not from the first of a month: by month, as the period before.
      [addDays(today(), -64), today()],
      ['2026-10-01', '2026-11-30'],
      ['2026-01-01', '2026-11-30'],
    ];
    for (const [from = '', to = ''] of ranges)
      await assertRange(shop, accountant, `from=${from}&to=${to}`, what);
  }
  await assertChart(shop, accountant, { begun, what });
});

type WordsOf = Readonly<Record<string, Readonly<Record<string, string>>>>;

type Rows = readonly (readonly string[])[];

/** The rows of a file, as texts. @param report that of the file, if it is the API's: headings and words replace its names. */
function rowsForPeople(text: string, report?: { readonly name: string; readonly query: string }): Rows {
  const [names = [], ...rows] = parse(text.replaceAll("'", ''), { relaxColumnCount: true });
  if (report === undefined) return [names, ...rows];
  const { reports: words, tables } = en;
  const by = new URLSearchParams(report.query).get('by') as keyof typeof words.groups | null;
  const headings: Readonly<Record<string, string>> = {
    ...tables.headings,
    ...(report.name === 'aging' && { issued: words.columns.issuedIn }),
    ...(by !== null && { group: words.groups[by] }),
  };
  const values: WordsOf = {
    kind: words.kinds,
    account: words.accounts,
    vat_kind: tables.vatKinds,
    vat_due: tables.vatDue,
  };
  const written = rows.map((row) => row.map((cell, place) => values[names[place] ?? '']?.[cell] ?? cell));
  return withoutNames([names.map((each) => headings[each] ?? each), ...written], report.query);
}

/** Rows of people without the names, which the API does not have. */
function withoutNames(rows: Rows, query: string): Rows {
  if (!query.includes('by=actor')) return rows;
  for (const [name] of rows.slice(1)) assert.notEqual(name, '');
  return rows.map(([name = '', ...row], place) => [place === 0 ? name : '', ...row]);
}

/** A row of a workbook: numbers have no final zeros, and months are their first days. */
function comparable(row: readonly string[]): readonly string[] {
  const cells = row.map((cell) =>
    /^-?\d+\.\d+$/.test(cell) ? String(Number(cell)) : cell.replace(/^(\d{4}-\d\d)-01$/, '$1'),
  );
  return cells.slice(0, cells.findLastIndex((cell) => cell !== '') + 1);
}

async function assertFile(shop: Shop, browser: Browser, path: string, what: string): Promise<void> {
  const [name = '', query = ''] = path.split('?');
  const file = await browser.get(`/books/${name}.csv?${query}`);
  const expected = await shop.ask(`GET /reports/${path}&format=csv`);
  assert.equal(expected.status, 200, expected.text);
  const rows = rowsForPeople(expected.text, { name, query });
  assert.deepEqual(withoutNames(rowsForPeople(file.text), query), rows, `${path} ${what}`);
  for (const header of ['content-type', 'content-disposition', 'cache-control'])
    assert.equal(file.headers.get(header), expected.headers.get(header), `${path}: ${header}`);
  const workbook = await browser.get(`/books/${name}.xlsx?${query}`);
  assert.equal(workbook.status, 200);
  assert.match(workbook.headers.get('content-type') ?? '', /spreadsheetml\.sheet$/);
  assert.match(workbook.headers.get('content-disposition') ?? '', /^attachment; filename="[\w-]+\.xlsx"$/);
  const { text } = await readTableFile(workbook.bytes ?? assert.fail('no bytes'), { decimalSign: '.' });
  const read = withoutNames(rowsForPeople(text.replaceAll('\t', ',')), query);
  assert.deepEqual(read.map(comparable), rows.map(comparable), `${path} ${what}`);
}

async function assertDay(shop: Shop, browser: Browser, day: string, what: string): Promise<void> {
  const query = `as_of=${day}`;
  await assertFile(shop, browser, `liability?${query}`, what);
  await assertFile(shop, browser, `aging?${query}`, what);
  const of = await reportOf(shop, `liability?${query}`);
  const page = await pageOf(browser, `liability?${query}`);
  assert.equal(figureOf(page), `€${shown(of['outstanding'])}`, `${day} ${what}`);
  assert.deepEqual(cellsOf(page, 'parts'), [
    ['Available', String(of['cards_active']), shown(of['available'])],
    ['On hold', '', shown(of['on_hold'])],
    ['Expired', String(of['cards_expired']), shown(of['expired'])],
    ['Disabled', String(of['cards_disabled']), shown(of['disabled'])],
    ['Outstanding', String(of['cards']), `€${shown(of['outstanding'])}`],
  ]);
  if (Number(of['outstanding_vat']) !== 0) {
    const gross = Number(of['available']) + Number(of['on_hold']);
    const row = (name: string, amount: unknown, net: unknown): readonly string[] => [
      name,
      shown(amount),
      shown(Math.round((Number(amount) - Number(net)) * 100) / 100),
      shown(net),
    ];
    assert.deepEqual(cellsOf(page, 'net'), [
      row('Valid', Math.round(gross * 100) / 100, of['active_net']),
      row('Expired', of['expired'], of['expired_net']),
      row('Disabled', of['disabled'], of['disabled_net']),
      row('Outstanding', of['outstanding'], of['outstanding_net']),
    ]);
  }
  const causes = ['issued', 'topped_up', 'redeemed', 'refunded', 'adjusted'].map((name) =>
    shown(name === 'redeemed' ? -Number(of[name]) : of[name]),
  );
  assert.deepEqual(
    cellsOf(page, 'causes').map(([, amount]) => amount),
    [...causes.map((amount) => amount.replace(/^−(0\.00)$/, '$1')), `€${shown(of['outstanding'])}`],
  );
  const aging = await reportOf(shop, `aging?${query}`);
  const months = (aging['months'] as readonly Row[]).map((row) => [
    String(row['cards']),
    ...['active', 'expired', 'disabled', 'outstanding'].map((name) => shown(row[name])),
  ]);
  const agingPage = await pageOf(browser, `aging?${query}`);
  assert.equal(figureOf(agingPage), `€${shown(aging['outstanding'])}`);
  if (months.length > 0)
    assert.deepEqual(
      cellsOf(agingPage, 'months')
        .slice(0, -1)
        .map(([, ...cells]) => cells),
      months,
    );
  const cohorts = (aging['months'] as readonly Row[]).map((row) =>
    ['issued_to_date', 'redeemed_to_date', 'adjusted_to_date', 'outstanding'].map((name) => shown(row[name])),
  );
  if (cohorts.length > 0)
    assert.deepEqual(
      cellsOf(agingPage, 'cohorts')
        .slice(0, -1)
        .map(([, ...cells]) => cells.slice(0, 4)),
      cohorts,
    );
}

async function assertRange(shop: Shop, browser: Browser, query: string, what: string): Promise<void> {
  const where = `${query} ${what}`;
  await assertFile(shop, browser, `journal?${query}`, what);
  await assertFile(shop, browser, `breakage?${query}`, what);
  await assertJournal(shop, browser, query, where);
  for (const by of ['day', 'month', 'actor']) {
    const path = `activity?by=${by}&${query}`;
    await assertFile(shop, browser, path, what);
    const { rows } = (await reportOf(shop, path)) as { readonly rows: readonly Row[] };
    const names = ['issued', 'topped_up', 'redeemed', 'refunded', 'adjusted', 'change'];
    const page = await pageOf(browser, path);
    if (rows.length === 0) assert.match(page, /no entries in this period/);
    else
      assert.deepEqual(
        cellsOf(page, 'activity')
          .slice(0, -1)
          .map(([, ...cells]) => cells),
        rows.map((row) => [String(row['transactions']), ...names.map((name) => shown(row[name]))]),
        where,
      );
    if (by !== 'actor') await assertBars(shop, page, new URLSearchParams(`by=${by}&${query}`), where);
  }
  const { months, closing } = (await reportOf(shop, `breakage?${query}`)) as {
    readonly months: readonly Row[];
    readonly closing: string;
  };
  const page = await pageOf(browser, `breakage?${query}`);
  assert.equal(figureOf(page), `€${shown(closing)}`, where);
  const names = ['opening', 'expired', 'restored', 'disabled', 'adjusted', 'closing'];
  if (months.length > 0)
    assert.deepEqual(
      cellsOf(page, 'months').map(([, ...cells]) => cells),
      months.map((row) => [...names.map((name) => shown(row[name])), String(row['cards'])]),
      where,
    );
}

/** A bar's value in words: its day or month, and that of the period before. */
const valuesPattern =
  /<rect class="hit" tabindex="0" role="img" aria-label="([^:]*): sold €([\d,.]*), redeemed €([\d,.]*)(?:; ([^:]*): sold €([\d,.]*))?"/g;

/** Each bar is the API's row of its day or month, also in the period before. */
async function assertBars(shop: Shop, page: string, query: URLSearchParams, where: string): Promise<void> {
  const [, wide = ''] = /<svg class="plot bars wide"(.*?)<\/svg>/s.exec(page) ?? [];
  const bars = Array.from(
    wide.matchAll(valuesPattern),
    ([, name = '', sold, redeemed, before, soldBefore]) => ({
      name,
      sold,
      redeemed,
      before,
      soldBefore,
    }),
  );
  const [from, to] = [query.get('from') ?? '', query.get('to') ?? ''];
  const isDaily = query.get('by') === 'day' && addDays(from, 62) > to;
  const [first, last] = [Temporal.PlainDate.from(from), Temporal.PlainDate.from(to)];
  const spanned = (last.year - first.year) * 12 + last.month - first.month + 1;
  // A quarter or a year that has not ended is compared with the one before.
  const isQuarter = first.day === 1 && [1, 4, 7, 10].includes(first.month) && [2, 3].includes(spanned);
  const isYear = first.day === 1 && first.month === 1 && spanned > 3 && spanned <= 12;
  const usual = isYear ? 12 : spanned;
  const months = isQuarter ? 3 : usual;
  const isByMonths = !isDaily || first.day === 1;
  const shift = isByMonths ? { months } : { days: first.until(last).days + 1 };
  const by = isDaily ? 'day' : 'month';
  const rowsOf = async (
    days: Readonly<Record<'from' | 'to', string>>,
  ): Promise<ReadonlyMap<unknown, Row>> => {
    const path = `activity?${new URLSearchParams({ by, ...days }).toString()}`;
    const { rows } = (await reportOf(shop, path)) as { readonly rows: readonly Row[] };
    return new Map(rows.map((row) => [row['group'] ?? row[by], row]));
  };
  const now = await rowsOf({ from, to });
  const [start, end] = [first.subtract(shift), last.subtract(shift)];
  const then = await rowsOf({ from: start.toString(), to: end.toString() });
  const isEmpty = [...now.values()].every((row) => Number(row['issued']) + Number(row['redeemed']) === 0);
  if (isEmpty) {
    assert.equal(wide, '', where);
    return;
  }
  const dayOfName = (name: string): Temporal.PlainDate =>
    Temporal.PlainDate.from(new Date(`${isDaily ? name : `1 ${name}`} 12:00Z`).toISOString().slice(0, 10));
  const groupOf = (day: Temporal.PlainDate): string => day.toString().slice(0, isDaily ? 10 : 7);
  const groups = new Set<string>();
  for (let day = from; day <= to; day = addDays(day, 1)) groups.add(isDaily ? day : day.slice(0, 7));
  assert.deepEqual(
    bars.map(({ name }) => groupOf(dayOfName(name))),
    [...groups],
    where,
  );
  for (const { name, sold, redeemed, before, soldBefore } of bars) {
    const row = now.get(groupOf(dayOfName(name)));
    assert.deepEqual([sold, redeemed], [shown(row?.['issued'] ?? 0), shown(row?.['redeemed'] ?? 0)], where);
    const earlier = dayOfName(name).subtract(shift);
    const hasEarlier = !isByMonths || !isDaily || earlier.day === dayOfName(name).day;
    if (then.size === 0 || !hasEarlier) assert.equal(before, undefined, `${name} ${where}`);
    else {
      assert.equal(groupOf(dayOfName(before ?? '')), groupOf(earlier), where);
      assert.equal(soldBefore, shown(then.get(groupOf(earlier))?.['issued'] ?? 0), where);
    }
  }
}

/** The names of accounts on the page, after those that the store gave them. */
const accountNames: Readonly<Record<string, string>> = {
  liability_active: 'Gift card liability, valid cards',
  liability_expired: 'Gift card liability, expired cards',
  liability_disabled: 'Gift card liability, disabled cards',
  '1360 <b>': '1360 <b> Gift cards sold (clearing)',
  vat_payable: 'VAT payable',
  '=SUM(A1)': '=SUM(A1) Gift cards redeemed (clearing)',
  adjustments: 'Adjustments',
};

async function assertJournal(shop: Shop, browser: Browser, query: string, where: string): Promise<void> {
  const of = await reportOf(shop, `journal?${query}`);
  const lines = of['lines'] as readonly Row[];
  const page = await pageOf(browser, `journal?${query}`);
  assert.equal(figureOf(page), `€${shown(of['closing'])}`, where);
  const facts = Array.from(
    page.matchAll(/<dd class="sum">€?(−?)€?([^<]*)<\/dd>/g),
    ([, sign, fact]) => `${sign}${fact}`,
  );
  assert.deepEqual(facts, [shown(of['opening']), shown(of['change']), shown(of['closing'])], where);
  if (lines.length === 0) return;
  assert.equal(of['debits'], of['credits']);
  const isMonthly = page.includes('One line per month');
  const groups = Map.groupBy(lines, (line) => {
    const side = Number(line['debit']) > 0 ? 'debit' : 'credit';
    const { day, ...rest } = { day: String(line['day']), kind: line['kind'], account: line['account'] };
    const terms = [line['vat_kind'], line['vat_rate'], line['vat_due']];
    return [isMonthly ? day.slice(0, 7) : day, ...Object.values(rest), side, ...terms].join('\n');
  });
  const sum = (own: readonly Row[], name: string): number =>
    own.reduce((total, line) => total + Math.round(Number(line[name]) * 100), 0) / 100;
  const expected = [...groups.values()].map((own) => [
    accountNames[String(own[0]?.['account'])],
    shownOrEmpty(sum(own, 'debit')),
    shownOrEmpty(sum(own, 'credit')),
  ]);
  const rows = cellsOf(page, 'lines');
  const total = rows.at(-1)?.slice(-2);
  const listed = rows.slice(0, -1).map((cells) => [cells[2], ...cells.slice(-2)]);
  // Months are in the order of their kinds, and the API has days.
  const inOrder = (all: readonly (readonly unknown[])[]) => all.map((cells) => cells.join('|')).toSorted();
  assert.deepEqual(isMonthly ? inOrder(listed) : listed, isMonthly ? inOrder(expected) : expected, where);
  assert.deepEqual(total, [shown(of['debits']), shown(of['credits'])], where);
  // Each account begins with its opening balance, and the liability's accounts add up to the liability.
  const balanceOf = (text = ''): number => {
    const value = Math.round(Number(text.replaceAll(/[^\d.]/g, '')) * 100);
    return text.endsWith('Dr') ? -value : value;
  };
  const accounts = cellsOf(page, 'accounts').slice(0, -1);
  for (const [name, opening, debit, credit, closing] of accounts)
    assert.equal(
      balanceOf(opening) - balanceOf(debit) + balanceOf(credit),
      balanceOf(closing),
      `${name} ${where}`,
    );
  for (const [place, figure] of [
    [1, 'opening'],
    [4, 'closing'],
  ] as const) {
    const owed = accounts.filter(([name = '']) => name.startsWith('Gift card liability'));
    const sumOf = (all: typeof accounts): number =>
      all.reduce((added, cells) => added + balanceOf(cells[place]), 0);
    assert.equal(sumOf(owed), Math.round(Number(of[figure]) * 100), `${figure} ${where}`);
    assert.equal(sumOf(accounts), 0, `${figure} ${where}`);
  }
}

/** The chart has all months since the first card, each with the liability at its end. */
async function assertChart(
  shop: Shop,
  browser: Browser,
  { begun, what }: { readonly begun: string; readonly what: string },
): Promise<void> {
  const [, chart = ''] = /<details(.*?)<\/details>/s.exec(await pageOf(browser, 'liability')) ?? [];
  const rows = Array.from(
    chart.matchAll(/<tr><th scope="row">([^<]*)<\/th><td class="sum">€([\d,.]*)<\/td><\/tr>/g),
    ([, month = '', amount = '']) => ({ month, amount }),
  );
  const now = Temporal.PlainYearMonth.from(today().slice(0, 7));
  const { months } = Temporal.PlainYearMonth.from(begun.slice(0, 7)).until(now, { largestUnit: 'months' });
  assert.equal(rows.length, months + 1, what);
  for (const [place, { month, amount }] of rows.entries()) {
    const end = now.subtract({ months: rows.length - 1 - place });
    const last = place === rows.length - 1 ? today() : end.toPlainDate({ day: end.daysInMonth }).toString();
    const of = await reportOf(shop, `liability?as_of=${last}`);
    assert.equal(amount, shown(of['outstanding']), `${month} ${what}`);
  }
}

test('rejected days and periods are 422 with a sentence at the field, in the language of the page', async () => {
  const owner = await signIn('owner');
  const [now, tomorrow, longAgo] = [today(), addDays(today(), 1), addDays(today(), -366)];
  const cases: readonly (readonly [string, string, string])[] = [
    [`liability?as_of=${tomorrow}`, 'as_of', 'Wählen Sie heute oder einen früheren Tag.'],
    ['liability?as_of=2027-02-30', 'as_of', 'Geben Sie einen Tag ein, den es gibt.'],
    [`aging?as_of=${'9'.repeat(300)}`, 'as_of', 'Geben Sie einen Tag ein, den es gibt.'],
    [`aging?as_of=%22%3E%3Cb%3E`, 'as_of', 'Geben Sie einen Tag ein, den es gibt.'],
    [`journal?from=${now}`, 'to', 'Geben Sie einen Tag ein, den es gibt.'],
    [`journal?from=&to=${now}`, 'from', 'Geben Sie einen Tag ein, den es gibt.'],
    [`journal?from=${now}&to=${tomorrow}`, 'to', 'Wählen Sie heute oder einen früheren Tag.'],
    [`journal?from=${longAgo}&to=${now}`, 'to', 'Ein Bericht umfasst höchstens 366 Tage.'],
    [`activity?by=month&from=${longAgo}&to=${now}`, 'to', 'Ein Bericht umfasst höchstens 366 Tage.'],
    [`breakage?from=${now}&to=${longAgo}`, 'to', 'Der letzte Tag darf nicht vor dem ersten liegen.'],
  ];
  for (const [path, field, sentence] of cases) {
    for (const asked of [path, path.replace('?', '.csv?')]) {
      const { status, text } = await owner.request(`/books/${asked}`, {
        headers: { 'accept-language': 'de' },
      });
      assert.equal(status, 422, asked);
      assert.match(
        text,
        new RegExp(`<input [^>]*id="${field}"[^>]*aria-describedby="${field}-error" aria-invalid="true"`),
      );
      const [, error = ''] = new RegExp(`<p class="error" id="${field}-error">([^<]*)</p>`).exec(text) ?? [];
      assert.ok(error.startsWith(sentence), `${asked}: ${error}`);
      assert.equal(text.match(/class="error"/g)?.length, 1, asked);
      assert.doesNotMatch(text, /must |<b>|\.csv\?/);
    }
  }
  assert.equal((await owner.get(`/books/journal?from=${addDays(longAgo, 1)}&to=${now}`)).status, 200);
  assert.equal((await owner.get('/books/activity?by=year')).status, 200);
});

test('the journal has files for accounting programs, or says what they need', async () => {
  const shop = await shopOf(service, consoleDomain);
  await shop.issue({ initial_value: '119.00' });
  const [owner, accountant] = [await signIn('owner'), await signIn('accountant')];
  const period = `from=${today()}&to=${today()}`;
  const before = await pageOf(owner, `journal?${period}`);
  assert.match(before, /DATEV needs the numbers of your accountant\. <a href="\/settings#books">/);
  assert.match(before, /These accounts have no number: Gift card liability, valid cards/);
  assert.doesNotMatch(await pageOf(accountant, `journal?${period}`), /settings#books/);
  for (const [format, status] of [
    ['datev', 422],
    ['xero', 422],
    ['quickbooks', 200],
    ['sage', 404],
  ] as const)
    assert.equal((await owner.get(`/books/journal/${format}.csv?${period}`)).status, status, format);
  assert.equal((await owner.get('/books/journal/quickbooks.csv?from=2026-02-30&to=2026-03-01')).status, 422);

  const names = ['liability_active', 'liability_expired', 'liability_disabled', 'sales', 'vat_payable'];
  const numbers = Object.fromEntries(
    [...names, 'redemptions', 'adjustments'].map((name, place) => [name, `${1700 + place} ${name}`]),
  );
  const datevSettings = { consultant: 29098, client: 55003, firstMonth: 1, accountLength: 4 };
  await changeStoreElsewhere(service, consoleDomain, { accountNames: numbers, datev: datevSettings });
  const page = await pageOf(accountant, `journal?${period}`);
  assert.doesNotMatch(page, /needs the numbers|have no number/);
  const datev = await accountant.get(`/books/journal/datev.csv?${period}`);
  assert.equal(
    datev.headers.get('content-disposition'),
    `attachment; filename="EXTF_Buchungsstapel_${today()}_${today()}.csv"`,
  );
  assert.match(datev.text, /^"EXTF";700;21;"Buchungsstapel";13;\d{17};;"";"";"";29098;55003;/);
  assert.match(datev.text, /\r\n\d+,\d\d;"S";"EUR";;;;1703;1704;;\d{4};"GC\d{8}";;;"Sold";/);
  const xero = await accountant.get(`/books/journal/xero.csv?${period}&tax_rate=No+VAT`);
  assert.match(xero.text, /,1703,No VAT,\d+\.\d\d,,,,\r\n/);
});

test('owners, managers and accountants have the reports, and cashiers do not', async () => {
  const paths = consoleRoutes.map(({ path }) => path).filter((path) => path.startsWith('/books/'));
  assert.equal(paths.length, 3 * reports.length + journalFormats.length);
  const [manager, cashier] = [await signIn('manager'), await signIn('cashier')];
  for (const path of paths) {
    // A file for a program needs more settings than a report.
    const isFile = journalFormats.some((format) => path.endsWith(`/${format}.csv`));
    assert.ok([200, isFile ? 422 : 200].includes((await manager.get(path)).status), path);
    assert.equal((await cashier.get(path)).status, 403, path);
    assert.equal((await openBrowser(service).get(path)).status, 303, path);
  }
  assert.match((await manager.get('/more')).text, /href="\/books\/liability"/);
  assert.doesNotMatch((await cashier.get('/more')).text, /\/books/);
});
