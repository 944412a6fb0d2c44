/**
 * A small client for the four operations. It retries a request that received no response or a response that asks to
 * wait, always with the same Idempotency-Key, so that a lost response never issues a card twice.
 */
import { setTimeout as sleep } from 'node:timers/promises';

export interface GiftCard {
  id: number;
  balance: string;
  created_at: string;
  currency: string;
  initial_value: string;
  disabled_at: string | null;
  line_item_id: number | null;
  api_client_id: number | null;
  user_id: number | null;
  customer_id: number | null;
  customer_email: string | null;
  recipient_id: number | null;
  recipient_email: string | null;
  note: string | null;
  expires_on: string | null;
  message: string | null;
  last_characters: string;
  order_id: number | null;
  /** Only in the response to a creation. */
  code?: string;
}

export interface ApiResponse {
  status: number;
  body: unknown;
  etag: string | null;
  /** The service replayed the stored response of this Idempotency-Key and changed nothing. */
  replayed: boolean;
}

export interface Client {
  issue(card: Record<string, string>, options: { key: string }): Promise<ApiResponse>;
  retrieve(id: number): Promise<ApiResponse>;
  search(query: { last_characters: string; email: string }): Promise<ApiResponse>;
  update(
    id: number,
    changes: Record<string, string | boolean>,
    options?: { key: string; ifMatch: string },
  ): Promise<ApiResponse>;
}

/** One row is wrong; the others continue. */
export class RowProblem extends Error {}

const attemptsMax = 8;
const timeoutMs = 30_000;
/** In progress, too many requests, and an unavailable service or proxy. */
const retried = new Set([409, 429, 502, 503, 504]);

/** `url` is the root of the service, `token` the access token of one store. */
export function createClient({ url, token }: { url: string; token: string }): Client {
  const root = url.replace(/\/+$/, '');

  async function send(
    method: string,
    path: string,
    { body, headers = {} }: { body?: unknown; headers?: Record<string, string> } = {},
  ): Promise<ApiResponse> {
    const request: RequestInit = {
      method,
      redirect: 'manual',
      headers: {
        ...headers,
        accept: 'application/json',
        authorization: `Bearer ${token}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    };
    for (let attempt = 1; ;) {
      let failure: string;
      let waitMs = Math.min(10_000, 100 * 2 ** attempt);
      try {
        const response = await fetch(root + path, { ...request, signal: AbortSignal.timeout(timeoutMs) });
        const text = await response.text();
        if (!retried.has(response.status)) return readResponse(response, text);
        failure = `${response.status} ${text.slice(0, 200)}`;
        waitMs = retryAfterMs(response.headers.get('retry-after')) ?? waitMs;
        // A rate limit is not a failure and does not count as an attempt.
        if (response.status !== 429) attempt += 1;
      } catch (error) {
        failure = describeConnectionError(error);
        attempt += 1;
      }
      if (attempt > attemptsMax) throw new Error(`${method} ${root}${path}: ${failure}`);
      // Jitter, so that not all requests are retried at the same moment.
      await sleep(waitMs * (1 + Math.random() / 4));
    }
  }

  return {
    issue: (card, { key }) => send('POST', '/gift_card', { body: card, headers: { 'idempotency-key': key } }),
    retrieve: (id) => send('GET', `/gift_card/${id}`),
    search: (query) => send('GET', `/gift_card?${new URLSearchParams(query).toString()}`),
    update: (id, changes, options) =>
      send('PUT', `/gift_card/${id}`, {
        body: changes,
        headers: options ? { 'idempotency-key': options.key, 'if-match': options.ifMatch } : {},
      }),
  };
}

/**
 * The card of a response.
 * @throws RowProblem with the service's errors if the status is another one or the body is not a complete card.
 */
export function readCard(response: ApiResponse, { status }: { status: 200 | 201 }): GiftCard {
  if (response.status === 401 || response.status === 403) {
    throw new Error(`the access token was rejected: ${JSON.stringify(response.body)}`);
  }
  if (response.status !== status) {
    throw new RowProblem(
      `expected ${status}, got ${response.status} ${JSON.stringify(errorsOf(response.body))}`,
    );
  }
  const card = isRecord(response.body) ? response.body['gift_card'] : undefined;
  if (!isGiftCard(card)) throw new RowProblem(`not a gift card: ${JSON.stringify(response.body)}`);
  if ((card.code !== undefined) !== (status === 201)) {
    throw new RowProblem(`the code must be in the response to the creation and in no other`);
  }
  return card;
}

/** The `errors` of a problem, or the whole body if it has none. */
export function errorsOf(body: unknown): unknown {
  return isRecord(body) && 'errors' in body ? body['errors'] : body;
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const text = (value: unknown): boolean => typeof value === 'string';
const textOrNull = (value: unknown): boolean => value === null || typeof value === 'string';
const idOrNull = (value: unknown): boolean => value === null || Number.isSafeInteger(value);
const matches = (pattern: RegExp) => (value: unknown) => typeof value === 'string' && pattern.test(value);
const amount = matches(/^\d+(\.\d+)?$/);
const instant = matches(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);

const fields: Record<keyof GiftCard, (value: unknown) => boolean> = {
  id: Number.isSafeInteger,
  balance: amount,
  created_at: instant,
  currency: matches(/^[A-Z]{3}$/),
  initial_value: amount,
  disabled_at: (value) => value === null || instant(value),
  line_item_id: idOrNull,
  api_client_id: idOrNull,
  user_id: idOrNull,
  customer_id: idOrNull,
  customer_email: textOrNull,
  recipient_id: idOrNull,
  recipient_email: textOrNull,
  note: textOrNull,
  expires_on: textOrNull,
  message: textOrNull,
  last_characters: matches(/^[a-z0-9]{4}$/),
  order_id: idOrNull,
  code: (value) => value === undefined || text(value),
};

function isGiftCard(value: unknown): value is GiftCard {
  return isRecord(value) && Object.entries(fields).every(([name, holds]) => holds(value[name]));
}

function readResponse(response: Response, body: string): ApiResponse {
  return {
    status: response.status,
    body: parseBody(body),
    etag: response.headers.get('etag'),
    replayed: response.headers.get('idempotent-replayed') === 'true',
  };
}

/** A proxy's error page is not JSON; its text is shown instead. */
function parseBody(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return body.slice(0, 200);
  }
}

/** Retry-After comes in seconds or as a date (RFC 9110, section 10.2.3). */
function retryAfterMs(header: string | null): number | undefined {
  if (header === null) return undefined;
  const waitMs = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now();
  return Number.isNaN(waitMs) ? undefined : Math.min(Math.max(waitMs, 0), 5 * 60_000);
}

/** The reason why a request received no response. @throws the error itself if it is not about the connection. */
function describeConnectionError(error: unknown): string {
  if (error instanceof DOMException && error.name === 'TimeoutError')
    return `no response in ${timeoutMs / 1000} s`;
  if (!(error instanceof TypeError)) throw error;
  return error.cause instanceof Error ? `${error.message} (${error.cause.message})` : error.message;
}
