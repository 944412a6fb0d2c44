/** A shop of a test service: asks, checks every answer's form, and watches events and state while it does. */

import assert from 'node:assert/strict';
import type { Scope } from '../../src/domain/store.ts';
import { codeOfType, statusOfCode } from './error-codes.ts';
import {
  assertAnswer,
  codeOf,
  problemOf,
  viewOf,
  type CardView,
  type HoldView,
  type TransactionView,
  type View,
} from './money-answers.ts';
import type { TestAnswer, TestService } from './service.ts';

export type Ask = {
  readonly json?: unknown;
  /** A form, as it is sent. */
  readonly form?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The shop's own, which may do everything, unless told; null: none. */
  readonly token?: string | null;
};

type Refusal = {
  /** Of the contract's codes. */
  readonly code: string;
  /** Field → messages, or the text; what it must be, if it matters. */
  readonly errors?: unknown;
  readonly available?: string;
  readonly held?: string;
  readonly reversible?: string;
};

type Issued = {
  readonly card: CardView;
  readonly id: number;
  readonly code: string;
  readonly tag: string;
};

export type Shop = {
  readonly service: TestService;
  readonly domain: string;
  readonly token: string;
  /** A token of this store with exactly these scopes. */
  tokenFor(...scopes: readonly Scope[]): Promise<string>;
  ask(line: string, ask?: Ask): Promise<TestAnswer>;
  /** Asks for what must succeed, and fires these events and no others. */
  does(line: string, ask: Ask, expected: { readonly status?: number; readonly events: readonly string[] }): Promise<View & { readonly answer: TestAnswer }>;
  /** Asks for what must be refused so, and changes and tells nothing. */
  refuses(line: string, ask: Ask, expected: Refusal): Promise<TestAnswer>;
  /** Issues a card of 25 units, unless told. */
  issues(parameters?: Readonly<Record<string, unknown>>): Promise<Issued>;
  card(id: number): Promise<CardView>;
  /** The card with what is held and available, by its code. */
  lookUp(code: string): Promise<CardView>;
  debits(id: number, amount: string, more?: Readonly<Record<string, unknown>>): Promise<TransactionView>;
  holds(id: number, amount: string, more?: Readonly<Record<string, unknown>>): Promise<HoldView>;
  transactions(id: number): Promise<readonly TransactionView[]>;
  /** Every code that was sent or answered: none may be found in the log, the state or another answer. */
  readonly codes: Set<string>;
  /** Ends a test file: no code stands where it must not. */
  assertNoCodeLeaked(): Promise<void>;
}; // prettier-ignore

function shopWith(service: TestService, domain: string, token: string): Shop {
  const tokens = new Map<string, Promise<string>>();
  const codes = new Set<string>();

  const shop: Shop = {
    service,
    domain,
    token,
    codes,
    tokenFor(...scopes) {
      const name = scopes.join(' ');
      const made = tokens.get(name) ?? service.token(domain, scopes);
      tokens.set(name, made);
      return made;
    },
    async ask(line, { json, form, headers = {}, token: other = token } = {}) {
      const [method = '', path = ''] = line.split(' ');
      const answer = await service.request(path, {
        method,
        headers: form === undefined ? headers : { 'content-type': 'application/x-www-form-urlencoded', ...headers },
        ...(json !== undefined && { json }),
        ...(form !== undefined && { body: form }),
        ...(other !== null && { token: other }),
      }); // prettier-ignore
      assertAnswer(line, answer);
      const creation = line.startsWith('POST /gift_card') && answer.status === 201;
      const code = creation ? viewOf(answer).gift_card.code : undefined;
      if (code !== undefined) codes.add(code);
      else assertWithout(codes, `${answer.text} ${[...answer.headers.values()].join(' ')}`);
      return answer;
    },
    async does(line, ask, { status, events }) {
      const before = await eventIds(service);
      const answer = await shop.ask(line, ask);
      assert.equal(answer.status, status ?? successOf(line), `${line}: ${answer.text}`);
      assert.deepEqual(await newEvents(service, before), events.toSorted(), line);
      return { ...viewOf(answer), answer };
    },
    async refuses(line, ask, { code, errors, available, held, reversible }) {
      const before = await stateOf(service);
      const answer = await shop.ask(line, ask);
      assert.ok(answer.status >= 400, `${line} ${JSON.stringify(ask)}: ${answer.status} ${answer.text}`);
      const problem = problemOf(answer);
      assert.equal(codeOf(problem), code, `${line} ${JSON.stringify(ask)}: ${answer.text}`);
      assert.equal(answer.status, statusOfCode[codeOfType(code)]);
      if (errors !== undefined) assert.deepEqual(problem.errors, errors, line);
      if (available !== undefined) assert.equal(problem.available, available);
      if (held !== undefined) assert.equal(problem.held, held);
      if (reversible !== undefined) assert.equal(problem.reversible, reversible);
      await assertUnchanged(service, before, `${line}, refused,`);
      return answer;
    },
    async issues(parameters = {}) {
      const json = { initial_value: 25, ...parameters };
      const answer = await shop.ask('POST /gift_card', { json });
      assert.equal(answer.status, 201, answer.text);
      const { gift_card: card } = viewOf(answer);
      return { card, id: card.id, code: card.code, tag: answer.headers.get('etag') ?? '' };
    },
    async card(id) {
      return viewOf(await shop.ask(`GET /gift_card/${id}`)).gift_card;
    },
    async lookUp(code) {
      const answer = await shop.ask('POST /gift_card/lookup', { json: { code } });
      assert.equal(answer.status, 200, answer.text);
      return viewOf(answer).gift_card;
    },
    async debits(id, amount, more = {}) {
      const { transaction } = await shop.does(
        `POST /gift_card/${id}/debit`,
        { json: { amount, ...more } },
        { events: ['gift_card.redeemed'] },
      );
      return transaction;
    },
    async holds(id, amount, more = {}) {
      const { hold } = await shop.does(
        `POST /gift_card/${id}/holds`,
        { json: { amount, ...more } },
        { events: ['gift_card.held'] },
      );
      return hold;
    },
    async transactions(id) {
      return viewOf(await shop.ask(`GET /gift_card/${id}/transactions?limit=250`)).transactions;
    },
    async assertNoCodeLeaked() {
      assert.ok(codes.size > 0, 'no code was seen');
      assert.ok(service.log().includes('"route"'), 'nothing was logged');
      assertWithout(codes, service.log());
      assertWithout(codes, await service.state());
    },
  };
  return shop;
}

export async function shopOf(service: TestService, domain: string): Promise<Shop> {
  return shopWith(service, domain, await service.token(domain));
}

function assertWithout(codes: ReadonlySet<string>, text: string): void {
  const found = [...codes].filter((code) => text.toLowerCase().includes(code.toLowerCase()));
  assert.deepEqual(found, [], 'a code stands where it must not');
}

/** 201 for what makes something, 200 for what does not. */
function successOf(line: string): number {
  return /^POST .*(gift_card|redeem|debit|credit|holds|capture|reverse)(\?.*)?$/.test(line) ? 201 : 200;
}

/** Every row of a card's state, a line each; counted misses are none. */
export async function stateOf(service: Pick<TestService, 'state'>): Promise<string> {
  return service.state();
}

/** The lines of a state, each with its table. */
function rowsOf(state: string): ReadonlySet<string> {
  let table = '';
  return new Set(
    state.split('\n').flatMap((line) => {
      if (!line.startsWith('{')) table = line || table;
      return line.startsWith('{') ? [`${table} ${line}`] : [];
    }),
  );
}

/** Asserts that nothing was changed since `before`, showing only what was. */
export async function assertUnchanged(service: TestService, before: string, what: string): Promise<void> {
  const after = await stateOf(service);
  assert.ok(before.includes('{'));
  if (after === before) return;
  const changed = rowsOf(before).symmetricDifference(rowsOf(after));
  assert.deepEqual([...changed], [], `${what} changed something`);
}

async function eventIds(service: Pick<TestService, 'query'>): Promise<ReadonlySet<unknown>> {
  const rows = await service.query('select id from events');
  return new Set(rows.map(({ id }) => id));
}

/** The types of the events that were written since, sorted. */
async function newEvents(
  service: Pick<TestService, 'query'>,
  before: ReadonlySet<unknown>,
): Promise<readonly string[]> {
  const rows = await service.query('select id, type from events');
  return rows
    .filter(({ id }) => !before.has(id))
    .map(({ type }) => String(type))
    .toSorted();
}

/** The data of the newest event of a card and type. */
export async function lastEvent(
  service: TestService,
  cardId: number,
  type: string,
): Promise<Readonly<Record<string, unknown>>> {
  const [row] = await service.query(
    'select data from events where subject_id = ? and type = ? order by subject_version desc limit 1',
    service.internalId(cardId),
    type,
  );
  assert.ok(row, `no ${type}`);
  return JSON.parse(String(row['data'])) as Readonly<Record<string, unknown>>;
}
