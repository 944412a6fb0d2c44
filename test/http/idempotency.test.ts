/** `Idempotency-Key`: a write is executed once, and its response is replayed for 24 hours. */

import assert from 'node:assert/strict';
import { setTimeout as wait } from 'node:timers/promises';
import test, { after } from 'node:test';
import { readKeyFile } from '../../src/platform/key-file.ts';
import { keysOf } from '../../src/platform/keys.ts';
import { issuedGiftCardOf, problemOf, type ExpectedProblem } from '../support/responses.ts';
import { rotateNewest } from '../support/second-process.ts';
import type { QueryRow } from '../support/engine-database.ts';
import { startService, type TestResponse, type TestRequest } from '../support/service.ts';
import { countEvents, form, shopOf, type Shop } from '../support/shop.ts';

const service = await startService({ stores: [{ domain: 'flowers.example' }, { domain: 'books.example' }] });
after(() => service[Symbol.asyncDispose]());
const shop = await shopOf(service, 'flowers.example');
const books = await shopOf(service, 'books.example');

let made = 0;
const newKey = (): string => `key-${(made += 1)}`;

type Line = Parameters<Shop['ask']>[0];

function withKey(key: string, { headers, ...request }: TestRequest): TestRequest {
  return { ...request, headers: { ...headers, 'idempotency-key': key } };
}

/** Returns the number of records of a key, which are found by its keyed digest. */
const kept = async (key: string): Promise<number> => (await recordsOf(key)).length;
async function recordsOf(key: string): Promise<readonly QueryRow[]> {
  const keys = keysOf(readKeyFile(service.database.keysFile) ?? []);
  const rows = await service.query('select * from idempotency_records');
  const clients = await service.query('select api_client_id from access_tokens');
  return rows.filter((row) =>
    clients.some((client) => {
      const owner = `${String(row['store_id'])} ${String(client['api_client_id'])}`;
      const digest = keys.digest('idempotency-key', `${owner} ${key}`).subarray(0, 16);
      return Buffer.from(row['key_digest'] as Uint8Array).equals(digest);
    }),
  );
}
const isReplayed = ({ headers }: TestResponse): boolean => headers.get('idempotent-replayed') === 'true';

/** The state without the idempotency records, because a stored error may change those. */
async function stateWithoutRecords(): Promise<string> {
  const state = await service.state();
  return state
    .split('\n\n')
    .filter((table) => !table.startsWith('idempotency_records\n'))
    .join('\n\n');
}

/** Asserts that a request returns the first response byte for byte and changes nothing. */
async function assertReplay(of: Shop, line: Line, request: TestRequest, first: TestResponse): Promise<void> {
  const [state, events] = [await service.state(), await countEvents(service)];
  const again = await of.ask(line, request);
  assert.equal(again.status, first.status);
  assert.equal(again.text, first.text);
  assert.equal(again.headers.get('idempotent-replayed'), 'true');
  for (const name of ['etag', 'location', 'content-type', 'cache-control']) {
    assert.equal(again.headers.get(name), first.headers.get(name));
  }
  assert.notEqual(again.headers.get('x-request-id'), null);
  assert.equal(await service.state(), state);
  assert.equal(await countEvents(service), events);
}

test('a creation is executed once, and its replay is identical, including the code', async () => {
  const request = withKey(newKey(), { json: { initial_value: 7, email: 'once@example.com' } });
  const { card, response } = await shop.creates(request, {
    events: ['customer.created', 'gift_card.created'],
  });
  assert.equal(response.headers.get('idempotent-replayed'), null);
  for (let count = 0; count < 3; count += 1) await assertReplay(shop, 'POST /gift_card', request, response);
  assert.ok(card.code.length === 16 && response.text.includes(card.code));
});

test('an update is executed once, and its replay is identical after other updates', async () => {
  const { id } = await shop.issue();
  const request = withKey(newKey(), { json: { balance: 10 } });
  const { response } = await shop.accepts(`PUT /gift_card/${id}`, request, {
    events: ['gift_card.updated balance'],
  });
  await shop.accepts(
    `PUT /gift_card/${id}`,
    { json: { balance: 3 } },
    { events: ['gift_card.updated balance'] },
  );
  await assertReplay(shop, `PUT /gift_card/${id}`, request, response);
  assert.equal((await shop.read(id)).balance, '3.00');
});

test('without a key, a repeated request is executed again', async () => {
  const { card } = await shop.creates({ json: { initial_value: 7 } });
  const { card: other } = await shop.creates({ json: { initial_value: 7 } });
  assert.notEqual(card.id, other.id);
});

test('a replay has the request id of the repeated request', async () => {
  const request = withKey(newKey(), { json: { initial_value: 7 }, headers: { 'x-request-id': 'first-try' } });
  const first = await shop.ask('POST /gift_card', request);
  const again = await shop.ask('POST /gift_card', {
    ...request,
    headers: { ...request.headers, 'x-request-id': 'second-try' },
  });
  assert.deepEqual(
    [first, again].map(({ headers }) => headers.get('x-request-id')),
    ['first-try', 'second-try'],
  );
});

test('a key has 1 to 255 visible ASCII characters', async (t) => {
  for (const key of ['x', '!', '~', '"quoted"', 'a,b', 'k'.repeat(255), "';--", '\\']) {
    await t.test(key.slice(0, 20), async () => {
      await shop.creates(withKey(key, { json: { initial_value: 5 } }));
    });
  }
  const { id } = await shop.issue();
  for (const key of ['', 'k'.repeat(256), 'two words', 'a\tb', 'schlüssel', 'a, b']) {
    for (const line of ['POST /gift_card', `PUT /gift_card/${id}`] as const) {
      await t.test(`not ${key.slice(0, 20)} ${line.slice(0, 4)}`, () =>
        shop.rejects(line, withKey(key, { json: { initial_value: 5 } }), { code: 'invalid-idempotency-key' }),
      );
    }
  }
});

test('a response is replayed for 24 hours and no longer', async () => {
  const request = withKey(newKey(), { json: { initial_value: 7 } });
  const { card, response } = await shop.creates(request);
  service.clock.advance((23 * 60 + 59) * 60_000);
  await assertReplay(shop, 'POST /gift_card', request, response);
  service.clock.advance(2 * 60_000);
  const { card: again, response: second } = await shop.creates(request);
  assert.notEqual(again.id, card.id);
  assert.equal(second.headers.get('idempotent-replayed'), null);
  await assertReplay(shop, 'POST /gift_card', request, second);
});

test('an expired key can be used for another request', async () => {
  const key = newKey();
  await shop.creates(withKey(key, { json: { initial_value: 7 } }));
  service.clock.advance(24 * 3_600_000 + 60_000);
  await shop.creates(withKey(key, { json: { initial_value: 8 } }));
});

test('another request with the same key is rejected and changes nothing', async (t) => {
  const key = newKey();
  const { card, response } = await shop.creates(withKey(key, { json: { initial_value: 7, note: 'x' } }));
  const reused: ExpectedProblem = { code: 'idempotency-key-reused' };
  const bodies = [{ initial_value: 8, note: 'x' }, { initial_value: 7 }, { initial_value: 7, note: 'y' }, { initial_value: 7, note: 'x', message: 'z' }, {}, { initial_value: -1 }];
  for (const json of bodies) {
    await t.test(JSON.stringify(json), () => shop.rejects('POST /gift_card', withKey(key, { json }), reused));
  }
  await t.test('another path', () =>
    shop.rejects(`PUT /gift_card/${card.id}`, withKey(key, { json: { initial_value: 7, note: 'x' } }), reused),
  );
  await t.test('the first response is still replayed', () =>
    assertReplay(shop, 'POST /gift_card', withKey(key, { json: { initial_value: 7, note: 'x' } }), response),
  );
  await t.test('another card, another precondition', async () => {
    const [one, two] = [await shop.issue(), await shop.issue()];
    const second = newKey();
    const request = { json: { note: 'n' }, headers: { 'if-match': '*' } };
    await shop.accepts(`PUT /gift_card/${one.id}`, withKey(second, request), { events: ['gift_card.updated note'] });
    await shop.rejects(`PUT /gift_card/${two.id}`, withKey(second, request), reused);
    await shop.rejects(`PUT /gift_card/${one.id}`, withKey(second, { json: { note: 'n' } }), reused);
    await shop.rejects(
      `PUT /gift_card/${one.id}`,
      withKey(second, { ...request, headers: { 'if-match': `"${one.id}-1"` } }),
      reused,
    );
  });
}); // prettier-ignore

test('equal parameters are the same request in any encoding', async (t) => {
  const fields = { initial_value: '7.00', note: 'x', message: 'y' };
  const reordered = { message: 'y', note: 'x', initial_value: '7.00' };
  const key = newKey();
  const { response } = await shop.creates(withKey(key, { json: fields }));
  const same: Readonly<Record<string, TestRequest>> = {
    'in another order': { json: reordered },
    wrapped: { json: { gift_card: fields } },
    'as a form': form(fields),
    'as a wrapped form': form(Object.fromEntries(Object.entries(reordered).map(([name, value]) => [`gift_card[${name}]`, value]))),
    'with additional space': { body: JSON.stringify(fields, null, 2), headers: { 'content-type': 'application/json; charset=utf-8' } },
  };
  for (const [name, request] of Object.entries(same)) {
    await t.test(name, () => assertReplay(shop, 'POST /gift_card', withKey(key, request), response));
  }
  await t.test('null equals an empty field of a form', async () => {
    const second = newKey();
    const first = await shop.creates(withKey(second, { json: { initial_value: '7', note: null } }));
    await assertReplay(shop, 'POST /gift_card', withKey(second, form({ initial_value: '7', note: '' })), first.response);
  });
}); // prettier-ignore

test('a JSON number equals the same digits in a form', async () => {
  const key = newKey();
  const { response } = await shop.creates(withKey(key, { json: { initial_value: 7 } }));
  await assertReplay(shop, 'POST /gift_card', withKey(key, form({ initial_value: '7' })), response);
});

test('a JSON boolean equals the same word in a form', async () => {
  const { id } = await shop.issue();
  const key = newKey();
  const { response } = await shop.accepts(`PUT /gift_card/${id}`, withKey(key, { json: { disable: true } }), {
    events: ['gift_card.disabled disabled_at'],
  });
  await assertReplay(shop, `PUT /gift_card/${id}`, withKey(key, form({ disable: 'true' })), response);
});

test('the query parameters of the app proxy are not part of the request', async () => {
  const request = withKey(newKey(), { json: { initial_value: 7 } });
  const { response } = await shop.creates(request);
  await assertReplay(shop, 'POST /gift_card?timestamp=1&shop=flowers.example', request, response);
});

test('a key belongs to one API client of one store', async () => {
  const request = withKey(newKey(), { json: { initial_value: 7 } });
  const { card, response } = await shop.creates(request);
  const client = await shopOf(service, 'flowers.example');
  const others = [await client.creates(request), await books.creates(request)];
  assert.equal(new Set([card.id, ...others.map((other) => other.card.id)]).size, 3);
  await assertReplay(shop, 'POST /gift_card', request, response);
});

test('a rotated token is the same API client and keeps its keys', async () => {
  const client = await shopOf(service, 'books.example');
  const request = withKey(newKey(), { json: { initial_value: 7 } });
  const { response } = await client.creates(request);
  const token = await rotateNewest(service, 'books.example');
  await assertReplay(client, 'POST /gift_card', { ...request, token }, response);
});

test('a final error is stored: 404, 412 and 422', async (t) => {
  const { id } = await shop.issue();
  const errors: readonly (readonly [Line, TestRequest, ExpectedProblem])[] = [
    ['POST /gift_card', { json: { initial_value: 0 } }, { code: 'invalid-parameter', errors: { initial_value: ['must be greater than 0'] } }],
    ['POST /gift_card', { json: { initial_value: 5, gift_card: {} } }, { code: 'invalid-parameter', errors: { gift_card: ['cannot be combined with parameters outside it'] } }],
    [`PUT /gift_card/${id}`, { json: { balance: -1 } }, { code: 'invalid-parameter', errors: { balance: ['must be at least 0'] } }],
    [`PUT /gift_card/${id}`, { json: { order_id: 1 } }, { code: 'invalid-parameter', errors: { order_id: ['cannot be changed'] } }],
    [`PUT /gift_card/${id}`, { json: { balance: 1 }, headers: { 'if-match': '"old"' } }, { code: 'precondition-failed' }],
    ['PUT /gift_card/244212357349', { json: { balance: 1 } }, { code: 'not-found' }],
  ];
  for (const [line, request, expected] of errors) {
    await t.test(`${expected.code} ${line} ${JSON.stringify(request.json)}`, async () => {
      const key = newKey();
      const before = await stateWithoutRecords();
      const first = await shop.ask(line, withKey(key, request));
      problemOf(first, expected);
      assert.equal(await stateWithoutRecords(), before);
      assert.equal(await kept(key), 1);
      await assertReplay(shop, line, withKey(key, request), first);
      await shop.rejects(line, withKey(key, { ...request, json: { note: 'another' } }), { code: 'idempotency-key-reused' });
    });
  }
  await t.test('a stored error is replayed after its cause is gone', async () => {
    const request = withKey(newKey(), { json: { balance: 9 }, headers: { 'if-match': `"${id}-2"` } });
    const first = await shop.ask(`PUT /gift_card/${id}`, request);
    problemOf(first, { code: 'precondition-failed' });
    await shop.accepts(`PUT /gift_card/${id}`, { json: { note: 'now 2' } }, { events: ['gift_card.updated note'] });
    await assertReplay(shop, `PUT /gift_card/${id}`, request, first);
  });
  await t.test('a taken code', async () => {
    const { code } = await shop.issue();
    const request = withKey(newKey(), { json: { initial_value: 5, code } });
    const first = await shop.ask('POST /gift_card', request);
    problemOf(first, { code: 'invalid-parameter', errors: { code: ['is taken'] } });
    await assertReplay(shop, 'POST /gift_card', request, first);
  });
}); // prettier-ignore

test('the 404 of an invalid id is stored too', async () => {
  const key = newKey();
  const request = withKey(key, { json: { balance: 1 } });
  const first = await shop.ask('PUT /gift_card/abc', request);
  problemOf(first, { code: 'not-found' });
  await assertReplay(shop, 'PUT /gift_card/abc', request, first);
});

test('an error before the operation is not stored: 400, 401, 403, 413, 415', async (t) => {
  const reader = await shopOf(service, 'flowers.example', { scopes: ['read_gift_cards'] });
  const writer = await shopOf(service, 'flowers.example', { scopes: ['write_gift_cards'] });
  const json = { initial_value: 5 };
  const type = (name: string) => ({ 'content-type': name });
  const errors: readonly (readonly [name: string, Shop, Line, TestRequest, ExpectedProblem])[] = [
    ['malformed body', shop, 'POST /gift_card', { body: '{', headers: type('application/json') }, { code: 'invalid-body' }],
    ['malformed query', shop, 'POST /gift_card?page=1', { json }, { code: 'invalid-query', errors: { page: ['is not a known parameter'] } }],
    ['unknown token', shop, 'POST /gift_card', { json, token: 'lgs_1_x' }, { code: 'unauthenticated' }],
    ['wrong signature', shop, 'POST /gift_card?signature=0', { json }, { code: 'invalid-signature' }],
    ['no scope', reader, 'POST /gift_card', { json }, { code: 'insufficient-scope' }],
    ['too large', shop, 'POST /gift_card', { json: { ...json, note: 'x'.repeat(66_000) } }, { code: 'body-too-large' }],
    ['content type', shop, 'POST /gift_card', { body: 'x', headers: type('text/plain') }, { code: 'unsupported-media-type' }],
  ];
  for (const [name, of, line, request, expected] of errors) {
    await t.test(name, async () => {
      const key = newKey();
      await of.rejects(line, withKey(key, request), expected);
      assert.equal(await kept(key), 0);
      // The key is unused, so the correct request succeeds.
      const meant = of === reader ? writer : of;
      await meant.creates(withKey(key, { json }));
    });
  }
}); // prettier-ignore

test('a 429 is not stored', async () => {
  await using limited = await startService({
    stores: [{ domain: 'flowers.example' }],
    environment: { RATE_LIMIT: '0.01/1' },
  });
  const client = await shopOf(limited, 'flowers.example');
  await client.issue();
  const request = withKey('limited', { json: { initial_value: 5 } });
  await client.rejects('POST /gift_card', request, { code: 'too-many-requests' });
  limited.clock.advance(101_000);
  const { response } = await client.creates(request);
  assert.equal(response.headers.get('idempotent-replayed'), null);
});

test('the key of a request in flight is in use, for any other request', async (t) => {
  const key = newKey();
  const { id } = await shop.issue();
  const request = withKey(key, { json: { initial_value: 7 } });
  const cards = async () => Number((await service.query('select count(*) as n from gift_cards'))[0]?.['n']);
  const before = await cards();
  const lock = await service.database.lock();
  const first = shop.ask('POST /gift_card', request);
  await wait(100);
  try {
    await t.test('the same request', () =>
      shop.rejects('POST /gift_card', request, { code: 'idempotency-key-in-use' }),
    );
    await t.test('another request', () =>
      shop.rejects(`PUT /gift_card/${id}`, withKey(key, { json: { note: 'x' } }), {
        code: 'idempotency-key-in-use',
      }),
    );
  } finally {
    await lock[Symbol.asyncDispose]();
  }
  const response = await first;
  issuedGiftCardOf(response);
  await assertReplay(shop, 'POST /gift_card', request, response);
  assert.equal(await cards(), before + 1);
});

test('the same key of another client is not in use', async () => {
  const key = newKey();
  const request = withKey(key, { json: { initial_value: 7 } });
  const lock = await service.database.lock();
  const responses = Promise.all([
    shop.ask('POST /gift_card', request),
    books.ask('POST /gift_card', request),
  ]);
  await wait(50);
  await lock[Symbol.asyncDispose]();
  for (const response of await responses) issuedGiftCardOf(response);
});

test('one of many equal concurrent requests is executed', async () => {
  const request = withKey(newKey(), { json: { initial_value: 7, note: 'at once' } });
  const responses = await Promise.all(Array.from({ length: 20 }, () => shop.ask('POST /gift_card', request)));
  const done = responses.filter(({ status }) => status === 201);
  assert.ok(done.length > 0);
  assert.equal(new Set(done.map(({ text }) => text)).size, 1);
  assert.equal(done.filter((response) => !isReplayed(response)).length, 1);
  for (const response of responses) {
    if (response.status !== 201) problemOf(response, { code: 'idempotency-key-in-use' });
  }
  const rows = await service.query("select count(*) as n from gift_cards where note = 'at once'");
  assert.equal(rows[0]?.['n'], 1);
});

test('a stored response is encrypted: the database and its log contain no code, token or key', async () => {
  const key = 'order-1017-of-ada@example.com';
  const note = 'this note is stored as it is';
  const { card } = await shop.creates(withKey(key, { json: { initial_value: 7, note } }));
  const [chosen] = [
    await shop.creates(withKey(newKey(), { json: { initial_value: 7, code: 'Sealed-Away-12' } })),
  ];
  const bytes = await service.database.bytes();
  const state = await service.state();
  assert.ok(bytes.includes(note), 'the bytes do not contain the note');
  const codes = [card.code, chosen.card.code, card.code.toUpperCase(), 'Sealed-Away-12'];
  for (const secret of [...codes, shop.token, books.token, key]) {
    assert.ok(!bytes.includes(secret), 'the bytes contain a secret');
    assert.ok(!bytes.includes(Buffer.from(secret).toString('base64').replace(/=+$/, '')));
    assert.ok(!bytes.includes(Buffer.from(secret).toString('hex')));
    assert.ok(!state.includes(secret));
  }
  const [row] = await recordsOf(key);
  assert.ok(!Buffer.from(row?.['response'] as Uint8Array).includes('gift_card'));
});

test('read operations ignore an idempotency key', async () => {
  const { id } = await shop.issue();
  const key = newKey();
  for (let count = 0; count < 2; count += 1) {
    const { response } = await shop.accepts(`GET /gift_card/${id}`, withKey(key, {}));
    assert.equal(response.headers.get('idempotent-replayed'), null);
  }
  assert.equal(await kept(key), 0);
});
