/** The protocol of a certificate authority (ACME, RFC 8555): signed requests of one account. */

import { createHash, createPublicKey, sign, type KeyObject } from 'node:crypto';
import type { Clock } from '../../../../platform/clock.ts';
import { parseRetryAfter } from '../../../../platform/retry-after.ts';
import { objectOf, optionalText, parseResponseObject, textIn, type JsonObject } from './json.ts';
import { AcmeProblem } from './problem.ts';
import { openAcmeConnection, type AcmeResponse } from './request.ts';

export type AcmeOptions = {
  /** The URL of the authority's directory. */
  readonly directory: string;
  /** Certificates (PEM) that the authority's own server has; null: the public ones. */
  readonly authority: string | null;
  /** Ends every request. */
  readonly signal: AbortSignal;
  readonly clock: Pick<Clock, 'now'>;
};

type AcmeReply = {
  readonly text: string;
  /** The URL that the response names; undefined: none. */
  readonly location: string | undefined;
  readonly retryAfterMs: number | null;
};

export type AcmeClient = {
  /** The URL of the authority's renewal information (RFC 9773); undefined: it has none. */
  readonly renewalInfo: string | undefined;
  readonly newOrder: string;
  /** The authority's URL of the account. */
  readonly account: string;
  /** The proof for a challenge: the token with the digest of the account's key. */
  readonly proofOf: (token: string) => string;
  /** Sends a signed request; without a payload, it reads. @throws AcmeProblem, or the error of the connection. */
  readonly post: (url: string, payload: JsonObject | null) => Promise<AcmeReply>;
};

const noncesMax = 5;

/**
 * Calls `use` with a client of an account, which is created if `account` is null. An authority that knows the key returns
 * the account that it has.
 * @throws AcmeProblem, or the error of the connection.
 */
export async function withAcmeClient<T>(
  options: AcmeOptions & { readonly key: KeyObject; readonly account: string | null },
  use: (client: AcmeClient) => Promise<T>,
): Promise<T> {
  using connection = openAcmeConnection(options);
  const directory = await readDirectory(connection.send, options);
  const jwk = jwkOf(options.key);
  const thumbprint = createHash('sha256').update(JSON.stringify(jwk)).digest('base64url');
  let nonce: string | undefined;
  let account = options.account;

  const send = async (url: string, payload: JsonObject | null): Promise<AcmeReply> => {
    for (let attempt = 1; ; attempt += 1) {
      nonce ??= nonceOf(await connection.send(textIn(directory, 'newNonce'), { method: 'HEAD' }));
      if (nonce === undefined) throw new AcmeProblem('malformedResponse', 'the authority sends no nonce');
      const signer = account === null ? { jwk } : { kid: account };
      const body = signed({ alg: 'ES256', nonce, url, ...signer }, payload, options.key);
      const response = await connection.send(url, { method: 'POST', body });
      nonce = nonceOf(response);
      if (response.status < 400) return replyOf(response, options.clock);
      const problem = problemOf(response, options.clock);
      if (problem.type !== 'badNonce' || attempt >= noncesMax) throw problem;
    }
  };

  if (account === null) {
    const { meta } = directory;
    if (meta !== undefined && objectOf(meta)['externalAccountRequired'] === true)
      throw new AcmeProblem('externalAccountRequired', 'the authority requires an external account');
    const made = await send(textIn(directory, 'newAccount'), { termsOfServiceAgreed: true });
    if (made.location === undefined)
      throw new AcmeProblem('malformedResponse', 'the authority does not name the account');
    account = made.location;
  }
  return await use({
    renewalInfo: optionalText(directory, 'renewalInfo'),
    newOrder: textIn(directory, 'newOrder'),
    account,
    proofOf: (token) => `${token}.${thumbprint}`,
    post: send,
  });
}

/** When the authority wants a certificate to be renewed (RFC 9773). */
export type RenewalWindow = {
  /** Ms since 1970 UTC. */
  readonly start: number;
  readonly end: number;
  /** The authority's reason; undefined: none. */
  readonly explanation: string | undefined;
  /** After which time to read it again; null: the authority does not say. */
  readonly retryAfterMs: number | null;
};

/** Null: the authority has no renewal information. @throws AcmeProblem, or the error of the connection. */
export async function readRenewalWindow(options: AcmeOptions, id: string): Promise<RenewalWindow | null> {
  using connection = openAcmeConnection(options);
  const url = optionalText(await readDirectory(connection.send, options), 'renewalInfo');
  if (url === undefined) return null;
  const response = await connection.send(`${url.replace(/\/$/, '')}/${id}`, { method: 'GET' });
  if (response.status !== 200) throw problemOf(response, options.clock);
  return parseRenewalWindow(response.text, retryAfterOf(response, options.clock));
}

/** @throws AcmeProblem if it is not a window that ends after it starts. */
export function parseRenewalWindow(text: string, retryAfterMs: number | null): RenewalWindow {
  const object = parseResponseObject(text);
  const suggested = objectOf(object['suggestedWindow']);
  const start = Date.parse(textIn(suggested, 'start'));
  const end = Date.parse(textIn(suggested, 'end'));
  if (!(end > start))
    throw new AcmeProblem('malformedResponse', 'the renewal window does not end after it starts');
  return { start, end, explanation: optionalText(object, 'explanationURL'), retryAfterMs };
}

async function readDirectory(
  send: (url: string, request: { readonly method: 'GET' }) => Promise<AcmeResponse>,
  { directory, clock }: AcmeOptions,
): Promise<JsonObject> {
  const response = await send(directory, { method: 'GET' });
  if (response.status !== 200) throw problemOf(response, clock);
  return parseResponseObject(response.text);
}

function replyOf(response: AcmeResponse, clock: Pick<Clock, 'now'>): AcmeReply {
  return {
    text: response.text,
    location: response.headers.location,
    retryAfterMs: retryAfterOf(response, clock),
  };
}

function retryAfterOf({ headers }: AcmeResponse, clock: Pick<Clock, 'now'>): number | null {
  return parseRetryAfter(headers['retry-after'], clock.now());
}

function nonceOf({ headers }: AcmeResponse): string | undefined {
  const nonce = headers['replay-nonce'];
  return typeof nonce === 'string' ? nonce : undefined;
}

/** The problem of a response with an error, which can also come from a server in front of the authority. */
function problemOf(response: AcmeResponse, clock: Pick<Clock, 'now'>): AcmeProblem {
  const { status } = response;
  let document: JsonObject = {};
  try {
    document = parseResponseObject(response.text);
  } catch {
    // The status says enough.
  }
  return problemIn(document, { status, retryAfterMs: retryAfterOf(response, clock) });
}

const typePrefix = 'urn:ietf:params:acme:error:';

/** The problem that a problem document (RFC 7807) describes. @param status that of the response; 0: it has none. */
export function problemIn(
  document: JsonObject,
  { status, retryAfterMs = null }: { readonly status: number; readonly retryAfterMs?: number | null },
): AcmeProblem {
  const type = optionalText(document, 'type') ?? '';
  const text = optionalText(document, 'detail') ?? optionalText(document, 'title') ?? `HTTP status ${status}`;
  return new AcmeProblem(type.startsWith(typePrefix) ? type.slice(typePrefix.length) : typeOf(status), text, {
    retryAfterMs,
  });
}

function typeOf(status: number): string {
  if (status === 429) return 'rateLimited';
  return status >= 500 ? 'serverInternal' : 'rejected';
}

/** A request as a signed object (JWS, RFC 7515). */
function signed(head: JsonObject, payload: JsonObject | null, key: KeyObject): string {
  const start = encoded(head);
  const content = payload === null ? '' : encoded(payload);
  const signature = sign('sha256', Buffer.from(`${start}.${content}`), { key, dsaEncoding: 'ieee-p1363' });
  return JSON.stringify({
    protected: start,
    payload: content,
    signature: signature.toString('base64url'),
  });
}

function encoded(value: JsonObject): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

/** The public key, with its members in the order of its digest (RFC 7638). */
function jwkOf(key: KeyObject): JsonObject {
  const { crv, kty, x, y } = createPublicKey(key).export({ format: 'jwk' });
  return { crv, kty, x, y };
}
