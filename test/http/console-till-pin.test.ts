/** Devices at the counter: enrolling and revoking, sign-in with a PIN, and what a session with a PIN includes. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { loadPages } from '../../src/start/routes.ts';
import { openBrowser } from '../support/browser.ts';
import { enrollDevice, enterPin, hiddenValue, idOn, joinAs } from '../support/counter.ts';
import { staffPassword as password } from '../support/console.ts';
import { cardIssuer, findCard, locationOf, redeem } from '../support/till.ts';
import { startService, type TestService } from '../support/service.ts';

const { routes: consoleRoutes } = await loadPages();

const pin = '2580';

async function openShop(): Promise<TestService> {
  return await startService({ stores: [{ domain: 'flowers.example', name: 'Flowers' }] });
}

test('a device is enrolled, people sign in with a PIN, and lock it', async () => {
  await using service = await openShop();
  const owner = await joinAs(service, { role: 'owner' });
  const cashier = await joinAs(service, { role: 'cashier' });
  assert.equal((await cashier.post('/account/pin', { pin })).status, 303);
  assert.equal((await cashier.get('/till/pin')).headers.get('location'), '/sign-in?next=/till');
  assert.match((await owner.get('/tills')).text, /No device is enrolled yet/);
  const enrolled = await owner.post('/tills', { name: 'Counter' });
  assert.match(
    enrolled.headers.getSetCookie().join('\n'),
    /^largesse-till=lgt_\w+_[0-9A-Za-z]{43}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=31536000$/m,
  );
  assert.equal((await owner.get('/staff')).headers.get('location'), '/sign-in?next=%2Fstaff', 'signed out');
  const page = await owner.get('/till/day');
  assert.equal(page.headers.get('location'), '/till/pin', 'the till asks for a PIN');
  const signedIn = await enterPin(owner, 'cashier', pin);
  assert.equal(signedIn.headers.get('location'), '/till', signedIn.text);
  assert.match((await owner.get('/till')).text, /action="\/till\/lock"/);
  const locked = await owner.post('/till/lock');
  assert.equal(locked.headers.get('location'), '/till/pin');
  const [last] = await service.query('select action from staff_actions order by id desc limit 1');
  assert.equal(last?.['action'], 'till-locked', 'locking is not signing out');
  assert.equal((await owner.get('/till/day')).headers.get('location'), '/till/pin');
  const plain = await cashier.post('/till/lock');
  assert.equal(plain.headers.get('location'), '/sign-in', 'a device that is not enrolled signs out');
  assert.equal((await cashier.get('/account')).status, 303);
});

test('the device token and the PIN are not stored, and not logged', async () => {
  await using service = await openShop();
  const owner = await joinAs(service, { role: 'owner' });
  await owner.post('/account/pin', { pin: '97531864' });
  const device = await enrollDevice(service, owner);
  await enterPin(device, 'owner', '97531864');
  const token = device.cookies.get('largesse-till') ?? '';
  assert.match(token, /^lgt_/);
  const stored = (await service.state()) + service.log();
  for (const secret of [token, '97531864']) assert.ok(!stored.includes(secret), secret);
});

test('a session with a PIN includes the till only, whatever the role is', async () => {
  await using service = await openShop();
  const owner = await joinAs(service, { role: 'owner' });
  await owner.post('/account/pin', { pin });
  const device = await enrollDevice(service, owner);
  await enterPin(device, 'owner', pin);
  for (const { method, path, access } of consoleRoutes) {
    if (access === 'anyone' || ['/sign-out', '/till/lock'].includes(path)) continue;
    const { status, text } = await device.request(path.replace(/:\w+/g, '1'), {
      method,
      headers: { 'sec-fetch-site': 'same-origin', 'content-type': 'application/x-www-form-urlencoded' },
    });
    const what = `${method} ${path}: ${status}`;
    if (/^\/till(?:\/|$)/.test(path) && access !== 'changeCards')
      assert.ok([200, 303, 404, 422].includes(status), what);
    else {
      assert.equal(status, 403, what);
      assert.match(text, /opens the till only/, what);
    }
  }
  // The password makes it a session for all pages.
  const response = await device.post('/sign-in', { email: 'owner@flowers.example', password });
  assert.equal(response.status, 303, response.text);
  assert.equal((await device.get('/staff')).status, 200);
});

test('a session with a PIN ends after five minutes without use, and not before', async () => {
  await using service = await openShop();
  const owner = await joinAs(service, { role: 'owner' });
  await owner.post('/account/pin', { pin });
  const device = await enrollDevice(service, owner);
  await enterPin(device, 'owner', pin);
  for (let count = 0; count < 3; count += 1) {
    service.clock.advance(4 * 60_000);
    assert.equal((await device.get('/till/day')).status, 200, `request ${count}`);
  }
  service.clock.advance(5 * 60_000 + 1);
  assert.equal((await device.get('/till/day')).headers.get('location'), '/till/pin');
});

test('a redemption after a session with a PIN has ended redeems nothing, and its amount is kept', async () => {
  await using service = await openShop();
  const owner = await joinAs(service, { role: 'owner' });
  await owner.post('/account/pin', { pin });
  const device = await enrollDevice(service, owner);
  await enterPin(device, 'owner', pin);
  const card = await (await cardIssuer(service))({ initial_value: '47' });
  const found = await findCard(device, card.code);
  service.clock.advance(5 * 60_000 + 1);
  const path = locationOf(await redeem(device, found, { amount: '12.50' }));
  assert.match(path, /^\/till\/pin\?next=/);
  const page = await device.get(path);
  assert.match(page.text, /Nothing was redeemed/);
  const staff = idOn(page, 'owner');
  const next = hiddenValue(page, 'next').replaceAll('&amp;', '&');
  assert.equal(
    hiddenValue(await device.post('/till/pin', { staff, next, pin: '1357' }), 'next'),
    next.replaceAll('&', '&amp;'),
  );
  const again = await device.get(locationOf(await device.post('/till/pin', { staff, next, pin })));
  assert.match(again.text, /id="amount"[^>]* value="12\.50"/);
  assert.equal(await card.balance(), '47.00');
});

test('a PIN leads only to pages of the till', async () => {
  await using service = await openShop();
  const owner = await joinAs(service, { role: 'owner' });
  await owner.post('/account/pin', { pin });
  const device = await enrollDevice(service, owner);
  const staff = idOn(await device.get('/till/pin'), 'owner');
  for (const next of ['/staff', 'https://example.com/', '//example.com/till/', '/till/../staff'])
    assert.equal(locationOf(await device.post('/till/pin', { staff, pin, next })), '/till', next);
});

test('five wrong PINs lock it for everyone who has the right one, until the password is used', async () => {
  await using service = await openShop();
  const owner = await joinAs(service, { role: 'owner' });
  const cashier = await joinAs(service, { role: 'cashier' });
  await cashier.post('/account/pin', { pin });
  const device = await enrollDevice(service, owner);
  for (let count = 0; count < 4; count += 1)
    assert.match((await enterPin(device, 'cashier', '1357')).text, /The PIN is wrong/);
  assert.equal((await enterPin(device, 'cashier', pin)).status, 303, 'a right PIN resets the count');
  for (let count = 0; count < 5; count += 1) await enterPin(device, 'cashier', '1357');
  const locked = await enterPin(device, 'cashier', pin);
  assert.equal(locked.status, 401);
  assert.match(locked.text, /locked after five wrong ones/);
  const again = await openBrowser(service).post('/sign-in', { email: 'cashier@flowers.example', password });
  assert.equal(again.status, 303);
  assert.equal((await enterPin(device, 'cashier', pin)).status, 303);
  const actions = await service.query(`select action from staff_actions where action = 'pin-locked'`);
  assert.equal(actions.length, 1);
});

test('of parallel wrong PINs five are compared, and the lock is recorded once', async () => {
  await using service = await openShop();
  const owner = await joinAs(service, { role: 'owner' });
  await owner.post('/account/pin', { pin });
  const device = await enrollDevice(service, owner);
  const staff = idOn(await device.get('/till/pin'), 'owner');
  const responses = await Promise.all(
    Array.from({ length: 10 }, (_, index) => device.post('/till/pin', { staff, pin: `135${index}` })),
  );
  assert.deepEqual(new Set(responses.map(({ status }) => status)), new Set([401]));
  const rejected = responses.filter(({ text }) => text.includes('locked after five wrong ones'));
  assert.equal(rejected.length, 6, 'the fifth one, and the five that were not compared');
  const [failed, locks] = await Promise.all(
    ['sign-in-failed', 'pin-locked'].map((action) =>
      service.query(`select id from staff_actions where action = '${action}'`),
    ),
  );
  assert.deepEqual([failed?.length, locks?.length], [5, 1]);
  assert.equal((await enterPin(device, 'owner', pin)).status, 401, 'the right PIN is not compared');
});

test('an owner unlocks a PIN', async () => {
  await using service = await openShop();
  const owner = await joinAs(service, { role: 'owner' });
  const other = await joinAs(service, { role: 'owner', name: 'grace' });
  const cashier = await joinAs(service, { role: 'cashier' });
  await cashier.post('/account/pin', { pin });
  const device = await enrollDevice(service, owner);
  for (let count = 0; count < 5; count += 1) await enterPin(device, 'cashier', '1357');
  const [, path = ''] = /action="(\/tills\/pins\/\d+\/unlock)"/.exec((await other.get('/tills')).text) ?? [];
  assert.equal((await cashier.post(path)).status, 403);
  assert.equal((await other.post(path)).status, 303);
  assert.equal((await enterPin(device, 'cashier', pin)).status, 303);
});

test('wrong PINs of several people use the budget of the device', async () => {
  await using service = await openShop();
  const owner = await joinAs(service, { role: 'owner' });
  const names = ['ann', 'ben', 'cat', 'dan', 'eve', 'fay', 'gil'];
  for (const name of names)
    await (await joinAs(service, { role: 'cashier', name })).post('/account/pin', { pin });
  const device = await enrollDevice(service, owner);
  const statuses: number[] = [];
  for (const name of names)
    for (let count = 0; count < 5; count += 1) statuses.push((await enterPin(device, name, '1357')).status);
  assert.deepEqual(statuses, [...Array<number>(30).fill(401), ...Array<number>(5).fill(429)]);
  service.clock.advance(3 * 60_000);
  assert.equal((await enterPin(device, 'gil', pin)).status, 303);
});

test('revoking a device signs out the people on it at once, and it cannot be used again', async () => {
  await using service = await openShop();
  const owner = await joinAs(service, { role: 'owner' });
  const manager = await joinAs(service, { role: 'manager' });
  await manager.post('/account/pin', { pin });
  const device = await enrollDevice(service, owner);
  await enterPin(device, 'manager', pin);
  assert.equal((await device.get('/till/day')).status, 200);
  const { text } = await manager.get('/tills');
  assert.match(text, /Counter/);
  const [, path = ''] = /action="(\/tills\/\d+\/revoke)"/.exec(text) ?? [];
  assert.equal((await manager.post(path)).status, 303);
  assert.equal((await device.get('/till/day')).headers.get('location'), '/till/pin');
  const gone = await device.get('/till/pin');
  assert.equal(gone.headers.get('location'), '/sign-in?next=/till');
  assert.equal(device.cookies.has('largesse-till'), false);
  assert.match((await manager.get('/tills')).text, /Revoked/);
});

test('the paper of a till is set by those who enroll it, and a new one in its browser has it as well', async () => {
  await using service = await openShop();
  const owner = await joinAs(service, { role: 'owner' });
  const cashier = await joinAs(service, { role: 'cashier' });
  await cashier.post('/account/pin', { pin });
  const device = await enrollDevice(service, owner);
  await enterPin(device, 'cashier', pin);
  const isNarrow = async () => {
    const key = hiddenValue(await device.get('/till/sell?amount=30'), 'key');
    const sold = await device.get(
      locationOf(await device.post('/till/sell', { amount: '30', key, how: 'new' })),
    );
    const receipt = await device.get(/\/till\/receipts\/\d+/.exec(sold.text)?.[0] ?? '');
    return [sold, receipt].map(({ text }) => text.includes('class="receipt narrow'));
  };
  assert.deepEqual(await isNarrow(), [false, false]);
  const manager = await joinAs(service, { role: 'manager' });
  const [path = ''] = /\/tills\/\d+\/paper/.exec((await manager.get('/tills')).text) ?? [];
  for (const paper of ['', '57', '58 mm']) assert.equal((await manager.post(path, { paper })).status, 404);
  assert.equal((await cashier.post(path, { paper: '58' })).status, 403);
  assert.equal((await manager.post('/tills/9/paper', { paper: '58' })).status, 404);
  assert.equal((await manager.post(path, { paper: '58' })).status, 303);
  assert.deepEqual(await isNarrow(), [true, true]);
  assert.match((await manager.get('/tills')).text, /value="58" selected>58 mm/);
  await owner.post('/sign-in', { email: 'owner@flowers.example', password });
  assert.match((await owner.get('/audit')).text, /Set the paper of a till/);
  await owner.post('/tills', { name: 'New' });
  const tills = await service.query('select paper_mm from tills where revoked_at is null');
  assert.deepEqual(tills.map((till) => Number(till['paper_mm'])), [58]); // prettier-ignore
});

test('a person who is disabled, or whose role has no till, cannot sign in with a PIN', async () => {
  await using service = await openShop();
  const owner = await joinAs(service, { role: 'owner' });
  for (const name of ['ann', 'ben'])
    await (await joinAs(service, { role: 'cashier', name })).post('/account/pin', { pin });
  const device = await enrollDevice(service, owner);
  const page = await device.get('/till/pin');
  const [ann, ben] = [idOn(page, 'ann'), idOn(page, 'ben')];
  await service.database.meddle(`update staff set disabled_at = 1 where name = 'ann'`);
  await service.database.meddle(`update staff set role = 'accountant' where name = 'ben'`);
  for (const staff of [ann, ben, '999', '', 'x'])
    assert.equal((await device.post('/till/pin', { staff, pin })).status, 422, staff);
  for (const typed of ['', '12', '123456789', 'abcd'])
    assert.equal((await device.post('/till/pin', { staff: ann, pin: typed })).status, 422, typed);
});

test('a store has at most 50 devices, and a new one in the same browser replaces the old one', async () => {
  await using service = await openShop();
  const owner = await joinAs(service, { role: 'owner' });
  const token = () => owner.cookies.get('largesse-till') ?? '';
  const enroll = async (name: string) => {
    await owner.post('/sign-in', { email: 'owner@flowers.example', password });
    return await owner.post('/tills', { name });
  };
  await enroll('First');
  const first = token();
  await enroll('Second');
  assert.notEqual(token(), first);
  const old = openBrowser(service);
  old.cookies.set('largesse-till', first);
  assert.equal((await old.get('/till/pin')).headers.get('location'), '/sign-in?next=/till');
  // The other devices, with hashes that no token has.
  const isSqlite = service.environment['DATABASE_URL']?.startsWith('file:') ?? false;
  const [places, hash] = isSqlite
    ? ['json_each(json_array(%)) c', `cast(printf('%032d', c.value) as blob)`]
    : ['unnest(array[%]) as c (value)', `convert_to(lpad(c.value::text, 32, '0'), 'UTF8')`];
  const values = Array.from({ length: 49 }, (_, index) => index + 1).join(', ');
  await service.database.meddle(`
    insert into tills (store_id, id, name, hash, created_by, created_at)
    select d.store_id, c.value, 'Till', ${hash}, d.created_by, 1
    from tills d, ${places.replace('%', values)} where d.revoked_at is null`);
  owner.cookies.delete('largesse-till');
  const tooMany = await enroll('One more');
  assert.equal(tooMany.status, 422);
  assert.match(tooMany.text, /at most 50 devices/);
  for (const name of ['', 'x'.repeat(101), 'a\u202eb'])
    assert.equal((await owner.post('/tills', { name })).status, 422, name);
});
