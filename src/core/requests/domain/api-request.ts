/** Requests to the API, as developers see them. */

import type { FaultCode } from '../../domain/fault.ts';

/** The id of a token, a signed-in customer of the storefront, or a program without a token in development mode. */
export type ApiCaller = number | 'customer' | 'development';

export type ApiRequest = {
  /** When the response ended (ms). */
  readonly at: number;
  readonly durationMs: number;
  readonly method: string;
  /** The path's template, below the base path. */
  readonly route: string;
  readonly status: number;
  /** Null: the response is not an error. */
  readonly problem: FaultCode | null;
  readonly caller: ApiCaller;
  /** Whether it had an `Idempotency-Key`. */
  readonly hasKey: boolean;
  /** Null: it is not stored, because it could be a code or an address. */
  readonly requestId: string | null;
};
