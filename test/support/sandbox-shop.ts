/** A sandbox with what becomes due later: holds, scheduled emails, reminders, expiries, days and webhooks. */

import assert from 'node:assert/strict';
import { scopes } from '../../src/core/stores/domain/store.ts';
import type { TestClockRecord } from '../../src/features/sandbox/domain/test-clock-schemas.ts';
import { readConfig } from '../../src/start/config.ts';
import { openDatabase } from '../../src/start/database.ts';
import { closingDelayMs } from '../../src/features/books/service/closing.ts';
import { changeEmailSettings } from '../../src/core/emails/service/email.ts';
import { verify } from '../../src/features/proofs/service/verify.ts';
import { createToken } from '../../src/core/stores/service/token.ts';
import { createStore, requireStore } from '../../src/core/stores/service/store.ts';
import type { Environment } from './engine-database.ts';
import { newStore } from './fixtures.ts';
import { send, type TestResponse } from './http-client.ts';
import type { WebhookReceiver } from './webhook-receiver.ts';

export const dayMs = 24 * 60 * 60 * 1_000;

export type SandboxShop = {
  readonly post: (
    path: string,
    json: unknown,
    headers?: Readonly<Record<string, string>>,
  ) => Promise<TestResponse>;
  readonly get: (path: string) => Promise<TestResponse>;
};

export function shopAt(url: () => string, token: string): SandboxShop {
  return {
    post: (path, json, headers = {}) => send(`${url()}${path}`, { method: 'POST', json, token, headers }),
    get: (path) => send(`${url()}${path}`, { token }),
  };
}

export function clockIn(response: TestResponse): TestClockRecord {
  assert.equal(response.status, 200, response.text);
  return (response.json as { readonly test_clock: TestClockRecord }).test_clock;
}

function dayAfter(instant: number, days: number): string {
  return new Date(instant + days * dayMs).toISOString().slice(0, 10);
}

/** Makes a database a sandbox with a store. @returns a token with all scopes. */
export async function openSandboxShop(environment: Environment, domain: string): Promise<string> {
  await using database = await openDatabase(readConfig(environment), { prepare: true, becomesSandbox: true });
  const { ctx, storage } = database;
  const store = await storage.write(() => createStore(ctx, newStore({ domain, expiringSoonDays: 7 })));
  const { secret } = await storage.write(() => createToken(ctx, { store, name: 'test', scopes }));
  return secret.reveal();
}

/** Sets the schedule of reminders: 30 and 7 days before an expiry, and 14 days after the issue. */
export async function scheduleReminders(
  environment: Readonly<Record<string, string>>,
  domain: string,
): Promise<void> {
  await using database = await openDatabase(readConfig(environment), { prepare: false });
  const { ctx, storage } = database;
  const { store } = await storage.read(() => requireStore(domain));
  const schedule = { expiryReminderDays: [30, 7], balanceReminderDays: [14] };
  await storage.write(() => changeEmailSettings(ctx, store.id, schedule));
}

/**
 * Issues cards that expire after `days`, emailed on the second day, each with a hold of two hours.
 * @returns their ids.
 */
export async function fillShop(
  shop: SandboxShop,
  {
    cards,
    days,
    receiver = null,
  }: {
    readonly cards: number;
    readonly days: number;
    /** Null: the shop has its webhook. */
    readonly receiver?: WebhookReceiver | null;
  },
): Promise<readonly number[]> {
  const now = Date.parse(clockIn(await shop.get('/test_clock')).now);
  if (receiver) {
    const hook = await shop.post('/webhooks', { url: receiver.url, events: ['gift_card.*'] });
    assert.equal(hook.status, 201, hook.text);
  }
  const ids: number[] = [];
  for (let index = 0; index < cards; index += 1) {
    const created = await shop.post('/gift_card', {
      initial_value: '20.00',
      recipient_email: `r${index}@example.com`,
      expires_on: dayAfter(now, days),
      send_on: dayAfter(now, 2),
    });
    assert.equal(created.status, 201, created.text);
    const { id } = (created.json as { readonly gift_card: { readonly id: number } }).gift_card;
    const hold = await shop.post(`/gift_card/${id}/holds`, { amount: '5.00', expires_in: 7_200 });
    assert.equal(hold.status, 201, hold.text);
    ids.push(id);
  }
  return ids;
}

/**
 * The number of days (UTC) of the books that are closed at an instant (ms). In the first minutes of a day, the day before it
 * is not closed yet.
 * @param first an instant (ms) of the first day.
 */
export function closedDays(first: number, at: number): number {
  const dayIn = (instant: number): number => Math.floor(instant / dayMs);
  return Math.max(0, dayIn(at - closingDelayMs) - dayIn(first));
}

export type CountRows = (table: string, where: string) => Promise<number>;

/** Asserts that everything of `fillShop` is done, each once, after the cards have expired and `days` were closed. */
export async function assertDoneOnce(
  count: CountRows,
  {
    cards,
    days,
    receiver,
    reminders,
  }: {
    readonly cards: number;
    readonly days: number;
    readonly receiver: WebhookReceiver;
    /** The reminders of a card. */
    readonly reminders: number;
  },
): Promise<void> {
  const equal = async (table: string, where: string, expected: number): Promise<void> =>
    assert.equal(await count(table, where), expected, `${table} where ${where}`);
  await equal('holds', "status = 'open'", 0);
  await equal('holds', "status = 'expired'", cards);
  await equal('email_deliveries', "kind = 'gift_card' and state = 'kept'", cards);
  await equal('email_deliveries', "kind <> 'gift_card' and state = 'kept'", cards * reminders);
  await equal('email_deliveries', 'next_at is not null', 0);
  await equal('store_closings', "part = 'closed'", days);
  await equal('webhook_deliveries', "status <> 'delivered'", 0);
  const received = new Map(receiver.got.map(({ event }) => [event.id, event.type]));
  const types = [...received.values()];
  for (const type of [
    'gift_card.created',
    'gift_card.hold_released',
    'gift_card.expired',
    'gift_card.expiring_soon',
  ])
    assert.equal(types.filter((each) => each === type).length, cards, type);
  const real = Date.now() / 1_000;
  for (const { headers } of receiver.got) {
    assert.equal(headers['largesse-sandbox'], 'true');
    assert.ok(Math.abs(Number(headers['webhook-timestamp']) - real) < 600);
  }
}

/** Asserts that the ledger and the sums of the days are sound, and that the liability is what the cards have. */
export async function assertBooksAgree(
  shop: SandboxShop,
  environment: Readonly<Record<string, string>>,
): Promise<void> {
  await using database = await openDatabase(readConfig(environment), { prepare: false });
  const { stores, mismatches } = await database.storage.read(() => verify(100));
  assert.deepEqual(mismatches, []);
  const report = await shop.get('/reports/liability');
  assert.equal(report.status, 200, report.text);
  const outstanding = stores.reduce((sum, store) => sum + store.outstanding, 0n);
  const { outstanding: reported } = (report.json as { readonly liability: { readonly outstanding: string } })
    .liability;
  assert.equal(BigInt(reported.replace('.', '')), outstanding);
}
