/** The errors that a client throws. All of them are `LargesseError`. */

import type { ErrorCode, Problem } from './generated/types.ts';

export class LargesseError extends Error {
  override name = 'LargesseError';
}

/** The context of a request that failed. */
export interface Failed {
  /** The method and the path of the documentation. */
  request: string;
  attempts: number;
  /** The key of a write: another call with it repeats the write instead of making a second one. */
  idempotencyKey: string | undefined;
}

/** The service, or a proxy before it, responded with an error. */
export class ApiError extends LargesseError {
  override name = 'ApiError';
  readonly status: number;
  /** The code of the service; undefined: the response was not one of the service. */
  readonly code: ErrorCode | (string & Record<never, never>) | undefined;
  /** The whole error. Some codes have more members, such as `available`. */
  readonly problem: Problem | undefined;
  /** The messages of each invalid parameter. Each reads after the parameter's name. */
  readonly fields: Readonly<Record<string, readonly string[]>>;
  /** Finds the request in the log of the service. */
  readonly requestId: string | undefined;
  /** The time that the service asks to wait, in ms; undefined: it does not ask. */
  readonly retryAfterMs: number | undefined;
  readonly attempts: number;
  /** The key of a write: after a status from 500, another call with it repeats the write instead of making a second one. */
  readonly idempotencyKey: string | undefined;

  constructor(response: Response, text: string, { request, attempts, idempotencyKey }: Failed) {
    const problem = problemOf(response, text);
    const code = problem?.type.split('/').at(-1);
    const fields = typeof problem?.errors === 'object' ? problem.errors : {};
    const messages = Object.entries(fields).map(([name, texts]) => `${name} ${texts.join(', ')}`);
    const detail = messages.length > 0 ? messages.join('; ') : problem?.detail;
    super([`${request}: ${response.status}`, code, detail && `(${detail})`].filter(Boolean).join(' '));
    this.status = response.status;
    this.code = code;
    this.problem = problem;
    this.fields = fields;
    this.requestId = response.headers.get('x-request-id') ?? undefined;
    this.retryAfterMs = millisecondsOf(response.headers.get('retry-after'));
    this.attempts = attempts;
    this.idempotencyKey = idempotencyKey;
  }
}

/** No complete response arrived. The outcome of a write is unknown: `idempotencyKey` repeats it safely. */
export class ConnectionError extends LargesseError {
  override name = 'ConnectionError';
  readonly attempts: number;
  readonly idempotencyKey: string | undefined;

  constructor(cause: unknown, { request, attempts, idempotencyKey }: Failed) {
    super(`${request}: ${reasonOf(cause)}`, { cause });
    this.attempts = attempts;
    this.idempotencyKey = idempotencyKey;
  }
}

/** A webhook is not genuine, or too old. */
export class WebhookError extends LargesseError {
  override name = 'WebhookError';
}

/** Whether the same request can succeed later. */
export function isTemporary(error: unknown): boolean {
  if (error instanceof ConnectionError) return true;
  if (!(error instanceof ApiError)) return false;
  const { status, code } = error;
  return status >= 500 || status === 429 || status === 408 || code === 'idempotency-key-in-use';
}

/** The error of the service in a response; undefined: a proxy sent it. */
function problemOf(response: Response, text: string): Problem | undefined {
  if (response.headers.get('content-type')?.startsWith('application/problem+json') !== true) return undefined;
  try {
    const problem = JSON.parse(text) as Problem | null;
    return typeof problem?.type === 'string' ? problem : undefined;
  } catch {
    return undefined;
  }
}

/** `Retry-After` is a number of seconds or a date (RFC 9110, section 10.2.3). */
function millisecondsOf(header: string | null): number | undefined {
  if (header === null) return undefined;
  const ms = /^\d+$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}

/** Node.js wraps the error of a connection, and the wrapper says only that it failed. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message} (${error.cause.message})` : error.message;
}
