/** The operations on stocks, and the activation of printed cards. */

import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { until } from '../support/delivering.ts';
import { problemOf } from '../support/responses.ts';
import { startService, type TestResponse } from '../support/service.ts';
import { shopOf, type Ask } from '../support/shop.ts';

const service = await startService({
  stores: [
    { domain: 'flowers.example' },
    { domain: 'books.example' },
    { domain: 'short.example', lookupFailuresPerHour: 3 },
  ],
  // The creation starts to add the codes, not the period of the job.
  limits: { batchPeriodMs: 3_600_000, upkeepPeriodMs: 50, retiredCodesPeriodMs: 20 },
});
after(() => service[Symbol.asyncDispose]());
const shop = await shopOf(service, 'flowers.example');
const redeeming = await shop.tokenFor('redeem_gift_cards');
const reading = await shop.tokenFor('read_gift_cards');

type Stock = Readonly<Record<string, unknown>> & { readonly id: number; readonly state: string };

function jsonOf(response: TestResponse, status = 200): Readonly<Record<string, unknown>> {
  assert.equal(response.status, status, response.text);
  return response.json as Readonly<Record<string, unknown>>;
}

async function read(id: number): Promise<Stock> {
  return jsonOf(await shop.ask(`GET /stocks/${id}`))['stock'] as Stock;
}

/** Creates a stock, and waits until it is complete. */
async function print(json: object): Promise<Stock> {
  const response = await shop.ask('POST /stocks', { json });
  const created = jsonOf(response, 202)['stock'] as Stock;
  assert.equal(response.headers.get('location'), `/stocks/${created.id}`);
  await until(async () => (await read(created.id)).state === 'complete');
  return await read(created.id);
}

/** Downloads the codes that are left. They are not sent through `shop`, which asserts that no response has a code. */
async function codesOf(id: number, query = ''): Promise<readonly string[]> {
  const response = await service.request(`/stocks/${id}/codes${query}`, { token: shop.token });
  const codes = jsonOf(response)['codes'] as readonly { readonly code: string }[];
  return codes.map(({ code }) => code);
}

async function printOne(json: object): Promise<{ readonly stock: Stock; readonly code: string }> {
  const stock = await print({ count: 1, ...json });
  const [code] = await codesOf(stock.id);
  assert.ok(code);
  return { stock, code };
}

async function eventsOf(type: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const rows = await service.query('select data from events where type = ? order by id', type);
  return rows.map(({ data }) => JSON.parse(String(data)) as Readonly<Record<string, unknown>>);
}

async function rejects(line: string, ask: Ask, errors: Readonly<Record<string, readonly string[]>>) {
  const problem = problemOf(await shop.ask(line, ask), { code: 'invalid-parameter' });
  assert.deepEqual(problem.errors, errors);
}

test('a stock of generated codes is added in the background, and its codes are downloaded', async () => {
  const stock = await print({
    name: 'Counter',
    count: 120,
    minimum_value: 10,
    maximum_value: '150.00',
    valid_months: 36,
  });
  const { id, created_at: _created, completed_at: completed, codes_until: until_, ...record } = stock;
  assert.deepEqual(record, {
    name: 'Counter',
    state: 'complete',
    count: 120,
    printed: 120,
    sold: 0,
    left: 120,
    voided: 0,
    failed: 0,
    currency: 'USD',
    fixed_value: null,
    minimum_value: '10.00',
    maximum_value: '150.00',
    valid_months: 36,
  });
  assert.ok(completed && until_);
  const codes = await codesOf(id, '?limit=250');
  assert.equal(new Set(codes).size, 120);
  for (const code of codes) assert.match(code, /^[0-9a-hjkmnp-tv-z]{16}$/);
  const page = await service.request(`/stocks/${id}/codes?limit=50`, { token: shop.token });
  assert.match(page.headers.get('link') ?? '', /limit=50&from=50>; rel="next"/);
  const csv = await service.request(`/stocks/${id}/codes?format=csv`, { token: shop.token });
  const lines = csv.text.trim().split('\r\n');
  assert.equal(lines[0], 'index,code,fixed_value,minimum_value,maximum_value,currency');
  assert.equal(lines[1], `0,${codes[0]},,10.00,150.00,USD`);
  assert.equal(lines.length, 121);
  const reads = (await eventsOf('stock.codes_read')).filter(
    ({ stock: of }) => (of as { readonly id: number }).id === id,
  );
  assert.equal(reads.length, 3);
  assert.match(String(reads[0]?.['actor']), /^api_client:/);
  assert.equal((await eventsOf('stock.completed')).length, 1);
  const rows = await service.query(
    'select (select count(*) from gift_cards) as cards, (select count(*) from transfers) as entries',
  );
  assert.deepEqual(
    rows.map(({ cards, entries }) => [Number(cards), Number(entries)]),
    [[0, 0]],
  );
});

test('a dry run adds nothing', async () => {
  const before = await service.query('select count(*) as n from stocks');
  const { stock } = jsonOf(await shop.ask('POST /stocks?dry_run=true', { json: { count: 5 } }), 202) as {
    readonly stock: Stock;
  };
  assert.deepEqual([stock['count'], stock['minimum_value'], stock['left']], [5, '0.01', 0]);
  assert.deepEqual(await service.query('select count(*) as n from stocks'), before);
});

test('invalid parameters of a stock are rejected together', async () => {
  await rejects('POST /stocks', { json: {} }, { count: ['is required without codes'] });
  await rejects(
    'POST /stocks',
    { json: { count: 0, valid_months: 121, colour: 'red' } },
    {
      count: ['must be an integer from 1 to 10,000'],
      valid_months: ['must be an integer from 1 to 120'],
      colour: ['is not a known parameter'],
    },
  );
  await rejects(
    'POST /stocks',
    {
      json: {
        count: 5,
        codes: ['ABCD-EFGH-1'],
        fixed_value: '5.00',
        minimum_value: '1.00',
        maximum_value: '9',
      },
    },
    {
      count: ['cannot be combined with codes'],
      minimum_value: ['cannot be combined with fixed_value'],
      maximum_value: ['cannot be combined with fixed_value'],
    },
  );
  await rejects(
    'POST /stocks',
    { json: { count: 5, minimum_value: '9.01', maximum_value: '9' } },
    { minimum_value: ['must be at most 9.00, the highest value'] },
  );
  await rejects(
    'POST /stocks',
    { json: { codes: ['SAME-CODE-01', 'short', 'same code 01'] } },
    {
      'codes[1]': ['must have 8 to 20 letters or digits'],
      'codes[2]': ['is the same as codes[0]'],
    },
  );
  await rejects('POST /stocks', { json: { codes: [] } }, { codes: ['must not be empty'] });
  await rejects('POST /stocks', { json: { codes: 'ABCD-EFGH-1' } }, { codes: ['must be a list of codes'] });
});

test('uploaded codes must be unused', async () => {
  await shop.issue({ code: 'USED-BY-A-CARD' });
  await print({ codes: ['IN-ANOTHER-STOCK'] });
  await rejects(
    'POST /stocks',
    { json: { codes: ['NEW-CODE-0001', 'used by a card', 'IN-ANOTHER-STOCK'] } },
    { 'codes[1]': ['is taken'], 'codes[2]': ['is taken'] },
  );
  assert.equal((await print({ codes: ['NEW-CODE-0001'] }))['printed'], 1);
});

test('an activation issues the card with the value and the validity of the stock', async () => {
  const { stock, code } = await printOne({ fixed_value: '25.00', valid_months: 12 });
  const wrong = await shop.ask('POST /gift_card', {
    json: { code, initial_value: '30.00', expires_on: '2040-01-01' },
  });
  const problem = problemOf(wrong, { code: 'invalid-parameter' });
  assert.deepEqual(problem.errors, {
    initial_value: ['must be 25.00, the value of the printed card'],
    expires_on: ['cannot be set: the printed card is valid for 12 months'],
  });
  assert.equal((wrong.json as { readonly fixed_value: string }).fixed_value, '25.00');
  const { card, response } = await shop.creates({
    json: { code, initial_value: '25.00', stock: 'required' },
  });
  assert.match(String(card.expires_on), /^\d{4}-\d\d-\d\d$/);
  assert.equal(response.headers.get('code-tried-at'), null);
  assert.equal(card.code, code);
  const sold = await read(stock.id);
  assert.deepEqual([sold['sold'], sold['left']], [1, 0]);
  const again = await shop.ask('POST /gift_card', { json: { code, initial_value: '25.00' } });
  problemOf(again, { code: 'already-activated' });
  const { activated_at: at } = again.json as { readonly activated_at: string };
  assert.equal(at, card.created_at);
  assert.deepEqual(await codesOf(stock.id), []);
  await shop.debits(card.id, '5.00');
});

test('`stock: required` needs a code in stock, and takes nothing else', async () => {
  const stock = 'required';
  await rejects(
    'POST /gift_card',
    { json: { initial_value: 5, stock } },
    { code: ['is required with stock'] },
  );
  await rejects(
    'POST /gift_card',
    { json: { initial_value: 5, stock, code: 'NOT-IN-STOCK-1' } },
    { code: ['is not in stock'] },
  );
  await rejects(
    'POST /gift_card',
    { json: { initial_value: 5, stock: 'yes' } },
    { stock: ['must be required or null'] },
  );
  await shop.creates({ json: { initial_value: 5, stock: null, code: 'NOT-IN-STOCK-1' } });
  await rejects(
    'POST /batches',
    { json: { cards: [{ initial_value: 5, stock }] } },
    { 'cards[0].stock': ['is not a known parameter'] },
  );
});

test('errors of other parameters are returned with that of the code', async () => {
  const { code } = await printOne({ fixed_value: '25.00' });
  await rejects(
    'POST /gift_card',
    { json: { initial_value: -1, code } },
    { initial_value: ['must be greater than 0'] },
  );
  await shop.creates({ json: { initial_value: '25.00', code } });
  await rejects(
    'POST /gift_card',
    { json: { initial_value: -1, code } },
    { initial_value: ['must be greater than 0'], code: ['was already activated'] },
  );
});

test('a code in stock is not activated for those who may, and unknown for all others', async () => {
  const { stock, code } = await printOne({ minimum_value: '10.00', maximum_value: '20.00' });
  const lines = [
    ['POST /gift_card/lookup', { json: { code } }],
    ['POST /gift_card/redeem', { json: { code, amount: '1.00' } }],
  ] as const;
  for (const [line, ask] of lines) {
    const response = await shop.ask(line, ask);
    problemOf(response, { code: 'not-activated' });
    const { minimum_value: minimum, maximum_value: maximum, tried_at: tried } = response.json as Stock;
    assert.deepEqual([minimum, maximum, tried], ['10.00', '20.00', undefined]);
  }
  assert.equal((await eventsOf('stock.code_tried')).length, 0);
  for (const [line, ask] of lines) {
    const known = await shop.ask(line, { ...ask, token: redeeming });
    const unknown = await shop.ask(line, {
      json: { ...ask.json, code: 'q2m8xk4w9c0d7f3k' },
      token: redeeming,
    });
    problemOf(known, { code: 'not-found' });
    const without = ({ text, headers }: TestResponse) => [
      text.replace(/"request_id":"[^"]*"/, ''),
      [...headers.keys()],
    ];
    assert.deepEqual(without(known), without(unknown));
  }
  problemOf(await shop.ask('POST /gift_card/lookup', { json: { code }, token: reading }), {
    code: 'not-found',
  });
  await until(async () => (await eventsOf('stock.code_tried')).length === 3);
  const [event] = await eventsOf('stock.code_tried');
  assert.equal((event?.['stock'] as Stock | undefined)?.id, stock.id);
  assert.ok(!JSON.stringify(await eventsOf('stock.code_tried')).includes(code));
  const later = await shop.ask('POST /gift_card/lookup', { json: { code } });
  problemOf(later, { code: 'not-activated' });
  assert.match(String((later.json as Stock)['tried_at']), /Z$/);
  const { response } = await shop.creates({ json: { code, initial_value: '20.00' } });
  assert.match(response.headers.get('code-tried-at') ?? '', /^\d{4}-.*Z$/);
  assert.equal((await shop.lookUp(code)).available, '20.00');
});

test('the recipient’s page does not know a code in stock', async () => {
  const { code } = await printOne({ fixed_value: '25.00' });
  const before = (await eventsOf('stock.code_tried')).length;
  const find = (typed: string) =>
    service.request('/b/flowers.example', {
      method: 'POST',
      body: `code=${typed}`,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    });
  const [known, unknown] = [await find(code), await find('q2m8xk4w9c0d7f3k')];
  assert.equal(known.status, 404);
  assert.equal(known.status, unknown.status);
  assert.ok(!known.text.includes(code));
  assert.equal(known.text.length, unknown.text.length);
  await until(async () => (await eventsOf('stock.code_tried')).length > before);
});

test('codes are voided, all or some, and then never sold', async () => {
  const stock = await print({ codes: ['VOIDED-0001', 'VOIDED-0002', 'VOIDED-0003', 'VOIDED-0004'] });
  await shop.creates({ json: { code: 'VOIDED-0001', initial_value: 5 } });
  const line = `POST /stocks/${stock.id}/void`;
  await rejects(
    line,
    { json: { codes: ['VOIDED-0002', 'VOIDED-0001', 'NEW-CODE-0001'] } },
    { 'codes[1]': ['was activated'], 'codes[2]': ['is not in this stock'] },
  );
  const some = jsonOf(await shop.ask(line, { json: { codes: ['voided 0002'] } }))['stock'] as Stock;
  assert.deepEqual([some['voided'], some['left']], [1, 2]);
  problemOf(await shop.ask('POST /gift_card/lookup', { json: { code: 'VOIDED-0002' } }), {
    code: 'not-found',
  });
  await rejects(
    'POST /gift_card',
    { json: { code: 'VOIDED-0002', initial_value: 5 } },
    { code: ['was voided'] },
  );
  assert.deepEqual(await codesOf(stock.id), ['voided0003', 'voided0004']);
  const rest = jsonOf(await shop.ask(line))['stock'] as Stock;
  assert.deepEqual([rest['voided'], rest['left'], rest['sold']], [3, 0, 1]);
  problemOf(await shop.ask('POST /stocks/1/void'), { code: 'not-found' });
});

test('each operation needs its scope, and finds only stocks of its store', async () => {
  const { stock } = await printOne({});
  const writing = await shop.tokenFor('write_gift_cards');
  const statuses = async (line: string, json?: object) => {
    const found: number[] = [];
    for (const token of [reading, writing, redeeming]) {
      const [method = '', path = ''] = line.split(' ', 2);
      found.push((await service.request(path, { method, token, ...(json && { json }) })).status);
    }
    return found;
  };
  assert.deepEqual(await statuses('GET /stocks'), [200, 403, 403]);
  assert.deepEqual(await statuses(`GET /stocks/${stock.id}`), [200, 403, 403]);
  assert.deepEqual(await statuses(`GET /stocks/${stock.id}/codes`), [403, 200, 403]);
  assert.deepEqual(await statuses('POST /stocks', { count: 1 }), [403, 202, 403]);
  assert.deepEqual(await statuses(`POST /stocks/${stock.id}/void`), [403, 200, 403]);
  const other = await service.token('books.example');
  for (const [method, path] of [
    ['GET', `/stocks/${stock.id}`],
    ['GET', `/stocks/${stock.id}/codes`],
    ['POST', `/stocks/${stock.id}/void`],
  ] as const)
    problemOf(await service.request(path, { method, token: other }), { code: 'not-found' });
});

test('each code reserves a lookup, which is given back if it was free or was activated', async () => {
  const short = await shopOf(service, 'short.example');
  await rejects2(short, 'POST /stocks', ['SHORT-0001', 'SHORT-0002', 'SHORT-0003', 'SHORT-0004'], {
    codes: ['must have at most 3 codes, the limit of failed lookups'],
  });
  jsonOf(
    await short.ask('POST /stocks', { json: { codes: ['SHORT-0001', 'SHORT-0002'], fixed_value: 5 } }),
    202,
  );
  await until(async () => {
    const { stocks } = jsonOf(await short.ask('GET /stocks')) as { readonly stocks: readonly Stock[] };
    return stocks[0]?.state === 'complete';
  });
  for (let turn = 0; turn < 5; turn += 1) {
    const json = { initial_value: 5, code: `FREE-CODE-000${turn}`, stock: 'required' };
    problemOf(await short.ask('POST /gift_card', { json }), { code: 'invalid-parameter' });
  }
  await short.creates({ json: { initial_value: 5, code: 'SHORT-0001' } });
  const dry = await service.request('/gift_card?dry_run=true', {
    method: 'POST',
    token: short.token,
    json: { initial_value: 5, code: 'SHORT-0002' },
  });
  assert.equal(dry.status, 201);
  problemOf(await short.ask('POST /gift_card', { json: { initial_value: 6, code: 'SHORT-0002' } }), {
    code: 'invalid-parameter',
  });
  problemOf(await short.ask('POST /gift_card', { json: { initial_value: 5, code: 'SHORT-0001' } }), {
    code: 'already-activated',
  });
  problemOf(await short.ask('POST /gift_card', { json: { initial_value: 5, code: 'SHORT-0002' } }), {
    code: 'too-many-misses',
  });
});

async function rejects2(
  other: typeof shop,
  line: string,
  codes: readonly string[],
  errors: Readonly<Record<string, readonly string[]>>,
): Promise<void> {
  const problem = problemOf(await other.ask(line, { json: { codes } }), { code: 'invalid-parameter' });
  assert.deepEqual(problem.errors, errors);
}

test('an activation is made once for an idempotency key', async () => {
  const { code } = await printOne({ fixed_value: '25.00' });
  const ask = { json: { code, initial_value: '25.00' }, headers: { 'idempotency-key': 'sale-1' } };
  const { card } = await shop.creates(ask);
  const replayed = await service.request('/gift_card', { method: 'POST', token: shop.token, ...ask });
  assert.equal(replayed.headers.get('idempotent-replayed'), 'true');
  assert.equal((replayed.json as { readonly gift_card: { readonly id: number } }).gift_card.id, card.id);
});
