/** Locations: created, changed and closed, and the location of every movement. */

import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import type { LocationRecord } from '../../src/core/cards/domain/schemas.ts';
import { command } from '../support/served.ts';
import { shopOf, type Ask } from '../support/shop.ts';
import { startService } from '../support/service.ts';

const service = await startService({ stores: [{ domain: 'flowers.example' }, { domain: 'books.example' }] });
after(() => service[Symbol.asyncDispose]());
const shop = await shopOf(service, 'flowers.example');
const other = await shopOf(service, 'books.example');

async function located(line: string, json: object, status: number): Promise<LocationRecord> {
  const response = await shop.ask(line, { json });
  assert.equal(response.status, status, response.text);
  return (response.json as { readonly location: LocationRecord }).location;
}

const market = await located('POST /locations', { name: 'Market Street', address: '12 Market Street\nSpringfield' }, 201); // prettier-ignore
const harbour = await located('POST /locations', { location: { name: 'Harbour', time_zone: 'Europe/Paris' } }, 201); // prettier-ignore
const foreign = (
  (await other.ask('POST /locations', { json: { name: 'Elsewhere' } })).json as { location: LocationRecord }
).location;

const noPlace = { location_id: ['must be an open location of the store'] };

test('a location has its fields, and absent ones keep their values', async () => {
  assert.deepEqual(
    { ...market, id: 0, created_at: '' },
    {
      id: 0,
      name: 'Market Street',
      address: '12 Market Street\nSpringfield',
      time_zone: null,
      closed: false,
      closed_at: null,
      created_at: '',
    },
  );
  const changed = await located(`PUT /locations/${harbour.id}`, { name: 'Old Harbour' }, 200);
  assert.deepEqual(changed, { ...harbour, name: 'Old Harbour' });
  assert.deepEqual(await located(`PUT /locations/${harbour.id}`, { name: 'Harbour' }, 200), harbour);
});

test('locations are listed newest first, only those of the store', async () => {
  const response = await shop.ask('GET /locations');
  const { locations } = response.json as { readonly locations: readonly LocationRecord[] };
  assert.deepEqual(locations, [harbour, market]);
  const page = await shop.ask('GET /locations?limit=1');
  assert.match(page.headers.get('link') ?? '', new RegExp(`before=${harbour.id}>; rel="next"`));
});

test('wrong fields are rejected', async () => {
  for (const [json, errors] of [
    [{}, { name: ['is required'] }],
    [{ name: ' ' }, { name: ['must not be empty'] }],
    [{ name: 'x'.repeat(101) }, { name: ['must have at most 100 characters'] }],
    [
      { name: 'x', time_zone: 'Mars/Base' },
      { time_zone: ['must be an IANA time zone such as Europe/Paris'] },
    ],
    [{ name: 'x', address: 'x'.repeat(501) }, { address: ['must have at most 500 characters'] }],
    [{ name: 'x', closed: true }, { closed: ['is not a known parameter'] }],
  ] as const)
    await shop.rejects('POST /locations', { json }, { code: 'invalid-parameter', errors });
  const retrieved = await shop.ask(`GET /locations/${market.id}`);
  assert.deepEqual([retrieved.status, retrieved.json], [200, { location: market }]);
  for (const id of [foreign.id, 1, 'abc'])
    await shop.rejects(`GET /locations/${id}`, {}, { code: 'not-found' });
  for (const id of [foreign.id, 1])
    await shop.rejects(`PUT /locations/${id}`, { json: { name: 'Mine' } }, { code: 'not-found' });
  await shop.rejects(`DELETE /locations/${market.id}`, {}, { code: 'method-not-allowed' });
});

test('each movement has the location that it names, and a capture or reversal the one where it takes place', async () => {
  const sold = await shop.ask('POST /gift_card', { json: { initial_value: 50, location_id: market.id } });
  const { gift_card: card } = sold.json as { gift_card: { id: number; code: string } };
  shop.codes.add(card.code);
  assert.ok(!('location_id' in card));
  const debit = await shop.debits(card.id, '5', { location_id: harbour.id });
  const hold = await shop.holds(card.id, '4', { location_id: market.id });
  const captured = await shop.does(
    `POST /holds/${hold.id}/capture`,
    { json: { location_id: harbour.id } },
    { status: 201, events: ['gift_card.redeemed'] },
  );
  const reversed = await shop.does(
    `POST /transactions/${debit.id}/reverse`,
    { json: { amount: 1 } },
    { status: 201, events: ['gift_card.reversed'] },
  );
  assert.deepEqual([hold.location_id, captured.hold.location_id], [market.id, market.id]);
  assert.equal(captured.transaction.location_id, harbour.id);
  assert.equal(reversed.transaction.location_id, null);
  const entries = await shop.transactions(card.id);
  assert.deepEqual(
    entries.map(({ location_id }) => location_id),
    [null, harbour.id, harbour.id, market.id],
  );
  const listed = await shop.ask(`GET /transactions?location_id=${harbour.id}`);
  const { transactions } = listed.json as { transactions: { id: number }[] };
  assert.deepEqual(
    transactions.map(({ id }) => id),
    [captured.transaction.id, debit.id],
  );
  const nowhere = await shop.ask('GET /transactions?location_id=none');
  const found = nowhere.json as {
    readonly transactions: readonly { readonly id: number; readonly location_id: null }[];
  };
  assert.ok(found.transactions.some(({ id }) => id === reversed.transaction.id));
  assert.ok(found.transactions.every(({ location_id: place }) => place === null));
  const unplaced = await shop.holds(card.id, '1');
  for (const [place, id, isListed] of [
    ['none', unplaced.id, true],
    ['none', hold.id, false],
    [market.id, hold.id, true],
    [market.id, unplaced.id, false],
  ] as const) {
    const { json } = await shop.ask(`GET /holds?location_id=${place}`);
    const { holds } = json as { readonly holds: readonly { readonly id: number }[] };
    assert.equal(
      holds.some((each) => each.id === id),
      isListed,
      `${place} ${id}`,
    );
  }
  await shop.rejects(
    'GET /transactions?location_id=Market',
    {},
    {
      code: 'invalid-query',
      errors: { location_id: ['must be the id of a location, or none'] },
    },
  );
  const verified = await command(service.environment, 'verify');
  assert.equal(verified.code, 0, verified.output);
});

test('a movement cannot name an unknown, foreign or closed location', async () => {
  const { id, code } = await shop.issue();
  const hold = await shop.holds(id, '1');
  const debit = await shop.debits(id, '2');
  const closed = await located('POST /locations', { name: 'Closed' }, 201);
  const { closed_at: closedAt } = await located(`PUT /locations/${closed.id}`, { closed: true }, 200);
  assert.ok(closedAt);
  assert.equal((await located(`PUT /locations/${closed.id}`, { closed: true }, 200)).closed_at, closedAt);
  const moves: readonly (readonly [line: string, json: object])[] = [
    [`POST /gift_card/${id}/debit`, { amount: 1 }],
    [`POST /gift_card/${id}/credit`, { amount: 1 }],
    [`POST /gift_card/${id}/holds`, { amount: 1 }],
    ['POST /gift_card/redeem', { code, amount: 1 }],
    [`POST /holds/${hold.id}/capture`, {}],
    [`POST /transactions/${debit.id}/reverse`, {}],
    ['POST /gift_card', { initial_value: 5 }],
  ];
  for (const [line, json] of moves)
    for (const place of [1, foreign.id, closed.id]) {
      const ask: Ask = { json: { ...json, location_id: place } };
      await shop.rejects(line, ask, { code: 'invalid-parameter', errors: noPlace });
    }
  assert.equal((await located(`PUT /locations/${closed.id}`, { closed: false }, 200)).closed_at, null);
  const { location_id: place } = await shop.debits(id, '1', { location_id: closed.id });
  assert.equal(place, closed.id);
});

test('a token that belongs to a location uses it, and can name no other', async () => {
  const created = await command(
    service.environment,
    'token',
    'create',
    '--store',
    'flowers.example',
    '--location',
    String(market.id),
    '--json',
  );
  const { token, location_id: place, id: tokenId } = JSON.parse(created.output) as { token: string; location_id: number; id: number }; // prettier-ignore
  assert.equal(place, market.id);
  const { id } = await shop.issue();
  const spend = async (json: object) =>
    await shop.ask(`POST /gift_card/${id}/debit`, { token, json: { amount: 1, ...json } });
  const placeOf = async (json: object): Promise<number | null> => {
    const response = await spend(json);
    assert.equal(response.status, 201, response.text);
    return (response.json as { transaction: { location_id: number | null } }).transaction.location_id;
  };
  assert.equal(await placeOf({}), market.id);
  assert.equal(await placeOf({ location_id: market.id }), market.id);
  const rejected = await spend({ location_id: harbour.id });
  assert.equal(rejected.status, 422);
  assert.deepEqual((rejected.json as { errors: object }).errors, {
    location_id: ['must be the location that the access token belongs to'],
  });
  const line = `PUT /gift_card/${id}`;
  assert.equal((await shop.ask(line, { token, json: { balance: 9 } })).status, 200);
  const [adjusted] = await shop.transactions(id);
  assert.deepEqual([adjusted?.kind, adjusted?.location_id], ['adjustment', market.id]);
  const hold = await shop.holds(id, '1');
  await located(`PUT /locations/${market.id}`, { closed: true }, 200);
  const isClosed = { location_id: ['is that of the access token or till, and is closed'] };
  for (const [moves, json] of [
    [`POST /gift_card/${id}/debit`, { amount: 1 }],
    [`POST /gift_card/${id}/debit`, { amount: 1, location_id: market.id }],
    [`POST /gift_card/${id}/holds`, { amount: 1 }],
    [`POST /holds/${hold.id}/capture`, {}],
    [line, { balance: 8 }],
    ['POST /gift_card', { initial_value: 5 }],
    ['POST /batches', { count: 1, initial_value: 5 }],
  ] as const)
    await shop.rejects(moves, { token, json }, { code: 'invalid-parameter', errors: isClosed });
  assert.equal((await shop.ask(line, { token, json: { note: 'kept' } })).status, 200);
  await located(`PUT /locations/${market.id}`, { closed: false }, 200);
  const rotated = await command(service.environment, 'token', 'rotate', '--store', 'flowers.example', String(tokenId), '--json'); // prettier-ignore
  assert.equal((JSON.parse(rotated.output) as { location_id: number }).location_id, market.id);
  const wrong = await command(service.environment, 'token', 'create', '--store', 'flowers.example', '--location', String(foreign.id)); // prettier-ignore
  assert.equal(wrong.code, 1);
});

test('the command line adds, changes, closes and lists locations', async () => {
  const run = async (...words: string[]) =>
    await command(service.environment, 'location', ...words, '--store', 'books.example');
  const added = await run('add', '--name', 'Station', '--address', 'Platform 1\\nHall', '--json');
  const record = JSON.parse(added.output) as LocationRecord;
  assert.deepEqual([record.name, record.address], ['Station', 'Platform 1\nHall']);
  const id = String(record.id);
  const closed = await run('close', id, '--json');
  assert.equal((JSON.parse(closed.output) as LocationRecord).closed, true);
  await run('reopen', id);
  await run('change', id, '--time-zone', 'Asia/Tokyo', '--address', '');
  const listed = JSON.parse((await run('list', '--json')).output) as readonly LocationRecord[];
  assert.deepEqual(listed.at(-1), { ...record, time_zone: 'Asia/Tokyo', address: null });
  const tokens = await command(service.environment, 'token', 'list', '--store', 'books.example', '--json');
  const [token] = JSON.parse(tokens.output) as { id: number }[];
  assert.equal((await run('assign', id, '--token', String(token?.id))).code, 0);
  assert.equal((await run('assign', 'none', '--token', String(token?.id))).code, 0);
  assert.equal((await run('assign', id, '--till', '5')).code, 1);
  assert.equal((await run('assign', String(market.id), '--token', String(token?.id))).code, 1);
});
