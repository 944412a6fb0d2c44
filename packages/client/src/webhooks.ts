/** Verifies webhooks: signatures of Standard Webhooks, which the service makes. */

import { WebhookError } from './errors.ts';
import type { WebhookEvent } from './generated/types.ts';

export interface ReceivedWebhook {
  /** The bytes or the text of the body, exactly as they arrived: the signature covers them. */
  body: string | Uint8Array;
  /** The headers of the request, as the platform has them. Names of a plain object are in lower case. */
  headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The secret of the webhook, `whsec_…`. During a rotation, both. */
  secrets: string | readonly string[];
  /** The largest difference between the time of the message and this machine's, in seconds. The default is 300. */
  toleranceSeconds?: number | undefined;
  /** The time in ms since 1970. The default is this machine's. */
  now?: number | undefined;
}

const algorithm = { name: 'HMAC', hash: 'SHA-256' } as const;
const signaturesMax = 8;

/**
 * Returns the event of a webhook. The same event can arrive several times and in another order: its `id` shows the first,
 * `sequence` the second.
 * @throws WebhookError if no secret signed the message, or it is too old or from the future.
 * @throws TypeError for a secret that cannot be one.
 */
export async function verifyWebhook(webhook: ReceivedWebhook): Promise<WebhookEvent> {
  const { body, secrets, toleranceSeconds = 300, now = Date.now() } = webhook;
  const keys = await Promise.all([secrets].flat().map(keyOf));
  if (keys.length === 0) throw new TypeError('secrets must not be empty');
  const id = headerOf(webhook, 'webhook-id');
  const timestamp = headerOf(webhook, 'webhook-timestamp');
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(id)) throw new WebhookError('webhook-id is malformed');
  if (!/^\d{1,12}$/.test(timestamp)) throw new WebhookError('webhook-timestamp is malformed');
  if (!(Math.abs(now / 1_000 - Number(timestamp)) <= toleranceSeconds))
    throw new WebhookError(`webhook-timestamp is more than ${toleranceSeconds} seconds away`);

  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body;
  const signed = joined(new TextEncoder().encode(`${id}.${timestamp}.`), bytes);
  const signatures = headerOf(webhook, 'webhook-signature').split(' ', signaturesMax).flatMap(signatureOf);
  // WebCrypto compares in constant time.
  const results = await Promise.all(
    keys.flatMap((key) =>
      signatures.map((signature) => crypto.subtle.verify('HMAC', key, signature, signed)),
    ),
  );
  if (!results.includes(true)) throw new WebhookError('webhook-signature is of none of the secrets');
  return JSON.parse(new TextDecoder().decode(bytes)) as WebhookEvent;
}

function headerOf({ headers }: ReceivedWebhook, name: string): string {
  const value = headers instanceof Headers ? headers.get(name) : headers[name];
  if (typeof value !== 'string') throw new WebhookError(`the header ${name} is missing`);
  return value;
}

function keyOf(secret: string) {
  const bytes = secret.startsWith('whsec_') ? bytesOf(secret.slice('whsec_'.length)) : undefined;
  // Nothing of the secret is in the message, which can reach a log.
  if (!bytes || bytes.length < 24)
    throw new TypeError('a secret must be whsec_ and at least 24 bytes in base64');
  return crypto.subtle.importKey('raw', bytes, algorithm, false, ['verify']);
}

/** The signature in an entry of the list; empty: it has another form. */
function signatureOf(text: string): Uint8Array<ArrayBuffer> | [] {
  return (text.startsWith('v1,') && bytesOf(text.slice('v1,'.length))) || [];
}

/** The bytes of base64; undefined: it is malformed. */
function bytesOf(base64: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}

function joined(first: Uint8Array, second: Uint8Array): Uint8Array<ArrayBuffer> {
  const both = new Uint8Array(first.length + second.length);
  both.set(first);
  both.set(second, first.length);
  return both;
}
