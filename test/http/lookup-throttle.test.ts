/**
 * The limit on failed lookups: whose budget a failure uses, which requests count, and how the budget refills.
 */

import assert from 'node:assert/strict';
import test from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { operations } from '../../src/api/index.ts';
import type { Operation } from '../../src/api/operation-route.ts';
import { giftCardOf, problemOf } from '../support/responses.ts';
import { changeStoreElsewhere } from '../support/second-process.ts';
import { startService, type TestResponse, type TestService } from '../support/service.ts';
import { serve } from '../support/served.ts';
import { countEvents, shopOf, type Shop } from '../support/shop.ts';

const domain = 'flowers.example';
const lookup = 'POST /gift_card/lookup';
const redeem = 'POST /gift_card/redeem';
const unknown = { code: 'zzzzzzzzzzzzzzzz' };
const hourMs = 3_600_000;

async function started(perHour: number): Promise<{ service: TestService; shop: Shop } & AsyncDisposable> {
  const service = await startService({
    stores: [{ domain, undoWindowMinutes: 15 }, { domain: 'books.example' }],
    environment: { LOOKUP_MISSES: String(perHour) },
  });
  const shop = await shopOf(service, domain);
  return { service, shop, [Symbol.asyncDispose]: () => service[Symbol.asyncDispose]() };
}

function throttled(response: TestResponse): number {
  problemOf(response, { code: 'too-many-misses' });
  return Number(response.headers.get('retry-after'));
}

test('failed searches, lookups and redemptions of a caller share a budget, which no other caller uses', async () => {
  await using opened = await started(3);
  const { service, shop } = opened;
  const { code, last_characters: last } = await shop.issue({ email: 'ada@example.com' });
  const search = (characters: string) => `GET /gift_card?last_characters=${characters}&email=ada@example.com` as const;
  for (let count = 0; count < 5; count += 1) {
    await shop.ask(lookup, { json: { code } });
    assert.equal((await shop.ask(redeem, { json: { code, amount: 100 } })).status, 422);
  }
  problemOf(await shop.ask(search('none')), { code: 'not-found' });
  problemOf(await shop.ask(lookup, { json: unknown }), { code: 'not-found' });
  problemOf(await shop.ask(`${redeem}?dry_run=true`, { json: { ...unknown, amount: 1 } }), { code: 'not-found' });
  for (const line of [search(last), search('none')]) throttled(await shop.ask(line));
  throttled(await shop.ask(lookup, { json: unknown }));
  throttled(await shop.ask(redeem, { json: { ...unknown, amount: 1 } }));

  // Other tokens can use the same client address, email and code.
  const till = await shopOf(service, domain);
  assert.equal(giftCardOf(await till.ask(search(last))).last_characters, last);
  assert.equal((await till.ask(redeem, { json: { code, amount: 1 } })).status, 201);
  problemOf(await till.ask(lookup, { json: unknown }), { code: 'not-found' });
  const books = await shopOf(service, 'books.example');
  problemOf(await books.ask(lookup, { json: { code } }), { code: 'not-found' });
  // The throttled caller can still send requests that look up nothing.
  await shop.issue();
}); // prettier-ignore

test('the budget refills continuously, and Retry-After says when the next failure is available', async () => {
  await using opened = await started(4);
  const { service, shop } = opened;
  const { code } = await shop.issue({ code: 'owncode12340' });
  const fail = () => shop.ask(lookup, { json: unknown });
  for (let count = 0; count < 4; count += 1) assert.equal((await fail()).status, 404);
  const wait = throttled(await fail());
  assert.ok(wait > 890 && wait <= 900, String(wait));
  service.clock.advance((wait - 5) * 1_000);
  throttled(await shop.ask(lookup, { json: { code } }));
  service.clock.advance(10_000);
  assert.equal((await shop.ask(lookup, { json: { code } })).status, 200);
  assert.equal((await fail()).status, 404);
  assert.ok(throttled(await fail()) > 885);
  service.clock.advance(2 * hourMs);
  for (let count = 0; count < 4; count += 1) assert.equal((await fail()).status, 404);
  throttled(await fail());
  const rows = await service.query('select caller from lookup_throttle');
  assert.equal(rows.length, 1, 'one row per caller');
});

/** Operations with the id of a card, hold, transaction or customer in their path. */
const byId = operations.filter(({ path }) => /:(?:gift_card|hold|transaction|customer)_id/.test(path));

/** Operations that a budget never rejects. */
const unlimited: ReadonlySet<string> = new Set([
  'captureHold',
  'voidHold',
  'extendHold',
  'reverseTransaction',
]);

function requestOf({ method, path }: Operation, id: string) {
  const line: `${string} /${string}` = `${method} /${path.slice(1).replace(/:\w+_id/, id)}`;
  const takesAmount = /\/(?:debit|credit|holds)$/.test(path) && method === 'POST';
  const required = path.endsWith('/extend') ? { expires_in: 60 } : {};
  return { line, ...(method !== 'GET' && { json: takesAmount ? { amount: 1 } : required }) };
}

test('every operation with an id in its path limits unknown ids', async (t) => {
  assert.ok(byId.length > 15);
  await using opened = await started(1);
  const { service } = opened;
  for (const operation of byId) {
    await t.test(operation.id, async () => {
      const shop = await shopOf(service, domain);
      const ask = (id: string) => {
        const { line, ...request } = requestOf(operation, id);
        return shop.ask(line, request);
      };
      // An invalid id gives no information and does not count.
      for (const id of ['x', '0', '99999999999999999999']) assert.equal((await ask(id)).status, 404, id);
      problemOf(await ask('9007199254740991'), { code: 'not-found' });
      const again = await ask('9007199254740990');
      if (unlimited.has(operation.id)) problemOf(again, { code: 'not-found' });
      else throttled(again);
      throttled(await shop.ask(lookup, { json: unknown }));
    });
  }
});

test('an id that exists is served while the budget is exhausted', async () => {
  await using opened = await started(1);
  const { shop } = opened;
  const { id } = await shop.issue();
  for (let count = 0; count < 3; count += 1) giftCardOf(await shop.ask(`GET /gift_card/${id}`));
  problemOf(await shop.ask('GET /gift_card/9007199254740991'), { code: 'not-found' });
  giftCardOf(await shop.ask(`GET /gift_card/${id}`));
  giftCardOf(await shop.ask(`PUT /gift_card/${id}`, { json: { note: 'x' } }));
  throttled(await shop.ask('GET /gift_card/9007199254740990'));
});

test('a replay is not another failure', async () => {
  await using opened = await started(3);
  const { shop } = opened;
  for (const [line, json] of [
    [redeem, { ...unknown, amount: 1 }],
    ['POST /gift_card/9007199254740991/debit', { amount: 1 }],
  ] as const) {
    for (let count = 0; count < 5; count += 1) {
      const response = await shop.ask(line, {
        json,
        headers: { 'idempotency-key': line.replaceAll(' ', '-') },
      });
      const replayed = response.headers.get('idempotent-replayed');
      assert.deepEqual([response.status, replayed], [404, count === 0 ? null : 'true']);
    }
  }
  problemOf(await shop.ask(lookup, { json: unknown }), { code: 'not-found' });
  throttled(await shop.ask(lookup, { json: unknown }));
});

test('a creation with a code counts only if the code is taken', async () => {
  await using opened = await started(3);
  const { service, shop } = opened;
  for (let count = 0; count < 5; count += 1) await shop.issue({ code: `owncode1234${count}` });
  for (let count = 0; count < 5; count += 1)
    problemOf(await shop.ask('POST /gift_card', { json: { initial_value: 0 } }), {
      code: 'invalid-parameter',
      errors: { initial_value: ['must be greater than 0'] },
    });
  const create = (json: object, query = '') => shop.ask(`POST /gift_card${query}`, { json });
  const taken = { code: ['is taken'] };
  problemOf(await create({ initial_value: 5, code: 'owncode12341' }, '?dry_run=true'), { code: 'invalid-parameter', errors: taken });
  for (let count = 0; count < 5; count += 1) {
    assert.equal((await create({ initial_value: 5, code: 'freecode1234' }, '?dry_run=true')).status, 201);
    assert.equal((await create({ initial_value: 0, code: 'freecode1234' })).status, 422);
  }
  for (let count = 0; count < 2; count += 1)
    assert.equal((await create({ initial_value: 0, code: 'owncode12341' })).status, 422);
  throttled(await create({ initial_value: 5, code: 'owncode12341' }, '?dry_run=true'));
  throttled(await create({ initial_value: 5, code: 'owncode12341' }));
  // A creation without a code cannot be used to guess one.
  await shop.issue();
  const other = await shopOf(service, domain);
  assert.equal((await other.ask('POST /gift_card', { json: { initial_value: 5, code: 'freecode1234' } })).status, 201);
}); // prettier-ignore

test('an update with a wrong code counts, and one with the right code does not', async () => {
  await using opened = await started(2);
  const { shop } = opened;
  const { id, code } = await shop.issue();
  const update = (sent: string) => shop.ask(`PUT /gift_card/${id}`, { json: { code: sent, note: 'x' } });
  for (let count = 0; count < 4; count += 1) {
    giftCardOf(await update(code));
    const rejected = await shop.ask(`PUT /gift_card/${id}`, { json: { code, balance: -1 } });
    problemOf(rejected, { code: 'invalid-parameter' });
  }
  const errors = { code: ['cannot be changed'] };
  problemOf(await update('zzzzzzzzzzzzzzzz'), { code: 'invalid-parameter', errors });
  problemOf(await update('yyyyyyyyyyyyyyyy'), { code: 'invalid-parameter', errors });
  throttled(await update('zzzzzzzzzzzzzzzz'));
  giftCardOf(await update(code));
});

test('a store can set a lower limit and return to the default', async () => {
  await using opened = await started(1_000);
  const { service, shop } = opened;
  await changeStoreElsewhere(service, domain, { lookupFailuresPerHour: 2 });
  for (let count = 0; count < 2; count += 1)
    problemOf(await shop.ask(lookup, { json: unknown }), { code: 'not-found' });
  throttled(await shop.ask(lookup, { json: unknown }));
  await changeStoreElsewhere(service, domain, { lookupFailuresPerHour: null });
  // The used share of the budget remains, and refills at the new rate.
  service.clock.advance(4_000);
  problemOf(await shop.ask(lookup, { json: unknown }), { code: 'not-found' });
});

test('a throttled caller is logged once a minute and counted every time', async () => {
  await using opened = await started(1);
  const { service, shop } = opened;
  await shop.ask(lookup, { json: unknown });
  for (let count = 0; count < 5; count += 1) throttled(await shop.ask(lookup, { json: unknown }));
  const lines = () =>
    service.log().split('\n').filter((line) => line.includes('lookups of a caller are rejected'));
  const [line = '', ...others] = lines();
  assert.deepEqual(others, []);
  const logged = JSON.parse(line) as Readonly<Record<string, unknown>>;
  assert.equal(logged['store'], domain);
  assert.match(String(logged['actor']), /^api_client:\d+$/);
  const { text } = await service.request('/metrics');
  assert.match(text, /^largesse_lookup_throttled_total 5$/m);
  service.clock.advance(60_000);
  throttled(await shop.ask(lookup, { json: unknown }));
  assert.equal(lines().length, 2);
}); // prettier-ignore

test('a restart does not reset the budget', async () => {
  await using service = await startService({ stores: [{ domain }], environment: { LOOKUP_MISSES: '1' } });
  const shop = await shopOf(service, domain);
  await shop.ask(lookup, { json: unknown });
  await using second = await serve(service.environment);
  const response = await fetch(`${second.url}/gift_card/lookup`, {
    method: 'POST',
    headers: { authorization: `Bearer ${shop.token}`, 'content-type': 'application/json' },
    body: JSON.stringify(unknown),
  });
  assert.equal(response.status, 429);
});

test('a replaced code gets the response of an unknown one, and the event is published afterwards', async () => {
  await using opened = await started(1_000);
  const { service, shop } = opened;
  const { id, code } = await shop.issue();
  assert.equal((await shop.ask(`POST /gift_card/${id}/rotate_code`)).status, 200);
  const before = await countEvents(service);
  let isLater = 0;
  for (let round = 1; round <= 5; round += 1) {
    const known = await countEvents(service);
    const [line, json] =
      round % 2 === 0 ? ([lookup, { code }] as const) : ([redeem, { code, amount: 1 }] as const);
    problemOf(await shop.ask(line, { json }), { code: 'not-found' });
    if ((await countEvents(service)) === known) isLater += 1;
  }
  assert.ok(isLater >= 3, 'the response does not wait for the event');
  for (let round = 0; round < 100 && (await countEvents(service)) < before + 5; round += 1)
    await setTimeout(50);
  const rows = await service.query('select type, subject_id from events order by id desc limit 5');
  assert.equal(rows.length, 5);
  for (const row of rows)
    assert.deepEqual(row, { type: 'gift_card.retired_code_used', subject_id: service.internalId(id) });
});
