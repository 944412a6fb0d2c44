/** The operations on batches. */

import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { until } from '../support/delivering.ts';
import { startService, type TestRequest, type TestResponse } from '../support/service.ts';

// The creation starts a batch, not the period of the job.
const service = await startService({
  stores: [{ domain: 'flowers.example' }, { domain: 'books.example' }],
  limits: { batchPeriodMs: 3_600_000, upkeepPeriodMs: 50 },
});
after(() => service[Symbol.asyncDispose]());
const token = await service.token('flowers.example');

type Batch = Readonly<Record<string, unknown>> & { readonly id: number; readonly state: string };
type BatchCard = Readonly<Record<string, unknown>> & { readonly index: number; readonly code: string | null };

function ask(line: string, request: Omit<TestRequest, 'method'> = {}): Promise<TestResponse> {
  const [method = '', path = ''] = line.split(' ', 2);
  return service.request(path, { token, ...request, method });
}

function jsonOf(response: TestResponse, status: number): unknown {
  assert.equal(response.status, status, response.text);
  return response.json;
}

async function create(json: object, headers: Readonly<Record<string, string>> = {}): Promise<Batch> {
  const response = await ask('POST /batches', { json, headers });
  const { batch } = jsonOf(response, 202) as { readonly batch: Batch };
  assert.equal(response.headers.get('location'), `/batches/${batch.id}`);
  return batch;
}

async function completed(id: number) {
  const read = async () =>
    jsonOf(await ask(`GET /batches/${id}`), 200) as { readonly batch: Batch; readonly failures: object };
  await until(async () => (await read()).batch.state === 'complete');
  return read();
}

async function cardsOf(id: number, query = '', other = token): Promise<readonly BatchCard[]> {
  const response = await ask(`GET /batches/${id}/cards${query}`, { token: other });
  return (jsonOf(response, 200) as { readonly cards: readonly BatchCard[] }).cards;
}

async function countCards(): Promise<number> {
  const [row] = await service.query('select count(*) as cards from gift_cards');
  return Number(row?.['cards']);
}

const cards = [
  { initial_value: '25.00', recipient_email: 'grace@example.com', notify: false, note: '=1+1' },
  { initial_value: 50, code: 'SPRING-2031-0001' },
  { initial_value: '75', tags: ['VIP'], expires_on: '2040-12-31' },
];

test('a used or repeated external id is an error of its card', async () => {
  const external_id = 'batch/1';
  const created = await create({
    cards: [
      { initial_value: '5', external_id },
      { initial_value: '6', external_id: 'batch/2' },
    ],
  });
  const { failures } = await completed(created.id);
  assert.deepEqual(failures, []);
  const [first] = await cardsOf(created.id);
  const repeated = await ask('POST /gift_card', { json: { initial_value: '5', external_id } });
  const { gift_card: card } = jsonOf(repeated, 200) as {
    readonly gift_card: Readonly<Record<string, unknown>>;
  };
  assert.deepEqual(
    [card['id'], 'code' in card],
    [first?.['id'] ?? (first?.['gift_card'] as { id: number } | undefined)?.id, false],
  );
  const before = await countCards();
  const response = await ask('POST /batches', {
    json: {
      cards: [
        { initial_value: '5', external_id: 'batch/3' },
        { initial_value: '5', external_id },
        { initial_value: '5', external_id: 'batch/3' },
      ],
    },
  });
  const { errors } = jsonOf(response, 422) as {
    readonly errors: Readonly<Record<string, readonly string[]>>;
  };
  assert.deepEqual(errors, {
    'cards[1].external_id': ['was used before'],
    'cards[2].external_id': ['must differ from that of cards[0]'],
  });
  const equal = await ask('POST /batches', {
    json: { count: 2, initial_value: '5', external_id: 'batch/4' },
  });
  assert.equal(equal.status, 422);
  assert.equal(await countCards(), before);
});

test('an external id that is used after the batch was accepted fails only its card', async () => {
  const created = await create({
    cards: Array.from({ length: 60 }, (_, place) => ({ initial_value: '5', external_id: `late/${place}` })),
  });
  const taken = await ask('POST /gift_card', { json: { initial_value: '7', external_id: 'late/59' } });
  const { batch, failures } = await completed(created.id);
  if (taken.status === 201) {
    assert.deepEqual(failures, [{ index: 59, field: 'external_id', message: 'was used before' }]);
    assert.equal(batch['issued'], 59);
  } else assert.equal(batch['issued'], 60);
});

test('equal cards are issued in the background, each with its code', async () => {
  const created = await create({
    name: 'Spring',
    count: 60,
    initial_value: '25.00',
    expires_on: '2040-12-31',
  });
  assert.deepEqual(
    [created['name'], created.state, created['count'], created['total'], created['codes_until']],
    ['Spring', 'running', 60, '1500.00', null],
  );
  const { batch, failures } = await completed(created.id);
  assert.deepEqual(
    [batch['issued'], batch['issued_total'], batch['failed'], failures],
    [60, '1500.00', 0, []],
  );
  assert.ok(batch['codes_until']);
  const found = await cardsOf(created.id, '?limit=250');
  assert.equal(new Set(found.map(({ code }) => code)).size, 60);
  const last = found.at(-1);
  assert.deepEqual([last?.index, last?.['balance'], last?.['expires_on']], [59, '25.00', '2040-12-31']);
  const lookup = await ask('POST /gift_card/lookup', { json: { code: last?.code } });
  assert.equal(lookup.status, 200, lookup.text);
});

test('listed cards are issued with their own fields, and pages are linked', async () => {
  const { id } = await create({ cards, expected_count: 3, expected_total: '150.00' });
  await completed(id);
  const first = await ask(`GET /batches/${id}/cards?limit=2`);
  const page = (jsonOf(first, 200) as { readonly cards: readonly BatchCard[] }).cards;
  assert.deepEqual(
    page.map((card) => [card.index, card['initial_value'], card['recipient_email'], card['note']]),
    [
      [0, '25.00', 'grace@example.com', '=1+1'],
      [1, '50.00', null, null],
    ],
  );
  assert.equal(page[1]?.code, 'spring20310001');
  assert.equal(first.headers.get('link'), `</batches/${id}/cards?limit=2&from=2>; rel="next"`);
  const rest = await ask(`GET /batches/${id}/cards?limit=2&from=2`);
  assert.equal(rest.headers.get('link'), null);
  assert.equal(
    (jsonOf(rest, 200) as { readonly cards: readonly BatchCard[] }).cards[0]?.['expires_on'],
    '2040-12-31',
  );
});

test('the cards are also CSV, in which no cell is a formula', async () => {
  const { id } = await create({ cards: cards.map((card) => ({ ...card, code: undefined })) });
  await completed(id);
  const found = await cardsOf(id);
  for (const csv of [
    await ask(`GET /batches/${id}/cards`, { headers: { accept: 'text/csv' } }),
    await ask(`GET /batches/${id}/cards?format=csv`),
  ]) {
    assert.equal(csv.headers.get('content-type'), 'text/csv; charset=utf-8; header=present');
    assert.equal(csv.headers.get('cache-control'), 'no-store');
    const [header, first, ...others] = csv.text.trimEnd().split('\r\n');
    assert.equal(
      header,
      'index,id,code,initial_value,currency,last_characters,expires_on,customer_email,recipient_email,note',
    );
    assert.equal(
      first,
      `0,${String(found[0]?.['id'])},${found[0]?.code},25.00,USD,${found[0]?.code?.slice(-4)},,,grace@example.com,'=1+1`,
    );
    assert.equal(others.length, 2);
  }
});

test('codes need write_gift_cards, and are erased after 24 hours', async () => {
  const { id } = await create({ count: 2, initial_value: 5 });
  await completed(id);
  const reader = await service.token('flowers.example', ['read_gift_cards']);
  assert.deepEqual(
    (await cardsOf(id, '', reader)).map(({ code }) => code),
    [null, null],
  );
  const csv = await ask(`GET /batches/${id}/cards?format=csv`, { token: reader });
  for (const { code } of await cardsOf(id)) assert.ok(code !== null && !csv.text.includes(code));
  const other = await service.token('books.example');
  for (const path of [`/batches/${id}`, `/batches/${id}/cards`, `/batches/${id}/cards?format=csv`])
    assert.equal((await ask(`GET ${path}`, { token: other })).status, 404, path);
  service.clock.advance(24 * 3_600_000 + 1_000);
  assert.deepEqual(
    (await cardsOf(id)).map(({ code }) => code),
    [null, null],
  );
  await until(
    async () => (await service.query('select 1 from batch_parts where codes is not null')).length === 0,
  );
  assert.equal((await completed(id)).batch['codes_until'], null);
});

test('every error is returned with its place, and nothing is issued', async () => {
  const before = await countCards();
  const cases: readonly (readonly [object, object])[] = [
    [{}, { count: ['is required without cards'], initial_value: ['is required without cards'] }],
    [{ count: 0, initial_value: 1 }, { count: ['must be an integer from 1 to 10,000'] }],
    [{ count: 10_001, initial_value: 1 }, { count: ['must be an integer from 1 to 10,000'] }],
    [{ count: 1, initial_value: 1, code: 'abcdefgh' }, { code: ['is not a known parameter'] }],
    [{ cards: {} }, { cards: ['must be a list of objects'] }],
    [{ cards: [] }, { cards: ['must not be empty'] }],
    [
      { cards: [{ initial_value: 1 }], count: 1, note: 'x' },
      { count: ['cannot be combined with cards'], note: ['cannot be combined with cards'] },
    ],
    [
      {
        cards: [
          { initial_value: '0' },
          [],
          { initial_value: '1.001', recipient_email: 'x', color: 1 },
          { note: 'x', send_on: '2020-01-01' },
          { initial_value: 1, code: 'SPRING-2031-0001', vat_rate: '19' },
        ],
      },
      {
        'cards[0].initial_value': ['must be greater than 0'],
        'cards[1]': ['must be an object'],
        'cards[2].initial_value': ['must have at most 2 decimals, as USD has'],
        'cards[2].recipient_email': ['must be one valid email address'],
        'cards[2].color': ['is not a known parameter'],
        'cards[3].send_on': ['must not be in the past'],
        'cards[3].initial_value': ['is required'],
        'cards[4].vat_rate': ['cannot be set without vat_kind single_purpose'],
      },
    ],
    [
      { cards: [{ initial_value: 1 }, { initial_value: 1, code: 'SPRING-2031-0001' }] },
      { 'cards[1].code': ['is taken'] },
    ],
    [
      { cards: [{ initial_value: 1 }], expected_count: 2, expected_total: '1.01' },
      {
        expected_count: ['must be 1, the number of gift cards'],
        expected_total: ['must be 1.00, the sum of the values'],
      },
    ],
  ];
  for (const [json, errors] of cases) {
    const response = await ask('POST /batches', { json });
    assert.equal(response.status, 422, response.text);
    assert.deepEqual((response.json as { readonly errors: object }).errors, errors);
  }
  const many = await ask('POST /batches', { json: { cards: Array.from({ length: 500 }, () => ({})) } });
  const { errors } = jsonOf(many, 422) as { readonly errors: Readonly<Record<string, readonly string[]>> };
  assert.equal(Object.keys(errors).length, 101);
  assert.deepEqual(errors['cards'], ['is invalid: it has 500 errors, of which the first 100 are listed']);
  assert.equal(await countCards(), before);
  assert.equal((await service.query("select 1 from batches where state = 'running'")).length, 0);
});

test('a dry run returns the count and the total, and a key creates one batch', async () => {
  const before = await countCards();
  const json = { count: 3, initial_value: '10.00' };
  const dry = await ask('POST /batches?dry_run=true', { json });
  const { batch } = jsonOf(dry, 202) as { readonly batch: Batch };
  assert.deepEqual([batch['count'], batch['total'], dry.headers.get('dry-run')], [3, '30.00', 'true']);
  assert.equal((await ask(`GET /batches/${batch.id}`)).status, 404);
  assert.equal(await countCards(), before);
  const first = await create(json, { 'idempotency-key': 'batch-1' });
  const again = await ask('POST /batches', { json, headers: { 'idempotency-key': 'batch-1' } });
  assert.equal((jsonOf(again, 202) as { readonly batch: Batch }).batch.id, first.id);
  assert.equal(again.headers.get('idempotent-replayed'), 'true');
  await completed(first.id);
  assert.equal(await countCards(), before + 3);
  const { batches } = jsonOf(await ask('GET /batches?limit=2'), 200) as {
    readonly batches: readonly Batch[];
  };
  assert.equal(batches[0]?.id, first.id);
  assert.equal(batches.length, 2);
});

test('the body of a batch can have 4 MiB, and 10,000 cards', async () => {
  const before = await countCards();
  const json = {
    cards: Array.from({ length: 10_000 }, () => ({ initial_value: '1.00', note: 'x'.repeat(200) })),
  };
  const response = await ask('POST /batches?dry_run=true', { json });
  assert.equal((jsonOf(response, 202) as { readonly batch: Batch }).batch['count'], 10_000);
  const above = await ask('POST /batches', {
    json: { cards: [{ initial_value: 1, note: 'x'.repeat(4 * 2 ** 20) }] },
  });
  assert.equal(above.status, 413);
  const more = await ask('POST /batches', { json: { cards: Array.from({ length: 10_001 }, () => 1) } });
  assert.deepEqual((jsonOf(more, 422) as { readonly errors: object }).errors, {
    cards: ['must have at most 10,000 gift cards'],
  });
  assert.equal(
    (await ask('POST /gift_card', { json: { initial_value: 1, note: 'x'.repeat(70_000) } })).status,
    413,
  );
  assert.equal(await countCards(), before);
});

test('no code is in the log or in clear in the database', async () => {
  const { id } = await create({ count: 30, initial_value: 1 });
  await completed(id);
  const state = await service.state();
  const log = service.log();
  for (const { code } of await cardsOf(id)) {
    assert.ok(code !== null);
    assert.ok(!state.includes(code) && !log.includes(code));
  }
});
