/** The page of the requests to the API: what it lists, its filters, and what is never stored. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { openBrowser, type Browser } from '../support/browser.ts';
import { consoleDomain, join, staffPassword } from '../support/console.ts';
import { until } from '../support/delivering.ts';
import { command, databaseToServe, openShop, serve } from '../support/served.ts';
import { startService, type TestRequest, type TestService } from '../support/service.ts';
import { shopOf } from '../support/shop.ts';

/** Writes the requests within milliseconds. */
const limits = { requestLogPeriodMs: 20 };

async function openService(environment: Readonly<Record<string, string>> = {}): Promise<TestService> {
  return await startService({
    stores: [{ domain: consoleDomain, name: 'Flowers' }],
    environment,
    limits,
  });
}

/** The requests of a page of the list: `POST /gift_card Success 201 test`. */
async function listed(browser: Browser, path = '/developers/requests'): Promise<readonly string[]> {
  const { status, text } = await browser.get(path);
  assert.equal(status, 200, text);
  return Array.from(text.matchAll(/<tr role="row"><td role="cell">(.*?)<\/tr>/gs), ([, row = '']) =>
    row
      .replace(/<td role="cell" class="soft small nowrap">.*/s, '')
      .replaceAll(/<[^>]+>/g, ' ')
      .replaceAll(/\s+/g, ' ')
      .trim(),
  );
}

async function written(service: TestService, count: number): Promise<void> {
  await until(async () => {
    const [row] = await service.query('select sum(requests) as n from request_blocks');
    return Number(row?.['n'] ?? 0) >= count;
  });
}

test('an owner sees the requests of the store with their results, and filters them', async () => {
  await using service = await openService();
  const owner = await join(service, 'owner');
  assert.match((await owner.get('/developers')).text, /href="\/developers\/requests"/);
  assert.match((await owner.get('/developers/requests')).text, /No app has sent a request/);

  const manager = await join(service, 'manager');
  const made = await command(service.environment, 'store', 'create', 'books.example', '--currency', 'USD');
  assert.equal(made.code, 0, made.errors);
  const token = await service.token(consoleDomain);
  const reader = await service.token(consoleDomain, ['read_gift_cards']);
  const others = await service.token('books.example');
  const ask = async (line: string, request: TestRequest = {}): Promise<number> => {
    const [method = '', path = ''] = line.split(' ');
    return (await service.request(path, { method, token, ...request })).status;
  };
  const key = { 'idempotency-key': 'a-key-of-the-client' };
  const traced = { 'x-request-id': 'Root=1-67891233-abcdef012345678912345678' };
  const json = { initial_value: '25.00', note: 'a private note', recipient_email: 'grace@example.com' };
  const card = await service.request('/gift_card', { method: 'POST', token, json, headers: key });
  const { code } = (card.json as { readonly gift_card: { readonly code: string } }).gift_card;
  const invalid = { json: { initial_value: -1 }, headers: { 'idempotency-key': 'another' } };
  const statuses = [
    await ask('POST /gift_card', invalid),
    await ask('POST /gift_card', invalid),
    await ask('GET /gift_card/1'),
    await ask('HEAD /gift_cards?limit=1'),
    await ask('GET /gift_card?last_characters=wxyz&email=ada@example.com', { headers: traced }),
    await ask('POST /gift_card?dry_run=true', { json: { initial_value: 7 } }),
    await ask(`GET /gift_card/${code}`, { headers: { 'x-request-id': code } }),
    await ask('POST /gift_card', { token: reader, json }),
    // Those that fail authentication, and paths that need none, belong to no store.
    await ask('GET /gift_cards', { token: `${token.slice(0, -1)}${token.endsWith('0') ? '1' : '0'}` }),
    await ask('GET /nowhere'),
    await ask('GET /healthz'),
    await ask('GET /gift_cards', { token: others }),
  ];
  assert.deepEqual(statuses, [422, 422, 404, 200, 404, 201, 404, 403, 401, 404, 200, 200]);
  await written(service, 10);
  const all = [
    'POST /gift_card insufficient-scope Rejected 403 test',
    'GET /gift_card/:gift_card_id not-found Rejected 404 test',
    'POST /gift_card Success 201 test',
    'GET /gift_card not-found Rejected 404 test',
    'HEAD /gift_cards Success 200 test',
    'GET /gift_card/:gift_card_id not-found Rejected 404 test',
    'POST /gift_card invalid-parameter Rejected 422 test',
    'POST /gift_card invalid-parameter Rejected 422 test',
    'POST /gift_card Success 201 test',
  ];
  assert.deepEqual(await listed(owner), all);
  const where = (query: Readonly<Record<string, string>>): string =>
    `/developers/requests?${new URLSearchParams(query).toString()}`;
  const filtered = (query: Readonly<Record<string, string>>): Promise<readonly string[]> =>
    listed(owner, where(query));
  assert.deepEqual(await filtered({ result: 'success' }), [all[2], all[4], all[8]]);
  assert.deepEqual(await filtered({ result: 'failed' }), []);
  assert.match(
    (await owner.get(where({ result: 'failed' }))).text,
    /No request of the last 24 hours matches/,
  );
  assert.deepEqual(await filtered({ operation: 'GET /gift_card' }), [all[3]]);
  assert.deepEqual(await filtered({ id: 'Root=1-67891233-abcdef012345678912345678' }), [all[3]]);
  const readerId = /\/developers\/requests\/(\d+-\d+)/.exec((await owner.get(where({}))).text)?.[1] ?? '';
  const detail = (await owner.get(`/developers/requests/${readerId}`)).text;
  const [, ofReader = assert.fail(detail)] = /\/developers\/requests\?token=(\d+)"/.exec(detail) ?? [];
  assert.deepEqual(await filtered({ token: ofReader }), [all[0]]);
  assert.match(
    detail,
    /<h1>POST \/gift_card<\/h1>.*Rejected 403.*href="\/docs\/problems\/insufficient-scope"/s,
  );
  assert.match(detail, /Idempotency-Key<\/dt><dd>Not sent/);
  const requestId = /id="request-id">([\w-]{36})</.exec(detail)?.[1] ?? assert.fail(detail);
  assert.deepEqual(await filtered({ id: requestId }), [all[0]]);
  assert.equal((await owner.get('/docs/problems/insufficient-scope')).status, 302);

  const [newest = ''] = (await service.query('select id from request_blocks order by id desc')).map(
    ({ id }) => String(id),
  );
  for (const path of ['1-0', `${newest}-999`, newest, 'x-1', '1-0-0'])
    assert.equal((await owner.get(`/developers/requests/${path}`)).status, 404, path);
  for (const query of [
    'before=x',
    'before=1.2',
    'token=%00&result=x&operation=GET',
    `id=${'x'.repeat(5_000)}`,
  ])
    assert.equal((await owner.get(`/developers/requests?${query}`)).status, 200, query);
  assert.equal((await manager.get('/developers/requests')).status, 403);

  const pages = await Promise.all(
    [where({}), `/developers/requests/${readerId}`].map((path) => owner.get(path)),
  );
  const rows = await service.query('select kinds from request_blocks');
  const stored = [...pages.map(({ text }) => text), ...rows.map(({ kinds }) => String(kinds))].join('\n');
  for (const secret of [code, 'private note', '@example.com', 'wxyz', 'a-key-of-the-client', token])
    assert.ok(!stored.includes(secret), secret);
  assert.ok(!(await service.database.bytes()).includes(code));
  service.clock.advance(25 * 60 * 60_000);
  const signIn = { store: consoleDomain, email: `owner@${consoleDomain}`, password: staffPassword };
  assert.equal((await owner.post('/sign-in', signIn)).status, 303);
  assert.deepEqual(await listed(owner), []);
  assert.equal((await owner.get(`/developers/requests/${readerId}`)).status, 404);
});

test('the list has pages, and requests that are rejected by a limit are in it', async () => {
  await using service = await openService({ RATE_LIMIT: '0.01/55' });
  const owner = await join(service, 'owner');
  const shop = await shopOf(service, consoleDomain);
  for (let count = 0; count < 60; count += 1) await shop.ask('GET /gift_cards');
  await written(service, 60);
  const first = (await owner.get('/developers/requests')).text;
  const rows = await listed(owner);
  assert.equal(rows.length, 50);
  assert.deepEqual(
    new Set(rows.slice(0, 5)),
    new Set(['GET /gift_cards too-many-requests Rejected 429 test']),
  );
  const [, next = assert.fail(first)] = /rel="next" href="([^"]+)"/.exec(first) ?? [];
  const path = next.replaceAll('&amp;', '&');
  assert.deepEqual(await listed(owner, path), Array<string>(10).fill('GET /gift_cards Success 200 test'));
  assert.match((await owner.get(path)).text, /To the newest/);
  assert.doesNotMatch((await owner.get(path)).text, /rel="next"/);
});

test('the demonstration lists requests without a token', async () => {
  await using service = await startService({ limits });
  const owner = openBrowser(service);
  assert.equal((await owner.post('/demonstration')).status, 303);
  await service.request('/gift_cards');
  await written(service, 1);
  const row = 'GET /gift_cards Success 200 Without a token, in development';
  assert.deepEqual(await listed(owner), [row]);
  assert.deepEqual(await listed(owner, '/developers/requests?token=development'), [row]);
  assert.deepEqual(await listed(owner, '/developers/requests?token=customer'), []);
});

test('a stop writes the last requests, and the status of the store counts them', async () => {
  await using database = await databaseToServe();
  const { environment } = database;
  const token = await openShop(environment, consoleDomain);
  await using service = await serve(environment);
  for (let count = 0; count < 3; count += 1) {
    const response = await fetch(`${service.url}/gift_cards`, {
      headers: { authorization: `Bearer ${token}` },
    });
    assert.equal(response.status, 200, await response.text());
  }
  service.kill('SIGTERM');
  assert.deepEqual(await service.ended(), { code: 0, signal: null });
  const { output } = await command(environment, 'store', 'status', consoleDomain, '--json');
  const kinds = JSON.parse(output) as readonly Readonly<Record<string, unknown>>[];
  const { oldest, bytes, ...status } = kinds.find(({ kind }) => kind === 'api_requests') ?? {};
  assert.deepEqual(status, { kind: 'api_requests', rows: 3, at_least: false, retention: '24 hours' });
  assert.match(String(oldest), /^\d{4}-/);
  assert.equal(bytes, 78);
});
