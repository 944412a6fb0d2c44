/** The till as an installed app: its manifest and worker, and what it shows without a connection. */

import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { openChromium, typeAsScanner, type Page, type Window } from '../support/chromium.ts';
import { join, openStoreWithStaff } from '../support/console.ts';
import { openLosingGateway, type LosingGateway } from '../support/losing-gateway.ts';
import { cardIssuer } from '../support/till.ts';
import { accessibilityFaults, overflowFaults } from './page-checks.ts';

const chromium = await openChromium();
after(() => chromium[Symbol.asyncDispose]());
const service = await openStoreWithStaff();
after(() => service[Symbol.asyncDispose]());
const issue = await cardIssuer(service);
const manager = await join(service, 'manager');

/** The smallest phone of the pages. */
const phone = { width: 390, height: 664, isMobile: true, hasTouch: true };
/** Reports of lost requests, and the responses of the worker. */
const expected = [/net::ERR_/, /^status 503: (?:GET|POST) \S+\/till/, /TypeError: Failed to fetch/];

async function openTill(gateway: LosingGateway): Promise<Window> {
  const window = await chromium.window(gateway, { viewport: phone, as: manager, expected });
  assert.equal(await window.open('/till'), 200);
  await window.page.evaluate(async () => void (await navigator.serviceWorker.ready));
  return window;
}

async function textOf(page: Page): Promise<string> {
  return await page.$eval('main', (main) => main.innerText.replaceAll(/\s+/g, ' '));
}

async function shows(page: Page, text: string): Promise<void> {
  await page.waitForFunction((wanted) => document.body.innerText.includes(wanted), {}, text);
}

async function pathWhen(page: Page, path: string): Promise<void> {
  await page.waitForFunction((wanted) => location.pathname === wanted, {}, path);
}

/** The number of cards that were sold. */
async function countCards(): Promise<number> {
  const [row] = await service.query('select count(*) as count from gift_cards');
  return Number(row?.['count']);
}

test('a browser finds nothing that keeps it from installing the till', async () => {
  await using gateway = await openLosingGateway(service.url);
  await using window = await openTill(gateway);
  const client = await window.page.createCDPSession();
  const { errors, data = '' } = await client.send('Page.getAppManifest');
  assert.deepEqual(errors, []);
  assert.match(data, /"name":"Gift card till · /);
  const { installabilityErrors } = await client.send('Page.getInstallabilityErrors');
  // A context of a test is like a private window, in which no app can be installed.
  assert.deepEqual(
    installabilityErrors.map(({ errorId }) => errorId).filter((id) => id !== 'in-incognito'),
    [],
  );
});

test('without a connection, a page of the till says so and comes back by itself', async () => {
  await using gateway = await openLosingGateway(service.url);
  await using window = await openTill(gateway);
  const { page } = window;
  gateway.lose = () => 'before';
  assert.equal(await window.open('/till/day'), 503);
  const text = await textOf(page);
  assert.match(text, /No connection .*tries again by itself.*Do not write down codes/);
  assert.doesNotMatch(text, /result is unknown/);
  assert.deepEqual(await accessibilityFaults(page), []);
  assert.deepEqual(await overflowFaults(page), []);
  assert.ok(
    (await page.$eval('#again', (button) => button.getBoundingClientRect().bottom)) <= phone.height,
    'the button is visible on a small phone',
  );
  gateway.lose = () => 'none';
  await page.waitForSelector('#again', { hidden: true });
  assert.equal(new URL(page.url()).pathname, '/till/day');
});

test('pages outside of the till are those of the browser, and its own pages are never stale', async () => {
  await using gateway = await openLosingGateway(service.url);
  await using window = await openTill(gateway);
  const { page } = window;
  const cached = await page.evaluate(async () => {
    const names = await caches.keys();
    const requests = await Promise.all(names.map(async (name) => await (await caches.open(name)).keys()));
    return requests.flat().map(({ url }) => new URL(url).pathname);
  });
  assert.ok(cached.includes('/till/offline'));
  assert.deepEqual(
    cached.filter((path) => path !== '/till/offline' && !path.startsWith('/assets/')),
    [],
  );
  gateway.lose = () => 'before';
  await assert.rejects(window.open('/cards'), /net::ERR_/);
});

for (const loss of ['before', 'after'] as const)
  test(`a sale that is lost ${loss} it arrived is shown as unknown, and is not sent again`, async () => {
    await using gateway = await openLosingGateway(service.url);
    await using window = await openTill(gateway);
    const { page } = window;
    const before = await countCards();
    await window.open('/till/sell');
    for (const key of '2000') await page.tap(`[data-digit="${key}"]`);
    await page.click('.choice:has([value="new"])');
    let posts = 0;
    let isLost = false;
    gateway.lose = ({ method }) => {
      if (isLost) return 'before';
      if (method !== 'POST') return 'none';
      posts += 1;
      isLost = true;
      return loss;
    };
    await page.tap('#pay');
    await shows(page, 'The result is unknown');
    const text = await textOf(page);
    assert.match(text, /may have arrived/);
    assert.doesNotMatch(text, /Try now/);
    assert.equal(await page.title(), 'The result is unknown');
    assert.deepEqual(await accessibilityFaults(page), []);
    gateway.lose = ({ method }) => {
      if (method === 'POST') posts += 1;
      return 'none';
    };
    await shows(page, 'The connection is back.');
    await page.tap('#again');
    await pathWhen(page, '/till/day');
    assert.equal(posts, 1);
    assert.equal(await countCards(), before + (loss === 'after' ? 1 : 0));
  });

test('without a connection, redemptions whose result is unknown stay on the page', async () => {
  const card = await issue({ initial_value: '47.00' });
  await using gateway = await openLosingGateway(service.url);
  await using window = await openTill(gateway);
  const { page } = window;
  await typeAsScanner(page, card.code);
  await page.waitForFunction(() => location.pathname.startsWith('/till/card/'));
  await page.tap('[data-fill="47.00"]');
  let isLost = false;
  gateway.lose = ({ method }) => {
    if (isLost) return 'before';
    isLost = method === 'POST';
    return isLost ? 'after' : 'none';
  };
  await page.tap('#pay');
  await shows(page, 'We don’t know yet');
  await window.open('/till');
  await shows(page, 'No connection');
  await shows(page, 'checking…');
  assert.match(await textOf(page), /Still being checked \$47\.00 from/);
  gateway.lose = () => 'none';
  await shows(page, ': redeemed');
  assert.equal(await card.balance(), '0.00');
});
