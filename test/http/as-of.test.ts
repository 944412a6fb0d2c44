/** `as_of`: cards and lists of cards are what they were at that time. */

import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import type { DetailRecord } from '../../src/core/cards/domain/schemas.ts';
import type { GiftCard } from '../support/responses.ts';
import { startService } from '../support/service.ts';
import { shopOf, type Ask } from '../support/shop.ts';

const service = await startService({
  stores: [
    { domain: 'flowers.example', undoWindowMinutes: 15 },
    { domain: 'books.example', undoWindowMinutes: 15 },
  ],
});
after(() => service[Symbol.asyncDispose]());
const shop = await shopOf(service, 'flowers.example');
const books = await shopOf(service, 'books.example');

async function does(line: string, ask: Ask = {}): Promise<GiftCard> {
  const response = await shop.ask(line, ask);
  assert.ok(response.status < 300, response.text);
  return (response.json as { gift_card: GiftCard }).gift_card;
}

function instantAgo(ms: number): string {
  return Temporal.Instant.fromEpochMilliseconds(service.clock.now() - ms).toString({
    smallestUnit: 'second',
  });
}

type Details = { readonly card: DetailRecord; readonly etag: string; readonly recordedFrom: string | null };

async function detailsOf(id: number, query = ''): Promise<Details> {
  const response = await shop.ask(`GET /gift_cards/${id}${query}`);
  assert.equal(response.status, 200, response.text);
  const { gift_card: card } = response.json as { gift_card: DetailRecord };
  const { headers } = response;
  return { card, etag: headers.get('etag') ?? '', recordedFrom: headers.get('recorded-from') };
}

async function listOf(query: string): Promise<readonly DetailRecord[]> {
  const cards: DetailRecord[] = [];
  for (let cursor: string | null = ''; cursor !== null;) {
    const response = await shop.ask(`GET /gift_cards?${query}${cursor === '' ? '' : `&cursor=${cursor}`}`);
    assert.equal(response.status, 200, response.text);
    const page = response.json as { gift_cards: DetailRecord[]; next_cursor: string | null };
    cards.push(...page.gift_cards);
    cursor = page.next_cursor;
  }
  return cards;
}

const at = (instant: string): string => `as_of=${encodeURIComponent(instant)}`;

test('the details of a card at a time are those that it had at that time', async () => {
  const { id, code } = await shop.issue({ initial_value: 50, note: 'a', sender_name: 'Ada', tags: ['VIP'] });
  shop.codes.add(code);
  const seen: [string, DetailRecord][] = [];
  const changes: (() => Promise<unknown>)[] = [
    () => does(`PUT /gift_card/${id}`, { json: { note: 'b', expires_on: '2099-12-31' } }),
    () => shop.debits(id, '5'),
    () => shop.holds(id, '7', { expires_in: 20 }),
    () => does(`PUT /gift_card/${id}`, { json: { sender_name: null, tags: ['x', 'y'] } }),
    () => Promise.resolve(),
    () => does(`PUT /gift_card/${id}`, { json: { disable: true, release_holds: true } }),
    () => does(`POST /gift_card/${id}/undo`),
    () => does(`PUT /gift_card/${id}`, { json: { balance: 0, note: null } }),
  ];
  for (const change of changes) {
    service.clock.advance(10_000);
    await change();
    seen.push([instantAgo(0), (await detailsOf(id)).card]);
  }
  assert.deepEqual(seen.map(([, { state, held }]) => [state, held]), [
    ['active', '0.00'], ['active', '0.00'], ['active', '7.00'], ['active', '7.00'], ['active', '0.00'], ['disabled', '0.00'], ['active', '0.00'],
    ['empty', '0.00'],
  ]); // prettier-ignore
  service.clock.advance(86_400_000);
  for (const [time, card] of seen) {
    const past = await detailsOf(id, `?${at(time)}`);
    assert.deepEqual(past.card, card, time);
    assert.equal(past.recordedFrom, null);
    // The same instant in another notation.
    const offset = Temporal.Instant.from(time)
      .toZonedDateTimeISO('+05:30')
      .toString({ timeZoneName: 'never' });
    assert.deepEqual((await detailsOf(id, `?${at(offset)}`)).card, card);
    assert.deepEqual((await detailsOf(id, `?${at(time.replace('Z', '.999Z'))}`)).card, card);
  }
});

test('the time in a record includes everything of its second', async () => {
  const { id, created_at: time } = await shop.issue({ note: 'first' });
  await does(`PUT /gift_card/${id}`, { json: { note: 'second' } });
  const { card } = await detailsOf(id, `?${at(time)}`);
  const { entries } = await shop
    .ask(`GET /gift_card/${id}/history`)
    .then(({ json }) => ({ entries: (json as { history: { created_at: string }[] }).history }));
  assert.equal(card.note, entries[0]?.created_at === time ? 'second' : 'first');
});

test('an ETag of a past state matches no version, and a past state is never a 304', async () => {
  const { id } = await shop.issue();
  service.clock.advance(5_000);
  const { etag } = await detailsOf(id, `?${at(instantAgo(2_000))}`);
  const response = await shop.ask(`PUT /gift_card/${id}`, {
    json: { note: 'x' },
    headers: { 'if-match': etag },
  });
  assert.equal(response.status, 412);
  const again = await shop.ask(`GET /gift_cards/${id}?${at(instantAgo(2_000))}`, {
    headers: { 'if-none-match': etag },
  });
  assert.equal(again.status, 200);
});

test('a time before the card, in the future or in another form is rejected', async () => {
  const { id } = await shop.issue();
  const theirs = await books.issue();
  service.clock.advance(5_000);
  const error = (message: string) => ({ code: 'invalid-query', errors: { as_of: [message] } }) as const;
  await shop.rejects(`GET /gift_cards/${id}?${at(instantAgo(60_000))}`, {}, { code: 'not-found' });
  await shop.rejects(`GET /gift_cards/${theirs.id}?${at(instantAgo(1_000))}`, {}, { code: 'not-found' });
  await shop.rejects(`GET /gift_cards/${id}?${at('0001-01-01T00:00:00Z')}`, {}, { code: 'not-found' });
  await shop.rejects(`GET /gift_cards/${id}?${at(instantAgo(-60_000))}`, {}, error('must not be in the future'));
  await shop.rejects(`GET /gift_cards/${id}?${at('9999-12-31T23:59:59Z')}`, {}, error('must not be in the future'));
  for (const text of ['2026-08-15', '2026-08-15T12:00Z', '2026-08-15T12:00:00', 'yesterday', '2026-08-15T12:00:00 02:00', '1e9', '2026-08-15T12:00:00+02', '2026-08-15T12:00:00Z[UTC]', `2026-08-15T12:00:00.${'0'.repeat(60)}Z`])
    await shop.rejects(`GET /gift_cards/${id}?${at(text)}`, {}, error('must be a date and time with seconds, and Z or an offset'));
  for (const text of ['2026-02-30T12:00:00Z', '2026-08-15T25:00:00Z'])
    await shop.rejects(`GET /gift_cards?${at(text)}`, {}, error('must be a time that exists'));
  for (const sort of ['balance', '-balance', 'expires_on'])
    await shop.rejects(`GET /gift_cards?sort=${sort}&${at(instantAgo(1_000))}`, {}, { code: 'invalid-query', errors: { sort: ['must be created_at or -created_at together with as_of'] } });
}); // prettier-ignore

test('a list at a time has the cards and states of that time, under every filter', async () => {
  const email = 'ann@example.com';
  const seen: { time: string; lists: Map<string, readonly DetailRecord[]> }[] = [];
  const queries = [
    'limit=250', 'limit=3', 'limit=2&sort=created_at', 'state=active&limit=4', 'state=disabled', 'state=empty', 'state=expired',
    `email=${email}`, 'balance_min=5&balance_max=20', 'note=PAID', 'tag=vip', 'expires_on_max=2090-01-01', 'order_id=1',
    'state=active&tag=vip&limit=1', 'fields=id,state&limit=2', 'created_at_max=2100-01-01',
  ]; // prettier-ignore
  const ids: number[] = [];
  for (let round = 0; round < 4; round += 1) {
    for (let count = 0; count < 3; count += 1)
      ids.push((await shop.issue({ initial_value: 10 + count, tags: count === 0 ? ['VIP'] : null, ...(count === 1 && { email, notify: false }) })).id);
    service.clock.advance(3_000);
    const [first = 0, second = 0, third = 0] = ids.slice(round * 2);
    await does(`PUT /gift_card/${first}`, { json: { note: 'paid', tags: null } });
    await does(`PUT /gift_card/${second}`, { json: { expires_on: '2020-01-01', tags: ['vip', 'new'] } });
    await does(`PUT /gift_card/${third}`, { json: round % 2 === 0 ? { disable: true } : { balance: 0 } });
    const lists = new Map<string, readonly DetailRecord[]>();
    for (const query of queries) lists.set(query, await listOf(query));
    seen.push({ time: instantAgo(0), lists });
    service.clock.advance(3_000);
  }
  assert.ok(['state=disabled', 'state=expired', 'note=PAID', 'tag=vip', `email=${email}`].every((query) => (seen.at(-1)?.lists.get(query)?.length ?? 0) > 0));
  for (const { time, lists } of seen)
    for (const [query, expected] of lists) assert.deepEqual(await listOf(`${query}&${at(time)}`), expected, `${query} at ${time}`);
}); // prettier-ignore

test('a cursor belongs to its time', async () => {
  await shop.issue();
  await shop.issue();
  service.clock.advance(3_000);
  const { json } = await shop.ask(`GET /gift_cards?limit=1&${at(instantAgo(1_000))}`);
  const { next_cursor: cursor } = json as { next_cursor: string };
  const rejected = { code: 'invalid-query', errors: { cursor: ['must be the next_cursor of a page with the same filters and sort'] } } as const;
  await shop.rejects(`GET /gift_cards?limit=1&cursor=${cursor}&${at(instantAgo(2_000))}`, {}, rejected);
  await shop.rejects(`GET /gift_cards?limit=1&cursor=${cursor}`, {}, rejected);
}); // prettier-ignore
