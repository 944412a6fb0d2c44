/**
 * Assertions about every response about money. Statuses repeat the specification, and are not derived from
 * the code.
 */

import assert from 'node:assert/strict';
import Type, { type TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import * as schemas from '../../src/core/cards/domain/schemas.ts';
import { problemSchema } from '../../src/api/schemas.ts';
import type { FaultCode } from '../../src/core/domain/fault.ts';
import { codeOfType, statusOfCode, titleOfStatus } from './error-codes.ts';
import type { TestResponse } from './service.ts';

export type CardView = {
  readonly id: number;
  readonly balance: string;
  readonly created_at: string;
  readonly currency: string;
  readonly initial_value: string;
  readonly disabled_at: string | null;
  readonly expires_on: string | null;
  readonly note: string | null;
  readonly last_characters: string;
  readonly held: string;
  readonly available: string;
  readonly state: string;
  readonly code: string;
};

export type TransactionView = {
  readonly id: number;
  readonly gift_card_id: number;
  readonly kind: string;
  readonly amount: string;
  readonly currency: string;
  readonly balance_after: string;
  readonly actor: string;
  readonly reference: string | null;
  readonly note: string | null;
  readonly order_id: number | null;
  readonly order_reference: string | null;
  readonly external_id: string | null;
  readonly location_id: number | null;
  readonly hold_id: number | null;
  readonly reverses: number | null;
  readonly created_at: string;
};

export type HoldView = {
  readonly id: number;
  readonly gift_card_id: number;
  readonly status: string;
  readonly amount: string;
  readonly captured_amount: string;
  readonly currency: string;
  readonly actor: string;
  readonly reference: string | null;
  readonly note: string | null;
  readonly order_id: number | null;
  readonly order_reference: string | null;
  readonly external_id: string | null;
  readonly location_id: number | null;
  readonly created_at: string;
  readonly expires_at: string;
  readonly closed_at: string | null;
};

/** The fields of responses. Each operation has its own selection, which `assertResponse` checks. */
export type View = {
  readonly gift_card: CardView;
  readonly transaction: TransactionView;
  readonly hold: HoldView;
  readonly transactions: readonly TransactionView[];
  readonly holds: readonly HoldView[];
};

export type ProblemView = {
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

function closed(members: Readonly<Record<string, TSchema>>): (value: unknown) => boolean {
  const validator = Compile(Type.Object(members, { additionalProperties: false }));
  return (value) => validator.Check(value);
}

const { giftCardSchema, issuedGiftCardSchema, transactionSchema, holdSchema } = schemas;
/** The whole card, or the card for a caller without `read_gift_cards`. */
const spendable = { gift_card: Type.Union([schemas.spendableGiftCardSchema, schemas.tillGiftCardSchema]) };
const record = closed({ gift_card: giftCardSchema });
const moved = closed({ transaction: transactionSchema, ...spendable });
const held = closed({ hold: holdSchema, ...spendable });

const shapes: readonly (readonly [line: RegExp, isShape: (value: unknown) => boolean])[] = [
  [/^POST \/gift_card$/, closed({ gift_card: issuedGiftCardSchema })],
  [/^(GET|PUT) \/gift_card(\/\d+)?$/, record],
  [/^POST \/gift_card\/\d+\/undo$/, record],
  [/^POST \/gift_card\/\d+\/(suspend|resume)$/, closed({ gift_card: schemas.spendableGiftCardSchema })],
  [/^GET \/gift_cards\/\d+$/, closed({ gift_card: schemas.detailGiftCardSchema })],
  [
    /^GET \/(gift_cards|customers\/\d+\/gift_cards)$/,
    closed({
      gift_cards: Type.Array(schemas.listedGiftCardSchema),
      next_cursor: Type.Union([Type.String(), Type.Null()]),
    }),
  ],
  [/^POST \/gift_card\/lookup$/, closed(spendable)],
  [/^POST \/(gift_card\/(redeem|\d+\/(debit|credit))|transactions\/\d+\/reverse)$/, moved],
  [/^(POST \/(gift_card\/\d+\/holds|holds\/\d+\/void)|GET \/holds\/\d+)$/, held],
  [
    /^POST \/holds\/\d+\/capture$/,
    closed({ transaction: transactionSchema, hold: holdSchema, ...spendable }),
  ],
  [/^GET \/gift_card\/\d+\/balance$/, closed({ gift_card: schemas.balanceSchema })],
  [/^GET \/gift_card\/\d+\/holds$/, closed({ holds: Type.Array(holdSchema) })],
  [/^GET \/gift_card\/\d+\/history$/, closed({ history: Type.Array(schemas.historySchema) })],
  [/^GET \/gift_card\/\d+\/transactions$/, closed({ transactions: Type.Array(transactionSchema) })],
  [/^GET \/transactions\/\d+$/, closed({ transaction: transactionSchema })],
];

const isProblem = Compile(problemSchema);

/** Checks the response to `line`, a method and a path, if its form is documented here. */
export function assertResponse(line: string, response: TestResponse): void {
  const { status, headers, text, json } = response;
  const path = line.split('?', 1)[0] ?? '';
  // The repetition of a creation has no code.
  const isRepeated = status === 200 && path === 'POST /gift_card';
  const shape = isRepeated ? ([path, record] as const) : shapes.find(([pattern]) => pattern.test(path));
  if (!shape || status === 304) return;
  const said = `${line}: ${status} ${text}`;
  assert.ok(headers.get('x-request-id'), said);
  assert.equal(headers.get('cache-control'), 'no-store', said);
  assert.equal(headers.get('access-control-allow-origin'), null, said);
  if (status >= 400) {
    assertProblem(response, said);
    return;
  }
  assert.equal(headers.get('content-type'), 'application/json; charset=utf-8', said);
  assert.ok(shape[1](json), `not of the documented form: ${said}`);
  const { gift_card: card } = json as Partial<View>;
  if (card) assertCard(card, headers.get('etag'), said);
}

function assertCard(card: CardView, tag: string | null, said: string): void {
  // A balance has no id, which the caller knows.
  const { id }: Partial<CardView> = card;
  assert.match(tag ?? '', new RegExp(`^"${id ?? '\\d+'}-\\d+-\\d+"$`), said);
  assert.equal('state' in card, 'available' in card, said);
  if ('available' in card) {
    const isSpendable = ['active', 'empty', 'scheduled'].includes(card.state);
    const available = isSpendable ? minor(card.balance) - minor(card.held) : 0n;
    assert.equal(minor(card.available), available, said);
  }
  // A point of sale does not see the initial value, and other callers do not always see the available amount.
  const { initial_value, available }: Partial<CardView> = card;
  const other = initial_value ?? available ?? '';
  assert.equal(card.balance.split('.')[1]?.length, other.split('.')[1]?.length, said);
}

function assertProblem({ status, headers, json, text }: TestResponse, said: string): void {
  assert.equal(headers.get('content-type'), 'application/problem+json; charset=utf-8', said);
  assert.ok(isProblem.Check(json), said);
  const problem = problemOf({ json });
  assert.equal(problem.status, status, said);
  // A replay is the first response byte for byte, including the id of the first request.
  if (!headers.has('idempotent-replayed'))
    assert.equal(problem.request_id, headers.get('x-request-id'), said);
  const code = codeOf(problem);
  assert.equal(statusOfCode[code], status, said);
  assert.equal(problem.title, titleOfStatus[status], said);
  assert.equal('available' in problem, code === 'insufficient-balance', said);
  assert.equal('held' in problem, code === 'capture-exceeds-hold', said);
  assert.equal('reversible' in problem, code === 'reversal-exceeds-transaction', said);
  if (status === 401) assert.ok(headers.get('www-authenticate'), said);
  assert.doesNotMatch(text, /\bat .*\.ts:\d+|sqlite|select |update /i);
}

export function problemOf({ json }: Pick<TestResponse, 'json'>): ProblemView {
  return json as ProblemView;
}

/** The stable code at the end of a problem's type. */
export function codeOf({ type }: ProblemView): FaultCode {
  return codeOfType(type);
}

export function viewOf({ json }: TestResponse): View {
  return json as View;
}

/** Converts a decimal text to an integer of its last digits. */
export function minor(text: string): bigint {
  return BigInt(text.replace('.', ''));
}

/** Returns a problem's bytes without the id of the request. */
export function withoutRequestId({ text, headers }: TestResponse): string {
  return text.replaceAll(headers.get('x-request-id') ?? '', '');
}
