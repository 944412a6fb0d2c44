/** Signing in to one of several stores, of which strangers learn nothing. */

import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { openBrowser, type Browser } from '../support/browser.ts';
import { command } from '../support/served.ts';
import { startService, type TestResponse } from '../support/service.ts';

const password = 'correct horse battery';
const service = await startService({
  stores: [
    { domain: 'flowers.example', name: 'Roses and Tulips' },
    { domain: 'books.example', name: 'Novels and Poems' },
  ],
});
after(() => service[Symbol.asyncDispose]());

async function joinStore(domain: string): Promise<void> {
  const args = [
    'staff',
    'invite',
    `owner@${domain}`,
    '--role',
    'owner',
    '--store',
    domain,
    '--json',
  ] as const;
  const { code, output, errors } = await command(service.environment, ...args);
  assert.equal(code, 0, errors);
  const { pathname } = new URL((JSON.parse(output) as { readonly link: string }).link);
  assert.equal((await openBrowser(service).post(pathname, { password })).status, 303);
}

await joinStore('flowers.example');
await joinStore('books.example');

function signIn(browser: Browser, store: string, email: string, typed = password): Promise<TestResponse> {
  return browser.post('/sign-in', { store, email, password: typed });
}

function withoutInputs({ text }: TestResponse): string {
  return text.replaceAll(/ value="[^"]*"/g, '');
}

test('the page does not list the stores', async () => {
  const { status, text } = await openBrowser(service).get('/sign-in');
  assert.equal(status, 200);
  assert.match(text, /<input [^>]*name="store"/);
  for (const name of ['Tulips', 'Novels', 'books.example']) assert.ok(!text.includes(name), name);
});

test('a person names the shop by its domain, as people type it, and the browser remembers it', async () => {
  for (const store of [
    'books.example',
    ' BOOKS.example ',
    'https://books.example/',
    'http://books.example/a?b',
  ]) {
    const browser = openBrowser(service);
    assert.equal((await signIn(browser, store, 'owner@books.example')).status, 303, store);
    assert.match((await browser.get('/account')).text, /Novels and Poems/);
    await browser.post('/sign-out');
    assert.match((await browser.get('/sign-in')).text, /name="store"[^>]* value="books\.example"/);
  }
  const linked = await openBrowser(service).get('/sign-in?store=flowers.example');
  assert.match(linked.text, /name="store"[^>]* value="flowers\.example"/);
});

test('an unknown shop gets the same page and the same limits as a wrong password', async () => {
  const cases = ['books.example', 'unknown.example', ''].map((store) => ({
    store,
    email: 'eve@strangers.example',
  }));
  const seen = await Promise.all(
    cases.map(async ({ store, email }) => {
      const browser = openBrowser(service);
      const first = await signIn(browser, store, email, 'wrong');
      assert.match(first.text, /The shop, the email or the password is wrong\./);
      const statuses = [first.status];
      for (let count = 1; count < 12; count += 1)
        statuses.push((await signIn(browser, store, email, 'wrong')).status);
      return { statuses, text: withoutInputs(first) };
    }),
  );
  assert.deepEqual(seen[0]?.statuses, [...Array<number>(10).fill(401), 429, 429]);
  for (const each of seen) assert.deepEqual(each, seen[0]);
  const right = await signIn(openBrowser(service), 'unknown.example', 'owner@books.example');
  assert.equal(right.status, 401);
});
