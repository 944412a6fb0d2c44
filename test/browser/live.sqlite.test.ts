/** The recent activity of the page for today, which changes while it is open. */

import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { openChromium, type Page } from '../support/chromium.ts';
import { consoleDomain, join, openStoreWithStaff, submitForm } from '../support/console.ts';
import { shopOf } from '../support/shop.ts';

const chromium = await openChromium();
after(() => chromium[Symbol.asyncDispose]());

/** The rows of the recent activity, with plain spaces. */
async function rowsOf(page: Page): Promise<readonly string[]> {
  return await page.$$eval('[data-live-rows] > *', (rows) =>
    rows.map((row) => (row as HTMLElement).innerText.replace(/\s+/g, ' ')),
  );
}

/** Waits until the page shows whether it is live. */
async function waitForState(page: Page, state: 'good' | 'wait'): Promise<string> {
  const shown = await page.waitForSelector(`[data-live-state].${state}:not([hidden])`);
  assert.ok(shown);
  return await shown.evaluate((element) => element.textContent.trim());
}

test('a redemption by another person appears once and without a reload', async () => {
  await using service = await openStoreWithStaff();
  const shop = await shopOf(service, consoleDomain);
  const card = await shop.issue({ initial_value: '60.00' });
  const [owner, cashier] = [await join(service, 'owner'), await join(service, 'cashier')];
  await using window = await chromium.window(service, { as: owner });
  const { page } = window;
  assert.equal(await window.open('/today'), 200);
  assert.equal(await waitForState(page, 'good'), 'live');
  assert.equal((await rowsOf(page)).length, 1);
  await page.evaluate(() => ((globalThis as { isSamePage?: boolean }).isSamePage = true));

  const found = await submitForm(cashier, '/till', { action: '/till/find', fields: { code: card.code } });
  const amountPage = found.headers.get('location') ?? assert.fail(found.text);
  await submitForm(cashier, amountPage, { fields: { amount: '24.50' } });
  await page.waitForFunction(() => document.querySelectorAll('[data-live-rows] > *').length > 1);
  const [newest = '', ...others] = await rowsOf(page);
  assert.match(newest, /Redeemed at the till.*cashier −\$24\.50/);
  assert.equal(others.length, 1);
  await page.waitForFunction(() => document.querySelector('[data-live-summary]')?.textContent !== '');
  assert.match(await page.$eval('[data-live-summary]', (summary) => summary.textContent), /24\.50/);
  assert.equal(await page.evaluate(() => (globalThis as { isSamePage?: boolean }).isSamePage), true);

  // A page that was hidden asks for what is newer than its first row, and shows nothing twice.
  await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')));
  await shop.debits(card.id, '5.00');
  await page.waitForFunction(() =>
    document.querySelector('[data-live-rows] > *')?.textContent.includes('5.00'),
  );
  const rows = await rowsOf(page);
  assert.equal(rows.filter((row) => row.includes('24.50')).length, 1, rows.join('\n'));
});

test('after a sign-out in another window, the page says that it is not live', async () => {
  await using service = await openStoreWithStaff();
  const shop = await shopOf(service, consoleDomain);
  await shop.issue({ initial_value: '60.00' });
  const owner = await join(service, 'owner');
  // The stream that is opened again is rejected.
  await using window = await chromium.window(service, {
    as: owner,
    expected: [/^status 40[13]: GET .*\/live/],
  });
  const { page } = window;
  assert.equal(await window.open('/today'), 200);
  assert.equal(await waitForState(page, 'good'), 'live');
  const { status } = await owner.post('/sign-out');
  assert.equal(status, 303);
  assert.match(await waitForState(page, 'wait'), /not live|reload/i);
});
