/** JSON Schemas in words for the reference page: types and constraints. */
import { anchorOf, joinMarkup, markup } from './markup.ts';
import type { MarkupPart, Markup } from './markup.ts';
import { resolve } from './document.ts';
import type { OpenApiDocument, Schema } from './document.ts';

/** A normalized schema: references resolved, `allOf` merged, null removed. */
export interface Shape {
  /** The schema's name in `components.schemas`, if it was a reference. */
  readonly name: string | undefined;
  readonly nullable: boolean;
  readonly schema: Schema;
  /** The branches of `anyOf` or `oneOf` if there are several; otherwise empty. */
  readonly alternatives: readonly Shape[];
}

const NAMED = '#/components/schemas/';

/** The id of a named object's section. */
export function objectAnchor(name: string): string {
  return anchorOf('object', name);
}

/** Whether a schema or one of its alternatives has fields. */
export function hasFields(document: OpenApiDocument, schema: Schema): boolean {
  return shapeHasFields(document, shapeOf(document, schema));
}

/**
 * The type in words, such as "string (date) or null", with links to named objects. @throws Error for a broken `$ref`.
 */
export function describeType(document: OpenApiDocument, schema: Schema): Markup {
  return typeOf(document, shapeOf(document, schema));
}

/** @param visited ends the search in a schema that contains itself. */
export function shapeHasFields(
  document: OpenApiDocument,
  shape: Shape,
  visited: readonly string[] = [],
): boolean {
  const { name, schema, alternatives } = shape;
  if (name !== undefined && visited.includes(name)) return false;
  const within = name === undefined ? visited : [...visited, name];
  if (alternatives.length > 0) return alternatives.some((form) => shapeHasFields(document, form, within));
  if (schema.items !== undefined) return shapeHasFields(document, shapeOf(document, schema.items), within);
  return schema.properties !== undefined;
}

export function shapeOf(document: OpenApiDocument, schema: Schema): Shape {
  const name = schema.$ref?.startsWith(NAMED) === true ? schema.$ref.slice(NAMED.length) : undefined;
  const whole = merged(document, schema);
  const branches = whole.anyOf ?? whole.oneOf;
  const nullable =
    whole.nullable === true ||
    typesOf(whole).includes('null') ||
    whole.const === null ||
    whole.enum?.includes(null) === true;
  if (branches === undefined) return { name, nullable, schema: whole, alternatives: [] };

  const { anyOf: _, oneOf: __, ...rest } = whole;
  const constants = branches.map((branch) => resolve(document, branch).const);
  if (constants.every((constant) => constant !== undefined)) {
    const values = constants.filter((constant) => constant !== null);
    return {
      name,
      nullable: values.length < constants.length,
      schema: { ...rest, enum: values },
      alternatives: [],
    };
  }
  const shapes = branches.map((branch) => shapeOf(document, branch));
  const forms = shapes.filter((shape) => !isNull(shape));
  const [only] = forms;
  const orNull = nullable || shapes.some((shape) => shape.nullable);
  if (only !== undefined && forms.length === 1) {
    // The keywords next to "something or null", such as its description, apply to the something.
    return { ...only, name: only.name ?? name, nullable: orNull, schema: { ...only.schema, ...rest } };
  }
  return { name, nullable: orNull, schema: rest, alternatives: forms };
}

function isNull(shape: Shape): boolean {
  return shape.schema.type === 'null' || shape.schema.const === null;
}

/** Resolves a schema's reference and merges its `allOf`: fields are joined, other keywords overwritten. */
function merged(document: OpenApiDocument, schema: Schema): Schema {
  const { $ref: _, allOf, ...own } = resolve(document, schema);
  if (allOf === undefined) return own;
  const parts: readonly Schema[] = [...allOf.map((part) => merged(document, part)), own];
  const properties = Object.fromEntries(parts.flatMap((part) => Object.entries(part.properties ?? {})));
  const whole: Schema = {};
  for (const part of parts) Object.assign(whole, part);
  return {
    ...whole,
    required: parts.flatMap((part) => part.required ?? []),
    properties: Object.keys(properties).length > 0 ? properties : undefined,
  };
}

function typesOf(schema: Schema): readonly string[] {
  return typeof schema.type === 'string' ? [schema.type] : (schema.type ?? []);
}

/** @param visited the names of the enclosing schemas without a link: a schema within itself is named, not expanded. */
export function typeOf(document: OpenApiDocument, shape: Shape, visited: readonly string[] = []): Markup {
  const phrase = typeWithoutNull(document, shape, visited);
  return shape.nullable && !isNull(shape) ? markup`${phrase} or null` : phrase;
}

function typeWithoutNull(document: OpenApiDocument, shape: Shape, visited: readonly string[]): Markup {
  const { schema, name, alternatives } = shape;
  if (name !== undefined && shapeHasFields(document, shape)) {
    return markup`<a href="#${objectAnchor(name)}">${name}</a>`;
  }
  if (name !== undefined && visited.includes(name)) return markup`${name}`;
  const within = name === undefined ? visited : [...visited, name];
  const typeWithin = (inner: Schema): Markup => typeOf(document, shapeOf(document, inner), within);
  if (alternatives.length > 0) {
    const phrases = alternatives.map((form) => typeWithoutNull(document, form, within));
    return joinMarkup([...new Map(phrases.map((phrase) => [phrase.toString(), phrase])).values()], ' or ');
  }
  if (schema.items !== undefined) return markup`array of ${typeWithin(schema.items)}`;
  if (typeof schema.additionalProperties === 'object' && schema.properties === undefined) {
    return markup`object, each value ${typeWithin(schema.additionalProperties)}`;
  }
  const types = typesOf(schema).filter((type) => type !== 'null');
  const words = types.length > 0 ? types.join(' or ') : impliedType(schema);
  return schema.format === undefined ? markup`${words}` : markup`${words} (${schema.format})`;
}

/** The type of a schema without `type`, from its values or keywords. */
function impliedType(schema: Schema): string {
  const values = schema.const === undefined ? (schema.enum ?? []) : [schema.const];
  const types = new Set(values.flatMap((value) => (value === null ? [] : [typeof value])));
  if (types.size > 0) return [...types].join(' or ');
  return schema.properties === undefined ? 'any value' : 'object';
}

/** The constraints on a value besides its type, each as a separate phrase. */
export function constraintsOf(document: OpenApiDocument, shape: Shape): readonly MarkupPart[] {
  const { schema, alternatives } = shape;
  const items = schema.items === undefined ? [] : plainConstraints(shapeOf(document, schema.items).schema);
  const forms = alternatives.flatMap((form) => {
    const phrases = plainConstraints(form.schema);
    return phrases.length === 0 ? [] : [markup`as ${impliedName(form)}: ${joinMarkup(phrases, ', ')}`];
  });
  const each = items.length === 0 ? [] : [markup`each: ${joinMarkup(items, ', ')}`];
  return [...plainConstraints(schema), ...each, ...forms];
}

function impliedName(form: Shape): string {
  return form.name ?? (typesOf(form.schema).join(' or ') || impliedType(form.schema));
}

function plainConstraints(schema: Schema): readonly MarkupPart[] {
  const values = (schema.enum ?? []).filter((value) => value !== null).map(code);
  const phrases: readonly (MarkupPart | undefined)[] = [
    schema.const === undefined || schema.const === null ? undefined : markup`always ${code(schema.const)}`,
    values.length === 0 ? undefined : markup`one of ${joinMarkup(values, ', ')}`,
    between(schema.minimum, schema.maximum, ''),
    schema.exclusiveMinimum === undefined ? undefined : `greater than ${schema.exclusiveMinimum}`,
    schema.exclusiveMaximum === undefined ? undefined : `less than ${schema.exclusiveMaximum}`,
    schema.multipleOf === undefined ? undefined : `a multiple of ${schema.multipleOf}`,
    between(schema.minLength, schema.maxLength, 'character'),
    between(schema.minItems, schema.maxItems, 'item'),
    schema.uniqueItems === true ? 'no duplicates' : undefined,
    schema.pattern === undefined ? undefined : markup`matches <code>${schema.pattern}</code>`,
    schema.default === undefined ? undefined : markup`default ${code(schema.default)}`,
    exampleOf(schema),
  ];
  return phrases.filter((phrase) => phrase !== undefined);
}

function exampleOf(schema: Schema): Markup | undefined {
  const example = schema.examples?.[0] ?? schema.example;
  return example === undefined || typeof example === 'object'
    ? undefined
    : markup`for example ${code(example)}`;
}

function code(value: unknown): Markup {
  return markup`<code>${JSON.stringify(value)}</code>`;
}

/** A range in words; `unit` is singular, and empty for a plain number. */
function between(minimum: number | undefined, maximum: number | undefined, unit: string): string | undefined {
  const counted = (count: number): string => {
    const words = count.toLocaleString('en');
    return unit === '' ? words : `${words} ${unit}${count === 1 ? '' : 's'}`;
  };
  if (minimum !== undefined && minimum === maximum) return `exactly ${counted(minimum)}`;
  if (minimum !== undefined && maximum !== undefined) {
    return `${minimum.toLocaleString('en')} to ${counted(maximum)}`;
  }
  if (minimum !== undefined) return `at least ${counted(minimum)}`;
  return maximum === undefined ? undefined : `at most ${counted(maximum)}`;
}
