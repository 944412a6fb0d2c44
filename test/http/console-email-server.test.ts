/** The mail server that an owner sets on the pages: the test with digits, its errors, what it sends, and who may set it. */

import assert from 'node:assert/strict';
import test, { after, type TestContext } from 'node:test';
import type { SMTPServerOptions } from 'smtp-server';
import { roles } from '../../src/core/staff/domain/staff.ts';
import type { PublicNetwork } from '../../src/delivery/public-socket.ts';
import { certificateFor, certificateForThisMachine } from '../delivery/email/certificate.ts';
import { reply, scriptedServer, smtpServer, type SmtpServer } from '../delivery/email/smtp-server.ts';
import type { Browser } from '../support/browser.ts';
import { consoleDomain, staffPassword } from '../support/console.ts';
import { formOf, openStaffedShop, textOfPage } from '../support/counter-staff.ts';
import { until } from '../support/delivering.ts';
import type { TestResponse } from '../support/service.ts';

const path = '/settings/emails/server';
const host = 'smtp.server.example';
const password = 'hush-hush-hush';
const { certificate, key } = certificateFor(host);

const credentials: Pick<SMTPServerOptions, 'authOptional' | 'onAuth'> = {
  authOptional: false,
  onAuth({ username, password: given }, _session, done) {
    if (typeof username === 'string' && given === password) done(null, { user: username });
    else done(reply(535, '5.7.8 Authentication failed'));
  },
};

const withStartTls = await smtpServer({ key, cert: certificate, ...credentials });
const withTls = await smtpServer({ key, cert: certificate, secure: true, ...credentials });
const selfSigned = await smtpServer({ ...tlsOf(certificateForThisMachine()), secure: true, ...credentials });
const plain = await scriptedServer({});
for (const server of [withStartTls, withTls, selfSigned, plain]) after(() => server[Symbol.asyncDispose]());

function tlsOf({ certificate: cert, key: privateKey }: ReturnType<typeof certificateForThisMachine>) {
  return { cert, key: privateKey };
}

function portOf(server: SmtpServer): number {
  return Number(new URL(server.url().reveal()).port);
}

/** The server on each port. */
const servers: Readonly<Record<number, number>> = {
  587: portOf(withStartTls),
  465: portOf(withTls),
  2465: portOf(selfSigned),
  2587: portOf(plain),
  // Nothing listens there.
  2525: 1,
};

const publicAddress = '93.184.215.14';
const addresses: Readonly<Record<string, readonly string[]>> = {
  [host]: [publicAddress],
  'private.server.example': ['10.0.0.7'],
  'loopback.server.example': ['127.0.0.1'],
  'metadata.server.example': ['169.254.169.254'],
  'shared.server.example': ['100.64.0.1'],
  'mapped.server.example': ['::ffff:93.184.215.14'],
  'half.server.example': [publicAddress, '192.168.1.1'],
};

const texts: Readonly<Record<string, readonly string[] | null>> = {
  'flowers.example': ['v=spf1 include:_spf.google.com ~all'],
  '_dmarc.flowers.example': null,
};

const emailNetwork: PublicNetwork = {
  authority: certificate,
  async resolve(name) {
    const found = addresses[name];
    if (!found) throw Object.assign(new Error('no such name'), { code: 'ENOTFOUND' });
    return found;
  },
  resolveText: async (name) => (name in texts ? (texts[name] ?? null) : []),
  rerouteForTests: { address: () => '127.0.0.1', port: (port) => servers[port] ?? 1 },
};

const production = { MACHINE: 'owner', NODE_ENV: 'production' };
const shop = await openStaffedShop({ environment: production, emailNetwork, isDurable: true });
after(() => shop[Symbol.asyncDispose]());
const owner = await shop.as('owner');

const typed = {
  provider: 'other',
  sender: 'gifts@flowers.example',
  user: 'gifts',
  host,
  port: '587',
  password,
};

async function send(
  changes: Readonly<Record<string, string>> = {},
  { browser = owner, action = path }: { readonly browser?: Browser; readonly action?: string } = {},
): Promise<TestResponse> {
  if (action !== path) return await browser.post(action, changes);
  const page = await browser.get(path);
  return await browser.post(path, { ...formOf(page, path), ...typed, ...changes });
}

function textOf({ message }: { readonly message: Buffer }): string {
  return message.toString();
}

/** The digits of the last email of a server. */
function digitsOf({ received }: SmtpServer): string {
  const last = received.at(-1);
  assert.ok(last, 'no email arrived');
  const [digits = ''] = /^\d{6}$/m.exec(textOf(last).replaceAll('\r', '')) ?? [];
  assert.match(digits, /^\d{6}$/, textOf(last));
  return digits;
}

const wrongOf = (digits: string): string => (digits === '000000' ? '000001' : '000000');

async function states(): Promise<readonly unknown[]> {
  const rows = await shop.service.query(
    'select state, host, port, user_name from email_servers order by state',
  );
  return rows.map(
    ({ state, host: name, port, user_name: user }) =>
      `${String(state)} ${String(user)}@${String(name)}:${String(port)}`,
  );
}

async function audit(): Promise<readonly unknown[]> {
  const rows = await shop.service.query(
    "select details from staff_actions where action = 'settings-changed' order by at, id",
  );
  return rows.map(({ details }) => (typeof details === 'string' ? JSON.parse(details) : details) as unknown);
}

const entry = (done: string, name = `gifts · ${host}:587`) => ({
  fields: 'email_server',
  name,
  [done]: true,
});

/** Sets the server, and types the digits. */
async function verify(changes: Readonly<Record<string, string>> = {}, server = withStartTls): Promise<void> {
  const tested = await send(changes);
  assert.equal(tested.status, 303, textOfPage(tested));
  const done = await send({ digits: digitsOf(server) }, { action: `${path}/code` });
  assert.equal(done.headers.get('location'), `${path}?done=verified`, textOfPage(done));
}

test('without a mail server emails are not sent, and owners find where to set it', async () => {
  const issued = await shop.ask('POST /gift_card', {
    json: { initial_value: '50.00', recipient_email: 'grace@example.com' },
  });
  assert.equal(issued.headers.get('email-status'), 'not-configured');
  for (const page of [await owner.get('/settings/emails'), await owner.get('/today')])
    assert.match(page.text, new RegExp(`href="${path}"`));
  assert.match(textOfPage(await owner.get(path)), /Emails are not sent/);
  assert.match(textOfPage(await owner.get('/settings/emails')), /Emails are not sent/);
  const manager = await shop.as('manager');
  const today = textOfPage(await manager.get('/today'));
  assert.match(today, /Emails are not sent The service has no mail server/);
  assert.doesNotMatch((await manager.get('/today')).text, new RegExp(`href="${path}"`));
});

test('the test shows the response of the server, and stores nothing that sends', async (t: TestContext) => {
  const cases: readonly (readonly [name: string, changes: Record<string, string>, ...RegExp[]])[] = [
    ['a wrong password', { password: 'wrong' }, /does not accept the user name or password/, /535 5\.7\.8/],
    ['a certificate of an unknown authority', { port: '2465' }, /encrypted connection to smtp\.server\.example failed/, /certificate/],
    ['no STARTTLS', { port: '2587' }, /encrypted connection/, /502 what\?/],
    ['a closed port', { port: '2525' }, /does not accept connections on port 2525/, /ECONNREFUSED/],
    ['an unknown name', { host: 'nothing.server.example' }, /No server has the name nothing\.server\.example/, /ENOTFOUND/],
  ]; // prettier-ignore
  for (const [name, changes, ...said] of cases)
    await t.test(name, async () => {
      const page = await send(changes);
      assert.equal(page.status, 422);
      for (const each of said) assert.match(textOfPage(page), each);
      assert.doesNotMatch(page.text, new RegExp(`${password}|${publicAddress.replaceAll('.', '\\.')}`));
      const code = await send({ digits: '123456' }, { action: `${path}/code` });
      assert.match(textOfPage(code), /can no longer be typed/);
    });
  shop.service.clock.advance(3_600_000);
  assert.deepEqual(withStartTls.received, []);
});

test('only public addresses and five ports are accepted', async (t) => {
  const browser = await signInAgain();
  for (const name of Object.keys(addresses).filter((each) => each !== host))
    await t.test(name, async () => {
      const page = await send({ host: name }, { browser });
      assert.equal(page.status, 422);
      assert.match(textOfPage(page), /is not a server on the internet/);
    });
  shop.service.clock.advance(3_600_000);
  const again = await signInAgain();
  for (const name of ['127.0.0.1', '0x7f.1', '2130706433', '[::1]', 'localhost', 'smtp.internal', 'smtp', 'a b', `a@${host}`, `${host}/x`, '93.184.215.14'])
    await t.test(name, async () => {
      const page = await send({ host: name }, { browser: again });
      assert.equal(page.status, 422);
      assert.match(textOfPage(page), /Enter the name of a mail server on the internet/);
    }); // prettier-ignore
  for (const port of ['25', '80', '0', '65536', '587x'])
    await t.test(`port ${port}`, async () => {
      const page = await send({ port }, { browser: again });
      assert.equal(page.status, 422);
      assert.match(textOfPage(page), /Choose a port from the list/);
    });
  assert.equal(withStartTls.received.length + withTls.received.length, 0);
});

/** The password has to be confirmed after ten minutes. */
async function signInAgain(): Promise<Browser> {
  const asked = await owner.get(path);
  if (asked.status !== 303) return owner;
  const confirm = asked.headers.get('location') ?? '';
  assert.match(confirm, /^\/confirm\?/);
  const form = formOf(await owner.get(confirm), '/confirm');
  const confirmed = await owner.post('/confirm', { ...form, password: staffPassword });
  assert.equal(confirmed.status, 303, textOfPage(confirmed));
  return owner;
}

test('the digits prove that the email arrived, and then the server sends', async () => {
  await signInAgain();
  const before = (await audit()).length;
  assert.equal((await send()).headers.get('location'), path);
  const digits = digitsOf(withStartTls);
  assert.equal(withStartTls.received.at(-1)?.secure, true);
  assert.deepEqual(withStartTls.received.at(-1)?.to, [`owner@${consoleDomain}`]);
  const page = await owner.get(path);
  assert.match(textOfPage(page), /has accepted an email to owner@flowers\.example/);
  assert.doesNotMatch(page.text, new RegExp(`${password}|${digits}`));
  assert.match(
    textOfPage(await send({ digits: wrongOf(digits) }, { action: `${path}/code` })),
    /not the digits/,
  );
  assert.deepEqual(await states(), [`draft gifts@${host}:587`]);
  const done = await send({ digits: `${digits.slice(0, 3)} ${digits.slice(3)}` }, { action: `${path}/code` });
  assert.equal(done.headers.get('location'), `${path}?done=verified`);
  assert.deepEqual(await states(), [`verified gifts@${host}:587`]);
  assert.match(
    textOf(withStartTls.received.at(-1) ?? assert.fail()),
    /Subject: Flowers: the mail server was changed/,
  );
  assert.deepEqual((await audit()).slice(before), [entry('test'), entry('verified')]);
  const shown = textOfPage(await owner.get(path));
  assert.match(shown, /Verified smtp\.server\.example:587 sends the emails of your shop as gifts/);
  assert.match(shown, /•••• set/);
  assert.match(textOfPage(await owner.get('/audit')), /Changed the settings.*mail server/);
});

test('the server of the store sends its emails, and a change takes effect at once', async () => {
  await signInAgain();
  const issue = async (to: string): Promise<void> => {
    const issued = await shop.ask('POST /gift_card', {
      json: { initial_value: '50.00', recipient_email: to },
    });
    assert.equal(issued.status, 201, issued.text);
    assert.equal(issued.headers.get('email-status'), null);
  };
  const hasArrived = (server: SmtpServer, to: string) => () =>
    server.received.some(({ to: [address] }) => address === to);
  await issue('grace@example.com');
  await until(hasArrived(withStartTls, 'grace@example.com'));
  const sent = withStartTls.received.find(({ to: [address] }) => address === 'grace@example.com');
  assert.deepEqual([sent?.from, sent?.user, sent?.secure], ['gifts@flowers.example', 'gifts', true]);
  // A draft does not send.
  assert.equal((await send({ port: '465' })).status, 303);
  await issue('alan@example.com');
  await until(hasArrived(withStartTls, 'alan@example.com'));
  const digits = digitsOf(withTls);
  const before = withStartTls.received.length;
  assert.equal((await send({ digits }, { action: `${path}/code` })).status, 303);
  // The server that sent until then sends the notice to the owners.
  assert.equal(withStartTls.received.length, before + 1);
  await issue('edsger@example.com');
  await until(hasArrived(withTls, 'edsger@example.com'));
  assert.match(textOfPage(await owner.get('/settings/emails')), /Send a test email to me/);
});

test('another host, port or user needs the password again, and another sender does not', async () => {
  await signInAgain();
  for (const changes of [{ user: 'other' }, { port: '587' }]) {
    const page = await send({ port: '465', password: '', ...changes });
    assert.equal(page.status, 422);
    assert.match(textOfPage(page), /it belongs to one server, port and user/);
  }
  await verify({ port: '465', password: '', sender: 'cards@flowers.example' }, withTls);
  assert.equal(withTls.received.at(-1)?.from, 'gifts@flowers.example');
});

test('digits can be typed five times, for half an hour', async () => {
  shop.service.clock.advance(3_600_000);
  await signInAgain();
  assert.equal((await send({ port: '465' })).status, 303);
  const digits = digitsOf(withTls);
  for (let attempt = 0; attempt < 5; attempt += 1) {
    const page = await send({ digits: wrongOf(digits) }, { action: `${path}/code` });
    assert.match(textOfPage(page), /not the digits/);
  }
  assert.match(textOfPage(await send({ digits }, { action: `${path}/code` })), /can no longer be typed/);
  assert.equal((await send({ port: '465' })).status, 303);
  const late = digitsOf(withTls);
  shop.service.clock.advance(31 * 60_000);
  await signInAgain();
  const ended = await owner.post(`${path}/code`, { digits: late });
  assert.match(textOfPage(ended), /can no longer be typed/);
});

test('the domain of the sender is checked in plain words', async () => {
  await signInAgain();
  const page = textOfPage(await owner.get(`${path}?check=domain`));
  assert.match(page, /SPF: flowers\.example has a record/);
  assert.match(page, /DKIM: Whether emails are signed/);
  assert.match(page, /DMARC: The name server did not respond/);
});

test('only owners who have confirmed to be present can use the pages', async () => {
  const requests = [
    ['GET', path],
    ['POST', path],
    ['POST', `${path}/code`],
    ['POST', `${path}/remove`],
  ] as const;
  const before = await states();
  for (const role of roles.filter((each) => each !== 'owner')) {
    const browser = await shop.as(role);
    for (const [method, each] of requests) {
      const response = method === 'GET' ? await browser.get(each) : await browser.post(each, typed);
      assert.equal(response.status, 403, `${role} ${method} ${each}`);
    }
  }
  shop.service.clock.advance(11 * 60_000);
  for (const [method, each] of requests) {
    const response = method === 'GET' ? await owner.get(each) : await owner.post(each, typed);
    assert.match(response.headers.get('location') ?? '', /^\/confirm\?/, `${method} ${each}`);
  }
  assert.deepEqual(await states(), before);
});

test('a removed server sends nothing, and the owners are notified', async () => {
  await signInAgain();
  const before = withTls.received.length;
  const removed = await send({}, { action: `${path}/remove` });
  assert.equal(removed.headers.get('location'), `${path}?done=removed`);
  assert.deepEqual(await states(), []);
  assert.match(textOf(withTls.received[before] ?? assert.fail()), /the mail server was removed/);
  assert.deepEqual((await audit()).at(-1), entry('removed', `gifts · ${host}:465`));
  assert.match(textOfPage(await owner.get(path)), /Emails are not sent/);
});

test('the settings of the operator win', async (t) => {
  await t.test('MACHINE=operator', async () => {
    await using other = await openStaffedShop({
      environment: { ...production, MACHINE: 'operator' },
      isDurable: true,
      emailNetwork,
    });
    const browser = await other.as('owner');
    assert.match(textOfPage(await browser.get(path)), /only the operator sets the mail server/);
    const page = await browser.post(path, { ...typed, key: 'A'.repeat(22) });
    assert.match(textOfPage(page), /only the operator sets the mail server/);
    assert.deepEqual(await other.service.query('select * from email_servers'), []);
  });
  await t.test('SMTP_URL', async () => {
    const smtp = { SMTP_URL: plain.url().reveal(), MAIL_FROM: 'cards@largesse.example' };
    await using other = await openStaffedShop({
      environment: { ...production, ...smtp },
      emailNetwork,
      isDurable: true,
    });
    const browser = await other.as('owner');
    assert.match(textOfPage(await browser.get(path)), /Set by the operator \(SMTP_URL\)/);
    assert.match(textOfPage(await browser.get('/settings/emails')), /Set by the operator \(SMTP_URL\)/);
    assert.doesNotMatch((await browser.get('/settings/emails')).text, new RegExp(`href="${path}"`));
  });
});
