/**
 * Codes of cards in a real browser: a card is issued, sold, found, redeemed and sent again. Only the page of a result shows
 * its code. No other page, log line, URL, header, title, history entry or storage of the browser has one, and neither does
 * the database.
 */

import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { join } from '../support/console.ts';
import { goBack, openChromium, type Page, signedIn } from '../support/chromium.ts';
import { shopOf } from '../support/shop.ts';

const chromium = await openChromium();
const window = await signedIn(chromium, 'owner', { expected: [/^status 404: POST .*\/till\/find$/] });
after(async () => {
  await window[Symbol.asyncDispose]();
  await chromium[Symbol.asyncDispose]();
});
const { service, page } = window;
const shop = await shopOf(service, 'flowers.example');

/** Without blanks, hyphens and capitals: codes are shown in groups and are case-insensitive. */
function normalized(text: string): string {
  return text.toLowerCase().replaceAll(/%20|&nbsp;|&#160;|[\s\u00a0\u202f+-]/g, '');
}

const codes = new Set<string>();
/** Everything that must not have a code, by where it is. */
const seen: { readonly where: string; readonly text: string }[] = [];

const resultPaths = /^\/(?:cards\/issued\/|cards\/\d+\/done\/|till\/sold\/)/;

/** Collects what the browser has now. The text of a result page is left out: it shows its code. */
async function collect(): Promise<void> {
  const { pathname, href } = new URL(page.url());
  const state = await page.evaluate(async () => ({
    title: document.title,
    storage: JSON.stringify([Object.entries(localStorage), Object.entries(sessionStorage), history.state]),
    databases: JSON.stringify(await indexedDB.databases()),
    caches: JSON.stringify(await caches.keys()),
    referrer: document.referrer,
  }));
  seen.push({ where: `state of ${pathname}`, text: JSON.stringify(state) }, { where: 'URL', text: href });
  if (!resultPaths.test(pathname)) seen.push({ where: `page ${pathname}`, text: await page.content() });
}

async function after303(act: () => Promise<unknown>): Promise<void> {
  await Promise.all([page.waitForNavigation(), act()]);
  await collect();
}

async function open(path: string): Promise<void> {
  assert.equal(await window.open(path), 200, path);
  await collect();
}

async function type(selector: string, text: string): Promise<void> {
  await page.locator(selector).fill(text);
}

/** Submits the form of a field with the Enter key, as a scanner does. */
async function enter(selector: string, text: string): Promise<void> {
  await type(selector, text);
  await page.focus(selector);
  await after303(() => page.keyboard.press('Enter'));
}

async function press(button: string): Promise<void> {
  await after303(() => page.click(button));
}

/** The code that a result page shows. */
async function shownCode(on: Page): Promise<string> {
  const text = await on.$eval('main', (main) => main.textContent);
  const [code] = /\b[A-Z0-9]{4}(?:[ \u00a0][A-Z0-9]{4}){3}\b/.exec(text) ?? [];
  assert.ok(code !== undefined, `${page.url()} shows no code`);
  codes.add(normalized(code));
  return code;
}

async function assertAt(path: RegExp): Promise<void> {
  const { pathname } = new URL(page.url());
  const text = await page.$eval('main', (main) => main.textContent);
  assert.ok(path.test(pathname), `${pathname} is not ${String(path)}: ${text.replaceAll(/\s+/g, ' ')}`);
}

const known = await shop.issue({ initial_value: '50.00', recipient_email: 'grace@example.com' });
codes.add(normalized(known.code));
/** A code with a mistake gives a real code away. */
const mistyped = `${known.code.slice(0, -1)}${/a$/i.test(known.code) ? 'c' : 'a'}`;
codes.add(normalized(mistyped));

test('a code that is typed or scanned at the till is only in the body of its form', async () => {
  await open('/till');
  await type('#code', mistyped);
  await page.focus('#code');
  await page.keyboard.press('Enter');
  await page.waitForSelector('#code-error');
  await collect();
  await enter('#code', known.code);
  await assertAt(/^\/till\/card\//);
  await enter('#amount', '5');
  await assertAt(/^\/till\/redeemed\//);
});

test('a code in the search of cards leads to its card without being in a URL', async () => {
  await open('/cards');
  await enter('#q', mistyped);
  await open('/cards');
  await enter('#q', known.code);
  await assertAt(new RegExp(`^/cards/${known.id}$`));
});

test('a code of a new card is on its page only', async () => {
  await open('/cards/new');
  await page.click('input[name="amount"][value="other"]');
  await type('#other', '30');
  await page.click('input[name="how"][value="print"]');
  await press('form.issue button.first');
  await assertAt(/^\/cards\/issued\//);
  await shownCode(page);
  await page.reload();
  await collect();
  await goBack(page);
  // A form that is shown again is loaded again.
  await page.waitForNetworkIdle();
  await collect();
});

test('a code of a card that was sold at the till is on its page only', async () => {
  await open('/till/sell');
  await page.click('input[value="new"]');
  await page.click('[data-fill="20.00"]');
  await press('#pay');
  await assertAt(/^\/till\/sold\//);
  await shownCode(page);
});

test('a new code of a card is on its page only', async () => {
  await open(`/cards/${known.id}/resend?how=print`);
  await press('section.change form button.first');
  await assertAt(/^\/cards\/(?:issued|\d+\/done)\//);
  await shownCode(page);
});

test('no code is in a page of staff afterwards', async () => {
  const paths = ['/today', '/cards', `/cards/${known.id}`, '/till', '/till/day', '/audit', '/account'];
  for (const path of paths) await open(path);
  const cashier = await join(service, 'cashier');
  for (const path of ['/till', '/till/day'])
    seen.push({ where: `${path} of a cashier`, text: (await cashier.get(path)).text });
});

test('no code is in a log, URL, header, title, history entry, storage or the database', async () => {
  assert.equal(codes.size, 5, 'a code was not shown');
  const client = await page.createCDPSession();
  const history = await client.send('Page.getNavigationHistory');
  const requests = window.requests().map((request) => JSON.stringify([request.url(), request.headers()]));
  const responses = window.requests().map((request) => JSON.stringify(request.response()?.headers() ?? {}));
  const places = [
    ...seen,
    { where: 'log', text: service.log() },
    { where: 'history', text: JSON.stringify(history) },
    { where: 'requests', text: requests.join('\n') },
    { where: 'responses', text: responses.join('\n') },
    { where: 'database', text: (await service.database.bytes()).toString('latin1') },
  ];
  assert.ok(requests.length > 20);
  for (const { where, text } of places) {
    const plain = normalized(text);
    for (const code of codes) assert.ok(!plain.includes(code), `${where} has a code`);
  }
});
