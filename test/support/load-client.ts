/**
 * Clients that issue and change cards, one request after another, and record the responses.
 *
 * Terms: a *known* card is the card in the last acknowledged response. An *open* request was sent and has no
 * complete response: it is unknown whether it was executed until it is sent again with its idempotency key.
 * Each client has its own cards, which makes its next response predictable.
 */

import assert from 'node:assert/strict';
import { Agent, request } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { deadlineIn } from './deadline.ts';
import type { Seeded } from './seeded.ts';

export type KnownCard = {
  readonly id: number;
  readonly balance: string;
  readonly isDisabled: boolean;
  readonly note: string;
  /** The version in the entity tag: counts the changes, from 1. */
  readonly version: number;
  /** Transfers in the ledger, including the first one. */
  readonly transfers: number;
};

/** A request that can have been executed. */
export type OpenRequest = {
  readonly key: string;
  readonly method: 'POST' | 'PUT';
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
  /** The card as it was known; undefined if the request creates it. */
  readonly before: KnownCard | undefined;
  readonly sentAt: number;
};

export type HttpResponse = { readonly status: number; readonly replayed: boolean; readonly text: string };

export type LoadClientOptions = {
  readonly name: string;
  readonly token: string;
  readonly random: Seeded;
  /** Is called with each acknowledged request and its card, before the next request is sent. */
  readonly acknowledged?: (request: OpenRequest, card: KnownCard) => void;
};

export class LoadClient {
  readonly cards = new Map<number, KnownCard>();
  open: OpenRequest | undefined;
  /** The number of successful requests. */
  acknowledged = 0;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });
  readonly #options: LoadClientOptions;
  readonly #live: number[] = [];
  #last: { readonly request: OpenRequest; readonly text: string } | undefined;
  #requests = 0;

  constructor(options: LoadClientOptions) {
    this.#options = options;
  }

  /**
   * Works until it is stopped, and then returns undefined. Returns a 503 or the error of the connection, and
   * leaves that request open.
   */
  async work(url: string, isOver: () => boolean): Promise<Outcome | undefined> {
    assert.equal(this.open, undefined, 'the open request must be decided first');
    while (!isOver()) {
      this.open = this.#next();
      const outcome = await this.#attempt(url, this.open);
      if (outcome) return outcome;
    }
    return undefined;
  }

  /** Sends the open request again and records its outcome. @throws Error if it has none, or is a 503: the request stays open. */
  async decide(url: string): Promise<HttpResponse> {
    // The process that had the kept connection was killed.
    this.#agent.destroy();
    assert.ok(this.open);
    const response = await this.#send(url, this.open);
    if (response.status === 503) throw new Error(`the open request is rejected: ${response.text}`);
    this.#learn(this.open, response);
    return response;
  }

  /** Sends the last successful request again, and asserts that the response is the same, byte for byte. */
  async repeat(url: string): Promise<void> {
    // The process that had the kept connection was killed.
    this.#agent.destroy();
    if (!this.#last) return;
    const { request: repeated, text } = this.#last;
    const response = await this.#send(url, repeated);
    const status = repeated.before ? 200 : 201;
    assert.deepEqual(
      response,
      { status, replayed: true, text },
      `${repeated.method} with the key ${repeated.key}`,
    );
  }

  close(): void {
    this.#agent.destroy();
  }

  async #attempt(url: string, open: OpenRequest): Promise<Outcome | undefined> {
    let response;
    try {
      response = await this.#send(url, open);
    } catch (error) {
      return { sentAt: open.sentAt, status: undefined, error };
    }
    if (response.status === 503) return { sentAt: open.sentAt, status: 503, error: undefined };
    assert.equal(response.replayed, false);
    this.#learn(open, response);
    return undefined;
  }

  #learn(open: OpenRequest, { status, text }: HttpResponse): void {
    assert.equal(status, open.before ? 200 : 201, text);
    const { gift_card: card } = JSON.parse(text) as { readonly gift_card: Acknowledged };
    const known = afterwards(open, card.id);
    assert.deepEqual(
      { id: card.id, balance: card.balance, note: card.note, isDisabled: card.disabled_at !== null },
      { id: known.id, balance: known.balance, note: known.note, isDisabled: known.isDisabled },
    );
    this.cards.set(card.id, known);
    if (!open.before) this.#live.push(card.id);
    this.#last = { request: open, text };
    this.open = undefined;
    this.acknowledged += 1;
    this.#options.acknowledged?.(open, known);
  }

  #next(): OpenRequest {
    const { name, random } = this.#options;
    this.#requests += 1;
    const key = `${name}-${this.#requests}`;
    const sentAt = performance.now();
    const known = this.#live.length > 0 && random() < 0.5 ? this.#choose() : undefined;
    if (!known) {
      const body = { initial_value: amount(random.between(1, 99_999)), note: key };
      return { key, method: 'POST', path: '/gift_card', body, before: undefined, sentAt };
    }
    // The balance always changes: each update must be one transfer.
    const cents = Number(known.balance.replace('.', ''));
    const balance = { balance: amount(cents + random.between(1, 500) - (cents > 500 ? 501 : 0)), note: key };
    const kind = random.between(1, 10);
    const disabling = { disable: true, ...(kind === 1 ? balance : {}) };
    const body = kind <= 2 ? disabling : balance;
    return { key, method: 'PUT', path: `/gift_card/${known.id}`, body, before: known, sentAt };
  }

  #choose(): KnownCard | undefined {
    const place = this.#options.random.between(0, this.#live.length - 1);
    const known = this.cards.get(this.#live[place] ?? 0);
    if (known?.isDisabled === false) return known;
    this.#live.splice(place, 1);
    return undefined;
  }

  /** @throws Error if the response is missing or incomplete. */
  #send(url: string, { key, method, path, body }: OpenRequest): Promise<HttpResponse> {
    return new Promise((resolve, reject) => {
      const payload = JSON.stringify(body);
      const headers = {
        authorization: `Bearer ${this.#options.token}`,
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(payload),
        'idempotency-key': key,
      };
      const sent = request(`${url}${path}`, { method, headers, agent: this.#agent }, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (part: string) => (text += part));
        response.on('error', reject);
        response.on('end', () => {
          const replayed = response.headers['idempotent-replayed'] === 'true';
          resolve({ status: response.statusCode ?? 0, replayed, text });
        });
      });
      sent.on('error', reject);
      sent.setTimeout(30_000, () => sent.destroy(new Error('no response in 30 s')));
      sent.end(payload);
    });
  }
}

/** The end of a client's work: a 503, or a missing response. */
export type Outcome = {
  readonly sentAt: number;
  readonly status: 503 | undefined;
  readonly error: unknown;
};

type Acknowledged = {
  readonly id: number;
  readonly balance: string;
  readonly disabled_at: string | null;
  readonly note: string;
};

/** Returns the card after a request. The id of a new card is only in the response. */
export function afterwards({ before, body }: OpenRequest, id: number): KnownCard {
  const { initial_value: issued, balance, note, disable } = body;
  if (!before) {
    assert.ok(typeof issued === 'string' && typeof note === 'string');
    return { id, balance: issued, isDisabled: false, note, version: 1, transfers: 1 };
  }
  return {
    id: before.id,
    balance: typeof balance === 'string' ? balance : before.balance,
    isDisabled: disable === true || before.isDisabled,
    note: typeof note === 'string' ? note : before.note,
    version: before.version + 1,
    transfers: before.transfers + (balance === undefined ? 0 : 1),
  };
}

function amount(cents: number): string {
  return `${Math.floor(cents / 100)}.${String(cents % 100).padStart(2, '0')}`;
}

/** Returns the number of requests that were acknowledged to the clients. */
export function countAcknowledged(clients: readonly LoadClient[]): number {
  return clients.reduce((sum, { acknowledged }) => sum + acknowledged, 0);
}

/**
 * Waits until the clients have this many more acknowledgments, which makes a loss visible even on a slow
 * machine.
 */
export async function untilMoreAcknowledged(clients: readonly LoadClient[], more: number): Promise<void> {
  const enough = countAcknowledged(clients) + more;
  const deadline = deadlineIn(120_000);
  while (countAcknowledged(clients) < enough) {
    assert.ok(!deadline.isOver(), `only ${countAcknowledged(clients)} requests were acknowledged`);
    await wait(10);
  }
}

export function openLoadClients(
  count: number,
  token: string,
  random: Seeded,
  prefix = 'client',
): readonly LoadClient[] {
  return Array.from(
    { length: count },
    (_, index) => new LoadClient({ name: `${prefix}-${index}`, token, random }),
  );
}
