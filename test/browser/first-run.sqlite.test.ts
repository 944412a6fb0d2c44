/** The first run in a real browser, whose forms send what the other tests only imitate. */

import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { openChromium, type Chromium, type Page } from '../support/chromium.ts';
import { command } from '../support/served.ts';
import { startService, type TestService } from '../support/service.ts';

let chromium: Chromium;
before(async () => {
  chromium = await openChromium();
});
after(async () => {
  await chromium[Symbol.asyncDispose]();
});

async function link({ environment }: TestService): Promise<string> {
  const { output } = await command(environment, 'setup', 'link', '--json');
  return new URL((JSON.parse(output) as { readonly link: string }).link).pathname;
}

/** Clicks a button, and waits for the next page. */
async function submit(page: Page, selector: string): Promise<void> {
  await Promise.all([page.waitForNavigation(), page.click(selector)]);
}

/** Chromium requests it for a response that is not a page. */
const expected = [/\/favicon\.ico$/];

function pathOf(page: Page): string {
  return new URL(page.url()).pathname;
}

test('the button of the demonstration opens it', async () => {
  await using service = await startService();
  await using window = await chromium.window(service, { expected });
  const { page, open } = window;
  assert.equal(await open('/'), 200);
  assert.equal(pathOf(page), '/setup');
  await submit(page, '.demonstration button');
  assert.equal(pathOf(page), '/today');
  assert.equal(await open('/account'), 200);
  assert.match(await page.content(), /This is the demonstration/);
  await submit(page, 'form[action="/sign-out"] button');
  assert.equal(pathOf(page), '/setup');
});

test('an owner sets up the shop with a passkey', async () => {
  await using service = await startService();
  await using window = await chromium.window(service, { locale: 'de-DE', expected });
  const { page, open } = window;
  const client = await page.createCDPSession();
  await client.send('Emulation.setTimezoneOverride', { timezoneId: 'Asia/Tokyo' });
  await client.send('WebAuthn.enable');
  await client.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  assert.equal(await open(await link(service)), 200);
  assert.equal(await page.$eval('#time_zone', (field) => (field as HTMLInputElement).value), 'Asia/Tokyo');
  assert.equal(await page.$eval('#currency', (field) => (field as HTMLInputElement).value), 'EUR – Euro');
  await page.type('#shop', 'Blumen am Markt');
  assert.equal(await page.$eval('.gift .shop', (shown) => shown.textContent), 'Blumen am Markt');
  await submit(page, 'form[data-suggests] button.first');
  await page.type('#name', 'Ada');
  await page.type('#email', 'ada@example.com');
  // The field of the password is hidden, and does not prevent the submission.
  await submit(page, 'form button.first');
  assert.match(pathOf(page), /^\/join\//);
  await submit(page, 'form[data-passkey=create] button');
  assert.equal(pathOf(page), '/cards/new');
  const [store] = await service.query('select name, time_zone from stores where demonstration = 0');
  assert.deepEqual({ ...store }, { name: 'Blumen am Markt', time_zone: 'Asia/Tokyo' });
});

test('without scripts, an owner sets up the shop with a password', async () => {
  await using service = await startService();
  await using window = await chromium.window(service, { javaScript: false, expected });
  const { page, open } = window;
  const path = await link(service);
  assert.equal(await open(path), 200);
  await page.type('#shop', 'Flowers');
  await submit(page, 'main form button.first');
  await submit(page, 'main form button.quiet');
  assert.equal(pathOf(page), `${path}/back`);
  await submit(page, 'main form button.first');
  await page.type('#name', 'Ada');
  await page.type('#email', 'ada@example.com');
  await page.click('input[value=password]');
  await page.type('#password', 'correct horse battery');
  await submit(page, 'main form button.first');
  assert.equal(pathOf(page), '/cards/new');
  assert.equal(await open('/account'), 200);
});

test('the API reference finds a field and copies a sample', async () => {
  await using service = await startService();
  await using window = await chromium.window(service, { expected });
  const { page, open } = window;
  await page.evaluateOnNewDocument(() => {
    navigator.clipboard.writeText = (text) => {
      document.body.dataset['copied'] = text;
      return Promise.resolve();
    };
  });
  assert.equal(await open('/docs'), 200);
  const sample = await page.$eval('figure pre', (pre) => pre.textContent);
  assert.match(sample, /^export TOKEN=/);
  await page.click('figure .copy');
  assert.equal(await page.$eval('body', ({ dataset }) => dataset['copied']), sample);
  await page.keyboard.press('/');
  await page.keyboard.type('create hold expires_in');
  await page.waitForSelector('.results a');
  await Promise.all([page.waitForNavigation(), page.keyboard.press('Enter')]);
  assert.equal(pathOf(page), '/docs/create-hold');

  // A language that is opened stays open on other pages.
  const openLanguages = (): Promise<readonly string[]> =>
    page.$$eval('.languages > [open] > summary', (found) => found.map(({ textContent }) => textContent));
  assert.deepEqual(await openLanguages(), ['curl']);
  await page.click('.languages > details:nth-of-type(4) > summary');
  await page.waitForSelector('.languages > [open]:nth-of-type(4)');
  assert.deepEqual(await openLanguages(), ['Python']);
  await page.click('.languages .copy');
  const copied = await page.$eval('body', ({ dataset }) => dataset['copied']);
  assert.match(copied ?? '', new RegExp(`"${new URL(page.url()).origin}/gift_card/\\d+/holds"`));
  assert.equal(await open('/docs/redeem-gift-card'), 200);
  assert.deepEqual(await openLanguages(), ['Python']);
});
