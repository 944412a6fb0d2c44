/** Suspended cards: what they reject and accept, how they are shown, found and recorded, and their emails. */

import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { viewOf } from '../support/money-responses.ts';
import { startService } from '../support/service.ts';
import { lastEvent, shopOf } from '../support/shop.ts';

const service = await startService({ stores: [{ domain: 'flowers.example', undoWindowMinutes: 30 }] });
after(() => service[Symbol.asyncDispose]());
const shop = await shopOf(service, 'flowers.example');

const suspended = { status: 200, events: ['gift_card.suspended'] };
const resumed = { status: 200, events: ['gift_card.resumed'] };
const unchanged = { status: 200, events: [] };

async function suspendedCard(parameters: Readonly<Record<string, unknown>> = {}) {
  const card = await shop.issue(parameters);
  await shop.does(`POST /gift_card/${card.id}/suspend`, { json: {} }, suspended);
  return card;
}

type Details = Readonly<Record<string, unknown>>;

async function detailsOf(id: number, query = ''): Promise<Details> {
  const response = await shop.ask(`GET /gift_cards/${id}${query}`);
  assert.equal(response.status, 200, response.text);
  return (response.json as { readonly gift_card: Details }).gift_card;
}

test('a card is suspended with a reason, and resumed', async (t) => {
  for (const [name, ask, reason] of [
    ['no body', {}, null],
    ['a reason', { json: { reason: 'The payment is disputed' } }, 'The payment is disputed'],
    ['a wrapped reason', { json: { gift_card: { reason: 'Lost\nat the station' } } }, 'Lost\nat the station'],
    ['a form', { form: 'gift_card%5Breason%5D=Lost' }, 'Lost'],
    ['an empty reason', { json: { reason: '' } }, null],
  ] as const) {
    await t.test(name, async () => {
      const { code: _code, ...record } = await shop.issue({ note: 'x' });
      const { id } = record;
      const tag = await shop.tag(id);
      const off = await shop.does(`POST /gift_card/${id}/suspend`, ask, suspended);
      assert.deepEqual(off.gift_card, { ...record, held: '0.00', available: '0.00', state: 'suspended' });
      assert.notEqual(off.response.headers.get('etag'), tag);
      assert.equal(off.response.headers.get('etag'), await shop.tag(id));
      assert.deepEqual(await shop.read(id), record);
      const details = await detailsOf(id);
      assert.deepEqual([details['state'], details['available'], details['suspend_reason']], ['suspended', '0.00', reason]);
      assert.match(String(details['suspended_at']), /^\d{4}-/);
      assert.deepEqual(await lastEvent(service, id, 'gift_card.suspended'), { gift_card: record });
      const on = await shop.does(`POST /gift_card/${id}/resume`, {}, resumed);
      assert.deepEqual(on.gift_card, { ...record, held: '0.00', available: '25.00', state: 'active' });
      const later = await detailsOf(id);
      assert.deepEqual([later['state'], later['suspended_at'], later['suspend_reason']], ['active', null, null]);
      assert.deepEqual(await lastEvent(service, id, 'gift_card.resumed'), { gift_card: record });
      await shop.debits(id, '25');
    });
  }
}); // prettier-ignore

test('repeating a suspension or a resumption changes nothing, not even the reason', async () => {
  const { id } = await shop.issue();
  await shop.does(`POST /gift_card/${id}/resume`, {}, unchanged);
  await shop.does(`POST /gift_card/${id}/suspend`, { json: { reason: 'one' } }, suspended);
  const before = await service.state();
  const again = await shop.does(`POST /gift_card/${id}/suspend`, { json: { reason: 'two' } }, unchanged);
  assert.equal(again.gift_card.state, 'suspended');
  assert.equal(await service.state(), before);
  assert.equal((await detailsOf(id))['suspend_reason'], 'one');
});

test('dry runs change nothing, and If-Match is compared', async () => {
  const { id } = await shop.issue();
  const tag = await shop.tag(id);
  const before = await service.state();
  const dry = await shop.does(`POST /gift_card/${id}/suspend?dry_run=true`, {}, unchanged);
  assert.equal(dry.gift_card.state, 'suspended');
  assert.equal(await service.state(), before);
  const off = await shop.does(`POST /gift_card/${id}/suspend`, { headers: { 'if-match': tag } }, suspended);
  const stale = { headers: { 'if-match': tag } };
  await shop.rejects(`POST /gift_card/${id}/resume`, stale, { code: 'precondition-failed' });
  await shop.rejects(`POST /gift_card/${id}/suspend`, stale, { code: 'precondition-failed' });
  const fresh = { headers: { 'if-match': off.response.headers.get('etag') ?? '' } };
  await shop.does(`POST /gift_card/${id}/resume`, fresh, resumed);
});

test('parameters that suspend and resume do not know, and texts that no reason can be, are rejected', async () => {
  const { id } = await shop.issue();
  const line = `POST /gift_card/${id}/suspend`;
  const rejects = (json: object, errors: Readonly<Record<string, readonly string[]>>): Promise<void> =>
    shop.rejects(line, { json }, { code: 'invalid-parameter', errors });
  await rejects({ note: 'x' }, { note: ['is not a known parameter'] });
  await rejects({ reason: 5 }, { reason: ['must be a string'] });
  await rejects({ reason: 'x'.repeat(5_001) }, { reason: ['must have at most 5,000 characters'] });
  await shop.rejects(
    `POST /gift_card/${id}/resume`,
    { json: { reason: 'x' } },
    { code: 'invalid-parameter' },
  );
  for (const path of ['suspend', 'resume'])
    await shop.rejects(`POST /gift_card/12345/${path}`, {}, { code: 'not-found' });
});

test('only write_gift_cards can suspend and resume', async () => {
  const { id } = await shop.issue();
  const token = await shop.tokenFor('read_gift_cards', 'redeem_gift_cards');
  for (const path of ['suspend', 'resume'])
    await shop.rejects(`POST /gift_card/${id}/${path}`, { token }, { code: 'insufficient-scope' });
  const writer = await shop.tokenFor('write_gift_cards');
  await shop.does(`POST /gift_card/${id}/suspend`, { token: writer }, suspended);
});

test('no money can be spent, reserved or added, and the balance cannot be updated', async () => {
  const { id, code } = await suspendedCard();
  for (const what of ['debit', 'holds', 'credit'])
    for (const amount of [1, 1_000])
      await shop.rejects(`POST /gift_card/${id}/${what}`, { json: { amount } }, { code: 'card-suspended' });
  const redeem = 'POST /gift_card/redeem';
  await shop.rejects(redeem, { json: { code, amount: 1 } }, { code: 'card-suspended' });
  const partial = { json: { amount: 1_000, partial: true } };
  await shop.rejects(`POST /gift_card/${id}/debit`, partial, { code: 'card-suspended' });
  await shop.rejects(
    `PUT /gift_card/${id}`,
    { json: { balance: 5, note: 'y' } },
    { code: 'invalid-parameter', errors: { balance: ['cannot be changed: the card is suspended'] } },
  );
  // A balance that stays the same is accepted, and other fields can change.
  await shop.accepts(
    `PUT /gift_card/${id}`,
    { json: { balance: '25.00', note: 'y', expires_on: '2999-12-31' } },
    { events: ['gift_card.updated expires_on,note'] },
  );
});

test('holds from before are captured and voided, and refunds and reversals of credits are accepted', async () => {
  const { id } = await shop.issue();
  const debit = await shop.debits(id, '5');
  const [first, second, third] = [await shop.holds(id, '4'), await shop.holds(id, '3'), await shop.holds(id, '2')];
  const credit = await shop.does(`POST /gift_card/${id}/credit`, { json: { amount: 30 } }, { events: ['gift_card.credited'] });
  const off = await shop.does(`POST /gift_card/${id}/suspend`, {}, suspended);
  assert.deepEqual([off.gift_card.balance, off.gift_card.held, off.gift_card.available], ['50.00', '9.00', '0.00']);
  const captured = await shop.does(`POST /holds/${first.id}/capture`, {}, { status: 201, events: ['gift_card.redeemed'] });
  assert.deepEqual([captured.gift_card.balance, captured.gift_card.available, captured.gift_card.state], ['46.00', '0.00', 'suspended']);
  await shop.does(`POST /holds/${second.id}/void`, {}, { status: 200, events: ['gift_card.hold_released'] });
  const reverse = (of: { readonly id: number }): string => `POST /transactions/${of.id}/reverse`;
  await shop.does(reverse(debit), {}, { status: 201, events: ['gift_card.reversed'] });
  assert.equal((await shop.read(id)).balance, '51.00');
  await shop.does(reverse(credit.transaction), { json: { amount: 10 } }, { status: 201, events: ['gift_card.reversed'] });
  // 41.00 less the hold of 2.00.
  const more = (await shop.does(`POST /holds/${third.id}/void`, {}, { status: 200, events: ['gift_card.hold_released'] })).gift_card;
  assert.deepEqual([more.balance, more.held], ['41.00', '0.00']);
  await shop.does(`POST /gift_card/${id}/resume`, {}, resumed);
  await shop.debits(id, '30');
  await shop.holds(id, '5');
  await shop.does(`POST /gift_card/${id}/suspend`, {}, suspended);
  const response = await shop.returnsError(reverse(credit.transaction), {}, { code: 'insufficient-balance' });
  assert.equal((response.json as { readonly available: string }).available, '6.00');
  await shop.does(reverse(credit.transaction), { json: { amount: 6 } }, { status: 201, events: ['gift_card.reversed'] });
}); // prettier-ignore

test('the errors precede each other: disabled, expired, suspended', async () => {
  const { id } = await suspendedCard();
  const debit = `POST /gift_card/${id}/debit`;
  const json = { amount: 1_000 };
  await shop.rejects(debit, { json }, { code: 'card-suspended' });
  await shop.accepts(
    `PUT /gift_card/${id}`,
    { json: { expires_on: '2020-01-01' } },
    { events: ['gift_card.updated expires_on'] },
  );
  await shop.rejects(debit, { json }, { code: 'card-expired' });
  assert.equal((await detailsOf(id))['state'], 'expired');
  await shop.does(`PUT /gift_card/${id}`, { json: { disable: true } }, { events: ['gift_card.disabled'] });
  await shop.rejects(debit, { json }, { code: 'card-disabled' });
  for (const path of ['suspend', 'resume'])
    await shop.rejects(`POST /gift_card/${id}/${path}`, {}, { code: 'card-disabled' });
  await shop.does(`POST /gift_card/${id}/undo`, {}, { status: 200, events: ['gift_card.updated'] });
  const details = await detailsOf(id);
  assert.equal(details['state'], 'expired');
  assert.ok(details['suspended_at']);
  // An expired card can be suspended and resumed.
  await shop.does(`POST /gift_card/${id}/resume`, {}, resumed);
  const again = await shop.does(`POST /gift_card/${id}/suspend`, {}, suspended);
  assert.deepEqual([again.gift_card.state, again.gift_card.available], ['expired', '0.00']);
});

test('the undo of a disabling returns to suspended', async () => {
  const { id } = await suspendedCard();
  await shop.does(`PUT /gift_card/${id}`, { json: { disable: true } }, { events: ['gift_card.disabled'] });
  assert.equal((await detailsOf(id))['state'], 'disabled');
  await shop.does(`POST /gift_card/${id}/undo`, {}, { status: 200, events: ['gift_card.updated'] });
  assert.equal((await detailsOf(id))['state'], 'suspended');
  await shop.rejects(`POST /gift_card/${id}/debit`, { json: { amount: 1 } }, { code: 'card-suspended' });
});

test('a card is issued suspended, in JSON and in a form', async () => {
  const events = ['gift_card.created', 'gift_card.suspended'];
  const { card } = await shop.creates({ json: { initial_value: 25, suspend: true } }, { events });
  const details = await detailsOf(card.id);
  assert.deepEqual(
    [details['state'], details['available'], details['suspended_at']],
    ['suspended', '0.00', details['created_at']],
  );
  const form = await shop.creates({ form: 'initial_value=25&suspend=1' }, { events });
  assert.equal((await detailsOf(form.card.id))['state'], 'suspended');
  await shop.creates({ json: { initial_value: 25, suspend: false } });
  await shop.creates({ json: { initial_value: 25, suspend: null } });
  await shop.rejects(
    'POST /gift_card',
    { json: { initial_value: 25, suspend: 'true' } },
    { code: 'invalid-parameter', errors: { suspend: ['must be true or false'] } },
  );
  const { id } = card;
  await shop.rejects(
    `PUT /gift_card/${id}`,
    { json: { suspend: false } },
    { code: 'invalid-parameter', errors: { suspend: ['is not a known parameter'] } },
  );
  const history = viewOf(await shop.ask(`GET /gift_card/${id}/history`)) as unknown as {
    readonly history: readonly { readonly kind: string; readonly state: string }[];
  };
  assert.deepEqual(
    history.history.map(({ kind, state }) => [kind, state]),
    [
      ['changed', 'suspended'],
      ['created', 'active'],
    ],
  );
});

test('the history has the suspension with its reason, and as_of the card before and after it', async () => {
  const { id } = await shop.issue();
  service.clock.advance(5_000);
  const before = new Date(service.clock.now() - 2_000).toISOString();
  await shop.does(`POST /gift_card/${id}/suspend`, { json: { reason: 'Lost' } }, suspended);
  const during = new Date(service.clock.now() + 1_000).toISOString();
  service.clock.advance(5_000);
  await shop.does(`POST /gift_card/${id}/resume`, {}, resumed);
  const { history } = viewOf(await shop.ask(`GET /gift_card/${id}/history`)) as unknown as {
    readonly history: readonly {
      readonly state: string;
      readonly changes: readonly { readonly field: string; readonly old: unknown; readonly new: unknown }[];
    }[];
  };
  const [on, off] = history;
  assert.ok(on && off);
  assert.equal(off.state, 'suspended');
  assert.deepEqual(
    off.changes.map(({ field }) => field),
    ['suspended_at', 'suspend_reason'],
  );
  assert.deepEqual([off.changes[1]?.old, off.changes[1]?.new], [null, 'Lost']);
  assert.match(String(off.changes[0]?.new), /Z$/);
  assert.equal(on.state, 'active');
  assert.deepEqual([on.changes[1]?.old, on.changes[1]?.new], ['Lost', null]);
  service.clock.advance(1_000);
  const states = [];
  for (const at of [before, during])
    states.push((await detailsOf(id, `?as_of=${encodeURIComponent(at)}`))['state']);
  assert.deepEqual(states, ['active', 'suspended']);
  const listed = await shop.ask(`GET /gift_cards?state=suspended&as_of=${encodeURIComponent(during)}`);
  assert.ok(listed.text.includes(`"id":${id},`));
});

test('lists, counts and the CSV filter by the state, and all fields of a response can be sent back', async () => {
  const { id } = await shop.issue({ email: 'echo@example.com' });
  await shop.does(`POST /gift_card/${id}/suspend`, { json: { reason: 'Lost' } }, suspended);
  const list = async (state: string): Promise<readonly number[]> => {
    const response = await shop.ask(`GET /gift_cards?state=${state}&email=echo@example.com`);
    return (response.json as { readonly gift_cards: readonly { readonly id: number }[] }).gift_cards.map((each) => each.id);
  };
  assert.deepEqual(await list('suspended'), [id]);
  for (const state of ['active', 'empty', 'scheduled', 'expired', 'disabled']) assert.deepEqual(await list(state), []);
  const counted = await shop.ask('GET /gift_cards/count?state=suspended&email=echo@example.com');
  assert.deepEqual(counted.json, { count: 1, precision: 'exact' });
  const details = await detailsOf(id);
  await shop.accepts(`PUT /gift_card/${id}`, { json: details });
  await shop.rejects(`PUT /gift_card/${id}`, { json: { ...details, suspend_reason: 'x', suspended_at: null, state: 'active', available: '25.00' } }, {
    code: 'invalid-parameter',
    errors: Object.fromEntries(['suspend_reason', 'suspended_at', 'state', 'available'].map((name) => [name, ['cannot be changed']])),
  });
  const { gift_card: off } = await shop.does(`POST /gift_card/${id}/suspend`, {}, unchanged);
  await shop.accepts(`PUT /gift_card/${id}`, { json: off });
  const { json } = await shop.ask(`GET /gift_card/${id}/balance`);
  await shop.accepts(`PUT /gift_card/${id}`, { json: (json as { readonly gift_card: Details }).gift_card });
}); // prettier-ignore

test('an empty or scheduled card is active for operations on money, and only for these', async () => {
  const { id, code } = await shop.issue();
  await shop.debits(id, '25');
  const states = [
    (await shop.lookUp(code)).state,
    viewOf(await shop.ask(`GET /gift_card/${id}/balance`)).gift_card.state,
    (await detailsOf(id))['state'],
    (await shop.does(`POST /gift_card/${id}/resume`, {}, unchanged)).gift_card.state,
  ];
  assert.deepEqual(states, ['active', 'active', 'empty', 'empty']);
  const details = await detailsOf(id);
  for (const state of ['active', 'empty'])
    await shop.accepts(`PUT /gift_card/${id}`, { json: { ...details, state } });
});

test('a disabled or expired card has nothing available in any response', async () => {
  const expired = await shop.issue();
  await shop.does(
    `PUT /gift_card/${expired.id}`,
    { json: { expires_on: '2020-01-01' } },
    { events: ['gift_card.updated'] },
  );
  const disabled = await shop.issue();
  await shop.does(
    `PUT /gift_card/${disabled.id}`,
    { json: { disable: true } },
    { events: ['gift_card.disabled'] },
  );
  for (const [{ id, code }, state] of [
    [expired, 'expired'],
    [disabled, 'disabled'],
  ] as const) {
    const looked = await shop.lookUp(code);
    const balance = viewOf(await shop.ask(`GET /gift_card/${id}/balance`)).gift_card;
    const details = await detailsOf(id);
    for (const each of [looked, balance, details])
      assert.deepEqual([each['balance'], each['available'], each['state']], ['25.00', '0.00', state]);
  }
});

test('a search prefers an active card, then a suspended one, then the newest', async () => {
  const email = 'search@example.com';
  const cards = [];
  for (const prefix of ['aaaaaaaa', 'bbbbbbbb', 'cccccccc', 'dddddddd']) {
    const card = await shop.issue({ email, code: `${prefix}4321` });
    cards.push(card.id);
    service.clock.advance(2_000);
  }
  const [oldest = 0, second = 0, third = 0, newest = 0] = cards;
  const found = async (): Promise<number> =>
    viewOf(await shop.ask(`GET /gift_card?last_characters=4321&email=${email}`)).gift_card.id;
  assert.equal(await found(), newest);
  await shop.does(
    `PUT /gift_card/${newest}`,
    { json: { disable: true } },
    { events: ['gift_card.disabled'] },
  );
  assert.equal(await found(), third);
  await shop.does(`POST /gift_card/${third}/suspend`, {}, suspended);
  assert.equal(await found(), second);
  await shop.does(`POST /gift_card/${second}/suspend`, {}, suspended);
  assert.equal(await found(), oldest);
  await shop.does(`POST /gift_card/${oldest}/suspend`, {}, suspended);
  assert.equal(await found(), third);
  await shop.does(`POST /gift_card/${third}/resume`, {}, resumed);
  assert.equal(await found(), third);
});

test('a suspended card can get another code, and is not emailed again', async () => {
  const { id } = await suspendedCard({ email: 'ada@example.com' });
  await shop.rejects(`POST /gift_card/${id}/notify`, {}, { code: 'card-suspended' });
  const rotated = await shop.does(
    `POST /gift_card/${id}/rotate_code`,
    {},
    { status: 200, events: ['gift_card.code_rotated'] },
  );
  shop.codes.add(rotated.gift_card.code);
  assert.equal((await detailsOf(id))['state'], 'suspended');
});

test('the liability contains suspended cards, and says how much of it they are', async () => {
  const own = await startService({ stores: [{ domain: 'books.example' }] });
  await using _ = own;
  const books = await shopOf(own, 'books.example', { scopes: ['read_gift_cards', 'write_gift_cards', 'redeem_gift_cards', 'read_reports'] });
  const report = async (at?: number): Promise<readonly unknown[]> => {
    const query = at === undefined ? '' : `?as_of=${new Date(at).toISOString()}`;
    const { liability } = (await books.ask(`GET /reports/liability${query}`)).json as { readonly liability: Details };
    return ['available', 'on_hold', 'suspended', 'cards_active', 'cards_suspended'].map((name) => liability[name]);
  };
  const one = await books.issue();
  await books.issue({ initial_value: 10, suspend: true });
  own.clock.advance(60_000);
  await books.holds(one.id, '5');
  const before = own.clock.now();
  own.clock.advance(60_000);
  assert.deepEqual(await report(), ['30.00', '5.00', '10.00', 2, 1]);
  await books.does(`POST /gift_card/${one.id}/suspend`, {}, suspended);
  const during = own.clock.now();
  own.clock.advance(60_000);
  assert.deepEqual(await report(), ['30.00', '5.00', '35.00', 2, 2]);
  await books.does(`POST /gift_card/${one.id}/resume`, {}, resumed);
  own.clock.advance(60_000);
  assert.deepEqual(await report(), ['30.00', '5.00', '10.00', 2, 1]);
  assert.deepEqual(await report(before), ['30.00', '5.00', '10.00', 2, 1]);
  assert.deepEqual(await report(during), ['30.00', '5.00', '35.00', 2, 2]);
}); // prettier-ignore

test('the log and the database contain no code', () => shop.assertNoCodeLeaked());
