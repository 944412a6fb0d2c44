/** No parser of a request takes long for any string. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { Fault, FieldErrors } from '../../src/core/domain/fault.ts';
import { InexactNumber } from '../../src/core/money/domain/money.ts';
import { parseBody } from '../../src/http/body.ts';
import { isKnown, matchedVersions } from '../../src/http/etag.ts';
import type { Field as Parameter } from '../../src/api/field.ts';
import * as parameters from '../../src/core/cards/api/fields.ts';
import * as webhookParameters from '../../src/features/webhooks/api/webhook-fields.ts';
import { findRepeated, MalformedError, parseUrlEncoded } from '../../src/http/query.ts';
import { assertQuick, shorten, worstStrings } from '../support/worst-strings.ts';
import { storeWith } from './samples.ts';

const bodyBytesMax = 65_536;
const headerBytesMax = 16_384;

const all: Readonly<Record<string, Parameter<unknown>>> = { ...parameters, ...webhookParameters };
const texts = [...worstStrings(bodyBytesMax)];
const reading = { store: storeWith(), now: Date.UTC(2026, 5, 15, 12) };

for (const [name, { read }] of Object.entries(all)) {
  test(`${name} is parsed quickly, for any value`, async () => {
    for (const text of texts) {
      await assertQuick(`${name} of ${shorten(text)}`, () => {
        for (const isForm of [false, true]) read(text, { ...reading, isForm });
        read(new InexactNumber(text), { ...reading, isForm: false });
      });
    }
    for (const list of [Array.from({ length: 21_000 }, () => '*'), Array.from({ length: 16_000 }, () => [])])
      await assertQuick(`${name} of a list`, () => read(list, { ...reading, isForm: false }));
  });
}

/** Returns a repeated text between two others, of the maximum size of a body. */
function filled(start: string, unit: string, end: string): string {
  const left = bodyBytesMax - Buffer.byteLength(start + end);
  return start + unit.repeat(Math.floor(left / Buffer.byteLength(unit))) + end;
}

/** Returns as many uniquely named members as fit. */
function members(nameOf: (index: number) => string, separator: string): string {
  const parts: string[] = [];
  for (let bytes = 0, index = 0; bytes < bodyBytesMax - 64; index += 1) {
    const part = nameOf(index);
    parts.push(part);
    bytes += Buffer.byteLength(part + separator);
  }
  return parts.join(separator);
}

async function readsQuickly(contentType: string, text: string): Promise<void> {
  const bytes = Buffer.from(text);
  assert.ok(bytes.length <= bodyBytesMax);
  await assertQuick(`${contentType} ${shorten(text)}`, () => {
    try {
      parseBody(
        { contentType, encoding: undefined, bytes },
        { wrapper: 'gift_card', errors: new FieldErrors() },
      );
    } catch (error) {
      assert.ok(error instanceof Fault, String(error));
    }
  });
}

test('JSON is parsed quickly, for any value', async () => {
  const numbers = ['0', '9', '1', '01'].flatMap((digit) =>
    ['1', '1.', '0.', '1e', '1.0e-', '-'].flatMap((start) =>
      ['', '1', 'e1', '.1'].map((end) => filled(`{"a":${start}`, digit, `${end}}`)),
    ),
  );
  const lists = [
    '1e0',
    '1.50',
    '1234567890123456',
    '0.1000000000000000055',
    '{}',
    '[]',
    '""',
    'null',
    '{"a":1}',
    `1${'0'.repeat(400)}`,
  ];
  const bodies = [
    ...numbers,
    ...lists.flatMap((item) => [filled(`{"a":[${item}`, `,${item}`, ']}'), filled(`{"a":[${item}`, `,${item}`, '],"a":1}')]),
    `{${members((index) => `"${index}":1`, ',')}}`,
    `{"a":1,${members((index) => `"${(index * 2_654_435_761) % 2 ** 32}":1`, ',')},"a":1}`,
    `{"gift_card":{${members((index) => `"k${index}":1e0`, ',')}}}`,
    filled('{"a":1', ',"a":1', '}'),
    filled('{"a":"', '\\\\', '"}'), filled('{"a":"', '\\u0000', '","a":1}'), filled('{"', 'a', '":1,"b":1,"b":2}'),
    filled('{"a":"', '\\', ''), filled('', '"', ''), filled('{', ':', '}'), filled('{', ' ', '}'), filled('{"a":', '[', ''), filled('', '{"":', ''),
    ...['1', '1e5', '12345678901234567890'].flatMap((inner) => [
      `{"a":1,"a":${'['.repeat(32_000)}${inner}${']'.repeat(32_000)}}`,
      `{"a":1,"a":${'{"":'.repeat(13_000)}${inner}${'}'.repeat(13_000)}}`,
    ]),
  ]; // prettier-ignore
  for (const body of bodies) await readsQuickly('application/json', body);
});

test('a form is parsed quickly, for any value', async () => {
  const bodies = [
    ...['&', '=', '+', '%41', '%', '%F0%9F%98%80', '[', '[]', ']', '_', 'a[', 'gift_card[', '&a', '&a=', '&gift_card[a]=1', '%C3%28&']
      .flatMap((unit) => ['', '!', ']'].flatMap((end) => ['', 'a', 'gift_card['].map((start) => filled(start, unit, end)))),
    ...['', 'gift_card[', 'hold['].map((start) => members((index) => `${start}${index.toString(36)}${start === '' ? '' : ']'}=`, '&')),
    members((index) => `gift_card[${index}]=`, '&'),
  ]; // prettier-ignore
  for (const body of bodies) await readsQuickly('application/x-www-form-urlencoded', body);
});

test('a content type is parsed quickly, for any value', async () => {
  const units = [' ', ';', '; ', ';charset=utf-8', '; charset', ';a=b', '"', '\\"', ';a="', ',', 'a', '/'];
  for (const unit of units) {
    for (const start of ['', 'application/json', 'application/json;', 'application/json; charset=']) {
      for (const end of ['', 'a', '"', ';']) {
        const type = start + unit.repeat(headerBytesMax / unit.length) + end;
        await assertQuick(`the type ${shorten(type)}`, () => {
          try {
            const raw = { contentType: type, encoding: undefined, bytes: Buffer.from('{}') };
            parseBody(raw, { wrapper: 'gift_card', errors: new FieldErrors() });
          } catch (error) {
            assert.ok(error instanceof Fault, String(error));
          }
        });
      }
    }
  }
});

test('a query and a list of entity tags are parsed quickly, for any value', async () => {
  for (const text of worstStrings(headerBytesMax)) {
    await assertQuick(`the query ${shorten(text)}`, () => {
      try {
        findRepeated(parseUrlEncoded(text));
      } catch (error) {
        assert.ok(error instanceof MalformedError, String(error));
      }
    });
    for (const list of [text, `"${text}`, `"1${text}`, `W/"${text}`]) {
      await assertQuick(`the tags ${shorten(list)}`, () => {
        isKnown(list, '"1-3"');
        matchedVersions(list, 1);
      });
    }
  }
});

test('slow work fails the check', async () => {
  const blanks = ' '.repeat(headerBytesMax);
  await assert.rejects(async () => assertQuick('a quadratic expression', () => / +$/.test(`${blanks}!`)), {
    message: /^a quadratic expression takes \d/,
  });
});
