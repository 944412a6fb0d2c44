/** The till in a real browser whose connection to the service is lost. */

import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { openChromium, typeAsScanner } from '../support/chromium.ts';
import { join, openStoreWithStaff } from '../support/console.ts';
import { openLosingGateway } from '../support/losing-gateway.ts';
import { cardIssuer } from '../support/till.ts';
import { enter, goTo, openThroughGateway, showsText, textOf } from './till-page.ts';

const chromium = await openChromium();
after(() => chromium[Symbol.asyncDispose]());
const service = await openStoreWithStaff();
after(() => service[Symbol.asyncDispose]());
const issue = await cardIssuer(service);
const cashier = await join(service, 'cashier');

for (const loss of ['before', 'after'] as const)
  test(`a request that is lost ${loss} the service has handled it is resolved by itself`, async () => {
    const card = await issue({ initial_value: '47.00' });
    await using gateway = await openLosingGateway(service.url);
    const { window, page } = await openThroughGateway(chromium, gateway, { as: cashier });
    await using _closing = window;
    let isUp = true;
    gateway.lose = ({ method, url = '' }) => {
      if (method === 'POST' && url.startsWith('/till/card/')) {
        isUp = false;
        return loss;
      }
      return isUp ? 'none' : 'before';
    };
    await enter(page, card.code, '2000');
    await page.tap('#pay');
    await showsText(page, 'We don’t know yet whether this went through');
    const text = await textOf(page);
    assert.match(text, /\$20\.00/);
    assert.match(text, /The connection was lost at \d+:\d\d/);
    gateway.lose = () => 'none';
    await goTo(page, '/till/redeemed/');
    if (loss === 'before') {
      await showsText(page, 'Not redeemed from');
      assert.equal(await card.balance(), '47.00');
      await page.tap('.button.first');
    }
    await showsText(page, '$27.00 left');
    assert.deepEqual(await card.entries(), ['issue', 'debit']);
    assert.equal(await page.evaluate(() => localStorage.getItem('largesse-till-pending')), '[]');
  });

test('a cancelled redemption is undone as soon as the service can be reached', async () => {
  const card = await issue({ initial_value: '47.00' });
  await using gateway = await openLosingGateway(service.url);
  const { window, page } = await openThroughGateway(chromium, gateway, { as: cashier });
  await using _closing = window;
  let isUp = true;
  gateway.lose = ({ method, url = '' }) => {
    if (method !== 'POST' || !url.startsWith('/till/card/')) return isUp ? 'none' : 'before';
    isUp = false;
    return 'after';
  };
  await enter(page, card.code, '2000');
  await page.tap('#pay');
  await showsText(page, 'We don’t know yet');
  assert.equal(await card.balance(), '27.00');
  await page.tap('[data-cancel]');
  await showsText(page, 'Cancelling…');
  isUp = true;
  await showsText(page, 'The redemption was undone');
  assert.deepEqual(await card.entries(), ['issue', 'debit', 'reversal']);
});

test('a code that is scanned as an amount while the service fails is nowhere', async () => {
  const [card, other] = [await issue({ initial_value: '47.00' }), await issue({ initial_value: '11.00' })];
  await using gateway = await openLosingGateway(service.url);
  const { window, page } = await openThroughGateway(chromium, gateway, { as: cashier });
  await using _closing = window;
  await typeAsScanner(page, card.code);
  await goTo(page, '/till/card/');
  gateway.lose = () => 'before';
  await Promise.all([page.waitForNavigation(), typeAsScanner(page, other.code)]).catch(() => {});
  const urls = window.requests().map((request) => request.url());
  assert.ok(!urls.join(' ').includes(other.code));
  gateway.lose = () => 'none';
  await page.goto(window.url('/till'));
  assert.ok(!(await page.evaluate(() => JSON.stringify(localStorage))).includes(other.code));
  assert.equal(await card.balance(), '47.00');
});

test('the next customer does not wait: the till shows the result when it is known', async () => {
  const card = await issue({ initial_value: '47.00' });
  await using gateway = await openLosingGateway(service.url);
  const { window, page } = await openThroughGateway(chromium, gateway, { as: cashier });
  await using _closing = window;
  gateway.lose = ({ method, url = '' }) => {
    if (url.startsWith('/till/redeemed/')) return 'before';
    return method === 'POST' && url.startsWith('/till/card/') ? 'after' : 'none';
  };
  await enter(page, card.code, '2000');
  await page.tap('#pay');
  await showsText(page, 'We don’t know yet');
  await page.tap('[data-next]');
  await goTo(page, '/till');
  await showsText(page, 'checking…');
  assert.ok(!(await page.evaluate(() => JSON.stringify(localStorage))).includes(card.code));
  gateway.lose = () => 'none';
  await showsText(page, `20.00 from •••• ${card.code.slice(-4)}: redeemed`);
  await page.tap('#pending a');
  await showsText(page, '$27.00 left');
  await page.goto(`${gateway.url.replace('127.0.0.1', 'localhost')}/till`);
  assert.equal(await page.$eval('#pending', (list) => (list as HTMLElement).hidden), true);
});
