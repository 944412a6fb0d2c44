/** The history of a card's changes: who changed what and when, and derived expiries, in linked pages. */

import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import type { HistoryRecord } from '../../src/core/cards/domain/schemas.ts';
import type { GiftCard } from '../support/responses.ts';
import { changeStoreElsewhere } from '../support/second-process.ts';
import { startService } from '../support/service.ts';
import { shopOf, type Ask, type Shop } from '../support/shop.ts';

const service = await startService({
  stores: [
    { domain: 'flowers.example', undoWindowMinutes: 15 },
    { domain: 'books.example', undoWindowMinutes: 15 },
  ],
});
after(() => service[Symbol.asyncDispose]());
const shop = await shopOf(service, 'flowers.example');
const books = await shopOf(service, 'books.example');

const dayMs = 86_400_000;

async function historyOf(
  id: number,
  query = '',
  of: Shop = shop,
): Promise<{ readonly entries: readonly HistoryRecord[]; readonly link: string }> {
  const response = await of.ask(`GET /gift_card/${id}/history${query}`);
  assert.equal(response.status, 200, response.text);
  const { history } = response.json as { history: readonly HistoryRecord[] };
  return { entries: history, link: response.headers.get('link') ?? '' };
}

/** Sends a request that succeeds. */
async function does(by: Shop, line: string, ask: Ask = {}): Promise<GiftCard> {
  const response = await by.ask(line, ask);
  assert.equal(response.status, 200, response.text);
  return (response.json as { gift_card: GiftCard }).gift_card;
}

/** The day that is a number of days after the present one, in UTC. */
function dayIn(days: number): string {
  return Temporal.Instant.fromEpochMilliseconds(service.clock.now() + days * dayMs)
    .toString()
    .slice(0, 10);
}

test('the history has every change once, with its caller, time and values, newest first', async () => {
  const { id } = await shop.issue({ note: 'first', expires_on: dayIn(30) });
  const { api_client_id: client } = await shop.read(id);
  const actor = `api_client:${client}`;
  service.clock.advance(2_000);
  await does(shop, `PUT /gift_card/${id}`, { json: { note: 'second', expires_on: null } });
  const before = await shop.read(id);
  const rotated = await shop.ask(`POST /gift_card/${id}/rotate_code`);
  const { gift_card: card } = rotated.json as { gift_card: { last_characters: string; code: string } };
  shop.codes.add(card.code);
  service.clock.advance(2_000);
  const disabled = await does(shop, `PUT /gift_card/${id}`, { json: { disable: true, note: null } });
  service.clock.advance(2_000);
  await does(shop, `POST /gift_card/${id}/undo`);
  const { entries, link } = await historyOf(id);
  const at = disabled.disabled_at;
  assert.deepEqual(
    entries.map(({ kind, actor: by, state, changes }) => ({ kind, by, state, changes: changes.map((c) => [c.field, c.old, c.new, c.is_erased]) })),
    [
      { kind: 'changed', by: actor, state: 'active', changes: [['disabled_at', at, null, false]] },
      { kind: 'changed', by: actor, state: 'disabled', changes: [['disabled_at', null, at, false], ['note', 'second', null, false]] },
      { kind: 'changed', by: actor, state: 'active', changes: [['code', before.last_characters, card.last_characters, false]] },
      { kind: 'changed', by: actor, state: 'active', changes: [['expires_on', dayIn(30), null, false], ['note', 'first', 'second', false]] },
      { kind: 'created', by: actor, state: 'active', changes: [] },
    ],
  ); // prettier-ignore
  assert.equal(entries[1]?.created_at, at);
  assert.equal(entries.at(-1)?.created_at, before.created_at);
  assert.equal(new Set(entries.map((entry) => entry.id)).size, 5);
  assert.equal(link, '');
  const [issued] = await shop.transactions(id);
  assert.equal(entries.at(-1)?.id, issued?.id);
});

test('money, updates without an effect and rejected updates are not in the history', async () => {
  const { id } = await shop.issue({ note: 'kept' });
  await shop.debits(id, '1');
  await shop.holds(id, '1');
  await does(shop, `PUT /gift_card/${id}`, { json: { balance: '20', note: 'kept', disable: false } });
  const tag = await shop.tag(id);
  await shop.ask(`PUT /gift_card/${id}`, { json: { note: 'x' }, headers: { 'if-match': '"1-1"' } });
  await shop.ask(`PUT /gift_card/${id}`, { json: { note: 'x', initial_value: 99 } });
  await shop.ask(`PUT /gift_card/${id}?dry_run=true`, { json: { note: 'x' } });
  assert.equal(await shop.tag(id), tag);
  const { entries } = await historyOf(id);
  assert.deepEqual(
    entries.map(({ kind }) => kind),
    ['created'],
  );
});

test('a repeated request with an idempotency key, or with If-Match, is one change', async () => {
  const { id } = await shop.issue();
  const ask = { json: { note: 'once' }, headers: { 'idempotency-key': 'change-1' } };
  for (let count = 0; count < 3; count += 1)
    assert.equal((await shop.ask(`PUT /gift_card/${id}`, ask)).status, 200);
  const current = await shop.tag(id);
  const matched = { json: { note: 'twice' }, headers: { 'if-match': current } };
  const statuses = await Promise.all(
    [0, 1, 2].map(async () => (await shop.ask(`PUT /gift_card/${id}`, matched)).status),
  );
  assert.deepEqual(
    statuses.toSorted((left, right) => left - right),
    [200, 412, 412],
  );
  const { entries } = await historyOf(id);
  assert.deepEqual(
    entries.map(({ changes }) => changes.map((change) => change.new)),
    [['twice'], ['once'], []],
  );
});

test('an expiry is an entry from the end of the last valid day on, in the time zone of that time', async () => {
  const { id } = await books.issue({ expires_on: dayIn(1) });
  const [lastDay, nextDay] = [dayIn(1), dayIn(2)];
  service.clock.advance(dayMs);
  assert.deepEqual(
    (await historyOf(id, '', books)).entries.map(({ kind }) => kind),
    ['created'],
  );
  service.clock.advance(dayMs);
  await changeStoreElsewhere(service, 'books.example', { timeZone: 'Pacific/Honolulu' });
  const { entries: [expired, created] } = await historyOf(id, '', books); // prettier-ignore
  assert.ok(expired && created);
  assert.deepEqual(
    { ...expired },
    {
      id: created.id,
      kind: 'expired',
      created_at: `${nextDay}T00:00:00Z`,
      actor: null,
      state: 'expired',
      changes: [],
    },
  );
  // A later day makes the card usable again.
  service.clock.advance(1_000);
  await does(books, `PUT /gift_card/${id}`, { json: { expires_on: dayIn(5) } });
  service.clock.advance(10 * dayMs);
  const { entries } = await historyOf(id, '', books);
  assert.deepEqual(
    entries.map(({ kind, state }) => [kind, state]),
    [['expired', 'expired'], ['changed', 'active'], ['expired', 'expired'], ['created', 'active']],
  ); // prettier-ignore
  assert.match(entries[0]?.created_at ?? '', /T10:00:00Z$/);
  assert.equal(entries[1]?.changes[0]?.old, lastDay);
});

test('pages follow each other in both directions without a gap or a repetition', async () => {
  const { id } = await shop.issue({ expires_on: dayIn(1) });
  service.clock.advance(2 * dayMs);
  for (let count = 0; count < 70; count += 1)
    assert.equal((await shop.ask(`PUT /gift_card/${id}`, { json: { note: `n${count}` } })).status, 200);
  const all = (await historyOf(id, '?limit=250')).entries;
  assert.equal(all.length, 72);
  for (const limit of [1, 7, 33]) {
    const older: HistoryRecord[] = [];
    let path: string | undefined = `?limit=${limit}`;
    let last = '';
    while (path !== undefined) {
      const { entries, link } = await historyOf(id, path);
      older.push(...entries);
      assert.ok(entries.filter(({ kind }) => kind !== 'expired').length <= limit);
      last = path;
      path = /<[^>?]*(\?[^>]*)>; rel="next"/.exec(link)?.[1];
    }
    assert.deepEqual(older, all);
    const newer: HistoryRecord[] = [];
    for (let at: string | undefined = last; at !== undefined;) {
      const { entries, link } = await historyOf(id, at);
      newer.unshift(...entries);
      at = /<[^>?]*(\?[^>]*)>; rel="previous"/.exec(link)?.[1];
    }
    assert.deepEqual(newer, all);
  }
});

test('entries of another card, another store and an unknown card are rejected', async () => {
  const [one, other] = [await shop.issue(), await shop.issue()];
  const theirs = await books.issue();
  await does(shop, `PUT /gift_card/${other.id}`, { json: { note: 'x' } });
  const [foreign] = (await historyOf(other.id)).entries;
  for (const id of [foreign?.id, theirs.id, 1])
    for (const name of ['before', 'after'])
      await shop.rejects(`GET /gift_card/${one.id}/history?${name}=${id}`, {}, { code: 'invalid-query', errors: { [name]: ['must be the id of an entry in this list'] } });
  await shop.rejects(`GET /gift_card/${theirs.id}/history`, {}, { code: 'not-found' });
}); // prettier-ignore
