/** The way of a gift card that is sold online, in a real browser: from the link of the shop to the refund of the rest. */

import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { buyTextsOf } from '../../src/features/recipient/pages/texts.ts';
import { buyDomain, startSelling } from '../support/buy-page.ts';
import { openChromium, type Page, type Window } from '../support/chromium.ts';
import { join, staffPassword } from '../support/console.ts';
import { until } from '../support/delivering.ts';
import { choose, fillInGift } from './buy-form.ts';
import { enter, goTo, phone } from './till-page.ts';
import { press, textOf } from './walk.ts';

const texts = buyTextsOf('en');
const service = await startSelling();
after(() => service[Symbol.asyncDispose]());
const chromium = await openChromium();
after(() => chromium[Symbol.asyncDispose]());

/** Requests a page until it shows a text: a job changes what it says. */
async function reloaded(page: Page, shown: RegExp): Promise<string> {
  let text = '';
  await until(async () => {
    await page.reload();
    text = await textOf(page);
    return shown.test(text);
  });
  return text;
}

/** Buys a card of 50.00 for Grace, and returns the path of the page of the order. */
async function buy(page: Page): Promise<string> {
  await choose(page, 'design', 'winter');
  await choose(page, 'amount', '5000');
  await fillInGift(page);
  await press(page, texts.pay, /€50\.00/);
  assert.match(new URL(page.url()).pathname, /^\/sandbox\/pay\//);
  await press(page, 'Pay', new RegExp(`${texts.paid}.*€50\\.00`));
  const { pathname } = new URL(page.url());
  assert.match(pathname, new RegExp(`^/buy/${buyDomain}/order/[1-9]\\d{15}_[\\w-]{22}$`));
  return pathname;
}

/** Opens the newest email with a subject in the mailbox of the sandbox. */
async function openEmail({ page, open }: Window, subject: string): Promise<string> {
  await open('/dev/mails');
  await reloaded(page, new RegExp(subject));
  const link = `::-p-xpath(//a[contains(., '${subject}')])`;
  await Promise.all([page.waitForNavigation(), page.click(link)]);
  await press(page, 'HTML only', /./);
  return await textOf(page);
}

/** Follows the link of the email to the card, opens the present, and returns the code. */
async function openCard(page: Page): Promise<string> {
  await Promise.all([page.waitForNavigation(), page.click('a[href*="/card#"]')]);
  await page.waitForSelector('.gift-fold[open] .gift-words', { visible: true });
  assert.match(await textOf(page), /Alan has a gift for you Happy birthday!/);
  await page.click('.gift-fold > summary');
  await page.waitForSelector('.qr-tap', { visible: true });
  assert.match(await textOf(page), /€50\.00/);
  assert.doesNotMatch(page.url(), /#./);
  return await page.$eval('#shown-code', ({ textContent }) => textContent?.replaceAll(' ', '') ?? '');
}

/** Signs in at the till, and redeems 20.00 of the card. */
async function spend(window: Window, code: string): Promise<void> {
  const { page } = window;
  await window.open('/till');
  await page.type('#email', `cashier@${buyDomain}`);
  await page.type('#password', staffPassword);
  await Promise.all([page.waitForNavigation(), page.keyboard.press('Enter')]);
  await enter(page, code, '2000');
  await page.tap('#pay');
  await goTo(page, '/till/redeemed/');
  assert.match(await textOf(page), /€20\.00 redeemed .* €30\.00 left for Grace/);
}

/** The sums that the entries of the books have moved from an account. */
async function movedFrom(account: string): Promise<bigint> {
  const rows = await service.query(
    `select debit_account, credit_account, amount from transfers where '${account}' in (debit_account, credit_account)`,
  );
  return rows.reduce(
    (sum, { debit_account, amount }) => sum + (debit_account === account ? 1n : -1n) * BigInt(Number(amount)),
    0n,
  );
}

async function liability({ page, ...window }: Window): Promise<string> {
  await window.open('/books/liability');
  return await page.$eval('[aria-labelledby="outstanding"] .figure', ({ textContent }) => textContent ?? '');
}

test('a card is bought, paid, sent, opened and spent, and its rest goes back', async () => {
  const [, manager] = [await join(service, 'cashier'), await join(service, 'manager')];
  await using buyer = await chromium.window(service);
  await using recipient = await chromium.window(service);
  await using till = await chromium.window(service, { viewport: phone });
  await using office = await chromium.window(service, { as: manager });
  // A page that moves when it appears can swallow the first click.
  for (const { page } of [buyer, recipient, office])
    await page.emulateMediaFeatures([{ name: 'prefers-reduced-motion', value: 'no-preference' }]);
  await buyer.open(`/buy/${buyDomain}`);
  const order = await buy(buyer.page);
  assert.match(await openEmail(buyer, 'receipt'), /€50\.00/);
  assert.match(await openEmail(recipient, 'Alan'), /Happy birthday!/);
  const code = await openCard(recipient.page);
  await buyer.open(order);
  const opened = await reloaded(buyer.page, new RegExp(`${texts.sentTitle}.*${texts.opened}`));
  assert.ok(!opened.includes(texts.notYet));
  assert.ok(!(await buyer.page.content()).replaceAll(/\s/g, '').includes(code));
  await spend(till, code);

  assert.deepEqual([await movedFrom('online_sales'), await movedFrom('redemptions')], [5_000n, -2_000n]);
  assert.equal(await liability(office), '€30.00');
  await buyer.open(`${order}/withdraw`);
  assert.match(await textOf(buyer.page), new RegExp(`${texts.withdrawAmount} €30\\.00`));

  await office.open('/sales');
  await Promise.all([office.page.waitForNavigation(), office.page.click('tbody a')]);
  assert.match(await textOf(office.page), /€50\.00.*Left on the card €30\.00/);
  const refund = '.rows a[href$="/refund"]';
  await Promise.all([office.page.waitForNavigation(), office.page.click(refund)]);
  await press(office.page, 'Refund €30.00', /−€30\.00/);
  assert.match(await textOf(office.page), /Left on the card €0\.00/);
  assert.equal(await liability(office), '€0.00');
  assert.deepEqual([await movedFrom('online_sales'), await movedFrom('redemptions')], [2_000n, -2_000n]);

  await buyer.open(order);
  await reloaded(buyer.page, new RegExp(`${texts.refundedTitle} €30\\.00.*−€30\\.00`));
  assert.match(await openEmail(recipient, texts.stoppedTitle), /can no longer be used/);
});
