/** Webhooks: queueing, delivery and states. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { Webhook as Verifier } from 'standardwebhooks';
import { generateSigningSecret } from '../../src/features/webhooks/delivery/signature.ts';
import type { EmailAddress } from '../../src/core/domain/email-address.ts';
import type { Store } from '../../src/core/stores/domain/store.ts';
import type { Delivery, Webhook } from '../../src/features/webhooks/domain/webhook.ts';
import { update } from '../../src/core/cards/service/card.ts';
import { issue } from '../../src/core/cards/service/issue.ts';
import { redeliver } from '../../src/features/webhooks/service/event.ts';
import { createStore } from '../../src/core/stores/service/store.ts';
import { eraseDeliveriesOf } from '../../src/jobs/retention.ts';
import {
  changeWebhook,
  addWebhook,
  listWebhookDeliveries,
  removeWebhook,
  replaceWebhookSecret,
  showDelivery,
  showWebhook,
  sendTestEvent,
} from '../../src/features/webhooks/service/webhook.ts';
import { all, sql } from '../../src/database/sql/sql.ts';
import type { Storage } from '../../src/database/storage.ts';
import { openMigrated, type StorageFactory } from '../support/database.ts';
import { deliver, until, type PostRequest, type Receive, type TestWorker } from '../support/delivering.ts';
import {
  email,
  issueCommand,
  contextWithSlowClock,
  manualClock,
  newStore,
  testContext,
  updateCommand,
  type TestContext,
} from '../support/fixtures.ts';

const hour = 3_600_000;

type Opened = AsyncDisposable & {
  readonly storage: Storage;
  readonly ctx: TestContext;
  readonly store: Store;
  /** One more engine on the same database. */
  another(): Storage;
  webhook(patterns?: readonly string[], url?: string): Promise<Webhook & { readonly secret: string }>;
  issue(customer?: EmailAddress): Promise<number>;
  deliveries(webhook: Pick<Webhook, 'id'>): Promise<readonly Delivery[]>;
  worker(receive: Receive, on?: Storage, stopMs?: number): TestWorker;
};

async function open(factory: StorageFactory): Promise<Opened> {
  const opened = await openMigrated(factory);
  const { storage } = opened;
  const ctx = testContext({ clock: manualClock(Date.UTC(2026, 2, 15, 12)) });
  const store = await storage.write(() => createStore(ctx, newStore()));
  const workers: TestWorker[] = [];
  return {
    storage,
    ctx,
    store,
    another: () => opened.database.open(),
    async webhook(patterns = ['gift_card.*'], url = 'https://shop.example.com/hook') {
      const secret = generateSigningSecret(ctx.random);
      const { webhook } = await storage.write(() =>
        addWebhook(ctx, { storeId: store.id, url, patterns, secret }),
      );
      return { ...webhook, secret: secret.reveal() };
    },
    async issue(customer) {
      const { card } = await storage.write(() =>
        issue(ctx, issueCommand(store, { customer: customer ?? null })),
      );
      return card.id;
    },
    async deliveries({ id }) {
      const page = await storage.read(() =>
        listWebhookDeliveries(store.id, id, { limit: 250, before: null, after: null }),
      );
      return page.items;
    },
    worker(receive, on = storage, stopMs = 12_000) {
      const worker = deliver({ ctx, storage: on }, receive, { stopMs });
      workers.push(worker);
      return worker;
    },
    async [Symbol.asyncDispose]() {
      for (const worker of workers) await worker.stop();
      await opened[Symbol.asyncDispose]();
    },
  };
}

function typeOf({ body }: PostRequest): string {
  return (JSON.parse(String(body)) as { readonly type: string }).type;
}

export function testWebhooks(factory: StorageFactory): void {
  testEnqueuing(factory);
  testSending(factory);
  testFailing(factory);
  testSharing(factory);
}

function testEnqueuing(factory: StorageFactory): void {
  test('an event is queued for every active webhook that subscribes to it, and for no other', async () => {
    await using opened = await open(factory);
    const { storage, ctx, store } = opened;
    const everything = await opened.webhook(['*']);
    const cards = await opened.webhook(['gift_card.*']);
    const customers = await opened.webhook(['customer.created']);
    const redeemed = await opened.webhook(['gift_card.redeemed', 'gift_card.credited']);
    const paused = await opened.webhook(['*']);
    await storage.write(() =>
      changeWebhook(ctx, { storeId: store.id, id: paused.id, versions: null, changes: { paused: true } }),
    );
    await opened.issue(email('ada@example.com'));
    const typesOf = async (webhook: Webhook): Promise<string[]> =>
      (await opened.deliveries(webhook)).map(({ eventType }) => eventType).toReversed();
    assert.deepEqual(await typesOf(everything), ['customer.created', 'gift_card.created']);
    assert.deepEqual(await typesOf(cards), ['gift_card.created']);
    assert.deepEqual(await typesOf(customers), ['customer.created']);
    assert.deepEqual(await typesOf(redeemed), []);
    assert.deepEqual(await typesOf(paused), []);
  });

  test("another store's events are not queued", async () => {
    await using opened = await open(factory);
    const { storage, ctx } = opened;
    const webhook = await opened.webhook(['*']);
    const other = await storage.write(() => createStore(ctx, newStore({ domain: 'other.example' })));
    await storage.write(() => issue(ctx, issueCommand(other)));
    assert.deepEqual(await opened.deliveries(webhook), []);
  });

  test('a change that is rolled back queues nothing, and a dry run queues nothing', async () => {
    await using opened = await open(factory);
    const { storage, ctx, store } = opened;
    const webhook = await opened.webhook(['*']);
    await storage.dryRun(() => issue(ctx, issueCommand(store)));
    await assert.rejects(
      storage.write(function* () {
        yield* issue(ctx, issueCommand(store));
        throw new Error('undone');
      }),
      /undone/,
    );
    assert.deepEqual(await opened.deliveries(webhook), []);
  });

  test('a store can have 20 webhooks, even if many are created concurrently', async () => {
    await using opened = await open(factory);
    const made = await Promise.allSettled(Array.from({ length: 25 }, () => opened.webhook()));
    assert.equal(made.filter(({ status }) => status === 'fulfilled').length, 20);
  });

  test('deleting a webhook deletes its queue and its log', async () => {
    await using opened = await open(factory);
    const { storage, store } = opened;
    const webhook = await opened.webhook();
    await opened.issue();
    await storage.write(() => removeWebhook({ storeId: store.id, id: webhook.id, versions: null }));
    const rows = await storage.read(() =>
      all(sql<{ event_id: bigint }>`select event_id from webhook_deliveries`),
    );
    assert.deepEqual(rows, []);
  });
}

function testSending(factory: StorageFactory): void {
  test('the Standard Webhooks library verifies the signature of a message, which contains the event', async () => {
    await using opened = await open(factory);
    const webhook = await opened.webhook();
    const cardId = await opened.issue();
    const got: PostRequest[] = [];
    opened.worker((request) => {
      got.push(request);
      return { status: 204 };
    });
    await until(async () => (await opened.deliveries(webhook))[0]?.status === 'delivered');
    const [request] = got;
    assert.ok(request && got.length === 1);
    // The library compares the timestamp with the real time.
    const timestamp = Number(request.headers['webhook-timestamp']) * 1_000;
    assert.equal(timestamp, opened.ctx.clock.now());
    const verified = verifiedAt(timestamp, () =>
      new Verifier(webhook.secret).verify(String(request.body), request.headers),
    );
    const event = verified as {
      readonly [name: string]: unknown;
      readonly data: { readonly gift_card: { readonly id: number } };
    };
    assert.equal(request.headers['webhook-id'], String(event['id']));
    assert.deepEqual(Object.keys(event), ['id', 'type', 'store', 'created_at', 'sequence', 'data']);
    assert.equal(event['store'], opened.store.domain);
    assert.equal(event['sequence'], 1);
    assert.equal(event.data.gift_card.id, opened.ctx.keys.publicIds.of(cardId));
    assert.ok(!String(request.body).includes('"code"'));
  });

  test('both secrets verify during a rotation, and only the new one after 24 hours', async () => {
    await using opened = await open(factory);
    const { storage, ctx, store } = opened;
    const webhook = await opened.webhook();
    const secret = generateSigningSecret(ctx.random);
    const command = { storeId: store.id, id: webhook.id, versions: null };
    await storage.write(() => replaceWebhookSecret(ctx, { ...command, secret }));
    const got: PostRequest[] = [];
    const worker = opened.worker((request) => {
      got.push(request);
      return { status: 200 };
    });
    const verifiesWith = (request: PostRequest | undefined, text: string): boolean => {
      assert.ok(request);
      try {
        verifiedAt(Number(request.headers['webhook-timestamp']) * 1_000, () =>
          new Verifier(text).verify(String(request.body), request.headers),
        );
        return true;
      } catch {
        return false;
      }
    };
    await opened.issue();
    worker.wake();
    await until(() => got.length === 1);
    assert.deepEqual(
      [webhook.secret, secret.reveal()].map((text) => verifiesWith(got[0], text)),
      [true, true],
    );
    // Waits until the success is recorded: otherwise the expired claim causes another delivery.
    await until(async () => (await opened.deliveries(webhook))[0]?.status === 'delivered');
    ctx.clock.advance(24 * hour + 1);
    await opened.issue();
    worker.wake();
    await until(() => got.length === 2);
    assert.deepEqual(
      [webhook.secret, secret.reveal()].map((text) => verifiesWith(got[1], text)),
      [false, true],
    );
  });

  test('a failed delivery is retried with the same message at growing intervals, and logs every attempt', async () => {
    await using opened = await open(factory);
    const { storage, ctx, store } = opened;
    const webhook = await opened.webhook();
    await opened.issue();
    const got: PostRequest[] = [];
    const responses = [
      { status: 503, body: 'down' },
      { failure: 'timeout' },
      { status: 302, body: '' },
      { status: 200, body: 'thanks' },
    ] as const;
    const worker = opened.worker((request) => {
      got.push(request);
      return responses[got.length - 1] ?? { status: 500 };
    });
    const [first] = await opened.deliveries(webhook);
    assert.ok(first);
    const waits: number[] = [];
    for (let made = 1; made <= responses.length; made += 1) {
      await until(async () => (await opened.deliveries(webhook))[0]?.attempts === made);
      const { status, nextAt }: Delivery = (await opened.deliveries(webhook))[0] ?? first;
      assert.equal(status, made < responses.length ? 'retrying' : 'delivered');
      if (nextAt === null) break;
      waits.push(nextAt - ctx.clock.now());
      // One millisecond before it is due.
      ctx.clock.advance(nextAt - ctx.clock.now() - 1);
      worker.wake();
      await wait(50);
      assert.equal(got.length, made);
      ctx.clock.advance(1);
      worker.wake();
    }
    const steps = [5_000, 30_000, 120_000];
    assert.equal(waits.length, steps.length);
    for (const [index, step] of steps.entries())
      assert.ok((waits[index] ?? 0) >= step / 2 && (waits[index] ?? 0) <= step, `waits ${waits.join(' ')}`);
    assert.equal(new Set(got.map(({ body }) => String(body))).size, 1);
    assert.equal(new Set(got.map(({ headers }) => headers['webhook-id'])).size, 1);
    const { attempts } = await storage.read(() =>
      showDelivery(store.id, { webhookId: webhook.id, eventId: first.eventId }),
    );
    assert.deepEqual(
      attempts.map(({ result }) =>
        result.kind === 'responded' ? [result.status, result.body] : result.reason,
      ),
      [[503, 'down'], 'timeout', [302, ''], [200, 'thanks']],
    );
    assert.equal((await storage.read(() => showWebhook(store.id, webhook.id))).failing, null);
  });

  test('Retry-After delays the next attempt', async () => {
    await using opened = await open(factory);
    const webhook = await opened.webhook();
    await opened.issue();
    opened.worker(() => ({ status: 429, retryAfter: '3600' }));
    await until(async () => (await opened.deliveries(webhook))[0]?.attempts === 1);
    const [delivery] = await opened.deliveries(webhook);
    assert.equal(delivery?.nextAt, opened.ctx.clock.now() + hour);
  });

  test('a test event goes to its webhook despite its subscriptions, and to no other', async () => {
    await using opened = await open(factory);
    const { storage, ctx, store } = opened;
    const webhook = await opened.webhook(['customer.created']);
    const other = await opened.webhook(['*']);
    const delivery = await storage.write(() => sendTestEvent(ctx, { storeId: store.id, id: webhook.id }));
    assert.equal(delivery.eventType, 'webhook.test');
    const got: string[] = [];
    opened.worker((request) => {
      got.push(typeOf(request));
      return { status: 200 };
    });
    await until(async () => (await opened.deliveries(webhook))[0]?.status === 'delivered');
    assert.deepEqual(got, ['webhook.test']);
    assert.deepEqual(await opened.deliveries(other), []);
  });

  test('an event is redelivered to one webhook or all that subscribe to it, and the attempts start over', async () => {
    await using opened = await open(factory);
    const { storage, ctx, store } = opened;
    const webhook = await opened.webhook();
    await opened.issue();
    const late = await opened.webhook(['gift_card.created']);
    const stranger = await opened.webhook(['customer.created']);
    let isUp = false;
    const worker = opened.worker(() => ({ status: isUp ? 200 : 500 }));
    await until(async () => (await opened.deliveries(webhook))[0]?.attempts === 1);
    const eventId = (await opened.deliveries(webhook))[0]?.eventId ?? 0;
    isUp = true;
    const deliveries = await storage.write(() =>
      redeliver(ctx, { storeId: store.id, eventId, webhookId: null }),
    );
    assert.deepEqual(
      deliveries.map(({ webhookId }) => webhookId),
      [webhook.id, late.id],
    );
    worker.wake();
    for (const one of [webhook, late])
      await until(async () => (await opened.deliveries(one))[0]?.status === 'delivered');
    assert.deepEqual(await opened.deliveries(stranger), []);
    await storage.write(() => redeliver(ctx, { storeId: store.id, eventId, webhookId: stranger.id }));
    worker.wake();
    await until(async () => (await opened.deliveries(stranger))[0]?.status === 'delivered');
    const { attempts } = await storage.read(() => showDelivery(store.id, { webhookId: webhook.id, eventId }));
    assert.equal(attempts.length, 2);
  });

  test('ended deliveries are deleted with their attempts after 30 days, and waiting ones are not', async () => {
    await using opened = await open(factory);
    const { storage, ctx, store } = opened;
    const webhook = await opened.webhook();
    await opened.issue();
    let isUp = false;
    const worker = opened.worker(() => ({ status: isUp ? 200 : 500 }));
    await until(async () => (await opened.deliveries(webhook))[0]?.attempts === 1);
    isUp = true;
    ctx.clock.advance(hour);
    worker.wake();
    await until(async () => (await opened.deliveries(webhook))[0]?.status === 'delivered');
    await worker.stop();
    const place = { storeId: store.id, id: webhook.id };
    assert.equal(
      await storage.write(() =>
        eraseDeliveriesOf(ctx, place, { deliveriesMs: 30 * 24 * 60 * 60_000, limit: 10 }),
      ),
      false,
    );
    assert.equal((await opened.deliveries(webhook)).length, 1);
    await opened.issue();
    ctx.clock.advance(31 * 24 * hour);
    await storage.write(() =>
      eraseDeliveriesOf(ctx, place, { deliveriesMs: 30 * 24 * 60 * 60_000, limit: 10 }),
    );
    assert.deepEqual(
      (await opened.deliveries(webhook)).map(({ status }) => status),
      ['queued'],
    );
    assert.deepEqual(await storage.read(() => all(sql`select attempt from webhook_attempts`)), []);
  });
}

function testFailing(factory: StorageFactory): void {
  test('a delivery first attempted while the clock was days behind is retried for 72 hours', async () => {
    await using opened = await open(factory);
    const { storage, ctx, store } = opened;
    const webhook = await opened.webhook();
    const slow = contextWithSlowClock(ctx, 4 * 24 * hour);
    await storage.write(() => issue(slow, issueCommand(store)));
    const first = deliver({ ctx: slow, storage }, () => ({ status: 500 }));
    await until(() => first.outcomes.length > 0);
    await first.stop();
    ctx.clock.advance(hour);
    const second = opened.worker(() => ({ status: 500 }));
    await until(() => second.outcomes.length > 0);
    assert.deepEqual([...first.outcomes, ...second.outcomes], ['retrying', 'retrying']);
    await until(async () => (await opened.deliveries(webhook))[0]?.attempts === 2);
  });

  test('a webhook that fails for 72 hours is paused with an event, and its missed deliveries are dead', async () => {
    await using opened = await open(factory);
    const { storage, ctx, store } = opened;
    const webhook = await opened.webhook();
    const watcher = await opened.webhook(['webhook.paused'], 'https://watcher.example.com/');
    const startedAt = ctx.clock.now();
    await opened.issue();
    let notifications = 0;
    const worker = opened.worker(({ url }) => {
      if (!url.includes('watcher')) return { failure: 'connect' };
      notifications += 1;
      return { status: 200 };
    });
    const show = (): Promise<Webhook> => storage.read(() => showWebhook(store.id, webhook.id));
    for (let attempts = 1; !(await show()).paused; attempts += 1) {
      await until(async () => ((await opened.deliveries(webhook))[0]?.attempts ?? 0) >= attempts);
      const [delivery] = await opened.deliveries(webhook);
      assert.ok(attempts <= 31, `${attempts} attempts`);
      const { failing } = await show();
      assert.equal(failing?.since, startedAt);
      if (delivery?.nextAt === null || delivery?.nextAt === undefined) continue;
      ctx.clock.advance(delivery.nextAt - ctx.clock.now());
      worker.wake();
    }
    assert.ok(ctx.clock.now() - startedAt >= 72 * hour);
    const { paused } = await show();
    assert.equal(paused?.reason, 'failures');
    assert.deepEqual(
      (await opened.deliveries(webhook)).map(({ status }) => status),
      ['dead'],
    );
    assert.deepEqual(
      worker.paused.map(({ id }) => id),
      [webhook.id],
    );
    worker.wake();
    await until(() => notifications === 1);
    // Events are not queued for it until it is resumed.
    await opened.issue();
    assert.equal((await opened.deliveries(webhook)).length, 1);
    await storage.write(() =>
      changeWebhook(ctx, { storeId: store.id, id: webhook.id, versions: null, changes: { paused: false } }),
    );
    await opened.issue();
    assert.equal((await opened.deliveries(webhook)).length, 2);
    assert.equal((await opened.deliveries(watcher)).length, 1);
  });

  test('a webhook that returns 410 is paused at once', async () => {
    await using opened = await open(factory);
    const webhook = await opened.webhook();
    await opened.issue();
    const worker = opened.worker(() => ({ status: 410 }));
    await until(() => worker.paused.length === 1);
    assert.equal(worker.paused[0]?.paused?.reason, 'gone');
    assert.deepEqual(
      (await opened.deliveries(webhook)).map(({ status }) => status),
      ['dead'],
    );
  });

  test('one success between failures keeps a webhook active', async () => {
    await using opened = await open(factory);
    const { storage, ctx, store } = opened;
    const webhook = await opened.webhook();
    const cardId = await opened.issue();
    const worker = opened.worker((request) => ({
      status: typeOf(request) === 'gift_card.created' ? 500 : 200,
    }));
    await until(async () => (await opened.deliveries(webhook))[0]?.attempts === 1);
    assert.ok((await storage.read(() => showWebhook(store.id, webhook.id))).failing);
    await storage.write(() => update(ctx, updateCommand(store, cardId, { note: 'x' })));
    worker.wake();
    await until(async () => (await opened.deliveries(webhook))[0]?.status === 'delivered');
    assert.equal((await storage.read(() => showWebhook(store.id, webhook.id))).failing, null);
    ctx.clock.advance(73 * hour);
    worker.wake();
    await until(async () => (await opened.deliveries(webhook))[1]?.status === 'dead');
    assert.equal((await storage.read(() => showWebhook(store.id, webhook.id))).paused, null);
    assert.deepEqual(worker.paused, []);
  });

  test('a receiver that never responds does not delay others', async () => {
    await using opened = await open(factory);
    const dead = await opened.webhook(['*'], 'https://dead.example.com/');
    const alive = await opened.webhook(['*'], 'https://alive.example.com/');
    await Promise.all(Array.from({ length: 40 }, () => opened.issue()));
    const held: (() => void)[] = [];
    opened.worker(({ url }) => {
      if (!url.includes('dead')) return { status: 200 };
      const { promise, resolve } = Promise.withResolvers<{ status: number }>();
      held.push(() => resolve({ status: 500 }));
      return promise;
    });
    await until(async () => (await opened.deliveries(alive)).every(({ status }) => status === 'delivered'));
    // The limit of concurrent deliveries of one webhook.
    assert.equal(held.length, 16);
    assert.ok((await opened.deliveries(dead)).every(({ attempts }) => attempts === 0));
    for (const release of held) release();
  });
}

function testSharing(factory: StorageFactory): void {
  test('several processes send every delivery once', async () => {
    await using opened = await open(factory);
    const webhooks = [await opened.webhook(), await opened.webhook(), await opened.webhook()];
    const count = 120;
    await Promise.all(Array.from({ length: count }, () => opened.issue()));
    const sent = new Map<string, number>();
    const receive: Receive = async ({ url, headers }) => {
      const key = `${url} ${headers['webhook-id']} ${headers['webhook-signature']}`;
      sent.set(key, (sent.get(key) ?? 0) + 1);
      await wait(2);
      return { status: 200 };
    };
    for (let processes = 0; processes < 3; processes += 1) opened.worker(receive, opened.another());
    for (const webhook of webhooks)
      await until(async () =>
        (await opened.deliveries(webhook)).every(({ status }) => status === 'delivered'),
      );
    assert.equal(sent.size, count * webhooks.length);
    assert.ok([...sent.values()].every((times) => times === 1));
  });

  test('deliveries of a killed process are sent by another after its claim expires, and not before', async () => {
    await using opened = await open(factory);
    const { ctx } = opened;
    const webhook = await opened.webhook();
    await opened.issue();
    let taken = 0;
    // Never settles, as if the process had been killed.
    const hang = (): Promise<never> => {
      taken += 1;
      return Promise.withResolvers<never>().promise;
    };
    const dying = opened.worker(hang, opened.another(), 3_000);
    await until(() => taken === 1);
    // It claims nothing more and settles nothing, as if it had been killed.
    const gone = dying.stop();
    let sent = 0;
    const heir = opened.worker(() => {
      sent += 1;
      return { status: 200 };
    });
    ctx.clock.advance(29_000);
    heir.wake();
    await wait(100);
    assert.equal(sent, 0);
    ctx.clock.advance(2_000);
    heir.wake();
    await until(async () => (await opened.deliveries(webhook))[0]?.status === 'delivered');
    assert.equal(taken, 1);
    assert.equal(sent, 1);
    // Its late outcome is not recorded.
    await gone;
    assert.equal((await opened.deliveries(webhook))[0]?.attempts, 1);
  });

  test('a worker that is stopped waits for running deliveries and releases the rest', async () => {
    await using opened = await open(factory);
    const webhook = await opened.webhook();
    await Promise.all(Array.from({ length: 30 }, () => opened.issue()));
    let begun = 0;
    const worker = opened.worker(async () => {
      begun += 1;
      await wait(50);
      return { status: 200 };
    });
    await until(() => begun > 0);
    await worker.stop();
    const deliveries = await opened.deliveries(webhook);
    assert.equal(deliveries.filter(({ status }) => status === 'delivered').length, begun);
    const left = deliveries.filter(({ status }) => status === 'queued');
    assert.equal(left.length, 30 - begun);
    assert.ok(
      left.every(({ nextAt }) => nextAt === opened.ctx.clock.now()),
      'every unsent job is due at once',
    );
  });
}

/** The library reads the real time, which is replaced by the time of the test. */
function verifiedAt(instant: number, verify: () => unknown): unknown {
  const { now } = Date;
  Date.now = () => instant;
  try {
    return verify();
  } finally {
    Date.now = now;
  }
}
