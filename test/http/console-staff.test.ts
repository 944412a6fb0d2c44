/** The pages of the people of a store, and of the audit log. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { openBrowser, type Browser } from '../support/browser.ts';
import { command } from '../support/served.ts';
import { consoleDomain, invite, join, openStoreWithStaff, submitForm } from '../support/console.ts';
import { startService } from '../support/service.ts';

/** The key in the form of a page. */
async function keyOf(browser: Browser, page: string): Promise<string> {
  const { status, text } = await browser.get(page);
  assert.equal(status, 200, text);
  return /name="key" value="([\w-]{22})"/.exec(text)?.[1] ?? assert.fail(text);
}

const cashier = { email: 'lea@flowers.example', name: 'Léa', role: 'cashier' };

async function pathOfPerson(owner: Browser, name: string): Promise<string> {
  const { text } = await owner.get('/staff');
  return new RegExp(`/staff/\\d+(?=" aria-label="Change ${name}")`).exec(text)?.[0] ?? assert.fail(text);
}

test('a form without a role or limits keeps those of the person, and an unknown role is rejected', async () => {
  await using service = await openStoreWithStaff();
  const owner = await join(service, 'owner');
  await join(service, 'manager');
  const path = await pathOfPerson(owner, 'manager');
  const stored = async () =>
    (await service.query('select name, role, sale_limit, refund_limit from staff order by id'))[1];
  assert.equal((await owner.post(path, { sale_limit: '150', refund_limit: '20' })).status, 303);
  const limits = { role: 'manager', sale_limit: 15_000, refund_limit: 2_000 };
  const plain = async () => {
    const { sale_limit, refund_limit, ...rest } = (await stored()) ?? assert.fail();
    return { ...rest, sale_limit: Number(sale_limit), refund_limit: Number(refund_limit) };
  };
  assert.deepEqual(await plain(), { name: 'manager', ...limits });
  assert.equal((await owner.post(path, { name: 'Grace' })).status, 303);
  assert.deepEqual(await plain(), { name: 'Grace', ...limits });
  assert.equal((await owner.post(path, {})).status, 303);
  assert.deepEqual(await plain(), { name: 'Grace', ...limits });
  for (const role of ['', 'boss', 'Owner', '__proto__']) {
    const { status, text } = await owner.post(path, { name: 'Ada', role });
    assert.equal(status, 422, role);
    assert.match(text, /id="role-error">Choose a role\./);
  }
  assert.deepEqual(await plain(), { name: 'Grace', ...limits });
  assert.equal((await owner.post(path, { role: 'cashier', sale_limit: '' })).status, 303);
  const { role, sale_limit: saleLimit } = (await stored()) ?? assert.fail();
  assert.deepEqual([role, saleLimit], ['cashier', null], 'an empty field removes the limit');
});

test('an invitation without a role is rejected, and does not change the role of a person who was invited', async () => {
  await using service = await openStoreWithStaff();
  const owner = await join(service, 'owner');
  const lea = { email: 'lea@flowers.example', name: 'Léa' };
  const invited = { key: await keyOf(owner, '/staff/new'), ...lea, role: 'manager' };
  assert.equal((await owner.post('/staff/new', invited)).status, 303);
  for (const role of [undefined, '', 'boss']) {
    const form = { key: await keyOf(owner, '/staff/new'), ...lea, ...(role !== undefined && { role }) };
    const { status, text } = await owner.post('/staff/new', form);
    assert.equal(status, 422, String(role));
    assert.match(text, /id="role-error">Choose a role\./);
  }
  const [person] = await service.query('select role from staff where name = ?', 'Léa');
  assert.equal(person?.['role'], 'manager');
});

test('an invitation that is submitted twice creates one link, which has the address of the browser', async () => {
  await using service = await openStoreWithStaff();
  const owner = await join(service, 'owner');
  const key = await keyOf(owner, '/staff/new');
  const form = { key, ...cashier, sale_limit: '1.50,00', refund_limit: '' };
  const rejected = await owner.post('/staff/new', form);
  assert.equal(rejected.status, 422);
  assert.match(rejected.text, /id="sale_limit-error">Enter an amount such as 100\.00/);
  assert.match(rejected.text, /value="1\.50,00"/);
  const right = { ...form, sale_limit: '150,00' };
  const both = await Promise.all([owner.post('/staff/new', right), owner.post('/staff/new', right)]);
  const [location = ''] = both.map(({ headers }) => headers.get('location'));
  assert.equal(location, `/staff/links/${key}`);
  assert.deepEqual(
    both.map(({ status }) => status),
    [303, 303],
  );
  const linkAt = async (): Promise<string> =>
    /<code id="link">([^<]+)</.exec((await owner.get(location)).text)?.[1] ?? assert.fail();
  const link = await linkAt();
  assert.equal(new URL(link).host, new URL(service.url).host.replace('127.0.0.1', 'localhost'));
  assert.equal(await linkAt(), link, 'after a reload');
  assert.match((await openBrowser(service).get(new URL(link).pathname)).text, /Welcome, Léa/);
  assert.match((await owner.get('/staff')).text, /Sells up to \$150\.00/);
  assert.equal((await owner.get('/audit')).text.match(/Created a link <[^>]+>for lea@/g)?.length, 1);
  const other = await join(service, 'manager');
  assert.equal((await other.get(location)).status, 403);
});

test('the address of a person who has joined is taken, and what was typed remains', async () => {
  await using service = await openStoreWithStaff();
  const owner = await join(service, 'owner');
  const key = await keyOf(owner, '/staff/new');
  const form = { key, name: 'Ö <b>', email: 'OWNER@flowers.example', role: 'accountant' };
  const { status, text } = await owner.post('/staff/new', { ...form, sale_limit: '', refund_limit: '0' });
  assert.equal(status, 422);
  assert.match(text, /id="email-error">A person of this shop already has this email/);
  assert.match(text, /value="Ö &lt;b&gt;"/);
  assert.match(text, /<option value="accountant" selected>/);
});

test('a person gets a new link, is disabled and enabled', async () => {
  await using service = await openStoreWithStaff();
  const owner = await join(service, 'owner');
  const manager = await join(service, 'manager');
  const path = await pathOfPerson(owner, 'manager');
  const key = await keyOf(owner, path);
  const created = await owner.post(`${path}/link`, { key });
  const { text } = await owner.get(created.headers.get('location') ?? '');
  const link = new URL(/<code id="link">([^<]+)</.exec(text)?.[1] ?? '').pathname;
  assert.equal((await manager.get(link)).status, 200);
  assert.equal((await owner.post(`${path}/disable`)).status, 303);
  assert.equal((await manager.get(link)).status, 404);
  assert.match((await owner.get('/staff')).text, /Disabled</);
  assert.equal((await owner.post(`${path}/enable`)).status, 303);
  assert.equal((await manager.get(link)).status, 200);
  assert.equal((await owner.get('/staff/999')).status, 404);
  assert.equal((await owner.post('/staff/1e3')).status, 404);
});

test('an owner unlocks a PIN', async () => {
  await using service = await openStoreWithStaff();
  const owner = await join(service, 'owner');
  const person = await join(service, 'cashier');
  assert.equal((await person.post('/account/pin', { pin: '1234' })).status, 422);
  assert.match((await person.post('/account/pin', { pin: '12x4' })).text, /four to eight digits/);
  assert.equal((await person.post('/account/pin', { pin: '2580' })).status, 303);
  const path = await pathOfPerson(owner, 'cashier');
  assert.doesNotMatch((await owner.get(path)).text, /Unlock the PIN/);
  await service.database.meddle("update staff set pin_failures = 5 where role = 'cashier'");
  assert.match((await owner.get('/staff')).text, /PIN locked after 5 wrong tries/);
  assert.match((await owner.get(path)).text, /Unlock the PIN/);
  assert.equal((await owner.post(`${path}/unlock`)).status, 303);
  assert.doesNotMatch((await owner.get('/staff')).text, /PIN locked/);
  assert.match((await owner.get('/audit')).text, /Unlocked the PIN/);
});

test('inviting a person again without a name keeps the name, the role and the limits', async () => {
  await using service = await openStoreWithStaff();
  const run = async (...args: readonly string[]): Promise<unknown> => {
    const { code, output, errors } = await command(service.environment, 'staff', ...args);
    assert.equal(code, 0, errors);
    return args.includes('--json') ? JSON.parse(output) : output;
  };
  const email = 'lea@flowers.example';
  await run('invite', email, '--name', 'Léa Martin', '--role', 'cashier');
  const again = await run('invite', email, '--json');
  assert.deepEqual(
    [(again as { name: string }).name, (again as { role: string }).role],
    ['Léa Martin', 'cashier'],
  );
  const changed = await run('invite', email, '--role', 'manager', '--json');
  assert.equal((changed as { role: string }).role, 'manager');
});

test('an invitation that has not been used changes only after a confirmation', async () => {
  await using service = await openStoreWithStaff();
  const owner = await join(service, 'owner');
  const lea = { email: 'lea@flowers.example', name: 'Léa', sale_limit: '', refund_limit: '' };
  const stored = async () =>
    (await service.query("select name, role from staff where email = 'lea@flowers.example'"))[0];
  const send = async (fields: Readonly<Record<string, string>>) =>
    await submitForm(owner, '/staff/new', { fields: { ...lea, ...fields } });
  assert.equal((await send({ role: 'cashier' })).status, 303);
  const asked = await send({ role: 'manager' });
  assert.equal(asked.status, 422);
  assert.match(
    asked.text,
    /already invited: Léa, as Cashier\..*the invitation is for Léa as Manager.*earlier link stops working/s,
  );
  assert.deepEqual({ ...(await stored()) }, { name: 'Léa', role: 'cashier' });
  const [, replaces = ''] = /name="replaces" value="([^"]*)"/.exec(asked.text) ?? [];
  const [, key = ''] = /name="key" value="([^"]*)"/.exec(asked.text) ?? [];
  const confirmed = { ...lea, role: 'manager', key, replaces: replaces.replaceAll('&quot;', '"') };
  // The invitation has changed since the question.
  await command(service.environment, 'staff', 'invite', lea.email, '--role', 'accountant');
  assert.equal((await owner.post('/staff/new', confirmed)).status, 422);
  await command(service.environment, 'staff', 'invite', lea.email, '--role', 'cashier');
  assert.equal((await owner.post('/staff/new', confirmed)).status, 303);
  assert.deepEqual({ ...(await stored()) }, { name: 'Léa', role: 'manager' });
  // The same invitation again is a new link.
  assert.equal((await send({ role: 'manager' })).status, 303);
});

test('the command line names the role of a new person, and says what happens to an invitation', async () => {
  await using service = await openStoreWithStaff();
  await join(service, 'owner');
  const run = (...args: readonly string[]) => command(service.environment, 'staff', 'invite', ...args);
  const typo = await run('onwer@flowers.example');
  assert.equal(typo.code, 1);
  assert.match(typo.errors, /no person of flowers\.example has the email onwer@flowers\.example.*--role/);
  assert.equal((await service.query('select id from staff')).length, 1);
  const again = await run('owner@flowers.example');
  assert.match(again.output, /for owner@flowers\.example as owner/);
  const other = await run('owner@flowers.example', '--role', 'cashier');
  assert.equal(other.code, 1);
  assert.match(other.errors, /has joined as owner/);
  await run('lea@flowers.example', '--role', 'cashier');
  const changed = await run('lea@flowers.example', '--role', 'manager');
  assert.match(changed.output, /as manager\..*earlier invitation as cashier and its link have ended/s);
});

test('the command line disables and enables a person, but not the only owner', async () => {
  await using service = await openStoreWithStaff();
  const owner = await join(service, 'owner');
  const manager = await join(service, 'manager');
  const run = (...args: readonly string[]) => command(service.environment, 'staff', ...args);
  assert.equal((await run('disable', 'MANAGER@flowers.example')).code, 0);
  assert.equal((await manager.get('/account')).status, 303);
  const disabled = await run('invite', 'manager@flowers.example');
  assert.equal(disabled.code, 1);
  assert.match(disabled.errors, /is disabled/);
  assert.equal((await run('enable', 'manager@flowers.example')).code, 0);
  const only = await run('disable', 'owner@flowers.example');
  assert.equal(only.code, 1);
  assert.match(only.errors, /the only owner who can sign in/);
  assert.equal((await run('disable', 'unknown@flowers.example')).code, 1);
  assert.match((await owner.get('/audit')).text, /<strong>Command line<\/strong>.*Disabled a person/);
});

test('the link of the command line has the address of PUBLIC_URL, or the port of the service', async () => {
  await using service = await openStoreWithStaff();
  const hostWith = async (environment: Readonly<Record<string, string>>): Promise<string> => {
    const args = ['staff', 'invite', 'ada@flowers.example', '--json'] as const;
    const { output } = await command({ ...service.environment, ...environment }, ...args);
    return new URL((JSON.parse(output) as { readonly link: string }).link).origin;
  };
  assert.equal(await hostWith({ PORT: '4321' }), 'http://localhost:4321');
  assert.equal(
    await hostWith({ PUBLIC_URL: 'https://cards.flowers.example' }),
    'https://cards.flowers.example',
  );
});

test('the audit log is filtered by person and kind, and has pages', async () => {
  await using service = await openStoreWithStaff();
  const owner = await join(service, 'owner');
  const other = openBrowser(service);
  await other.post('/sign-in', { email: 'owner@flowers.example', password: 'wrong' });
  await other.post('/sign-in', { email: 'unknown@flowers.example', password: 'wrong' });
  for (let count = 0; count < 60; count += 1) await invite(service, `p${count}@flowers.example`, 'cashier');
  const path = await pathOfPerson(owner, 'owner');
  const id = path.slice('/staff/'.length);
  const rows = (text: string): number => text.match(/<tr role="row"><td/g)?.length ?? 0;
  const first = await owner.get('/audit');
  assert.equal(rows(first.text), 50);
  const [older = ''] = /\/audit\?before=\d+/.exec(first.text) ?? [];
  const last = await owner.get(older);
  assert.equal(rows(last.text), 60 + 1 + 2 + 2 - 50);
  assert.doesNotMatch(last.text, /rel="next"/);
  const failures = await owner.get('/audit?kind=failures');
  assert.equal(rows(failures.text), 2);
  assert.match(failures.text, /for an unknown address \([\da-f]{6}\)/);
  assert.doesNotMatch(failures.text, /unknown@/);
  const own = await owner.get(`/audit?staff=${id}`);
  assert.equal(rows(own.text), 3, 'joined, signed in, and the attempt of another browser');
  assert.equal(rows((await owner.get(`/audit?staff=${id}&kind=failures`)).text), 1);
  assert.match((await owner.get('/audit?kind=money')).text, /There are no entries/);
  for (const query of ['before=x', 'staff=-1', 'kind=nothing', 'before=1e400', 'staff=999999'])
    assert.equal((await owner.get(`/audit?${query}`)).status, 200, query);
});

test('a filter reads a limited number of entries, and continues after them', async () => {
  await using service = await openStoreWithStaff();
  const owner = await join(service, 'owner');
  const [row] = await service.query('select store_id, max(id) as id from staff_actions group by store_id');
  assert.ok(row);
  const [storeId, last] = [Number(row['store_id']), Number(row['id'])];
  const rows = Array.from(
    { length: 2_500 },
    (_, place) => `(${storeId}, ${last + 1 + place}, 0, 'code-sent', '{}')`,
  );
  await service.database.meddle(
    `insert into staff_actions (store_id, id, at, action, details) values ${rows.join(', ')}`,
  );
  const first = await owner.get('/audit?kind=signIn');
  assert.match(first.text, /None of these entries matches/);
  const [older = ''] = /\/audit\?kind=signIn&amp;before=\d+/.exec(first.text) ?? [];
  const second = await owner.get(older.replace('&amp;', '&'));
  assert.match(second.text, /Signed in/);
});

test('times in the audit log are those of the store, and its subjects are links', async () => {
  await using service = await startService({ stores: [{ domain: consoleDomain, timeZone: 'Asia/Tokyo' }] });
  const owner = await join(service, 'owner');
  await invite(service, 'lea@flowers.example', 'cashier');
  const { text } = await owner.get('/audit');
  assert.match(text, /Times are in Asia\/Tokyo/);
  assert.match(text, /<a href="\/staff\/\d+">lea<\/a>/);
  const [, instant = '', shown = ''] = /<time datetime="([^"]+)">([^<]+)</.exec(text) ?? [];
  const expected = new Intl.DateTimeFormat('en', {
    dateStyle: 'medium',
    timeStyle: 'short',
    timeZone: 'Asia/Tokyo',
  }).format(Date.parse(instant));
  assert.equal(shown, expected);
});

test('a page of a result is not found with the key of another form', async () => {
  await using service = await openStoreWithStaff();
  const owner = await join(service, 'owner');
  const link = await keyOf(owner, '/staff/new');
  assert.equal((await owner.post('/staff/new', { key: link, ...cashier })).status, 303);
  const issued = await submitForm(owner, '/cards/new', { fields: { amount: '10', how: 'print' } });
  const card = issued.headers.get('location')?.split('/').at(-1) ?? assert.fail(issued.text);
  for (const [key, path] of [
    [card, '/staff/links/'],
    ...[card, link].flatMap((other) => [
      [other, '/till/redeemed/'],
      [other, '/till/refund/done/'],
    ]),
    [link, '/cards/issued/'],
    [link, '/till/sold/'],
  ] as const) {
    const response = await owner.get(`${path}${key}`);
    assert.equal(response.status, 404, path);
  }
});
