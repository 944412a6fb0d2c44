/**
 * The page of recipients in a real browser, in English and Arabic, with and without JavaScript: a browser can go back to it
 * and reload it, the code is in no URL, history entry or referrer, and the QR codes on the screen and on paper are links.
 */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request as get, type IncomingMessage } from 'node:http';
import test, { after } from 'node:test';
import type { HTTPRequest } from 'puppeteer-core';
import type { Page } from '../support/chromium.ts';
import { join } from '../support/console.ts';
import { accessibilityFaults, documentFaults, overflowFaults } from './page-checks.ts';
import { cardShown, openRecipientShop, viewport } from './recipient-page.ts';
import { scan } from './scan.ts';

const opened = await openRecipientShop();
after(() => opened[Symbol.asyncDispose]());
const { chromium, gateway, origin, service, shop } = opened;
const card = await shop.issue({ initial_value: '50.00', expires_on: '2031-12-31', sender_name: 'Ada' });
await shop.debits(card.id, '12.50');
const code = card.code.toUpperCase();
const link = `${origin}/b/flowers.example/card#${code}`;

/** Wrong codes, which the page sends itself. */
const misses = [/^status 404: POST /];

async function enter(page: Page, text: string): Promise<void> {
  await page.type('#code', text);
  await Promise.all([page.waitForNavigation(), page.click('main form button.first')]);
}

for (const [locale, language, direction] of [
  ['en-US', 'en', 'ltr'],
  ['ar', 'ar', 'rtl'],
] as const) {
  for (const javaScript of [true, false]) {
    test(`a recipient checks a card in ${language} ${javaScript ? 'with' : 'without'} JavaScript`, async () => {
      await using window = await chromium.window(gateway, { locale, javaScript, viewport });
      const { page } = window;
      // Without JavaScript, nothing removes the code from the address bar: the page has the form.
      assert.equal(await window.open(javaScript ? '/b' : '/b/card'), 200);
      if (javaScript) await page.goto(window.url(`/b/card#${code}`));
      else await enter(page, `${code.slice(0, 8)} ${code.slice(8)}`);
      // The present of a card with a sender is first, and the code one tap behind it.
      await page.waitForSelector('.gift-fold[open] .gift-words', { visible: true });
      assert.equal(await page.$eval('.qr-tap', (button) => button.checkVisibility()), false);
      if (javaScript) assert.deepEqual(await accessibilityFaults(page), []);
      assert.deepEqual(await overflowFaults(page), []);
      await page.click('.gift-fold > summary');
      await page.waitForSelector('.qr-tap', { visible: true });
      assert.equal(page.url(), window.url(javaScript ? '/b/card' : '/b'));
      assert.equal(await page.$eval('html', ({ dir }) => dir), direction);
      assert.deepEqual(await documentFaults(page, language), []);
      await page.click('.languages summary');
      if (javaScript) assert.deepEqual(await accessibilityFaults(page), []);
      assert.deepEqual(await overflowFaults(page), []);
      await page.click('.languages summary');
      const isLeft = await page.$eval('.spendable .figure', (figure) => {
        const digits = [...figure.childNodes].find((node) => /\d/.test(node.textContent ?? ''));
        const number = new Range();
        number.selectNode(digits ?? figure);
        const currency = figure.querySelector('small')?.getBoundingClientRect();
        return currency !== undefined && currency.right <= number.getBoundingClientRect().left + 1;
      });
      assert.ok(isLeft, 'the currency is on the left of the number');
      assert.equal(
        await page.$eval('#shown-code', ({ textContent }) => textContent?.replaceAll(' ', '')),
        code,
      );
      // The QR code is first and large, and a phone's camera opens the card.
      const box = (await (await page.$('.qr-tap > svg'))?.boundingBox()) ?? assert.fail('no QR code');
      assert.ok(box.width >= 0.6 * viewport.width, `${box.width} px wide`);
      assert.ok(box.y + box.height < viewport.height / 2 + 10, `down to ${box.y + box.height} px`);
      assert.equal(await scan(page, '.qr-tap > svg'), link);
      await page.click('.qr-tap');
      await page.waitForSelector('#full:popover-open');
      assert.equal(await scan(page, '.code-block > svg'), link);
      await page.click('#full > .button');
      await page.waitForSelector('#full:not(:popover-open)');
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
      assert.equal(await scan(page, '.symbols svg'), link);
      const printed = await page.$eval('.sheet', ({ textContent }) => textContent ?? '');
      assert.ok(printed.includes(`${new URL(origin).host}/b/flowers.example`), printed);
      assert.match(printed, /2031/);
      assert.equal(await page.$eval('main', (main) => getComputedStyle(main).display), 'none');
    });
  }
}

/** Requests a page or a file as a browser does. @returns the bytes of the body, which is compressed. */
async function sentBytes(request: HTTPRequest): Promise<number> {
  const body = await request.fetchPostData();
  const headers = {
    'accept-encoding': 'br',
    ...(body && { 'content-type': 'application/x-www-form-urlencoded' }),
  };
  const sent = get(request.url(), { method: request.method(), headers }).end(body);
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  let bytes = 0;
  for await (const chunk of response) bytes += (chunk as Buffer).length;
  return bytes;
}

/** A phone loads compressed pages, style, scripts and fonts from the link to the card in an email. */
const firstLoadMaxBytes = 60_000;

test(`the first load of a card is at most ${firstLoadMaxBytes} bytes`, async () => {
  await using window = await chromium.window(gateway, { locale: 'fr', viewport });
  const { page } = window;
  await page.goto(link);
  await cardShown(page, code);
  await page.waitForFunction(() => document.fonts.status === 'loaded');
  const requests = new Map(
    window.requests().map((request) => [`${request.method()} ${request.url()}`, request]),
  );
  const loaded: [path: string, bytes: number][] = [];
  for (const [path, request] of requests) loaded.push([path, await sentBytes(request)]);
  assert.ok(
    loaded.some(([path]) => path.endsWith('.woff2')),
    'no font was loaded',
  );
  const bytes = loaded.reduce((sum, [, size]) => sum + size, 0);
  assert.ok(bytes <= firstLoadMaxBytes, `${bytes} bytes: ${JSON.stringify(loaded)}`);
});

test('the card stays after Back, a reload and a closed tab, and leaves with “Check another card”', async () => {
  await using window = await chromium.window(gateway, { viewport });
  const { page } = window;
  assert.equal(await window.open('/b'), 200);
  await enter(page, code.toLowerCase());
  await cardShown(page, code);
  assert.equal(page.url(), window.url('/b/card'));
  const gets = window.requests().filter((request) => request.isNavigationRequest());
  assert.deepEqual([...new Set(gets.map((request) => request.method()))], ['GET']);
  await page.reload();
  await cardShown(page, code);
  await page.goBack();
  assert.equal(page.url(), window.url('/b'));
  await page.goForward();
  await cardShown(page, code);
  // From another page, such as the shop's site.
  await page.goto('about:blank');
  await page.goBack();
  await cardShown(page, code);
  await page.click('.languages summary');
  await Promise.all([page.waitForNavigation(), page.click('.languages [lang="de"]')]);
  await cardShown(page, code);
  assert.equal(page.url(), window.url('/b/card?lang=de'));
  assert.equal(await page.$eval('html', ({ lang }) => lang), 'de');
  // A tab of its own has nothing of this one.
  const other = await window.newPage();
  await other.goto(window.url('/b/card'));
  assert.ok(await other.waitForSelector('#code', { visible: true }));
  await Promise.all([page.waitForNavigation(), page.click('[data-forget]')]);
  assert.equal(page.url(), window.url('/b?lang=de'));
  assert.equal(await page.evaluate(() => sessionStorage.length), 0);
  await page.goBack();
  assert.ok(await page.waitForSelector('#code', { visible: true }), 'the form, without the card');
});

test('a present opens once in a browser, and is folded below the code afterwards', async () => {
  await using window = await chromium.window(gateway, { viewport });
  const { page } = window;
  const isOpen = (): Promise<boolean> =>
    page.$eval('.gift-fold', (fold) => fold instanceof HTMLDetailsElement && fold.open);
  assert.equal(await window.open('/b'), 200);
  await page.goto(link);
  await page.waitForSelector('.gift-fold[open] h2', { visible: true });
  assert.match(await page.$eval('.gift-fold h2', ({ textContent }) => textContent ?? ''), /^Ada /);
  await page.reload();
  await page.waitForSelector('.qr-tap', { visible: true });
  assert.equal(await isOpen(), false);
  await page.click('.gift-fold > summary');
  await page.waitForSelector('.gift-words', { visible: true });
  await page.click('.gift-fold > summary');
  await page.waitForSelector('.qr-tap', { visible: true });
  await page.emulateMediaFeatures([{ name: 'prefers-reduced-motion', value: 'reduce' }]);
  await page.click('.gift-fold > summary');
  assert.equal(await page.$eval('.gift-fold .gift', (gift) => gift.getAnimations().length), 0);
  const kept = await page.evaluate(() => JSON.stringify(Object.entries(localStorage)));
  assert.doesNotMatch(kept, new RegExp(`${code}|Ada`, 'i'));
});

test('the result of a form on another site becomes a page that can be reloaded', async () => {
  await using window = await chromium.window(gateway, { viewport });
  const { page } = window;
  await page.setContent(
    `<form method="post" action="${origin}/b"><input name="code" value="${code}"><button>Check</button></form>`,
  );
  await Promise.all([page.waitForNavigation(), page.click('button')]);
  await cardShown(page, code);
  assert.equal(page.url(), window.url('/b/card'));
  const before = window.requests().length;
  await page.reload();
  await cardShown(page, code);
  const reloaded = window
    .requests()
    .slice(before)
    .find((request) => request.isNavigationRequest());
  assert.equal(reloaded?.method(), 'GET');
});

test('a wrong code stays in the field, is not kept, and costs no more than with the form', async () => {
  await using window = await chromium.window(gateway, { viewport, expected: misses });
  const { page } = window;
  assert.equal(await window.open('/b'), 200);
  await enter(page, 'zzzzzzzzzzzzzzzz');
  await page.waitForFunction(() => document.querySelector('h1')?.textContent?.includes('can’t show'));
  assert.equal(await page.$eval('#code', (field) => (field as HTMLInputElement).value), 'zzzzzzzzzzzzzzzz');
  assert.equal(await page.evaluate(() => document.activeElement?.id), 'code');
  assert.equal(await page.evaluate(() => sessionStorage.length), 0);
  assert.deepEqual(await accessibilityFaults(page), []);
  const searched = window.requests().filter((request) => request.method() === 'POST');
  assert.equal(searched.length, 1);
  await page.reload();
  assert.ok(await page.waitForSelector('#code', { visible: true }));
  assert.equal(window.requests().filter((request) => request.method() === 'POST').length, 1);
  // The form of the same page finds a card, also by its link.
  await enter(page, link);
  await cardShown(page, code);
});

test('without a connection the page says so, keeps the card and tries again', async () => {
  const lost = [/net::ERR_/];
  await using window = await chromium.window(gateway, { viewport, expected: lost });
  const { page } = window;
  let isLost = true;
  await page.setRequestInterception(true);
  page.on('request', (request) => {
    void (isLost && request.method() === 'POST' ? request.abort('internetdisconnected') : request.continue());
  });
  await page.goto(window.url(`/b/card#${code}`));
  const again = await page.waitForSelector('#waiting button', { visible: true });
  assert.equal(await page.$eval('#code', (field) => field.checkVisibility()), false);
  assert.deepEqual(await accessibilityFaults(page), []);
  await again?.click();
  await page.waitForSelector('#waiting button', { visible: true });
  isLost = false;
  await page.evaluate(() => dispatchEvent(new Event('online')));
  await cardShown(page, code);
});

test('a card that cannot be used has neither a code nor a color, and is read out', async () => {
  await using window = await chromium.window(gateway, { viewport, colorScheme: 'dark' });
  const { page } = window;
  const spent = await shop.issue({ initial_value: '5.00' });
  await shop.debits(spent.id, '5.00');
  const expired = await shop.issue({ initial_value: '5.00' });
  await shop.ask(`PUT /gift_card/${expired.id}`, { json: { expires_on: '2024-10-31' } });
  for (const [{ code: each }, title] of [
    [spent, 'This card is used up'],
    [expired, 'This card has expired'],
  ] as const) {
    await page.goto(window.url(`/b/card#${each}`));
    await page.waitForSelector('.void');
    assert.equal(await page.$eval('h1', ({ textContent }) => textContent), title);
    assert.equal(await page.$('.qr-tap, .gift, .figure, .sheet'), null);
    assert.ok(
      !(await page.$eval('main', ({ innerText }) => innerText)).includes(each.slice(0, 4).toUpperCase()),
    );
    assert.deepEqual(await accessibilityFaults(page), []);
    await page.reload();
    await page.waitForSelector('.void');
  }
});

test('signing out forgets the card that a member of staff opened', async () => {
  const cashier = await join({ ...service, url: gateway.url }, 'cashier');
  await using window = await chromium.window(gateway, { as: cashier });
  const { page } = window;
  await page.goto(window.url(`/b/card#${code}`));
  await cardShown(page, code);
  assert.equal(await window.open('/account'), 200);
  assert.equal(await page.evaluate(() => sessionStorage.length), 1);
  await Promise.all([page.waitForNavigation(), page.click('form[action$="/sign-out"] button')]);
  assert.equal(await page.evaluate(() => sessionStorage.length), 0);
});

test('the till finds a card by its link, typed and scanned, and by its code', async () => {
  const cashier = await join({ ...service, url: gateway.url }, 'cashier');
  await using window = await chromium.window(gateway, { as: cashier, viewport });
  const { page } = window;
  // A scanner for a US keyboard types these on a German one.
  const german: Readonly<Record<string, string>> = {
    ':': 'Ö',
    '/': '-',
    '#': '§',
    y: 'z',
    z: 'y',
    Y: 'Z',
    Z: 'Y',
  };
  const garbled = link.replaceAll(/[:/#yz]/gi, (sign) => german[sign] ?? sign);
  for (const text of [link, code, garbled]) {
    assert.equal(await window.open('/till'), 200);
    await page.keyboard.type(`${text}\n`);
    await page.waitForFunction(() => location.pathname.startsWith('/till/card/'));
  }
});

test('without JavaScript, a visitor reads the shown card in another language', async () => {
  await using window = await chromium.window(gateway, { javaScript: false, viewport });
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
  await Promise.all([page.waitForNavigation(), page.click('main form button.first')]);
  await choose('Français');
  assert.equal(page.url(), window.url('/b?lang=fr'));
  assert.equal(await page.$eval('html', ({ lang }) => lang), 'fr');
  await cardShown(page, code);
  assert.equal(await scan(page, '.qr-tap > svg'), link);
});

test('the code of a link leaves the address bar and the history before it is sent', async () => {
  await using window = await chromium.window(gateway);
  const { page } = window;
  const client = await page.createCDPSession();
  const other = (await shop.issue()).code.toUpperCase();
  const sentFrom: string[] = [];
  page.on('request', (request) => {
    if (request.method() === 'POST') sentFrom.push(page.url());
  });
  // The link of another card in the same tab does not load the page again.
  for (const linked of [code, other]) {
    await page.goto(window.url(`/b/card#${linked}`));
    await cardShown(page, linked);
    assert.equal(page.url(), window.url('/b/card'));
    // The entry also has what was typed into the address bar, until the next page replaces the entry.
    const { entries } = await client.send('Page.getNavigationHistory');
    for (const { url } of entries) assert.doesNotMatch(url, new RegExp(`${code}|${other}`, 'i'));
  }
  assert.deepEqual(new Set(sentFrom), new Set([window.url('/b/card')]));
  // The link to the content is not a code.
  await page.evaluate(() => location.assign('#content'));
  await cardShown(page, other);
});
