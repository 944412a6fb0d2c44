/** Emails of gift cards: from a request through a mail server to the history of the card. No code may leak. */

import assert from 'node:assert/strict';
import { Compile } from 'typebox/compile';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { isWithin } from '../support/deadline.ts';
import { openDatabase } from '../../src/start/database.ts';
import { readConfig } from '../../src/start/config.ts';
import { changeEmailSettings } from '../../src/core/emails/service/email.ts';
import { requireStore } from '../../src/core/stores/service/store.ts';
import { problemOf } from '../support/responses.ts';
import { createStoreElsewhere } from '../support/second-process.ts';
import { until } from '../support/delivering.ts';
import { eventSchema } from '../../src/features/webhooks/domain/event-schemas.ts';
import { startService, type TestRequest, type TestService } from '../support/service.ts';
import { smtpServer, reply, scriptedServer, type SmtpServer } from '../delivery/email/smtp-server.ts';
import { receivedEmails } from '../delivery/email/received.ts';

const isEvent = Compile(eventSchema);

type Card = { readonly id: number; readonly code: string; readonly last_characters: string };
type Delivery = {
  readonly id: number;
  readonly kind: string;
  readonly recipient: string;
  readonly status: string;
  readonly message_id: string;
  readonly attempts: number;
  readonly last_attempt: { readonly response: string | null } | null;
  readonly send_at: string;
};

type Shop = AsyncDisposable & {
  readonly service: TestService;
  readonly token: string;
  ask(line: string, request?: Omit<TestRequest, 'method'>): ReturnType<TestService['request']>;
  issue(parameters?: object): Promise<Card>;
  deliveries(id: number): Promise<readonly Delivery[]>;
  events(): Promise<readonly { readonly type: string; readonly data: string }[]>;
};

/** @param server null: no mail server is configured. In production nothing replaces it. */
async function open(server: SmtpServer | null, timeZone = 'UTC'): Promise<Shop> {
  const domain = 'flowers.example';
  const email = server
    ? { SMTP_URL: server.url().reveal(), MAIL_FROM: 'cards@flowers.example' }
    : { NODE_ENV: 'production' };
  const service = await startService({
    stores: [{ domain, timeZone }],
    environment: { ...email },
    database: { durable: !server },
  });
  const token = await service.token(domain);
  const ask: Shop['ask'] = (line, request) => {
    const [method = '', path = ''] = line.split(' ');
    return service.request(path, { token, ...request, method });
  };
  return {
    service,
    token,
    ask,
    async issue(parameters = {}) {
      const response = await ask('POST /gift_card', { json: { initial_value: 25, ...parameters } });
      assert.equal(response.status, 201, response.text);
      return (response.json as { readonly gift_card: Card }).gift_card;
    },
    async deliveries(id) {
      const response = await ask(`GET /gift_card/${id}/deliveries`);
      assert.equal(response.status, 200, response.text);
      return (response.json as { readonly deliveries: readonly Delivery[] }).deliveries;
    },
    events: async () =>
      (await service.query('select type, data from events order by id')).map(({ type, data }) => ({
        type: String(type),
        data: String(data),
      })),
    [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
  };
}

/** Asserts that no file, database or log contains the codes. */
async function assertNowhere(service: TestService, codes: readonly string[]): Promise<void> {
  assert.ok(codes.length > 0);
  const files = readdirSync(service.database.folder, { recursive: true, withFileTypes: true }).filter(
    (entry) => entry.isFile(),
  );
  const stored = await service.database.bytes();
  assert.ok(stored.length > 0);
  for (const code of codes) {
    for (const spelling of [code, code.toUpperCase(), code.toUpperCase().replaceAll(/(.{4})(?=.)/g, '$1 ')]) {
      for (const { parentPath, name } of files)
        assert.ok(!readFileSync(join(parentPath, name)).includes(spelling), `a code in ${name}`);
      assert.ok(!stored.includes(spelling), 'a code in the database');
      assert.ok(!service.log().includes(spelling), 'a code in the log');
    }
  }
}

const grace = { recipient_email: 'grace@example.com' };

test('the email of a new card arrives with a valid code', async () => {
  await using server = await smtpServer();
  await using shop = await open(server);
  const card = await shop.issue({ ...grace, email: 'ada@example.com', message: 'Joyeux anniversaire 🎂' });
  await until(async () => (await shop.deliveries(card.id)).every(({ status }) => status === 'sent'));
  const emails = receivedEmails(server);
  const gift = emails.find(({ to }) => to[0] === 'grace@example.com');
  const receipt = emails.find(({ to }) => to[0] === 'ada@example.com');
  assert.equal(emails.length, 2);
  assert.equal(gift?.code, card.code);
  assert.equal(receipt?.code, '');
  assert.match(gift.text, /Joyeux anniversaire 🎂/);
  const found = await shop.ask('POST /gift_card/lookup', { json: { code: gift.code } });
  assert.equal((found.json as { gift_card: Card }).gift_card.id, card.id);
  const deliveries = await shop.deliveries(card.id);
  assert.deepEqual(deliveries.map(({ kind, attempts }) => [kind, attempts]), [['receipt', 1], ['gift_card', 1]]); // prettier-ignore
  assert.equal(deliveries[1]?.message_id, gift.messageId);
  assert.match(deliveries[1]?.last_attempt?.response ?? '', /^250/);
  await assertNowhere(shop.service, [card.code]);
  assert.deepEqual(await shop.service.query('select 1 from email_deliveries where code is not null'), []);
  const ready = await shop.ask('GET /readyz');
  assert.deepEqual(ready.json, { status: 'ready', details: { mail: 'smtp' } });
});

test('the four operations have no additional fields, and notify: false sends no email', async () => {
  await using server = await smtpServer();
  await using shop = await open(server);
  const later = new Date(shop.service.clock.now() + 5 * 86_400_000).toISOString();
  for (const notify of [true, false]) {
    const card = await shop.issue({ ...grace, notify, ...(notify && { send_on: later }) });
    assert.equal(Object.keys(card).length, 19);
    const read = await shop.ask(`GET /gift_card/${card.id}`);
    assert.equal(Object.keys((read.json as { gift_card: object }).gift_card).length, 18);
    assert.equal((await shop.deliveries(card.id)).length, notify ? 1 : 0);
  }
  assert.equal(server.received.length, 0);
});

test('a temporary rejection is retried with the same Message-ID; a permanent one bounces and publishes an event', async () => {
  let error: Error | null = reply(451, '4.7.1 greylisted');
  await using server = await smtpServer({ onRcptTo: (_address, _session, done) => done(error) });
  await using shop = await open(server);
  const deferred = await shop.issue(grace);
  await until(async () => (await shop.deliveries(deferred.id))[0]?.status === 'deferred');
  assert.match(
    (await shop.deliveries(deferred.id))[0]?.last_attempt?.response ?? '',
    /^451 4\.7\.1 greylisted/,
  );
  error = reply(550, '5.1.1 no such user');
  const bounced = await shop.issue(grace);
  await until(async () => (await shop.deliveries(bounced.id))[0]?.status === 'bounced');
  assert.match((await shop.deliveries(bounced.id))[0]?.last_attempt?.response ?? '', /^550 5\.1\.1/);
  const failures = (await shop.events()).filter(({ type }) => type === 'gift_card.delivery_failed');
  assert.equal(failures.length, 1);
  assert.equal((JSON.parse(failures[0]?.data ?? '') as { delivery: Delivery }).delivery.status, 'bounced');
  const listed = await shop.ask('GET /events?limit=250');
  for (const event of (listed.json as { readonly events: readonly { readonly type: string }[] }).events)
    assert.ok(isEvent.Check(event), `does not match its documented schema: ${JSON.stringify(event)}`);
  error = null;
  shop.service.clock.advance(2 * 60_000);
  await until(async () => (await shop.deliveries(deferred.id))[0]?.status === 'sent');
  assert.equal(receivedEmails(server)[0]?.messageId, (await shop.deliveries(deferred.id))[0]?.message_id);
  await assertNowhere(shop.service, [deferred.code, bounced.code]);
});

test('a server that closes after the data may have accepted it: the email is sent again and counted', async () => {
  await using server = await scriptedServer({ '.': 'hang up' });
  await using shop = await open(server);
  const card = await shop.issue(grace);
  await until(async () => (await shop.deliveries(card.id))[0]?.status === 'deferred');
  const metrics = await shop.ask('GET /metrics');
  assert.match(metrics.text, /largesse_mail_attempt_duration_seconds_count\{outcome="unknown"\} 1/);
  shop.service.clock.advance(3 * 60_000);
  await until(async () => (await shop.deliveries(card.id))[0]?.attempts === 2);
  const ids = server.lines.filter((line) => /^message-id:/i.test(line));
  assert.equal(new Set(ids).size, 1);
  assert.ok(ids.length >= 1);
});

test('a server that stalls delays neither requests nor the stop of the service', async () => {
  await using server = await scriptedServer({ 'RCPT TO': 'stall' });
  const shop = await open(server);
  const card = await shop.issue(grace);
  await until(() => server.lines.some((line) => line.startsWith('RCPT TO')));
  const started = performance.now();
  await shop.issue();
  assert.ok(isWithin(performance.now() - started, 2_000));
  assert.equal((await shop.deliveries(card.id))[0]?.status, 'queued');
  const stopping = performance.now();
  await shop[Symbol.asyncDispose]();
  assert.ok(isWithin(performance.now() - stopping, 20_000));
});

test('a repeated email has a new code, and the old one gets the response and event of an unknown one', async () => {
  await using server = await smtpServer();
  await using shop = await open(server);
  const card = await shop.issue(grace);
  await until(() => server.received.length === 1);
  await shop.ask(`POST /gift_card/${card.id}/debit`, { json: { amount: 5 } });
  const read = await shop.ask(`GET /gift_card/${card.id}`);
  const etag = read.headers.get('etag') ?? '';
  const stale = await shop.ask(`POST /gift_card/${card.id}/notify`, { headers: { 'if-match': '"1-1"' } });
  assert.equal(stale.status, 412);
  const dryRun = await shop.ask(`POST /gift_card/${card.id}/notify?dry_run=true`);
  assert.equal(dryRun.status, 201);
  assert.equal((await shop.ask(`GET /gift_card/${card.id}`)).headers.get('etag'), etag);
  const headers = { 'if-match': etag, 'idempotency-key': 'again' };
  const first = await shop.ask(`POST /gift_card/${card.id}/notify`, { headers });
  const replayed = await shop.ask(`POST /gift_card/${card.id}/notify`, { headers });
  assert.equal(first.status, 201, first.text);
  assert.equal(replayed.text, first.text);
  assert.equal(replayed.headers.get('idempotent-replayed'), 'true');
  assert.notEqual(first.headers.get('etag'), etag);
  await until(() => server.received.length === 2);
  const fresh = receivedEmails(server)[1]?.code ?? '';
  assert.match(fresh, /^[0-9a-z]{16}$/);
  assert.notEqual(fresh, card.code);
  assert.ok(!first.text.includes(fresh));
  assert.match(receivedEmails(server)[1]?.text ?? '', /\$20\.00/);

  const before = (await shop.events()).length;
  const unknown = await shop.ask('POST /gift_card/lookup', { json: { code: 'zzzzzzzzzzzzzzzz' } });
  assert.equal((await shop.events()).length, before);
  const dead = await shop.ask('POST /gift_card/lookup', { json: { code: card.code } });
  const spent = await shop.ask('POST /gift_card/redeem', { json: { code: card.code, amount: 1 } });
  const withoutId = (text: string): string => text.replace(/"request_id":"[^"]*"/, '');
  for (const response of [dead, spent]) {
    assert.equal(response.status, 404);
    assert.equal(withoutId(response.text), withoutId(unknown.text));
  }
  // Events are published after responses.
  await until(async () => (await shop.events()).length >= before + 2);
  const published = (await shop.events()).slice(before);
  assert.deepEqual(published.map(({ type }) => type), Array(2).fill('gift_card.retired_code_used')); // prettier-ignore
  const updated = await shop.ask(`PUT /gift_card/${card.id}`, { json: { code: card.code } });
  assert.equal(updated.status, 422);
  const search = (last: string) => shop.ask(`GET /gift_card?last_characters=${last}&email=grace@example.com`);
  assert.equal((await search(fresh.slice(-4))).status, 200);
  assert.equal((await search(card.code.slice(-4))).status, 404);
  const redeemed = await shop.ask('POST /gift_card/redeem', { json: { code: fresh, amount: 20 } });
  assert.equal(redeemed.status, 201, redeemed.text);
  const history = await shop.ask(`GET /gift_card/${card.id}/transactions`);
  assert.equal((history.json as { transactions: readonly unknown[] }).transactions.length, 3);
  await assertNowhere(shop.service, [card.code, fresh]);
});

test('a rotated code is returned once and in replays, and needs write_gift_cards', async () => {
  await using server = await smtpServer();
  await using shop = await open(server);
  const card = await shop.issue();
  const reader = await shop.service.token('flowers.example', ['read_gift_cards', 'redeem_gift_cards']);
  for (const path of ['rotate_code', 'notify']) {
    const rejected = await shop.ask(`POST /gift_card/${card.id}/${path}`, { token: reader });
    assert.equal(rejected.status, 403);
  }
  const headers = { 'idempotency-key': 'once' };
  const rotated = await shop.ask(`POST /gift_card/${card.id}/rotate_code`, { headers });
  assert.equal(rotated.status, 200, rotated.text);
  const { code } = (rotated.json as { readonly gift_card: Card }).gift_card;
  assert.equal((await shop.ask(`POST /gift_card/${card.id}/rotate_code`, { headers })).text, rotated.text);
  assert.equal((await shop.ask('POST /gift_card/lookup', { json: { code } })).status, 200);
  assert.equal((await shop.ask('POST /gift_card/lookup', { json: { code: card.code } })).status, 404);
  const unaddressed = await shop.ask(`POST /gift_card/${card.id}/notify`);
  assert.match(unaddressed.text, /problems\/no-address/);
  assert.equal((await shop.ask(`POST /gift_card/${card.id}/notify`, { json: { more: 1 } })).status, 422);
  assert.equal((await shop.ask('POST /gift_card/7/rotate_code')).status, 404);
  assert.equal(server.received.length, 0);
  await assertNowhere(shop.service, [card.code, code]);
});

test('an invalid send_on is rejected together with all other errors', async () => {
  await using server = await smtpServer();
  await using shop = await open(server, 'America/New_York');
  const errorsOf = async (parameters: object): Promise<unknown> => {
    const response = await shop.ask('POST /gift_card', { json: { initial_value: 25, ...parameters } });
    assert.equal(response.status, 422, response.text);
    return (response.json as { readonly errors: unknown }).errors;
  };
  const soon = new Date(shop.service.clock.now() + 5 * 86_400_000).toISOString();
  assert.deepEqual(await errorsOf({ ...grace, send_on: '2020-01-01' }), {
    send_on: ['must not be in the past'],
  });
  assert.deepEqual(await errorsOf({ ...grace, send_on: '2099-01-01' }), {
    send_on: ['must be at most a year ahead'],
  });
  assert.deepEqual(await errorsOf({ send_on: soon }), {
    send_on: ['cannot be set without recipient_email or email'],
  });
  assert.deepEqual(await errorsOf({ ...grace, send_on: soon, notify: false }), {
    send_on: ['cannot be set because no email is sent'],
  });
  assert.deepEqual(await errorsOf({ ...grace, send_on: soon, expires_on: new Date(shop.service.clock.now() + 2 * 86_400_000).toISOString().slice(0, 10) }), {
    send_on: ['must not be after expires_on'],
  }); // prettier-ignore
  assert.deepEqual(await errorsOf({ ...grace, send_on: 5, notify: 'maybe', note: 5 }), {
    note: ['must be a string'],
    send_on: ['must be a date, or a date and time with Z or an offset'],
    notify: ['must be true or false'],
  });
  const form = await shop.ask('POST /gift_card', {
    body: 'initial_value=25&recipient_email=grace@example.com&notify=0&send_on=',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  });
  assert.equal(form.status, 201, form.text);
  const later = await shop.issue({ ...grace, send_on: soon });
  assert.deepEqual((await shop.deliveries(later.id)).map(({ status }) => status), ['scheduled']); // prettier-ignore
  shop.service.clock.advance(5 * 86_400_000 + 1_000);
  await until(async () => (await shop.deliveries(later.id))[0]?.status === 'sent');
  assert.equal(receivedEmails(server)[0]?.code, later.code);
});

test('a second email too soon is a 429 with Retry-After, and the code remains valid', async () => {
  await using server = await smtpServer();
  await using shop = await open(server);
  const card = await shop.issue(grace);
  const notify = (key: string) =>
    shop.ask(`POST /gift_card/${card.id}/notify`, { headers: { 'idempotency-key': key } });
  const first = await notify('first');
  assert.equal(first.status, 201, first.text);
  await until(() => receivedEmails(server).some(({ code }) => code !== card.code));
  const code = receivedEmails(server).find((email) => email.code !== card.code)?.code ?? '';
  const deliveries = await shop.deliveries(card.id);
  const soon = await notify('second');
  problemOf(soon, { code: 'too-many-requests' });
  const seconds = Number(soon.headers.get('retry-after'));
  assert.ok(seconds >= 50 && seconds <= 60, `Retry-After: ${seconds}`);
  assert.match(soon.text, /emailed again to this address less than a minute ago/);
  assert.equal((await shop.ask(`POST /gift_card/${card.id}/notify?dry_run=true`)).status, 429);
  assert.deepEqual(
    (await shop.deliveries(card.id)).map(({ id }) => id),
    deliveries.map(({ id }) => id),
  );
  assert.equal((await shop.ask('POST /gift_card/lookup', { json: { code } })).status, 200);
  const replayed = await notify('first');
  assert.deepEqual([replayed.status, replayed.text], [201, first.text]);
  shop.service.clock.advance(seconds * 1_000);
  // A 429 is not stored, so the same key succeeds later.
  assert.equal((await notify('second')).status, 201);
  assert.equal((await shop.ask('POST /gift_card/lookup', { json: { code } })).status, 404);
});

test('without a mail server, cards are issued and no email is queued; send_on and notify are rejected', async () => {
  await using shop = await open(null);
  const card = await shop.issue({ ...grace, notify: true });
  assert.deepEqual(await shop.deliveries(card.id), []);
  const ready = await shop.ask('GET /readyz');
  assert.equal(ready.status, 200);
  assert.match(ready.text, /"mail":"none: SMTP_URL is not set/);
  assert.match((await shop.ask(`POST /gift_card/${card.id}/notify`)).text, /problems\/no-mail/);
  const soon = new Date(shop.service.clock.now() + 86_400_000).toISOString();
  const timed = await shop.ask('POST /gift_card', { json: { initial_value: 25, ...grace, send_on: soon } });
  assert.equal(timed.status, 422);
  assert.equal((await shop.ask('GET /dev/mails')).status, 404);
});

test('without a mail server, Email-Status says that no email is sent, and the log says it once', async () => {
  await using shop = await open(null);
  const { service } = shop;
  const warnings = (): number => service.log().split('a gift card was not emailed').length - 1;
  assert.match(service.log(), /"level":40,[^\n]*"SMTP_URL is not set: no email is sent/);
  const statusOf = async (json: object, path = 'POST /gift_card'): Promise<string | null> => {
    const response = await shop.ask(path, { json: { initial_value: 25, ...json } });
    assert.equal(response.status, 201, response.text);
    return response.headers.get('email-status');
  };
  assert.equal(await statusOf({}), null);
  assert.equal(await statusOf({ ...grace, notify: false }), null);
  assert.equal(await statusOf(grace, 'POST /gift_card?dry_run=true'), 'not-configured');
  assert.equal(warnings(), 0);
  const keyed = { json: { initial_value: 25, ...grace }, headers: { 'idempotency-key': 'unsent' } };
  const first = await shop.ask('POST /gift_card', keyed);
  assert.equal(first.headers.get('email-status'), 'not-configured');
  const again = await shop.ask('POST /gift_card', keyed);
  assert.deepEqual([again.headers.get('email-status'), again.text], ['not-configured', first.text]);
  assert.equal(await statusOf({ email: 'ada@example.com' }), 'not-configured');
  assert.equal(warnings(), 1);
  assert.match(service.log(), /"store":"flowers\.example","message":"a gift card was not emailed/);
  await createStoreElsewhere(service, 'tea.example');
  const json = { initial_value: 25, ...grace };
  const other = { method: 'POST', json, token: await service.token('tea.example') };
  await service.request('/gift_card', other);
  await service.request('/gift_card', other);
  assert.equal(warnings(), 2);
  assert.ok(!service.log().includes('grace@example.com'));
});

test('a store that sends no email gets no warning about the missing mail server', async () => {
  await using shop = await open(null);
  const { service } = shop;
  await using database = await openDatabase(readConfig(service.environment), { prepare: false });
  const { ctx, storage } = database;
  await storage.write(function* () {
    const { store } = yield* requireStore('flowers.example');
    yield* changeEmailSettings(ctx, store.id, { enabled: false });
  });
  const response = await shop.ask('POST /gift_card', { json: { initial_value: 25, ...grace } });
  assert.deepEqual([response.status, response.headers.get('email-status')], [201, null]);
  assert.ok(!service.log().includes('was not emailed'));
});

test('with a mail server, no response has an Email-Status', async () => {
  await using server = await smtpServer();
  await using shop = await open(server);
  const response = await shop.ask('POST /gift_card', { json: { initial_value: 25, ...grace } });
  assert.deepEqual([response.status, response.headers.get('email-status')], [201, null]);
  assert.ok(!shop.service.log().includes('SMTP_URL is not set'));
});

test('an email or text of a client cannot add a header', async () => {
  await using server = await smtpServer();
  await using shop = await open(server);
  const breaks = ['\r\n', '\n', '\r', '\u0085', '\u2028', '%0d%0a', '\u0000', '\r\n ', '\v'];
  const addresses = breaks.flatMap((text) => [
    `grace@example.com${text}Bcc: eve@example.com`,
    `grace${text}Bcc: eve@example.com@example.com`,
    `"grace${text}Bcc: eve@example.com"@example.com`,
    `${text}Bcc: eve@example.com`,
  ]);
  const others = [
    'grace@example.com, eve@example.com',
    'grace@example.com;eve@example.com',
    'Grace <grace@example.com>',
    '<grace@example.com>',
    'grace@example.com> SIZE=1',
    'grace@example.com eve@example.com',
    'eve@example.com (grace@example.com)',
    'grace@[127.0.0.1]',
  ];
  for (const address of [...addresses, ...others]) {
    for (const name of ['recipient_email', 'email']) {
      const response = await shop.ask('POST /gift_card', { json: { initial_value: 25, [name]: address } });
      assert.equal(response.status, 422, `${name} ${JSON.stringify(address)}: ${response.text}`);
    }
  }
  for (const message of ['x\nBcc: eve@example.com', 'x\n.\nMAIL FROM:<eve@example.com>\nDATA', '\n\n--boundary\nContent-Type: text/html\n\n<script>alert(1)</script>'])
    await shop.issue({ ...grace, message }); // prettier-ignore
  await until(() => server.received.length === 3);
  const known = new Set(['from', 'to', 'subject', 'message-id', 'date', 'mime-version', 'content-type', 'auto-submitted', 'x-auto-response-suppress', 'content-language']); // prettier-ignore
  for (const { to, headers, text } of receivedEmails(server)) {
    assert.deepEqual(to, ['grace@example.com']);
    for (const header of headers) assert.ok(known.has(header.split(':', 1)[0]?.toLowerCase() ?? ''), header);
    assert.match(text, /Bcc: eve|MAIL FROM|<script>/);
  }
});
