/** What is asked of the service, and how its answers are looked at. */

import assert from 'node:assert/strict';
import type { Call } from './load.ts';
import { cardValue, richValue, type Population } from './population.ts';
import { requestWriter, type Credentials, type Request } from './requests.ts';

export const operationNames = [
  'retrieve',
  'search',
  'create',
  'update',
  'debit',
  'debit of one card',
  'mixed 90/10',
] as const;

export type OperationName = (typeof operationNames)[number];

export type Operation = {
  readonly name: OperationName;
  /** Whether any of its calls writes. */
  readonly isWriting: boolean;
  readonly next: () => Call;
};

/** What the ledger has to show for the calls that were answered. */
export class Tally {
  creations = 0;
  debits = 0;

  /**
   * @throws if the ledger does not show every loaded card, and every creation and debit once and to the cent: an
   * answered change was lost, or one was made twice.
   */
  expect(loaded: number, ledger: { cards: number; transfers: number; outstanding: string }): void {
    // The rich card is one more.
    const cards = loaded + 1 + this.creations;
    const cents =
      BigInt(loaded + this.creations) * cardValue + richValue - BigInt(this.debits) * debitedCents;
    assert.equal(ledger.cards, cards, 'cards in the ledger, against creations that were answered');
    assert.equal(ledger.transfers, cards + this.debits, 'entries, against creations and debits');
    assert.equal(ledger.outstanding, `${cents / 100n}.${String(cents % 100n).padStart(2, '0')}`);
  }
}

/** One answer in so many is parsed and looked at, and the one after it; of the others only the status is. */
const checkedEvery = 64;
/**
 * One request in so many carries a storefront's signature besides its token. The number is odd, so that writes with an
 * idempotency key and writes without one are signed.
 */
const signedEvery = 15;
/** Of a hundred mixed calls so many are retrievals and searches; the rest are creations and debits, half and half. */
const mix = { retrieve: 80, search: 10, create: 5 } as const;
const debitedCents = 1n;

/** Who asks, for which cards, and what is noted of it. */
type Client = {
  readonly credentials: Credentials;
  readonly population: Population;
  readonly tally: Tally;
  /** Whether a sample of the answers is looked at: the bare server's say nothing. */
  readonly isChecking: boolean;
  /** Tells this client's idempotency keys from those of others. */
  readonly run: string;
};

export function operationsOf(client: Client): Readonly<Record<OperationName, Operation>> {
  const { population, tally } = client;
  const call = caller(client);
  const anyCard = (): number => population.anyId();
  const retrieve = (): Call => retrieval(call, anyCard());
  const search = (): Call => searching(call, population.anySearch());
  const create = (): Call => {
    tally.creations += 1;
    return creation(call);
  };
  const debit = (id: number): Call => {
    tally.debits += 1;
    return debiting(call, id);
  };
  const mixed = (): Call => {
    const draw = Math.random() * 100;
    if (draw < mix.retrieve) return retrieve();
    if (draw < mix.retrieve + mix.search) return search();
    return draw < mix.retrieve + mix.search + mix.create ? create() : debit(anyCard());
  };
  const reading = (name: OperationName, next: () => Call): Operation => ({ name, isWriting: false, next });
  const writing = (name: OperationName, next: () => Call): Operation => ({ name, isWriting: true, next });
  return {
    retrieve: reading('retrieve', retrieve),
    search: reading('search', search),
    create: writing('create', create),
    update: writing('update', () => updating(call, anyCard())),
    debit: writing('debit', () => debit(anyCard())),
    'debit of one card': writing('debit of one card', () => debit(population.richId)),
    'mixed 90/10': writing('mixed 90/10', mixed),
  };
}

/** An operation's own part of a call; `write` tells the number of the call, to make each another one. */
type Asked = Pick<Request, 'method' | 'path' | 'query'> & {
  readonly status: number;
  readonly write?: (count: number) => string;
  readonly check: (body: string) => void;
};

type Caller = (asked: Asked) => Call;

/** Signs some of the calls, gives every other write an idempotency key of its own, and has a sample looked at. */
function caller({ credentials, run, isChecking }: Client): Caller {
  const text = requestWriter(credentials);
  let count = 0;
  return ({ method, path, query, status, write, check }) => {
    count += 1;
    const request = text({
      method,
      path,
      ...(query && { query }),
      ...(write && { body: write(count) }),
      ...(write && count % 2 === 0 && { idempotencyKey: `${run}-${count}` }),
      isSigned: count % signedEvery === 0,
    });
    return { method, request, status, check: isChecking && count % checkedEvery < 2 ? check : null };
  };
}

type CardRecord = Readonly<{ [field: string]: unknown }>;

function recordOf(body: string): CardRecord {
  const { gift_card: record } = JSON.parse(body) as { readonly gift_card: CardRecord };
  return record;
}

function expectCard(id: number): (body: string) => void {
  return (body) => {
    const record = recordOf(body);
    assert.equal(record['id'], id);
    assert.equal(record['initial_value'], '25.00');
    assert.equal(record['code'], undefined);
  };
}

function retrieval(call: Caller, id: number): Call {
  return call({ method: 'GET', path: `/gift_card/${id}`, status: 200, check: expectCard(id) });
}

function searching(call: Caller, { id, email, lastCharacters }: ReturnType<Population['anySearch']>): Call {
  const query = [
    ['last_characters', lastCharacters],
    ['email', email],
  ] as const;
  return call({ method: 'GET', path: '/gift_card', query, status: 200, check: expectCard(id) });
}

/** A card with nothing but a value. */
function creation(call: Caller): Call {
  const check = (body: string): void => {
    const { code, ...record } = recordOf(body);
    assert.match(String(code), /^[0-9a-z]{16}$/);
    assert.equal(record['last_characters'], String(code).slice(-4));
    assert.equal(record['balance'], '25.00');
  };
  return call({
    method: 'POST',
    path: '/gift_card',
    status: 201,
    write: () => '{"initial_value":25}',
    check,
  });
}

/** Another note, so that there is something to change. */
function updating(call: Caller, id: number): Call {
  let note = '';
  return call({
    method: 'PUT',
    path: `/gift_card/${id}`,
    status: 200,
    write: (count) => {
      note = `Seen at the counter, ${count}`;
      return `{"note":"${note}"}`;
    },
    check(body) {
      expectCard(id)(body);
      assert.equal(recordOf(body)['note'], note);
    },
  });
}

function debiting(call: Caller, id: number): Call {
  const check = (body: string): void => {
    const { transaction, gift_card: card } = JSON.parse(body) as Readonly<{
      transaction: CardRecord;
      gift_card: CardRecord;
    }>;
    assert.equal(transaction['amount'], '-0.01');
    assert.equal(transaction['balance_after'], card['balance']);
    assert.equal(card['id'], id);
  };
  return call({
    method: 'POST',
    path: `/gift_card/${id}/debit`,
    status: 201,
    write: () => '{"amount":"0.01"}',
    check,
  });
}
