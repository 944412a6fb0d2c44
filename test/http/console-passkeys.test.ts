/** Passkeys on the pages, with responses that a browser would not send. */

import assert from 'node:assert/strict';
import test from 'node:test';
import {
  openAuthenticator,
  withCertificate,
  withoutAttestation,
  type Authenticator,
  type CreationOptions,
  type RequestOptions,
} from '../support/authenticator.ts';
import { openBrowser, type Browser } from '../support/browser.ts';
import { command } from '../support/served.ts';
import { invite, join, openStoreWithStaff, staffPassword } from '../support/console.ts';
import type { TestResponse, TestService } from '../support/service.ts';

const minuteMs = 60_000;

function originOf({ url }: Pick<TestService, 'url'>): string {
  return `http://${new URL(url).host.replace('127.0.0.1', 'localhost')}`;
}

async function optionsOf<Options>(browser: Browser, path: string): Promise<Options> {
  const { status, text } = await browser.post(`${path}/options`);
  assert.equal(status, 200, text);
  return JSON.parse(text) as Options;
}

/** Adds a passkey to the account of a person who is signed in. */
async function add(
  service: TestService,
  browser: Browser,
  authenticator: Authenticator,
): Promise<TestResponse> {
  const options = await optionsOf<CreationOptions>(browser, '/account/passkeys/new');
  const credential = authenticator.create(options, originOf(service));
  return await browser.post('/account/passkeys/new', { name: 'Phone', credential });
}

async function signIn(
  service: TestService,
  browser: Browser,
  authenticator: Authenticator,
): Promise<TestResponse> {
  const options = await optionsOf<RequestOptions>(browser, '/sign-in/passkey');
  const credential = authenticator.get(options, originOf(service));
  return await browser.post('/sign-in/passkey', { credential, next: '/account' });
}

async function withPasskey(): Promise<{
  readonly service: TestService;
  readonly owner: Browser;
  readonly authenticator: Authenticator;
}> {
  const service = await openStoreWithStaff();
  const owner = await join(service, 'owner');
  const authenticator = openAuthenticator();
  const added = await add(service, owner, authenticator);
  assert.equal(added.status, 303, added.text);
  return { service, owner, authenticator };
}

test('a person adds a passkey, signs in with it in another browser, and confirms with it', async () => {
  const { service: opened, owner, authenticator } = await withPasskey();
  await using service = opened;
  assert.match((await owner.get('/account')).text, /<strong>Phone<\/strong>/);
  const other = openBrowser(service);
  const signedIn = await signIn(service, other, authenticator);
  assert.equal(signedIn.headers.get('location'), '/account', signedIn.text);
  assert.equal((await other.get('/staff/new')).status, 200, 'a passkey counts as recent');
  service.clock.advance(10 * minuteMs);
  assert.equal((await other.get('/staff/new')).headers.get('location'), '/confirm?next=%2Fstaff%2Fnew');
  const options = await optionsOf<RequestOptions & { readonly allowCredentials: readonly object[] }>(
    other,
    '/confirm/passkey',
  );
  assert.equal(options.allowCredentials.length, 1);
  const credential = authenticator.get(options, originOf(service));
  const confirmed = await other.post('/confirm/passkey', { credential, next: '/staff/new' });
  assert.equal(confirmed.headers.get('location'), '/staff/new', confirmed.text);
  assert.equal((await other.get('/staff/new')).status, 200);
  assert.match((await other.get('/audit')).text, /Signed in <span class="soft">with a passkey</);
});

test('without a script, a person with only a passkey reads how to confirm', async () => {
  await using service = await openStoreWithStaff();
  const browser = openBrowser(service);
  const path = await invite(service, 'ada@flowers.example', 'owner');
  const options = await optionsOf<CreationOptions>(browser, `${path}/passkey`);
  const credential = openAuthenticator().create(options, originOf(service));
  assert.equal((await browser.post(`${path}/passkey`, { credential })).status, 303);
  service.clock.advance(10 * minuteMs);
  const { status, text } = await browser.get('/confirm?next=%2Fstaff%2Fnew');
  assert.equal(status, 200);
  assert.doesNotMatch(text, /name="password"/);
  // The form needs a script, which shows it and hides this.
  assert.match(text, /<div class="stack" data-needs-passkeys hidden>/);
  assert.match(
    text,
    /<p class="notice" data-without-passkeys>You confirm with your passkey\. Allow JavaScript/,
  );
  assert.match(text, /An owner can create a new link for you\./);
  const owner = await join(service, 'owner');
  assert.doesNotMatch(
    (await owner.get('/confirm')).text,
    /data-without-passkeys/,
    'a password needs no script',
  );
});

test('a person joins with a passkey instead of a password, and the link works once', async () => {
  await using service = await openStoreWithStaff();
  const browser = openBrowser(service);
  const authenticator = openAuthenticator();
  const path = await invite(service, 'ada@flowers.example', 'owner');
  const options = await optionsOf<CreationOptions>(browser, `${path}/passkey`);
  const credential = authenticator.create(options, originOf(service));
  const joined = await browser.post(`${path}/passkey`, { credential });
  assert.equal(joined.status, 303, joined.text);
  assert.equal((await browser.get('/account')).status, 200);
  assert.equal((await browser.get(path)).status, 404);
  assert.equal((await browser.post(`${path}/passkey`, { credential })).status, 404);
  assert.equal((await signIn(service, openBrowser(service), authenticator)).status, 303);
  const wrong = await openBrowser(service).post('/sign-in', { email: 'ada@flowers.example', password: '' });
  assert.equal(wrong.status, 401, 'no password is not an empty password');
});

test('a response is accepted once, in five minutes, in the same browser, and for the same purpose', async () => {
  const { service: opened, owner, authenticator } = await withPasskey();
  await using service = opened;
  const origin = originOf(service);
  const browser = openBrowser(service);
  const post = async (at: Browser, options: RequestOptions): Promise<number> => {
    const credential = authenticator.get(options, origin);
    return (await at.post('/sign-in/passkey', { credential })).status;
  };
  const used = await optionsOf<RequestOptions>(browser, '/sign-in/passkey');
  const credential = authenticator.get(used, origin);
  const twice = await Promise.all(
    [1, 2].map(async () => (await browser.post('/sign-in/passkey', { credential })).status),
  );
  assert.deepEqual(
    twice.toSorted((one, other) => one - other),
    [303, 401],
    'of two concurrent responses, one is accepted',
  );
  assert.equal(await post(browser, used), 401, 'a challenge is not used again with another signature');

  const stolen = await optionsOf<RequestOptions>(browser, '/sign-in/passkey');
  const attacker = openBrowser(service);
  await optionsOf<RequestOptions>(attacker, '/sign-in/passkey');
  assert.equal(await post(attacker, stolen), 401, 'another browser');
  assert.equal(await post(openBrowser(service), stolen), 401, 'a browser without a challenge');
  assert.equal(await post(browser, stolen), 303);

  const confirming = await optionsOf<RequestOptions>(owner, '/confirm/passkey');
  assert.equal(await post(owner, confirming), 401, 'another purpose');
  const late = await optionsOf<RequestOptions>(browser, '/sign-in/passkey');
  service.clock.advance(5 * minuteMs);
  assert.equal(await post(browser, late), 401, 'too late');
});

test('a response of another site, without verification or with another signature is rejected', async () => {
  const { service: opened, authenticator } = await withPasskey();
  await using service = opened;
  const origin = originOf(service);
  const browser = openBrowser(service);
  const attempt = async (change: (options: RequestOptions) => string): Promise<number> => {
    const options = await optionsOf<RequestOptions>(browser, '/sign-in/passkey');
    return (await browser.post('/sign-in/passkey', { credential: change(options) })).status;
  };
  assert.equal(await attempt((options) => authenticator.get(options, 'https://evil.example')), 401);
  assert.equal(
    await attempt((options) => authenticator.get({ ...options, rpId: 'evil.example' }, origin)),
    401,
  );
  authenticator.isVerifying = false;
  assert.equal(await attempt((options) => authenticator.get(options, origin)), 401);
  authenticator.isVerifying = true;
  const other = openAuthenticator();
  assert.equal(await attempt((options) => other.get(options, origin)), 401, 'an unknown passkey');
  const forge = (options: RequestOptions): string => {
    const [own, foreign] = [authenticator.get(options, origin), other.get(options, origin)].map(
      (text) => JSON.parse(text) as { response: { signature: string } },
    );
    assert.ok(own && foreign);
    own.response.signature = foreign.response.signature;
    return JSON.stringify(own);
  };
  assert.equal(await attempt(forge), 401, 'the signature of another key');
  for (const text of ['', '{', 'null', '[]', '{"id":"x"}', 'x'.repeat(20_000), '{"id":"x","response":{}}'])
    assert.equal(await attempt(() => text), 401, text.slice(0, 20));
  assert.equal(await attempt((options) => authenticator.get(options, origin)), 303);
});

test('a counter that does not increase is that of a copy, and is in the audit log', async () => {
  const { service: opened, owner, authenticator } = await withPasskey();
  await using service = opened;
  const browser = openBrowser(service);
  const at = async (signCount: number): Promise<number> => {
    const options = await optionsOf<RequestOptions>(browser, '/sign-in/passkey');
    authenticator.signCount = signCount;
    const credential = authenticator.get(options, originOf(service));
    return (await browser.post('/sign-in/passkey', { credential })).status;
  };
  const statuses: number[] = [];
  for (const count of [0, 7, 8, 8, 3, 0, 9]) statuses.push(await at(count));
  assert.deepEqual(statuses, [303, 303, 303, 401, 401, 401, 303]);
  const { text } = await owner.get('/audit?kind=failures');
  assert.equal(text.match(/the passkey may have been copied/g)?.length, 3);
});

test('the last way to sign in is not removed', async () => {
  await using service = await openStoreWithStaff();
  const browser = openBrowser(service);
  const path = await invite(service, 'ada@flowers.example', 'owner');
  const options = await optionsOf<CreationOptions>(browser, `${path}/passkey`);
  const credential = openAuthenticator().create(options, originOf(service));
  await browser.post(`${path}/passkey`, { credential });
  const pages = async (): Promise<readonly string[]> =>
    [...(await browser.get('/account')).text.matchAll(/\/account\/passkeys\/\d+/g)].map(([page]) => page);
  const [first = ''] = await pages();
  const rejected = await browser.post(`${first}/remove`);
  assert.equal(rejected.status, 422);
  assert.match(rejected.text, /your only way to sign in/);
  assert.equal((await add(service, browser, openAuthenticator())).status, 303);
  const both = await pages();
  assert.equal(both.length, 2);
  const results = await Promise.all(both.map(async (page) => (await browser.post(`${page}/remove`)).status));
  assert.deepEqual(
    results.toSorted((one, other) => one - other),
    [303, 422],
    'of two concurrent removals, one is rejected',
  );
  const [left = ''] = await pages();
  assert.equal((await browser.post('/account/password', { password: staffPassword })).status, 303);
  assert.equal((await browser.post(`${left}/remove`)).status, 303);
  assert.deepEqual(await pages(), []);
});

test('a passkey is renamed, and is added once', async () => {
  const { service: opened, owner, authenticator } = await withPasskey();
  await using service = opened;
  const [page = ''] = /\/account\/passkeys\/\d+/.exec((await owner.get('/account')).text) ?? [];
  assert.equal((await owner.post(page, { name: '' })).status, 422);
  assert.equal((await owner.post(page, { name: 'Key <1>' })).status, 303);
  assert.match((await owner.get('/account')).text, /<strong>Key &lt;1&gt;<\/strong>/);
  const again = await add(service, owner, authenticator);
  assert.equal(again.status, 422);
  assert.match(again.text, /already in use/);
  const cashier = await join(service, 'cashier');
  assert.equal((await cashier.get(page)).status, 404, 'the passkey of another person');
  assert.equal((await cashier.post(`${page}/remove`)).status, 404);
});

test('an attestation with certificates is rejected, because none was asked for', async () => {
  await using service = await openStoreWithStaff();
  const owner = await join(service, 'owner');
  const authenticator = openAuthenticator();
  authenticator.attest = withCertificate;
  assert.equal((await add(service, owner, authenticator)).status, 422);
  authenticator.attest = withoutAttestation;
  assert.equal((await add(service, owner, authenticator)).status, 303);
});

test('a removed passkey and that of a disabled person do not sign in', async () => {
  await using service = await openStoreWithStaff();
  const owner = await join(service, 'owner');
  const cashier = await join(service, 'cashier');
  const authenticator = openAuthenticator();
  assert.equal((await add(service, cashier, authenticator)).status, 303);
  const person =
    /\/staff\/\d+(?=" aria-label="Change cashier")/.exec((await owner.get('/staff')).text)?.[0] ?? '';
  assert.equal((await owner.post(`${person}/disable`)).status, 303);
  assert.equal((await signIn(service, openBrowser(service), authenticator)).status, 401);
  assert.equal((await owner.post(`${person}/enable`)).status, 303);
  const again = openBrowser(service);
  assert.equal((await signIn(service, again, authenticator)).status, 303);
  const [page = ''] = /\/account\/passkeys\/\d+/.exec((await again.get('/account')).text) ?? [];
  assert.equal((await again.post(`${page}/remove`)).status, 303);
  assert.equal((await signIn(service, openBrowser(service), authenticator)).status, 401);
});

test('wrong responses use up the budget of the passkey, and wrong passwords do not', async () => {
  const { service: opened, authenticator } = await withPasskey();
  await using service = opened;
  const stranger = openBrowser(service);
  for (let count = 0; count < 11; count += 1)
    await stranger.post('/sign-in', { email: 'owner@flowers.example', password: 'wrong' });
  const right = { email: 'owner@flowers.example', password: staffPassword };
  assert.equal((await stranger.post('/sign-in', right)).status, 429);
  assert.equal((await signIn(service, stranger, authenticator)).status, 303, 'a passkey works at any time');
  const attacker = openBrowser(service);
  authenticator.isVerifying = false;
  const statuses: number[] = [];
  for (let count = 0; count < 11; count += 1)
    statuses.push((await signIn(service, attacker, authenticator)).status);
  assert.deepEqual(statuses, [...Array<number>(10).fill(401), 429]);
});

test('where browsers accept no passkeys, the pages say so and offer none', async () => {
  await using service = await openStoreWithStaff();
  const { host } = new URL(service.url);
  const browser = openBrowser(service);
  const get = (path: string) => browser.request(path, { headers: { host } });
  const { text } = await get('/sign-in');
  assert.match(text, new RegExp(`href="${originOf(service)}/sign-in"`));
  assert.doesNotMatch(text, /data-passkey/);
  const options = await browser.request('/sign-in/passkey/options', {
    method: 'POST',
    headers: { host, 'sec-fetch-site': 'same-origin' },
  });
  assert.equal(options.status, 404);
  assert.match((await browser.get('/sign-in')).text, /data-passkey="get"/);
});

test('with PUBLIC_URL, passkeys belong to its host', async () => {
  await using service = await openStoreWithStaff({ PUBLIC_URL: 'https://cards.flowers.example' });
  const { code } = await command(service.environment, 'staff', 'invite', 'ada@flowers.example');
  assert.equal(code, 0);
  const response = await openBrowser(service).request('/sign-in/passkey/options', {
    method: 'POST',
    headers: { host: 'cards.flowers.example', 'sec-fetch-site': 'same-origin' },
  });
  assert.equal((JSON.parse(response.text) as RequestOptions).rpId, 'cards.flowers.example');
  assert.match(response.headers.get('set-cookie') ?? '', /^__Host-largesse-passkey=/);
});
