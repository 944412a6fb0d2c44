import assert from 'node:assert/strict';
import test from 'node:test';
import { Webhook as Verifier } from 'standardwebhooks';
import { isWithin } from '../support/deadline.ts';
import type { WebhookRecord, DeliveryRecord } from '../../src/features/webhooks/domain/webhook-schemas.ts';
import { problemOf } from '../support/responses.ts';
import { createStoreElsewhere } from '../support/second-process.ts';
import { until } from '../support/delivering.ts';
import { startService, type TestResponse, type TestRequest, type TestService } from '../support/service.ts';
import { receiveWebhooks } from '../support/webhook-receiver.ts';

const domain = 'flowers.example';
const demonstration = 'demo.localhost';

type Shop = AsyncDisposable & {
  readonly service: TestService;
  readonly token: string;
  ask(path: string, request?: TestRequest): Promise<TestResponse>;
  create(url: string, events?: unknown): Promise<WebhookRecord & { readonly secret: string }>;
  issue(): Promise<number>;
  deliveries(id: number): Promise<readonly DeliveryRecord[]>;
};

/** The demonstration store of development mode, which can have webhooks on this machine. */
async function openShop(): Promise<Shop> {
  const service = await startService();
  const token = await service.token(demonstration);
  const ask: Shop['ask'] = (path, request = {}) => service.request(path, { token, ...request });
  return {
    service,
    token,
    ask,
    async create(url, events = ['gift_card.*']) {
      const response = await ask('/webhooks', { method: 'POST', json: { url, events } });
      assert.equal(response.status, 201, response.text);
      return (response.json as { readonly webhook: WebhookRecord & { readonly secret: string } }).webhook;
    },
    async issue() {
      const response = await ask('/gift_card', { method: 'POST', json: { initial_value: 15 } });
      return (response.json as { readonly gift_card: { readonly id: number } }).gift_card.id;
    },
    async deliveries(id) {
      const { json } = await ask(`/webhooks/${id}/deliveries`);
      return (json as { readonly deliveries: readonly DeliveryRecord[] }).deliveries;
    },
    [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
  };
}

function webhookOf({ json }: TestResponse): WebhookRecord {
  return (json as { readonly webhook: WebhookRecord }).webhook;
}

test('a receiver gets every event at once, and the Standard Webhooks library verifies each', async () => {
  await using shop = await openShop();
  await using receiver = await receiveWebhooks();
  const { secret } = await shop.create(receiver.url);
  const id = await shop.issue();
  await until(() => receiver.got.length === 1);
  await shop.ask(`/gift_card/${id}/debit`, { method: 'POST', json: { amount: 5 } });
  await shop.ask(`/gift_card/${id}`, { method: 'PUT', json: { note: 'x', disable: true } });
  await until(() => receiver.got.length === 4);
  for (const { body, headers } of receiver.got) {
    new Verifier(secret).verify(body, headers as Record<string, string>);
    assert.equal(headers['content-type'], 'application/json');
  }
  const received = receiver.got.map(({ event }) => `${event.sequence} ${event.type}`).toSorted();
  assert.deepEqual(received, [
    '1 gift_card.created',
    '2 gift_card.redeemed',
    '3 gift_card.disabled',
    '3 gift_card.updated',
  ]);
  assert.ok(!shop.service.log().includes(secret));
  assert.ok(!(await shop.service.state()).includes(secret));
});

test('a committed event is delivered without waiting for the next poll', async () => {
  await using shop = await openShop();
  await using receiver = await receiveWebhooks();
  await shop.create(receiver.url);
  const waitsMs: number[] = [];
  for (let issued = 1; issued <= 5; issued += 1) {
    await shop.issue();
    const startedAt = performance.now();
    await until(() => receiver.got.length === issued);
    waitsMs.push(performance.now() - startedAt);
  }
  // A delivery that waits for the poll takes half a second on average: 2.5 s in a distributed database, which polls every
  // five seconds, and at most once a second after a commit.
  const waitMaxMs = process.env['TEST_CITUS_WORKERS'] ? 1_250 : 250;
  assert.ok(isWithin(Math.min(...waitsMs), waitMaxMs), `${waitsMs.map(Math.round).join(', ')} ms`);
});

test('the ETag of a change that a restore has undone does not match another change', async () => {
  await using shop = await openShop();
  const { id } = await shop.create('https://shop.example.com/');
  const path = `/webhooks/${id}`;
  const update = async (json: object, etag?: string) =>
    await shop.ask(path, {
      method: 'PUT',
      json,
      ...(etag !== undefined && { headers: { 'if-match': etag } }),
    });
  const first = (await shop.ask(path)).headers.get('etag') ?? '';
  const undone = (await update({ events: ['customer.created'] })).headers.get('etag') ?? '';
  // A restore to the time before the change does the same.
  await shop.service.database.meddle("update webhooks set version = 1, patterns = ' gift_card.* '");
  assert.equal((await shop.ask(path)).headers.get('etag'), first);
  const other = (await update({ paused: true })).headers.get('etag') ?? '';
  assert.notEqual(other, undone);
  problemOf(await update({ paused: false }, undone), { code: 'precondition-failed' });
  assert.equal((await update({ paused: false }, other)).status, 200);
});

test('a webhook is created, listed, retrieved, updated and deleted', async () => {
  await using shop = await openShop();
  const made = await shop.create('https://Shop.Example.com:443/hook', ['gift_card.*', 'customer.created']);
  const { secret, ...record } = made;
  assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
  assert.equal(record.url, 'https://shop.example.com/hook');
  assert.deepEqual(record.events, ['gift_card.*', 'customer.created']);
  const path = `/webhooks/${record.id}`;
  assert.deepEqual((await shop.ask('/webhooks')).json, { webhooks: [record] });
  const read = await shop.ask(path);
  assert.deepEqual(read.json, { webhook: record });
  const etag = read.headers.get('etag') ?? '';
  assert.equal((await shop.ask(path, { headers: { 'if-none-match': etag } })).status, 304);

  const changed = await shop.ask(path, {
    method: 'PUT',
    json: { events: ['*'] },
    headers: { 'if-match': etag },
  });
  assert.deepEqual(webhookOf(changed).events, ['*']);
  problemOf(await shop.ask(path, { method: 'PUT', json: { paused: true }, headers: { 'if-match': etag } }), {
    code: 'precondition-failed',
  });
  const listed = { body: 'events=gift_card.created,+customer.*', headers: form };
  assert.deepEqual(webhookOf(await shop.ask(path, { method: 'PUT', ...listed })).events, [
    'gift_card.created',
    'customer.*',
  ]);
  const paused = webhookOf(await shop.ask(path, { method: 'PUT', body: 'paused=true', headers: form }));
  assert.deepEqual([paused.status, paused.pause_reason], ['paused', 'requested']);
  problemOf(await shop.ask(`${path}/test`, { method: 'POST' }), { code: 'webhook-paused' });
  assert.equal(
    webhookOf(await shop.ask(path, { method: 'PUT', json: { webhook: { paused: false } } })).status,
    'active',
  );

  assert.equal((await shop.ask(`${path}?dry_run=true`, { method: 'DELETE' })).headers.get('dry-run'), 'true');
  assert.equal((await shop.ask(path, { method: 'DELETE' })).status, 200);
  for (const method of ['GET', 'PUT', 'DELETE'])
    problemOf(await shop.ask(path, { method, ...(method === 'PUT' && { json: {} }) }), { code: 'not-found' });
  assert.deepEqual((await shop.ask('/webhooks')).json, { webhooks: [] });
});

const form = { 'content-type': 'application/x-www-form-urlencoded' };

test('a repeated creation with the same key creates one webhook and returns the secret again', async () => {
  await using shop = await openShop();
  const request = {
    method: 'POST',
    json: { url: 'https://shop.example.com/', events: ['*'] },
    headers: { 'idempotency-key': 'w1' },
  };
  const first = await shop.ask('/webhooks', request);
  const second = await shop.ask('/webhooks', request);
  assert.equal(second.text, first.text);
  assert.equal(second.headers.get('idempotent-replayed'), 'true');
  problemOf(await shop.ask('/webhooks', { ...request, json: { ...request.json, events: ['gift_card.*'] } }), {
    code: 'idempotency-key-reused',
  });
  const { webhooks } = (await shop.ask('/webhooks')).json as { readonly webhooks: readonly unknown[] };
  assert.equal(webhooks.length, 1);
});

test('an invalid webhook has an error for each field, and is not created', async () => {
  await using shop = await openShop();
  const before = await shop.service.state();
  const assertRejected = async (
    json: unknown,
    errors: Readonly<Record<string, readonly string[]>>,
  ): Promise<void> => {
    problemOf(await shop.ask('/webhooks', { method: 'POST', json }), { code: 'invalid-parameter', errors });
  };
  await assertRejected({}, { url: ['is required'], events: ['is required'] });
  await assertRejected(
    { url: 5, events: ['gift_card.gone'], more: 1 },
    {
      url: ['must be a string'],
      events: ['must list event types: "gift_card.gone" is not one'],
      more: ['is not a known parameter'],
    },
  );
  await assertRejected(
    { url: 'https://a.example.com', events: [] },
    { events: ['must list at least one event type'] },
  );
  for (const events of [[5], '*', 'gift_card.*, customer.created'])
    await assertRejected(
      { url: 'https://a.example.com', events },
      { events: ['must be a list of event types'] },
    );
  const events = ['*'];
  for (const [url, why] of [
    ['ftp://a.example.com/', 'must be a URL that starts with https://'],
    ['http://a.example.com/', 'must use https'],
    ['https://10.0.0.1/', 'must name a host, not an IP address'],
    ['https://metadata.google.internal/', 'must not be a host of a private network'],
    ['https://user:password@a.example.com/', 'must not contain a user name or password'],
  ] as const) {
    const response = await shop.ask('/webhooks', { method: 'POST', json: { url, events } });
    assert.equal(response.status, 422, url);
    const { errors } = response.json as { readonly errors: { readonly url?: readonly string[] } };
    assert.deepEqual(errors, { url: [why] }, url);
  }
  assert.equal(await shop.service.state(), before);
});

test('each scope allows its own operations only', async () => {
  await using shop = await openShop();
  const { id } = await shop.create('https://shop.example.com/');
  await shop.issue();
  const cases = [
    ['GET', '/events', 'read_events'],
    ['GET', '/events/stream', 'read_events'],
    ['GET', '/webhooks', 'manage_webhooks'],
    ['POST', `/webhooks/${id}/test`, 'manage_webhooks'],
    ['POST', '/events/5/redeliver', 'manage_webhooks'],
  ] as const;
  const tokens = {
    read_events: await shop.service.token(demonstration, ['read_events']),
    manage_webhooks: await shop.service.token(demonstration, ['manage_webhooks']),
    write_gift_cards: await shop.service.token(demonstration, ['write_gift_cards']),
  };
  for (const [method, path, scope] of cases) {
    for (const [name, token] of Object.entries(tokens)) {
      if (name === scope) continue;
      problemOf(await shop.service.request(path, { method, token }), { code: 'insufficient-scope' });
    }
  }
  assert.equal((await shop.service.request('/events', { token: tokens.read_events })).status, 200);
  assert.equal((await shop.service.request('/webhooks', { token: tokens.manage_webhooks })).status, 200);
  const gone = await shop.ask('/webhooks', { method: 'PATCH' });
  problemOf(gone, { code: 'method-not-allowed' });
  assert.equal(gone.headers.get('allow'), 'GET, HEAD, OPTIONS, POST');
});

test('webhooks and events of another store are not found', async () => {
  await using service = await startService({ stores: [{ domain }, { domain: 'other.example' }] });
  const [token, stranger] = [await service.token(domain), await service.token('other.example')];
  const made = await service.request('/webhooks', {
    method: 'POST',
    token,
    json: { url: 'https://shop.example.com/', events: ['*'] },
  });
  const { id } = webhookOf(made);
  await service.request('/gift_card', { method: 'POST', token, json: { initial_value: 5 } });
  let eventId: number | undefined;
  await until(async () => {
    const { json } = await service.request('/events', { token });
    eventId = (json as { readonly events: readonly { readonly id: number }[] }).events[0]?.id;
    return eventId !== undefined;
  });
  for (const [method, path] of [
    ['GET', `/webhooks/${id}`],
    ['DELETE', `/webhooks/${id}`],
    ['POST', `/webhooks/${id}/rotate_secret`],
    ['POST', `/webhooks/${id}/test`],
    ['GET', `/webhooks/${id}/deliveries`],
    ['GET', `/webhooks/${id}/deliveries/${eventId}`],
    ['GET', `/events/${eventId}`],
    ['POST', `/events/${eventId}/redeliver`],
  ] as const)
    problemOf(await service.request(path, { method, token: stranger }), { code: 'not-found' });
  assert.deepEqual((await service.request('/events', { token: stranger })).json, { events: [] });
  problemOf(await service.request(`/events?after=${eventId}`, { token: stranger }), {
    code: 'invalid-query',
    errors: { after: ['must be the id of an event'] },
  });
});

test('tests, failures and redeliveries are in the delivery log', async () => {
  await using shop = await openShop();
  await using receiver = await receiveWebhooks();
  receiver.response = { status: 500, body: 'x'.repeat(5_000) };
  const { id } = await shop.create(receiver.url);
  const tested = await shop.ask(`/webhooks/${id}/test`, { method: 'POST' });
  assert.equal(tested.status, 202);
  const { event_id: eventId } = (tested.json as { readonly delivery: DeliveryRecord }).delivery;
  await until(async () => (await shop.deliveries(id))[0]?.attempts === 1);
  const [delivery] = await shop.deliveries(id);
  assert.equal(delivery?.status, 'retrying');
  assert.equal(delivery?.last_attempt?.response?.body.length, 4_096);
  const { failing_since: since, failure } = webhookOf(await shop.ask(`/webhooks/${id}`));
  assert.ok(since);
  assert.equal(failure, 'responded with 500');
  receiver.response = { status: 200, body: 'ok' };
  const again = await shop.ask(`/events/${eventId}/redeliver`, { method: 'POST', json: { webhook_id: id } });
  assert.equal(again.status, 202);
  await until(async () => (await shop.deliveries(id))[0]?.status === 'delivered');
  const { log } = (
    (await shop.ask(`/webhooks/${id}/deliveries/${eventId}`)).json as {
      readonly delivery: { readonly log: readonly { readonly response: { readonly status: number } }[] };
    }
  ).delivery;
  assert.deepEqual(
    log.map(({ response }) => response.status),
    [500, 200],
  );
  assert.equal(webhookOf(await shop.ask(`/webhooks/${id}`)).failing_since, null);
  problemOf(await shop.ask(`/events/${eventId}/redeliver`, { method: 'POST', json: { webhook_id: 5 } }), {
    code: 'invalid-parameter',
    errors: { webhook_id: ['must be the id of a webhook'] },
  });
  assert.match(
    await fetch(new URL('/metrics', shop.service.url)).then((response) => response.text()),
    /largesse_webhook_attempt_duration_seconds_count\{outcome="delivered"\} 1/,
  );
});

test('the URL of a webhook is checked again for each delivery', async () => {
  await using shop = await openShop();
  const { id } = await shop.create('https://shop.example.com/');
  // A URL that older rules accepted.
  await shop.service.database.meddle(`update webhooks set url = 'https://169.254.169.254/' where id = ${id}`);
  await shop.issue();
  await until(async () => (await shop.deliveries(id))[0]?.attempts === 1);
  const [delivery] = await shop.deliveries(id);
  assert.deepEqual(delivery?.last_attempt?.failure, {
    reason: 'forbidden-target',
    detail: 'the URL must name a host, not an IP address',
  });
});

test('webhooks can lead to this machine only until the first real store, while the service runs too', async (t) => {
  await using shop = await openShop();
  await using receiver = await receiveWebhooks();
  const { id } = await shop.create(receiver.url);
  const { id: other } = await shop.create('https://shop.example.com/', ['customer.created']);
  await shop.issue();
  await until(() => receiver.got.length === 1);
  await createStoreElsewhere(shop.service, domain);
  const errors = { url: ['must use https'] };
  const events = ['*'];

  await t.test('a new webhook is rejected', async () => {
    const json = { url: receiver.url, events };
    const realToken = await shop.service.token(domain);
    for (const token of [shop.token, realToken])
      problemOf(await shop.ask('/webhooks', { method: 'POST', json, token }), {
        code: 'invalid-parameter',
        errors,
      });
    const secure = { url: 'https://127.0.0.1:4000/', events };
    problemOf(await shop.ask('/webhooks', { method: 'POST', json: secure }), {
      code: 'invalid-parameter',
      errors: { url: ['must name a host, not an IP address'] },
    });
  });
  await t.test('a new URL of a webhook is rejected', async () => {
    const json = { url: receiver.url };
    problemOf(await shop.ask(`/webhooks/${other}`, { method: 'PUT', json }), {
      code: 'invalid-parameter',
      errors,
    });
  });
  await t.test('an existing webhook gets no deliveries, even over an open connection', async () => {
    await shop.issue();
    await until(async () => (await shop.deliveries(id))[0]?.attempts === 1);
    const [delivery] = await shop.deliveries(id);
    assert.deepEqual(delivery?.last_attempt?.failure, {
      reason: 'forbidden-target',
      detail: 'the URL must use https',
    });
    assert.equal(receiver.got.length, 1);
  });
});

test('a service with a real store rejects webhooks on this machine, in development too', async () => {
  await using service = await startService({ stores: [{ domain }] });
  const token = await service.token(domain);
  for (const url of ['http://127.0.0.1:4000/', 'http://localhost:4000/', 'http://[::1]:4000/']) {
    const json = { url, events: ['*'] };
    problemOf(await service.request('/webhooks', { method: 'POST', json, token }), {
      code: 'invalid-parameter',
      errors: { url: ['must use https'] },
    });
  }
});

test('a service that browsers reach only on this machine sends webhooks to it, with a real store too', async () => {
  await using receiver = await receiveWebhooks();
  const environment = { PUBLIC_URL: 'http://localhost:3000' };
  await using service = await startService({ stores: [{ domain }], environment });
  const token = await service.token(domain);
  const json = { url: receiver.url, events: ['gift_card.created'] };
  assert.equal((await service.request('/webhooks', { method: 'POST', json, token })).status, 201);
  assert.equal(
    (await service.request('/gift_card', { method: 'POST', json: { initial_value: 5 }, token })).status,
    201,
  );
  await until(() => receiver.got.length === 1);
});

test('deliveries are listed in pages', async () => {
  await using shop = await openShop();
  await using receiver = await receiveWebhooks();
  const { id } = await shop.create(receiver.url);
  for (let count = 0; count < 5; count += 1) await shop.issue();
  const seen: number[] = [];
  let path: string | undefined = `/webhooks/${id}/deliveries?limit=2`;
  while (path !== undefined) {
    const { json, headers }: TestResponse = await shop.ask(path);
    seen.push(
      ...(json as { readonly deliveries: readonly DeliveryRecord[] }).deliveries.map((one) => one.event_id),
    );
    path = /<([^>]+)>; rel="next"/.exec(headers.get('link') ?? '')?.[1];
  }
  assert.equal(new Set(seen).size, 5);
  assert.deepEqual(
    seen,
    seen.toSorted((left, right) => right - left),
  );
});
