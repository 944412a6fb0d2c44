import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { createConfig, lintFromString, type NormalizedProblem } from '@redocly/openapi-core';
import type { TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import type { FaultCode } from '../../src/domain/fault.ts';
import { recordOf } from '../../src/domain/record.ts';
import { openApiDocument } from '../../src/http/openapi.ts';
import * as parameters from '../../src/http/parameters.ts';
import { problems } from '../../src/http/problem.ts';
import type { OpenApiDocument } from '../../src/http/reference/reference.ts';
import { operations, pagePaths } from '../../src/http/routes.ts';
import { cardWith } from './samples.ts';

type Json = Readonly<Record<string, unknown>>;
type Operation = NonNullable<NonNullable<NonNullable<OpenApiDocument['paths']>[string]>['get']>;

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null;

/** The document as it is served. */
function served(basePath: string): OpenApiDocument {
  return JSON.parse(JSON.stringify(openApiDocument(basePath))) as OpenApiDocument;
}

const document = served('');

/** Everything in the document, with the path to it. */
function* walk(node: unknown, path = '#'): Generator<readonly [path: string, node: Json]> {
  if (!isObject(node)) return;
  yield [path, node];
  for (const [key, value] of Object.entries(node)) yield* walk(value, `${path}/${key.replaceAll('/', '~1')}`);
}

/** What a local reference points to. */
function targetOf(reference: string): Json {
  let target: unknown = document;
  for (const key of reference.replace(/^#\//, '').split('/'))
    target = isObject(target) ? target[key] : undefined;
  assert.ok(isObject(target), `${reference} points nowhere`);
  return target;
}

/** The same with every reference replaced by what it points to. */
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

/** Every operation and page with its address. */
const described = Object.entries(document.paths ?? {}).flatMap(([path, item]) =>
  (['get', 'post', 'put', 'patch', 'delete', 'head', 'options'] as const).flatMap((method) => {
    const operation = item[method];
    return operation ? [{ path, method, operation }] : [];
  }),
);

function operationOf(id: string): Operation {
  const found = described.find(({ operation }) => operation.operationId === id);
  assert.ok(found, `no operation ${id}`);
  return found.operation;
}

/** The codes of a response, as its `x-faults` names them. */
function faultsOf(operation: Operation): string[] {
  return Object.values(operation.responses ?? {}).flatMap((response) => {
    const codes: unknown = Reflect.get(response, 'x-faults');
    return Array.isArray(codes) ? codes.map(String) : [];
  });
}

const lintConfig = await createConfig({
  extends: ['recommended'],
  rules: {
    // Every warning of the recommended rules fails the tests below. These come on top of them.
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

/** What the linter found, by the rule's name. */
function complaints(isMeant: (rule: string) => boolean): string[] {
  return [...found].flatMap(([basePath, list]) =>
    list
      .filter(({ ruleId }) => isMeant(ruleId))
      .map(
        ({ ruleId, message, location }) => `${basePath} ${ruleId}: ${message} ${location[0]?.pointer ?? ''}`,
      ),
  );
}

/** These have tests of their own. */
const separate = new Set(['operation-4xx-response', 'no-unused-components']);

test('the linter has nothing to say against the description, wherever the service is reached', () => {
  assert.equal(found.size, 2);
  assert.deepEqual(
    complaints((rule) => !separate.has(rule)),
    [],
  );
});

test('the linter does find what is wrong', async () => {
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

test('every operation and page documents at least one refusal', () => {
  assert.deepEqual(
    complaints((rule) => rule === 'operation-4xx-response'),
    [],
  );
});

test('no component is described that nothing refers to', () => {
  assert.deepEqual(
    complaints((rule) => rule === 'no-unused-components'),
    [],
  );
});

test('the four operations and four pages are described, each by a name of its own', () => {
  assert.deepEqual(
    described.map(({ path, method, operation }) => `${operation.operationId} ${method} ${path}`).toSorted(),
    [
      'createGiftCard post /gift_card',
      'health get /healthz',
      'metrics get /metrics',
      'openapi get /openapi.json',
      'readiness get /readyz',
      'retrieveGiftCard get /gift_card/{gift_card_id}',
      'searchGiftCard get /gift_card',
      'updateGiftCard put /gift_card/{gift_card_id}',
    ],
  );
  for (const { path } of described.filter(({ operation }) => operation.tags?.[0] === 'Service')) {
    assert.ok(Object.values<string>(pagePaths).includes(path));
  }
});

test('the description names where the service is reached', () => {
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

/** Refused before a handler sees the request, or failed: any operation. */
const anywhere = ['400', '401', '403', '408', '417', '429', '431', '500', '503'];

const statuses: Readonly<Record<string, readonly string[]>> = {
  createGiftCard: ['201', ...anywhere, '409', '413', '415', '422'],
  searchGiftCard: ['200', '304', ...anywhere, '404', '422'],
  retrieveGiftCard: ['200', '304', ...anywhere, '404'],
  updateGiftCard: ['200', ...anywhere, '404', '409', '412', '413', '415', '422'],
};

for (const [id, expected] of Object.entries(statuses)) {
  test(`${id} lists exactly the statuses that it can answer`, () => {
    assert.deepEqual(Object.keys(operationOf(id).responses ?? {}), expected.toSorted());
  });
}

test('the operations that are listed here are all there are', () => {
  assert.deepEqual(
    Object.keys(statuses),
    operations.map(({ id }) => id),
  );
});

/** No credential, no limit; but a malformed request or too many headers are refused before any page. */
const ofAnyPage = ['200', '400', '408', '417', '431', '500', '503'];

for (const [id, expected] of Object.entries({
  health: ofAnyPage,
  readiness: ofAnyPage,
  metrics: [...ofAnyPage, '401'],
  openapi: ofAnyPage,
})) {
  test(`the page ${id} lists exactly the statuses that it can answer`, () => {
    assert.deepEqual(Object.keys(operationOf(id).responses ?? {}), expected.toSorted());
  });
}

test('every code is in the table, with its status and words', () => {
  assert.deepEqual(
    document['x-faults'],
    Object.entries(problems).map(([code, { status, title, detail }]) => ({ code, status, title, detail })),
  );
});

test('every code is told by an operation or page that can answer it', () => {
  const told = new Set(described.flatMap(({ operation }) => faultsOf(operation)));
  // A 405 is about a method that no operation has; the table is where it is told.
  const untold = Object.keys(problems).filter((code) => !told.has(code));
  assert.deepEqual(untold, ['method-not-allowed']);
  for (const code of told) assert.ok(code in problems, code);
});

test('a response tells the codes of its own status only, each with an example', () => {
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
  assert.ok(responses > 40);
});

test('an operation’s codes are those that its kind of request can meet', () => {
  const ofWrites = ['invalid-body', 'invalid-idempotency-key', 'body-too-large', 'unsupported-media-type', 'idempotency-key-in-use', 'idempotency-key-reused']; // prettier-ignore
  for (const { id, method } of operations) {
    const codes = faultsOf(operationOf(id));
    assert.equal(new Set(codes).size, codes.length);
    for (const code of ofWrites) assert.equal(codes.includes(code), method !== 'GET', `${id} ${code}`);
    for (const code of [
      'unauthenticated',
      'invalid-signature',
      'insufficient-scope',
      'too-many-requests',
      'invalid-query',
    ]) {
      assert.ok(codes.includes(code), `${id} ${code}`);
    }
    assert.equal(codes.includes('too-many-misses'), id === 'searchGiftCard');
    assert.equal(codes.includes('precondition-failed'), id === 'updateGiftCard');
    assert.equal(codes.includes('invalid-parameter'), id !== 'retrieveGiftCard');
  }
});

test('responses name the headers that come with them', () => {
  const expected: Readonly<Record<string, readonly string[]>> = {
    200: ['ETag', 'Cache-Control', 'X-Request-Id', 'RateLimit', 'RateLimit-Policy'],
    201: [
      'ETag',
      'Cache-Control',
      'X-Request-Id',
      'RateLimit',
      'RateLimit-Policy',
      'Location',
      'Idempotent-Replayed',
    ],
    304: ['ETag', 'X-Request-Id'],
    401: ['X-Request-Id', 'WWW-Authenticate'],
    403: ['X-Request-Id', 'WWW-Authenticate'],
    409: ['X-Request-Id', 'Retry-After'],
    429: ['X-Request-Id', 'Retry-After', 'RateLimit', 'RateLimit-Policy'],
    503: ['X-Request-Id', 'Retry-After'],
  };
  for (const { id, method } of operations) {
    for (const [status, response] of Object.entries(operationOf(id).responses ?? {})) {
      const names = Object.keys((response as { readonly headers?: object }).headers ?? {});
      const replayed = status === '200' && method === 'PUT' ? ['Idempotent-Replayed'] : [];
      assert.deepEqual(
        names.toSorted(),
        [...(expected[status] ?? ['X-Request-Id']), ...replayed].toSorted(),
        `${id} ${status}`,
      );
    }
  }
});

test('an operation is opened by any one token header, with the scope that its route demands', () => {
  for (const { id, scope, customerMaySearch } of operations) {
    const ways = [{ bearer: [scope] }, { accessToken: [scope] }, { gcfAccessToken: [scope] }];
    assert.deepEqual(operationOf(id).security, customerMaySearch ? [...ways, { appProxy: [] }] : ways);
  }
  for (const id of ['health', 'readiness', 'metrics', 'openapi'])
    assert.deepEqual(operationOf(id).security, []);
  const schemes = document.components?.securitySchemes ?? {};
  assert.deepEqual(Object.keys(schemes).toSorted(), ['accessToken', 'appProxy', 'bearer', 'gcfAccessToken']);
});

test('an operation documents the parameters that it reads besides its body', () => {
  const listed = (id: string) =>
    (operationOf(id).parameters ?? []).map((given) => {
      const { name, in: place, required = false } = given as { name: string; in: string; required?: boolean };
      return `${place} ${name}${required ? ' required' : ''}`;
    });
  const card = 'path gift_card_id required';
  assert.deepEqual(listed('createGiftCard'), ['header Idempotency-Key', 'header X-Request-Id']);
  assert.deepEqual(listed('retrieveGiftCard'), [card, 'header If-None-Match', 'header X-Request-Id']);
  assert.deepEqual(listed('updateGiftCard'), [
    card,
    'header Idempotency-Key',
    'header If-Match',
    'header X-Request-Id',
  ]);
  assert.deepEqual(listed('searchGiftCard'), [
    'query last_characters required',
    'query email required',
    'header If-None-Match',
    'header X-Request-Id',
  ]);
  for (const { id, query } of operations) {
    const names = listed(id).filter((line) => line.startsWith('query'));
    assert.deepEqual(
      names,
      query.map((name) => `query ${name} required`),
    );
  }
});

/** The schema of the component that documents a body. */
function bodySchema(name: string): Json {
  return targetOf(`#/components/schemas/${name}`);
}

test('the body of a creation documents every parameter, as it is read', () => {
  const { properties, required } = bodySchema('CreateGiftCard');
  assert.deepEqual(
    properties,
    asJson({
      initial_value: parameters.initialValue.schema,
      expires_on: parameters.expiresOnOrLater.schema,
      email: parameters.email.schema,
      recipient_email: parameters.recipientEmail.schema,
      note: parameters.note.schema,
      message: parameters.message.schema,
      code: parameters.code.schema,
      currency: parameters.currency.schema,
    }),
  );
  assert.deepEqual(required, ['initial_value']);
});

test('the body of an update documents every parameter that can be set, as it is read, and demands none', () => {
  const { properties, required } = bodySchema('UpdateGiftCard');
  const settable = {
    disable: parameters.disable.schema,
    balance: parameters.balance.schema,
    expires_on: parameters.expiresOn.schema,
    note: parameters.note.schema,
  };
  for (const [name, schema] of Object.entries(settable)) {
    assert.ok(isObject(properties));
    assert.deepEqual(properties[name], asJson(schema), name);
  }
  assert.ok(required === undefined || (Array.isArray(required) && required.length === 0));
});

function asJson(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

/** What the documentation says a request's body may be. */
function documentedBody(id: string): (value: unknown) => boolean {
  const { content } = operationOf(id).requestBody as {
    readonly content: Readonly<Record<string, { schema: Json }>>;
  };
  assert.deepEqual(Object.keys(content), ['application/json', 'application/x-www-form-urlencoded']);
  return validator(content['application/json']?.schema);
}

test('a body is documented bare and wrapped, never both, and a mistyped name is not', () => {
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

test('a client that sends back the record that it read keeps to the documented body of an update', () => {
  const update = documentedBody('updateGiftCard');
  for (const card of [cardWith(), cardWith({ disabledAt: 5, customer: null, note: null, orderId: null })]) {
    const sent: unknown = JSON.parse(JSON.stringify(recordOf(card)));
    assert.ok(update(sent));
    assert.ok(update({ gift_card: sent }));
  }
});

test('a creation that sends fields of the record along as null keeps to its documented body', () => {
  const nulls = Object.fromEntries(Object.keys(recordOf(cardWith())).map((name) => [name, null]));
  assert.ok(documentedBody('createGiftCard')({ ...nulls, initial_value: 25 }));
});

/** What the documentation says a success looks like. */
function documentedAnswer(id: string, status: string): (value: unknown) => boolean {
  const response = operationOf(id).responses?.[status] as unknown as {
    readonly content: Readonly<Record<string, { schema: Json }>>;
  };
  return validator(response.content['application/json']?.schema);
}

test('the record of a card is of its documented form, with its code only in the answer to a creation', () => {
  const record: unknown = JSON.parse(JSON.stringify(recordOf(cardWith())));
  assert.ok(isObject(record));
  const code = 'q2m8xk4w9c0d7f3k';
  for (const [id, status] of [
    ['retrieveGiftCard', '200'],
    ['searchGiftCard', '200'],
    ['updateGiftCard', '200'],
  ] as const) {
    const isDocumented = documentedAnswer(id, status);
    assert.ok(isDocumented({ gift_card: record }), id);
    assert.ok(
      isDocumented({ gift_card: { ...record, disabled_at: '2026-01-02T03:04:05Z', note: null } }),
      id,
    );
    assert.ok(!isDocumented({ gift_card: { ...record, disabled_at: '2026-01-02' } }), id);
    assert.ok(!isDocumented({ gift_card: { ...record, balance: 10.5 } }), id);
    assert.ok(!isDocumented(record), id);
    assert.ok(!isDocumented({ gift_card: { ...record, code } }), id);
    for (const name of Object.keys(record)) {
      const { [name]: _, ...less } = record;
      assert.ok(!isDocumented({ gift_card: less }), `${id} without ${name}`);
    }
  }
  const isIssued = documentedAnswer('createGiftCard', '201');
  assert.ok(isIssued({ gift_card: { ...record, code } }));
  assert.ok(!isIssued({ gift_card: record }));
});

test('the schema of a record lists its fields in the specification’s order, all required', () => {
  const order = Object.keys(recordOf(cardWith()));
  const card = bodySchema('GiftCard');
  const issued = bodySchema('IssuedGiftCard');
  assert.deepEqual(Object.keys(card['properties'] ?? {}), order);
  assert.deepEqual(card['required'], order);
  assert.deepEqual(Object.keys(issued['properties'] ?? {}), [...order, 'code']);
  assert.deepEqual(issued['required'], [...order, 'code']);
});

test('every example satisfies the schema that it stands for', () => {
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
    // Of schemas only: there `examples` is a list.
    if (Array.isArray(node['examples'])) {
      const isValid = validator(node);
      for (const example of node['examples'])
        assert.ok(isValid(example), `${path}: ${JSON.stringify(example)}`);
      examples += node['examples'].length;
    }
  }
  assert.ok(examples > 120, `only ${examples} examples`);
});

test('the bodies of the code samples are documented ones', () => {
  for (const { id, method } of operations) {
    const samples = operationOf(id)['x-codeSamples'] ?? [];
    assert.equal(samples.length, 1);
    for (const { source } of samples) {
      const body = /-d '(?<body>[^']*)'/.exec(source)?.groups?.['body'];
      assert.equal(body !== undefined, method !== 'GET');
      if (body !== undefined) assert.ok(documentedBody(id)(JSON.parse(body)), source);
      assert.ok(source.includes('"$BASE_URL/gift_card'), source);
    }
  }
});
