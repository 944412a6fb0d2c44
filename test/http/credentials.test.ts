/** Access tokens: the headers that contain them, their scopes and their stores. */

import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { giftCardOf, issuedGiftCardOf, problemOf } from '../support/responses.ts';
import { revokeNewest, rotateNewest } from '../support/second-process.ts';
import { startService } from '../support/service.ts';
import { shopOf, unchanged } from '../support/shop.ts';
import { exchange, requestText } from '../support/wire.ts';

const service = await startService({
  stores: [{ domain: 'flowers.example' }, { domain: 'books.example' }, { domain: 'turned.example' }],
});
after(() => service[Symbol.asyncDispose]());
const shop = await shopOf(service, 'flowers.example');
const books = await shopOf(service, 'books.example');
const { id, last_characters } = await shop.issue({ email: 'ada@example.com' });

const requests = [
  { method: 'GET', path: `/gift_card/${id}`, scope: 'read_gift_cards' },
  { method: 'GET', path: `/gift_card?last_characters=${last_characters}&email=ada@example.com`, scope: 'read_gift_cards' },
  { method: 'HEAD', path: `/gift_card/${id}`, scope: 'read_gift_cards' },
  { method: 'POST', path: '/gift_card', scope: 'write_gift_cards', json: { initial_value: 5 } },
  { method: 'PUT', path: `/gift_card/${id}`, scope: 'write_gift_cards', json: { note: 'x' } },
] as const; // prettier-ignore

test('a token can be in any of three headers', async (t) => {
  const forms = [
    ['authorization', `Bearer ${shop.token}`],
    ['authorization', `bearer ${shop.token}`],
    ['authorization', `BEARER   ${shop.token} `],
    ['x-access-token', shop.token],
    ['x-gcf-access-token', shop.token],
    ['X-GCF-Access-Token', ` ${shop.token} `],
  ] as const;
  for (const [name, value] of forms) {
    await t.test(`${name}: ${value.slice(0, 12)}`, async () => {
      giftCardOf(await service.request(`/gift_card/${id}`, { headers: { [name]: value } }));
      const response = await service.request('/gift_card', {
        method: 'POST',
        json: { initial_value: 5 },
        headers: { [name]: value },
      });
      assert.equal(issuedGiftCardOf(response).api_client_id, (await shop.read(id)).api_client_id);
    });
  }
});

test('the same token in several headers is accepted; different tokens are rejected', async (t) => {
  const other = await service.token('flowers.example');
  const names = ['authorization', 'x-access-token', 'x-gcf-access-token'] as const;
  const headersWith = (tokens: readonly (string | undefined)[]): Record<string, string> =>
    Object.fromEntries(
      names.flatMap((name, index) => {
        const token = tokens[index];
        if (token === undefined) return [];
        return [[name, name === 'authorization' ? `Bearer ${token}` : token]];
      }),
    );
  const [own] = [shop.token];
  for (const tokens of [
    [own, own, own],
    [own, own],
    [undefined, own, own],
    [own, undefined, own],
  ]) {
    await t.test(`${tokens.filter((token) => token !== undefined).length} equal`, async () => {
      giftCardOf(await service.request(`/gift_card/${id}`, { headers: headersWith(tokens) }));
    });
  }
  const differing = [
    [own, other],
    [other, own],
    [own, undefined, other],
    [undefined, own, other],
    [own, own, other],
    [own, books.token],
    [own, 'nonsense'],
    ['nonsense', own],
    [own, ''],
  ];
  for (const tokens of differing) {
    await t.test(`different: ${tokens.map((token) => token?.slice(-4)).join(' ')}`, async () => {
      await unchanged(service, async () =>
        problemOf(
          await service.request('/gift_card', {
            method: 'POST',
            json: { initial_value: 5 },
            headers: headersWith(tokens),
          }),
          { code: 'unauthenticated' },
        ),
      );
    });
  }
});

test('a repeated credential header is malformed', async (t) => {
  for (const [name, value] of [
    ['Authorization', `Bearer ${shop.token}`],
    ['X-Access-Token', shop.token],
    ['x-gcf-access-token', shop.token],
  ] as const) {
    for (const [first, second] of [
      [value, value],
      [value, 'Bearer nonsense'],
      ['Bearer nonsense', value],
    ] as const) {
      await t.test(`${name} ${first.slice(0, 10)} ${second.slice(0, 10)}`, async () => {
        const response = await exchange(
          service,
          requestText(`GET /gift_card/${id}`, [
            [name, first],
            [name.toLowerCase(), second],
          ]),
        );
        problemOf(response, { code: 'invalid-request' });
      });
    }
  }
});

test('a repeated credential header is malformed in an absolute-form request without Host too', async () => {
  const credential = `Authorization: Bearer ${shop.token}\r\n`;
  const target = `http://127.0.0.1/gift_card/${id}`;
  const response = await exchange(
    service,
    `GET ${target} HTTP/1.1\r\n${credential}${credential}Connection: close\r\n\r\n`,
  );
  problemOf(response, { code: 'invalid-request' });
});

test('without a valid credential every operation returns a 401 with the scheme', async (t) => {
  const [prefix, store, secret] = shop.token.split('_');
  const wrong: Readonly<Record<string, Record<string, string>>> = {
    none: {},
    'an empty one': { authorization: '' },
    'no token': { authorization: 'Bearer' },
    'an empty token': { authorization: 'Bearer ' },
    'an empty header': { 'x-access-token': '' },
    'another scheme': { authorization: `Basic ${Buffer.from(`x:${shop.token}`).toString('base64')}` },
    'no scheme': { authorization: shop.token },
    'two tokens': { authorization: `Bearer ${shop.token} ${shop.token}` },
    'a list': { authorization: `Bearer ${shop.token}, Bearer ${shop.token}` },
    'an unexpected scheme': { 'x-access-token': `Bearer ${shop.token}` },
    nonsense: { authorization: 'Bearer nonsense' },
    'an unknown token': { authorization: `Bearer ${prefix}_${store}_${'x'.repeat(40)}` },
    'a token of an unknown store': { authorization: `Bearer ${prefix}_1_${secret}` },
    'a token with the id of another store': { authorization: `Bearer ${prefix}_${books.token.split('_')[1]}_${secret}` },
    'a token in capitals': { authorization: `Bearer ${shop.token.toUpperCase()}` },
    'a truncated token': { authorization: `Bearer ${shop.token.slice(0, -1)}` },
    'a token with additional characters': { authorization: `Bearer ${shop.token}x` },
    'a token with a store of zeros': { authorization: `Bearer ${prefix}_0_${secret}` },
    'a token with a store out of range': { authorization: `Bearer ${prefix}_zzzzzzzzzzz_${secret}` },
    'a wildcard': { authorization: `Bearer ${prefix}_${store}_%` },
    'in a cookie': { cookie: `access_token=${shop.token}` },
    'in another header': { 'x-shopify-access-token': shop.token },
  };
  for (const [name, headers] of Object.entries(wrong)) {
    await t.test(name, async () => {
      await unchanged(service, async () => {
        for (const { scope: _, method, ...request } of requests) {
          const response = await service.request(request.path, { method, headers, ...request });
          if (method === 'HEAD') assert.equal(response.status, 401);
          else problemOf(response, { code: 'unauthenticated' });
        }
      });
    });
  }
}); // prettier-ignore

test('an invalid credential is reported before errors of the body or the card', async () => {
  for (const path of [`/gift_card/${id}`, '/gift_card/1', '/gift_card/abc']) {
    const response = await service.request(path, {
      method: 'PUT',
      body: '{',
      headers: { 'content-type': 'text/plain', 'x-request-id': 'same' },
    });
    problemOf(response, { code: 'unauthenticated' });
  }
});

test('a scope allows its own operations only', async (t) => {
  for (const scope of ['read_gift_cards', 'write_gift_cards'] as const) {
    const scoped = await shopOf(service, 'flowers.example', { scopes: [scope] });
    for (const { scope: needed, method, path, ...request } of requests) {
      await t.test(`${scope}: ${method} ${path.replace(/\d{6,}/, '{id}').slice(0, 30)}`, async () => {
        const line = `${method} ${path}` as const;
        if (scope === needed) {
          const { status } = await scoped.ask(line, request);
          assert.ok(status === 200 || status === 201, String(status));
          return;
        }
        await unchanged(service, async () => {
          const response = await scoped.ask(line, request);
          if (method === 'HEAD') assert.equal(response.status, 403);
          else problemOf(response, { code: 'insufficient-scope' });
          assert.equal(
            response.headers.get('www-authenticate'),
            `Bearer realm="largesse", error="insufficient_scope", scope="${needed}"`,
          );
        });
      });
    }
  }
  await t.test('a token without a scope has no access', async () => {
    const none = await shopOf(service, 'flowers.example', { scopes: [] });
    await none.rejects(`GET /gift_card/${id}`, {}, { code: 'insufficient-scope' });
    await none.rejects('POST /gift_card', { json: { initial_value: 5 } }, { code: 'insufficient-scope' });
  });
  await t.test('a missing scope is reported before errors of the card or the body', async () => {
    const reader = await shopOf(service, 'flowers.example', { scopes: ['read_gift_cards'] });
    await reader.rejects('PUT /gift_card/abc', { json: {} }, { code: 'insufficient-scope' });
    await reader.rejects(
      'POST /gift_card',
      { body: '{', headers: { 'content-type': 'text/plain' } },
      { code: 'insufficient-scope' },
    );
  });
});

test('a token belongs to one store, whatever the shop parameter is', async () => {
  const theirs = await books.issue({ email: 'ada@example.com' });
  for (const query of ['', '?shop=books.example']) {
    await shop.rejects(`GET /gift_card/${theirs.id}${query}`, {}, { code: 'not-found' });
    await shop.rejects(
      `PUT /gift_card/${theirs.id}${query}`,
      { json: { balance: 0 } },
      { code: 'not-found' },
    );
  }
  const { card } = await shop.creates({ json: { initial_value: 5 } });
  await books.rejects(`GET /gift_card/${card.id}`, {}, { code: 'not-found' });
});

test('a revoked token is rejected at once', async () => {
  const turned = await shopOf(service, 'turned.example');
  const { id: issued } = await turned.issue();
  await revokeNewest(service, 'turned.example');
  await turned.rejects(`GET /gift_card/${issued}`, {}, { code: 'unauthenticated' });
  await turned.rejects('POST /gift_card', { json: { initial_value: 5 } }, { code: 'unauthenticated' });
});

test('rotation invalidates the old token, and the new one belongs to the same API client', async () => {
  const turned = await shopOf(service, 'turned.example', { scopes: ['read_gift_cards', 'write_gift_cards'] });
  const before = await turned.issue();
  const token = await rotateNewest(service, 'turned.example');
  assert.notEqual(token, turned.token);
  await turned.rejects(`GET /gift_card/${before.id}`, {}, { code: 'unauthenticated' });
  const { card } = await turned.creates({ json: { initial_value: 5 }, token });
  assert.equal(card.api_client_id, before.api_client_id);
});

test('a card keeps the API client of the token that created it', async () => {
  const [one, two] = [await shopOf(service, 'flowers.example'), await shopOf(service, 'flowers.example')];
  const card = await one.issue();
  const { api_client_id: other } = await two.issue();
  assert.ok(Number.isSafeInteger(card.api_client_id) && Number.isSafeInteger(other));
  assert.notEqual(card.api_client_id, other);
  const { card: changed } = await two.accepts(
    `PUT /gift_card/${card.id}`,
    { json: { balance: 1 } },
    { events: ['gift_card.updated balance'] },
  );
  assert.equal(changed.api_client_id, card.api_client_id);
  const actors = await service.query(
    'select actor from transfers where card_id = ? order by sequence',
    service.internalId(card.id),
  );
  assert.deepEqual(
    actors.map(({ actor }) => actor),
    [`api_client:${card.api_client_id}`, `api_client:${other}`],
  );
});

test('a token has a recognizable prefix, and only its hash is stored', async () => {
  assert.match(shop.token, /^lgs_[0-9a-z]+_[0-9A-Za-z]{40}$/);
  const bytes = await service.database.bytes();
  for (const token of [shop.token, books.token]) {
    assert.ok(!bytes.includes(token) && !bytes.includes(token.slice(-40)));
  }
});
