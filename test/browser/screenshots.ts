/**
 * `npm run docs:screenshots`: makes the pictures of docs/console from the demonstration. Names of pictures as arguments:
 * only these.
 */

import assert from 'node:assert/strict';
import { mkdirSync, statSync } from 'node:fs';
import { openBrowser, type Browser } from '../support/browser.ts';
import { findChromium, type Chromium } from '../support/chromium.ts';
import { submitForm } from '../support/console.ts';
import { until } from '../support/delivering.ts';
import { startService, type TestService } from '../support/service.ts';

const folder = 'docs/console';
const bytesMax = 100_000;

type Shot = {
  readonly name: string;
  readonly path: keyof Paths | `/${string}`;
  readonly theme: 'light' | 'dark';
  readonly device: 'desktop' | 'phone';
  /** What is typed on the keypad. */
  readonly keys?: string;
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
};

/** Opens the demonstration, and sells, redeems and refunds. */
async function workADay(browser: Browser): Promise<Paths> {
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
  return { card, issued: issued.path, amount, redeemed };
}

/** Waits until the past days are summed, so that the chart has them. */
async function waitForChart(browser: Browser): Promise<void> {
  await until(async () => {
    const { text } = await browser.get('/today');
    return text.includes('<svg class="plot"') && !text.includes('are being added up');
  }, 60_000);
}

async function take(
  chromium: Chromium,
  {
    service,
    browser,
    paths,
  }: { readonly service: TestService; readonly browser: Browser; readonly paths: Paths },
  shot: Shot,
): Promise<void> {
  await using window = await chromium.window(service, {
    as: browser,
    viewport: viewports[shot.device],
    colorScheme: shot.theme,
  });
  const { page } = window;
  const path = shot.path.startsWith('/') ? shot.path : paths[shot.path as keyof Paths];
  assert.equal(await window.open(path), 200, path);
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
await using service = await startService({ limits: { closingPeriodMs: 50 } });
const browser = openBrowser(service);
const paths = await workADay(browser);
await waitForChart(browser);
const names = process.argv.slice(2);
for (const shot of shots.filter(({ name }) => names.length === 0 || names.includes(name)))
  await take(chromium, { service, browser, paths }, shot);
assert.deepEqual(chromium.takeComplaints(), []);
