/**
 * Clients that always retry. Each issues, credits and debits its cards, one request after another. It sends a
 * request that failed temporarily, or has no response, again with its key until it succeeds, at any of the
 * service's processes.
 *
 * The ledgers of its cards must contain exactly the acknowledged transfers, each of them once.
 */

import assert from 'node:assert/strict';
import { setTimeout as wait } from 'node:timers/promises';
import { deadlineIn } from './deadline.ts';
import type { Row } from './postgres-client.ts';
import { publicIdsOf } from './public-ids.ts';
import type { Seeded } from './seeded.ts';

const pauseMs = 25;
const responseTimeoutMs = 40_000;

type Ledger = { balance: bigint; readonly transfers: Set<number> };

type Request = { readonly path: string; readonly json: Readonly<Record<string, unknown>> };

type HttpResponse = {
  readonly gift_card: { readonly id: number; readonly balance: string };
  readonly transaction?: { readonly id: number; readonly amount: string };
};

export type RetryingClient = {
  /** Its cards as acknowledged: minor units, and the transfers except for the issue. */
  readonly cards: ReadonlyMap<number, Ledger>;
  /** The time of each success (`performance.now`). */
  readonly successes: readonly number[];
  /** Responses other than a success: `503 unavailable`, `no response`. */
  readonly errors: readonly string[];
  /** The number of requests that were executed before without an acknowledgment. */
  readonly replays: number;
  /** The longest duration of any response, in ms. */
  readonly slowestMs: number;
  /** Works until it is stopped and no request is open. */
  work(urls: readonly string[], isOver: () => boolean): Promise<void>;
};

export type RetryingClientOptions = {
  readonly token: string;
  readonly random: Seeded;
  /** The note of the cards that it issues. */
  readonly note?: () => string;
};

/** Creates a client. Its keys start with its name. */
function newRetryingClient(
  name: string,
  { token, random, note = () => name }: RetryingClientOptions,
): RetryingClient {
  const cards = new Map<number, Ledger>();
  const successes: number[] = [];
  const errors: string[] = [];
  const totals = { replays: 0, slowestMs: 0 };
  let requests = 0;

  const choose = (): Request => {
    const ids = [...cards.keys()];
    const id = ids[random.between(0, ids.length - 1)];
    if (id === undefined || random() < 0.3)
      return { path: '/gift_card', json: { initial_value: '100.00', note: note() } };
    const amount = decimal(random.between(1, 300));
    return { path: `/gift_card/${id}/${random() < 0.5 ? 'credit' : 'debit'}`, json: { amount } };
  };

  /** Sends a request once. Returns undefined if it must be sent again. */
  const send = async (
    url: string,
    { path, json }: Request,
    key: string,
  ): Promise<HttpResponse | undefined> => {
    const startedAt = performance.now();
    try {
      const response = await fetch(`${url}${path}`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${token}`,
          'content-type': 'application/json',
          'idempotency-key': key,
        },
        body: JSON.stringify(json),
        signal: AbortSignal.timeout(responseTimeoutMs),
      });
      const text = await response.text();
      const isReplayed = response.headers.get('idempotent-replayed') === 'true';
      if (isReplayed) totals.replays += 1;
      if (response.status === 201) return JSON.parse(text) as HttpResponse;
      assert.ok([409, 503].includes(response.status), `${path}: ${response.status} ${text}`);
      assert.ok(Number(response.headers.get('retry-after')) >= 1, `${response.status} without Retry-After`);
      errors.push(`${response.status} ${/problems\/([a-z-]+)/.exec(text)?.[1]}`);
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      errors.push('no response');
    } finally {
      totals.slowestMs = Math.max(totals.slowestMs, performance.now() - startedAt);
    }
    return undefined;
  };

  const learn = ({ gift_card: card, transaction }: HttpResponse): void => {
    const ledger = cards.get(card.id) ?? { balance: 10_000n, transfers: new Set() };
    cards.set(card.id, ledger);
    if (transaction) {
      assert.ok(
        !ledger.transfers.has(transaction.id),
        `the transaction ${transaction.id} was returned twice`,
      );
      ledger.transfers.add(transaction.id);
      ledger.balance += minor(transaction.amount);
    }
    assert.equal(minor(card.balance), ledger.balance, `the card ${card.id} was changed by another client`);
    successes.push(performance.now());
  };

  return {
    cards,
    successes,
    errors,
    get replays() {
      return totals.replays;
    },
    get slowestMs() {
      return totals.slowestMs;
    },
    async work(urls, isOver) {
      while (!isOver()) {
        requests += 1;
        const key = `${name}-${requests}`;
        const request = choose();
        for (let attempt = random.between(0, urls.length - 1); ; attempt += 1) {
          const response = await send(urls[attempt % urls.length] ?? '', request, key);
          if (response) {
            learn(response);
            break;
          }
          await wait(pauseMs);
        }
      }
    },
  };
}

export function newRetryingClients(count: number, given: RetryingClientOptions): readonly RetryingClient[] {
  return Array.from({ length: count }, (_, place) => newRetryingClient(`client-${place}`, given));
}

/** The number of requests that were acknowledged to the clients. */
export function countSuccesses(clients: readonly RetryingClient[]): number {
  return clients.reduce((sum, { successes }) => sum + successes.length, 0);
}

/** Clients that work in the background. */
export type Work = {
  /** Waits until each client, or each of these, has this many more successes. Throws the error of a client. */
  readonly untilEachSucceeds: (more: number, some?: readonly RetryingClient[]) => Promise<void>;
  /** Lets the clients complete their open requests. Throws the error of a client. */
  readonly end: () => Promise<void>;
};

/** Lets clients work at any of the URLs. */
export function startWork(clients: readonly RetryingClient[], urls: readonly string[]): Work {
  let isOver = false;
  const working = Promise.all(clients.map((client) => client.work(urls, () => isOver)));
  // The methods throw it.
  working.catch(() => {});
  return {
    async untilEachSucceeds(more, some = clients) {
      await Promise.race([untilEachSucceeds(some, more), working]);
    },
    async end() {
      isOver = true;
      await working;
    },
  };
}

async function untilEachSucceeds(clients: readonly RetryingClient[], more: number): Promise<void> {
  const before = clients.map(({ successes }) => successes.length);
  const deadline = deadlineIn(60_000);
  while (clients.some(({ successes }, place) => successes.length < (before[place] ?? 0) + more)) {
    assert.ok(!deadline.isOver(), `only ${countSuccesses(clients)} requests were acknowledged`);
    await wait(5);
  }
}

/** Counts the responses other than a success, by kind. */
export function errorsOf(clients: readonly RetryingClient[]): Readonly<Record<string, number>> {
  const counts = new Map<string, number>();
  for (const error of clients.flatMap(({ errors }) => errors))
    counts.set(error, (counts.get(error) ?? 0) + 1);
  return Object.fromEntries(counts);
}

/** Asserts that a database has exactly the acknowledged changes: each success is there once. */
export async function assertAppliedOnce(
  clients: readonly RetryingClient[],
  query: (text: string) => Promise<readonly Row[]>,
  keysFile: string,
): Promise<void> {
  const ids = publicIdsOf(keysFile);
  const publicId = (text: unknown): number => ids.of(Number(text));
  const ledgers = new Map(clients.flatMap(({ cards }) => [...cards]));
  const cards = await query('select id::text as id, balance::text as balance from gift_cards');
  const transfers = await query(
    `select id::text as id, card_id::text as card from transfers where kind <> 'issue'`,
  );
  const held = Map.groupBy(transfers, ({ card }) => publicId(card));
  assert.deepEqual(
    cards.map(({ id }) => publicId(id)).toSorted(byValue),
    [...ledgers.keys()].toSorted(byValue),
    'the cards',
  );
  for (const { id, balance } of cards) {
    const ledger = ledgers.get(publicId(id));
    assert.equal(balance, String(ledger?.balance), `the balance of the card ${String(id)}`);
    const heldIds = (held.get(publicId(id)) ?? []).map((row) => publicId(row['id']));
    assert.deepEqual(
      heldIds.toSorted(byValue),
      [...(ledger?.transfers ?? [])].toSorted(byValue),
      `the transfers of ${String(id)}`,
    );
  }
}

const byValue = (one: number, other: number): number => one - other;

function minor(text: string): bigint {
  return BigInt(text.replace('.', ''));
}

function decimal(cents: number): string {
  return `${Math.floor(cents / 100)}.${String(cents % 100).padStart(2, '0')}`;
}
