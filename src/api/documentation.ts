/** The documentation of an operation. */

import type { FaultCode } from '../core/domain/fault.ts';
import type { Fields } from './field.ts';
import type { HeaderName, Members } from './response.ts';

export type Tag =
  | 'Gift cards'
  | 'Batches'
  | 'Stock'
  | 'Money'
  | 'Holds'
  | 'History'
  | 'Locations'
  | 'Customers'
  | 'Emails'
  | 'Verification'
  | 'Events'
  | 'Reports'
  | 'Webhooks'
  | 'Sandbox';

/** The values of the sample request that differ from the documented example. */
export type Sample = {
  readonly query?: string;
  /** null: none. */
  readonly body?: object | null;
  readonly idempotencyKey?: string;
};

/** The name that a body can be wrapped in. */
type Wrapper =
  | 'gift_card'
  | 'transaction'
  | 'hold'
  | 'webhook'
  | 'event'
  | 'customer'
  | 'checkpoint'
  | 'batch'
  | 'stock'
  | 'location'
  | 'test_clock';

export type BodyDefinition<F extends Fields> = {
  /** The name of its schema in the documentation. */
  readonly name: string;
  readonly description?: string;
  readonly wrapper: Wrapper;
  readonly fields: F;
  readonly example: object;
};

/** No fields. */
export type NoFields = Readonly<Record<string, never>>;

/** A body that has no fields. */
export function noFields(wrapper: Wrapper): BodyDefinition<NoFields> {
  return {
    name: 'Nothing',
    description: 'No parameters; the body is optional.',
    wrapper,
    fields: {},
    example: {},
  };
}

/** An operation as the documentation shows it. */
export type Documentation = {
  readonly tag: Tag;
  readonly summary: string;
  readonly description: string;
  readonly query: Fields;
  /** Whether it accepts `dry_run` and `Idempotency-Key`. */
  readonly isWrite: boolean;
  readonly isConditional: boolean;
  readonly takesLastEventId: boolean;
  /** Whether failed lookups are limited. */
  readonly isThrottled: boolean;
  /** Whether an exhausted budget of failed lookups never rejects it. */
  readonly isUnlimited: boolean;
  readonly body: BodyDefinition<Fields> | null;
  readonly response: {
    readonly status: 200 | 201 | 202;
    readonly description: string;
    readonly headers: readonly HeaderName[];
    readonly content:
      | { readonly members: Members; readonly example: object }
      | { readonly type: string; readonly example: string };
    /** Another form of the same content. */
    readonly alternative?: { readonly type: string; readonly example: string };
  };
  /** The response to a repetition of a request with an external id; null: it accepts none. */
  readonly repeated: { readonly members: Members; readonly example: object } | null;
  readonly errors: readonly FaultCode[];
  readonly sample: Sample;
};
