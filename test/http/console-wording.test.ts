/** The shop's own texts of emails: their page, their preview, and emails that are received. */

import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import PostalMime from 'postal-mime';
import { languages } from '../../src/features/emails/delivery/language.ts';
import { qrImage } from '../../src/features/emails/delivery/qr.ts';
import { emailKinds } from '../../src/core/emails/domain/email.ts';
import { Secret } from '../../src/platform/secret.ts';
import { receivedEmails } from '../delivery/email/received.ts';
import { smtpServer } from '../delivery/email/smtp-server.ts';
import { openBrowser, type Browser } from '../support/browser.ts';
import { consoleDomain, staffPassword } from '../support/console.ts';
import { formOf, openStaffedShop, sendForm, textOfPage } from '../support/counter-staff.ts';
import { until } from '../support/delivering.ts';
import { command } from '../support/served.ts';
import type { TestResponse } from '../support/service.ts';

const server = await smtpServer();
after(() => server[Symbol.asyncDispose]());
const shop = await openStaffedShop({
  environment: { SMTP_URL: server.url().reveal(), MAIL_FROM: 'cards@flowers.example' },
});
after(() => shop[Symbol.asyncDispose]());
const owner = await shop.as('owner');

const path = '/settings/texts';

/** Another browser of the owner. */
async function signIn(): Promise<Browser> {
  const browser = openBrowser(shop.service);
  await browser.post('/sign-in', { email: `owner@${consoleDomain}`, password: staffPassword });
  return browser;
}

type Stored = Readonly<Record<string, string>>;

/** The stored texts by language, kind and part. */
async function stored(): Promise<Stored> {
  const rows = await shop.service.query(
    'select language, kind, part, text from email_texts order by 1, 2, 3',
  );
  const texts = rows.map(({ language, kind, part, text }) => [
    `${String(language)} ${String(kind)} ${String(part)}`,
    String(text),
  ]);
  return Object.fromEntries(texts) as Stored;
}

function errorAt({ text }: TestResponse, name: string): string {
  return new RegExp(`id="${name}-error">([^<]*)<`).exec(text)?.[1] ?? '';
}

test('the texts of a language are saved once, shown again, and removed with an empty field', async () => {
  const saved = await sendForm(owner, `${path}?language=de`, {
    gift_card_subject: 'Ein Geschenk von {sender} <b>',
    gift_card_intro: 'Guten Tag,\r\n\r\nviel Freude mit {amount} bei {store}!',
    receipt_closing: 'Bis bald',
  });
  assert.equal(saved.status, 303, saved.text);
  assert.equal(saved.headers.get('location'), '/settings/texts?language=de&kind=gift_card&done=saved');
  const texts = {
    'de gift_card intro': 'Guten Tag,\n\nviel Freude mit {amount} bei {store}!',
    'de gift_card subject': 'Ein Geschenk von {sender} <b>',
    'de receipt closing': 'Bis bald',
  };
  assert.deepEqual(await stored(), texts);
  const page = await owner.get('/settings/texts?language=de&done=saved');
  assert.match(textOfPage(page), /The settings are saved\..* Gift card 2 own texts .* Receipt 1 own text /);
  assert.match(textOfPage(page), /Your emails are in English at present/);
  assert.match(textOfPage(page), /Standard: Geschenkkarte von \{store\}|Standard: .*\{store\}/);
  assert.equal(formOf(page, path)['gift_card_intro'], texts['de gift_card intro']);
  assert.ok(!page.text.includes('<b>'));
  // Each language has its own texts.
  assert.equal(formOf(await owner.get(path), path)['gift_card_subject'], '');
  const again = await owner.post(path, { ...saved.form, gift_card_subject: 'Other' });
  assert.match(again.headers.get('location') ?? '', /done=repeated$/);
  assert.deepEqual(await stored(), texts);
  const logged = await shop.service.query(
    "select details from staff_actions where action = 'settings-changed'",
  );
  assert.deepEqual(
    logged.map(({ details }) => (typeof details === 'string' ? details : JSON.stringify(details))),
    ['{"fields":"email_texts"}'],
  );
  assert.match(textOfPage(await owner.get('/audit')), /Changed the settings wording of emails/);
  assert.equal((await sendForm(owner, `${path}?language=de`, { receipt_closing: ' ' })).status, 303);
  const { 'de receipt closing': _, ...rest } = texts;
  assert.deepEqual(await stored(), rest);
});

test('a rejected text has its message at its field, with what was typed, and nothing is saved', async () => {
  const before = await stored();
  const wrong = {
    gift_card_subject: 'x'.repeat(151),
    receipt_intro: 'For {code}',
    expiry_reminder_greeting: 'Dear {sender},',
    balance_reminder_closing: 'a\u202eb',
  };
  const rejected = await sendForm(owner, path, { ...wrong, receipt_subject: 'Typed <i>' });
  assert.equal(rejected.status, 422);
  assert.match(errorAt(rejected, 'gift_card_subject'), /at most 150 characters/);
  assert.match(errorAt(rejected, 'receipt_intro'), /only for placeholders: \{store\}, .*\{sender\}/);
  assert.match(errorAt(rejected, 'expiry_reminder_greeting'), /\{recipient\}, \{expiry\}\./);
  assert.match(errorAt(rejected, 'balance_reminder_closing'), /not allowed/);
  for (const name of Object.keys(wrong))
    assert.match(rejected.text, new RegExp(`id="${name}"[^>]*aria-invalid="true"`), name);
  assert.equal(formOf(rejected, path)['receipt_subject'], 'Typed <i>');
  // The kinds of emails with an error are open.
  const open = Array.from(rejected.text.matchAll(/data-kind="(\w+)" open/g), ([, kind]) => kind);
  assert.deepEqual(open, ['gift_card', 'receipt', 'expiry_reminder', 'balance_reminder']);
  assert.deepEqual(await stored(), before);
  const form = formOf(await owner.get(path), path);
  const long = await owner.post(path, { ...form, gift_card_intro: 'x'.repeat(300_000) });
  assert.equal(long.status, 413);
  const unknown = await owner.post(path, { ...form, language: 'tlh', gift_card_heading: 'Hello' });
  assert.equal(unknown.headers.get('location'), '/settings/texts?language=en&kind=gift_card&done=saved');
  assert.equal((await stored())['en gift_card heading'], 'Hello');
  assert.equal((await sendForm(owner, path, { gift_card_heading: '' })).status, 303);
});

test('of two owners who change the texts, the second sees what has changed', async () => {
  const other = await signIn();
  const mine = formOf(await owner.get(`${path}?language=fr`), path);
  assert.equal((await sendForm(other, `${path}?language=fr`, { receipt_heading: 'Merci !' })).status, 303);
  const conflict = await owner.post(path, { ...mine, receipt_heading: 'Bonjour' });
  assert.equal(conflict.status, 409);
  assert.match(
    textOfPage(conflict),
    /have changed since you opened the form: wording of emails\..*Now: Merci !/,
  );
  const { 'fr receipt heading': kept } = await stored();
  assert.equal(kept, 'Merci !');
  assert.equal((await owner.post(path, formOf(conflict, path))).status, 303);
  assert.equal((await stored())['fr receipt heading'], 'Bonjour');
});

test('the preview shows unsaved texts of every language, and saves nothing', async () => {
  const before = await stored();
  const form = formOf(await owner.get(path), path);
  for (const [index, language] of languages.entries()) {
    const kind = emailKinds[index % emailKinds.length] ?? 'gift_card';
    const typed = { [`${kind}_subject`]: '<script>{amount}', [`${kind}_closing`]: 'One\r\n{store}' };
    const shown = await owner.post(`${path}/preview`, { ...form, ...typed, language, kind });
    assert.equal(shown.status, 200, shown.text);
    assert.ok(shown.text.startsWith(`<!doctype html>\n<html lang="${language}`), language);
    assert.equal(/<html[^>]* dir="rtl"/.test(shown.text), ['ar', 'he'].includes(language), language);
    assert.match(shown.text, /<strong><bdi>&lt;script&gt;[^<]*\d/);
    assert.match(shown.text, />One<br \/>/);
    assert.doesNotMatch(shown.text, /<script/);
    assert.match(shown.headers.get('content-security-policy') ?? '', /^sandbox; default-src 'none'; /);
  }
  const rejected = await owner.post(`${path}/preview`, { ...form, receipt_intro: '{code}', language: 'he' });
  assert.equal(rejected.status, 422);
  assert.match(textOfPage(rejected), /not up to date: Receipt, First lines: Braces are only for/);
  const saved = await owner.get(`${path}/preview?language=de&kind=gift_card`);
  assert.match(textOfPage(saved), /Subject: Ein Geschenk von Ada <b>/);
  for (const role of ['manager', 'cashier', 'accountant'] as const) {
    const browser = await shop.as(role);
    assert.equal((await browser.get(path)).status, 403, role);
    assert.equal((await browser.post(path, form)).status, 403, role);
    assert.equal((await browser.post(`${path}/preview`, form)).status, 403, role);
  }
  assert.deepEqual(await stored(), before);
});

const logo = Buffer.from(qrImage(new Secret('logo-of-flowers-1'), null).png);

/** Submits the form with a file. */
async function upload(browser: Browser, file: Uint8Array | null, name = 'logo.png'): Promise<TestResponse> {
  const fields = formOf(await browser.get('/settings'), '/settings/logo');
  const form = new FormData();
  form.set('key', fields['key'] ?? '');
  form.set(
    'logo_file',
    new Blob(file ? [new Uint8Array(file)] : [], { type: 'image/png' }),
    file ? name : '',
  );
  const sent = new Response(form);
  return await browser.request('/settings/logo', {
    method: 'POST',
    headers: { 'content-type': sent.headers.get('content-type') ?? '', 'sec-fetch-site': 'same-origin' },
    body: new Uint8Array(await sent.arrayBuffer()),
  });
}

test('an uploaded logo is checked, shown in previews, and removed', async () => {
  const svg = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>');
  for (const [file, message] of [
    [null, /Choose a file/],
    [svg, /not a PNG or JPEG/],
    [Buffer.concat([logo, Buffer.alloc(100_000)]), /more than 100 kB/],
  ] as const) {
    const rejected = await upload(owner, file);
    assert.equal(rejected.status, 422);
    assert.match(errorAt(rejected, 'logo_file'), message);
    assert.match(rejected.text, /id="logo_file"[^>]* aria-invalid="true"/);
  }
  // It is not read.
  const tooLong = await upload(owner, Buffer.alloc(1_100_000));
  assert.equal(tooLong.status, 422);
  assert.match(errorAt(tooLong, 'logo_file'), /more than 100 kB/);
  const broken = { 'content-type': 'multipart/form-data; boundary=x', 'sec-fetch-site': 'same-origin' };
  const request = { method: 'POST', headers: broken, body: '--y' };
  assert.equal((await owner.request('/settings/logo', request)).status, 400);
  // Other forms accept no file.
  assert.equal((await owner.request('/settings/emails', request)).status, 415);
  const manager = await shop.as('manager');
  assert.equal((await manager.post('/settings/logo', {})).status, 403);
  assert.equal((await manager.post('/settings/logo/remove', {})).status, 403);
  assert.deepEqual(await shop.service.query('select store_id from email_logos'), []);
  const saved = await upload(owner, logo);
  assert.equal(saved.headers.get('location'), '/settings?done=saved', saved.text);
  const [row] = await shop.service.query('select type, width, height, content from email_logos');
  const side = logo.readUInt32BE(16);
  assert.deepEqual(
    [row?.['type'], Number(row?.['width']), Number(row?.['height'])],
    ['image/png', side, side],
  );
  assert.ok(Buffer.from(row?.['content'] as Uint8Array).equals(logo));
  const page = await owner.get('/settings');
  assert.match(textOfPage(page), new RegExp(`The logo has ${side} × ${side} pixels`));
  // The file has precedence over an address.
  const form = {
    ...formOf(page, '/settings'),
    logo: 'https://flowers.example/logo.png',
  };
  const shown = await owner.post('/settings/preview', form);
  assert.ok(shown.text.includes(`<img class="logo" src="data:image/png;base64,${logo.toString('base64')}"`));
  assert.match(shown.text, /alt="Flowers" width="44" height="44"/);
  assert.match(shown.headers.get('content-security-policy') ?? '', /img-src data:;/);
  // Pages show it to anyone, from a URL that changes with it.
  for (const shownOn of ['/till', '/b']) {
    const [, image = ''] =
      /<img class="shop-logo" src="([^"]+)" width="40" height="40" alt="">/.exec(
        (await owner.get(shownOn)).text,
      ) ?? [];
    assert.match(image, /^\/b\/flowers\.example\/logo\?v=\d+$/, shownOn);
    const sent = await openBrowser(shop.service).get(image);
    assert.equal(sent.headers.get('content-type'), 'image/png');
    assert.match(sent.headers.get('cache-control') ?? '', /immutable/);
    assert.match(sent.headers.get('content-security-policy') ?? '', /^default-src 'none'/);
    assert.equal(Number(sent.headers.get('content-length')), logo.length);
  }
  const remove = formOf(page, '/settings/logo/remove');
  assert.equal((await owner.post('/settings/logo/remove', remove)).status, 303);
  assert.deepEqual(await shop.service.query('select store_id from email_logos'), []);
  const logged = await shop.service.query(
    "select details from staff_actions where action = 'settings-changed'",
  );
  const fields = logged.map(({ details }) => JSON.stringify(details)).filter((text) => /logo/.test(text));
  assert.equal(fields.length, 2);
  assert.equal((await upload(owner, logo)).status, 303);
});

test('an email has the logo and the texts that are stored when it is sent, and its page shows them', async () => {
  const sendOn = new Date(shop.service.clock.now() + 2 * 86_400_000).toISOString();
  const names = { recipient_name: 'Grace', sender_name: 'Ada' };
  const card = { recipient_email: 'grace@example.com', email: 'ada@example.com', ...names };
  assert.equal((await sendForm(owner, path, { gift_card_subject: 'Before' })).status, 303);
  const { code } = await shop.issue({ ...card, send_on: sendOn });
  await until(() => server.received.length === 1);
  const args = [
    'mail',
    'text',
    'gift_card',
    '--subject',
    'For {recipient} from {sender} at {store}',
  ] as const;
  const { output, errors } = await command(
    shop.service.environment,
    ...args,
    '--closing',
    'See you soon',
    '--json',
  );
  assert.deepEqual(JSON.parse(output || errors), {
    kind: 'gift_card',
    language: 'en',
    subject: 'For {recipient} from {sender} at {store}',
    heading: null,
    greeting: null,
    intro: null,
    closing: 'See you soon',
  });
  shop.service.clock.advance(2 * 86_400_000 + 1_000);
  await until(() => server.received.length === 2);
  const [receipt, gift] = receivedEmails(server);
  assert.ok(receipt && gift);
  assert.ok(
    receipt.headers.includes('Subject: Your gift card receipt from Flowers'),
    receipt.headers.join('\n'),
  );
  assert.ok(gift.headers.includes('Subject: For Grace from Ada at Flowers'), gift.headers.join('\n'));
  assert.equal(gift.code, code);
  assert.match(gift.text, /\r\n\r\nSee you soon\r\n/);
  const { attachments, html = '' } = await PostalMime.parse(server.received[1]?.message ?? '');
  const [inside, qr] = attachments;
  assert.deepEqual(
    [inside?.contentId, inside?.mimeType, inside?.disposition],
    ['<logo@largesse.invalid>', 'image/png', 'inline'],
  );
  assert.ok(Buffer.from(inside?.content as ArrayBuffer).equals(logo));
  assert.equal(qr?.contentId, '<gift-card-code@largesse.invalid>');
  assert.match(html, /<img class="logo" src="cid:logo@largesse\.invalid" alt="Flowers"/);
  assert.equal((await PostalMime.parse(server.received[0]?.message ?? '')).attachments.length, 1);
  // The session of the other browser has ended in the two days.
  const browser = await signIn();
  const { text: list } = await browser.get('/emails?kind=gift_card');
  const [, email = ''] = /"(\/emails\/\d+)"/.exec(list) ?? [];
  const { text: preview } = await browser.get(`${email}/preview`);
  assert.match(preview, /See you soon/);
  assert.ok(preview.includes(logo.toString('base64')), 'the logo is shown, the QR code is not');
  assert.equal(preview.match(/src="data:image\/png/g)?.length, 2);
  const rejected = await command(shop.service.environment, 'mail', 'text', 'receipt', '--subject', '{code}');
  assert.match(rejected.errors, /--subject can contain braces only in the placeholders \{store\}, /);
  assert.equal(rejected.code, 1);
});
