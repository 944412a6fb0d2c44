import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { after, mock } from 'node:test';
import { ApiVersion, shopifyApi } from '@shopify/shopify-api';
import fc from 'fast-check';
import type { FastifyRequest } from 'fastify';
import { systemClock } from '../../src/platform/clock.ts';
import { readDatabaseConfig } from '../../src/start/config.ts';
import { openDatabase } from '../../src/start/database.ts';
import {
  isWellFormed,
  proxyParameters,
  signatureAgeMaxSeconds,
  signingText,
  type QueryParameter,
} from '../../src/core/stores/domain/app-proxy.ts';
import { currencyOf } from '../../src/core/money/domain/currency.ts';
import { Fault } from '../../src/core/domain/fault.ts';
import { Secret } from '../../src/platform/secret.ts';
import { authenticate } from '../../src/http/auth.ts';
import { parseUrlEncoded } from '../../src/http/query.ts';
import type { SignedStore } from '../../src/core/stores/service/caller.ts';
import { createStore } from '../../src/core/stores/service/store.ts';
import type { FoundToken } from '../../src/core/stores/storage/token.ts';
import { show } from './samples.ts';

const secret = 'hush';
const shop = 'shop-name.myshopify.com';

/** The example in Shopify's documentation of app proxies. */
const documentedQuery =
  'extra=1&extra=2&shop=shop-name.myshopify.com&logged_in_customer_id=1&path_prefix=%2Fapps%2Fawesome_reviews&timestamp=1317327555' +
  '&signature=4c68c8624d737112c91818c11017d24d334b524cb5c2b8ba08daa056f7395ddb';
const documentedInstant = 1_317_327_555_000;

const now = Date.UTC(2026, 6, 1, 12);
const nowSeconds = now / 1_000;

function sign(parameters: readonly QueryParameter[], key = secret): string {
  return createHmac('sha256', key).update(signingText(parameters)).digest('hex');
}

function signed(parameters: readonly QueryParameter[], key = secret): readonly QueryParameter[] {
  return [...parameters, ['signature', sign(parameters, key)]];
}

// The library requires the adapter of its runtime.
await import('@shopify/shopify-api/adapters/node');

/** Shopify's own library, which reads the time from the system. */
const platform = shopifyApi({
  apiKey: 'key',
  apiSecretKey: secret,
  apiVersion: ApiVersion.July25,
  hostName: 'gifts.example',
  isEmbeddedApp: false,
  logger: { log: () => undefined },
});

/** Whether Shopify's library accepts the signature of a query. */
async function platformAccepts(parameters: readonly QueryParameter[]): Promise<boolean> {
  const query: Record<string, string | string[]> = {};
  for (const [name, value] of parameters) {
    const before = query[name];
    query[name] = before === undefined ? value : [before, value].flat();
  }
  try {
    return await platform.utils.validateHmac(query as Record<string, string>, { signator: 'appProxy' });
  } catch {
    return false;
  }
}

const folder = mkdtempSync(join(tmpdir(), 'largesse-app-proxy-'));
const clock = systemClock;
const { ctx, storage, ...database } = await openDatabase(
  readDatabaseConfig({ DATABASE_URL: `file:${join(folder, 'largesse.db')}` }),
  { prepare: true, clock },
);
after(async () => {
  await database[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});
await storage.write(() =>
  createStore(ctx, {
    domain: shop,
    name: 'Shop',
    currency: currencyOf('USD'),
    timeZone: 'UTC',
    issueLimit: null,
    requireSignature: false,
    customerSearch: true,
    stockRequired: 'no',
    undoWindowMinutes: 0,
    proxySecret: new Secret(secret),
  }),
);

/**
 * Whether the service accepts the signature of a query. A signature without a token allows only the search of a
 * signed-in customer: any other query fails because it has no token, not because of its signature.
 */
async function serviceAccepts(query: readonly QueryParameter[]): Promise<boolean> {
  const request = { headers: {} } as FastifyRequest;
  try {
    const tokens = storage.cache<FoundToken>({ entriesMax: 1 });
    const signedStores = storage.cache<SignedStore>({ entriesMax: 1 });
    const authentication = { ctx, storage, tokens, signedStores, developmentMode: false };
    await authenticate(authentication, request, { query, customerMaySearch: true });
    return true;
  } catch (error) {
    assert.ok(error instanceof Fault, String(error));
    return error.code !== 'invalid-signature';
  }
}

/** Runs with the system's time stopped, because Shopify's library reads it. */
async function at(instant: number, run: () => Promise<void>): Promise<void> {
  mock.timers.enable({ apis: ['Date'], now: instant });
  try {
    await run();
  } finally {
    mock.timers.reset();
  }
}

test('the service computes the documented signature of the documented example', async () => {
  const parameters = parseUrlEncoded(documentedQuery);
  const signature = '4c68c8624d737112c91818c11017d24d334b524cb5c2b8ba08daa056f7395ddb';
  assert.equal(
    signingText(parameters),
    'extra=1,2logged_in_customer_id=1path_prefix=/apps/awesome_reviewsshop=shop-name.myshopify.comtimestamp=1317327555',
  );
  assert.equal(sign(parameters), signature);
  await at(documentedInstant, async () => {
    assert.equal(await platformAccepts(parameters), true);
    assert.equal(await serviceAccepts(parameters), true);
    const changed = parameters.map(([name, value]) => [name, name === 'extra' ? '3' : value] as const);
    assert.equal(await platformAccepts(changed), false);
    assert.equal(await serviceAccepts(changed), false);
  });
});

test('the signed text omits the signature, sorts by name, joins values and has no separators', () => {
  assert.equal(signingText([]), '');
  assert.equal(signingText([['signature', 'x']]), '');
  assert.equal(signingText([['b', '2'], ['a', '1']]), 'a=1b=2'); // prettier-ignore
  assert.equal(signingText([['a', '2'], ['b', ''], ['a', '1']]), 'a=2,1b='); // prettier-ignore
  assert.equal(signingText([['b', '1'], ['B', '2'], ['a_b', '3'], ['ab', '4']]), 'B=2a_b=3ab=4b=1'); // prettier-ignore
  assert.equal(signingText([['a', 'é&=,+ %']]), 'a=é&=,+ %');
  assert.equal(signingText([['__proto__', '1'], ['signature', 'x'], ['Signature', 'y']]), 'Signature=y__proto__=1'); // prettier-ignore
});

test('the order of different parameters in the query makes no difference', () => {
  const parameters = fc.uniqueArray(fc.tuple(fc.string(), fc.string()), { selector: ([name]) => name });
  const twice = parameters.chain((given) =>
    fc.tuple(fc.constant(given), fc.shuffledSubarray(given, { minLength: given.length })),
  );
  fc.assert(fc.property(twice, ([given, mixed]) => assert.equal(signingText(mixed), signingText(given))));
});

/** A query from the storefront: its own parameters and those of a search, in any order. */
const proxied = fc
  .record(
    {
      shop: fc.constant(shop),
      timestamp: fc.integer({ min: nowSeconds - 90, max: nowSeconds + 90 }).map(String),
      logged_in_customer_id: fc.oneof(fc.constant(''), fc.integer({ min: 1, max: 2 ** 50 }).map(String)),
      path_prefix: fc.constantFrom('/apps/gcf', '/a/b/c', '/tools/gift-cards', '/community/x_y'),
      last_characters: fc.stringMatching(/^[0-9a-zA-Z]{4}$/),
      email: fc.oneof(fc.emailAddress(), fc.string({ unit: 'binary' }), fc.constantFrom('a,b', 'ä=&+ %', '')),
    },
    { requiredKeys: ['shop', 'timestamp'] },
  )
  .chain((query) => {
    const parameters: QueryParameter[] = Object.entries(query);
    return fc.shuffledSubarray(parameters, { minLength: parameters.length });
  });

test('Shopify’s library and the service accept a correct signature', async () => {
  await at(now, () =>
    fc.assert(
      fc.asyncProperty(proxied, async (parameters) => {
        const query = signed(parameters);
        assert.equal(await platformAccepts(query), true);
        assert.equal(await serviceAccepts(query), true);
        // The query as it is encoded in a request.
        const text = String(new URLSearchParams(query.map(([name, value]) => [name, value])));
        if (query.every(([, value]) => value.isWellFormed()))
          assert.equal(await serviceAccepts(parseUrlEncoded(text)), true);
      }),
      { numRuns: 400 },
    ),
  );
});

test('Shopify’s library and the service reject a query that was changed after signing', async () => {
  const tampering = fc.record({
    how: fc.constantFrom(
      'value',
      'longer',
      'shorter',
      'removed',
      'added',
      'renamed',
      'signature',
      'secret',
      'upper case',
    ),
    which: fc.nat(),
    letter: fc.constantFrom('0', '1', 'a', 'f', ',', '=', '/'),
  });
  await at(now, () =>
    fc.assert(
      fc.asyncProperty(proxied, tampering, async (parameters, { how, which, letter }) => {
        const query = signed(parameters, how === 'secret' ? `${secret}${letter}` : secret);
        const target = which % query.length;
        const changed = query.flatMap(([name, value], index): readonly QueryParameter[] => {
          const isSignature = name === 'signature';
          if (how === 'signature' && isSignature) return [[name, replaced(value, which, letter)]];
          if (how === 'upper case' && isSignature) return [[name, value.toUpperCase()]];
          if (index !== target || isSignature) return [[name, value]];
          if (how === 'value') return [[name, replaced(value, which, letter)]];
          if (how === 'longer') return [[name, value + letter]];
          if (how === 'shorter') return [[name, value.slice(0, -1)]];
          if (how === 'removed') return [];
          if (how === 'renamed') return [[`${name}x`, value]];
          return how === 'added' ? [[name, value], [`${name}y`, letter]] : [[name, value]]; // prettier-ignore
        });
        const isChanged =
          how === 'secret' ||
          signingText(changed) !== signingText(query) ||
          changed.find(([name]) => name === 'signature')?.[1] !== sign(parameters);
        fc.pre(isChanged);
        assert.equal(await platformAccepts(changed), false);
        assert.equal(await serviceAccepts(changed), false);
      }),
      { numRuns: 600 },
    ),
  );
});

function replaced(text: string, which: number, letter: string): string {
  const index = which % Math.max(1, text.length);
  return text.slice(0, index) + letter + text.slice(index + 1);
}

test('a timestamp can differ by 90 seconds in either direction, and not by 91', async (t) => {
  assert.equal(signatureAgeMaxSeconds, 90);
  for (const [seconds, isAccepted] of [
    [-91, false],
    [-90, true],
    [0, true],
    [90, true],
    [91, false],
    [-86_400, false],
  ] as const) {
    await t.test(`${seconds} s`, () =>
      at(now, async () => {
        const query = signed([['shop', shop], ['timestamp', String(nowSeconds + seconds)]]); // prettier-ignore
        assert.equal(await platformAccepts(query), isAccepted);
        assert.equal(await serviceAccepts(query), isAccepted);
      }),
    );
  }
  await t.test('whole seconds count: 90.999 s ago is 90', () =>
    at(now + 999, async () => {
      const query = signed([['shop', shop], ['timestamp', String(nowSeconds - 90)]]); // prettier-ignore
      assert.equal(await serviceAccepts(query), true);
    }),
  );
});

test('a correct signature is rejected if a parameter is missing or invalid', async (t) => {
  const good: Readonly<Record<string, string>> = {
    shop,
    timestamp: String(nowSeconds),
    logged_in_customer_id: '1',
    path_prefix: '/apps/gcf',
  };
  const variants: readonly (readonly [name: string, change: Readonly<Record<string, string | undefined>>])[] =
    [
      ['no shop', { shop: undefined }],
      ['an empty shop', { shop: '' }],
      ['another shop', { shop: 'other.example' }],
      ['a shop with a port', { shop: `${shop}:443` }],
      ['a shop with a suffix', { shop: `${shop}timestamp=1` }],
      ['no timestamp', { timestamp: undefined }],
      ['an empty timestamp', { timestamp: '' }],
      ['a timestamp with a fraction', { timestamp: `${nowSeconds}.0` }],
      ['a timestamp with a sign', { timestamp: `+${nowSeconds}` }],
      ['a timestamp with leading zeros', { timestamp: `0${nowSeconds}` }],
      ['a timestamp with an exponent', { timestamp: `${nowSeconds}e0` }],
      ['a timestamp with space', { timestamp: ` ${nowSeconds}` }],
      ['a customer that is not a number', { logged_in_customer_id: '1a' }],
      ['a customer 0', { logged_in_customer_id: '0' }],
      [
        'a customer followed by the path',
        { logged_in_customer_id: '1path_prefix=/apps/gcf', path_prefix: undefined },
      ],
      ['an invalid path', { path_prefix: 'apps' }],
      ['a path followed by the shop', { path_prefix: `/appsshop=${shop}` }],
      ['an empty path', { path_prefix: '' }],
    ];
  await at(now, async () => {
    assert.equal(await serviceAccepts(signed(Object.entries(good))), true);
  });
  for (const [name, change] of variants) {
    await t.test(name, () =>
      at(now, async () => {
        const entries = Object.entries({ ...good, ...change });
        const parameters = entries.flatMap(([key, value]): QueryParameter[] =>
          value === undefined ? [] : [[key, value]],
        );
        assert.equal(await serviceAccepts(signed(parameters)), false);
      }),
    );
  }
  await t.test('customer and path can be missing', () =>
    at(now, async () => {
      assert.equal(await serviceAccepts(signed([['shop', shop], ['timestamp', String(nowSeconds)]])), true); // prettier-ignore
    }),
  );
});

test('each parameter of the proxy has a format', async (t) => {
  const forms: Readonly<
    Record<(typeof proxyParameters)[number], readonly [good: readonly string[], bad: readonly string[]]>
  > = {
    shop: [
      ['flowers.example', 'SHOP.example', 'a', 'a-b.c', 'x'.repeat(253)],
      ['', 'a b', 'a_b', 'a=b', 'a/b', 'a:80', 'é.example', 'a\n', 'x'.repeat(254)],
    ],
    logged_in_customer_id: [
      ['', '1', '9', '10', '1234567890123456'],
      ['0', '01', '-1', '+1', '1.0', '1e3', ' 1', '1 ', '1\n', 'a', '12345678901234567'],
    ],
    path_prefix: [
      ['/', '/apps/gcf', '/apps/gcf/api', '/a_b-c/9', `/${'a'.repeat(254)}`],
      ['', 'apps', '/apps=', '/a.b', '/a b', '/a?b', '/a%20', '/é', '/a\n', `/${'a'.repeat(255)}`],
    ],
    timestamp: [
      ['1', '1317327555', '999999999999'],
      ['', '0', '01', '-1', '+1', '1.5', '1e9', ' 1', '1 ', '1\n', '1000000000000', 'now'],
    ],
    signature: [
      ['0'.repeat(64), '0123456789abcdef'.repeat(4)],
      [
        '',
        '0'.repeat(63),
        '0'.repeat(65),
        'A'.repeat(64),
        'g'.repeat(64),
        `${'0'.repeat(64)}\n`,
        ` ${'0'.repeat(63)}`,
      ],
    ],
  };
  assert.deepEqual(Object.keys(forms), [...proxyParameters]);
  for (const name of proxyParameters) {
    const [good, bad] = forms[name];
    for (const value of good)
      await t.test(`${name} ${show(value).slice(0, 30)}`, () =>
        assert.equal(isWellFormed(name, value), true),
      );
    for (const value of bad)
      await t.test(`invalid ${name}: ${show(value).slice(0, 30)}`, () =>
        assert.equal(isWellFormed(name, value), false),
      );
  }
});
