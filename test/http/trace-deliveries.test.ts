/** Traces that continue from a request to the deliveries of its events and emails, also after a restart. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { pino } from 'pino';
import { readConfig } from '../../src/start/config.ts';
import { logWith } from '../../src/platform/log.ts';
import { start, type Service } from '../../src/start/main.ts';
import { reply, smtpServer } from '../delivery/email/smtp-server.ts';
import { until } from '../support/delivering.ts';
import type { EngineDatabase, Environment } from '../support/engine-database.ts';
import { engine } from '../support/engine.ts';
import { send } from '../support/http-client.ts';
import { startService, testClock } from '../support/service.ts';
import { registerSdk, traceparentOf, type EndedSpan, type TracingSdk } from '../support/tracing-sdk.ts';
import { receiveWebhooks } from '../support/webhook-receiver.ts';

const traceId = 'a'.repeat(32);
const traceparent = `00-${traceId}-${'b'.repeat(16)}-01`;

/** Starts a service on a database that outlives it. */
function startOn(database: EngineDatabase, environment: Environment): Promise<Service> {
  const config = readConfig({ ...database.environment, ...environment, PORT: '0', RATE_LIMIT: 'off' });
  return start(config, { clock: testClock(), log: logWith(pino({ level: 'silent' })) });
}

/** The spans of the trace with this name. */
function ofTrace(sdk: TracingSdk, name: string): readonly EndedSpan[] {
  return sdk.named(name).filter(({ own }) => own.traceId === traceId);
}

/** The first span of each of these names. */
function firstOf(sdk: TracingSdk, names: readonly string[]): readonly EndedSpan[] {
  return names.flatMap((name) => ofTrace(sdk, name).slice(0, 1));
}

const deliveries = ['deliver events', 'deliver emails'];
const calls = ['POST', 'send email'];

function spanIds(spans: readonly EndedSpan[]): readonly string[] {
  return spans.map(({ own }) => own.spanId);
}

function parentIds(spans: readonly EndedSpan[]): readonly (string | undefined)[] {
  return spans.map(({ parent }) => parent?.spanId);
}

const delivering = {
  'messaging.system': 'largesse',
  'messaging.operation.type': 'process',
  'messaging.operation.name': 'deliver',
};

test('deliveries after a restart continue the trace of the request, with spans for each attempt', async () => {
  await using database = await engine.createDatabase();
  await using receiver = await receiveWebhooks();
  let isBusy = true;
  await using smtp = await smtpServer({ afterData: () => (isBusy ? reply(451, '4.7.1 later') : null) });
  const environment = { SMTP_URL: smtp.url().reveal(), MAIL_FROM: 'cards@flowers.example' };
  receiver.response = { status: 503 };
  const cardJson = { initial_value: 5, recipient_email: 'grace@example.com' };
  {
    using sdk = registerSdk();
    await using service = await startOn(database, environment);
    const post = (path: string, json: object) =>
      send(`${service.url}${path}`, { method: 'POST', headers: { traceparent }, json });
    const webhook = { url: receiver.url, events: ['gift_card.created'] };
    assert.equal((await post('/webhooks', webhook)).status, 201);
    assert.equal((await post('/gift_card', cardJson)).status, 201);
    await until(() => firstOf(sdk, [...deliveries, 'POST /gift_card']).length === 3);

    const [request] = firstOf(sdk, ['POST /gift_card']);
    const transaction = ofTrace(sdk, 'transaction write').find(
      ({ parent }) => parent?.spanId === request?.own.spanId,
    );
    const producers = ['events', 'emails'].flatMap((queue) => ofTrace(sdk, `enqueue ${queue}`));
    const ofCard = producers.filter(({ parent }) => parent?.spanId === transaction?.own.spanId);
    assert.deepEqual(
      ofCard.map(({ name, kind, attributes }) => [name, kind, attributes]),
      ['events', 'emails'].map((queue) => [
        `enqueue ${queue}`,
        'PRODUCER',
        {
          'messaging.system': 'largesse',
          'messaging.destination.name': queue,
          'messaging.operation.type': 'send',
          'messaging.operation.name': 'enqueue',
          // The events of the card and of its recipient.
          ...(queue === 'events' && { 'messaging.batch.message_count': 2 }),
        },
      ]),
    );
    const consumers = firstOf(sdk, deliveries);
    assert.deepEqual(parentIds(consumers), spanIds(ofCard));
    assert.ok(consumers.every(({ kind, isError }) => kind === 'CONSUMER' && isError));
    assert.deepEqual(
      consumers.map(({ attributes }) => attributes),
      [
        {
          ...delivering,
          'messaging.destination.name': 'events',
          'largesse.event.type': 'gift_card.created',
          'largesse.delivery.attempt': 1,
          'error.type': '503',
        },
        {
          ...delivering,
          'messaging.destination.name': 'emails',
          'largesse.email.kind': 'gift_card',
          'largesse.delivery.attempt': 1,
          'error.type': 'deferred',
        },
      ],
    );
    const called = firstOf(sdk, calls);
    assert.deepEqual(parentIds(called), spanIds(consumers));
    assert.deepEqual(
      called.map(({ kind, attributes, isError }) => [kind, attributes, isError]),
      [
        [
          'CLIENT',
          {
            'http.request.method': 'POST',
            'http.response.status_code': 503,
            'server.address': '127.0.0.1',
            'server.port': Number(new URL(receiver.url).port),
            'error.type': '503',
          },
          true,
        ],
        [
          'CLIENT',
          {
            'network.protocol.name': 'smtp',
            'server.address': '127.0.0.1',
            'server.port': Number(new URL(environment.SMTP_URL).port),
            'error.type': '451',
          },
          true,
        ],
      ],
    );
    assert.equal(receiver.got[0]?.headers['traceparent'], traceparentOf(called[0]?.own ?? assert.fail()));
    // The content of an email is read below its delivery.
    assert.ok(
      ofTrace(sdk, 'transaction read').some(({ parent }) => parent?.spanId === consumers[1]?.own.spanId),
    );
  }

  receiver.response = { status: 204 };
  isBusy = false;
  using sdk = registerSdk();
  for (const table of ['webhook_deliveries', 'email_deliveries'])
    await database.meddle(`update ${table} set next_at = 1 where next_at is not null`);
  await using _service = await startOn(database, environment);
  await until(() => firstOf(sdk, deliveries).length === 2);
  const consumers = firstOf(sdk, deliveries);
  assert.deepEqual(
    consumers.map(({ kind, parent, attributes, isError }) => [
      kind,
      parent?.isRemote,
      Number(attributes['largesse.delivery.attempt']) > 1,
      isError,
    ]),
    [
      ['CONSUMER', true, true, false],
      ['CONSUMER', true, true, false],
    ],
  );
  const called = firstOf(sdk, calls);
  assert.deepEqual(parentIds(called), spanIds(consumers));
  const [again] = receiver.got.slice(-1);
  assert.equal(again?.headers['traceparent'], traceparentOf(called[0]?.own ?? assert.fail()));
  assert.deepEqual(again.body, receiver.got[0]?.body);
  assert.equal(smtp.received.length, 1);
  assert.doesNotMatch(smtp.received[0]?.message.toString() ?? '', new RegExp(`traceparent|${traceId}`, 'i'));
});

test('a request that is not sampled or not traced stores no context, and its delivery has a trace of its own', async () => {
  await using receiver = await receiveWebhooks();
  await using service = await startService();
  const stored = async () =>
    (
      await service.query(
        'select trace_context from events union all select trace_context from email_deliveries',
      )
    ).map((row) => row['trace_context']);
  const webhook = { url: receiver.url, events: ['gift_card.created'] };
  assert.equal((await service.request('/webhooks', { method: 'POST', json: webhook })).status, 201);
  const json = { initial_value: 5, recipient_email: 'grace@example.com' };
  const issue = (headers: Record<string, string>) =>
    service.request('/gift_card', { method: 'POST', headers, json });
  assert.equal((await issue({ traceparent })).status, 201);
  await until(() => receiver.got.length === 1);
  assert.equal(receiver.got[0]?.headers['traceparent'], undefined);
  const untraced = await stored();
  assert.ok(untraced.length >= 2 && untraced.every((context) => context === null));

  await using database = await engine.createDatabase();
  using sdk = registerSdk();
  await using traced = await startOn(database, {});
  const post = (path: string, sent: object) =>
    send(`${traced.url}${path}`, {
      method: 'POST',
      headers: { traceparent: `${traceparent.slice(0, -2)}00` },
      json: sent,
    });
  assert.equal((await post('/webhooks', webhook)).status, 201);
  assert.equal((await post('/gift_card', json)).status, 201);
  await until(() => deliveries.every((name) => sdk.named(name).length > 0));
  assert.equal(sdk.named('enqueue events').length + sdk.named('enqueue emails').length, 0);
  for (const { own, parent } of [...sdk.named('deliver events'), ...sdk.named('deliver emails')])
    assert.deepEqual([parent, own.traceId === traceId], [undefined, false]);
  const rows = await database.query('select trace_context from events where trace_context is not null');
  assert.deepEqual(rows, []);
  assert.equal(sdk.named('send email').length, 0, 'a folder is not another server');
});
