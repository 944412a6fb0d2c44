/** A store that sells gift cards online in a sandbox, whose payments a test decides on the sandbox's own page. */

import assert from 'node:assert/strict';
import type { SalePage } from '../../src/features/online-sales/domain/rules.ts';
import { defaultSalePage } from '../../src/features/online-sales/service/settings.ts';
import { changeStore, requireStore } from '../../src/core/stores/service/store.ts';
import { sandboxKey } from '../../src/features/online-sales/domain/sandbox-payment.ts';
import type { Database } from '../../src/start/database.ts';
import { saveProvider } from '../../src/features/online-sales/storage/provider.ts';
import { saveSalePage } from '../../src/features/online-sales/storage/settings.ts';
import type { Browser } from './browser.ts';
import { freePort } from './postgres-port.ts';
import { startService, type TestService } from './service.ts';

export const buyDomain = 'flowers.example';

/** Opens the buy page of a store of a sandbox. */
export async function openSandboxPage(
  { ctx, storage }: Pick<Database, 'ctx' | 'storage'>,
  given: Partial<SalePage> = {},
): Promise<void> {
  const { store } = await storage.read(() => requireStore(buyDomain));
  const money = (minor: number) => ({ minor: BigInt(minor), currency: store.currency });
  await storage.write(function* open() {
    yield* changeStore(ctx, store.domain, { vat: { kind: 'single_purpose', rate: '20' } });
    yield* saveProvider(
      ctx,
      {
        storeId: store.id,
        kind: 'sandbox',
        isTest: true,
        account: 'Sandbox',
        isActive: true,
        hasHintSecret: false,
        keySetAt: ctx.clock.now(),
        failingSince: null,
        failure: null,
        comparedUntil: null,
        copiedAt: null,
        hintsRejectedSince: null,
        hintsRejectedAt: null,
      },
      { key: sandboxKey(store.id), hintSecret: null },
    );
    yield* saveSalePage({
      ...defaultSalePage(store),
      isOpen: true,
      addressLimit: null,
      cardLimit: null,
      networkLimit: null,
      storeLimit: null,
      presets: [money(2_500), money(5_000), money(10_000)],
      min: money(1_000),
      max: money(25_000),
      termsUrl: 'https://flowers.example/terms',
      privacyUrl: 'https://flowers.example/privacy',
      imprintUrl: 'https://flowers.example/imprint',
      frameDomains: ['www.flowers.example'],
      ...given,
    });
  });
}

/** A sandbox with an open buy page. */
export async function startSelling(
  given: Partial<SalePage> = {},
  options: Parameters<typeof startService>[0] = {},
): Promise<TestService> {
  const port = String(await freePort());
  return await startService({
    isSandbox: true,
    stores: [{ domain: buyDomain, name: 'Flowers', currency: 'EUR' }],
    ...options,
    // Tests open pages faster than visitors do.
    limits: {
      visitorRequestsPerSecond: 1_000,
      visitorRequestsBurst: 1_000,
      onlineSalesPeriodMs: 50,
      ...options.limits,
    },
    environment: { PORT: port, PUBLIC_URL: `http://localhost:${port}`, ...options.environment },
    beforeStart: async (database) => await openSandboxPage(database, given),
  });
}

export type FormValues = Readonly<Record<string, string>>;

/** The form of a person who gives a card of 50.00 to Grace. */
export const giftForm: FormValues = {
  design: 'birthday',
  amount: '5000',
  own: '',
  for: 'other',
  to: 'Grace Hopper',
  from: 'Alan',
  message: 'Happy birthday, Grace!',
  when: 'now',
  email: 'grace@example.com',
  day: '',
  buyer_email: 'alan@example.com',
};

/** The key of the form on a page. */
export function keyIn(page: string): string {
  const [, key] = /name="key" value="([\w-]{22})"/.exec(page) ?? assert.fail(page.slice(0, 2_000));
  return key ?? '';
}

/** Opens the form, and submits it. */
export async function order(browser: Browser, form: FormValues = giftForm, path = `/buy/${buyDomain}`) {
  const { text } = await browser.get(path);
  return await browser.post(path, { ...form, key: keyIn(text) });
}

/** Decides a payment on the page of the sandbox, and returns the path of the order. */
export async function decide(
  browser: Browser,
  session: string,
  fields: FormValues = { action: 'pay', method: 'card' },
): Promise<string> {
  const decided = await browser.post(session, fields);
  assert.equal(decided.status, 303, decided.text);
  return decided.headers.get('location') ?? assert.fail('no location');
}

/** The path of a redirect, without the origin. */
export function redirectOf(response: { readonly headers: Headers }): string {
  const { pathname, search } = new URL(response.headers.get('location') ?? '', 'http://localhost');
  return pathname + search;
}
