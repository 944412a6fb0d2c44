/**
 * Request fields: how a field is documented and how it is parsed.
 *
 * The schema describes JSON and is what the documentation shows. The parser alone decides what is accepted; a property
 * test checks that it accepts nothing that the schema excludes. In a form every value is text: booleans, integers and
 * lists are converted first, so that JSON never accepts them as text.
 */

import Type, { type TSchema } from 'typebox';
import type { FieldErrors } from '../core/domain/fault.ts';
import { integerFromText as integerFromForm, orNull } from '../core/cards/domain/new-card.ts';
import { accepted, rejected, type Parsed } from '../platform/parsed.ts';
import type { Store } from '../core/stores/domain/store.ts';
import type { Body } from '../http/body.ts';

/** The context in which a value is parsed. */
export type FieldContext = {
  readonly store: Store;
  /** Instant in ms. */
  readonly now: number;
  readonly isForm: boolean;
  /** Whether an earlier request can have sent it: limits of the store and of the time do not apply. Default: false. */
  readonly isRepetition?: boolean;
  /** Whether the service sends email; absent: it does not. */
  readonly canSend?: boolean;
  /** Normalizes a webhook URL; absent: any URL is accepted unchanged. */
  readonly parseWebhookUrl?: (value: unknown) => Parsed<string>;
};

export type Read<T> = (value: unknown, context: FieldContext) => Parsed<T>;

export type Field<T, Required extends boolean = boolean> = {
  readonly schema: TSchema;
  readonly isRequired: Required;
  /** The JSON value of a text in a form; the text itself if it is not one. */
  readonly fromForm: (text: string) => unknown;
  /** Parses a value that was sent, null included. */
  readonly read: Read<T>;
};

/** @param fromForm absent: JSON has the value as a string. */
export function field<T>(
  schema: TSchema,
  read: Read<T>,
  fromForm: (text: string) => unknown = (text) => text,
): Field<T, false> {
  return {
    schema,
    isRequired: false,
    fromForm,
    read: (value, context) =>
      read(context.isForm && typeof value === 'string' ? fromForm(value) : value, context),
  };
}

export function required<T>(base: Field<T>): Field<T, true> {
  return { ...base, isRequired: true };
}

export function optional<T>(base: Field<T>): Field<T, false> {
  return { ...base, isRequired: false };
}

export { integerFromForm };

/** An optional integer from 1 to `max`; null: none. */
export function integerField(
  description: string,
  { max, example }: { readonly max: number; readonly example: number },
): Field<number | null, false> {
  return field<number | null>(
    Type.Union([Type.Integer({ minimum: 1, maximum: max }), Type.Null()], {
      description,
      examples: [example],
    }),
    orNull((value: unknown): Parsed<number> =>
      typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= max
        ? accepted(value)
        : rejected(`must be an integer from 1 to ${max.toLocaleString('en')}`),
    ),
    integerFromForm,
  );
}

const present = {
  description: 'Optional; must equal the current value. A client can send back the record that it read.',
};

/** Amounts that can be echoed as numbers. */
const echoedAmounts: ReadonlySet<string> = new Set(['initial_value']);

function isIdField(name: string): boolean {
  return name === 'id' || name.endsWith('_id');
}

function echoedTypes(name: string): readonly string[] {
  if (isIdField(name)) return ['integer', 'null'];
  return echoedAmounts.has(name) ? ['string', 'number', 'null'] : ['string', 'null'];
}

/** The schema of a record field that an operation cannot set, but that a client can send with its current value. */
export function echoedSchema(name: string): TSchema {
  return Type.Unsafe({ type: echoedTypes(name), ...present });
}

/** A field of a record that an operation cannot set. Its script compares the value with the current one. */
export function echoed(name: string): Field<unknown, false> {
  return field(echoedSchema(name), accepted, isIdField(name) ? integerFromForm : undefined);
}

/** A field of a record that a creation cannot set. */
export const notSettable: Field<null, false> = field(
  Type.Null({ description: 'Optional; must be null.' }),
  (value) => (value === null ? accepted(null) : rejected('cannot be set')),
);

export type Fields = Readonly<Record<string, Field<unknown>>>;

type ValueOf<F> = F extends Field<infer T> ? T : never;
type RequiredNames<F> = { [K in keyof F]: F[K] extends Field<unknown, true> ? K : never }[keyof F];

/** The values of fields: required ones are present. */
export type Values<F> = { readonly [K in RequiredNames<F> & keyof F]: ValueOf<F[K]> } & {
  readonly [K in Exclude<keyof F, RequiredNames<F>>]?: ValueOf<F[K]>;
};

/** Parses the sent fields, and adds an error for each field that is missing, unknown or invalid. */
export type FieldReader<F> = (sent: Body, context: FieldContext, errors: FieldErrors) => Partial<Values<F>>;

/** @param wrapper the name that can wrap the fields; if it has an error, no field is reported as missing. */
export function fieldReader<F extends Fields>(fields: F, wrapper = ''): FieldReader<F> {
  const known = new Map(Object.entries(fields));
  const requiredNames = [...known].filter(([, { isRequired }]) => isRequired).map(([name]) => name);
  return ({ parameters: sent }, context, errors) => {
    const values: Record<string, unknown> = {};
    const isUnreadable = errors.has(wrapper);
    for (const [name, value] of sent) {
      const parsed = known.get(name)?.read(value, context) ?? rejected('is not a known parameter');
      if (parsed.ok) values[name] = parsed.value;
      else errors.add(name, parsed.error);
    }
    if (!isUnreadable) {
      for (const name of requiredNames) if (!sent.has(name)) errors.add(name, 'is required');
    }
    // Each value was parsed by the field of its name.
    return values as Partial<Values<F>>;
  };
}
