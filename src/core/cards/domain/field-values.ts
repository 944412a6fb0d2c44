/** The values of the fields of a card: how each kind of field is parsed, and what records and updates have of them. */

import {
  cardFieldNames,
  cardFields,
  editableFields,
  fieldsWith,
  noDetails,
  propertyOf,
  type CardDetails,
  type CardField,
  type CardFieldName,
  type EditableDetails,
  type EditableField,
  type FieldsWith,
} from './fields.ts';
import { parseDesign } from './design.ts';
import { parseDay } from '../../domain/day.ts';
import { parseExternalId } from '../../domain/external-id.ts';
import { compileLiteral } from '../../domain/literal.ts';
import { accepted, type Parsed } from '../../../platform/parsed.ts';
import { parseTags, tagLengthMax, tagsIn, tagsMax } from './tags.ts';
import { parseLine, parseText } from '../../domain/text.ts';

/** Parses a value as JSON has it. */
export function readField(name: CardFieldName, value: unknown): Parsed<string | null> {
  const field: CardField = cardFields[name];
  switch (field.kind) {
    case 'day':
      return value === null ? accepted(null) : parseDay(value);
    case 'line':
      return parseLine(value, field.lengthMax);
    case 'text':
      return parseText(value, field.lengthMax);
    case 'tags':
      return parseTags(value);
    case 'id':
      return parseExternalId(value);
    case 'choice':
      return value === null ? accepted(null) : parseDesign(value);
  }
}

/** The JSON value of a text in a form or file. */
export function fieldFromText(name: CardFieldName, text: string): unknown {
  return cardFields[name].kind === 'tags' ? tagsFromText(text) : text;
}

/** Longer texts are not split into tags. */
const tagListLengthMax = 4 * tagsMax * (tagLengthMax + 1);

function tagsFromText(list: string): unknown {
  return list.length > tagListLengthMax ? list : list.split(',').map((tag) => tag.trim());
}

/** The value of a field in a record: a list for tags, which is empty if there are none. */
export type RecordValue<N extends CardFieldName> =
  N extends FieldsWith<{ readonly kind: 'tags' }> ? string[] : string | null;

export function recordValue<N extends CardFieldName>(name: N, value: string | null): RecordValue<N> {
  return (cardFields[name].kind === 'tags' ? tagsIn(value) : value) as RecordValue<N>;
}

type Added = FieldsWith<{ readonly record: 'added' }>;

export type AddedRecord = { readonly [N in Added]: RecordValue<N> };

const added = fieldsWith({ record: 'added' }).map((name) => {
  const value = `card[${JSON.stringify(propertyOf(name))}]`;
  return `${JSON.stringify(name)}: ${cardFields[name].kind === 'tags' ? `f0(${value})` : value}`;
});

/** The record with the fields that the detail resource, lists and exports add to that of the specification. */
export const withAddedFields = compileLiteral('record, card', `{ ...record, ${added.join(', ')} }`, [
  tagsIn,
]) as <Record>(record: Record, card: CardDetails) => Record & AddedRecord;

const places = cardFieldNames.map((name) => [name, propertyOf(name)] as const);

/** The details of parsed fields. */
export function detailsOf(values: { readonly [N in CardFieldName]?: string | null }): CardDetails {
  const details: { -readonly [P in keyof CardDetails]: CardDetails[P] } = { ...noDetails };
  for (const [name, property] of places) details[property] = values[name] ?? null;
  return details;
}

const editablePlaces = editableFields.map((name) => [name, propertyOf(name)] as const);

/** The details that the sent fields of an update change. */
export function changedDetails(sent: {
  readonly [N in EditableField]?: string | null;
}): Partial<EditableDetails> {
  const entries = editablePlaces.map(([name, property]) => [property, sent[name]] as const);
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}
