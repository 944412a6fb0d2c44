/** The requests of each operation, and the checks of their responses. */

import assert from 'node:assert/strict';
import type { Request } from './load.ts';
import { cardValue, type Population } from './population.ts';

/** Creations come first: each adds a card, and the number of cards is part of what is measured. */
export const operationNames = [
  'create',
  'create with a key',
  'debit',
  'update',
  'retrieve',
  'search',
  'list',
  'mixed 90/10',
] as const;

export type OperationName = (typeof operationNames)[number];

type Next = () => Request;

/** A sample of the responses is parsed and checked: two of 64. Of the others only the status is checked. */
const checkedEvery = 64;
/** The shares of a hundred mixed requests; the rest are debits. Half of the writes have an idempotency key. */
const mix = { retrieve: 80, search: 10, create: 5 } as const;
const debitedCents = 1n;

/** The expected content of the ledger, by the responses. */
export class ExpectedLedger {
  creations = 0;
  debits = 0;

  /** @throws AssertionError if a change that was confirmed is lost or was made twice. */
  check(
    filled: number,
    ledger: { readonly cards: number; readonly transfers: number; readonly outstanding: string },
  ): void {
    const cards = filled + this.creations;
    const cents = BigInt(cards) * cardValue - BigInt(this.debits) * debitedCents;
    assert.equal(ledger.cards, cards, 'cards in the ledger');
    assert.equal(ledger.transfers, cards + this.debits, 'entries in the ledger');
    assert.equal(ledger.outstanding, `${cents / 100n}.${String(cents % 100n).padStart(2, '0')}`);
  }
}

export type Client = {
  readonly token: string;
  readonly population: Population;
  readonly expected: ExpectedLedger;
  /** False for the baseline, whose responses have no content. */
  readonly isChecking: boolean;
  /** A prefix that makes the idempotency keys of this client unique. */
  readonly keyPrefix: string;
};

export function operationsOf(client: Client): Readonly<Record<OperationName, Next>> {
  const { population, expected } = client;
  const write = writer(client);
  const retrieve: Next = () => retrieval(write, population.anyId());
  const search: Next = () => searching(write, population.anySearch());
  const list: Next = () => listing(write, population.anySearch().email);
  const create = (hasKey: boolean): Request => {
    expected.creations += 1;
    return creation(write, hasKey);
  };
  const debit = (hasKey: boolean): Request => {
    expected.debits += 1;
    return debiting(write, population.anyId(), hasKey);
  };
  const mixed: Next = () => {
    const chosen = Math.random() * 100;
    const hasKey = Math.random() < 0.5;
    if (chosen < mix.retrieve) return retrieve();
    if (chosen < mix.retrieve + mix.search) return search();
    return chosen < mix.retrieve + mix.search + mix.create ? create(hasKey) : debit(hasKey);
  };
  return {
    create: () => create(false),
    'create with a key': () => create(true),
    debit: () => debit(false),
    update: () => updating(write, population.anyId()),
    retrieve,
    search,
    list,
    'mixed 90/10': mixed,
  };
}

/** The parts of a request in which the operations differ. */
type Parts = Pick<Request, 'method' | 'status'> & {
  /** With its query. */
  readonly path: string;
  /** JSON in ASCII; the argument is the number of the request. */
  readonly body?: (count: number) => string;
  readonly hasKey?: boolean;
  readonly check: (body: string) => void;
};

type Writer = (parts: Parts) => Request;

function writer({ token, isChecking, keyPrefix }: Client): Writer {
  const head = `HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${token}\r\n`;
  let count = 0;
  return ({ method, status, path, body, hasKey = false, check }) => {
    count += 1;
    const entity = body?.(count);
    const key = hasKey ? `Idempotency-Key: ${keyPrefix}-${count}\r\n` : '';
    const headers =
      entity === undefined ? '' : `Content-Type: application/json\r\nContent-Length: ${entity.length}\r\n`;
    return {
      method,
      status,
      text: `${method} ${path} ${head}${key}${headers}\r\n${entity ?? ''}`,
      check: isChecking && count % checkedEvery < 2 ? check : null,
    };
  };
}

type JsonObject = Readonly<{ [field: string]: unknown }>;

function cardOf(body: string): JsonObject {
  const { gift_card: card } = JSON.parse(body) as { readonly gift_card: JsonObject };
  return card;
}

function checkCard(id: number): (body: string) => void {
  return (body) => {
    const card = cardOf(body);
    assert.equal(card['id'], id);
    assert.equal(card['initial_value'], '25.00');
    assert.equal(card['code'], undefined);
  };
}

function retrieval(write: Writer, id: number): Request {
  return write({ method: 'GET', path: `/gift_card/${id}`, status: 200, check: checkCard(id) });
}

function searching(
  write: Writer,
  { id, email, lastCharacters }: ReturnType<Population['anySearch']>,
): Request {
  const query = `last_characters=${lastCharacters}&email=${encodeURIComponent(email)}`;
  return write({ method: 'GET', path: `/gift_card?${query}`, status: 200, check: checkCard(id) });
}

/** Pages along the primary key, of a filter with an index, and of one that the service walks for. */
const listed = [
  (): string => 'limit=50',
  (): string => 'state=active&sort=created_at&limit=50',
  (email: string): string => `email=${encodeURIComponent(email)}&sort=-balance`,
  (): string => 'note=counter&balance_min=1&limit=50',
  (): string => 'tag=none',
] as const;

function listing(write: Writer, email: string): Request {
  const query = listed[Math.floor(Math.random() * listed.length)] ?? listed[0];
  return write({
    method: 'GET',
    path: `/gift_cards?${query(email)}`,
    status: 200,
    check(body) {
      const { gift_cards: cards } = JSON.parse(body) as { readonly gift_cards: readonly JsonObject[] };
      assert.ok(cards.length <= 50);
      for (const card of cards) assert.equal(card['initial_value'], '25.00');
    },
  });
}

function creation(write: Writer, hasKey: boolean): Request {
  return write({
    method: 'POST',
    path: '/gift_card',
    status: 201,
    body: () => '{"initial_value":25}',
    hasKey,
    check(body) {
      const { code, ...card } = cardOf(body);
      assert.match(String(code), /^[0-9a-z]{16}$/);
      assert.equal(card['last_characters'], String(code).slice(-4));
      assert.equal(card['balance'], '25.00');
    },
  });
}

function updating(write: Writer, id: number): Request {
  let note = '';
  return write({
    method: 'PUT',
    path: `/gift_card/${id}`,
    status: 200,
    body(count) {
      note = `Seen at the counter, ${count}`;
      return `{"note":"${note}"}`;
    },
    check(body) {
      checkCard(id)(body);
      assert.equal(cardOf(body)['note'], note);
    },
  });
}

function debiting(write: Writer, id: number, hasKey: boolean): Request {
  return write({
    method: 'POST',
    path: `/gift_card/${id}/debit`,
    status: 201,
    body: () => '{"amount":"0.01"}',
    hasKey,
    check(body) {
      const { transaction, gift_card: card } = JSON.parse(body) as Readonly<{
        transaction: JsonObject;
        gift_card: JsonObject;
      }>;
      assert.equal(transaction['amount'], '-0.01');
      assert.equal(transaction['balance_after'], card['balance']);
      assert.equal(card['id'], id);
    },
  });
}
