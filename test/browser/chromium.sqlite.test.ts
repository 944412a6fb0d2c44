/** The browser of the tests reports what is wrong with a page. */

import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import test, { after, afterEach } from 'node:test';
import { findChromium, signedIn } from '../support/chromium.ts';

const policy = "default-src 'none'; script-src 'self'; img-src 'self'; connect-src *; style-src 'self'";
const scripts: Readonly<Record<string, string>> = {
  '/throws.js': 'throw new Error("planted")',
  '/logs.js': 'console.error("planted")',
  '/elsewhere.js': 'fetch("http://127.0.0.1:9/").catch(() => {})',
  '/missing.js': 'fetch("/nothing").catch(() => {})',
  '/styles.js': 'document.body.setAttribute("style", "color: red")',
  '/fine.js': 'document.title = "fine"',
};
const pages: Readonly<Record<string, string>> = {
  '/inline': '<script>document.title = "ran"</script>',
  '/image': '<img src="/nothing" alt="">',
  ...Object.fromEntries(
    Object.keys(scripts).map((script) => [script.replace('.js', ''), `<script src="${script}"></script>`]),
  ),
};

const server: Server = createServer(({ url = '' }, response) => {
  const page = pages[url];
  if (page !== undefined)
    response.writeHead(200, { 'content-type': 'text/html', 'content-security-policy': policy });
  else if (scripts[url] !== undefined) response.writeHead(200, { 'content-type': 'text/javascript' });
  else response.writeHead(url === '/favicon.ico' ? 204 : 404);
  response.end(page === undefined ? scripts[url] : `<!doctype html><title>x</title><body>${page}`);
}).listen(0, '127.0.0.1');
await once(server, 'listening');
after(() => server.close());
const chromium = await findChromium();
assert.ok(chromium);
after(() => chromium[Symbol.asyncDispose]());
afterEach(() => assert.deepEqual(chromium.takeComplaints(), []));
const service = { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };

test('a window reports scripts, styles and requests that a page may not have', async () => {
  const planted: readonly (readonly [path: string, complaint: RegExp])[] = [
    ['/throws', /^script: Error: planted/],
    ['/logs', /^console: planted/],
    ['/elsewhere', /^request to another origin: http:\/\/127\.0\.0\.1:9\//],
    ['/missing', /^status 404: GET .*\/nothing/],
    ['/image', /^status 404: GET .*\/nothing/],
    ['/inline', /^console: .*Content Security Policy/],
    ['/styles', /^console: .*Content Security Policy/],
  ];
  for (const [path, complaint] of planted) {
    await using window = await chromium.window(service);
    assert.equal(await window.open(path), 200);
    await window.page.waitForNetworkIdle({ idleTime: 50 });
    const found = chromium.takeComplaints();
    assert.ok(
      found.some((each) => complaint.test(each)),
      `${path}: ${found.join('; ')}`,
    );
  }
  assert.deepEqual(chromium.takeComplaints(), []);
  await using tolerant = await chromium.window(service, { expected: [/^script: Error: planted/] });
  await tolerant.open('/throws');
  assert.deepEqual(chromium.takeComplaints(), []);
});

test('a window has its own settings, and a page without faults has no complaint', async () => {
  await using window = await chromium.window(service, {
    viewport: { width: 390, height: 800 },
    colorScheme: 'dark',
    locale: 'de-DE',
  });
  await window.open('/fine');
  const settings = await window.page.evaluate(() => ({
    title: document.title,
    width: innerWidth,
    dark: matchMedia('(prefers-color-scheme: dark)').matches,
    language: navigator.language,
  }));
  assert.deepEqual(settings, { title: 'fine', width: 390, dark: true, language: 'de-DE' });
  const [request] = window.requests();
  assert.match(request?.url() ?? '', /\/fine$/);
  await using still = await chromium.window(service, { javaScript: false });
  await still.open('/fine');
  assert.equal(await still.page.title(), 'x');
});

test('a member of staff is signed in', async () => {
  await using window = await signedIn(chromium, 'owner', { locale: 'de-DE' });
  assert.equal(await window.open('/account'), 200);
  assert.match(window.page.url(), /\/account$/);
  assert.equal(await window.page.$eval('html', (html) => html.lang), 'de-DE');
});
