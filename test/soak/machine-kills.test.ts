/**
 * The service is killed while people set up the machine: the first shop with its owner, and changes with the emails to all
 * owners about them. `MACHINE_KILLS` sets the number of kills, `MACHINE_KILLS_SEED` the seed.
 */

import assert from 'node:assert/strict';
import test from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { Secret } from '../../src/platform/secret.ts';
import { draftEmailServer } from '../../src/features/email-server/service/staff-email-server.ts';
import { listStaff } from '../../src/core/staff/storage/staff.ts';
import { findStoreByDomain } from '../../src/core/stores/storage/store.ts';
import { readDatabaseConfig } from '../../src/start/config.ts';
import { openDatabase } from '../../src/start/database.ts';
import { smtpServer } from '../delivery/email/smtp-server.ts';
import { openBrowser, type Browser } from '../support/browser.ts';
import { consoleDomain, invite, staffPassword } from '../support/console.ts';
import type { EngineDatabase, Environment } from '../support/engine-database.ts';
import { engine } from '../support/engine.ts';
import { send } from '../support/http-client.ts';
import { seeded } from '../support/seeded.ts';
import { command, databaseToServe, openShop, serve } from '../support/served.ts';

const rounds = Number(process.env['MACHINE_KILLS'] ?? 20);
const seed = Number(process.env['MACHINE_KILLS_SEED'] ?? Date.now() % 1_000_000);
const random = seeded(seed);
const owners = [`ada@${consoleDomain}`, `grace@${consoleDomain}`] as const;
const settings = {
  MACHINE: 'owner',
  NODE_ENV: 'production',
  // No server listens there.
  RELEASES_URL: 'https://127.0.0.1:2/releases.json',
  RELEASES_KEY: Buffer.alloc(32, 1).toString('base64'),
};
const emailServer = {
  // A page names only public servers, so the service rejects this one before it connects.
  host: 'localhost',
  port: 587,
  tls: 'starttls_required',
  user: 'gifts',
  sender: `gifts@${consoleDomain}`,
} as const;

function serviceOf(url: string, environment: Environment) {
  return {
    url,
    environment,
    request: (to: string, request?: Parameters<typeof send>[1]) => send(`${url}${to}`, request),
  };
}

async function signIn(url: string, environment: Environment): Promise<Browser> {
  const browser = openBrowser(serviceOf(url, environment));
  const { status, text } = await browser.post('/sign-in', { email: owners[0], password: staffPassword });
  assert.equal(status, 303, text);
  return browser;
}

/**
 * A shop with two owners, in which owners may set up the machine. No email is sent.
 * @returns the time of a change on this machine, in ms.
 */
async function shopWithOwners(environment: Environment): Promise<number> {
  await openShop(environment, consoleDomain);
  await using served = await serve(environment);
  const service = serviceOf(served.url, environment);
  for (const email of owners) {
    const path = await invite(service, email, 'owner');
    assert.equal((await openBrowser(service).post(path, { password: staffPassword })).status, 303);
  }
  const browser = await signIn(served.url, environment);
  const startedAt = performance.now();
  for (const change of changes) assert.equal((await change(browser, environment)).status, 303);
  return (performance.now() - startedAt) / changes.length;
}

/** Stores an email server that waits for its digits. @returns the digits. */
async function draft(environment: Environment): Promise<string> {
  await using database = await openDatabase(readDatabaseConfig(environment), { prepare: false });
  const { ctx, storage } = database;
  const record = await storage.read(() => findStoreByDomain(consoleDomain));
  assert.ok(record);
  const { store } = record;
  const member = (await storage.read(() => listStaff(store))).find(({ email }) => email === owners[0]);
  assert.ok(member);
  const change = { rule: 'owner', server: emailServer, password: new Secret('hush') } as const;
  const drafted = await storage.write(() => draftEmailServer(ctx, { store, member, tillId: null }, change));
  return drafted.digits;
}

type Change = (browser: Browser, environment: Environment) => Promise<{ readonly status: number }>;

/** Decides whether the service looks for new versions. */
const decide =
  (choice: 'yes' | 'no'): Change =>
  async (browser) =>
    await browser.post('/settings/machine/versions', { choice });

/** Each has one entry in the audit log, and an email to each owner. */
const changes: readonly Change[] = [
  async (browser, environment) =>
    await browser.post('/settings/emails/server/code', { digits: await draft(environment) }),
  decide('yes'),
  async (browser) => await browser.post('/settings/emails/server/remove'),
  decide('no'),
];

/** The changes so far. */
async function made(database: EngineDatabase): Promise<number> {
  const rows = await database.query("select details from staff_actions where action = 'settings-changed'");
  return rows.filter(({ details }) => !JSON.stringify(details).includes('test')).length;
}

async function count(database: EngineDatabase, query: string): Promise<number> {
  const [row] = await database.query(query);
  return Number(row?.['count']);
}

/** Asserts that a change is complete: what it sets, its entry, and the emails to the owners. */
async function assertWhole(database: EngineDatabase): Promise<void> {
  const changed = await made(database);
  const notices = await count(database, 'select count(*) as count from owner_notices');
  assert.equal(notices, changed * owners.length, `${changed} changes, seed ${seed}`);
  const step = changed % changes.length;
  const servers = "select count(*) as count from email_servers where state = 'verified'";
  assert.equal(
    await count(database, servers),
    [1, 2].includes(step) ? 1 : 0,
    `change ${changed}, seed ${seed}`,
  );
  const wanted = 'select count(*) as count from version_check where is_wanted = 1';
  assert.equal(await count(database, wanted), step >= 2 ? 1 : 0, `change ${changed}, seed ${seed}`);
}

test(`${rounds} kills leave a change of the machine with its emails to all owners, or neither, and none is lost`, async (t) => {
  await using database = await databaseToServe({ durable: true });
  const environment = { ...database.environment, ...settings };
  const changeMs = await shopWithOwners(environment);
  let acknowledged = 0;
  for (let round = 0; round < rounds; round += 1) {
    const before = await made(database);
    await using served = await serve(environment);
    const browser = await signIn(served.url, environment);
    let own = 0;
    let isKilled = false;
    const changing = (async () => {
      for (let step = before; ; step += 1) {
        const response = await changes[step % changes.length]?.(browser, environment).catch(
          (error: unknown) => {
            if (!isKilled) throw error;
          },
        );
        if (!response) return;
        assert.equal(response.status, 303, `change ${step}, seed ${seed}`);
        own += 1;
      }
    })();
    await wait(3 * changeMs * random());
    isKilled = true;
    served.kill('SIGKILL');
    await Promise.all([served.ended(), changing]);
    const after = (await made(database)) - before;
    assert.ok(after === own || after === own + 1, `${own} acknowledged, ${after} made, seed ${seed}`);
    await assertWhole(database);
    acknowledged += own;
  }
  const changed = await made(database);
  t.diagnostic(`MACHINE_KILLS_SEED=${seed}: ${changed} changes, ${acknowledged} acknowledged between kills`);
  assert.ok(changed > changes.length, 'every round was killed before a change');

  await using receiver = await smtpServer();
  const sending = { ...environment, SMTP_URL: receiver.url().reveal(), MAIL_FROM: emailServer.sender };
  const waiting = (): Promise<number> =>
    count(database, 'select count(*) as count from owner_notices where next_at is not null');
  // A decision also sends the emails that are due.
  const decisions = [decide('yes'), decide('no')];
  for (let round = 0; (await waiting()) > 0; round += 1) {
    assert.ok(round < 10 * rounds, `${await waiting()} emails are left, seed ${seed}`);
    await database.meddle('update owner_notices set next_at = 0 where next_at is not null');
    await using served = await serve(sending);
    const browser = await signIn(served.url, sending);
    const deciding = decisions[round % 2]?.(browser, sending).catch(() => undefined);
    await (round % 2 === 0 ? wait(3 * changeMs * random()) : deciding);
    served.kill('SIGKILL');
    await Promise.all([served.ended(), deciding]);
  }
  const all = await made(database);
  for (const owner of owners) {
    const received = receiver.received.filter(({ to }) => to.includes(owner)).length;
    t.diagnostic(`${owner} got ${received} emails`);
    assert.ok(received >= all, `${owner} got ${received} of ${all} emails, seed ${seed}`);
  }
});

test('a kill during the setup leaves one shop with its owner, or none and a link that works', async (t) => {
  const outcomes = { none: 0, whole: 0 };
  let setupMs = 200;
  for (let round = 0; round < engine.rounds(Math.ceil(rounds / 3)); round += 1) {
    await using database = await databaseToServe({ empty: true });
    const { environment } = database;
    await using served = await serve(environment);
    const { output } = await command(environment, 'setup', 'link', '--json');
    const { pathname } = new URL((JSON.parse(output) as { readonly link: string }).link);
    const form = {
      shop: 'Flowers',
      currency: 'EUR – Euro',
      time_zone: 'Europe/Berlin',
      locale: 'en',
      limit: '500',
      domain: consoleDomain,
      name: 'Ada',
      email: owners[0],
      how: 'password',
      password: staffPassword,
    };
    const settingUp = openBrowser(serviceOf(served.url, environment))
      .post(`${pathname}/owner`, form)
      .catch(() => undefined);
    const startedAt = performance.now();
    // The first round is not interrupted, and measures.
    await (round === 0 ? settingUp : wait(1.3 * setupMs * random()));
    if (round === 0) setupMs = performance.now() - startedAt;
    served.kill('SIGKILL');
    await Promise.all([served.ended(), settingUp]);
    const stores = await count(database, 'select count(*) as count from stores where demonstration = 0');
    const people = await count(database, "select count(*) as count from staff where role = 'owner' and joined_at is not null");
    assert.equal(people, stores, `seed ${seed}`);
    outcomes[stores === 0 ? 'none' : 'whole'] += 1;
    await using again = await serve(environment);
    if (stores === 0) {
      const response = await openBrowser(serviceOf(again.url, environment)).post(`${pathname}/owner`, form);
      assert.equal(response.status, 303, response.text);
    }
    await signIn(again.url, environment);
    const verified = await command(environment, 'verify');
    assert.equal(verified.code, 0, verified.errors);
  }
  t.diagnostic(`MACHINE_KILLS_SEED=${seed}: ${JSON.stringify(outcomes)}`);
}); // prettier-ignore
