import assert from 'node:assert/strict';
import { createHmac, hkdfSync } from 'node:crypto';
import test from 'node:test';
import fc from 'fast-check';
import { keysOf, sameBytes, sealNonceLength, type MasterKey, type Purpose } from '../../src/platform/keys.ts';

const master = (id: string, fill: number): MasterKey => ({ id, secret: new Uint8Array(32).fill(fill) });
const purposes = [
  'gift-card-code',
  'idempotency',
  'idempotency-key',
  'store-secret',
  'key-check',
] as const satisfies readonly Purpose[];
const nonce = Uint8Array.from({ length: sealNonceLength }, (_, index) => index);
const plain = Buffer.from('q2m8xk4w9c0d7f3k');
const old = master('old', 1);
const fresh = master('new', 2);
const keys = keysOf([fresh, old]);

test('a digest is HMAC-SHA-256 under a key that HKDF derives for its purpose', () => {
  for (const purpose of purposes) {
    const derived = Buffer.from(hkdfSync('sha256', fresh.secret, '', `largesse/${purpose}`, 32));
    const expected = createHmac('sha256', derived).update('text é').digest();
    assert.deepEqual(Buffer.from(keys.digest(purpose, 'text é')), expected);
  }
});

test('no two purposes, texts or keys share a digest', () => {
  const digests = [keys, keysOf([old])].flatMap((ring) =>
    purposes.flatMap((purpose) =>
      ['', 'a', 'b'].map((text) => Buffer.from(ring.digest(purpose, text)).toString('hex')),
    ),
  );
  assert.equal(new Set(digests).size, 2 * purposes.length * 3);
});

test('data is digested with the first key and looked up with all keys', () => {
  assert.deepEqual(keys.ids, ['new', 'old']);
  assert.deepEqual(keys.digest('idempotency', 'a'), keysOf([fresh]).digest('idempotency', 'a'));
  assert.deepEqual(keys.digests('idempotency', 'a'), [
    keysOf([fresh]).digest('idempotency', 'a'),
    keysOf([old]).digest('idempotency', 'a'),
  ]);
});

test('sealed data opens byte for byte for its purpose and row', () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 200 }),
      fc.string({ unit: 'binary' }),
      fc.uint8Array({ minLength: sealNonceLength, maxLength: sealNonceLength }),
      fc.constantFrom(...purposes),
      (bytes, row, random, purpose) => {
        const sealed = keys.seal(purpose, bytes, row, random);
        assert.deepEqual(Uint8Array.from(keys.open(purpose, sealed, row)), bytes);
      },
    ),
    { numRuns: 300 },
  );
});

test('a seal opens at any position of a larger buffer', () => {
  const sealed = keys.seal('idempotency', plain, 'row 1', nonce);
  const around = Buffer.concat([Buffer.alloc(7, 0xff), sealed, Buffer.alloc(5, 0xff)]);
  const view = around.subarray(7, 7 + sealed.length);
  assert.deepEqual(Buffer.from(keys.open('idempotency', view, 'row 1')), plain);
});

test('a seal does not show its content', () => {
  const sealed = Buffer.from(keys.seal('idempotency', plain, 'row 1', nonce));
  assert.ok(!sealed.includes(plain));
  assert.equal(sealed.length, 1 + 'new'.length + sealNonceLength + 16 + plain.length);
});

test('a seal of another row, another purpose or another key does not open', () => {
  const sealed = keys.seal('idempotency', plain, 'row 1', nonce);
  assert.throws(() => keys.open('idempotency', sealed, 'row 2'));
  assert.throws(() => keys.open('idempotency', sealed, ''));
  assert.throws(() => keys.open('idempotency', sealed, 'row 1 '));
  assert.throws(() => keys.open('store-secret', sealed, 'row 1'));
  assert.throws(() => keysOf([{ ...fresh, secret: old.secret }]).open('idempotency', sealed, 'row 1'));
  assert.throws(() => keysOf([old]).open('idempotency', sealed, 'row 1'), /sealed with the key "new"/);
});

test('a seal with any one changed bit does not open', () => {
  const sealed = keys.seal('idempotency', plain, 'row 1', nonce);
  for (let bit = 0; bit < sealed.length * 8; bit += 1) {
    const changed = Uint8Array.from(sealed);
    const at = bit >> 3;
    changed[at] = (changed[at] ?? 0) ^ (1 << (bit & 7));
    assert.throws(() => keys.open('idempotency', changed, 'row 1'), `bit ${bit}`);
  }
});

test('a truncated or extended seal does not open', () => {
  // In the seal of an empty content, the truncated part is the end of the tag.
  for (const bytes of [plain, Buffer.of()]) {
    const sealed = Buffer.from(keys.seal('idempotency', bytes, 'row 1', nonce));
    for (let length = 0; length < sealed.length; length += 1) {
      assert.throws(() => keys.open('idempotency', sealed.subarray(0, length), 'row 1'), `${length} bytes`);
    }
    assert.throws(() => keys.open('idempotency', Buffer.concat([sealed, Buffer.of(0)]), 'row 1'));
  }
});

test('after a rotation, seals of the old key still open, and new seals use the new key', () => {
  const sealed = keysOf([old]).seal('store-secret', plain, 'store 1', nonce);
  assert.deepEqual(Buffer.from(keys.open('store-secret', sealed, 'store 1')), plain);
  const again = keys.seal('store-secret', plain, 'store 1', nonce);
  assert.deepEqual(Buffer.from(keysOf([fresh]).open('store-secret', again, 'store 1')), plain);
  assert.throws(() => keysOf([old]).open('store-secret', again, 'store 1'));
});

test('a nonce has exactly 12 bytes', () => {
  assert.equal(sealNonceLength, 12);
  for (const length of [0, 11, 13, 16]) {
    assert.throws(() => keys.seal('idempotency', plain, 'row 1', new Uint8Array(length)));
  }
});

test('ambiguous keys, and keys that are too short or too long, are rejected', async (t) => {
  const rejected: Readonly<Record<string, readonly MasterKey[]>> = {
    'no key': [],
    'one id twice': [master('a', 1), master('b', 2), master('a', 3)],
    '31 bytes': [{ id: 'a', secret: new Uint8Array(31) }],
    '33 bytes': [{ id: 'a', secret: new Uint8Array(33) }],
    'a bad second key': [master('a', 1), { id: 'b', secret: new Uint8Array(16) }],
    'an empty id': [master('', 1)],
    'an id of 65 characters': [master('a'.repeat(65), 1)],
    'an id with a space': [master('a b', 1)],
    'an id with a line break': [master('a\n', 1)],
    'an id with a letter of two bytes': [master('é', 1)],
  };
  for (const [name, masters] of Object.entries(rejected)) {
    await t.test(name, () => assert.throws(() => keysOf(masters), { name: 'AssertionError' }));
  }
  const longest = 'Az09._-'.padEnd(64, 'x');
  const ring = keysOf([master(longest, 1)]);
  assert.deepEqual(
    Buffer.from(ring.open('idempotency', ring.seal('idempotency', plain, 'r', nonce), 'r')),
    plain,
  );
});

test('bytes are the same only in value and length', () => {
  assert.equal(sameBytes(Uint8Array.of(), Uint8Array.of()), true);
  assert.equal(sameBytes(Uint8Array.of(1, 2), Buffer.of(1, 2)), true);
  assert.equal(sameBytes(Uint8Array.of(1, 2), Uint8Array.of(1, 3)), false);
  assert.equal(sameBytes(Uint8Array.of(1, 2), Uint8Array.of(2, 1)), false);
  assert.equal(sameBytes(Uint8Array.of(1, 2), Uint8Array.of(1, 2, 0)), false);
  assert.equal(sameBytes(Uint8Array.of(1), Uint8Array.of()), false);
});

test('public ids depend on their own key only, which is the last one by default', () => {
  const ids = keys.publicIds;
  const samples = [1, 2, 244_212_357_349, 2 ** 52 - 1];
  const shown = (other: typeof ids) => samples.map((id) => other.of(id));
  assert.deepEqual(shown(keysOf([old]).publicIds), shown(ids));
  assert.deepEqual(shown(keysOf([old, fresh], 'old').publicIds), shown(ids));
  assert.notDeepEqual(shown(keysOf([old, fresh]).publicIds), shown(ids));
  assert.throws(() => keysOf([fresh], 'old'), { name: 'AssertionError' });
});
