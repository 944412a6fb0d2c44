/**
 * `npm run docs:screenshots`: makes the pictures of docs/console from the demonstration. Names of pictures as arguments:
 * only these.
 */

import assert from 'node:assert/strict';
import { mkdirSync, statSync } from 'node:fs';
import { reply, smtpServer } from '../delivery/email/smtp-server.ts';
import { openBrowser, type Browser } from '../support/browser.ts';
import { findChromium, type Chromium } from '../support/chromium.ts';
import { buyDomain, decide, order, redirectOf, startSelling } from '../support/buy-page.ts';
import { join, submitForm } from '../support/console.ts';
import { until } from '../support/delivering.ts';
import { startService, type TestService } from '../support/service.ts';

const folder = 'docs/console';
const bytesMax = 100_000;
const wrongAddress = 'jonas@exmaple.com';

type Shot = {
  readonly name: string;
  readonly path: keyof Paths | `/${string}`;
  readonly theme: 'light' | 'dark';
  readonly device: 'desktop' | 'phone';
  /** Whether the present was opened, so that the page shows the code. */
  readonly isOpened?: boolean;
  /** The keys to type on the keypad. */
  readonly keys?: string;
  /** The language of the browser. Default: `en-US`. */
  readonly locale?: string;
  /** The height of the picture, in CSS pixels. Default: that of the device. */
  readonly height?: number;
  /** The store with the page. Default: the demonstration. */
  readonly store?: 'selling';
};

const shots: readonly Shot[] = [
  { name: 'today', path: '/today', theme: 'light', device: 'desktop' },
  { name: 'today-dark', path: '/today', theme: 'dark', device: 'desktop' },
  { name: 'cards', path: '/cards', theme: 'light', device: 'desktop' },
  { name: 'card', path: 'card', theme: 'light', device: 'desktop' },
  { name: 'issue', path: '/cards/new', theme: 'light', device: 'desktop' },
  { name: 'issued', path: 'issued', theme: 'light', device: 'desktop' },
  { name: 'till', path: '/till', theme: 'light', device: 'phone' },
  { name: 'till-amount', path: 'amount', theme: 'light', device: 'phone', keys: '2450' },
  { name: 'till-redeemed', path: 'redeemed', theme: 'dark', device: 'phone' },
  { name: 'journal', path: '/books/journal', theme: 'light', device: 'desktop' },
  { name: 'settings-emails', path: '/settings/emails', theme: 'light', device: 'desktop' },
  { name: 'till-day', path: '/till/day', theme: 'light', device: 'phone' },
  { name: 'batch', path: 'batch', theme: 'light', device: 'desktop', height: 560 },
  { name: 'liability', path: '/books/liability', theme: 'light', device: 'desktop' },
  { name: 'emails', path: '/emails', theme: 'light', device: 'desktop', height: 660 },
  { name: 'developers', path: '/developers', theme: 'light', device: 'desktop' },
  { name: 'recipient', path: 'recipient', theme: 'light', device: 'phone' },
  { name: 'recipient-arabic', path: 'recipient', theme: 'light', device: 'phone', locale: 'ar' },
  { name: 'recipient-code', path: 'recipient', theme: 'light', device: 'phone', isOpened: true },
  { name: 'buy', path: `/buy/${buyDomain}`, theme: 'light', device: 'phone', store: 'selling' },
  { name: 'buy-order', path: 'order', theme: 'light', device: 'phone', store: 'selling' },
  { name: 'online-sale', path: 'sale', theme: 'light', device: 'desktop', store: 'selling' },
];

const viewports = {
  desktop: { width: 1280, height: 900 },
  phone: { width: 430, height: 932, deviceScaleFactor: 2, hasTouch: true },
} as const;

/** Submits a form. @returns the path of the page to which it leads */
async function submitted(
  browser: Browser,
  path: string,
  options: Parameters<typeof submitForm>[2],
): Promise<string> {
  const { status, headers, text } = await submitForm(browser, path, options);
  assert.equal(status, 303, `${path}: ${text}`);
  return headers.get('location') ?? assert.fail(path);
}

/** Pages that exist after a day of work with the demonstration. */
type Paths = {
  readonly card: string;
  readonly issued: string;
  readonly amount: string;
  readonly redeemed: string;
  readonly batch: string;
  /** The link in the email of a card. */
  readonly recipient: string;
  /** The order of a card that was sold online, and its sale as staff see it. */
  readonly order: string;
  readonly sale: string;
};

/** A store with its browser. */
type Staged = { readonly service: TestService; readonly browser: Browser };

/** Opens the demonstration, and sells, redeems and refunds. */
async function workADay(browser: Browser): Promise<Omit<Paths, 'order' | 'sale'>> {
  const { status, text } = await browser.post('/demonstration', { cards: 'yes' });
  assert.equal(status, 303, text);
  const issue = async (name: string, amount: string): Promise<{ path: string; code: string }> => {
    const message = 'Happy birthday! Choose something that smells like summer.';
    const fields = { amount: 'other', other: amount, how: 'print', recipient_name: name, message };
    const path = await submitted(browser, '/cards/new', { fields });
    const page = await browser.get(path);
    return { path, code: /id="code"[^>]*>([^<]+)</.exec(page.text)?.[1]?.trim() ?? assert.fail(page.text) };
  };
  const find = (code: string): Promise<string> =>
    submitted(browser, '/till', { action: '/till/find', fields: { code } });
  const redeem = async (code: string, amount: string): Promise<string> =>
    submitted(browser, await find(code), { fields: { amount } });

  const lin = await issue('Lin', '40');
  await redeem(lin.code, '40');
  const noor = await issue('Noor', '25');
  await redeem(noor.code, '18.50');
  const grace = await issue('Grace', '75');
  await redeem(grace.code, '12.00');
  await redeem(grace.code, '16.00');
  const redeemed = await redeem((await issue('Camille', '60')).code, '24.50');
  const amount = await find(grace.code);
  const card = amount
    .replace(/^\/till/, '/cards')
    .replace('/card/', '/')
    .replace(/\?.*/, '');
  const refunds = /\/cards\/\d+\/entries\/\d+\/refund/.exec((await browser.get(card)).text);
  await submitted(browser, refunds?.[0] ?? assert.fail(card), { fields: { amount: '6.00' } });
  const issued = await issue('Grace', '50');
  await sendEmails(browser);
  await connectApps(browser);
  const recipient = `/b/card#${grace.code.replaceAll(/\s/g, '')}`;
  return { card, issued: issued.path, amount, redeemed, batch: await issueBatch(browser), recipient };
}

/** Cards by email, one of them to an address that the mail server rejects, and one on another day. */
async function sendEmails(browser: Browser): Promise<void> {
  for (const [name, address] of [
    ['Amira', 'amira@example.com'],
    ['Jonas', wrongAddress],
    ['Chloé', 'chloe@example.com'],
  ] as const) {
    const to = { how: 'email', recipient_name: name, recipient_email: address };
    await submitted(browser, '/cards/new', { fields: { amount: 'other', other: '30', ...to } });
  }
  await until(async () => (await browser.get('/emails?state=failed')).text.includes(wrongAddress));
}

async function connectApps(browser: Browser): Promise<void> {
  for (const [name, scopes] of [
    ['Web shop', ['read_gift_cards', 'write_gift_cards']],
    ['Cash register', ['read_gift_cards']],
  ] as const) {
    const fields = Object.fromEntries(scopes.map((scope) => [`scope_${scope}`, '1']));
    await submitted(browser, '/developers/tokens/new', { fields: { name, ...fields } });
  }
  const fields = { url: 'https://shop.example/gift-cards', 'event_gift_card.*': '1' };
  await submitted(browser, '/developers/webhooks/new', { fields });
}

/** @returns the path of its page, when all cards are issued */
async function issueBatch(browser: Browser): Promise<string> {
  const equal = { kind: 'equal', count: '40', value: '10', name: 'Staff presents' };
  const check = await browser.post('/cards/batches/new', equal);
  assert.equal(check.status, 200, check.text);
  const fields = { ...equal, expected_count: '40', expected_total: '400' };
  const key = /name="key" value="([^"]+)"/.exec(check.text)?.[1] ?? assert.fail(check.text);
  const issued = await browser.post('/cards/batches/issue', { key, ...fields });
  const path = issued.headers.get('location') ?? assert.fail(issued.text);
  await until(async () => (await browser.get(path)).text.includes('codes.csv'), 60_000);
  return path;
}

/** Waits until the past days are summed, so that the chart has them. */
async function waitForChart(browser: Browser): Promise<void> {
  await until(async () => {
    const { text } = await browser.get('/today');
    return text.includes('<svg class="plot"') && !text.includes('are being added up');
  }, 60_000);
}

/** Buys a card online. */
async function buyACard({ browser }: Staged): Promise<Pick<Paths, 'order' | 'sale'>> {
  const ordered = await decide(browser, redirectOf(await order(browser)));
  const sale = async (): Promise<string | undefined> =>
    /href="(\/sales\/\d+)"/.exec((await browser.get('/sales')).text)?.[1];
  await until(async () => (await sale()) !== undefined);
  return { order: ordered, sale: (await sale()) ?? assert.fail(ordered) };
}

async function take(
  chromium: Chromium,
  { service, browser, paths }: Staged & { readonly paths: Paths },
  shot: Shot,
): Promise<void> {
  await using window = await chromium.window(service, {
    as: browser,
    viewport: { ...viewports[shot.device], ...(shot.height !== undefined && { height: shot.height }) },
    colorScheme: shot.theme,
    ...(shot.locale !== undefined && { locale: shot.locale }),
  });
  const { page } = window;
  const path = shot.path.startsWith('/') ? shot.path : paths[shot.path as keyof Paths];
  assert.equal(await window.open(path), 200, path);
  // A script sends the code of the link.
  if (shot.path === 'recipient') await page.waitForSelector('.show-code');
  if (shot.isOpened === true) {
    await page.click('.gift-fold > summary');
    await page.waitForSelector('.qr-tap', { visible: true });
  }
  for (const key of shot.keys ?? '') await page.tap(`[data-digit="${key}"]`);
  // The preview of an email is in a frame.
  if ((await page.$('iframe')) !== null) await page.waitForNetworkIdle();
  await page.evaluate(() => {
    (document.activeElement as HTMLElement | null)?.blur();
    return document.fonts.ready.then(() => undefined);
  });
  const file = `${folder}/${shot.name}.webp` as const;
  await page.screenshot({ path: file, type: 'webp', quality: 80 });
  assert.ok(statSync(file).size <= bytesMax, `${file} is larger than ${bytesMax} bytes`);
}

process.env['TEST_ENGINE'] ??= 'sqlite';
mkdirSync(folder, { recursive: true });
await using chromium = await findChromium();
assert.ok(chromium, 'no Chrome or Chromium runs on this machine');
// Past days are summed more often, so that the chart has them.
await using server = await smtpServer({
  onRcptTo: ({ address }, _session, done) =>
    done(address === wrongAddress ? reply(550, '5.1.1 no such user') : null),
});
const environment = { SMTP_URL: server.url().reveal(), MAIL_FROM: 'cards@flowers.example' };
await using service = await startService({ environment, limits: { closingPeriodMs: 50 } });
await using selling = await startSelling();
const staged = {
  demonstration: { service, browser: openBrowser(service) },
  selling: { service: selling, browser: await join(selling, 'owner') },
} as const;
const paths = { ...(await workADay(staged.demonstration.browser)), ...(await buyACard(staged.selling)) };
await waitForChart(staged.demonstration.browser);
const names = process.argv.slice(2);
for (const shot of shots.filter(({ name }) => names.length === 0 || names.includes(name)))
  await take(chromium, { ...staged[shot.store ?? 'demonstration'], paths }, shot);
assert.deepEqual(chromium.takeComplaints(), []);
