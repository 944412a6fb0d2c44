/**
 * Assertions about every response: problems and gift cards.
 *
 * The tables repeat the specification on purpose: tables derived from the code would change with it.
 */

import assert from 'node:assert/strict';
import Type from 'typebox';
import { Compile } from 'typebox/compile';
import type { FaultCode } from '../../src/core/domain/fault.ts';
import { giftCardSchema, issuedGiftCardSchema } from '../../src/core/cards/domain/schemas.ts';
import { problemSchema } from '../../src/api/schemas.ts';
import { retriedCodes, statusOfCode, titleOfStatus } from './error-codes.ts';
import type { TestResponse } from './service.ts';

export type Problem = {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly errors: string | Readonly<Record<string, readonly string[]>>;
  readonly available?: string;
  readonly held?: string;
  readonly reversible?: string;
  readonly request_id: string;
};

type Extension = 'available' | 'held' | 'reversible';

/** The field with the limit that a rejected amount exceeds. */
const extensionOf: Partial<Record<FaultCode, Extension>> = {
  'insufficient-balance': 'available',
  'capture-exceeds-hold': 'held',
  'reversal-exceeds-transaction': 'reversible',
};

export type GiftCard = {
  readonly id: number;
  readonly balance: string;
  readonly created_at: string;
  readonly currency: string;
  readonly initial_value: string;
  readonly disabled_at: string | null;
  readonly line_item_id: number | null;
  readonly api_client_id: number | null;
  readonly user_id: number | null;
  readonly customer_id: number | null;
  readonly customer_email: string | null;
  readonly recipient_id: number | null;
  readonly recipient_email: string | null;
  readonly note: string | null;
  readonly expires_on: string | null;
  readonly message: string | null;
  readonly last_characters: string;
  readonly order_id: number | null;
};

export type IssuedGiftCard = GiftCard & { readonly code: string };

/** The fields of a record in the specification's order. */
export const fieldsInOrder = [
  'id', 'balance', 'created_at', 'currency', 'initial_value', 'disabled_at', 'line_item_id', 'api_client_id',
  'user_id', 'customer_id', 'customer_email', 'recipient_id', 'recipient_email', 'note', 'expires_on', 'message',
  'last_characters', 'order_id',
] as const satisfies readonly (keyof GiftCard)[]; // prettier-ignore

const isProblem = Compile(problemSchema);
const isGiftCard = Compile(Type.Object({ gift_card: giftCardSchema }, { additionalProperties: false }));
const isIssued = Compile(Type.Object({ gift_card: issuedGiftCardSchema }, { additionalProperties: false }));

export type ExpectedProblem = {
  readonly code: FaultCode;
  /** Field → all of its messages. The default of a code without fields is the title. */
  readonly errors?: string | Readonly<Record<string, readonly string[]>>;
  readonly available?: string;
  readonly held?: string;
  readonly reversible?: string;
  /** Whether it is a replay, whose body contains the id of the first request. */
  readonly replayed?: boolean;
  readonly basePath?: string;
};

/** Asserts what every response has in common, success or error. */
export function assertEveryResponse({ headers, text }: TestResponse): void {
  const requestId = headers.get('x-request-id');
  assert.ok(requestId, `a response without X-Request-Id: ${text}`);
  assert.match(requestId, /^[A-Za-z0-9._:/+=@-]{1,128}$/);
  assert.equal(headers.get('x-content-type-options'), 'nosniff');
  for (const name of headers.keys()) {
    assert.ok(!name.startsWith('access-control-'), `a response with the CORS header ${name}`);
    assert.notEqual(name, 'server');
    assert.notEqual(name, 'x-powered-by');
  }
}

const stockValues = ['fixed_value', 'minimum_value', 'maximum_value'];

/** The members that a problem can have, in their order. */
const possibleExtensions: Readonly<Partial<Record<FaultCode, readonly string[]>>> = {
  'invalid-parameter': stockValues,
  'not-activated': [...stockValues, 'tried_at'],
  'already-activated': ['activated_at'],
};

/** Asserts that a response is the expected problem in every detail, and returns the problem. */
export function problemOf(
  response: TestResponse,
  { code, errors, replayed = false, basePath = '', ...extensions }: ExpectedProblem,
): Problem {
  const { status, headers, json, text } = response;
  assert.equal(status, statusOfCode[code], `${code} was expected, not ${status} ${text.slice(0, 500)}`);
  assertEveryResponse(response);
  assert.match(headers.get('content-type') ?? '', /^application\/problem\+json(?:;|$)/);
  assert.equal(headers.get('cache-control'), 'no-store');
  assert.ok(isProblem.Check(json), `not of the documented form: ${text}`);
  const problem = json as Problem;
  const extension = extensionOf[code];
  const members = [
    'type',
    'title',
    'status',
    'detail',
    'errors',
    ...(extension ? [extension] : []),
    ...(possibleExtensions[code]?.filter((name) => Object.hasOwn(problem, name)) ?? []),
    'request_id',
  ];
  assert.deepEqual(Object.keys(problem), members);
  for (const [name, value] of Object.entries(extensions)) {
    assert.ok(name === extension || possibleExtensions[code]?.includes(name), name);
    assert.equal(problem[name as keyof Problem], value, text);
  }
  assert.equal(problem.type, `${basePath}/docs/problems/${code}`);
  assert.equal(problem.status, status);
  assert.equal(problem.title, titleOfStatus[status]);
  assert.ok(problem.detail.length > 10);
  if (!replayed) assert.equal(problem.request_id, headers.get('x-request-id'));
  if (errors !== undefined) assert.deepEqual(problem.errors, errors, text);
  else if (code === 'invalid-parameter') assert.equal(typeof problem.errors, 'object', text);
  else if (!extension && !possibleExtensions[code]) assert.equal(problem.errors, problem.title, text);
  assert.equal(headers.get('etag'), null);
  assert.equal(headers.get('location'), null);
  assertBelongs(headers, 'www-authenticate', status === 401 || code === 'insufficient-scope');
  assertBelongs(headers, 'allow', status === 405);
  assertBelongs(headers, 'retry-after', retriedCodes.has(code));
  if (retriedCodes.has(code)) assert.match(headers.get('retry-after') ?? '', /^[1-9][0-9]{0,5}$/);
  if (status === 401) assert.match(headers.get('www-authenticate') ?? '', /^Bearer realm="/);
  if (code === 'invalid-signature') assert.match(headers.get('www-authenticate') ?? '', /\bAppProxy\b/);
  if (code === 'insufficient-scope')
    assert.match(headers.get('www-authenticate') ?? '', /error="insufficient_scope"/);
  return problem;
}

function assertBelongs(headers: Headers, name: string, belongs: boolean): void {
  assert.equal(headers.get(name) !== null, belongs, `${name}: ${headers.get(name)}`);
}

/** Asserts that a response has one valid card without its code, and returns the card. */
export function giftCardOf(
  response: TestResponse,
  { status = 200 }: { readonly status?: number } = {},
): GiftCard {
  const { gift_card: card } = recordOf(response, status, isGiftCard.Check(response.json)) as {
    readonly gift_card: GiftCard;
  };
  assert.deepEqual(Object.keys(card), fieldsInOrder);
  assertAmounts(card);
  return card;
}

/** Asserts that a response creates a card, and returns the card with its code. */
export function issuedGiftCardOf(response: TestResponse, { basePath = '' } = {}): IssuedGiftCard {
  const { gift_card: card } = recordOf(response, 201, isIssued.Check(response.json)) as {
    readonly gift_card: IssuedGiftCard;
  };
  assert.deepEqual(Object.keys(card), [...fieldsInOrder, 'code']);
  assertAmounts(card);
  assert.equal(card.last_characters, card.code.slice(-4));
  assert.equal(response.headers.get('location'), `${basePath}/gift_card/${card.id}`);
  return card;
}

function recordOf(response: TestResponse, status: number, isOfSchema: boolean): unknown {
  const { headers, text } = response;
  assert.equal(response.status, status, text);
  assertEveryResponse(response);
  assert.ok(isOfSchema, `not of the documented form: ${text}`);
  assert.match(headers.get('content-type') ?? '', /^application\/json(?:; *charset=utf-8)?$/);
  assert.equal(headers.get('cache-control'), 'no-store');
  assert.match(headers.get('etag') ?? '', /^"[\x21\x23-\x7e]+"$/);
  assert.equal(headers.get('www-authenticate'), null);
  assert.equal(headers.get('retry-after'), null);
  return response.json;
}

const decimals: Readonly<Record<string, number>> = { USD: 2, EUR: 2, JPY: 0, KWD: 3, CLF: 4 };

function assertAmounts({ balance, initial_value, currency, id }: GiftCard): void {
  const digits = decimals[currency];
  assert.ok(digits !== undefined, `the table has no decimals of ${currency}`);
  const form = digits === 0 ? /^\d{1,12}$/ : new RegExp(`^\\d{1,12}\\.\\d{${digits}}$`);
  assert.match(balance, form);
  assert.match(initial_value, form);
  assert.ok(Number.isSafeInteger(id) && id > 0);
}
