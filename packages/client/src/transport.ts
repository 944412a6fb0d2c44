/** Sends requests, and sends them again with the same key until their outcome is known or the limits are reached. */

import { ApiError, ConnectionError, LargesseError, isTemporary, type Failed } from './errors.ts';
import type { ClientOptions } from './options.ts';
import { pause, startDeadline } from './time.ts';

export interface Prepared {
  method: string;
  /** The path as the documentation has it, for messages: an external id in a path does not belong in a log. */
  template: string;
  path: string;
  query?: URLSearchParams | undefined;
  headers?: Record<string, string> | undefined;
  body?: string | undefined;
  idempotencyKey?: string | undefined;
  /** null: none; absent: that of the client. */
  visitor?: string | null | undefined;
  signal?: AbortSignal | undefined;
}

/** A response, and the text of its body. */
interface Received {
  response: Response;
  text: string;
}

export interface Transport {
  /**
   * Sends a request until it succeeds.
   * @throws ApiError for a response that another attempt does not change, or at the limits of attempts and time.
   * @throws ConnectionError if there was no response at these limits.
   */
  send(request: Prepared): Promise<Received>;
  /**
   * Sends a request once, and returns its response before the body. The signal also ends the body.
   * @throws ApiError, ConnectionError
   */
  open(request: Prepared & { signal: AbortSignal }): Promise<Response>;
  /** The pause after a number of failed attempts, in ms. */
  pauseAfter(attempts: number, error: unknown): number;
}

const pauseMaxMs = 10_000;

export function openTransport(options: ClientOptions): Transport {
  const root = rootOf(options.url);
  const { token, timeoutMs = 30_000, responseBytesMax = 64 * 1_024 * 1_024 } = options;
  const { attemptsMax = 6, totalMs = 120_000, pauseMs = 250 } = options.retry ?? {};
  // The error of `fetch` for such a header would contain the token.
  if (token !== undefined && !/^[\x21-\x7e]+$/.test(token))
    throw new TypeError('token must consist of visible ASCII characters');

  /** The headers of a request. @throws TypeError for a malformed one of the caller. */
  function headersOf({ headers, body, idempotencyKey, visitor }: Prepared): Headers {
    const named = visitor === undefined ? options.visitor : visitor;
    // The error of `fetch` for such a header would contain the visitor.
    if (typeof named === 'string' && !/^[\x21-\x7e]{1,128}$/.test(named))
      throw new TypeError('visitor must have 1 to 128 visible ASCII characters');
    return new Headers({
      ...headers,
      ...(typeof named === 'string' && { 'largesse-visitor': named }),
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
    });
  }

  function begin({ method, path, query, body }: Prepared, headers: Headers, signal: AbortSignal) {
    const search = query && query.size > 0 ? `?${query.toString()}` : '';
    const send = options.fetch ?? fetch;
    // A redirect would take the token to another place.
    const redirect = 'manual' as const;
    const init = { method, redirect, headers, signal, ...(body !== undefined && { body }) };
    return send(`${root}${path}${search}`, init);
  }

  /** Sends a request once, and reads the whole body of its response. */
  async function attempt(request: Prepared, attempts: number, limitMs: number): Promise<Received> {
    const headers = headersOf(request);
    const deadline = startDeadline(Math.min(timeoutMs, limitMs), request.signal);
    try {
      const response = await begin(request, headers, deadline.signal);
      const text = await textOf(response, responseBytesMax);
      if (response.ok) return { response, text };
      throw new ApiError(response, text, failedOf(request, attempts));
    } catch (error) {
      request.signal?.throwIfAborted();
      if (error instanceof LargesseError) throw error;
      throw new ConnectionError(error, failedOf(request, attempts));
    } finally {
      deadline.clear();
    }
  }

  function pauseAfter(attempts: number, error: unknown): number {
    const backoffMs = Math.min(pauseMaxMs, pauseMs * 2 ** (attempts - 1));
    const askedMs = error instanceof ApiError ? (error.retryAfterMs ?? 0) : 0;
    // Jitter, so that not all clients return at the same moment. What the service asks for is a minimum.
    return Math.max(askedMs, backoffMs / 2) + (Math.random() * backoffMs) / 2;
  }

  return {
    pauseAfter,
    async send(request) {
      const endsAt = performance.now() + totalMs;
      for (let attempts = 1; ; attempts += 1) {
        request.signal?.throwIfAborted();
        try {
          return await attempt(request, attempts, endsAt - performance.now());
        } catch (error) {
          const waitMs = pauseAfter(attempts, error);
          const isOver = attempts >= attemptsMax || performance.now() + waitMs >= endsAt;
          if (isOver || !isTemporary(error)) throw error;
          await pause(waitMs, request.signal);
        }
      }
    },
    async open(request) {
      const headers = headersOf(request);
      try {
        const response = await begin(request, headers, request.signal);
        if (response.ok) return response;
        throw new ApiError(response, await textOf(response, responseBytesMax), failedOf(request, 1));
      } catch (error) {
        if (error instanceof LargesseError) throw error;
        throw new ConnectionError(error, failedOf(request, 1));
      }
    },
  };
}

function failedOf({ method, template, idempotencyKey }: Prepared, attempts: number): Failed {
  return { request: `${method} ${template}`, attempts, idempotencyKey };
}

/** The URL of the service without a slash at the end. @throws TypeError for a URL that cannot be one. */
function rootOf(text: string): string {
  const { protocol, origin, pathname, username, password, search, hash } = new URL(text);
  if (!/^https?:$/.test(protocol)) throw new TypeError('url must be an http or https URL');
  if (username !== '' || password !== '' || search !== '' || hash !== '')
    throw new TypeError('url must not contain a user, a password, a query or a fragment');
  return `${origin}${pathname.replace(/\/+$/, '')}`;
}

/** The body of a response. @throws LargesseError if it is too long. */
async function textOf(response: Response, bytesMax: number): Promise<string> {
  if (!response.body) return '';
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    bytes += part.value.byteLength;
    if (bytes > bytesMax) {
      await reader.cancel();
      throw new LargesseError(`a response has more than ${bytesMax} bytes`);
    }
    text += decoder.decode(part.value, { stream: true });
  }
  return text + decoder.decode();
}
