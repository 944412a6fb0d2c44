import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { createConfig, lintFromString, type NormalizedProblem } from '@redocly/openapi-core';
import type { TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import { customerRecordOf } from '../../src/domain/customer.ts';
import type { FaultCode } from '../../src/domain/fault.ts';
import {
  holdRecordOf,
  recordOf,
  balanceRecordOf,
  spendableRecordOf,
  tillRecordOf,
  transactionOf,
} from '../../src/domain/record.ts';
import { emailRecordOf } from '../../src/domain/email-record.ts';
import { eventJson } from '../../src/domain/event.ts';
import { eventTypes } from '../../src/domain/event-type.ts';
import type { Delivery, Webhook } from '../../src/domain/webhook.ts';
import { attemptRecordOf, deliveryRecordOf, webhookRecordOf } from '../../src/domain/webhook-record.ts';
import { openApiDocument } from '../../src/docs/openapi.ts';
import { readOnlyFields as claimableFields } from '../../src/api/cards.ts';
import * as parameters from '../../src/api/fields.ts';
import { problems } from '../../src/http/problem.ts';
import type { OpenApiDocument } from '../../src/http/reference/reference.ts';
import { operations, type OperationId } from '../../src/api/index.ts';
import { pagePaths } from '../../src/http/page-paths.ts';
import { amount, cardWith, holdWith, emailWith, transferWith, sameIds } from './samples.ts';

type Json = Readonly<Record<string, unknown>>;
type Operation = NonNullable<NonNullable<NonNullable<OpenApiDocument['paths']>[string]>['get']>;
type Responses = NonNullable<Operation['responses']>;

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null;

/** Returns the served document. */
function served(basePath: string): OpenApiDocument {
  return JSON.parse(JSON.stringify(openApiDocument(basePath))) as OpenApiDocument;
}

const document = served('');

/** Yields every node of the document with its path. */
function* walk(node: unknown, path = '#'): Generator<readonly [path: string, node: Json]> {
  if (!isObject(node)) return;
  yield [path, node];
  for (const [key, value] of Object.entries(node)) yield* walk(value, `${path}/${key.replaceAll('/', '~1')}`);
}

/** Returns the target of a local reference. */
function targetOf(reference: string): Json {
  let target: unknown = document;
  for (const key of reference.replace(/^#\//, '').split('/'))
    target = isObject(target) ? target[key] : undefined;
  assert.ok(isObject(target), `${reference} points nowhere`);
  return target;
}

/** Returns the node with every reference replaced by its target. */
function inlined(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(inlined);
  if (!isObject(node)) return node;
  if (typeof node['$ref'] === 'string') return inlined(targetOf(node['$ref']));
  return Object.fromEntries(Object.entries(node).map(([key, value]) => [key, inlined(value)]));
}

function validator(schema: unknown): (value: unknown) => boolean {
  const compiled = Compile(inlined(schema) as TSchema);
  return (value) => compiled.Check(value);
}

/** Every operation and page with its path and resolved responses. */
const described = Object.entries(document.paths ?? {}).flatMap(([path, item]) =>
  (['get', 'post', 'put', 'patch', 'delete', 'head', 'options'] as const).flatMap((method) => {
    const operation = item[method];
    if (!operation) return [];
    const responses = Object.entries(operation.responses ?? {}).map(([status, response]) => [
      status,
      '$ref' in response ? targetOf(response.$ref) : response,
    ]);
    return [
      { path, method, operation: { ...operation, responses: Object.fromEntries(responses) as Responses } },
    ];
  }),
);

function operationOf(id: string): Operation {
  const found = described.find(({ operation }) => operation.operationId === id);
  assert.ok(found, `no operation ${id}`);
  return found.operation;
}

/** The codes in the `x-faults` of all responses. */
function faultsOf(operation: Operation): string[] {
  return Object.values(operation.responses ?? {}).flatMap((response) => {
    const codes: unknown = Reflect.get(response, 'x-faults');
    return Array.isArray(codes) ? codes.map(String) : [];
  });
}

const lintConfig = await createConfig({
  extends: ['recommended'],
  rules: {
    // A warning of the recommended rules fails the tests too. These rules are additional.
    'operation-description': 'error',
    'operation-tag-defined': 'error',
    'operation-singular-tag': 'error',
    'operation-4xx-problem-details-rfc7807': 'error',
    'path-params-defined': 'error',
    'spec-strict-refs': 'error',
    'spec-example-values': 'error',
  },
});

const found = new Map<string, readonly NormalizedProblem[]>();
for (const basePath of ['', '/apps/x']) {
  const source = JSON.stringify(openApiDocument(basePath));
  found.set(basePath, await lintFromString({ source, config: lintConfig }));
}

/** The findings of the linter for matching rules. */
function complaints(isMeant: (rule: string) => boolean): string[] {
  return [...found].flatMap(([basePath, list]) =>
    list
      .filter(({ ruleId }) => isMeant(ruleId))
      .map(
        ({ ruleId, message, location }) => `${basePath} ${ruleId}: ${message} ${location[0]?.pointer ?? ''}`,
      ),
  );
}

/** Rules with separate tests. */
const separate = new Set(['operation-4xx-response', 'no-unused-components']);

test('the linter has no findings, with and without a base path', () => {
  assert.equal(found.size, 2);
  assert.deepEqual(
    complaints((rule) => !separate.has(rule)),
    [],
  );
});

test('the linter finds errors', async () => {
  const broken = served('');
  const source = JSON.stringify({
    ...broken,
    paths: { ...broken.paths, '/x': { get: { security: [{ nothing: [] }], responses: {} } } },
  });
  const rules = new Set((await lintFromString({ source, config: lintConfig })).map(({ ruleId }) => ruleId));
  for (const rule of [
    'security-defined',
    'operation-operationId',
    'operation-4xx-response',
    'operation-summary',
  ]) {
    assert.ok(rules.has(rule), rule);
  }
});

test('every operation and page documents at least one error', () => {
  assert.deepEqual(
    complaints((rule) => rule === 'operation-4xx-response'),
    [],
  );
});

test('every component is used', () => {
  assert.deepEqual(
    complaints((rule) => rule === 'no-unused-components'),
    [],
  );
});

test('the operations and four pages are documented with unique names', () => {
  assert.deepEqual(
    described.map(({ path, method, operation }) => `${operation.operationId} ${method} ${path}`).toSorted(),
    [
      'captureHold post /holds/{hold_id}/capture',
      'createGiftCard post /gift_card',
      'createHold post /gift_card/{gift_card_id}/holds',
      'createWebhook post /webhooks',
      'creditGiftCard post /gift_card/{gift_card_id}/credit',
      'debitGiftCard post /gift_card/{gift_card_id}/debit',
      'deleteWebhook delete /webhooks/{webhook_id}',
      'health get /healthz',
      'listDeliveries get /webhooks/{webhook_id}/deliveries',
      'listEvents get /events',
      'listGiftCardEmails get /gift_card/{gift_card_id}/deliveries',
      'listHolds get /gift_card/{gift_card_id}/holds',
      'listTransactions get /gift_card/{gift_card_id}/transactions',
      'listWebhooks get /webhooks',
      'lookUpGiftCard post /gift_card/lookup',
      'metrics get /metrics',
      'notifyGiftCardHolder post /gift_card/{gift_card_id}/notify',
      'openapi get /openapi.json',
      'readiness get /readyz',
      'redeemGiftCard post /gift_card/redeem',
      'redeliverEvent post /events/{event_id}/redeliver',
      'reenableGiftCard post /gift_card/{gift_card_id}/undo',
      'retrieveBalance get /gift_card/{gift_card_id}/balance',
      'retrieveCustomer get /customers/{customer_id}',
      'retrieveDelivery get /webhooks/{webhook_id}/deliveries/{event_id}',
      'retrieveEvent get /events/{event_id}',
      'retrieveGiftCard get /gift_card/{gift_card_id}',
      'retrieveHold get /holds/{hold_id}',
      'retrieveTransaction get /transactions/{transaction_id}',
      'retrieveWebhook get /webhooks/{webhook_id}',
      'reverseTransaction post /transactions/{transaction_id}/reverse',
      'rotateGiftCardCode post /gift_card/{gift_card_id}/rotate_code',
      'rotateWebhookSecret post /webhooks/{webhook_id}/rotate_secret',
      'searchGiftCard get /gift_card',
      'streamEvents get /events/stream',
      'testWebhook post /webhooks/{webhook_id}/test',
      'updateCustomer put /customers/{customer_id}',
      'updateGiftCard put /gift_card/{gift_card_id}',
      'updateWebhook put /webhooks/{webhook_id}',
      'voidHold post /holds/{hold_id}/void',
    ],
  );
  for (const { path } of described.filter(({ operation }) => operation.tags?.[0] === 'Service')) {
    assert.ok(Object.values<string>(pagePaths).includes(path));
  }
});

test('the document contains the URL of the service', () => {
  assert.deepEqual(
    document.servers?.map(({ url }) => url),
    ['/'],
  );
  assert.deepEqual(
    served('/apps/x').servers?.map(({ url }) => url),
    ['/apps/x'],
  );
  assert.deepEqual({ ...served('/apps/x'), servers: [] }, { ...document, servers: [] });
  const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as { readonly version: string };
  assert.equal(document.info.version, manifest.version);
});

/** Statuses of any operation: rejected before the handler, or failed. */
const anywhere = ['400', '401', '403', '408', '417', '429', '431', '500', '503'];
const ofBodies = ['413', '415', '422'];
/** A write has a body, and its key can be in use. */
const ofWrites = ['409', ...ofBodies];

const codesAnywhere: readonly FaultCode[] = [
  'invalid-request', 'invalid-query', 'unauthenticated', 'invalid-signature', 'insufficient-scope', 'cross-site-request',
  'request-timeout', 'expectation-failed', 'too-many-requests', 'headers-too-large', 'internal-error', 'overloaded', 'unavailable',
  'not-writable', 'closing',
]; // prettier-ignore
const codesOfBodies: readonly FaultCode[] = ['invalid-body', 'body-too-large', 'unsupported-media-type', 'invalid-parameter']; // prettier-ignore
const codesOfKeys: readonly FaultCode[] = ['invalid-idempotency-key', 'idempotency-key-in-use', 'idempotency-key-reused']; // prettier-ignore
const codesOfMoney: readonly FaultCode[] = ['not-found', 'precondition-failed', 'card-disabled', 'card-expired', 'currency-mismatch']; // prettier-ignore
const codesOfSpending: readonly FaultCode[] = [...codesOfMoney, 'insufficient-balance'];
const codesOfHolds: readonly FaultCode[] = ['not-found', 'precondition-failed', 'hold-closed', 'hold-expired']; // prettier-ignore

const [read, write, redeem] = ['read_gift_cards', 'write_gift_cards', 'redeem_gift_cards'] as const;

const cardId = 'path gift_card_id required';
const holdId = 'path hold_id required';
const events = 'read_events';
const webhooks = 'manage_webhooks';
const transactionId = 'path transaction_id required';
const customerId = 'path customer_id required';
const webhookId = 'path webhook_id required';
const eventId = 'path event_id required';
const page = ['query limit', 'query before', 'query after'];
const ifMatch = 'header If-Match';
const ifNoneMatch = 'header If-None-Match';
const inWrites = ['query dry_run', 'header Idempotency-Key'];

/** Operations with limited failed lookups: by an id, a code, or the last characters of a code. */
function isThrottled(id: string, known: readonly string[]): boolean {
  const byCode = ['createGiftCard', 'searchGiftCard', 'lookUpGiftCard', 'redeemGiftCard'];
  const ids = [cardId, holdId, transactionId, customerId];
  return byCode.includes(id) || ids.some((name) => known.includes(name));
}

type Expected = {
  readonly scopes: readonly string[];
  readonly statuses: readonly string[];
  /** In addition to those of every operation, body and key. */
  readonly codes: readonly FaultCode[];
  /** In addition to X-Request-Id of every operation. */
  readonly parameters: readonly string[];
  readonly body?: {
    readonly schema: string;
    readonly wrapper: 'gift_card' | 'transaction' | 'hold' | 'webhook' | 'event' | 'customer';
    readonly required: boolean;
  };
  readonly response: Readonly<Record<string, string>>;
  /** Of a success, in addition to those of every success. */
  readonly headers: readonly string[];
};

const issued = { gift_card: 'IssuedGiftCard' };
const retrieved = { gift_card: 'GiftCard' };
const spendable = { gift_card: 'SpendableGiftCard or TillGiftCard' };
const moved = { transaction: 'Transaction', ...spendable };
const held = { hold: 'Hold', ...spendable };

const expectations: Readonly<Record<OperationId, Expected>> = {
  createGiftCard: {
    scopes: [write],
    statuses: ['201', ...anywhere, ...ofWrites],
    codes: [],
    parameters: [...inWrites],
    body: { schema: 'CreateGiftCard', wrapper: 'gift_card', required: true },
    response: issued,
    headers: ['ETag', 'Location', 'Email-Status'],
  },
  searchGiftCard: {
    scopes: [read],
    statuses: ['200', '304', ...anywhere, '404', '422'],
    codes: ['not-found', 'invalid-parameter'],
    parameters: ['query last_characters required', 'query email required', ifNoneMatch],
    response: retrieved,
    headers: ['ETag'],
  },
  retrieveGiftCard: {
    scopes: [read],
    statuses: ['200', '304', ...anywhere, '404'],
    codes: ['not-found'],
    parameters: [cardId, ifNoneMatch],
    response: retrieved,
    headers: ['ETag'],
  },
  updateGiftCard: {
    scopes: [write],
    statuses: ['200', ...anywhere, '404', '412', ...ofWrites],
    codes: ['not-found', 'precondition-failed'],
    parameters: [cardId, ifMatch, ...inWrites],
    body: { schema: 'UpdateGiftCard', wrapper: 'gift_card', required: false },
    response: retrieved,
    headers: ['ETag'],
  },
  lookUpGiftCard: {
    scopes: [read, redeem],
    statuses: ['200', ...anywhere, '404', ...ofBodies],
    codes: ['not-found'],
    parameters: [],
    body: { schema: 'LookUp', wrapper: 'gift_card', required: true },
    response: spendable,
    headers: ['ETag'],
  },
  retrieveBalance: {
    scopes: [read, redeem],
    statuses: ['200', '304', ...anywhere, '404'],
    codes: ['not-found'],
    parameters: [cardId, ifNoneMatch],
    response: { gift_card: 'GiftCardBalance' },
    headers: ['ETag'],
  },
  redeemGiftCard: {
    scopes: [redeem],
    statuses: ['201', ...anywhere, '404', '412', ...ofWrites],
    codes: [...codesOfSpending],
    parameters: [ifMatch, ...inWrites],
    body: { schema: 'Redeem', wrapper: 'transaction', required: true },
    response: moved,
    headers: ['ETag'],
  },
  debitGiftCard: {
    scopes: [redeem],
    statuses: ['201', ...anywhere, '404', '412', ...ofWrites],
    codes: codesOfSpending,
    parameters: [cardId, ifMatch, ...inWrites],
    body: { schema: 'Debit', wrapper: 'transaction', required: true },
    response: moved,
    headers: ['ETag'],
  },
  creditGiftCard: {
    scopes: [write],
    statuses: ['201', ...anywhere, '404', '412', ...ofWrites],
    codes: codesOfMoney,
    parameters: [cardId, ifMatch, ...inWrites],
    body: { schema: 'Credit', wrapper: 'transaction', required: true },
    response: moved,
    headers: ['ETag'],
  },
  reenableGiftCard: {
    scopes: [write],
    statuses: ['200', ...anywhere, '404', '412', ...ofWrites],
    codes: ['not-found', 'precondition-failed', 'undo-window-closed'],
    parameters: [cardId, ifMatch, ...inWrites],
    body: { schema: 'Nothing', wrapper: 'gift_card', required: false },
    response: retrieved,
    headers: ['ETag'],
  },
  createHold: {
    scopes: [redeem],
    statuses: ['201', ...anywhere, '404', '412', ...ofWrites],
    codes: codesOfSpending,
    parameters: [cardId, ifMatch, ...inWrites],
    body: { schema: 'CreateHold', wrapper: 'hold', required: true },
    response: held,
    headers: ['ETag', 'Location'],
  },
  listHolds: {
    scopes: [read, redeem],
    statuses: ['200', ...anywhere, '404'],
    codes: ['not-found'],
    parameters: [cardId, ...page],
    response: { holds: 'Hold' },
    headers: ['Link'],
  },
  retrieveHold: {
    scopes: [read, redeem],
    statuses: ['200', ...anywhere, '404'],
    codes: ['not-found'],
    parameters: [holdId],
    response: held,
    headers: ['ETag'],
  },
  captureHold: {
    scopes: [redeem],
    statuses: ['201', ...anywhere, '404', '412', ...ofWrites],
    codes: [...codesOfHolds, 'capture-exceeds-hold'],
    parameters: [holdId, ifMatch, ...inWrites],
    body: { schema: 'Capture', wrapper: 'transaction', required: false },
    response: { transaction: 'Transaction', ...held },
    headers: ['ETag'],
  },
  voidHold: {
    scopes: [redeem],
    statuses: ['200', ...anywhere, '404', '412', ...ofWrites],
    codes: codesOfHolds,
    parameters: [holdId, ifMatch, ...inWrites],
    body: { schema: 'Nothing', wrapper: 'hold', required: false },
    response: held,
    headers: ['ETag'],
  },
  listTransactions: {
    scopes: [read],
    statuses: ['200', ...anywhere, '404'],
    codes: ['not-found'],
    parameters: [cardId, ...page],
    response: { transactions: 'Transaction' },
    headers: ['Link'],
  },
  retrieveTransaction: {
    scopes: [read],
    statuses: ['200', ...anywhere, '404'],
    codes: ['not-found'],
    parameters: [transactionId],
    response: { transaction: 'Transaction' },
    headers: [],
  },
  reverseTransaction: {
    scopes: [redeem, write],
    statuses: ['201', ...anywhere, '404', '412', ...ofWrites],
    codes: [
      'not-found', 'precondition-failed', 'card-disabled', 'not-reversible', 'reversal-exceeds-transaction', 'insufficient-balance',
    ], // prettier-ignore
    parameters: [transactionId, ifMatch, ...inWrites],
    body: { schema: 'Reverse', wrapper: 'transaction', required: false },
    response: moved,
    headers: ['ETag'],
  },
  listGiftCardEmails: {
    scopes: [read],
    statuses: ['200', ...anywhere, '404'],
    codes: ['not-found'],
    parameters: [cardId, ...page],
    response: { deliveries: 'EmailDelivery' },
    headers: ['Link'],
  },
  notifyGiftCardHolder: {
    scopes: [write],
    statuses: ['201', ...anywhere, '404', '412', ...ofWrites],
    codes: ['not-found', 'precondition-failed', 'card-disabled', 'card-expired', 'no-address', 'no-mail'],
    parameters: [cardId, ifMatch, ...inWrites],
    body: { schema: 'Nothing', wrapper: 'gift_card', required: false },
    response: { delivery: 'EmailDelivery', ...retrieved },
    headers: ['ETag'],
  },
  rotateGiftCardCode: {
    scopes: [write],
    statuses: ['200', ...anywhere, '404', '412', ...ofWrites],
    codes: ['not-found', 'precondition-failed', 'card-disabled', 'card-expired'],
    parameters: [cardId, ifMatch, ...inWrites],
    body: { schema: 'Nothing', wrapper: 'gift_card', required: false },
    response: issued,
    headers: ['ETag'],
  },
  retrieveCustomer: {
    scopes: [read],
    statuses: ['200', ...anywhere, '404'],
    codes: ['not-found'],
    parameters: [customerId],
    response: { customer: 'Customer' },
    headers: [],
  },
  updateCustomer: {
    scopes: [write],
    statuses: ['200', ...anywhere, '404', ...ofWrites],
    codes: ['not-found'],
    parameters: [customerId, ...inWrites],
    body: { schema: 'UpdateCustomer', wrapper: 'customer', required: false },
    response: { customer: 'Customer' },
    headers: [],
  },
  listEvents: {
    scopes: [events],
    statuses: ['200', ...anywhere],
    codes: [],
    parameters: ['query limit', 'query after'],
    response: { events: 'Event' },
    headers: ['Link'],
  },
  streamEvents: {
    scopes: [events],
    statuses: ['200', ...anywhere],
    codes: [],
    parameters: ['query after', 'header Last-Event-ID'],
    response: {},
    headers: [],
  },
  retrieveEvent: {
    scopes: [events],
    statuses: ['200', ...anywhere, '404'],
    codes: ['not-found'],
    parameters: [eventId],
    response: { event: 'Event' },
    headers: [],
  },
  redeliverEvent: {
    scopes: [webhooks],
    statuses: ['202', ...anywhere, '404', ...ofWrites],
    codes: ['not-found', 'webhook-paused'],
    parameters: [eventId, ...inWrites],
    body: { schema: 'Redeliver', wrapper: 'event', required: false },
    response: { deliveries: 'Delivery' },
    headers: [],
  },
  createWebhook: {
    scopes: [webhooks],
    statuses: ['201', ...anywhere, ...ofWrites],
    codes: ['too-many-webhooks'],
    parameters: [...inWrites],
    body: { schema: 'CreateWebhook', wrapper: 'webhook', required: true },
    response: { webhook: 'WebhookWithSecret' },
    headers: ['ETag', 'Location'],
  },
  listWebhooks: {
    scopes: [webhooks],
    statuses: ['200', ...anywhere],
    codes: [],
    parameters: [],
    response: { webhooks: 'Webhook' },
    headers: [],
  },
  retrieveWebhook: {
    scopes: [webhooks],
    statuses: ['200', '304', ...anywhere, '404'],
    codes: ['not-found'],
    parameters: [webhookId, ifNoneMatch],
    response: { webhook: 'Webhook' },
    headers: ['ETag'],
  },
  updateWebhook: {
    scopes: [webhooks],
    statuses: ['200', ...anywhere, '404', '412', ...ofWrites],
    codes: ['not-found', 'precondition-failed'],
    parameters: [webhookId, ifMatch, ...inWrites],
    body: { schema: 'UpdateWebhook', wrapper: 'webhook', required: false },
    response: { webhook: 'Webhook' },
    headers: ['ETag'],
  },
  deleteWebhook: {
    scopes: [webhooks],
    statuses: ['200', ...anywhere, '404', '412', ...ofWrites],
    codes: ['not-found', 'precondition-failed'],
    parameters: [webhookId, ifMatch, ...inWrites],
    body: { schema: 'Nothing', wrapper: 'webhook', required: false },
    response: { webhook: 'Webhook' },
    headers: [],
  },
  rotateWebhookSecret: {
    scopes: [webhooks],
    statuses: ['200', ...anywhere, '404', '412', ...ofWrites],
    codes: ['not-found', 'precondition-failed'],
    parameters: [webhookId, ifMatch, ...inWrites],
    body: { schema: 'Nothing', wrapper: 'webhook', required: false },
    response: { webhook: 'WebhookWithSecret' },
    headers: ['ETag'],
  },
  testWebhook: {
    scopes: [webhooks],
    statuses: ['202', ...anywhere, '404', ...ofWrites],
    codes: ['not-found', 'webhook-paused'],
    parameters: [webhookId, ...inWrites],
    body: { schema: 'Nothing', wrapper: 'webhook', required: false },
    response: { delivery: 'Delivery' },
    headers: [],
  },
  listDeliveries: {
    scopes: [webhooks],
    statuses: ['200', ...anywhere, '404'],
    codes: ['not-found'],
    parameters: [webhookId, ...page],
    response: { deliveries: 'Delivery' },
    headers: ['Link'],
  },
  retrieveDelivery: {
    scopes: [webhooks],
    statuses: ['200', ...anywhere, '404'],
    codes: ['not-found'],
    parameters: [webhookId, eventId],
    response: { delivery: 'LoggedDelivery' },
    headers: [],
  },
};

/** Whether a request supports keys and dry runs. */
function isWrite({ parameters: listed }: Expected): boolean {
  return listed.includes('header Idempotency-Key');
}

const expectedOperations = operations.map(({ id }) => ({ id, ...expectations[id] }));

for (const { id, statuses } of expectedOperations) {
  test(`${id} documents exactly the statuses that it can return`, () => {
    assert.deepEqual(Object.keys(operationOf(id).responses ?? {}), statuses.toSorted());
  });
}

test('every operation has a case here, and writes support dry runs', () => {
  assert.deepEqual(
    Object.keys(expectations),
    operations.map(({ id }) => id),
  );
  assert.equal(operations.length, 36);
  for (const { id, query, method } of operations) {
    const isReading = method === 'GET' || id === 'lookUpGiftCard';
    assert.equal(query.includes('dry_run'), !isReading, id);
    assert.equal(isWrite(expectations[id]), !isReading, id);
  }
});

/** Pages have no credential and no limit, but a malformed request or too many headers are rejected. */
const ofAnyPage = ['200', '400', '408', '417', '431', '500', '503'];

for (const [id, expected] of Object.entries({
  health: ofAnyPage,
  readiness: ofAnyPage,
  metrics: [...ofAnyPage, '401'],
  openapi: ofAnyPage,
})) {
  test(`the page ${id} documents exactly the statuses that it can return`, () => {
    assert.deepEqual(Object.keys(operationOf(id).responses ?? {}), expected.toSorted());
  });
}

test('the table contains every code with its status and description', () => {
  assert.deepEqual(
    document['x-faults'],
    Object.entries(problems).map(([code, { status, title, detail }]) => ({ code, status, title, detail })),
  );
});

test('every code is documented by an operation or page that can return it', () => {
  const reported = new Set(described.flatMap(({ operation }) => faultsOf(operation)));
  // A 405 does not belong to an operation. Only the table documents it.
  const untold = Object.keys(problems).filter((code) => !reported.has(code));
  assert.deepEqual(untold, ['method-not-allowed']);
  for (const code of reported) assert.ok(code in problems, code);
});

test('a response documents codes of its own status only, each with an example', () => {
  let responses = 0;
  for (const { operation } of described) {
    for (const [status, response] of Object.entries(operation.responses ?? {})) {
      if (Number(status) < 400) continue;
      responses += 1;
      const { description, content } = inlined(response) as {
        readonly description: string;
        readonly content: Readonly<
          Record<string, { readonly examples: Readonly<Record<string, { value: Json }>> }>
        >;
      };
      assert.deepEqual(Object.keys(content), ['application/problem+json']);
      const examples = content['application/problem+json']?.examples ?? {};
      const codes: unknown = Reflect.get(response, 'x-faults');
      assert.deepEqual(Object.keys(examples), codes);
      assert.ok(Object.keys(examples).length > 0);
      for (const [code, { value }] of Object.entries(examples)) {
        const problem = problems[code as FaultCode];
        assert.equal(String(problem.status), status);
        assert.equal(value['status'], problem.status);
        assert.ok(String(value['type']).endsWith(`/${code}`));
        assert.ok(description.includes(`\`${code}\`: ${problem.detail}`));
      }
    }
  }
  assert.ok(responses > 200, `only ${responses} responses`);
});

test('an error response is defined once, however many operations have it', () => {
  const shared = Object.values(document.components?.responses ?? {}).map((response) => JSON.stringify(response));
  assert.equal(new Set(shared).size, shared.length);
  for (const { path, method } of described) {
    for (const [status, response] of Object.entries(document.paths?.[path]?.[method]?.responses ?? {}))
      assert.equal('$ref' in response, status >= '400', `${method} ${path} ${status}`);
  }
  assert.ok(JSON.stringify(document).length < 300_000);
}); // prettier-ignore

for (const { id, codes, body, ...rest } of expectedOperations) {
  test(`${id} documents exactly the codes that its kind of request can return`, () => {
    const reported = faultsOf(operationOf(id));
    assert.equal(new Set(reported).size, reported.length);
    const due = [
      ...codesAnywhere,
      ...(body ? codesOfBodies : []),
      ...(isThrottled(id, rest.parameters) ? (['too-many-misses'] as const) : []),
      ...(isWrite({ codes, ...rest }) ? codesOfKeys : []),
      ...codes,
    ];
    assert.deepEqual(reported.toSorted(), due.toSorted());
  });
}

test('responses document their headers', () => {
  const ofStatus: Readonly<Record<string, readonly string[]>> = {
    304: ['ETag', 'X-Request-Id'],
    401: ['X-Request-Id', 'WWW-Authenticate'],
    403: ['X-Request-Id', 'WWW-Authenticate'],
    409: ['X-Request-Id', 'Retry-After'],
    429: ['X-Request-Id', 'Retry-After', 'RateLimit', 'RateLimit-Policy'],
    503: ['X-Request-Id', 'Retry-After'],
  };
  const ofAnySuccess = ['Cache-Control', 'X-Request-Id', 'RateLimit', 'RateLimit-Policy'];
  for (const given of expectedOperations) {
    const ofSuccess = [
      ...ofAnySuccess,
      ...given.headers,
      ...(isWrite(given) ? ['Idempotent-Replayed', 'Dry-Run'] : []),
    ];
    for (const [status, response] of Object.entries(operationOf(given.id).responses ?? {})) {
      const names = Object.keys((response as { readonly headers?: object }).headers ?? {});
      const due = status.startsWith('2') ? ofSuccess : (ofStatus[status] ?? ['X-Request-Id']);
      assert.deepEqual(names.toSorted(), due.toSorted(), `${given.id} ${status}`);
    }
  }
});

test('an operation accepts any one token header with any one of its scopes', () => {
  for (const { id, scopes, customerMaySearch } of operations) {
    assert.deepEqual(scopes, expectations[id].scopes, id);
    const ways = scopes.flatMap((scope) => [
      { bearer: [scope] },
      { accessToken: [scope] },
      { gcfAccessToken: [scope] },
    ]);
    assert.equal(customerMaySearch, id === 'searchGiftCard');
    assert.deepEqual(operationOf(id).security, customerMaySearch ? [...ways, { appProxy: [] }] : ways);
  }
  for (const id of ['health', 'readiness', 'metrics', 'openapi'])
    assert.deepEqual(operationOf(id).security, []);
  const schemes = document.components?.securitySchemes ?? {};
  assert.deepEqual(Object.keys(schemes).toSorted(), ['accessToken', 'appProxy', 'bearer', 'gcfAccessToken']);
});

type GivenParameter = {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly description?: string;
  readonly schema: Json;
};

function parametersOf(id: string): readonly GivenParameter[] {
  return (operationOf(id).parameters ?? []) as readonly GivenParameter[];
}

test('an operation documents the parameters that it reads outside its body', () => {
  for (const { id, query } of operations) {
    const listed = parametersOf(id).map(
      ({ name, in: place, required = false }) => `${place} ${name}${required ? ' required' : ''}`,
    );
    assert.deepEqual(listed, [...expectations[id].parameters, 'header X-Request-Id'], id);
    const names = parametersOf(id).filter((given) => given.in === 'query');
    assert.deepEqual(
      names.map(({ name }) => name),
      query,
    );
  }
});

test('the schema of a parameter outside the body accepts exactly the values that the service accepts', () => {
  const integers = [1, 9_007_199_254_740_991];
  const noIds = [0, -1, 1.5, 'x', null];
  const cases: Readonly<Record<string, readonly [good: readonly unknown[], bad: readonly unknown[]]>> = {
    'path gift_card_id': [integers, [...noIds, 2 ** 53]],
    'path hold_id': [integers, [...noIds, 2 ** 53]],
    'path transaction_id': [integers, [...noIds, 2 ** 53]],
    'path event_id': [integers, [...noIds, 2 ** 53]],
    'path webhook_id': [integers, [...noIds, 2 ** 53]],
    'path customer_id': [integers, [...noIds, 2 ** 53]],
    'query dry_run': [['true', 'false', '1', '0'], ['', 'yes', 'TRUE', null]],
    'query limit': [[1, 50, 250], [...noIds, 251]],
    'query before': [integers, noIds],
    'query after': [integers, noIds],
    'query last_characters': [['7f3k', '7F3K'], ['7f3', '7f3kk', '7f-k', null]],
    'query email': [['grace@example.com'], ['', null]],
    'header Last-Event-ID': [['1', '244212359911'], ['', '0', 'x', '-1']],
    'header Idempotency-Key': [['a', '!~', 'a'.repeat(255)], ['', 'a b', 'é', 'a'.repeat(256)]],
    'header X-Request-Id': [['a', 'a'.repeat(128)], ['', 'a b', 'a'.repeat(129)]],
    'header If-Match': [['"244212357349-1"', '*'], [5]],
    'header If-None-Match': [['"244212357349-1"', '*'], [5]],
  }; // prettier-ignore
  const seen = new Set<string>();
  for (const { id } of operations) {
    for (const { name, in: place, schema, description } of parametersOf(id)) {
      const key = `${place} ${name}`;
      seen.add(key);
      const [good, bad] = cases[key] ?? assert.fail(key);
      const isValid = validator(schema);
      for (const value of good) assert.ok(isValid(value), `${id} ${key}: ${String(value)}`);
      for (const value of bad) assert.ok(!isValid(value), `${id} ${key}: ${String(value)}`);
      assert.ok(description ?? schema['description'], `${id} ${key}`);
    }
  }
  assert.deepEqual([...seen].toSorted(), Object.keys(cases).toSorted());
});

test('only events support after=latest', () => {
  for (const { id } of operations) {
    const after = parametersOf(id).find(({ name, in: place }) => place === 'query' && name === 'after');
    if (after)
      assert.equal(validator(after.schema)('latest'), id === 'listEvents' || id === 'streamEvents', id);
  }
});

/** Returns the schema of the component of a body. */
function bodySchema(name: string): Json {
  return targetOf(`#/components/schemas/${name}`);
}

const spending = {
  amount: parameters.amount.schema,
  currency: parameters.expectedCurrency.schema,
  reference: parameters.reference.schema,
  note: parameters.note.schema,
  order_id: parameters.orderId.schema,
};
const partial = parameters.partial.schema;
const code = parameters.requiredCode.schema;
const part = { amount: parameters.optionalAmount.schema, note: parameters.note.schema };
const creation = {
  initial_value: parameters.initialValue.schema,
  expires_on: parameters.expiresOnOrLater.schema,
  email: parameters.email.schema,
  recipient_email: parameters.recipientEmail.schema,
  note: parameters.note.schema,
  message: parameters.message.schema,
  send_on: parameters.sendOn.schema,
  notify: parameters.notify.schema,
  code: parameters.code.schema,
  storefront_customer_id: parameters.storefrontCustomerId.schema,
  currency: parameters.currency.schema,
};
const settable = {
  disable: parameters.disable.schema,
  balance: parameters.balance.schema,
  expires_on: parameters.expiresOn.schema,
  note: parameters.note.schema,
  release_holds: parameters.releaseHolds.schema,
};

const bodies: Readonly<Record<string, { readonly read: object; readonly required: readonly string[] }>> = {
  CreateGiftCard: { read: creation, required: ['initial_value'] },
  UpdateGiftCard: { read: settable, required: [] },
  LookUp: { read: { code }, required: ['code'] },
  Redeem: { read: { code, ...spending, partial }, required: ['code', 'amount'] },
  Debit: { read: { ...spending, partial }, required: ['amount'] },
  Credit: { read: spending, required: ['amount'] },
  CreateHold: { read: { ...spending, expires_in: parameters.expiresIn.schema }, required: ['amount'] },
  Capture: { read: part, required: [] },
  Reverse: { read: part, required: [] },
  CreateWebhook: {
    read: { url: parameters.webhookUrl.schema, events: parameters.webhookEvents.schema },
    required: ['url', 'events'],
  },
  UpdateWebhook: {
    read: {
      url: parameters.webhookUrl.schema,
      events: parameters.webhookEvents.schema,
      paused: parameters.paused.schema,
    },
    required: [],
  },
  UpdateCustomer: {
    read: { storefront_customer_id: parameters.storefrontCustomerId.schema },
    required: [],
  },
  Redeliver: { read: { webhook_id: parameters.webhookId.schema }, required: [] },
  Nothing: { read: {}, required: [] },
};

/** Fields of the record that an operation cannot set, but accepts from a client. */
const sentAlong: Readonly<Record<string, readonly string[]>> = {
  CreateGiftCard: ['balance', ...claimableFields].filter((name) => !(name in creation)),
  UpdateGiftCard: [...claimableFields, 'code'],
  UpdateCustomer: ['id', 'email', 'created_at'],
};

for (const [name, { read: own, required: demanded }] of Object.entries(bodies)) {
  test(`the body ${name} documents every parameter with its schema, and the required ones`, () => {
    const { properties, required, additionalProperties } = bodySchema(name);
    assert.ok(isObject(properties));
    const others = sentAlong[name] ?? [];
    assert.deepEqual(Object.keys(properties).toSorted(), [...Object.keys(own), ...others].toSorted());
    for (const [field, schema] of Object.entries(own)) {
      assert.deepEqual(properties[field], asJson(schema), field);
    }
    assert.deepEqual(required ?? [], demanded);
    assert.equal(additionalProperties, false);
  });
}

test('a read-only field is null in a creation, and has the value of the record in an update', () => {
  const fieldsOf = (name: string): Json => bodySchema(name)['properties'] as Json;
  for (const [name, isUpdate] of [
    ['CreateGiftCard', false],
    ['UpdateGiftCard', true],
    ['UpdateCustomer', true],
  ] as const) {
    for (const field of sentAlong[name] ?? []) {
      const isValid = validator(fieldsOf(name)[field]);
      const [isId, isAmount] = [/(?:^|_)id$/.test(field), field === 'initial_value'];
      assert.ok(isValid(null), `${name} ${field}`);
      assert.equal(isValid('x'), isUpdate && !isId, `${name} ${field}`);
      assert.equal(isValid(5), isUpdate && (isId || isAmount), `${name} ${field}`);
      for (const value of [true, {}, []]) assert.ok(!isValid(value), `${name} ${field}`);
    }
  }
});

test('every documented body belongs to an operation, and the other way round', () => {
  const used = new Set(expectedOperations.flatMap(({ body }) => (body ? [body.schema] : [])));
  assert.deepEqual([...used].toSorted(), Object.keys(bodies).toSorted());
  assert.deepEqual(
    Object.keys(document.components?.schemas ?? {}).toSorted(),
    [...used, ...Object.keys(shown), 'Problem'].toSorted(),
  );
});

function asJson(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

type GivenBody = {
  readonly required: boolean;
  readonly content: Readonly<Record<string, { readonly schema: Json; readonly example?: unknown }>>;
};

/** Returns a validator of the documented body of a request. */
function documentedBody(id: string): (value: unknown) => boolean {
  const { content } = operationOf(id).requestBody as GivenBody;
  assert.deepEqual(Object.keys(content), ['application/json', 'application/x-www-form-urlencoded']);
  assert.deepEqual(content['application/json']?.schema, content['application/x-www-form-urlencoded']?.schema);
  return validator(content['application/json']?.schema);
}

for (const { id, body } of expectedOperations) {
  test(`${id} documents ${body ? `the body ${body.schema}, bare and wrapped in its own name` : 'no body'}`, () => {
    const given = operationOf(id).requestBody as GivenBody | undefined;
    assert.equal(given !== undefined, body !== undefined);
    if (!given || !body) return;
    const { wrapper } = body;
    assert.equal(given.required, body.required);
    const reference = { $ref: `#/components/schemas/${body.schema}` };
    const wrapped = { type: 'object', properties: { [wrapper]: reference }, required: [wrapper], additionalProperties: false }; // prettier-ignore
    assert.deepEqual(given.content['application/json']?.schema, { anyOf: [reference, wrapped] });
    const isDocumented = documentedBody(id);
    const example = given.content['application/json']?.example;
    assert.ok(isObject(example));
    assert.ok(isDocumented(example) && isDocumented({ [wrapper]: example }));
    // An optional body can be empty too.
    assert.equal(isDocumented({}), !body.required);
    assert.equal(isDocumented({ [wrapper]: {} }), !body.required);
    for (const other of ['gift_card', 'transaction', 'hold'].filter((name) => name !== wrapper)) {
      assert.ok(!isDocumented({ [other]: example }), other);
    }
    const details = body.schema === 'Nothing' ? { note: null } : example;
    assert.ok(!isDocumented({ ...details, [wrapper]: example }));
    assert.ok(!isDocumented({ ...example, mistyped: null }));
    assert.ok(!isDocumented({ [wrapper]: { ...example, mistyped: null } }));
    for (const value of [null, [], 'x', [example]]) assert.ok(!isDocumented(value));
  });
}

test('the documented body of a movement accepts valid values and rejects invalid ones', () => {
  const debit = documentedBody('debitGiftCard');
  const all = { amount: 10, currency: 'USD', reference: 'r', note: '', order_id: 1001, partial: true };
  assert.ok(debit(all));
  assert.ok(debit({ amount: '10.00', currency: null, reference: null, note: null, order_id: null }));
  for (const wrong of [
    { amount: 0 },
    { amount: -1 },
    { amount: '1e3' },
    { amount: null },
    { currency: 'usd' },
    { reference: 'a'.repeat(256) },
    { order_id: 0 },
    { order_id: 1.5 },
    { order_id: '1001' },
    { partial: 1 },
    { partial: 'true' },
    { expires_in: 5 },
    { code: 'q2m8xk4w9c0d7f3k' },
  ]) {
    assert.ok(!debit({ ...all, ...wrong }), JSON.stringify(wrong));
  }
  assert.ok(!documentedBody('creditGiftCard')({ amount: 10, partial: true }));
  const hold = documentedBody('createHold');
  for (const seconds of [1, 604_800, null]) assert.ok(hold({ amount: 10, expires_in: seconds }));
  for (const seconds of [0, 604_801, 1.5, '900', true]) assert.ok(!hold({ amount: 10, expires_in: seconds }));
  for (const id of ['captureHold', 'reverseTransaction']) {
    assert.ok(documentedBody(id)({ amount: null, note: null }), id);
    assert.ok(!documentedBody(id)({ amount: 0 }), id);
  }
  for (const id of ['lookUpGiftCard', 'redeemGiftCard']) {
    assert.ok(!documentedBody(id)({ code: null, amount: 10 }), id);
  }
});

test('a body is documented bare and wrapped but not both, and without misspelled names', () => {
  const create = documentedBody('createGiftCard');
  const update = documentedBody('updateGiftCard');
  for (const body of [
    { initial_value: 25 },
    { initial_value: '25.00', expires_on: null, note: '', email: null },
  ]) {
    assert.ok(create(body));
    assert.ok(create({ gift_card: body }));
  }
  for (const body of [{}, { disable: true }, { balance: 0, note: null, expires_on: null }]) {
    assert.ok(update(body));
    assert.ok(update({ gift_card: body }));
  }
  for (const body of [
    null,
    [],
    {},
    { gift_card: {} },
    { initial_value: null },
    { initial_value: 0 },
    { initial_value: '1e3' },
  ]) {
    assert.ok(!create(body), JSON.stringify(body));
  }
  assert.ok(!create({ initial_value: 25, expires_at: '2031-12-31' }));
  assert.ok(!create({ initial_value: 25, gift_card: { initial_value: 25 } }));
  assert.ok(!update({ balance: -1 }));
  assert.ok(!update({ note: 5 }));
  assert.ok(!update({ disabled: true }));
});

test('a retrieved record is a valid documented body of an update', () => {
  const update = documentedBody('updateGiftCard');
  for (const card of [cardWith(), cardWith({ disabledAt: 5, customer: null, note: null, orderId: null })]) {
    const sent: unknown = JSON.parse(JSON.stringify(recordOf(sameIds, card)));
    assert.ok(update(sent));
    assert.ok(update({ gift_card: sent }));
  }
});

test('a creation with null in fields of the record is a valid documented body', () => {
  const nulls = Object.fromEntries(Object.keys(recordOf(sameIds, cardWith())).map((name) => [name, null]));
  assert.ok(documentedBody('createGiftCard')({ ...nulls, initial_value: 25 }));
});

/** Returns a validator of the documented response of a success. */
function documentedResponse(id: string, status: string): (value: unknown) => boolean {
  const response = operationOf(id).responses?.[status] as unknown as {
    readonly content: Readonly<Record<string, { schema: Json }>>;
  };
  return validator(response.content['application/json']?.schema);
}

const plain = JSON.parse(JSON.stringify(recordOf(sameIds, cardWith()))) as Json;

const webhook: Webhook = {
  storeId: 17,
  id: 9,
  version: 1,
  url: 'https://shop.example.com/hook',
  patterns: ['gift_card.*'],
  paused: { at: 5, reason: 'failures' },
  failing: { since: 4, failure: 'answered 503' },
  previousSecretUntil: null,
  createdAt: 1,
  updatedAt: 5,
};
const delivery = {
  webhookId: 9,
  eventId: 7,
  eventType: 'gift_card.created',
  status: 'retrying',
  createdAt: 1,
  attempts: 1,
  nextAt: 9,
  last: { at: 3, durationMs: 41, result: { kind: 'responded', status: 503, body: 'no' } },
} as const satisfies Delivery;

/** A sample of each kind of record as the service sends it. */
const shown: Readonly<Record<string, Json>> = {
  GiftCard: plain,
  IssuedGiftCard: { ...plain, code: 'q2m8xk4w9c0d7f3k' },
  GiftCardBalance: { ...balanceRecordOf(cardWith(), '2026-03-15') },
  TillGiftCard: { ...tillRecordOf(sameIds, cardWith(), '2026-03-15') },
  SpendableGiftCard: { ...spendableRecordOf(sameIds, cardWith({ held: amount(400n) })) },
  Transaction: { ...transactionOf(sameIds, transferWith()) },
  Hold: { ...holdRecordOf(sameIds, holdWith(), 0) },
  Customer: {
    ...customerRecordOf(sameIds, { id: 51, email: 'ada@example.com', storefrontCustomerId: 7, createdAt: 0 }),
  },
  EmailDelivery: { ...emailRecordOf(sameIds, emailWith(), { domain: 'flowers.example', now: 0 }) },
  Event: JSON.parse(
    eventJson({ id: 7, type: 'webhook.test', sequence: 0, createdAt: 5, data: '{}' }, 'flowers.example'),
  ) as Json,
  Webhook: { ...webhookRecordOf(webhook) },
  WebhookWithSecret: { ...webhookRecordOf(webhook), secret: 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD' },
  Delivery: { ...deliveryRecordOf(delivery) },
  LoggedDelivery: { ...deliveryRecordOf(delivery), log: [attemptRecordOf(delivery.last)] },
};

for (const { id, statuses, response } of expectedOperations.filter((one) => one.id !== 'streamEvents')) {
  test(`${id} returns its documented response completely, and nothing else`, () => {
    const [status = ''] = statuses;
    const isDocumented = documentedResponse(id, status);
    const listed = Object.entries(response).map(([name, schema]) => {
      // The last one if a response has several schemas.
      const one = shown[schema.split(' or ').at(-1) ?? ''] ?? assert.fail(schema);
      return { name, one, wrap: (value: unknown) => (name.endsWith('s') ? [value] : value) };
    });
    const whole = Object.fromEntries(listed.map(({ name, one, wrap }) => [name, wrap(one)]));
    assert.ok(isDocumented(whole));
    assert.ok(!isDocumented({ ...whole, more: null }));
    assert.ok(!isDocumented({}));
    for (const { name, one, wrap } of listed) {
      const { [name]: _, ...less } = whole;
      assert.ok(!isDocumented(less), `the schema accepts a response without ${name}`);
      assert.ok(!isDocumented({ ...whole, [name]: null }), name);
      assert.ok(
        !isDocumented({ ...whole, [name]: wrap({ ...one, more: null }) }),
        `the schema accepts more in ${name}`,
      );
      for (const field of Object.keys(one)) {
        const { [field]: _field, ...rest } = one;
        assert.ok(
          !isDocumented({ ...whole, [name]: wrap(rest) }),
          `the schema accepts ${name} without ${field}`,
        );
      }
    }
  });
}

test('only the responses of a creation and a rotation contain the code of a card', () => {
  const reported = Object.entries(document.components?.schemas ?? {}).flatMap(([name, schema]) =>
    isObject(schema['properties']) && 'code' in schema['properties'] ? [name] : [],
  );
  assert.deepEqual(
    reported.filter((name) => name in shown),
    ['IssuedGiftCard'],
  );
  const issuing = expectedOperations.filter(({ response }) => response['gift_card'] === 'IssuedGiftCard');
  assert.deepEqual(
    issuing.map(({ id }) => id),
    ['createGiftCard', 'rotateGiftCardCode'],
  );
});

test('values in another format than the documented one are invalid', () => {
  const cases: Readonly<Record<string, readonly (readonly [wrong: Json, right: Json])[]>> = {
    GiftCard: [
      [{ disabled_at: '2026-01-02' }, { disabled_at: '2026-01-02T03:04:05Z' }],
      [{ balance: 10.5 }, { note: null }],
    ],
    SpendableGiftCard: [
      [{ held: 4 }, { held: '0.00' }],
      [{ available: '-1.00' }, { available: '0' }],
      [{ code: 'q2m8xk4w9c0d7f3k' }, {}],
    ],
    Transaction: [
      [{ kind: 'refund' }, { kind: 'reversal' }],
      [{ amount: '+5.00' }, { amount: '5.00' }],
      [{ amount: -5 }, { amount: '-0.005' }],
      [{ balance_after: '-5.00' }, { balance_after: '0.00' }],
      [{ hold_id: '7' }, { hold_id: 7 }],
      [{ reverses: 0 }, { reverses: 9 }],
      [{ created_at: null }, { reference: null, note: null, order_id: null }],
    ],
    Hold: [
      [{ status: 'closed' }, { status: 'expired' }],
      [{ captured_amount: null }, { captured_amount: '8.00' }],
      [{ closed_at: '2026-01-02' }, { closed_at: '2026-01-02T03:04:05Z' }],
      [{ expires_at: null }, { reference: null, note: null, order_id: null }],
    ],
  };
  for (const [name, pairs] of Object.entries(cases)) {
    const isValid = validator(bodySchema(name));
    for (const [wrong, right] of pairs) {
      assert.ok(isValid({ ...shown[name], ...right }), `${name} ${JSON.stringify(right)}`);
      assert.ok(!isValid({ ...shown[name], ...wrong }), `${name} ${JSON.stringify(wrong)}`);
    }
  }
});

test('every kind and status is documented', () => {
  const propertyOf = (name: string, field: string): unknown =>
    (bodySchema(name)['properties'] as Readonly<Record<string, Json>>)[field]?.['enum'];
  assert.deepEqual(propertyOf('Transaction', 'kind'), [
    'issue', 'adjustment', 'debit', 'credit', 'capture', 'reversal',
  ]); // prettier-ignore
  assert.deepEqual(propertyOf('Delivery', 'status'), ['queued', 'retrying', 'delivered', 'dead']);
  assert.deepEqual(propertyOf('Webhook', 'status'), ['active', 'paused']);
  assert.deepEqual(propertyOf('Event', 'type'), [...eventTypes]);
  assert.deepEqual(propertyOf('Hold', 'status'), ['open', 'captured', 'voided', 'expired']);
});

test('records list their fields in the order of the response, all required', () => {
  for (const [name, one] of Object.entries(shown)) {
    const schema = bodySchema(name);
    assert.deepEqual(Object.keys(schema['properties'] ?? {}), Object.keys(one), name);
    assert.deepEqual(schema['required'], Object.keys(one), name);
  }
});

test('every example satisfies its schema', () => {
  let examples = 0;
  for (const [path, node] of walk(document)) {
    if (isObject(node['schema'])) {
      const isValid = validator(node['schema']);
      const given = [
        ...('example' in node ? [node['example']] : []),
        ...(isObject(node['examples'])
          ? Object.values(node['examples']).map((one) => (one as Json)['value'])
          : []),
      ];
      for (const example of given) assert.ok(isValid(example), `${path}: ${JSON.stringify(example)}`);
      examples += given.length;
    }
    // Only in a schema, `examples` is a list.
    if (Array.isArray(node['examples'])) {
      const isValid = validator(node);
      for (const example of node['examples'])
        assert.ok(isValid(example), `${path}: ${JSON.stringify(example)}`);
      examples += node['examples'].length;
    }
  }
  assert.ok(examples > 340, `only ${examples} examples`);
});

test('the code samples are requests to their operations, with documented bodies', () => {
  for (const { id, method, path } of operations) {
    const given = expectations[id];
    const samples = operationOf(id)['x-codeSamples'] ?? [];
    assert.equal(samples.length, 1);
    for (const { source } of samples) {
      const body = /-d '(?<body>[^']*)'/.exec(source)?.groups?.['body'];
      if (given.body?.required) assert.ok(body !== undefined, source);
      if (!given.body) assert.equal(body, undefined, source);
      if (body !== undefined) assert.ok(documentedBody(id)(JSON.parse(body)), source);
      const address = /^curl (?:-X (?<verb>[A-Z]+) )?"\$BASE_URL(?<path>[^"?]*)(?:\?[^"]*)?"/.exec(source);
      assert.equal(address?.groups?.['verb'] ?? 'GET', method, source);
      const pattern = new RegExp(`^${path.replaceAll(/:[a-z_]+/g, '[1-9][0-9]*')}$`);
      assert.match(address?.groups?.['path'] ?? '', pattern);
      if (source.includes('Idempotency-Key')) assert.ok(isWrite(given), source);
    }
  }
});
