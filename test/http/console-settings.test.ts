/** The settings on the pages: every field, what is rejected, two owners at the same time, and the preview of emails. */

import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import en from '../../src/features/emails/delivery/locales/en.json' with { type: 'json' };
import { languages } from '../../src/features/emails/delivery/language.ts';
import { qrImage } from '../../src/features/emails/delivery/qr.ts';
import { sample } from '../../src/core/cards/domain/sample-card.ts';
import { emailKinds } from '../../src/core/emails/domain/email.ts';
import { Secret } from '../../src/platform/secret.ts';
import { openBrowser, type Browser } from '../support/browser.ts';
import { consoleDomain, staffPassword } from '../support/console.ts';
import { formOf, openStaffedShop, textOfPage } from '../support/counter-staff.ts';
import { until } from '../support/delivering.ts';
import type { TestResponse } from '../support/service.ts';

const shop = await openStaffedShop();
after(() => shop[Symbol.asyncDispose]());
const owner = await shop.as('owner');

type Fields = Readonly<Record<string, string>>;

/** Returns the choices of a form that a browser submits and `formOf` leaves out. */
function choicesOf({ text }: TestResponse): Fields {
  const chosen = Array.from(
    text.matchAll(/<select[^>]* name="(\w+)"[^>]*>(.*?)<\/select>/gs),
    ([, name = '', options = '']) => [name, /value="([^"]*)" selected/.exec(options)?.[1] ?? ''] as const,
  );
  return Object.fromEntries(chosen);
}

async function openForm(path: string, browser: Browser = owner): Promise<Fields> {
  const page = await browser.get(path);
  assert.equal(page.status, 200, page.text);
  return { ...choicesOf(page), ...formOf(page, path) };
}

/** Opens a form, changes fields, and submits it. */
async function save(path: string, changes: Fields, form?: Fields): Promise<TestResponse> {
  return await owner.post(path, { ...(form ?? (await openForm(path))), ...changes });
}

/** The stored settings as texts, by their columns. */
async function stored(): Promise<Readonly<Record<string, string | null>>> {
  const [store] = await shop.service.query('select * from stores where domain = ?', consoleDomain);
  const [emails] = await shop.service.query('select * from email_settings');
  const { updated_at: _, ...columns } = { ...store, ...emails };
  const texts = Object.entries(columns).map(([name, value]) => [
    name,
    value === null ? null : `${value as bigint | number | string}`,
  ]);
  return Object.fromEntries(texts) as Record<string, string | null>;
}

async function loggedChanges(): Promise<readonly string[]> {
  const rows = await shop.service.query(
    "select details from staff_actions where action = 'settings-changed' order by at, id",
  );
  return rows.map(({ details }) => {
    const read = (typeof details === 'string' ? JSON.parse(details) : details) as { readonly fields: string };
    return read.fields;
  });
}

function errorAt({ text }: TestResponse, name: string): string {
  return new RegExp(`id="${name}-error">([^<]*)<`).exec(text)?.[1] ?? '';
}

function locationOf({ headers }: TestResponse): string {
  return headers.get('location') ?? '';
}

test('every limit and setting of the books is saved, once, with an entry in the audit log', async () => {
  const form = await openForm('/settings/limits');
  assert.deepEqual([form['time_zone'], form['undo_window']], ['UTC', '60']);
  const changes = {
    time_zone: 'europe/paris',
    issue_limit: '750,50',
    lookup_failures: '200',
    undo_window: '15',
    expiring_soon: '30',
    hold_limit: '90',
    customer_search: 'yes',
    vat: 'single_purpose',
    vat_rate: '8,10 %',
    account_sales: '8400',
    account_liability_active: 'Ćards',
    datev: '29098 / 55003',
  };
  const saved = await save('/settings/limits', changes, form);
  assert.equal(locationOf(saved), '/settings/limits?done=saved', saved.text);
  const shown = await stored();
  for (const [name, value] of Object.entries({
    time_zone: 'Europe/Paris',
    issue_limit: '75050',
    lookup_failures_per_hour: '200',
    undo_window_minutes: '15',
    expiring_soon_days: '30',
    hold_limit_days: '90',
    customer_search: '1',
    vat: 'single_purpose 8.1',
    account_names: '{"liability_active":"Ćards","sales":"8400"}',
    datev: '29098/55003/1/4',
  }))
    assert.equal(shown[name], value, name);
  const page = await owner.get('/settings/limits?done=saved');
  assert.match(textOfPage(page), /The settings are saved\./);
  const fields = await loggedChanges();
  assert.deepEqual(fields, [
    'time_zone, issue_limit, lookup_failures, undo_window, expiring_soon, hold_limit, customer_search, vat, account_names, datev',
  ]);
  assert.match(textOfPage(await owner.get('/audit')), /Changed the settings time zone, /);
  const [zone] = await shop.service.query('select actor, new_value from store_changes');
  assert.match(String(zone?.['actor']), /^staff:\d+$/);
  // A double click, and Back with other values.
  const again = await save('/settings/limits', { ...changes, undo_window: '16' }, form);
  assert.equal(locationOf(again), '/settings/limits?done=repeated');
  assert.equal((await stored())['undo_window_minutes'], '15');
  // Without a change there is nothing to log. Empty fields remove limits, VAT and names.
  assert.equal(locationOf(await save('/settings/limits', {})), '/settings/limits?done=saved');
  assert.equal((await loggedChanges()).length, 1);
  const emptied = { issue_limit: '', lookup_failures: '', vat: '', account_sales: '', customer_search: '' };
  assert.equal((await save('/settings/limits', emptied)).status, 303);
  const { issue_limit, lookup_failures_per_hour, vat, account_names, customer_search } = await stored();
  assert.deepEqual(
    [issue_limit, lookup_failures_per_hour, vat, account_names, customer_search],
    [null, null, null, '{"liability_active":"Ćards"}', '0'],
  );
});

test('a rejected setting has its message at its field, with what was typed, and nothing is saved', async () => {
  const before = await stored();
  const cases: readonly (readonly [path: string, name: string, typed: string, at?: string])[] = [
    ['/settings', 'name', ''],
    ['/settings', 'name', 'a\u202eb'],
    ['/settings', 'reply_to', 'a@b.c\nBcc: x@y.example'],
    ['/settings', 'color', 'red'],
    ['/settings', 'website', 'http://flowers.example'],
    ['/settings', 'website', 'https://ada:secret@flowers.example'],
    ['/settings', 'website', `flowers.example/${'x'.repeat(2_000)}`],
    ['/settings', 'terms', 'javascript:alert(1)'],
    ['/settings', 'phone', 'call me'],
    ['/settings', 'phone', '12'],
    ['/settings', 'phone', '+1234567890123456'],
    ['/settings', 'hours', 'a\n'.repeat(8)],
    ['/settings', 'hours', 'x'.repeat(101)],
    ['/settings', 'hours', 'a\u202eb'],
    ['/settings/limits', 'time_zone', 'Mars/Olympus'],
    ['/settings/limits', 'issue_limit', '0'],
    ['/settings/limits', 'issue_limit', '12.345'],
    ['/settings/limits', 'lookup_failures', '0'],
    ['/settings/limits', 'undo_window', '61'],
    ['/settings/limits', 'undo_window', ''],
    ['/settings/limits', 'expiring_soon', '366'],
    ['/settings/limits', 'hold_limit', '0'],
    ['/settings/limits', 'hold_limit', '91'],
    ['/settings/limits', 'account_breakage', 'x'.repeat(101)],
    ['/settings/limits', 'datev', '1000/55003'],
    ['/settings/limits', 'datev', '29098/55003/13/4'],
    ['/settings/emails', 'from_name', 'a\u0007b'],
    ['/settings/emails', 'from_address', 'flowers'],
    ['/settings/emails', 'email_language', 'tlh'],
    ['/settings/emails', 'region', 'XY'],
    ['/settings/emails', 'page', 'javascript:alert(1)'],
    ['/settings/emails', 'expiry_reminders', '30, 0'],
    ['/settings/emails', 'balance_reminders', '1,2,3,4,5,6'],
  ];
  const forms = new Map([
    ['/settings', await openForm('/settings')],
    ['/settings/limits', await openForm('/settings/limits')],
    ['/settings/emails', await openForm('/settings/emails')],
  ]);
  for (const [path, name, typed] of cases) {
    const rejected = await save(path, { [name]: typed }, forms.get(path));
    assert.equal(rejected.status, 422, `${name}=${typed}`);
    assert.notEqual(errorAt(rejected, name), '', `${name}=${typed}`);
    assert.match(rejected.text, new RegExp(`id="${name}"[^>]*aria-invalid="true"`));
  }
  const rate = await save('/settings/limits', { vat: 'single_purpose', vat_rate: '101', undo_window: '17' });
  assert.notEqual(errorAt(rate, 'vat_rate'), '');
  assert.equal(formOf(rate, '/settings/limits')['undo_window'], '17');
  // Corrected, the form of the rejection is accepted.
  const signature = await save('/settings/proxy', { require_signature: 'yes' });
  assert.equal(signature.status, 422);
  assert.match(textOfPage(signature), /This needs a secret/);
  assert.deepEqual(await stored(), before);
  const incomplete = await owner.post('/settings/limits', { undo_window: '0', expiring_soon: '0' });
  assert.equal(incomplete.status, 422);
});

test('of two owners who change the same page, the second sees what has changed', async () => {
  const other = openBrowser(shop.service);
  await other.post('/sign-in', { email: `owner@${consoleDomain}`, password: staffPassword });
  const [mine, theirs] = [await openForm('/settings/limits'), await openForm('/settings/limits', other)];
  assert.equal((await other.post('/settings/limits', { ...theirs, undo_window: '5' })).status, 303);
  const conflict = await save('/settings/limits', { expiring_soon: '12', undo_window: '7' }, mine);
  assert.equal(conflict.status, 409);
  const text = textOfPage(conflict);
  assert.match(text, /have changed since you opened the form: minutes to re-enable a card\. Check/);
  assert.match(text, /Now: 5/);
  assert.equal(formOf(conflict, '/settings/limits')['undo_window'], '7');
  assert.equal((await stored())['undo_window_minutes'], '5');
  const replaced = await owner.post('/settings/limits', {
    ...choicesOf(conflict),
    ...formOf(conflict, '/settings/limits'),
  });
  assert.equal(replaced.status, 303, replaced.text);
  const { undo_window_minutes, expiring_soon_days } = await stored();
  assert.deepEqual([undo_window_minutes, expiring_soon_days], ['7', '12']);
  // Another page of the settings is another form.
  const emails = await openForm('/settings/emails');
  assert.equal((await save('/settings/limits', { undo_window: '8' })).status, 303);
  assert.equal((await save('/settings/emails', { from_name: 'Ada' }, emails)).status, 303);
  // One of two submissions at the same moment is saved.
  const [first, second] = [await openForm('/settings/limits'), await openForm('/settings/limits', other)];
  const statuses = await Promise.all([
    owner.post('/settings/limits', { ...first, undo_window: '20' }),
    other.post('/settings/limits', { ...second, undo_window: '21' }),
  ]);
  assert.deepEqual(
    statuses.map(({ status }) => status).toSorted((left, right) => left - right),
    [303, 409],
  );
});

test('the secret of the app proxy is saved and removed, and never shown or logged', async () => {
  const secret = 'hush-hush-4711';
  const saved = await save('/settings/proxy', { proxy_secret: secret, require_signature: 'yes' });
  assert.equal(saved.status, 303, saved.text);
  const { proxy_secret: sealed, require_signature } = await stored();
  assert.deepEqual([typeof sealed, require_signature], ['string', '1']);
  assert.equal((await save('/settings/proxy', { proxy_secret: 'another-secret' })).status, 303);
  assert.deepEqual((await loggedChanges()).slice(-2), ['proxy_secret, require_signature', 'proxy_secret']);
  const kept = await save('/settings/proxy', { remove_secret: 'yes' });
  assert.equal(kept.status, 422, 'signatures need the secret');
  const removed = await save('/settings/proxy', { remove_secret: 'yes', require_signature: '' });
  assert.equal(removed.status, 303);
  assert.equal((await stored())['proxy_secret'], null);
  const rejected = await save('/settings/proxy', { proxy_secret: 'abc' });
  assert.notEqual(errorAt(rejected, 'proxy_secret'), '');
  const pages = [rejected, await owner.get('/settings/proxy'), await owner.get('/audit')];
  const seen = [...pages.map(({ text }) => text), shop.service.log()].join('\n');
  assert.ok(!seen.includes(secret) && !seen.includes('another-secret') && !seen.includes('value="abc"'));
});

const brand = {
  from_name: 'Flowers & Herbs',
  from_address: 'cards@flowers.example',
  email_language: 'de',
  region: 'at',
  page: 'https://flowers.example/cards',
  expiry_reminders: '7, 30',
  balance_reminders: '180',
  notify_failures: 'yes',
};

const identity = {
  name: 'Flowers & <b>Herbs</b>',
  color: '7A1F3D',
  website: 'flowers.example',
  phone: '+33 (0)1 42-00.00/00',
  reply_to: 'hello@flowers.example',
  hours: 'Mo–Sa 9–19 <i>\r\n\r\n So 10–13 \r\n',
  terms: 'https://flowers.example/agb',
};

test('the identity of the shop is saved in one form, and an empty field removes a part of it', async () => {
  const saved = await save('/settings', identity);
  assert.equal(locationOf(saved), '/settings?done=saved', saved.text);
  const shown = await stored();
  for (const [name, value] of Object.entries({
    name: identity.name,
    colour: '#7a1f3d',
    website: 'https://flowers.example/',
    phone: identity.phone,
    reply_to: identity.reply_to,
    hours: 'Mo–Sa 9–19 <i>\nSo 10–13',
    terms: identity.terms,
  }))
    assert.equal(shown[name], value, name);
  const page = await owner.get('/settings?done=saved');
  assert.match(textOfPage(page), /The settings are saved\./);
  assert.ok(!page.text.includes('<b>Herbs') && !page.text.includes('<i>'));
  const names = 'name, reply_to, color, website, phone, hours, terms';
  assert.equal((await loggedChanges()).at(-1), names);
  const emptied = Object.fromEntries(Object.keys(identity).map((name) => [name, '']));
  assert.equal((await save('/settings', { ...emptied, name: 'Flowers' })).status, 303);
  const { colour, website, phone, hours, terms, reply_to } = await stored();
  for (const value of [colour, website, phone, hours, terms, reply_to]) assert.equal(value, null);
});

test('every setting of the emails is saved, and shown as it was saved', async () => {
  assert.equal((await save('/settings/emails', brand)).status, 303);
  const shown = await stored();
  for (const [name, value] of Object.entries({
    enabled: '1',
    sender_name: brand.from_name,
    address: brand.from_address,
    locale: 'de-AT',
    page_url: brand.page,
    expiry_reminder_days: '30,7',
    balance_reminder_days: '180',
    notify_failures: '1',
  }))
    assert.equal(shown[name], value, name);
  const form = await openForm('/settings/emails');
  assert.deepEqual([form['email_language'], form['region']], ['de', 'AT']);
  const emptied = new Map(Object.keys(brand).map((name) => [name, '']));
  const unchecked = { ...form, ...Object.fromEntries(emptied), email_language: 'en', emails: '' };
  assert.equal((await owner.post('/settings/emails', unchecked)).status, 303);
  const { enabled, sender_name, locale, expiry_reminder_days, notify_failures } = await stored();
  assert.deepEqual(
    [enabled, sender_name, locale, expiry_reminder_days, notify_failures],
    ['0', null, 'en', '', '0'],
  );
});

test('a field that a form does not have keeps its value, and an empty check box is in the form', async () => {
  const paths = ['/settings', '/settings/limits', '/settings/emails', '/settings/proxy', '/settings/texts'];
  assert.equal(
    (await save('/settings/limits', { customer_search: 'yes', undo_window: '30', vat: 'multi_purpose' }))
      .status,
    303,
  );
  assert.equal(
    (await save('/settings/emails', { ...brand, emails: 'yes', notify_failures: 'yes' })).status,
    303,
  );
  assert.equal((await save('/settings/texts', { gift_card_subject: 'A card for you' })).status, 303);
  assert.equal(
    (await save('/settings/proxy', { proxy_secret: 'hush-hush-4711', require_signature: 'yes' })).status,
    303,
  );
  const texts = () => shop.service.query('select kind, part, text from email_texts order by kind, part');
  const before = [await stored(), await texts()];
  for (const path of paths) {
    const { key = '', base = '' } = await openForm(path);
    const saved = await owner.post(path, { key, base });
    assert.equal(saved.status, 303, `${path} ${saved.text}`);
    assert.deepEqual([await stored(), await texts()], before, path);
  }
  const proxy = await owner.get('/settings/proxy');
  assert.match(
    proxy.text,
    /<input type="hidden" name="require_signature" value=""><label[^>]*><input type="checkbox" name="require_signature" value="yes" checked>/,
  );
  assert.equal((await save('/settings/proxy', { remove_secret: 'yes', require_signature: '' })).status, 303);
});

test('the page says in words whether text can be read on the color', async () => {
  const form = await openForm('/settings');
  const said = async (color: string): Promise<string> => {
    const page = await save('/settings', { color, phone: 'none' }, form);
    return /<p class="row" id="legibility".*?<\/p>/s.exec(page.text)?.[0] ?? '';
  };
  assert.match(await said('#1f4d3f'), /tag good.*Readable.*white text.*contrast of 9\.\d to 1/s);
  assert.match(await said('#fffffe'), /tag good.*black text.*gray border/s);
  assert.match(await said('#777777'), /tag bad.*Hard to read.*4\.\d to 1. At least 4\.5/s);
});

const preview = '/settings/emails/preview';

/** The email in a preview, without its head. */
function emailIn({ text }: TestResponse): string {
  const start = text.indexOf('>', text.indexOf('<body')) + 1;
  assert.equal(text.slice(start, start + 5), '<div ');
  return text.slice(0, start) + text.slice(text.indexOf('</div>', start) + '</div>'.length);
}

test('the preview shows every kind of email in every language, saves nothing and runs nothing', async () => {
  const manager = await shop.as('manager');
  const before = await shop.service.state();
  const form = {
    ...(await openForm('/settings/emails')),
    ...brand,
    from_name: '</title><script>alert(1)</script>{amount}',
  };
  // Each language and each kind; the tests of the renderer have all pairs.
  for (const [index, language] of languages.entries()) {
    const kind = emailKinds[index % emailKinds.length] ?? 'gift_card';
    const shown = await owner.post(preview, { ...form, email_language: language, region: '', kind });
    assert.equal(shown.status, 200, shown.text);
    const email = emailIn(shown);
    assert.ok(email.startsWith(`<!doctype html>\n<html lang="${language}`), language);
    assert.ok(!/<script|cid:/i.test(shown.text), `${language} ${kind}`);
    assert.ok(shown.text.includes('&lt;script&gt;alert(1)&lt;/script&gt;{amount}'), 'as text');
  }
  const { headers } = await owner.post(preview, form);
  const policy = headers.get('content-security-policy') ?? '';
  assert.equal(
    policy,
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'none'; base-uri 'none'; frame-ancestors 'self'",
  );
  const rejected = await owner.post(preview, { ...form, region: 'XY', page: 'x' });
  assert.equal(rejected.status, 422);
  assert.match(textOfPage(rejected), /not up to date: Enter the two letters .* Enter the address of a page/);
  assert.equal((await manager.post(preview, form)).status, 403);
  assert.equal(await shop.service.state(), before);
});

test('the previews of the shop have what is typed, run nothing and save nothing', async () => {
  const manager = await shop.as('manager');
  const before = await shop.service.state();
  const name = '</title><script>alert(1)</script>';
  const logo = Buffer.from(qrImage(new Secret('logo-of-a-preview'), null).png).toString('base64');
  const form = { ...(await openForm('/settings')), ...identity, name, logo_preview: logo };
  for (const view of ['email', 'page', 'sheet', 'receipt']) {
    const shown = await owner.post('/settings/preview', { ...form, view });
    assert.equal(shown.status, 200, shown.text);
    assert.ok(!/<script|cid:/i.test(shown.text), view);
    for (const typed of ['&lt;script&gt;alert(1)', '+33 (0)1 42-00.00/00', 'So 10–13', 'flowers.example/agb'])
      assert.ok(shown.text.includes(typed), `${view}: ${typed}`);
    // A sheet names the shop in letters.
    if (view !== 'sheet') assert.ok(shown.text.includes(`data:image/png;base64,${logo}`), view);
    if (view === 'page' || view === 'sheet') assert.ok(shown.text.includes('/brand-7a1f3d.css"'), view);
    const policy = shown.headers.get('content-security-policy') ?? '';
    const own =
      "sandbox allow-same-origin; default-src 'none'; style-src 'self'; font-src 'self'; img-src 'self' data:; form-action 'none'; base-uri 'none'; frame-ancestors 'self'";
    if (view === 'email') assert.match(policy, /^sandbox; default-src 'none'/);
    else assert.equal(policy, own);
    const saved = await owner.get(`/settings/preview?view=${view}`);
    assert.ok(saved.status === 200 && !saved.text.includes('alert(1)'), view);
  }
  const unknown = await owner.post('/settings/preview', { ...form, logo_preview: 'AAAA', view: 'x' });
  assert.ok(unknown.status === 200 && !unknown.text.includes(logo), 'a file of another type is ignored');
  const rejected = await owner.post('/settings/preview', { ...form, color: 'red', view: 'receipt' });
  assert.equal(rejected.status, 422);
  assert.equal((await manager.post('/settings/preview', form)).status, 403);
  assert.equal(
    (await owner.post('/settings/preview', { ...form, logo_preview: 'A'.repeat(300_000) })).status,
    413,
  );
  assert.equal(await shop.service.state(), before);
});

test('the preview and the test email are what an email contains afterwards', async () => {
  const saved = await save('/settings/emails', { ...brand, emails: 'yes', email_language: 'en', region: '' });
  assert.equal(saved.status, 303, saved.text);
  const shown = await owner.get(preview);
  assert.match(textOfPage(shown), /From: Flowers & Herbs < cards@flowers\.example >/);
  const { id } = await shop.issue({
    initial_value: '50.00',
    recipient_email: 'grace@example.com',
    recipient_name: 'Grace',
    sender_name: 'Ada',
    message: en.sampleMessage,
    expires_on: sample.expiresOn,
  });
  await until(async () => {
    const { json } = await shop.ask(`GET /gift_card/${id}/deliveries`);
    return (json as { deliveries: readonly { status: string }[] }).deliveries[0]?.status === 'kept';
  });
  const form = formOf(await owner.get('/settings/emails'), '/settings/emails/test');
  const tested = await owner.post('/settings/emails/test', form);
  assert.equal(locationOf(tested), '/settings/emails?done=kept', tested.text);
  assert.equal(locationOf(await owner.post('/settings/emails/test', form)), '/settings/emails?done=repeated');
  const list = await owner.get('/dev/mails');
  const names = [...new Set(Array.from(list.text.matchAll(/href="mails\/([^"]+)"/g), ([, name]) => name))];
  assert.equal(names.length, 2);
  const plain = (html: string): string =>
    html.replaceAll(/src="data:[^"]*"/g, 'src="code"').replaceAll(/(?:[\dA-Z]{4} ){3}[\dA-Z]{4}/g, 'CODE');
  for (const name of names) {
    const kept = await owner.get(`/dev/mails/${name}/html`);
    assert.equal(plain(kept.text), plain(emailIn(shown)));
  }
});

test('test emails are limited per person', async () => {
  const statuses: number[] = [];
  for (let count = 0; count < 10; count += 1) {
    const form = formOf(await owner.get('/settings/emails'), '/settings/emails/test');
    statuses.push((await owner.post('/settings/emails/test', form)).status);
  }
  // The test above has sent one.
  assert.deepEqual(statuses, [303, 303, 303, 303, 303, 303, 303, 303, 303, 429]);
});
