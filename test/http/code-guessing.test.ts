/** Guessing codes that the store chose, by asking which of them are taken, and guessing ids at the till. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { loadPages } from '../../src/start/routes.ts';
import { hiddenValue } from '../support/counter.ts';
import { formOf, openStaffedShop, textOfPage, type StaffedShop } from '../support/counter-staff.ts';
import { problemOf } from '../support/responses.ts';
import type { TestResponse } from '../support/service.ts';

const { routes: consoleRoutes } = await loadPages();

const batches = '/cards/batches';

function plastic(number: number): string {
  return `plastic${String(number).padStart(5, '0')}`;
}

/** Issues cards with chosen codes: `plastic(0)` and so on. */
async function openPlasticShop(cards: number, perHour: number): Promise<StaffedShop> {
  const shop = await openStaffedShop({ environment: { LOOKUP_MISSES: String(perHour) } });
  for (let number = 0; number < cards; number += 1) await shop.issue({ code: plastic(number) });
  return shop;
}

/** The cards of a batch with the codes from a number on. */
function cardsFrom(first: number, count: number): object {
  return {
    cards: Array.from({ length: count }, (_, place) => ({
      initial_value: 5,
      code: plastic(first + place),
    })),
  };
}

function check({ ask }: StaffedShop, json: object): Promise<TestResponse> {
  return ask('POST /batches?dry_run=true', { json });
}

/** The number of codes that a response says are taken. */
function countTaken({ status, json }: TestResponse): number {
  if (status !== 422) return 0;
  return Object.entries((json as { readonly errors: Readonly<Record<string, readonly string[]>> }).errors).filter(
    ([name, messages]) => name.endsWith('code') && messages.includes('is taken'),
  ).length;
} // prettier-ignore

test('checks of batches name no more taken codes than the budget has, however they are divided', async () => {
  await using shop = await openPlasticShop(80, 30);
  problemOf(await check(shop, cardsFrom(0, 80)), {
    code: 'invalid-parameter',
    errors: { cards: ['must have at most 30 codes, the limit of failed lookups'] },
  });
  let named = 0;
  for (let first = 0; first < 80; first += 8) named += countTaken(await check(shop, cardsFrom(first, 8)));
  assert.equal(named, 24);
  problemOf(await check(shop, cardsFrom(40, 8)), { code: 'too-many-misses' });
  assert.equal(countTaken(await check(shop, cardsFrom(40, 6))), 6);
  const rejected = await check(shop, cardsFrom(200, 1));
  problemOf(rejected, { code: 'too-many-misses' });
  problemOf(await shop.ask('POST /gift_card', { json: { initial_value: 5, code: plastic(0) } }), { code: 'too-many-misses' });
  // The service generates the codes of these cards, so nothing is looked for.
  assert.equal((await check(shop, { count: 5, initial_value: 5 })).status, 202);
}); // prettier-ignore

test('a check gives back the lookups of free codes, and a 429 looks for none', async () => {
  await using shop = await openPlasticShop(3, 10);
  for (let round = 0; round < 5; round += 1)
    assert.equal((await check(shop, cardsFrom(100, 10))).status, 202);
  assert.equal(countTaken(await check(shop, cardsFrom(2, 10))), 1);
  const missing = await check(shop, cardsFrom(0, 10));
  problemOf(missing, { code: 'too-many-misses' });
  const wait = Number(missing.headers.get('retry-after'));
  assert.ok(wait > 350 && wait <= 360, `until one failure is available again: ${wait}`);
  const issued = await shop.ask('POST /batches', { json: cardsFrom(100, 9) });
  assert.equal(issued.status, 202);
  // The rejected check and the batch have used up nothing.
  assert.equal(countTaken(await check(shop, cardsFrom(0, 9))), 3);
  problemOf(await check(shop, cardsFrom(200, 7)), { code: 'too-many-misses' });
  assert.equal((await check(shop, cardsFrom(200, 6))).status, 202);
});

test('an invalid batch looks for no code, and reports the number of its codes with other errors', async () => {
  await using shop = await openPlasticShop(3, 5);
  for (let round = 0; round < 4; round += 1)
    problemOf(await check(shop, { ...cardsFrom(0, 3), expected_count: 4 }), {
      code: 'invalid-parameter',
      errors: { expected_count: ['must be 3, the number of gift cards'] },
    });
  problemOf(await check(shop, { ...cardsFrom(0, 6), count: 2 }), {
    code: 'invalid-parameter',
    errors: {
      cards: ['must have at most 5 codes, the limit of failed lookups'],
      count: ['cannot be combined with cards'],
    },
  });
  assert.equal(countTaken(await check(shop, cardsFrom(0, 5))), 3);
});

test('concurrent checks together name no more codes than the budget has', async () => {
  await using shop = await openPlasticShop(90, 30);
  const responses = await Promise.all(
    Array.from({ length: 15 }, (_, place) => check(shop, cardsFrom(place * 6, 6))),
  );
  assert.equal(responses.reduce((sum, response) => sum + countTaken(response), 0), 30);
  assert.equal(responses.filter(({ status }) => status === 429).length, 10);
}); // prettier-ignore

test('a repeated request with its key counts once, and a used code once per creation', async () => {
  await using shop = await openPlasticShop(4, 4);
  const send = () =>
    shop.ask('POST /batches', { json: cardsFrom(0, 2), headers: { 'idempotency-key': 'batch-1' } });
  for (let round = 0; round < 3; round += 1) assert.equal(countTaken(await send()), 2);
  const create = (code: string) => shop.ask('POST /gift_card', { json: { initial_value: 5, code } });
  for (let number = 10; number < 14; number += 1) assert.equal((await create(plastic(number))).status, 201);
  for (let round = 0; round < 2; round += 1) assert.equal((await create(plastic(2))).status, 422);
  problemOf(await create(plastic(50)), { code: 'too-many-misses' });
});

function sortedStatuses(responses: readonly TestResponse[]): readonly number[] {
  return responses.map(({ status }) => status).toSorted((left, right) => left - right);
}

const header = 'initial_value,code';

function fileFrom(first: number, count: number): Readonly<Record<string, string>> {
  const rows = Array.from({ length: count }, (_, place) => `5,${plastic(first + place)}`);
  return { kind: 'file', rows: [header, ...rows].join('\r\n') };
}

test('a check of a file on the pages counts its codes, is in the audit log, and is limited like searches', async () => {
  await using shop = await openPlasticShop(40, 20);
  const manager = await shop.as('manager');
  const submit = (first: number, count: number) =>
    manager.post(`${batches}/new`, fileFrom(first, count));
  const above = await submit(0, 21);
  assert.equal(above.status, 422);
  assert.match(textOfPage(above), /at most 20 codes of its own/);
  for (let round = 0; round < 4; round += 1) assert.equal((await submit(100, 20)).status, 200);
  const page = await submit(0, 12);
  assert.equal(page.status, 422);
  assert.match(textOfPage(page), /12 errors/);
  const rejected = await submit(20, 9);
  assert.equal(rejected.status, 429);
  assert.match(textOfPage(rejected), /Nothing was checked/);
  assert.doesNotMatch(textOfPage(rejected), /used by another card/);
  assert.match(textOfPage(await submit(20, 8)), /8 errors/);
  assert.equal((await submit(100, 1)).status, 429);
  assert.equal((await manager.post('/till/find', { code: plastic(0) })).status, 429);
  assert.equal((await manager.post(`${batches}/new`, { kind: 'equal', count: '2', value: '5' })).status, 200);

  const rows = await shop.service.query(
    "select details from staff_actions where action = 'batch-checked' order by id",
  );
  assert.deepEqual(
    rows.map(({ details }) => (JSON.parse(String(details)) as { readonly codes: number }).codes),
    [20, 20, 20, 20, 12, 8],
  );
  const owner = await shop.as('owner');
  assert.match(textOfPage(await owner.get('/audit')), /Checked the codes of many cards 12 codes/);
}); // prettier-ignore

test('concurrent checks of files together name no more codes than the budget has', async () => {
  await using shop = await openPlasticShop(40, 10);
  const manager = await shop.as('manager');
  const submit = (place: number) => manager.post(`${batches}/new`, fileFrom(place * 5, 5));
  const places = Array.from({ length: 8 }, (_, place) => place);
  // One file of a store is read at a time, so a response of 429 can be for another file too.
  const concurrent = await Promise.all(places.map(submit));
  assert.ok(concurrent.some(({ status }) => status === 422));
  const later = [];
  for (const place of places) later.push(await submit(place));
  assert.deepEqual(sortedStatuses([...concurrent, ...later]), [422, 422, ...Array<number>(14).fill(429)]);
});

test('a file with free codes is issued within the budget', async () => {
  await using shop = await openPlasticShop(1, 5);
  const manager = await shop.as('manager');
  const page = await manager.post(`${batches}/new`, fileFrom(10, 5));
  const form = { ...formOf(page, `${batches}/issue`), expected_count: '5', expected_total: '25' };
  assert.equal((await manager.post(`${batches}/issue`, form)).status, 303);
  assert.equal((await manager.post(`${batches}/new`, fileFrom(20, 5))).status, 200);
});

test('a cashier who types taken codes as blank cards is limited, and can still sell new codes', async () => {
  await using shop = await openPlasticShop(6, 3);
  const cashier = await shop.as('cashier');
  await shop.service.database.meddle("update staff set sale_limit = 100000 where role = 'cashier'");
  const sell = async (form: Readonly<Record<string, string>>, amount = '10.00') => {
    const page = await cashier.get('/till/sell?amount=10.00');
    return cashier.post('/till/sell', { amount, key: hiddenValue(page, 'key'), how: 'card', ...form });
  };
  for (let number = 10; number < 15; number += 1)
    assert.equal((await sell({ code: plastic(number) })).status, 303);
  const key = 'AAAAAAAAAAAAAAAAAAAAAA';
  assert.equal((await sell({ code: plastic(20), key })).status, 303);
  // A sale that is rejected for another reason reveals nothing about the code.
  for (let round = 0; round < 5; round += 1)
    assert.equal((await sell({ code: plastic(0) }, '99999.00')).status, 422);
  for (let number = 0; number < 3; number += 1) {
    const taken = await sell({ code: plastic(number) });
    assert.equal(taken.status, 422);
    assert.match(taken.text, /was sold before/);
  }
  for (const number of [3, 50]) {
    const rejected = await sell({ code: plastic(number) });
    assert.equal(rejected.status, 429);
    assert.match(textOfPage(rejected), /too many codes/);
  }
  assert.equal((await sell({ code: plastic(20), key })).status, 303, 'a repeated form');
  assert.equal((await sell({ how: 'new' })).status, 303);
  const [cards] = await shop.service.query('select count(*) as n from gift_cards');
  assert.equal(Number(cards?.['n']), 13);
  shop.service.clock.advance(3_600_000);
  const both = await Promise.all([0, 1, 2, 3, 4, 5].map((number) => sell({ code: plastic(number) })));
  assert.deepEqual(sortedStatuses(both), [422, 422, 422, 429, 429, 429]);
});

/** The paths with an id that a cashier can request. */
const pathsWithIds = consoleRoutes.filter(
  ({ access, path }) => access === 'useTill' && /:(?:id|entry)\b/.test(path),
);

test('ids that a cashier guesses are limited on every page', async (t) => {
  assert.ok(pathsWithIds.length >= 5, 'cards, receipts and refunds');
  for (const { method, path } of pathsWithIds) {
    await t.test(`${method} ${path}`, async () => {
      await using shop = await openPlasticShop(0, 2);
      const cashier = await shop.as('cashier');
      const form = { amount: '1', key: 'AAAAAAAAAAAAAAAAAAAAAA' };
      const ask = async (id: string): Promise<number> => {
        const at = path.replace(/:(?:id|entry)\b/, id);
        return (await (method === 'GET' ? cashier.get(at) : cashier.post(at, form))).status;
      };
      for (const id of ['x', '0', '99999999999999999999']) assert.equal(await ask(id), 404, id);
      const statuses = [];
      for (let guess = 0; guess < 4; guess += 1) statuses.push(await ask(String(9_007_199_254_740_991 - guess)));
      assert.deepEqual(statuses, [404, 404, 429, 429]);
    });
  }
}); // prettier-ignore
