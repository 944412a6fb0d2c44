/** JSON Schemas in words: types and rules. It knows the keywords that the schemas of this service have. */

import type { TSchema } from 'typebox';
import { components, problemSchema } from '../../../api/schemas.ts';
import type { FieldRow } from './content.ts';

type Schema = {
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly pattern?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly patternProperties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly description?: string;
  readonly examples?: readonly unknown[];
  readonly default?: unknown;
};

/** The objects of responses, by their names. */
export const objects: Readonly<Record<string, TSchema>> = { ...components, Problem: problemSchema };

/** The name of an object of responses. An optional property has a copy of its schema, with the same description. */
export function objectNameOf(schema: object): string | undefined {
  const { type, description } = schema as Schema;
  return type === 'object' && description !== undefined ? objectNames.get(description) : undefined;
}

const objectNames = new Map(
  Object.entries(objects).map(([name, schema]) => [(schema as Schema).description, name]),
);

/** The objects of a schema: itself, its items or its alternatives. */
export function objectsIn(schema: object): readonly string[] {
  const name = objectNameOf(schema);
  if (name !== undefined) return [name];
  const { anyOf = [], items } = schema as Schema;
  return [...anyOf, ...(items ? [items] : [])].flatMap(objectsIn);
}

function typesOf({ type }: Schema): readonly string[] {
  return typeof type === 'string' ? [type] : (type ?? []);
}

/** The type in words: “string (date) or null”. Named objects are links. */
export function typeOf(given: object): string {
  const schema = given as Schema;
  const name = objectNameOf(schema);
  if (name !== undefined) return `[${name}](objects#${name.toLowerCase()})`;
  const { anyOf, items, format, patternProperties } = schema;
  if (anyOf) return [...new Set(anyOf.map(typeOf))].join(' or ');
  if (items) return `array of ${typeOf(items)}`;
  const [values] = Object.values(patternProperties ?? {});
  if (values) return `object, each value ${typeOf(values)}`;
  const types = typesOf(schema);
  const constants = 'const' in schema ? [schema.const] : (schema.enum ?? []);
  const implied = constants.map((value) => (value === null ? 'null' : typeof value));
  const words = [...new Set(types.length > 0 ? types : implied)].join(' or ');
  return format === undefined ? words : `${words} (${format})`;
}

/** A field of a request’s or response’s JSON, or a text: a parameter outside the body, or a header. */
export type SchemaUse = 'request' | 'response' | 'text';

/** The description, and as sentences the rules that it does not name. */
export function textOf(given: object, use: SchemaUse, description?: string): string {
  const schema = given as Schema;
  const about = description ?? schema.description;
  const rules = rulesOf(schema, use)
    .filter((rule) => !about?.toLowerCase().includes(rule))
    .map((rule) => `${rule.charAt(0).toUpperCase()}${rule.slice(1)}.`);
  return [about, ...rules].filter((part) => part !== undefined).join(' ');
}

function rulesOf(schema: Schema, use: SchemaUse): readonly string[] {
  const forms = [schema, ...(schema.anyOf ?? []).filter(({ type }) => type !== 'null')];
  const shown = (value: unknown): string =>
    `\`${use === 'text' && typeof value === 'string' ? value : JSON.stringify(value)}\``;
  const values = forms.flatMap((form) => valueRulesOf(form, shown));
  // The other rules of a response are visible in its example.
  if (use === 'response') return values;
  const [first] = schema.examples ?? [];
  return [
    ...values,
    ...forms.flatMap(sizeRulesOf),
    ...(schema.items ? valueRulesOf(schema.items, shown) : []).map((rule) => `each: ${rule}`),
    ...(schema.default === undefined ? [] : [`default: ${shown(schema.default)}`]),
    ...(first === undefined || first === null ? [] : [`example: ${shown(first)}`]),
  ];
}

function valueRulesOf(schema: Schema, shown: (value: unknown) => string): readonly string[] {
  const values = (schema.enum ?? ('const' in schema ? [schema.const] : [])).filter((value) => value !== null);
  if (values.length === 0) return [];
  return [values.length === 1 ? `always ${shown(values[0])}` : `one of ${values.map(shown).join(', ')}`];
}

function sizeRulesOf(schema: Schema): readonly string[] {
  const { minimum, exclusiveMinimum, minLength, maxLength, minItems, pattern } = schema;
  const maximum = schema.maximum === Number.MAX_SAFE_INTEGER ? undefined : schema.maximum;
  return [
    ...range(minimum, maximum, ''),
    ...(exclusiveMinimum === undefined ? [] : [`greater than ${exclusiveMinimum}`]),
    ...range(minLength, maxLength, 'character'),
    ...range(minItems, undefined, 'item'),
    ...(pattern === undefined ? [] : [`matches \`${pattern}\``]),
  ];
}

function range(minimum: number | undefined, maximum: number | undefined, unit: string): readonly string[] {
  const counted = (count: number): string =>
    `${count.toLocaleString('en')}${unit === '' ? '' : ` ${unit}${count === 1 ? '' : 's'}`}`;
  if (minimum !== undefined && maximum !== undefined) return [`${minimum} to ${counted(maximum)}`];
  if (minimum !== undefined) return [`at least ${counted(minimum)}`];
  return maximum === undefined ? [] : [`at most ${counted(maximum)}`];
}

/** The rows of an object's fields. */
export function rowsOf(schema: object, use: SchemaUse): readonly FieldRow[] {
  const { properties = {}, required = [] } = schema as Schema;
  return Object.entries(properties).map(([name, field]): FieldRow => {
    // A field that every response has needs no mark.
    const mark = use === 'request' ? 'required' : undefined;
    return {
      name,
      type: typeOf(field),
      presence: required.includes(name) ? mark : 'optional',
      text: textOf(field, use),
      rows: nestedRowsOf(field),
    };
  });
}

/** The fields of an object without a name of its own, or of the objects in a list. */
function nestedRowsOf(schema: Schema): readonly FieldRow[] | undefined {
  if (objectNameOf(schema) !== undefined) return undefined;
  if (schema.properties) return rowsOf(schema, 'response');
  const inner = [...(schema.anyOf ?? []), ...(schema.items ? [schema.items] : [])].find(
    (form) => objectNameOf(form) === undefined && ('properties' in form || 'items' in form),
  );
  return inner && nestedRowsOf(inner);
}
