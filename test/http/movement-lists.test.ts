/** The lists of a store's transactions and holds, and what captures and reversals take over. */

import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { transferKinds } from '../../src/core/money/domain/ledger.ts';
import { shopOf } from '../support/shop.ts';
import { startService } from '../support/service.ts';

const service = await startService({
  stores: [{ domain: 'flowers.example', timeZone: 'Asia/Tokyo' }, { domain: 'books.example' }],
});
after(() => service[Symbol.asyncDispose]());
const shop = await shopOf(service, 'flowers.example');
const other = await shopOf(service, 'books.example');

type Listed = {
  readonly transactions: readonly { readonly id: number; readonly kind: string }[];
  readonly holds: readonly { readonly id: number; readonly status: string }[];
  readonly next_cursor: string | null;
};

async function list(path: string): Promise<Listed> {
  const response = await shop.ask(`GET ${path}`);
  assert.equal(response.status, 200, response.text);
  return response.json as Listed;
}

const idsOf = (rows: readonly { readonly id: number }[]): readonly number[] => rows.map(({ id }) => id);

const order = { reference: 'receipt-1', order_reference: 'B-1017', order_id: 1017 };
const bought = await shop.issue({ initial_value: 100 });
const debit = await shop.debits(bought.id, '5', { ...order, note: 'Tulips' });
const plain = await shop.debits(bought.id, '1');
const hold = await shop.holds(bought.id, '10', { ...order, note: 'of the hold' });
const open = await shop.holds(bought.id, '2', { order_reference: 'B-1018' });
const captured = await shop.does(
  `POST /holds/${hold.id}/capture`,
  { json: { amount: 8 } },
  { status: 201, events: ['gift_card.redeemed', 'gift_card.hold_released'] },
);
const reversed = await shop.does(
  `POST /transactions/${debit.id}/reverse`,
  { json: { amount: 2 } },
  { status: 201, events: ['gift_card.reversed'] },
);
const named = await shop.does(
  `POST /transactions/${debit.id}/reverse`,
  { json: { amount: 1, reference: 'return-9', order_reference: 'R-9', order_id: 9, note: 'by post' } },
  { status: 201, events: ['gift_card.reversed'] },
);
const foreign = await other.issue();
await other.debits(foreign.id, '5', order);

test('captures and reversals take over the order and the references, unless they name others', () => {
  const pick = ({ transaction }: typeof captured) => {
    const { reference, order_reference: text, order_id: id, note, external_id: own } = transaction;
    return [reference, text, id, note, own];
  };
  assert.deepEqual(pick(captured), ['receipt-1', 'B-1017', 1017, 'of the hold', null]);
  assert.deepEqual(pick(reversed), ['receipt-1', 'B-1017', 1017, null, null]);
  assert.deepEqual(pick(named), ['return-9', 'R-9', 9, 'by post', null]);
  assert.deepEqual([debit.order_reference, hold.order_reference], ['B-1017', 'B-1017']);
});

test('a hold that is captured with other references keeps its own', async () => {
  const { id } = await shop.issue();
  const placed = await shop.holds(id, '3', order);
  const { transaction, hold: closed } = await shop.does(
    `POST /holds/${placed.id}/capture`,
    { json: { reference: 'ship-1', order_reference: 'B-1017/1', order_id: 1 } },
    { status: 201, events: ['gift_card.redeemed'] },
  );
  assert.deepEqual(
    [transaction.reference, transaction.order_reference, transaction.order_id, closed.order_reference],
    ['ship-1', 'B-1017/1', 1, 'B-1017'],
  );
});

test('an order reference has 1 to 255 characters', async () => {
  const line = `POST /gift_card/${bought.id}/debit`;
  for (const [value, message] of [
    ['', 'must have 1 to 255 characters'],
    ['x'.repeat(256), 'must have at most 255 characters'],
    [1017, 'must be a string'],
    ['a\u0000', 'must not contain control characters other than newline and tab'],
  ] as const) {
    const ask = { json: { amount: 1, order_reference: value } };
    await shop.rejects(line, ask, { code: 'invalid-parameter', errors: { order_reference: [message] } });
  }
});

test('transactions are found by their order, references, kind and caller, newest first', async () => {
  const ofOrder = [reversed.transaction.id, captured.transaction.id, debit.id];
  const capture = captured.transaction.id;
  for (const [query, ids] of [
    ['order_reference=B-1017', ofOrder],
    ['order_id=1017', ofOrder],
    ['reference=receipt-1', ofOrder],
    ['order_reference=B-1017&kind=capture', [capture]],
    ['order_reference=B-1017&reference=return-9', []],
    ['order_reference=b-1017', []],
    ['reference=return-9', [named.transaction.id]],
    [`kind=debit&actor=${encodeURIComponent(debit.actor)}`, [plain.id, debit.id]],
    ['kind=debit&actor=staff%3A1', []],
    ['external_id=none', []],
    ['location_id=1', []],
  ] as const) {
    const { transactions, next_cursor: next } = await list(`/transactions?${query}`);
    const known = transactions.filter(({ id }) => [...ofOrder, plain.id, named.transaction.id].includes(id));
    assert.deepEqual(idsOf(known), ids, query);
    assert.equal(next, null);
  }
  const { transactions } = await list('/transactions?kind=issue');
  assert.ok(transactions.every(({ kind }) => kind === 'issue'));
  assert.ok(transactions.length > 1);
});

test('holds are found by their status and order, and an expired one is not open', async () => {
  const short = await shop.holds(bought.id, '1', { expires_in: 1, order_reference: 'B-1019' });
  await new Promise((resolve) => {
    setTimeout(resolve, 1_100);
  });
  assert.deepEqual(idsOf((await list('/holds?status=open&order_reference=B-1018')).holds), [open.id]);
  assert.deepEqual(idsOf((await list('/holds?order_reference=B-1019&status=open')).holds), []);
  assert.deepEqual((await list('/holds?order_reference=B-1019&status=expired')).holds.map(({ status }) => status), ['expired']); // prettier-ignore
  assert.deepEqual(idsOf((await list('/holds?order_reference=B-1019')).holds), [short.id]);
  const all = await list('/holds?status=captured&order_id=1017');
  assert.ok(idsOf(all.holds).includes(hold.id));
});

test('created_at bounds a list, and a reversed range is rejected', async () => {
  const bounds = 'created_at_min=2000-01-01&created_at_max=2000-12-31';
  assert.deepEqual((await list(`/transactions?${bounds}`)).transactions, []);
  assert.deepEqual((await list(`/holds?${bounds}&status=open`)).holds, []);
  assert.ok((await list('/transactions?created_at_min=2000-01-01')).transactions.length > 5);
  const errors = { created_at_max: ['must not be less than created_at_min'] };
  await shop.rejects(
    'GET /transactions?created_at_min=2001-01-01&created_at_max=2000-01-01',
    {},
    { code: 'invalid-query', errors },
  );
});

test('pages follow each other by their cursors, which belong to their filters', async () => {
  const all = idsOf((await list('/transactions?limit=250')).transactions);
  const walked: number[] = [];
  let cursor: string | null = '';
  while (cursor !== null) {
    const page: Listed = await list(`/transactions?limit=2${cursor && `&cursor=${cursor}`}`);
    assert.ok(page.transactions.length <= 2);
    walked.push(...idsOf(page.transactions));
    cursor = page.next_cursor;
  }
  assert.deepEqual(walked, all);
  const { next_cursor: next } = await list('/transactions?limit=1');
  const errors = { cursor: ['must be the next_cursor of a page with the same filters and sort'] };
  for (const path of [`/transactions?kind=debit&cursor=${next}`, `/holds?cursor=${next}`])
    await shop.rejects(`GET ${path}`, {}, { code: 'invalid-query', errors });
  const response = await shop.ask('GET /transactions?limit=1&kind=debit');
  assert.match(response.headers.get('link') ?? '', /[?&]kind=debit[^>]*>; rel="next"/);
});

test('a list has only the rows of its store', async () => {
  const response = await other.ask('GET /transactions?order_reference=B-1017');
  assert.equal((response.json as Listed).transactions.length, 1);
  const holds = await other.ask('GET /holds');
  assert.deepEqual((holds.json as Listed).holds, []);
});

test('wrong filters are rejected, and no filter is logged', async () => {
  for (const [query, errors] of [
    ['kind=sale', { kind: [`must be one of: ${transferKinds.join(', ')}`] }],
    ['order_reference=', { order_reference: ['must not be empty'] }],
    ['order_id=x', { order_id: ['must be an integer from 1 to 2^53 - 1'] }],
    ['status=open', { status: ['is not a known parameter'] }],
    ['before=1', { before: ['is not a known parameter'] }],
  ] as const)
    await shop.rejects(`GET /transactions?${query}`, {}, { code: 'invalid-query', errors });
  await list('/transactions?external_id=pay_5551&reference=secret-5552&order_reference=secret-5553');
  assert.doesNotMatch(service.log(), /pay_5551|secret-555/);
});
