/**
 * Faults: the errors that a caller can expect. A *fault code* is the stable machine-readable name of an error. A broken
 * invariant is not a fault: it throws an AssertionError, which becomes a 500.
 */

export type FaultCode =
  // The request is unreadable.
  | 'invalid-request'
  | 'invalid-body'
  | 'invalid-query'
  | 'invalid-idempotency-key'
  | 'invalid-visitor'
  | 'body-too-large'
  | 'headers-too-large'
  | 'unsupported-media-type'
  | 'expectation-failed'
  | 'request-timeout'
  | 'method-not-allowed'
  // The caller is not allowed to make the request.
  | 'unauthenticated'
  | 'invalid-signature'
  | 'insufficient-scope'
  | 'cross-site-request'
  | 'too-many-requests'
  | 'too-many-misses'
  // The request is readable, but rejected.
  | 'not-found'
  | 'events-erased'
  | 'precondition-failed'
  | 'invalid-parameter'
  | 'insufficient-balance'
  | 'currency-mismatch'
  | 'card-disabled'
  | 'card-expired'
  | 'not-activated'
  | 'already-activated'
  | 'card-suspended'
  | 'hold-closed'
  | 'hold-expired'
  | 'external-id-used'
  | 'capture-exceeds-hold'
  | 'not-reversible'
  | 'reversal-exceeds-transaction'
  | 'undo-window-closed'
  | 'no-address'
  | 'no-mail'
  | 'webhook-paused'
  | 'too-many-webhooks'
  | 'idempotency-key-in-use'
  | 'test-clock-in-use'
  | 'idempotency-key-reused'
  // The service cannot process the request.
  | 'internal-error'
  | 'overloaded'
  | 'unavailable'
  | 'not-writable'
  | 'store-closed'
  | 'closing';

/** Parameter name → messages, each of which reads after the name: `{ note: ['is too long'] }`. */
export type ErrorsByField = Readonly<Record<string, readonly string[]>>;

export type FaultOptions = {
  /** One sentence for the person who reads the response; never a secret or an internal cause. */
  readonly detail?: string;
  readonly errors?: ErrorsByField;
  /** Additional members of the response, by their wire names. */
  readonly extensions?: Readonly<Record<string, string>>;
  /** The number of codes of the request that count as failed lookups; absent: those with an error of their own. */
  readonly failedLookups?: number;
  /** The scopes, any one of which is sufficient. */
  readonly scopes?: readonly string[];
  /** Whole seconds after which the same request can succeed. */
  readonly retryAfterSeconds?: number;
  readonly cause?: unknown;
};

/** An expected error. Thrown in a script, it rolls back the script's transaction. */
export class Fault extends Error {
  override readonly name = 'Fault';
  readonly code: FaultCode;
  readonly detail: string | undefined;
  readonly errors: ErrorsByField | undefined;
  readonly extensions: Readonly<Record<string, string>> | undefined;
  readonly failedLookups: number | undefined;
  readonly scopes: readonly string[] | undefined;
  readonly retryAfterSeconds: number | undefined;

  constructor(code: FaultCode, options: FaultOptions = {}) {
    super(options.detail ?? code, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.detail = options.detail;
    this.errors = options.errors;
    this.extensions = options.extensions;
    this.failedLookups = options.failedLookups;
    this.scopes = options.scopes;
    this.retryAfterSeconds = options.retryAfterSeconds;
  }
}

/** Collects field errors in the order in which they are found. */
export class FieldErrors {
  readonly #errors = new Map<string, string[]>();

  add(field: string, message: string): void {
    const messages = this.#errors.get(field);
    if (messages) messages.push(message);
    else this.#errors.set(field, [message]);
  }

  /** An independent copy. */
  copy(): FieldErrors {
    const copied = new FieldErrors();
    for (const [field, messages] of this.#errors) copied.#errors.set(field, [...messages]);
    return copied;
  }

  has(field: string): boolean {
    return this.#errors.has(field);
  }

  get any(): boolean {
    return this.#errors.size > 0;
  }

  /** The collected errors. `Object.fromEntries` defines properties, so a field can be named `__proto__`. */
  toErrors(): ErrorsByField {
    return Object.fromEntries(this.#errors);
  }

  /** @throws Fault `invalid-parameter` if there are errors. */
  throwIfAny(): void {
    if (this.any) throw new Fault('invalid-parameter', { errors: this.toErrors() });
  }
}
