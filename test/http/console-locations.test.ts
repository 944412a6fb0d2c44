/** Locations on the pages: the owner's list, the location of a till, and what it is on receipts and in the day. */

import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { dayOf } from '../../src/core/domain/day.ts';
import { enrollDevice, enterPin, hiddenValue } from '../support/counter.ts';
import { openStaffedShop, sendForm, textOfPage } from '../support/counter-staff.ts';

const shop = await openStaffedShop({ store: { timeZone: 'Europe/Paris' } });
after(() => shop[Symbol.asyncDispose]());
const owner = await shop.as('owner');
const path = '/settings/locations';

type LocationRow = { readonly id: number; readonly name: string; readonly address: string | null };

async function stored(): Promise<readonly LocationRow[]> {
  const rows = await shop.service.query('select id, name, address from locations order by id');
  return rows as unknown as readonly LocationRow[];
}

test('a store without locations has one link to them, and no column or field', async () => {
  assert.match((await owner.get('/settings')).text, /href="\/settings\/locations"/);
  assert.match(textOfPage(await owner.get(path)), /Your store has no locations/);
  const pages = ['/tills', '/till/day', '/books/activity', '/books/journal', '/today', '/cards'];
  for (const page of [...pages, '/staff', '/staff/new', '/account'])
    assert.doesNotMatch((await owner.get(page)).text, /[Ll]ocation/, page);
});

test('an owner adds, changes, closes and opens locations, once and in the audit log', async () => {
  const { form, status } = await sendForm(owner, path, {
    name: 'Market <Street>',
    address: '12 Market Street\r\nSpringfield',
    time_zone: 'Asia/Tokyo',
  });
  assert.equal(status, 303);
  assert.equal((await owner.post(path, form)).status, 303);
  const [added, ...others] = await stored();
  assert.deepEqual(
    [added?.name, added?.address, others],
    ['Market <Street>', '12 Market Street\nSpringfield', []],
  );
  const own = `${path}/${String(added?.id)}`;
  for (const [changes, message] of [
    [{ name: '' }, /Enter a name\./],
    [{ name: 'x'.repeat(101) }, /A name is one line of at most 100 visible characters\./],
    [{ address: 'x'.repeat(501) }, /An address has at most 500 characters\./],
    [{ time_zone: 'Mars/Base' }, /Choose a time zone from the list\./],
  ] as const) {
    const rejected = await sendForm(owner, own, changes);
    assert.equal(rejected.status, 422);
    assert.match(textOfPage(rejected), message);
  }
  assert.equal((await sendForm(owner, own, { name: 'Market Street' })).status, 303);
  assert.equal((await sendForm(owner, own, {})).status, 303);
  assert.equal((await owner.post(`${own}/close`, {})).status, 303);
  assert.match(textOfPage(await owner.get(path)), /Market Street .*Closed/);
  assert.equal((await owner.post(`${own}/reopen`, {})).status, 303);
  const actions = await shop.service.query(
    "select action from staff_actions where action like 'location-%' order by id",
  );
  assert.deepEqual(
    actions.map(({ action }) => action),
    ['location-added', 'location-changed', 'location-closed', 'location-reopened'],
  );
  assert.match(textOfPage(await owner.get('/audit')), /Reopened a location/);
  for (const unknown of ['1', 'abc', '9007199254740993'])
    assert.equal((await owner.get(`${path}/${unknown}`)).status, 404, unknown);
  const manager = await shop.as('manager');
  for (const page of [path, own]) assert.equal((await manager.get(page)).status, 403);
  assert.equal((await manager.post(`${own}/close`, {})).status, 403);
});

test('a till at a location sells there, with its receipt and its day, until the location is closed', async () => {
  const [market] = await stored();
  const id = String(market?.id ?? assert.fail());
  const cashier = await shop.as('cashier');
  await cashier.post('/account/pin', { pin: '2580' });
  const manager = await shop.as('manager');
  const device = await enrollDevice(shop.service, manager, 'Counter');
  const [till] = await shop.service.query('select id from tills');
  const tills = `/tills/${String(till?.['id'])}/location`;
  assert.equal((await owner.post(tills, { location: '7' })).status, 422);
  assert.equal((await owner.post(tills, { location: id })).status, 303);
  assert.match((await owner.get('/tills')).text, new RegExp(`value="${id}" selected>Market Street`));
  assert.equal((await cashier.post(tills, { location: '' })).status, 403);
  await enterPin(device, 'cashier', '2580');
  const sell = async () => {
    const key = hiddenValue(await device.get('/till/sell?amount=30'), 'key');
    return await device.post('/till/sell', { amount: '30', key, how: 'new' });
  };
  const sold = await sell();
  assert.equal(sold.status, 303, sold.text);
  const [entry] = await shop.service.query('select location_id, created_at from transfers');
  assert.equal(String(entry?.['location_id']), id);
  const page = await device.get(sold.headers.get('location') ?? '');
  // Every page of the till names its location, and only who can move the till has the way there.
  const tillPage = await device.get('/till');
  assert.match(tillPage.text, /<small>Market Street<\/small>/);
  assert.match(tillPage.text, /Cashier · [^<]* · Market Street<\/span>/);
  assert.doesNotMatch(tillPage.text, /This till’s location/);
  const receiptPath = /href="(\/till\/receipts\/\d+)"/.exec(page.text)?.[1] ?? assert.fail(page.text);
  const receipt = textOfPage(await device.get(receiptPath));
  assert.match(receipt, /Market Street 12 Market Street Springfield/);
  const time = new Intl.DateTimeFormat('en', { timeStyle: 'short', timeZone: 'Asia/Tokyo' });
  assert.ok(receipt.includes(time.format(Number(entry?.['created_at'])).replaceAll(/\s/g, ' ')), receipt);
  assert.match(textOfPage(await owner.get('/till/day')), /By location Location .*Market Street €30\.00/);
  assert.doesNotMatch(textOfPage(await device.get('/till/day')), /By location/);
  assert.match(textOfPage(await owner.get('/books/activity?by=location')), /Market Street 1 30\.00/);
  assert.match(textOfPage(await owner.get(`/books/activity?by=day&location=${id}`)), /1 30\.00/);
  assert.doesNotMatch(textOfPage(await owner.get('/books/activity?by=day&location=none')), /1 30\.00/);
  const linked = /href="(\/books\/activity\?by=location[^"]*)"/.exec((await owner.get('/today')).text)?.[1];
  const linkedPage = await owner.get(linked?.replaceAll('&amp;', '&') ?? assert.fail('no link'));
  assert.match(textOfPage(linkedPage), /Market Street 1 30\.00/);
  const today = dayOf(shop.service.clock.now(), 'Europe/Paris');
  const journal = await owner.get(`/books/journal.csv?by=location&from=${today}&to=${today}`);
  assert.match(journal.text, /,Market Street\r\n/);

  await owner.post(`${path}/${id}/close`, {});
  const rejected = await sell();
  assert.equal(rejected.status, 422);
  assert.match(textOfPage(rejected), /Not possible at this location/);
  assert.equal((await shop.service.query('select id from transfers')).length, 1);
  assert.equal((await owner.post(tills, { location: '' })).status, 303);
  assert.equal((await device.get('/till')).status, 303, 'the device is signed out');
  await enterPin(device, 'cashier', '2580');
  assert.equal((await sell()).status, 303);
  assert.equal((await shop.service.query('select id from transfers')).length, 2);
});
