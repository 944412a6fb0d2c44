/**
 * No request delays others: the worst strings in every parameter, header, query and path. The service runs on
 * this thread, so its processor time is the time that other requests wait.
 */

import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { proxyParameters } from '../../src/core/stores/domain/app-proxy.ts';
import { operations } from '../../src/api/index.ts';
import type { Operation } from '../../src/api/operation-route.ts';
import { pagePaths } from '../../src/http/page-paths.ts';
import { startService, type TestResponse } from '../support/service.ts';
import { shopOf } from '../support/shop.ts';
import { exchange, requestText } from '../support/wire.ts';
import { assertQuick, shorten, worstStrings } from '../support/worst-strings.ts';

const service = await startService({
  stores: [{ domain: 'flowers.example' }],
  environment: { TRUSTED_PROXIES: '127.0.0.1,10.0.0.0/8' },
});
after(() => service[Symbol.asyncDispose]());
const shop = await shopOf(service, 'flowers.example');
const { id } = await shop.issue({ email: 'ada@example.com' });
const bearer = ['Authorization', `Bearer ${shop.token}`] as const;

const valueBytesMax = 65_000;
const headerBytesMax = 15_500;

/** A selection for HTTP, where a request takes a millisecond. The parsers have unit tests with all of them. */
const isTried = (unit: string): boolean =>
  [' ', '0', 'a', '.', ',', '"', '- ', 'a.', '*,', 'gift_card.created,', '\u0301\u0316', '😀'].includes(unit);

function sample(bytesMax: number): readonly string[] {
  return [...worstStrings(bytesMax, isTried)].filter((_, index) => index % 17 === 0);
}

/** JSON escapes some characters with two. */
const bodyTexts = sample(valueBytesMax).map((text) =>
  Buffer.byteLength(JSON.stringify(text)) > valueBytesMax ? text.slice(0, text.length / 2) : text,
);
const headerTexts = [
  ...new Set(sample(headerBytesMax).map((text) => text.replaceAll(/[^\x20-\x7e]/g, 'x'))),
  ...['10.0.0.1,', '10.0.0.1, ', '::1,', '"1-1",', 'for=10.0.0.1;', ';a="', '; charset=', 'a=b; '].map(
    (unit) => unit.repeat(headerBytesMax / unit.length),
  ),
];

/** The path of an operation on an existing card. */
function pathOf({ path }: Operation): string {
  return path.replaceAll(/:[a-z_]+/g, String(id));
}

async function quickly(name: string, work: () => Promise<TestResponse>): Promise<void> {
  let response: TestResponse | undefined;
  await assertQuick(name, async () => {
    response = await work();
  });
  assert.ok(response && response.status < 500, `${name}: ${response?.status} ${response?.text}`);
  assert.ok(![413, 431].includes(response.status), `${name} is rejected unread`);
}

for (const operation of operations) {
  const { body } = operation.documentation;
  if (!body) continue;
  const properties = Object.keys(body.fields);
  test(`${operation.id} parses every parameter quickly`, async () => {
    for (const property of [...properties, 'unknown']) {
      for (const [index, text] of bodyTexts.entries()) {
        const line = `${operation.method} ${pathOf(operation)}`;
        const json = { [property]: text };
        const request =
          index % 3 === 0
            ? {
                body: `${property}=${text
                  .slice(0, 60_000)
                  .replaceAll(/[^ -~]/gu, 'x')
                  .replaceAll(' ', '+')}`,
                headers: { 'content-type': 'application/x-www-form-urlencoded' },
              }
            : { json: index % 3 === 1 ? json : { [body.wrapper]: json } };
        await quickly(`${line} ${property} ${shorten(text)}`, () => shop.ask(line, request));
      }
    }
  });

  test(`${operation.id} parses every body quickly, with an idempotency key too`, async () => {
    const many = Array.from({ length: 4_500 }, (_, index) => index.toString(36));
    const bodies: Readonly<Record<string, string>> = {
      digits: `{"amount":1.${'0'.repeat(65_000)}1}`,
      numbers: `{"amount":[1e0${',1e0'.repeat(16_000)}]}`,
      names: `{${many.map((name) => `"${name}":1e0`).join(',')}}`,
      'wrapped names': `{"${body.wrapper}":{${many.map((name) => `"${name}":null`).join(',')}}}`,
      'nested lists': `{"note":${'['.repeat(32_000)}${']'.repeat(32_000)}}`,
      'nested objects': `{"note":${'{"":'.repeat(13_000)}1${'}'.repeat(13_000)}}`,
      'an array of arrays': `{"note":[[]${',[]'.repeat(21_000)}]}`,
    };
    const line = `${operation.method} ${pathOf(operation)}` as 'POST /';
    for (const [name, text] of Object.entries(bodies)) {
      for (const key of [{}, { 'idempotency-key': `${operation.id} ${name}`.replaceAll(' ', '-') }]) {
        const headers = { 'content-type': 'application/json', ...key };
        await quickly(`${line} ${name}`, () => shop.ask(line, { body: text, headers }));
      }
    }
    const form = {
      body: many
        .slice(0, 3_400)
        .map((name) => `${body.wrapper}[${name}]=`)
        .join('&'),
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    };
    await quickly(`${line} form`, () => shop.ask(line, form));
  });
}

const headerNames = [
  'Authorization', 'X-Access-Token', 'X-GCF-Access-Token', 'Idempotency-Key', 'If-Match', 'If-None-Match', 'X-Request-Id',
  'Content-Type', 'Content-Encoding', 'Host', 'Cookie', 'X-Forwarded-For', 'X-Forwarded-Host', 'X-Forwarded-Proto', 'Forwarded',
  'Origin', 'Sec-Fetch-Site', 'Accept', 'Range', 'Expect', 'User-Agent', 'Last-Event-ID', 'Transfer-Encoding', 'Connection',
] as const; // prettier-ignore

for (const name of headerNames) {
  test(`the header ${name} is parsed quickly`, async () => {
    const line = name === 'Last-Event-ID' ? 'GET /events/stream' : `PUT /gift_card/${id}`;
    const starts = name === 'Authorization' ? ['', 'Bearer ', 'Bearer a'] : [''];
    const isAlone = ['Authorization', 'X-Access-Token', 'X-GCF-Access-Token'].includes(name);
    for (const text of headerTexts) {
      // An accepted event stream has no end.
      if (name === 'Last-Event-ID' && text.trim() === '') continue;
      for (const start of starts) {
        const fields = [
          ...(isAlone ? [] : [bearer]),
          ['Content-Length', '2'],
          [name, start + text],
          ...(name === 'Content-Type' ? [] : [['Content-Type', 'application/json'] as const]),
        ] as const;
        const request = requestText(
          line,
          name === 'Transfer-Encoding' ? fields.filter(([field]) => field !== 'Content-Length') : fields,
          '{}',
        );
        await quickly(`${name}: ${shorten(text)}`, () =>
          exchange(service, name === 'Host' ? request.replace('Host: 127.0.0.1\r\n', '') : request),
        );
      }
    }
  });
}

test('every query parameter of every operation is parsed quickly', async () => {
  const texts = headerTexts.map((text) => text.replaceAll(' ', '+').replaceAll(/[^!-~]|[#&]/g, 'x'));
  for (const operation of operations) {
    const own = operation.query.map((name) => [operation, name] as const);
    const proxied =
      operation.id === 'searchGiftCard' ? proxyParameters.map((name) => [operation, name] as const) : [];
    for (const [{ method }, name] of [...own, ...proxied, [operation, 'unknown'] as const]) {
      for (const text of texts) {
        const line = `${method} ${pathOf(operation)}?${name}=${text.replaceAll(/%(?![0-9A-Fa-f]{2})/g, '%25').slice(0, headerBytesMax)}`;
        await quickly(shorten(line), () => exchange(service, requestText(line, [bearer])));
      }
    }
  }
  for (const unit of ['&', '=', '+', '%41', 'a&', 'a=1&', '%', '?', 'email=+&']) {
    const line = `GET /gift_card?${unit.repeat(headerBytesMax / unit.length)}`;
    await quickly(shorten(line), () => exchange(service, requestText(line, [bearer])));
  }
});

test('every path is parsed quickly', async () => {
  const places = [
    '/',
    '/gift_card/',
    '/holds/',
    '/events/',
    '/webhooks/',
    ...Object.values(pagePaths),
    '/apps',
    '/docs/problems/',
  ];
  for (const place of places) {
    for (const unit of [
      '/',
      'a',
      'a/',
      '1',
      '%41',
      '%2F',
      '%',
      '.',
      '../',
      ':',
      ';',
      '//',
      '%E0%A4',
      'gift_card/',
    ]) {
      for (const method of ['GET', 'PATCH', 'OPTIONS']) {
        const line = `${method} ${place}${unit.repeat(headerBytesMax / unit.length)}`;
        await quickly(shorten(line), () => exchange(service, requestText(line, [bearer])));
      }
    }
  }
  for (const unit of ['a', '/', '?', ':', '@']) {
    const line = `GET http://${unit.repeat(headerBytesMax / unit.length)}/gift_card/${id}`;
    await quickly(shorten(line), () => exchange(service, requestText(line, [bearer])));
  }
});
