/**
 * The API's description, OpenAPI 3.1, made from what serves it: the routes, the schemas that
 * validate, and the table of problems.
 */

import type { FaultCode } from '../domain/fault.ts';
import type { Scope } from '../domain/store.ts';
import { bodySchemas, describe as describeOperation, type Description } from './openapi-operations.ts';
import * as texts from './openapi-texts.ts';
import { problemPath, problems } from './problem.ts';
import type { OpenApiDocument } from './reference/reference.ts';
import { guessableIds } from './reading.ts';
import { operations, pagePaths, searches, type Operation } from './routes.ts';
import * as schemas from './schemas.ts';
import * as webhookSchemas from './schemas-webhooks.ts';
import { version } from '../version.ts';

type Responses = NonNullable<NonNullable<NonNullable<OpenApiDocument['paths']>[string]['get']>['responses']>;

/** What any operation may answer besides its own: refused before a handler sees the request, or failed. */
const everywhere: readonly FaultCode[] = [
  'invalid-request', 'invalid-query', 'unauthenticated', 'invalid-signature', 'insufficient-scope', 'cross-site-request',
  'request-timeout', 'expectation-failed', 'too-many-requests', 'headers-too-large', 'internal-error', 'overloaded',
  'unavailable', 'not-writable', 'closing',
]; // prettier-ignore

/** What a page that needs no credential may be answered. */
const ofPages: readonly FaultCode[] = [
  'invalid-request', 'request-timeout', 'expectation-failed', 'headers-too-large', 'internal-error', 'closing',
]; // prettier-ignore

/** What a request with a body may be answered. */
const ofBodies: readonly FaultCode[] = [
  'invalid-body', 'body-too-large', 'unsupported-media-type', 'invalid-parameter',
]; // prettier-ignore

/** What a request that may carry an idempotency key may be answered. */
const ofKeys: readonly FaultCode[] = [
  'invalid-idempotency-key',
  'idempotency-key-in-use',
  'idempotency-key-reused',
];

/** The description for a service that is reached at `basePath`. */
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
    paths: { ...operationPaths(), ...pages() },
    components: {
      schemas: {
        GiftCard: schemas.giftCardSchema,
        IssuedGiftCard: schemas.issuedGiftCardSchema,
        SpendableGiftCard: schemas.spendableGiftCardSchema,
        TillGiftCard: schemas.tillGiftCardSchema,
        GiftCardBalance: schemas.balanceSchema,
        Transaction: schemas.transactionSchema,
        Hold: schemas.holdSchema,
        Customer: schemas.customerSchema,
        MailDelivery: schemas.deliverySchema,
        Event: webhookSchemas.eventSchema,
        Webhook: webhookSchemas.webhookSchema,
        WebhookWithSecret: webhookSchemas.webhookWithSecretSchema,
        Delivery: webhookSchemas.deliverySchema,
        LoggedDelivery: webhookSchemas.loggedDeliverySchema,
        ...bodySchemas,
        Problem: schemas.problemSchema,
      },
      securitySchemes: texts.securitySchemes,
      headers: texts.headers,
    },
    'x-faults': Object.entries(problems).map(([code, problem]) => ({ code, ...problem })),
  };
}

function operationPaths(): NonNullable<OpenApiDocument['paths']> {
  const paths: Record<string, Record<string, object>> = {};
  for (const operation of operations) {
    const path = operation.path.replaceAll(/:([a-z_]+)/g, '{$1}');
    paths[path] = { ...paths[path], [operation.method.toLowerCase()]: operationObject(operation) };
  }
  return paths;
}

function operationObject(operation: Operation): object {
  const described = describeOperation(operation.id);
  const faults = [
    ...everywhere,
    ...(described.body ? ofBodies : []),
    ...(takesKeys(operation) ? ofKeys : []),
    ...(isThrottled(operation) ? (['too-many-misses'] as const) : []),
    ...described.faults,
  ];
  return {
    operationId: operation.id,
    summary: described.summary,
    description: described.description,
    tags: [described.tag],
    security: securityOf(operation),
    parameters: parametersOf(operation, described),
    ...(described.body && { requestBody: requestBodyOf(described.body) }),
    responses: { ...successOf(operation, described), ...refusals(faults) },
    'x-codeSamples': [{ lang: 'shell', label: 'curl', source: described.sample }],
  };
}

/** Whether a failed lookup of the operation counts in the caller's budget. */
function isThrottled({ id, path }: Operation): boolean {
  return (
    searches.has(id) || id === 'createGiftCard' || guessableIds.some((name) => path.includes(`:${name}`))
  );
}

/** Whether a request may carry an idempotency key and be rehearsed: whether it writes. */
function takesKeys({ query }: Operation): boolean {
  return query.includes('dry_run');
}

/** Each token header opens an operation by itself; the signature alone only a search, where the store allows it. */
function securityOf({ scopes, customerMaySearch }: Operation): Record<string, readonly string[]>[] {
  const ways = scopes.flatMap((scope: Scope): Record<string, readonly string[]>[] => [
    { bearer: [scope] },
    { accessToken: [scope] },
    { gcfAccessToken: [scope] },
  ]);
  return customerMaySearch ? [...ways, { appProxy: [] }] : ways;
}

function parametersOf(operation: Operation, { parameters }: Description): object[] {
  const inPath = [...operation.path.matchAll(/:([a-z_]+)/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    description: texts.pathParameters[name],
    schema: { type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER },
    example: texts.ids[name],
  }));
  return [
    ...inPath,
    ...parameters,
    ...(takesKeys(operation) ? [texts.parameters.dryRun, texts.parameters.idempotencyKey] : []),
    texts.parameters.requestId,
  ];
}

function requestBodyOf({
  schema: name,
  wrapper,
  example,
  isRequired,
}: NonNullable<Description['body']>): object {
  const reference = { $ref: `#/components/schemas/${name}` };
  const schema = {
    anyOf: [
      reference,
      {
        type: 'object',
        properties: { [wrapper]: reference },
        required: [wrapper],
        additionalProperties: false,
      },
    ],
  };
  return {
    description: `Bare, or wrapped in \`${wrapper}\`; never both. ${texts.formValues}`,
    required: isRequired,
    content: {
      'application/json': { schema, example },
      'application/x-www-form-urlencoded': { schema },
    },
  };
}

function successOf(operation: Operation, { success }: Description): Responses {
  const names = [
    'Cache-Control',
    'X-Request-Id',
    'RateLimit',
    'RateLimit-Policy',
    ...success.headers,
    ...(takesKeys(operation) ? ['Idempotent-Replayed', 'Dry-Run'] : []),
  ];
  const answered = {
    description: success.description,
    headers: headerReferences(names),
    content: { [success.type ?? 'application/json']: { schema: success.schema, example: success.example } },
  };
  const unchanged = {
    description: 'The client has it as it is: `If-None-Match` names its version.',
    headers: headerReferences(['ETag', 'X-Request-Id']),
  };
  return { [success.status]: answered, ...(success.isConditional && { 304: unchanged }) };
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
        ...refusals([...faults, ...ofPages]),
      };
      return [
        pagePaths[name],
        { get: { operationId: name, summary, description, tags: ['Service'], security: [], responses } },
      ];
    }),
  );
}
