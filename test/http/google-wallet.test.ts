/** Google Wallet from the owner's upload to the phone: objects, links, updates, and what goes wrong. */

import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import test, { after } from 'node:test';
import { roles } from '../../src/core/staff/domain/staff.ts';
import { markRestored } from '../../src/features/backups/service/restored.ts';
import { readConfig } from '../../src/start/config.ts';
import { openDatabase, type Database } from '../../src/start/database.ts';
import { recordExpired } from '../../src/core/cards/service/expiry.ts';
import { requireStore } from '../../src/core/stores/service/store.ts';
import type { Script } from '../../src/database/sql/sql.ts';
import { removeSetupStep } from '../../src/core/stores/storage/setup-step.ts';
import { wallClockOf } from '../../src/platform/clock.ts';
import { openBrowser, postFiles, type Browser } from '../support/browser.ts';
import { consoleDomain, join, staffPassword } from '../support/console.ts';
import { formOf, openStaffedShop, textOfPage } from '../support/counter-staff.ts';
import { until } from '../support/delivering.ts';
import { googleHosts, googleService, serviceAccount } from '../support/google.ts';
import { createStoreElsewhere } from '../support/second-process.ts';
import type { TestResponse } from '../support/service.ts';
import { issueAuthority, issueRsa } from '../support/wallet-certificates.ts';

const path = '/settings/wallets';
const origin = 'https://cards.flowers.example';
const issuerId = '3388000000012345678';
const classId = `${issuerId}.flowers.example`;
const dayMs = 86_400_000;
const started = Date.now();
const period = { from: started - dayMs, until: started + 400 * dayMs };

const authority = issueAuthority(period.from, period.until);
const certificateOf = (host: string) =>
  issueRsa({ subject: [{ name: 'commonName', value: host }], host, issuer: authority, ...period });
let clock = Date.now;
const google = await googleService(
  {
    'oauth2.googleapis.com': certificateOf('oauth2.googleapis.com'),
    'walletobjects.googleapis.com': certificateOf('walletobjects.googleapis.com'),
  },
  () => clock(),
);
after(() => google[Symbol.asyncDispose]());
const account = serviceAccount();
google.accounts.set(account, issuerId);

let address = '93.184.215.14';
const shop = await openStaffedShop({
  environment: { PUBLIC_URL: origin },
  emailNetwork: {
    authority: authority.certificate,
    resolve: async (host) => (googleHosts.some((each) => each === host) ? [address] : []),
    rerouteForTests: { address: () => '127.0.0.1', port: () => google.port },
  },
});
after(() => shop[Symbol.asyncDispose]());
const { service } = shop;
clock = () => service.clock.now();
const visitor = (): Browser => openBrowser({ ...service, url: origin });
const owner = await join(service, 'owner', visitor());

type Upload = { readonly account?: Uint8Array | string; readonly issuer?: string };

async function upload({ issuer = '', ...files }: Upload, browser = owner): Promise<TestResponse> {
  const { key = '' } = formOf(await browser.get(path), `${path}/google`);
  return await postFiles(browser, `${path}/google`, { fields: { key, issuer }, files });
}

async function setUp(given: Upload = { account: account.file, issuer: issuerId }): Promise<void> {
  const response = await upload(given);
  assert.equal(response.status, 303, textOfPage(response));
}

async function signInAgain(): Promise<void> {
  const password = { email: `owner@${consoleDomain}`, password: staffPassword };
  assert.equal((await owner.post('/sign-in', password)).status, 303);
}

const addForm = (code: string, at = 'flowers.example'): Promise<TestResponse> =>
  visitor().post(`/b/${at}/wallet/google`, { code });

type Stored = ReturnType<typeof google.save>;

/** Adds a card to the wallet of a person. @returns the id of its object. */
async function added(code: string): Promise<string> {
  const response = await addForm(code);
  assert.equal(response.status, 303, textOfPage(response));
  const link = response.headers.get('location') ?? '';
  assert.doesNotMatch(Buffer.from(link.split('.')[1] ?? '', 'base64url').toString(), new RegExp(code, 'i'));
  const object = google.save(link, origin);
  await settled();
  return String(object['id']);
}

async function debit(id: number, amount: string): Promise<void> {
  const response = await shop.ask(`POST /gift_card/${id}/debit`, { json: { amount } });
  assert.equal(response.status, 201, response.text);
}

/** Waits until no update is due. */
async function settled(): Promise<void> {
  await until(
    async () =>
      (await service.query('select 1 as one from wallet_cards where next_at is not null')).length === 0,
  );
}

function stored(id: string): Stored {
  const object = google.objects.get(id);
  assert.ok(object);
  return object;
}

function microsOf(id: string): unknown {
  return (stored(id)['balance'] as Stored | undefined)?.['micros'];
}

const requestsOf = (id: string): number => google.requests.filter((each) => each.path.endsWith(id)).length;

async function failures(): Promise<readonly Readonly<Record<string, unknown>>[]> {
  return await service.query('select failure from wallets where failing_since is not null');
}

async function rowOf(object: string): Promise<Readonly<Record<string, unknown>> | undefined> {
  const [row] = await service.query(
    `select attempts, lease, next_at from wallet_cards where object = '${object}'`,
  );
  return row;
}

/** Runs a script as another process does. */
async function elsewhere<Result>(script: (ctx: Database['ctx']) => Script<Result>): Promise<Result> {
  const config = readConfig(service.environment);
  await using database = await openDatabase(config, { prepare: false, clock: wallClockOf(service.clock) });
  return await database.storage.write(() => script(database.ctx));
}

test('only owners set Google Wallet up, and without it nothing offers it', async () => {
  const { code } = await shop.issue();
  const shown = await visitor().post('/b/flowers.example', { code });
  assert.doesNotMatch(shown.text, /Google Wallet/);
  const response = await addForm(code);
  assert.equal(response.status, 200);
  assert.doesNotMatch(response.text, /could not be added/);
  for (const role of roles.filter((each) => each !== 'owner')) {
    const person = await join(service, role, visitor());
    for (const form of ['', '/test', '/remove'])
      assert.equal((await person.post(`${path}/google${form}`)).status, 403, `${role} ${form}`);
  }
  assert.equal((await owner.post(`${path}/google/test`)).status, 200);
  assert.deepEqual([google.tokens.length, google.requests.length], [0, 0]);
});

test('an upload that cannot sign for an account is rejected with what is wrong', async () => {
  const content = JSON.parse(account.file) as Readonly<Record<string, string>>;
  const withKey = (pem: string): string => JSON.stringify({ ...content, private_key: pem });
  const pemOf = { type: 'pkcs8', format: 'pem' } as const;
  const curve = generateKeyPairSync('ed25519').privateKey.export(pemOf);
  const wrongs: readonly (readonly [Upload, RegExp])[] = [
    [{}, /Choose the file with the key/],
    [{ account: '' }, /Choose the file with the key/],
    [{ account: Buffer.alloc(60_000) }, /too large for a key/],
    [{ account: 'nothing' }, /not a JSON file/],
    [{ account: '[1' }, /not a JSON file/],
    [{ account: '[]' }, /not the key of a service account/],
    [
      { account: JSON.stringify({ ...content, type: 'authorized_user' }) },
      /not the key of a service account/,
    ],
    [
      { account: JSON.stringify({ ...content, client_email: 'a@example.com' }) },
      /not the key of a service account/,
    ],
    [{ account: withKey('nothing') }, /no private key/],
    [{ account: withKey(curve) }, /must be an RSA key/],
    [{ account: serviceAccount('weak', 1_024).file }, /must be an RSA key/],
    [{ account: account.file, issuer: '' }, /Enter the digits of the issuer ID/],
    [{ account: account.file, issuer: '12a' }, /Enter the digits of the issuer ID/],
    [{ account: account.file, issuer: '1'.repeat(21) }, /Enter the digits of the issuer ID/],
  ];
  for (const [given, message] of wrongs) {
    const response = await upload({ issuer: issuerId, ...given });
    assert.equal(response.status, 422, String(message));
    assert.match(textOfPage(response), message);
    assert.doesNotMatch(response.text, /PRIVATE KEY/);
  }
  assert.equal((await service.query('select kind from wallets')).length, 0);
});

test('the test shows the words of Google, and creates the class of the shop', async () => {
  const tested = async (): Promise<string> => textOfPage(await owner.post(`${path}/google/test`));
  const stranger = serviceAccount('stranger');
  await setUp({ account: stranger.file, issuer: issuerId });
  address = '10.0.0.7';
  assert.match(await tested(), /not accepted the key: .* not on the public internet/);
  address = '93.184.215.14';
  assert.match(
    await tested(),
    /not accepted the key: responded with 400: invalid_grant: .*account not found/,
  );
  google.accounts.set(stranger, '99');
  assert.match(
    await tested(),
    /not accepted the key: responded with 403: The issuer of .* has not granted access/,
  );
  google.accounts.delete(stranger);
  await setUp();
  google.replyToken = () => 'lost';
  assert.match(await tested(), /not accepted the key: the connection failed/);
  google.replyToken = () => ({ status: 200, message: 'x'.repeat(70_000) });
  assert.match(await tested(), /not accepted the key: the response is too long/);
  google.replyToken = () => ({ status: 200 });
  assert.match(await tested(), /not accepted the key: responded with no access token/);
  google.replyToken = () => undefined;
  assert.match(await tested(), new RegExp(`accepted the key: ${classId}: UNDER_REVIEW`));
  const shared = google.classes.get(classId);
  assert.equal(shared?.['issuerName'], 'Flowers');
  assert.match(
    await tested(),
    new RegExp(`accepted the key: ${classId}: UNDER_REVIEW`),
    'a second test changes it',
  );
  const page = await owner.get(path);
  assert.match(textOfPage(page), new RegExp(`${issuerId}.*${account.email}`));
  assert.doesNotMatch(page.text, /PRIVATE KEY/);
});

test('a person adds a card, and a debit changes its balance in the wallet', async () => {
  const { id, code } = await shop.issue({ initial_value: '50.00', expires_on: '2031-12-31' });
  const shown = await visitor().post('/b/flowers.example', { code });
  assert.match(shown.text, /formaction="\/b\/flowers\.example\/wallet\/google".*Add to Google Wallet/);
  for (const page of ['/b/flowers.example', '/b/flowers.example/card']) {
    const policy = (await visitor().get(page)).headers.get('content-security-policy') ?? '';
    assert.match(policy, /form-action 'self' https:\/\/pay\.google\.com;/, page);
  }
  assert.match((await owner.get('/settings/emails/preview')).text, />Add to Google Wallet<\/a>/);
  const object = await added(code);
  assert.match(object, new RegExp(`^${issuerId}\\.[\\w-]{43}$`));
  assert.doesNotMatch(object, new RegExp(code, 'i'));
  assert.deepEqual(
    { ...stored(object), balanceUpdateTime: null },
    {
      balanceUpdateTime: null,
      hasUsers: true,
      id: object,
      classId,
      state: 'ACTIVE',
      cardNumber: `•••• ${code.slice(-4).toUpperCase()}`,
      balance: { micros: '50000000', currencyCode: 'EUR' },
      validTimeInterval: { end: { date: '2032-01-01T00:00:00Z' } },
      barcode: {
        type: 'QR_CODE',
        value: `${origin}/b/flowers.example/card#${code.toUpperCase()}`,
        alternateText: (code.toUpperCase().match(/.{4}/g) ?? []).join(' '),
      },
    },
  );
  await debit(id, '12.50');
  await until(() => microsOf(object) === '37500000');
  await settled();
  const before = google.requests.length;
  assert.equal(await added(code), object);
  assert.equal(google.requests.length, before, 'Google has it already');
  assert.doesNotMatch(service.log(), new RegExp(code, 'i'));
  assert.doesNotMatch(await service.state(), new RegExp(code, 'i'));
});

test('a card that is added twice at the same time is one object', async () => {
  const { code } = await shop.issue();
  const before = google.objects.size;
  const responses = await Promise.all([addForm(code), addForm(code), addForm(code)]);
  const ids = responses.map(({ headers }) => google.save(headers.get('location') ?? '', origin)['id']);
  assert.equal(new Set(ids).size, 1);
  assert.equal(google.objects.size, before + 1);
  await settled();
});

test('a card that cannot be used has no barcode in the wallet, and has it again when it can', async () => {
  const put = (json: object) => (id: number) => shop.ask(`PUT /gift_card/${id}`, { json });
  const post = (name: string) => (id: number) => shop.ask(`POST /gift_card/${id}/${name}`, { json: {} });
  const credit = (id: number) => shop.ask(`POST /gift_card/${id}/credit`, { json: { amount: '50.00' } });
  const states: readonly (readonly [
    string,
    (id: number) => Promise<unknown>,
    ((id: number) => Promise<TestResponse>) | null,
  ])[] = [
    ['INACTIVE', put({ disable: true }), null],
    ['INACTIVE', post('suspend'), post('resume')],
    ['COMPLETED', (id) => debit(id, '50.00'), credit],
    ['INACTIVE', post('rotate_code'), null],
  ];
  for (const [state, change, undo] of states) {
    const { id, code } = await shop.issue();
    const object = await added(code);
    await change(id);
    await until(() => stored(object)['state'] === state);
    assert.equal(stored(object)['barcode'], undefined, state);
    assert.equal(microsOf(object), '0', state);
    assert.equal((await addForm(code)).status === 303, false, 'only a usable card is added');
    await settled();
    if (!undo) continue;
    const undone = await undo(id);
    assert.ok(undone.status < 300, undone.text);
    await until(() => stored(object)['state'] === 'ACTIVE');
    assert.equal(microsOf(object), '50000000');
    assert.notEqual(stored(object)['barcode'], undefined);
    await settled();
  }
});

test('a new code has an object of its own, and the earlier one is ended before', async () => {
  const { id, code } = await shop.issue();
  const first = await added(code);
  google.reply = ({ path: at }) => (at.endsWith(first) ? { status: 503 } : undefined);
  const rotated = await shop.ask(`POST /gift_card/${id}/rotate_code`, { json: {} });
  const { code: next } = (rotated.json as { readonly gift_card: { readonly code: string } }).gift_card;
  const failed = await addForm(next);
  assert.match(failed.text, /role="alert">Your card could not be added to the wallet/);
  assert.equal(stored(first)['state'], 'ACTIVE', 'Google did not accept the end');
  google.reply = () => undefined;
  const second = await added(next);
  assert.notEqual(second, first);
  assert.deepEqual([stored(first)['state'], stored(first)['barcode']], ['EXPIRED', undefined]);
  assert.equal(stored(second)['state'], 'ACTIVE');
  await debit(id, '1.00');
  await until(() => microsOf(second) === '49000000');
  await settled();
});

test('an access token is used until it expires, and one that is rejected is replaced once', async () => {
  const { id, code } = await shop.issue();
  const object = await added(code);
  const issued = google.tokens.length;
  await debit(id, '1.00');
  await until(() => microsOf(object) === '49000000');
  assert.equal(google.tokens.length, issued);
  await settled();
  service.clock.advance(3_600_000);
  const others = await Promise.all([shop.issue(), shop.issue(), shop.issue()]);
  await Promise.all(others.map((other) => addForm(other.code)));
  assert.equal(google.tokens.length, issued + 1, 'one at a time for a credential');
  await settled();
  google.revokeTokens();
  await debit(id, '1.00');
  await until(() => microsOf(object) === '48000000');
  assert.equal(google.tokens.length, issued + 2);
  await settled();
  // Google rejects each token: the update fails, and is tried later.
  google.reply = () => ({ status: 401, message: 'no' });
  const before = google.requests.length;
  await debit(id, '1.00');
  await until(async () => (await rowOf(object))?.['lease'] === null && (await failures()).length === 1);
  assert.equal(google.requests.length, before + 2);
  assert.match(String((await failures())[0]?.['failure']), /^responded with 401: no/);
  google.reply = () => undefined;
  service.clock.advance(3_600_000);
  await until(() => microsOf(object) === '47000000');
  await settled();
});

test('updates that are not accepted are repeated until they are, and the owner sees why', async () => {
  await signInAgain();
  const { id, code } = await shop.issue();
  const object = await added(code);
  const replies = [
    { status: 403, message: 'Permission denied' },
    { status: 429, message: 'Quota exceeded', retryAfter: '60' },
    { status: 503, message: `The service is unavailable for "${code.toUpperCase()}"` },
    'lost',
  ] as const;
  const attempts = async (): Promise<number> => {
    const { lease, attempts: made } = (await rowOf(object)) ?? {};
    return lease === null ? Number(made) : 0;
  };
  for (const [made, reply] of replies.entries()) {
    google.reply = () => reply;
    if (made === 0) await debit(id, '1.00');
    else service.clock.advance(5 * 60_000);
    await until(async () => (await attempts()) === made + 1);
    if (made === 0)
      assert.match(
        textOfPage(await owner.get(path)),
        /Google has not accepted updates since .*: responded with 403: Permission denied/,
      );
    assert.doesNotMatch(String((await failures())[0]?.['failure']), new RegExp(code, 'i'));
  }
  assert.match(String((await failures())[0]?.['failure']), /^the connection failed/);
  await debit(id, '1.00');
  await debit(id, '1.00');
  service.clock.advance(61 * 60_000);
  await until(async () => (await attempts()) === replies.length + 1);
  await signInAgain();
  assert.match(textOfPage(await owner.get('/today')), /Cards in Google Wallet have not changed since/);
  google.reply = () => undefined;
  const earlier = requestsOf(object);
  service.clock.advance(61 * 60_000);
  await until(() => microsOf(object) === '47000000');
  await until(async () => (await failures()).length === 0);
  assert.equal(requestsOf(object), earlier + 1, 'several changes are one update');
  await settled();
});

test('a card that Google does not accept is not added, and the recipient and the owner learn it', async () => {
  await signInAgain();
  const { id, code } = await shop.issue();
  google.reply = () => ({ status: 503, message: 'Try later' });
  assert.match((await addForm(code)).text, /role="alert">Your card could not be added to the wallet/);
  assert.deepEqual(await failures(), [], 'a person repeats it');
  google.reply = ({ method, path: at }) =>
    method === 'POST' && at.endsWith('/giftCardObject') ? { status: 403, message: 'Not allowed' } : undefined;
  const response = await addForm(code);
  assert.equal(response.status, 200);
  assert.match(response.text, /role="alert">Your card could not be added to the wallet/);
  assert.match(
    textOfPage(await owner.get(path)),
    /Google has not accepted updates since .*responded with 403: Not allowed/,
  );
  google.reply = () => undefined;
  const object = await added(code);
  assert.deepEqual(await failures(), [], 'the next one that is accepted clears it');
  // An object that Google no longer has gets no more updates.
  google.objects.delete(object);
  await debit(id, '1.00');
  await until(async () => (await rowOf(object)) === undefined);
  const before = requestsOf(object);
  await debit(id, '1.00');
  await debit((await shop.issue()).id, '1.00');
  assert.equal(requestsOf(object), before);
  assert.equal(await added(code), object, 'it can be added again');
});

test('the class of the shop follows its name with the next card that is added', async () => {
  const count = (): number => google.requests.filter(({ path: at }) => at.endsWith(classId)).length;
  const before = count();
  await added((await shop.issue()).code);
  assert.equal(count(), before, 'an unchanged class is not sent again');
  google.classes.delete(classId);
  const lost = await addForm((await shop.issue()).code);
  assert.match(lost.text, /could not be added/);
  await added((await shop.issue()).code);
  assert.ok(google.classes.has(classId), 'a class that Google lost is created again');
});

test('the erasure of the recipient ends the object at Google', async () => {
  const { id, code } = await shop.issue({ recipient_email: 'grace@example.com', recipient_name: 'Grace' });
  const object = await added(code);
  const { json } = await shop.ask(`GET /gift_card/${id}`);
  const { recipient_id: customerId } = (json as { readonly gift_card: { readonly recipient_id: number } })
    .gift_card;
  // The end is sent later if Google does not accept it now.
  let rejected = 0;
  google.reply = ({ path: at }) => {
    if (!at.endsWith(object)) return undefined;
    rejected += 1;
    return { status: 503 };
  };
  assert.equal((await shop.ask(`POST /customers/${customerId}/erase`, { json: {} })).status, 202);
  await until(async () => rejected > 0 && (await rowOf(object))?.['lease'] === null);
  const [row] = await service.query(`select code from wallet_cards where object = '${object}'`);
  assert.equal(row?.['code'], null);
  google.reply = () => undefined;
  service.clock.advance(3_600_000);
  await until(async () => (await rowOf(object)) === undefined);
  const { state, cardNumber, barcode, balance } = stored(object);
  assert.deepEqual([state, cardNumber, barcode, balance], ['EXPIRED', '••••', undefined, undefined]);
  assert.doesNotMatch(JSON.stringify(google.requests), /grace/i);
  const before = requestsOf(object);
  await debit(id, '1.00');
  await settled();
  assert.equal(requestsOf(object), before);
});

test('a restored copy neither adds a card nor sends an update until an owner has confirmed it', async () => {
  const { id, code } = await shop.issue();
  const object = await added(code);
  const other = await shop.issue();
  const { store } = await elsewhere(() => requireStore('flowers.example'));
  await elsewhere((ctx) => markRestored(ctx, service.clock.now()));
  const before = google.requests.length;
  assert.match((await addForm(other.code)).text, /role="alert">Your card could not be added/);
  await debit(id, '1.00');
  service.clock.advance(60_000);
  assert.equal(google.requests.length, before);
  await elsewhere(() => removeSetupStep({ storeId: store.id, step: 'restored_copy' }));
  service.clock.advance(60_000);
  await until(() => microsOf(object) === '49000000');
  await settled();
});

test('a new key keeps the cards, another issuer does not, and removal ends the updates', async () => {
  await signInAgain();
  const { id, code } = await shop.issue();
  const object = await added(code);
  const renewed = serviceAccount('renewed');
  google.accounts.set(renewed, issuerId);
  google.accounts.delete(account);
  google.revokeTokens();
  await setUp({ account: renewed.file, issuer: issuerId });
  await debit(id, '5.00');
  await until(() => microsOf(object) === '45000000');
  await settled();
  const form = formOf(await owner.get(path), `${path}/google/remove`);
  assert.equal((await owner.post(`${path}/google/remove`, form)).status, 303);
  assert.deepEqual(await service.query('select card_id from wallet_cards'), []);
  const before = google.requests.length;
  await debit(id, '5.00');
  const shown = await addForm(code);
  assert.equal(shown.status, 200);
  assert.doesNotMatch(shown.text, /Google Wallet|could not be added/);
  assert.equal(google.requests.length, before);
  await setUp({ account: renewed.file, issuer: issuerId });
  assert.equal(await added(code), object);
  assert.equal(microsOf(object), '40000000');
  await setUp({ account: renewed.file, issuer: '77' });
  assert.deepEqual(await service.query('select card_id from wallet_cards'), []);
  assert.match(textOfPage(await owner.get('/audit')), /wallet/);
});

test('a card that expires is expired in the wallet, without a barcode', async () => {
  await signInAgain();
  google.accounts.set(account, issuerId);
  await setUp();
  const day = new Date(service.clock.now() + dayMs).toISOString().slice(0, 10);
  const object = await added((await shop.issue({ expires_on: day })).code);
  assert.equal(stored(object)['state'], 'ACTIVE');
  service.clock.advance(3 * dayMs);
  const { store } = await elsewhere(() => requireStore('flowers.example'));
  // The daily task records it.
  await elsewhere((ctx) => recordExpired(ctx, store, 100));
  await until(() => stored(object)['state'] === 'EXPIRED');
  assert.deepEqual([stored(object)['barcode'], microsOf(object)], [undefined, '0']);
});

test('another store neither offers the wallet nor finds the card', async () => {
  await createStoreElsewhere(service, 'books.example');
  const { code } = await shop.issue();
  assert.doesNotMatch((await visitor().get('/b/books.example')).text, /Google Wallet/);
  const before = google.requests.length;
  assert.equal((await addForm(code, 'books.example')).status, 404);
  assert.equal((await addForm('ABCD-EFGH-JKLM-NPQR')).status, 404);
  assert.equal(google.requests.length, before);
});
