/** Importing any table on the pages: its columns, the questions about them, repairs, and the same file again. */

import assert from 'node:assert/strict';
import test from 'node:test';
import type { Browser } from '../support/browser.ts';
import { formOf, openStaffedShop, textOfPage } from '../support/counter-staff.ts';
import { until } from '../support/delivering.ts';
import type { TestResponse } from '../support/service.ts';
import { workbookOf } from '../support/workbook.ts';

const path = '/cards/batches';
const german = { 'accept-language': 'de', 'sec-fetch-site': 'same-origin' };

type Fields = Readonly<Record<string, string>>;

/** Sends a form as browsers do. @param file the name and the bytes of a chosen file */
async function send(
  browser: Browser,
  fields: Fields,
  {
    at = `${path}/new`,
    file,
    headers = german,
  }: {
    readonly at?: string;
    readonly file?: readonly [string, Uint8Array<ArrayBuffer>];
    readonly headers?: Fields;
  } = {},
): Promise<TestResponse> {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.set(name, value);
  if (file) form.set('file', new Blob([file[1]]), file[0]);
  const response = new Response(form);
  const type = response.headers.get('content-type') ?? '';
  const body = new Uint8Array(await response.arrayBuffer());
  return await browser.request(at, { method: 'POST', headers: { ...headers, 'content-type': type }, body });
}

/** The fields of a form, with the chosen options of its selections. */
function fieldsOf(page: TestResponse, action = `${path}/new`): Fields {
  const chosen = [...page.text.matchAll(/<select[^>]* name="([^"]*)"[^>]*>(.*?)<\/select>/gs)].map(
    ([, name = '', options = '']) => [name, /value="([^"]*)" selected/.exec(options)?.[1] ?? ''],
  );
  return { ...formOf(page, action), ...(Object.fromEntries(chosen) as Fields) };
}

async function issue(browser: Browser, page: TestResponse, figures: Fields): Promise<TestResponse> {
  assert.equal(page.status, 200, textOfPage(page));
  return await send(browser, { ...fieldsOf(page, `${path}/issue`), ...figures }, { at: `${path}/issue` });
}

const table = [
  'Kunde;E-Mail-Adresse;Geschenk;Gruß;Filiale',
  'Ida;ida@example.org;25,00 €;Danke;Nord',
  'Karl;karl@example.com;40;;Süd',
];
const upload = { file: ['kunden november.csv', Buffer.from(table.join('\r\n'))] } as const;
const figures = { expected_count: '2', expected_total: '65' };

test('unknown columns are decided once, and the next file with such headings needs no decision', async () => {
  await using shop = await openStaffedShop();
  const manager = await shop.as('manager');
  const asked = await send(manager, { kind: 'file' }, upload);
  assert.equal(asked.status, 200);
  assert.match(textOfPage(asked), /4 Spalten zu klären\s*2 Zeilen\./);
  assert.match(textOfPage(asked), /Filiale etwa „Nord“ zu klären/);
  const fields = fieldsOf(asked);
  assert.deepEqual(
    ['column_0', 'column_1', 'column_2'].map((name) => fields[name]),
    ['', 'email', ''],
  );
  for (const [changes, error] of [
    [{}, /Klären Sie, was unten markiert ist.*Bitte wählen/s],
    [
      { column_0: 'email', column_2: 'initial_value', column_3: '-', column_4: '-' },
      /schon eine andere Spalte/,
    ],
    [{ column_0: '-', column_2: '-', column_3: '-', column_4: '-' }, /in welcher Spalte die Beträge stehen/],
    [
      { column_0: 'id', column_2: 'initial_value', column_3: '__proto__', column_4: '-' },
      /2 Spalten zu klären/,
    ],
  ] as const) {
    const rejected = await send(manager, { ...fields, ...changes });
    assert.equal(rejected.status, 422);
    assert.match(textOfPage(rejected), error);
  }
  const decided = {
    column_0: 'recipient_name',
    column_2: 'initial_value',
    column_3: 'message',
    column_4: '-',
  };
  const ready = await send(manager, { ...fields, ...decided });
  assert.match(textOfPage(ready), /kunden november .*65,00.*2 Karten · 2 Karten gehen per E-Mail/s);
  // The columns can be seen and changed again.
  const again = await send(manager, { ...fieldsOf(ready, `${path}/issue`), show: 'columns' });
  assert.match(textOfPage(again), /Alle Spalten sind bekannt.*Filiale etwa „Nord“ nicht verwendet/);
  assert.equal(fieldsOf(again)['column_3'], 'message');
  assert.deepEqual(await shop.service.query('select * from column_headings'), []);
  const issued = await issue(manager, ready, figures);
  assert.equal(issued.status, 303, textOfPage(issued));
  const [row] = await shop.service.query('select columns from column_headings');
  assert.deepEqual(JSON.parse(String(row?.['columns'])), {
    kunde: 'recipient_name',
    geschenk: 'initial_value',
    gruss: 'message',
    filiale: null,
  });

  const next = ['GESCHENK (in €);Filiale;Kunde', '12,50;West;Ada'].join('\n');
  const known = await send(manager, { kind: 'file', rows: next });
  assert.match(textOfPage(known), /Bereit zum Ausstellen.*12,50/);
  // Another decision replaces the earlier one, and one that the heading suggests is not remembered.
  const columns = await send(manager, { ...fieldsOf(known, `${path}/issue`), show: 'columns' });
  const changed = await send(manager, { ...fieldsOf(columns), column_1: 'tags' });
  const second = await issue(manager, changed, { expected_count: '1', expected_total: '12,50' });
  assert.equal(second.status, 303, textOfPage(second));
  const [after] = await shop.service.query('select columns from column_headings');
  assert.match(String(after?.['columns']), /"filiale":"tags"/);
  assert.doesNotMatch(shop.service.log(), /ida@example|Filiale/);
});

test('what can be read in two ways is asked about, and the decision is kept', async () => {
  await using shop = await openStaffedShop();
  const manager = await shop.as('manager');
  const rows = 'Betrag;Name;Gültig bis\n1.000;Ada;05/06/2031\n2.500;Grace;\n';
  const asked = await send(manager, { kind: 'file', rows });
  assert.match(textOfPage(asked), /So sind Beträge geschrieben.*„1\.000“ kann zwei Beträge bedeuten/s);
  assert.match(textOfPage(asked), /„05\/06\/2031“ kann zwei Tage bedeuten/);
  const fields = fieldsOf(asked);
  assert.equal((await send(manager, { ...fields, numbers: ',' })).status, 422);
  const ready = await send(manager, { ...fields, numbers: ',', days: 'day-month' });
  assert.match(textOfPage(ready), /3\.500,00/);
  assert.match(textOfPage(ready), /5\.\s?(?:06\.|Juni )2031|05\.06\.2031/);
  const wrong = await send(manager, { ...fields, numbers: '.', days: 'month-day' });
  assert.match(textOfPage(wrong), /2 Zeilen zu berichtigen/);
  // No question if the cells show it.
  const shown = await send(manager, { kind: 'file', rows: 'Betrag;Name\n1.000;Ada\n25,50;Grace\n' });
  assert.match(textOfPage(shown), /Bereit zum Ausstellen.*1\.025,50/);
});

test('a table without headings is read from its first line', async () => {
  await using shop = await openStaffedShop();
  const manager = await shop.as('manager');
  const asked = await send(manager, { kind: 'file', rows: 'Ada;25,00\nGrace;30,00\n' });
  const { first_line: _, ...fields } = fieldsOf(asked);
  const columns = await send(manager, fields);
  assert.equal(columns.status, 200);
  assert.match(textOfPage(columns), /2 Spalten zu klären\s*2 Zeilen\..*Spalte A etwa „Ada“/s);
  const ready = await send(manager, {
    ...formOf(columns, `${path}/new`),
    column_0: 'recipient_name',
    column_1: 'initial_value',
  });
  assert.match(textOfPage(ready), /55,00/);
  assert.equal((await issue(manager, ready, { expected_count: '2', expected_total: '55' })).status, 303);
  // Nothing is remembered without headings.
  assert.deepEqual(await shop.service.query('select * from column_headings'), []);
});

test('cells are repaired in place, also in a workbook, and a code is not shown', async () => {
  await using shop = await openStaffedShop();
  const manager = await shop.as('manager');
  const book = workbookOf([
    ['Name', 'E-Mail', 'Betrag', 'Nachricht', 'Versanddatum', 'Gutscheincode'],
    ['Ida', 'ida@exmaple', 25.5, 'Zwei\nZeilen', null, null],
    ['Karl', 'karl@example.de', '25,0O', '', null, null],
    ['Mary', 'mary@example.de', 1_000, '', null, '!'],
  ]);
  const wrong = await send(manager, { kind: 'file' }, { file: ['Dankeschön.xlsx', book] });
  assert.equal(wrong.status, 422);
  assert.match(textOfPage(wrong), /3 Zeilen zu berichtigen/);
  assert.match(wrong.text, /name="repair_2_1" type="text" value="ida@exmaple"[^>]* aria-describedby="repair_2_1-error" aria-invalid/); // prettier-ignore
  assert.doesNotMatch(wrong.text, /name="repair_4_5"/);
  const fields = fieldsOf(wrong);
  assert.equal(fields['repair_3_2'], '25,0O');
  const still = await send(manager, {
    ...fields,
    repair_2_1: 'ida@example.org',
    repair_3_2: 'x',
    leave_4: 'on',
  });
  assert.match(textOfPage(still), /1 Zeile zu berichtigen.*Zeile 3/s);
  const ready = await send(manager, { ...fieldsOf(still), repair_3_2: '25,00' });
  assert.match(textOfPage(ready), /Dankeschön .*50,50.*2 Karten · 2 Karten gehen per E-Mail/s);
  const issued = await issue(manager, ready, { expected_count: '2', expected_total: '50,50' });
  assert.equal(issued.status, 303, textOfPage(issued));
  await until(async () => (await shop.service.query('select id from gift_cards')).length === 2);
  const cards = await shop.service.query('select message from gift_cards order by id');
  assert.equal(cards[0]?.['message'], 'Zwei\nZeilen');
});

test('the same file again is a warning, and is issued again only on purpose', async () => {
  await using shop = await openStaffedShop();
  const manager = await shop.as('manager');
  const rows = 'Betrag;Name\n25,00;Ada\n';
  const once = { expected_count: '1', expected_total: '25' };
  const first = await send(manager, { kind: 'file', rows, name: 'Sommer' });
  const stale = await send(manager, { kind: 'file', rows, name: 'Sommer' });
  assert.doesNotMatch(textOfPage(first), /schon importiert/);
  assert.equal((await issue(manager, first, once)).status, 303);
  const count = async (): Promise<number> => (await shop.service.query('select id from batches')).length;
  const again = await send(manager, { kind: 'file', rows });
  assert.match(textOfPage(again), /Diese Datei wurde schon importiert: Sommer\s*, 1 Karte, /);
  for (const page of [again, stale]) {
    const rejected = await issue(manager, page, once);
    assert.equal(rejected.status, 422);
    assert.match(textOfPage(rejected), /schon importiert, und jetzt wurde nichts ausgestellt/);
  }
  assert.equal(await count(), 1);
  assert.equal((await issue(manager, again, { ...once, again: 'yes' })).status, 303);
  assert.equal(await count(), 2);
  // Another store and another file have no warning, and a forged digest finds nothing.
  const other = await send(manager, { kind: 'file', rows: `${rows}5,00;Grace\n` });
  assert.doesNotMatch(textOfPage(other), /schon importiert/);
  const fields = {
    ...fieldsOf(other, `${path}/issue`),
    digest: `x'; --`,
    expected_count: '2',
    expected_total: '30',
  };
  assert.equal((await send(manager, fields, { at: `${path}/issue` })).status, 303);
});

test('damaged files and files above a limit are a sentence', async () => {
  await using shop = await openStaffedShop();
  const manager = await shop.as('manager');
  const bomb = workbookOf([], { sheet: '<worksheet>'.padEnd(30 * 2 ** 20, ' ') });
  const laughs = workbookOf([['a']], {
    texts: '<!DOCTYPE a [<!ENTITY b "c">]><sst><si><t>&b;</t></si></sst>',
  });
  for (const bytes of [bomb, laughs, Buffer.from('PK\u0003\u0004zip'), Buffer.of(0xd0, 0xcf, 0x11, 0xe0)]) {
    const page = await send(manager, { kind: 'file' }, { file: ['a.xlsx', Buffer.from(bytes)] });
    assert.equal(page.status, 422);
    assert.match(textOfPage(page), /keine lesbare Tabelle/);
  }
  const empty = await send(manager, { kind: 'file' }, { file: ['leer.xlsx', workbookOf([])] });
  assert.equal(empty.status, 422);
  assert.match(textOfPage(empty), /Die erste Zeile muss die Überschriften haben|folgt keine Karte/);
});
