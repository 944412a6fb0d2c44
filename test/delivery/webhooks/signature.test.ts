import assert from 'node:assert/strict';
import test from 'node:test';
import { Webhook } from 'standardwebhooks';
import { systemClock } from '../../../src/platform/clock.ts';
import { systemRandom } from '../../../src/platform/random.ts';
import { Secret } from '../../../src/platform/secret.ts';
import {
  generateSigningSecret,
  parseSigningSecret,
  signatureHeaders,
} from '../../../src/features/webhooks/delivery/signature.ts';

const random = systemRandom(systemClock);
const body = JSON.stringify({ type: 'gift_card.created', data: { note: 'Grüße, 花子 🎁' } });
const message = { id: 'evt_243886537862090', attemptedAt: Date.now(), body };

function verify(secret: Secret, text: string, headers: ReturnType<typeof signatureHeaders>): unknown {
  return new Webhook(secret.reveal()).verify(text, { ...headers });
}

test('the Standard Webhooks library verifies a signature', () => {
  const secret = generateSigningSecret(random);
  const headers = signatureHeaders(message, [secret]);
  assert.deepEqual(verify(secret, body, headers), JSON.parse(body));
  assert.deepEqual(
    verify(secret, body, signatureHeaders({ ...message, body: Buffer.from(body) }, [secret])),
    JSON.parse(body),
  );
});

test('the signature of the example is reproduced', () => {
  const secret = new Secret('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw');
  const known = {
    id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    attemptedAt: 1_614_265_330_999,
    body: '{"test": 2432232314}',
  };
  assert.deepEqual(signatureHeaders(known, [secret]), {
    'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  });
});

test('during a rotation, either secret verifies and no other does', () => {
  const [older, newer, other] = [
    generateSigningSecret(random),
    generateSigningSecret(random),
    generateSigningSecret(random),
  ];
  const headers = signatureHeaders(message, [newer, older]);
  assert.match(headers['webhook-signature'], /^v1,[A-Za-z0-9+/]{43}= v1,[A-Za-z0-9+/]{43}=$/);
  for (const secret of [older, newer]) assert.deepEqual(verify(secret, body, headers), JSON.parse(body));
  assert.throws(() => verify(other, body, headers), /No matching signature/);
});

test('the library rejects a changed body, id or time, and an old message', () => {
  const secret = generateSigningSecret(random);
  const headers = signatureHeaders(message, [secret]);
  const later = { 'webhook-timestamp': String(Number(headers['webhook-timestamp']) + 1) };
  assert.throws(() => verify(secret, `${body} `, headers), /No matching signature/);
  assert.throws(() => verify(secret, body, { ...headers, 'webhook-id': 'evt_1' }), /No matching signature/);
  assert.throws(() => verify(secret, body, { ...headers, ...later }), /No matching signature/);
  const old = signatureHeaders({ ...message, attemptedAt: message.attemptedAt - 6 * 60_000 }, [secret]);
  assert.throws(() => verify(secret, body, old), /too old/);
});

test('a new secret is whsec_ and 32 random bytes', () => {
  const generated = Array.from({ length: 20 }, () => generateSigningSecret(random).reveal());
  for (const text of generated) assert.match(text, /^whsec_[A-Za-z0-9+/]{43}=$/);
  assert.equal(new Set(generated).size, generated.length);
  assert.ok(generated.every((text) => parseSigningSecret(text).ok));
});

test('a client’s secret has 24 to 64 bytes in canonical base64', async (t) => {
  const bytes = (length: number): string => `whsec_${Buffer.alloc(length, 7).toString('base64')}`;
  for (const length of [24, 32, 33, 64]) assert.ok(parseSigningSecret(bytes(length)).ok, `${length} bytes`);
  const rejected = {
    'too short': bytes(23),
    'too long': bytes(65),
    'without prefix': bytes(32).slice('whsec_'.length),
    'of another alphabet': `whsec_${'-_'.repeat(16)}`,
    'without padding': bytes(32).slice(0, -1),
    'with a space': `${bytes(32)} `,
    'not canonical': `whsec_${'A'.repeat(42)}B=`,
    'not a string': 5,
    'only the prefix': 'whsec_',
  };
  for (const [name, value] of Object.entries(rejected)) {
    await t.test(name, () => assert.equal(parseSigningSecret(value).ok, false));
  }
});

test('signing needs a secret and an id without a dot', () => {
  const secret = generateSigningSecret(random);
  assert.throws(() => signatureHeaders(message, []), /at least one secret/);
  for (const id of ['', 'a.1', 'a b', 'a\r\nx', 'a'.repeat(65)]) {
    assert.throws(() => signatureHeaders({ ...message, id }, [secret]), /message id/);
  }
});
