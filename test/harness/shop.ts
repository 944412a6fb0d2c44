/** A store as its own client sees it: asks, and holds every answer and what it left behind to the rules. */

import assert from 'node:assert/strict';
import type { Scope } from '../../src/domain/store.ts';
import {
  giftCardOf,
  issuedGiftCardOf,
  problemOf,
  type ExpectedProblem,
  type GiftCard,
  type IssuedGiftCard,
} from './answers.ts';
import type { TestAnswer, TestRequest, TestService } from './service.ts';

/** `GET /gift_card/1` */
type Line = `${string} /${string}`;

type Accepted<Card> = { readonly card: Card; readonly answer: TestAnswer };

export type Shop = {
  readonly service: TestService;
  readonly domain: string;
  readonly token: string;
  /** Sends a request with the store's token. */
  ask(line: Line, request?: TestRequest): Promise<TestAnswer>;
  /** A refusal: it is the named one, no row anywhere has changed and no event has fired. */
  refuses(line: Line, request: TestRequest, expected: ExpectedProblem): Promise<void>;
  /** A change or reading that succeeds with 200: the events it fires are exactly these. */
  accepts(line: Line, request?: TestRequest, expected?: { readonly events?: readonly string[] }): Promise<Accepted<GiftCard>>;
  /** Issues a card. */
  issues(request: TestRequest, expected?: { readonly events?: readonly string[] }): Promise<Accepted<IssuedGiftCard>>;
  /** Issues a card from JSON, whatever events it fires. */
  issue(parameters?: object): Promise<IssuedGiftCard>;
  /** The card as it reads now. */
  read(id: number): Promise<GiftCard>;
}; // prettier-ignore

export async function shopOf(
  service: TestService,
  domain: string,
  { scopes, basePath = '' }: { readonly scopes?: readonly Scope[]; readonly basePath?: string } = {},
): Promise<Shop> {
  const token = await service.token(domain, scopes);
  const ask = (line: Line, request: TestRequest = {}): Promise<TestAnswer> => {
    const [method = '', path = ''] = line.split(' ', 2);
    return service.request(path, { token, ...request, method });
  };
  return {
    service,
    domain,
    token,
    ask,
    async refuses(line, request, expected) {
      await unchanged(service, async () => problemOf(await ask(line, request), { basePath, ...expected }));
    },
    async accepts(line, request = {}, { events = [] } = {}) {
      const before = lastEventId(service);
      const answer = await ask(line, request);
      const card = giftCardOf(answer);
      assertEvents(service, { before, events, card });
      assertLedger(service, card);
      return { answer, card };
    },
    async issues(request, { events = ['gift_card.created'] } = {}) {
      const before = lastEventId(service);
      const answer = await ask('POST /gift_card', request);
      const card = issuedGiftCardOf(answer, { basePath });
      assertEvents(service, { before, events, card });
      assertLedger(service, card);
      return { answer, card };
    },
    async issue(parameters = {}) {
      const json = { initial_value: '25.00', ...parameters };
      return issuedGiftCardOf(await ask('POST /gift_card', { json }), { basePath });
    },
    read: async (id) => giftCardOf(await ask(`GET /gift_card/${id}`)),
  };
}

/** Runs something that may change nothing: no row, and so no event either. */
export async function unchanged<T>(service: TestService, run: () => Promise<T>): Promise<T> {
  const [before, events] = [service.state(), countEvents(service)];
  const result = await run();
  assert.equal(service.state(), before, 'a row has changed');
  assert.equal(countEvents(service), events, 'an event has fired');
  return result;
}

export function countEvents(service: TestService): number {
  return Number(service.query('select count(*) as n from events')[0]?.['n']);
}

function lastEventId(service: TestService): number {
  return Number(service.query('select coalesce(max(id), 0) as id from events')[0]?.['id']);
}

/** The events after an id: `gift_card.updated balance,note` names what changed. */
export function eventsAfter(service: TestService, id: number): readonly string[] {
  return service.query('select type, data from events where id > ? order by id', id).map(({ type, data }) => {
    const { changed } = JSON.parse(String(data)) as { readonly changed?: readonly string[] };
    return changed ? `${String(type)} ${changed.join(',')}` : String(type);
  });
}

function assertEvents(
  service: TestService,
  {
    before,
    events,
    card,
  }: { readonly before: number; readonly events: readonly string[]; readonly card: GiftCard },
): void {
  assert.deepEqual(eventsAfter(service, before), events);
  const { code: _, ...record } = card as IssuedGiftCard;
  const rows = service.query(
    `select e.type, e.subject_id, e.subject_version, e.data, g.version from events e
     join gift_cards g on g.id = e.subject_id and g.store_id = e.store_id
     where e.id > ? and e.type like 'gift_card.%'`,
    before,
  ); // prettier-ignore
  assert.equal(rows.length, events.filter((event) => event.startsWith('gift_card.')).length);
  for (const row of rows) {
    assert.equal(row['subject_id'], card.id);
    assert.equal(row['subject_version'], row['version']);
    const { gift_card: told } = JSON.parse(String(row['data'])) as { readonly gift_card: unknown };
    assert.deepEqual(told, record);
  }
}

/** The balance is at all times the sum of the card's entries. */
function assertLedger(service: TestService, { id, balance, initial_value }: GiftCard): void {
  const rows = service.query(
    `select cast(amount as text) as amount, credit_account, cast(balance_after as text) as balance_after
     from transfers where card_id = ? order by sequence`,
    id,
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
export function countTransfers(service: TestService, cardId: number): number {
  return Number(service.query('select count(*) as n from transfers where card_id = ?', cardId)[0]?.['n']);
}

/** A form from its fields. */
export function form(fields: Readonly<Record<string, string>>): TestRequest {
  return {
    body: new URLSearchParams(fields).toString(),
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  };
}
