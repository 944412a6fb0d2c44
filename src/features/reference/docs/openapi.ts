/** The API's description, OpenAPI 3.1, generated from the operations, their schemas, and the table of errors. */

import Type, { type TSchema } from 'typebox';
import type { Documentation } from '../../../api/documentation.ts';
import type { Fields } from '../../../api/field.ts';
import { operations } from '../../../api/index.ts';
import type { Operation } from '../../../api/operation-route.ts';
import type { Scope } from '../../../core/stores/domain/store.ts';
import { pagePaths } from '../../../http/page-paths.ts';
import { problems } from '../../../http/problem.ts';
import { version } from '../../../platform/version.ts';
import { headerReferences, sharedErrors, type Response, type Responses } from './errors.ts';
import { guides } from './guides.ts';
import { headersOf, parametersOf, pathTemplateOf } from './operation.ts';
import { published } from './published.ts';
import { curlSampleOf } from './samples.ts';
import { objectNameOf, objects } from './schema.ts';
import { pageSchemas, servicePages } from './service-pages.ts';
import * as texts from './texts.ts';
import { eventSchemas, webhooks } from './webhooks.ts';

type OperationObject = {
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly parameters?: readonly texts.Parameter[];
  readonly requestBody?: object;
  readonly responses: Responses;
  readonly 'x-codeSamples'?: readonly {
    readonly lang: string;
    readonly label: string;
    readonly source: string;
  }[];
};
const jsonType = 'application/json';

type Method = 'get' | 'post' | 'put' | 'delete';
type Paths = Readonly<Record<string, { readonly [M in Method]?: OperationObject }>>;

export type OpenApiDocument = {
  readonly openapi: string;
  readonly info: Readonly<Record<'title' | 'version' | 'summary' | 'description', string>> & {
    readonly license: object;
  };
  readonly externalDocs: Readonly<Record<'url' | 'description', string>>;
  readonly servers: readonly Readonly<Record<'url' | 'description', string>>[];
  readonly tags: readonly Readonly<Record<'name' | 'description', string>>[];
  readonly security: readonly [];
  readonly paths: Paths;
  readonly webhooks: typeof webhooks;
  readonly components: {
    readonly responses: Readonly<Record<string, Response>>;
    readonly schemas: Readonly<Record<string, object>>;
    readonly securitySchemes: Readonly<Record<string, object>>;
    readonly headers: Readonly<Record<string, object>>;
  };
  readonly 'x-faults': readonly object[];
};

/**
 * The description of a service at `basePath`.
 * @param origin the scheme and host that clients use; empty if unknown.
 */
export function openApiDocument(basePath: string, origin: string): OpenApiDocument {
  return {
    openapi: '3.1.1',
    info: {
      title: 'Largesse',
      version,
      summary: 'Gift cards of a store: issue, retrieve, find, update.',
      description: descriptionAt(basePath),
      license: { name: 'MIT', identifier: 'MIT' },
    },
    externalDocs: { url: `${origin}${basePath}${pagePaths.reference}`, description: 'The API reference' },
    servers: [{ url: basePath === '' ? '/' : basePath, description: 'This service' }],
    tags: texts.tags,
    security: [],
    paths: { ...operationPaths(), ...pagePathItems() },
    webhooks,
    components: {
      responses: sharedErrors.components,
      schemas: {
        ...Object.fromEntries(
          Object.entries(objects).map(([name, schema]) => [name, published(schema, 'response')]),
        ),
        ...bodySchemas(),
        ...resultSchemas(),
        ...pageSchemas(),
        ...eventSchemas(),
      },
      securitySchemes: texts.securitySchemes,
      headers: texts.headers,
    },
    'x-faults': Object.entries(problems).map(([code, problem]) => ({ code, ...problem })),
  };
}

/** The introduction, with links to the guides of the reference. */
function descriptionAt(basePath: string): string {
  const links = guides.map(
    ({ name, title, note }) => `- [${title}](${basePath}${pagePaths.reference}/${name}): ${note}`,
  );
  return [texts.introduction, '## Guides', links.join('\n')].join('\n\n');
}

function operationPaths(): Paths {
  const paths: Record<string, Record<string, OperationObject>> = {};
  for (const operation of operations) {
    const path = pathTemplateOf(operation.path);
    paths[path] = { ...paths[path], [operation.method.toLowerCase()]: operationObject(operation) };
  }
  return paths;
}

function operationObject(operation: Operation): OperationObject {
  const { documentation } = operation;
  const { body } = documentation;
  return {
    operationId: operation.id,
    summary: documentation.summary,
    description: `${documentation.description}\n\n${scopesText(operation)}`,
    tags: [documentation.tag],
    security: securityOf(operation),
    parameters: parametersOf(operation).map((parameter) => ({
      ...parameter,
      schema: published(parameter.schema, 'request'),
    })),
    ...(body && { requestBody: requestBodyOf(body) }),
    responses: { ...successOf(operation), ...sharedErrors.references(operation.id) },
    'x-codeSamples': [{ lang: 'shell', label: 'curl', source: curlSampleOf(operation, '$BASE_URL') }],
  };
}

/** Each token header is enough for an operation; the signature alone only for a search, if the store allows it. */
function securityOf({ scopes, customerMaySearch }: Operation): Record<string, readonly string[]>[] {
  const schemes = scopes.flatMap((scope: Scope): Record<string, readonly string[]>[] => [
    { bearer: [scope] },
    { accessToken: [scope] },
    { gcfAccessToken: [scope] },
  ]);
  return customerMaySearch ? [...schemes, { appProxy: [] }] : schemes;
}

/** The scopes in words: generators show descriptions, and not the scopes of security schemes without OAuth. */
function scopesText({ scopes }: Operation): string {
  return `Scope: ${scopes.map((scope) => `\`${scope}\``).join(' or ')}.`;
}

/** The schemas of all request bodies, by their names. */
function bodySchemas(): Record<string, object> {
  const bodies = operations.flatMap(({ documentation: { body } }) => body ?? []);
  return Object.fromEntries(
    bodies.map(({ name, fields, description }) => [
      name,
      published(bodySchema(fields, description), 'request'),
    ]),
  );
}

function bodySchema(fields: Fields, description: string | undefined): TSchema {
  const properties = Object.entries(fields).map(([name, { schema, isRequired }]) => [
    name,
    isRequired ? schema : Type.Optional(schema),
  ]);
  return Type.Object(Object.fromEntries(properties) as Record<string, TSchema>, {
    additionalProperties: false,
    ...(description !== undefined && { description }),
  });
}

function requestBodyOf({ name, wrapper, fields, example }: NonNullable<Documentation['body']>): object {
  const schema = referenceTo(name);
  return {
    description: `Bare, as the schema shows, or wrapped in \`${wrapper}\`; never both. ${texts.formValues}`,
    required: Object.values(fields).some(({ isRequired }) => isRequired),
    content: { 'application/json': { schema, example }, 'application/x-www-form-urlencoded': { schema } },
  };
}

function successOf(operation: Operation): Responses {
  const { documentation } = operation;
  const { response, isConditional } = documentation;
  const { status, description, content, alternative } = response;
  const success = {
    description,
    headers: headerReferences(headersOf(documentation)),
    content: {
      ...('members' in content || content.type === jsonType
        ? { [jsonType]: { schema: referenceTo(resultNameOf(operation)), example: exampleOf(content) } }
        : textContent(content)),
      ...(alternative && textContent(alternative)),
    },
  };
  const unchanged = {
    description: 'The client has the current version: `If-None-Match` names it.',
    headers: headerReferences(['ETag', 'X-Request-Id']),
  };
  return {
    ...(documentation.repeated && { 200: repetitionOf(operation, documentation.repeated) }),
    [status]: success,
    ...(isConditional && { 304: unchanged }),
  };
}

function repetitionOf(
  operation: Operation,
  { example }: NonNullable<Documentation['repeated']>,
): Responses[string] {
  return {
    description: texts.repetition,
    headers: headerReferences(headersOf(operation.documentation)),
    content: { 'application/json': { schema: referenceTo(repetitionNameOf(operation)), example } },
  };
}

/** The example of JSON, which is an object, or the text of a streamed document. */
function exampleOf({ example }: Documentation['response']['content']): unknown {
  return typeof example === 'string' ? JSON.parse(example) : example;
}

function textContent({ type, example }: { readonly type: string; readonly example: string }): object {
  return { [type]: { schema: { type: 'string' }, example } };
}

/** The name of what an operation returns. Generators use names with `Response` themselves. */
function resultNameOf({ id }: Operation): string {
  return `${id.charAt(0).toUpperCase()}${id.slice(1)}Result`;
}

/** The name of what an operation returns for a repetition, which can lack members such as a code. */
function repetitionNameOf(operation: Operation): string {
  const { repeated, response } = operation.documentation;
  const isSame =
    'members' in response.content &&
    JSON.stringify(response.content.members) === JSON.stringify(repeated?.members);
  return isSame ? resultNameOf(operation) : resultNameOf(operation).replace(/Result$/, 'RepetitionResult');
}

function referenceTo(name: string): object {
  return { $ref: `#/components/schemas/${name}` };
}

/** The bodies of all successful responses, by their names. */
function resultSchemas(): Record<string, object> {
  const results = operations.flatMap((operation) => {
    const { response, repeated } = operation.documentation;
    const { content } = response;
    const isJson = 'members' in content || content.type === jsonType;
    // The members of a streamed document are in its description.
    const schema = 'members' in content ? membersSchema(content.members) : { type: 'object' };
    return [
      ...(isJson ? [[resultNameOf(operation), schema] as const] : []),
      ...(repeated ? [[repetitionNameOf(operation), membersSchema(repeated.members)] as const] : []),
    ];
  });
  return Object.fromEntries(results.map(([name, schema]) => [name, published(schema, 'response')]));
}

function membersSchema(members: Readonly<Record<string, TSchema>>): object {
  const properties = Object.entries(members).map(([name, schema]) => [name, referenced(schema)] as const);
  return { type: 'object', properties: Object.fromEntries(properties), required: Object.keys(members) };
}

/** A schema of components: a reference, a union of references, or a list of them. A value has its own schema. */
function referenced(schema: TSchema): object {
  const name = objectNameOf(schema);
  if (name !== undefined) return referenceTo(name);
  if (isValue(schema)) return schema;
  const { anyOf, items } = schema as { readonly anyOf?: readonly TSchema[]; readonly items?: TSchema };
  if (anyOf) return { anyOf: anyOf.map(referenced) };
  if (items) return { type: 'array', items: referenced(items) };
  throw new Error('a response has a schema that is not in components');
}

/** Whether a schema is that of a text, a number or null. */
function isValue(schema: TSchema): boolean {
  const {
    type,
    anyOf,
    enum: choices,
  } = schema as {
    readonly type?: string;
    readonly anyOf?: readonly TSchema[];
    readonly enum?: readonly unknown[];
  };
  if (anyOf) return anyOf.every(isValue);
  return choices !== undefined || (type !== undefined && type !== 'object' && type !== 'array');
}

function pagePathItems(): Paths {
  const names = Object.keys(servicePages) as (keyof typeof servicePages)[];
  return Object.fromEntries(
    names.map((name) => {
      const { summary, description, success, body } = servicePages[name];
      const content =
        'schema' in body
          ? { 'application/json': { schema: referenceTo(body.name) } }
          : { [body.type]: { schema: { type: 'string' } } };
      const responses = { 200: { description: success, content }, ...sharedErrors.references(name) };
      return [
        pagePaths[name],
        { get: { operationId: name, summary, description, tags: ['Service'], security: [], responses } },
      ];
    }),
  );
}
