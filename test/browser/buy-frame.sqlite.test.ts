/** The buy page in a frame of the website of a shop, in a real browser that blocks the cookies of other sites. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import test, { after } from 'node:test';
import { textsOfVisitor } from '../../src/features/recipient/pages/texts.ts';
import { openBrowser } from '../support/browser.ts';
import { buyDomain, startSelling } from '../support/buy-page.ts';
import { certificate, certificateKey } from '../support/certificate.ts';
import { openChromium, type Window } from '../support/chromium.ts';
import { join } from '../support/console.ts';
import type { TestService } from '../support/service.ts';
import { choose, fillInGift, shown } from './buy-form.ts';
import { accessibilityFaults, overflowFaults } from './page-checks.ts';

const listed = 'www.flowers.example';
const stranger = 'www.weeds.example';

/** The website of the shop. Browsers resolve its names, and those of strangers, to this machine. */
let content = '';
const website = createServer({ cert: certificate, key: certificateKey }, (_request, response) => {
  response.setHeader('content-type', 'text/html; charset=utf-8');
  response.end(
    `<!doctype html><html lang="en"><meta name="viewport" content="width=device-width"><title>Shop</title><link rel="icon" href="data:,"><main><h1>Gifts</h1>${content}</main>`,
  );
});
website.listen(0, '127.0.0.1');
await once(website, 'listening');
after(() => website.close());
const { port } = website.address() as AddressInfo;

const names = [listed, stranger].map((host) => `MAP ${host}:443 127.0.0.1:${port}`).join(', ');
const chromium = await openChromium([
  `--host-resolver-rules=${names}, MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1`,
  '--ignore-certificate-errors',
  '--test-third-party-cookie-phaseout',
]);
after(() => chromium[Symbol.asyncDispose]());

/** The work of the browser needs the script of the page in the frame as well. */
const selling = await startSelling({ work: 'on' });
after(() => selling[Symbol.asyncDispose]());

/** The lines that the settings show, as an owner copies them. */
const owner = await join(selling, 'owner');
await using settings = await chromium.window(selling, { as: owner });
await settings.open('/settings/online-sales');
const snippet = await settings.page.$eval('.payload[tabindex]', ({ textContent }) => textContent ?? '');

const width = 360;
const ownPages = /^request to another origin: https:\/\/www\.\w+\.example\/$/;

async function visit(
  service: TestService,
  host: string,
  { html = snippet, expected = [] }: { readonly html?: string; readonly expected?: readonly RegExp[] } = {},
): Promise<Window> {
  content = html;
  const window = await chromium.window(service, {
    viewport: { width, height: 700 },
    as: owner,
    expected: [ownPages, ...expected],
  });
  await window.page.goto(`https://${host}/`, { waitUntil: 'networkidle0' });
  return window;
}

function originOf({ url }: TestService): string {
  return url.replace('127.0.0.1', 'localhost');
}

/** The frame of the buy page. @throws Error if the page of the website has none. */
function frameIn({ page }: Window) {
  return page.frames().find((frame) => frame.parentFrame() !== null) ?? assert.fail('there is no frame');
}

for (const [name, html] of [
  ['as the settings show it', snippet],
  [
    'that is sandboxed',
    snippet.replace(
      '<iframe ',
      '<iframe sandbox="allow-scripts allow-forms allow-same-origin allow-top-navigation-by-user-activation" ',
    ),
  ],
] as const)
  test(`a visitor orders in a frame ${name}, and pays outside of it`, async () => {
    await using window = await visit(selling, listed, { html });
    const { page } = window;
    const frame = frameIn(window);
    assert.equal(new URL(frame.url()).pathname, `/buy/${buyDomain}`);
    assert.equal(await frame.$('.shopbar'), null);
    assert.deepEqual(await overflowFaults(page), []);
    const sizes = await frame.evaluate(() => {
      const { scrollWidth, scrollHeight } = document.documentElement;
      return { innerWidth, innerHeight, scrollWidth, scrollHeight };
    });
    assert.ok(sizes.innerWidth >= 320 && sizes.scrollWidth <= sizes.innerWidth, JSON.stringify(sizes));
    assert.ok(sizes.scrollHeight <= sizes.innerHeight, JSON.stringify(sizes));
    await choose(frame, 'amount', '10000');
    await fillInGift(frame);
    assert.match(await shown(frame, '.preview .gift'), /Grace Hopper.*€100\.00/);
    await Promise.all([page.waitForNavigation(), frame.click('.summary button')]);
    assert.match(page.url(), /^http:\/\/localhost:\d+\/sandbox\/pay\//);
    assert.equal(page.frames().length, 1);
    assert.match(await shown(page.mainFrame(), 'main'), /€100\.00/);
    const framed = window.requests().filter((request) => request.frame() === frame);
    assert.deepEqual(
      framed.filter((request) => 'cookie' in request.headers()),
      [],
    );
  });

test('the page is not shown in a frame of another website', async () => {
  const expected = [/frame-ancestors/, /^request failed: .*net::ERR_BLOCKED_BY_RESPONSE/];
  await using window = await visit(selling, stranger, { expected });
  assert.equal(await frameIn(window).$('#buy'), null);
});

test('a visitor with too many requests reads that in the frame', async () => {
  await using service = await startSelling(
    {},
    { limits: { visitorRequestsPerSecond: 0.01, visitorRequestsBurst: 1 } },
  );
  assert.equal((await openBrowser(service).get(`/buy/${buyDomain}`)).status, 200);
  const html = snippet.replace(originOf(selling), originOf(service));
  await using window = await visit(service, listed, { html, expected: [/^status 429/, /favicon/] });
  const { texts } = textsOfVisitor('en', undefined);
  assert.equal(await shown(frameIn(window), 'h1'), texts.limitedTitle);
  assert.deepEqual(await accessibilityFaults(window.page), []);
});
