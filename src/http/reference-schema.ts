/** JSON Schemas in words and tables, for the reference page. */
import { renderMarkdown } from './markdown.ts';
import { anchorOf, joinMarkup, markup } from './markup.ts';
import type { Fragment, Markup } from './markup.ts';
import { resolve } from './reference-document.ts';
import type { OpenApiDocument, Schema } from './reference-document.ts';

/** A schema made plain: references followed, `allOf` merged, the null branch taken out. */
interface Shape {
  /** The schema's name under `components.schemas`, when it was reached by reference. */
  readonly name: string | undefined;
  readonly nullable: boolean;
  readonly schema: Schema;
  /** The branches of `anyOf` or `oneOf` when more than one form is possible, else empty. */
  readonly alternatives: readonly Shape[];
}

/** One row of a table of parameters, headers or properties. */
export interface Row {
  readonly name: string;
  /** What is said of presence, `required` or `optional`; undefined says nothing (headers of answers). */
  readonly presence: 'required' | 'optional' | undefined;
  readonly schema: Schema;
  readonly description?: string | undefined;
  readonly deprecated?: boolean | undefined;
}

const NAMED = '#/components/schemas/';

/** The id of a named object's own section. */
export function objectAnchor(name: string): string {
  return anchorOf('object', name);
}

/** Whether a schema has fields to tabulate, itself or in one of its forms; a plain value has not. */
export function hasFields(document: OpenApiDocument, schema: Schema): boolean {
  return shapeHasFields(document, shapeOf(document, schema));
}

/** The type in words, such as "string (date) or null", with named objects linked. Throws on a broken `$ref`. */
export function describeType(document: OpenApiDocument, schema: Schema): Markup {
  return typeOf(document, shapeOf(document, schema), []);
}

/** A table with a row for each of `rows`; what an object's fields are stands below its description. */
export function renderRows(
  document: OpenApiDocument,
  rows: readonly Row[],
  trail: readonly string[] = [],
): Markup {
  return markup`<table class="fields">
<thead><tr><th scope="col">Name and type</th><th scope="col">Description</th></tr></thead>
<tbody>${rows.map((row) => renderRow(document, row, trail))}</tbody>
</table>`;
}

/** The table of a schema's properties, or one such table for each form it may take; nothing for a plain value. */
export function renderFields(document: OpenApiDocument, schema: Schema): Markup | undefined {
  return renderShape(document, shapeOf(document, schema), []);
}

/** `trail` holds the names of the objects around the shape: one within itself is linked, not unfolded again. */
function renderShape(document: OpenApiDocument, shape: Shape, trail: readonly string[]): Markup | undefined {
  const { name, schema, alternatives } = shape;
  if (!shapeHasFields(document, shape) || (name !== undefined && trail.includes(name))) return undefined;
  const within = name === undefined ? trail : [...trail, name];
  if (alternatives.length > 0) {
    return markup`<p class="forms">One of these forms:</p>
<ol class="forms">${alternatives.map((form) => renderForm(document, form, within))}</ol>`;
  }
  const { items, properties = {}, required = [], additionalProperties: others } = schema;
  if (items !== undefined) return renderShape(document, shapeOf(document, items), within);
  const rows = Object.entries(properties).map(([property, value]): Row => {
    return { name: property, presence: required.includes(property) ? 'required' : 'optional', schema: value };
  });
  return markup`${renderRows(document, rows, within)}${
    others === false ? markup`<p class="note">No other fields.</p>` : undefined
  }${
    typeof others === 'object'
      ? markup`<p class="note">Any other field: ${typeOf(document, shapeOf(document, others), [])}.</p>`
      : undefined
  }`;
}

function renderForm(document: OpenApiDocument, form: Shape, trail: readonly string[]): Markup {
  const { title, description } = form.schema;
  const label = title === undefined ? typeOf(document, form, []) : markup`${title}`;
  return markup`<li><p><strong>${label}</strong></p>
${description === undefined ? undefined : renderMarkdown(description, { level: 4, anchor: 'form' })}
${renderShape(document, form, trail)}</li>`;
}

function renderRow(document: OpenApiDocument, row: Row, trail: readonly string[]): Markup {
  const shape = shapeOf(document, row.schema);
  // What a named object is stands in its own section; here only what was said of it in this place.
  const isLinked = shape.name !== undefined && shapeHasFields(document, shape);
  const description = row.description ?? (isLinked ? row.schema : shape.schema).description;
  const constraints = constraintsOf(document, shape);
  return markup`<tr>
<th scope="row"><code class="name">${row.name}</code>
<span class="type">${typeOf(document, shape, [])}</span>
${row.presence === undefined ? undefined : markup`<span class="${row.presence}">${row.presence}</span>`}
${(row.deprecated ?? shape.schema.deprecated) ? markup`<span class="deprecated">deprecated</span>` : undefined}</th>
<td>${description === undefined ? undefined : renderMarkdown(description, { level: 4, anchor: 'field' })}
${constraints.length === 0 ? undefined : markup`<p class="constraints">${joinMarkup(constraints, ' · ')}</p>`}
${renderNested(document, shape, trail)}</td>
</tr>`;
}

/** The fields of a property that is itself an object or a list of them, folded where it has a section of its own. */
function renderNested(document: OpenApiDocument, shape: Shape, trail: readonly string[]): Markup | undefined {
  const { items } = shape.schema;
  const object = items === undefined ? shape : shapeOf(document, items);
  const fields = renderShape(document, object, trail);
  if (fields === undefined) return undefined;
  return object.name === undefined
    ? markup`<details class="nested" open><summary>Fields</summary>${fields}</details>`
    : markup`<details class="nested"><summary>Fields of <code>${object.name}</code></summary>${fields}</details>`;
}

/** `visited` ends the search in a schema that contains itself. */
function shapeHasFields(document: OpenApiDocument, shape: Shape, visited: readonly string[] = []): boolean {
  const { name, schema, alternatives } = shape;
  if (name !== undefined && visited.includes(name)) return false;
  const within = name === undefined ? visited : [...visited, name];
  if (alternatives.length > 0) return alternatives.some((form) => shapeHasFields(document, form, within));
  if (schema.items !== undefined) return shapeHasFields(document, shapeOf(document, schema.items), within);
  return schema.properties !== undefined;
}

function shapeOf(document: OpenApiDocument, schema: Schema): Shape {
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
    return { name, nullable: values.length < constants.length, schema: { ...rest, enum: values }, alternatives: [] };
  }
  const shapes = branches.map((branch) => shapeOf(document, branch));
  const forms = shapes.filter((shape) => !isNull(shape));
  const [only] = forms;
  const orNull = nullable || shapes.some((shape) => shape.nullable);
  if (only !== undefined && forms.length === 1) {
    // "Something or null": what was said beside the union, its description above all, is said of that something.
    return { ...only, name: only.name ?? name, nullable: orNull, schema: { ...only.schema, ...rest } };
  }
  return { name, nullable: orNull, schema: rest, alternatives: forms };
}

function isNull(shape: Shape): boolean {
  return shape.schema.type === 'null' || shape.schema.const === null;
}

/** Follows a schema's reference and folds its `allOf` into it: properties are joined, other keywords overwritten. */
function merged(document: OpenApiDocument, schema: Schema): Schema {
  const { $ref: _, allOf, ...own } = resolve(document, schema);
  if (allOf === undefined) return own;
  return [...allOf.map((part) => merged(document, part)), own].reduce((sum, part) => ({
    ...sum,
    ...part,
    ...(sum.properties !== undefined && { properties: { ...sum.properties, ...part.properties } }),
    ...(sum.required !== undefined && { required: [...sum.required, ...(part.required ?? [])] }),
  }));
}

function typesOf(schema: Schema): readonly string[] {
  return typeof schema.type === 'string' ? [schema.type] : (schema.type ?? []);
}

/** `visited` holds the names of the unlinked schemas around: one within itself is named, not spelt out again. */
function typeOf(document: OpenApiDocument, shape: Shape, visited: readonly string[]): Markup {
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

/** The type of a schema that names none, as its values or keywords tell it. */
function impliedType(schema: Schema): string {
  const values = schema.const === undefined ? (schema.enum ?? []) : [schema.const];
  const types = new Set(values.flatMap((value) => (value === null ? [] : [typeof value])));
  if (types.size > 0) return [...types].join(' or ');
  return schema.properties === undefined ? 'any value' : 'object';
}

/** What a value must be beyond its type, each as a phrase that can stand alone. */
function constraintsOf(document: OpenApiDocument, shape: Shape): readonly Fragment[] {
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

function plainConstraints(schema: Schema): readonly Fragment[] {
  const values = (schema.enum ?? []).filter((value) => value !== null).map(code);
  const phrases: readonly (Fragment | undefined)[] = [
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
  return example === undefined || typeof example === 'object' ? undefined : markup`for example ${code(example)}`;
}

function code(value: unknown): Markup {
  return markup`<code>${JSON.stringify(value)}</code>`;
}

/** Both ends of a range in words; `unit` in the singular, empty for a bare number. */
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
