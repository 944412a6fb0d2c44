/** The types of the client library, from the schemas of the OpenAPI document. */

export type Schema = {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly patternProperties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
};

export type Components = { readonly schemas: Readonly<Record<string, Schema>> };

/** Only a request can have members that are `undefined`, and lists that do not change. */
type Side = 'request' | 'response';

const keywords: ReadonlySet<string> = new Set([
  '$ref', 'type', 'description', 'properties', 'required', 'additionalProperties', 'patternProperties', 'items', 'enum', 'const',
  'anyOf', 'oneOf', 'allOf',
  // These do not change the type.
  'minimum', 'maximum', 'exclusiveMinimum', 'minLength', 'maxLength', 'minItems', 'maxItems', 'uniqueItems', 'pattern', 'format',
  'default', 'examples', 'title', 'discriminator',
]); // prettier-ignore

/** The declarations of all schemas that have a name. Bodies of requests are closed objects. */
export function typesText({ schemas }: Components): string {
  const named = namedObjects(schemas);
  const declarations = Object.entries(schemas)
    .filter(([name]) => name !== 'Nothing')
    .map(([name, schema]) => `${commentOf(schema.description)}${declarationOf(name, schema, named)}`);
  return `${banner}\n\n${declarations.join('\n\n')}\n`;
}

export const banner =
  '/** Generated from the OpenAPI document by `npm run client:generate`. A test compares it. */';

function declarationOf(name: string, schema: Schema, named: ReadonlyMap<string, string>): string {
  const side = schema.additionalProperties === false ? 'request' : 'response';
  const [base, own, ...rest] = schema.allOf ?? [];
  if (base?.$ref !== undefined && own && rest.length === 0)
    return `export type ${name} = ${nameIn(base.$ref)} & ${typeOf(own, side, named)};`;
  const type = typeOf(schema, side, named, name);
  return type.startsWith('{') ? `export interface ${name} ${type}` : `export type ${name} = ${type};`;
}

/** The names of the schemas of objects, by what they contain: the document repeats some of them in others. */
function namedObjects(schemas: Components['schemas']): ReadonlyMap<string, string> {
  return new Map(
    Object.entries(schemas)
      .filter(([, { type, properties }]) => type === 'object' && properties !== undefined)
      .map(([name, schema]) => [identityOf(schema), name] as const)
      // The first name of equal objects counts.
      .toReversed(),
  );
}

function identityOf(schema: Schema): string {
  const { description: _, ...rest } = schema;
  return JSON.stringify(rest);
}

/**
 * The type of a schema.
 * @param own the name that the schema declares, which does not refer to itself.
 * @throws Error for a schema that no type is known for.
 */
export function typeOf(
  schema: Schema,
  side: Side,
  named: ReadonlyMap<string, string> = new Map(),
  own?: string,
): string {
  const unknown = Object.keys(schema).find((keyword) => !keywords.has(keyword));
  if (unknown !== undefined) throw new Error(`the generator does not know the keyword ${unknown}`);
  if (schema.$ref !== undefined) return nameIn(schema.$ref);
  const alternatives = schema.anyOf ?? schema.oneOf;
  if (alternatives) return union(alternatives.map((one) => typeOf(one, side, named)));
  if (schema.enum) return union(schema.enum.map((value) => JSON.stringify(value)));
  if ('const' in schema) return JSON.stringify(schema.const);
  const name = named.get(identityOf(schema));
  if (name !== undefined && name !== own) return name;
  const types = typeof schema.type === 'string' ? [schema.type] : (schema.type ?? []);
  if (types.length === 0) throw new Error(`a schema has no type: ${JSON.stringify(schema)}`);
  return union(types.map((type) => typeNamed(type, schema, side, named)));
}

function typeNamed(type: string, schema: Schema, side: Side, named: ReadonlyMap<string, string>): string {
  switch (type) {
    case 'string':
    case 'boolean':
    case 'null':
      return type;
    case 'integer':
    case 'number':
      return 'number';
    case 'array': {
      if (!schema.items) throw new Error('a list has no schema of its items');
      const items = `(${typeOf(schema.items, side, named)})[]`;
      return side === 'request' ? `readonly ${items}` : items;
    }
    case 'object':
      return objectType(schema, side, named);
    default:
      throw new Error(`no type for ${type}`);
  }
}

function objectType(schema: Schema, side: Side, named: ReadonlyMap<string, string>): string {
  const { properties, required = [], additionalProperties, patternProperties } = schema;
  const [values] = Object.values(patternProperties ?? {});
  const others = values ?? (typeof additionalProperties === 'object' ? additionalProperties : undefined);
  if (others) return `Record<string, ${typeOf(others, side, named)}>`;
  if (!properties) return 'Record<string, unknown>';
  const lines = Object.entries(properties).map(([name, property]) => {
    const isRequired = required.includes(name);
    const type = typeOf(property, side, named);
    const member = `${memberName(name)}${isRequired ? '' : '?'}: ${type}`;
    return `${commentOf(property.description)}${member}${!isRequired && side === 'request' ? ' | undefined' : ''};`;
  });
  return `{\n${lines.join('\n')}\n}`;
}

function memberName(name: string): string {
  return /^\w+$/.test(name) ? name : JSON.stringify(name);
}

function union(types: readonly string[]): string {
  return [...new Set(types)].join(' | ');
}

export function nameIn(reference: string): string {
  return reference.replace('#/components/schemas/', '');
}

export function commentOf(text: string | undefined): string {
  if (text === undefined || text === '') return '';
  const lines = text.replaceAll('*/', '* /').split('\n');
  return lines.length === 1
    ? `/** ${lines[0]} */\n`
    : `/**\n${lines.map((line) => ` * ${line}`.trimEnd()).join('\n')}\n */\n`;
}

/** The codes of all errors. A later service can have others. */
export function errorCodesText(faults: readonly object[]): string {
  const codes = faults.map((fault) => JSON.stringify((fault as { readonly code: string }).code));
  return `/** The codes of errors that are known. A later version of the service can return others. */\nexport type ErrorCode = ${codes.join(' | ')};\n`;
}
