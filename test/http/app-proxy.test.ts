/** Requests with the storefront's signature: valid ones, forgeries and replays. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import test, { after } from 'node:test';
import { createAppProxy } from '../../src/features/app-proxy/cli/app-proxy.ts';
import { Secret } from '../../src/platform/secret.ts';
import { giftCardOf, issuedGiftCardOf, problemOf } from '../support/responses.ts';
import { changeStoreElsewhere } from '../support/second-process.ts';
import { proxyPairs, queryOf, sign, signatureOf, type Pair } from '../support/proxy.ts';
import { startService, type TestResponse, type TestRequest } from '../support/service.ts';
import { shopOf, unchanged } from '../support/shop.ts';

const secrets = {
  'plain.example': 'plain-0123456789abcdef0123456789',
  'strict.example': 'strict-0123456789abcdef012345678',
  'open.example': 'open-0123456789abcdef0123456789a',
  'other.example': 'other-0123456789abcdef0123456789',
};
type Domain = keyof typeof secrets;

const service = await startService({
  stores: [
    { domain: 'plain.example', proxySecret: secrets['plain.example'] },
    { domain: 'strict.example', proxySecret: secrets['strict.example'], requireSignature: true },
    { domain: 'open.example', proxySecret: secrets['open.example'], customerSearch: true },
    { domain: 'other.example', proxySecret: secrets['other.example'], customerSearch: true },
    { domain: 'bare.example', customerSearch: true },
  ],
});
after(() => service[Symbol.asyncDispose]());
const plain = await shopOf(service, 'plain.example');
const strict = await shopOf(service, 'strict.example');
const open = await shopOf(service, 'open.example');
const other = await shopOf(service, 'other.example');
const bare = await shopOf(service, 'bare.example');

/** Customer ids of the storefront. The service has its own ids. */
const adaId = 1001;
const graceId = 1002;

const card = await plain.issue({ email: 'ada@example.com', storefront_customer_id: adaId });

/** Moves the clock to the start of a second, because the tests count whole seconds. */
function alignClock(): number {
  const now = service.clock.now();
  service.clock.advance(1_000 - (now % 1_000) + 10);
  return service.clock.now();
}

/** The parameters that the proxy adds for a store. */
function pairsOf(shop: Domain, { customer = '', now = service.clock.now() } = {}): Pair[] {
  return proxyPairs({ shop, now, customer });
}

function signed(
  shop: Domain,
  more: readonly Pair[] = [],
  options: { customer?: string; now?: number } = {},
): string {
  return sign(secrets[shop], [...more, ...pairsOf(shop, options)]);
}

const get = `/gift_card/${card.id}`;

async function assertRejected(path: string, request: TestRequest, code: 'invalid-signature' | 'unauthenticated' = 'invalid-signature') {
  await unchanged(service, async () => problemOf(await service.request(path, request), { code }));
} // prettier-ignore

test('every operation accepts a valid signature with a token of its store', async () => {
  const token = plain.token;
  giftCardOf(await service.request(`${get}?${signed('plain.example')}`, { token }));
  const search: Pair[] = [['last_characters', card.last_characters], ['email', 'ada@example.com']];
  const found = giftCardOf(await service.request(`/gift_card?${signed('plain.example', search)}`, { token }));
  assert.equal(found.id, card.id);
  const request = { token, method: 'POST', json: { initial_value: 5 } };
  issuedGiftCardOf(await service.request(`/gift_card?${signed('plain.example')}`, request));
  giftCardOf(
    await service.request(`${get}?${signed('plain.example')}`, { token, method: 'PUT', json: { note: 'x' } }),
  );
}); // prettier-ignore

test('the order of the parameters, their encoding and the case of the shop do not matter', async (t) => {
  const token = plain.token;
  const pairs = pairsOf('plain.example', { customer: '7' });
  const signature: Pair = ['signature', signatureOf(secrets['plain.example'], pairs)];
  const queries = {
    reversed: queryOf([signature, ...pairs.toReversed()]),
    'slashes unencoded': queryOf([...pairs, signature]).replaceAll('%2F', '/'),
    'everything encoded': [...pairs, signature]
      .map(
        ([name, value]) =>
          `${name}=${Array.from(Buffer.from(value), (byte) => `%${byte.toString(16)}`).join('')}`,
      )
      .join('&'),
    'capitals in the shop': sign(secrets['plain.example'], [['shop', 'Plain.Example'], ...pairs.slice(1)]),
    'without a customer and a prefix': sign(
      secrets['plain.example'],
      pairs.filter(([name]) => name === 'shop' || name === 'timestamp'),
    ),
  };
  for (const [name, query] of Object.entries(queries)) {
    await t.test(name, async () => {
      giftCardOf(await service.request(`${get}?${query}`, { token }));
    });
  }
});

test('a timestamp can differ by at most 90 seconds in either direction', async (t) => {
  const token = plain.token;
  for (const [seconds, isGood] of [
    [0, true], [-89, true], [-90, true], [-91, false], [-3_600, false], [89, true], [90, true], [91, false], [3_600, false],
  ] as const) {
    await t.test(`${seconds} s`, async () => {
      const now = alignClock();
      const path = `${get}?${signed('plain.example', [], { now: now + seconds * 1_000 })}`;
      if (isGood) giftCardOf(await service.request(path, { token }));
      else await assertRejected(path, { token });
    });
  }
  await t.test('a signed request expires after 90 seconds', async () => {
    const path = `${get}?${signed('plain.example', [], { now: alignClock() })}`;
    giftCardOf(await service.request(path, { token }));
    service.clock.advance(90_000);
    giftCardOf(await service.request(path, { token }));
    service.clock.advance(1_000);
    await assertRejected(path, { token });
  });
}); // prettier-ignore

test('an invalid signature is rejected, with and without a token', async (t) => {
  const good = pairsOf('plain.example', { customer: '7' });
  const secret = secrets['plain.example'];
  const signature = signatureOf(secret, good);
  const withSignature = (value: string, pairs: readonly Pair[] = good): string =>
    queryOf([...pairs, ['signature', value]]);
  const without = (name: string): readonly Pair[] => good.filter(([given]) => given !== name);
  const replaced = (name: string, value: string): Pair[] =>
    good.map(([given, present]) => [given, given === name ? value : present]);
  const queries: Readonly<Record<string, string>> = {
    'another signature': withSignature('0'.repeat(64)),
    'one digit changed': withSignature(signature.replace(/.$/, (digit) => (digit === '0' ? '1' : '0'))),
    'in capitals': withSignature(signature.toUpperCase()),
    'cut short': withSignature(signature.slice(0, 63)),
    'with a digit more': withSignature(`${signature}0`),
    'with a space': withSignature(`${signature} `),
    empty: withSignature(''),
    'in base64': withSignature(Buffer.from(signature, 'hex').toString('base64')),
    'with another secret': withSignature(signatureOf('another-secret-another-secret-00', good)),
    'with another store’s secret': withSignature(signatureOf(secrets['other.example'], good)),
    'with an empty secret': withSignature(signatureOf('', good)),
    'for another shop, with this one’s secret': sign(secret, replaced('shop', 'other.example')),
    'for a shop that does not exist': sign(secret, replaced('shop', 'unknown.example')),
    'for a shop without a secret': sign('', replaced('shop', 'bare.example')),
    'for the shop with a dot': sign(secret, replaced('shop', 'plain.example.')),
    'for an empty shop': sign(secret, replaced('shop', '')),
    'without a shop': sign(secret, without('shop')),
    'without a timestamp': sign(secret, without('timestamp')),
    'with an empty timestamp': sign(secret, replaced('timestamp', '')),
    'with a timestamp in ms': sign(secret, replaced('timestamp', String(service.clock.now()))),
    'with a timestamp of text': sign(secret, replaced('timestamp', 'now')),
    'with a fraction of a second': sign(secret, replaced('timestamp', `${good[3]?.[1]}.0`)),
    'with a signed timestamp': sign(secret, replaced('timestamp', `+${good[3]?.[1]}`)),
    'with a spaced timestamp': sign(secret, replaced('timestamp', ` ${good[3]?.[1]}`)),
    'with an exponent': sign(secret, replaced('timestamp', '1e9')),
    'with a customer of text': sign(secret, replaced('logged_in_customer_id', 'ada')),
    'with a customer of zero': sign(secret, replaced('logged_in_customer_id', '07')),
    'with a negative customer': sign(secret, replaced('logged_in_customer_id', '-7')),
    'with a prefix that is not a path': sign(secret, replaced('path_prefix', 'apps')),
    'with a prefix that contains another parameter': sign(secret, replaced('path_prefix', '/apps&shop=plain.example')),
    'the shop changed afterwards': queryOf([...replaced('shop', 'other.example'), ['signature', signature]]),
    'the time changed afterwards': queryOf([...replaced('timestamp', String(Number(good[3]?.[1]) + 1)), ['signature', signature]]),
    'the customer changed afterwards': queryOf([...replaced('logged_in_customer_id', '8'), ['signature', signature]]),
    'the customer added afterwards': queryOf([['logged_in_customer_id', '7'], ...without('logged_in_customer_id'), ['signature', signatureOf(secret, without('logged_in_customer_id'))]].map(([name = '', value = '']): Pair => [name, value])).replace('logged_in_customer_id=7', 'logged_in_customer_id=77'),
    'the customer removed': withSignature(signature, without('logged_in_customer_id')),
    'the prefix removed': withSignature(signature, without('path_prefix')),
  };
  for (const [name, query] of Object.entries(queries)) {
    await t.test(name, async () => {
      await assertRejected(`${get}?${query}`, { token: plain.token });
      await assertRejected(`${get}?${query}`, {});
      await assertRejected(`/gift_card?${query}`, { token: plain.token, method: 'POST', json: { initial_value: 5 } });
    });
  }
}); // prettier-ignore

test('unknown and repeated parameters return a 400, signed or not', async (t) => {
  const secret = secrets['plain.example'];
  const pairs = pairsOf('plain.example');
  const queries: readonly (readonly [name: string, query: string, errors: Record<string, string[]>])[] = [
    ['a signed unknown one', sign(secret, [...pairs, ['extra', '1']]), { extra: ['is not a known parameter'] }],
    ['an unsigned unknown one', `${sign(secret, pairs)}&extra=1`, { extra: ['is not a known parameter'] }],
    ['a signed list', sign(secret, [...pairs, ['logged_in_customer_id', '9']]), { logged_in_customer_id: ['is repeated'] }],
    ['two shops', `shop=other.example&${sign(secret, pairs)}`, { shop: ['is repeated'] }],
    ['two shops, the second one unsigned', `${sign(secret, pairs)}&shop=other.example`, { shop: ['is repeated'] }],
    ['two timestamps', `${sign(secret, pairs)}&timestamp=1`, { timestamp: ['is repeated'] }],
    ['two signatures', `${sign(secret, pairs)}&signature=${'0'.repeat(64)}`, { signature: ['is repeated'] }],
    ['the old hmac', `${sign(secret, pairs)}&hmac=1`, { hmac: ['is not a known parameter'] }],
  ];
  for (const [name, query, errors] of queries) {
    await t.test(name, () =>
      plain.rejects(`GET ${get as `/${string}`}?${query}`, {}, { code: 'invalid-query', errors }),
    );
  }
}); // prettier-ignore

test('a signature of one store with a token of another is rejected', async () => {
  const query = signed('plain.example');
  await assertRejected(`${get}?${query}`, { token: other.token });
  await assertRejected(`/gift_card?${query}`, {
    token: other.token,
    method: 'POST',
    json: { initial_value: 5 },
  });
  await assertRejected(`${get}?${signed('other.example')}`, { token: plain.token });
  const mine = await other.issue();
  await assertRejected(`/gift_card/${mine.id}?${query}`, { token: other.token });
});

test('a valid signature does not replace a valid token', async () => {
  const query = signed('plain.example');
  await assertRejected(`${get}?${query}`, {}, 'unauthenticated');
  await assertRejected(`${get}?${query}`, { token: 'nonsense' }, 'unauthenticated');
  await assertRejected(`${get}?${query}`, { token: `lgs_1_${'x'.repeat(40)}` }, 'unauthenticated');
  const scoped = await shopOf(service, 'plain.example', { scopes: ['read_gift_cards'] });
  await scoped.rejects(
    `POST /gift_card?${query}`,
    { json: { initial_value: 5 } },
    { code: 'insufficient-scope' },
  );
});

test('a store can require the signature on every request', async () => {
  const token = strict.token;
  const wanted = `/gift_card?${signed('strict.example')}`;
  const issued = issuedGiftCardOf(
    await service.request(wanted, { token, method: 'POST', json: { initial_value: 5 } }),
  );
  const path = `/gift_card/${issued.id}`;
  giftCardOf(await service.request(`${path}?${signed('strict.example')}`, { token }));
  const unsigned = queryOf(pairsOf('strict.example'));
  for (const query of ['', '?shop=strict.example', `?${unsigned}`]) {
    await assertRejected(`${path}${query}`, { token });
    await assertRejected(`${path}${query}`, { token, method: 'PUT', json: { balance: 0 } });
    await assertRejected(`/gift_card${query}`, { token, method: 'POST', json: { initial_value: 5 } });
  }
  await assertRejected(`${path}?${signed('plain.example')}`, { token });
  await assertRejected(`${path}?${signed('strict.example')}`, {}, 'unauthenticated');
  await assertRejected(path, {}, 'unauthenticated');
});

test('a new secret takes effect at once and replaces the old one', async () => {
  const token = other.token;
  const mine = await other.issue();
  const path = `/gift_card/${mine.id}`;
  giftCardOf(await service.request(`${path}?${signed('other.example')}`, { token }));
  await changeStoreElsewhere(service, 'other.example', { proxySecret: 'renewed-0123456789abcdef01234567' });
  await assertRejected(`${path}?${signed('other.example')}`, { token });
  const renewed = sign('renewed-0123456789abcdef01234567', pairsOf('other.example'));
  giftCardOf(await service.request(`${path}?${renewed}`, { token }));
  await changeStoreElsewhere(service, 'other.example', { proxySecret: secrets['other.example'] });
});

test('a store without a secret rejects every signature', async () => {
  const { id } = await bare.issue({ email: 'ada@example.com' });
  for (const secret of ['', 'null', 'undefined', 'plain-0123456789abcdef0123456789']) {
    const pairs = proxyPairs({ shop: 'bare.example', now: service.clock.now(), customer: '7' });
    await assertRejected(`/gift_card/${id}?${sign(secret, pairs)}`, { token: bare.token });
    await assertRejected(`/gift_card/${id}?${sign(secret, pairs)}`, {});
  }
});

const ada = await open.issue({
  email: 'ada@example.com',
  recipient_email: 'grace@example.com',
  storefront_customer_id: adaId,
});
await open.issue({ email: 'grace@example.com', storefront_customer_id: graceId });
const searchOf = (email: string, last = ada.last_characters): Pair[] => [
  ['last_characters', last],
  ['email', email],
];

function asCustomer(customer: number | null, search: readonly Pair[]): Promise<TestResponse> {
  const options = { customer: customer === null ? '' : String(customer) };
  return service.request(`/gift_card?${signed('open.example', search, options)}`);
}

test('if the store allows it, a signed-in customer finds their own cards, as customer or recipient', async () => {
  for (const [customer, email] of [
    [adaId, 'ada@example.com'],
    [adaId, ' ADA@example.com'],
    [graceId, 'grace@example.com'],
  ] as const) {
    const response = await unchanged(service, () => asCustomer(customer, searchOf(email)));
    assert.equal(giftCardOf(response).id, ada.id);
    assert.ok(!response.text.includes(ada.code));
  }
  const head = await service.request(
    `/gift_card?${signed('open.example', searchOf('ada@example.com'), { customer: String(adaId) })}`,
    { method: 'HEAD' },
  );
  assert.equal(head.status, 200);
});

test('a customer gets the same bytes for the card of another customer as for an unknown card', async () => {
  const ask = async (customer: number | null, search: readonly Pair[]): Promise<TestResponse> => {
    const query = signed('open.example', search, { customer: String(customer) });
    return service.request(`/gift_card?${query}`, { headers: { 'x-request-id': 'the-same' } });
  };
  await unchanged(service, async () => {
    const unknown = await ask(adaId, searchOf('unknown@example.com'));
    problemOf(unknown, { code: 'not-found' });
    for (const [customer, email] of [
      [adaId, 'grace@example.com'],
      [graceId, 'ada@example.com'],
      [7, 'ada@example.com'],
      // The customer's id in the service differs from the one on the storefront.
      [ada.customer_id, 'ada@example.com'],
    ] as const) {
      const response = await ask(customer, searchOf(email));
      assert.equal(response.text, unknown.text);
    }
  });
});

test('without a signed-in customer, a search needs a token', async () => {
  const search = searchOf('ada@example.com');
  await unchanged(service, async () =>
    problemOf(await asCustomer(null, search), { code: 'unauthenticated' }),
  );
  const pairs = [...search, ...pairsOf('open.example')].filter(([name]) => name !== 'logged_in_customer_id');
  await assertRejected(`/gift_card?${sign(secrets['open.example'], pairs)}`, {}, 'unauthenticated');
});

test('if the store does not allow it, customers cannot search', async () => {
  const search: Pair[] = [['last_characters', card.last_characters], ['email', 'ada@example.com']];
  const query = signed('plain.example', search, { customer: String(adaId) });
  await assertRejected(`/gift_card?${query}`, {}, 'unauthenticated');
  await changeStoreElsewhere(service, 'plain.example', { customerSearch: true });
  assert.equal(giftCardOf(await service.request(`/gift_card?${query}`)).id, card.id);
  await changeStoreElsewhere(service, 'plain.example', { customerSearch: false });
  await assertRejected(`/gift_card?${query}`, {}, 'unauthenticated');
}); // prettier-ignore

test('a customer can only search', async () => {
  const query = signed('open.example', [], { customer: String(adaId) });
  await assertRejected(`/gift_card/${ada.id}?${query}`, {}, 'unauthenticated');
  await assertRejected(
    `/gift_card/${ada.id}?${query}`,
    { method: 'PUT', json: { balance: 0 } },
    'unauthenticated',
  );
  await assertRejected(
    `/gift_card?${query}`,
    { method: 'POST', json: { initial_value: 5 } },
    'unauthenticated',
  );
  const head = await service.request(`/gift_card/${ada.id}?${query}`, { method: 'HEAD' });
  assert.equal(head.status, 401);
});

test('an intercepted signature is valid only for the same search', async () => {
  const query = signed('open.example', searchOf('ada@example.com'), { customer: String(adaId) });
  assert.equal(giftCardOf(await service.request(`/gift_card?${query}`)).id, ada.id);
  const unknown = ['is not a known parameter'];
  const errors = { last_characters: unknown, email: unknown };
  const parts = new URLSearchParams(query);
  parts.delete('last_characters');
  parts.delete('email');
  for (const [method, path, json] of [
    ['POST', '/gift_card', { initial_value: 500 }],
    ['PUT', `/gift_card/${ada.id}`, { balance: 500 }],
    ['GET', `/gift_card/${ada.id}`, undefined],
  ] as const) {
    await unchanged(service, async () => {
      problemOf(await service.request(`${path}?${query}`, { method, json }), {
        code: 'invalid-query',
        errors,
      });
      problemOf(await service.request(`${path}?${parts.toString()}`, { method, json }), {
        code: 'invalid-signature',
      });
    });
  }
  const changed = new URLSearchParams(query);
  changed.set('email', 'grace@example.com');
  await assertRejected(`/gift_card?${changed.toString()}`, {});
  changed.set('email', 'ada@example.com');
  changed.set('logged_in_customer_id', String(graceId));
  await assertRejected(`/gift_card?${changed.toString()}`, {});
});

test('a parameter cannot be split or merged, although the signed text has no separators', async (t) => {
  const now = service.clock.now();
  const secret = secrets['open.example'];
  const [, , prefix, time] = pairsOf('open.example', { now });
  assert.ok(prefix && time);
  const victim = String(adaId);
  const last = ada.last_characters;
  /** Requests that a storefront signs for an attacker, and the forged requests with the same signature. */
  const attacks: Readonly<Record<string, { readonly signed: readonly Pair[]; readonly sent: readonly Pair[]; readonly isMisread?: true }>> = {
    'the customer cut out of the characters': {
      signed: [['email', 'ada@example.com'], ['last_characters', `${last}logged_in_customer_id=${victim}`], ['logged_in_customer_id', ''], prefix, ['shop', 'open.example'], time],
      sent: [['email', 'ada@example.com'], ['last_characters', last], ['logged_in_customer_id', `${victim}logged_in_customer_id=`], prefix, ['shop', 'open.example'], time],
    },
    'the characters moved into the address': {
      isMisread: true,
      signed: [['email', 'ada@example.com'], ['last_characters', last], ['logged_in_customer_id', victim], prefix, ['shop', 'open.example'], time],
      sent: [['email', `ada@example.comlast_characters=${last}`], ['logged_in_customer_id', victim], prefix, ['shop', 'open.example'], time],
    },
    'the characters cut out of the address': {
      signed: [['email', `ada@example.comlast_characters=${last}logged_in_customer_id=${victim}path_prefix=/apps`], ['logged_in_customer_id', ''], prefix, ['shop', 'open.example'], time],
      sent: [['email', 'ada@example.com'], ['last_characters', last], ['logged_in_customer_id', victim], ['path_prefix', `/appslogged_in_customer_id=path_prefix=${prefix[1]}`], ['shop', 'open.example'], time],
    },
    'the prefix moved into the customer': {
      signed: [['email', 'ada@example.com'], ['last_characters', last], ['logged_in_customer_id', victim], prefix, ['shop', 'open.example'], time],
      sent: [['email', 'ada@example.com'], ['last_characters', last], ['logged_in_customer_id', `${victim}path_prefix=${prefix[1]}`], ['shop', 'open.example'], time],
    },
    'the shop moved into the prefix': {
      signed: [['email', 'ada@example.com'], ['last_characters', last], ['logged_in_customer_id', victim], prefix, ['shop', 'open.example'], time],
      sent: [['email', 'ada@example.com'], ['last_characters', last], ['logged_in_customer_id', victim], ['path_prefix', `${prefix[1]}shop=open.example`], time],
    },
    'the time moved into the shop': {
      signed: [['email', 'ada@example.com'], ['last_characters', last], ['logged_in_customer_id', victim], prefix, ['shop', 'open.example'], time],
      sent: [['email', 'ada@example.com'], ['last_characters', last], ['logged_in_customer_id', victim], prefix, ['shop', `open.exampletimestamp=${time[1]}`]],
    },
    'the shop and time moved into the customer': {
      signed: [['email', 'ada@example.com'], ['last_characters', last], ['logged_in_customer_id', victim], prefix, ['shop', 'open.example'], time],
      sent: [['email', 'ada@example.com'], ['last_characters', last], ['logged_in_customer_id', `${victim}path_prefix=${prefix[1]}shop=open.exampletimestamp=${time[1]}`]],
    },
    'the digits of the time moved': {
      signed: [['email', 'ada@example.com'], ['last_characters', last], ['logged_in_customer_id', victim], prefix, ['shop', 'open.example'], time],
      sent: [['email', 'ada@example.com'], ['last_characters', last], ['logged_in_customer_id', victim], prefix, ['shop', 'open.example'], ['timestamp', `${time[1]}0`]],
    },
  };
  const textOf = (pairs: readonly Pair[]): string =>
    pairs.toSorted(([left], [right]) => (left < right ? -1 : 1)).map(([name, value]) => `${name}=${value}`).join('');
  for (const [name, attack] of Object.entries(attacks)) {
    await t.test(name, async () => {
      if (!name.startsWith('the digits')) assert.equal(textOf(attack.sent), textOf(attack.signed), 'the signed texts differ');
      const query = queryOf([...attack.sent, ['signature', signatureOf(secret, attack.signed)]]);
      for (const request of [{}, { token: open.token }]) {
        const response = await unchanged(service, () => service.request(`/gift_card?${query}`, request));
        // Here the email parameter absorbs another one, and fails its own validation instead.
        if (!attack.isMisread) problemOf(response, { code: 'invalid-signature' });
        else assert.equal(response.status, 422);
      }
    });
  }
}); // prettier-ignore

test('a repeated or comma-separated parameter of the proxy is rejected', async () => {
  const secret = secrets['open.example'];
  const pairs = [...searchOf('ada@example.com'), ...pairsOf('open.example', { customer: '1,2' })];
  await assertRejected(`/gift_card?${sign(secret, pairs)}`, {});
});

test('a customer has ten failed searches an hour, which do not affect other callers', async () => {
  const victim = await open.issue({ email: 'victim@example.com', storefront_customer_id: 2001 });
  const search = searchOf('victim@example.com', victim.last_characters);
  const [attacker, another] = [2002, 2003];
  for (let count = 0; count < 10; count += 1)
    problemOf(await asCustomer(attacker, search), { code: 'not-found' });
  const throttled = await asCustomer(attacker, search);
  problemOf(throttled, { code: 'too-many-misses' });
  const wait = Number(throttled.headers.get('retry-after'));
  assert.ok(wait > 350 && wait <= 360, `${wait}`);
  assert.equal(giftCardOf(await asCustomer(2001, search)).id, victim.id, 'the victim can still search');
  problemOf(await asCustomer(another, search), { code: 'not-found' });
  await open.accepts(`GET /gift_card?${queryOf(search)}`);
});

test('a signature without a token is rejected in development mode too', async () => {
  await using demonstration = await startService();
  const query = sign('any-secret', proxyPairs({ shop: 'demo.localhost', now: demonstration.clock.now() }));
  problemOf(await demonstration.request(`/gift_card/1?${query}`), { code: 'invalid-signature' });
});

test('requests through the app proxy of the command line are accepted', async () => {
  const proxy = createAppProxy({
    shop: 'strict.example',
    secret: new Secret(secrets['strict.example']),
    prefix: '/apps/gift-cards',
    to: new URL(service.url),
    customerId: null,
    clock: service.clock,
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  try {
    const address = proxy.address();
    assert.ok(typeof address === 'object' && address);
    const base = `http://127.0.0.1:${address.port}/apps/gift-cards`;
    const headers = { 'x-gcf-access-token': strict.token, 'content-type': 'application/json' };
    const created = await fetch(`${base}/gift_card?shop=forged.example&timestamp=1`, {
      method: 'POST',
      headers,
      body: '{"initial_value":5,"email":"ada@example.com"}',
    });
    assert.equal(created.status, 201);
    const { gift_card: issued } = (await created.json()) as { gift_card: { id: number; last_characters: string } };
    const read = await fetch(`${base}/gift_card/${issued.id}`, { headers });
    assert.equal(read.status, 200);
    const found = await fetch(`${base}/gift_card?last_characters=${issued.last_characters}&email=ada%40example.com`, { headers });
    assert.equal(found.status, 200);
    const without = await fetch(`${base}/gift_card/${issued.id}`);
    assert.equal(without.status, 401);
  } finally {
    proxy.closeAllConnections();
    proxy.close();
  }
}); // prettier-ignore
