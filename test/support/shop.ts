/** A client of a store that sends requests, and asserts the rules for every response and its effects. */

import assert from 'node:assert/strict';
import type { Scope } from '../../src/core/stores/domain/store.ts';
import {
  giftCardOf,
  issuedGiftCardOf,
  problemOf,
  type ExpectedProblem,
  type GiftCard,
  type IssuedGiftCard,
} from './responses.ts';
import {
  assertResponse,
  viewOf,
  type CardView,
  type HoldView,
  type TransactionView,
  type View,
} from './money-responses.ts';
import type { TestResponse, TestRequest, TestService } from './service.ts';

export type Ask = Omit<TestRequest, 'token'> & {
  /** A form, sent unchanged. */
  readonly form?: string;
  /** The default is the shop's own token; null sends none. */
  readonly token?: string | null;
};

type Accepted<Card> = { readonly card: Card; readonly response: TestResponse };

type Parameters = Readonly<Record<string, unknown>>;

/** A line is a method and a path: `GET /gift_card/1`. */
export type Shop = {
  readonly service: TestService;
  readonly domain: string;
  readonly token: string;
  /** Creates a token of this store with exactly these scopes. */
  tokenFor(...scopes: readonly Scope[]): Promise<string>;
  /**
   * Sends a request with the store's token. Asserts the documented form of the response, and that it has no
   * known code.
   */
  ask(line: string, ask?: Ask): Promise<TestResponse>;
  /** Asserts the given error, and that no row has changed and no event was published. */
  rejects(line: string, ask: Ask, expected: ExpectedProblem): Promise<void>;
  /** Sends a request as `rejects` does, and returns the response. */
  returnsError(line: string, ask: Ask, expected: ExpectedProblem): Promise<TestResponse>;
  /** Asserts a change or read of a card that succeeds with 200 and publishes exactly these events. */
  accepts(line: string, ask?: Ask, expected?: { readonly events?: readonly string[] }): Promise<Accepted<GiftCard>>;
  /** Asserts any request that succeeds, and the types of the events of its card, or of all events if no card is named. */
  does(line: string, ask: Ask, expected: { readonly status?: number; readonly events: readonly string[] }): Promise<View & { readonly response: TestResponse }>;
  /** Asserts a creation that publishes exactly these events. */
  creates(ask: Ask, expected?: { readonly events?: readonly string[] }): Promise<Accepted<IssuedGiftCard>>;
  /** Issues a card, with a default of 25.00, and any events. */
  issue(parameters?: Parameters): Promise<IssuedGiftCard>;
  /** Returns the current card. */
  read(id: number): Promise<GiftCard>;
  /** Returns the current entity tag. */
  tag(id: number): Promise<string>;
  /** Returns the card with its held and available amounts, by its code. */
  lookUp(code: string): Promise<CardView>;
  debits(id: number, amount: string, more?: Parameters): Promise<TransactionView>;
  holds(id: number, amount: string, more?: Parameters): Promise<HoldView>;
  transactions(id: number): Promise<readonly TransactionView[]>;
  /** Every issued code: the log, the state and other responses must not contain it. */
  readonly codes: Set<string>;
  /** Asserts at the end of a test file that no code leaked. */
  assertNoCodeLeaked(): Promise<void>;
}; // prettier-ignore

export async function shopOf(
  service: TestService,
  domain: string,
  { scopes, basePath = '' }: { readonly scopes?: readonly Scope[]; readonly basePath?: string } = {},
): Promise<Shop> {
  const token = await service.token(domain, scopes);
  const tokens = new Map<string, Promise<string>>();
  const codes = new Set<string>();
  const ask: Shop['ask'] = async (line, { form: sent, token: other = token, ...request } = {}) => {
    const [method = '', path = ''] = line.split(' ', 2);
    const { headers, ...body } = sent === undefined ? request : { ...request, ...formOf(sent) };
    const response = await service.request(path, {
      ...body,
      method,
      headers: { ...headers, ...request.headers },
      ...(other !== null && { token: other }),
    });
    assertResponse(line, response);
    const isCreation = line.startsWith('POST /gift_card') && response.status === 201;
    const code = isCreation ? viewOf(response).gift_card.code : undefined;
    if (code !== undefined) codes.add(code);
    else assertWithout(codes, `${response.text} ${[...response.headers.values()].join(' ')}`);
    return response;
  };
  const shop: Shop = {
    service,
    domain,
    token,
    codes,
    ask,
    tokenFor(...wanted) {
      const name = wanted.join(' ');
      const made = tokens.get(name) ?? service.token(domain, wanted);
      tokens.set(name, made);
      return made;
    },
    async rejects(line, request, expected) {
      await shop.returnsError(line, request, expected);
    },
    returnsError: (line, request, expected) =>
      unchanged(
        service,
        async () => {
          const response = await ask(line, request);
          problemOf(response, { basePath, ...expected });
          return response;
        },
        `${line}, rejected,`,
      ),
    async accepts(line, request = {}, { events = [] } = {}) {
      const before = await lastEventId(service);
      const response = await ask(line, request);
      const card = giftCardOf(response);
      await assertEvents(service, { before, events, card });
      await assertLedger(service, card);
      return { response, card };
    },
    async does(line, request, { status, events }) {
      const before = await eventIds(service);
      const response = await ask(line, request);
      assert.equal(response.status, status ?? successOf(line), `${line}: ${response.text}`);
      const view = viewOf(response);
      assert.deepEqual(await newEvents(service, before, cardIdOf(view)), events.toSorted(), line);
      return { ...view, response };
    },
    async creates(request, { events = ['gift_card.created'] } = {}) {
      const before = await lastEventId(service);
      const response = await ask('POST /gift_card', request);
      const card = issuedGiftCardOf(response, { basePath });
      await assertEvents(service, { before, events, card });
      await assertLedger(service, card);
      return { response, card };
    },
    async issue(parameters = {}) {
      const json = { initial_value: '25.00', ...parameters };
      return issuedGiftCardOf(await ask('POST /gift_card', { json }), { basePath });
    },
    read: async (id) => giftCardOf(await ask(`GET /gift_card/${id}`)),
    tag: async (id) => (await ask(`GET /gift_card/${id}`)).headers.get('etag') ?? '',
    async lookUp(code) {
      const response = await ask('POST /gift_card/lookup', { json: { code } });
      assert.equal(response.status, 200, response.text);
      return viewOf(response).gift_card;
    },
    async debits(id, amount, more = {}) {
      const json = { amount, ...more };
      const events = ['gift_card.redeemed'];
      return (await shop.does(`POST /gift_card/${id}/debit`, { json }, { events })).transaction;
    },
    async holds(id, amount, more = {}) {
      const json = { amount, ...more };
      return (await shop.does(`POST /gift_card/${id}/holds`, { json }, { events: ['gift_card.held'] })).hold;
    },
    async transactions(id) {
      return viewOf(await ask(`GET /gift_card/${id}/transactions?limit=250`)).transactions;
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

/** Asserts that `body` changes no row, and therefore publishes no event. */
export async function unchanged<T>(
  service: TestService,
  run: () => Promise<T>,
  what = 'a request',
): Promise<T> {
  const before = await service.state();
  const result = await run();
  await assertUnchanged(service, before, what);
  return result;
}

export async function countEvents(service: TestService): Promise<number> {
  const [row] = await service.query('select count(*) as n from events');
  return Number(row?.['n']);
}

async function lastEventId(service: TestService): Promise<number> {
  const [row] = await service.query('select coalesce(max(id), 0) as id from events');
  return Number(row?.['id']);
}

/**
 * The events after an id: `gift_card.updated balance,note` names the changed fields.
 * @param cardId omits the events of other cards, such as those of emails that a job ends in the meantime.
 */
export async function eventsAfter(
  service: TestService,
  id: number,
  cardId?: number,
): Promise<readonly string[]> {
  const rows = await service.query('select type, subject_id, data from events where id > ? order by id', id);
  const own = cardId === undefined ? null : service.internalId(cardId);
  const isShown = ({ type, subject_id: subject }: (typeof rows)[number]): boolean =>
    own === null || subject === own || !String(type).startsWith('gift_card.');
  return rows.filter(isShown).map(({ type, data }) => {
    const { changed } = JSON.parse(String(data)) as { readonly changed?: readonly string[] };
    return changed ? `${String(type)} ${changed.join(',')}` : String(type);
  });
}

async function assertEvents(
  service: TestService,
  {
    before,
    events,
    card,
  }: { readonly before: number; readonly events: readonly string[]; readonly card: GiftCard },
): Promise<void> {
  assert.deepEqual(await eventsAfter(service, before, card.id), events);
  const { code: _, ...record } = card as IssuedGiftCard;
  const rows = await service.query(
    `select e.type, e.subject_id, e.subject_version, e.data, g.version from events e
     join gift_cards g on g.id = e.subject_id and g.store_id = e.store_id
     where e.id > ? and e.type like 'gift_card.%' and g.id = ?`,
    before,
    service.internalId(card.id),
  ); // prettier-ignore
  assert.equal(rows.length, events.filter((event) => event.startsWith('gift_card.')).length);
  for (const row of rows) {
    assert.equal(row['subject_id'], service.internalId(card.id));
    assert.equal(row['subject_version'], row['version']);
    const { gift_card: published } = JSON.parse(String(row['data'])) as { readonly gift_card: unknown };
    assert.deepEqual(published, record);
  }
}

/** The balance is always the sum of the card's entries. */
async function assertLedger(service: TestService, { id, balance, initial_value }: GiftCard): Promise<void> {
  const rows = await service.query(
    `select cast(amount as text) as amount, credit_account, cast(balance_after as text) as balance_after
     from transfers where card_id = ? order by sequence`,
    service.internalId(id),
  );
  const minor = (text: unknown): bigint => BigInt(String(text).replace('.', ''));
  let sum = 0n;
  for (const { amount, credit_account: credit, balance_after: after } of rows) {
    sum += credit === 'card' ? minor(amount) : -minor(amount);
    assert.equal(minor(after), sum);
  }
  assert.equal(sum, minor(balance));
  assert.equal(minor(rows[0]?.['amount']), minor(initial_value));
}

/** The number of ledger entries of a card. */
export async function countTransfers(service: TestService, cardId: number): Promise<number> {
  const id = service.internalId(cardId);
  const [row] = await service.query('select count(*) as n from transfers where card_id = ?', id);
  return Number(row?.['n']);
}

/** Encodes fields as a form. */
export function form(fields: Readonly<Record<string, string>>): Pick<TestRequest, 'body' | 'headers'> {
  return formOf(new URLSearchParams(fields).toString());
}

function formOf(body: string) {
  return { body, headers: { 'content-type': 'application/x-www-form-urlencoded' } };
}

function assertWithout(codes: ReadonlySet<string>, text: string): void {
  const searched = text.toLowerCase();
  const found = [...codes].filter((code) => searched.includes(code.toLowerCase()));
  assert.deepEqual(found, [], 'a code leaked');
}

/** 201 for a request that creates a resource, and 200 for others. */
function successOf(line: string): number {
  return /^POST .*(gift_card|redeem|debit|credit|holds|capture|reverse)(\?.*)?$/.test(line) ? 201 : 200;
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

/** Asserts that nothing has changed since `before`, and reports only the changes. */
export async function assertUnchanged(service: TestService, before: string, what: string): Promise<void> {
  const after = await service.state();
  assert.ok(before.includes('{'));
  if (after === before) return;
  const changed = rowsOf(before).symmetricDifference(rowsOf(after));
  assert.deepEqual([...changed], [], `${what} changed something`);
}

async function eventIds(service: Pick<TestService, 'query'>): Promise<ReadonlySet<unknown>> {
  const rows = await service.query('select id from events');
  return new Set(rows.map(({ id }) => id));
}

/** The public id of the card that a response is about, if it is about one. */
function cardIdOf({ gift_card: card, transaction, hold }: Partial<View>): number | undefined {
  return card?.id ?? transaction?.gift_card_id ?? hold?.gift_card_id;
}

/** The types of the new events of a card, or of all if none is given, sorted. */
async function newEvents(
  service: Pick<TestService, 'query' | 'internalId'>,
  before: ReadonlySet<unknown>,
  cardId: number | undefined,
): Promise<readonly string[]> {
  const rows = await service.query('select id, type, subject_id from events');
  const subject = cardId === undefined ? undefined : service.internalId(cardId);
  return rows
    .filter(({ id }) => !before.has(id))
    .filter((event) => subject === undefined || event['subject_id'] === subject)
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
