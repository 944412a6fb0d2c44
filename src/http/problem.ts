/** Problem details: the error responses of the API. One table maps every fault code to its status. */

import type { FastifyReply } from 'fastify';
import type { Fault, FaultCode, ErrorsByField } from '../core/domain/fault.ts';
import { sandboxHeader } from '../core/domain/sandbox.ts';

type Problem = {
  readonly status: number;
  readonly title: string;
  /** When the error is returned: for the documentation, and for faults without their own detail. */
  readonly detail: string;
};

export const problems = {
  'invalid-request': { status: 400, title: 'Bad Request', detail: 'The request is malformed.' },
  'invalid-body': {
    status: 400,
    title: 'Bad Request',
    detail: 'The body cannot be parsed, or is not an object.',
  },
  'invalid-query': {
    status: 400,
    title: 'Bad Request',
    detail: 'The query is malformed, repeats a parameter, or has an unknown one.',
  },
  'invalid-idempotency-key': {
    status: 400,
    title: 'Bad Request',
    detail: 'Idempotency-Key must have 1 to 255 visible ASCII characters.',
  },
  'invalid-visitor': {
    status: 400,
    title: 'Bad Request',
    detail: 'Largesse-Visitor must have 1 to 128 visible ASCII characters.',
  },
  unauthenticated: {
    status: 401,
    title: 'Unauthorized',
    detail: 'The request does not have a valid access token.',
  },
  'invalid-signature': {
    status: 401,
    title: 'Unauthorized',
    detail: "The app proxy's signature is missing, wrong, stale, or for another store.",
  },
  'insufficient-scope': {
    status: 403,
    title: 'Forbidden',
    detail: 'The access token lacks a scope that the operation requires.',
  },
  'cross-site-request': {
    status: 403,
    title: 'Forbidden',
    detail:
      'Without a credential, the service accepts only requests that this machine sends directly over HTTP/1.1, not requests from other sites or through proxies.',
  },
  'not-found': {
    status: 404,
    title: 'Not Found',
    detail: 'The resource does not exist, or the caller cannot access it.',
  },
  'method-not-allowed': {
    status: 405,
    title: 'Method Not Allowed',
    detail: 'The path does not support this method: see Allow.',
  },
  'request-timeout': {
    status: 408,
    title: 'Request Timeout',
    detail: 'The request took too long to arrive.',
  },
  'idempotency-key-in-use': {
    status: 409,
    title: 'Conflict',
    detail: 'Another request with this Idempotency-Key is in progress.',
  },
  'test-clock-in-use': {
    status: 409,
    title: 'Conflict',
    detail: 'The test clock is being advanced. Retry when the advance has ended: see `advancing_to`.',
  },
  'events-erased': {
    status: 410,
    title: 'Gone',
    detail:
      'Events after this one were erased, because they were older than the retention period. Read the present state of the gift cards, and continue with `after=latest`.',
  },
  'precondition-failed': {
    status: 412,
    title: 'Precondition Failed',
    detail: 'The resource has changed: If-Match does not contain its current version.',
  },
  'body-too-large': {
    status: 413,
    title: 'Content Too Large',
    detail: 'The body must have at most 64 KiB; that of a batch or a stock at most 4 MiB.',
  },
  'unsupported-media-type': {
    status: 415,
    title: 'Unsupported Media Type',
    detail:
      'The body must be application/json or application/x-www-form-urlencoded, in UTF-8 and not compressed.',
  },
  'expectation-failed': {
    status: 417,
    title: 'Expectation Failed',
    detail: 'The only supported expectation is 100-continue.',
  },
  'invalid-parameter': {
    status: 422,
    title: 'Unprocessable Content',
    detail: 'Parameters are invalid: `errors` lists them.',
  },
  'insufficient-balance': {
    status: 422,
    title: 'Unprocessable Content',
    detail: 'The amount exceeds the available amount, `available`.',
  },
  'currency-mismatch': {
    status: 422,
    title: 'Unprocessable Content',
    detail: 'The gift card is in another currency.',
  },
  'card-disabled': { status: 422, title: 'Unprocessable Content', detail: 'The gift card is disabled.' },
  'card-expired': { status: 422, title: 'Unprocessable Content', detail: 'The gift card has expired.' },
  'not-activated': {
    status: 422,
    title: 'Unprocessable Content',
    detail:
      'The code is of a printed card that was not activated. `fixed_value`, or `minimum_value` and `maximum_value`, say what it can be sold for; `tried_at` is present if a caller who cannot activate it has looked for it.',
  },
  'already-activated': {
    status: 422,
    title: 'Unprocessable Content',
    detail: 'The printed card was activated before, at `activated_at`.',
  },
  'card-suspended': { status: 422, title: 'Unprocessable Content', detail: 'The gift card is suspended.' },
  'hold-closed': {
    status: 422,
    title: 'Unprocessable Content',
    detail: 'The hold was already captured or voided.',
  },
  'hold-expired': { status: 422, title: 'Unprocessable Content', detail: 'The hold has expired.' },
  'external-id-used': {
    status: 422,
    title: 'Unprocessable Content',
    detail: 'The external id was used for another request, or by another caller. It is never used again.',
  },
  'capture-exceeds-hold': {
    status: 422,
    title: 'Unprocessable Content',
    detail: 'The amount exceeds the amount of the hold, `held`.',
  },
  'not-reversible': {
    status: 422,
    title: 'Unprocessable Content',
    detail: 'Only debits, captures and credits can be reversed.',
  },
  'reversal-exceeds-transaction': {
    status: 422,
    title: 'Unprocessable Content',
    detail: 'The amount exceeds the part of the transaction that can still be reversed, `reversible`.',
  },
  'undo-window-closed': {
    status: 422,
    title: 'Unprocessable Content',
    detail: 'The gift card is not disabled, or the time in which it can be re-enabled is over.',
  },
  'no-address': {
    status: 422,
    title: 'Unprocessable Content',
    detail: 'The gift card has neither a recipient nor a customer with an email address.',
  },
  'no-mail': {
    status: 422,
    title: 'Unprocessable Content',
    detail: 'The store does not send emails.',
  },
  'webhook-paused': {
    status: 422,
    title: 'Unprocessable Content',
    detail: 'The webhook is paused: no event is sent to it until it is resumed.',
  },
  'too-many-webhooks': {
    status: 422,
    title: 'Unprocessable Content',
    detail: 'The store already has the maximum number of webhooks.',
  },
  'idempotency-key-reused': {
    status: 422,
    title: 'Unprocessable Content',
    detail: 'This Idempotency-Key was used with another request.',
  },
  'too-many-requests': {
    status: 429,
    title: 'Too Many Requests',
    detail: 'The caller has made too many requests: see Retry-After.',
  },
  'too-many-misses': {
    status: 429,
    title: 'Too Many Requests',
    detail: 'Too many searches or lookups of the caller, or of its visitors, failed: see Retry-After.',
  },
  'headers-too-large': {
    status: 431,
    title: 'Request Header Fields Too Large',
    detail: 'The request must have at most 100 header fields, and at most 16 KiB of them.',
  },
  'internal-error': {
    status: 500,
    title: 'Internal Server Error',
    detail:
      'An internal error. It is unknown whether the change was made: repeat the request with its Idempotency-Key.',
  },
  overloaded: {
    status: 503,
    title: 'Service Unavailable',
    detail: 'The service is overloaded. The change was not made.',
  },
  unavailable: {
    status: 503,
    title: 'Service Unavailable',
    detail:
      'The database cannot be reached. It is unknown whether the change was made: repeat the request with its Idempotency-Key.',
  },
  'not-writable': {
    status: 503,
    title: 'Service Unavailable',
    detail:
      'The database does not accept changes because its disk is full or read-only. The change was not made; reads still work.',
  },
  'store-closed': {
    status: 503,
    title: 'Service Unavailable',
    detail:
      'The store is closed while it is moved to another installation, or has been moved. The change was not made.',
  },
  closing: {
    status: 503,
    title: 'Service Unavailable',
    detail: 'The service is shutting down. The change was not made.',
  },
} as const satisfies Record<FaultCode, Problem>;

export type ProblemBody = {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly errors: ErrorsByField | string;
  readonly request_id: string;
};

export const problemContentType = 'application/problem+json; charset=utf-8';

/** The path that explains a problem, from the root of the service; it ends in the problem's code. */
export function problemPath(code: FaultCode): string {
  return `/docs/problems/${code}`;
}

export function problemBody(
  fault: Fault,
  { basePath, requestId }: { basePath: string; requestId: string },
): ProblemBody {
  const { status, title, detail } = problems[fault.code];
  return {
    type: `${basePath}${problemPath(fault.code)}`,
    title,
    status,
    detail:
      fault.detail ??
      (fault.scopes ? `The access token lacks the scope ${fault.scopes.join(' or ')}.` : detail),
    errors: fault.errors ?? title,
    ...fault.extensions,
    request_id: requestId,
  };
}

export type CommonHeaders = Readonly<Record<string, string>>;

/** The headers of every response, including responses on a bare socket. */
export function commonHeadersOf(isSandbox: boolean): CommonHeaders {
  const headers = { 'x-content-type-options': 'nosniff' };
  return isSandbox ? { ...headers, [sandboxHeader.toLowerCase()]: 'true' } : headers;
}

/** The headers of a problem itself, without those of its response. */
export function problemHeaders(fault: Fault): Record<string, string> {
  return {
    'content-type': problemContentType,
    'cache-control': 'no-store',
    ...(fault.retryAfterSeconds !== undefined && { 'retry-after': String(fault.retryAfterSeconds) }),
    ...challenge(fault),
  };
}

function challenge({ code, scopes = [] }: Fault): Record<string, string> {
  switch (code) {
    case 'unauthenticated':
      return { 'www-authenticate': 'Bearer realm="largesse"' };
    case 'invalid-signature':
      return { 'www-authenticate': 'Bearer realm="largesse", AppProxy realm="largesse"' };
    case 'insufficient-scope':
      return {
        'www-authenticate': `Bearer realm="largesse", error="insufficient_scope", scope="${scopes.join(' ')}"`,
      };
    default:
      return {};
  }
}

const typeInBody = /^\{"type":"[^"]*\/docs\/problems\/([a-z-]+)"/;

/** The code of a problem that is sent again as it was stored; null: the body is not a problem. */
export function problemCodeOf(body: string): FaultCode | null {
  const [, code = ''] = typeInBody.exec(body) ?? [];
  return Object.hasOwn(problems, code) ? (code as FaultCode) : null;
}

export function sendProblem(
  reply: FastifyReply,
  fault: Fault,
  options: { basePath: string; requestId: string },
): FastifyReply {
  reply.request.problem = fault.code;
  return reply
    .code(problems[fault.code].status)
    .headers(problemHeaders(fault))
    .send(JSON.stringify(problemBody(fault, options)));
}
