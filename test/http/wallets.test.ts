/** Apple Wallet from the owner's upload to the phone: passes, registrations, pushes and updates, and what goes wrong. */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join as joinPath } from 'node:path';
import test, { after } from 'node:test';
import { roles } from '../../src/core/staff/domain/staff.ts';
import { openPass, phoneWith, pushService, type PassContent, type Phone } from '../support/apple.ts';
import { openBrowser, postFiles, type Browser } from '../support/browser.ts';
import { consoleDomain, join, staffPassword } from '../support/console.ts';
import { formOf, openStaffedShop, textOfPage } from '../support/counter-staff.ts';
import { until } from '../support/delivering.ts';
import type { TestResponse } from '../support/service.ts';
import {
  derOf,
  issueAuthority,
  issuePassCertificate,
  issueRsa,
  pkcs12,
} from '../support/wallet-certificates.ts';

const path = '/settings/wallets';
const origin = 'https://cards.flowers.example';
const passTypeId = 'pass.example.flowers.giftcards';
const dayMs = 86_400_000;
const now = Date.now();
const period = { from: now - dayMs, until: now + 400 * dayMs };

const authority = issueAuthority(period.from, period.until);
const own = issuePassCertificate(authority, { passTypeId, ...period });
const pushHost = 'api.push.apple.com';
const pushCertificate = issueRsa({
  subject: [{ name: 'commonName', value: pushHost }],
  host: pushHost,
  issuer: authority,
  ...period,
});
const apple = await pushService(authority, pushCertificate);
after(() => apple[Symbol.asyncDispose]());

const shop = await openStaffedShop({
  environment: { PUBLIC_URL: origin },
  emailNetwork: {
    authority: authority.certificate,
    resolve: async (host) => (host === pushHost ? ['93.184.215.14'] : []),
    rerouteForTests: { address: () => '127.0.0.1', port: () => apple.port },
  },
});
after(() => shop[Symbol.asyncDispose]());
const { service } = shop;
/** The pages have the name of the public URL. */
const visitor = (): Browser => openBrowser({ ...service, url: origin });
const owner = await join(service, 'owner', visitor());

type Upload = {
  readonly certificate?: Uint8Array | string;
  readonly intermediate?: Uint8Array | string;
  readonly password?: string;
};

/** Submits the form with its files, as a browser does. */
async function upload({ password = '', ...files }: Upload, browser = owner): Promise<TestResponse> {
  const { key = '' } = formOf(await browser.get(path), `${path}/apple`);
  return await postFiles(browser, `${path}/apple`, { fields: { key, password }, files });
}

const files: Upload = {
  certificate: pkcs12(own, 'secret'),
  intermediate: derOf(authority),
  password: 'secret',
};

async function setUp(given = files): Promise<void> {
  const response = await upload(given);
  assert.equal(response.status, 303, textOfPage(response));
}

const addForm = (code: string, email = ''): Promise<TestResponse> =>
  visitor().post('/b/flowers.example/wallet/apple', { code, email });

async function passOf(code: string): Promise<PassContent> {
  const response = await addForm(code);
  assert.equal(response.status, 200, textOfPage(response));
  assert.equal(response.headers.get('content-type'), 'application/vnd.apple.pkpass');
  return await openPass(response.bytes ?? Buffer.alloc(0), authority);
}

function phoneOf(pass: PassContent, name: string): Phone {
  return phoneWith(service, pass, { authority, name });
}

async function debit(id: number, amount: string): Promise<void> {
  const response = await shop.ask(`POST /gift_card/${id}/debit`, { json: { amount } });
  assert.equal(response.status, 201, response.text);
}

function pushesTo({ pushToken }: Phone): number {
  return apple.pushes.filter(({ token }) => token === pushToken).length;
}

/** A phone that has registered, after the push that this causes. */
async function registered(code: string, name: string): Promise<Phone> {
  const phone = phoneOf(await passOf(code), name);
  assert.equal((await phone.register()).status, 201);
  await until(() => pushesTo(phone) === 1);
  return phone;
}

function balanceOf(pass: PassContent | null): number | undefined {
  return pass?.storeCard.primaryFields[0]?.value;
}

const walletRows = async (): Promise<number> =>
  (await service.query('select card_id from wallet_cards')).length;

test('only owners set Apple Wallet up, and without it nothing offers it', async () => {
  const { code } = await shop.issue();
  const shown = await visitor().post('/b/flowers.example', { code });
  assert.equal(shown.status, 200);
  assert.doesNotMatch(shown.text, /Apple Wallet/);
  const added = await addForm(code);
  assert.match(added.headers.get('content-type') ?? '', /^text\/html/);
  for (const role of roles.filter((each) => each !== 'owner')) {
    const person = await join(service, role, visitor());
    assert.equal((await person.get(path)).status, 403, role);
    assert.equal((await person.post(`${path}/apple/remove`)).status, 403, role);
  }
});

test('an upload that cannot sign passes is rejected with what is wrong', async () => {
  const other = issueRsa({ subject: [{ name: 'commonName', value: 'other' }], ...period });
  const expired = issuePassCertificate(authority, { passTypeId, from: now - 9 * dayMs, until: now - dayMs });
  const wrongs: readonly (readonly [Upload, RegExp])[] = [
    [{}, /Choose the file with the certificate and its key/],
    [{ ...files, certificate: 'nothing' }, /neither a \.p12 file nor a PEM file/],
    [{ ...files, certificate: Buffer.alloc(60_000) }, /too large for a certificate/],
    [{ ...files, password: 'wrong' }, /does not open the file/],
    [{ ...files, certificate: own.certificate }, /has no private key/],
    [{ ...files, certificate: own.certificate + other.key }, /does not belong to a certificate/],
    [{ ...files, certificate: other.certificate + other.key }, /not the certificate of a pass type/],
    [{ ...files, certificate: expired.certificate + expired.key }, /not valid today/],
    [{ certificate: own.certificate + own.key }, /Choose the certificate of Apple/],
    [{ ...files, intermediate: derOf(other) }, /Choose the certificate of Apple/],
    // The right password opens it, but more iterations would block the service.
    [{ ...files, certificate: pkcs12(own, 'secret', 60_000) }, /neither a \.p12 file nor a PEM file/],
  ];
  for (const [given, message] of wrongs) {
    const response = await upload(given);
    assert.equal(response.status, 422, String(message));
    assert.match(textOfPage(response), message);
  }
  assert.equal((await service.query('select kind from wallets')).length, 0);
});

test('a phone adds the card, receives a push after a debit, and gets the new balance', async () => {
  await setUp();
  const page = await owner.get(path);
  assert.match(textOfPage(page), new RegExp(`${passTypeId}.*TEAM012345`));
  assert.doesNotMatch(page.text, /PRIVATE KEY|secret/);
  const { id, code } = await shop.issue({ initial_value: '50.00', expires_on: '2031-12-31' });
  const shown = await visitor().post('/b/flowers.example', { code });
  assert.match(shown.text, /formaction="\/b\/flowers\.example\/wallet\/apple".*Add to Apple Wallet/);
  const pass = await passOf(code);
  assert.equal(pass.passTypeIdentifier, passTypeId);
  assert.equal(pass.teamIdentifier, 'TEAM012345');
  assert.equal(pass.organizationName, 'Flowers');
  assert.equal(pass.expirationDate, '2032-01-01T00:00:00Z');
  assert.equal(pass.voided, undefined);
  assert.deepEqual([balanceOf(pass), pass.storeCard.primaryFields[0]?.currencyCode], [50, 'EUR']);
  const link = `${origin}/b/flowers.example/card#${code.toUpperCase()}`;
  assert.equal(pass.barcodes?.[0]?.message, link);
  assert.equal(await walletRows(), 0, 'a pass that no device shows needs no row');

  const phone = phoneOf(pass, 'first');
  assert.equal((await phone.register()).status, 201);
  assert.equal((await phone.register()).status, 200);
  await until(() => pushesTo(phone) >= 1);
  const { tag = '' } = (await phone.changed()) ?? {};
  assert.equal(balanceOf(await phone.fetch()), 50);
  const before = pushesTo(phone);
  await debit(id, '12.50');
  await until(() => pushesTo(phone) > before);
  assert.deepEqual((await phone.changed(tag))?.serials, [pass.serialNumber]);
  assert.equal(balanceOf(await phone.fetch()), 37.5);
  service.clock.advance(5_000);
  assert.equal(balanceOf(await phone.fetch()), 37.5);
  assert.equal(await phone.fetch(), null, 'an unchanged pass is not sent again');
  assert.equal((await phone.unregister()).status, 200);
  assert.equal(await phone.changed(), null);
  assert.equal(await walletRows(), 0);
  await debit(id, '1.00');
  assert.equal((await service.query('select card_id from wallet_cards where next_at is not null')).length, 0);
  assert.doesNotMatch(service.log(), new RegExp(code, 'i'));
});

test('a card that cannot be used is void in the wallet, and one with a new code has no other code there', async () => {
  const states: readonly (readonly [string, (id: number) => Promise<unknown>])[] = [
    ['disabled', (id) => shop.ask(`PUT /gift_card/${id}`, { json: { disable: true } })],
    ['suspended', (id) => shop.ask(`POST /gift_card/${id}/suspend`)],
    ['empty', (id) => debit(id, '50.00')],
    ['rotated', (id) => shop.ask(`POST /gift_card/${id}/rotate_code`)],
  ];
  for (const [name, change] of states) {
    const { id, code } = await shop.issue();
    const phone = await registered(code, name);
    await change(id);
    await until(() => pushesTo(phone) === 2);
    const pass = await phone.fetch();
    assert.equal(pass?.voided, true, name);
    assert.equal(pass?.barcodes, undefined, name);
    assert.equal(balanceOf(pass), 0, name);
    // A pass is made for a usable card only.
    assert.match((await addForm(code)).headers.get('content-type') ?? '', /^text\/html/, name);
  }
});

test('a wrong token, another card or another type is the same 401, and reveals nothing', async () => {
  const [one, two] = [await shop.issue(), await shop.issue()];
  const phone = await registered(one.code, 'honest');
  const other = await passOf(two.code);
  const registration = `/devices/${phone.device}/registrations`;
  const body = JSON.stringify({ pushToken: phone.pushToken });
  const tries = [
    ['POST', `${registration}/${passTypeId}/${two.id}`],
    ['POST', `${registration}/pass.other/${one.id}`],
    ['POST', `${registration}/${passTypeId}/999`],
    ['DELETE', `${registration}/${passTypeId}/${two.id}`],
    ['GET', `/passes/${passTypeId}/${two.id}`],
    ['GET', `/passes/${passTypeId}/${one.id + 1}`],
  ] as const;
  for (const [method, where] of tries) {
    const response = await phone.request(method, where, method === 'POST' ? { body } : {});
    assert.deepEqual([response.status, response.text], [401, ''], `${method} ${where}`);
  }
  const forged = {
    token: other.authenticationToken.slice(0, -2).padEnd(other.authenticationToken.length, 'A'),
  };
  assert.equal((await phone.request('GET', `/passes/${passTypeId}/${two.id}`, forged)).status, 401);
  assert.equal(
    (await phone.request('POST', `${registration}/${passTypeId}/${one.id}`, { body: '{' })).status,
    400,
  );
  assert.equal(
    (await phone.request('POST', `${registration}/${passTypeId}/${one.id}`, { body: '{"pushToken":"a b"}' }))
      .status,
    400,
  );
  const unknown = await phone.request('GET', `/devices/${'0'.repeat(32)}/registrations/${passTypeId}`);
  assert.equal(unknown.status, 204);
  assert.equal((await phone.request('POST', '/log', { body: '{"logs":["x"]}' })).status, 200);
  // Guesses at the form use up the same budget as at the page.
  assert.equal((await addForm('ABCD-EFGH-JKLM-NPQR')).status, 404);
});

test('devices of a card are limited, and one that Apple no longer knows is removed', async () => {
  const { id, code } = await shop.issue();
  const pass = await passOf(code);
  const phones = Array.from({ length: 11 }, (_, index) => phoneOf(pass, `crowd ${index}`));
  for (const phone of phones) {
    assert.equal((await phone.register()).status, 201);
    service.clock.advance(10);
  }
  assert.equal(await phones[0]?.changed(), null, 'the oldest was replaced');
  await until(
    async () =>
      (await service.query('select 1 as one from wallet_cards where next_at is not null')).length === 0,
  );
  const gone = phones[5];
  const bad = phones[6];
  assert.ok(gone && bad);
  apple.reply = ({ token }) => {
    if (token === gone.pushToken) return { status: 410, reason: 'Unregistered' };
    return token === bad.pushToken ? { status: 400, reason: 'BadDeviceToken' } : { status: 200 };
  };
  await debit(id, '1.00');
  await until(async () => (await gone.changed()) === null && (await bad.changed()) === null);
  apple.reply = () => ({ status: 200 });
  assert.notEqual(await phones[10]?.changed(), null);
});

test('pushes that are not accepted are repeated until they are, and the owner sees why', async () => {
  const { id, code } = await shop.issue();
  const phone = await registered(code, 'patient');
  const replies = [
    { status: 503, reason: 'ServiceUnavailable' },
    { status: 429, reason: 'TooManyRequests', retryAfter: '60' },
    'lost',
  ] as const;
  let tried = 0;
  for (const reply of replies) {
    // Advancing the clock changes other cards too.
    apple.reply = ({ token }) => {
      if (token === phone.pushToken) tried += 1;
      return reply;
    };
    const before = tried;
    if (tried === 0) await debit(id, '1.00');
    else service.clock.advance(5 * 60_000);
    await until(async () => (await failedAttempts(phone)) === tried && tried > before);
    if (before === 0)
      assert.match(
        textOfPage(await owner.get(path)),
        /Apple has not accepted updates since .*: responded with 503/,
      );
  }
  assert.match(String((await failures())[0]?.['failure']), /^the connection (?:failed|was closed)/);
  // Two changes while it fails are one push.
  await debit(id, '1.00');
  await debit(id, '1.00');
  const lost = tried;
  service.clock.advance(61 * 60_000);
  await until(async () => (await failedAttempts(phone)) === tried && tried > lost);
  assert.match(textOfPage(await owner.get('/today')), /Cards in Apple Wallet have not changed since/);
  const [earlier, wasTried] = [pushesTo(phone), tried];
  apple.reply = () => ({ status: 200 });
  service.clock.advance(61 * 60_000);
  await until(() => pushesTo(phone) > earlier);
  await until(async () => (await failures()).length === 0);
  assert.deepEqual([pushesTo(phone), tried], [earlier + 1, wasTried]);
  assert.equal(balanceOf(await phone.fetch()), 47);
});

/** The failures of an update that were recorded, so that its next attempt is planned and the clock can advance to it. */
async function failedAttempts({ pushToken }: Phone): Promise<number> {
  const [row] = await service.query(`
    select c.attempts from wallet_cards c join wallet_devices d on d.store_id = c.store_id and d.card_id = c.card_id
    where d.push_token = '${pushToken}' and c.lease is null`);
  return Number(row?.['attempts'] ?? 0);
}

async function failures(): Promise<readonly Readonly<Record<string, unknown>>[]> {
  return await service.query('select failure from wallets where failing_since is not null');
}

/** The HTML of the email with the code of a card, after it was sent. */
async function emailOf({ id, code }: { readonly id: number; readonly code: string }): Promise<string> {
  await until(async () => {
    const { json } = await shop.ask(`GET /gift_card/${id}/deliveries`);
    return (json as { deliveries: readonly { status: string }[] }).deliveries[0]?.status === 'kept';
  });
  const folder = joinPath(service.database.folder, 'mails');
  const htmls = readdirSync(folder)
    .filter((name) => name.endsWith('.json'))
    .map(
      (name) => (JSON.parse(readFileSync(joinPath(folder, name), 'utf8')) as { readonly html: string }).html,
    );
  const html = htmls.find((each) => each.includes(`#${code.toUpperCase()}`));
  assert.ok(html);
  return html;
}

test('the email and all its previews for staff have the button, without a code in the previews', async () => {
  const button = /<a [^>]*href="([^"]*)"[^>]*>Add to Apple Wallet<\/a>/;
  const card = await shop.issue({ recipient_email: 'grace@example.com', recipient_name: 'Grace' });
  const [, link] = button.exec(await emailOf(card)) ?? [];
  assert.equal(link, `${origin}/b/flowers.example/card#${card.code.toUpperCase()}`);
  const list = await owner.get('/emails');
  const [, email = ''] = /href="(\/emails\/[^"?]+)"/.exec(list.text) ?? [];
  for (const preview of ['/cards/new/preview', '/settings/emails/preview', `${email}/preview`]) {
    const { status, text } = await owner.get(preview);
    assert.equal(status, 200, preview);
    assert.equal(button.exec(text)?.[1], `${origin}/b/flowers.example`, preview);
    assert.doesNotMatch(text, new RegExp(card.code, 'i'));
  }
});

test('an erased recipient has no devices: nothing is pushed, and the pass opens with its own token only', async () => {
  const { id, code } = await shop.issue({ recipient_email: 'erased@example.com' });
  const other = await registered((await shop.issue()).code, 'not erased');
  const phone = await registered(code, 'erased');
  const rows = async (): Promise<readonly unknown[]> =>
    await service.query(`select device from wallet_devices where device = '${phone.device}'`);
  assert.equal((await rows()).length, 1);
  const { json } = await shop.ask(`GET /gift_card/${id}`);
  const { recipient_id: customerId } = (json as { readonly gift_card: { readonly recipient_id: number } })
    .gift_card;
  assert.equal((await shop.ask(`POST /customers/${customerId}/erase`, { json: {} })).status, 202);
  await until(async () => (await rows()).length === 0);
  assert.equal(await phone.changed(), null);
  assert.notEqual(await other.changed(), null);
  const before = pushesTo(phone);
  await debit(id, '1.00');
  await debit((await shop.issue()).id, '1.00');
  await until(
    async () =>
      (await service.query('select 1 as one from wallet_cards where next_at is not null')).length === 0,
  );
  assert.equal(pushesTo(phone), before);
  assert.equal(balanceOf(await phone.fetch()), 49);
});

test('a renewed certificate keeps the passes, is announced before it expires, and removal ends the updates', async () => {
  // The page needs a password that was typed in the last minutes.
  const password = { email: `owner@${consoleDomain}`, password: staffPassword };
  assert.equal((await owner.post('/sign-in', password)).status, 303);
  const { id, code } = await shop.issue();
  const phone = await registered(code, 'renewed');
  const ending = issuePassCertificate(authority, { passTypeId, from: period.from, until: now + 20 * dayMs });
  await setUp({ certificate: ending.certificate + ending.key + authority.certificate });
  assert.match(textOfPage(await owner.get('/today')), /The certificate of Apple Wallet expires on/);
  await debit(id, '5.00');
  await until(() => pushesTo(phone) === 2);
  assert.equal(balanceOf(await phone.fetch()), 45);
  await setUp();
  assert.doesNotMatch(textOfPage(await owner.get('/today')), /certificate of Apple Wallet/);
  const removed = await owner.post(
    `${path}/apple/remove`,
    formOf(await owner.get(path), `${path}/apple/remove`),
  );
  assert.equal(removed.status, 303);
  assert.deepEqual(
    [await walletRows(), (await service.query('select 1 as one from wallet_devices')).length],
    [0, 0],
  );
  const late = await phone.request('GET', `/passes/${passTypeId}/${id}`);
  assert.equal(late.status, 401);
  const audit = textOfPage(await owner.get('/audit'));
  assert.match(audit, /wallet/);
});
