/** Malformed requests of strangers to every page: they are errors of the client, and not of the service. */

import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { loadPages } from '../../src/start/routes.ts';
import { openBrowser, type Browser } from '../support/browser.ts';
import { consoleDomain } from '../support/console.ts';
import { startService } from '../support/service.ts';

const { routes: consoleRoutes } = await loadPages();

const service = await startService({ stores: [{ domain: consoleDomain }, { domain: 'books.example' }] });
after(() => service[Symbol.asyncDispose]());

const form = 'application/x-www-form-urlencoded';

/** Content types and bodies that no browser sends. */
const bodies: readonly (readonly [string, string])[] = [
  [form, '%'],
  [form, 'email=%zz'],
  [form, 'email=%ff&password=%c3%28'],
  [form, 'email=a%00b%40example.com&password=%00&store=%00&staff=%00&pin=%00&code=%00&q=%00&credential=%00'],
  [form, 'staff=1e400&pin=12345&store=__proto__&next=%2F%00&credential=%7B%22id%22%3A1%7D'],
  [form, 'email=%ED%A0%80%40example.com'],
  [form, '=&&&=;'.repeat(50)],
  ['application/json', '{"email":'],
  ['multipart/form-data', 'x'],
  ['multipart/form-data; boundary=x', '--x\r\n\r\n'],
  ['', 'x'],
];

const queries = ['', '?%zz', '?next=%00', '?next=%ff', '?store=%00&x=1&x=2', '?before=1e999&q=%00'];

/** Values of the parameters of paths. */
const values = ['1', '0', '-1', '1e30', '%00', '%zz', '__proto__', 'x'.repeat(300)];

type Sent = readonly [path: string, Omit<Parameters<Browser['request']>[1], 'method'>];

const own = { 'sec-fetch-site': 'same-origin' };

function malformed(target: string, method: string): readonly Sent[] {
  return method === 'GET'
    ? queries.map((query): Sent => [`${target}${query}`, {}])
    : bodies.map(([type, body]): Sent => [target, { headers: { ...own, 'content-type': type }, body }]);
}

/** A request whose only malformed part is its path. */
function plain(target: string, method: string): readonly Sent[] {
  return [[target, method === 'GET' ? {} : { headers: { ...own, 'content-type': form }, body: 'x=1' }]];
}

function errorLines(): readonly string[] {
  return service
    .log()
    .split('\n')
    .filter((line) => line !== '' && (JSON.parse(line) as { readonly level: number }).level >= 50);
}

test('a malformed form is a 400 without a line at `error`', async () => {
  const browser = openBrowser(service);
  const { status } = await browser.request('/sign-in', {
    method: 'POST',
    headers: { 'sec-fetch-site': 'same-origin', 'content-type': form },
    body: 'email=%zz',
  });
  assert.equal(status, 400);
  assert.deepEqual(errorLines(), []);
});

test('nothing that a stranger sends to a page is an error of the service', async (t) => {
  for (const { method, path } of consoleRoutes) {
    await t.test(`${method} ${path}`, async () => {
      const requests = values
        .map((value) => path.replaceAll(/:\w+/g, () => value))
        .filter((target, place) => place === 0 || target !== path)
        .flatMap((target, place) => (place === 0 ? malformed(target, method) : plain(target, method)));
      await Promise.all(
        requests.map(async ([target, sent]) => {
          const { status } = await openBrowser(service).request(target, { method, ...sent });
          assert.ok(status < 500, `${status} ${target}`);
        }),
      );
      assert.deepEqual(errorLines(), []);
    });
  }
});
