/** The client library calls every operation of a service once, and each result is what the document says. */

import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import type { TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import { clientMethods } from '../../src/features/reference/docs/client-methods.ts';
import { createClient, responseOf, type Largesse } from '../../packages/client/src/index.ts';
import { until } from '../support/delivering.ts';
import { startService } from '../support/service.ts';
import { described, document, inlined, validator, type Json } from '../unit/openapi-document.ts';

const domain = 'flowers.example';
const service = await startService({ stores: [{ domain, undoWindowMinutes: 30 }], isSandbox: true });
after(() => service[Symbol.asyncDispose]());
const token = await service.token(domain);

/** The methods of a client with their names, such as `cards.create`. */
function methodsOf(client: Largesse): readonly (readonly [name: string, method: unknown])[] {
  return Object.entries(client).flatMap(([resource, methods]) =>
    Object.entries(methods as object).map(([name, method]) => [`${resource}.${name}`, method] as const),
  );
}

/** Accepts the JSON of the documented successes of a method. */
const documentedResults = new Map(
  described.map(({ operation }) => {
    const accepts = Object.entries(operation.responses)
      .filter(([status]) => Number(status) < 300)
      .flatMap(([, response]) => {
        const content = (response as { readonly content?: Readonly<Record<string, Json>> }).content ?? {};
        const schema = content['application/json']?.['schema'];
        return schema === undefined ? [] : [validator(schema)];
      });
    const name: string = clientMethods[operation.operationId as keyof typeof clientMethods];
    return [name, (result: unknown) => accepts.some((accept) => accept(result))] as const;
  }),
);

/** A client that checks each result, and records the methods that were called. */
function checkedClient(): {
  readonly client: Largesse;
  readonly called: Set<string>;
  readonly checks: Promise<void>[];
} {
  const called = new Set<string>();
  const checks: Promise<void>[] = [];
  const client: Record<string, Record<string, unknown>> = {};
  for (const [name, method] of methodsOf(createClient({ url: service.url, token }))) {
    const [resource = '', member = ''] = name.split('.');
    const call = (...given: readonly unknown[]): unknown => {
      called.add(name);
      const result = (method as (...given: readonly unknown[]) => unknown)(...given);
      if (result instanceof Promise)
        checks.push(
          result.then(
            (value: unknown) => {
              // The document describes only the first members of itself.
              if (typeof value !== 'object' || name === 'service.openapi') return;
              const isDocumented = documentedResults.get(name)?.(value);
              assert.ok(isDocumented, `${name}: ${JSON.stringify(value)}`);
            },
            // The test has this error.
            () => {},
          ),
        );
      return result;
    };
    client[resource] = { ...client[resource], [member]: call };
  }
  return { client: client as unknown as Largesse, called, checks };
}

const { client, called, checks } = checkedClient();

test('each operation of the document has one method, and each method an operation', () => {
  const operations = described.map(({ operation }) => operation.operationId);
  assert.deepEqual(Object.keys(clientMethods).toSorted(), operations.toSorted());
  const names: readonly string[] = Object.values(clientMethods);
  assert.equal(new Set(names).size, names.length);
  assert.deepEqual(
    methodsOf(createClient({ url: service.url }))
      .map(([name]) => name)
      .toSorted(),
    names.toSorted(),
  );
});

test('the client issues, finds and changes gift cards', async () => {
  const { cards } = client;
  const { gift_card: card } = await cards.create({ initial_value: '25.00', email: 'ada@example.com' });
  const { id, last_characters } = card;
  assert.match(card.code, /^[a-z0-9]{16}$/);
  const found = await cards.search({ last_characters, email: 'ada@example.com' });
  assert.equal(found.gift_card.id, id);
  const read = await cards.retrieve(id);
  const { etag, status, requestId, isReplayed } = responseOf(read);
  assert.deepEqual([status, isReplayed], [200, false]);
  assert.match(requestId ?? '', /./);
  const { gift_card: changed } = await cards.update(id, { note: 'x' }, { ifMatch: etag ?? '' });
  assert.equal(changed.note, 'x');
  await assert.rejects(cards.update(id, { note: 'y' }, { ifMatch: etag ?? '' }), {
    code: 'precondition-failed',
  });
  assert.deepEqual(
    (await cards.list({ state: 'active' })).gift_cards.map((one) => one.id),
    [id],
  );
  assert.equal((await cards.count({ email: 'ada@example.com' })).count, 1);
  assert.equal((await cards.retrieveDetails(id)).gift_card.state, 'active');
  assert.equal((await cards.lookup({ code: card.code })).gift_card.available, '25.00');
  assert.equal((await cards.retrieveBalance(id)).gift_card.available, '25.00');

  await cards.suspend(id, { reason: 'Reported as lost' });
  assert.equal((await cards.resume(id)).gift_card.state, 'active');
  await cards.update(id, { disable: true });
  assert.equal((await cards.reenable(id)).gift_card.disabled_at, null);
  assert.equal((await cards.notify(id)).delivery.recipient, 'ada@example.com');
  assert.equal((await cards.listEmails(id)).deliveries.length > 0, true);
  const { gift_card: rotated } = await cards.rotateCode(id);
  assert.notEqual(rotated.last_characters, last_characters);
  assert.ok((await cards.listHistory(id)).history.length > 3);
});

test('the client moves money, holds it, and gives it back', async () => {
  const { cards, holds, transactions } = client;
  const { gift_card: card } = await cards.create({ initial_value: '50.00', external_id: 'card-1' });
  assert.ok('code' in card);
  const { id, code } = card;
  const redeemed = await cards.redeem({ code, amount: '12.50', external_id: 'till 1/2'.replace(' ', '-') });
  assert.equal(redeemed.gift_card.balance, '37.50');
  const debited = await cards.debit(id, { amount: '2.50' }, { dryRun: true });
  assert.equal(responseOf(debited).headers.get('dry-run'), 'true');
  await cards.debit(id, { amount: '2.50' });
  await cards.credit(id, { amount: '5.00', kind: 'top_up' });

  const { hold } = await cards.hold(id, { amount: '10.00', external_id: 'order-1' });
  assert.equal((await cards.listHolds(id)).holds[0]?.id, hold.id);
  assert.equal((await holds.list({ external_id: 'order-1' })).holds[0]?.id, hold.id);
  assert.equal((await holds.retrieve('external:order-1')).hold.id, hold.id);
  await holds.extend(hold.id, { expires_in: 86_400 });
  assert.equal((await holds.capture(hold.id, { amount: '8.00' })).gift_card.held, '0.00');
  const other = await cards.hold(id, { amount: '1.00' });
  assert.equal((await holds.void(other.hold.id)).hold.status, 'voided');

  const external = 'external:till-1/2';
  assert.equal((await transactions.retrieve(external)).transaction.id, redeemed.transaction.id);
  const back = await transactions.reverse(external, { amount: '2.50' });
  assert.equal(back.gift_card.balance, '34.50');
  assert.equal((await transactions.list({ external_id: 'till-1/2' })).transactions.length, 1);
  assert.equal((await cards.listTransactions(id)).transactions.length, 6);

  // The card exists: the result has no code.
  const again = await cards.create({ initial_value: '50.00', external_id: 'card-1' });
  assert.equal(responseOf(again).status, 200);
  assert.deepEqual([again.gift_card.id, 'code' in again.gift_card], [id, false]);
});

test('the client issues batches and stocks, and reads their codes as JSON and CSV', async () => {
  const { batches, stocks } = client;
  const { batch } = await batches.create({ name: 'Spring', count: 2, initial_value: '5.00' });
  await until(async () => (await batches.retrieve(batch.id)).batch.state === 'complete');
  assert.equal((await batches.list()).batches.length, 1);
  assert.equal((await batches.listCards(batch.id)).cards.length, 2);
  assert.match(await batches.listCards(batch.id, { format: 'csv' }), /\r?\n/);

  const { stock } = await stocks.create({ name: 'Counter', count: 3, fixed_value: '20.00' });
  await until(async () => (await stocks.retrieve(stock.id)).stock.state === 'complete');
  assert.equal((await stocks.list()).stocks.length, 1);
  const { codes } = await stocks.listCodes(stock.id);
  const csv = await stocks.listCodes(stock.id, { format: 'csv' });
  assert.ok(codes.every(({ code }) => csv.includes(code)));
  assert.equal(
    (await stocks.void(stock.id, { codes: codes.slice(0, 1).map(({ code }) => code) })).stock.voided,
    1,
  );
});

test('the client keeps locations, customers and webhooks', async () => {
  const { locations, customers, webhooks, events } = client;
  const { location } = await locations.create({ name: 'Harbour' });
  await locations.update(location.id, { address: 'Quay 1' });
  assert.equal((await locations.retrieve(location.id)).location.address, 'Quay 1');
  assert.equal((await locations.list()).locations.length, 1);

  const { customers: found } = await customers.list({ email: 'ada@example.com' });
  const [customer] = found;
  assert.ok(customer);
  await customers.update(customer.id, { storefront_customer_id: 77 });
  assert.equal((await customers.retrieve(customer.id)).customer.storefront_customer_id, 77);
  assert.equal((await customers.listCards(customer.id)).gift_cards.length, 1);
  assert.ok('customer' in (await customers.export(customer.id)));
  await customers.erase(customer.id);
  await until(async () => (await customers.retrieveErasure(customer.id)).erasure.status === 'complete');

  const { webhook } = await webhooks.create({ url: 'https://shop.example.com/', events: ['gift_card.*'] });
  assert.match(webhook.secret, /^whsec_/);
  assert.equal((await webhooks.list()).webhooks.length, 1);
  await webhooks.update(webhook.id, { events: ['*'] });
  assert.deepEqual((await webhooks.retrieve(webhook.id)).webhook.events, ['*']);
  assert.notEqual((await webhooks.rotateSecret(webhook.id)).webhook.secret, webhook.secret);
  assert.equal((await webhooks.test(webhook.id)).delivery.event_type, 'webhook.test');
  const newest = async () => (await events.list({ limit: 1 })).events[0];
  // On a server, the list waits for transactions of other tests that began before.
  await until(async () => (await newest()) !== undefined);
  const event = await newest();
  assert.ok(event);
  assert.equal((await events.retrieve(event.id)).event.type, event.type);
  assert.equal((await events.redeliver(event.id, { webhook_id: webhook.id })).deliveries.length, 1);
  assert.equal((await webhooks.retrieveDelivery(webhook.id, event.id)).delivery.event_id, event.id);
  assert.equal((await webhooks.listDeliveries(webhook.id)).deliveries.length, 2);
  assert.equal((await webhooks.delete(webhook.id)).webhook.id, webhook.id);
});

test('the client moves the clock of a sandbox', async () => {
  const { testClock } = client;
  const { test_clock: before } = await testClock.retrieve();
  const { test_clock: later } = await testClock.advance({ advance_seconds: 1 });
  assert.ok(later.now > before.now);
});

test('the client reads reports, proofs, events and the service', async () => {
  const { reports, checkpoints, cards, events, service: pages } = client;
  const today = new Date(service.clock.now()).toISOString().slice(0, 10);
  const days = { from: today, to: today };
  assert.equal((await reports.liability()).liability.currency, 'USD');
  assert.match(await reports.liability({ format: 'csv' }), /outstanding/);
  assert.ok((await reports.journal(days)).journal.lines.length > 0);
  assert.ok((await reports.aging()).aging);
  assert.ok((await reports.activity({ ...days, by: 'actor' })).activity.rows.length > 0);
  assert.ok((await reports.breakage(days)).breakage);

  const { checkpoint: first } = await checkpoints.create();
  const { gift_card: card } = await cards.create({ initial_value: '1.00' });
  // On PostgreSQL, the log waits for older transactions of the server, also those of other tests.
  let second = first;
  await until(async () => {
    ({ checkpoint: second } = await checkpoints.create());
    return second.size > first.size;
  });
  assert.ok((await checkpoints.list()).checkpoints.length >= 2);
  const range = { from: first.size, to: second.size };
  assert.ok((await checkpoints.proveConsistency(range)).consistency);
  assert.ok((await checkpoints.listLeaves()).leaf_range.hashes.length > 0);
  assert.ok((await checkpoints.listKeys()).log);
  assert.ok((await cards.prove(card.id)).gift_card_proof.entries.length > 0);

  const { events: all } = await events.list({ limit: 1 });
  for await (const event of events.stream({ after: all[0]?.id ?? 0 })) {
    assert.ok(event.id > (all[0]?.id ?? 0));
    break;
  }
  assert.equal((await pages.health()).status, 'ok');
  assert.ok((await pages.readiness()).status);
  assert.match(await pages.metrics(), /^# HELP/m);
  assert.equal((await pages.openapi()).openapi, '3.1.1');
});

test('every event has the data that the document shows for its type', async () => {
  const schemas: Readonly<Record<string, object>> = document.components.schemas;
  const { mapping } = (schemas['WebhookEvent'] as { readonly discriminator: { readonly mapping: Json } })
    .discriminator;
  const accepts = new Map(
    Object.entries(mapping).map(([type, $ref]) => [type, Compile(inlined({ $ref }) as TSchema)] as const),
  );
  const seen = new Set<string>();
  for await (const event of client.events.list({ limit: 250 })) {
    assert.ok(accepts.get(event.type)?.Check(event), JSON.stringify(event));
    const member = Object.keys(event.data).find((name) => name !== 'changed') ?? '';
    const { [member]: _, ...rest } = event.data as Json;
    assert.ok(!accepts.get(event.type)?.Check({ ...event, data: rest }), `${event.type} without ${member}`);
    seen.add(event.type);
  }
  assert.ok(seen.size >= 16, [...seen].join());
});

test('every method was called, and every result is documented', async () => {
  await Promise.all(checks);
  assert.deepEqual([...called].toSorted(), (Object.values(clientMethods) as readonly string[]).toSorted());
});
