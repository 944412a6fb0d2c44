/** The API reference in a browser: the search, the copy buttons, and in a sandbox samples that are sent. */

import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { currencyOf } from '../../src/core/money/domain/currency.ts';
import { openSandbox } from '../../src/features/sandbox/service/sandbox.ts';
import { openChromium, type Chromium, type Page } from '../support/chromium.ts';
import { startService } from '../support/service.ts';
import { accessibilityFaults, documentFaults, overflowFaults } from './page-checks.ts';

const expected = [/\/favicon\.ico$/, /^status (?:404|422)/, /^console: Failed to load resource/];

let chromium: Chromium;
before(async () => {
  chromium = await openChromium();
});
after(async () => {
  await chromium[Symbol.asyncDispose]();
});

/** Presses the button, and returns the status and the body that are shown then. */
async function run(page: Page): Promise<{ readonly status: string; readonly body: string }> {
  await page.click('.run button');
  await page.waitForFunction(() => !document.querySelector('.run button')?.matches(':disabled'));
  const textOf = (selector: string): Promise<string> =>
    page.$eval(selector, ({ textContent }) => textContent ?? '');
  return { status: await textOf('.run [role=status]'), body: await textOf('.run pre') };
}

async function fill(page: Page, selector: string, text: string): Promise<void> {
  await page.$eval(selector, (field, value) => ((field as HTMLInputElement).value = value), text);
}

test('a sample of a sandbox is run, changed and run again', async () => {
  await using service = await startService({
    isSandbox: true,
    environment: { BASE_PATH: '/cards/api' },
    async beforeStart({ ctx, storage }) {
      await storage.write(() => openSandbox(ctx, { domain: 'sandbox.example', currency: currencyOf('USD') }));
    },
  });
  await using window = await chromium.window(service, { expected, viewport: { width: 390, height: 800 } });
  const { page, open } = window;
  assert.equal(await open('/docs/create-gift-card'), 200);
  const created = await run(page);
  assert.equal(created.status, 'Status 201');
  const { gift_card: card } = JSON.parse(created.body) as { readonly gift_card: { readonly id: number } };
  assert.deepEqual(await accessibilityFaults(page), []);
  assert.deepEqual([...(await documentFaults(page, 'en')), ...(await overflowFaults(page))], []);

  await fill(page, '.run textarea', '{"initial_value": -5, "note": "<b>bold</b>"}');
  await fill(page, '.run input', '/cards/api/gift_card?dry_run=true');
  const rejected = await run(page);
  assert.equal(rejected.status, 'Status 422', rejected.body);
  assert.match(rejected.body, /"must be greater than 0"/);

  assert.equal(await open('/docs/retrieve-gift-card'), 200);
  assert.equal((await run(page)).status, 'Status 404');
  await fill(page, '.run input', `cards/api/gift_card/${card.id}`);
  const found = await run(page);
  assert.equal(found.status, 'Status 200');
  assert.match(found.body, new RegExp(`"id": ${card.id},`));

  // The path leads to no other service, and the text of a response is not a part of the page.
  await fill(page, '.run input', '//other.example/<img src=x>');
  const elsewhere = await run(page);
  assert.equal(elsewhere.status, 'Status 404');
  assert.equal(await page.$('.run img'), null);
  assert.equal(await open('/docs/stream-events'), 200);
  assert.equal(await page.$('.run'), null);
});

/** Types into the search, and waits until it has results for the words. */
async function search(page: Page, words: string): Promise<void> {
  await page.keyboard.press('/');
  assert.equal(await page.evaluate(() => document.activeElement?.getAttribute('role')), 'combobox');
  await page.keyboard.type(words);
  await page.waitForFunction(() => document.querySelector('.found')?.textContent !== '');
}

async function waitForPage(page: Page, url: string): Promise<void> {
  await page.waitForFunction(
    (end) => location.href.endsWith(end) && document.readyState === 'complete',
    {},
    url,
  );
}

for (const [width, colorScheme] of [
  [390, 'dark'],
  [1280, 'light'],
  [390, 'light'],
  [1280, 'dark'],
] as const)
  test(`the slash key leads to the search, at ${width} px in ${colorScheme}`, async () => {
    await using service = await startService();
    await using window = await chromium.window(service, {
      viewport: { width, height: 800 },
      colorScheme,
      expected,
    });
    const { page, open } = window;
    assert.equal(await open('/docs/errors'), 200);
    assert.equal(
      await page.$eval('h1', (heading) => getComputedStyle(heading).fontFamily.split(',')[0]),
      'Fraunces',
    );
    await page.waitForFunction(
      () => document.fonts.check('500 1rem Fraunces') && document.fonts.check('1rem "Instrument Sans"'),
    );
    // A guide, an operation, a field and an error code.
    for (const [words, url] of [
      ['idempotency', '/docs/idempotency'],
      ['redeem a gift card by its code', '/docs/redeem-gift-card'],
      ['release_holds', '/docs/update-gift-card#body'],
      ['insufficient-balance', '/docs/errors#insufficient-balance'],
    ] as const) {
      await search(page, words);
      assert.deepEqual(await accessibilityFaults(page), [], words);
      assert.deepEqual(await overflowFaults(page), [], words);
      const results = await page.$$eval('[role=option]', (links) =>
        links.map((link) => (link as HTMLAnchorElement).href),
      );
      const place = results.findIndex((href) => href.endsWith(url));
      assert.ok(place >= 0, `${words}: ${results.join(' ')}`);
      for (let step = 0; step <= place; step += 1) await page.keyboard.press('ArrowDown');
      const active = await page.$eval('[role=combobox]', (field) => ({
        expanded: field.getAttribute('aria-expanded'),
        item: field.getAttribute('aria-activedescendant'),
        list: field.getAttribute('aria-controls'),
      }));
      assert.deepEqual(active, { expanded: 'true', item: `result-${place}`, list: 'results' });
      assert.equal(await page.$$eval('[aria-selected=true]', ({ length }) => length), 1);
      await page.keyboard.press('Enter');
      await waitForPage(page, url);
    }
    await search(page, 'xyzzy');
    assert.equal(
      await page.$eval('.found', ({ textContent }) => textContent),
      'Nothing contains all of these words.',
    );
    await page.keyboard.press('Escape');
    assert.equal(await page.$eval('[role=combobox]', (field) => (field as HTMLInputElement).value), '');
    assert.ok(await page.$eval('.side > details', (list) => list.checkVisibility()));
  });

/** The places of all blocks of code. */
async function placesOf(page: Page): Promise<readonly string[]> {
  return await page.$$eval('pre, h1, h2, footer', (parts) =>
    parts.map((part) => {
      const { x, y, width, height } = part.getBoundingClientRect();
      return [x, y, width, height].map(Math.round).join(' ');
    }),
  );
}

for (const width of [390, 1280])
  test(`every block of code has a button that copies it and moves nothing, at ${width} px`, async () => {
    await using service = await startService();
    const viewport = { width, height: 800 };
    await using window = await chromium.window(service, { viewport, expected });
    const { page, open, url } = window;
    const permission = { name: 'clipboard-write' } as const;
    await page.browserContext().setPermission(new URL(url('/')).origin, { permission, state: 'granted' });
    await page.evaluateOnNewDocument(() => {
      navigator.clipboard.writeText = (text) => {
        sessionStorage.setItem('copied', text);
        return Promise.resolve();
      };
    });
    for (const path of [
      '/docs',
      '/docs/create-gift-card',
      '/docs/webhooks',
      '/docs/errors',
      '/docs/client',
    ]) {
      assert.equal(await open(path), 200, path);
      const places = await placesOf(page);
      const buttons = await page.$$('.copy');
      const shown = await page.$$eval('pre', (blocks) =>
        blocks.filter((block) => block.checkVisibility()).map(({ textContent }) => textContent),
      );
      assert.equal(buttons.length, shown.length, path);
      for (const [index, button] of buttons.entries()) {
        await button.evaluate((each) => each.scrollIntoView({ block: 'center' }));
        await button.click();
        await page.waitForFunction((each) => each.textContent.startsWith('Copied'), {}, button);
        assert.equal(await page.evaluate(() => sessionStorage.getItem('copied')), shown[index], path);
        assert.equal(await page.$eval('p.sr[role=status]', ({ textContent }) => textContent), 'Copied');
      }
      await page.evaluate(() => {
        scrollTo(0, 0);
        document.querySelector('.samples')?.scrollTo(0, 0);
      });
      assert.deepEqual(await placesOf(page), places, path);
      assert.deepEqual(await overflowFaults(page), []);
    }
    // The open language is the one that is copied.
    assert.equal(await open('/docs/redeem-gift-card'), 200);
    await page.click('.languages > details:nth-of-type(2) > summary');
    await page.click('.languages .copy');
    const copied = await page.evaluate(() => sessionStorage.getItem('copied'));
    assert.equal(copied, await page.$eval('.languages [open] code', ({ textContent }) => textContent));

    // Before the script, everything is in its place already.
    await using plain = await chromium.window(service, { viewport, expected });
    await plain.page.setRequestInterception(true);
    plain.page.on('request', (request) =>
      request.url().endsWith('/script.js')
        ? void request.respond({ status: 200, contentType: 'text/javascript', body: '' })
        : void request.continue(),
    );
    assert.equal(await plain.open('/docs/webhooks'), 200);
    const places = await placesOf(plain.page);
    assert.equal(await open('/docs/webhooks?again'), 200);
    assert.deepEqual(await placesOf(page), places);
  });

test('samples name the host of the page, also one that the service does not know', async () => {
  await using service = await startService({ environment: { BASE_PATH: '/cards/api' } });
  await using window = await chromium.window(service, { expected });
  const { page, open, url } = window;
  assert.equal(await open('/docs'), 200);
  const textOfPage = (): Promise<string> => page.$eval('main', ({ textContent }) => textContent ?? '');
  assert.match(await textOfPage(), new RegExp(`"${url('/cards/api/gift_card')}"`));
  // The page as the service sends it to a host that is neither in `PUBLIC_URL` nor local.
  const { origin } = new URL(service.url);
  const sent = await (await fetch(`${origin}/docs`)).text();
  const unknown = 'http://localhost:3000';
  const body = sent.replaceAll(origin, unknown).replace('<body>', `<body data-unknown-url="${unknown}">`);
  await page.setRequestInterception(true);
  page.on('request', (request) =>
    request.url().endsWith('/docs')
      ? void request.respond({ status: 200, contentType: 'text/html', body })
      : void request.continue(),
  );
  assert.equal(await open('/docs'), 200);
  assert.match(await textOfPage(), new RegExp(`"${url('/cards/api/gift_card')}"`));
  assert.doesNotMatch(await textOfPage(), /localhost:3000\//);
});
