/**
 * The fields of a card that its issuer sets, each once. Its type, parser, column, records, tracked changes, ETag, exports,
 * options, filters, inputs and erasure follow from its row.
 *
 * Each layer has one table of the *kinds* of fields: `field-values.ts`, `core/cards/domain/schemas.ts`, `core/cards/api/card-fields.ts`,
 * `features/card-commands/cli/card.ts`, `features/card-pages/pages/fields.ts`. The compiler names each table that lacks a new kind or a new filter.
 */

import { cardDesigns } from './design.ts';
import { externalIdLengthMax } from '../../domain/external-id.ts';
import { nameLengthMax, textLengthMax } from '../../domain/text.ts';

/**
 * `day`: `YYYY-MM-DD`. `tags`: a text of tags (`tags.ts`). `line`, `text`: of one or several lines, in code points.
 * `id`: an external id. `choice`: one of the names.
 */
type Kind =
  | { readonly kind: 'day' | 'tags' }
  | { readonly kind: 'line'; readonly lengthMax: number }
  | { readonly kind: 'text'; readonly lengthMax: number }
  | { readonly kind: 'id'; readonly lengthMax: number }
  | { readonly kind: 'choice'; readonly choices: readonly string[] };

/** A row decides everything about its field. */
export type CardField = Kind & {
  /** Whether an update can change it. Otherwise it can only be erased. */
  readonly isEditable: boolean;
  /** Whether the erasure of a person erases the values: always, only with `erase_notes`, or never. */
  readonly erased: 'with the person' | 'with notes' | 'never';
  /** `specified`: in the record of the specification. `added`: in the detail resource, lists and exports. */
  readonly record: 'specified' | 'added';
  /** The filter of lists, by a parameter with the name of the field. */
  readonly filter: FieldFilter | null;
  /** For developers: a phrase without a period. `more` follows it in requests; `brief` replaces it in `--help`. */
  readonly about: string;
  readonly more?: string;
  readonly brief?: string;
  readonly example: string | readonly string[];
};

export type FieldKind = CardField['kind'];

/** `equals`: the whole value. `contains`: part of it, A to Z in any case. */
export type FieldFilter = 'equals' | 'contains';

/** By the names in the API, in files and in the table. A new row is the last one, in ETags, records and files also. */
export const cardFields = {
  expires_on: {
    kind: 'day',
    isEditable: true,
    erased: 'never',
    record: 'specified',
    filter: null,
    about: 'The last day on which the card is valid, in the store’s time zone; null: never expires',
    brief: 'the last valid day, YYYY-MM-DD; optional',
    example: '2031-12-31',
  },
  note: {
    kind: 'text',
    lengthMax: textLengthMax,
    isEditable: true,
    erased: 'with notes',
    record: 'specified',
    filter: 'contains',
    about: 'A note for the store, never visible to customers',
    brief: 'a note for the store',
    example: 'Sold at the counter',
  },
  message: {
    kind: 'text',
    lengthMax: textLengthMax,
    isEditable: false,
    erased: 'with the person',
    record: 'specified',
    filter: null,
    about: 'The message in the gift card email',
    brief: 'the message in the email',
    example: 'Happy birthday!',
  },
  sender_name: {
    kind: 'line',
    lengthMax: nameLengthMax,
    isEditable: true,
    erased: 'with the person',
    record: 'added',
    filter: null,
    about: 'The name of the person who gives the card',
    more: ', for emails',
    example: 'Ada',
  },
  recipient_name: {
    kind: 'line',
    lengthMax: nameLengthMax,
    isEditable: true,
    erased: 'with the person',
    record: 'added',
    filter: null,
    about: 'The name of the person who receives the card',
    more: ', for emails',
    example: 'Grace',
  },
  tags: {
    kind: 'tags',
    isEditable: true,
    erased: 'with notes',
    record: 'added',
    filter: null,
    about: 'The store’s own tags',
    brief: 'tags, separated by commas',
    example: ['VIP', 'Spring 2026'],
  },
  external_id: {
    kind: 'id',
    lengthMax: externalIdLengthMax,
    isEditable: false,
    erased: 'with the person',
    record: 'added',
    filter: 'equals',
    about: 'The caller’s own id of the card, of visible ASCII characters',
    more: '. It is used only once: a repetition that asks for the same responds 200 with the existing card, without its code, for ever',
    brief: 'an id of your own, which is used only once; optional',
    example: 'order-1001-line-1',
  },
  design: {
    kind: 'choice',
    choices: cardDesigns,
    isEditable: true,
    erased: 'never',
    record: 'added',
    filter: null,
    about: 'The design of the card; null: the store’s default',
    brief: `the design: ${cardDesigns.join(', ')}; optional`,
    example: 'birthday',
  },
} as const satisfies Readonly<Record<string, CardField>>;

type Table = typeof cardFields;

export type CardFieldName = keyof Table;

/** The names of the fields whose rows have these properties. */
export type FieldsWith<Row extends Partial<CardField>> = {
  [N in CardFieldName]: Table[N] extends Row ? N : never;
}[CardFieldName];

type Camel<Name extends string> = Name extends `${infer First}_${infer Rest}`
  ? `${First}${Capitalize<Camel<Rest>>}`
  : Name;

/** The property of a card that has the field: `senderName` of `sender_name`. */
export type PropertyOf<Name extends CardFieldName> = Camel<Name>;

/** Optional fields that the issuer sets; null: none. */
export type CardDetails = { readonly [N in CardFieldName as PropertyOf<N>]: string | null };

export type EditableField = FieldsWith<{ readonly isEditable: true }>;

/** The details that an update can change. */
export type EditableDetails = Pick<CardDetails, PropertyOf<EditableField>>;

export const cardFieldNames = Object.keys(cardFields) as readonly CardFieldName[];

export function isCardField(name: string): name is CardFieldName {
  return Object.hasOwn(cardFields, name);
}

export function propertyOf<N extends CardFieldName>(name: N): PropertyOf<N> {
  return name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()) as PropertyOf<N>;
}

/** The names of the fields whose rows have these properties, in the order of the table. */
export function fieldsWith<const Row extends Partial<CardField>>(row: Row): readonly FieldsWith<Row>[] {
  const wanted = Object.entries(row);
  const has = (field: Readonly<Record<string, unknown>>): boolean =>
    wanted.every(([property, value]) => field[property] === value);
  return cardFieldNames.filter((name): name is FieldsWith<Row> => has(cardFields[name]));
}

/** A value for each of these fields, by their names. */
export function byField<N extends CardFieldName, T>(
  names: readonly N[],
  value: (name: N) => T,
): Readonly<Record<N, T>> {
  return Object.fromEntries(names.map((name) => [name, value(name)])) as Record<N, T>;
}

export const editableFields = fieldsWith({ isEditable: true });

/** The fields that no update changes. */
export const fixedFields = fieldsWith({ isEditable: false });

/** In the order of requests that create a card. */
export const createdFields: readonly CardFieldName[] = [...editableFields, ...fixedFields];

const listed = new Set<CardFieldName>([
  'sender_name',
  'recipient_name',
  'message',
  'note',
  ...cardFieldNames,
]);

/** In the order of exports and of the command line. `expires_on` has a place of its own. */
export const listedFields = [...listed].filter((name) => name !== 'expires_on');

export function isEditable(name: CardFieldName): name is EditableField {
  return cardFields[name].isEditable;
}

/** The only text of a card that its issuer does not set: why it is suspended. An erasure treats it like a note. */
const suspendReason = 'suspend_reason';

/** A field whose values an erasure can erase. */
export type ErasableField =
  Exclude<CardFieldName, FieldsWith<{ readonly erased: 'never' }>> | typeof suspendReason;

export function isErasable(name: string): name is ErasableField {
  return name === suspendReason || (isCardField(name) && cardFields[name].erased !== 'never');
}

export const erasableFields: readonly ErasableField[] = [...cardFieldNames, suspendReason].filter(isErasable);

/** The fields that are always erased with the person, and those that are erased only with notes. */
export const personalFields = fieldsWith({ erased: 'with the person' });
export const notedFields = [...fieldsWith({ erased: 'with notes' }), suspendReason] as const;

/** A card without details. */
export const noDetails: CardDetails = Object.freeze(
  Object.fromEntries(cardFieldNames.map((name) => [propertyOf(name), null])) as CardDetails,
);
