/**
 * Changes gift cards through the API until SIGTERM, and records every acknowledged change.
 *
 *     node load.ts --url <url> [--url <url>…] [--token-file <file>] --record <file> [--clients 8] [--emails]
 *
 * Each client issues, credits and debits its own cards, one request after another. It sends a request that has no
 * response or a temporary error again with its idempotency key, at any of the URLs, until it succeeds. A change is in the
 * record before the client sends its next request. `check-load.ts` compares the record with the service.
 */

import assert from 'node:assert/strict';
import { openSync, readFileSync, writeSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { Change, Start } from './record.ts';

const pauseMs = 50;
const responseTimeoutMs = 40_000;

const { values } = parseArgs({
  options: {
    url: { type: 'string', multiple: true, default: [] },
    'token-file': { type: 'string' },
    record: { type: 'string' },
    clients: { type: 'string', default: '8' },
    emails: { type: 'boolean', default: false },
  },
});
const { url: urls, record: file, emails } = values;
assert.ok(urls.length > 0 && file !== undefined, '--url and --record are required');
const tokenFile = values['token-file'];
const token = tokenFile === undefined ? undefined : readFileSync(tokenFile, 'utf8').trim();
const run = process.pid.toString(36) + Date.now().toString(36);

const descriptor = openSync(file, 'a', 0o600);
const errors = new Map<string, number>();
let acknowledged = 0;
let replayed = 0;
let isOver = false;
process.on('SIGTERM', () => (isOver = true));
process.on('SIGINT', () => (isOver = true));

type Request = { readonly path: string; readonly json: Readonly<Record<string, unknown>> };

type Acknowledgment = {
  readonly gift_card: { readonly id: number };
  readonly transaction?: { readonly id: number; readonly amount: string };
};

function record(line: Change | Start): void {
  writeSync(descriptor, `${JSON.stringify(line)}\n`);
}

function headers(key?: string): Record<string, string> {
  return {
    'content-type': 'application/json',
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
    ...(key !== undefined && { 'idempotency-key': key }),
  };
}

/** Sends a request once. Returns undefined if it must be sent again. */
async function send(
  url: string,
  { path, json }: Request,
  key: string,
): Promise<{ readonly body: Acknowledgment; readonly isReplayed: boolean } | undefined> {
  let error;
  try {
    const response = await fetch(`${url}${path}`, {
      method: 'POST',
      headers: headers(key),
      body: JSON.stringify(json),
      signal: AbortSignal.timeout(responseTimeoutMs),
    });
    const text = await response.text();
    if (response.status === 201) {
      const isReplayed = response.headers.get('idempotent-replayed') === 'true';
      return { body: JSON.parse(text) as Acknowledgment, isReplayed };
    }
    // 409: the first attempt with this key is still running.
    if (![409, 429, 503].includes(response.status)) throw new Error(`${path}: ${response.status} ${text}`);
    error = `${response.status} ${/problems\/([a-z-]+)/.exec(text)?.[1] ?? ''}`;
  } catch (reason) {
    const isConnection =
      reason instanceof TypeError || (reason instanceof Error && reason.name === 'TimeoutError');
    if (!isConnection) throw reason;
    error = 'no response';
  }
  errors.set(error, (errors.get(error) ?? 0) + 1);
  return undefined;
}

async function work(client: number): Promise<void> {
  const cards: number[] = [];
  for (let place = 1; !isOver; place += 1) {
    const card = cards.at(Math.floor(Math.random() * cards.length));
    const request = card === undefined || place % 4 === 1 ? issue(place) : move(card);
    const key = `drill-${run}-${client}-${place}`;
    const sentAt = Date.now();
    for (let attempt = client; ; attempt += 1) {
      const done = await send(urls[attempt % urls.length] ?? '', request, key);
      if (done) {
        const { body, isReplayed } = done;
        const { id } = body.gift_card;
        if (request.path === '/gift_card') cards.push(id);
        const transaction = body.transaction ?? null;
        const acknowledgedAt = Date.now();
        record({ kind: 'change', key, card: id, transaction, sentAt, acknowledgedAt });
        acknowledged += 1;
        if (isReplayed) replayed += 1;
        break;
      }
      await wait(pauseMs);
    }
  }
}

function issue(place: number): Request {
  const recipient = emails && place % 8 === 1 && { recipient_email: `drill-${place}@example.com` };
  return { path: '/gift_card', json: { initial_value: '500.00', note: 'drill', ...recipient } };
}

/** A credit or debit of at most 1.00, so that no balance ends. */
function move(card: number): Request {
  const amount = `0.${String(1 + Math.floor(Math.random() * 99)).padStart(2, '0')}`;
  return { path: `/gift_card/${card}/${Math.random() < 0.5 ? 'credit' : 'debit'}`, json: { amount } };
}

/** The number of cards of the store. `/gift_cards/count` stops at 10,000. */
async function countCards(): Promise<number> {
  const response = await fetch(`${urls[0]}/reports/liability`, { headers: headers() });
  const text = await response.text();
  assert.equal(response.status, 200, text);
  return (JSON.parse(text) as { readonly liability: { readonly cards: number } }).liability.cards;
}

record({ kind: 'start', cards: await countCards() });
await Promise.all(Array.from({ length: Number(values.clients) }, (_, client) => work(client)));
const temporary = [...errors].map(([error, count]) => `${error}: ${count}`).join(', ');
console.log(
  `${acknowledged} changes acknowledged; ${replayed} of them had been made by an attempt without a response; ` +
    `temporary errors: ${temporary || 'none'}`,
);
