/** Request bodies: JSON and forms, bare and wrapped, valid and invalid. */

import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { problemOf } from '../support/responses.ts';
import { startService } from '../support/service.ts';
import { form, shopOf } from '../support/shop.ts';
import { exchange, requestText } from '../support/wire.ts';

const service = await startService({ stores: [{ domain: 'flowers.example' }] });
after(() => service[Symbol.asyncDispose]());
const shop = await shopOf(service, 'flowers.example');
const target = await shop.issue();
const writes = ['POST /gift_card', `PUT /gift_card/${target.id}`] as const;
const post = writes[0];

const sent = (body: string | Uint8Array, contentType = 'application/json') => ({
  body,
  headers: { 'content-type': contentType },
});

test('a creation is the same bare and wrapped, as JSON and as a form', async (t) => {
  const fields = {
    initial_value: '12.50',
    note: 'ä & ö=ü+%',
    expires_on: '2999-12-31',
    message: 'one\ntwo',
  };
  const wrapped = Object.fromEntries(Object.entries(fields).map(([name, value]) => [`gift_card[${name}]`, value]));
  const encodings = {
    JSON: { json: fields },
    'wrapped JSON': { json: { gift_card: fields } },
    form: form(fields),
    'wrapped form': form(wrapped),
    'JSON with a character set': sent(JSON.stringify(fields), 'application/json; charset=utf-8'),
    'JSON with a quoted character set': sent(JSON.stringify(fields), 'application/json;charset="UTF-8"'),
    'JSON in capitals': sent(JSON.stringify(fields), 'Application/JSON'),
    'JSON with a byte order mark': sent(`\ufeff${JSON.stringify(fields)}`),
    'JSON with surrounding space': sent(` \n${JSON.stringify(fields)}\n`),
    'form with a character set': sent(new URLSearchParams(fields).toString(), 'application/x-www-form-urlencoded; charset=UTF-8'),
    'form with literal brackets': sent(
      Object.entries(fields)
        .map(([name, value]) => `gift_card[${name}]=${encodeURIComponent(value)}`)
        .join('&'),
      'application/x-www-form-urlencoded',
    ),
    'identity encoding': { json: fields, headers: { 'content-encoding': 'identity' } },
  };
  for (const [name, request] of Object.entries(encodings)) {
    await t.test(name, async () => {
      const { card } = await shop.creates(request);
      const { initial_value, note, expires_on, message } = card;
      assert.deepEqual({ initial_value, note, expires_on, message }, fields);
    });
  }
}); // prettier-ignore

test('in a form, an empty value means null and a plus sign is a space', async () => {
  const { card } = await shop.creates(
    sent(
      'initial_value=5&note=&message=a+b%2Bc&expires_on=&email=&recipient_email&code=',
      'application/x-www-form-urlencoded',
    ),
  );
  assert.deepEqual(
    [card.note, card.message, card.expires_on, card.customer_id, card.recipient_id],
    [null, 'a b+c', null, null, null],
  );
});

test('another content type is rejected', async (t) => {
  const types = [
    'text/plain', 'text/json', 'application/xml', 'multipart/form-data; boundary=x', 'application/json-patch+json',
    'application/vnd.api+json', 'application/jsonp', 'application/x-www-form-urlencoded-x', 'application/octet-stream',
    'application/json; charset=iso-8859-1', 'application/x-www-form-urlencoded; charset=utf-16', 'json', '*/*',
  ]; // prettier-ignore
  for (const line of writes) {
    for (const type of types) {
      await t.test(`${type} ${line.slice(0, 4)}`, () =>
        shop.rejects(line, sent('{"initial_value": 5}', type), { code: 'unsupported-media-type' }),
      );
    }
    await t.test(`no content type ${line.slice(0, 4)}`, () =>
      shop.rejects(line, { body: Buffer.from('{"initial_value": 5}') }, { code: 'unsupported-media-type' }),
    );
    for (const encoding of ['gzip', 'br', 'deflate', 'gzip, identity']) {
      await t.test(`${encoding} ${line.slice(0, 4)}`, () =>
        shop.rejects(
          line,
          { json: { initial_value: 5 }, headers: { 'content-encoding': encoding } },
          { code: 'unsupported-media-type' },
        ),
      );
    }
  }
});

test('an empty body has no parameters, whatever its content type', async (t) => {
  const types = [
    'application/json', 'application/json; charset=iso-8859-1', 'application/x-www-form-urlencoded', 'text/plain', 'json', '', ';', '*/*', '/',
    'multipart/form-data; boundary=x', 'application/json, text/plain', 'application/json; ="', undefined,
  ]; // prettier-ignore
  const framings: Readonly<Record<string, readonly (readonly [string, string])[]>> = {
    'no length': [],
    'a length of 0': [['Content-Length', '0']],
    'no chunk': [['Transfer-Encoding', 'chunked']],
    'no length, compressed': [['Content-Encoding', 'gzip']],
    'no chunks, compressed': [
      ['Transfer-Encoding', 'chunked'],
      ['Content-Encoding', 'gzip'],
    ],
  };
  const bearer = ['Authorization', `Bearer ${shop.token}`] as const;
  for (const type of types) {
    for (const [name, framing] of Object.entries(framings)) {
      const headers = [bearer, ...framing, ...(type === undefined ? [] : [['Content-Type', type] as const])];
      const end = name.startsWith('no chunk') ? '0\r\n\r\n' : '';
      await t.test(`${String(type)}, ${name}`, async () => {
        const update = await exchange(service, requestText(writes[1], headers, end));
        assert.equal(update.status, 200, update.text);
        problemOf(await exchange(service, requestText(post, headers, end)), {
          code: 'invalid-parameter',
          errors: { initial_value: ['is required'] },
        });
      });
    }
  }
});

test('a body that cannot be parsed, or whose root is not an object, is malformed', async (t) => {
  const bodies: Readonly<Record<string, string | Uint8Array>> = {
    'half an object': '{"initial_value": 5',
    'a trailing comma': '{"initial_value": 5,}',
    'single quotes': "{'initial_value': 5}",
    'a bare word': '{initial_value: 5}',
    NaN: '{"initial_value": NaN}',
    'a leading zero': '{"initial_value": 05}',
    'a comment': '{"initial_value": 5} // five',
    'two objects': '{"initial_value": 5}{"initial_value": 5}',
    'a form': 'initial_value=5',
    'an array': '[{"initial_value": 5}]',
    null: 'null',
    'a number': '5',
    'a large number': '12345678901234567890',
    'a string': '"initial_value"',
    true: 'true',
    'only space': '   ',
    'not UTF-8': Uint8Array.from([...Buffer.from('{"initial_value": 5, "note": "'), 0xff, 0xfe, 0x22, 0x7d]),
    'an overlong UTF-8 sequence': Uint8Array.from([...Buffer.from('{"initial_value": 5, "note": "'), 0xc0, 0xaf, 0x22, 0x7d]),
    'nested too deeply': `{"note":${'['.repeat(30_000)}`,
  }; // prettier-ignore
  for (const line of writes) {
    for (const [name, body] of Object.entries(bodies)) {
      await t.test(`${name} ${line.slice(0, 4)}`, () =>
        shop.rejects(line, sent(body), { code: 'invalid-body' }),
      );
    }
    for (const body of [
      'initial_value=%zz',
      'initial_value=5&note=%',
      'note=%ff',
      '%E2%98=1',
      'note=%c0%af',
    ]) {
      await t.test(`the form ${body} ${line.slice(0, 4)}`, () =>
        shop.rejects(line, sent(body, 'application/x-www-form-urlencoded'), { code: 'invalid-body' }),
      );
    }
  }
});

test('deep nesting is rejected like any other invalid value', async () => {
  const deep = `${'['.repeat(20_000)}${']'.repeat(20_000)}`;
  await shop.rejects(post, sent(`{"initial_value":5,"note":${deep}}`), {
    code: 'invalid-parameter',
    errors: { note: ['must be a string'] },
  });
});

test('a repeated parameter in a body is malformed', async (t) => {
  const repeated: readonly (readonly [
    body: string,
    contentType: 'json' | 'x-www-form-urlencoded',
    name: string,
  ])[] = [
    ['{"initial_value": 5, "initial_value": 500}', 'json', 'initial_value'],
    ['{"initial_value": 5, "initial_\\u0076alue": 500}', 'json', 'initial_value'],
    ['{"gift_card": {"initial_value": 5, "initial_value": 5}}', 'json', 'initial_value'],
    ['{"gift_card": {"initial_value": 5}, "gift_card": {"initial_value": 6}}', 'json', 'gift_card'],
    ['initial_value=5&initial_value=5', 'x-www-form-urlencoded', 'initial_value'],
    ['initial_value=5&initial%5Fvalue=500', 'x-www-form-urlencoded', 'initial_value'],
    ['gift_card[note]=5&gift_card%5Bnote%5D=6', 'x-www-form-urlencoded', 'gift_card[note]'],
  ];
  for (const line of writes) {
    for (const [body, type, name] of repeated) {
      await t.test(`${body} ${line.slice(0, 4)}`, () =>
        shop.rejects(line, sent(body, `application/${type}`), {
          code: 'invalid-body',
          errors: { [name]: ['is repeated'] },
        }),
      );
    }
  }
});

test('a value that contains JSON does not count as a repeated parameter', async () => {
  const note = '{"initial_value": 5, "initial_value": 6} \\" : "';
  const { card } = await shop.creates({ json: { initial_value: 5, note, message: 'initial_value' } });
  assert.equal(card.note, note);
});

test('all repeated parameters of a body are listed together', async (t) => {
  const errors = { initial_value: ['is repeated'], note: ['is repeated'] };
  await t.test('form', () =>
    shop.rejects(
      post,
      sent('initial_value=5&note=a&initial_value=5&note=b', 'application/x-www-form-urlencoded'),
      { code: 'invalid-body', errors },
    ),
  );
  await t.test('JSON', () =>
    shop.rejects(post, sent('{"initial_value":5,"note":"a","initial_value":5,"note":"b"}'), {
      code: 'invalid-body',
      errors,
    }),
  );
});

test('a body that is both wrapped and bare is rejected, and a wrapper must be an object', async (t) => {
  const both = { gift_card: ['cannot be combined with parameters outside it'] };
  const noObject = { gift_card: ['must be an object'] };
  const bodies: readonly (readonly [object | string, Readonly<Record<string, readonly string[]>>])[] = [
    [{ gift_card: { initial_value: 5 }, initial_value: 5 }, both],
    [{ note: null, gift_card: {} }, both],
    ['gift_card[initial_value]=5&initial_value=5', both],
    ['note=x&gift_card[initial_value]=5', both],
    ['gift_card=x&gift_card[initial_value]=5', both],
    [{ gift_card: null }, noObject],
    [{ gift_card: [] }, noObject],
    [{ gift_card: [{ initial_value: 5 }] }, noObject],
    [{ gift_card: 'initial_value=5' }, noObject],
    [{ gift_card: 5 }, noObject],
    ['gift_card=5', noObject],
    ['gift_card=', noObject],
  ];
  for (const line of writes) {
    for (const [body, errors] of bodies) {
      await t.test(`${JSON.stringify(body)} ${line.slice(0, 4)}`, () =>
        shop.rejects(
          line,
          typeof body === 'string' ? sent(body, 'application/x-www-form-urlencoded') : { json: body },
          { code: 'invalid-parameter', errors },
        ),
      );
    }
  }
  await t.test('a wrapper in a wrapper is an unknown parameter', () =>
    shop.rejects(
      post,
      { json: { gift_card: { initial_value: 5, gift_card: { initial_value: 5 } } } },
      { code: 'invalid-parameter', errors: { gift_card: ['is not a known parameter'] } },
    ),
  );
  await t.test('another wrapper is an unknown parameter', () =>
    shop.rejects(post, form({ 'card[initial_value]': '5' }), {
      code: 'invalid-parameter',
      errors: { initial_value: ['is required'], 'card[initial_value]': ['is not a known parameter'] },
    }),
  );
  await t.test('names in brackets are unknown, and so is an array', () =>
    shop.rejects(post, form({ 'initial_value[]': '5' }), {
      code: 'invalid-parameter',
      errors: { initial_value: ['is required'], 'initial_value[]': ['is not a known parameter'] },
    }),
  );
});
