/** The methods of the client library, from the operations of the OpenAPI document. */

import { clientMethods } from '../../src/features/reference/docs/client-methods.ts';
import type { OpenApiDocument } from '../../src/features/reference/docs/openapi.ts';
import { banner, commentOf, nameIn, typeOf, type Components, type Schema } from './types.ts';

type Paths = OpenApiDocument['paths'];

type Content = { readonly schema: Schema };

type Success = {
  readonly headers?: Readonly<Record<string, unknown>>;
  readonly content?: Readonly<Record<string, Content>>;
};

type Parameter = {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly description?: string;
  readonly schema: Schema;
};

/** An operation as the generator reads it. */
type Described = {
  readonly resource: string;
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly text: string;
  readonly parameters: readonly Parameter[];
  /** The schema of the body, and whether it must be sent; undefined: it has no parameters. */
  readonly body: { readonly name: string; readonly isRequired: boolean } | undefined;
  /** Successes with a body. */
  readonly successes: readonly Success[];
};

const isWrite = ({ parameters }: Described): boolean =>
  parameters.some(({ name }) => name === 'Idempotency-Key');
const isConditional = ({ parameters }: Described): boolean =>
  parameters.some(({ name }) => name === 'If-Match');
const isStream = ({ successes }: Described): boolean =>
  successes.some(({ content }) => content?.['text/event-stream']);
const isList = ({ successes }: Described): boolean => successes.some(({ headers = {} }) => 'Link' in headers);

/** The parameters of the query that a caller names. `dry_run` is an option of writes. */
function queryOf({ parameters }: Described): readonly Parameter[] {
  return parameters.filter((parameter) => parameter.in === 'query' && parameter.name !== 'dry_run');
}

function describedIn(paths: Paths): readonly Described[] {
  return Object.entries(paths)
    .flatMap(([path, item]) =>
      Object.entries(item).map(([method, operation]): Described => {
        const { operationId, summary, description, parameters = [], responses, requestBody } = operation;
        const [resource = '', name = ''] =
          clientMethods[operationId as keyof typeof clientMethods].split('.');
        return {
          resource,
          name,
          method: method.toUpperCase(),
          path,
          text: `${summary}. \`${method.toUpperCase()} ${path}\`\n\n${description}`,
          parameters: parameters as unknown as readonly Parameter[],
          body: bodyOf(requestBody),
          successes: Object.entries(responses)
            .filter(([status]) => Number(status) < 300)
            // The documented status first, and then that of a repetition.
            .toSorted(([one], [other]) => Number(other) - Number(one))
            .map(([, response]) => response as Success),
        };
      }),
    )
    .toSorted((one, other) => placeOf(one) - placeOf(other));
}

/** Methods have the order of their table, by resources. */
function placeOf({ resource, name }: Described): number {
  return (Object.values(clientMethods) as readonly string[]).indexOf(`${resource}.${name}`);
}

function bodyOf(requestBody: object | undefined): Described['body'] {
  if (!requestBody) return undefined;
  const { required, content } = requestBody as {
    readonly required: boolean;
    readonly content: Readonly<Record<string, Content>>;
  };
  const name = nameIn(content['application/json']?.schema.$ref ?? '');
  return name === 'Nothing' ? undefined : { name, isRequired: required };
}

/** `resources.ts`: the methods with their types. */
export function resourcesText(paths: Paths, { schemas }: Components): string {
  const all = describedIn(paths);
  const resources = Object.entries(Object.groupBy(all, ({ resource }) => resource)).map(
    ([resource, operations = []]) =>
      `readonly ${resource}: {\n${operations.map((one) => methodText(one, schemas)).join('\n\n')}\n};`,
  );
  const queries = all.flatMap((operation) => {
    const parameters = queryOf(operation);
    const isSent = parameters.length > 0;
    return isSent ? [`export interface ${queryNameOf(operation)} {\n${queryLines(parameters)}\n}`] : [];
  });
  const imports = `import type { EventStream, StreamOptions } from '../event-stream.ts';
import type { List } from '../list.ts';
import type { ConditionalWriteOptions, RequestOptions, WriteOptions } from '../options.ts';
import type * as t from './types.ts';`;
  return `${banner}\n\n${imports}\n\n${queries.join('\n\n')}\n\nexport interface Resources {\n${resources.join('\n\n')}\n}\n`;
}

function queryLines(parameters: readonly Parameter[]): string {
  const lines = parameters.map(({ name, required = false, description, schema }) => {
    const type = `${typeOf(schema, 'request')}${required ? '' : ' | undefined'}`;
    return `${commentOf(description)}${name}${required ? '' : '?'}: ${type};`;
  });
  return lines.join('\n');
}

function queryNameOf({ resource, name }: Described): string {
  return `${capitalized(resource)}${capitalized(name)}Query`;
}

function capitalized(word: string): string {
  return `${word.charAt(0).toUpperCase()}${word.slice(1)}`;
}

/** A method: the ids of its path, what it sends, and its options. Its overloads return other forms. */
function methodText(operation: Described, schemas: Components['schemas']): string {
  const comment = commentOf(operation.text);
  const ids = operation.parameters
    .filter((parameter) => parameter.in === 'path')
    .map(
      ({ name, schema }) =>
        `${camelCase(name)}: ${typeOf(schema, 'request').replace('string', '`external:${string}`')}`,
    );
  const options = `options?: ${optionsOf(operation)}`;
  const signature = (input: readonly string[], result: string): string =>
    `${comment}${operation.name}(${[...ids, ...input, options].join(', ')}): ${result};`;
  const { body } = operation;
  const types = resultTypes(operation);
  if (body) {
    const parameter = `body${body.isRequired ? '' : '?'}: t.${body.name}`;
    const [first = '', repetition] = types;
    if (repetition === undefined) return signature([parameter], `Promise<${first}>`);
    return [
      // Only a creation with an external id can be a repetition, which has no code.
      signature([`body: t.${body.name} & { external_id?: null | undefined }`], `Promise<${first}>`),
      signature([parameter], `Promise<${first} | ${repetition}>`),
    ].join('\n');
  }
  const query = queryOf(operation);
  if (query.length === 0) return signature([], `Promise<${types.join(' | ')}>`);
  const isRequired = query.some(({ required }) => required);
  const parameter = `query${isRequired ? '' : '?'}: ${queryNameOf(operation)}`;
  if (isStream(operation)) return signature([parameter], 'EventStream');
  const [type = ''] = types;
  const result = isList(operation) ? listType(type, schemas) : `Promise<${type}>`;
  if (query.some(({ name }) => name === 'fields'))
    return [
      // All fields are present, unless the query names some.
      signature([`${parameter} & { fields?: undefined }`], wholeListType(type, schemas)),
      signature([parameter], result),
    ].join('\n');
  if (!operation.successes.some(({ content }) => content?.['text/csv']))
    return signature([parameter], result);
  return [
    signature([`query: ${queryNameOf(operation)} & { format: 'csv' }`], 'Promise<string>'),
    signature([`${parameter} & { format?: 'json' | undefined }`], result),
  ].join('\n');
}

function listType(page: string, schemas: Components['schemas']): string {
  const [, { $ref = '' }] = listIn(schemas[page.replace('t.', '')]);
  return `List<${page}, t.${nameIn($ref)}>`;
}

function wholeListType(page: string, schemas: Components['schemas']): string {
  const [member, { $ref = '' }] = listIn(schemas[page.replace('t.', '')]);
  const record = `Required<t.${nameIn($ref)}>`;
  return `List<Omit<${page}, '${member}'> & { ${member}: ${record}[] }, ${record}>`;
}

function camelCase(name: string): string {
  return name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

function optionsOf(operation: Described): string {
  if (isStream(operation)) return 'StreamOptions';
  if (isConditional(operation)) return 'ConditionalWriteOptions';
  return isWrite(operation) ? 'WriteOptions' : 'RequestOptions';
}

/** The types of the bodies of successes, each once: JSON if there is another form. */
function resultTypes({ successes }: Described): readonly string[] {
  const types = successes.map(({ content = {} }) => {
    const json = content['application/json'];
    return json ? `t.${nameIn(json.schema.$ref ?? '')}` : 'string';
  });
  return [...new Set(types)];
}

/** The member of a page that lists its records, and their schema. */
function listIn(page: Schema | undefined): readonly [name: string, items: Schema] {
  for (const [name, { type, items }] of Object.entries(page?.properties ?? {}))
    if (type === 'array' && items) return [name, items];
  throw new Error('a page has no list');
}

/** `methods.ts`: what a method sends at run time. */
export function methodsText(paths: Paths, { schemas }: Components): string {
  const lines = describedIn(paths).map((operation) => {
    const { resource, name, method, path, body } = operation;
    const [type = ''] = resultTypes(operation);
    const input = queryOf(operation).length > 0 ? 'query' : undefined;
    const sent = body ? 'body' : input;
    const facts = {
      method,
      path,
      ...(sent && { input: sent }),
      ...(isWrite(operation) && { isWrite: true }),
      ...(isList(operation) && { items: listIn(schemas[type.replace('t.', '')])[0] }),
      ...(isStream(operation) && { isStream: true }),
    };
    return `'${resource}.${name}': ${JSON.stringify(facts)},`;
  });
  return `${banner}

/** The request of a method. */
export type Method = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly path: string;
  /** The argument after the ids of the path. */
  readonly input?: 'body' | 'query';
  /** Whether it takes an \`Idempotency-Key\`. */
  readonly isWrite?: true;
  /** The member of a page that lists its records. */
  readonly items?: string;
  readonly isStream?: true;
};

export const methods = {
${lines.join('\n')}
} as const satisfies Readonly<Record<string, Method>>;
`;
}
