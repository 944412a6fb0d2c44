/**
 * Schemas as the OpenAPI document publishes them, for generators of clients: objects of responses are open, so that a
 * client ignores fields that it does not know; integers have a format; enumerations have a type; amounts are strings.
 * The schemas that the service and its tests use are stricter.
 */

/** A JSON schema. */
type Schema = Readonly<Record<string, unknown>>;

/** Whether a schema describes what a client sends, or what it receives. */
export type SchemaSide = 'request' | 'response';

/** The keywords whose values are schemas by names, lists of schemas, or a schema. */
const maps: ReadonlySet<string> = new Set(['properties', 'patternProperties']);
const lists: ReadonlySet<string> = new Set(['anyOf', 'oneOf', 'allOf']);

function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function published(schema: object, side: SchemaSide): Schema {
  const parts = Object.entries(withStringAmounts(schema as Schema, side)).flatMap(([keyword, value]) => {
    if (keyword === 'additionalProperties' && value === false && side === 'response') return [];
    return [[keyword, publishedPart(keyword, value, side)] as const];
  });
  return { ...Object.fromEntries(parts), ...typeAndFormat(schema as Schema) };
}

function publishedPart(keyword: string, value: unknown, side: SchemaSide): unknown {
  if (maps.has(keyword) && isSchema(value))
    return Object.fromEntries(
      Object.entries(value).map(([name, part]) => [name, isSchema(part) ? published(part, side) : part]),
    );
  if (lists.has(keyword) && Array.isArray(value))
    return value.map((part: unknown) => (isSchema(part) ? published(part, side) : part));
  return keyword === 'items' && isSchema(value) ? published(value, side) : value;
}

/** An amount can be sent as a number, whose digits some languages do not keep: the document has only the string. */
function withStringAmounts(schema: Schema, side: SchemaSide): Schema {
  const { type, anyOf } = schema;
  if (side === 'response') return schema;
  if (Array.isArray(type) && type.includes('number') && type.includes('string'))
    return { ...schema, type: type.filter((name) => name !== 'number') };
  if (!Array.isArray(anyOf)) return schema;
  const forms = anyOf.filter(isSchema).filter((form) => form['type'] !== 'number');
  if (forms.length === anyOf.length) return schema;
  const [only] = forms;
  const { anyOf: _, ...rest } = schema;
  return forms.length === 1 ? { ...only, ...rest } : { ...rest, anyOf: forms };
}

/** The format of integers, and the type of enumerations. */
function typeAndFormat({ type, enum: values, const: only, format }: Schema): Schema {
  const types: readonly unknown[] = Array.isArray(type) ? type : [type];
  if (types.includes('integer') && format === undefined) return { format: 'int64' };
  const constants = only === undefined ? [] : [only];
  const choices: readonly unknown[] = Array.isArray(values) ? values : constants;
  if (type !== undefined || choices.length === 0) return {};
  const found = [...new Set(choices.map((value) => (value === null ? 'null' : typeof value)))];
  return { type: found.length === 1 ? found[0] : found };
}
