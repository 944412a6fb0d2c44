/** The console's first page, and the changes that it shows as they happen. */

import assert from 'node:assert/strict';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { once } from 'node:events';
import test from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { readDatabaseConfig } from '../../src/start/config.ts';
import { openDatabase } from '../../src/start/database.ts';
import { addDays, dayOf } from '../../src/core/domain/day.ts';
import { execute, sql } from '../../src/database/sql/sql.ts';
import { listStores } from '../../src/core/stores/storage/store.ts';
import { recordVerification } from '../../src/features/proofs/service/verification.ts';
import { openBrowser, type Browser } from '../support/browser.ts';
import { consoleDomain, join, openStoreWithStaff } from '../support/console.ts';
import { until } from '../support/delivering.ts';
import { engine } from '../support/engine.ts';
import { command } from '../support/served.ts';
import { shopOf } from '../support/shop.ts';
import { startService, type TestService } from '../support/service.ts';

type Live = AsyncDisposable & {
  readonly status: number;
  readonly type: string;
  readonly messages: () => readonly { readonly id: string; readonly row: string; readonly text: string }[];
  readonly hasEnded: () => boolean;
};

/** Opens the stream of changes as a browser does. */
async function follow(
  service: TestService,
  browser: Browser,
  { after = 'none', lastEventId }: { readonly after?: string; readonly lastEventId?: string } = {},
): Promise<Live> {
  const url = new URL(`${service.url}/live?after=${after}`);
  const request = httpRequest(url, {
    agent: false,
    headers: {
      host: url.host.replace('127.0.0.1', 'localhost'),
      cookie: Array.from(browser.cookies, ([name, value]) => `${name}=${value}`).join('; '),
      ...(lastEventId !== undefined && { 'last-event-id': lastEventId }),
    },
  });
  request.end();
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  let text = '';
  let hasEnded = false;
  response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  response.once('close', () => (hasEnded = true)).on('error', () => undefined);
  return {
    status: response.statusCode ?? 0,
    type: response.headers['content-type'] ?? '',
    messages: () =>
      Array.from(text.matchAll(/^id: (\S+)\nevent: activity\ndata: (.*)$/gm), ([, id = '', data = '']) => ({
        id,
        ...(JSON.parse(data) as { readonly row: string; readonly text: string }),
      })),
    hasEnded: () => hasEnded,
    [Symbol.asyncDispose]() {
      request.destroy();
      return Promise.resolve();
    },
  };
}

/** The first value of an attribute of a page. */
function attributeOf(text: string, name: string): string {
  return new RegExp(`${name}="([^"]*)"`).exec(text)?.[1] ?? assert.fail(`no ${name} in ${text}`);
}

/** The page, once all transactions are summed. */
async function todayOf(browser: Browser): Promise<string> {
  let text = '';
  await until(async () => {
    const response = await browser.get('/today');
    assert.equal(response.status, 200, response.text);
    ({ text } = response);
    return !text.includes('are being added up');
  });
  return text;
}

test('on the first day the page leads to the first card, and each role gets what it may do', async () => {
  await using service = await openStoreWithStaff();
  const owner = await join(service, 'owner');
  const first = await todayOf(owner);
  assert.match(first, /<h1>Welcome, owner<\/h1>/);
  assert.match(first, /The chart starts with your first card/);
  assert.match(first, /Sell the first card to yourself/);
  assert.match(first, /href="\/cards\/new">Issue your first card/);
  assert.match(first, /<dt>Sold<\/dt><dd class="sum">none yet/);
  assert.doesNotMatch(first, /<svg class="plot"|Recent activity|Ledger|Needs attention/);
  assert.match(first, /Get ready to open/);
  const [manager, accountant] = [await join(service, 'manager'), await join(service, 'accountant')];
  const seen = await todayOf(manager);
  assert.doesNotMatch(seen, /Get ready to open/);
  assert.match(seen, /Issue your first card/);
  assert.doesNotMatch(await todayOf(accountant), /href="\/till"|href="\/cards\/new"|Get ready/);
  const german = await owner.request('/today', { headers: { 'accept-language': 'de' } });
  assert.match(german.text, /Willkommen, owner/);
});

test('the page has the balance, the movements of today and the newest rows, and no code', async () => {
  await using service = await openStoreWithStaff();
  const shop = await shopOf(service, consoleDomain);
  const owner = await join(service, 'owner');
  const today = dayOf(service.clock.now(), 'UTC');
  const card = await shop.issue({ initial_value: '60.00', expires_on: addDays(today, 10), note: '<b>' });
  const spent = await shop.debits(card.id, '24.50', { order_id: 1043 });
  const refund = { json: { amount: '4.50' } };
  assert.equal((await shop.ask(`POST /transactions/${spent.id}/reverse`, refund)).status, 201);
  await shop.holds(card.id, '5.00', { reference: '<i>table 4</i>' });
  const text = await todayOf(owner);
  assert.match(text, /<span class="figure"><small>\$<\/small>40\.00<\/span>/);
  assert.match(text, /on 1 card · 1 expires within 30 days · \$5\.00 held/);
  assert.match(text, /<dt>Sold<\/dt><dd class="sum">1 card · \$60\.00/);
  assert.match(text, /<dt>Redeemed<\/dt><dd class="sum">1 time · \$24\.50/);
  assert.match(text, /Redeemed in the web shop<span class="sr">, Card ending in /);
  assert.match(text, /order 1043/);
  assert.match(text, /−\$24\.50<\/td>/);
  assert.match(text, /\+\$60\.00<\/td>/);
  assert.match(text, new RegExp(`href="/cards/${card.id}"`));
  assert.match(text, /The chart starts at the end of the first month/);
  assert.match(text, /1 card with a balance expires within 30 days/);
  const list = `/cards?state=active&amp;expires_on_min=${today}&amp;expires_on_max=${addDays(today, 30)}`;
  assert.ok(text.includes(list), text);
  for (const code of shop.codes) assert.ok(!text.toLowerCase().includes(code.toLowerCase()));
});

test('what needs attention is shown: failed emails, paused webhooks and problems in the ledger', async () => {
  await using service = await openStoreWithStaff();
  const shop = await shopOf(service, consoleDomain);
  const owner = await join(service, 'owner');
  const card = await shop.issue({ email: 'grace@exmaple.com', notify: false });
  const { id } = (
    (await shop.ask('POST /webhooks', { json: { url: 'https://pos.example/hook', events: ['*'] } })).json as {
      readonly webhook: { readonly id: number };
    }
  ).webhook;
  await shop.ask(`PUT /webhooks/${id}`, { json: { paused: true } });
  assert.match(await todayOf(owner), /The ledger has not been verified yet/);
  const { code, errors } = await command(service.environment, 'verify');
  assert.equal(code, 0, errors);
  assert.match(await todayOf(owner), /Ledger verified: <time/);
  await using database = await openDatabase(readDatabaseConfig(service.environment), { prepare: false });
  const { storage, ctx } = database;
  const [record] = await storage.read(listStores);
  assert.ok(record);
  const { store } = record;
  const internal = service.internalId(card.id);
  const now = ctx.clock.now();
  await storage.write(() =>
    execute(sql`
      insert into email_deliveries (store_id, card_id, id, kind, address, state, send_at, created_at, ended_at)
      values (${store.id}, ${internal}, ${ctx.random.id()}, 'gift_card', 'grace@exmaple.com', 'bounced', ${now}, ${now}, ${now})`),
  );
  const mismatches = [{ store: consoleDomain }, { store: 'other.example' }];
  await storage.write(() => recordVerification({ verifiedAt: now + 1, rowsRead: 10, mismatches }));
  const text = await todayOf(owner);
  assert.match(text, /aria-label="Needs attention"/);
  assert.match(text, /class="notice bad"><span>The verification of [^<]* found 1 problem in the ledger/);
  assert.doesNotMatch(text, /Ledger verified/);
  assert.match(text, /The webhook <span class="url">https:\/\/pos\.example\/hook<\/span> is paused/);
  assert.match(text, new RegExp(`href="/cards/${card.id}"><span class="code">•••• ${card.last_characters}`));
  assert.match(text, /could not be delivered/);
});

test('verify succeeds if its result cannot be recorded, and says so', async () => {
  await using service = await openStoreWithStaff();
  const rejecting =
    engine.id === 'sqlite'
      ? sql`create trigger no_records before insert on verifications begin select raise(abort, 'no records'); end`
      : sql`alter table verifications add constraint no_records check (mismatches < 0)`;
  await using database = await openDatabase(readDatabaseConfig(service.environment), { prepare: false });
  await database.storage.write(() => execute(rejecting));
  const { code, output, errors } = await command(service.environment, 'verify');
  assert.equal(code, 0, errors);
  assert.match(output, /The ledger matches every balance/);
  assert.match(errors, /The console does not show this verification, because it could not be recorded/);
});

test('an owner ticks what the service cannot find out, and the list disappears when all is done', async () => {
  await using service = await openStoreWithStaff({
    SMTP_URL: 'smtp://127.0.0.1:9',
    MAIL_FROM: 'a@b.example',
  });
  const [owner, manager] = [await join(service, 'owner'), await join(service, 'manager')];
  assert.equal((await manager.post('/today/done/key-file')).status, 403);
  assert.equal((await owner.post('/today/done/shop')).status, 404);
  const open = await todayOf(owner);
  assert.match(open, /Invite your staff<span class="sr">, done/);
  assert.match(open, /Set up outgoing email<span class="sr">, done/);
  for (const step of ['Issue a card', 'Copy the key file to a safe place', 'Make a backup'])
    assert.ok(open.includes(`${step}<span class="sr">, not done yet`), step);
  await (await shopOf(service, consoleDomain)).issue();
  assert.equal((await owner.post('/today/done/key-file')).headers.get('location'), '/today');
  assert.match(await todayOf(owner), /Copy the key file to a safe place<span class="sr">, done/);
  if (engine.id === 'sqlite') {
    const file = `${service.environment['DATABASE_URL']?.replace(/^file:/, '')}.backup`;
    const { code, errors } = await command(service.environment, 'backup', file);
    assert.equal(code, 0, errors);
  } else await owner.post('/today/done/backup');
  assert.doesNotMatch(await todayOf(owner), /Get ready to open/);
  assert.match((await owner.get('/audit')).text, /done: key_file/);
});

test('a redemption appears on open pages of its store, and on no page of another one', async () => {
  await using service = await startService({
    stores: [{ domain: consoleDomain, name: 'Flowers' }, { domain: 'books.example' }],
  });
  const invited = await command(
    service.environment,
    'staff',
    'invite',
    'owner@flowers.example',
    '--role',
    'owner',
    '--store',
    consoleDomain,
    '--json',
  );
  assert.equal(invited.code, 0, invited.errors);
  const owner = openBrowser(service);
  const { pathname } = new URL((JSON.parse(invited.output) as { readonly link: string }).link);
  await owner.post(pathname, { password: 'correct horse battery' });
  const [shop, other] = [await shopOf(service, consoleDomain), await shopOf(service, 'books.example')];
  const card = await shop.issue({ note: 'x' });
  const text = await todayOf(owner);
  const after = attributeOf(text, 'data-after');
  await using live = await follow(service, owner, { after });
  assert.equal(live.status, 200);
  assert.match(live.type, /^text\/event-stream/);
  const foreign = await other.issue();
  await other.debits(foreign.id, '1.00');
  await shop.debits(card.id, '3.00', { reference: '<script>alert(1)</script>' });
  await until(() => live.messages().length > 0);
  await wait(1_200);
  const [message, ...more] = live.messages();
  assert.deepEqual(more, []);
  assert.match(message?.text ?? '', /^Redeemed, −\$3\.00, Card ending in /);
  assert.match(message?.row ?? '', /&lt;script&gt;alert\(1\)/);
  assert.ok(!(message?.row ?? '').includes('<script>'));
  assert.equal(attributeOf(message?.row ?? '', 'data-key'), message?.id);
  await shop.debits(card.id, '1.00');
  await until(() => live.messages().length === 2);
  // A browser that reconnects gets what it has missed.
  await using again = await follow(service, owner, { after, lastEventId: message?.id ?? '' });
  await until(() => again.messages().length > 0);
  assert.deepEqual(again.messages(), live.messages().slice(1));
  const all = JSON.stringify(live.messages()).toLowerCase();
  for (const code of [...shop.codes, ...other.codes]) assert.ok(!all.includes(code.toLowerCase()));
});

test('a stream ends when its session or the rights of its member end', async () => {
  await using service = await openStoreWithStaff();
  const owner = await join(service, 'owner');
  const manager = await join(service, 'manager');
  const list = (await owner.get('/staff')).text;
  const manages = /\/staff\/(\d+)" aria-label="Change manager"/.exec(list)?.[1] ?? assert.fail(list);
  await using ofOwner = await follow(service, owner);
  const ended = async (live: Live, end: () => Promise<unknown>): Promise<void> => {
    assert.equal(live.status, 200);
    assert.equal(live.hasEnded(), false);
    await end();
    await until(() => live.hasEnded());
  };
  await using byRole = await follow(service, manager);
  await ended(byRole, () => owner.post(`/staff/${manages}`, { name: 'manager', role: 'accountant' }));
  await using byDisabling = await follow(service, manager);
  await ended(byDisabling, () => owner.post(`/staff/${manages}/disable`));
  assert.equal((await follow(service, manager)).status, 303);
  await using second = await follow(service, owner);
  assert.equal(ofOwner.hasEnded(), false, 'streams of others stay open');
  await ended(second, () => owner.request('/sign-out', {
    method: 'POST', headers: { 'sec-fetch-site': 'same-origin', cookie: Array.from(owner.cookies, ([name, value]) => `${name}=${value}`).join('; ') },
  })); // prettier-ignore
  await until(() => ofOwner.hasEnded());
});

test('an open page does not extend its session, and its stream ends with it', async () => {
  await using service = await openStoreWithStaff();
  const owner = await join(service, 'owner');
  service.clock.advance(11 * 60 * 60_000);
  const expiry = async () =>
    (await service.query('select max(expires_at) as at from staff_sessions'))[0]?.['at'];
  const before = await expiry();
  await using live = await follow(service, owner);
  assert.equal(live.status, 200);
  assert.equal(await expiry(), before);
  service.clock.advance(61 * 60_000);
  await until(() => live.hasEnded());
});

test('a person and a store have a limit of streams, and cashiers have none', async () => {
  await using service = await openStoreWithStaff({});
  const owner = await join(service, 'owner');
  await using streams = new AsyncDisposableStack();
  const statuses: number[] = [];
  for (let count = 0; count < 9; count += 1) statuses.push(streams.use(await follow(service, owner)).status);
  assert.deepEqual(statuses, [...Array<number>(8).fill(200), 503]);
  const cashier = await join(service, 'cashier');
  assert.equal((await follow(service, cashier)).status, 403);
  assert.equal((await owner.request('/live', { method: 'HEAD' })).status, 200);
});
