/** The responses, records and examples in the OpenAPI document. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { checkpointRecordOf } from '../../src/features/proofs/domain/checkpoint.ts';
import { batchCardRecordOf, batchRecordOf } from '../../src/features/batches/domain/record.ts';
import { locationRecordOf } from '../../src/core/stores/domain/location.ts';
import { stockRecordOf } from '../../src/features/stock/domain/record.ts';
import { Secret } from '../../src/platform/secret.ts';
import { erasureRecordOf } from '../../src/features/privacy/domain/erasure-record.ts';
import { customerRecordOf } from '../../src/core/customers/domain/customer.ts';
import type { HistoryEntry } from '../../src/core/cards/domain/history.ts';
import { historyRecordOf } from '../../src/core/cards/domain/history-record.ts';
import { emailRecordOf } from '../../src/features/emails/domain/record.ts';
import { eventJson } from '../../src/core/events/domain/event.ts';
import { eventTypes } from '../../src/core/events/domain/event-type.ts';
import {
  balanceRecordOf,
  holdRecordOf,
  recordOf,
  detailRecordOf,
  spendableRecordOf,
  tillRecordOf,
  transactionOf,
} from '../../src/core/cards/domain/record.ts';
import type { Delivery, Webhook } from '../../src/features/webhooks/domain/webhook.ts';
import {
  attemptRecordOf,
  deliveryRecordOf,
  webhookRecordOf,
} from '../../src/features/webhooks/domain/webhook-record.ts';
import {
  bodySchema,
  described,
  document,
  isObject,
  operationOf,
  validator,
  walk,
  type Json,
} from './openapi-document.ts';
import { operations } from '../../src/api/index.ts';
import { eventSchemas } from '../../src/features/reference/docs/webhooks.ts';
import { expectedOperations } from './openapi-expected.ts';
import {
  amount,
  batchWith,
  cardWith,
  holdWith,
  emailWith,
  stockWith,
  transferWith,
  sameIds,
} from './samples.ts';

/** Members other than records. */
const values: Readonly<Record<string, unknown>> = { Cursor: 'x', Count: 3, Precision: 'exact' };

/** Records of which a request can select fields. */
const sparse: Readonly<Record<string, string>> = { ListedGiftCard: 'DetailedGiftCard' };

test('the components are the bodies of requests and responses, the records, and the problem', () => {
  const used = new Set(expectedOperations.flatMap(({ body }) => (body ? [body.schema] : [])));
  const results = operations
    .filter(
      ({ documentation: { response } }) =>
        !('type' in response.content && response.content.type !== 'application/json'),
    )
    .map(({ id }) => `${id.charAt(0).toUpperCase()}${id.slice(1)}Result`);
  assert.deepEqual(
    Object.keys(document.components.schemas).toSorted(),
    [
      ...used,
      ...Object.keys(shown),
      ...Object.keys(sparse),
      ...results,
      // A repetition has no code.
      'CreateGiftCardRepetitionResult',
      'HealthResult',
      'ReadinessResult',
      'OpenapiResult',
      ...Object.keys(eventSchemas()),
      'Problem',
    ].toSorted(),
  );
});

test('each JSON body of a success has a name', () => {
  const unnamed = described.flatMap(({ operation: { operationId, responses } }) =>
    Object.entries(responses).flatMap(([status, response]) => {
      const { content = {} } = response as { readonly content?: Readonly<Record<string, { schema: Json }>> };
      const { schema } = content['application/json'] ?? {};
      return schema && !('$ref' in schema) ? [`${operationId} ${status}`] : [];
    }),
  );
  assert.deepEqual(unnamed, []);
});

/** Returns a validator of the documented response of a success. */
function documentedResponse(id: string, status: string): (value: unknown) => boolean {
  const response = operationOf(id).responses?.[status] as unknown as {
    readonly content: Readonly<Record<string, { schema: Json }>>;
  };
  return validator(response.content['application/json']?.schema);
}

const root = new Uint8Array(32);

const plain = JSON.parse(JSON.stringify(recordOf(sameIds, cardWith()))) as Json;

const webhook: Webhook = {
  storeId: 17,
  id: 9,
  version: 1,
  url: 'https://shop.example.com/hook',
  patterns: ['gift_card.*'],
  paused: { at: 5, reason: 'failures' },
  failing: { since: 4, failure: 'responded with 503' },
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

const historyEntry: HistoryEntry = {
  id: 7,
  kind: 'changed',
  at: 0,
  actor: 'api_client:7',
  state: 'active',
  changes: [{ field: 'note', old: null, new: 'Tulips' }],
};

/** The documented example of a report. */
function exampleOf(name: string): Json {
  const operation = operations.find(({ id }) => id === `report${name}`) ?? assert.fail(name);
  const { example } = operation.documentation.response.content as { readonly example: Record<string, Json> };
  return example[name.toLowerCase()] ?? assert.fail(name);
}

/** A sample of each kind of record as the service sends it. */
const shown: Readonly<Record<string, Json>> = {
  TestClock: {
    now: '2027-11-26T09:00:00Z',
    advancing_to: null,
    done: {
      holds_expired: 0,
      cards_expired: 3,
      cards_expiring_soon: 0,
      emails: 9,
      webhook_attempts: 12,
      days_closed: 40,
    },
  },
  ...Object.fromEntries(
    ['Liability', 'Journal', 'Aging', 'Activity', 'Breakage'].map((name) => [name, exampleOf(name)]),
  ),
  GiftCard: plain,
  IssuedGiftCard: { ...plain, code: 'q2m8xk4w9c0d7f3k' },
  GiftCardBalance: { ...balanceRecordOf(cardWith(), '2026-03-15') },
  TillGiftCard: { ...tillRecordOf(sameIds, cardWith(), '2026-03-15') },
  SpendableGiftCard: { ...spendableRecordOf(sameIds, cardWith({ held: amount(400n) }), '2026-03-15') },
  DetailedGiftCard: { ...detailRecordOf(sameIds, cardWith(), { today: '2026-03-15', emailStatus: 'sent' }) },
  Transaction: { ...transactionOf(sameIds, transferWith()) },
  HistoryEntry: { ...historyRecordOf(sameIds, historyEntry) },
  Hold: { ...holdRecordOf(sameIds, holdWith(), 0) },
  Customer: {
    ...customerRecordOf(sameIds, { id: 51, email: 'ada@example.com', storefrontCustomerId: 7, createdAt: 0 }),
  },
  Batch: { ...batchRecordOf(batchWith(), 0) },
  BatchFailure: { index: 12, field: 'code', message: 'is taken' },
  BatchGiftCard: {
    ...batchCardRecordOf(sameIds, { index: 0, card: cardWith(), code: new Secret('q2m8xk4w9c0d7f3k') }),
  },
  Location: {
    ...locationRecordOf({
      storeId: 17,
      id: 5,
      name: 'Market Street',
      address: null,
      timeZone: 'Europe/Paris',
      createdAt: 1,
      closedAt: 9,
    }),
  },
  Stock: { ...stockRecordOf({ stock: stockWith(), counts: { sold: 1, voided: 0 } }, 0) },
  StockFailure: { index: 12, message: 'is taken' },
  StockCode: { index: 0, code: 'q2m8xk4w9c0d7f3k' },
  Erasure: {
    ...erasureRecordOf(sameIds, {
      customerId: 51,
      eraseNotes: true,
      cards: 3,
      emails: 2,
      events: 9,
      texts: 1,
      textsLeft: 0,
      unsent: 1,
      unsentCards: '17',
      requestedAt: 0,
      completedAt: null,
    }),
  },
  EmailDelivery: { ...emailRecordOf(sameIds, emailWith(), { domain: 'flowers.example', now: 0 }) },
  Checkpoint: { ...checkpointRecordOf({ id: 5, size: 7, root, day: null, note: 'note', createdAt: 0 }) },
  Consistency: { from: 1, to: 2, hashes: [root.toBase64()] },
  LeafRange: { after: 0, size: 1, hashes: [root.toBase64()] },
  Log: { name: 'log', size: 7, keys: [{ key: 'key', created_at: null, is_current: true }] },
  GiftCardProof: {
    entries: [{ content: '[]', hash: root.toBase64() }],
    length: 1,
    proven: 0,
    proof: null,
    changes: [],
    changes_length: 0,
    changes_proven: 0,
    changes_proof: null,
  },
  Event: JSON.parse(
    eventJson({ id: 7, type: 'webhook.test', sequence: 0, createdAt: 5, data: '{}' }, 'flowers.example'),
  ) as Json,
  Webhook: { ...webhookRecordOf(webhook) },
  WebhookWithSecret: { ...webhookRecordOf(webhook), secret: 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD' },
  Delivery: { ...deliveryRecordOf(delivery) },
  LoggedDelivery: { ...deliveryRecordOf(delivery), log: [attemptRecordOf(delivery.last)] },
};

for (const { id, statuses, response } of expectedOperations.filter(
  (one) => !['streamEvents', 'exportCustomer'].includes(one.id),
)) {
  test(`${id} returns its documented response completely, and nothing else`, () => {
    const [status = ''] = statuses;
    const isDocumented = documentedResponse(id, status);
    const others = Object.entries(response).flatMap(([name, schema]) =>
      schema in values ? [[name, values[schema]] as const] : [],
    );
    const records = Object.entries(response).filter(([, schema]) => !(schema in values));
    const listed = records.map(([name, schema]) => {
      // The last one if a response has several schemas.
      const last = schema.split(' or ').at(-1) ?? '';
      const one = shown[sparse[last] ?? last] ?? assert.fail(schema);
      return {
        name,
        one,
        isSparse: last in sparse,
        wrap: (value: unknown) => (name.endsWith('s') || name === 'history' ? [value] : value),
      };
    });
    const whole: Json = {
      ...Object.fromEntries(listed.map(({ name, one, wrap }) => [name, wrap(one)])),
      ...Object.fromEntries(others),
    };
    assert.ok(isDocumented(whole));
    assert.ok(!isDocumented({ ...whole, more: null }));
    assert.ok(!isDocumented({}));
    for (const [name] of others) {
      const { [name]: _, ...less } = whole;
      assert.ok(!isDocumented(less), `the schema accepts a response without ${name}`);
      assert.ok(!isDocumented({ ...whole, [name]: {} }), name);
    }
    for (const { name, one, wrap, isSparse } of listed) {
      const { [name]: _, ...less } = whole;
      assert.ok(!isDocumented(less), `the schema accepts a response without ${name}`);
      assert.ok(!isDocumented({ ...whole, [name]: null }), name);
      assert.ok(
        !isDocumented({ ...whole, [name]: wrap({ ...one, more: null }) }),
        `the schema accepts more in ${name}`,
      );
      for (const field of Object.keys(one)) {
        const { [field]: _field, ...rest } = one;
        assert.equal(
          isDocumented({ ...whole, [name]: wrap(rest) }),
          isSparse,
          `the schema of ${name} without ${field}`,
        );
      }
    }
  });
}

test('only the responses of a creation, a rotation, a batch and a stock contain the code of a card', () => {
  const withCode = Object.entries(document.components?.schemas ?? {}).flatMap(([name, schema]) =>
    'properties' in schema && isObject(schema.properties) && 'code' in schema.properties ? [name] : [],
  );
  assert.deepEqual(
    withCode.filter((name) => name in shown),
    ['IssuedGiftCard', 'BatchGiftCard', 'StockCode'],
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
    'issue', 'adjustment', 'debit', 'credit', 'top_up', 'capture', 'reversal',
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
