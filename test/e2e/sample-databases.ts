/** Databases to copy: one with many cards, whose copy takes some time, and one with content of every kind. */

import assert from 'node:assert/strict';
import { wallClockOf } from '../../src/platform/clock.ts';
import { verifyLedger } from '../../examples/verify-ledger.ts';
import { setTimeout as wait } from 'node:timers/promises';
import { deadlineIn } from '../support/deadline.ts';
import { readDatabaseConfig } from '../../src/start/config.ts';
import { openDatabase } from '../../src/start/database.ts';
import { scopes } from '../../src/core/stores/domain/store.ts';
import { issue } from '../../src/core/cards/service/issue.ts';
import { debit } from '../../src/core/money/service/spend.ts';
import { createStore, requireStore } from '../../src/core/stores/service/store.ts';
import { createToken } from '../../src/core/stores/service/token.ts';
import { placeHold } from '../../src/core/money/service/hold.ts';
import { findLastEventId } from '../../src/core/events/storage/event.ts';
import { execute, sql } from '../../src/database/sql/sql.ts';
import { closeAllDays } from '../support/closed-days.ts';
import { internalIdOf } from '../support/public-ids.ts';
import { email, issueCommand, manualClock, money, newStore } from '../support/fixtures.ts';
import { sqliteEngine } from '../support/engine-sqlite.ts';
import { addStaff } from './sample-staff.ts';
import { ask, makeHome, type GiftCard, type Home, type Served } from './largesse.ts';
import { expireHolds } from '../support/upkeep.ts';

const domain = 'flowers.example';
const atOnce = 200;

/**
 * Creates a store with cards, half of them with a separate customer and a message, and a fifth of them partly
 * spent. Returns a token.
 */
export async function fillSampleDatabase(
  environment: Readonly<Record<string, string>>,
  { cards }: { readonly cards: number },
): Promise<string> {
  await using database = await openDatabase(readDatabaseConfig(environment), { prepare: true });
  const { ctx, storage } = database;
  const store = await storage.write(() => createStore(ctx, newStore({ domain })));
  const fill = async (place: number): Promise<void> => {
    const person =
      place % 2 === 0 ? { recipient: email(`guest-${place}@example.com`), message: 'Für Élise 🎁' } : {};
    const { card } = await storage.write(() => issue(ctx, issueCommand(store, person)));
    if (place % 5 !== 0) return;
    const spent = { store, cardId: card.id, actor: 'test', reference: `r-${place}`, note: null, orderId: place, versions: null }; // prettier-ignore
    await storage.write(() => debit(ctx, { ...spent, amount: money('4.50'), partial: false }));
  };
  for (let from = 0; from < cards; from += atOnce)
    await Promise.all(
      Array.from({ length: Math.min(atOnce, cards - from) }, (_, place) => fill(from + place)),
    );
  const { secret } = await storage.write(() => createToken(ctx, { store, name: 'shop', scopes }));
  return secret.reveal();
}

/** The content that `makeSampleDatabase` created, for `readSampleDatabase`. */
type SampleDatabase = {
  readonly token: string;
  readonly revoked: string;
  readonly other: string;
  readonly cards: readonly number[];
  readonly holds: readonly number[];
  readonly codes: readonly string[];
  /** A complete batch, whose codes can be read. */
  readonly batch: number;
  /** A creation with an idempotency key: its request and response. */
  readonly creation: { readonly json: unknown; readonly response: unknown };
};

/** The records in responses. */
type Received = {
  readonly gift_card: GiftCard & { readonly code: string };
  readonly transaction: { readonly id: number };
  readonly hold: { readonly id: number };
  readonly batch: { readonly id: number; readonly completed_at: string | null };
  readonly erasure: { readonly completed_at: string | null };
  readonly location: { readonly id: number };
  readonly stock: { readonly id: number; readonly completed_at: string | null };
  readonly codes: readonly { readonly code: string }[];
};

type Send = (
  line: string,
  json?: unknown,
  headers?: Readonly<Record<string, string>>,
  as?: string,
) => Promise<Received>;

const idempotent = { 'idempotency-key': 'order-1017 ✓' };

/**
 * Creates two stores with content of every kind, through the service, and through its scripts for content
 * that takes days.
 */
export async function makeSampleDatabase(home: Home): Promise<SampleDatabase> {
  const secret = ['--proxy-secret', 'hush-hush-hush', '--undo-window', '15', '--issue-limit', '500', '--lookup-failures-per-hour', '900'];
  await home.json('store', 'create', domain, '--currency', 'EUR', '--name', 'Blüten & Co. 🌷', ...secret, '--customer-search');
  await home.json('store', 'create', 'tea.example', '--currency', 'JPY', '--time-zone', 'Asia/Tokyo', '--issue-limit', 'none');
  const tokenFor = (store: string) => home.json<{ id: number; token: string }>('token', 'create', '--store', store);
  const [{ token }, old, { token: other }] = [await tokenFor(domain), await tokenFor(domain), await tokenFor('tea.example')];
  await home.json('token', 'revoke', '--store', domain, String(old.id));
  const service = await home.serve();
  const send: Send = async (line, json, headers = {}, as = token) => {
    const [method = '', path = ''] = line.split(' ');
    const response = await exchange(service, { method, path, json, headers, token: as });
    assert.ok(response.status < 300, `${line}: ${JSON.stringify(response)}`);
    return response.json as Received;
  };
  const json = {
    initial_value: '125.50', email: 'Käthe@exämple.com', recipient_email: 'grace@example.com', expires_on: '2099-12-31',
    storefront_customer_id: 7_103_421_190,
    note: 'Zeile eins\n\tZeile „zwei“ – \u0065\u0301 ≠ é', message: 'Alles Gute 🎂 עם אהבה', code: 'Herbst-2026-ABCD',
  };
  const creation = await send('POST /gift_card', json, idempotent);
  const { gift_card: { id } } = creation;
  const { gift_card: bare } = await send('POST /gift_card', { initial_value: 500 });
  const { gift_card: disabled } = await send('POST /gift_card', { initial_value: 20, recipient_email: 'grace@example.com' });
  const { gift_card: yen } = await send('POST /gift_card', { initial_value: 5_000 }, {}, other);
  await send(`PUT /gift_card/${disabled.id}`, { disable: true });
  await send(`PUT /gift_card/${bare.id}`, { balance: '450.00', note: 'Korrektur' });
  const { transaction } = await send(`POST /gift_card/${id}/debit`, { amount: '12.25', reference: 'Bon № 1', note: 'bar' });
  await send(`POST /transactions/${transaction.id}/reverse`, { amount: '2.25', note: 'zurück' });
  await send(`POST /gift_card/${bare.id}/credit`, { amount: '7.01' });
  const hold = async (amount: string) => (await send(`POST /gift_card/${id}/holds`, { amount, expires_in: 86_400 })).hold.id;
  const holds = [await hold('10'), await hold('20'), await hold('30')];
  await send(`POST /holds/${holds[0]}/extend`, { expires_in: 172_800 });
  await send(`POST /holds/${holds[1]}/capture`, { amount: '15.00' });
  await send(`POST /holds/${holds[2]}/void`);
  await send('POST /checkpoints');
  for (let count = 0; count < 260; count += 1) await send(`POST /gift_card/${bare.id}/debit`, { amount: '0.01' });
  await send('POST /checkpoints');
  const missed = await ask(`${service.url}/gift_card?last_characters=zzzz&email=unknown@example.com`, { token });
  assert.equal(missed.status, 404);
  const batch = await completeBatch(send);
  await sellInShops(send, bare.id);
  await eraseCustomer(send);
  await service.stop();
  const [expired, hold4] = await expireThings(home);
  await closePastDays(home, expired);
  await home.json('store', 'update', domain, '--mail-name', 'Blüten & Co.', '--mail-language', 'de');
  await home.json('mail', 'text', 'receipt', '--store', domain, '--subject', 'Beleg für {sender} 🎁');
  await home.json('store', 'update', 'tea.example', '--time-zone', 'Asia/Seoul');
  await deliverThings(home, id);
  await addStaff({ DATABASE_URL: `file:${fileOf(home)}` }, domain);
  return {
    token, other, revoked: old.token,
    cards: [id, bare.id, disabled.id, expired], holds: [...holds, hold4],
    codes: [creation.gift_card.code, bare.code, disabled.code, yen.code], batch,
    creation: { json, response: creation },
  };
} // prettier-ignore

/** A batch whose cards are all issued. */
async function completeBatch(send: Send): Promise<number> {
  const { batch } = await send('POST /batches', { name: 'Frühling', count: 3, initial_value: '7.00' });
  const deadline = deadlineIn(30_000);
  while ((await send(`GET /batches/${batch.id}`)).batch.completed_at === null) {
    assert.ok(!deadline.isOver(), 'the batch was not issued');
    await wait(50);
  }
  return batch.id;
}

/** Printed cards, one of which was sold, and what happened to a card and a suspended one at a location and for orders. */
async function sellInShops(send: Send, cardId: number): Promise<void> {
  const { location } = await send('POST /locations', { name: 'Markt', time_zone: 'Europe/Vienna' });
  const at = { location_id: location.id, order_reference: 'Bestellung № 7' };
  await send(`POST /gift_card/${cardId}/debit`, { amount: '1.50', external_id: 'pos-7', ...at });
  await send(`POST /gift_card/${cardId}/credit`, { amount: '3.00', kind: 'top_up', ...at });
  const { gift_card: suspended } = await send('POST /gift_card', { initial_value: 9, suspend: true });
  await send(`POST /gift_card/${suspended.id}/resume`);
  await send(`POST /gift_card/${suspended.id}/suspend`, { reason: 'verloren' });
  const { stock } = await send('POST /stocks', { name: 'Theke', count: 3, minimum_value: '10.00' });
  const deadline = deadlineIn(30_000);
  while ((await send(`GET /stocks/${stock.id}`)).stock.completed_at === null) {
    assert.ok(!deadline.isOver(), 'the stock was not completed');
    await wait(50);
  }
  const [first] = (await send(`GET /stocks/${stock.id}/codes`)).codes;
  await send('POST /gift_card', { code: first?.code, initial_value: '10.00', location_id: location.id });
}

/** A customer whose personal data was erased. */
async function eraseCustomer(send: Send): Promise<void> {
  const { gift_card: card } = await send('POST /gift_card', { initial_value: 5, email: 'left@example.com' });
  const path = `/customers/${String(card['customer_id'])}`;
  await send(`POST ${path}/erase`);
  const deadline = deadlineIn(30_000);
  while ((await send(`GET ${path}/erasure`)).erasure.completed_at === null) {
    assert.ok(!deadline.isOver(), 'the customer was not erased');
    await wait(50);
  }
}

/** Four closed days of the past, and a debit that was committed after its day was closed. */
async function closePastDays(home: Home, publicId: number): Promise<void> {
  const cardId = internalIdOf(home.keysFile, publicId);
  const config = readDatabaseConfig({ DATABASE_URL: `file:${fileOf(home)}` });
  const clock = manualClock(Date.UTC(2026, 0, 5, 12));
  await using database = await openDatabase(config, { prepare: false, clock: wallClockOf(clock) });
  const { ctx, storage } = database;
  await closeAllDays(database, 100);
  clock.advance(-3 * 24 * 60 * 60 * 1_000);
  const { store } = await storage.read(() => requireStore(domain));
  const spent = { store, cardId, actor: 'test', reference: null, note: null, orderId: null, versions: null };
  await storage.write(() => debit(ctx, { ...spent, amount: money('1', 'EUR'), partial: false }));
}

/** An expired card of the past, with an expired hold. */
async function expireThings(home: Home): Promise<readonly [card: number, hold: number]> {
  const clock = manualClock(Date.UTC(2026, 0, 1));
  const config = readDatabaseConfig({ DATABASE_URL: `file:${fileOf(home)}` });
  await using database = await openDatabase(config, { prepare: false, clock: wallClockOf(clock) });
  const { ctx, storage } = database;
  const { store } = await storage.read(() => requireStore(domain));
  const value = money('33', 'EUR');
  const { card } = await storage.write(() =>
    issue(ctx, issueCommand(store, { value, expiresOn: '2026-02-01' })),
  );
  const held = {
    store,
    cardId: card.id,
    actor: 'test',
    reference: 'alt',
    note: null,
    orderId: 7,
    versions: null,
  };
  const amount = money('3', 'EUR');
  const { hold } = await storage.write(() => placeHold(ctx, { ...held, amount, seconds: 60 }));
  clock.advance(120_000);
  await storage.write(() => expireHolds(ctx, 10));
  const { publicIds } = ctx.keys;
  return [publicIds.of(card.id), publicIds.of(hold.id)];
}

/** A paused webhook, the delivery of an event to it, a sent email, and a mail server. */
async function deliverThings(home: Home, publicId: number): Promise<void> {
  const cardId = internalIdOf(home.keysFile, publicId);
  const config = readDatabaseConfig({ DATABASE_URL: `file:${fileOf(home)}` });
  await using database = await openDatabase(config, { prepare: false });
  const { ctx, storage } = database;
  const { store } = await storage.read(() => requireStore(domain));
  const [now, bytes] = [ctx.clock.now(), new Uint8Array([0, 1, 127, 128, 255])];
  const webhook = ctx.random.id();
  const event = await storage.read(() => findLastEventId(store.id));
  assert.ok(event);
  await storage.write(() =>
    execute(
      sql`
        insert into webhooks (store_id, id, version, url, patterns, secret, status, paused_at, pause_reason,
          created_at, updated_at)
        values (${store.id}, ${webhook}, 1, 'https://hooks.example/größe', ' gift_card.* ', ${bytes}, 'paused', ${now},
          'requested', ${now}, ${now})`,
      sql`
        insert into webhook_deliveries (store_id, webhook_id, event_id, status, created_at, attempts, last_at,
          response_status, response_body, duration_ms)
        values (${store.id}, ${webhook}, ${event}, 'dead', ${now}, 2, ${now}, 500, 'Zählerüberlauf', 17)`,
      sql`
        insert into webhook_attempts (store_id, webhook_id, event_id, attempt, attempted_at, duration_ms,
          failure_reason, failure)
        values (${store.id}, ${webhook}, ${event}, 1, ${now}, 10000, 'timeout', 'no response within 10 s')`,
      sql`
        insert into email_deliveries (store_id, card_id, id, kind, address, state, send_at, attempts, first_at, last_at,
          response, created_at, ended_at)
        values (${store.id}, ${cardId}, ${ctx.random.id()}, 'receipt', 'Käthe@exämple.com', 'sent', ${now}, 1, ${now},
          ${now}, '250 2.0.0 angenommen', ${now}, ${now})`,
      sql`
        insert into email_servers (store_id, state, host, port, tls, user_name, sender, password, password_set_at, updated_at)
        values (${store.id}, 'verified', 'smtp.example.com', 587, 'starttls_required', 'größe', 'gifts@flowers.example',
          ${bytes}, ${now}, ${now})`,
      sql`
        insert into wallets (store_id, kind, name, holder, credential, expires_at, set_at)
        values (${store.id}, 'apple', 'pass.example.flowers', 'TEAM012345', ${bytes}, ${now}, ${now}),
          (${store.id}, 'google', '3388', 'wallet@flowers.iam.gserviceaccount.com', ${bytes}, null, ${now})`,
      sql`
        insert into wallet_cards (store_id, card_id, kind, changed_at, object, code)
        values (${store.id}, ${cardId}, 'apple', ${now}, null, null),
          (${store.id}, ${cardId}, 'google', ${now}, '3388.object', ${bytes})`,
      sql`
        insert into wallet_devices (store_id, card_id, device, push_token, registered_at)
        values (${store.id}, ${cardId}, '0123abcd', '4567ef', ${now})`,
      sql`
        insert into accountants (store_id, id, address, address_key, language, format, created_at)
        values (${store.id}, 1, 'Ledger@example.com', 'ledger@example.com', 'de', 'datev', ${now})`,
      sql`
        insert into accountant_emails
          (store_id, id, accountant_id, kind, month, format, link_until, state, created_at, ended_at, response)
        values (${store.id}, 2, 1, 'month', '2026-01', 'datev', ${now}, 'sent', ${now}, ${now}, '250 größe')`,
      sql`
        insert into sale_pages (store_id, is_open, currency, presets, lowest, highest, terms, frame_domains, reviews_first,
          reviews_foreign, review_hours, delay_minutes, work, country, updated_at)
        values (${store.id}, 1, 'EUR', '2500,5000', 1000, 25000, 'https://flowers.example/größe', 'www.flowers.example', 0,
          1, 24, 0, 'auto', 'DE', ${now})`,
      sql`
        insert into payment_providers (store_id, kind, is_test, account, credential, has_hint_secret, is_active, key_set_at,
          compared_until)
        values (${store.id}, 'stripe', 0, 'acct_größe', ${bytes}, 1, 1, ${now}, ${now})`,
      sql`
        insert into online_sales (store_id, id, form_key, provider, is_test, session_id, session_url, session_expires_at,
          payment_id, state, amount, currency, design, buyer_name, buyer_address, buyer_key, delivery, recipient_name,
          recipient_address, recipient_key, sender_name, message, send_on, language, method, fingerprint, network,
          card_country, is_bank_checked, is_risky, review_reasons, return_reason, dispute, disputed_at, disputed, paid_currency, paid,
          refunded, created_at, paid_at, decided_at, attempts)
        values (${store.id}, 1, '0123456789abcdefghijkl', 'stripe', 0, 'cs_1', 'https://pay.example/1', ${now}, 'pi_1',
          'returned', 5000, 'EUR', 'birthday', 'Käthe', 'Käthe@exämple.com', 'käthe@exämple.com', 'email', 'Grace',
          'grace@example.com', 'grace@example.com', 'Käthe', 'Alles Gute 🎂', '2099-12-31', 'de', 'Visa •••• 4242', ${bytes},
          ${bytes}, 'DE', 1, 0, 'amount,first', 'staff', 'won', ${now}, 0, 'EUR', 5000, 5000, ${now}, ${now}, ${now}, 2)`,
      sql`
        insert into online_sale_refunds (store_id, sale_id, id, key, requested_by, actor, reason, amount, currency, state,
          provider_id, created_at, settled_at)
        values (${store.id}, 1, 1, 'refund-key', 'review', 'staff:1', 'unklar', 5000, 'EUR', 'paid', 're_1', ${now}, ${now})`,
      sql`
        insert into payment_movements (store_id, provider, is_test, id, kind, amount, fee, currency, at, payment_id, payout_id,
          sale_key, sale_id)
        values (${store.id}, 'stripe', 0, 'txn_1', 'payment', 5000, 99, 'EUR', ${now}, 'pi_1', 'po_1',
          '0123456789abcdefghijkl', 1)`,
      sql`
        insert into column_headings (store_id, columns, updated_at)
        values (${store.id}, '{"gruss":"message"}', ${now})`,
    ),
  );
}

/**
 * Returns every response of the service about a sample database. The creation is repeated with the same key.
 */
export async function readSampleDatabase(service: Served, sample: SampleDatabase): Promise<unknown> {
  const { token, revoked, other, cards, holds, codes, batch, creation } = sample;
  const get = (path: string, as = token) => exchange(service, { method: 'GET', path, token: as });
  const responses = [
    ...(await Promise.all(cards.map((id) => get(`/gift_card/${id}`)))),
    ...(await Promise.all(cards.map((id) => get(`/gift_card/${id}/transactions?limit=250`)))),
    ...(await Promise.all(cards.map((id) => get(`/gift_card/${id}/holds`)))),
    ...(await Promise.all(holds.map((id) => get(`/holds/${id}`)))),
    await get('/gift_card?last_characters=abcd&email=GRACE@example.com'),
    await get('/checkpoints'),
    await get(`/batches/${batch}`),
    await get(`/batches/${batch}/cards`),
  ];
  for (const { status } of responses) assert.equal(status, 200);
  await verifyCheckpoints((path) => get(path), cards[0]);
  const [, , , ...foreign] = await Promise.all(
    [token, token, token, other].map((as, place) =>
      exchange(service, { method: 'POST', path: '/gift_card/lookup', json: { code: codes[place] }, token: as }),
    ),
  );
  assert.equal(foreign[0]?.status, 200);
  const replay = await exchange(service, { method: 'POST', path: '/gift_card', json: creation.json, headers: idempotent, token });
  assert.deepEqual(replay.json, creation.response);
  assert.equal((await get(`/gift_card/${cards[0]}`, revoked)).status, 401);
  return [...responses, ...foreign, replay];
} // prettier-ignore

/** Asserts that the log continues the oldest checkpoint, and contains a card. */
async function verifyCheckpoints(
  get: (path: string) => Promise<{ readonly status: number; readonly json: unknown }>,
  card: number | undefined,
): Promise<void> {
  const fetched = async <T>(path: string): Promise<T> => {
    const { status, json } = await get(path);
    assert.equal(status, 200, path);
    return json as T;
  };
  const { checkpoints } = await fetched<{ checkpoints: { note: string; size: number }[] }>('/checkpoints');
  const { log } = await fetched<{ log: { keys: { key: string }[] } }>('/checkpoints/key');
  const [newest, oldest] = [checkpoints.at(0), checkpoints.at(-1)];
  assert.ok(newest && oldest && newest.size >= oldest.size + 260);
  const kept = { note: oldest.note, keys: log.keys.map(({ key }) => key), proven: {} };
  const { lines } = await verifyLedger(fetched, { kept, cards: [String(card)] });
  assert.match(lines.join(' '), /continues the kept one.* the log contains its \d+ transactions/);
}

/** Sends one request and returns the parts of its response that do not depend on the database. */
async function exchange(
  { url }: Served,
  given: {
    readonly method: string;
    readonly path: string;
    readonly token: string;
    readonly json?: unknown;
    readonly headers?: Readonly<Record<string, string>>;
  },
) {
  const response = await fetch(`${url}${given.path}`, {
    method: given.method,
    headers: {
      'x-access-token': given.token,
      ...(given.json !== undefined && { 'content-type': 'application/json' }),
      ...Object.fromEntries(
        Object.entries(given.headers ?? {}).map(([name, value]) => [name, encodeURIComponent(value)]),
      ),
    },
    ...(given.json !== undefined && { body: JSON.stringify(given.json) }),
  });
  return { status: response.status, etag: response.headers.get('etag'), json: await response.json() };
}

/** A home whose database is a file on disk, which makes its copies slower. */
export function makeFileHome(): Promise<Home> {
  return makeHome(sqliteEngine, { durable: true });
}

/** The file of its database. */
export function fileOf({ database }: Home): string {
  return (database.environment['DATABASE_URL'] ?? '').slice('file:'.length);
}
