/** The parameters, bodies and code samples in the OpenAPI document. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { recordOf } from '../../src/core/cards/domain/record.ts';
import { readOnlyFields as claimableFields } from '../../src/core/cards/api/cards.ts';
import { batchFields } from '../../src/features/batches/api/batches.ts';
import type { Fields } from '../../src/api/field.ts';
import { stockFields, voidFields } from '../../src/features/stock/api/stocks.ts';
import { locationFields } from '../../src/core/stores/api/locations.ts';
import { detailFields } from '../../src/core/cards/api/card-fields.ts';
import * as parameters from '../../src/core/cards/api/fields.ts';
import { advanceFields } from '../../src/features/sandbox/api/test-clock.ts';
import { webhookEvents, webhookUrl } from '../../src/features/webhooks/api/webhook-fields.ts';
import { byField, cardFieldNames, editableFields } from '../../src/core/cards/domain/fields.ts';
import { operations } from '../../src/api/index.ts';
import { published } from '../../src/features/reference/docs/published.ts';
import {
  bodySchema,
  documentedBody,
  isObject,
  operationOf,
  validator,
  type GivenBody,
  type Json,
} from './openapi-document.ts';
import { expectations, expectedOperations, isThrottled, isWrite } from './openapi-expected.ts';
import { cardWith, sameIds } from './samples.ts';

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
    const { parameters: own } = expectations[id];
    const visitor = isThrottled(id, own) ? ['header Largesse-Visitor'] : [];
    assert.deepEqual(listed, [...own, ...visitor, 'header X-Request-Id'], id);
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
  const times = ['2026-08-15', '2026-08-15T12:37:38Z', '2026-08-15T12:37+02:00', '2026-08-15t12:37:38.5z'];
  const noTimes = ['', '2026-8-15', '15.08.2026', '2026-08-15T12:37:38', null];
  const cases: Readonly<Record<string, readonly [good: readonly unknown[], bad: readonly unknown[]]>> = {
    'path gift_card_id': [integers, [...noIds, 2 ** 53]],
    'path hold_id': [[...integers, 'external:a/b'], [...noIds, 2 ** 53, 'external:', 'external:a b']],
    'path transaction_id': [[...integers, `external:${'x'.repeat(255)}`], [...noIds, 2 ** 53, `external:${'x'.repeat(256)}`]],
    'path event_id': [integers, [...noIds, 2 ** 53]],
    'path location_id': [integers, [...noIds, 2 ** 53]],
    'path webhook_id': [integers, [...noIds, 2 ** 53]],
    'path batch_id': [integers, [...noIds, 2 ** 53]],
    'path stock_id': [integers, [...noIds, 2 ** 53]],
    'path customer_id': [integers, [...noIds, 2 ** 53]],
    'query dry_run': [[true, false], ['true', '', 2, null]],
    'query limit': [[1, 50, 250], [...noIds, 251]],
    'query before': [integers, noIds],
    'query after': [integers, noIds],
    'query state': [['active', 'disabled', 'empty', 'expired', 'scheduled'], ['', 'Active', 'used', null]],
    'query email_status': [['bounced', 'dead'], ['', 'sent', 'none', null]],
    'query created_at_min': [times, noTimes],
    'query created_at_max': [times, noTimes],
    'query disabled_at_min': [times, noTimes],
    'query disabled_at_max': [times, noTimes],
    'query last_activity_at_min': [times, noTimes],
    'query last_activity_at_max': [times, noTimes],
    'query expires_on_min': [['2026-08-15'], [...noTimes, '2026-08-15T00:00:00Z']],
    'query expires_on_max': [['2026-08-15'], [...noTimes, '2026-08-15T00:00:00Z']],
    'query balance_min': [['0', '10.00', '0.5'], ['', '-1', '1e3', '05', null]],
    'query balance_max': [['0', '10.00', '0.5'], ['', '-1', '1e3', '05', null]],
    'query order_id': [integers, noIds],
    'query batch_id': [integers, noIds],
    'query location_id': [[244_212_380_101, 1, 'none'], ['', '0', 'Market', 0, 1.5, null]],
    'query reference': [['receipt-1', 'x'.repeat(255)], ['', 'x'.repeat(256), null]],
    'query order_reference': [['B-1017', 'x'.repeat(255)], ['', 'x'.repeat(256), null]],
    'query external_id': [['pay_1', '~'.repeat(255)], ['', 'a b', 'é', 'x'.repeat(256), null]],
    'query actor': [['api_client:7'], ['', 'x'.repeat(256), null]],
    'query kind': [['issue', 'capture'], ['', 'sale', null]],
    'query status': [['open', 'expired'], ['', 'closed', null]],
    'query note': [['x', 'é'.repeat(100)], ['', 'x'.repeat(101), null]],
    'query tag': [['VIP', 'é'.repeat(40), `${'x'.repeat(40)}  `], ['', 'x'.repeat(163), null]],
    'query sort': [['created_at', '-created_at', 'balance', '-balance', 'expires_on', '-expires_on'], ['', 'id', '+balance', null]],
    'query as_of': [['2026-08-15T12:37:38Z', '2026-08-15T12:37:38.5+02:00'], [...noTimes, '2026-08-15', '2026-08-15T12:37Z']],
    'query cursor': [['WzFd.kM0vWn1pSZ5m7yqg0Y3r1A'], ['x'.repeat(124), null]],
    'query fields': [['id', 'id,balance', 'tags,id'], ['', 'id,', 'id, balance', null]],
    'query from': [integers, noIds],
    'query to': [integers, noIds],
    'query changes_after': [integers, noIds],
    'report as_of': [['2026-06-30', '2026-06-30T12:00:00Z', '2026-06-30T12:00:00.5+02:00'], ['', 'now', '2026-06-30T12:00:00', null]],
    'report from': [['2026-06-30'], ['', '2026-6-30', null]],
    'report to': [['2026-06-30'], ['', '2026-6-30', null]],
    'report location_id': [[244_212_380_101, 1, 'none'], ['', '0', 'Market', 0, 1.5, null]],
    'report by': [['day', 'month', 'actor', 'location'], ['', 'year', null]],
    'reportJournal by': [['location'], ['', 'day', null]],
    'query format': [['json', 'csv'], ['', 'xml', null]],
    'searchGiftCard last_characters': [['7f3k', '7F-3K', "gp'k"], ['7f3', null]],
    'query last_characters': [['7f3k', '7F3K'], ['7f3', '7f3kk', '7f-k', null]],
    'query email': [['grace@example.com'], ['', null]],
    'header Last-Event-ID': [['1', '244212359911'], ['', '0', 'x', '-1']],
    'header Largesse-Visitor': [['a', '!~', 'a'.repeat(128)], ['', 'a b', 'é', 'a'.repeat(129)]],
    'header Idempotency-Key': [['a', '!~', 'a'.repeat(255)], ['', 'a b', 'é', 'a'.repeat(256)]],
    'header X-Request-Id': [['a', 'a'.repeat(128)], ['', 'a b', 'a'.repeat(129)]],
    'header If-Match': [['"244212357349-1"', '*'], [5]],
    'header If-None-Match': [['"244212357349-1"', '*'], [5]],
  }; // prettier-ignore
  const seen = new Set<string>();
  for (const { id } of operations) {
    for (const { name, in: place, schema, description } of parametersOf(id)) {
      // The reports and the search have parameters with the names of others.
      const own = [`${id} ${name}`, ...(id.startsWith('report') ? [`report ${name}`] : [])];
      const key = own.find((one) => one in cases) ?? `${place} ${name}`;
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

function schemasOf(fields: Fields): Readonly<Record<string, object>> {
  return Object.fromEntries(Object.entries(fields).map(([name, { schema }]) => [name, schema]));
}

const named = {
  reference: parameters.reference.schema,
  note: parameters.note.schema,
  order_id: parameters.orderId.schema,
  order_reference: parameters.orderReference.schema,
  external_id: parameters.externalId.schema,
  location_id: parameters.locationId.schema,
};
const spending = {
  amount: parameters.amount.schema,
  currency: parameters.expectedCurrency.schema,
  ...named,
};
const partial = parameters.partial.schema;
const code = parameters.requiredCode.schema;
const part = { amount: parameters.optionalAmount.schema, ...named };
const creation = {
  ...byField(cardFieldNames, (name) => detailFields[name].schema),
  initial_value: parameters.initialValue.schema,
  expires_on: parameters.expiresOnOrLater.schema,
  email: parameters.email.schema,
  recipient_email: parameters.recipientEmail.schema,
  send_on: parameters.sendOn.schema,
  notify: parameters.notify.schema,
  suspend: parameters.suspend.schema,
  code: parameters.code.schema,
  storefront_customer_id: parameters.storefrontCustomerId.schema,
  vat_kind: parameters.vatKind.schema,
  vat_rate: parameters.vatRate.schema,
  currency: parameters.currency.schema,
};
const settable = {
  ...byField(editableFields, (name) => detailFields[name].schema),
  disable: parameters.disable.schema,
  balance: parameters.balance.schema,
  expires_on: parameters.expiresOn.schema,
  release_holds: parameters.releaseHolds.schema,
};

const bodies: Readonly<Record<string, { readonly read: object; readonly required: readonly string[] }>> = {
  CreateGiftCard: {
    read: { ...creation, stock: parameters.stockUse.schema, location_id: parameters.locationId.schema },
    required: ['initial_value'],
  },
  UpdateGiftCard: { read: settable, required: [] },
  Suspend: { read: { reason: parameters.suspendReason.schema }, required: [] },
  TestClockAdvance: {
    read: { advance_seconds: advanceFields.advance_seconds.schema, to: advanceFields.to.schema },
    required: [],
  },
  LookUp: { read: { code, email: parameters.holderEmail.schema }, required: ['code'] },
  Redeem: {
    read: { code, email: parameters.holderEmail.schema, ...spending, partial },
    required: ['code', 'amount'],
  },
  Debit: { read: { ...spending, partial }, required: ['amount'] },
  Credit: {
    read: {
      ...spending,
      kind: parameters.creditKind.schema,
      expires_on: parameters.laterExpiresOn.schema,
      notify: parameters.notifyHolder.schema,
    },
    required: ['amount'],
  },
  CreateBatch: {
    read: schemasOf(batchFields),
    required: [],
  },
  ExtendHold: { read: { expires_in: parameters.extendedExpiresIn.schema }, required: ['expires_in'] },
  CreateLocation: { read: schemasOf(locationFields), required: ['name'] },
  UpdateLocation: { read: { ...schemasOf(locationFields), closed: parameters.closed.schema }, required: [] },
  CreateStock: { read: schemasOf(stockFields), required: [] },
  VoidStock: { read: schemasOf(voidFields), required: [] },
  CreateHold: { read: { ...spending, expires_in: parameters.expiresIn.schema }, required: ['amount'] },
  Capture: { read: part, required: [] },
  Reverse: { read: part, required: [] },
  CreateWebhook: {
    read: { url: webhookUrl.schema, events: webhookEvents.schema },
    required: ['url', 'events'],
  },
  UpdateWebhook: {
    read: {
      url: webhookUrl.schema,
      events: webhookEvents.schema,
      paused: parameters.paused.schema,
    },
    required: [],
  },
  UpdateCustomer: {
    read: { storefront_customer_id: parameters.storefrontCustomerId.schema },
    required: [],
  },
  EraseCustomer: { read: { erase_notes: parameters.eraseNotes.schema }, required: [] },
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
    for (const [field, schema] of Object.entries<object>(own as Readonly<Record<string, object>>)) {
      assert.deepEqual(properties[field], asJson(published(schema, 'request')), field);
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
      const isId = /(?:^|_)id$/.test(field);
      assert.ok(isValid(null), `${name} ${field}`);
      assert.equal(isValid('x'), isUpdate && !isId, `${name} ${field}`);
      assert.equal(isValid(5), isUpdate && isId, `${name} ${field}`);
      for (const value of [true, {}, []]) assert.ok(!isValid(value), `${name} ${field}`);
    }
  }
});

test('every documented body belongs to an operation, and the other way round', () => {
  const used = new Set(expectedOperations.flatMap(({ body }) => (body ? [body.schema] : [])));
  assert.deepEqual([...used].toSorted(), Object.keys(bodies).toSorted());
});

function asJson(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

for (const { id, body } of expectedOperations) {
  test(`${id} documents ${body ? `the body ${body.schema}, bare, and names its wrapper` : 'no body'}`, () => {
    const given = operationOf(id).requestBody as GivenBody | undefined;
    assert.equal(given !== undefined, body !== undefined);
    if (!given || !body) return;
    const { wrapper } = body;
    assert.equal(given.required, body.required);
    assert.deepEqual(given.content['application/json']?.schema, {
      $ref: `#/components/schemas/${body.schema}`,
    });
    assert.ok(given.description.includes(`wrapped in \`${wrapper}\``));
    const isDocumented = documentedBody(id);
    const example = given.content['application/json']?.example;
    assert.ok(isObject(example));
    assert.ok(isDocumented(example));
    // An optional body can be empty too.
    assert.equal(isDocumented({}), !body.required);
    for (const other of ['gift_card', 'transaction', 'hold']) {
      assert.ok(!isDocumented({ [other]: example }), other);
    }
    assert.ok(!isDocumented({ ...example, mistyped: null }));
    for (const value of [null, [], 'x', [example]]) assert.ok(!isDocumented(value));
  });
}

test('the documented body of a movement accepts valid values and rejects invalid ones', () => {
  const debit = documentedBody('debitGiftCard');
  const all = { amount: '10', currency: 'USD', reference: 'r', note: '', order_id: 1001, partial: true };
  assert.ok(debit(all));
  assert.ok(debit({ amount: '10.00', currency: null, reference: null, note: null, order_id: null }));
  for (const wrong of [
    { amount: 10 },
    { amount: '-1' },
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
  assert.ok(!documentedBody('creditGiftCard')({ amount: '10', partial: true }));
  const hold = documentedBody('createHold');
  for (const seconds of [1, 604_800, 7_776_000, null]) assert.ok(hold({ amount: '10', expires_in: seconds }));
  for (const seconds of [0, 7_776_001, 1.5, '900', true])
    assert.ok(!hold({ amount: '10', expires_in: seconds }));
  for (const id of ['captureHold', 'reverseTransaction']) {
    assert.ok(documentedBody(id)({ amount: null, note: null }), id);
    assert.ok(!documentedBody(id)({ amount: 0 }), id);
  }
  for (const id of ['lookUpGiftCard', 'redeemGiftCard']) {
    assert.ok(!documentedBody(id)({ code: null, amount: '10' }), id);
  }
});

test('a body is documented bare, with amounts as strings, and without misspelled names', () => {
  const create = documentedBody('createGiftCard');
  const update = documentedBody('updateGiftCard');
  for (const body of [
    { initial_value: '25' },
    { initial_value: '25.00', expires_on: null, note: '', email: null },
  ]) {
    assert.ok(create(body));
    assert.ok(!create({ gift_card: body }));
  }
  for (const body of [{}, { disable: true }, { balance: '0', note: null, expires_on: null }]) {
    assert.ok(update(body));
  }
  for (const body of [
    null,
    [],
    {},
    { gift_card: {} },
    { initial_value: null },
    { initial_value: 25 },
    { initial_value: '1e3' },
  ]) {
    assert.ok(!create(body), JSON.stringify(body));
  }
  assert.ok(!create({ initial_value: '25', expires_at: '2031-12-31' }));
  assert.ok(!update({ balance: '-1' }));
  assert.ok(!update({ note: 5 }));
  assert.ok(!update({ disabled: true }));
});

test('a retrieved record is a valid documented body of an update', () => {
  const update = documentedBody('updateGiftCard');
  for (const card of [cardWith(), cardWith({ disabledAt: 5, customer: null, note: null, orderId: null })]) {
    const sent: unknown = JSON.parse(JSON.stringify(recordOf(sameIds, card)));
    assert.ok(update(sent));
  }
});

test('a creation with null in fields of the record is a valid documented body', () => {
  const nulls = Object.fromEntries(Object.keys(recordOf(sameIds, cardWith())).map((name) => [name, null]));
  assert.ok(documentedBody('createGiftCard')({ ...nulls, initial_value: '25' }));
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
      const sent = new URLSearchParams(/\?([^"]*)"/.exec(source)?.[1]);
      for (const [, name = ''] of given.parameters.join().matchAll(/query (\w+) required/g))
        assert.ok(sent.has(name), `${source} lacks ${name}`);
    }
  }
});
