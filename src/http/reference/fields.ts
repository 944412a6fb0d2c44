/** Tables of parameters, headers and the fields of objects, for the reference page. */
import { renderMarkdown } from './markdown.ts';
import { joinMarkup, markup } from './markup.ts';
import type { MarkupPart, Markup } from './markup.ts';
import type { OpenApiDocument, Schema } from './document.ts';
import { constraintsOf, describeType, shapeHasFields, shapeOf, typeOf } from './schema.ts';
import type { Shape } from './schema.ts';

/** Requests and responses mark the presence of fields differently. */
export type Direction = 'request' | 'answer';

/** The table and the nesting depth of a part. */
interface Place {
  readonly direction: Direction;
  /** The names of the enclosing objects. An object within itself is linked, not expanded. */
  readonly trail: readonly string[];
}

/** One row of a table of parameters, headers or properties. */
export interface FieldRow {
  readonly name: string;
  /** Undefined for fields that every response has. */
  readonly presence: 'required' | 'optional' | undefined;
  readonly schema: Schema;
  readonly description?: string | undefined;
  readonly deprecated?: boolean | undefined;
}

/** A table with one row per item of `rows`. The fields of an object are below its description. */
export function renderRows(
  document: OpenApiDocument,
  rows: readonly FieldRow[],
  direction: Direction,
): Markup {
  return renderTable(document, rows, { direction, trail: [] });
}

function renderTable(document: OpenApiDocument, rows: readonly FieldRow[], place: Place): Markup {
  return markup`<table class="fields">
<colgroup><col class="what"><col></colgroup>
<thead><tr><th scope="col">Name and type</th><th scope="col">Description</th></tr></thead>
<tbody>${rows.map((row) => renderRow(document, row, place))}</tbody>
</table>`;
}

/** The table of a schema's properties, or one table per alternative; nothing for a plain value. */
export function renderFields(
  document: OpenApiDocument,
  schema: Schema,
  direction: Direction,
): Markup | undefined {
  return renderShape(document, shapeOf(document, schema), { direction, trail: [] });
}

function renderShape(document: OpenApiDocument, shape: Shape, place: Place): Markup | undefined {
  const { name, schema, alternatives } = shape;
  const isAround = name !== undefined && place.trail.includes(name);
  if (isAround || !shapeHasFields(document, shape)) return undefined;
  const within = name === undefined ? place : { ...place, trail: [...place.trail, name] };
  if (alternatives.length > 0) {
    return markup`<p class="forms">One of these forms:</p>
<ol class="forms">${alternatives.map((form) => renderForm(document, form, within))}</ol>`;
  }
  const { items, properties = {}, required = [], additionalProperties: others } = schema;
  if (items !== undefined) return renderShape(document, shapeOf(document, items), within);
  const rows = Object.entries(properties).map(([property, value]): FieldRow => {
    return {
      name: property,
      presence: presenceOf(required.includes(property), place.direction),
      schema: value,
    };
  });
  return markup`${renderTable(document, rows, within)}${
    others === false ? markup`<p class="note">No other fields.</p>` : undefined
  }${
    typeof others === 'object'
      ? markup`<p class="note">Any other field: ${describeType(document, others)}.</p>`
      : undefined
  }`;
}

function presenceOf(isRequired: boolean, direction: Direction): FieldRow['presence'] {
  if (!isRequired) return 'optional';
  // Fields that every response has need no mark.
  return direction === 'request' ? 'required' : undefined;
}

function renderForm(document: OpenApiDocument, form: Shape, place: Place): Markup {
  const { title, description } = form.schema;
  const label = title === undefined ? typeOf(document, form) : markup`${title}`;
  return markup`<li><p><strong>${label}</strong></p>
${description === undefined ? undefined : renderMarkdown(description)}
${renderShape(document, form, place)}</li>`;
}

function renderRow(document: OpenApiDocument, row: FieldRow, place: Place): Markup {
  const shape = shapeOf(document, row.schema);
  // A named object is described in its own section. Only the description of this use is shown.
  const isLinked = shape.name !== undefined && shapeHasFields(document, shape);
  const description = row.description ?? (isLinked ? row.schema : shape.schema).description;
  const constraints = constraintsOf(document, shape);
  return markup`<tr>
<th scope="row"><code class="name">${row.name}</code>
${row.presence === undefined ? undefined : markup`<span class="${row.presence}">${row.presence}</span>`}
${(row.deprecated ?? shape.schema.deprecated) ? markup`<span class="deprecated">deprecated</span>` : undefined}
<span class="type">${typeOf(document, shape)}</span></th>
<td>${description === undefined ? undefined : renderMarkdown(description)}
${constraints.length === 0 ? undefined : markup`<p class="constraints">${joinMarkup(constraints, ' · ')}</p>`}</td>
</tr>
${renderNested(document, shape, place)}`;
}

/** The fields of a property that is an object or a list of objects, collapsed if the object has its own section. */
function renderNested(document: OpenApiDocument, shape: Shape, place: Place): Markup | undefined {
  const { items } = shape.schema;
  const object = items === undefined ? shape : shapeOf(document, items);
  const fields = renderShape(document, object, place);
  if (fields === undefined) return undefined;
  const title = object.name === undefined ? markup`Fields` : markup`Fields of <code>${object.name}</code>`;
  const open = object.name === undefined ? markup` open` : undefined;
  return markup`<tr class="inner"><td colspan="2"><details class="nested"${open}><summary>${title}</summary>
${fields}</details></td></tr>`;
}

/** A list of named facts, one per line. */
export function renderFacts(pairs: readonly (readonly [string, MarkupPart])[]): Markup {
  const items = pairs.map(([term, value]) => markup`<div><dt>${term}</dt><dd>${value}</dd></div>`);
  return markup`<dl class="facts">${items}</dl>`;
}
