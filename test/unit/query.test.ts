import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { findRepeated, MalformedError, parseUrlEncoded, queryOf } from '../../src/http/query.ts';
import { show } from './samples.ts';

test('parameters are parsed in order and decoded', async (t) => {
  const cases: Readonly<Record<string, readonly (readonly [string, string])[]>> = {
    '': [],
    '&': [],
    '&&a=1&': [['a', '1']],
    'a=1&b=2': [
      ['a', '1'],
      ['b', '2'],
    ],
    'b=2&a=1&b=3': [
      ['b', '2'],
      ['a', '1'],
      ['b', '3'],
    ],
    a: [['a', '']],
    'a=': [['a', '']],
    '=a': [['', 'a']],
    '=': [['', '']],
    'a=b=c': [['a', 'b=c']],
    'a==': [['a', '=']],
    'a+b=c+d': [['a b', 'c d']],
    'a%2Bb=c%2bd': [['a+b', 'c+d']],
    'a%26b=c%3Dd': [['a&b', 'c=d']],
    'e%C3%A9=%F0%9F%98%80': [['eé', '😀']],
    'é=😀': [['é', '😀']],
    'gift_card%5Bnote%5D=x': [['gift_card[note]', 'x']],
    'a=1;b=2': [['a', '1;b=2']],
    'a=%00': [['a', '\u0000']],
    'a=%25': [['a', '%']],
    '__proto__=1': [['__proto__', '1']],
  };
  for (const [text, parameters] of Object.entries(cases)) {
    await t.test(show(text), () => assert.deepEqual(parseUrlEncoded(text), parameters));
  }
});

test('a percent sign with an invalid encoding, or invalid UTF-8, is malformed', async (t) => {
  const texts = [
    'a=%', 'a=%2', 'a=%zz', 'a=100%', '%=a', '%zz=a', 'a=%u0041', 'a=%E0%A4%A', 'a=%ff', 'a=%C3', 'a=%C3+', 'a=%80',
    // Overlong, a surrogate, and beyond Unicode.
    'a=%C0%80', 'a=%ED%A0%80', 'a=%F4%90%80%80', 'b=1&a=%ff',
  ]; // prettier-ignore
  for (const text of texts) {
    await t.test(text, () => assert.throws(() => parseUrlEncoded(text), MalformedError));
  }
});

test('the output of URLSearchParams is parsed to the same parameters', () => {
  const word = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 8 }),
    fc.stringMatching(/^[&=+%;? a[\]]{0,6}$/),
  );
  fc.assert(
    fc.property(fc.array(fc.tuple(word, word), { maxLength: 5 }), (parameters) => {
      assert.deepEqual(parseUrlEncoded(String(new URLSearchParams(parameters))), parameters);
    }),
    { numRuns: 2_000 },
  );
});

test('a well-formed query is parsed as by URLSearchParams', () => {
  const text = fc.stringMatching(/^[ab&=+;?]{0,20}$|^(?:[ab&=+]|%4[0-9A-Fa-f]|%C3%A9){0,12}$/);
  fc.assert(
    fc.property(text, (query) => {
      // A leading question mark has no meaning inside a query, but URLSearchParams would drop it.
      assert.deepEqual(parseUrlEncoded(query), [...new URLSearchParams(`&${query}`)]);
    }),
    { numRuns: 3_000 },
  );
});

test('parsing throws only MalformedError, for any text', () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.string({ unit: 'binary' }), fc.stringMatching(/^[a&=%0-9A-F]{0,20}$/)),
      (text) => {
        try {
          for (const [name, value] of parseUrlEncoded(text))
            assert.ok(name.isWellFormed() && value.isWellFormed());
        } catch (error) {
          assert.ok(error instanceof MalformedError);
        }
      },
    ),
    { numRuns: 2_000 },
  );
});

test('the query of a target begins after its first question mark', () => {
  assert.equal(queryOf('/gift_card'), '');
  assert.equal(queryOf('/gift_card?'), '');
  assert.equal(queryOf('/gift_card?a=1&b'), 'a=1&b');
  assert.equal(queryOf('/gift_card?a=?b'), 'a=?b');
  assert.equal(queryOf('?a'), 'a');
});

test('every repeated name is found once', () => {
  assert.deepEqual([...findRepeated([])], []);
  assert.deepEqual([...findRepeated([['a', '1'], ['b', '1']])], []); // prettier-ignore
  assert.deepEqual([...findRepeated([['a', '1'], ['A', '1']])], []); // prettier-ignore
  assert.deepEqual([...findRepeated([['a', '1'], ['b', '2'], ['b', '2'], ['a', '3'], ['a', '4']])], ['b', 'a']); // prettier-ignore
  assert.deepEqual([...findRepeated([['', '1'], ['', '']])], ['']); // prettier-ignore
  assert.deepEqual([...findRepeated([['__proto__', '1'], ['toString', '1']])], []); // prettier-ignore
  assert.deepEqual([...findRepeated([['__proto__', '1'], ['__proto__', '1']])], ['__proto__']); // prettier-ignore
});
