import assert from 'node:assert/strict';
import test from 'node:test';
import { format, inspect } from 'node:util';
import { Secret } from '../../src/platform/secret.ts';

const secret = new Secret('hush-hush');
/** The compiler does not accept a secret as a string. */
const asText = secret as unknown as string;

test('a secret returns its value only from reveal', () => {
  assert.equal(secret.reveal(), 'hush-hush');
  assert.equal(new Secret('').reveal(), '');
});

test('printing, joining or serializing a secret returns a placeholder', async (t) => {
  const nested = { card: { code: secret }, list: [secret], map: new Map([['code', secret]]) };
  const prints: Readonly<Record<string, string>> = {
    'String()': String(secret),
    'a template': `code ${asText}`,
    concatenation: 'code ' + asText,
    'Array.join': [secret].join(),
    'JSON.stringify': JSON.stringify({ secret, nested }),
    'util.inspect': inspect(nested, { depth: null, showHidden: true, getters: true, customInspect: true }),
    'util.format': format('%s %o %O %j', secret, secret, secret, secret),
    'the message of an error': new Error(`rejected ${asText}`, { cause: secret }).message,
    'the inspection of an error': inspect(new Error('rejected', { cause: secret }), { depth: null }),
    'a property key': Object.keys({ [String(secret)]: 0 }).join(),
  };
  for (const [name, text] of Object.entries(prints)) {
    await t.test(name, () => {
      assert.ok(!text.includes('hush'), text);
      assert.ok(text.includes('[redacted]'), text);
    });
  }
});

test('copying the properties of a secret copies nothing', () => {
  assert.deepEqual(Reflect.ownKeys(secret), []);
  assert.deepEqual(Object.assign({}, secret), {});
  assert.deepEqual(Object.entries(secret), []);
  assert.ok(!inspect(secret, { customInspect: false, showHidden: true, depth: null }).includes('hush'));
  assert.ok(!JSON.stringify(structuredClone(secret)).includes('hush'));
});
