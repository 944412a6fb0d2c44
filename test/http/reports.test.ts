/** Reports through the API: the worked example of docs/books.md, CSV, parameters, and the background job. */

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { after } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { parse } from 'csv-parse/sync';
import { consoleDomain, join as joinStore } from '../support/console.ts';
import { shopOf, type Shop } from '../support/shop.ts';
import { startService, type TestService } from '../support/service.ts';

const page = join(import.meta.dirname, '../../docs/books.md');
const hourMs = 60 * 60_000;

const service = await startService({
  stores: [
    {
      domain: 'berlin.example',
      currency: 'EUR',
      timeZone: 'Europe/Berlin',
      vat: { kind: 'single_purpose', rate: '19' },
      accountNames: {
        sales: '1360',
        top_ups: '1360',
        redemptions: '1723',
        vat_payable: '1776',
        liability_active: '1604',
      },
    },
    { domain: 'flowers.example', undoWindowMinutes: 60 },
    { domain: 'shops.example' },
    {
      domain: 'formulas.example',
      accountNames: {
        sales: '=HYPERLINK("http://x.example")',
        redemptions: '+1+cmd',
        adjustments: '-2+3',
        liability_active: '@SUM(A1)',
        liability_disabled: 'a "quoted", name',
      },
    },
  ],
  limits: { closingPeriodMs: 50, closingRowsMax: 3 },
  startsAt: '2027-05-31T10:00:00Z',
  environment: { IMPLAUSIBLE_CLOCK: 'allow' },
});
after(() => service[Symbol.asyncDispose]());

function setClock({ clock }: TestService, at: string): void {
  clock.advance(Temporal.Instant.from(at).epochMilliseconds - clock.now());
}

async function untilClosed(domain: string, day: string): Promise<void> {
  for (let attempt = 0; attempt < 600; attempt += 1) {
    const rows = await service.query(
      `select c.day from store_closings c join stores s on s.id = c.store_id
       where s.domain = '${domain}' and c.day = '${day}' and c.part = 'closed'`,
    );
    if (rows.length > 0) return;
    await wait(50);
  }
  assert.fail(`${day} was not closed`);
}

async function readJson(shop: Shop, path: string): Promise<Record<string, unknown>> {
  const response = await shop.ask(`GET /reports/${path}`);
  assert.equal(response.status, 200, response.text);
  assert.equal(response.headers.get('content-type'), 'application/json; charset=utf-8');
  return Object.values(response.json as Record<string, Record<string, unknown>>)[0] ?? {};
}

async function csv(shop: Shop, path: string): Promise<string> {
  const response = await shop.ask(`GET /reports/${path}`);
  assert.equal(response.status, 200, response.text);
  assert.equal(response.headers.get('content-type'), 'text/csv; charset=utf-8; header=present');
  assert.match(
    response.headers.get('content-disposition') ?? '',
    /^attachment; filename="[a-z0-9-]+\.csv"$/i,
  );
  return response.text;
}

function rowsOf(text: string): readonly Record<string, string>[] {
  return parse(text, { columns: true, record_delimiter: '\r\n', relax_quotes: false });
}

test('the worked example of docs/books.md is what the service returns', async () => {
  setClock(service, '2027-06-01T10:00:00Z');
  const shop = await shopOf(service, 'berlin.example');
  const first = await shop.issue({ initial_value: '119.00' });
  await shop.issue({ initial_value: '59.50', expires_on: '2027-06-02' });
  setClock(service, '2027-06-02T10:00:00Z');
  await shop.debits(first.id, '19.00');
  setClock(service, '2027-06-03T10:00:00Z');
  await shop.does(
    `POST /gift_card/${first.id}/credit`,
    { json: { kind: 'top_up', amount: '11.90' } },
    { events: ['gift_card.credited'] },
  );
  const read = async (): Promise<Readonly<Record<string, string>>> => ({
    liability: `${JSON.stringify(await readJson(shop, 'liability?as_of=2027-06-03'), null, 2)}\n`,
    journal: await csv(shop, 'journal?from=2027-06-01&to=2027-06-03&format=csv'),
    activity: await csv(shop, 'activity?by=day&from=2027-06-01&to=2027-06-03&format=csv'),
    aging: await csv(shop, 'aging?as_of=2027-06-03&format=csv'),
    breakage: await csv(shop, 'breakage?from=2027-06-01&to=2027-06-03&format=csv'),
  });
  await untilClosed('berlin.example', '2027-06-02');
  const open = await read();
  let text = readFileSync(page, 'utf8');
  for (const [name, content] of Object.entries(open)) {
    const block = new RegExp(`(<!-- example: ${name} -->\n\n\`\`\`[a-z]+\n)([^\`]*)(\`\`\`)`);
    const [, , documented] = block.exec(text) ?? [];
    const shown = content.replaceAll('\r\n', '\n');
    if (process.env['UPDATE_SNAPSHOT'] === '1')
      text = text.replace(block, (_, head: string, _old, end: string) => head + shown + end);
    else assert.equal(documented, shown, `docs/books.md differs in ${name}; UPDATE_SNAPSHOT=1 writes it`);
  }
  if (process.env['UPDATE_SNAPSHOT'] === '1') writeFileSync(page, text);
  // The reports of closed days are those of the open ones.
  setClock(service, '2027-06-04T10:00:00Z');
  await untilClosed('berlin.example', '2027-06-03');
  assert.deepEqual(await read(), open);
});

test('spreadsheets do not execute CSV cells, and negative numbers stay numbers', async () => {
  const shop = await shopOf(service, 'formulas.example');
  const { id } = await shop.issue({ initial_value: '20.00' });
  await shop.debits(id, '5.00');
  await shop.does(`PUT /gift_card/${id}`, { json: { balance: '12.00' } }, { events: ['gift_card.updated'] });
  await shop.does(`PUT /gift_card/${id}`, { json: { disable: true } }, { events: ['gift_card.disabled'] });
  const today = new Date(service.clock.now()).toISOString().slice(0, 10);
  const lines = rowsOf(await csv(shop, `journal?from=${today}&to=${today}&format=csv`));
  const names = new Set(lines.map(({ account }) => account));
  assert.deepEqual(
    names,
    new Set(['\'=HYPERLINK("http://x.example")', "'+1+cmd", "'-2+3", "'@SUM(A1)", 'a "quoted", name']),
  );
  const [liability] = rowsOf(await csv(shop, 'liability?format=csv'));
  assert.equal(liability?.['adjusted'], '-3.00');
  assert.equal(liability['disabled'], '12.00');
  const inJson = (await readJson(shop, `journal?from=${today}&to=${today}`))['lines'] as {
    readonly account: string;
  }[];
  assert.equal(inJson.length, lines.length);
  assert.ok(inJson.some(({ account }) => account === '+1+cmd'));
});

test('reports by location add up to those of the store, on open and on closed days', async () => {
  const shop = await shopOf(service, 'shops.example');
  const addLocation = async (name: string): Promise<number> =>
    ((await shop.ask('POST /locations', { json: { name } })).json as { location: { id: number } }).location
      .id;
  const [market, harbour] = [await addLocation('Market Street'), await addLocation('Harbour')];
  const { id } = await shop.issue({ initial_value: '50.00', location_id: market });
  const debit = await shop.debits(id, '12.50', { location_id: harbour });
  await shop.debits(id, '5.00');
  await shop.does(
    `POST /gift_card/${id}/credit`,
    { json: { kind: 'top_up', amount: '20.00', location_id: market } },
    { events: ['gift_card.credited'] },
  );
  await shop.does(
    `POST /transactions/${debit.id}/reverse`,
    { json: { amount: '2.50', location_id: harbour } },
    { status: 201, events: ['gift_card.reversed'] },
  );
  await shop.does(`PUT /gift_card/${id}`, { json: { disable: true } }, { events: ['gift_card.disabled'] });
  const day = new Date(service.clock.now()).toISOString().slice(0, 10);
  const days = `from=${day}&to=${day}`;
  const none = { issued: '0.00', topped_up: '0.00', redeemed: '0.00', refunded: '0.00', adjusted: '0.00' };
  const expected = [
    { ...none, group: String(market), transactions: 2, issued: '50.00', topped_up: '20.00', change: '70.00', location: 'Market Street' },
    { ...none, group: String(harbour), transactions: 2, redeemed: '12.50', refunded: '2.50', change: '-10.00', location: 'Harbour' },
    { ...none, group: null, transactions: 1, redeemed: '5.00', change: '-5.00', location: null },
  ]; // prettier-ignore
  const assertReports = async (): Promise<void> => {
    const { rows } = await readJson(shop, `activity?by=location&${days}`);
    assert.deepEqual(new Set(rows as typeof expected), new Set(expected));
    for (const { group, location: _, ...figures } of expected) {
      const { rows: own } = await readJson(shop, `activity?by=day&${days}&location_id=${group ?? 'none'}`);
      assert.deepEqual(own, [{ ...figures, group: day, location: null }]);
    }
    const lines = rowsOf(await csv(shop, `journal?${days}&by=location&format=csv`));
    const whole = rowsOf(await csv(shop, `journal?${days}&format=csv`));
    assert.ok(whole.every(({ location_id, location }) => location_id === '' && location === ''));
    const total = (of: typeof lines, name: string): bigint =>
      of.reduce((sum, line) => sum + BigInt((line[name] ?? '').replace('.', '')), 0n);
    for (const name of ['debit', 'credit'])
      assert.ok(total(lines, name) >= total(whole, name) && total(whole, name) > 0n);
    for (const [place, own] of Map.groupBy(lines, ({ location_id }) => location_id ?? 'absent')) {
      assert.equal(total(own, 'debit'), total(own, 'credit'), place);
      const name = { [market]: 'Market Street', [harbour]: 'Harbour' }[place] ?? '';
      assert.ok(own.every(({ location }) => location === name));
    }
    assert.deepEqual(
      new Set(lines.filter(({ kind }) => kind === 'disable').map(({ location_id }) => location_id)),
      new Set(['']),
    );
  };
  await assertReports();
  service.clock.advance(24 * hourMs);
  await untilClosed('shops.example', day);
  await assertReports();
});

test('Accept chooses the form, and format overrides it', async () => {
  const shop = await shopOf(service, 'flowers.example');
  const typeOf = async (accept: string | undefined, query = ''): Promise<string | null> => {
    const headers = accept === undefined ? {} : { accept };
    const response = await shop.ask(`GET /reports/liability${query}`, { headers });
    assert.equal(response.status, 200, response.text);
    assert.match(response.headers.get('vary') ?? '', /accept/i);
    return response.headers.get('content-type')?.split(';', 1)[0] ?? null;
  };
  assert.equal(await typeOf(undefined), 'application/json');
  assert.equal(await typeOf('*/*'), 'application/json');
  assert.equal(await typeOf('text/csv'), 'text/csv');
  assert.equal(await typeOf('application/json, text/csv;q=0.5'), 'application/json');
  assert.equal(await typeOf('text/csv, application/json;q=0.5'), 'text/csv');
  assert.equal(await typeOf('text/*;q=0.9, */*;q=0.1'), 'text/csv');
  assert.equal(await typeOf('text/csv', '?format=json'), 'application/json');
  assert.equal(await typeOf(undefined, '?format=csv'), 'text/csv');
});

test('a report needs read_reports and valid parameters', async () => {
  const shop = await shopOf(service, 'flowers.example');
  const day = (ms: number): string => new Date(service.clock.now() + ms).toISOString().slice(0, 10);
  const [today, tomorrow, longAgo] = [day(0), day(24 * hourMs), day(-366 * 24 * hourMs)];
  const cases: readonly (readonly [string, string])[] = [
    [`liability?as_of=${tomorrow}`, 'as_of'],
    ['liability?as_of=2027-02-30', 'as_of'],
    ['liability?as_of=2027-01-01T00:00:00', 'as_of'],
    ['liability?as_of=2999-01-01T00:00:00Z', 'as_of'],
    ['liability?format=xml', 'format'],
    [`journal?from=${today}`, 'to'],
    [`journal?from=${today}&to=${tomorrow}`, 'to'],
    [`journal?from=${longAgo}&to=${today}`, 'to'],
    [`activity?from=${today}&to=${today}`, 'by'],
    [`activity?by=year&from=${today}&to=${today}`, 'by'],
    [`activity?by=day&from=${today}&to=${today}&location_id=`, 'location_id'],
    [`activity?by=day&from=${today}&to=${today}&location_id=Market`, 'location_id'],
    [`activity?by=day&from=${today}&to=${today}&location_id=12345678901234567`, 'location_id'],
    [`journal?from=${today}&to=${today}&by=actor`, 'by'],
    [`breakage?from=${today}&to=${longAgo}`, 'to'],
  ];
  for (const [path, field] of cases) {
    const response = await shop.ask(`GET /reports/${path}`);
    assert.equal(response.status, 400, path);
    assert.deepEqual(Object.keys((response.json as { errors: object }).errors), [field], path);
  }
  const token = await shop.tokenFor('read_gift_cards');
  assert.equal((await shop.ask('GET /reports/liability', { token })).status, 403);
});

test('a creation rejects a VAT rate without its kind, and sets both from JSON and forms', async () => {
  const shop = await shopOf(service, 'flowers.example');
  const rejected = { code: 'invalid-parameter', fields: ['vat_rate'] } as const;
  for (const json of [
    { vat_kind: 'single_purpose' },
    { vat_rate: '19' },
    { vat_kind: 'multi_purpose', vat_rate: '19' },
    { vat_kind: 'single_purpose', vat_rate: '101' },
    { vat_kind: 'single_purpose', vat_rate: 19 },
  ]) {
    const response = await shop.ask('POST /gift_card', { json: { initial_value: 5, ...json } });
    assert.equal(response.status, 422, JSON.stringify(json));
    assert.deepEqual(Object.keys((response.json as { errors: object }).errors), [...rejected.fields]);
  }
  await shop.issue({ initial_value: '10.81', vat_kind: 'single_purpose', vat_rate: '8.10' });
  const form = await shop.ask('POST /gift_card', { form: 'initial_value=5&vat_kind=multi_purpose' });
  assert.equal(form.status, 201, form.text);
  const today = new Date(service.clock.now()).toISOString().slice(0, 10);
  const { lines } = (await readJson(shop, `journal?from=${today}&to=${today}`)) as {
    lines: readonly Readonly<Record<string, string | null>>[];
  };
  const sales = lines.filter(({ account }) => account === 'sales');
  assert.deepEqual(
    sales.map((line) => [
      line['debit'],
      line['vat_kind'],
      line['vat_rate'],
      line['vat_due'],
      line['vat_amount'],
    ]),
    [
      ['5.00', 'multi_purpose', null, null, null],
      ['10.81', 'single_purpose', '8.1', 'at_sale', '0.81'],
    ],
  );
});

test('amounts on hold are part of the liability until the hold ends', async () => {
  const shop = await shopOf(service, 'flowers.example');
  const before = await readJson(shop, 'liability');
  const { id } = await shop.issue({ initial_value: '30.00' });
  const started = service.clock.now();
  await shop.holds(id, '12.00', { expires_in: 60 });
  const held = await readJson(shop, 'liability');
  assert.equal(Number(held['on_hold']) - Number(before['on_hold']), 12);
  assert.equal(Number(held['available']) - Number(before['available']), 18);
  service.clock.advance(120_000);
  const ended = await readJson(shop, 'liability');
  assert.equal(ended['on_hold'], before['on_hold']);
  const then = await readJson(shop, `liability?as_of=${new Date(started + 30_000).toISOString()}`);
  assert.equal(then['on_hold'], held['on_hold']);
});

test('on the first day of a month, the cards of that day are of the new month', async () => {
  const shop = await shopOf(service, 'berlin.example');
  setClock(service, '2027-06-30T10:00:00Z');
  await shop.issue({ initial_value: '40.00' });
  setClock(service, '2027-07-01T10:00:00Z');
  await untilClosed('berlin.example', '2027-06-30');
  await shop.issue({ initial_value: '70.00' });
  const { months } = await readJson(shop, 'aging');
  assert.deepEqual(
    (months as readonly Readonly<Record<string, unknown>>[]).map(({ issued, cards }) => [issued, cards]),
    [
      ['2027-06', 3],
      ['2027-07', 1],
    ],
  );
});

test('a report that takes too long is a 503 with Retry-After and a log line, in the API and on pages', async () => {
  await using slow = await startService({ stores: [{ domain: consoleDomain }], limits: { reportMaxMs: -1 } });
  const shop = await shopOf(slow, consoleDomain);
  const response = await slow.request('/reports/liability', { token: shop.token });
  assert.equal(response.status, 503, response.text);
  assert.equal(response.headers.get('retry-after'), '60');
  assert.match(response.text, /took too long/);
  const owner = await joinStore(slow, 'owner');
  const { status, headers, text } = await owner.get('/books/journal');
  assert.equal(status, 503, text);
  assert.equal(headers.get('retry-after'), '60');
  const lines = slow.log().split('\n');
  const ended = lines.filter((line) => line.includes('a report took too long and was ended'));
  assert.equal(ended.length, 2);
  assert.match(ended[0] ?? '', /"store":"flowers\.example","report":"liability"/);
});
