/** Issuing many cards on the pages. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { readTableFile } from '../../src/features/batches/service/table-file.ts';
import type { Browser } from '../support/browser.ts';
import { staffPassword } from '../support/console.ts';
import { formOf, openStaffedShop, sendForm, textOfPage, type StaffedShop } from '../support/counter-staff.ts';
import { until } from '../support/delivering.ts';
import type { TestResponse } from '../support/service.ts';

const path = '/cards/batches';

function locationOf({ headers }: Pick<TestResponse, 'headers'>): string {
  return headers.get('location') ?? '';
}

async function countOf({ service }: StaffedShop, table: 'batches' | 'gift_cards'): Promise<number> {
  const [row] = await service.query(`select count(*) as n from ${table}`);
  return Number(row?.['n']);
}

/** Checks the cards of a form. @returns the fields of the confirmation. */
async function checked(
  browser: Browser,
  fields: Readonly<Record<string, string>>,
): Promise<Readonly<Record<string, string>>> {
  const page = await browser.post(`${path}/new`, fields);
  assert.equal(page.status, 200, page.text);
  return formOf(page, `${path}/issue`);
}

async function completed(browser: Browser, at: string): Promise<TestResponse> {
  await until(async () => textOfPage(await browser.get(at)).includes('until'));
  return await browser.get(at);
}

const equalCards = { kind: 'equal', count: '3', value: '25,00', name: 'Staff presents' };

test('equal cards are issued once, and their codes can be read for a day', async () => {
  await using shop = await openStaffedShop();
  const manager = await shop.as('manager');
  const form = await checked(manager, equalCards);
  for (const figures of [
    { expected_count: '3', expected_total: '52,00' },
    { expected_count: '4', expected_total: '75' },
    {},
  ]) {
    const rejected = await manager.post(`${path}/issue`, { ...form, ...figures });
    assert.equal(rejected.status, 422);
    assert.match(textOfPage(rejected), /Nothing was issued/);
  }
  assert.equal(await countOf(shop, 'batches'), 0);
  for (const count of ['0', '3,5', '10.001', 'x']) {
    const rejected = await manager.post(`${path}/new`, { ...equalCards, count });
    assert.match(textOfPage(rejected), /Enter a number from 1 to 10,000/, count);
  }
  const confirmed = { ...form, expected_count: '3', expected_total: '75,00' };
  const issued = await manager.post(`${path}/issue`, confirmed);
  assert.equal(issued.status, 303, issued.text);
  const at = locationOf(issued);
  assert.match(at, /^\/cards\/batches\/\d+$/);
  for (const other of ['3', '99']) {
    const again = await manager.post(`${path}/issue`, { ...confirmed, expected_count: other });
    assert.equal(locationOf(again), at);
  }
  const page = await completed(manager, at);
  assert.match(textOfPage(page), /3 of 3 cards issued, of €75\.00 in all/);
  assert.doesNotMatch(page.text, /http-equiv="refresh"/);
  assert.deepEqual([await countOf(shop, 'batches'), await countOf(shop, 'gift_cards')], [1, 3]);
  assert.match(textOfPage(await manager.get(path)), /Staff presents.*Issued/);

  const file = await manager.post(`${at}/codes.csv`);
  assert.equal(file.headers.get('cache-control'), 'no-store');
  assert.match(file.text, /^Line,Recipient’s name,Code,Amount sold,/);
  const codes = file.text.split('\r\n').slice(1, -1).map((line) => (line.split(',')[2] ?? '').replace(/^'/, '')); // prettier-ignore
  assert.equal(new Set(codes).size, 3);
  const { json } = await shop.ask('POST /gift_card/lookup', { json: { code: codes[0] } });
  assert.equal((json as { readonly gift_card: { readonly balance: string } }).gift_card.balance, '25.00');
  const sheets = await manager.get(`${at}/print`);
  assert.equal(sheets.text.split('class="sheet"').length, 4);
  assert.doesNotMatch(page.text, new RegExp(codes.join('|'), 'i'));
  assert.doesNotMatch(shop.service.log(), new RegExp(codes.join('|'), 'i'));
  const actions = await shop.service.query(
    "select action from staff_actions where action like 'batch-%' order by action",
  );
  assert.deepEqual(actions.map(({ action }) => action), ['batch-codes-read', 'batch-codes-read', 'batch-issued']); // prettier-ignore

  const cashier = await shop.as('cashier');
  for (const each of [path, `${path}/new`, at, `${at}/print`])
    assert.equal((await cashier.get(each)).status, 403, each);
  assert.equal((await cashier.post(`${path}/issue`, confirmed)).status, 403);
  shop.service.clock.advance(11 * 60_000);
  assert.match(locationOf(await manager.post(`${at}/codes.csv`)), /^\/confirm\?/);
  shop.service.clock.advance(24 * 60 * 60_000);
  await manager.post('/sign-in', { email: 'manager@flowers.example', password: staffPassword });
  assert.equal((await manager.post(`${at}/codes.csv`)).status, 404);
  assert.equal((await manager.get(`${at}/print`)).status, 404);
  assert.match(textOfPage(await manager.get(at)), /can no longer be read/);
});

test('a file is issued as a whole or not at all, its errors are listed by line, and only staff send long forms', async () => {
  await using shop = await openStaffedShop();
  const owner = await shop.as('owner');
  const rejected = await owner.post(`${path}/new`, {
    kind: 'file',
    rows: 'initial_value,recipient_email\r\n25.00,grace@example.com\r\n0,ada\r\n"12\r\n',
  });
  assert.equal(rejected.status, 422);
  const broken = 'initial_value,recipient_email\r\n25.00,grace@example.com\r\n0,ada\r\n5,\r\n5\r\n';
  const page = await owner.post(`${path}/new`, { kind: 'file', rows: broken });
  assert.equal(page.status, 422);
  const text = textOfPage(page);
  assert.match(text, /Nothing was issued: 3 errors/);
  assert.match(text, /Line 3\s*initial_value\s*“0”: The amount is missing/);
  assert.match(text, /recipient_email\s*“ada”: This is not one valid email address/);
  assert.match(text, /Line 5\s*The line has more or fewer cells/);
  assert.doesNotMatch(text, /must be (?:an|a|at) |must have \d/);
  const first = await owner.post(`${path}/new`, { kind: 'file', rows: 'size\r\n5\r\n' });
  assert.match(textOfPage(first), /1 column to decide.*size such as “5”/);

  // Longer than other forms.
  const note = 'x'.repeat(4_000);
  const lines = Array.from({ length: 300 }, (_, index) => `${index + 1}.50;"${note}\r\n${index}"`);
  const form = await checked(owner, { kind: 'file', rows: ['initial_value;note', ...lines].join('\r\n') });
  const issued = await owner.post(`${path}/issue`, {
    ...form,
    expected_count: '300',
    expected_total: '€45,300.00',
  });
  assert.equal(issued.status, 303, textOfPage(issued));
  await completed(owner, locationOf(issued));
  assert.equal(await countOf(shop, 'gift_cards'), 300);
  // The limit of the person applies to each card.
  await shop.service.database.meddle("update staff set sale_limit = 2000 where role = 'owner'");
  const one = await owner.post(`${path}/new`, equalCards);
  assert.equal(one.status, 422);
  assert.match(textOfPage(one), /Your limit for one sale is €20\.00/);
  const many = await owner.post(`${path}/new`, { kind: 'file', rows: 'initial_value\n20\n20.01\n' });
  assert.match(textOfPage(many), /Line 3\s*initial_value/);
  assert.equal((await owner.post(`${path}/new`, { kind: 'file', rows: 'initial_value\n20\n' })).status, 200);

  const stranger = {
    headers: { 'content-type': 'application/x-www-form-urlencoded', 'sec-fetch-site': 'same-origin' },
  };
  owner.cookies.clear();
  const long = await owner.request(`${path}/new`, {
    method: 'POST',
    ...stranger,
    body: `rows=${note.repeat(300)}`,
  });
  assert.equal(long.status, 413);
});

const german = { 'accept-language': 'de', 'sec-fetch-site': 'same-origin' };

function fileForm(name: string, bytes: Uint8Array<ArrayBuffer> | string): FormData {
  const form = new FormData();
  form.set('kind', 'file');
  form.set('file', new Blob([bytes]), name);
  return form;
}

async function upload(browser: Browser, form: FormData, at = `${path}/new`): Promise<TestResponse> {
  const response = new Response(form);
  const type = response.headers.get('content-type') ?? '';
  const body = new Uint8Array(await response.arrayBuffer());
  return await browser.request(at, { method: 'POST', headers: { ...german, 'content-type': type }, body });
}

function withFields(
  form: Readonly<Record<string, string>>,
  more: Readonly<Record<string, string>>,
): FormData {
  const data = new FormData();
  for (const [name, value] of Object.entries({ ...form, ...more })) data.set(name, value);
  return data;
}

test('a file of a German spreadsheet is issued without its bad lines, under its name and with its lines', async () => {
  await using shop = await openStaffedShop();
  const manager = await shop.as('manager');
  const rows = [
    'Betrag;Empfänger;E-Mail;Gültig bis',
    '1.000,00;Jürgen Groß;jg@example.com;31.12.2031',
    '25,0O;Karl;karl@example.com;',
    '25,00 €;Käthe;;',
    '25;Jürgen;JG@example.com;',
    '10,00;=1+1;x@@y;',
  ];
  const text = `${rows.join('\r\n')}\r\n`;
  const bytes = Buffer.concat(
    text
      .split('€')
      .flatMap((part, place) => [...(place > 0 ? [Buffer.of(0x80)] : []), Buffer.from(part, 'latin1')]),
  );
  const rejected = await upload(manager, fileForm('C:\\Listen\\Dankeschön November.csv', bytes));
  assert.equal(rejected.status, 422);
  assert.match(textOfPage(rejected), /2 Zeilen zu berichtigen.*Zeile 3\s*Karl\s*Betrag\s*„25,0O“.*Zeile 6/s);
  const values = formOf(rejected, `${path}/new`);
  const file = await upload(manager, withFields(values, {}), `${path}/lines.csv`);
  assert.match(file.headers.get('content-type') ?? '', /^text\/csv/);
  const [head, first, second] = file.text.split('\r\n');
  assert.equal(head, 'Zeile;Betrag;Empfänger;E-Mail;Gültig bis;Fehler');
  assert.match(first ?? '', /^3;"25,0O";Karl;karl@example\.com;;/);
  assert.match(second ?? '', /^6;"10,00";'=1\+1;x@@y;;/);
  const workbook = await upload(manager, withFields(values, {}), `${path}/lines.xlsx`);
  const fromWorkbook = await readTableFile(workbook.bytes ?? assert.fail(), { decimalSign: ',' });
  assert.match(fromWorkbook.text, /^Zeile\tBetrag\tEmpfänger\t[^\t]+\tGültig bis\tFehler\n3\t/);
  assert.match(fromWorkbook.text, /\n6\t"?10,00"?\t=1\+1\tx@@y\t/);
  // The file of the lines is read again, when they are repaired.
  const repaired = `${head}\r\n${(first ?? '').replace('25,0O', '25,00')}\r\n`;
  const again = await upload(manager, fileForm('lines.csv', repaired));
  assert.equal(again.status, 200, textOfPage(again));

  const good = await upload(manager, withFields(values, { leave: 'all' }));
  assert.equal(good.status, 200);
  assert.match(textOfPage(good), /Zeile 5.*JG@example\.com · 25,00\s€\s*Auch in Zeile 2/s);
  assert.match(textOfPage(good), /Weiter mit 3 Zeilen, 1\.050,00\s€/);
  const left = await upload(manager, withFields(formOf(good, `${path}/new`), { leave: 'all' }));
  assert.match(textOfPage(left), /Dankeschön November.*1\.025,00/s);
  const form = formOf(left, `${path}/issue`);
  const issued = await upload(
    manager,
    withFields(form, { expected_count: '2', expected_total: '1.025,00 €' }),
    `${path}/issue`,
  );
  assert.equal(issued.status, 303, textOfPage(issued));
  const at = locationOf(issued);
  await completed(manager, at);
  assert.match(textOfPage(await manager.get(path)), /Dankeschön November/);
  const codes = await upload(manager, new FormData(), `${at}/codes.csv`);
  assert.equal(codes.status, 415);
  const csv = await manager.request(`${at}/codes.csv`, {
    method: 'POST',
    headers: { ...german, 'content-type': 'application/x-www-form-urlencoded' },
    body: '',
  });
  assert.match(csv.text, /\r\n2;Jürgen Groß;;1000,00;EUR;2031-12-31;;jg@example\.com;/);
  assert.match(csv.text, /\r\n4;Käthe;[^;]+;25,00;EUR;;/);
  assert.equal(csv.text.split('\r\n').length, 4);
  // The other one was emailed.
  for (const per of [1, 8, 10, 'letter']) {
    const sheets = await manager.get(`${at}/print?per=${per}`);
    assert.equal(sheets.text.split(per === 1 ? 'class="sheet"' : 'class="label"').length - 1, 1);
    assert.match(textOfPage(sheets), /Cards 1 to 1 of 1 that can be printed/);
  }
});

test('a batch whose cards were all emailed says so instead of offering codes', async () => {
  await using shop = await openStaffedShop();
  const manager = await shop.as('manager');
  const rows = 'initial_value,recipient_email\r\n25.00,grace@example.com\r\n';
  const form = await checked(manager, { kind: 'file', rows });
  const sent = { ...form, expected_count: '1', expected_total: '€25.00' };
  const at = locationOf(await manager.post(`${path}/issue`, sent));
  await until(async () => textOfPage(await manager.get(at)).includes('were sent by email'));
  assert.doesNotMatch((await manager.get(at)).text, /codes\.csv|can no longer be read/);
});

test('a sheet has the cards that can be printed, and no others', async () => {
  await using shop = await openStaffedShop();
  const manager = await shop.as('manager');
  const form = await checked(manager, { kind: 'equal', count: '53', value: '25,00' });
  const sent = { ...form, expected_count: '53', expected_total: '€1,325.00' };
  const issued = await manager.post(`${path}/issue`, sent);
  assert.equal(issued.status, 303, textOfPage(issued));
  const at = locationOf(issued);
  await completed(manager, at);
  const file = await manager.post(`${at}/codes.csv`);
  const disabled = file.text.split('\r\n').slice(1, 3).map((line) => (line.split(',').at(-1) ?? '').replace("'", '')); // prettier-ignore
  for (const id of disabled) {
    const { status, text } = await shop.ask(`PUT /gift_card/${id}`, { json: { disable: true } });
    assert.equal(status, 200, text);
  }
  const first = textOfPage(await manager.get(`${at}/print?per=10`));
  assert.match(first, /Cards 1 to 50 of 51 that can be printed/);
  const rest = await manager.get(`${at}/print?per=10&from=50`);
  assert.match(textOfPage(rest), /Cards 51 to 51 of 51 that can be printed/);
  const reach = { phone: '+33 1 42', website: 'flowers.example', reply_to: 'hello@flowers.example' };
  assert.equal((await sendForm(await shop.as('owner'), '/settings', reach)).status, 303);
  for (const per of [1, 8, 10, 'letter'])
    assert.match(
      textOfPage(await manager.get(`${at}/print?per=${per}`)),
      /\+33 1 42 · flowers\.example · hello@flowers\.example/,
    );
  assert.equal(rest.text.split('class="label"').length - 1, 1);
  const eight = await manager.get(`${at}/print?per=8`);
  assert.equal(eight.text.split('class="labels eight"').length - 1, 6);
  assert.match(textOfPage(eight), /Cards 1 to 48 of 51/);
});
