/**
 * The API's description, OpenAPI 3.1, made from what serves it: the routes, the schemas that
 * validate, and the table of problems.
 */

import Type, { type TSchema } from 'typebox';
import type { FaultCode } from '../domain/fault.ts';
import type { Scope } from '../domain/store.ts';
import * as parameters from './parameters.ts';
import { problemPath, problems } from './problem.ts';
import { giftCardSchema, issuedGiftCardSchema, problemSchema, wrapped } from './schemas.ts';
import { operations, pagePaths, type Operation } from './routes.ts';
import type { OpenApiDocument } from './reference/reference.ts';
import * as texts from './openapi-texts.ts';

type Responses = NonNullable<NonNullable<NonNullable<OpenApiDocument['paths']>[string]['get']>['responses']>;

/** What any operation may answer besides its own: refused before a handler sees the request, or failed. */
const everywhere: readonly FaultCode[] = [
  'invalid-request', 'invalid-query', 'unauthenticated', 'invalid-signature', 'insufficient-scope', 'cross-site-request',
  'request-timeout', 'expectation-failed', 'too-many-requests', 'headers-too-large', 'internal-error', 'overloaded',
  'unavailable', 'closing',
]; // prettier-ignore

const ofWrites: readonly FaultCode[] = [
  'invalid-body', 'invalid-idempotency-key', 'idempotency-key-in-use', 'body-too-large', 'unsupported-media-type',
  'invalid-parameter', 'idempotency-key-reused',
]; // prettier-ignore

const faultsOf: Readonly<Record<Operation['id'], readonly FaultCode[]>> = {
  createGiftCard: ofWrites,
  searchGiftCard: ['not-found', 'invalid-parameter', 'too-many-misses'],
  retrieveGiftCard: ['not-found'],
  updateGiftCard: [...ofWrites, 'not-found', 'precondition-failed'],
};

const creation = {
  initial_value: parameters.initialValue,
  expires_on: parameters.expiresOnOrLater,
  email: parameters.email,
  recipient_email: parameters.recipientEmail,
  note: parameters.note,
  message: parameters.message,
  code: parameters.code,
  currency: parameters.currency,
};

const changes = {
  disable: parameters.disable,
  balance: parameters.balance,
  expires_on: parameters.expiresOn,
  note: parameters.note,
};

/** The description for a service that is reached at `basePath`. */
export function openApiDocument(basePath: string): OpenApiDocument {
  return {
    openapi: '3.1.1',
    info: {
      title: 'Largesse',
      version: texts.version,
      summary: 'Gift cards of a store: issue, retrieve, find, update.',
      description: texts.introduction,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    externalDocs: { url: 'openapi.json', description: 'This description as OpenAPI 3.1' },
    servers: [{ url: basePath === '' ? '/' : basePath, description: 'This service' }],
    tags: [
      { name: 'Gift cards', description: texts.giftCards },
      { name: 'Service', description: texts.service },
    ],
    security: [],
    paths: { ...operationPaths(), ...pages() },
    components: {
      schemas: {
        GiftCard: giftCardSchema,
        IssuedGiftCard: issuedGiftCardSchema,
        CreateGiftCard: bodySchema(creation, ['initial_value']),
        UpdateGiftCard: { ...bodySchema(changes, []), description: texts.updateBody },
        Problem: problemSchema,
      },
      securitySchemes: texts.securitySchemes,
      headers: texts.headers,
    },
    'x-faults': Object.entries(problems).map(([code, problem]) => ({ code, ...problem })),
  };
}

function bodySchema(
  given: Readonly<Record<string, { readonly schema: TSchema }>>,
  required: readonly string[],
): TSchema {
  const properties = Object.fromEntries(
    Object.entries(given).map(([name, { schema }]) => [
      name,
      required.includes(name) ? schema : Type.Optional(schema),
    ]),
  );
  return Type.Object(properties, { additionalProperties: false });
}

function operationPaths(): NonNullable<OpenApiDocument['paths']> {
  const paths: Record<string, Record<string, object>> = {};
  for (const operation of operations) {
    const path = operation.path.replaceAll(/:([a-z_]+)/g, '{$1}');
    paths[path] = { ...paths[path], [operation.method.toLowerCase()]: describe(operation) };
  }
  return paths;
}

function describe(operation: Operation): object {
  const { summary, description, samples } = texts.operations[operation.id];
  return {
    operationId: operation.id,
    summary,
    description,
    tags: ['Gift cards'],
    security: securityOf(operation.scope, operation.customerMaySearch),
    parameters: parametersOf(operation),
    ...(operation.method !== 'GET' && { requestBody: requestBodyOf(operation) }),
    responses: { ...successOf(operation), ...refusals([...everywhere, ...faultsOf[operation.id]]) },
    'x-codeSamples': samples,
  };
}

/** Each token header opens an operation by itself; the signature alone only a search, where the store allows it. */
function securityOf(scope: Scope, customerMaySearch: boolean): Record<string, readonly string[]>[] {
  const ways: Record<string, readonly string[]>[] = [
    { bearer: [scope] },
    { accessToken: [scope] },
    { gcfAccessToken: [scope] },
  ];
  return customerMaySearch ? [...ways, { appProxy: [] }] : ways;
}

function parametersOf({ id, method }: Operation): object[] {
  const isOfOneCard = id === 'retrieveGiftCard' || id === 'updateGiftCard';
  return [
    ...(isOfOneCard ? [texts.parameters.giftCardId] : []),
    ...(id === 'searchGiftCard'
      ? [
          {
            name: 'last_characters',
            in: 'query',
            required: true,
            schema: parameters.searchedCharacters.schema,
          },
          { name: 'email', in: 'query', required: true, schema: parameters.searchedEmail.schema },
        ]
      : []),
    ...(method === 'GET' ? [texts.parameters.ifNoneMatch] : [texts.parameters.idempotencyKey]),
    ...(id === 'updateGiftCard' ? [texts.parameters.ifMatch] : []),
    texts.parameters.requestId,
  ];
}

function requestBodyOf({ id }: Operation): object {
  const reference = {
    $ref: `#/components/schemas/${id === 'createGiftCard' ? 'CreateGiftCard' : 'UpdateGiftCard'}`,
  };
  const schema = {
    anyOf: [
      reference,
      {
        type: 'object',
        properties: { gift_card: reference },
        required: ['gift_card'],
        additionalProperties: false,
      },
    ],
  };
  return {
    description: texts.body,
    required: id === 'createGiftCard',
    content: {
      'application/json': { schema, example: texts.examples[id] },
      'application/x-www-form-urlencoded': { schema },
    },
  };
}

function successOf({ id, method }: Operation): Responses {
  const isCreation = id === 'createGiftCard';
  const names = [
    'ETag',
    'Cache-Control',
    'X-Request-Id',
    'RateLimit',
    'RateLimit-Policy',
    ...(isCreation ? ['Location'] : []),
    ...(method === 'GET' ? [] : ['Idempotent-Replayed']),
  ];
  const schema = wrapped(isCreation ? 'IssuedGiftCard' : 'GiftCard');
  const example = isCreation ? texts.examples.issued : texts.examples.record;
  const success = {
    description: isCreation ? 'The card was issued. Only this answer holds its code.' : 'The card.',
    headers: headerReferences(names),
    content: { 'application/json': { schema, example: { gift_card: example } } },
  };
  if (isCreation) return { 201: success };
  const unchanged = {
    description: 'The client has the card as it is: `If-None-Match` names its version.',
    headers: headerReferences(['ETag', 'X-Request-Id']),
  };
  return { 200: success, ...(method === 'GET' && { 304: unchanged }) };
}

function headerReferences(names: readonly string[]): Record<string, { readonly $ref: string }> {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

/** One response a status, naming every code it may come with. */
function refusals(codes: readonly FaultCode[]): Responses {
  const byStatus = Map.groupBy(new Set(codes), (code) => problems[code].status);
  return Object.fromEntries([...byStatus].map(([status, faults]) => [status, refusal(status, faults)]));
}

function refusal(status: number, codes: readonly FaultCode[]): Responses[string] {
  const names = ['X-Request-Id', ...texts.headersOfStatus(status)];
  return {
    description: codes.map((code) => `\`${code}\`: ${problems[code].detail}`).join(' '),
    headers: headerReferences(names),
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

function pages(): NonNullable<OpenApiDocument['paths']> {
  return Object.fromEntries(
    (['health', 'readiness', 'metrics', 'openapi'] as const).map((name) => {
      const { summary, description, success, type, faults } = texts.pages[name];
      const responses = {
        200: {
          description: success,
          content: {
            [type]: { schema: type === 'application/json' ? { type: 'object' } : { type: 'string' } },
          },
        },
        ...refusals([...faults, 'internal-error', 'closing']),
      };
      return [
        pagePaths[name],
        { get: { operationId: name, summary, description, tags: ['Service'], security: [], responses } },
      ];
    }),
  );
}
