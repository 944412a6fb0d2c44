/** The first run: the link, the shop, its owner, and the demonstration before that. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { findCurrency } from '../../src/core/money/domain/currency.ts';
import { openAuthenticator, type CreationOptions } from '../support/authenticator.ts';
import { engine } from '../support/engine.ts';
import { openBrowser, type Browser } from '../support/browser.ts';
import { createStoreElsewhere } from '../support/second-process.ts';
import { command } from '../support/served.ts';
import { startService, type TestResponse, type TestService } from '../support/service.ts';

const password = 'correct horse battery';
const html = 'text/html,application/xhtml+xml,*/*;q=0.8';
const hourMs = 60 * 60 * 1_000;

/** The path of a new link, below the base path. */
async function link({ environment }: TestService): Promise<string> {
  const { code, output, errors } = await command(environment, 'setup', 'link', '--json');
  assert.equal(code, 0, errors);
  const { link: url } = JSON.parse(output) as { readonly link: string };
  return new URL(url).pathname.slice((environment['BASE_PATH'] ?? '').length);
}

const shop = {
  shop: 'Flowers of Example Street',
  currency: 'EUR – Euro',
  time_zone: 'Europe/Paris',
  locale: 'fr',
  limit: '500',
  domain: '',
};
const ada = { name: 'Ada Moreau', email: 'ada@example.com', password };

async function setUp(browser: Browser, path: string, fields: Readonly<Record<string, string>> = {}) {
  return await browser.post(`${path}/owner`, { ...shop, ...ada, ...fields });
}

/** Returns the path that the root redirects a browser to. */
async function home(browser: Browser, headers: Readonly<Record<string, string>> = {}): Promise<string> {
  const response = await browser.request('/', { headers: { accept: html, ...headers } });
  return response.headers.get('location') ?? `${response.status}`;
}

function errorAt({ text }: TestResponse, name: string): string {
  return new RegExp(`id="${name}-error">([^<]*)<`).exec(text)?.[1] ?? '';
}

test('a shop is set up once: link, shop, owner, first card', async () => {
  await using service = await startService();
  const browser = openBrowser(service);
  assert.equal(await home(browser), '/setup');
  assert.equal((await browser.get('/sign-in')).headers.get('location'), '/setup');
  const path = await link(service);
  const first = await browser.get(path);
  assert.equal(first.status, 200);
  assert.match(first.text, /name="shop"/);
  assert.match(first.text, /<option value="EUR – Euro">/);
  const second = await browser.post(path, shop);
  assert.equal(second.status, 200, second.text);
  assert.match(second.text, /You are the owner of Flowers of Example Street/);
  assert.match(second.text, /name="shop" value="Flowers of Example Street"/);
  const back = await browser.post(`${path}/back`, { ...shop, ...ada });
  assert.match(back.text, /id="shop" name="shop" type="text" value="Flowers of Example Street"/);
  const done = await setUp(browser, path);
  assert.equal(done.status, 303, done.text);
  assert.equal(done.headers.get('location'), '/cards/new');
  assert.equal(await home(browser), '/today');
  assert.equal((await browser.get('/staff')).status, 200);
  const [store, ...others] = await service.query('select * from stores where demonstration = 0');
  assert.deepEqual(others, []);
  const { domain, name, currency, time_zone: timeZone, issue_limit: limit } = store ?? {};
  assert.deepEqual(
    { domain, name, currency, timeZone, limit: String(limit) },
    {
      domain: 'flowers-of-example-street',
      name: 'Flowers of Example Street',
      currency: 'EUR',
      timeZone: 'Europe/Paris',
      limit: '50000',
    },
  );
  const [email] = await service.query('select locale from email_settings');
  assert.equal(email?.['locale'], 'fr');
  const other = openBrowser(service);
  assert.equal(await home(other), '/sign-in');
  const page = (await other.get('/sign-in')).text;
  assert.match(page, /href="\/docs"/);
  assert.doesNotMatch(page, /dev\/mails/);
  const signedIn = await other.post('/sign-in', { email: ada.email, password });
  assert.equal(signedIn.headers.get('location'), '/');
});

test('a used link sets up nothing more, and neither does another one', async () => {
  await using service = await startService();
  const [path, another] = [await link(service), await link(service)];
  assert.notEqual(path, another);
  assert.equal((await setUp(openBrowser(service), path)).status, 303);
  const mallory = { shop: 'Other', email: 'mallory@example.com' };
  for (const used of [path, another]) {
    const browser = openBrowser(service);
    for (const response of [
      await browser.get(used),
      await browser.post(used, shop),
      await setUp(browser, used, mallory),
    ]) {
      assert.equal(response.headers.get('location'), '/', response.text);
      assert.deepEqual(response.headers.getSetCookie(), []);
    }
  }
  assert.equal((await openBrowser(service).get('/setup')).headers.get('location'), '/');
  const staff = await service.query('select email from staff');
  assert.deepEqual(
    staff.map(({ email }) => email),
    [ada.email],
  );
  const { code, errors } = await command(service.environment, 'setup', 'link');
  assert.equal(code, 1);
  assert.match(errors, /there is an owner/);
});

test('a link expires after 24 hours, and a changed one is not accepted', async () => {
  await using service = await startService();
  const path = await link(service);
  const browser = openBrowser(service);
  const [head, expiry = '', mac = ''] = /^(?:.*?lgf)_([0-9a-z]+)_(.*)$/.exec(path) ?? [];
  assert.ok(head);
  const later = (Number.parseInt(expiry, 36) + hourMs).toString(36);
  for (const changed of [
    `/setup/lgf_${later}_${mac}`,
    `/setup/lgf_${expiry}_${mac.slice(0, -2)}AA`,
    `/setup/lgf_${expiry}_`,
    '/setup/unknown',
    `/setup/${'a'.repeat(5_000)}`,
  ]) {
    const response = await setUp(browser, changed);
    assert.equal(response.status, 404, changed);
    assert.match(response.text, /npx largesse setup link/);
  }
  service.clock.advance(24 * hourMs - 60_000);
  assert.equal((await browser.get(path)).status, 200);
  service.clock.advance(61_000);
  const expired = await browser.get(path);
  assert.equal(expired.status, 404);
  assert.match(expired.text, /has expired or is incomplete/);
  assert.equal((await setUp(browser, path)).status, 404);
  assert.equal((await service.query('select id from staff')).length, 0);
});

test('a link of another database with the same keys is not accepted', async () => {
  await using service = await startService();
  await using other = await startService({ environment: { KEYS_FILE: service.database.keysFile } });
  assert.equal((await openBrowser(service).get(await link(other))).status, 404);
});

for (const processes of [1, 2] as const) {
  test(`of ten setups at the same time one wins, at ${processes} process(es)`, async () => {
    await using service = await startService({ processes });
    const path = await link(service);
    const responses = await Promise.all(
      Array.from({ length: 10 }, async (_, index) => {
        const browser = openBrowser(service);
        return await setUp(browser, path, {
          shop: `Shop ${index}`,
          email: `owner-${index}@example.com`,
        });
      }),
    );
    const locations = responses.map(({ headers }) => headers.get('location') ?? '').toSorted();
    assert.deepEqual(locations, [...Array<string>(9).fill('/'), '/cards/new']);
    assert.equal((await service.query('select id from staff')).length, 1);
    assert.equal((await service.query('select id from stores where demonstration = 0')).length, 1);
    assert.equal((await service.query('select id from staff_sessions')).length, 1);
  });
}

test('an owner with a passkey joins with it on the next page, and the link ends then', async () => {
  await using service = await startService();
  const path = await link(service);
  const browser = openBrowser(service);
  const form = await browser.post(path, shop);
  assert.match(form.text, /name="how" value="passkey" checked/);
  const invited = await setUp(browser, path, { how: 'passkey', password: '' });
  const join = invited.headers.get('location') ?? '';
  assert.match(join, /^\/join\/lgi_/, invited.text);
  assert.equal((await service.query('select id from staff where joined_at is not null')).length, 0);
  const again = await openBrowser(service).get(path);
  assert.equal(again.status, 200, 'a person who did not finish can begin again');
  assert.doesNotMatch(again.text, /name="shop"/);

  const { text: options } = await browser.post(`${join}/passkey/options`);
  const origin = new URL(service.url.replace('127.0.0.1', 'localhost')).origin;
  const credential = openAuthenticator().create(JSON.parse(options) as CreationOptions, origin);
  const joined = await browser.post(`${join}/passkey`, { credential });
  assert.equal(joined.headers.get('location'), '/cards/new', joined.text);
  assert.equal(await home(browser), '/today');
  assert.equal((await openBrowser(service).get(path)).headers.get('location'), '/');
  assert.equal((await service.query('select id from stores where demonstration = 0')).length, 1);
});

test('at an address without passkeys, the owner sets a password', async () => {
  await using service = await startService();
  const path = await link(service);
  const { host } = new URL(service.url);
  const { text } = await openBrowser(service).request(path, {
    method: 'POST',
    headers: {
      host,
      'sec-fetch-site': 'same-origin',
      'content-type': 'application/x-www-form-urlencoded',
    },
    body: new URLSearchParams(shop).toString(),
  });
  assert.doesNotMatch(text, /value="passkey"/);
  assert.match(text, /name="password"[^>]* required/);
});

test('a store that was created since the form was shown is not created twice', async () => {
  await using service = await startService();
  const path = await link(service);
  const browser = openBrowser(service);
  assert.equal((await browser.post(path, shop)).status, 200);
  await createStoreElsewhere(service, 'flowers.example');
  assert.equal((await setUp(browser, path)).headers.get('location'), path);
  assert.equal((await service.query('select id from stores where demonstration = 0')).length, 1);
  assert.match((await browser.get(path)).text, /You are the owner of flowers\.example/);
  const stale = await browser.post(path, shop);
  assert.equal(stale.headers.get('location'), path);
});

test('a rejected owner leaves no store behind', async () => {
  await using service = await startService();
  const path = await link(service);
  const browser = openBrowser(service);
  const taken = await setUp(browser, path, { domain: 'demo.localhost' });
  assert.equal(taken.status, 422);
  assert.match(errorAt(taken, 'domain'), /Another store has this domain/);
  assert.match(taken.text, /value="Flowers of Example Street"/);
  assert.equal((await service.query('select id from stores where demonstration = 0')).length, 0);
  assert.equal((await setUp(browser, path, { domain: 'https://Flowers.Example/shop' })).status, 303);
  const [store] = await service.query('select domain from stores where demonstration = 0');
  assert.equal(store?.['domain'], 'flowers.example');
});

test('each wrong field of the shop has its message, in four languages', async () => {
  await using service = await startService();
  const path = await link(service);
  const browser = openBrowser(service);
  const seen = new Set<string>();
  const wrong = {
    shop: '',
    currency: 'XXX',
    time_zone: 'Nowhere/City',
    locale: 'tlh',
    limit: '0',
    domain: '-flowers',
  };
  for (const language of ['en', 'de', 'fr', 'es']) {
    const post = (fields: Readonly<Record<string, string>>) =>
      browser.request(path, {
        method: 'POST',
        headers: {
          'accept-language': language,
          'sec-fetch-site': 'same-origin',
          'content-type': 'application/x-www-form-urlencoded',
        },
        body: new URLSearchParams({ ...shop, currency: 'EUR', ...fields }).toString(),
      });
    for (const [name, value] of Object.entries(wrong)) {
      const response = await post({ [name]: value });
      assert.equal(response.status, 422, name);
      const error = errorAt(response, name);
      assert.notEqual(error, '', `${name} in ${language}`);
      assert.ok(!seen.has(error), `${error} is translated`);
      seen.add(error);
      const others = Object.keys(wrong).filter((other) => other !== name);
      for (const other of others) assert.equal(errorAt(response, other), '', `${other} with ${name}`);
      assert.match(response.text, new RegExp(`<[^>]*id="${name}"[^>]*aria-invalid="true"`));
    }
    const all = await post(wrong);
    for (const name of Object.keys(wrong).filter((each) => each !== 'limit'))
      assert.notEqual(errorAt(all, name), '', name);
  }
});

test('each wrong field of the owner has its message', async () => {
  await using service = await startService();
  const path = await link(service);
  const browser = openBrowser(service);
  for (const [name, value, message] of [
    ['name', '', /Enter your name/],
    ['name', 'A\u202eda', /invisible characters/],
    ['email', 'ada', /Enter an email address/],
    ['password', 'short', /at least ten characters/],
    ['password', 'x'.repeat(201), /at most 200/],
    ['password', 'ada moreauada moreau', /Do not use your name/],
    ['password', 'flowers-of-example-street', /Do not use your name/],
  ] as const) {
    const response = await setUp(browser, path, { [name]: value });
    assert.equal(response.status, 422, name);
    assert.match(errorAt(response, name), message);
    assert.match(response.text, /name="shop" value="Flowers of Example Street"/);
    assert.doesNotMatch(response.text, /type="password" value="[^"]/);
  }
});

test('the owner of a store of the command line is asked only for the account', async () => {
  await using service = await startService({ stores: [{ domain: 'flowers.example', name: 'Flowers' }] });
  const path = await link(service);
  const browser = openBrowser(service);
  const { status, text } = await browser.get(path);
  assert.equal(status, 200);
  assert.doesNotMatch(text, /name="shop"|name="store"/);
  assert.match(text, /You are the owner of Flowers:/);
  const done = await browser.post(`${path}/owner`, ada);
  assert.equal(done.headers.get('location'), '/cards/new', done.text);
  assert.equal((await service.query('select id from stores')).length, 1);
});

test('with several stores, the owner chooses one', async () => {
  await using service = await startService({
    stores: [{ domain: 'flowers.example', name: 'Flowers' }, { domain: 'books.example', name: 'Books' }],
  }); // prettier-ignore
  const path = await link(service);
  const browser = openBrowser(service);
  assert.match((await browser.get(path)).text, /<option value="books\.example">Books \(books\.example\)</);
  for (const store of ['', 'demo.localhost', 'other.example']) {
    const wrong = await browser.post(`${path}/owner`, { ...ada, store });
    assert.equal(wrong.status, 422, store);
    assert.match(errorAt(wrong, 'store'), /Choose a shop/);
  }
  const done = await browser.post(`${path}/owner`, { ...ada, store: 'books.example' });
  assert.equal(done.headers.get('location'), '/cards/new');
  assert.match((await browser.get('/staff')).text, /Books/);
});

test('a person who was invited before and did not join becomes the owner', async () => {
  await using service = await startService({ stores: [{ domain: 'flowers.example' }] });
  const invite = ['staff', 'invite', ada.email, '--role', 'cashier'];
  assert.equal((await command(service.environment, ...invite)).code, 0);
  const path = await link(service);
  const browser = openBrowser(service);
  assert.equal((await browser.post(`${path}/owner`, ada)).status, 303);
  assert.equal((await browser.get('/staff')).status, 200);
});

test('a member of staff who has joined keeps the address', async () => {
  await using service = await startService({ stores: [{ domain: 'flowers.example' }] });
  const invited = await command(
    service.environment,
    'staff',
    'invite',
    ada.email,
    '--role',
    'cashier',
    '--json',
  );
  const { link: joinUrl } = JSON.parse(invited.output) as { readonly link: string };
  const cashier = openBrowser(service);
  assert.equal((await cashier.post(new URL(joinUrl).pathname, { password })).status, 303);
  assert.equal(await home(cashier), '/till');
  assert.equal(await home(openBrowser(service)), '/setup', 'there is no owner');
  const path = await link(service);
  const taken = await openBrowser(service).post(`${path}/owner`, ada);
  assert.equal(taken.status, 422);
  assert.match(errorAt(taken, 'email'), /member of staff has this address/);
});

test('the form suggests what fits the languages of the browser', async () => {
  await using service = await startService();
  const path = await link(service);
  const valueOf = (text: string, name: string): string =>
    new RegExp(`id="${name}"[^>]* value="([^"]*)"`).exec(text)?.[1] ?? '';
  for (const [language, currency, locale, limit] of [
    ['fr-FR,fr;q=0.9', 'EUR – euro', 'fr', '2000,00'],
    ['de-CH,de;q=0.9', 'CHF – Schweizer Franken', 'de', '2000.00'],
    ['en-GB', 'GBP – British Pound', 'en', '2000.00'],
    ['ja', 'JPY – Japanese Yen', 'ja', '200000'],
    ['en', '', 'en', '2000'],
    ['x'.repeat(400), '', 'en', '2000'],
  ] as const) {
    const { text } = await openBrowser(service).request(path, { headers: { 'accept-language': language } });
    assert.equal(valueOf(text, 'currency'), currency, language);
    assert.match(text, new RegExp(`<option value="${locale}" selected>`), language);
    // Swiss and other separators are of the page's language.
    assert.equal(valueOf(text, 'limit').replace(/[,.]/, '.'), limit.replace(/[,.]/, '.'), language);
    if (currency !== '') assert.ok(findCurrency(currency.slice(0, 3)));
  }
});

test('the root leads browsers by their state, and other clients get the JSON 404', async () => {
  await using service = await startService({ environment: { BASE_PATH: '/apps/x' } });
  const browser = openBrowser(service);
  const root = new URL(service.url).origin;
  for (const path of ['/', '/apps/x', '/apps/x/']) {
    const response = await fetch(`${root}${path}`, { headers: { accept: html }, redirect: 'manual' });
    assert.equal(response.headers.get('location'), '/apps/x/setup', path);
    assert.equal(response.headers.get('cache-control'), 'no-store');
    assert.equal((await fetch(`${root}${path}`, { headers: { accept: '*/*' } })).status, 404, path);
  }
  const locked = await browser.get('/setup');
  assert.match(locked.text, /href="\/apps\/x\/docs"/);
  assert.match(locked.text, /href="\/apps\/x\/dev\/mails"/);
  const path = await link(service);
  const form = await browser.get(path);
  assert.match(form.text, new RegExp(`action="/apps/x${path}"`));
  const done = await setUp(browser, path);
  assert.equal(done.headers.get('location'), '/apps/x/cards/new');
  assert.equal(await home(browser), '/apps/x/today');
});

test('under another host name, the root is the page without the pages for staff', async () => {
  await using service = await startService();
  const browser = openBrowser(service);
  const path = await link(service);
  for (const host of ['evil.example', 'localhost.evil.example']) {
    const { status, text } = await browser.request('/', { headers: { host, accept: html } });
    assert.equal(status, 200, host);
    assert.match(text, /<dt>Pages for staff<\/dt>\n<dd>At <code>localhost<\/code> on this machine/);
    for (const page of ['/setup', path])
      assert.equal((await browser.request(page, { headers: { host } })).status, 404, page);
  }
  await using published = await startService({
    environment: { PUBLIC_URL: 'https://cards.flowers.example' },
  });
  const outside = openBrowser(published);
  const { text } = await outside.request('/', { headers: { host: 'localhost:3000', accept: html } });
  assert.match(text, /href="https:\/\/cards\.flowers\.example\/"/);
  assert.equal(await home(outside, { host: 'cards.flowers.example' }), '/setup');
});

test('without the console, the root is a page and no link is printed', async () => {
  await using service = await startService({ environment: { CONSOLE: 'off' } });
  const { status, text } = await openBrowser(service).request('/', { headers: { accept: html } });
  assert.equal(status, 200);
  assert.match(text, /<dd>Ready<\/dd>/);
  assert.doesNotMatch(text, /Pages for staff/);
  assert.equal((await openBrowser(service).get('/setup')).status, 404);
  const { code, errors } = await command(service.environment, 'setup', 'link');
  assert.equal(code, 1);
  assert.match(errors, /CONSOLE is off/);
});

test('a person on this machine looks around the demonstration until there is a shop', async () => {
  await using service = await startService();
  const browser = openBrowser(service);
  assert.match((await browser.get('/setup')).text, /Look around the demonstration/);
  const opened = await browser.post('/demonstration', { cards: 'yes' });
  assert.equal(opened.headers.get('location'), '/', opened.text);
  assert.equal(await home(browser), '/today');
  const [count] = await service.query('select count(*) as cards from gift_cards');
  assert.equal(Number(count?.['cards']), 200);
  const today = await browser.get('/today');
  assert.match(today.text, /<svg class="plot"/, 'its past days are summed');
  assert.doesNotMatch(today.text, /are being added up/);
  assert.doesNotMatch((await browser.get('/setup')).text, /sample cards/);
  for (const path of ['/staff', '/account', '/audit']) {
    const { status, text } = await browser.get(path);
    assert.equal(status, 200, path);
    assert.match(text, /This is the demonstration.*<a href="\/setup">/, path);
  }
  service.clock.advance(hourMs);
  assert.equal((await browser.get('/staff/new')).status, 200, 'there is no password to confirm with');
  const again = openBrowser(service);
  assert.equal((await again.post('/demonstration')).status, 303);
  assert.equal((await service.query('select id from staff')).length, 1);

  const guess = { email: 'owner@demo.localhost', password: '' };
  assert.notEqual((await openBrowser(service).post('/sign-in', guess)).status, 303);
  for (const forwarded of [{ 'x-forwarded-for': '192.0.2.1' }, { via: '1.1 proxy' }]) {
    const { status, headers } = await browser.request('/staff', { headers: forwarded });
    assert.deepEqual([status, headers.get('location')], [303, '/sign-in?next=%2Fstaff']);
  }

  const done = await setUp(browser, await link(service));
  assert.equal(done.headers.get('location'), '/cards/new');
  assert.equal((await again.get('/staff')).status, 303, 'the demonstration has ended');
  assert.equal((await again.post('/demonstration')).headers.get('location'), '/setup');
  assert.doesNotMatch((await browser.get('/staff')).text, /This is the demonstration/);
});

test('a store of the command line ends the demonstration at once', async () => {
  await using service = await startService();
  const browser = openBrowser(service);
  assert.equal((await browser.post('/demonstration')).headers.get('location'), '/');
  assert.equal((await service.query('select id from gift_cards')).length, 0);
  assert.equal((await browser.get('/staff')).status, 200);
  await createStoreElsewhere(service, 'flowers.example');
  assert.equal((await browser.get('/staff')).status, 303);
  assert.equal((await browser.post('/demonstration')).headers.get('location'), '/setup');
  assert.doesNotMatch((await browser.get('/setup')).text, /demonstration"/);
});

test('the demonstration and the emails are not offered to other machines', async () => {
  await using service = await startService();
  const browser = openBrowser(service);
  for (const forwarded of [{ 'x-forwarded-for': '192.0.2.1' }, { forwarded: 'for=192.0.2.1' }]) {
    const { text } = await browser.request('/setup', { headers: forwarded });
    assert.doesNotMatch(text, /\/demonstration|dev\/mails/);
    const form = { 'content-type': 'application/x-www-form-urlencoded', 'sec-fetch-site': 'same-origin' };
    const { status } = await browser.request('/demonstration', {
      method: 'POST',
      headers: { ...form, ...forwarded },
    });
    assert.equal(status, 404);
  }
  const cross = await browser.request('/demonstration', {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded', 'sec-fetch-site': 'cross-site' },
  });
  assert.equal(cross.status, 403);
  assert.equal((await service.query('select id from staff')).length, 0);
  // Browsers send this origin with forms of pages that send no referrer.
  const own = await browser.request('/demonstration', {
    method: 'POST',
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      'sec-fetch-site': 'same-origin',
      origin: 'null',
    },
  });
  assert.equal(own.headers.get('location'), '/');
});

test('no log, page or stored row contains the link or the password', async () => {
  await using service = await startService();
  const path = await link(service);
  const browser = openBrowser(service);
  await browser.get(path);
  await setUp(browser, path);
  const token = path.slice('/setup/'.length);
  const pages = await Promise.all(['/audit', '/account', '/staff'].map((each) => browser.get(each)));
  const all = [service.log(), ...pages.map(({ text }) => text)].join('\n');
  for (const secret of [token, password]) assert.ok(!all.includes(secret), secret);
  assert.match(service.log(), /there is no owner yet/);
  const stored = (await service.database.bytes()).toString('latin1');
  for (const secret of [token, password]) assert.ok(!stored.includes(secret), secret);
});

test('in production, the shop is set up at PUBLIC_URL', async () => {
  const environment = { NODE_ENV: 'production', PUBLIC_URL: 'https://cards.flowers.example' };
  await using service = await startService({ environment, database: { durable: true } });
  const { output } = await command(service.environment, 'setup', 'link');
  const [url = ''] = /^https:\/\/cards\.flowers\.example\/setup\/\S+/.exec(output) ?? [];
  const browser = openBrowser(service);
  const headers = {
    host: 'cards.flowers.example',
    'sec-fetch-site': 'same-origin',
    'content-type': 'application/x-www-form-urlencoded',
  };
  const page = await browser.request(new URL(url).pathname, { headers });
  assert.equal(page.status, 200);
  assert.doesNotMatch(page.text, /\/demonstration|dev\/mails/);
  const body = new URLSearchParams({ ...shop, ...ada }).toString();
  const done = await browser.request(`${new URL(url).pathname}/owner`, { method: 'POST', headers, body });
  // No email is sent yet, so the next step is the mail server. With PostgreSQL it is the operator's.
  const next = engine.id === 'sqlite' ? '/settings/emails/server?setup=first' : '/cards/new';
  assert.equal(done.headers.get('location'), next);
  for (const cookie of done.headers.getSetCookie()) assert.match(cookie, /^__Host-.*; Secure$/);
});
