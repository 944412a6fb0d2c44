/** The history of a card: every kind of transaction, newest first, in linked pages. */

import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { minor, viewOf, type TransactionView } from '../support/money-responses.ts';
import { shopOf } from '../support/shop.ts';
import { startService } from '../support/service.ts';

const undoWindowMinutes = 0;
const basePath = '/apps/gcf/api';
const service = await startService({
  stores: [{ domain: 'flowers.example', undoWindowMinutes }, { domain: 'books.example', undoWindowMinutes }],
  environment: { BASE_PATH: basePath },
}); // prettier-ignore
after(() => service[Symbol.asyncDispose]());
const shop = await shopOf(service, 'flowers.example', { basePath });

/** The links of a response by relation, without the base path. */
function linksOf(headers: Headers): Readonly<Record<string, string>> {
  const link = headers.get('link') ?? '';
  const found = [...link.matchAll(/<([^>]+)>; rel="([a-z]+)"/g)].map(([, target = '', rel = '']) => {
    assert.ok(target.startsWith(`${basePath}/gift_card/`), target);
    return [rel, target.slice(basePath.length)] as const;
  });
  return Object.fromEntries(found);
}

type Listed = { readonly ids: readonly number[]; readonly links: Readonly<Record<string, string>> };

async function page(path: string): Promise<Listed> {
  const response = await shop.ask(`GET ${path}`);
  assert.equal(response.status, 200, response.text);
  const { transactions, holds } = viewOf(response);
  return { ids: (transactions ?? holds).map(({ id }) => id), links: linksOf(response.headers) };
}

async function cardWithHistory(): Promise<{ readonly id: number; readonly newestFirst: readonly number[] }> {
  const { id } = await shop.issue();
  for (let count = 0; count < 6; count += 1) await shop.debits(id, '1');
  const all = await shop.transactions(id);
  assert.equal(all.length, 7);
  return { id, newestFirst: all.map((one) => one.id) };
}

async function cardWithHolds(): Promise<{ readonly id: number; readonly newestFirst: readonly number[] }> {
  const { id } = await shop.issue();
  const made: number[] = [];
  for (let count = 0; count < 7; count += 1) made.push((await shop.holds(id, '1')).id);
  return { id, newestFirst: made.toReversed() };
}

test('the history contains every kind of transaction, newest first, and adds up to the balance', async () => {
  const { id } = await shop.issue();
  await shop.does(`PUT /gift_card/${id}`, { json: { balance: '20' } }, { events: ['gift_card.updated'] });
  const debit = await shop.debits(id, '5', { reference: 'receipt', note: 'Tulips', order_id: 9 });
  const credited = await shop.does(`POST /gift_card/${id}/credit`, { json: { amount: '3' } }, { events: ['gift_card.credited'] });
  const hold = await shop.holds(id, '4');
  await shop.does(`POST /holds/${hold.id}/capture`, {}, { events: ['gift_card.redeemed'] });
  for (const one of [debit, credited.transaction]) await shop.does(`POST /transactions/${one.id}/reverse`, { json: { amount: '2' } }, { events: ['gift_card.reversed'] });

  const history = await shop.transactions(id);
  const summaryOf = ({ kind, amount, balance_after: rest, reverses, hold_id: from }: TransactionView) => [kind, amount, rest, reverses, from];
  assert.deepEqual(history.map(summaryOf), [
    ['reversal', '-2.00', '14.00', credited.transaction.id, null],
    ['reversal', '2.00', '16.00', debit.id, null],
    ['capture', '-4.00', '14.00', null, hold.id],
    ['credit', '3.00', '18.00', null, null],
    ['debit', '-5.00', '15.00', null, null],
    ['adjustment', '-5.00', '20.00', null, null],
    ['issue', '25.00', '25.00', null, null],
  ]);
  assert.equal(history.reduce((sum, { amount }) => sum + minor(amount), 0n), 1_400n);
  for (const one of history) {
    assert.equal(one.gift_card_id, id);
    assert.match(one.actor, /^api_client:\d+$/);
    assert.match(one.created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    assert.deepEqual(viewOf(await shop.ask(`GET /transactions/${one.id}`)), { transaction: one });
  }
  assert.deepEqual(history[4], debit);
  assert.deepEqual([debit.reference, debit.note, debit.order_id], ['receipt', 'Tulips', 9]);
}); // prettier-ignore

for (const { what, make } of [
  { what: 'transactions', make: cardWithHistory },
  { what: 'holds', make: cardWithHolds },
] as const) {
  test(`pages of 7 ${what}, three at a time, have links in both directions`, async () => {
    const { id, newestFirst: all } = await make();
    const path = `/gift_card/${id}/${what}`;
    const whole = await page(path);
    assert.deepEqual(whole, { ids: all, links: {} });
    assert.deepEqual(await page(`${path}?limit=7`), { ids: all, links: {} });

    const first = await page(`${path}?limit=3`);
    assert.deepEqual(first.ids, all.slice(0, 3));
    assert.deepEqual(Object.keys(first.links), ['next']);
    const second = await page(first.links['next'] ?? '');
    assert.deepEqual(second.ids, all.slice(3, 6));
    assert.deepEqual(Object.keys(second.links).toSorted(), ['next', 'previous']);
    const third = await page(second.links['next'] ?? '');
    assert.deepEqual(third.ids, all.slice(6));
    assert.deepEqual(Object.keys(third.links), ['previous']);

    const back = await page(third.links['previous'] ?? '');
    assert.deepEqual(back.ids, second.ids);
    assert.deepEqual(Object.keys(back.links).toSorted(), ['next', 'previous']);
    const start = await page(back.links['previous'] ?? '');
    assert.deepEqual(start.ids, first.ids);
    assert.deepEqual(Object.keys(start.links), ['next']);
    assert.deepEqual((await page(start.links['next'] ?? '')).ids, second.ids);
  });

  test(`a page of ${what} does not change when new ones are added`, async () => {
    const { id, newestFirst: all } = await make();
    const first = await page(`/gift_card/${id}/${what}?limit=3`);
    const added = what === 'holds' ? (await shop.holds(id, '1')).id : (await shop.debits(id, '1')).id;
    const second = await page(first.links['next'] ?? '');
    assert.deepEqual(second.ids, all.slice(3, 6));
    const newest = await page(`/gift_card/${id}/${what}?limit=3&after=${all[0]}`);
    assert.deepEqual(newest.ids, [added]);
  });

  test(`the query of ${what} is validated strictly`, async (t) => {
    const { id, newestFirst: all } = await make();
    const other = await make();
    const strange = other.newestFirst[0];
    const limit = 'must be an integer from 1 to 250';
    const place = 'must be an integer from 1 to 9007199254740991';
    for (const [query, errors] of [
      ['limit=0', { limit: [limit] }],
      ['limit=251', { limit: [limit] }],
      ['limit=', { limit: [limit] }],
      ['limit=-1', { limit: [limit] }],
      ['limit=3.0', { limit: [limit] }],
      ['limit=1e2', { limit: [limit] }],
      ['limit=050', { limit: [limit] }],
      ['limit=3&limit=3', { limit: ['is repeated'] }],
      ['before=x', { before: [place] }],
      ['after=0', { after: [place] }],
      ['before=9007199254740992', { before: [place] }],
      [`before=${all[0]}&after=${all[1]}`, { after: ['cannot be combined with before'] }],
      [`before=${strange}`, { before: ['must be the id of an entry in this list'] }],
      [`after=${strange}`, { after: ['must be the id of an entry in this list'] }],
      ['before=1', { before: ['must be the id of an entry in this list'] }],
      ['page=2', { page: ['is not a known parameter'] }],
      ['dry_run=true', { dry_run: ['is not a known parameter'] }],
    ] as const) {
      await t.test(query, async () => {
        await shop.rejects(`GET /gift_card/${id}/${what}?${query}`, {}, { code: 'invalid-query', errors });
      });
    }
    await page(`/gift_card/${id}/${what}?limit=250&before=${all[0]}`);
    await page(`/gift_card/${id}/${what}?limit=1&path_prefix=/apps`);
  });
}

test('a page has 50 entries by default', async () => {
  const { id } = await shop.issue({ initial_value: 100 });
  for (let count = 0; count < 51; count += 1) await shop.debits(id, '1');
  const first = await page(`/gift_card/${id}/transactions`);
  assert.equal(first.ids.length, 50);
  const second = await page(first.links['next'] ?? '');
  assert.equal(second.ids.length, 2);
  assert.equal((await page(`/gift_card/${id}/transactions?limit=250`)).ids.length, 52);
});

test('a transaction of another store is not a valid cursor', async () => {
  const books = await shopOf(service, 'books.example', { basePath });
  const { id } = await books.issue();
  const theirs = await books.transactions(id);
  const mine = await shop.issue();
  await shop.rejects(
    `GET /gift_card/${mine.id}/transactions?before=${theirs[0]?.id}`,
    {},
    { code: 'invalid-query', errors: { before: ['must be the id of an entry in this list'] } },
  );
});

test('the log and the database contain no code', () => shop.assertNoCodeLeaked());
