/** The page of recipients: what it shows, its limit on failed lookups, its stores, and the links in emails. */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { openBrowser, visitorAt } from '../support/browser.ts';
import { until } from '../support/delivering.ts';
import { createStoreElsewhere } from '../support/second-process.ts';
import { startService, type TestResponse, type TestService } from '../support/service.ts';
import { command } from '../support/served.ts';
import { shopOf } from '../support/shop.ts';

const domain = 'flowers.example';

function open(environment: Readonly<Record<string, string>> = {}): Promise<TestService> {
  return startService({ stores: [{ domain, name: 'Flowers', undoWindowMinutes: 15 }], environment });
}

/** A response without what differs between any two. */
function comparable({ status, headers, text }: TestResponse): object {
  const kept = [...headers].filter(([name]) => !['date', 'x-request-id', 'request-id'].includes(name));
  return { status, headers: kept, text };
}

test('a recipient sees the balance, state, expiry and history of the card, without data of staff', async () => {
  await using service = await open();
  const shop = await shopOf(service, domain);
  const card = await shop.issue({
    initial_value: '50.00',
    expires_on: '2031-12-31',
    sender_name: 'Ada <b>',
    recipient_name: 'Grace',
    message: 'Happy birthday!',
    note: 'internal note',
  });
  await shop.debits(card.id, '12.50', { reference: 'till 7', note: 'cashier note' });
  await shop.holds(card.id, '5.00');
  const browser = openBrowser(service);
  const grouped = (card.code.match(/.{4}/g) ?? []).join(' ').toUpperCase();
  for (const typed of [card.code, grouped, ` ${grouped.replaceAll(' ', '-')} `]) {
    const { status, text, headers } = await browser.post('/b', { code: typed });
    assert.equal(status, 200);
    for (const shown of [
      // $5.00 of the balance is on hold.
      '<small>$</small>32.50</span>',
      '$5.00</bdi> more is reserved',
      '$32.50 left of $50.00',
      '−$12.50',
      '+$50.00',
      'December 31, 2031',
      grouped,
    ])
      assert.ok(text.includes(shown), shown);
    assert.match(text, /Ada &lt;b&gt;/);
    assert.match(text, /Happy birthday!/);
    assert.doesNotMatch(text, /internal note|till 7|cashier note|api_client/);
    assert.doesNotMatch(text, new RegExp(String(card.id)));
    const [, title = ''] = /<title>([^<]*)<\/title>/.exec(text) ?? [];
    assert.equal(title, 'Gift card · Flowers');
    assert.equal(headers.get('cache-control'), 'no-store');
    assert.equal(headers.get('referrer-policy'), 'no-referrer');
    assert.match(headers.get('content-security-policy') ?? '', /^default-src 'none'; style-src 'self';/);
    assert.equal(headers.get('set-cookie'), null);
  }
  const form = await browser.get('/b');
  assert.equal(form.status, 200);
  assert.match(form.text, /<form [^>]*method="post" action="\/b">/);
  assert.match((await browser.get('/b/card')).text, /recipient\.js/);
  assert.equal((await browser.post('/b', { code: 'short' })).status, 422);
  // Another site cannot read the response: a store can have the form on its own pages.
  const type = { 'content-type': 'application/x-www-form-urlencoded', origin: 'https://flowers.example' };
  const foreign = {
    method: 'POST',
    headers: { ...type, 'sec-fetch-site': 'cross-site' },
    body: `code=${card.code}`,
  };
  const embedded = await browser.request('/b', foreign);
  assert.equal(embedded.status, 200);
  assert.equal(embedded.headers.get('access-control-allow-origin'), null);
  service.clock.advance(6 * 366 * 24 * 3_600_000);
  const expired = await browser.post('/b', { code: card.code });
  assert.equal(expired.status, 200);
  assert.match(expired.text, /<h1>This card has expired<\/h1>/);
  assert.match(expired.text, /valid until December 31, 2031 .*<bdi>\$37\.50<\/bdi> was left/);
  assertUnusable(expired, grouped);
  assert.doesNotMatch(service.log(), new RegExp(`${card.code}|${grouped.replaceAll(' ', '.?')}`, 'i'));
});

/** Checks that a page shows neither the code nor the colored card nor a large amount. */
function assertUnusable({ text }: TestResponse, grouped: string): void {
  assert.doesNotMatch(text, /show-code|class="gift|class="figure"|class="barcode"|class="sheet/);
  assert.ok(!text.includes(grouped));
}

test('a suspended card says so, without what can be spent, its symbols or the reason, until it is resumed', async () => {
  await using service = await open();
  const shop = await shopOf(service, domain);
  const { id, code } = await shop.issue({ initial_value: '50.00' });
  await shop.ask(`POST /gift_card/${id}/suspend`, { json: { reason: 'payment questioned' } });
  const browser = openBrowser(service);
  const { status, text } = await browser.post('/b', { code });
  assert.equal(status, 200);
  assert.match(text, /This card is stopped for now/);
  assert.doesNotMatch(text, /payment questioned|qr-tap|code-block/);
  await shop.ask(`POST /gift_card/${id}/resume`, { json: {} });
  assert.match((await browser.post('/b', { code })).text, /<small>\$<\/small>50\.00/);
});

test('a card that is used up looks so, and shows its code again after a refund', async () => {
  await using service = await open();
  const shop = await shopOf(service, domain);
  const card = await shop.issue({ initial_value: '50.00' });
  const debit = await shop.debits(card.id, '50.00');
  const browser = openBrowser(service);
  const grouped = (card.code.match(/.{4}/g) ?? []).join(' ').toUpperCase();
  const spent = await browser.post('/b', { code: card.code });
  assert.equal(spent.status, 200);
  assert.match(spent.text, /<h1>This card is used up<\/h1>/);
  assert.match(spent.text, /<dt>Last used<\/dt><dd><time/);
  assertUnusable(spent, grouped);
  const reversal = await shop.ask(`POST /transactions/${debit.id}/reverse`, { json: { amount: '20.00' } });
  assert.equal(reversal.status, 201);
  const refunded = await browser.post('/b', { code: card.code });
  assert.ok(refunded.text.includes(grouped));
  assert.ok(refunded.text.includes('<small>$</small>20.00</span>'));
});

test('the history has times, and the names and the local times of locations', async () => {
  await using service = await open();
  const shop = await shopOf(service, domain);
  const json = { name: 'Shibuya <East>', time_zone: 'Asia/Tokyo' };
  const created = await shop.ask('POST /locations', { json });
  const { location } = created.json as { readonly location: { readonly id: number } };
  const card = await shop.issue({ initial_value: '50.00' });
  await shop.debits(card.id, '12.50', { location_id: location.id });
  await shop.ask(`PUT /locations/${location.id}`, { json: { closed: true } });
  const { status, text } = await openBrowser(service).post('/b', { code: card.code });
  assert.equal(status, 200);
  const history = text.slice(text.indexOf('id="history"'));
  const timeIn = (timeZone: string, instant: string): string =>
    new Intl.DateTimeFormat('en-US', { dateStyle: 'long', timeStyle: 'short', timeZone }).format(
      Date.parse(instant),
    );
  const [redeemed = '', issued = ''] = Array.from(
    history.matchAll(/datetime="([^"]*)"/g),
    ([, at = '']) => at,
  );
  assert.ok(
    history.includes(
      `<bdi>Shibuya &lt;East&gt;</bdi><br><time datetime="${redeemed}">${timeIn('Asia/Tokyo', redeemed)}<`,
    ),
    history,
  );
  assert.ok(
    history.includes(`<span class="small soft"><time datetime="${issued}">${timeIn('UTC', issued)}<`),
    history,
  );
});

test('pages of recipients have the color of the store, in a file that any browser can keep', async () => {
  await using service = await open();
  const browser = openBrowser(service);
  const sheetOf = (text: string): string =>
    /<link rel="stylesheet" href="([^"]*\/brand-[^"]*)"/.exec(text)?.[1] ?? assert.fail(text);
  const { environment } = service;
  const args = ['store', 'update', domain, '--mail-colour', '#ffee00'] as const;
  assert.equal((await command(environment, ...args)).code, 0);
  const path = sheetOf((await browser.get('/b')).text);
  assert.match(path, /brand-ffee00\.css$/);
  const sheet = await browser.get(path);
  assert.equal(sheet.status, 200);
  assert.match(sheet.headers.get('content-type') ?? '', /^text\/css/);
  assert.match(sheet.headers.get('cache-control') ?? '', /immutable/);
  assert.match(sheet.text, /--brand: #ffee00;\n {2}--on-brand: #1a1a1a;/);
  // The yellow cannot be read on white, so it is darker there.
  assert.match(sheet.text, /--accent: light-dark\(#706900, #ffee00\);/);
  for (const name of ['brand-FFEE00.css', 'brand-ffee0.css', 'brand-ffee00.css.css', 'brand-.css'])
    assert.equal((await browser.get(path.replace('brand-ffee00.css', name))).status, 404, name);
});

test('a visitor chooses a language, which the URL keeps, and the card stays on the page without its code in a URL', async () => {
  await using service = await open();
  const shop = await shopOf(service, domain);
  const { code } = await shop.issue();
  const browser = openBrowser(service);
  const form = await browser.get('/b');
  const links = Array.from(form.text.matchAll(/<a href="\/b\?lang=([\w-]+)" lang="([\w-]+)" dir="(\w+)"/g));
  assert.equal(links.length, 16);
  for (const [, tag = '', language = '', direction = ''] of links) {
    assert.equal(language, tag);
    const chosen = await browser.get(`/b?lang=${tag}`);
    assert.equal(chosen.status, 200);
    assert.ok(chosen.text.includes(`<html lang="${tag}" dir="${direction}">`), tag);
    assert.ok(chosen.text.includes(`action="/b?lang=${tag}"`), 'the form keeps the language');
    assert.match(chosen.text, new RegExp(`<a [^>]*lang="${tag}"[^>]* aria-current="true">`));
    assert.equal(chosen.headers.get('set-cookie'), null);
  }
  for (const unknown of ['xx', '', 'EN', '%22%3E', 'x'.repeat(5_000)])
    assert.match((await browser.get(`/b?lang=${unknown}`)).text, /<html lang="en" .*action="\/b"/s, unknown);
  const card = await browser.post('/b', { code });
  assert.match(card.text, /<button [^>]*formaction="\/b\?lang=de" lang="de" dir="ltr">Deutsch<\/button>/);
  const german = await browser.post('/b?lang=de', { code });
  assert.equal(german.status, 200);
  assert.match(german.text, /<html lang="de"/);
  assert.match(german.text, /<a [^>]*href="\/b\?lang=de"/, 'another card is checked in the same language');
  assert.match(
    (await browser.post('/b?lang=ar', { code: 'zzzzzzzzzzzzzzzz' })).text,
    /<html lang="ar" dir="rtl"/,
  );
  for (const { text } of [card, german])
    for (const [, url = ''] of text.matchAll(/ (?:href|action|formaction|src)="([^"]*)"/g))
      assert.doesNotMatch(url, new RegExp(code, 'i'));
  // The language of the visitor's region formats the amounts.
  const austrian = await browser.request('/b?lang=de', {
    method: 'POST',
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      'sec-fetch-site': 'same-origin',
      'accept-language': 'en, de-AT',
    },
    body: `code=${code}`,
  });
  assert.match(austrian.text, /<bdi>\$\u00a025,00<\/bdi>/);
});

test('an unknown code, the code of a disabled card and a replaced code have the same response', async () => {
  await using service = await open();
  const shop = await shopOf(service, domain);
  const card = await shop.issue();
  assert.equal((await shop.ask(`PUT /gift_card/${card.id}`, { json: { disable: true } })).status, 200);
  const browser = openBrowser(service);
  const disabled = await browser.post('/b', { code: card.code });
  const unknown = await browser.post('/b', { code: 'zzzzzzzzzzzzzzzz' });
  assert.equal(unknown.status, 404);
  assert.deepEqual(comparable(disabled), comparable(unknown));
  const other = await shop.issue();
  assert.equal((await shop.ask(`POST /gift_card/${other.id}/rotate_code`)).status, 200);
  assert.deepEqual(comparable(await browser.post('/b', { code: other.code })), comparable(unknown));
  await until(async () => {
    const events = await service.query("select type from events where type = 'gift_card.retired_code_used'");
    return events.length > 0;
  });
  assert.doesNotMatch(unknown.text, /zzzz|\$\d/);
});

test('failed lookups are limited per client address, and a right code is always found', async () => {
  await using service = await open({ TRUSTED_PROXIES: '127.0.0.1' });
  const shop = await shopOf(service, domain);
  const card = await shop.issue();
  const disabled = await shop.issue();
  assert.equal((await shop.ask(`PUT /gift_card/${disabled.id}`, { json: { disable: true } })).status, 200);
  const short = await shop.issue({ code: 'flower42' });
  const guesser = visitorAt(service, '203.0.113.7');
  const wrong = (number: number): string => `zzzzzzzzzzzz${String(number).padStart(4, '0')}`;
  for (let count = 0; count < 10; count += 1) {
    assert.equal((await guesser('/b', { code: wrong(count) })).status, 404);
    assert.equal((await guesser('/b', { code: disabled.code })).status, 404);
    assert.equal((await guesser('/b', { code: card.code })).status, 200, 'a right code uses up nothing');
  }
  for (const code of [wrong(99), disabled.code]) {
    const { status, headers, text } = await guesser('/b', { code });
    assert.equal(status, 429);
    assert.ok(Number(headers.get('retry-after')) > 100);
    assert.match(text, /Too many wrong codes/);
  }
  assert.equal((await guesser('/b', { code: card.code })).status, 200);
  // A short code of the store's own could be guessed without a limit.
  assert.equal((await guesser('/b', { code: short.code })).status, 429);
  const other = visitorAt(service, '203.0.113.8');
  assert.equal((await other('/b', { code: short.code })).status, 200);
  assert.equal((await other('/b', { code: wrong(1) })).status, 404);
  const rows = await service.query("select caller from lookup_throttle where caller like 'recipient:%'");
  assert.equal(rows.length, 2);
  assert.doesNotMatch(JSON.stringify(rows), /203\.0/);
  service.clock.advance(3_600_000);
  assert.equal((await guesser('/b', { code: wrong(2) })).status, 404);
});

test('with several stores, each has its own page, and the first one keeps the page without a domain', async () => {
  await using service = await startService({ stores: [{ domain, name: 'Flowers' }] });
  const shop = await shopOf(service, domain);
  const { code } = await shop.issue();
  const browser = openBrowser(service);
  const before = await browser.get('/b/card');
  assert.equal(before.status, 200);
  // Its domain sorts before that of the first store.
  await createStoreElsewhere(service, 'books.example');
  const books = await shopOf(service, 'books.example');
  const other = await books.issue();
  assert.deepEqual(comparable(await browser.get('/b/card')), comparable(before));
  for (const path of ['/b', `/b/${domain}`]) assert.equal((await browser.post(path, { code })).status, 200);
  assert.equal((await browser.get(`/b/${domain}/card`)).status, 200);
  assert.equal((await browser.post('/b/books.example', { code: other.code })).status, 200);
  // No page searches the cards of another store.
  const unknown = await browser.post('/b', { code: 'zzzzzzzzzzzzzzzz' });
  assert.equal(unknown.status, 404);
  assert.match(unknown.text, /Flowers/);
  assert.deepEqual(comparable(await browser.post('/b', { code: other.code })), comparable(unknown));
  const elsewhere = await browser.post('/b/books.example', { code });
  assert.equal(elsewhere.status, 404);
  assert.doesNotMatch(elsewhere.text, /Flowers/);
  for (const path of ['/b/unknown.example', '/b/no%20host'])
    assert.equal((await browser.get(path)).status, 404, path);
});

test('the demonstration has a page for this machine until there is a real store', async () => {
  await using service = await startService();
  const issued = await service.request('/gift_card', { method: 'POST', json: { initial_value: 25 } });
  const { code } = (issued.json as { readonly gift_card: { readonly code: string } }).gift_card;
  const browser = openBrowser(service);
  assert.equal((await browser.post('/b', { code })).status, 200);
  assert.equal((await browser.post('/b/demo.localhost', { code })).status, 200);
  await createStoreElsewhere(service, domain);
  for (const path of ['/b', '/b/demo.localhost'])
    assert.equal((await browser.post(path, { code })).status, 404, path);
});

test('the email of a card links to its page, where a browser keeps the code for itself', async () => {
  const emailed = async (stores: readonly string[], environment: Readonly<Record<string, string>>) => {
    await using service = await startService({
      stores: stores.map((each) => ({ domain: each })),
      environment,
    });
    const basePath = environment['BASE_PATH'] ?? '';
    const shop = await shopOf(service, domain, { basePath });
    const { id, code } = await shop.issue({ recipient_email: 'grace@example.com' });
    await until(async () => {
      const { json } = await service.request(`/gift_card/${id}/deliveries`, { token: shop.token });
      return (json as { deliveries: readonly { status: string }[] }).deliveries[0]?.status === 'kept';
    });
    const folder = join(service.database.folder, 'mails');
    const file = readdirSync(folder).find((name) => name.endsWith('.json')) ?? '';
    const { html: text } = JSON.parse(readFileSync(join(folder, file), 'utf8')) as { readonly html: string };
    assert.doesNotMatch(service.log(), new RegExp(code, 'i'));
    const link = /<a class="button" href="([^"]*)"/.exec(text)?.[1];
    return link?.replace(code.toUpperCase(), 'CODE');
  };
  const published = { PUBLIC_URL: 'https://cards.flowers.example' };
  const at = published.PUBLIC_URL;
  assert.equal(await emailed([domain], { ...published, BASE_PATH: '/x' }), `${at}/x/b/${domain}/card#CODE`);
  assert.equal(await emailed([domain, 'books.example'], published), `${at}/b/${domain}/card#CODE`);
  assert.equal(await emailed([domain], {}), undefined);
});

test('a page says who the shop is, and a card that cannot be used says how to call the shop', async () => {
  await using service = await open();
  const shop = await shopOf(service, domain);
  const { environment } = service;
  const known = [
    ['--website', 'https://flowers.example'],
    ['--phone', '+33 1 42 00'],
    ['--hours', 'Mo–Sa <9–19>\nSo'],
    ['--terms', 'https://flowers.example/agb'],
  ].flat();
  assert.equal((await command(environment, 'store', 'update', domain, ...known)).code, 0);
  const place = { name: 'Market', address: '12 <b>Street</b>\n75001 Paris' };
  const { json } = await shop.ask('POST /locations', { json: place });
  const { id: locationId } = (json as { readonly location: { readonly id: number } }).location;
  const card = await shop.issue({ initial_value: '50.00', location_id: locationId });
  const browser = openBrowser(service);
  const footerOf = ({ text }: TestResponse) => /<footer class="identity.*?<\/footer>/s.exec(text)?.[0] ?? '';
  const identity = [
    '<bdi>Flowers</bdi>',
    '<p dir="auto">Mo–Sa &lt;9–19&gt;</p><p dir="auto">So</p>',
    'href="tel:+3314200"',
    'href="https://flowers.example/"',
    'href="https://flowers.example/agb"',
  ];
  const form = footerOf(await browser.get('/b'));
  for (const shown of identity) assert.ok(form.includes(shown), shown);
  const opened = await browser.post('/b', { code: card.code });
  for (const shown of [...identity, '12 &lt;b&gt;Street&lt;/b&gt;'])
    assert.ok(footerOf(opened).includes(shown), shown);
  assert.ok(!opened.text.includes('class="button first" href="tel:'));
  // The sheet that is printed names the shop and its location.
  const [, sheet = ''] = opened.text.split('class="sheet only-print"');
  for (const shown of [
    '<bdi>75001 Paris</bdi>',
    '<bdi>+33 1 42 00</bdi>',
    'flowers.example/agb',
    '<bdi>So</bdi>',
  ])
    assert.ok(sheet.includes(shown), shown);
  await shop.ask(`POST /gift_card/${card.id}/suspend`, { json: {} });
  const stopped = await browser.post('/b', { code: card.code });
  assert.match(stopped.text, /<a class="button first" href="tel:\+3314200">Call the store/);
  assert.equal((await browser.get('/b/logo')).status, 404);
});
