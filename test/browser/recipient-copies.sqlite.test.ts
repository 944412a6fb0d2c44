/** The page of recipients in a real browser: copies of cards for times without a connection, and the image of a card. */

import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import type { Page } from '../support/chromium.ts';
import { accessibilityFaults, overflowFaults } from './page-checks.ts';
import { cardShown, openRecipientShop, viewport } from './recipient-page.ts';
import { scan, scanPicture } from './scan.ts';

const opened = await openRecipientShop();
after(() => opened[Symbol.asyncDispose]());
const { chromium, gateway, origin, shop } = opened;
const card = await shop.issue({ initial_value: '50.00', expires_on: '2031-12-31' });
const code = card.code.toUpperCase();
const link = `${origin}/b/flowers.example/card#${code}`;

/** Waits until the browser keeps so many copies of cards, and the page without a card. */
async function copiesKept(page: Page, count: number): Promise<void> {
  await page.waitForFunction(
    async (expected) => {
      const [copies, pages] = await Promise.all([
        caches.open('largesse-cards'),
        caches.open('largesse-recipient'),
      ]);
      const paths = Array.from(await pages.keys(), ({ url }) => new URL(url).pathname);
      const registration = await navigator.serviceWorker.getRegistration();
      return (
        (await copies.keys()).length === expected &&
        Boolean(registration?.active) &&
        ['/card', '/recipient-image.js', '/largesse.css'].every((end) =>
          paths.some((path) => path.endsWith(end)),
        )
      );
    },
    { polling: 100 },
    count,
  );
}

test('a card that was opened is shown without a connection, from its tab and from its link only', async () => {
  const expected = [/net::ERR_/, /Failed to fetch/];
  await using window = await chromium.window(gateway, { viewport, expected });
  await using _online = { [Symbol.asyncDispose]: async () => void (gateway.lose = () => 'none') };
  const { page } = window;
  const own = await shop.issue({ initial_value: '50.00', expires_on: '2031-12-31' });
  const ownCode = own.code.toUpperCase();
  await page.goto(`${origin}/b/flowers.example/card#${ownCode}`);
  await cardShown(page, ownCode);
  await copiesKept(page, 1);
  const stored = await page.evaluate(async () => {
    const texts: string[] = [JSON.stringify(localStorage)];
    for (const name of await caches.keys()) {
      const cache = await caches.open(name);
      for (const request of await cache.keys())
        texts.push(request.url, await ((await cache.match(request))?.text() ?? ''));
    }
    return texts.join(' ');
  });
  assert.doesNotMatch(stored.replaceAll(' ', ''), new RegExp(ownCode, 'i'));
  assert.doesNotMatch(stored, /50\.00/);

  gateway.lose = () => 'before';
  await page.reload();
  await cardShown(page, ownCode);
  assert.match(
    await page.$eval('#saved', ({ textContent }) => textContent ?? ''),
    /No internet connection: .* as of \w+ \d/,
  );
  assert.equal(await scan(page, '.qr-tap > svg'), `${origin}/b/flowers.example/card#${ownCode}`);
  assert.deepEqual(await accessibilityFaults(page), []);
  assert.deepEqual(await overflowFaults(page), []);

  const other = await window.newPage();
  await other.goto(`${origin}/b/flowers.example/card?lang=de#${ownCode}`);
  await cardShown(other, ownCode);
  await other.goto('about:blank');
  await other.goto(link);
  await other.waitForSelector('#waiting button', { visible: true });
  const stranger = await window.newPage();
  await stranger.goto(window.url('/b/flowers.example/card'));
  assert.ok(
    await stranger.waitForSelector('#code', { visible: true }),
    'without the code, there is the form',
  );

  gateway.lose = () => 'none';
  await shop.debits(own.id, '12.50');
  await page.evaluate(() => dispatchEvent(new Event('online')));
  await page.waitForFunction(() =>
    document.querySelector('.spendable .figure')?.textContent?.includes('37.50'),
  );
  assert.equal(await page.$eval('#saved', (notice) => notice.checkVisibility()), false);

  // A card that was stopped is not shown as a valid one afterwards.
  await shop.ask(`POST /gift_card/${own.id}/suspend`, { json: {} });
  await page.reload();
  await page.waitForSelector('.void');
  await copiesKept(page, 0);
  gateway.lose = () => 'before';
  await page.reload();
  await page.waitForSelector('#waiting button', { visible: true });
});

test('a card with a chosen code has no copy, and an earlier one is deleted', async () => {
  const expected = [/net::ERR_/, /Failed to fetch/];
  await using window = await chromium.window(gateway, { viewport, expected });
  await using _online = { [Symbol.asyncDispose]: async () => void (gateway.lose = () => 'none') };
  const { page } = window;
  const chosen = await shop.issue({ initial_value: '50.00', code: '48213957' });
  await page.goto(link);
  await cardShown(page, code);
  await copiesKept(page, 1);
  await page.goto('about:blank');
  const chosenLink = `${origin}/b/flowers.example/card#${chosen.code}`;
  await page.goto(chosenLink);
  await cardShown(page, chosen.code);
  assert.equal(await page.$('[data-until]'), null);
  // The module is that of the page, so the copy is one that a version before has made.
  const kept = await page.evaluate(async (typed) => {
    const script = performance
      .getEntriesByType('resource')
      .find(({ name }) => name.endsWith('/recipient-offline.js'));
    const offline = (await import(script?.name ?? '')) as {
      readonly keepCard: (found: Document, shown: object) => Promise<void>;
      readonly openCopy: (page: string, code: string) => Promise<object | null>;
    };
    const { page: own = '', worker = '' } = document.getElementById('recipient')?.dataset ?? {};
    const earlier = document.cloneNode(true) as Document;
    earlier.querySelector('.show-code')?.setAttribute('data-until', '');
    await offline.keepCard(earlier, { page: own, worker, code: typed });
    return (await offline.openCopy(own, typed)) !== null;
  }, chosen.code);
  assert.ok(kept, 'there is an earlier copy');
  await copiesKept(page, 2);
  await page.reload();
  await cardShown(page, chosen.code);
  await copiesKept(page, 1);
  gateway.lose = () => 'before';
  await page.reload();
  await page.waitForSelector('#waiting button', { visible: true });
});

test('a copy is deleted after 30 days, and when its card has expired', async () => {
  const expected = [/net::ERR_/, /Failed to fetch/];
  await using window = await chromium.window(gateway, { viewport, expected });
  await using _online = { [Symbol.asyncDispose]: async () => void (gateway.lose = () => 'none') };
  const { page } = window;
  const today = Temporal.Now.plainDateISO('UTC');
  const short = await shop.issue({ initial_value: '5.00', expires_on: today.add({ days: 2 }).toString() });
  for (const [{ code: each }, days] of [
    [short, 4],
    [card, 31],
  ] as const) {
    gateway.lose = () => 'none';
    await page.goto('about:blank');
    await page.goto(window.url(`/b/flowers.example/card#${each}`));
    await cardShown(page, each.toUpperCase());
    await copiesKept(page, 1);
    gateway.lose = () => 'before';
    const { identifier } = await page.evaluateOnNewDocument((later) => {
      const { now } = Date;
      Date.now = () => now() + later * 24 * 3_600_000;
    }, days);
    await page.reload();
    await page.waitForSelector('#waiting button', { visible: true });
    await copiesKept(page, 0);
    await page.removeScriptToEvaluateOnNewDocument(identifier);
  }
});

test('the image of a card has its codes, and no amount', async () => {
  await using window = await chromium.window(gateway, { viewport, colorScheme: 'dark' });
  const { page } = window;
  await page.goto(link);
  await cardShown(page, code);
  await page.evaluate(() => {
    const written: string[] = [];
    Object.assign(globalThis, { written });
    type Write = (...painted: [text: string, x: number, y: number, widthMax: number]) => void;
    const drawing = CanvasRenderingContext2D.prototype as unknown as Record<'fillText', Write>;
    drawing.fillText = new Proxy(drawing.fillText, {
      apply: (write, context, painted: Parameters<Write>) => {
        written.push(painted[0]);
        Reflect.apply(write, context, painted);
      },
    });
    HTMLAnchorElement.prototype.click = function saved() {
      written.push(this.download);
    };
    URL.createObjectURL = (blob) => {
      Object.assign(globalThis, { picture: blob });
      return 'blob:picture';
    };
  });
  await page.click('[data-image]');
  await page.waitForFunction(() => 'picture' in globalThis);
  const [written, picture] = await page.evaluate(async () => {
    const own = globalThis as unknown as { readonly written: readonly string[]; readonly picture: Blob };
    const bytes = new Uint8Array(await own.picture.arrayBuffer());
    return [own.written, btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''))] as const;
  });
  assert.equal(await scanPicture(page, picture), link);
  assert.match(
    written.join('\n'),
    /^Flowers.*\n(?:\w{4} ?){4}\n.*December 31, 2031\nlocalhost:\d+\/b\/flowers\.example\nGift card · Flowers.*\.png$/,
  );
});
