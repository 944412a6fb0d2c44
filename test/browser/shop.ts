/** A shop in which every page has content, and a path for each route with a page. */

import assert from 'node:assert/strict';
import { loadPages } from '../../src/start/routes.ts';
import { isOpenWithPin } from '../../src/pages/kit/server.ts';
import { issue } from '../../src/core/cards/service/issue.ts';
import { markRestored } from '../../src/features/backups/service/restored.ts';
import { requireStore } from '../../src/core/stores/service/store.ts';
import { isPermitted, isRole, roles, type Role } from '../../src/core/staff/domain/staff.ts';
import {
  listAccountantEmails,
  listAccountants,
  monthToken,
} from '../../src/features/accountants/service/accountants.ts';
import { readConfig } from '../../src/start/config.ts';
import { openDatabase } from '../../src/start/database.ts';
import { openBrowser, type Browser } from '../support/browser.ts';
import { consoleDomain, invite, join, staffPassword, submitForm } from '../support/console.ts';
import { buyDomain, decide, order, redirectOf, startSelling } from '../support/buy-page.ts';
import { until } from '../support/delivering.ts';
import { email, issueCommand } from '../support/fixtures.ts';
import { command } from '../support/served.ts';
import { startService, type TestService } from '../support/service.ts';
import { shopOf, type Shop } from '../support/shop.ts';

const { routes: consoleRoutes } = await loadPages();

/**
 * A role, a visitor who is not signed in, an enrolled till, a cashier who has signed in there with the PIN, the first
 * visitor of a service without a store, the owner of a shop that was restored from a backup, or the owner and a visitor
 * of a sandbox that sells online.
 */
export type Visitor = Role | 'visitor' | 'till' | 'pin' | 'newcomer' | 'restorer' | 'seller' | 'buyer';

export type ConsoleShop = {
  readonly service: TestService;
  /** A service that has only the demonstration store. */
  readonly unused: TestService;
  /** A service whose shop was restored, with an email that waits. */
  readonly restored: TestService;
  /** A sandbox with online sales. */
  readonly selling: TestService;
  /** The paths in the sandbox: the page of a payment and that of its order. */
  readonly payment: string;
  readonly order: string;
  readonly shop: Shop;
  /** The browsers that have a session, and the device of the counter without one. */
  readonly browsers: ReadonlyMap<Visitor, Browser>;
  /** Public ids. `used` has a redemption, a hold and a recipient. */
  readonly cards: { readonly used: number; readonly disabled: number; readonly suspended: number };
  /** The code of the used card. */
  readonly code: string;
  readonly redemption: number;
  readonly hold: number;
};

const tillCookie = 'largesse-till';

/** A shop with a card whose email was on its way when the backup was made. */
async function startRestored(): Promise<TestService> {
  return await startService({
    stores: [{ domain: consoleDomain, name: 'Flowers' }],
    async beforeStart({ ctx, storage }) {
      const { store } = await storage.read(() => requireStore(consoleDomain));
      await storage.write(() => issue(ctx, issueCommand(store, { recipient: email('grace@example.com') })));
      await storage.write(() => markRestored(ctx, ctx.clock.now() - 60 * 60_000));
    },
  });
}

/** A service with a member of each role, and cards in several states. */
export async function openConsoleShop(): Promise<AsyncDisposable & ConsoleShop> {
  const service = await startService({
    stores: [{ domain: consoleDomain, name: 'Flowers' }],
    // The page of today has a finding about the disk.
    limits: { diskFreeBytesMin: Number.MAX_SAFE_INTEGER },
  });
  const unused = await startService();
  const restored = await startRestored();
  const selling = await startSelling();
  const buyer = openBrowser(selling);
  const [payment, reviewed] = [redirectOf(await order(buyer)), redirectOf(await order(buyer))];
  const ordered = await decide(buyer, payment);
  await decide(buyer, reviewed, { action: 'pay', method: 'risky' });
  const browsers = new Map<Visitor, Browser>();
  for (const role of roles) browsers.set(role, await join(service, role));
  const [till, pin] = await enrollTill(service, browsers.get('cashier') ?? assert.fail());
  browsers
    .set('till', till)
    .set('pin', pin)
    .set('restorer', await join(restored, 'owner'))
    .set('seller', await join(selling, 'owner'))
    .set('buyer', buyer);
  const shop = await shopOf(service, consoleDomain);
  const used = await shop.issue({
    initial_value: '80.00',
    note: 'For the anniversary',
    recipient_name: 'Grace Hopper',
    recipient_email: 'grace@example.com',
    sender_name: 'Ada Lovelace',
    message: 'Many happy returns!',
  });
  const { id: redemption } = await shop.debits(used.id, '12.50', { reference: 'till 1' });
  const { id: hold } = await shop.holds(used.id, '5.00');
  await shop.issue({ initial_value: '1234.56', expires_on: '2031-12-31' });
  const disabled = await shop.issue({ initial_value: '10.00' });
  await shop.ask(`PUT /gift_card/${disabled.id}`, { json: { disable: true } });
  const suspended = await shop.issue({ initial_value: '15.00' });
  await shop.ask(`POST /gift_card/${suspended.id}/suspend`, { json: { reason: 'The payment is checked' } });
  return {
    service,
    unused,
    restored,
    selling,
    payment,
    order: ordered,
    shop,
    browsers,
    cards: { used: used.id, disabled: disabled.id, suspended: suspended.id },
    code: used.code,
    redemption,
    hold,
    async [Symbol.asyncDispose]() {
      await unused[Symbol.asyncDispose]();
      await restored[Symbol.asyncDispose]();
      await selling[Symbol.asyncDispose]();
      await service[Symbol.asyncDispose]();
    },
  };
}

/** Enrolls a till, at which the cashier has a PIN. @returns the device, without a session and with the cashier's. */
async function enrollTill(service: TestService, cashier: Browser): Promise<readonly [Browser, Browser]> {
  await cashier.post('/account/pin', { pin: '2580' });
  const owner = openBrowser(service);
  await owner.post('/sign-in', { email: `owner@${consoleDomain}`, password: staffPassword });
  const { status, text } = await owner.post('/tills', { name: 'Counter' });
  assert.equal(status, 303, text);
  const cookie = owner.cookies.get(tillCookie) ?? assert.fail(text);
  const [till, pin] = [openBrowser(service), openBrowser(service)];
  till.cookies.set(tillCookie, cookie);
  pin.cookies.set(tillCookie, cookie);
  await enterPin(pin);
  return [till, pin];
}

async function enterPin(device: Browser): Promise<void> {
  for (const name of device.cookies.keys()) if (name !== tillCookie) device.cookies.delete(name);
  const people = await device.get('/till/pin');
  const [, staff = assert.fail(people.text)] = /name="staff" value="(\d+)"/.exec(people.text) ?? [];
  const opened = await device.post('/till/pin', { staff, pin: '2580' });
  assert.equal(opened.headers.get('location'), '/till', opened.text);
}

/** Signs a visitor in again: a session with a PIN ends after five minutes, and sensitive pages need a recent password. */
export async function signInAgain(shop: ConsoleShop, visitor: Visitor): Promise<void> {
  const browser = browserOf(shop, visitor);
  if (visitor === 'pin') return await enterPin(browser);
  const isOwner = visitor === 'restorer' || visitor === 'seller';
  if (!isRole(visitor) && !isOwner) return;
  const address = `${isOwner ? 'owner' : visitor}@${consoleDomain}`;
  const { status, text } = await browser.post('/sign-in', { email: address, password: staffPassword });
  assert.equal(status, 303, text);
}

function staffOf({ browsers }: ConsoleShop, visitor: Visitor): Browser {
  return browsers.get(visitor) ?? assert.fail(visitor);
}

/** Submits a form as a visitor. @returns the path of the result. */
async function resultOf(
  shop: ConsoleShop,
  visitor: Visitor,
  path: string,
  options: Parameters<typeof submitForm>[2] = {},
): Promise<string> {
  const { status, headers, text } = await submitForm(staffOf(shop, visitor), path, options);
  assert.equal(status, 303, `${path}: ${text}`);
  return headers.get('location') ?? assert.fail(path);
}

/** Issues two equal cards. @returns the path of their page, once they are issued. */
async function batchPath(shop: ConsoleShop, visitor: Visitor): Promise<string> {
  return await issueTwo(staffOf(shop, visitor), { kind: 'equal', count: '2', value: '25' });
}

/** Issues two cards whose emails are scheduled. @returns the path of their page, once they are issued. */
async function scheduledBatchPath(shop: ConsoleShop): Promise<string> {
  const rows = 'initial_value,recipient_email\r\n25,ada@example.com\r\n25,mary@example.com';
  const send_date = new Date(shop.service.clock.now() + 10 * 86_400_000).toISOString().slice(0, 10);
  return await issueTwo(staffOf(shop, 'owner'), { kind: 'file', rows, send_date, send_time: '10:00' });
}

async function issueTwo(browser: Browser, form: Readonly<Record<string, string>>): Promise<string> {
  const { text } = await browser.post('/cards/batches/new', form);
  const [, key = assert.fail(text)] = /name="key" value="([^"]*)"/.exec(text) ?? [];
  const figures = { expected_count: '2', expected_total: '50' };
  const { headers } = await browser.post('/cards/batches/issue', { ...form, ...figures, key });
  const path = headers.get('location') ?? assert.fail(key);
  await until(async () => !(await browser.get(path)).text.includes('http-equiv="refresh"'));
  return path;
}

/** The owner prints two cards. @returns the path of their page, once their codes are added. */
async function stockPath(shop: ConsoleShop): Promise<string> {
  const browser = staffOf(shop, 'owner');
  const path = await resultOf(shop, 'owner', '/cards/stock/new', { fields: { count: '2', value: '25' } });
  await until(async () => (await browser.get(path)).text.includes('/codes.csv'));
  return path;
}

async function memberPath(shop: ConsoleShop): Promise<string> {
  const { text } = await staffOf(shop, 'owner').get('/staff');
  return /"(\/staff\/\d+)"/.exec(text)?.[1] ?? assert.fail(text);
}

async function locationPath(shop: ConsoleShop): Promise<string> {
  const path = '/settings/locations';
  await resultOf(shop, 'owner', path, { fields: { name: 'Market Street', address: '12 Market Street' } });
  const { text } = await staffOf(shop, 'owner').get(path);
  return /"(\/settings\/locations\/\d+)"/.exec(text)?.[1] ?? assert.fail(text);
}

/** The path of a sale of the sandbox in a state. */
const ofSale =
  (state: 'issued' | 'review', end = ''): Path =>
  async (shop) => {
    const { text } = await staffOf(shop, 'seller').get(`/sales?state=${state}`);
    const [, path = assert.fail(text)] = /"(\/sales\/\d+)"/.exec(text) ?? [];
    return `${path}${end}`;
  };

const accountants = '/settings/accountant';

/** The page of an accountant, with an email that was sent. */
async function accountantPath(shop: ConsoleShop): Promise<string> {
  const { service } = shop;
  const found = async (): Promise<string | undefined> =>
    /"(\/settings\/accountant\/\d+)"/.exec((await staffOf(shop, 'owner').get(accountants)).text)?.[1];
  const existing = await found();
  if (existing !== undefined) return existing;
  const fields = { email: 'ledger@accounting.example', language: 'en', format: 'datev' };
  await resultOf(shop, 'owner', accountants, { fields });
  const now = service.clock.now();
  await service.database.meddle(
    `insert into accountant_emails
       (store_id, id, accountant_id, kind, month, format, link_until, state, created_at, ended_at, response, downloaded_at)
     select store_id, 7, id, 'month', '${new Date(now).toISOString().slice(0, 7)}', format, ${now + 5_000_000_000}, 'sent',
       ${now}, ${now}, '250 OK', ${now} from accountants`,
  );
  return (await found()) ?? assert.fail('no accountant');
}

/** The page of the link in the accountant's email. */
async function monthPath(shop: ConsoleShop): Promise<string> {
  await accountantPath(shop);
  const { environment } = shop.service;
  await using database = await openDatabase(readConfig(environment), { prepare: false });
  const { ctx, storage } = database;
  const token = await storage.read(function* find() {
    const { store } = yield* requireStore(consoleDomain);
    const [accountant] = yield* listAccountants(store.id);
    const [sent] = yield* listAccountantEmails(store.id, 1);
    assert.ok(accountant && sent);
    return monthToken(ctx, { accountant, email: sent });
  });
  return `/accountant/${token.reveal()}`;
}

/** A passkey that no authenticator has. */
async function passkeyPath({ service }: ConsoleShop, visitor: Visitor): Promise<string> {
  const [member] = await service.query(`select store_id, id from staff where role = '${visitor}'`);
  const [storeId, staffId] = [String(member?.['store_id']), String(member?.['id'])];
  await service.database.meddle(
    `insert into passkeys (store_id, id, staff_id, credential_id, public_key, sign_count, transports, name, created_at)
     values (${storeId}, ${staffId}, ${staffId}, x'${Buffer.from(staffId).toString('hex')}', x'00', 0, 'internal', 'Laptop', 1)
     on conflict do nothing`,
  );
  return `/account/passkeys/${staffId}`;
}

/** A webhook that no event matches, with a delivery that failed: the service sends nothing. */
async function webhookPath(shop: ConsoleShop, visitor: Visitor): Promise<string> {
  const { service } = shop;
  const found = async (): Promise<string | undefined> =>
    /\/developers\/webhooks\/\d+/.exec((await staffOf(shop, visitor).get('/developers')).text)?.[0];
  const existing = await found();
  if (existing !== undefined) return existing;
  const fields = { url: 'https://shop.example.com/webhooks', 'event_checkpoint.created': '1' };
  await resultOf(shop, visitor, '/developers/webhooks/new', { fields });
  await service.database.meddle(
    `insert into webhook_deliveries (store_id, webhook_id, event_id, status, created_at, attempts, last_at,
       response_status, response_body, duration_ms)
     select w.store_id, w.id, e.id, 'dead', e.created_at, 1, e.created_at, 503, 'down for maintenance', 41
     from webhooks w, (select * from events order by id limit 1) e`,
  );
  return (await found()) ?? assert.fail('no webhook');
}

const ofWebhook =
  (end: string): Path =>
  async (shop, visitor) =>
    `${await webhookPath(shop, visitor)}${end}`;

async function deliveryPath(shop: ConsoleShop, visitor: Visitor): Promise<string> {
  const path = await webhookPath(shop, visitor);
  const { text } = await staffOf(shop, visitor).get(path);
  return /"(\/developers\/webhooks\/\d+\/deliveries\/\d+)"/.exec(text)?.[1] ?? assert.fail(text);
}

/** A request that the shop's program has sent. It is listed some seconds later. */
async function requestPath(shop: ConsoleShop, visitor: Visitor): Promise<string> {
  let path: string | undefined;
  await until(async () => {
    const { text } = await staffOf(shop, visitor).get('/developers/requests');
    path = /"(\/developers\/requests\/\d+-\d+)"/.exec(text)?.[1];
    return path !== undefined;
  });
  return path ?? assert.fail('no request');
}

const tokenPath: Path = (shop, visitor) =>
  resultOf(shop, visitor, '/developers/tokens/new', { fields: { name: 'Web shop', scope_read_events: '1' } });

async function revocationPath(shop: ConsoleShop, visitor: Visitor): Promise<string> {
  await tokenPath(shop, visitor);
  const { text } = await staffOf(shop, visitor).get('/developers');
  return /"(\/developers\/tokens\/\d+\/revoke)"/.exec(text)?.[1] ?? assert.fail(text);
}

async function issuedPath(shop: ConsoleShop, visitor: Visitor): Promise<string> {
  const fields = { amount: 'other', other: '30', how: 'print', recipient_name: 'Grace' };
  return await resultOf(shop, visitor, '/cards/new', { fields });
}

/** The path of the amount page, with the key of its form. */
async function amountPath(shop: ConsoleShop, visitor: Visitor): Promise<string> {
  return await resultOf(shop, visitor, '/till', { action: '/till/find', fields: { code: shop.code } });
}

async function redeemedAtTill(shop: ConsoleShop, visitor: Visitor): Promise<string> {
  return await resultOf(shop, visitor, await amountPath(shop, visitor), { fields: { amount: '1.00' } });
}

/** The path of the page with the code of a new card. */
type Path = (shop: ConsoleShop, visitor: Visitor) => Promise<string> | string;

/** The email of the used card. */
async function emailPath(shop: ConsoleShop, visitor: Visitor): Promise<string> {
  const { text } = await staffOf(shop, visitor).get('/emails');
  return /"(\/emails\/\d+)"/.exec(text)?.[1] ?? assert.fail(text);
}

const setupPath: Path = async ({ unused }) => {
  const { output, errors } = await command(unused.environment, 'setup', 'link', '--json');
  return output === ''
    ? assert.fail(errors)
    : new URL((JSON.parse(output) as { readonly link: string }).link).pathname;
};

const ofCard =
  (end: string): Path =>
  ({ cards }) =>
    `/cards/${cards.used}${end}`;

/** A path for each route with parameters, and for pages with more to show than their path alone. */
const paths: Readonly<Record<string, Path>> = {
  '/join/:token': ({ service }) => invite(service, 'new@flowers.example', 'cashier'),
  '/setup/:token': setupPath,
  '/setup/:token/restore': async (shop, visitor) => `${await setupPath(shop, visitor)}/restore`,
  '/account/passkeys/:id': passkeyPath,
  '/staff/links/:key': (shop, visitor) =>
    resultOf(shop, visitor, '/staff/new', {
      fields: { email: 'later@flowers.example', name: 'Later', role: 'cashier' },
    }),
  '/settings/locations/:id': locationPath,
  '/settings/accountant/:id': accountantPath,
  '/accountant/:token': monthPath,
  '/staff/:id': memberPath,
  '/emails/:id': emailPath,
  '/cards/:id': ofCard(''),
  '/cards/:id/redeem': ofCard('/redeem'),
  '/cards/:id/add': ofCard('/add'),
  '/cards/:id/adjust': ofCard('/adjust'),
  '/cards/:id/edit': ofCard('/edit'),
  '/cards/:id/resend': ofCard('/resend'),
  '/cards/:id/verify': ofCard('/verify'),
  '/cards/:id/suspend': ofCard('/suspend'),
  '/cards/:id/resume': ({ cards }) => `/cards/${cards.suspended}/resume`,
  '/cards/:id/disable': ofCard('/disable'),
  '/cards/:id/enable': ({ cards }) => `/cards/${cards.disabled}/enable`,
  '/cards/:id/entries/:entry/refund': ({ cards, redemption }) =>
    `/cards/${cards.used}/entries/${redemption}/refund`,
  '/cards/:id/holds/:hold/release': ({ cards, hold }) => `/cards/${cards.used}/holds/${hold}/release`,
  '/cards/:id/done/:key': (shop, visitor) =>
    resultOf(shop, visitor, `/cards/${shop.cards.used}/redeem`, { fields: { amount: '1.00' } }),
  '/cards/issued/:key': issuedPath,
  '/cards/issued/:key/print': async (shop, visitor) => `${await issuedPath(shop, visitor)}/print`,
  // Some people can see a batch and cannot issue one.
  '/cards/batches/:id': (shop) => batchPath(shop, 'owner'),
  '/cards/batches/:id/unsent': async (shop) => `${await scheduledBatchPath(shop)}/unsent`,
  '/cards/batches/:id/undelivered': async (shop) => `${await scheduledBatchPath(shop)}/undelivered`,
  '/cards/batches/:id/print': async (shop, visitor) => `${await batchPath(shop, visitor)}/print`,
  '/cards/stock/:id': stockPath,
  '/cards/stock/:id/print': async (shop) => `${await stockPath(shop)}/print`,
  '/cards/stock/:id/void': async (shop) => `${await stockPath(shop)}/void`,
  '/till/sold/:key': (shop, visitor) =>
    resultOf(shop, visitor, '/till/sell?amount=20', { action: '/till/sell', fields: { how: 'new' } }),
  '/till/card/:id': amountPath,
  '/till/redeemed/:key': redeemedAtTill,
  '/till/receipts/:id': ({ redemption }) => `/till/receipts/${redemption}`,
  '/till/refund/card/:id': ({ cards }) => `/till/refund/card/${cards.used}`,
  '/till/refund/card/:id/add': ({ cards }) => `/till/refund/card/${cards.used}/add`,
  '/till/refund/entry/:id': ({ redemption }) => `/till/refund/entry/${redemption}`,
  '/till/refund/done/:key': (shop, visitor) =>
    resultOf(shop, visitor, `/till/refund/entry/${shop.redemption}`, { fields: { amount: '0.50' } }),
  '/developers/created/:key': tokenPath,
  '/developers/tokens/:id/revoke': revocationPath,
  '/developers/webhooks/:id': ofWebhook(''),
  '/developers/webhooks/:id/edit': ofWebhook('/edit'),
  '/developers/webhooks/:id/rotate': ofWebhook('/rotate'),
  '/developers/webhooks/:id/delete': ofWebhook('/delete'),
  '/developers/webhooks/:id/deliveries/:event': deliveryPath,
  '/developers/requests/:request': requestPath,
  '/b/:domain': () => `/b/${consoleDomain}`,
  '/b/:domain/card': () => `/b/${consoleDomain}/card`,
  '/till/undo/:entry': ({ redemption }) => `/till/undo/${redemption}`,
  '/sales/:id': ofSale('issued'),
  '/sales/:id/refund': ofSale('issued', '/refund'),
  '/sales/:id/return': ofSale('review', '/return'),
  '/sales/months/:month': ({ selling }) =>
    `/sales/months/${new Date(selling.clock.now()).toISOString().slice(0, 7)}`,
  '/sandbox/pay/:session': ({ payment }) => payment,
  '/buy/:domain': () => `/buy/${buyDomain}`,
  '/buy/:domain/order/:token': (shop) => shop.order,
  '/buy/:domain/order/:token/withdraw': (shop) => `${shop.order}/withdraw`,
};

/** Routes that lead on. */
const redirects = new Set(['/', '/till/find', '/cards/:id/print']);
const reportFiles = consoleRoutes
  .filter(({ path }) => /\.(?:csv|xlsx)$|^\/accountant\/:token\//.test(path))
  .map(({ path }) => path);
/** Routes that send something else than a page. */
const streams = new Set([
  '/live',
  '/till/app.webmanifest',
  '/cards/export',
  '/settings/legibility',
  '/settings/preview',
  '/b/logo',
  '/b/:domain/logo',
  '/settings/emails/preview',
  '/settings/texts/preview',
  '/emails/:id/preview',
  '/cards/new/preview',
  '/settings/online-sales/window.svg',
  ...reportFiles,
]);

/** The visitors of pages that need no session. */
const strangers = [
  ['/setup', 'newcomer'],
  ['/till/pin', 'till'],
  ['/buy', 'buyer'],
  ['/sandbox', 'buyer'],
] as const;

export type Page = {
  readonly route: string;
  /** The visitors who can see it. */
  readonly visitors: readonly [Visitor, ...Visitor[]];
  readonly path: Path;
};

/** Every page. @throws AssertionError if a route has parameters and no path above. */
export function consolePages(): readonly Page[] {
  return consoleRoutes.flatMap((served): readonly Page[] => {
    const { method, path: route, access } = served;
    if (method !== 'GET' || redirects.has(route) || streams.has(route)) return [];
    const path = paths[route] ?? (() => route);
    assert.ok(paths[route] ?? !route.includes(':'), `test/browser/shop.ts has no path for ${route}`);
    const members = roles.filter(
      (role) =>
        access === 'staff' || (access !== 'anyone' && isPermitted({ role, locationIds: null }, access)),
    );
    if (route.startsWith('/sales/'))
      return [{ route, path, visitors: ['seller'] satisfies Page['visitors'] }];
    if (route === '/restored') return [{ route, path, visitors: ['restorer'] satisfies Page['visitors'] }];
    const isForPin = served.access !== 'anyone' && isOpenWithPin(served) && members.includes('cashier');
    const [first, ...others] = members;
    const stranger = strangers.find(([start]) => route.startsWith(start))?.[1] ?? 'visitor';
    return [
      {
        route,
        path,
        visitors: first ? [first, ...others, ...(isForPin ? (['pin'] as const) : [])] : ([stranger] as const),
      },
    ];
  });
}

/** The cookies of a visitor. */
export function browserOf(shop: ConsoleShop, visitor: Visitor): Browser {
  if (visitor === 'visitor' || visitor === 'newcomer') return openBrowser(serviceOf(shop, visitor));
  return staffOf(shop, visitor);
}

export function serviceOf(
  { service, unused, restored, selling }: ConsoleShop,
  visitor: Visitor,
): TestService {
  if (visitor === 'seller' || visitor === 'buyer') return selling;
  if (visitor === 'restorer') return restored;
  return visitor === 'newcomer' ? unused : service;
}
