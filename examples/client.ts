/**
 * A small client for the four operations. It repeats a request that got no answer or was told to wait, always
 * under the same Idempotency-Key, so that a card is never issued twice because an answer was lost on the way.
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
  /** Only in the answer to creation. */
  code?: string;
}

export interface Answer {
  status: number;
  body: unknown;
  etag: string | null;
  /** The service had answered this Idempotency-Key before, and did nothing this time. */
  replayed: boolean;
}

export interface Client {
  issue(card: Record<string, string>, options: { key: string }): Promise<Answer>;
  retrieve(id: number): Promise<Answer>;
  search(query: { last_characters: string; email: string }): Promise<Answer>;
  update(
    id: number,
    changes: Record<string, string | boolean>,
    options?: { key: string; ifMatch: string },
  ): Promise<Answer>;
}

/** Something is wrong with one row; the other rows can go on. */
export class RowProblem extends Error {}

const attemptsMax = 8;
const timeoutMs = 30_000;
/** "Still being worked on", "too many requests", and what the service or a proxy before it says when it is away. */
const worthRepeating = new Set([409, 429, 502, 503, 504]);

/** `url` is the root of the service, `token` the access token of one store. */
export function createClient({ url, token }: { url: string; token: string }): Client {
  const root = url.replace(/\/+$/, '');

  async function send(
    method: string,
    path: string,
    { body, headers = {} }: { body?: unknown; headers?: Record<string, string> } = {},
  ): Promise<Answer> {
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
        if (!worthRepeating.has(response.status)) return readAnswer(response, text);
        failure = `${response.status} ${text.slice(0, 200)}`;
        waitMs = retryAfterMs(response.headers.get('retry-after')) ?? waitMs;
        // Being told to slow down is no failure: it may happen as often as it takes.
        if (response.status !== 429) attempt += 1;
      } catch (error) {
        failure = describeConnectionError(error);
        attempt += 1;
      }
      if (attempt > attemptsMax) throw new Error(`${method} ${root}${path}: ${failure}`);
      // A little more than asked, each request differently, so that not all come back at the same moment.
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
 * The card of an answer that must have this status; throws a RowProblem with the service's own words when it
 * has another one, or when the body is not a complete card.
 */
export function readCard(answer: Answer, { status }: { status: 200 | 201 }): GiftCard {
  if (answer.status === 401 || answer.status === 403) {
    throw new Error(`the access token was refused: ${JSON.stringify(answer.body)}`);
  }
  if (answer.status !== status) {
    throw new RowProblem(`expected ${status}, got ${answer.status} ${JSON.stringify(errorsOf(answer.body))}`);
  }
  const card = isRecord(answer.body) ? answer.body['gift_card'] : undefined;
  if (!isGiftCard(card)) throw new RowProblem(`not a gift card: ${JSON.stringify(answer.body)}`);
  if ((card.code !== undefined) !== (status === 201)) {
    throw new RowProblem(`the code must be in the answer to creation and in no other`);
  }
  return card;
}

/** The `errors` of a problem, or the whole body where there are none. */
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

function readAnswer(response: Response, body: string): Answer {
  return {
    status: response.status,
    body: parseBody(body),
    etag: response.headers.get('etag'),
    replayed: response.headers.get('idempotent-replayed') === 'true',
  };
}

/** A proxy's error page is no JSON; its text is still worth showing. */
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

/** Words for a request that got no answer; anything else that went wrong is thrown on. */
function describeConnectionError(error: unknown): string {
  if (error instanceof DOMException && error.name === 'TimeoutError')
    return `no answer in ${timeoutMs / 1000} s`;
  if (!(error instanceof TypeError)) throw error;
  return error.cause instanceof Error ? `${error.message} (${error.cause.message})` : error.message;
}
