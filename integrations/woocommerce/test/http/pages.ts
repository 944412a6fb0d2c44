/** The pages of the shop in a browser: the field for codes in the blocks and in the classic pages, and the box of an order. */

import assert from 'node:assert/strict';
import test from 'node:test';
import type { Page } from 'puppeteer-core';
import { chromiumPrograms } from '../../../../test/support/chromium-program.ts';
import { until } from '../../../../test/support/delivering.ts';
import { assertBooks } from './books.ts';
import { balanceOf, sell } from './seller.ts';
import { control, shopUrl, type Shop } from './shop.ts';

/** A browser with one page. Its scripts must not fail. */
async function openBrowser() {
  const { default: puppeteer } = await import('puppeteer-core');
  for await (const { path, environment } of chromiumPrograms()) {
    const browser = await puppeteer.launch({
      executablePath: path,
      // Pages of WordPress load pictures from other hosts, which this test must not reach.
      args: [
        '--no-sandbox',
        '--disable-dev-shm-usage',
        '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1',
      ],
      env: { PATH: process.env['PATH'], LANG: 'C.UTF-8', ...environment },
    });
    const page = await browser.newPage();
    await page.setViewport({ width: 1200, height: 1000 });
    page.setDefaultTimeout(60_000);
    const problems: string[] = [];
    page.on('pageerror', (error) => problems.push(String(error)));
    page.on('console', (message) => {
      if (message.text().includes('largesse')) problems.push(message.text());
    });
    return { page, problems, [Symbol.asyncDispose]: () => browser.close() };
  }
  assert.fail('no Chrome or Chromium runs on this machine: install one, or set CHROME_PATH');
}

async function untilTotal(page: Page, total: string): Promise<void> {
  await page.waitForFunction(
    (text) =>
      document.querySelector(
        '.wc-block-components-totals-footer-item .wc-block-components-totals-item__value',
      )?.textContent === text,
    { timeout: 20_000 },
    total,
  );
}

/** The page ignores a click while it sends the address. */
async function placeOrder(page: Page): Promise<void> {
  const isPlaced = (): boolean => page.url().includes('order-received');
  for (let attempt = 1; attempt <= 12 && !isPlaced(); attempt += 1) {
    const button = await page.$('.wc-block-components-checkout-place-order-button:not([disabled])');
    await button?.click();
    await page
      .waitForFunction(() => location.pathname.includes('order-received'), { timeout: 8_000 })
      .catch((error: unknown) => {
        if (attempt === 12) throw error;
      });
  }
}

async function signsIn(page: Page): Promise<void> {
  await page.goto(`${shopUrl}/wp-login.php`);
  // The page moves the focus while a person would type.
  for (const [id, text] of [
    ['user_login', 'admin'],
    ['user_pass', 'admin-password'],
  ] as const)
    await page.$eval(`#${id}`, (input, value) => ((input as HTMLInputElement).value = value), text);
  await Promise.all([page.waitForNavigation(), page.click('#wp-submit')]);
  assert.match(page.url(), /\/wp-admin\//);
}

export function pageTests(shop: () => Shop, suite: string): void {
  test(`${suite}: in a browser, the blocks take codes, show what is left to pay, and place the order`, async () => {
    const card = await sell(shop(), '20.00');
    await using browser = await openBrowser();
    const { page, problems } = browser;
    const { id } = await control<{ id: number }>('product', { sku: 'table' });
    await page.goto(`${shopUrl}/cart/?add-to-cart=${id}`);
    await page.waitForSelector('.largesse-code input');
    await untilTotal(page, '$167.63');
    await page.type('.largesse-code input', 'abcdefgh12345678');
    await page.click('.largesse-code button');
    await page.waitForFunction(() =>
      /no gift card/.test(document.querySelector('.largesse-code [role=status]')?.textContent ?? ''),
    );
    await page.$eval('.largesse-code input', (input) => input.select());
    await page.type('.largesse-code input', `${card.code}\n`);
    await page.waitForSelector('.largesse-card');
    await untilTotal(page, '$147.63');
    await page.click('.largesse-card button');
    await untilTotal(page, '$167.63');
    await page.type('.largesse-code input', `${card.code}\n`);
    await untilTotal(page, '$147.63');

    await page.goto(`${shopUrl}/checkout/`);
    await page.waitForSelector('.largesse-card');
    await untilTotal(page, '$147.63');
    for (const [name, text] of [
      ['email', 'ada@example.com'],
      ['shipping-first_name', 'Ada'],
      ['shipping-last_name', 'Byron'],
      ['shipping-address_1', '1 Market Street'],
      ['shipping-city', 'San Francisco'],
      ['shipping-postcode', '94105'],
    ] as const)
      await page.type(`#${name}`, text);
    await page.click('input[value=cod]');
    await placeOrder(page);
    const [, orderId = ''] = /order-received\/(\d+)/.exec(page.url()) ?? [];
    await page.waitForFunction(() => /Gift card …/.test(document.body.textContent ?? ''));
    const order = await assertBooks(shop(), Number(orderId));
    assert.deepEqual(
      [order.status, order.total, await balanceOf(shop(), card)],
      ['processing', '147.63', '0.00'],
    );
    assert.deepEqual(problems, []);
  });

  test(`${suite}: in a browser, the classic pages take codes, and staff refund in the box of the order`, async () => {
    const card = await sell(shop(), '20.00');
    await using browser = await openBrowser();
    const { page, problems } = browser;
    const { id } = await control<{ id: number }>('product', { sku: 'table' });
    await page.goto(`${shopUrl}/classic-cart/?add-to-cart=${id}`);
    for (const path of ['/classic-cart/', '/classic-checkout/']) {
      await page.goto(`${shopUrl}${path}`);
      // The page of the checkout covers its totals while it calculates them.
      await page.waitForNetworkIdle();
      await page.waitForFunction(() => !document.querySelector('.blockOverlay'));
      await page.type('#largesse-code', card.code);
      await page.click('[data-largesse=add]');
      await page.waitForSelector('.largesse-card');
      await page.click('[data-largesse=remove]');
      await page.waitForFunction(() => !document.querySelector('.largesse-card'));
    }
    await page.type('#largesse-code', card.code);
    await page.click('[data-largesse=add]');
    await page.waitForSelector('.largesse-card');
    for (const [name, text] of [
      ['first_name', 'Ada'],
      ['last_name', 'Byron'],
      ['address_1', '1 Market Street'],
      ['city', 'San Francisco'],
      ['postcode', '94105'],
      ['email', 'ada@example.com'],
    ] as const)
      await page.type(`#billing_${name}`, text);
    await page.$eval('#payment_method_largesse_test', (input) => (input as HTMLElement).click());
    await page.waitForNetworkIdle();
    await page.waitForFunction(() => !document.querySelector('.blockOverlay'));
    assert.match(await page.$eval('.order-total', (row) => row.textContent), /147\.63/);
    await Promise.all([page.waitForNavigation(), page.click('#place_order')]);
    const [, orderId = ''] = /order-received\/(\d+)/.exec(page.url()) ?? [];
    assert.equal((await assertBooks(shop(), Number(orderId))).total, '147.63');
    await signsIn(page);
    await page.goto(`${shopUrl}/wp-admin/post.php?post=${orderId}&action=edit`);
    await page.waitForSelector('#largesse-order');
    await page.type(`#largesse-order input[name="cards[${card.id}]"]`, '12.34');
    await Promise.all([page.waitForNavigation(), page.click('[data-largesse=refund]')]);
    assert.equal(await balanceOf(shop(), card), '12.34');
    await page.waitForSelector('#largesse-order');
    await page.type(`#largesse-order input[name="cards[${card.id}]"]`, '9');
    await page.click('[data-largesse=refund]');
    await page.waitForFunction(() =>
      /More than a gift card paid/.test(document.querySelector('.largesse-message')?.textContent ?? ''),
    );
    await assertBooks(shop(), Number(orderId));
    assert.deepEqual(problems, []);
  });

  test(`${suite}: in the editor, the block of the balance check shows its form, which cannot be sent there`, async () => {
    await using browser = await openBrowser();
    const { page, problems } = browser;
    await signsIn(page);
    await page.goto(`${shopUrl}/wp-admin/post-new.php?post_type=page`);
    // The first load of the editor compiles most of WordPress.
    await page.waitForFunction(`window.wp?.blocks?.getBlockType('largesse/balance') !== undefined`, {
      timeout: 120_000,
    });
    await page.evaluate(
      `wp.data.dispatch('core/block-editor').insertBlock(wp.blocks.createBlock('largesse/balance'))`,
    );
    // The editor has its blocks in a frame.
    const form = '[data-type="largesse/balance"] form.largesse-balance';
    const formsOf = () => Promise.all(page.frames().map((frame) => frame.$(form)));
    await until(async () => (await formsOf()).some((found) => found !== null), 60_000);
    const shown = (await formsOf()).find((found) => found !== null) ?? assert.fail();
    assert.match(await shown.evaluate(({ textContent }) => textContent), /Code of a gift card/);
    assert.ok(await shown.evaluate((element) => element.closest('[inert]') !== null));
    assert.deepEqual(problems, []);
  });
}
