/**
 * Signatures of webhooks, by the Standard Webhooks scheme
 * (https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md), so that a receiver
 * can verify them with a library that exists for its language.
 *
 * Terms: a *signing secret* is `whsec_` and 24 to 64 random bytes in base64; a *message id* is the same in every
 * attempt at one event, so that a receiver can leave out what it has seen.
 */

import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import type { Chance } from '../../clock-and-chance.ts';
import { accepted, refused, type Parsed } from '../../domain/parsed.ts';
import { Secret } from '../../domain/secret.ts';

const prefix = 'whsec_';
const bytesMin = 24;
const bytesMax = 64;
const bytesDrawn = 32;

/** A new signing secret: `whsec_` and 32 random bytes. */
export function drawSigningSecret(chance: Pick<Chance, 'bytes'>): Secret {
  return new Secret(`${prefix}${Buffer.from(chance.bytes(bytesDrawn)).toString('base64')}`);
}

/** Reads a signing secret that somebody brings along, from another service say. */
export function parseSigningSecret(value: unknown): Parsed<Secret> {
  if (typeof value !== 'string') return refused('must be a string');
  if (!keyOf(value)) return refused(`must be ${prefix} and ${bytesMin} to ${bytesMax} bytes in base64`);
  return accepted(new Secret(value));
}

/** The bytes of a secret; undefined if it is not in the one form that it can be written in. */
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
  /** Letters, digits, hyphens and underscores, 64 at most: a dot would blur what is signed. */
  readonly id: string;
  /** When this attempt is made, ms since 1970 UTC: receivers refuse what is older than some minutes. */
  readonly attemptedAt: number;
  /** Exactly the bytes that are sent. */
  readonly body: string | Uint8Array;
};

/**
 * The headers that sign a message, with one signature for each secret: while one secret is replaced by another, a
 * receiver may verify with either.
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
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signatures.join(' '),
  };
}
