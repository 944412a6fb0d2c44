/**
 * The page of recipients in a real browser, in English and Arabic, with and without JavaScript: the code of the link is in
 * no URL, history entry or referrer, and the QR codes on the screen and on paper are the code.
 */

import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { openChromium } from '../support/chromium.ts';
import { openStoreWithStaff } from '../support/console.ts';
import { shopOf } from '../support/shop.ts';
import { accessibilityFaults, documentFaults } from './page-checks.ts';
import { scan } from './scan.ts';

const chromium = await openChromium();
const service = await openStoreWithStaff();
after(async () => {
  await chromium[Symbol.asyncDispose]();
  await service[Symbol.asyncDispose]();
});
const shop = await shopOf(service, 'flowers.example');
const card = await shop.issue({ initial_value: '50.00', expires_on: '2031-12-31', sender_name: 'Ada' });
await shop.debits(card.id, '12.50');
const code = card.code.toUpperCase();

for (const [locale, language, direction] of [
  ['en-US', 'en', 'ltr'],
  ['ar', 'ar', 'rtl'],
] as const) {
  for (const javaScript of [true, false]) {
    test(`a recipient checks a card in ${language} ${javaScript ? 'with' : 'without'} JavaScript`, async () => {
      const viewport = { width: 390, height: 844 };
      await using window = await chromium.window(service, { locale, javaScript, viewport });
      const { page } = window;
      // Without JavaScript, nothing removes the code from the address bar: the page has the form.
      assert.equal(await window.open(javaScript ? '/b' : '/b/card'), 200);
      const fill = async (): Promise<void> => {
        await page.type('#code', `${code.slice(0, 8)} ${code.slice(8)}`);
        await Promise.all([page.waitForNavigation(), page.click('form button.first')]);
      };
      const follow = async (): Promise<void> => {
        await page.goto(window.url(`/b/card#${code}`));
        await page.waitForSelector('.qr');
      };
      await (javaScript ? follow() : fill());
      assert.equal(page.url(), window.url('/b'));
      assert.equal(await page.$eval('html', ({ dir }) => dir), direction);
      assert.deepEqual(await documentFaults(page, language), []);
      await page.click('.languages summary');
      if (javaScript) assert.deepEqual(await accessibilityFaults(page), []);
      const width = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(width <= viewport.width, String(width));
      const isLeft = await page.$eval('.gift .figure', (figure) => {
        const digits = [...figure.childNodes].find((node) => /\d/.test(node.textContent ?? ''));
        const number = new Range();
        number.selectNode(digits ?? figure);
        const currency = figure.querySelector('small')?.getBoundingClientRect();
        return currency !== undefined && currency.right <= number.getBoundingClientRect().left + 1;
      });
      assert.ok(isLeft, 'the currency is on the left of the number');
      const shown = await page.$eval('.codeline', ({ textContent }) => textContent ?? '');
      assert.equal(shown.replaceAll(/\s/g, ''), code);
      assert.equal(await scan(page, '.qr svg'), code);
      const client = await page.createCDPSession();
      const places = JSON.stringify([
        await client.send('Page.getNavigationHistory'),
        await page.title(),
        await page.evaluate(() => [document.referrer, JSON.stringify(history.state), document.cookie]),
        window.requests().map((request) => [request.url().replace(/#.*/, ''), request.headers()]),
        window.requests().map((request) => request.response()?.headers()),
        service.log(),
      ]);
      assert.doesNotMatch(places.replaceAll(/%20|[\s+-]/g, ''), new RegExp(code, 'i'));
      await page.setViewport({ width: 1280, height: 1200 });
      await page.emulateMediaType('print');
      assert.equal(await scan(page, '.symbols svg'), code);
      assert.equal(await page.$eval('main', (main) => getComputedStyle(main).display), 'none');
    });
  }
}

test('without JavaScript, a visitor reads the shown card in another language', async () => {
  const viewport = { width: 390, height: 844 };
  await using window = await chromium.window(service, { javaScript: false, viewport });
  const { page } = window;
  const choose = async (name: string): Promise<void> => {
    await page.click('.languages summary');
    const choice = `::-p-xpath(//nav//*[self::a or self::button][normalize-space()='${name}'])`;
    const box = await (await page.waitForSelector(choice))?.boundingBox();
    assert.ok(box && box.height >= 44 && box.x >= 0 && box.x + box.width <= viewport.width, name);
    await Promise.all([page.waitForNavigation(), page.click(choice)]);
  };
  assert.equal(await window.open('/b'), 200);
  await choose('עברית');
  assert.equal(page.url(), window.url('/b?lang=he'));
  await page.type('#code', code);
  await Promise.all([page.waitForNavigation(), page.click('form button.first')]);
  await choose('Français');
  assert.equal(page.url(), window.url('/b?lang=fr'));
  assert.equal(await page.$eval('html', ({ lang }) => lang), 'fr');
  assert.equal(await scan(page, '.qr svg'), code);
});

test('the code of a link leaves the address bar and the history before it is sent', async () => {
  await using window = await chromium.window(service);
  const { page } = window;
  await page.evaluateOnNewDocument(() => {
    addEventListener('submit', (event) => event.preventDefault());
  });
  const client = await page.createCDPSession();
  const other = (await shop.issue()).code.toUpperCase();
  // The link of another card in the same tab does not load the page again.
  for (const linked of [code, other]) {
    await page.goto(window.url(`/b/card#${linked}`));
    await page.waitForFunction(
      (text) => document.querySelector<HTMLInputElement>('#code')?.value === text,
      {},
      linked,
    );
    assert.equal(page.url(), window.url('/b/card'));
    // The entry also has what was typed into the address bar, until the next page replaces the entry.
    const { entries } = await client.send('Page.getNavigationHistory');
    for (const { url } of entries) assert.doesNotMatch(url, new RegExp(`${code}|${other}`, 'i'));
  }
});
