/** The buy page and the page of an order in a real browser, with and without scripts. */

import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { buyTextsOf, recipientLanguages } from '../../src/features/recipient/pages/texts.ts';
import { openBrowser } from '../support/browser.ts';
import { buyDomain, decide, giftForm, order, redirectOf, startSelling } from '../support/buy-page.ts';
import { openChromium, type Page, type Window, type WindowOptions } from '../support/chromium.ts';
import { until } from '../support/delivering.ts';
import { choose, fillInGift, shown } from './buy-form.ts';
import { accessibilityFaults, documentFaults, keyboardFaults, overflowFaults } from './page-checks.ts';

const path = `/buy/${buyDomain}`;
const texts = buyTextsOf('en');
const selling = await startSelling();
after(() => selling[Symbol.asyncDispose]());
const chromium = await openChromium();
after(() => chromium[Symbol.asyncDispose]());

async function open(options?: WindowOptions): Promise<Window> {
  const window = await chromium.window(selling, options);
  await window.open(path);
  return window;
}

async function follow(page: Page, selector: string): Promise<void> {
  await Promise.all([page.waitForNavigation(), page.click(selector)]);
}

for (const javaScript of [true, false])
  test(`a visitor ${javaScript ? 'with' : 'without'} scripts orders a card for Grace, and is led to the payment`, async () => {
    await using window = await open({ javaScript });
    const { page } = window;
    await choose(page, 'design', 'winter');
    const ground = await page.$eval('.preview .gift', (card) => getComputedStyle(card).backgroundColor);
    assert.equal(ground, 'rgb(21, 38, 63)');
    const art = await page.$eval(
      '.preview .gift',
      (card) => getComputedStyle(card, '::before').backgroundImage,
    );
    assert.match(art, /design-winter\.svg/);
    assert.equal(await shown(page, '.summary .total .sums'), '€50.00');
    await choose(page, 'amount', '10000');
    assert.equal(await shown(page, '.summary .total .sums'), '€100.00');
    assert.equal(await shown(page, '.preview .sums'), '€100.00');
    assert.equal(await page.$eval('#own', (field) => field.checkVisibility()), false);
    await choose(page, 'amount', 'own');
    await page.type('#own', '37.5');
    assert.equal(await shown(page, '.summary .total .sums'), javaScript ? '€37.50' : '–');
    assert.equal(await page.$eval('#day', (field) => field.checkVisibility()), false);
    await choose(page, 'when', 'day');
    assert.equal(await page.$eval('#day', (field) => field.checkVisibility()), true);
    assert.match(await shown(page, '.summary .total'), /on the chosen day/);
    await choose(page, 'when', 'now');
    await fillInGift(page);
    if (javaScript) {
      assert.match(await shown(page, '.preview .gift'), /Grace Hopper/);
      assert.match(await shown(page, '.preview .note'), /Happy birthday! Alan/);
      assert.equal(await shown(page, '.count-line [data-show="count"]'), '15');
      assert.match(await shown(page, '.summary .total'), /Grace Hopper/);
    }
    await follow(page, '.summary button');
    assert.match(new URL(page.url()).pathname, /^\/sandbox\/pay\//);
    assert.match(await shown(page, 'main'), /€37\.50/);
  });

test('a browser does the work that a store demands before it sends the form', async () => {
  await using service = await startSelling({ work: 'on' });
  await using window = await chromium.window(service);
  await window.open(path);
  const { page } = window;
  await choose(page, 'for', 'me');
  await page.type('#buyer_email', 'alan@example.com');
  await follow(page, '.summary button');
  assert.match(new URL(page.url()).pathname, /^\/sandbox\/pay\//);
});

test('“Myself” takes away what is not needed, and the card is shown after a press of a button', async () => {
  await using window = await open();
  const { page } = window;
  await choose(page, 'for', 'me');
  for (const field of ['#to', '#from', '#message', '#email', '#day'])
    assert.equal(await page.$eval(field, (element) => element.checkVisibility()), false, field);
  assert.match(await shown(page, '.summary .total'), /For You Arrives on the page of your order/);
  await page.type('#buyer_email', 'alan@example.com');
  await follow(page, '.summary button');
  await follow(page, 'form:has([value="pay"]) button');
  assert.equal(await page.$('.show-code'), null);
  await follow(page, 'form[action*="/card"] button');
  assert.match(await shown(page, '#shown-code'), /^[0-9A-Z]{4} [0-9A-Z]{4} [0-9A-Z]{4} [0-9A-Z]{4}$/);
  assert.doesNotMatch(page.url(), /#|code/);
});

test('a rejected form keeps what was typed, and its list leads to the fields', async () => {
  await using window = await open({ expected: [/422/] });
  const { page } = window;
  await page.type('#to', 'Grace');
  await follow(page, '.summary button');
  assert.equal(await page.$eval('#to', (field) => (field as HTMLInputElement).value), 'Grace');
  assert.match(await page.title(), new RegExp(texts.errors));
  await page.click('.errors a[href="#buyer_email"]');
  assert.equal(await page.evaluate(() => document.activeElement?.id), 'buyer_email');
  assert.deepEqual(await accessibilityFaults(page), []);
  assert.deepEqual(await overflowFaults(page), []);
});

test('the page of an order shows its payment without a reload by the visitor', async () => {
  const browser = openBrowser(selling);
  const session = redirectOf(await order(browser));
  const back = await decide(browser, session, { action: 'pay-later' });
  await using window = await chromium.window(selling);
  const { page } = window;
  await window.open(new URL(back, selling.url).pathname);
  assert.match(await shown(page, 'h1'), new RegExp(texts.waitingTitle));
  assert.equal((await browser.post(session, { action: 'arrive' })).status, 303);
  // The test does not wait for a minute.
  await page.evaluate(() => document.querySelector('main')?.setAttribute('data-refresh', '0.05'));
  await page.evaluate(async () => {
    const { src } = [...document.scripts].find((script) => script.src.endsWith('/buy.js')) ?? {};
    await import(`${src}?again`);
  });
  await until(async () => {
    // While the page is loaded again, it has no content.
    const title = await shown(page, 'h1').catch(() => texts.waitingTitle);
    return title !== texts.waitingTitle;
  });
});

test('all languages, themes and widths are accessible, and need no sideways scroll', async () => {
  const browser = openBrowser(selling);
  const { pathname } = new URL(await decide(browser, redirectOf(await order(browser))), selling.url);
  const faults: string[] = [];
  const settings: readonly (readonly [number, 'light' | 'dark'])[] = [
    [320, 'light'],
    [360, 'dark'],
    [390, 'light'],
    [1280, 'light'],
    [1280, 'dark'],
  ];
  await using window = await chromium.window(selling);
  const { page } = window;
  const check = async (name: string, rules: Parameters<typeof accessibilityFaults>[1]): Promise<void> => {
    for (const fault of [...(await overflowFaults(page)), ...(await accessibilityFaults(page, rules))])
      faults.push(`${name}: ${fault}`);
  };
  for (const shownPath of [path, `${path}?frame=1`, pathname, `${pathname}/withdraw`])
    for (const [width, theme] of settings) {
      await page.setViewport({ width, height: 800 });
      await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: theme }]);
      await window.open(shownPath);
      await check(`${shownPath} at ${width}, ${theme}`, 'everything');
    }
  await page.setViewport({ width: 320, height: 800 });
  for (const tag of recipientLanguages)
    for (const shownPath of [path, pathname]) {
      await window.open(`${shownPath}?lang=${tag}`);
      for (const fault of [...(await documentFaults(page, tag)), ...(await overflowFaults(page))])
        faults.push(`${shownPath} in ${tag}: ${fault}`);
    }
  await page.setViewport({ width: 390, height: 800 });
  await window.open(path);
  faults.push(...(await keyboardFaults(page)));
  assert.deepEqual(faults, []);
});

test('the first load has at most 60 kB, compressed', async () => {
  await using window = await chromium.window(selling, { viewport: { width: 390, height: 800 } });
  const { page } = window;
  const client = await page.createCDPSession();
  await client.send('Network.enable');
  const sizes = new Map<string, number>();
  const urls = new Map<string, string>();
  client.on('Network.requestWillBeSent', ({ requestId, request }) => urls.set(requestId, request.url));
  // Without the headers of the responses.
  client.on('Network.dataReceived', ({ requestId, encodedDataLength }) =>
    sizes.set(requestId, (sizes.get(requestId) ?? 0) + encodedDataLength),
  );
  await window.open(path);
  await page.evaluate(async () => {
    await document.fonts.ready;
  });
  await page.waitForNetworkIdle();
  const total = [...sizes.values()].reduce((sum, size) => sum + size, 0);
  const listed = [...sizes].map(([id, size]) => `${urls.get(id) ?? id} ${size}`).join('\n');
  assert.ok(sizes.size > 5, listed);
  assert.ok(total <= 60_000, `${total}\n${listed}`);
});

test('the form is shown in a frame of a page of the shop, and the payment leaves the frame', async () => {
  const browser = openBrowser(selling);
  const framed = await browser.get(`${path}?frame=1`);
  assert.match(framed.text, /<form[^>]*target="_top"/);
  assert.doesNotMatch(framed.text, /<form[^>]*action="[^"]*frame/);
  assert.equal((await order(browser, giftForm, `${path}?frame=1`)).status, 303);
});
