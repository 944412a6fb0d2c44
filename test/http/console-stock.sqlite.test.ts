/** The page of the stock of printed cards. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { readTableFile } from '../../src/features/batches/service/table-file.ts';
import { joinAs } from '../support/counter.ts';
import { formOf, openStaffedShop, textOfPage } from '../support/counter-staff.ts';
import { until } from '../support/delivering.ts';
import { startService } from '../support/service.ts';
import { shopOf } from '../support/shop.ts';
import { money } from '../support/fixtures.ts';
import { locationOf, plainText } from '../support/till.ts';

test('the page lists what was printed, sold, left and voided, for people who read cards', async () => {
  await using service = await startService({ stores: [{ domain: 'flowers.example', name: 'Flowers' }] });
  const shop = await shopOf(service, 'flowers.example');
  const accountant = await joinAs(service, { role: 'accountant', name: 'ann' });
  const empty = await accountant.get('/cards/stock');
  assert.match(plainText(empty), /There are no printed cards in stock/);
  const codes = Array.from({ length: 7 }, (_, place) => `COUNTED-CODE-${place}`);
  const created = await shop.ask('POST /stocks', {
    json: { name: 'Counter <b>', codes, minimum_value: 10, maximum_value: 150 },
  });
  const { id } = (created.json as { readonly stock: { readonly id: number } }).stock;
  await until(async () => (await shop.ask(`GET /stocks/${id}`)).text.includes('"complete"'));
  await shop.creates({ json: { code: codes[0], initial_value: '25.00' } });
  await shop.ask(`POST /stocks/${id}/void`, { json: { codes: codes.slice(1, 3) } });
  const page = await accountant.get('/cards/stock');
  assert.equal(page.status, 200);
  assert.match(page.text, /Counter &lt;b&gt;/);
  const cells = [...page.text.matchAll(/<td role="cell" class="sum">(\d+)<\/td>/g)].map(([, count]) =>
    Number(count),
  );
  assert.deepEqual(cells, [7, 1, 4, 2]);
  assert.match(plainText(page), /\$10\.00 – \$150\.00/);
  for (const code of codes)
    assert.ok(!page.text.toLowerCase().includes(code.toLowerCase().replaceAll('-', '')));
  const cashier = await joinAs(service, { role: 'cashier', name: 'ben' });
  assert.equal((await cashier.get('/cards/stock')).status, 403);
});

const path = '/cards/stock';

/** The codes of a CSV file. */
function codesIn(text: string): readonly string[] {
  return text
    .split('\r\n')
    .slice(1, -1)
    .map((line) => (line.split(',')[1] ?? '').replace(/^'/, ''));
}

test('managers print cards as stock, download their codes for a day, and void what is left', async () => {
  await using shop = await openStaffedShop({ store: { issueLimit: money('500', 'EUR') } });
  const manager = await shop.as('manager');
  const form = formOf(await manager.get(`${path}/new`), `${path}/new`);
  const print = (fields: Readonly<Record<string, string>>) =>
    manager.post(`${path}/new`, { ...form, ...fields });

  const wrong: readonly (readonly [fields: Readonly<Record<string, string>>, error: RegExp])[] = [
    [{ count: '0' }, /Enter a number from 1 to 10,000/],
    [{ count: '10001' }, /Enter a number from 1 to 10,000/],
    [{ count: '3', value: '2,5x' }, /Enter an amount, such as/],
    [{ count: '3', value: '25', minimum: '10' }, /Enter either one amount for all cards, or limits/],
    [{ count: '3', minimum: '20', maximum: '10' }, /The lowest amount is above the highest/],
    [{ count: '3', value: '501' }, /The highest amount in this store is €500\.00/],
    [{ count: '3', months: '121' }, /Enter a number of months from 1 to 120/],
    [{ count: '3', name: 'x'.repeat(101) }, /Enter at most 100 characters/],
  ];
  for (const [fields, error] of wrong) {
    const rejected = await print(fields);
    assert.equal(rejected.status, 422);
    assert.match(textOfPage(rejected), error);
  }
  assert.match(textOfPage(await manager.get(path)), /There are no printed cards in stock/);

  const fields = { count: '3', minimum: '10,00', months: '36', name: 'Counter' };
  const at = locationOf(await print(fields));
  assert.match(at, /^\/cards\/stock\/\d+$/);
  // The same form again is the same stock.
  assert.equal(locationOf(await print({ ...fields, count: '9' })), at);
  await until(async () => textOfPage(await manager.get(at)).includes('until'));
  const page = textOfPage(await manager.get(at));
  assert.match(page, /3 of 3 codes added/);
  assert.match(page, /€10\.00 – €500\.00/);
  assert.match(page, /36 months from the sale/);
  assert.match(page, /Printed\s*3\s*Sold\s*0\s*Left\s*3\s*Voided\s*0/);

  const file = await manager.post(`${at}/codes.csv`);
  assert.equal(file.headers.get('cache-control'), 'no-store');
  const codes = codesIn(file.text);
  assert.equal(new Set(codes).size, 3);
  const workbook = await manager.post(`${at}/codes.xlsx`);
  const { text, sheet } = await readTableFile(workbook.bytes ?? assert.fail(), { decimalSign: '.' });
  assert.equal(sheet, 'Counter');
  assert.match(text, new RegExp(`^Number\tCode\tValue\tLowest value.*\n1\t${codes[0]}\t\t10\t500\tEUR\n`));
  const sold = await shop.ask('POST /gift_card', {
    json: { code: codes[0], initial_value: '25.00', stock: 'required' },
  });
  assert.equal(sold.status, 201, sold.text);
  const sheets = await manager.get(`${at}/print`);
  assert.equal(sheets.text.split('class="sheet"').length, 3);
  assert.match(textOfPage(sheets), /Cards 2 to 3 of the 3 of this stock/);
  const labels = await manager.get(`${at}/print?per=8&from=2`);
  assert.equal(labels.text.split('class="label"').length, 2);
  const shown = sheets.text.replaceAll(/<[^>]*>|[\s-]/g, '').toLowerCase();
  assert.deepEqual(
    codes.map((code) => shown.includes(code)),
    [false, true, true],
  );

  const confirmation = formOf(await manager.get(`${at}/void`), `${at}/void`);
  assert.match(textOfPage(await manager.get(`${at}/void`)), /Void all 2 cards that are left\?/);
  assert.equal((await manager.post(`${at}/void`, {})).status, 422);
  assert.match(textOfPage(await manager.get(at)), /Voided\s*0/);
  for (const _time of [1, 2]) assert.equal(locationOf(await manager.post(`${at}/void`, confirmation)), at);
  assert.match(textOfPage(await manager.get(at)), /Sold\s*1\s*Left\s*0\s*Voided\s*2/);
  const voided = await shop.ask('POST /gift_card', { json: { code: codes[1], initial_value: '25.00' } });
  assert.equal(voided.status, 422);
  assert.deepEqual(codesIn((await manager.post(`${at}/codes.csv`)).text), []);

  const audit = textOfPage(await (await shop.as('owner')).get('/audit'));
  for (const action of [
    'Added printed cards to the stock',
    'Read the codes of printed cards',
    'Voided printed cards',
  ])
    assert.ok(audit.includes(action), action);
  shop.service.clock.advance(25 * 3_600_000);
  assert.equal((await (await shop.as('manager')).get(`${at}/print`)).status, 303);
});

test('people who read cards see the counts of a stock, and no code, form or button', async () => {
  await using shop = await openStaffedShop();
  const manager = await shop.as('manager');
  const form = formOf(await manager.get(`${path}/new`), `${path}/new`);
  const at = locationOf(await manager.post(`${path}/new`, { ...form, count: '2', value: '25' }));
  await until(async () => textOfPage(await manager.get(at)).includes('until'));
  const accountant = await shop.as('accountant');
  const page = await accountant.get(at);
  assert.equal(page.status, 200);
  assert.match(textOfPage(page), /€25\.00/);
  for (const part of ['codes.csv', '/print', '/void']) assert.ok(!page.text.includes(part), part);
  assert.ok(!(await accountant.get(path)).text.includes(`${path}/new`));
  for (const url of [`${path}/new`, `${at}/print`, `${at}/void`])
    assert.equal((await accountant.get(url)).status, 403, url);
  for (const url of [`${path}/new`, `${at}/codes.csv`, `${at}/void`])
    assert.equal((await accountant.post(url, {})).status, 403, url);
  assert.equal((await shop.as('cashier').then((cashier) => cashier.get(at))).status, 403);
  for (const url of [`${path}/1`, `${path}/x`, `${path}/99999999999999999999`])
    assert.equal((await manager.get(url)).status, 404, url);
});

test('managers add codes of cards that are printed already, and void some of them', async () => {
  await using shop = await openStaffedShop({ store: { lookupFailuresPerHour: 6 } });
  const manager = await shop.as('manager');
  const form = formOf(await manager.get(`${path}/new`), `${path}/new`);
  const send = (fields: Readonly<Record<string, string>>) =>
    manager.post(`${path}/new`, { ...form, ...fields });
  const own = ['OWN-CODE-0001', 'own code 0002', 'OWNCODE0003'];
  await shop.issue({ code: 'taken-code-1' });
  const wrong: readonly (readonly [fields: Readonly<Record<string, string>>, error: RegExp])[] = [
    [{ codes: '' }, /Enter a number from 1 to 10,000/],
    [{ codes: own.join('\n'), count: '3' }, /Enter either a number of cards, or codes/],
    [{ codes: `${own.join('\n')}\nshort\nowncode0001` }, /Lines 4: A code has 8 to 20/],
    [{ codes: `${own.join('\n')}\nowncode0001` }, /Lines 4: a code has 8 to 20 .*, and occurs only once/],
    [{ codes: Array.from({ length: 7 }, (_, place) => `MANY-CODE-${place}`).join('\n') }, /at most 6 codes/],
    [{ codes: `${own.join('\r\n')}\r\n\r\ntaken-code-1` }, /Lines 5: these codes were used before/],
  ];
  for (const [fields, error] of wrong) {
    const rejected = await send(fields);
    assert.equal(rejected.status, 422);
    assert.match(textOfPage(rejected), error);
    assert.doesNotMatch(rejected.text, /own.?code/i, 'a page has no code');
  }
  const at = locationOf(await send({ codes: own.join('\r\n'), value: '25' }));
  await until(async () => textOfPage(await manager.get(at)).includes('3 of 3 codes added'));

  const confirmation = formOf(await manager.get(`${at}/void`), `${at}/void`);
  const voids = (codes: string) => manager.post(`${at}/void`, { ...confirmation, codes });
  for (const codes of ['OWN-CODE-0001\nTAKEN-CODE-1', 'UNKNOWN-CODE-1']) {
    const rejected = await voids(codes);
    assert.equal(rejected.status, 422);
    assert.match(textOfPage(rejected), /Lines [12]: these cards are not in this stock/);
  }
  assert.match(textOfPage(await manager.get(at)), /Left\s*3\s*Voided\s*0/);
  assert.equal(locationOf(await voids('own-code-0001')), at);
  assert.match(textOfPage(await manager.get(at)), /Left\s*2\s*Voided\s*1/);
  const sold = await shop.ask('POST /gift_card', { json: { code: 'owncode0003', initial_value: '25.00' } });
  assert.equal(sold.status, 201, sold.text);
  // One taken code in the form, and two unknown ones, have used up three of six lookups.
  const rest = formOf(await manager.get(`${at}/void`), `${at}/void`);
  const four = ['UNKNOWN-CODE-2', 'UNKNOWN-CODE-3', 'UNKNOWN-CODE-4', 'UNKNOWN-CODE-5'].join('\n');
  const throttled = await manager.post(`${at}/void`, { ...rest, codes: four });
  assert.equal(throttled.status, 422);
  assert.match(textOfPage(throttled), /Try again later, or with fewer codes/);
});
