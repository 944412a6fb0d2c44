/**
 * The error codes of the contract, with their statuses and titles: the only copy in the tests.
 *
 * It repeats the contract on purpose: a table derived from the code would change with it.
 */

import type { FaultCode } from '../../src/core/domain/fault.ts';

/** A guarantee to clients: the status of a code never changes. */
export const statusOfCode = {
  'invalid-request': 400,
  'invalid-body': 400,
  'invalid-query': 400,
  'invalid-idempotency-key': 400,
  'invalid-visitor': 400,
  unauthenticated: 401,
  'invalid-signature': 401,
  'insufficient-scope': 403,
  'cross-site-request': 403,
  'not-found': 404,
  'method-not-allowed': 405,
  'request-timeout': 408,
  'idempotency-key-in-use': 409,
  'test-clock-in-use': 409,
  'events-erased': 410,
  'precondition-failed': 412,
  'body-too-large': 413,
  'unsupported-media-type': 415,
  'expectation-failed': 417,
  'invalid-parameter': 422,
  'insufficient-balance': 422,
  'currency-mismatch': 422,
  'card-disabled': 422,
  'card-expired': 422,
  'not-activated': 422,
  'already-activated': 422,
  'card-suspended': 422,
  'hold-closed': 422,
  'hold-expired': 422,
  'external-id-used': 422,
  'capture-exceeds-hold': 422,
  'not-reversible': 422,
  'reversal-exceeds-transaction': 422,
  'undo-window-closed': 422,
  'no-address': 422,
  'no-mail': 422,
  'webhook-paused': 422,
  'too-many-webhooks': 422,
  'idempotency-key-reused': 422,
  'too-many-requests': 429,
  'too-many-misses': 429,
  'headers-too-large': 431,
  'internal-error': 500,
  overloaded: 503,
  unavailable: 503,
  'not-writable': 503,
  'store-closed': 503,
  closing: 503,
} as const satisfies Record<FaultCode, number>;

/** From the registry of RFC 9110. Node.js has the older names of 413 and 422. */
export const titleOfStatus: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  408: 'Request Timeout',
  409: 'Conflict',
  410: 'Gone',
  412: 'Precondition Failed',
  413: 'Content Too Large',
  415: 'Unsupported Media Type',
  417: 'Expectation Failed',
  422: 'Unprocessable Content',
  429: 'Too Many Requests',
  431: 'Request Header Fields Too Large',
  500: 'Internal Server Error',
  503: 'Service Unavailable',
};

/** Codes whose responses have a Retry-After header. */
export const retriedCodes: ReadonlySet<FaultCode> = new Set([
  'idempotency-key-in-use',
  'test-clock-in-use',
  'too-many-requests',
  'too-many-misses',
  'overloaded',
  'unavailable',
  'not-writable',
  'store-closed',
  'closing',
]);

/** Returns the code at the end of a problem's type. @throws Error if the contract has no such code. */
export function codeOfType(type: string): FaultCode {
  const code = type.split('/').at(-1) ?? '';
  if (!(code in statusOfCode)) throw new Error(`the contract has no error code ${code}`);
  return code as FaultCode;
}
