/** Problem details: the error responses of the API. One table maps every fault code to its status. */

import type { FastifyReply } from 'fastify';
import type { Fault, FaultCode, ErrorsByField } from '../domain/fault.ts';

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
    detail: 'Idempotency-Key takes 1 to 255 visible ASCII characters.',
  },
  unauthenticated: {
    status: 401,
    title: 'Unauthorized',
    detail: 'The request needs an access token that works.',
  },
  'invalid-signature': {
    status: 401,
    title: 'Unauthorized',
    detail: "The app proxy's signature is missing, wrong, stale, or for another store.",
  },
  'insufficient-scope': {
    status: 403,
    title: 'Forbidden',
    detail: 'The access token lacks the scope that this takes.',
  },
  'cross-site-request': {
    status: 403,
    title: 'Forbidden',
    detail:
      'Without a credential, the service accepts only requests that this machine sends to it directly over HTTP/1.1, not those of other sites or of proxies.',
  },
  'not-found': { status: 404, title: 'Not Found', detail: 'There is nothing here that you may see.' },
  'method-not-allowed': {
    status: 405,
    title: 'Method Not Allowed',
    detail: 'The path is known, but not with this method: see Allow.',
  },
  'request-timeout': {
    status: 408,
    title: 'Request Timeout',
    detail: 'The request took too long to arrive.',
  },
  'idempotency-key-in-use': {
    status: 409,
    title: 'Conflict',
    detail: 'A request with this Idempotency-Key is still being worked on.',
  },
  'precondition-failed': {
    status: 412,
    title: 'Precondition Failed',
    detail: 'It has changed since: If-Match names another version.',
  },
  'body-too-large': { status: 413, title: 'Content Too Large', detail: 'A body may have 64 KiB.' },
  'unsupported-media-type': {
    status: 415,
    title: 'Unsupported Media Type',
    detail: 'A body is application/json or application/x-www-form-urlencoded, in UTF-8 and not compressed.',
  },
  'expectation-failed': {
    status: 417,
    title: 'Expectation Failed',
    detail: 'The only expectation that is met is 100-continue.',
  },
  'invalid-parameter': {
    status: 422,
    title: 'Unprocessable Content',
    detail: 'Parameters were refused: errors names each.',
  },
  'insufficient-balance': {
    status: 422,
    title: 'Unprocessable Content',
    detail: 'The gift card has less available than the amount: `available` tells how much.',
  },
  'currency-mismatch': {
    status: 422,
    title: 'Unprocessable Content',
    detail: 'The gift card is in another currency.',
  },
  'card-disabled': { status: 422, title: 'Unprocessable Content', detail: 'The gift card is disabled.' },
  'card-expired': { status: 422, title: 'Unprocessable Content', detail: 'The gift card has expired.' },
  'hold-closed': {
    status: 422,
    title: 'Unprocessable Content',
    detail: 'The hold was captured or voided already.',
  },
  'hold-expired': { status: 422, title: 'Unprocessable Content', detail: 'The hold has expired.' },
  'capture-exceeds-hold': {
    status: 422,
    title: 'Unprocessable Content',
    detail: 'The amount is more than the hold reserves: `held` is what it reserves.',
  },
  'not-reversible': {
    status: 422,
    title: 'Unprocessable Content',
    detail: 'Only debits, captures and credits can be reversed.',
  },
  'reversal-exceeds-transaction': {
    status: 422,
    title: 'Unprocessable Content',
    detail:
      'Less of the transaction is left to be given back, or nothing because it was already reversed in full: `reversible` is what is left.',
  },
  'undo-window-closed': {
    status: 422,
    title: 'Unprocessable Content',
    detail: 'The gift card is not disabled, or the time in which it could be withdrawn is over.',
  },
  'no-address': {
    status: 422,
    title: 'Unprocessable Content',
    detail: 'The gift card has neither a recipient nor a customer whom a mail could be sent to.',
  },
  'no-mail': {
    status: 422,
    title: 'Unprocessable Content',
    detail: 'The store sends no mails.',
  },
  'webhook-paused': {
    status: 422,
    title: 'Unprocessable Content',
    detail: 'The webhook is paused: nothing is sent to it until it is resumed.',
  },
  'too-many-webhooks': {
    status: 422,
    title: 'Unprocessable Content',
    detail: 'The store has as many webhooks as it may have.',
  },
  'idempotency-key-reused': {
    status: 422,
    title: 'Unprocessable Content',
    detail: 'This Idempotency-Key was used with another request.',
  },
  'too-many-requests': {
    status: 429,
    title: 'Too Many Requests',
    detail: 'A limit on requests is used up: see Retry-After.',
  },
  'too-many-misses': {
    status: 429,
    title: 'Too Many Requests',
    detail: 'Too many searches or lookups found nothing: see Retry-After.',
  },
  'headers-too-large': {
    status: 431,
    title: 'Request Header Fields Too Large',
    detail: 'A request may have 100 header fields, and 16 KiB of them.',
  },
  'internal-error': {
    status: 500,
    title: 'Internal Server Error',
    detail: 'A fault here. Whether the change was made is unknown: send it again with its Idempotency-Key.',
  },
  overloaded: {
    status: 503,
    title: 'Service Unavailable',
    detail: 'Too much waits to be done; nothing of this was.',
  },
  unavailable: {
    status: 503,
    title: 'Service Unavailable',
    detail:
      'The database cannot be reached. Whether the change was made is unknown: send it again with its Idempotency-Key.',
  },
  'not-writable': {
    status: 503,
    title: 'Service Unavailable',
    detail:
      'The database accepts no changes because its disk is full or read-only. Nothing was done; reads still work.',
  },
  closing: {
    status: 503,
    title: 'Service Unavailable',
    detail: 'The service is closing; nothing of this was done.',
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

/** The headers of every response, including responses on a bare socket. */
export const commonHeaders = { 'x-content-type-options': 'nosniff' } as const;

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

export function sendProblem(
  reply: FastifyReply,
  fault: Fault,
  options: { basePath: string; requestId: string },
): FastifyReply {
  return reply
    .code(problems[fault.code].status)
    .headers(problemHeaders(fault))
    .send(JSON.stringify(problemBody(fault, options)));
}
