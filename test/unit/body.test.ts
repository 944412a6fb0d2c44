import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { Fault, FieldErrors, type ErrorsByField } from '../../src/core/domain/fault.ts';
import { InexactNumber } from '../../src/core/money/domain/money.ts';
import { operations } from '../../src/api/index.ts';
import { noBody, parseBody } from '../../src/http/body.ts';
import { faultOf, show } from './samples.ts';

const wrappers = new Set(operations.flatMap(({ documentation: { body } }) => body?.wrapper ?? []));

const json = 'application/json';
const form = 'application/x-www-form-urlencoded';

type Read = {
  readonly parameters: ReadonlyMap<string, unknown>;
  readonly isForm: boolean;
  readonly errors: ErrorsByField;
};

function read(contentType: string | undefined, sent: string | Uint8Array, encoding?: string): Read {
  const bytes = typeof sent === 'string' ? Buffer.from(sent) : sent;
  const errors = new FieldErrors();
  const body = parseBody({ contentType, encoding, bytes }, { wrapper: 'gift_card', errors });
  return { ...body, errors: errors.toErrors() };
}

/** Returns the parameters of a body without errors. */
function parametersOf(contentType: string, sent: string): Record<string, unknown> {
  const { parameters, errors } = read(contentType, sent);
  assert.deepEqual(errors, {});
  return Object.fromEntries(parameters);
}

test('a request without a body has no parameters', () => {
  const errors = new FieldErrors();
  assert.deepEqual(parseBody(noBody, { wrapper: 'gift_card', errors }), {
    parameters: new Map(),
    isForm: false,
  });
});

test('a body of zero bytes has no parameters, whatever its type and encoding', async (t) => {
  const none = { parameters: new Map(), isForm: false, errors: {} };
  for (const type of [json, form, undefined, '', 'text/plain', 'json', '*/*', `${json}; charset=utf-16`, 'multipart/form-data; boundary=x']) {
    for (const encoding of [undefined, 'identity', 'gzip']) {
      await t.test(`${type} ${encoding}`, () => assert.deepEqual(read(type, '', encoding), none));
    }
  }
}); // prettier-ignore

test('a body is JSON or a form, bare or wrapped', async (t) => {
  const cases: readonly (readonly [type: string, text: string, parameters: object])[] = [
    [json, '{}', {}],
    [json, ' \n{"initial_value": 25, "note": null}\t', { initial_value: 25, note: null }],
    [json, '{"gift_card": {"initial_value": 25}}', { initial_value: 25 }],
    [json, '{"gift_card": {}}', {}],
    [json, '{"gift_card": {"gift_card": {"note": "x"}}}', { gift_card: { note: 'x' } }],
    [json, '\ufeff{"note": "x"}', { note: 'x' }],
    [form, 'initial_value=25&note=a+b', { initial_value: '25', note: 'a b' }],
    [form, 'gift_card[initial_value]=25', { initial_value: '25' }],
    [form, 'gift_card%5Binitial_value%5D=25&gift_card[note]=', { initial_value: '25', note: null }],
    [form, 'note=&message', { note: null, message: null }],
    [form, 'note=%20', { note: ' ' }],
    [form, 'gift_card[]=1', { '': '1' }],
  ];
  for (const [type, text, parameters] of cases) {
    await t.test(`${type === form ? 'form' : 'JSON'} ${show(text)}`, () => {
      assert.deepEqual(parametersOf(type, text), parameters);
      assert.equal(read(type, text).isForm, type === form);
    });
  }
});

test('bare and wrapped are the same, in JSON and in a form', () => {
  const scalar = fc.oneof(fc.string({ unit: 'binary' }), fc.integer(), fc.boolean(), fc.constant(null));
  const names = fc.string({ unit: 'binary', minLength: 1 }).filter((name) => !/^gift_card$|[[\]]/.test(name));
  fc.assert(
    fc.property(fc.dictionary(names, scalar, { noNullPrototype: true }), (parameters) => {
      assert.deepEqual(parametersOf(json, JSON.stringify(parameters)), parameters);
      assert.deepEqual(parametersOf(json, JSON.stringify({ gift_card: parameters })), parameters);
    }),
    { numRuns: 1_000 },
  );
  fc.assert(
    fc.property(
      fc.dictionary(names, fc.string({ unit: 'binary' }), { noNullPrototype: true }),
      (parameters) => {
        const entries = Object.entries(parameters);
        const expected = Object.fromEntries(
          entries.map(([name, value]) => [name, value === '' ? null : value]),
        );
        const wrapped = entries.map(([name, value]) => [`gift_card[${name}]`, value]);
        assert.deepEqual(parametersOf(form, String(new URLSearchParams(entries))), expected);
        assert.deepEqual(parametersOf(form, String(new URLSearchParams(wrapped))), expected);
      },
    ),
    { numRuns: 1_000 },
  );
});

test('a body that is both wrapped and bare is rejected in either order, and none of it is parsed', async (t) => {
  const bodies: readonly (readonly [string, string])[] = [
    [json, '{"gift_card": {"initial_value": 25}, "note": "x"}'],
    [json, '{"note": "x", "gift_card": {"initial_value": 25}}'],
    [json, '{"gift_card": null, "note": null}'],
    [form, 'gift_card[initial_value]=25&note=x'],
    [form, 'note=x&gift_card[initial_value]=25'],
    [form, 'gift_card=&gift_card[initial_value]=25'],
    [form, 'gift_card[initial_value]=25&gift_card[note][text]=x'],
  ];
  for (const [type, text] of bodies) {
    await t.test(text, () => {
      const { parameters, errors } = read(type, text);
      assert.deepEqual(errors, { gift_card: ['cannot be combined with parameters outside it'] });
      assert.equal(parameters.size, 0);
    });
  }
});

test('a wrapper must be an object', async (t) => {
  for (const value of ['null', '5', '"x"', 'true', '[]', '[{"note": "x"}]', '4.9999999999999999999']) {
    await t.test(value, () => {
      const { parameters, errors } = read(json, `{"gift_card": ${value}}`);
      assert.deepEqual(errors, { gift_card: ['must be an object'] });
      assert.equal(parameters.size, 0);
    });
  }
  for (const text of ['gift_card=x', 'gift_card=', 'gift_card']) {
    await t.test(text, () => assert.deepEqual(read(form, text).errors, { gift_card: ['must be an object'] }));
  }
});

test('each operation accepts one wrapper, and the name of another wrapper is an unknown parameter', async (t) => {
  for (const wrapper of wrappers) {
    for (const name of wrappers) {
      await t.test(`${name} where ${wrapper} is accepted`, () => {
        const texts = [
          [json, `{"${name}": {"note": "x"}}`],
          [form, `${name}[note]=x`],
        ] as const;
        for (const [contentType, text] of texts) {
          const errors = new FieldErrors();
          const raw = { contentType, encoding: undefined, bytes: Buffer.from(text) };
          const sent = Object.fromEntries(parseBody(raw, { wrapper, errors }).parameters);
          if (name === wrapper) assert.deepEqual([sent, errors.any], [{ note: 'x' }, false]);
          else assert.ok(!('note' in sent), `${contentType}: ${show(sent)}`);
        }
      });
    }
  }
});

test('JSON that cannot be parsed is an invalid body', async (t) => {
  for (const text of [
    ' ',
    '{',
    '{"a": 1',
    '{"a": 1,}',
    "{'a': 1}",
    '{a: 1}',
    '{"a": 01}',
    '{"a": .5}',
    '{"a": 5.}',
    '{"a": +5}',
    '{"a": NaN}',
    '{"a": 0x10}',
    '{"a": 1} {}',
    '{"a": "\n"}',
    '{"a": 1}\u0000',
    'a=1',
    'undefined',
    '{"a": 1e}',
    '{"a": 12345678901234567890,}',
  ]) {
    await t.test(show(text), () => {
      assert.equal(faultOf(() => read(json, text), 'invalid-body').detail, 'The body is not valid JSON.');
    });
  }
});

test('a JSON body whose root is not an object is an invalid body', async (t) => {
  for (const text of [
    'null',
    '5',
    '4.9999999999999999999',
    '1e2',
    '"x"',
    'true',
    '[]',
    '[{"initial_value": 25}]',
  ]) {
    await t.test(text, () => {
      assert.equal(faultOf(() => read(json, text), 'invalid-body').detail, 'The body is not an object.');
    });
  }
});

test('a body that is not UTF-8 is an invalid body', async (t) => {
  const bytes: Readonly<Record<string, Uint8Array>> = {
    'a byte of Latin-1': Buffer.from('{"note": "\u00e9"}', 'latin1'),
    'UTF-16': Buffer.from('\ufeff{"note": "x"}', 'utf16le'),
    'a lone surrogate': Buffer.from([0x7b, 0x22, 0xed, 0xa0, 0x80, 0x22, 0x3a, 0x31, 0x7d]),
    'an overlong zero': Buffer.from([0x7b, 0x22, 0xc0, 0x80, 0x22, 0x3a, 0x31, 0x7d]),
    'half a character': Buffer.from('{"note": "é').subarray(0, -1),
  };
  for (const [name, sent] of Object.entries(bytes)) {
    await t.test(name, () => {
      for (const type of [json, form]) faultOf(() => read(type, sent), 'invalid-body');
    });
  }
  await t.test('an escaped lone surrogate is parsed, and the validation of the text rejects it', () =>
    assert.deepEqual(parametersOf(json, String.raw`{"note": "\ud800"}`), { note: '\ud800' }),
  );
});

test('a malformed form is an invalid body', async (t) => {
  for (const text of ['note=%', 'note=%zz', 'note=%ff', '%=1', 'gift_card[%C3]=1']) {
    await t.test(text, () => {
      const { detail } = faultOf(() => read(form, text), 'invalid-body');
      assert.match(detail ?? '', /^The form is malformed: /);
    });
  }
});

test('a repeated field of a form is an invalid body', async (t) => {
  const cases = {
    'note=a&note=b': 'note',
    'note=a&note=a': 'note',
    'note&note=': 'note',
    'note=a&%6Eote=b': 'note',
    'gift_card[note]=a&gift_card%5Bnote%5D=b': 'gift_card[note]',
    'a[]=1&a[]=2': 'a[]',
  };
  for (const [text, name] of Object.entries(cases)) {
    await t.test(text, () => {
      assert.deepEqual(faultOf(() => read(form, text), 'invalid-body').errors, {
        [name]: ['is repeated'],
      });
    });
  }
});

test('a repeated name in a JSON object is an invalid body', async (t) => {
  const cases: readonly (readonly [text: string, name: string])[] = [
    ['{"balance": 5, "balance": 6}', 'balance'],
    ['{"balance": 5, "balance": 5}', 'balance'],
    [String.raw`{"balance": 5, "\u0062alance": 6}`, 'balance'],
    ['{"gift_card": {"balance": 5, "note": {}, "balance": 6}}', 'balance'],
    ['{"gift_card": {"note": 1}, "gift_card": {"note": 2}}', 'gift_card'],
    ['{"list": [1, {"a": 1, "b": [{}], "a": 2}]}', 'a'],
    ['{"a": {"b": 1}, "c": [2], "a": 3}', 'a'],
    ['{"__proto__": 1, "__proto__": 2}', '__proto__'],
    ['{"": 1, "": 2}', ''],
    [String.raw`{"a\"": "x\\", "b": "{\"b\":1", "a\"": 1}`, 'a"'],
  ];
  for (const [text, name] of cases) {
    await t.test(text, () => {
      const { errors } = faultOf(() => read(json, text), 'invalid-body');
      assert.deepEqual(Object.entries(errors ?? {}), [[name, ['is repeated']]]);
    });
  }
});

test('all repeated names are listed together', () => {
  const twice = ['is repeated'];
  const errorsOf = (type: string, text: string) => faultOf(() => read(type, text), 'invalid-body').errors;
  assert.deepEqual(errorsOf(form, 'a=1&b=2&c=3&b=4&a=5&a=6'), { b: twice, a: twice });
  assert.deepEqual(errorsOf(json, '{"a": 1, "b": {"c": 1, "c": 2}, "a": 3, "d": 4}'), { c: twice, a: twice });
});

test('a name can occur again in another object, or as a value', async (t) => {
  const texts = [
    '{"a": {"a": {"a": 1}}}',
    '{"a": [{"a": 1}, {"a": 2}]}',
    '{"a": "a", "b": "a", "c": ["a", "a"]}',
    '{"a": {"x": 1}, "b": {"x": 1}}',
    String.raw`{"a": "\"b\":", "b": "{", "c": "}", "d": "\\", "e": ":\"a\":1"}`,
    '{"a": 1, "A": 2, "a ": 3}',
  ];
  for (const text of texts) {
    await t.test(text, () => assert.deepEqual(parametersOf(json, text), JSON.parse(text)));
  }
});

test('serialized JSON has no repeated name, and any added repetition is found', () => {
  // Objects without a prototype are compared by their JSON.
  fc.assert(
    fc.property(
      fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 }), { minKeys: 1, maxKeys: 6 }),
      fc.nat(),
      (object, at) => {
        const text = JSON.stringify({ wrapped: object });
        assert.equal(JSON.stringify(Object.fromEntries(read(json, text).parameters)), text);
        const names = Object.keys(object);
        const name = names[at % names.length] ?? '';
        const repeated = `${text.slice(0, -2)},${JSON.stringify(name)}:null}}`;
        const { errors } = faultOf(() => read(json, repeated), 'invalid-body');
        assert.deepEqual(Object.keys(errors ?? {}), [name]);
      },
    ),
    { numRuns: 1_000 },
  );
});

test('a JSON number is accepted only if a double holds it exactly', async (t) => {
  const exact: Readonly<Record<string, number>> = {
    '0': 0, '-0': -0, '5': 5, '15.00': 15, '0.1': 0.1, '4.005': 4.005, '-3.5': -3.5, '1e2': 100, '1E2': 100, '1e+2': 100,
    '100e-2': 1, '0.5e1': 5, '1.50e1': 15, '0e99999': 0, '0.00000000000000000000': 0, '25.00000000000000000000': 25,
    '999999999999.99': 999_999_999_999.99, '123456789012345.67': 123_456_789_012_345.67,
    '9007199254740991': 9_007_199_254_740_991, '9007199254740992': 9_007_199_254_740_992, '100000000000000000000': 1e20,
    '1000000000000000000000': 1e21, '1e21': 1e21, '5e-324': 5e-324, '1.7976931348623157e308': Number.MAX_VALUE,
    '0.000000000000001': 1e-15,
  }; // prettier-ignore
  for (const [source, value] of Object.entries(exact)) {
    await t.test(`${source} is exact`, () => {
      assert.deepEqual(parametersOf(json, `{"a": ${source}}`), { a: value });
      assert.deepEqual(parametersOf(json, `{"gift_card": {"a": ${source}}}`), { a: value });
    });
  }
  const inexact = [
    '4.9999999999999999999', '5.0000000000000000001', '0.10000000000000000001', '9007199254740993', '12345678901234567890',
    '-9007199254740993', '0.1000000000000000055511151231257827', '1e400', '-1e400', '1e-400', '1.0000000000000000000000001e1', '4.9999999999999999999e0',
    '1e99999999999999999999', '1.00000000000000005', '123456789012345.678', '25.000000000000000000001', '3e-324',
  ]; // prettier-ignore
  for (const source of inexact) {
    await t.test(`${source} is not`, () => {
      assert.deepEqual(parametersOf(json, `{"a": ${source}}`), { a: new InexactNumber(source) });
      assert.deepEqual(parametersOf(json, `{"gift_card": {"b": 1, "a": ${source}}}`), {
        b: 1,
        a: new InexactNumber(source),
      });
    });
  }
});

/** Returns a decimal number as a multiple of 10^-400. */
function scaled(text: string): bigint {
  const [mantissa = '', exponent = '0'] = text.toLowerCase().split('e');
  const [whole = '', fraction = ''] = mantissa.split('.');
  return BigInt(whole + fraction) * 10n ** BigInt(400 + Number(exponent) - fraction.length);
}

test('a JSON number is exact if and only if integer arithmetic on its digits says so', () => {
  const number = fc.oneof(
    fc.stringMatching(/^(?:0|[1-9][0-9]{0,22})(?:\.[0-9]{1,25})?$/),
    fc.stringMatching(/^(?:0|[1-9][0-9]{0,3})(?:\.[0-9]{1,18})?[eE][-+]?[0-9]{1,2}$/),
    fc.stringMatching(/^(?:0|[1-9][0-9]{0,9})\.(?:0{10,20}|9{10,20})[0-9]?$/),
    fc.double({ noNaN: true, noDefaultInfinity: true, min: 0, max: 1e60 }).map(String),
    fc.double({ noNaN: true, min: 1e-9, max: 1e14 }).map((value) => value.toFixed(20)),
  );
  fc.assert(
    fc.property(number, (source) => {
      const { a: value } = parametersOf(json, `{"a": ${source}}`);
      const isExact = scaled(source) === scaled(String(Number(source)));
      assert.deepEqual(value, isExact ? Number(source) : new InexactNumber(source), source);
    }),
    { numRuns: 5_000 },
  );
});

test('digits inside a string are not a number', () => {
  const text =
    '{"note": "12345678901234567890", "message": "1e400", "12345678901234567890": "4.9999999999999999999"}';
  assert.deepEqual(parametersOf(json, text), JSON.parse(text));
});

test('a parameter can have the name of an inherited property', async (t) => {
  const cases: readonly (readonly [type: string, text: string, names: readonly string[]])[] = [
    [json, '{"__proto__": {"initial_value": 5}}', ['__proto__']],
    [json, '{"__proto__": {"initial_value": 12345678901234567890}}', ['__proto__']],
    [
      json,
      '{"gift_card": {"__proto__": {"initial_value": 5}, "constructor": 1}}',
      ['__proto__', 'constructor'],
    ],
    [json, '{"toString": 1, "hasOwnProperty": 2}', ['toString', 'hasOwnProperty']],
    [form, '__proto__=5&constructor=6', ['__proto__', 'constructor']],
    [form, 'gift_card[__proto__]=5&gift_card[toString]=6', ['__proto__', 'toString']],
  ];
  for (const [type, text, names] of cases) {
    await t.test(text, () => {
      const { parameters } = read(type, text);
      assert.deepEqual([...parameters.keys()], names);
      assert.equal(parameters.get('initial_value'), undefined);
      assert.ok(!('initial_value' in {}), 'Object.prototype was changed');
    });
  }
});

test('a body with any depth of nesting is parsed or rejected, never an internal error', async (t) => {
  for (const depth of [100, 5_000, 32_000]) {
    for (const [open, close] of [
      ['[', ']'],
      ['{"a":', '}'],
    ] as const) {
      const levels = Math.min(depth, Math.floor(65_000 / (open.length + close.length)));
      for (const inner of ['1', '1e5', '12345678901234567890']) {
        await t.test(`${levels} × ${open} around ${inner}`, () => {
          const text = `{"note":${open.repeat(levels)}${inner}${close.repeat(levels)}}`;
          try {
            assert.deepEqual([...read(json, text).parameters.keys()], ['note']);
          } catch (error) {
            assert.ok(error instanceof Fault && error.code === 'invalid-body', String(error));
          }
        });
      }
    }
  }
});

test('the content type is JSON or a form, in UTF-8', async (t) => {
  const accepted = [
    json, 'Application/JSON', 'application/json; charset=utf-8', 'application/json;charset=UTF-8', 'application/json; charset="utf-8"',
    'application/json; charset=utf8', 'application/json ; profile=x', 'application/json;', 'application/json; profile=x; charset=utf-8',
  ]; // prettier-ignore
  for (const type of accepted) {
    await t.test(type, () => assert.deepEqual(parametersOf(type, '{"note": "é"}'), { note: 'é' }));
  }
  const rejected = [
    '', 'text/plain', 'text/json', 'application/jsonp', 'application/vnd.api+json', 'application/xml', 'multipart/form-data; boundary=x', '*/*',
    'application/json; charset=iso-8859-1', 'application/json; charset=utf-16', 'application/json; charset=', 'application/json, text/plain',
    'application/json; charset=utf-8x', 'application', 'json', 'application/octet-stream', 'application/x-www-form-urlencoded; charset=latin1',
  ]; // prettier-ignore
  for (const type of rejected) {
    await t.test(`${show(type)} is rejected`, () => {
      faultOf(() => read(type, '{}'), 'unsupported-media-type');
    });
  }
  assert.deepEqual(parametersOf(`${form}; charset=UTF-8`, 'note=x'), { note: 'x' });
});

test('a body without a content type, or compressed, is rejected', () => {
  const untyped = faultOf(() => read(undefined, '{}'), 'unsupported-media-type');
  assert.match(untyped.detail ?? '', /no Content-Type\. Send "Content-Type: application\/json"/);
  for (const encoding of ['gzip', 'br', 'deflate', 'zstd', 'gzip, identity', 'x-identity', '']) {
    faultOf(() => read(json, '{}', encoding), 'unsupported-media-type');
  }
  for (const encoding of ['identity', 'Identity']) assert.deepEqual(read(json, '{}', encoding).errors, {});
});

test('JSON with the content type of a form, which curl sends, is rejected with the type to send', () => {
  for (const text of ['{"initial_value": 25}', ' \n{ "gift_card": {"note": "a=b&c"}}', '{"note": 1'])
    assert.match(
      faultOf(() => read(form, text), 'invalid-body').detail ?? '',
      /the body is JSON\. Send "Content-Type: application\/json"/,
    );
  assert.deepEqual(parametersOf(form, 'note={"a": 1}'), { note: '{"a": 1}' });
  assert.deepEqual(parametersOf(form, '{note=x'), { '{note': 'x' });
});

test('any bytes are parsed or rejected with a client error', () => {
  const type = fc.constantFrom(json, form, `${json}; charset=utf-8`);
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 60 }),
    fc.json().map((text) => Buffer.from(text)),
    fc.stringMatching(/^[{}[\]":,0-9eE.+\\ au-]{0,40}$/).map((text) => Buffer.from(text)),
    fc.stringMatching(/^(?:gift_card|[[\]&=%+a0-9]){0,20}$/).map((text) => Buffer.from(text)),
  );
  fc.assert(
    fc.property(type, bytes, (contentType, sent) => {
      try {
        const { parameters, errors } = read(contentType, sent);
        assert.ok(parameters instanceof Map);
        assert.ok(Object.keys(errors).every((name) => name === 'gift_card'));
      } catch (error) {
        assert.ok(error instanceof Fault && error.code === 'invalid-body', String(error));
      }
    }),
    { numRuns: 5_000 },
  );
});
