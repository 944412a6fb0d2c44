/** Calls of the interfaces of providers: a checked value, or the reason for which there is none. */

import type { Static, TSchema } from 'typebox';
import { Check } from 'typebox/schema';
import { parseRetryAfter } from '../../../platform/retry-after.ts';
import type { Secret } from '../../../platform/secret.ts';
import { shownWords, type PublicHttp } from '../../../delivery/public-http.ts';

/** Creating a session can take a provider some seconds, and a page of movements has many objects. */
export const providerLimits = { timeoutMs: 15_000, responseBytesMax: 1_048_576 } as const;

export type CallOutcome<T> =
  | { readonly kind: 'done'; readonly value: T }
  | { readonly kind: 'rejected'; readonly detail: string; readonly status: number }
  | { readonly kind: 'unknown'; readonly detail: string; readonly retryAfterMs: number | null };

export const notUnderstood = {
  kind: 'unknown',
  detail: 'responded with content of an unknown form',
  retryAfterMs: null,
} as const;

export type ProviderCall<Schema extends TSchema> = {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** The parts of the response that are read. Further ones are ignored. */
  readonly schema: Schema;
  /** Texts of the request that a detail must not have. */
  readonly hidden?: readonly string[];
};

export type ProviderEndpoint<Host extends string> = {
  readonly http: PublicHttp<Host>;
  readonly host: Host;
  /** In ms. */
  readonly now: () => number;
  /** Returns the words of an error; empty: the content is not one. */
  readonly wordsOf: (content: unknown) => string;
};

/** Another request with the same key is in progress, there are too many of them, or the server failed. */
function isAwaitingPayment(status: number): boolean {
  return status === 408 || status === 409 || status === 425 || status === 429 || status >= 500;
}

export async function callProvider<Host extends string, Schema extends TSchema>(
  { http, host, now, wordsOf }: ProviderEndpoint<Host>,
  key: Secret,
  { method, path, headers, body, schema, hidden = [] }: ProviderCall<Schema>,
): Promise<CallOutcome<Static<Schema>>> {
  const response = await http.send({
    host,
    method,
    path,
    headers: { ...headers, accept: 'application/json', authorization: `Bearer ${key.reveal()}` },
    body,
  });
  if (response.kind !== 'responded') {
    const detail = response.kind === 'failed' ? response.detail : 'the request was cancelled';
    return { kind: 'unknown', detail, retryAfterMs: null };
  }
  const { status } = response;
  const content = parsed(response.body);
  if (status >= 200 && status < 300) {
    if (Check(schema, content)) return { kind: 'done', value: content };
    return notUnderstood;
  }
  const words = [key.reveal(), ...hidden].reduce(
    (text, secret) => (secret === '' ? text : text.replaceAll(secret, '…')),
    wordsOf(content),
  );
  const shown = shownWords(words);
  const detail = `responded with ${status}${shown === '' ? '' : `: ${shown}`}`;
  if (!isAwaitingPayment(status)) return { kind: 'rejected', detail, status };
  return { kind: 'unknown', detail, retryAfterMs: parseRetryAfter(response.retryAfter, now()) };
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

/** Applies a function to a value that there is. */
export function mapOutcome<T, U>(outcome: CallOutcome<T>, map: (value: T) => U): CallOutcome<U> {
  return outcome.kind === 'done' ? { kind: 'done', value: map(outcome.value) } : outcome;
}
