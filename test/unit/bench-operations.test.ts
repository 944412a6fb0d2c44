/** What the benchmark asks of the service, and what it expects of the ledger afterwards. */

import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import test from 'node:test';
import type { Call } from '../../bench/load.ts';
import { operationNames, operationsOf, Tally, type OperationName } from '../../bench/operations.ts';
import { Population } from '../../bench/population.ts';
import { requestWriter } from '../../bench/requests.ts';
import { signingText, type QueryParameter } from '../../src/domain/app-proxy.ts';

const credentials = { domain: 'bench.example', token: 'secret-token', proxySecret: 'hush' };

function population(): Population {
  const cards = new Population(8);
  for (let index = 0; index < 8; index += 1)
    cards.add(index, { id: 100 + index, lastCharacters: `abc${index}` });
  cards.richId = 999;
  return cards;
}

function operations(tally = new Tally(), isChecking = true) {
  return operationsOf({ credentials, population: population(), tally, run: 'run', isChecking });
}

function callsOf(name: OperationName, count: number, tally = new Tally()): readonly Call[] {
  const { next } = operations(tally)[name];
  return Array.from({ length: count }, next);
}

function targetOf({ request }: Call): URL {
  return new URL(request.split(' ')[1] ?? '', 'http://127.0.0.1');
}

test('a signed request carries the signature of all its parameters', () => {
  const write = requestWriter(credentials);
  const searched: readonly QueryParameter[] = [['email', 'a+b@example.com']];
  for (const query of [[], searched]) {
    const request = write({ method: 'GET', path: '/gift_card', query, isSigned: true });
    const parameters = [...new URL(request.split(' ')[1] ?? '', 'http://127.0.0.1').searchParams];
    const given = new Map(parameters);
    assert.equal(given.get('shop'), credentials.domain);
    assert.equal(given.get('email'), new Map(query).get('email'));
    const expected = createHmac('sha256', credentials.proxySecret)
      .update(signingText(parameters))
      .digest('hex');
    assert.equal(given.get('signature'), expected);
  }
});

test('a body goes with its length, and a key with its write', () => {
  const write = requestWriter(credentials);
  const body = '{"amount":"0.01"}';
  const request = write({ method: 'POST', path: '/x', body, idempotencyKey: 'key-1', isSigned: false });
  assert.equal(
    request,
    'POST /x HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer secret-token\r\nIdempotency-Key: key-1\r\n' +
      `Content-Type: application/json\r\nContent-Length: 17\r\n\r\n${body}`,
  );
});

test('half of the writes have a key of their own, and some requests are signed', () => {
  const calls = callsOf('create', 1_500);
  const keys = calls.flatMap(({ request }) => /Idempotency-Key: (\S+)/.exec(request)?.[1] ?? []);
  assert.equal(keys.length, 750);
  assert.equal(new Set(keys).size, 750);
  const signed = calls.filter(({ request }) => request.includes('signature='));
  assert.equal(signed.length, 100);
  const both = signed.filter(({ request }) => request.includes('Idempotency-Key'));
  assert.equal(both.length, 50);
});

test('reads have no key', () => {
  for (const name of ['retrieve', 'search'] as const)
    assert.ok(callsOf(name, 100).every(({ request }) => !request.includes('Idempotency-Key')));
});

test('a search asks for the customer of a card and the last characters of its code', () => {
  for (const call of callsOf('search', 50)) {
    const { searchParams } = targetOf(call);
    const [, index] = /^customer-0*(\d+)@/.exec(searchParams.get('email') ?? '') ?? [];
    assert.ok(['0', '4'].includes(index ?? ''), 'every fourth card has a customer');
    assert.equal(searchParams.get('last_characters'), `abc${index}`);
  }
});

test('nine of ten mixed calls read', () => {
  const reads = callsOf('mixed 90/10', 20_000).filter(({ method }) => method === 'GET');
  assert.ok(Math.abs(reads.length / 20_000 - 0.9) < 0.02, String(reads.length));
});

test('of every operation a sample is looked at, and a wrong answer is found', async (t) => {
  for (const name of operationNames) {
    await t.test(name, () => {
      const looked = callsOf(name, 640).flatMap(({ check }) => check ?? []);
      assert.ok(looked.length >= 10);
      const wrong = '{"gift_card":{"id":1,"balance":"1.00"},"transaction":{"amount":"-1.00"}}';
      for (const check of looked) assert.throws(() => check(wrong));
    });
  }
  await t.test('of those of the bare server nothing is', () => {
    const { next } = operations(new Tally(), false).create;
    assert.ok(Array.from({ length: 640 }, next).every(({ check }) => check === null));
  });
});

test('a ledger that lost an answered change, or made one twice, is found', async (t) => {
  const tally = new Tally();
  callsOf('create', 3, tally);
  callsOf('debit', 250, tally);
  callsOf('debit of one card', 10, tally);
  callsOf('update', 5, tally);
  // Two loaded cards, the rich one and three created ones; 5 × 25.00 + 999,999,999,999.00 - 2.60.
  const right = { cards: 6, transfers: 266, outstanding: '1000000000121.40' };
  await t.test('the right one passes', () => tally.expect(2, right));
  const wrong = {
    'a lost card': { ...right, cards: 5 },
    'an entry too many': { ...right, transfers: 267 },
    'a lost cent': { ...right, outstanding: '1000000000121.39' },
  };
  for (const [what, ledger] of Object.entries(wrong))
    await t.test(what, () => assert.throws(() => tally.expect(2, ledger)));
});
