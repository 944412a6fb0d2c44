/** The details of a card, with its names and tags, and the lists of cards and customers. */

import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import type { DetailRecord } from '../../src/core/cards/domain/schemas.ts';
import { until } from '../support/delivering.ts';
import { shopOf } from '../support/shop.ts';
import { startService, type TestResponse } from '../support/service.ts';

const service = await startService({
  stores: [{ domain: 'flowers.example', timeZone: 'Asia/Tokyo' }, { domain: 'books.example' }],
});
after(() => service[Symbol.asyncDispose]());
const shop = await shopOf(service, 'flowers.example');
const other = await shopOf(service, 'books.example');

type Listed = {
  readonly gift_cards: readonly DetailRecord[];
  readonly customers: readonly { readonly id: number; readonly email: string }[];
  readonly next_cursor: string | null;
  readonly count: number;
  readonly precision: string;
};

function bodyOf(response: TestResponse): Listed {
  assert.equal(response.status, 200, response.text);
  return response.json as Listed;
}

async function list(query: string): Promise<Listed> {
  return bodyOf(await shop.ask(`GET /gift_cards?${query}`));
}

async function details(id: number): Promise<DetailRecord> {
  const response = await shop.ask(`GET /gift_cards/${id}`);
  assert.equal(response.status, 200, response.text);
  return (response.json as { readonly gift_card: DetailRecord }).gift_card;
}

const named = { sender_name: ' Ada ', recipient_name: 'Gra\u0301ce', tags: ['VIP', 'Spring 2026', 'vip'] };

test('the details of a card are its record, its state, amounts, names and tags', async () => {
  const { code: _, ...record } = await shop.issue({ initial_value: '25', ...named });
  await shop.holds(record.id, '4');
  assert.deepEqual(await details(record.id), {
    ...record,
    held: '4.00',
    available: '21.00',
    state: 'active',
    email_status: 'none',
    sender_name: 'Ada',
    recipient_name: 'Gráce',
    tags: ['VIP', 'Spring 2026'],
    external_id: null,
    design: null,
    suspended_at: null,
    suspend_reason: null,
  });
  const response = await shop.ask(`GET /gift_cards/${record.id}`);
  assert.equal(response.headers.get('etag'), await shop.tag(record.id));
  const headers = { 'if-none-match': response.headers.get('etag') ?? '' };
  assert.equal((await shop.ask(`GET /gift_cards/${record.id}`, { headers })).status, 304);
});

test('the four operations do not return names and tags', async () => {
  const { id, ...issued } = await shop.issue(named);
  const updated = await shop.accepts(`PUT /gift_card/${id}`, { json: { sender_name: 'Bea' } }, { events: ['gift_card.updated sender_name'] });
  for (const card of [issued, updated.card, await shop.read(id)])
    for (const name of ['sender_name', 'recipient_name', 'tags', 'state']) assert.ok(!(name in card), name);
}); // prettier-ignore

test('the history of tags says [] where the record says it', async () => {
  const { id } = await shop.issue({});
  for (const tags of [['New'], null])
    await shop.accepts(`PUT /gift_card/${id}`, { json: { tags } }, { events: ['gift_card.updated tags'] });
  const { history } = (await shop.ask(`GET /gift_card/${id}/history`)).json as {
    readonly history: readonly {
      readonly changes: readonly { readonly old: unknown; readonly new: unknown }[];
    }[];
  };
  const changes = history.flatMap((entry) => entry.changes).map((change) => [change.old, change.new]);
  assert.deepEqual(changes, [[['New'], []], [[], ['New']]]); // prettier-ignore
  assert.deepEqual((await details(id)).tags, []);
});

test('an update keeps absent names and tags, and clears those that are null', async () => {
  const { id } = await shop.issue(named);
  await shop.accepts(`PUT /gift_card/${id}`, { json: { tags: ['New'] } }, { events: ['gift_card.updated tags'] });
  const kept = await details(id);
  assert.deepEqual([kept.sender_name, kept.recipient_name, kept.tags], ['Ada', 'Gráce', ['New']]);
  const cleared = { sender_name: null, recipient_name: '', tags: null };
  await shop.accepts(`PUT /gift_card/${id}`, { json: cleared }, { events: ['gift_card.updated sender_name,recipient_name,tags'] });
  const empty = await details(id);
  assert.deepEqual([empty.sender_name, empty.recipient_name, empty.tags], [null, null, []]);
  await shop.accepts(`PUT /gift_card/${id}`, { json: { disable: true } }, { events: ['gift_card.disabled disabled_at'] });
  await shop.accepts(`PUT /gift_card/${id}`, { form: 'tags=a,%20b&sender_name=Cem' }, { events: ['gift_card.updated sender_name,tags'] });
  const disabled = await details(id);
  assert.deepEqual([disabled.state, disabled.sender_name, disabled.tags], ['disabled', 'Cem', ['a', 'b']]);
}); // prettier-ignore

test('a client can send back the details that it read', async () => {
  const { id } = await shop.issue({ ...named, initial_value: '3' });
  for (const change of [{}, { balance: '0' }, { expires_on: '2020-01-01' }, { disable: true }]) {
    await shop.ask(`PUT /gift_card/${id}`, { json: change });
    const read = await details(id);
    await shop.accepts(`PUT /gift_card/${id}`, { json: read }, { events: [] });
    const errors = { email_status: ['cannot be changed'] };
    await shop.rejects(`PUT /gift_card/${id}`, { json: { ...read, email_status: 'sent' } }, { code: 'invalid-parameter', errors });
  }
}); // prettier-ignore

test('names and tags with other than visible characters on one line are rejected', async () => {
  const line = 'must be one line without control, invisible or bidirectional characters';
  const cases = [
    [{ sender_name: 'a\nb' }, { sender_name: [line] }],
    [{ recipient_name: 'a\u202Eb' }, { recipient_name: [line] }],
    [{ sender_name: 'a\u200Bb' }, { sender_name: [line] }],
    [{ sender_name: '\u200D' }, { sender_name: ['must have a visible character'] }],
    [{ sender_name: 'x'.repeat(101) }, { sender_name: ['must have at most 100 characters'] }],
    [{ sender_name: 5 }, { sender_name: ['must be a string'] }],
    [{ tags: 'VIP' }, { tags: ['must be a list of strings'] }],
    [{ tags: ['a,b'] }, { tags: ['must not contain a comma, in each tag'] }],
    [{ tags: [''] }, { tags: ['must not be empty, in each tag'] }],
    [{ tags: ['x'.repeat(41)] }, { tags: ['must have at most 40 characters, in each tag'] }],
    [{ tags: ['a\tb'] }, { tags: [`${line}, in each tag`] }],
    [{ tags: Array.from({ length: 21 }, String) }, { tags: ['must list at most 20 tags'] }],
  ] as const;
  const { id } = await shop.issue();
  for (const [json, errors] of cases) {
    const expected = { code: 'invalid-parameter', errors } as const;
    await shop.rejects(`PUT /gift_card/${id}`, { json }, expected);
    await shop.rejects('POST /gift_card', { json: { initial_value: 5, ...json } }, expected);
  }
});

test('an unknown card, and a card of another store, has no details', async () => {
  const { id } = await other.issue();
  for (const path of [`/gift_cards/${id}`, '/gift_cards/1', '/gift_cards/x', '/customers/1/gift_cards'])
    await shop.rejects(`GET ${path}`, {}, { code: 'not-found' });
});

test('pages follow each other, newest first, while cards are issued', async () => {
  const ids: number[] = [];
  for (let count = 0; count < 7; count += 1) ids.push((await shop.issue({ tags: ['Paged'] })).id);
  let response = await shop.ask('GET /gift_cards?tag=paged&limit=3&fields=id');
  const found: unknown[] = [];
  for (;;) {
    const { gift_cards: cards, next_cursor: cursor } = bodyOf(response);
    found.push(...cards);
    const link = response.headers.get('link');
    if (cursor === null) {
      assert.equal(link, null);
      break;
    }
    const [, path = ''] = /^<(\/gift_cards\?[^>]+)>; rel="next"$/.exec(link ?? '') ?? assert.fail(String(link));
    assert.equal(new URLSearchParams(path.split('?')[1]).get('cursor'), cursor);
    assert.doesNotMatch(Buffer.from(cursor.split('.')[0] ?? '', 'base64url').toString(), /^\[[0-9]{1,15},/);
    await shop.issue({ tags: ['Paged'] });
    response = await shop.ask(`GET ${path}`);
  }
  assert.deepEqual(found, ids.toReversed().map((id) => ({ id })));
}); // prettier-ignore

test('a list has only the cards of its store, and a sparse record only the selected fields', async () => {
  const own = await shop.issue({ note: 'Apart' });
  await other.issue({ note: 'Apart' });
  assert.deepEqual((await list('note=apart&fields=state,id')).gift_cards, [{ id: own.id, state: 'active' }]);
});

test('a customer’s cards are found by the address and by the customer’s id', async () => {
  const mine = await shop.issue({ email: 'lists@example.com' });
  const gift = await shop.issue({ email: 'giver@example.com', recipient_email: 'lists@example.com' });
  const expected = [gift.id, mine.id];
  const idsOf = ({ gift_cards: cards }: Listed): readonly number[] => cards.map(({ id }) => id);
  assert.deepEqual(idsOf(await list('email=LISTS@example.com')), expected);
  const ofCustomer = await shop.ask(`GET /customers/${mine.customer_id}/gift_cards`);
  assert.deepEqual(idsOf(bodyOf(ofCustomer)), expected);
  assert.deepEqual(idsOf(await list('email=unknown@example.com')), []);
  const { customers } = bodyOf(await shop.ask('GET /customers?email=lists@example.com'));
  assert.deepEqual(customers.map(({ id, email }) => [id, email]), [[mine.customer_id, 'lists@example.com']]);
}); // prettier-ignore

test('all customers are listed, newest first, in pages', async () => {
  for (const name of ['one', 'two', 'three']) await shop.issue({ email: `${name}@pages.example` });
  await other.issue({ email: 'stranger@pages.example' });
  const emails: string[] = [];
  let cursor = '';
  do {
    const page: Listed = bodyOf(await shop.ask(`GET /customers?limit=2${cursor && `&cursor=${cursor}`}`));
    emails.push(...page.customers.map(({ email }) => email));
    cursor = page.next_cursor ?? '';
  } while (cursor !== '');
  assert.deepEqual(emails.slice(0, 3), ['three@pages.example', 'two@pages.example', 'one@pages.example']);
  assert.equal(new Set(emails).size, emails.length);
  assert.ok(!emails.includes('stranger@pages.example'));
});

test('a count has the same filters, and says whether it is exact', async () => {
  for (const tags of [['Counted'], ['counted', 'x'], ['Counted not']]) await shop.issue({ tags });
  assert.deepEqual((await shop.ask('GET /gift_cards/count?tag=COUNTED')).json, {
    count: 2,
    precision: 'exact',
  });
});

test('a date is a day in the store’s time zone, and both ends of a range are included', async () => {
  const { id, created_at: at } = await shop.issue({ tags: ['Dated'] });
  const date = Temporal.Instant.from(at).toZonedDateTimeISO('Asia/Tokyo').toPlainDate();
  const day = date.toString();
  const secondBefore = Temporal.Instant.from(at).subtract({ seconds: 1 }).toString();
  const before = date.subtract({ days: 1 }).toString();
  const cases: readonly (readonly [string, boolean])[] = [
    [`created_at_min=${day}&created_at_max=${day}`, true],
    [`created_at_max=${before}`, false],
    [`created_at_min=${date.add({ days: 1 }).toString()}`, false],
    [`created_at_min=${at}&created_at_max=${at}`, true],
    [`created_at_max=${secondBefore}`, false],
    [`last_activity_at_min=${day}&last_activity_at_max=${day}`, true],
    [`last_activity_at_min=${at}&last_activity_at_max=${at}`, true],
    [`last_activity_at_max=${secondBefore}`, false],
    ['expires_on_max=9999-12-31', false],
    ['balance_min=25&balance_max=25.00', true],
    ['balance_min=25.01', false],
    ['disabled_at_min=2000-01-01', false],
  ];
  for (const [query, isFound] of cases) {
    const { gift_cards: cards } = await list(`tag=dated&${query}`);
    assert.deepEqual(cards.map((card) => card.id), isFound ? [id] : [], query);
  }
}); // prettier-ignore

test('the last activity of a card is its last transaction, also in the past', async () => {
  const { id, created_at: issuedAt } = await shop.issue({ tags: ['dormant'] });
  const idsOf = async (query: string): Promise<readonly number[]> =>
    (await list(`tag=dormant&${query}`)).gift_cards.map((card) => card.id);
  service.clock.advance(3 * 86_400_000);
  await shop.does(`PUT /gift_card/${id}`, { json: { note: 'x' } }, { events: ['gift_card.updated'] });
  // The commit wakes the worker. Emails that have waited so long end now, not during a request that must change nothing.
  const working = 'select id from email_deliveries where lease is not null or next_at <= ?';
  await until(async () => (await service.query(working, service.clock.now())).length === 0);
  const untilIssue = `last_activity_at_max=${issuedAt}`;
  assert.deepEqual(await idsOf(untilIssue), [id], 'an update without money does not count');
  await shop.debits(id, '1.00');
  assert.deepEqual(await idsOf(untilIssue), []);
  assert.deepEqual(await idsOf(`last_activity_at_min=${issuedAt}`), [id]);
  service.clock.advance(2_000);
  const then = Temporal.Instant.from(issuedAt).add({ seconds: 1 }).toString();
  assert.deepEqual(await idsOf(`${untilIssue}&as_of=${then}`), [id]);
  const count = bodyOf(await shop.ask(`GET /gift_cards/count?tag=dormant&${untilIssue}`));
  assert.deepEqual([count.count, count.precision], [0, 'exact']);
});

test('an invalid filter is an error of its parameter', async () => {
  const cases = [
    ['state=used', { state: ['must be one of: disabled, expired, suspended, empty, scheduled, active'] }],
    ['email_status=sent', { email_status: ['must be one of: bounced, dead'] }],
    ['email=x', { email: ['must be one valid email address'] }],
    ['created_at_min=2026-13-01', { created_at_min: ['must be a day that exists'] }],
    ['created_at_max=now', { created_at_max: ['must be a date, or a date and time with Z or an offset'] }],
    ['disabled_at_min=2026-01-01T25:00Z', { disabled_at_min: ['must be a time that exists'] }],
    ['disabled_at_min=2026-01-02&disabled_at_max=2026-01-01', { disabled_at_max: ['must not be less than disabled_at_min'] }],
    ['last_activity_at_max=2026-13-01', { last_activity_at_max: ['must be a day that exists'] }],
    ['last_activity_at_min=2026-01-02&last_activity_at_max=2026-01-01', { last_activity_at_max: ['must not be less than last_activity_at_min'] }],
    ['expires_on_min=2026-02-30', { expires_on_min: ['must be a day that exists'] }],
    ['expires_on_max=x', { expires_on_max: ['must be a date in the form YYYY-MM-DD'] }],
    ['balance_min=-1', { balance_min: ['must be a decimal number such as "15.00"'] }],
    ['balance_min=2&balance_max=1', { balance_max: ['must not be less than balance_min'] }],
    ['order_id=x', { order_id: ['must be an integer from 1 to 2^53 - 1'] }],
    ['last_characters=abc', { last_characters: ['must be exactly 4 letters or digits'] }],
    ['note=', { note: ['must not be empty'] }],
    [`note=${'x'.repeat(101)}`, { note: ['must have at most 100 characters'] }],
    ['tag=', { tag: ['must not be empty'] }],
    ['tag=a,b', { tag: ['must not contain a comma'] }],
    ['sort=id', { sort: ['must be one of: -created_at, created_at, -balance, balance, -expires_on, expires_on'] }],
    ['limit=251', { limit: ['must be an integer from 1 to 250'] }],
    ['state=used&limit=0', { state: ['must be one of: disabled, expired, suspended, empty, scheduled, active'], limit: ['must be an integer from 1 to 250'] }],
  ] as const;
  for (const [query, errors] of cases) await shop.rejects(`GET /gift_cards?${query}`, {}, { code: 'invalid-query', errors });
  const { status, json } = await shop.ask('GET /gift_cards?fields=id,code');
  assert.equal(status, 400);
  assert.match(JSON.stringify(json), /"fields":\["must be names of fields, separated by commas: id, balance/);
}); // prettier-ignore

test('a forged cursor, and one of another list, is a 400', async () => {
  await shop.issue({ email: 'cursor@example.com' });
  await shop.issue({ email: 'cursor2@example.com' });
  const { next_cursor: cursor } = await list('limit=1');
  assert.ok(cursor);
  const [body = '', tag = ''] = cursor.split('.');
  const errors = { cursor: ['must be the next_cursor of a page with the same filters and sort'] };
  const other_cursor = bodyOf(await shop.ask('GET /customers?limit=1')).next_cursor ?? '';
  const forged = Buffer.from('[4503599627370500,"0",null]').toString('base64url');
  const otherTag = tag.startsWith('A') ? `B${tag.slice(1)}` : `A${tag.slice(1)}`;
  const cases = [
    'x', '.', body, `${body}.`, `${forged}.${tag}`, `${body}.${otherTag}`, other_cursor, `${cursor}x`, 'é', 'x'.repeat(2_000),
  ].map((text) => `limit=1&cursor=${encodeURIComponent(text)}`);
  for (const query of [...cases, `sort=created_at&cursor=${cursor}`, `state=active&cursor=${cursor}`, `email=cursor@example.com&cursor=${cursor}`])
    await shop.rejects(`GET /gift_cards?${query}`, {}, { code: 'invalid-query', errors });
  assert.equal((await list(`limit=2&cursor=${cursor}`)).gift_cards.length, 2);
}); // prettier-ignore
