/**
 * Each month by email to the accountant: who may name one, when the email is sent, what its link shows and for how long,
 * and what becomes of an email that bounces.
 */

import assert from 'node:assert/strict';
import { dirname, join as pathOf } from 'node:path';
import test, { after } from 'node:test';
import { emailFolder } from '../../src/features/emails/delivery/folder.ts';
import { roles } from '../../src/core/staff/domain/staff.ts';
import { receivedEmails } from '../delivery/email/received.ts';
import { reply, smtpServer } from '../delivery/email/smtp-server.ts';
import { openBrowser, type Browser } from '../support/browser.ts';
import { consoleDomain, join } from '../support/console.ts';
import { formOf, openStaffedShop, sendForm, textOfPage } from '../support/counter-staff.ts';
import { until } from '../support/delivering.ts';
import { clockIn, dayMs, shopAt } from '../support/sandbox-shop.ts';
import { command } from '../support/served.ts';
import { startService, type TestResponse, type TestService } from '../support/service.ts';

const path = '/settings/accountant';
const origin = 'https://cards.flowers.example';
const address = 'ledger@accounting.example';

/** The clock of a sandbox moves, and its emails are kept in a folder. */
const sandbox = await startService({
  stores: [{ domain: consoleDomain, name: 'Flowers', currency: 'EUR', timeZone: 'Europe/Berlin' }],
  isSandbox: true,
  environment: { PUBLIC_URL: origin },
});
after(() => sandbox[Symbol.asyncDispose]());
const api = shopAt(() => sandbox.url, await sandbox.token(consoleDomain));
const visitorOf = (service: Pick<TestService, 'url' | 'request'>): Browser =>
  openBrowser({ ...service, url: origin });
const visitor = visitorOf(sandbox);
const owner = await join(sandbox, 'owner', visitorOf(sandbox));

async function advance(seconds: number): Promise<number> {
  return clockIn(await api.post('/test_clock', { advance_seconds: seconds })).done.emails;
}

async function now(): Promise<number> {
  return Date.parse(clockIn(await api.get('/test_clock')).now);
}

/** The first instant (ms) of the month after an instant, in Berlin. */
function nextMonth(instant: number): number {
  const zoned = Temporal.Instant.fromEpochMilliseconds(instant).toZonedDateTimeISO('Europe/Berlin');
  return zoned.with({ day: 1 }).startOfDay().add({ months: 1 }).epochMilliseconds;
}

/** Advances to an instant (ms). @returns the emails that were sent. */
async function advanceTo(instant: number): Promise<number> {
  return await advance(Math.ceil((instant - (await now())) / 1_000));
}

const hourMs = dayMs / 24;

async function add(
  browser: Browser,
  fields: Readonly<Record<string, string>>,
  at = path,
): Promise<TestResponse> {
  return await browser.post(at, { ...formOf(await browser.get(path), at), ...fields });
}

/** The ids of the accountants of a page, in order. */
async function idsOf(browser: Browser): Promise<readonly string[]> {
  const { text } = await browser.get(path);
  return Array.from(text.matchAll(/href="\/settings\/accountant\/(\d+)"/g), ([, id = '']) => id);
}

async function submit(browser: Browser, id: string, action: string): Promise<TestResponse> {
  const own = `${path}/${id}`;
  return await browser.post(`${own}/${action}`, formOf(await browser.get(own), `${own}/${action}`));
}

type Kept = { readonly to: string; readonly subject: string; readonly text: string };

/** The emails that a sandbox has kept, oldest first. */
async function keptEmails(): Promise<readonly Kept[]> {
  const folder = emailFolder(pathOf(dirname(sandbox.database.keysFile), 'mails'));
  const listed = (await folder.list()).toReversed();
  const read = await Promise.all(listed.map(({ name }) => folder.read(name)));
  return read.flatMap((email) => email ?? []);
}

/** The path of the link in an email. */
function linkIn({ text }: Pick<Kept, 'text'>): string {
  const [, link = ''] = new RegExp(`${origin}(/accountant/[\\w-]+)`).exec(text) ?? [];
  assert.notEqual(link, '', text);
  return link;
}

async function monthRows(): Promise<readonly string[]> {
  const rows = await sandbox.query(
    "select month, state from accountant_emails where kind = 'month' order by month, accountant_id",
  );
  return rows.map(({ month, state }) => `${String(month)} ${String(state)}`);
}

async function assertEnded(link: string): Promise<void> {
  for (const end of ['', '/csv', '/xlsx', '/datev', '/online-sales/csv', '/online-sales/xlsx']) {
    const response = await visitor.get(`${link}${end}`);
    assert.equal(response.status, 404, end);
    assert.doesNotMatch(response.text, /Flowers|€/);
  }
}

test('only owners name accountants, at most three, each once', async () => {
  for (const role of roles.filter((each) => each !== 'owner')) {
    const browser = await join(sandbox, role, visitorOf(sandbox));
    assert.equal((await browser.get(path)).status, 403, role);
    assert.equal((await browser.post(path, { email: address })).status, 403, role);
  }
  assert.equal((await visitor.get(path)).status, 303);
  const { text } = await owner.get('/settings');
  assert.match(text, /href="\/settings\/accountant"/);
  for (const email of ['', 'nobody', `${'x'.repeat(300)}@example.com`, 'a@b.example\r\nBcc: c@d.example']) {
    const rejected = await add(owner, { email });
    assert.equal(rejected.status, 422, email);
    assert.match(rejected.text, /id="email-error"/);
  }
  const withoutKey = await owner.post(path, { email: address });
  assert.equal(withoutKey.status, 422);
  for (const email of [address, 'two@accounting.example', 'three@accounting.example']) {
    const added = await add(owner, { email, language: 'de', format: 'datev' });
    assert.equal(added.status, 303, textOfPage(added));
    const again = await owner.get(path);
    if (!again.text.includes('name="email"')) continue;
    const taken = await add(owner, { email: email.toUpperCase() });
    assert.equal(taken.status, 422);
    assert.match(textOfPage(taken), /This address is added already/);
  }
  const full = await owner.get(path);
  assert.doesNotMatch(full.text, /name="email"/);
  assert.match(textOfPage(full), /A shop can have 3 accountants/);
  const [first = '', ...others] = await idsOf(owner);
  assert.equal(others.length, 2);
  for (const id of others) assert.equal((await submit(owner, id, 'remove')).status, 303);
  assert.deepEqual(await idsOf(owner), [first]);
  assert.equal((await owner.get(`${path}/${others[0]}`)).status, 404);
  assert.match(textOfPage(await owner.get(`${path}/${first}`)), /DATEV needs the numbers of your accountant/);
  const audit = textOfPage(await owner.get('/audit'));
  assert.match(audit, /Changed the settings accountant, for three@accounting\.example, removed/);
  assert.match(audit, /Changed the settings accountant, for ledger@accounting\.example/);
});

test('the month’s email is sent once on the first day after it, with its totals and without a name', async () => {
  const code = 'garten7zqxw';
  const card = await api.post('/gift_card', {
    initial_value: '80.00',
    // Four characters of a random code can be in any page by chance.
    code,
    recipient_email: 'grace@example.com',
    recipient_name: 'Grace Hopper',
    message: 'For your garden',
  });
  const { id } = (card.json as { readonly gift_card: { readonly id: number } }).gift_card;
  await api.post(`/gift_card/${id}/debit`, { amount: '15.50' });
  const start = nextMonth(await now());
  await advanceTo(start + 8 * hourMs);
  assert.deepEqual(await monthRows(), []);
  assert.ok((await advanceTo(start + 9 * hourMs + 60_000)) >= 1);
  const [row = '', ...more] = await monthRows();
  assert.match(row, /^\d{4}-\d\d kept$/);
  assert.deepEqual(more, []);
  await advance(20 * 86_400);
  assert.deepEqual(await monthRows(), [row]);
  const emails = (await keptEmails()).filter(({ to }) => to === address);
  assert.equal(emails.length, 1);
  const [email] = emails;
  assert.ok(email);
  assert.match(email.subject, /^Geschenkkarten von Flowers: \S+ \d{4}$/);
  assert.match(email.text, /Verkauft: 80,00\s€/);
  assert.match(email.text, /Eingelöst: −15,50\s€/);
  assert.match(email.text, /Offen am Ende: 64,50\s€/);
  assert.match(email.text, /Der Link gilt bis /);
  const secret = [/grace/i, /hopper/i, /garden/, new RegExp(code, 'i'), /\bzqxw\b/i];

  const link = linkIn(email);
  const page = await visitor.get(link);
  assert.equal(page.status, 200);
  assert.match(page.text, /<html lang="de/);
  assert.match(textOfPage(page), /Offen am Ende 64,50 €/);
  assert.equal(page.headers.get('referrer-policy'), 'no-referrer');
  assert.equal(page.headers.get('cache-control'), 'no-store');
  // The store has no numbers of DATEV: the page says so, and offers the tables.
  assert.match(textOfPage(page), /DATEV: DATEV braucht/);
  assert.doesNotMatch(page.text, new RegExp(`href="${link}/datev"`));
  assert.equal((await visitor.get(`${link}/datev`)).headers.get('content-disposition'), null);
  for (const other of ['xero', 'quickbooks'])
    assert.equal((await visitor.get(`${link}/${other}`)).status, 404);
  const csv = await visitor.get(`${link}/csv`);
  assert.match(csv.headers.get('content-disposition') ?? '', /^attachment; filename="journal-[\d-]+\.csv"$/);
  assert.match(csv.text, /80,00/);
  assert.doesNotMatch(page.text, /online-sales/);
  const workbook = await visitor.get(`${link}/xlsx`);
  assert.match(workbook.headers.get('content-type') ?? '', /spreadsheetml/);
  for (const shown of [email.text, page.text, csv.text])
    for (const each of secret) assert.doesNotMatch(shown, each);
  for (let place = 0; place < 3; place += 1) await visitor.get(`${link}/csv`);
  const audit = textOfPage(await owner.get('/audit'));
  assert.equal(audit.match(/Opened the link about a month/g)?.length, 2, 'the page and the file');
  assert.match(audit, /By a link to an accountant/);
  assert.match(textOfPage(await owner.get(path)), /ledger@accounting\.example .*Kept, not sent .*downloaded/);
  assert.match(textOfPage(await owner.get('/emails?kind=accountant')), /ledger@accounting\.example/);
  assert.ok(!sandbox.log().includes(link.slice('/accountant/'.length)), 'the log has no link');
});

test('a link is that of one email, and ends after 60 days, or with the address', async () => {
  const [id = ''] = await idsOf(owner);
  const before = (await keptEmails()).length;
  assert.equal((await submit(owner, id, 'send')).status, 303);
  assert.equal((await submit(owner, id, 'send')).status, 303);
  const emails = await keptEmails();
  assert.equal(emails.length, before + 2);
  const [one = '', two = ''] = emails.slice(-2).map(linkIn);
  assert.notEqual(one, two);
  for (const link of [one, two]) assert.equal((await visitor.get(link)).status, 200);
  const [head = '', store = '', email = '', ...rest] = one.split('_');
  // A MAC can contain the character that separates the parts.
  const mac = rest.join('_');
  assert.equal(mac.length, 43);
  const [, , secondEmail = ''] = two.split('_');
  const created = await command(sandbox.environment, 'store', 'create', 'books.example', '--currency', 'USD');
  assert.equal(created.code, 0, created.errors);
  const [other] = await sandbox.query("select id from stores where domain = 'books.example'");
  const wrong = [
    [head, store, secondEmail, mac],
    [head, Number(other?.['id']).toString(36), email, mac],
    [head, store, email, `${mac.startsWith('A') ? 'B' : 'A'}${mac.slice(1)}`],
    [head, store, email, mac.slice(0, -1)],
    [head, store, 'zzzzzzzzzzz', mac],
    [head, 'zzzzzzzzzzz', email, mac],
    ['/accountant/lgi', store, email, mac],
  ];
  for (const parts of wrong) await assertEnded(parts.join('_'));
  await assertEnded(`/accountant/${'x'.repeat(2_000)}`);

  // Links that were sent end, and a new email has one that works.
  assert.equal((await submit(owner, id, 'links')).status, 303);
  await assertEnded(one);
  await assertEnded(two);
  assert.equal((await submit(owner, id, 'send')).status, 303);
  const third = linkIn((await keptEmails()).at(-1) ?? { text: '' });
  await advance(59 * 86_400);
  assert.equal((await visitor.get(third)).status, 200);
  await advance(86_400);
  await assertEnded(third);
  assert.equal((await submit(owner, id, 'send')).status, 303);
  const last = linkIn((await keptEmails()).at(-1) ?? { text: '' });
  assert.equal((await visitor.get(last)).status, 200);
  assert.equal((await submit(owner, id, 'remove')).status, 303);
  await assertEnded(last);
  assert.deepEqual(await sandbox.query('select id from accountant_emails'), []);
});

test('months that pass while the clock is advanced have one email each, in the format that is chosen', async () => {
  await add(owner, { email: address, language: 'en', format: 'quickbooks' });
  const [id = ''] = await idsOf(owner);
  const own = `${path}/${id}`;
  const changed = await owner.post(own, {
    ...formOf(await owner.get(own), own),
    language: 'fr',
    format: 'xero',
  });
  assert.equal(changed.status, 303);
  const start = nextMonth(await now());
  await advanceTo(nextMonth(nextMonth(start)) + 12 * hourMs);
  const rows = await monthRows();
  assert.equal(rows.length, 3);
  assert.equal(new Set(rows).size, 3);
  const created = await sandbox.query("select created_at from accountant_emails where kind = 'month'");
  for (const { created_at: at } of created) {
    const { day, hour } = Temporal.Instant.fromEpochMilliseconds(Number(at)).toZonedDateTimeISO(
      'Europe/Berlin',
    );
    // A long advance has steps of some hours.
    assert.ok(day === 1 && hour >= 9 && hour < 13, `day ${day}, hour ${hour}`);
  }
  const email = (await keptEmails()).at(-1);
  assert.ok(email);
  assert.match(email.subject, /^Cartes cadeaux de Flowers : /);
  const page = await visitor.get(linkIn(email));
  assert.match(page.text, /<html lang="fr/);
  // A month without entries has a journal without lines.
  const file = await visitor.get(`${linkIn(email)}/xero`);
  assert.match(file.headers.get('content-disposition') ?? '', /filename="xero-journal-[\d-]+\.csv"/);
  assert.equal((await visitor.get(`${linkIn(email)}/quickbooks`)).status, 404);
});

test('a test has no figures and no link, and requests are limited', async () => {
  const [id = ''] = await idsOf(owner);
  assert.equal((await submit(owner, id, 'test')).status, 303);
  const email = (await keptEmails()).at(-1);
  assert.match(email?.subject ?? '', /^Test : cartes cadeaux de Flowers$/);
  assert.doesNotMatch(email?.text ?? '', /accountant\/|€/);
  const statuses: number[] = [];
  for (let place = 0; place < 12; place += 1) statuses.push((await submit(owner, id, 'test')).status);
  assert.ok(statuses.includes(429), statuses.join());
});

test('an email that bounces is shown with its reason and on Today, until one arrives', async () => {
  let rejects = true;
  await using server = await smtpServer({
    onRcptTo: (_to, _session, done) => done(rejects ? reply(550, '5.1.1 no such user') : null),
  });
  const environment = {
    PUBLIC_URL: origin,
    SMTP_URL: server.url().reveal(),
    MAIL_FROM: 'cards@flowers.example',
  };
  await using shop = await openStaffedShop({ environment });
  const { service } = shop;
  const browser = await join(service, 'owner', visitorOf(service));
  await add(browser, { email: address, language: 'en', format: 'csv' });
  await sendForm(browser, '/settings', { reply_to: 'owner@flowers.example' });
  const [id = ''] = await idsOf(browser);
  assert.equal((await submit(browser, id, 'send')).status, 303);
  const page = textOfPage(await browser.get(`${path}/${id}`));
  assert.match(page, /Bounced The mail server does not know this mailbox/);
  const notice = /The monthly email to the accountant ledger@accounting\.example could not be delivered/;
  assert.match(textOfPage(await browser.get('/today')), notice);
  const manager = await join(service, 'manager', visitorOf(service));
  assert.doesNotMatch(textOfPage(await manager.get('/today')), notice);
  rejects = false;
  assert.equal((await submit(browser, id, 'send')).status, 303);
  assert.match(textOfPage(await browser.get(`${path}/${id}`)), /Sent .*Bounced/);
  assert.doesNotMatch(textOfPage(await browser.get('/today')), notice);
  const [email, ...others] = receivedEmails(server);
  assert.ok(email && others.length === 0);
  assert.deepEqual(email.to, [address]);
  assert.ok(email.headers.includes('Reply-To: owner@flowers.example'), email.headers.join('\n'));
  assert.match(email.text, /Outstanding at the end: €0\.00/);
  const shown = await visitorOf(service).get(linkIn(email));
  assert.equal(shown.status, 200);
  assert.match(textOfPage(await browser.get('/audit')), /Sent an email to an accountant/);
});

test('an attempt that failed is repeated with the same Message-ID by any process', async () => {
  let isBusy = true;
  const names: string[] = [];
  await using server = await smtpServer({
    onRcptTo: (_to, _session, done) => done(isBusy ? reply(451, '4.7.1 later') : null),
  });
  const environment = {
    PUBLIC_URL: origin,
    SMTP_URL: server.url().reveal(),
    MAIL_FROM: 'cards@flowers.example',
  };
  await using shop = await openStaffedShop({ environment });
  const { service } = shop;
  const browser = await join(service, 'owner', visitorOf(service));
  await add(browser, { email: address, language: 'en', format: 'csv' });
  const [id = ''] = await idsOf(browser);
  await submit(browser, id, 'send');
  assert.match(textOfPage(await browser.get(`${path}/${id}`)), /Retrying The mail server cannot accept/);
  isBusy = false;
  service.clock.advance(5 * 60_000);
  // A request sends what is due as well; the job does so each 30 seconds.
  await submit(browser, id, 'test');
  await until(() => receivedEmails(server).length === 2);
  names.push(...receivedEmails(server).map(({ messageId }) => messageId));
  assert.equal(new Set(names).size, 2);
  assert.ok(
    names.every((name) => /^<month-\d+@flowers\.example>$/.test(name)),
    names.join(),
  );
});

test('without a mail server or a public URL, the page says what is missing', async () => {
  await using shop = await openStaffedShop();
  const browser = await shop.as('owner');
  assert.match(textOfPage(await browser.get(path)), /The operator sets PUBLIC_URL/);
  await add(browser, { email: address });
  const [id = ''] = await idsOf(browser);
  const own = await browser.get(`${path}/${id}`);
  assert.doesNotMatch(own.text, /\/send"/);
  const { key = '' } = formOf(own, `${path}/${id}/links`);
  assert.equal((await browser.post(`${path}/${id}/send`, { key })).status, 422);
  assert.deepEqual(await shop.service.query('select id from accountant_emails'), []);
});
