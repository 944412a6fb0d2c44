/** The OpenAPI document: its form, and the statuses, errors, headers and credentials of every operation. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { createConfig, lintFromString, type NormalizedProblem } from '@redocly/openapi-core';
import type { FaultCode } from '../../src/core/domain/fault.ts';
import { openApiDocument } from '../../src/features/reference/docs/openapi.ts';
import { problems } from '../../src/http/problem.ts';
import { operations } from '../../src/api/index.ts';
import { pagePaths } from '../../src/http/page-paths.ts';
import {
  described,
  document,
  faultsOf,
  inlined,
  operationOf,
  served,
  type Json,
} from './openapi-document.ts';
import {
  codesAnywhere,
  codesOfBodies,
  codesOfKeys,
  expectations,
  expectedOperations,
  isRejectedByBudget,
  isWrite,
} from './openapi-expected.ts';

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
  const source = JSON.stringify(served(basePath));
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
      'advanceTestClock post /test_clock',
      'captureHold post /holds/{hold_id}/capture',
      'countGiftCards get /gift_cards/count',
      'createBatch post /batches',
      'createCheckpoint post /checkpoints',
      'createGiftCard post /gift_card',
      'createHold post /gift_card/{gift_card_id}/holds',
      'createLocation post /locations',
      'createStock post /stocks',
      'createWebhook post /webhooks',
      'creditGiftCard post /gift_card/{gift_card_id}/credit',
      'debitGiftCard post /gift_card/{gift_card_id}/debit',
      'deleteWebhook delete /webhooks/{webhook_id}',
      'eraseCustomer post /customers/{customer_id}/erase',
      'exportCustomer get /customers/{customer_id}/export',
      'extendHold post /holds/{hold_id}/extend',
      'health get /healthz',
      'listBatchCards get /batches/{batch_id}/cards',
      'listBatches get /batches',
      'listCheckpointKeys get /checkpoints/key',
      'listCheckpoints get /checkpoints',
      'listCustomerGiftCards get /customers/{customer_id}/gift_cards',
      'listCustomers get /customers',
      'listDeliveries get /webhooks/{webhook_id}/deliveries',
      'listEvents get /events',
      'listGiftCardEmails get /gift_card/{gift_card_id}/deliveries',
      'listGiftCards get /gift_cards',
      'listHistory get /gift_card/{gift_card_id}/history',
      'listHolds get /gift_card/{gift_card_id}/holds',
      'listLeaves get /checkpoints/leaves',
      'listLocations get /locations',
      'listStockCodes get /stocks/{stock_id}/codes',
      'listStocks get /stocks',
      'listStoreHolds get /holds',
      'listStoreTransactions get /transactions',
      'listTransactions get /gift_card/{gift_card_id}/transactions',
      'listWebhooks get /webhooks',
      'lookUpGiftCard post /gift_card/lookup',
      'metrics get /metrics',
      'notifyGiftCardHolder post /gift_card/{gift_card_id}/notify',
      'openapi get /openapi.json',
      'proveConsistency get /checkpoints/consistency',
      'proveGiftCard get /gift_card/{gift_card_id}/proof',
      'readiness get /readyz',
      'redeemGiftCard post /gift_card/redeem',
      'redeliverEvent post /events/{event_id}/redeliver',
      'reenableGiftCard post /gift_card/{gift_card_id}/undo',
      'reportActivity get /reports/activity',
      'reportAging get /reports/aging',
      'reportBreakage get /reports/breakage',
      'reportJournal get /reports/journal',
      'reportLiability get /reports/liability',
      'resumeGiftCard post /gift_card/{gift_card_id}/resume',
      'retrieveBalance get /gift_card/{gift_card_id}/balance',
      'retrieveBatch get /batches/{batch_id}',
      'retrieveCustomer get /customers/{customer_id}',
      'retrieveDelivery get /webhooks/{webhook_id}/deliveries/{event_id}',
      'retrieveErasure get /customers/{customer_id}/erasure',
      'retrieveEvent get /events/{event_id}',
      'retrieveGiftCard get /gift_card/{gift_card_id}',
      'retrieveGiftCardDetails get /gift_cards/{gift_card_id}',
      'retrieveHold get /holds/{hold_id}',
      'retrieveLocation get /locations/{location_id}',
      'retrieveStock get /stocks/{stock_id}',
      'retrieveTestClock get /test_clock',
      'retrieveTransaction get /transactions/{transaction_id}',
      'retrieveWebhook get /webhooks/{webhook_id}',
      'reverseTransaction post /transactions/{transaction_id}/reverse',
      'rotateGiftCardCode post /gift_card/{gift_card_id}/rotate_code',
      'rotateWebhookSecret post /webhooks/{webhook_id}/rotate_secret',
      'searchGiftCard get /gift_card',
      'streamEvents get /events/stream',
      'suspendGiftCard post /gift_card/{gift_card_id}/suspend',
      'testWebhook post /webhooks/{webhook_id}/test',
      'updateCustomer put /customers/{customer_id}',
      'updateGiftCard put /gift_card/{gift_card_id}',
      'updateLocation put /locations/{location_id}',
      'updateWebhook put /webhooks/{webhook_id}',
      'voidHold post /holds/{hold_id}/void',
      'voidStock post /stocks/{stock_id}/void',
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
  assert.equal(document.externalDocs.url, 'https://cards.example/docs');
  assert.equal(served('/apps/x').externalDocs.url, 'https://cards.example/apps/x/docs');
  assert.equal(openApiDocument('/apps/x', '').externalDocs.url, '/apps/x/docs');
  const { paths, components } = served('/apps/x');
  assert.deepEqual({ paths, components }, { paths: document.paths, components: document.components });
  const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as { readonly version: string };
  assert.equal(document.info.version, manifest.version);
});

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
  assert.equal(operations.length, 76);
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
  const documented = new Set(described.flatMap(({ operation }) => faultsOf(operation)));
  // A 405 does not belong to an operation. Only the table documents it.
  const undocumented = Object.keys(problems).filter((code) => !documented.has(code));
  assert.deepEqual(undocumented, ['method-not-allowed']);
  for (const code of documented) assert.ok(code in problems, code);
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
  assert.ok(JSON.stringify(document).length < 580_000);
}); // prettier-ignore

for (const { id, codes, body, ...rest } of expectedOperations) {
  test(`${id} documents exactly the codes that its kind of request can return`, () => {
    const documented = faultsOf(operationOf(id));
    assert.equal(new Set(documented).size, documented.length);
    const due = [
      ...codesAnywhere,
      ...(body ? codesOfBodies : []),
      ...(isRejectedByBudget(id, rest.parameters) ? (['too-many-misses'] as const) : []),
      ...(isWrite({ codes, ...rest }) ? codesOfKeys : []),
      ...codes,
    ];
    assert.deepEqual(documented.toSorted(), due.toSorted());
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
