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
      const before = await lastEventId(service);
      const answer = await ask(line, request);
      const card = giftCardOf(answer);
      await assertEvents(service, { before, events, card });
      await assertLedger(service, card);
      return { answer, card };
    },
    async issues(request, { events = ['gift_card.created'] } = {}) {
      const before = await lastEventId(service);
      const answer = await ask('POST /gift_card', request);
      const card = issuedGiftCardOf(answer, { basePath });
      await assertEvents(service, { before, events, card });
      await assertLedger(service, card);
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
  const [before, events] = [await service.state(), await countEvents(service)];
  const result = await run();
  assert.equal(await service.state(), before, 'a row has changed');
  assert.equal(await countEvents(service), events, 'an event has fired');
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

/** The events after an id: `gift_card.updated balance,note` names what changed. */
export async function eventsAfter(service: TestService, id: number): Promise<readonly string[]> {
  const rows = await service.query('select type, data from events where id > ? order by id', id);
  return rows.map(({ type, data }) => {
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
  assert.deepEqual(await eventsAfter(service, before), events);
  const { code: _, ...record } = card as IssuedGiftCard;
  const rows = await service.query(
    `select e.type, e.subject_id, e.subject_version, e.data, g.version from events e
     join gift_cards g on g.id = e.subject_id and g.store_id = e.store_id
     where e.id > ? and e.type like 'gift_card.%'`,
    before,
  ); // prettier-ignore
  assert.equal(rows.length, events.filter((event) => event.startsWith('gift_card.')).length);
  for (const row of rows) {
    assert.equal(row['subject_id'], service.internalId(card.id));
    assert.equal(row['subject_version'], row['version']);
    const { gift_card: told } = JSON.parse(String(row['data'])) as { readonly gift_card: unknown };
    assert.deepEqual(told, record);
  }
}

/** The balance is at all times the sum of the card's entries. */
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

/** A form from its fields. */
export function form(fields: Readonly<Record<string, string>>): TestRequest {
  return {
    body: new URLSearchParams(fields).toString(),
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  };
}
