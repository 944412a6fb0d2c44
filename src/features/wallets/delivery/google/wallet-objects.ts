/**
 * The API of Google Wallet (https://developers.google.com/wallet/reference/rest). The access token of a credential is
 * requested once for all its requests (RFC 7523), and again shortly before it expires.
 */

import type { GoogleCredential } from '../../domain/wallet.ts';
import { parseRetryAfter } from '../../../../platform/retry-after.ts';
import type { Secret } from '../../../../platform/secret.ts';
import type { PublicNetwork } from '../../../../delivery/public-socket.ts';
import { openPublicHttp, shownWords, type PublicResponse } from '../../../../delivery/public-http.ts';
import { signedJwt } from './jwt.ts';

const scope = 'https://www.googleapis.com/auth/wallet_object.issuer';
const tokenUrl = 'https://oauth2.googleapis.com/token';
const base = '/walletobjects/v1';
/** Google accepts assertions for at most an hour. */
const assertionSeconds = 3_600;
/** A token is not used in the last part of its time, because the clocks can differ. */
const spareMs = 60_000;
const tokensMax = 1_000;
const tokenLengthMax = 8_192;

export type GoogleResult =
  | { readonly kind: 'done'; readonly value: Readonly<Record<string, unknown>> }
  /** Google has no such object or class. */
  | { readonly kind: 'gone'; readonly detail: string }
  | { readonly kind: 'exists' }
  /** `detail` is a sentence for the store without a full stop. */
  | {
      readonly kind: 'failed';
      readonly detail: string;
      readonly retryAfterMs: number | null;
      /** Whether the same request can succeed later without a change at Google. */
      readonly isTransient: boolean;
    }
  | { readonly kind: 'cancelled' };

/** @param key identifies the credential. */
export type GoogleAccess = { readonly key: string; readonly credential: GoogleCredential };

type GoogleCall = {
  readonly method: 'POST' | 'PATCH';
  /** Below `/walletobjects/v1`. */
  readonly path: string;
  readonly content: object;
  /** A code in the content, which the detail of a failure must not have. */
  readonly code?: Secret | null;
  readonly signal?: AbortSignal;
};

export type Google = Disposable & {
  /** Every failure is a result. */
  readonly call: (access: GoogleAccess, call: GoogleCall) => Promise<GoogleResult>;
};

type Failure = Extract<GoogleResult, { readonly kind: 'failed' | 'cancelled' }>;
type Token = { readonly ok: true; readonly token: string; readonly until: number };
type TokenResult = Token | { readonly ok: false; readonly failure: Failure };

/** @param now in ms. */
export function openGoogle(network: PublicNetwork, now: () => number): Google {
  const http = openPublicHttp<'oauth2.googleapis.com' | 'walletobjects.googleapis.com'>(network);
  const tokens = new Map<string, Promise<TokenResult>>();

  async function requestToken({ account, key }: GoogleCredential): Promise<TokenResult> {
    const at = now();
    const iat = Math.floor(at / 1_000);
    const claims = { iss: account, scope, aud: tokenUrl, iat, exp: iat + assertionSeconds };
    const grant = {
      grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
      assertion: await signedJwt({ key }, claims),
    };
    // All requests of the credential wait for it, so none of them cancels it.
    const response = await http.send({
      host: 'oauth2.googleapis.com',
      method: 'POST',
      path: '/token',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams(grant).toString(),
    });
    if (response.kind !== 'responded') return { ok: false, failure: lost(response) };
    const { access_token: token, expires_in: seconds } = parsed(response.body);
    if (response.status !== 200) return { ok: false, failure: rejected(response, now()) };
    if (typeof token !== 'string' || !/^[\x21-\x7e]+$/.test(token) || token.length > tokenLengthMax)
      return { ok: false, failure: noToken };
    const lifeMs = typeof seconds === 'number' && seconds > 0 ? seconds * 1_000 : 0;
    return { ok: true, token, until: at + lifeMs - spareMs };
  }

  /** @param rejectedToken one that Google no longer accepts. */
  async function tokenOf({ key, credential }: GoogleAccess, rejectedToken?: string): Promise<TokenResult> {
    const present = tokens.get(key);
    const found = await present;
    // Another request can have replaced it while this one waited.
    const latest = tokens.get(key);
    if (latest && latest !== present) return await latest;
    if (found?.ok === true && found.token !== rejectedToken && found.until > now()) return found;
    const [oldest] = tokens.keys();
    if (tokens.size >= tokensMax && oldest !== undefined) tokens.delete(oldest);
    const requested = requestToken(credential);
    tokens.delete(key);
    tokens.set(key, requested);
    const result = await requested;
    // A failure is for those who waited for it only.
    if (!result.ok && tokens.get(key) === requested) tokens.delete(key);
    return result;
  }

  async function callWith(
    token: string,
    { method, path, content, signal }: GoogleCall,
  ): Promise<PublicResponse> {
    return await http.send({
      host: 'walletobjects.googleapis.com',
      method,
      path: `${base}${path}`,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(content),
      signal,
    });
  }

  return {
    async call(access, call) {
      const first = await tokenOf(access);
      if (!first.ok) return first.failure;
      let response = await callWith(first.token, call);
      if (response.kind === 'responded' && response.status === 401) {
        const second = await tokenOf(access, first.token);
        if (!second.ok) return second.failure;
        response = await callWith(second.token, call);
      }
      return response.kind === 'responded' ? resultOf(response, call.code ?? null, now()) : lost(response);
    },
    [Symbol.dispose]: () => http[Symbol.dispose](),
  };
}

const noToken: Failure = {
  kind: 'failed',
  detail: 'responded with no access token',
  retryAfterMs: null,
  isTransient: true,
};

type Responded = Extract<PublicResponse, { readonly kind: 'responded' }>;

function lost(response: Exclude<PublicResponse, Responded>): Failure {
  return response.kind === 'failed' ? { ...response, retryAfterMs: null, isTransient: true } : response;
}

function resultOf(response: Responded, code: Secret | null, now: number): GoogleResult {
  const { status, body } = response;
  if (status >= 200 && status < 300) return { kind: 'done', value: parsed(body) };
  const failure = rejected(response, now, code);
  if (status === 404) return { kind: 'gone', detail: failure.detail };
  return status === 409 ? { kind: 'exists' } : failure;
}

function parsed(body: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
  } catch {
    return {};
  }
}

/** The failure with Google's own words. */
function rejected({ status, retryAfter, body }: Responded, now: number, code: Secret | null = null) {
  const said = wordsOf(parsed(body));
  // Google's message can quote a value.
  const letters = said.replaceAll(/[^0-9A-Za-z]/g, '').toLowerCase();
  const isQuoted = code !== null && letters.includes(code.reveal().toLowerCase());
  const words = isQuoted ? '' : shownWords(said);
  const detail = `responded with ${status}${words === '' ? '' : `: ${words}`}`;
  const isTransient = status === 429 || status >= 500;
  return { kind: 'failed', detail, retryAfterMs: parseRetryAfter(retryAfter, now), isTransient } as const;
}

/** The words of an error of the API, and of one of the token endpoint (RFC 6749, 5.2). */
function wordsOf({ error, error_description: description }: Readonly<Record<string, unknown>>): string {
  if (typeof error === 'string')
    return [error, description].filter((part) => typeof part === 'string').join(': ');
  if (typeof error !== 'object' || error === null || !('message' in error)) return '';
  return typeof error.message === 'string' ? error.message : '';
}
