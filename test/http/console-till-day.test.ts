/** The day at the till and receipts: who sees which figures, and that they are those of the activity report. */

import assert from 'node:assert/strict';
import test from 'node:test';
import type { Browser } from '../support/browser.ts';
import { enrollDevice, enterPin, hiddenValue, joinAs } from '../support/counter.ts';
import { command } from '../support/served.ts';
import { startService, type TestService } from '../support/service.ts';

async function openShop(): Promise<TestService> {
  return await startService({
    stores: [{ domain: 'flowers.example', name: 'Flowers', timeZone: 'Europe/Paris' }],
  });
}

/** Sells a card with a new code. @returns the path of its receipt, the code and the page of the result. */
async function sell(browser: Browser, amount: string) {
  const key = hiddenValue(await browser.get(`/till/sell?amount=${amount}`), 'key');
  const { headers } = await browser.post('/till/sell', { amount, key, how: 'new' });
  const path = headers.get('location') ?? '';
  const page = await browser.get(path);
  const code = /id="new-code">([^<]+)</.exec(page.text)?.[1]?.replaceAll(' ', '') ?? assert.fail(page.text);
  const receipt = /href="(\/till\/receipts\/\d{16})"/.exec(page.text)?.[1] ?? assert.fail(page.text);
  return { path, page, code, receipt };
}

async function redeem(service: TestService, code: string, amount: string): Promise<string> {
  const token = await service.token('flowers.example');
  const { json, text } = await service.request('/gift_card/redeem', {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ code, amount, reference: 'Bon <1017>' }),
  });
  const transaction = (json as { readonly transaction?: { readonly id: number } }).transaction;
  return String(transaction?.id ?? assert.fail(text));
}

async function refund(browser: Browser, entry: string, amount: string): Promise<void> {
  const path = `/till/refund/entry/${entry}`;
  const { status, text } = await browser.post(path, {
    amount,
    key: hiddenValue(await browser.get(path), 'key'),
  });
  assert.equal(status, 303, text);
}

/** The amounts of a row of a table, by the name of the row. */
function rowOf(text: string, name: string): readonly string[] {
  const [, row = ''] = new RegExp(`role="rowheader">${name}</th>(.*?)</tr>`).exec(text) ?? [];
  return Array.from(row.matchAll(/<td[^>]*>(?:([^<]*)<br>)?/g), ([, amount = '']) => amount);
}

test('managers see everyone, and cashiers see their own figures and those of their till', async () => {
  await using service = await openShop();
  const manager = await joinAs(service, { role: 'manager' });
  const ann = await joinAs(service, { role: 'cashier', name: 'ann' });
  const ben = await joinAs(service, { role: 'cashier', name: 'ben' });
  await ann.post('/account/pin', { pin: '2580' });
  await ben.post('/account/pin', { pin: '1470' });
  const other = await joinAs(service, { role: 'manager', name: 'mia' });
  const device = await enrollDevice(service, other, 'Counter & Co');
  const empty = await ann.get('/till/day');
  assert.match(empty.text, /There are no entries on this day yet/);

  await enterPin(device, 'ann', '2580');
  const sold = await sell(device, '50.00');
  const entry = await redeem(service, sold.code, '20.00');
  await refund(device, entry, '12.00');
  await device.post('/till/lock');
  await enterPin(device, 'ben', '1470');
  await sell(device, '30.00');
  const cancelled = await sell(device, '99.00');
  await device.post(`${cancelled.path}/cancel`, { key: hiddenValue(cancelled.page, 'key') });
  await sell(ann, '7.00');

  const all = (await manager.get('/till/day')).text;
  assert.deepEqual(rowOf(all, 'ann'), ['$57.00', '', '$12.00']);
  assert.deepEqual(rowOf(all, 'ben'), ['$30.00', '', '']);
  assert.deepEqual(rowOf(all, 'Counter &amp; Co'), ['$80.00', '', '$12.00']);
  assert.deepEqual(rowOf(all, 'Other devices'), ['$7.00', '', '']);
  assert.match(all, /<dt>Sold<\/dt><dd class="sum">3 cards · \$87\.00/);
  assert.match(all, /<dt>Cancelled sales<\/dt><dd class="sum">1 · \$99\.00/);

  const own = (await device.get('/till/day')).text;
  assert.match(own, /Your figures/);
  assert.match(own, /<dt>Sold<\/dt><dd class="sum">1 card · \$30\.00/);
  assert.match(own, /<dt>Sold<\/dt><dd class="sum">2 cards · \$80\.00/);
  // The key of a form can have three letters of a name by chance.
  assert.doesNotMatch(own.replaceAll(/ value="[^"]*"/g, ''), /ann|By staff|\$7\.00/);
  const unenrolled = (await ann.get('/till/day')).text;
  assert.match(unenrolled, /2 cards · \$57\.00/);
  assert.doesNotMatch(unenrolled, /\$80\.00|\$30\.00|This till/);
});

test('the figures of a person are those of the activity report', async () => {
  await using service = await openShop();
  const manager = await joinAs(service, { role: 'manager' });
  const first = await sell(manager, '50.00');
  await sell(manager, '25.50');
  const entry = await redeem(service, first.code, '20.00');
  await refund(manager, entry, '12.34');
  const found = await manager.post('/till/refund/find', { find: first.code });
  const card = found.headers.get('location') ?? '';
  const added = await manager.post(`${card}/add`, {
    amount: '3.21',
    key: hiddenValue(await manager.get(`${card}/add`), 'key'),
  });
  assert.equal(added.status, 303, added.text);
  const { text } = await manager.get('/till/day');
  const day = /name="day" value="([\d-]+)"/.exec(text)?.[1] ?? assert.fail(text);
  const token = await service.token('flowers.example');
  const { json } = await service.request(`/reports/activity?by=actor&from=${day}&to=${day}`, {
    headers: { authorization: `Bearer ${token}` },
  });
  const { rows } = (json as { readonly activity: { readonly rows: readonly Record<string, string>[] } })
    .activity;
  const own = rows.find(({ group }) => group?.startsWith('staff:'));
  assert.deepEqual([own?.['issued'], own?.['refunded'], own?.['topped_up']], ['75.50', '12.34', '3.21']);
  assert.match(text, /2 cards · \$75\.50/);
  assert.match(text, /<dt>Refunded<\/dt><dd class="sum">1 · \$12\.34/);
  assert.match(text, /<dt>Added<\/dt><dd class="sum">1 · \$3\.21/);
});

test('a day is in the time zone of the store, and a day that is not one shows today', async () => {
  await using service = await openShop();
  const ann = await joinAs(service, { role: 'cashier', name: 'ann' });
  await sell(ann, '10.00');
  const today = hiddenDay((await ann.get('/till/day')).text);
  service.clock.advance(24 * 60 * 60_000);
  const again = await ann.post('/sign-in', {
    email: 'ann@flowers.example',
    password: 'correct horse battery',
  });
  assert.equal(again.status, 303);
  assert.match((await ann.get('/till/day')).text, /0 cards/);
  assert.match((await ann.get(`/till/day?day=${today}`)).text, /1 card · \$10\.00/);
  for (const day of ['2999-01-01', '2026-02-30', 'x', `${today}${'0'.repeat(5_000)}`]) {
    const { status, text } = await ann.get(`/till/day?day=${day}`);
    assert.equal(status, 200, day);
    assert.match(text, /Today is shown/, day);
  }
  assert.equal((await ann.get('/till/day?day=0001-01-01')).status, 200);
});

function hiddenDay(text: string): string {
  return /name="day" value="([\d-]+)"/.exec(text)?.[1] ?? assert.fail(text);
}

test('entries are listed in pages of 50', async () => {
  await using service = await openShop();
  const ann = await joinAs(service, { role: 'cashier', name: 'ann' });
  for (let count = 0; count < 53; count += 1) await sell(ann, `${count + 1}.00`);
  const first = (await ann.get('/till/day')).text;
  const receiptsIn = (text: string) => text.match(/href="\/till\/receipts\/\d{16}"/g) ?? [];
  assert.equal(receiptsIn(first).length, 50);
  const [, older = ''] = /href="(\/till\/day\?day=[^"]*before=\d+)"/.exec(first) ?? [];
  const second = (await ann.get(older.replaceAll('&amp;', '&'))).text;
  assert.equal(receiptsIn(second).length, 3);
  assert.equal(new Set([...receiptsIn(first), ...receiptsIn(second)]).size, 53);
});

test('a receipt has the shop, the balance, the till and the person, and no code', async () => {
  await using service = await openShop();
  const owner = await joinAs(service, { role: 'owner' });
  const ann = await joinAs(service, { role: 'cashier', name: 'ann' });
  await ann.post('/account/pin', { pin: '2580' });
  const device = await enrollDevice(service, owner);
  await enterPin(device, 'ann', '2580');
  const { receipt, code } = await sell(device, '50.00');
  const known = [
    '--website',
    'https://flowers.example/a',
    '--phone',
    '+33 1 42',
    '--hours',
    'Mo–Sa <9>\nSo',
  ] as const;
  const terms = ['--terms', 'https://flowers.example/agb'] as const;
  const { environment } = service;
  assert.equal(
    (await command(environment, 'store', 'update', 'flowers.example', ...known, ...terms)).code,
    0,
  );
  const { text } = await device.get(receipt);
  for (const shown of [
    '<h1 dir="auto">Flowers</h1><p dir="auto">flowers.example/a</p><p dir="auto">+33 1 42</p>',
    '<p dir="auto">Mo–Sa &lt;9&gt;</p><p dir="auto">So</p>',
    '<p>Terms of gift cards: <bdi>flowers.example/agb</bdi></p>',
  ])
    assert.ok(text.includes(shown), shown);
  for (const part of [
    'Flowers',
    'Gift card sold',
    '$50.00',
    'Till “Counter”',
    'ann',
    code.slice(-4).toLowerCase(),
  ])
    assert.ok(text.includes(part), `${part}: ${text}`);
  assert.ok(!text.replaceAll(' ', '').toLowerCase().includes(code.toLowerCase()));
  const redeemed = await device.get(`/till/receipts/${await redeem(service, code, '20.00')}`);
  for (const part of ['Gift card redeemed', '−$20.00', '$30.00', 'Bon &lt;1017&gt;'])
    assert.ok(redeemed.text.includes(part), `${part}: ${redeemed.text}`);
  for (const id of ['1', 'x', '9007199254740991', '4503599627370496'])
    assert.equal((await device.get(`/till/receipts/${id}`)).status, 404, id);
});

test('the pages are in the four languages', async () => {
  await using service = await openShop();
  const manager = await joinAs(service, { role: 'manager' });
  const { path, receipt } = await sell(manager, '50.00');
  const words = {
    en: ['Day at the till', 'Sell a card', 'Sold', 'Gift card sold', 'Refund to a card', 'Tills'],
    de: [
      'Tag an der Kasse',
      'Karte verkaufen',
      'Verkauft',
      'Geschenkkarte verkauft',
      'Auf eine Karte erstatten',
      'Kassen',
    ],
    fr: [
      'Journée en caisse',
      'Vendre une carte',
      'Vendue',
      'Carte cadeau vendue',
      'Rembourser sur une carte',
      'Caisses',
    ],
    es: [
      'Día en la caja',
      'Vender una tarjeta',
      'Vendida',
      'Tarjeta regalo vendida',
      'Reembolsar en una tarjeta',
      'Cajas',
    ],
  };
  const paths = ['/till/day', '/till/sell', path, receipt, '/till/refund', '/tills'];
  for (const [language, expected] of Object.entries(words))
    for (const [index, page] of paths.entries()) {
      const headers = { 'accept-language': language, 'sec-fetch-site': 'same-origin' };
      const { text } = await manager.request(page, { headers });
      assert.match(text, new RegExp(`<html lang="${language}\\b`), page);
      assert.ok(text.includes(expected[index] ?? 'missing'), `${language} ${page}: ${text}`);
    }
});
