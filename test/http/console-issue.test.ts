/** Issuing a card on the pages: the page of the result is the only place that shows the code. */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { smtpServer } from '../delivery/email/smtp-server.ts';
import { receivedEmails } from '../delivery/email/received.ts';
import type { Browser } from '../support/browser.ts';
import { formOf, openStaffedShop, sendForm, textOfPage, type StaffedShop } from '../support/counter-staff.ts';
import { staffPassword } from '../support/console.ts';
import { until } from '../support/delivering.ts';
import { command } from '../support/served.ts';

function locationOf({ headers }: { readonly headers: Headers }): string {
  return headers.get('location') ?? '';
}

/** The code on a page, as a point of sale reads it. */
function codeOn({ text }: { readonly text: string }): string {
  const [, code = ''] = /class="codeline[^"]*"[^>]*>(?:<strong>)?([0-9A-Z ]{19})</.exec(text) ?? [];
  return code.replaceAll(' ', '').toLowerCase();
}

async function lookUp({ ask }: StaffedShop, code: string): Promise<Readonly<Record<string, unknown>>> {
  const { json } = await ask('POST /gift_card/lookup', { json: { code } });
  return (json as { readonly gift_card?: Readonly<Record<string, unknown>> }).gift_card ?? {};
}

const sale = { amount: 'other', other: '42,50', how: 'print' };

test('a cashier issues a card, and only the page of the result shows its code', async () => {
  await using shop = await openStaffedShop();
  const cashier = await shop.as('cashier');
  const issued = await sendForm(cashier, '/cards/new', {
    ...sale,
    recipient_name: 'Emma',
    recipient_email: 'emma@example.com',
    sender_name: 'Paul',
    message: 'Happy 40th!\r\nPeonies.',
    note: 'receipt 7',
  });
  assert.equal(issued.status, 303, issued.text);
  const path = locationOf(issued);
  assert.match(path, /^\/cards\/issued\/[\w-]{22}$/);
  const page = await cashier.get(path);
  const code = codeOn(page);
  const card = await lookUp(shop, code);
  assert.equal(card['balance'], '42.50');
  assert.match(textOfPage(page), /Card issued for €42\.50\. It is not sent by email\./);
  assert.equal(page.headers.get('cache-control'), 'no-store');
  assert.doesNotMatch(/<title>.*<\/title>/.exec(page.text)?.[0] ?? '', new RegExp(code, 'i'));
  const [entry] = (await shop.service.query("select actor from transfers where kind = 'issue'")).slice(-1);
  const [staff] = await shop.service.query("select id from staff where role = 'cashier'");
  assert.equal(entry?.['actor'], `staff:${String(staff?.['id'])}`);
  const actions = await shop.service.query("select details from staff_actions where action = 'card-issued'");
  const { entry: named, ...details } = JSON.parse(String(actions[0]?.['details'])) as Record<string, unknown>;
  assert.deepEqual([actions.length, details], [1, { amount: '42.50', emailed: false }]);
  assert.match(String(named), /^\d{16}$/);
  // Sent again, and with other values: one card.
  for (const other of ['42,50', '99', 'x']) {
    const again = await cashier.post('/cards/new', { ...issued.form, other });
    assert.equal(locationOf(again), path, other);
  }
  assert.equal((await shop.service.query('select id from gift_cards')).length, 1);
  assert.equal(codeOn(await cashier.get(path)), code, 'a reload shows it again');
  const others = [await shop.as('owner'), await shop.as('manager')];
  for (const other of others) {
    for (const each of [path, `${path}/print`]) {
      const hidden = await other.get(each);
      assert.equal(hidden.status, 404);
      assert.match(textOfPage(hidden), /no longer shown/);
    }
  }
  shop.service.clock.advance(24 * 60 * 60_000 + 60_000);
  const later = await shop.as('cashier');
  await later.post('/sign-in', { email: 'cashier@flowers.example', password: staffPassword });
  const over = await later.get(path);
  assert.equal(over.status, 404);
  assert.equal(codeOn(over), '');
});

test('a code is in no log, header, event, audit entry, file or other page', async () => {
  await using shop = await openStaffedShop();
  const manager = await shop.as('manager');
  const issued = await sendForm(manager, '/cards/new', sale);
  const code = codeOn(await manager.get(locationOf(issued)));
  const printed = await manager.get(`${locationOf(issued)}/print`);
  assert.equal(codeOn(printed), code);
  const id = String((await lookUp(shop, code))['id']);
  const resent = await sendForm(manager, `/cards/${id}/resend?how=print`, { how: 'print' });
  assert.equal(resent.status, 303, resent.text);
  const second = codeOn(await manager.get(locationOf(resent)));
  assert.notEqual(second, code);
  const redeemed = await sendForm(manager, `/cards/${id}/redeem`, { amount: '1' });
  const owner = await shop.as('owner');
  const pages = [
    issued,
    resent,
    redeemed,
    await owner.get('/audit'),
    await manager.get(locationOf(redeemed)),
  ];
  const rest = [
    shop.service.log(),
    ...pages.flatMap(({ text, headers }) => [text, JSON.stringify([...headers])]),
    JSON.stringify(await shop.service.query('select * from events'), (_, value: unknown) =>
      typeof value === 'bigint' ? String(value) : value,
    ),
  ].join('\n');
  const stored = await shop.service.database.bytes();
  const files = readdirSync(shop.service.database.folder, { recursive: true, withFileTypes: true });
  for (const each of [code, second]) {
    assert.match(each, /^[0-9a-z]{16}$/);
    for (const spelling of [each, each.toUpperCase(), (each.toUpperCase().match(/.{4}/g) ?? []).join(' ')]) {
      assert.ok(!rest.includes(spelling));
      assert.ok(!stored.includes(spelling), 'in the database');
      for (const { parentPath, name } of files.filter((file) => file.isFile()))
        assert.ok(!readFileSync(join(parentPath, name)).includes(spelling), name);
    }
  }
  const old = await manager.get(locationOf(issued));
  assert.equal(old.status, 404, 'the first code is no longer that of the card');
});

test('an emailed card arrives, with a receipt for the buyer, and the page says when', async () => {
  await using server = await smtpServer();
  const environment = { SMTP_URL: server.url().reveal(), MAIL_FROM: 'cards@flowers.example' };
  await using shop = await openStaffedShop({ environment, store: { timeZone: 'Europe/Paris' } });
  const cashier = await shop.as('cashier');
  const people = { recipient_email: 'emma@example.com', email: 'paul@example.com' };
  const now = await sendForm(cashier, '/cards/new', { ...sale, how: 'email', when: 'now', ...people });
  const page = await cashier.get(locationOf(now));
  assert.match(
    textOfPage(page),
    /The email to emma@example\.com is on its way.*Receipt to paul@example\.com/,
  );
  await until(async () => Promise.resolve(receivedEmails(server).length === 2));
  const emails = receivedEmails(server);
  assert.equal(emails.find(({ to }) => to[0] === 'emma@example.com')?.code, codeOn(page));
  assert.equal(emails.find(({ to }) => to[0] === 'paul@example.com')?.code, '');
  const day = Temporal.Instant.fromEpochMilliseconds(shop.service.clock.now()).toZonedDateTimeISO('Europe/Paris').add({ days: 30 }).toPlainDate(); // prettier-ignore
  const later = { ...people, how: 'email', when: 'later', date: day.toString(), time: '18:30' };
  const scheduled = await sendForm(cashier, '/cards/new', { ...sale, ...later });
  assert.match(
    textOfPage(await cashier.get(locationOf(scheduled))),
    /to emma@example\.com goes out on .*6:30/,
  );
  const [row] = await shop.service.query(
    "select send_at from email_deliveries where kind = 'gift_card' order by id desc limit 1",
  );
  const expected = day.toZonedDateTime({ timeZone: 'Europe/Paris', plainTime: '18:30' }).epochMilliseconds;
  assert.equal(Number(row?.['send_at']), expected);
  const rejected = [
    [{ ...later, date: '2020-01-01' }, 'date'],
    [{ ...later, date: day.add({ years: 2 }).toString() }, 'date'],
    [{ ...later, time: '25:00' }, 'date'],
    [{ ...later, expires: 'date', expires_on: day.subtract({ days: 1 }).toString() }, 'date'],
    [{ how: 'email' }, 'recipient_email'],
    [{ how: 'email', recipient_email: 'emma@' }, 'recipient_email'],
  ] as const;
  for (const [fields, name] of rejected) {
    const response = await sendForm(cashier, '/cards/new', { ...sale, ...fields });
    assert.equal(response.status, 422, JSON.stringify(fields));
    assert.match(response.text, new RegExp(`id="${name}-error"`), JSON.stringify(fields));
  }
});

test('the preview of a new card is its email with the fields as they are, without a code, and saves nothing', async () => {
  const environment = { SMTP_URL: 'smtp://127.0.0.1:9', MAIL_FROM: 'cards@flowers.example' };
  await using shop = await openStaffedShop({ environment });
  const cashier = await shop.as('cashier');
  const page = await cashier.get('/cards/new');
  assert.match(page.text, /formaction="\/cards\/new\/preview" formtarget="preview" formnovalidate>/);
  assert.match(page.text, /<iframe name="preview" title="[^"]+" src="\/cards\/new\/preview" sandbox>/);
  assert.ok(
    page.text.indexOf('>Issue the card<') < page.text.indexOf('formaction='),
    'Enter issues the card',
  );
  const before = await shop.service.state();
  const first = await cashier.get('/cards/new/preview');
  assert.equal(first.status, 200, first.text);
  assert.match(textOfPage(first), /€50\.00/);
  const form = {
    ...formOf(page, '/cards/new'),
    amount: 'other',
    other: '42,50',
    expires: 'never',
    how: 'email',
    recipient_name: '<b>Emma</b>',
    recipient_email: 'emma@',
    sender_name: 'Paul',
    message: 'Happy 40th!\r\nPeonies.',
    note: 'for us only',
  };
  const shown = await cashier.post('/cards/new/preview', form);
  assert.equal(shown.status, 200, shown.text);
  for (const text of ['€42.50', '&lt;b&gt;Emma&lt;/b&gt;', 'Paul', 'Happy 40th!', 'Peonies.', '••••'])
    assert.ok(shown.text.includes(text), text);
  assert.doesNotMatch(shown.text, /for us only|emma@|<b>Emma|<script|cid:/);
  assert.match(
    shown.headers.get('content-security-policy') ?? '',
    /^sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:;.* frame-ancestors 'self'$/,
  );
  const rejected = await cashier.post('/cards/new/preview', {
    ...form,
    other: '1,234,5',
    message: 'x'.repeat(501),
  });
  assert.equal(rejected.status, 422);
  assert.match(
    textOfPage(rejected),
    /not up to date: Other amount: .* Message: Enter at most 500 characters\./,
  );
  assert.equal(await shop.service.state(), before);
  const accountant = await shop.as('accountant');
  assert.equal((await accountant.post('/cards/new/preview', form)).status, 403);
  const changed = await command(
    shop.service.environment,
    'store',
    'update',
    'flowers.example',
    '--mail-language',
    'ar',
  );
  assert.equal(changed.code, 0, changed.errors);
  assert.match((await cashier.post('/cards/new/preview', form)).text, /<html lang="ar" dir="rtl"/);
});

test('a store that sends no emails has no preview of them', async () => {
  await using shop = await openStaffedShop();
  const cashier = await shop.as('cashier');
  assert.match((await cashier.get('/cards/new')).text, /iframe/);
  await command(shop.service.environment, 'store', 'update', 'flowers.example', '--no-mail');
  assert.doesNotMatch((await cashier.get('/cards/new')).text, /iframe|preview/);
});

test('a new code is emailed to a corrected address, and the old code stops working', async () => {
  await using server = await smtpServer();
  const environment = { SMTP_URL: server.url().reveal(), MAIL_FROM: 'cards@flowers.example' };
  await using shop = await openStaffedShop({ environment });
  const manager = await shop.as('manager');
  const card = await shop.issue({ recipient_email: 'grace@exmaple.com', notify: false });
  const path = `/cards/${card.id}/resend`;
  const page = await manager.get(path);
  assert.match(textOfPage(page), /€50\.00 moves to a new code\. The old code stops at once\./);
  assert.equal(formOf(page, path)['address'], 'grace@exmaple.com');
  const wrong = await sendForm(manager, path, { address: 'grace@' });
  assert.equal(wrong.status, 422);
  assert.match(wrong.text, /id="address-error"/);
  const sent = await sendForm(manager, path, { address: 'grace@example.com' });
  assert.match(textOfPage(await manager.get(locationOf(sent))), /on its way to grace@example\.com/);
  await until(async () => Promise.resolve(receivedEmails(server).length === 1));
  const [email] = receivedEmails(server);
  assert.deepEqual(email?.to, ['grace@example.com']);
  assert.equal((await lookUp(shop, email?.code ?? ''))['id'], card.id);
  assert.deepEqual(await lookUp(shop, card.code), {});
  const again = await manager.post(path, sent.form);
  assert.match(textOfPage(await manager.get(locationOf(again))), /nothing was done a second time/);
  const soon = await sendForm(manager, path, { address: 'grace@example.com' });
  assert.equal(soon.status, 429);
  assert.match(textOfPage(soon), /emailed to this address only a moment ago.*in 1 min/);
  assert.equal((await lookUp(shop, email?.code ?? ''))['id'], card.id, 'the code has not changed');
  const actions = await shop.service.query("select details from staff_actions where action = 'code-sent'");
  assert.equal(actions.length, 1);
});

test('a sale above a limit is rejected at the amount, even if the limit is newer than the form', async () => {
  await using shop = await openStaffedShop();
  const [owner, cashier] = [await shop.as('owner'), await shop.as('cashier')];
  const open = formOf(await cashier.get('/cards/new'), '/cards/new');
  const [row] = await shop.service.query("select id from staff where role = 'cashier'");
  const member = `/staff/${String(row?.['id'])}`;
  assert.equal(
    (await owner.post(member, { name: 'cashier', role: 'cashier', sale_limit: '30' })).status,
    303,
  );
  const rejected = await cashier.post('/cards/new', { ...open, ...sale });
  assert.equal(rejected.status, 422);
  assert.match(rejected.text, /id="other-error">Your limit for one sale is €30\.00/);
  assert.match(rejected.text, /name="other"[^>]* value="42,50"/);
  assert.doesNotMatch((await cashier.get('/cards/new')).text, /value="50\.00"/, 'no amount above the limit');
  assert.equal((await cashier.post('/cards/new', { ...open, ...sale, other: '30' })).status, 303);
  assert.equal((await owner.post(`${member}/disable`)).status, 303);
  const { status } = await cashier.post('/cards/new', { ...open, ...sale, key: 'E'.repeat(22), other: '1' });
  assert.equal(status, 303);
  assert.equal((await shop.service.query('select id from gift_cards')).length, 1);
});

test('the form offers the amounts that the store sells most', async () => {
  await using shop = await openStaffedShop({ store: { currency: 'JPY' } });
  const owner = await shop.as('owner');
  const offered = async (browser: Browser): Promise<readonly string[]> =>
    [...(await browser.get('/cards/new')).text.matchAll(/name="amount" value="(\d+)"/g)].map(
      ([, value = '']) => value,
    );
  assert.deepEqual(await offered(owner), ['2000', '3000', '5000', '10000']);
  for (const value of [1_500, 1_500, 1_500, 800, 800, 800, 800, 7_777])
    await shop.issue({ initial_value: value });
  assert.deepEqual(await offered(owner), ['800', '1500']);
  const issued = await sendForm(owner, '/cards/new', { amount: '800', how: 'print' });
  assert.match(textOfPage(await owner.get(locationOf(issued))), /Card issued for ¥800/);
});

test('what cannot be issued is rejected at its field, and keeps what was typed', async () => {
  await using shop = await openStaffedShop({ store: { timeZone: 'Asia/Tokyo' } });
  const cashier = await shop.as('cashier');
  const rejected = [
    [{ other: '' }, 'other'],
    [{ other: '0' }, 'other'],
    [{ other: '1.234' }, 'other'],
    [{ amount: 'abc' }, 'amount'],
    [{ expires: 'date', expires_on: '2020-01-01' }, 'expires_on'],
    [{ expires: 'date', expires_on: '' }, 'expires_on'],
    [{ recipient_name: 'x'.repeat(101) }, 'recipient_name'],
    [{ email: 'a b@example.com' }, 'email'],
    [{ message: 'x'.repeat(501) }, 'message'],
    [{ note: 'x'.repeat(5_001) }, 'note'],
  ] as const;
  for (const [fields, name] of rejected) {
    const response = await sendForm(cashier, '/cards/new', { ...sale, sender_name: '"<Paul>"', ...fields });
    assert.equal(response.status, 422, JSON.stringify(fields).slice(0, 80));
    assert.match(response.text, new RegExp(`id="${name}-error"`), name);
    assert.match(response.text, /value="&quot;&lt;Paul&gt;&quot;"/);
  }
  const bare = await cashier.post('/cards/new', sale);
  assert.equal(bare.status, 422, 'a form without a key');
  assert.match(bare.text, /role="alert"/);
  assert.deepEqual(await shop.service.query('select id from gift_cards'), []);
  const years = await sendForm(cashier, '/cards/new', { ...sale, expires: '2' });
  const [card] = await shop.service.query('select expires_on from gift_cards');
  const today = Temporal.Instant.fromEpochMilliseconds(shop.service.clock.now()).toZonedDateTimeISO(
    'Asia/Tokyo',
  );
  assert.equal(card?.['expires_on'], today.toPlainDate().add({ years: 2 }).toString(), years.text);
});

test('the form, the result and the sheet render in four languages', async () => {
  await using shop = await openStaffedShop();
  const manager = await shop.as('manager');
  const issued = await sendForm(manager, '/cards/new', { ...sale, recipient_name: 'Emma' });
  const words = {
    en: 'Print the card',
    de: 'Karte drucken',
    fr: 'Imprimer la carte',
    es: 'Imprimir la tarjeta',
  };
  for (const [language, word] of Object.entries(words)) {
    const headers = { 'accept-language': language };
    const result = await manager.request(locationOf(issued), { headers });
    assert.ok(result.text.includes(word), language);
    const sheet = await manager.request(`${locationOf(issued)}/print`, { headers });
    assert.match(
      sheet.text,
      /class="sheet" lang="en-IE" dir="ltr"/,
      'the sheet is in the language of the store',
    );
    const form = await manager.request('/cards/new', { headers });
    for (const page of [result, sheet, form]) {
      assert.match(page.text, new RegExp(`<html lang="${language}\\b`), language);
      assert.doesNotMatch(textOfPage(page), /\{[a-z]+\}/, language);
    }
  }
});
