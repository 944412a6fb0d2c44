/** The pages for staff: who may request which, sessions, and requests that do not come from these pages. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import test from 'node:test';
import { loadPages } from '../../src/start/routes.ts';
import { isPermitted, roles, type Role, type StaffMember } from '../../src/core/staff/domain/staff.ts';
import { openBrowser, type Browser } from '../support/browser.ts';
import {
  consoleDomain,
  invite,
  join,
  openStoreWithStaff,
  staffPassword as password,
} from '../support/console.ts';
import { enrollDevice, enterPin } from '../support/counter.ts';
import { command } from '../support/served.ts';
import type { TestResponse, TestService } from '../support/service.ts';
import { shopOf } from '../support/shop.ts';

const { routes: consoleRoutes } = await loadPages();

/** Joins a person who is limited to a new location of the store. */
async function joinLimited(service: TestService, role: Role): Promise<Browser> {
  const added = await command(service.environment, 'location', 'add', '--name', role, '--json');
  const { id } = JSON.parse(added.output) as { readonly id: number };
  const address = `limited-${role}@${consoleDomain}`;
  const path = await invite(service, address, role);
  const limit = await command(service.environment, 'staff', 'limit', address, '--location', String(id));
  assert.equal(limit.code, 0, limit.errors);
  const browser = openBrowser(service);
  assert.equal((await browser.post(path, { password })).status, 303);
  return browser;
}

/** Requests a page, or submits an empty form. */
async function visit(browser: Browser, method: 'GET' | 'POST', path: string): Promise<TestResponse> {
  return await (method === 'GET' ? browser.get(path) : browser.post(path));
}

test('each role gets exactly the pages that its permissions include', async () => {
  await using service = await openStoreWithStaff();
  const stranger = openBrowser(service);
  const people: { readonly person: Pick<StaffMember, 'role' | 'locationIds'>; readonly browser: Browser }[] =
    [];
  for (const role of roles)
    people.push({ person: { role, locationIds: null }, browser: await join(service, role) });
  for (const role of ['manager', 'accountant', 'cashier'] as const)
    people.push({ person: { role, locationIds: [7] }, browser: await joinLimited(service, role) });
  for (const route of consoleRoutes) {
    // These end or confirm the session. The stream does not end: the next test requests it.
    if (route.access === 'anyone' || /^\/(?:sign-out$|till\/lock$|confirm|live$)/.test(route.path)) continue;
    const path = route.path.replace(/:\w+/g, '1');
    // Requests without a session are limited.
    service.clock.advance(1_000);
    const { status: redirected, headers } = await visit(stranger, route.method, path);
    assert.equal(redirected, 303, route.path);
    assert.match(headers.get('location') ?? '', /^\/sign-in\?next=/, route.path);
    for (const { person, browser } of people) {
      const { status }: TestResponse = await visit(browser, route.method, path);
      const name = `${person.role}${person.locationIds ? ' of a location' : ''}`;
      const what: string = `${route.method} ${route.path} as ${name}: ${status}`;
      if (route.access === 'staff' || isPermitted(person, route.access)) {
        assert.ok([200, 303, 404, 422].includes(status), what);
      } else assert.equal(status, 403, what);
    }
  }
});

test('the stream of changes is open to people who read cards, and closed to others and to a PIN', async () => {
  await using service = await openStoreWithStaff();
  const live = consoleRoutes.find(({ path }) => path === '/live') ?? assert.fail();
  assert.notEqual(live.access, 'anyone');
  const statusOf = async (browser: Browser): Promise<number> => {
    const url = new URL(`${service.url}/live?after=none`);
    const cookie = Array.from(browser.cookies, ([name, value]) => `${name}=${value}`).join('; ');
    const host = url.host.replace('127.0.0.1', 'localhost');
    const request = httpRequest(url, { agent: false, headers: { host, ...(cookie !== '' && { cookie }) } });
    request.end();
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    response.on('error', () => undefined);
    request.destroy();
    return response.statusCode ?? 0;
  };
  assert.equal(await statusOf(openBrowser(service)), 303);
  for (const role of roles) {
    const browser = await join(service, role);
    const isOpen =
      live.access === 'staff' ||
      live.access === 'anyone' ||
      isPermitted({ role, locationIds: null }, live.access);
    assert.equal(await statusOf(browser), isOpen ? 200 : 403, role);
    if (role !== 'owner') continue;
    await browser.post('/account/pin', { pin: '2580' });
    const device = await enrollDevice(service, browser);
    assert.equal((await enterPin(device, 'owner', '2580')).status, 303);
    assert.equal(await statusOf(device), 403, 'with a PIN');
  }
});

test('a form of another site is rejected, and changes nothing', async () => {
  await using service = await openStoreWithStaff();
  const browser = await join(service, 'owner');
  const { host } = new URL(service.url);
  const own = host.replace('127.0.0.1', 'localhost');
  const form = { method: 'POST', body: `key=${'k'.repeat(22)}&email=x@example.com&name=X&role=owner` };
  const type = { 'content-type': 'application/x-www-form-urlencoded' };
  const foreign = [
    {},
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { 'sec-fetch-site': 'none' },
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { origin: `https://${own}` },
    { 'sec-fetch-site': 'cross-site', origin: `http://${own}` },
  ];
  for (const headers of foreign) {
    const { status } = await browser.request('/staff/new', { ...form, headers: { ...type, ...headers } });
    assert.equal(status, 403, JSON.stringify(headers));
  }
  assert.doesNotMatch((await browser.get('/staff')).text, /x@example\.com/);
  const old = await browser.request('/staff/new', { ...form, headers: { ...type, origin: `http://${own}` } });
  assert.equal(old.status, 303, 'a browser without Sec-Fetch-Site sends Origin');
});

test('a request under another host name gets no page', async () => {
  await using service = await openStoreWithStaff();
  const browser = openBrowser(service);
  for (const host of ['evil.example', 'localhost.evil.example', 'cards.flowers.example']) {
    const { status } = await browser.request('/sign-in', { headers: { host } });
    assert.equal(status, 404, host);
  }
  await using published = await openStoreWithStaff({ PUBLIC_URL: 'https://cards.flowers.example' });
  const outside = openBrowser(published);
  const at = (host: string) => outside.request('/sign-in', { headers: { host } });
  assert.equal((await at('cards.flowers.example')).status, 200);
  assert.equal((await at('localhost:3000')).status, 404);
});

test('over HTTPS, cookies are bound to the host', async () => {
  await using service = await openStoreWithStaff({ PUBLIC_URL: 'https://cards.flowers.example' });
  const path = await invite(service, 'ada@flowers.example', 'owner');
  const browser = openBrowser(service);
  const response = await browser.request(path, {
    method: 'POST',
    headers: {
      host: 'cards.flowers.example',
      origin: 'https://cards.flowers.example',
      'content-type': 'application/x-www-form-urlencoded',
    },
    body: `password=${encodeURIComponent(password)}`,
  });
  assert.equal(response.status, 303, response.text);
  const cookies = response.headers.getSetCookie();
  assert.equal(cookies.length, 3);
  for (const cookie of cookies)
    assert.match(
      cookie,
      /^__Host-largesse-\w+=[\w.-]+; Path=\/; HttpOnly; SameSite=Lax; Max-Age=\d+; Secure$/,
    );
});

/** Asserts that a page has the scripts and styles of the assets folder and no others. */
function assertNothingInline(text: string, path: string): void {
  const own = /<script type="module" src="\/assets\/[\w-]+\/[\w-]+\.js"(?: blocking="render")?><\/script>\n/g;
  const style = /<link rel="stylesheet" href="\/assets\/[\w-]+\/(?:largesse|brand-[0-9a-f]{6})\.css">\n/g;
  assert.match(text, /\/largesse\.css">/, path);
  const rest = text.replaceAll(own, '').replaceAll(style, '');
  assert.doesNotMatch(rest, /<\/?script|<style|rel="?stylesheet|javascript:/i, path);
  for (const [tag] of rest.matchAll(/<[a-z][^\s>]*(?:\s+[^\s=>]+(?:="[^"]*")?)*\s*>/gi))
    assert.doesNotMatch(tag.replaceAll(/"[^"]*"/g, '""'), /\s(?:style|on\w+)\b/i, `${path}: ${tag}`);
}

test('files of pages are compressed, unless their format is, and are logged only if they are missing', async () => {
  await using service = await openStoreWithStaff();
  const { text } = await openBrowser(service).get('/sign-in');
  const [, folder = ''] = /href="(\/assets\/[\w-]+\/)largesse\.css"/.exec(text) ?? [];
  const encodings = { 'largesse.css': 'br', 'console.js': 'br', 'mark.svg': 'br', 'zxing-reader.wasm': 'br', 'fraunces.woff2': null };
  for (const [name, encoding] of Object.entries(encodings)) {
    const { status, headers } = await fetch(new URL(`${folder}${name}`, service.url), {
      headers: { 'accept-encoding': 'gzip, br' },
    });
    assert.equal(status, 200, name);
    assert.equal(headers.get('content-encoding'), encoding, name);
    assert.match(headers.get('cache-control') ?? '', /immutable/, name);
  }
  assert.equal((await fetch(new URL(`${folder}missing.css`, service.url))).status, 404);
  // The length of a compressed page can reveal a secret of a session, so only pages without sessions are compressed.
  for (const [path, accepted, encoding] of [['/b', 'gzip, br', 'br'], ['/b', 'gzip', 'gzip'], ['/b', 'identity', null], ['/sign-in', 'gzip, br', null]] as const) {
    const response = await fetch(new URL(path, service.url), { headers: { 'accept-encoding': accepted } });
    assert.equal(response.headers.get('content-encoding'), encoding, path);
    assert.match(await response.text(), /<\/html>\s*$/, path);
  }
  const routes = service.log().split('\n').filter((line) => line !== '').map((line) => {
    const { route, status } = JSON.parse(line) as { readonly route?: string; readonly status?: number };
    return `${route} ${status}`;
  });
  assert.ok(routes.includes('/sign-in 200'));
  assert.deepEqual(routes.filter((route) => route.startsWith('/assets/')), [`${folder}:name 404`]);
}); // prettier-ignore

test('every page has a strict policy and only scripts of the assets folder, and no page is cached', async () => {
  await using service = await openStoreWithStaff();
  const shop = await shopOf(service, consoleDomain);
  const { id } = await shop.issue({ recipient_email: 'grace@example.com' });
  const entry = await shop.debits(id, '1.00');
  const hold = await shop.holds(id, '1.00');
  const browser = await join(service, 'owner');
  const anyone = openBrowser(service);
  const checked: string[] = [];
  for (const route of consoleRoutes) {
    // An email in a frame has a policy of its own: console-settings.test.ts.
    const isFramed = /^\/(?:settings(?:\/\w+)?|cards\/new)\/preview$/.test(route.path);
    if (route.method !== 'GET' || route.path === '/live' || isFramed) continue;
    const ids: Readonly<Record<string, string>> = {
      id: String(id),
      entry: String(entry.id),
      hold: String(hold.id),
    };
    const path: string = route.path.replaceAll(/:(\w+)/g, (_, name: string) => ids[name] ?? ids['id'] ?? '');
    for (const visitor of route.access === 'anyone' ? [anyone, browser] : [browser]) {
      const { status, headers, text }: TestResponse = await visitor.get(path);
      const policy = headers.get('content-security-policy') ?? '';
      const scripts = route.usesWebAssembly === true ? "'self' 'wasm-unsafe-eval'" : "'self'";
      assert.ok(policy.startsWith("default-src 'none'; style-src 'self'; font-src 'self';"), path);
      assert.ok(policy.includes(`; script-src ${scripts}; `), path);
      assert.doesNotMatch(policy.replace("'wasm-unsafe-eval'", ''), /unsafe|data:|\*/, path);
      assert.equal(headers.get('cache-control'), 'no-store', path);
      assert.equal(headers.get('referrer-policy'), 'no-referrer', path);
      if (status === 303 || headers.get('content-type')?.startsWith('text/html') !== true) continue;
      assertNothingInline(text, path);
      checked.push(path);
      const [, asset = ''] = /<link rel="stylesheet" href="([^"]+)">/.exec(text) ?? [];
      const style = await visitor.get(asset);
      assert.equal(style.status, 200, path);
      assert.match(style.headers.get('cache-control') ?? '', /immutable/);
    }
  }
  for (const path of [
    '/sign-in',
    '/staff',
    '/till',
    `/cards/${id}`,
    `/cards/${id}/redeem`,
    '/cards/new',
    '/today',
  ])
    assert.ok(checked.includes(path), path);
});

test('the check of pages finds inline scripts, styles and handlers', () => {
  const style = '<link rel="stylesheet" href="/assets/v1/largesse.css">\n';
  const script = '<script type="module" src="/assets/v1/console.js"></script>\n';
  assertNothingInline(`${style}${script}<p title="on top" class="x">once=1</p>`, 'a sound page');
  for (const part of [
    '<script>alert(1)</script>',
    '<script type="module" src="https://evil.example/x.js"></script>\n',
    '<script type="module" src="/assets/v1/console.js">alert(1)</script>\n',
    '<script src="/assets/v1/console.js"></script>\n',
    '<style>p{}</style>',
    '<p style="color:red">',
    '<button class="button" onclick="x()">',
    '<a href="javascript:x()">',
    '<link rel="stylesheet" href="https://evil.example/x.css">\n',
  ])
    assert.throws(() => assertNothingInline(`${style}${script}${part}`, part), assert.AssertionError, part);
});

test('wrong passwords use up the budget of a client, but not that of the person’s own browser', async () => {
  await using service = await openStoreWithStaff();
  const own = await join(service, 'owner');
  await own.post('/sign-out');
  const attacker = openBrowser(service);
  const attempt = (browser: Browser, text: string) =>
    browser.post('/sign-in', { email: 'OWNER@flowers.example', password: text });
  const statuses: number[] = [];
  for (let count = 0; count < 12; count += 1)
    statuses.push((await attempt(attacker, `wrong ${count}`)).status);
  assert.deepEqual(statuses, [...Array<number>(10).fill(401), 429, 429]);
  const throttled = await attempt(attacker, password);
  assert.equal(throttled.status, 429, 'the right password is not compared');
  const seconds = Number(throttled.headers.get('retry-after'));
  assert.ok(seconds > 60 && seconds <= 6 * 60, String(seconds));
  assert.equal((await attempt(own, password)).status, 303);
  service.clock.advance(6 * 60 * 1_000 + 1_000);
  assert.equal((await attempt(attacker, password)).status, 303, 'a share of the budget is available again');
});

test('an unknown address gets the same page as a wrong password', async () => {
  await using service = await openStoreWithStaff();
  await join(service, 'owner');
  const one = await openBrowser(service).post('/sign-in', { email: 'owner@flowers.example', password: 'x' });
  const other = await openBrowser(service).post('/sign-in', {
    email: 'other@flowers.example',
    password: 'x',
  });
  assert.deepEqual([one.status, other.status], [401, 401]);
  assert.equal(one.text.replaceAll('owner@', 'other@'), other.text);
});

test('staff pages ask for the password again after ten minutes', async () => {
  await using service = await openStoreWithStaff();
  const browser = await join(service, 'owner');
  assert.equal((await browser.get('/staff/new')).status, 200);
  service.clock.advance(10 * 60 * 1_000);
  const asked = await browser.get('/staff/new');
  assert.equal(asked.headers.get('location'), '/confirm?next=%2Fstaff%2Fnew');
  assert.equal((await browser.post('/confirm', { password: 'wrong', next: '/staff/new' })).status, 401);
  const confirmed = await browser.post('/confirm', { password, next: '/staff/new' });
  assert.equal(confirmed.headers.get('location'), '/staff/new');
  assert.equal((await browser.get('/staff/new')).status, 200);
});

test('signing in continues only at pages of this service', async () => {
  await using service = await openStoreWithStaff();
  const browser = await join(service, 'owner');
  for (const next of [
    '//evil.example',
    'https://evil.example',
    '/\\evil.example',
    '/a?b=//c',
    '/x\r\ny: z',
  ]) {
    const response = await browser.post('/sign-in', { email: 'owner@flowers.example', password, next });
    assert.equal(response.headers.get('location'), '/', next);
  }
});

test('the last owner cannot be disabled, and a disabled person is signed out', async () => {
  await using service = await openStoreWithStaff();
  const owner = await join(service, 'owner');
  const cashier = await join(service, 'cashier');
  const list = (await owner.get('/staff')).text;
  const idOf = (name: string): string =>
    new RegExp(`/staff/(\\d+)" aria-label="Change ${name}"`).exec(list)?.[1] ?? assert.fail(list);
  const rejected = await owner.post(`/staff/${idOf('owner')}/disable`);
  assert.equal(rejected.status, 422);
  assert.match(rejected.text, /the only owner who can sign in/);
  assert.equal((await cashier.get('/account')).status, 200);
  assert.equal((await owner.post(`/staff/${idOf('cashier')}/disable`)).status, 303);
  assert.equal((await cashier.get('/account')).status, 303);
  const { text } = await owner.get('/audit');
  assert.match(text, /Disabled a person<.*>cashier</);
});

test('passwords, links and sessions are in no page, log line or audit entry', async () => {
  await using service = await openStoreWithStaff();
  const path = await invite(service, 'owner@flowers.example', 'owner');
  const browser = openBrowser(service);
  await browser.post(path, { password });
  await browser.post('/account/pin', { pin: '2580' });
  const session = browser.cookies.get('largesse-session') ?? '';
  assert.notEqual(session, '');
  const pages = await Promise.all(['/audit', '/account', '/staff'].map((each) => browser.get(each)));
  const all = [service.log(), ...pages.map(({ text }) => text)].join('\n');
  for (const secret of [password, path.slice('/join/'.length), session, '2580'])
    assert.ok(!all.includes(secret), secret);
  const stored = (await service.database.bytes()).toString('latin1');
  for (const secret of [password, path.slice('/join/'.length), session])
    assert.ok(!stored.includes(secret), secret);
});

test('without the console there are no pages for staff', async () => {
  await using service = await openStoreWithStaff({ CONSOLE: 'off' });
  assert.equal((await openBrowser(service).get('/sign-in')).status, 404);
});
