/** The pages for developers: access tokens, and webhooks with their log. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { Webhook as Verifier } from 'standardwebhooks';
import { openBrowser, type Browser } from '../support/browser.ts';
import { consoleDomain, join, openStoreWithStaff, staffPassword, submitForm } from '../support/console.ts';
import { until } from '../support/delivering.ts';
import { command } from '../support/served.ts';
import { startService, type TestResponse, type TestService } from '../support/service.ts';
import { receiveWebhooks } from '../support/webhook-receiver.ts';

const dayMs = 24 * 60 * 60 * 1_000;
const tokenForm = { name: 'Web shop', scope_read_gift_cards: '1', scope_read_events: '1' };

function locationOf({ status, headers, text }: TestResponse): string {
  assert.equal(status, 303, text);
  return headers.get('location') ?? assert.fail('no location');
}

/** The token or secret on the page after a form. */
async function secretAt(browser: Browser, path: string): Promise<string> {
  const { status, text, headers } = await browser.get(path);
  assert.equal(status, 200, text);
  assert.equal(headers.get('cache-control'), 'no-store');
  return /<code id="secret">([^<]+)</.exec(text)?.[1] ?? assert.fail(text);
}

/** Asserts that secrets are in no page, log line or row. */
async function assertSecret(
  service: TestService,
  browser: Browser,
  { secrets, paths }: { readonly secrets: readonly string[]; readonly paths: readonly string[] },
): Promise<void> {
  const pages = await Promise.all(paths.map((path) => browser.get(path)));
  const all = [service.log(), await service.state(), ...pages.map(({ text }) => text)].join('\n');
  for (const secret of secrets) {
    assert.ok(secret.length >= 16);
    assert.ok(!all.includes(secret));
  }
}

test('an owner creates a token that is shown once, works with the API, and stops when it is revoked', async () => {
  await using service = await openStoreWithStaff();
  const owner = await join(service, 'owner');
  assert.match((await owner.get('/developers')).text, /No app has access yet/);
  assert.match((await owner.get('/today')).text, /href="\/developers">.*Developers</s);
  const rejected = await submitForm(owner, '/developers/tokens/new', { fields: { name: ' ' } });
  assert.equal(rejected.status, 422);
  assert.match(rejected.text, /id="name-error">Enter a name/);
  assert.match(rejected.text, /id="scopes-error">Choose at least one/);

  const form = await owner.get('/developers/tokens/new');
  const key = /name="key" value="([\w-]{22})"/.exec(form.text)?.[1] ?? assert.fail(form.text);
  const both = await Promise.all(
    [1, 2].map(() => owner.post('/developers/tokens/new', { key, ...tokenForm })),
  );
  assert.deepEqual(both.map(locationOf), Array<string>(2).fill(`/developers/created/${key}`));
  const path = `/developers/created/${key}`;
  const token = await secretAt(owner, path);
  assert.match(token, /^lgs_/);
  assert.equal(await secretAt(owner, path), token, 'after a reload');
  assert.equal((await service.query('select id from access_tokens')).length, 1);

  const ask = (line: string, json?: object): Promise<TestResponse> => {
    const [method = '', url = ''] = line.split(' ');
    return service.request(url, { method, token, ...(json && { json }) });
  };
  assert.equal((await ask('GET /gift_cards')).status, 200);
  assert.equal((await ask('GET /events')).status, 200);
  assert.equal(
    (await ask('POST /gift_card', { initial_value: 5 })).status,
    403,
    'a scope that was not chosen',
  );
  const listed = (await owner.get('/developers')).text;
  assert.match(listed, /Web shop<.*Read gift cards · Read events</s);

  const other = openBrowser(service);
  await other.post('/sign-in', { email: `owner@${consoleDomain}`, password: staffPassword });
  assert.equal(await secretAt(other, path), token, 'another session of the same person');
  const revokePath = /\/developers\/tokens\/\d+\/revoke/.exec(listed)?.[0] ?? assert.fail(listed);
  assert.match((await owner.get(revokePath)).text, /Revoke “Web shop”\?.*rejected with 401/s);
  const revokeKey = /name="key" value="([\w-]{22})"/.exec((await owner.get(revokePath)).text)?.[1] ?? '';
  const revokes = await Promise.all([1, 2].map(() => owner.post(revokePath, { key: revokeKey })));
  assert.deepEqual(revokes.map(locationOf), ['/developers', '/developers']);
  assert.equal((await ask('GET /gift_cards')).status, 401);
  assert.equal((await owner.get(path)).status, 404, 'a revoked token is no longer shown');
  assert.match((await owner.get(revokePath)).text, /This token is revoked/);
  assert.doesNotMatch((await owner.get('/developers')).text, /Web shop/);
  assert.match((await owner.get('/developers/tokens')).text, /Web shop<.*Revoked <time/s);

  const audit = (await owner.get('/audit')).text;
  assert.match(audit, /Created an access token <[^>]+>“Web shop”, read_gift_cards, read_events</);
  assert.equal(audit.match(/Revoked an access token <[^>]+>“Web shop”</g)?.length, 1);
  const paths = ['/audit', '/developers', '/developers/tokens', revokePath];
  await assertSecret(service, owner, { secrets: [token], paths });
});

test('a token can expire: the page marks it before, and requests are rejected with their own detail after', async () => {
  await using service = await openStoreWithStaff();
  const owner = await join(service, 'owner');
  const submit = (fields: Readonly<Record<string, string>>) =>
    submitForm(owner, '/developers/tokens/new', { fields: { ...tokenForm, ...fields } });
  assert.equal((await submit({ expires: '31' })).status, 422);
  const path = locationOf(await submit({ expires: '30' }));
  const token = await secretAt(owner, path);
  const other = await secretAt(owner, locationOf(await submit({ expires: '', name: 'Till' })));
  const ask = (used: string): Promise<TestResponse> => service.request('/gift_cards', { token: used });
  assert.equal((await ask(token)).status, 200);
  const page = async (): Promise<string> => {
    await owner.post('/sign-in', { email: `owner@${consoleDomain}`, password: staffPassword });
    return (await owner.get('/developers')).text;
  };
  const early = await page();
  assert.match(early, /Web shop<.*Expires <time/s);
  assert.doesNotMatch(early, /in the next 14 days/);
  service.clock.advance(28 * dayMs + 1);
  assert.match(await page(), /1 token expires in the next 14 days.*Expires in 2 days/s);
  service.clock.advance(2 * dayMs);
  assert.match(await page(), /Expired <time/);
  const { status, json, headers } = await ask(token);
  const { type, detail } = json as { readonly type: string; readonly detail: string };
  assert.deepEqual(
    [status, type, detail],
    [401, '/docs/problems/unauthenticated', 'The access token has expired.'],
  );
  assert.equal(headers.get('www-authenticate'), 'Bearer realm="largesse"');
  assert.equal((await ask(other)).status, 200);
  const create = ['token', 'create', '--scopes', 'read_events', '--json', '--expires'] as const;
  const made = await command(service.environment, ...create, '7');
  const { expires_at: expiresAt, created_at: createdAt } = JSON.parse(made.output) as Record<string, string>;
  assert.equal(Date.parse(expiresAt ?? '') - Date.parse(createdAt ?? ''), 7 * dayMs);
  const never = await command(service.environment, ...create, 'never');
  assert.equal((JSON.parse(never.output) as Record<string, unknown>)['expires_at'], null);
  for (const wrong of ['0', '-1', '3651', '1.5', 'soon'])
    assert.match(
      (await command(service.environment, ...create, wrong)).errors,
      /a number of days from 1 to 3650/,
    );
});

test('only an owner who has confirmed the password creates tokens and webhooks', async () => {
  await using service = await openStoreWithStaff();
  const owner = await join(service, 'owner');
  const created = await submitForm(owner, '/developers/tokens/new', { fields: tokenForm });
  const result = locationOf(created);
  for (const role of ['manager', 'accountant', 'cashier'] as const) {
    const browser = await join(service, role);
    for (const path of ['/developers', '/developers/tokens/new', '/developers/webhooks/new', result])
      assert.equal((await browser.get(path)).status, 403, `${role}: ${path}`);
    const { status } = await browser.post('/developers/tokens/new', { key: 'k'.repeat(22), ...tokenForm });
    assert.equal(status, 403, role);
  }
  service.clock.advance(10 * 60 * 1_000);
  assert.equal((await owner.get('/developers')).status, 200, 'the list needs no password');
  const sensitive = ['tokens/new', 'webhooks/new', result.slice('/developers/'.length)];
  for (const path of sensitive) {
    const location = locationOf(await owner.get(`/developers/${path}`));
    assert.equal(location, `/confirm?next=${encodeURIComponent(`/developers/${path}`)}`);
  }
  const posted = await owner.post('/developers/tokens/new', { key: 'k'.repeat(22), ...tokenForm });
  assert.match(locationOf(posted), /^\/confirm\?next=/);
  assert.equal((await service.query('select id from access_tokens')).length, 1);
  await owner.post('/confirm', { password: staffPassword, next: '/developers' });
  assert.equal((await owner.get(result)).status, 200);
  service.clock.advance(25 * 60 * 60 * 1_000);
  await owner.post('/sign-in', { email: `owner@${consoleDomain}`, password: staffPassword });
  assert.equal((await owner.get(result)).status, 404, 'after 24 hours');
  assert.equal((await owner.get('/developers/tokens/0x1/revoke')).status, 404);
  assert.equal((await owner.get('/developers/webhooks/1')).status, 404);
});

test('a webhook of a store has a public URL, and its forms keep what was typed', async () => {
  await using service = await openStoreWithStaff();
  const owner = await join(service, 'owner');
  const submit = (fields: Readonly<Record<string, string>>, path = '/developers/webhooks/new') =>
    submitForm(owner, path, { fields });
  const rejected = await submit({ url: 'http://shop.example.com/<b>', 'event_gift_card.held': '1' });
  assert.equal(rejected.status, 422);
  assert.match(rejected.text, /value="http:\/\/shop\.example\.com\/&lt;b&gt;"/);
  assert.match(rejected.text, /id="url-error">Enter a URL that starts with https/);
  assert.match(rejected.text, /name="event_gift_card\.held" value="1" checked/);
  const url = 'https://shop.example.com/hooks?secret=in-the-query';
  assert.match((await submit({ url })).text, /id="events-error">Choose at least one event/);

  // A group includes its types.
  const events = { 'event_gift_card.*': '1', 'event_gift_card.held': '1', 'event_customer.created': '1' };
  const first = locationOf(await submit({ url, ...events }));
  const secret = await secretAt(owner, first);
  const [row] = await service.query('select patterns from webhooks');
  assert.equal(row?.['patterns'], ' gift_card.* customer.created ');
  const path =
    /\/developers\/webhooks\/\d+/.exec((await owner.get('/developers')).text)?.[0] ?? assert.fail();

  const stale = /name="version" value="([^"]+)"/.exec((await owner.get(`${path}/edit`)).text)?.[1] ?? '';
  const everything = { url, 'event_*': '1', 'event_customer.created': '1' };
  assert.equal(locationOf(await submit(everything, `${path}/edit`)), path);
  assert.equal((await service.query('select patterns from webhooks'))[0]?.['patterns'], ' * ');
  const late = await submit({ ...everything, version: stale }, `${path}/edit`);
  assert.equal(late.status, 422);
  assert.match(late.text, /role="alert">The webhook was changed after you opened this form/);

  const rotated = locationOf(await submit({}, `${path}/rotate`));
  assert.equal((await owner.get(first)).status, 404, 'the replaced secret is no longer shown');
  const fresh = await secretAt(owner, rotated);
  assert.match((await owner.get(path)).text, /a signature of the previous secret until <time/);

  assert.equal(locationOf(await owner.post(`${path}/pause`)), path);
  await owner.post(`${path}/pause`);
  const paused = (await owner.get(path)).text;
  assert.match(paused, /Paused since <time.*It was paused by hand/s);
  assert.doesNotMatch(paused, /Send a test event/);
  const unsent = await owner.post(`${path}/test`, { key: 't'.repeat(22) });
  assert.equal(locationOf(unsent), path);
  await owner.post(`${path}/resume`);
  assert.match((await owner.get(path)).text, /Send a test event/);

  for (let count = 1; count < 20; count += 1) await submit({ url, ...events });
  const tooMany = await submit({ url, ...events });
  assert.equal(tooMany.status, 422);
  assert.match(tooMany.text, /at most 20 webhooks/);
  assert.equal(locationOf(await submit({}, `${path}/delete`)), '/developers');
  assert.equal((await owner.get(path)).status, 404);
  assert.equal((await owner.get(rotated)).status, 404);

  const audit = (await owner.get('/audit')).text.replaceAll(/<[^>]+>/g, '');
  const host = '“shop.example.com”';
  for (const entry of [
    `Added a webhook ${host}`,
    `Changed a webhook ${host}, events`,
    `Changed a webhook ${host}, new secret`,
    `Changed a webhook ${host}, resumed`,
    `Deleted a webhook ${host}`,
  ])
    assert.ok(audit.includes(entry), entry);
  assert.equal(audit.split(`Changed a webhook ${host}, paused`).length, 2, 'pausing twice is one change');
  await assertSecret(service, owner, { secrets: [secret, fresh], paths: ['/audit', '/developers'] });
  assert.doesNotMatch(audit, /in-the-query/);
});

test('a webhook receives a signed test event, and its log shows attempts, payloads and redeliveries', async () => {
  await using service = await startService();
  await using receiver = await receiveWebhooks();
  const owner = openBrowser(service);
  assert.equal((await owner.post('/demonstration')).status, 303);
  const fields = { url: receiver.url, 'event_gift_card.*': '1' };
  const created = locationOf(await submitForm(owner, '/developers/webhooks/new', { fields }));
  const secret = await secretAt(owner, created);
  const path = /\/developers\/webhooks\/\d+/.exec((await owner.get(created)).text)?.[0] ?? assert.fail();
  assert.match((await owner.get(path)).text, /Nothing has been sent/);

  const sent = locationOf(await submitForm(owner, path, { action: `${path}/test` }));
  const [message] = receiver.got;
  new Verifier(secret).verify(message?.body ?? '', message?.headers as Record<string, string>);
  assert.equal(message?.event.type, 'webhook.test');
  const delivered = (await owner.get(sent)).text;
  assert.match(delivered, /<h1>Test event<\/h1>.*Delivered<.*204 after [\d,]+ ms/s);
  assert.match(delivered, /&quot;type&quot;: &quot;webhook\.test&quot;/);

  receiver.response = { status: 503, body: 'down for <maintenance>' };
  const issued = await service.request('/gift_card', {
    method: 'POST',
    json: { initial_value: 12, note: '<script>alert(1)</script>' },
  });
  const { code } = (issued.json as { readonly gift_card: { readonly code: string } }).gift_card;
  const logged = async (state = ''): Promise<string> => (await owner.get(`${path}${state}`)).text;
  await until(async () => (await logged()).includes('503 after'));
  const log = await logged();
  assert.match(
    log,
    /A card was issued<.*Retrying<.*503 after.*Next attempt: <time.*Test event</s,
    'newest first',
  );
  assert.match(await logged('?state=delivered'), /Test event</);
  assert.doesNotMatch(await logged('?state=delivered'), /A card was issued</);
  assert.match(await logged('?state=retrying'), /A card was issued</);
  assert.match(await logged('?state=dead'), /No delivery has this state/);
  const [delivery = assert.fail(log)] =
    new RegExp(`${path}/deliveries/\\d+(?=">A card was issued)`).exec(log) ?? [];
  const failed = (await owner.get(delivery)).text;
  assert.match(failed, /The receiver had an error.*down for &lt;maintenance&gt;/s);
  assert.match(failed, /&quot;note&quot;: &quot;&lt;script&gt;alert\(1\)&lt;\/script&gt;&quot;/);
  assert.doesNotMatch(failed, /<script>alert/);
  assert.ok(!`${log}${failed}`.includes(code), 'payloads have no codes');

  receiver.response = { status: 200 };
  const before = receiver.got.length;
  const again = await submitForm(owner, delivery, { action: `${delivery}/redeliver` });
  assert.equal(locationOf(again), delivery);
  assert.equal(receiver.got.length, before + 1);
  const page = (await owner.get(delivery)).text;
  assert.match(page, /Delivered<.*200 after.*503 after/s);
  const key = /name="key" value="([\w-]{22})"/.exec(page)?.[1] ?? '';
  await Promise.all([1, 2].map(() => owner.post(`${delivery}/redeliver`, { key })));
  assert.equal(receiver.got.length, before + 2, 'a second click sends nothing');
  const bodies = receiver.got
    .filter(({ event }) => event.type === 'gift_card.created')
    .map(({ body }) => body);
  assert.equal(new Set(bodies).size, 1);
  assert.ok(!bodies.some((body) => body.includes(code)));
  assert.equal((await owner.get(`${path}/deliveries/1`)).status, 404);
  assert.equal((await owner.post(`${path}/deliveries/1/redeliver`, { key: 'r'.repeat(22) })).status, 404);

  const audit = (await owner.get('/audit')).text.replaceAll(/<[^>]+>/g, '');
  assert.match(audit, /Sent an event to a webhook “127\.0\.0\.1:\d+”, test/);
  assert.equal(audit.match(/Sent an event to a webhook/g)?.length, 3);
  await assertSecret(service, owner, {
    secrets: [secret, code],
    paths: ['/audit', '/developers', path, sent, delivery],
  });
});
