/** Strangers cannot take the places of people who sign in, use up their attempts or lock their PINs. */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import test from 'node:test';
import { openBrowser, type Browser } from '../support/browser.ts';
import { consoleDomain, invite, staffPassword as password } from '../support/console.ts';
import { enrollDevice, enterPin, idOn, joinAs } from '../support/counter.ts';
import { startService, type TestService } from '../support/service.ts';

const pin = '2580';
const stores = [{ domain: consoleDomain, name: 'Flowers' }];

/** Submits the form of the page from an address. */
async function signInFrom(
  address: string,
  browser: Browser,
  fields: Readonly<Record<string, string>>,
): Promise<number> {
  const { status } = await browser.request('/sign-in', {
    method: 'POST',
    headers: {
      'x-forwarded-for': address,
      'sec-fetch-site': 'same-origin',
      'content-type': 'application/x-www-form-urlencoded',
    },
    body: new URLSearchParams(fields).toString(),
  });
  return status;
}

type Attack = { readonly isFull: Promise<void>; stop(): Promise<void> };

/** Strangers who send wrong passwords, each one from another network and for another address. */
function attack(service: TestService, connections: number): Attack {
  let isOver = false;
  let sent = 0;
  const { promise: isFull, resolve } = Promise.withResolvers<void>();
  const stranger = async (): Promise<void> => {
    const browser = openBrowser(service);
    while (!isOver) {
      sent += 1;
      const address = `10.${(sent >> 8) & 255}.${sent & 255}.7`;
      const fields = { email: `${sent}@strangers.example`, password: 'wrong' };
      if ((await signInFrom(address, browser, fields)) === 503) resolve();
    }
  };
  const all = Array.from({ length: connections }, stranger);
  return {
    isFull,
    async stop() {
      isOver = true;
      await Promise.all(all);
    },
  };
}

test('the owner and the till sign in while 70 strangers send wrong passwords', async () => {
  await using service = await startService({ stores, environment: { TRUSTED_PROXIES: '127.0.0.1' } });
  const owner = await joinAs(service, { role: 'owner' });
  await owner.post('/account/pin', { pin });
  const device = await enrollDevice(service, owner);
  const strangers = attack(service, 70);
  await strangers.isFull;
  const fields = { email: 'owner@flowers.example', password };
  const statuses: number[] = [];
  for (let count = 0; count < 12; count += 1) statuses.push(await signInFrom('192.0.2.1', owner, fields));
  const atTill = await enterPin(device, 'owner', pin);
  await strangers.stop();
  assert.deepEqual(statuses, Array<number>(12).fill(303));
  assert.equal(atTill.status, 303, atTill.text);
});

/** A service that compares nothing: every place in the queue is taken. */
async function openFullService(): Promise<TestService> {
  const service = await startService({ stores, limits: { hashesPerClientMax: 0 } });
  await invite(service, `owner@${consoleDomain}`, 'owner');
  return service;
}

test('a password that was not compared is not counted', async () => {
  await using service = await openFullService();
  const browser = openBrowser(service);
  for (let count = 0; count < 12; count += 1) {
    const fields = { email: `owner@${consoleDomain}`, password };
    const { status, headers } = await browser.post('/sign-in', fields);
    assert.equal(status, 503, `attempt ${count}`);
    assert.equal(headers.get('retry-after'), '5');
  }
  const used = 'select caller from lookup_throttle where refilled_at > ?';
  assert.deepEqual(await service.query(used, service.clock.now()), []);
  assert.deepEqual(await service.query(`select id from staff_actions where action = 'sign-in-failed'`), []);
});

test('a PIN that was not compared is not counted', async () => {
  await using service = await openFullService();
  const [store] = await service.query('select store_id from staff');
  const token = `lgt_${Number(store?.['store_id']).toString(36)}_${'t'.repeat(43)}`;
  const hash = createHash('sha256').update(token).digest('hex');
  const isSqlite = service.environment['DATABASE_URL']?.startsWith('file:') ?? false;
  const stored = `$argon2id$v=19$m=19456,t=2,p=1$${'A'.repeat(22)}$${'A'.repeat(43)}`;
  await service.database.meddle(`update staff set joined_at = 1, pin = '${stored}'`);
  await service.database.meddle(`
    insert into tills (store_id, id, name, hash, created_by, created_at)
    select store_id, 1, 'Counter', ${isSqlite ? `x'${hash}'` : `'\\x${hash}'`}, id, 1 from staff`);
  const device = openBrowser(service);
  device.cookies.set('largesse-till', token);
  const staff = idOn(await device.get('/till/pin'), 'owner');
  for (let count = 0; count < 35; count += 1)
    assert.equal((await device.post('/till/pin', { staff, pin })).status, 503, `attempt ${count}`);
  assert.deepEqual(await service.query('select pin_failures from staff where pin_failures <> 0'), []);
});

test('attempts at a locked PIN do not use the budget of the device', async () => {
  await using service = await startService({ stores });
  const owner = await joinAs(service, { role: 'owner' });
  for (const name of ['ann', 'ben'])
    await (await joinAs(service, { role: 'cashier', name })).post('/account/pin', { pin });
  const device = await enrollDevice(service, owner);
  const ann = idOn(await device.get('/till/pin'), 'ann');
  const statuses: number[] = [];
  for (let count = 0; count < 40; count += 1)
    statuses.push((await device.post('/till/pin', { staff: ann, pin: '1357' })).status);
  assert.deepEqual(new Set(statuses), new Set([401]), 'never 429: five were compared');
  const failed = await service.query(`select id from staff_actions where action = 'sign-in-failed'`);
  assert.equal(failed.length, 5);
  assert.equal((await enterPin(device, 'ben', pin)).status, 303);
});

test('a browser is known to several people, and a session counts as one', async () => {
  await using service = await startService({ stores });
  const shared = await joinAs(service, { role: 'owner' });
  await (await joinAs(service, { role: 'cashier' })).post('/sign-out');
  const stranger = openBrowser(service);
  const signIn = async (browser: Browser, name: string, typed = password): Promise<number> =>
    (await browser.post('/sign-in', { email: `${name}@${consoleDomain}`, password: typed })).status;
  assert.equal(await signIn(shared, 'cashier'), 303);
  assert.equal(await signIn(shared, 'cashier'), 303, 'a person is in the cookie once');
  assert.equal(shared.cookies.get('largesse-known')?.split('~').length, 2);
  // The client of all three browsers is the same one.
  for (const name of ['owner', 'cashier']) {
    for (let count = 0; count < 10; count += 1) assert.equal(await signIn(stranger, name, 'wrong'), 401);
    assert.equal(await signIn(stranger, name), 429);
    assert.equal(await signIn(shared, name), 303, name);
  }
  shared.cookies.delete('largesse-known');
  assert.equal((await shared.post('/confirm', { password, next: '/account' })).status, 303);
  for (const planted of ['', '~', 'x'.repeat(66), `${'a'.repeat(22)}.${'b'.repeat(43)}`]) {
    stranger.cookies.set('largesse-known', planted);
    assert.equal(await signIn(stranger, 'owner'), 429, planted);
  }
});
