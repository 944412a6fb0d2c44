/**
 * Signatures of webhooks by the Standard Webhooks scheme
 * (https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md), which has libraries for
 * many languages.
 *
 * A *signing secret* is `whsec_` and 24 to 64 random bytes in base64. A *message id* is the same in every attempt of
 * one event, so that a receiver can ignore duplicates.
 */

import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import type { Random } from '../../../platform/random.ts';
import { accepted, rejected, type Parsed } from '../../../platform/parsed.ts';
import { Secret } from '../../../platform/secret.ts';

const prefix = 'whsec_';
const bytesMin = 24;
const bytesMax = 64;
const secretBytes = 32;

/** A new signing secret: `whsec_` and 32 random bytes. */
export function generateSigningSecret(random: Pick<Random, 'bytes'>): Secret {
  return new Secret(`${prefix}${Buffer.from(random.bytes(secretBytes)).toString('base64')}`);
}

/** Parses a signing secret of a client, for example from another service. */
export function parseSigningSecret(value: unknown): Parsed<Secret> {
  if (typeof value !== 'string') return rejected('must be a string');
  if (!keyOf(value)) return rejected(`must be ${prefix} and ${bytesMin} to ${bytesMax} bytes in base64`);
  return accepted(new Secret(value));
}

/** The bytes of a secret; undefined if it is not in canonical form. */
function keyOf(text: string): Uint8Array | undefined {
  if (!text.startsWith(prefix)) return undefined;
  const base64 = text.slice(prefix.length);
  const bytes = Buffer.from(base64, 'base64');
  const isCanonical = bytes.toString('base64') === base64;
  return isCanonical && bytes.length >= bytesMin && bytes.length <= bytesMax ? bytes : undefined;
}

export type SignatureHeaders = {
  readonly 'webhook-id': string;
  readonly 'webhook-timestamp': string;
  readonly 'webhook-signature': string;
};

export type Message = {
  /** At most 64 letters, digits, hyphens and underscores; a dot would make the signed text ambiguous. */
  readonly id: string;
  /** The time of this attempt, ms since 1970 UTC; receivers reject messages older than some minutes. */
  readonly attemptedAt: number;
  /** The sent bytes. */
  readonly body: string | Uint8Array;
};

/**
 * The signature headers of a message, with one signature per secret: during a rotation, a receiver can verify with
 * either secret.
 * @throws AssertionError if there is no secret, or the id or a secret is malformed.
 */
export function signatureHeaders(
  { id, attemptedAt, body }: Message,
  secrets: readonly Secret[],
): SignatureHeaders {
  assert.match(
    id,
    /^[A-Za-z0-9_-]{1,64}$/,
    'a message id has 1 to 64 letters, digits, hyphens or underscores',
  );
  assert.ok(secrets.length > 0, 'a message is signed with at least one secret');
  const timestamp = Math.floor(attemptedAt / 1_000).toString();
  const signatures = secrets.map((secret) => {
    const key = keyOf(secret.reveal());
    assert.ok(key, 'malformed signing secret');
    const hmac = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body);
    return `v1,${hmac.digest('base64')}`;
  });
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') };
}
