/** The OpenAPI document of the operations on money agrees with the service. */

import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { startService } from '../support/service.ts';

const service = await startService();
after(() => service[Symbol.asyncDispose]());

type OperationObject = {
  readonly operationId: string;
  readonly description: string;
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly parameters: readonly { readonly name: string; readonly in: string }[];
  readonly requestBody?: {
    readonly required: boolean;
    readonly content: Readonly<Record<string, { readonly schema: { readonly $ref: string } }>>;
  };
  readonly responses: Readonly<Record<string, ResponseObject | { readonly $ref: string }>>;
};

type ResponseObject = { readonly headers?: object; readonly 'x-faults'?: readonly string[] };

type Document = {
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>;
  readonly components: {
    readonly responses: Readonly<Record<string, ResponseObject>>;
    readonly schemas: Readonly<Record<string, { properties: object; required?: string[] }>>;
  };
};

const document = (await service.request('/openapi.json')).json as Document;

function resolved(response: ResponseObject | { readonly $ref: string }): ResponseObject {
  if (!('$ref' in response)) return response;
  const target = document.components.responses[response.$ref.replace('#/components/responses/', '')];
  assert.ok(target, response.$ref);
  return target;
}

const [read, write, redeem] = ['read_gift_cards', 'write_gift_cards', 'redeem_gift_cards'] as const;
const card = '/gift_card/{gift_card_id}';
const key = ['idempotency-key-in-use', 'idempotency-key-reused', 'invalid-idempotency-key'];
const body = ['body-too-large', 'invalid-body', 'invalid-parameter', 'unsupported-media-type'];
const spending = [
  ...key,
  ...body,
  'card-disabled',
  'card-expired',
  'currency-mismatch',
  'external-id-used',
  'not-found',
  'precondition-failed',
];

/** Method and path → scopes, success, wrapper, parameters and the operation's own errors. */
const expected: Readonly<Record<string, { scopes: string[]; success: string; wrapper?: string; query?: string[]; ifMatch?: boolean; faults: string[] }>> = {
  'post /gift_card/lookup': { scopes: [read, redeem], success: '200', wrapper: 'gift_card', faults: [...body, 'not-found', 'too-many-misses'] },
  'post /gift_card/redeem': { scopes: [redeem], success: '201', wrapper: 'transaction', query: ['dry_run'], faults: [...spending, 'insufficient-balance', 'too-many-misses'] },
  [`post ${card}/debit`]: { scopes: [redeem], success: '201', wrapper: 'transaction', query: ['dry_run'], ifMatch: true, faults: [...spending, 'insufficient-balance'] },
  [`post ${card}/credit`]: { scopes: [write], success: '201', wrapper: 'transaction', query: ['dry_run'], ifMatch: true, faults: spending },
  [`post ${card}/holds`]: { scopes: [redeem], success: '201', wrapper: 'hold', query: ['dry_run'], ifMatch: true, faults: [...spending, 'insufficient-balance'] },
  [`get ${card}/holds`]: { scopes: [read, redeem], success: '200', query: ['limit', 'before', 'after'], faults: ['not-found'] },
  'get /holds/{hold_id}': { scopes: [read, redeem], success: '200', faults: ['not-found'] },
  'post /holds/{hold_id}/extend': { scopes: [redeem], success: '200', wrapper: 'hold', query: ['dry_run'], faults: [...key, ...body, 'hold-closed', 'hold-expired', 'not-found'] },
  'post /holds/{hold_id}/capture': { scopes: [redeem], success: '201', wrapper: 'transaction', query: ['dry_run'], faults: [...key, ...body, 'capture-exceeds-hold', 'hold-closed', 'hold-expired', 'not-found'] },
  'post /holds/{hold_id}/void': { scopes: [redeem], success: '200', wrapper: 'hold', query: ['dry_run'], faults: [...key, ...body, 'hold-closed', 'hold-expired', 'not-found'] },
  [`get ${card}/transactions`]: { scopes: [read], success: '200', query: ['limit', 'before', 'after'], faults: ['not-found'] },
  'get /transactions/{transaction_id}': { scopes: [read], success: '200', faults: ['not-found'] },
  'post /transactions/{transaction_id}/reverse': { scopes: [redeem, write], success: '201', wrapper: 'transaction', query: ['dry_run'], faults: [...key, ...body, 'card-disabled', 'insufficient-balance', 'not-found', 'not-reversible', 'reversal-exceeds-transaction'] },
  [`post ${card}/undo`]: { scopes: [write], success: '200', wrapper: 'gift_card', query: ['dry_run'], ifMatch: true, faults: [...key, ...body, 'not-found', 'precondition-failed', 'undo-window-closed'] },
}; // prettier-ignore

/** Errors that any operation can return. */
const everywhere = ['invalid-request', 'invalid-query', 'unauthenticated', 'invalid-signature', 'insufficient-scope', 'cross-site-request', 'request-timeout', 'expectation-failed', 'too-many-requests', 'headers-too-large', 'internal-error', 'overloaded', 'unavailable', 'not-writable', 'store-closed', 'closing']; // prettier-ignore

for (const [name, { scopes, success, wrapper, query = [], ifMatch = false, faults }] of Object.entries(expected)) {
  test(`${name} is documented`, () => {
    const [method = '', path = ''] = name.split(' ');
    const operation = document.paths[path]?.[method];
    assert.ok(operation, name);
    assert.ok(operation.description);
    assert.deepEqual([...new Set(operation.security.flatMap((way) => Object.values(way).flat()))].toSorted(), scopes.toSorted());
    const { parameters, requestBody } = operation;
    const responses = Object.fromEntries(Object.entries(operation.responses).map(([status, response]) => [status, resolved(response)]));
    assert.deepEqual(parameters.filter((one) => one.in === 'query').map((one) => one.name).toSorted(), query.toSorted());
    assert.equal(parameters.some((one) => one.name === 'Idempotency-Key'), query.includes('dry_run'));
    if (ifMatch) assert.ok(parameters.some((one) => one.name === 'If-Match'));
    assert.equal(requestBody !== undefined, wrapper !== undefined);
    for (const media of ['application/json', 'application/x-www-form-urlencoded']) {
      if (wrapper !== undefined) assert.match(requestBody?.content[media]?.schema.$ref ?? '', /^#\/components\/schemas\/\w+$/, media);
    }
    // The repetition of an external id is a 200.
    const repeated = wrapper !== undefined && success === '201' ? ['200'] : [];
    assert.deepEqual(Object.keys(responses).filter((status) => status < '300'), [...repeated, success]);
    const headers = Object.keys(responses[success]?.headers ?? {});
    assert.equal(headers.includes('Dry-Run'), query.includes('dry_run'));
    assert.equal(headers.includes('Link'), query.includes('limit'));
    const documented = new Set(Object.values(responses).flatMap((response) => response['x-faults'] ?? []));
    const missing = [...faults, ...everywhere].filter((code) => !documented.has(code));
    assert.deepEqual(missing, []);
  });
} // prettier-ignore

test('every write documents dry_run, including the four operations, and an update documents release_holds', () => {
  for (const [path, methods] of Object.entries(document.paths)) {
    for (const [method, { operationId, parameters }] of Object.entries(methods)) {
      const isWrite = method !== 'get' && operationId !== 'lookUpGiftCard';
      const knows = (parameters ?? []).some((one) => one.name === 'dry_run');
      assert.equal(knows, isWrite, `${method} ${path}`);
    }
  }
  assert.ok('release_holds' in (document.components.schemas['UpdateGiftCard']?.properties ?? {}));
});

test('body schemas list the parameters and the required ones', () => {
  const own = ['reference', 'note', 'order_id', 'order_reference', 'external_id', 'location_id'];
  const moves = ['amount', 'currency', ...own];
  for (const [name, properties, required] of [
    ['LookUp', ['code', 'email'], ['code']],
    ['Redeem', ['code', 'email', ...moves, 'partial'], ['amount', 'code']],
    ['Debit', [...moves, 'partial'], ['amount']],
    ['Credit', [...moves, 'kind', 'expires_on', 'notify'], ['amount']],
    ['CreateHold', [...moves, 'expires_in'], ['amount']],
    ['Capture', ['amount', ...own], []],
    ['Reverse', ['amount', ...own], []],
    ['Nothing', [], []],
  ] as const) {
    const schema = document.components.schemas[name];
    assert.deepEqual(Object.keys(schema?.properties ?? {}).toSorted(), [...properties].toSorted(), name);
    assert.deepEqual((schema?.required ?? []).toSorted(), [...required], name);
  }
});

test('the type of every error on money leads to its explanation', async () => {
  const codes = new Set(Object.values(expected).flatMap(({ faults }) => faults));
  assert.ok(codes.size > 15);
  const { text } = await service.request('/docs/errors');
  for (const code of codes) {
    const { status, headers } = await service.request(`/docs/problems/${code}`);
    assert.equal(status, 302, code);
    const [path, anchor = ''] = (headers.get('location') ?? '').split('#');
    assert.equal(new URL(path ?? '', `${service.url}/docs/problems/${code}`).pathname, '/docs/errors');
    assert.ok(anchor.endsWith(code) && text.includes(`id="${anchor}"`), anchor);
  }
});
