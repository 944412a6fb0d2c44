/** The requests that the benchmark sends, and the ledger that it expects afterwards. */

import assert from 'node:assert/strict';
import test from 'node:test';
import type { Request } from '../../bench/load.ts';
import { ExpectedLedger, operationNames, operationsOf, type OperationName } from '../../bench/operations.ts';
import { Population } from '../../bench/population.ts';

const cards = 8;
const hasKey = ({ text }: Request): boolean => text.includes('Idempotency-Key');

function requestsOf(
  operation: OperationName,
  count: number,
  { expected = new ExpectedLedger(), isChecking = true } = {},
): readonly Request[] {
  const population = new Population(cards);
  for (let index = 0; index < cards; index += 1)
    population.add(index, { id: 100 + index, lastCharacters: `abc${index}` });
  const client = { token: 'secret', population, expected, isChecking, keyPrefix: 'run' };
  return Array.from({ length: count }, operationsOf(client)[operation]);
}

test('a request has the token, and its body and key if it has one', () => {
  const [debit] = requestsOf('debit', 1);
  assert.match(
    debit?.text ?? '',
    /^POST \/gift_card\/10\d\/debit HTTP\/1\.1\r\nHost: 127\.0\.0\.1\r\nAuthorization: Bearer secret\r\nContent-Type: application\/json\r\nContent-Length: 17\r\n\r\n\{"amount":"0\.01"\}$/,
  );
  const [create] = requestsOf('create with a key', 1);
  assert.match(create?.text ?? '', /\r\nIdempotency-Key: run-1\r\n/);
});

test('only writes have keys: all, half or none of them', () => {
  const keys = requestsOf('create with a key', 500).map(
    ({ text }) => /Idempotency-Key: (\S+)/.exec(text)?.[1],
  );
  assert.equal(new Set(keys).size, 500);
  for (const operation of ['create', 'debit', 'update', 'retrieve', 'search'] as const)
    assert.ok(!requestsOf(operation, 100).some(hasKey), operation);
  const mixed = requestsOf('mixed 90/10', 20_000);
  const writes = mixed.filter(({ method }) => method !== 'GET');
  assert.ok(Math.abs(writes.length / mixed.length - 0.1) < 0.02, String(writes.length));
  assert.ok(Math.abs(writes.filter(hasKey).length / writes.length - 0.5) < 0.1);
  assert.ok(!mixed.filter(({ method }) => method === 'GET').some(hasKey));
});

test('a search names the customer of a card and the last characters of its code', () => {
  for (const { text } of requestsOf('search', 50)) {
    const { searchParams } = new URL(text.split(' ')[1] ?? '', 'http://127.0.0.1');
    const [, index] = /^customer-0*(\d+)@/.exec(searchParams.get('email') ?? '') ?? [];
    assert.ok(['0', '4'].includes(index ?? ''), 'every fourth card has a customer');
    assert.equal(searchParams.get('last_characters'), `abc${index}`);
  }
});

test('a sample of the responses to every operation is checked, and a wrong one fails', async (t) => {
  const wrong = '{"gift_card":{"id":1,"balance":"1.00"},"transaction":{"amount":"-1.00"}}';
  for (const operation of operationNames)
    await t.test(operation, () => {
      const checks = requestsOf(operation, 640).flatMap(({ check }) => check ?? []);
      assert.ok(checks.length >= 10);
      for (const check of checks) assert.throws(() => check(wrong));
    });
  await t.test('responses of the baseline are not checked', () => {
    assert.ok(requestsOf('create', 640, { isChecking: false }).every(({ check }) => check === null));
  });
});

test('a ledger that lost or repeated a confirmed change fails', async (t) => {
  const expected = new ExpectedLedger();
  requestsOf('create', 2, { expected });
  requestsOf('create with a key', 1, { expected });
  requestsOf('debit', 260, { expected });
  requestsOf('update', 5, { expected });
  // Two cards from before and three new ones: 5 × 25.00 - 2.60.
  const right = { cards: 5, transfers: 265, outstanding: '122.40' };
  await t.test('the correct ledger passes', () => expected.check(2, right));
  const wrong = {
    'a lost card': { ...right, cards: 4 },
    'an additional entry': { ...right, transfers: 266 },
    'a lost cent': { ...right, outstanding: '122.39' },
  };
  for (const [what, ledger] of Object.entries(wrong))
    await t.test(what, () => assert.throws(() => expected.check(2, ledger)));
});
