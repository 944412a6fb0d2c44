/**
 * Faults: the refusals that a caller can expect.
 *
 * Terms: a *fault code* is the stable machine name of a refusal; *field errors* name, for each
 * refused parameter, what is wrong with it in words that read after the parameter's name.
 * What a broken invariant throws is not a fault: it is an AssertionError and becomes a 500.
 */

export type FaultCode =
  // The request cannot be read.
  | 'invalid-request'
  | 'invalid-body'
  | 'invalid-query'
  | 'invalid-idempotency-key'
  | 'body-too-large'
  | 'headers-too-large'
  | 'unsupported-media-type'
  | 'expectation-failed'
  | 'request-timeout'
  | 'method-not-allowed'
  // The caller may not.
  | 'unauthenticated'
  | 'invalid-signature'
  | 'insufficient-scope'
  | 'cross-site-request'
  | 'too-many-requests'
  | 'too-many-misses'
  // The request is understood and refused.
  | 'not-found'
  | 'precondition-failed'
  | 'invalid-parameter'
  | 'insufficient-balance'
  | 'currency-mismatch'
  | 'card-disabled'
  | 'card-expired'
  | 'hold-closed'
  | 'hold-expired'
  | 'capture-exceeds-hold'
  | 'not-reversible'
  | 'reversal-exceeds-transaction'
  | 'undo-window-closed'
  | 'no-address'
  | 'no-mail'
  | 'webhook-paused'
  | 'too-many-webhooks'
  | 'idempotency-key-in-use'
  | 'idempotency-key-reused'
  // The service cannot.
  | 'internal-error'
  | 'overloaded'
  | 'unavailable'
  | 'not-writable'
  | 'closing';

/** Parameter name → messages, each of which reads after the name: `{ note: ['is too long'] }`. */
export type FieldErrors = Readonly<Record<string, readonly string[]>>;

export type FaultOptions = {
  /** One sentence for the person who reads the answer; never a secret, never an internal cause. */
  readonly detail?: string;
  readonly errors?: FieldErrors;
  /** Members that the answer has besides the usual ones, by their wire names. */
  readonly extensions?: Readonly<Record<string, string>>;
  /** The scopes any one of which would do. */
  readonly scopes?: readonly string[];
  /** Whole seconds after which the same request may succeed. */
  readonly retryAfterSeconds?: number;
  readonly cause?: unknown;
};

/** An expected refusal. Thrown inside a script, it rolls the script's transaction back. */
export class Fault extends Error {
  override readonly name = 'Fault';
  readonly code: FaultCode;
  readonly detail: string | undefined;
  readonly errors: FieldErrors | undefined;
  readonly extensions: Readonly<Record<string, string>> | undefined;
  readonly scopes: readonly string[] | undefined;
  readonly retryAfterSeconds: number | undefined;

  constructor(code: FaultCode, options: FaultOptions = {}) {
    super(options.detail ?? code, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.detail = options.detail;
    this.errors = options.errors;
    this.extensions = options.extensions;
    this.scopes = options.scopes;
    this.retryAfterSeconds = options.retryAfterSeconds;
  }
}

/** Collects field errors in the order in which they are found. */
export class Refusals {
  readonly #errors = new Map<string, string[]>();

  add(field: string, message: string): void {
    const messages = this.#errors.get(field);
    if (messages) messages.push(message);
    else this.#errors.set(field, [message]);
  }

  /** The same errors, to be added to without adding to these. */
  copy(): Refusals {
    const copied = new Refusals();
    for (const [field, messages] of this.#errors) copied.#errors.set(field, [...messages]);
    return copied;
  }

  has(field: string): boolean {
    return this.#errors.has(field);
  }

  get any(): boolean {
    return this.#errors.size > 0;
  }

  /** The collected errors. `Object.fromEntries` defines properties, so a field may be called `__proto__`. */
  toErrors(): FieldErrors {
    return Object.fromEntries(this.#errors);
  }

  /** @throws Fault `invalid-parameter` if anything was refused. */
  throwIfAny(): void {
    if (this.any) throw new Fault('invalid-parameter', { errors: this.toErrors() });
  }
}
