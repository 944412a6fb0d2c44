/** The client library verifies the webhooks of the service, and those of the Standard Webhooks libraries. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { Webhook } from 'standardwebhooks';
import { signatureHeaders } from '../../src/features/webhooks/delivery/signature.ts';
import { Secret } from '../../src/platform/secret.ts';
import * as examples from '../../src/api/examples.ts';
import { WebhookError, verifyWebhook, type ReceivedWebhook } from '../../packages/client/src/index.ts';

const secret = `whsec_${Buffer.from('0123456789abcdef0123456789abcdef').toString('base64')}`;
const other = `whsec_${Buffer.from('fedcba9876543210fedcba9876543210').toString('base64')}`;
const body = JSON.stringify({ ...examples.event, data: { note: 'ünïcödé €' } });
const now = 1_790_000_000_000;

/** A message of the service, signed with these secrets. */
function signed(...secrets: readonly string[]): ReceivedWebhook {
  const message = { id: '8001', attemptedAt: now, body };
  return { body, headers: signatureHeaders(message, secrets.map((one) => new Secret(one))), secrets: secret, now }; // prettier-ignore
}

async function rejects(webhook: ReceivedWebhook, message: RegExp): Promise<void> {
  await assert.rejects(verifyWebhook(webhook), (error) => {
    assert.ok(error instanceof WebhookError);
    assert.match(error.message, message);
    return true;
  });
}

test('a webhook of the service is its event, in each form of body and headers', async () => {
  const webhook = signed(secret);
  const expected = JSON.parse(body) as object;
  const headers = webhook.headers as Record<string, string>;
  const bytes = Buffer.from(body);
  for (const form of [
    webhook,
    { ...webhook, body: bytes },
    { ...webhook, body: new Uint8Array(bytes) },
    { ...webhook, headers: new Headers(headers) },
    { ...webhook, headers: { ...headers, host: 'shop.example', 'set-cookie': ['a', 'b'] } },
  ])
    assert.deepEqual(await verifyWebhook(form), expected);
});

test('during a rotation, a message with two signatures is verified with either secret', async () => {
  for (const secrets of [secret, other, [secret], [other], [other, secret]])
    assert.ok(await verifyWebhook({ ...signed(other, secret), secrets }));
  assert.ok(await verifyWebhook({ ...signed(secret), secrets: [other, secret] }));
  await rejects({ ...signed(secret), secrets: [other] }, /none of the secrets/);
});

test('messages of the Standard Webhooks library, and its published vector, are verified', async () => {
  const library = new Webhook(secret).sign('msg_1', new Date(now), body);
  const headers = { 'webhook-id': 'msg_1', 'webhook-timestamp': String(now / 1_000), 'webhook-signature': library };
  assert.ok(await verifyWebhook({ body, headers, secrets: secret, now }));
  // https://github.com/standard-webhooks/standard-webhooks/blob/main/libraries/javascript/src/index.test.ts
  const vector = {
    'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  };
  const secrets = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
  const event = await verifyWebhook({ body: '{"test": 2432232314}', headers: vector, secrets, now: 1_614_265_330_000 });
  assert.deepEqual(event, { test: 2_432_232_314 });
}); // prettier-ignore

test('every change of a message is rejected', async () => {
  const webhook = signed(secret);
  const headers = webhook.headers as Record<string, string>;
  const signature = headers['webhook-signature'] ?? '';
  for (let place = 0; place < body.length; place += 7) {
    const changed = `${body.slice(0, place)}${body[place] === 'x' ? 'y' : 'x'}${body.slice(place + 1)}`;
    await rejects({ ...webhook, body: changed }, /none of the secrets/);
  }
  await rejects({ ...webhook, body: `${body} ` }, /none of the secrets/);
  for (const [name, value, message] of [
    ['webhook-id', '8002', /none of the secrets/],
    ['webhook-id', '8001.1', /webhook-id is malformed/],
    ['webhook-id', '', /webhook-id is malformed/],
    ['webhook-timestamp', String(now / 1_000 + 1), /none of the secrets/],
    ['webhook-timestamp', '1e9', /webhook-timestamp is malformed/],
    ['webhook-timestamp', `${now / 1_000}.5`, /webhook-timestamp is malformed/],
    ['webhook-signature', '', /none of the secrets/],
    ['webhook-signature', 'v1,', /none of the secrets/],
    ['webhook-signature', 'v1,*', /none of the secrets/],
    ['webhook-signature', signature.replace('v1,', 'v2,'), /none of the secrets/],
    ['webhook-signature', signature.replace('v1,', ''), /none of the secrets/],
    ['webhook-signature', signature.slice(0, -4), /none of the secrets/],
    // More signatures than a rotation has are not read.
    ['webhook-signature', `${'v1,AAAA '.repeat(8)}${signature}`, /none of the secrets/],
  ] as const)
    await rejects({ ...webhook, headers: { ...headers, [name]: value } }, message);
  for (const name of Object.keys(headers)) {
    await rejects({ ...webhook, headers: { ...headers, [name]: undefined } }, new RegExp(`${name} is missing`));
    const { [name]: _, ...rest } = headers;
    await rejects({ ...webhook, headers: new Headers(rest) }, new RegExp(`${name} is missing`));
  }
}); // prettier-ignore

test('a message that is older or newer than the tolerance is rejected', async () => {
  for (const [seconds, tolerance, isAccepted] of [
    [300, undefined, true],
    [-300, undefined, true],
    [301, undefined, false],
    [-301, undefined, false],
    [31, 30, false],
    [3_600, 7_200, true],
  ] as const) {
    const webhook = { ...signed(secret), now: now + seconds * 1_000, toleranceSeconds: tolerance };
    if (isAccepted) assert.ok(await verifyWebhook(webhook));
    else await rejects(webhook, /seconds away/);
  }
  // A message of the past is too old for the time of this machine.
  await rejects({ ...signed(secret), now: undefined }, /seconds away/);
});

test('a secret that cannot be one is an error without the secret', async () => {
  for (const secrets of [[], '', 'whsec_', 'whsec_short', `whsec_${'*'.repeat(40)}`, secret.replace('whsec_', '')])
    await assert.rejects(verifyWebhook({ ...signed(secret), secrets }), (error) => {
      assert.ok(error instanceof TypeError);
      assert.doesNotMatch(error.message, /short|\*|MDEy/);
      return true;
    }); // prettier-ignore
});
