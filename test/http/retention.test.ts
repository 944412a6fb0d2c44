/** Retention: old events, emails, deliveries and responses are erased, and the ledger is kept. */

import assert from 'node:assert/strict';
import { setTimeout as wait } from 'node:timers/promises';
import test, { type TestContext } from 'node:test';
import { until } from '../support/delivering.ts';
import { command } from '../support/served.ts';
import { startService, type TestService } from '../support/service.ts';
import { shopOf, type Shop } from '../support/shop.ts';

const dayMs = 24 * 60 * 60_000;
const limits = { retentionPeriodMs: 20, upkeepPeriodMs: 20, retentionRowsMax: 5 };

async function started(
  t: TestContext,
  environment: Readonly<Record<string, string>> = {},
): Promise<{ readonly service: TestService; readonly shop: Shop }> {
  const service = await startService({ stores: [{ domain: 'flowers.example' }], environment, limits });
  t.after(() => service[Symbol.asyncDispose]());
  return { service, shop: await shopOf(service, 'flowers.example') };
}

async function countOf(service: TestService, table: string, condition = '1 = 1'): Promise<number> {
  const [row] = await service.query(`select count(*) as n from ${table} where ${condition}`);
  return Number(row?.['n']);
}

async function eventIds(service: TestService): Promise<readonly number[]> {
  return (await service.query('select id from events order by id')).map(({ id }) => Number(id));
}

type Verified = { readonly ok: boolean; readonly mismatches: readonly { readonly problem: string }[] };

async function verified(service: TestService): Promise<readonly string[]> {
  const { output } = await command(service.environment, 'verify', '--json');
  return (JSON.parse(output) as Verified).mismatches.map(({ problem }) => problem);
}

/** Changes cards in the past and, after a year, one of them again. */
async function history({ service, shop }: { readonly service: TestService; readonly shop: Shop }) {
  const old = await shop.issue({ email: 'ada@example.com' });
  for (let round = 0; round < 10; round += 1) await shop.debits(old.id, '1.00');
  const quiet = await shop.issue();
  await shop.accepts(
    `PUT /gift_card/${quiet.id}`,
    { json: { note: 'old' } },
    { events: ['gift_card.updated note'] },
  );
  // An email in progress would fail when the clock moves.
  await until(async () => (await countOf(service, 'email_deliveries', 'next_at is not null')) === 0);
  const before = await eventIds(service);
  service.clock.advance(401 * dayMs);
  await shop.accepts(
    `PUT /gift_card/${old.id}`,
    { json: { note: 'new' } },
    { events: ['gift_card.updated note'] },
  );
  await shop.debits(old.id, '2.00');
  const young = await shop.issue();
  await shop.debits(young.id, '3.00');
  return { old, quiet, young, before };
}

test('old events are erased, and the ledger still verifies', async (t) => {
  const { service, shop } = await started(t);
  const { before } = await history({ service, shop });
  await until(async () => (await eventIds(service)).every((id) => !before.includes(id)));
  assert.equal((await eventIds(service)).length, 4);
  assert.deepEqual(await verified(service), []);
});

test('a missing event after the erased ones is named', async (t) => {
  const { service, shop } = await started(t);
  const { old, young, before } = await history({ service, shop });
  await until(async () => (await eventIds(service)).every((id) => !before.includes(id)));
  const cardOf = (id: number): number => service.internalId(id);
  const first = `subject_id = ${cardOf(old.id)} and type = 'gift_card.updated'`;
  await service.database.meddle(`delete from events where ${first}`);
  assert.deepEqual(await verified(service), ['has no event of version 12']);
  await service.database.meddle(
    `delete from events where subject_id = ${cardOf(young.id)} and type = 'gift_card.created'`,
  );
  assert.deepEqual((await verified(service)).toSorted(), [
    'has no event of version 1',
    'has no event of version 12',
  ]);
});

test('an event with another balance is named although earlier events were erased', async (t) => {
  const { service, shop } = await started(t);
  const { old, before } = await history({ service, shop });
  await until(async () => (await eventIds(service)).every((id) => !before.includes(id)));
  await service.database.meddle(
    `update gift_cards set erased_event_version = 14 where id = ${service.internalId(old.id)}`,
  );
  assert.deepEqual(await verified(service), ['has erased events up to version 14, which it never had']);
});

test('a subscriber whose last event was erased notices that it has missed events', async (t) => {
  const { service, shop } = await started(t);
  const { before } = await history({ service, shop });
  await until(async () => (await eventIds(service)).every((id) => !before.includes(id)));
  // Old emails are erased after the events, and the rejected requests below change nothing.
  const oldest = service.clock.now() - 400 * dayMs;
  await until(async () => {
    const old = await service.query('select id from email_deliveries where send_at < ?', oldest);
    return old.length === 0;
  });
  for (const id of [before[0], before.at(-1)]) {
    await shop.rejects(`GET /events?after=${id}`, {}, { code: 'events-erased' });
    await shop.rejects(`GET /events/stream?after=${id}`, {}, { code: 'events-erased' });
    const headers = { 'last-event-id': String(id) };
    await shop.rejects('GET /events/stream', { headers }, { code: 'events-erased' });
    await shop.rejects(`GET /events/${id}`, {}, { code: 'not-found' });
  }
  const [first = 0, ...rest] = await eventIds(service);
  let listed: readonly number[] = [];
  await until(async () => {
    const page = await shop.ask(`GET /events?after=${first}`);
    const { events } = page.json as { readonly events: readonly { readonly id: number }[] };
    listed = events.map(({ id }) => id);
    return listed.length >= rest.length;
  });
  assert.deepEqual(listed, rest);
  await shop.rejects(
    `GET /events?after=${first + 1}`,
    {},
    {
      code: 'invalid-query',
      errors: { after: ['must be the id of an event'] },
    },
  );
});

test('the newest event of a store stays, so that its subscribers can continue', async (t) => {
  const { service, shop } = await started(t);
  await shop.issue();
  const ids = await eventIds(service);
  await shop.issue();
  service.clock.advance(401 * dayMs);
  await until(async () => (await eventIds(service)).every((id) => !ids.includes(id)));
  const [last] = await eventIds(service);
  assert.equal((await shop.ask(`GET /events?after=${last}`)).status, 200);
});

test('an event that a webhook still has to deliver stays, with its delivery', async (t) => {
  const { service, shop } = await started(t);
  const { id } = await shop.issue();
  const [event] = await service.query(
    'select store_id, id from events where subject_id = ?',
    service.internalId(id),
  );
  const [store, waiting] = [Number(event?.['store_id']), Number(event?.['id'])];
  const secret = `cast('x' as ${service.environment['DATABASE_URL']?.startsWith('file') ? 'blob' : 'bytea'})`;
  await service.database.meddle(
    `insert into webhooks (store_id, id, version, url, patterns, secret, status, paused_at, pause_reason, created_at, updated_at)
     values (${store}, 1, 1, 'https://shop.example/hook', ' * ', ${secret}, 'paused', 1, 'requested', 1, 1)`,
  );
  await service.database.meddle(
    `insert into webhook_deliveries (store_id, webhook_id, event_id, status, created_at, next_at)
     values (${store}, 1, ${waiting}, 'queued', 1, 1)`,
  );
  const { before } = await history({ service, shop });
  const others = new Set(before).difference(new Set([waiting]));
  await until(async () => (await eventIds(service)).every((one) => !others.has(one)));
  assert.ok((await eventIds(service)).includes(waiting));
  assert.deepEqual(await verified(service), []);
  await service.database.meddle(`update webhook_deliveries set status = 'dead', next_at = null`);
  // A store whose oldest event could not be erased is read again an hour later.
  service.clock.advance(60 * 60_000);
  await until(async () => !(await eventIds(service)).includes(waiting));
  assert.equal(await countOf(service, 'webhook_deliveries'), 0);
  assert.deepEqual(await verified(service), []);
});

test('ended emails are erased, and others are kept', async (t) => {
  const { service, shop } = await started(t, { EMAIL_RETENTION_DAYS: '30', EVENT_RETENTION_DAYS: 'forever' });
  await shop.issue({ recipient_email: 'grace@example.com' });
  await until(async () => (await countOf(service, 'email_deliveries', 'next_at is null')) === 1);
  const sendOn = new Date(service.clock.now() + 60 * dayMs).toISOString();
  await shop.issue({ recipient_email: 'grace@example.com', send_on: sendOn });
  await service.database.meddle(
    `insert into email_deliveries (store_id, card_id, id, kind, address, state, occasion, send_at, created_at, ended_at)
     select store_id, card_id, 1, 'expiry_reminder', address, 'sent', 'expiry 2057-01-01 300', 1, 1, 1
     from email_deliveries where next_at is null`,
  );
  const events = await eventIds(service);
  service.clock.advance(31 * dayMs);
  await until(async () => (await countOf(service, 'email_deliveries')) === 2);
  assert.equal(await countOf(service, 'email_deliveries', 'next_at is not null'), 1);
  assert.equal(
    await countOf(service, 'email_deliveries', "kind = 'expiry_reminder'"),
    1,
    'it is not sent again',
  );
  assert.deepEqual(await eventIds(service), events);
});

test('a response to a key is returned for as long as the setting says', async (t) => {
  const { service, shop } = await started(t, { IDEMPOTENCY_RETENTION_HOURS: '48' });
  const request = { json: { initial_value: 5 }, headers: { 'idempotency-key': 'order-1' } };
  const first = await shop.ask('POST /gift_card', request);
  service.clock.advance(47 * 60 * 60_000);
  await wait(100);
  const again = await shop.ask('POST /gift_card', request);
  assert.equal(again.headers.get('idempotent-replayed'), 'true');
  assert.equal(again.text, first.text);
  service.clock.advance(2 * 60 * 60_000);
  await until(async () => (await countOf(service, 'idempotency_records')) === 0);
});

test('no setting erases cards, codes, transfers, holds, changes or customers', async (t) => {
  const { service, shop } = await started(t, {
    EVENT_RETENTION_DAYS: '7',
    EMAIL_RETENTION_DAYS: '7',
    DELIVERY_RETENTION_DAYS: '1',
    IDEMPOTENCY_RETENTION_HOURS: '24',
    LOOKUP_RETENTION_HOURS: '0',
    SESSION_RETENTION_DAYS: '1',
  });
  const { old, before } = await history({ service, shop });
  await shop.holds(old.id, '1.00');
  const tables = [
    'stores',
    'customers',
    'gift_cards',
    'gift_card_codes',
    'transfers',
    'holds',
    'card_changes',
  ];
  const counts = await Promise.all(tables.map((table) => countOf(service, table)));
  assert.ok(
    counts.every((count) => count > 0),
    counts.join(),
  );
  service.clock.advance(3_650 * dayMs);
  await shop.ask('GET /gift_card?last_characters=zzzz&email=unknown%40example.com');
  await until(async () => (await eventIds(service)).every((id) => !before.includes(id)));
  await wait(200);
  assert.deepEqual(await Promise.all(tables.map((table) => countOf(service, table))), counts);
  assert.deepEqual(await verified(service), []);
});

test('nothing is erased while the clock is not trusted', async (t) => {
  const { service, shop } = await started(t);
  await shop.issue({ recipient_email: 'grace@example.com' });
  await until(async () => (await countOf(service, 'email_deliveries', 'next_at is null')) === 1);
  await shop.issue();
  const before = [await countOf(service, 'events'), await countOf(service, 'email_deliveries')];
  service.clock.jump(500 * dayMs);
  await wait(500);
  assert.deepEqual([await countOf(service, 'events'), await countOf(service, 'email_deliveries')], before);
});

test('store status shows rows, bytes, the oldest row and the retention of each kind', async (t) => {
  const { service, shop } = await started(t);
  const { id } = await shop.issue({ email: 'ada@example.com' });
  await shop.debits(id, '1.00');
  const environment = { ...service.environment, EVENT_RETENTION_DAYS: 'forever' };
  const { code, output } = await command(environment, 'store', 'status', 'flowers.example', '--json');
  assert.equal(code, 0, output);
  type Row = {
    kind: string;
    rows: number;
    at_least: boolean;
    bytes: number;
    oldest: string | null;
    retention: string;
  };
  const rows = new Map((JSON.parse(output) as Row[]).map((row) => [row.kind, row]));
  const shown = (kind: string): unknown[] => {
    const { rows: count, at_least: isMinimum, retention } = rows.get(kind) ?? assert.fail(kind);
    return [count, isMinimum, retention];
  };
  assert.deepEqual(shown('gift_cards'), [1, false, 'forever']);
  assert.deepEqual(shown('codes'), [1, false, 'forever']);
  assert.deepEqual(shown('transfers'), [2, false, 'forever']);
  assert.deepEqual(shown('customers'), [1, false, 'forever']);
  assert.deepEqual(shown('events'), [3, false, 'forever']);
  assert.deepEqual(shown('emails'), [1, false, '400 days']);
  assert.deepEqual(shown('webhook_deliveries'), [0, false, '30 days']);
  assert.deepEqual(shown('sessions'), [0, false, '90 days']);
  assert.deepEqual(shown('idempotency_records'), [0, false, '24 hours']);
  // The issue and the debit, as far as they are written.
  assert.match(JSON.stringify(shown('api_requests')), /^\[[012],false,"24 hours"\]$/);
  assert.deepEqual(shown('failed_lookups'), [0, false, '0 hours']);
  assert.ok((rows.get('events')?.bytes ?? 0) > 1_000);
  assert.match(rows.get('events')?.oldest ?? '', /^\d{4}-\d\d-\d\dT/);
  const table = await command(service.environment, 'store', 'status', 'flowers.example');
  assert.match(table.output, /^KIND +ROWS +BYTES +OLDEST +RETENTION$/m);
  assert.match(table.output, /^events +3 .*400 days$/m);
  assert.notEqual((await command(service.environment, 'store', 'status', 'unknown.example')).code, 0);
});
