/** Pages of a person who is limited to locations, and the choice of a location on pages of the others. */

import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { dayOf } from '../../src/core/domain/day.ts';
import { openBrowser, type Browser } from '../support/browser.ts';
import { consoleDomain, invite, staffPassword as password } from '../support/console.ts';
import { hiddenValue } from '../support/counter.ts';
import { openStaffedShop, sendForm, textOfPage } from '../support/counter-staff.ts';
import { command } from '../support/served.ts';

const shop = await openStaffedShop({ store: { timeZone: 'Europe/Paris' } });
after(() => shop[Symbol.asyncDispose]());
const { environment } = shop.service;
const owner = await shop.as('owner');

async function addLocation(name: string): Promise<string> {
  assert.equal((await sendForm(owner, '/settings/locations', { name })).status, 303);
  const [row] = await shop.service.query(`select id from locations where name = '${name}'`);
  return String(row?.['id']);
}

const [market, harbour, airport] = [
  await addLocation('Market'),
  await addLocation('Harbour'),
  await addLocation('Airport'),
];

/** Invites a person with the form of the office. */
async function inviteTo(locations: readonly string[], email: string): Promise<Browser> {
  const boxes = Object.fromEntries(locations.map((id) => [`at_${id}`, '1']));
  const invited = await sendForm(owner, '/staff/new', { name: 'Mia', email, role: 'manager', ...boxes });
  assert.equal(invited.status, 303, invited.text);
  const page = await owner.get(invited.headers.get('location') ?? '');
  const link = /id="link">([^<]+)</.exec(page.text)?.[1] ?? assert.fail(page.text);
  const browser = openBrowser(shop.service);
  const joined = await browser.post(new URL(link).pathname, { password });
  assert.equal(joined.status, 303, joined.text);
  return browser;
}

const limited = await inviteTo([market, harbour], 'mia@flowers.example');
const [mia] = await shop.service.query("select id from staff where email = 'mia@flowers.example'");
const pathOfMia = `/staff/${String(mia?.['id'])}`;

async function sell(browser: Browser, amount: string): Promise<string> {
  const key = hiddenValue(await browser.get(`/till/sell?amount=${amount}`), 'key');
  const sold = await browser.post('/till/sell', { amount, key, how: 'new' });
  assert.equal(sold.status, 303, sold.text);
  const page = await browser.get(sold.headers.get('location') ?? '');
  return /href="(\/till\/receipts\/\d+)"/.exec(page.text)?.[1] ?? assert.fail(page.text);
}

test('an owner limits a person to locations, and the form keeps the limit', async () => {
  assert.match(textOfPage(await owner.get('/staff')), /Works at Market, Harbour/);
  const page = await owner.get(pathOfMia);
  assert.match(page.text, new RegExp(`name="at_${harbour}" value="1" checked>`));
  assert.match(page.text, new RegExp(`name="at_${airport}" value="1">`));
  assert.equal((await sendForm(owner, pathOfMia, { name: 'Mia Lind' })).status, 303);
  // A form that was opened before the store had locations.
  const { locations: _, ...old } = { locations: '', name: 'Mia', role: 'manager' };
  assert.equal((await owner.post(pathOfMia, old)).status, 303);
  assert.match(textOfPage(await owner.get('/staff')), /Works at Market, Harbour/);
  const promoted = await sendForm(owner, pathOfMia, { role: 'owner', [`at_${market}`]: '1' });
  assert.equal(promoted.status, 422);
  assert.match(textOfPage(promoted), /An owner works at all locations/);
  const unknown = await sendForm(owner, pathOfMia, { role: 'manager', at_7: '1' });
  assert.equal(unknown.status, 422);
  assert.match(textOfPage(unknown), /Choose at most 20 locations/);
  const again = await sendForm(owner, '/staff/new', {
    name: 'Eve',
    email: 'eve@flowers.example',
    role: 'owner',
    [`at_${market}`]: '1',
  });
  assert.match(textOfPage(again), /An owner works at all locations/);
});

test('a limited person sees what happened at the own locations, and the page shows where sales take place', async () => {
  const hidden = await sell(owner, '70');
  assert.equal((await limited.post('/account/location', { location: airport })).status, 404);
  const own = await sell(limited, '30');
  assert.equal((await limited.post('/account/location', { location: harbour })).status, 303);
  assert.match(textOfPage(await limited.get('/cards')), /Flowers · Harbour/);
  await sell(limited, '20');
  const entries = await shop.service.query(
    "select coalesce(cast(location_id as text), 'none') as place from transfers order by id",
  );
  assert.deepEqual(
    entries.map(({ place }) => place),
    ['none', market, harbour],
  );
  assert.equal((await limited.get(own)).status, 200);
  assert.equal((await limited.get(hidden)).status, 404);

  const today = textOfPage(await limited.get('/today'));
  assert.match(today, /Sold 2 cards · €50\.00/);
  assert.doesNotMatch(today, /€ ?70|€ ?120|Outstanding/);
  assert.match(textOfPage(await limited.get(`/today?location=${market}`)), /Sold 1 card · €30\.00/);
  // An unknown location, or another person's, shows the person's own.
  for (const other of [airport, 'none', 'x'])
    assert.match(textOfPage(await limited.get(`/today?location=${other}`)), /Sold 2 cards · €50\.00/);
  const all = await owner.get('/today');
  assert.match(textOfPage(all), /Sold 3 cards · €120\.00/);
  assert.match(all.text, /data-url="\/live\?after="/);
  const chosen = await owner.get(`/today?location=${harbour}`);
  assert.match(textOfPage(chosen), /€ 120\.00 .*Sold 1 card · €20\.00/);
  assert.match(chosen.text, new RegExp(`data-url="/live\\?location=${harbour}&amp;after="`));
  assert.match(textOfPage(await owner.get('/today?location=none')), /Sold 1 card · €70\.00/);

  assert.match(textOfPage(await limited.get('/cards')), /2 cards|€30\.00.*€20\.00|€20\.00.*€30\.00/);
  assert.doesNotMatch(textOfPage(await limited.get('/cards')), /€70/);
  const filtered = textOfPage(await owner.get(`/cards?location_id=${market}`));
  assert.match(filtered, /€30\.00/);
  assert.doesNotMatch(filtered, /€20|€70/);
  assert.doesNotMatch(textOfPage(await limited.get(`/cards?location_id=${airport}`)), /€[237]0/);
  assert.equal((await owner.get('/cards?location_id=x')).status, 400);
  assert.match(textOfPage(await owner.get(`/cards/export?location_id=${market}`)), /Location: Market/);
  const exported = await limited.post('/cards/export', {});
  assert.equal(exported.text.trim().split('\n').length, 3, exported.text);
  assert.doesNotMatch(exported.text, /70\.00/);

  const day = textOfPage(await limited.get('/till/day'));
  assert.match(day, /2 cards · €50\.00/);
  assert.doesNotMatch(day, /€70/);
  const period = dayOf(shop.service.clock.now(), 'Europe/Paris');
  const days = `from=${period}&to=${period}`;
  for (const query of ['', '&location=none', `&location=${airport}`])
    assert.match(textOfPage(await limited.get(`/books/activity?by=day&${days}${query}`)), /2 50\.00/, query);
  assert.match(textOfPage(await owner.get(`/books/activity?by=day&${days}`)), /3 120\.00/);
  for (const path of [`/books/journal?${days}`, `/books/journal.csv?${days}`]) {
    const journal = textOfPage(await limited.get(path));
    assert.match(journal, /50\.00/, path);
    assert.doesNotMatch(journal, /70\.00|120\.00/, path);
  }
  assert.match(textOfPage(await owner.get(`/books/journal?${days}`)), /120\.00/);
  const navigation = (await limited.get('/today')).text;
  assert.match(navigation, /href="\/books\/activity"/);
  assert.doesNotMatch(navigation, /href="\/(?:emails|books\/liability|tills|staff)"/);
});

test('a limited person finds and redeems a card of every location', async () => {
  const { code, id } = await shop.issue();
  const found = await limited.post('/cards/find', { q: code });
  assert.equal(found.headers.get('location'), `/cards/${id}`);
  const redeemed = await sendForm(limited, `/cards/${id}/redeem`, { amount: '5' });
  assert.equal(redeemed.status, 303, redeemed.text);
  const [entry] = await shop.service.query('select location_id from transfers order by id desc limit 1');
  assert.equal(String(entry?.['location_id']), harbour);
});

test('a person whose locations are closed reads the past and sells nothing', async () => {
  for (const id of [market, harbour]) await owner.post(`/settings/locations/${id}/close`, {});
  assert.match(textOfPage(await owner.get('/staff')), /Works at Market, Harbour Closed/);
  assert.match(textOfPage(await limited.get('/today')), /Sold 2 cards · €50\.00/);
  const key = hiddenValue(await limited.get('/till/sell?amount=5'), 'key');
  const rejected = await limited.post('/till/sell', { amount: '5', key, how: 'new' });
  assert.equal(rejected.status, 422);
  assert.match(textOfPage(rejected), /The location is closed, or you are limited to others/);
  await owner.post(`/settings/locations/${harbour}/reopen`, {});
  await sell(limited, '5');
});

test('the command line limits a person, who is signed out and listed', async () => {
  const address = `ben@${consoleDomain}`;
  await invite(shop.service, address, 'cashier');
  const limit = (...args: readonly string[]) => command(environment, 'staff', 'limit', address, ...args);
  const done = await limit('--location', airport, market);
  assert.equal(done.code, 0, done.errors);
  const list = async () => {
    const { output } = await command(environment, 'staff', 'list', '--json');
    const people = JSON.parse(output) as readonly { readonly email: string; readonly location_ids: string }[];
    return people.find(({ email }) => email === address)?.location_ids;
  };
  assert.equal(await list(), `${airport} ${market}`);
  for (const [args, message] of [
    [['--location', '7'], /The locations must be locations of the store/],
    [[], /name the locations with --location, or use --everywhere/],
    [['--location', airport, '--everywhere'], /cannot be used with/],
    [['--location', 'x'], /location list/],
  ] as const) {
    const { code, errors } = await limit(...args);
    assert.notEqual(code, 0);
    assert.match(errors, message);
  }
  // An invitation that is repeated keeps the limit.
  await invite(shop.service, address, 'cashier');
  assert.equal(await list(), `${airport} ${market}`);
  assert.equal((await limit('--everywhere')).code, 0);
  assert.equal(await list(), null);
  const audit = textOfPage(await owner.get('/audit'));
  assert.match(audit, /at all locations/);
  assert.match(audit, /at Market, Airport/);
});

test('a printed card names the location of its sale, the contact of the shop and the last valid day', async () => {
  assert.equal((await sendForm(owner, '/settings', { phone: '+33 1 42' })).status, 303);
  const fields = { amount: 'other', other: '15', how: 'print', expires: 'date', expires_on: '2031-12-31' };
  const issued = await sendForm(limited, '/cards/new', fields);
  const sheet = await limited.get(`${issued.headers.get('location') ?? ''}/print`);
  assert.equal(sheet.status, 200, sheet.text);
  assert.match(textOfPage(sheet), /Valid until 31 December 2031 .*Flowers · Harbour \+33 1 42/);
});
