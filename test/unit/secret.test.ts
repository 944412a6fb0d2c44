import assert from 'node:assert/strict';
import test from 'node:test';
import { format, inspect } from 'node:util';
import { Secret } from '../../src/domain/secret.ts';

const secret = new Secret('hush-hush');
/** For what the compiler would not let anybody write. */
const asText = secret as unknown as string;

test('a secret tells its value only when it is asked for it', () => {
  assert.equal(secret.reveal(), 'hush-hush');
  assert.equal(new Secret('').reveal(), '');
});

test('whatever prints, joins or serialises a secret gets a placeholder', async (t) => {
  const nested = { card: { code: secret }, list: [secret], map: new Map([['code', secret]]) };
  const prints: Readonly<Record<string, string>> = {
    'String()': String(secret),
    'a template': `code ${asText}`,
    concatenation: 'code ' + asText,
    'Array.join': [secret].join(),
    'JSON.stringify': JSON.stringify({ secret, nested }),
    'util.inspect': inspect(nested, { depth: null, showHidden: true, getters: true, customInspect: true }),
    'util.format': format('%s %o %O %j', secret, secret, secret, secret),
    'the message of an error': new Error(`refused ${asText}`, { cause: secret }).message,
    'the inspection of an error': inspect(new Error('refused', { cause: secret }), { depth: null }),
    'a property key': Object.keys({ [String(secret)]: 0 }).join(),
  };
  for (const [name, text] of Object.entries(prints)) {
    await t.test(name, () => {
      assert.ok(!text.includes('hush'), text);
      assert.ok(text.includes('[redacted]'), text);
    });
  }
});

test('what copies a secret’s properties copies nothing', () => {
  assert.deepEqual(Reflect.ownKeys(secret), []);
  assert.deepEqual(Object.assign({}, secret), {});
  assert.deepEqual(Object.entries(secret), []);
  assert.ok(!inspect(secret, { customInspect: false, showHidden: true, depth: null }).includes('hush'));
  assert.ok(!JSON.stringify(structuredClone(secret)).includes('hush'));
});
