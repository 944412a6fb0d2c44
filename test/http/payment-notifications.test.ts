/** Notifications of payment providers: their size, their rate, and signatures that are wrong. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { checkDatabase } from '../../src/features/doctor/cli/database.ts';
import type { Limits } from '../../src/platform/limits.ts';
import { Secret } from '../../src/platform/secret.ts';
import { requireStore } from '../../src/core/stores/service/store.ts';
import { readConfig } from '../../src/start/config.ts';
import { saveProvider } from '../../src/features/online-sales/storage/provider.ts';
import { openBrowser, type Browser } from '../support/browser.ts';
import { consoleDomain, join } from '../support/console.ts';
import { textOfPage } from '../support/counter-staff.ts';
import { until } from '../support/delivering.ts';
import { startService, type TestService } from '../support/service.ts';
import { stripeHint } from '../support/stripe.ts';

const secret = 'whsec_0123456789abcdef0123456789abcdef';
const wrong = 'whsec_fedcba9876543210fedcba9876543210';
const minuteMs = 60_000;
/** For pages of a busy machine. */
const waitMs = 3 * minuteMs;
const origin = 'https://cards.flowers.example';
const host = 'cards.flowers.example';

type Notified = {
  readonly service: TestService;
  /** Sends an event. @returns the status. */
  readonly notify: (given?: {
    readonly secret?: string | null;
    readonly isLive?: boolean;
    readonly padding?: number;
    readonly to?: string;
  }) => Promise<number>;
  /** The recorded times of wrong signatures, without null. */
  readonly recorded: () => Promise<readonly number[]>;
  readonly publicId: number;
};

async function startNotified(limits: Partial<Limits> = {}): Promise<Notified> {
  const state = { publicId: 0 };
  const service = await startService({
    stores: [{ domain: consoleDomain }],
    limits: { examinationPeriodMs: 20, ...limits },
    environment: { PUBLIC_URL: origin },
    beforeStart: async ({ ctx, storage }) => {
      const { store } = await storage.read(() => requireStore(consoleDomain));
      state.publicId = ctx.keys.publicIds.of(store.id);
      const provider = {
        storeId: store.id,
        kind: 'stripe',
        isTest: false,
        account: 'acct_1',
        isActive: true,
        hasHintSecret: true,
        keySetAt: ctx.clock.now(),
        failingSince: null,
        failure: null,
        comparedUntil: ctx.clock.now(),
        copiedAt: null,
        hintsRejectedSince: null,
        hintsRejectedAt: null,
      } as const;
      const key = new Secret('sk_live_0123456789abcdef');
      await storage.write(() => saveProvider(ctx, provider, { key, hintSecret: new Secret(secret) }));
    },
  });
  return {
    service,
    publicId: state.publicId,
    async notify({ secret: signing = secret, isLive = true, padding = 0, to } = {}) {
      const event = { type: 'x', object: { id: 'cs_unknown', evidence: 'x'.repeat(padding) } };
      const at = service.clock.now();
      const { body, headers } = stripeHint(event, { secrets: signing === null ? [] : [signing], at, isLive });
      const response = await service.request(to ?? `/payments/stripe/${state.publicId}`, {
        method: 'POST',
        headers: {
          host,
          'content-type': 'application/json',
          ...(signing !== null && headers),
        },
        body: body.toString(),
      });
      return response.status;
    },
    recorded: async () =>
      (
        await service.query(
          'select hints_rejected_since from payment_providers where hints_rejected_since is not null',
        )
      ).map((row) => Number(row['hints_rejected_since'])),
  };
}

async function cardOf(browser: Browser, language: string): Promise<string> {
  const page = await browser.request('/today', { headers: { 'accept-language': language } });
  const [card = ''] = /<section class="panel health".*?<\/section>/s.exec(page.text) ?? [];
  return textOfPage({ text: card }).trim();
}

async function counted({ request }: Pick<TestService, 'request'>, signature: string): Promise<number> {
  const { text } = await request('/metrics');
  const line = new RegExp(
    `^largesse_payment_notifications_total\\{provider="stripe",signature="${signature}"\\} (\\d+)$`,
    'm',
  );
  return Number(line.exec(text)?.[1] ?? 0);
}

test('an event of Stripe has up to 256 KiB, and a notification of Mollie 4 KiB', async () => {
  await using notified = await disposable(startNotified());
  const { notify, service, publicId } = notified;
  assert.equal(await notify({ padding: 200_000 }), 200);
  assert.equal(await counted(service, 'right'), 1, 'the signature of the whole body was compared');
  assert.equal(await notify({ padding: 256 * 1_024 }), 413);
  const mollie = async (id: string) =>
    (
      await service.request(`/payments/mollie/${publicId}`, {
        method: 'POST',
        headers: { host, 'content-type': 'application/x-www-form-urlencoded' },
        body: `id=${id}`,
      })
    ).status;
  assert.equal(await mollie('tr_1'), 200);
  assert.equal(await mollie('x'.repeat(4_096)), 413);
});

test('notifications and visitors use up nothing of each other, and a network has a limit for all stores', async () => {
  // Nothing is refilled, however slow the machine is.
  const limits = {
    hintsPerSecond: 0.001,
    hintsBurst: 160,
    hintedStoresOfNetwork: 2,
    visitorRequestsPerSecond: 0.001,
    visitorRequestsBurst: 100,
  };
  await using notified = await disposable(startNotified(limits));
  const { notify, service, publicId } = notified;
  const visit = async () => (await service.request('/buy/unknown.example', { headers: { host } })).status;
  const statuses = new Set<number>();
  for (let each = 0; each < 150; each += 1) statuses.add(await notify());
  assert.deepEqual([...statuses], [200]);
  assert.equal(await visit(), 404);
  for (let each = 0; each < 150; each += 1) statuses.add(await visit());
  assert.ok(statuses.has(429), 'visitors are limited');
  assert.equal(await notify(), 200);

  while ((await notify()) === 200) statuses.add(200);
  // Notifications about another store have another limit, and a network has one limit for all stores.
  const others = new Map<number, number>();
  for (let each = 1; each <= 400; each += 1) {
    const status = await notify({ to: `/payments/stripe/${publicId + each}` });
    others.set(status, (others.get(status) ?? 0) + 1);
  }
  const accepted = 400 - (others.get(429) ?? 0);
  assert.ok(accepted >= 150 && accepted <= 161, `${accepted} about made-up stores`);
});

test('three wrong signatures in a row are a finding, until a right one', async () => {
  await using notified = await disposable(startNotified());
  const { notify, service, recorded } = notified;
  const visitor = () => openBrowser({ ...service, url: origin });
  const owner = await join(service, 'owner', visitor());
  const manager = await join(service, 'manager', visitor());
  const logged = () =>
    service.log().match(/notifications of a payment provider have wrong signatures/g)?.length ?? 0;
  const doctor = async () =>
    (await checkDatabase(readConfig(service.environment))).find(({ check }) => check === 'payments');
  for (let round = 0; round < 2; round += 1) {
    assert.equal(await notify({ secret: wrong }), 200);
    assert.equal(await notify({ secret: wrong }), 200);
    assert.equal(await notify(), 200);
  }
  // These say nothing about the secret.
  for (let each = 0; each < 5; each += 1) {
    assert.equal(await notify({ secret: null }), 200);
    assert.equal(await notify({ secret: wrong, isLive: false }), 200);
  }
  assert.deepEqual([await recorded(), logged()], [[], 0]);
  assert.equal((await doctor())?.status, 'ok');

  const before = service.clock.now();
  for (let each = 0; each < 3; each += 1) assert.equal(await notify({ secret: wrong }), 200);
  const [since = 0, ...further] = await recorded();
  assert.ok(since >= before && since <= service.clock.now());
  assert.deepEqual([further, logged()], [[], 1]);
  assert.deepEqual([await counted(service, 'wrong'), await counted(service, 'right')], [7, 2]);
  const spoken = [
    [
      'en',
      /^1 thing needs you soon: Notifications of Stripe have had wrong signatures since .*others send requests/,
    ],
    ['de', /Benachrichtigungen von Stripe haben seit .* falsche Signaturen/],
    ['fr', /Les notifications de Stripe ont de mauvaises signatures depuis /],
    ['es', /Las notificaciones de Stripe tienen firmas incorrectas desde /],
  ] as const;
  for (const [language, said] of spoken)
    await until(async () => said.test(await cardOf(owner, language)), waitMs);
  assert.equal(await cardOf(manager, 'en'), '', 'a manager cannot set the secret');
  assert.match(
    textOfPage(await owner.get('/settings/online-sales')),
    /Notifications have had wrong signatures since .*Compare the signing secret/,
  );
  const found = await doctor();
  assert.equal(found?.status, 'warning');
  assert.match(
    found?.message ?? '',
    /^notifications of Stripe for flowers\.example have had wrong signatures since 2/,
  );
  const gauge = async () =>
    /^largesse_payment_notifications_rejected (\d+)$/m.exec((await service.request('/metrics')).text)?.[1];
  await until(async () => (await gauge()) === '1', waitMs);

  assert.equal(await notify(), 200);
  assert.deepEqual(await recorded(), []);
  await until(async () => (await cardOf(owner, 'en')) === '' && (await gauge()) === '0', waitMs);
});

test('wrong signatures of strangers write at most once in ten minutes, and log once in an hour', async () => {
  await using notified = await disposable(startNotified());
  const { notify, service, recorded } = notified;
  const logged = () =>
    service.log().match(/notifications of a payment provider have wrong signatures/g)?.length ?? 0;
  const strangers = async (count = 6) => {
    for (let each = 0; each < count; each += 1) assert.equal(await notify({ secret: wrong }), 200);
  };
  await strangers();
  const first = await recorded();
  assert.equal(first.length, 1);
  service.clock.advance(minuteMs);
  await strangers();
  assert.deepEqual(await recorded(), first, 'what is recorded stays');
  // The provider's own notifications come between them.
  assert.equal(await notify(), 200);
  await strangers();
  assert.deepEqual(await recorded(), []);
  service.clock.advance(10 * minuteMs);
  await strangers(1);
  assert.deepEqual([(await recorded()).length, logged()], [1, 1]);
  service.clock.advance(60 * minuteMs);
  await strangers(3);
  assert.equal(logged(), 2);
});

async function disposable(starting: Promise<Notified>): Promise<Notified & AsyncDisposable> {
  const notified = await starting;
  return { ...notified, [Symbol.asyncDispose]: () => notified.service[Symbol.asyncDispose]() };
}
