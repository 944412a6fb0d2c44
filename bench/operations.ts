/** What is asked of the service, and how its answers are looked at. */

import assert from 'node:assert/strict';
import type { Call } from './load.ts';

export type Operation = {
  readonly name: 'retrieve' | 'create' | 'debit' | 'debit of one card';
  /** The status of every answer. */
  readonly status: number;
  readonly next: () => Call;
  /** How many calls it has made so far. */
  readonly calls: number;
};

/** One answer in so many is parsed and looked at; of the others only the status is. */
const checkedEvery = 64;

type Record = Readonly<{ [field: string]: unknown }>;

function recordOf(body: string): Record {
  const { gift_card: record } = JSON.parse(body) as { readonly gift_card: Record };
  return record;
}

/** Retrieves the given cards, each as likely as any other. */
export function retrieveOf(ids: readonly number[], token: string): Operation {
  const head = `Host: 127.0.0.1\r\nAuthorization: Bearer ${token}\r\n\r\n`;
  let calls = 0;
  return {
    name: 'retrieve',
    status: 200,
    next() {
      const id = ids[Math.floor(Math.random() * ids.length)];
      const request = `GET /gift_card/${id} HTTP/1.1\r\n${head}`;
      calls += 1;
      if (calls % checkedEvery !== 0) return { request, check: null };
      return {
        request,
        check(body) {
          const record = recordOf(body);
          assert.equal(record['id'], id);
          assert.equal(record['balance'], '25.00');
          assert.equal(record['code'], undefined);
        },
      };
    },
    get calls() {
      return calls;
    },
  };
}

/** Creates cards with nothing but a value, every other one with an idempotency key of its own. */
export function createOf(token: string): Operation {
  const body = '{"initial_value":25}';
  const run = Date.now().toString(36);
  let calls = 0;
  return {
    name: 'create',
    status: 201,
    next() {
      calls += 1;
      const key = calls % 2 === 0 ? `Idempotency-Key: bench-${run}-${calls}\r\n` : '';
      const request = post('/gift_card', { token, body, headers: key });
      return { request, check: calls % checkedEvery < 2 ? checkCreated : null };
    },
    get calls() {
      return calls;
    },
  };
}

function checkCreated(body: string): void {
  const { code, ...record } = recordOf(body);
  assert.match(String(code), /^[0-9a-z]{16}$/);
  assert.equal(record['last_characters'], String(code).slice(-4));
  assert.equal(record['balance'], '25.00');
}

/** Debits a cent of the given cards, each as likely as any other, every other time with an idempotency key. */
export function debitOf(
  name: 'debit' | 'debit of one card',
  ids: readonly number[],
  token: string,
): Operation {
  const body = '{"amount":"0.01"}';
  const run = Date.now().toString(36);
  let calls = 0;
  return {
    name,
    status: 201,
    next() {
      calls += 1;
      const id = ids[Math.floor(Math.random() * ids.length)];
      const key = calls % 2 === 0 ? `Idempotency-Key: ${name.length}-${run}-${calls}\r\n` : '';
      const request = post(`/gift_card/${id}/debit`, { token, body, headers: key });
      return { request, check: calls % checkedEvery < 2 ? checkDebited : null };
    },
    get calls() {
      return calls;
    },
  };
}

function checkDebited(body: string): void {
  const { transaction, gift_card: card } = JSON.parse(body) as Readonly<{
    transaction: Record;
    gift_card: Record;
  }>;
  assert.equal(transaction['amount'], '-0.01');
  assert.equal(transaction['balance_after'], card['balance']);
}

/** One card that can afford every debit of a run. */
export function richCardOf(token: string, created: (id: number) => void): Call {
  const request = post('/gift_card', { token, body: '{"initial_value":"999999999999.00"}', headers: '' });
  return { request, check: (body) => created(Number(recordOf(body)['id'])) };
}

/** The cards that are there before anything is measured: each with a note and a customer of its own. */
export function* loadingOf(
  { cards, token }: { readonly cards: number; readonly token: string },
  created: (id: number) => void,
): Generator<Call, undefined> {
  const check = (body: string): void => {
    const { id } = recordOf(body);
    assert.ok(typeof id === 'number');
    created(id);
  };
  for (let index = 0; index < cards; index += 1) {
    const email = `customer-${String(index).padStart(8, '0')}@example.com`;
    const body = JSON.stringify({ initial_value: '25.00', email, note: 'Sold at the counter' });
    yield { request: post('/gift_card', { token, body, headers: '' }), check };
  }
  return undefined;
}

function post(
  path: string,
  { token, body, headers }: Readonly<{ token: string; body: string; headers: string }>,
): string {
  return (
    `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${token}\r\n${headers}` +
    `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
  );
}
