/** The question whether the service may look for new versions, what it requests then, and what owners see. */

import assert from 'node:assert/strict';
import { generateKeyPairSync, sign } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import test, { after } from 'node:test';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { checkVersions } from '../../src/features/doctor/cli/versions.ts';
import { roles } from '../../src/core/staff/domain/staff.ts';
import { signedPrefix } from '../../src/features/upgrade/platform/list.ts';
import { version as present } from '../../src/platform/version.ts';
import { readConfig } from '../../src/start/config.ts';
import { openDatabase } from '../../src/start/database.ts';
import type { Browser } from '../support/browser.ts';
import { certificate, certificateKey } from '../support/certificate.ts';
import { openStaffedShop, sendForm, textOfPage, type StaffedShop } from '../support/counter-staff.ts';
import { until } from '../support/delivering.ts';

const path = '/settings/machine/versions';
const day = 24 * 60 * 60_000;

const publicAuthorities = getCACertificates('default');
setDefaultCACertificates([...publicAuthorities, certificate]);
after(() => setDefaultCACertificates(publicAuthorities));

const requests: IncomingMessage[] = [];
let served: { readonly status?: number; readonly location?: string; readonly body?: string } = {};
const server = createServer({ cert: certificate, key: certificateKey }, (request, response) => {
  requests.push(request);
  const { status = 200, location, body = '' } = served;
  response.writeHead(status, location === undefined ? {} : { location }).end(body);
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
after(() => server.close());
const host = `localhost:${(server.address() as AddressInfo).port}`;

const { privateKey, publicKey } = generateKeyPairSync('ed25519');
const releaseKey = publicKey.export({ format: 'der', type: 'spki' }).subarray(-32).toString('base64');
const source = { RELEASES_URL: `https://${host}/releases.json`, RELEASES_KEY: releaseKey };
const owned = { MACHINE: 'owner', NODE_ENV: 'development' };

/** Serves a list. @param at when it was published, in ms; it ends 45 days later. */
function serveList(version: string, at = Date.now() - 60_000, { key = privateKey } = {}): void {
  const list = JSON.stringify({
    version,
    published: new Date(at).toISOString(),
    expires: new Date(at + 45 * day).toISOString(),
    files: {},
  });
  const signature = sign(null, Buffer.from(`${signedPrefix}${list}`), key).toString('base64');
  served = { body: JSON.stringify({ list, signature }) };
}

const limits = { versionsPeriodMs: 20, examinationPeriodMs: 20 };

async function open(environment: Readonly<Record<string, string>> = source): Promise<StaffedShop> {
  requests.length = 0;
  return await openStaffedShop({ limits, environment: { ...owned, ...environment } });
}

async function decide(browser: Browser, said: 'yes' | 'no') {
  const sent = await sendForm(browser, path, { choice: said });
  assert.equal(sent.status, 303, textOfPage(sent));
  return sent;
}

async function today(browser: Browser): Promise<string> {
  return textOfPage(await browser.get('/today'));
}

async function pageText(browser: Browser): Promise<string> {
  return textOfPage(await browser.get(path));
}

/** Lets the service read the list again, as on the next day. */
async function nextDay({ service }: StaffedShop): Promise<void> {
  const read = async (): Promise<string> =>
    JSON.stringify(
      await service.query('select failures, failed_at, checked_at from version_check'),
      (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value),
    );
  const before = await read();
  await service.database.meddle('update version_check set next_at = 1 where id = 1');
  await until(async () => (await read()) !== before);
}

test('until an owner has decided, nothing is requested, and Today asks the owner', async () => {
  serveList('99.0.0');
  await using shop = await open();
  const owner = await shop.as('owner');
  assert.match(await today(owner), /May the service look for new versions once a day\? Decide/);
  assert.match(await pageText(owner), new RegExp(`It then requests a list from ${host} every day`));
  assert.doesNotMatch(await today(await shop.as('manager')), /new versions/);
  for (const role of roles.filter((each) => each !== 'owner')) {
    const browser = await shop.as(role);
    assert.equal((await browser.get(path)).status, 403, role);
    assert.equal((await browser.post(path, { choice: 'yes' })).status, 403, role);
  }
  const without = await owner.post(path, {});
  assert.equal(without.status, 200);
  const [row] = await shop.service.query('select is_wanted, next_at from version_check');
  assert.deepEqual([row?.['is_wanted'], row?.['next_at']], [null, null]);
  assert.equal(requests.length, 0);
});

test('a yes reads the list at once and then each day, without anything about the shop', async () => {
  serveList('99.1.0');
  await using shop = await open();
  const owner = await shop.as('owner');
  await decide(owner, 'yes');
  assert.equal(requests.length, 1);
  const [{ method, url, headers } = {}] = requests;
  assert.equal(`${method} ${url}`, 'GET /releases.json');
  assert.deepEqual(
    Object.keys(headers ?? {}).filter(
      (name) => !['host', 'connection', 'accept', 'accept-language', 'sec-fetch-mode', 'user-agent', 'accept-encoding'].includes(name),
    ),
    [],
  ); // prettier-ignore
  assert.equal(headers?.['user-agent'], 'node');
  const page = await pageText(owner);
  assert.match(page, new RegExp(`Version 99\\.1\\.0 is available Version ${present} runs here`));
  assert.match(page, /git pull && npm ci/, 'the tests run from a clone');
  assert.match(await today(owner), /Version 99\.1\.0 is available\. How to upgrade/);
  assert.doesNotMatch(await today(await shop.as('manager')), /is available/);
  assert.match(await pageTextOf(owner, '/audit'), /Changed the settings.*new versions.*allowed/);
  const [row] = await shop.service.query('select next_at, checked_at from version_check');
  const waitMs = Number(row?.['next_at']) - Number(row?.['checked_at']);
  assert.ok(waitMs >= day && waitMs <= day + 60 * 60_000, String(waitMs));
  serveList(present);
  await nextDay(shop);
  assert.match(await pageText(owner), /No newer version was found on/);
  assert.doesNotMatch(await today(owner), /is available/);
});

async function pageTextOf(browser: Browser, where: string): Promise<string> {
  return textOfPage(await browser.get(where));
}

test('the decision is sent to all owners, in the transaction that stores it', async () => {
  serveList(present);
  await using shop = await open();
  await decide(await shop.as('owner'), 'yes');
  const emails = textOfPage(await (await shop.as('owner')).get('/dev/mails'));
  assert.match(emails, /New versions: a decision for Flowers/);
});

test('a no, and a second decision that is the same, request nothing more', async () => {
  serveList('99.0.0');
  await using shop = await open();
  const owner = await shop.as('owner');
  await decide(owner, 'yes');
  await decide(owner, 'yes');
  assert.equal(requests.length, 1);
  await decide(owner, 'no');
  assert.doesNotMatch(await today(owner), /new versions|is available/);
  assert.match(await pageText(owner), new RegExp(`Now Version ${present} runs here`));
  await shop.service.database.meddle('update version_check set next_at = 1 where id = 1');
  shop.service.clock.advance(3 * day);
  await today(owner);
  assert.equal(requests.length, 1);
  const rows = await shop.service.query(
    "select details from staff_actions where action = 'settings-changed'",
  );
  assert.equal(rows.length, 2);
});

test('a list that is changed, ended, older, too large or elsewhere is rejected, and what is known stays', async () => {
  serveList('99.2.0');
  await using shop = await open();
  const owner = await shop.as('owner');
  await decide(owner, 'yes');
  const { privateKey: other } = generateKeyPairSync('ed25519');
  const cases: readonly (readonly [serve: () => void, said: RegExp])[] = [
    [() => serveList('99.3.0', Date.now(), { key: other }), /not signed with RELEASES_KEY/],
    [() => serveList('99.3.0', Date.now() - 46 * day), /the list of versions ended on/],
    [
      () => serveList('99.1.0', Date.now() - day),
      /the list of versions is from .*, and an earlier one was from/,
    ],
    [() => (served = { body: 'x'.repeat(70_000) }), /more than 65536 bytes/],
    [() => (served = { status: 500 }), /status 500/],
    [() => (served = { body: '{}' }), /not a list of versions/],
    [() => (served = { status: 302, location: 'http://127.0.0.1:1/' }), /does not lead to an https URL/],
    [() => (served = { status: 302, location: '/releases.json' }), /more than 5 redirects/],
  ];
  for (const [serve, said] of cases) {
    serve();
    await nextDay(shop);
    const page = await pageText(owner);
    assert.match(page, said);
    assert.match(page, /The list of versions could not be read on/);
    assert.match(page, /Version 99\.2\.0 is available/);
  }
  serveList('99.4.0');
  await nextDay(shop);
  assert.match(await pageText(owner), /Version 99\.4\.0 is available/);
  assert.doesNotMatch(await pageText(owner), /could not be read/);
});

test('after a week without a list, Today and doctor say it', async () => {
  served = { status: 503 };
  await using shop = await open();
  const owner = await shop.as('owner');
  await decide(owner, 'yes');
  assert.doesNotMatch(await today(owner), /cannot be found/);
  const config = readConfig({ ...shop.service.environment, ...owned, ...source });
  const found = async (): Promise<string> => {
    await using database = await openDatabase(config, { prepare: false });
    const { storage } = database;
    const [finding] = await checkVersions(config, { storage, now: Date.now() });
    return `${finding?.status}: ${finding?.message}`;
  };
  assert.match(await found(), /^ok: version .*; the list of versions was not read yet/);
  await shop.service.database.meddle(`update version_check set decided_at = decided_at - ${8 * day}`);
  await until(async () => /New versions cannot be found The list of versions was not accepted since/.test(await today(owner)));
  assert.match(await found(), /^warning: version .* was not accepted since .*: https:\/\/localhost.*status 503/);
  serveList('99.5.0');
  await nextDay(shop);
  assert.match(await found(), new RegExp(`^warning: version 99\\.5\\.0 is available, and this is ${present}`));
  await until(async () => !/cannot be found/.test(await today(owner)));
}); // prettier-ignore

test('the setting of the operator wins and is shown read-only, and without a list nothing is asked', async () => {
  serveList('99.0.0');
  await using on = await open({ ...source, RELEASES_CHECK: 'on' });
  const owner = await on.as('owner');
  await until(() => requests.length === 1);
  await until(async () => /Version 99\.0\.0 is available/.test(await today(owner)));
  assert.match(await pageText(owner), /Set by the operator \(RELEASES_CHECK\): the service looks once a day/);
  assert.doesNotMatch((await owner.get(path)).text, /name="choice"/);
  assert.equal((await owner.post(path, { choice: 'no' })).status, 200);
  await using off = await open({ ...source, RELEASES_CHECK: 'off' });
  const other = await off.as('owner');
  assert.match(await pageText(other), /RELEASES_CHECK\): the service does not look/);
  assert.doesNotMatch(await today(other), /new versions/);
  await using none = await open({});
  const third = await none.as('owner');
  assert.match(await pageText(third), /has not set a list of versions/);
  assert.equal((await third.post(path, { choice: 'yes' })).status, 200);
  assert.doesNotMatch(await today(third), /new versions/);
  for (const shop of [on, off, none]) {
    const [row] = await shop.service.query('select is_wanted from version_check');
    assert.equal(row?.['is_wanted'], null);
  }
  assert.equal(requests.length, 0);
  await using ofOperator = await open({ ...source, MACHINE: 'operator' });
  const last = await ofOperator.as('owner');
  assert.match(await pageText(last), /Only the operator of this machine decides/);
  assert.doesNotMatch(await today(last), /new versions/);
});
