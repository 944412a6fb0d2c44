/** The API's description, OpenAPI 3.1, generated from the operations, their schemas, and the table of errors. */

import Type, { type TSchema } from 'typebox';
import type { Documentation } from '../api/documentation.ts';
import type { Field, Fields } from '../api/field.ts';
import { operations } from '../api/index.ts';
import type { Operation } from '../api/operation.ts';
import { idNamesIn, pathIds } from '../api/path.ts';
import * as schemas from '../api/schemas.ts';
import type { FaultCode } from '../domain/fault.ts';
import type { Scope } from '../domain/store.ts';
import { pagePaths } from '../http/page-paths.ts';
import { problemPath, problems } from '../http/problem.ts';
import type { OpenApiDocument } from '../http/reference/reference.ts';
import { version } from '../version.ts';
import * as texts from './texts.ts';

type Paths = NonNullable<OpenApiDocument['paths']>;
type Responses = NonNullable<NonNullable<Paths[string]['get']>['responses']>;
type Response = Responses[string];

/** The errors of every operation: from checks before its script, or because the service fails. */
const everywhere: readonly FaultCode[] = [
  'invalid-request', 'invalid-query', 'unauthenticated', 'invalid-signature', 'insufficient-scope', 'cross-site-request',
  'request-timeout', 'expectation-failed', 'too-many-requests', 'headers-too-large', 'internal-error', 'overloaded',
  'unavailable', 'not-writable', 'closing',
]; // prettier-ignore

/** The errors of a page that needs no credential. */
const ofPages: readonly FaultCode[] = [
  'invalid-request', 'request-timeout', 'expectation-failed', 'headers-too-large', 'internal-error', 'closing',
]; // prettier-ignore

/** The errors of a request with a body. */
const ofBodies: readonly FaultCode[] = [
  'invalid-body', 'body-too-large', 'unsupported-media-type', 'invalid-parameter',
]; // prettier-ignore

/** The errors of a request that can have an idempotency key. */
const ofWrites: readonly FaultCode[] = [
  'invalid-idempotency-key',
  'idempotency-key-in-use',
  'idempotency-key-reused',
];

/** The description of a service at `basePath`. */
export function openApiDocument(basePath: string): OpenApiDocument {
  return {
    openapi: '3.1.1',
    info: {
      title: 'Largesse',
      version,
      summary: 'Gift cards of a store: issue, retrieve, find, update.',
      description: texts.introduction,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    externalDocs: { url: 'openapi.json', description: 'This description as OpenAPI 3.1' },
    servers: [{ url: basePath === '' ? '/' : basePath, description: 'This service' }],
    tags: texts.tags,
    security: [],
    paths: { ...operationPaths(), ...pagePathItems() },
    components: {
      responses: sharedErrors.components,
      schemas: { ...schemas.components, ...bodySchemas(), Problem: schemas.problemSchema },
      securitySchemes: texts.securitySchemes,
      headers: texts.headers,
    },
    'x-faults': Object.entries(problems).map(([code, problem]) => ({ code, ...problem })),
  };
}

function operationPaths(): Paths {
  const paths: Record<string, Record<string, object>> = {};
  for (const operation of operations) {
    const path = operation.path.replaceAll(/:([a-z_]+)/g, '{$1}');
    paths[path] = { ...paths[path], [operation.method.toLowerCase()]: operationObject(operation) };
  }
  return paths;
}

function operationObject(operation: Operation): object {
  const { documentation } = operation;
  const { body } = documentation;
  return {
    operationId: operation.id,
    summary: documentation.summary,
    description: documentation.description,
    tags: [documentation.tag],
    security: securityOf(operation),
    parameters: parametersOf(operation),
    ...(body && { requestBody: requestBodyOf(body) }),
    responses: { ...successOf(documentation), ...sharedErrors.references(operation.id) },
    'x-codeSamples': [{ lang: 'shell', label: 'curl', source: sampleOf(operation) }],
  };
}

/** The errors of an operation. */
function errorsOf({ body, isWrite, isThrottled, errors: own }: Documentation): readonly FaultCode[] {
  return [
    ...everywhere,
    ...(body ? ofBodies : []),
    ...(isWrite ? ofWrites : []),
    ...(isThrottled ? (['too-many-misses'] as const) : []),
    ...own,
  ];
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

function parametersOf({ path, documentation }: Operation): object[] {
  const { query, errors, isConditional, isWrite, takesLastEventId } = documentation;
  const inPath = idNamesIn(path).map((name) => ({
    name,
    in: 'path',
    required: true,
    description: pathIds[name].description,
    schema: { type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER },
    example: pathIds[name].example,
  }));
  return [
    ...inPath,
    ...Object.entries(query).map(([name, field]) => queryParameter(name, field)),
    ...(takesLastEventId ? [texts.parameters.lastEventId] : []),
    ...(isConditional ? [texts.parameters.ifNoneMatch] : []),
    ...(errors.includes('precondition-failed') ? [texts.parameters.ifMatch] : []),
    ...(isWrite ? [texts.parameters.dryRun, texts.parameters.idempotencyKey] : []),
    texts.parameters.requestId,
  ];
}

function queryParameter(name: string, { schema, isRequired }: Field<unknown>): object {
  const { description, ...rest } = schema as { readonly description?: string };
  return { name, in: 'query', ...(isRequired && { required: true }), description, schema: rest };
}

/** The schemas of all request bodies, by their names. */
function bodySchemas(): Record<string, TSchema> {
  const bodies = operations.flatMap(({ documentation: { body } }) => body ?? []);
  return Object.fromEntries(
    bodies.map(({ name, fields, description }) => [name, bodySchema(fields, description)]),
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
  const reference = { $ref: `#/components/schemas/${name}` };
  const schema = { anyOf: [reference, closedObject({ [wrapper]: reference })] };
  return {
    description: `Bare, or wrapped in \`${wrapper}\`; never both. ${texts.formValues}`,
    required: Object.values(fields).some(({ isRequired }) => isRequired),
    content: {
      'application/json': { schema, example },
      'application/x-www-form-urlencoded': { schema },
    },
  };
}

function closedObject(properties: Readonly<Record<string, object>>): object {
  return { type: 'object', properties, required: Object.keys(properties), additionalProperties: false };
}

function successOf({ response, isWrite, isConditional }: Documentation): Responses {
  const { status, description, headers, content } = response;
  const names = [
    'Cache-Control',
    'X-Request-Id',
    'RateLimit',
    'RateLimit-Policy',
    ...headers,
    ...(isWrite ? ['Idempotent-Replayed', 'Dry-Run'] : []),
  ];
  const success = {
    description,
    headers: headerReferences(names),
    content:
      'members' in content
        ? { 'application/json': { schema: membersSchema(content.members), example: content.example } }
        : { [content.type]: { schema: { type: 'string' }, example: content.example } },
  };
  const unchanged = {
    description: 'The client has the current version: `If-None-Match` names it.',
    headers: headerReferences(['ETag', 'X-Request-Id']),
  };
  return { [status]: success, ...(isConditional && { 304: unchanged }) };
}

function membersSchema(members: Readonly<Record<string, TSchema>>): object {
  return closedObject(
    Object.fromEntries(Object.entries(members).map(([name, schema]) => [name, referenced(schema)])),
  );
}

const schemaNames = new Map(Object.entries(schemas.components).map(([name, schema]) => [schema, name]));

/** A schema of components: a reference, a union of references, or a list of them. */
function referenced(schema: TSchema): object {
  const name = schemaNames.get(schema);
  if (name !== undefined) return { $ref: `#/components/schemas/${name}` };
  const { anyOf, items } = schema as { readonly anyOf?: readonly TSchema[]; readonly items?: TSchema };
  if (anyOf) return { anyOf: anyOf.map(referenced) };
  if (items) return { type: 'array', items: referenced(items) };
  throw new Error('a response has a schema that is not in components');
}

function headerReferences(headers: readonly string[]): Record<string, { readonly $ref: string }> {
  return Object.fromEntries(headers.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

type ErrorResponses = {
  /** Each different response once, by its name. */
  readonly components: Record<string, Response>;
  /** References to the responses of an operation or page, by their statuses. */
  readonly references: (id: string) => Responses;
};

/**
 * One response per status, with every code that it can have. The most frequent response of a status is named after the
 * status; the names of the others include the first operation or page that has it.
 */
function errorResponses(codesOf: Readonly<Record<string, readonly FaultCode[]>>): ErrorResponses {
  const uses = Object.entries(codesOf).flatMap(([id, codes]) =>
    [...Map.groupBy(new Set(codes), (code) => problems[code].status)].map(([status, ofStatus]) => ({
      id,
      status,
      codes: ofStatus,
      key: ofStatus.toSorted().join(' '),
    })),
  );
  const names = new Map<string, string>();
  const components: Record<string, Response> = {};
  for (const [status, ofStatus] of Map.groupBy(uses, (use) => use.status)) {
    const byKey = [...Map.groupBy(ofStatus, (use) => use.key).values()];
    for (const [index, [first]] of byKey.toSorted((left, right) => right.length - left.length).entries()) {
      if (!first) continue;
      const title = problems[first.codes[0] ?? 'internal-error'].title.replaceAll(' ', '');
      const name =
        index === 0 ? title : `${title}For${first.id.replace(/^./, (letter) => letter.toUpperCase())}`;
      names.set(first.key, name);
      components[name] = errorResponse(status, first.codes);
    }
  }
  return {
    components,
    references: (id) =>
      Object.fromEntries(
        uses
          .filter((use) => use.id === id)
          .map(({ status, key }) => [status, { $ref: `#/components/responses/${names.get(key)}` }]),
      ),
  };
}

function errorResponse(status: number, codes: readonly FaultCode[]): Response {
  return {
    description: codes.map((code) => `\`${code}\`: ${problems[code].detail}`).join(' '),
    headers: headerReferences(['X-Request-Id', ...texts.headersOfStatus(status)]),
    content: {
      'application/problem+json': {
        schema: { $ref: '#/components/schemas/Problem' },
        examples: Object.fromEntries(
          codes.map((code) => [code, { summary: problems[code].detail, value: exampleOf(code) }]),
        ),
      },
    },
    'x-faults': codes,
  };
}

function exampleOf(code: FaultCode): object {
  const { status, title, detail } = problems[code];
  const errors = code === 'invalid-parameter' ? { initial_value: ['must be greater than 0'] } : title;
  return { type: problemPath(code), title, status, detail, errors, request_id: texts.requestIdExample };
}

/** The request of the documented example as a curl command. */
function sampleOf({ method, path, documentation: { body, sample } }: Operation): string {
  const place = path.replaceAll(/:([a-z_]+)/g, (_, name: keyof typeof pathIds) =>
    String(pathIds[name].example),
  );
  const { query, idempotencyKey } = sample;
  const isBodyShown = body && Object.keys(body.fields).length > 0;
  const sent = sample.body === undefined && isBodyShown ? body.example : sample.body;
  return [
    `curl ${method === 'GET' ? '' : `-X ${method} `}"$BASE_URL${place}${query === undefined ? '' : `?${query}`}"`,
    '-H "Authorization: Bearer $TOKEN"',
    ...(idempotencyKey === undefined ? [] : [`-H "Idempotency-Key: ${idempotencyKey}"`]),
    ...(sent ? ['-H "Content-Type: application/json"', `-d '${spaced(sent)}'`] : []),
  ].join(' \\\n  ');
}

/** JSON on one line, with spaces between its parts. */
function spaced(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(spaced).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}: ${spaced(member)}`);
  return `{${members.join(', ')}}`;
}

const documentedPages = ['health', 'readiness', 'metrics', 'openapi'] as const;

function pagePathItems(): Paths {
  return Object.fromEntries(
    documentedPages.map((name) => {
      const { summary, description, success, type } = texts.pages[name];
      const responses = {
        200: {
          description: success,
          content: {
            [type]: { schema: type === 'application/json' ? { type: 'object' } : { type: 'string' } },
          },
        },
        ...sharedErrors.references(name),
      };
      return [
        pagePaths[name],
        { get: { operationId: name, summary, description, tags: ['Service'], security: [], responses } },
      ];
    }),
  );
}

const sharedErrors = errorResponses(
  Object.fromEntries<readonly FaultCode[]>([
    ...operations.map(({ id, documentation }) => [id, errorsOf(documentation)] as const),
    ...documentedPages.map((name) => [name, [...texts.pages[name].errors, ...ofPages]] as const),
  ]),
);
