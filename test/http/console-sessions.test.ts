/** Sessions of members of staff: how they end, and what a stolen cookie is good for. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { openBrowser, type Browser } from '../support/browser.ts';
import { command } from '../support/served.ts';
import { invite, join, openStoreWithStaff, staffPassword as password } from '../support/console.ts';
import { enrollDevice, enterPin } from '../support/counter.ts';
import type { TestResponse, TestService } from '../support/service.ts';

const hourMs = 60 * 60_000;
const cookieName = 'largesse-session';

/** Whether the browser is signed in. */
async function isSignedIn(browser: Browser): Promise<boolean> {
  const { status } = await browser.get('/account');
  assert.ok(status === 200 || status === 303, String(status));
  return status === 200;
}

async function signIn(service: TestService, name: string, browser = openBrowser(service)): Promise<Browser> {
  const response = await browser.post('/sign-in', { email: `${name}@flowers.example`, password });
  assert.equal(response.status, 303, response.text);
  return browser;
}

/** A browser with the session cookie of another one. */
function thiefOf(service: TestService, victim: Browser): Browser {
  const thief = openBrowser(service);
  thief.cookies.set(cookieName, victim.cookies.get(cookieName) ?? assert.fail());
  return thief;
}

async function pathOfPerson(owner: Browser, name: string): Promise<string> {
  const { text } = await owner.get('/staff');
  return new RegExp(`/staff/\\d+(?=" aria-label="Change ${name}")`).exec(text)?.[0] ?? assert.fail(text);
}

test('a stolen cookie is useless after its owner signs out, or ends the session elsewhere', async () => {
  await using service = await openStoreWithStaff();
  const owner = await join(service, 'owner');
  const thief = thiefOf(service, owner);
  assert.equal(await isSignedIn(thief), true);
  await owner.post('/sign-out');
  assert.equal(await isSignedIn(thief), false);

  const again = await signIn(service, 'owner');
  const second = thiefOf(service, again);
  const home = await signIn(service, 'owner');
  const [end = ''] = /\/account\/sessions\/\d+\/end/.exec((await home.get('/account')).text) ?? [];
  assert.equal((await home.post(end)).status, 303);
  assert.equal(await isSignedIn(second), false);
  assert.equal(await isSignedIn(home), true);
});

test('all other sessions end at once, and the own one continues', async () => {
  await using service = await openStoreWithStaff();
  const browsers = [
    await join(service, 'owner'),
    await signIn(service, 'owner'),
    await signIn(service, 'owner'),
  ];
  const [own] = browsers;
  assert.ok(own);
  assert.equal((await own.post('/account/sessions/end')).status, 303);
  assert.deepEqual(await Promise.all(browsers.map(isSignedIn)), [true, false, false]);
  assert.doesNotMatch((await own.get('/account')).text, /\/account\/sessions\/\d+\/end/);
});

test('an owner ends the sessions of a person, and a person ends only own ones', async () => {
  await using service = await openStoreWithStaff();
  const owner = await join(service, 'owner');
  const manager = await join(service, 'manager');
  const other = await signIn(service, 'manager');
  const path = await pathOfPerson(owner, 'manager');
  const [end = ''] = new RegExp(`${path}/sessions/\\d+/end`).exec((await owner.get(path)).text) ?? [];
  assert.equal((await owner.post(end)).status, 303);
  const signedIn = await Promise.all([manager, other].map(isSignedIn));
  assert.equal(signedIn.filter(Boolean).length, 1);
  const left = signedIn[0] === true ? manager : other;
  const own = /\/sessions\/(\d+)\/end/.exec(
    (await (await signIn(service, 'owner')).get('/account')).text,
  )?.[1];
  await left.post(`/account/sessions/${own ?? ''}/end`);
  assert.equal(await isSignedIn(owner), true);
  assert.equal((await owner.post(`${path}/sessions/end`)).status, 303);
  assert.equal(await isSignedIn(left), false);
  assert.match((await owner.get('/audit')).text, /Ended a session <span class="soft">all of them</);
});

test('a session that an attacker chose is not used', async () => {
  await using service = await openStoreWithStaff();
  await join(service, 'owner');
  const cashier = await join(service, 'cashier');
  const planted = cashier.cookies.get(cookieName) ?? assert.fail();
  const victim = openBrowser(service);
  victim.cookies.set(cookieName, planted);
  await signIn(service, 'owner', victim);
  assert.notEqual(victim.cookies.get(cookieName), planted);
  assert.match((await victim.get('/account')).text, /<strong>owner<\/strong>/);
  assert.equal(await isSignedIn(cashier), false, 'the session of the browser ends');
  const invented = openBrowser(service);
  for (const value of ['', 'x', `lgc_1_${'a'.repeat(43)}`, planted.slice(0, -1), `${planted}a`]) {
    invented.cookies.set(cookieName, value);
    assert.equal(await isSignedIn(invented), false, value);
  }
});

test('over HTTPS, only a cookie with the prefix counts', async () => {
  await using service = await openStoreWithStaff({ PUBLIC_URL: 'https://cards.flowers.example' });
  const path = await invite(service, 'owner@flowers.example', 'owner');
  const host = 'cards.flowers.example';
  const joined = await openBrowser(service).request(path, {
    method: 'POST',
    headers: { host, 'sec-fetch-site': 'same-origin', 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ password }).toString(),
  });
  const [, token = ''] =
    /^__Host-largesse-session=([^;]+)/.exec(joined.headers.getSetCookie()[0] ?? '') ?? [];
  const statusWith = async (name: string): Promise<number> => {
    const headers = { host, cookie: `${name}=${token}` };
    return (await openBrowser(service).request('/account', { headers })).status;
  };
  assert.equal(await statusWith('__Host-largesse-session'), 200);
  assert.equal(await statusWith('largesse-session'), 303);
});

test('a session ends 12 hours after its last use', async () => {
  await using service = await openStoreWithStaff();
  const owner = await join(service, 'owner');
  service.clock.advance(11 * hourMs);
  assert.equal(await isSignedIn(owner), true);
  service.clock.advance(11 * hourMs);
  assert.equal(await isSignedIn(owner), true);
  service.clock.advance(12 * hourMs);
  assert.equal(await isSignedIn(owner), false);
});

/** The seconds of the session cookie that a response sets; undefined: it sets none. */
function renewedFor({ headers }: TestResponse): number | undefined {
  const [set, ...others] = headers.getSetCookie().filter((cookie) => cookie.startsWith(`${cookieName}=`));
  assert.deepEqual(others, [], 'a response sets a cookie once');
  return set === undefined ? undefined : Number(/; Max-Age=(\d+)/.exec(set)?.[1]);
}

test('the cookie of a session that is used is renewed, at most every five minutes', async () => {
  await using service = await openStoreWithStaff();
  const owner = await join(service, 'owner');
  const token = owner.cookies.get(cookieName);
  assert.equal(renewedFor(await owner.get('/account')), undefined);
  for (let hours = 0; hours < 30; hours += 10) {
    service.clock.advance(10 * hourMs);
    const seconds = renewedFor(await owner.get('/account')) ?? 0;
    assert.ok(seconds > 12 * 3_600 - 60 && seconds <= 12 * 3_600, String(seconds));
    assert.equal(renewedFor(await owner.get('/account')), undefined);
  }
  assert.equal(owner.cookies.get(cookieName), token, 'the token stays');
  service.clock.advance(6 * 60_000);
  const missing = await owner.get('/cards/1');
  assert.equal(missing.status, 404);
  assert.notEqual(renewedFor(missing), undefined, 'an error page renews it as well');
  service.clock.advance(6 * 60_000);
  assert.equal(renewedFor(await owner.post('/sign-out')), 0, 'signing out deletes it');
});

test('a session that is used every day ends 30 days after the sign-in, and so does its cookie', async () => {
  await using service = await openStoreWithStaff();
  const owner = await join(service, 'owner');
  for (let hours = 10; hours < 30 * 24; hours += 10) {
    service.clock.advance(10 * hourMs);
    assert.equal(await isSignedIn(owner), true, `${hours} hours`);
  }
  service.clock.advance(6 * 60_000);
  const seconds = renewedFor(await owner.get('/account')) ?? 0;
  assert.ok(seconds > 9 * 3_600 && seconds < 10 * 3_600, String(seconds));
  service.clock.advance(10 * hourMs);
  assert.equal(await isSignedIn(owner), false);
});

test('the list of sessions shows when each was last used, also one with a PIN and one near its end', async () => {
  await using service = await openStoreWithStaff();
  const owner = await join(service, 'owner');
  await owner.post('/account/pin', { pin: '2580' });
  const other = await signIn(service, 'owner');
  const device = await enrollDevice(service, other);
  const timesIn = ({ text }: TestResponse): readonly string[] =>
    Array.from(text.matchAll(/whole-line"><time datetime="([^"]*)"/g), ([, time = '']) => time);
  const ago = (time: string | undefined): number => service.clock.now() - Date.parse(time ?? '');
  service.clock.advance(hourMs);
  await enterPin(device, 'owner', '2580');
  service.clock.advance(60_000);
  const [pin] = timesIn(await owner.get('/account'));
  assert.ok(ago(pin) >= 59_000 && ago(pin) < 120_000, String(pin));
  for (let hours = 10; hours < 30 * 24; hours += 10) {
    service.clock.advance(10 * hourMs);
    assert.equal(await isSignedIn(owner), true);
  }
  const listed = await owner.get('/account');
  const [own] = timesIn(listed);
  assert.ok(ago(own) >= 0 && ago(own) < 60_000, String(own));
  assert.match(listed.text, /30 days after the sign-in at the latest/);
});

test('a change of the role counts at once', async () => {
  await using service = await openStoreWithStaff();
  const owner = await join(service, 'owner');
  const manager = await join(service, 'manager');
  assert.equal((await manager.get('/audit')).status, 403);
  const path = await pathOfPerson(owner, 'manager');
  const save = (role: string) =>
    owner.post(path, { name: 'manager', role, sale_limit: '', refund_limit: '' });
  assert.equal((await save('owner')).status, 303);
  assert.equal((await manager.get('/audit')).status, 200);
  assert.equal((await save('cashier')).status, 303);
  assert.equal((await manager.get('/audit')).status, 403);
});

test('a form whose session has ended or is not confirmed continues at its page', async () => {
  await using service = await openStoreWithStaff();
  const owner = await join(service, 'owner');
  const path = await pathOfPerson(owner, 'owner');
  service.clock.advance(hourMs);
  const locationOf = async (form: string): Promise<string> =>
    decodeURIComponent((await owner.post(form)).headers.get('location') ?? '');
  assert.equal(await locationOf(`${path}/link`), `/confirm?next=${path}`);
  assert.equal(await locationOf(`${path}/sessions/end`), `/confirm?next=${path}`);
  assert.equal(await locationOf('/account/password'), '/confirm?next=/account');
  assert.equal(await locationOf('/staff/new'), '/confirm?next=/staff/new');
  assert.equal((await owner.post('/confirm', { password, next: path })).headers.get('location'), path);
  assert.equal((await owner.get(path)).status, 200);
  await owner.post('/sign-out');
  assert.equal(await locationOf(`${path}/disable`), `/sign-in?next=${path}`);
});

test('wrong passwords to confirm are throttled and in the audit log', async () => {
  await using service = await openStoreWithStaff();
  const owner = await join(service, 'owner');
  service.clock.advance(hourMs);
  const statuses: number[] = [];
  for (let count = 0; count < 11; count += 1)
    statuses.push((await owner.post('/confirm', { password: `wrong ${count}`, next: '/staff' })).status);
  assert.deepEqual(statuses, [...Array<number>(10).fill(401), 429]);
  const { text } = await owner.get('/audit?kind=failures');
  assert.equal(text.match(/Sign-in failed</g)?.length, 10);
  assert.match(text, /with a password, to confirm/);
});

test('one client cannot fill the audit log with wrong passwords for many addresses', async () => {
  await using service = await openStoreWithStaff();
  const owner = await join(service, 'owner');
  await owner.post('/sign-out');
  const attacker = openBrowser(service);
  const attempt = async (number: number): Promise<number> =>
    (await attacker.post('/sign-in', { email: `${number}@flowers.example`, password: 'wrong' })).status;
  const statuses: number[] = [];
  for (let count = 0; count < 103; count += 1) {
    statuses.push(await attempt(count));
    // Slower than the limit for requests without a session.
    service.clock.advance(100);
  }
  assert.equal(statuses.filter((status) => status === 401).length, 100);
  assert.equal(statuses.at(-1), 429);
  await signIn(service, 'owner', owner);
});

test('the page after too many attempts says how long to wait, in the language of the browser', async () => {
  await using service = await openStoreWithStaff();
  await join(service, 'owner');
  const browser = openBrowser(service);
  const body = new URLSearchParams({ email: 'owner@flowers.example', password: 'wrong' }).toString();
  const headers = {
    'content-type': 'application/x-www-form-urlencoded',
    'sec-fetch-site': 'same-origin',
    'accept-language': 'de-AT,de;q=0.9,en;q=0.5',
  };
  for (let count = 0; count < 10; count += 1)
    await browser.request('/sign-in', { method: 'POST', headers, body });
  const { status, text } = await browser.request('/sign-in', { method: 'POST', headers, body });
  assert.equal(status, 429);
  assert.match(text, /<html lang="de-AT">/);
  assert.match(text, /Zu viele Versuche\. Versuchen Sie es in 6 Minuten erneut\./);
  assert.match(text, /value="owner@flowers\.example"/, 'the address need not be typed again');
  assert.doesNotMatch(text, /value="wrong"/);
});

test('the command line is the way back in for an owner, whose sessions and old links end', async () => {
  await using service = await openStoreWithStaff();
  const owner = await join(service, 'owner');
  const link = async (): Promise<string> => {
    const { code, output, errors } = await command(
      service.environment,
      'staff',
      'invite',
      'Owner@Flowers.example',
      '--json',
    );
    assert.equal(code, 0, errors);
    return new URL((JSON.parse(output) as { readonly link: string }).link).pathname;
  };
  const [first, second] = [await link(), await link()];
  assert.equal((await openBrowser(service).get(first)).status, 404, 'a newer link replaces it');
  const back = openBrowser(service);
  assert.match((await back.get(second)).text, /New way to sign in/);
  assert.equal((await back.post(second, { password: 'another horse battery' })).status, 303);
  assert.equal(await isSignedIn(owner), false);
  assert.equal((await back.get('/staff')).status, 200, 'the role of a person who has joined does not change');
  const old = await openBrowser(service).post('/sign-in', { email: 'owner@flowers.example', password });
  assert.equal(old.status, 401);
});

test('a weak password is rejected with its reason, and the link remains', async () => {
  await using service = await openStoreWithStaff();
  const path = await invite(service, 'ada@flowers.example', 'owner');
  const browser = openBrowser(service);
  const textOf = async (weak: string): Promise<string> => {
    const { status, text } = await browser.post(path, { password: weak });
    assert.equal(status, 422, weak);
    assert.doesNotMatch(text, new RegExp(`name="password"[^>]* value="${weak}"`));
    return text;
  };
  assert.match(await textOf('short'), /id="password-error">Use at least ten characters/);
  assert.match(await textOf('aaaaaaaaaaaa'), /more than three different characters/);
  assert.match(await textOf('ada@flowers.example'), /Do not use your name/);
  assert.match(await textOf('x'.repeat(201)), /at most 200 characters/);
  assert.equal((await browser.post(path, { password })).status, 303);
});
