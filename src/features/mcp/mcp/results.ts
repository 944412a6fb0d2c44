/** Results for agents, without codes and of a limited length, and errors. */

import { ApiError, ConnectionError } from '../../../../packages/client/src/index.ts';

/** Longer texts of people are cut. */
const textMax = 1_000;

/** The members of responses that contain codes. */
const codeMembers: ReadonlySet<string> = new Set(['code', 'codes']);

/** A response for an agent: codes are withheld, and long texts are cut. */
export function shownTo(value: unknown): unknown {
  if (typeof value === 'string')
    return value.length <= textMax ? value : `${value.slice(0, textMax)}… (${value.length} characters)`;
  if (Array.isArray(value)) return value.map(shownTo);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      codeMembers.has(name) && member !== null ? 'withheld' : shownTo(member),
    ]),
  );
}

/** An error that an agent can act on. */
export type ToolProblem = {
  readonly code: string;
  readonly detail: string;
  /** Whether a write can have been carried out nevertheless. */
  readonly outcome?: 'unknown';
  readonly [member: string]: unknown;
};

/** Whether a later repetition of the same write can succeed, or can show that the first attempt did. */
export function isUndecided(error: unknown): boolean {
  if (!(error instanceof ApiError)) return true;
  const { status, code } = error;
  return status >= 500 || status === 429 || status === 408 || code === 'idempotency-key-in-use';
}

/** The error of a request to the service. Its message names the operation, never an argument. */
export function problemOfRequest(error: unknown): ToolProblem {
  if (error instanceof ApiError) {
    const { type: _type, title: _title, errors: _errors, detail, ...members } = error.problem ?? {};
    return {
      ...members,
      code: error.code ?? 'not-a-response-of-largesse',
      status: error.status,
      detail: detail ?? error.message,
      ...(Object.keys(error.fields).length > 0 && { fields: error.fields }),
      request_id: error.requestId ?? null,
    };
  }
  const detail = error instanceof Error ? error.message : String(error);
  return { code: error instanceof ConnectionError ? 'no-response' : 'failed', detail };
}
