/** Holds: reserve, capture fully or partly, void and list; the errors of closed holds. */

import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { viewOf } from '../support/money-responses.ts';
import { lastEvent, shopOf } from '../support/shop.ts';
import { startService } from '../support/service.ts';

const service = await startService({ stores: [{ domain: 'flowers.example', undoWindowMinutes: 0 }] });
after(() => service[Symbol.asyncDispose]());
const shop = await shopOf(service, 'flowers.example');
const released = ['gift_card.hold_released'];
const redeemed = ['gift_card.redeemed'];

const seconds = ({ created_at: from, expires_at: to }: { created_at: string; expires_at: string }) =>
  (Date.parse(to) - Date.parse(from)) / 1_000;

test('a hold returns 201 with the hold, the card and its path, and does not change the balance', async () => {
  const { id, code } = await shop.issue();
  const json = { amount: '10.5', currency: 'USD', reference: 'checkout-77', note: 'Roses', order_id: 1001 };
  const { hold, gift_card: card, response } = await shop.does(`POST /gift_card/${id}/holds`, { json }, { events: ['gift_card.held'] });
  const { id: holdId, created_at: _from, expires_at: _to, actor, ...rest } = hold;
  assert.match(actor, /^api_client:[1-9]\d*$/);
  const [issued] = await shop.transactions(id);
  assert.equal(actor, issued?.actor);
  assert.deepEqual(rest, {
    gift_card_id: id, status: 'open', amount: '10.50', captured_amount: '0.00', currency: 'USD', reference: 'checkout-77',
    note: 'Roses', order_id: 1001, order_reference: null, external_id: null, location_id: null, closed_at: null,
  });
  assert.equal(seconds(hold), 900);
  assert.deepEqual([card.balance, card.held, card.available], ['25.00', '10.50', '14.50']);
  assert.equal(response.headers.get('location'), `/holds/${holdId}`);
  assert.deepEqual((await lastEvent(service, id, 'gift_card.held'))['hold'], hold);

  const shown = await shop.ask(`GET /holds/${holdId}`);
  assert.deepEqual(viewOf(shown), { hold, gift_card: card });
  assert.deepEqual(await shop.lookUp(code), card);
  assert.equal((await shop.read(id)).balance, '25.00');
  assert.deepEqual((await shop.transactions(id)).map(({ kind }) => kind), ['issue']);
}); // prettier-ignore

test('a hold lasts the given time, from 1 second to 7 days', async () => {
  const { id } = await shop.issue();
  for (const [sent, lasts] of [[1, 1], [600, 600], [604_800, 604_800], [null, 900]] as const) {
    const hold = await shop.holds(id, '1', { expires_in: sent });
    assert.equal(seconds(hold), lasts);
    // The job that closes expired holds must not change the database during another test.
    await shop.ask(`POST /holds/${hold.id}/void`);
  }
}); // prettier-ignore

test('a hold cannot exceed the available amount; holds add up', async () => {
  const { id } = await shop.issue();
  const line = `POST /gift_card/${id}/holds`;
  await shop.holds(id, '15');
  await shop.rejects(
    line,
    { json: { amount: '10.01' } },
    {
      code: 'insufficient-balance',
      errors: { amount: ['must be at most 10.00, the available amount'] },
      available: '10.00',
    },
  );
  await shop.holds(id, '10');
  await shop.rejects(line, { json: { amount: '0.01' } }, { code: 'insufficient-balance', available: '0.00' });
});

test('a capture of the whole hold debits the held amount', async (t) => {
  for (const [name, ask, amount] of [
    ['no body', {}, '-10.00'],
    ['null', { json: { amount: null } }, '-10.00'],
    ['the amount', { json: { amount: '10.00' } }, '-10.00'],
    ['a form', { form: 'transaction[amount]=10' }, '-10.00'],
  ] as const) {
    await t.test(name, async () => {
      const { id } = await shop.issue();
      const placed = await shop.holds(id, '10', { reference: 'checkout', order_id: 5, note: 'of the hold' });
      const { transaction, hold, gift_card: card } = await shop.does(`POST /holds/${placed.id}/capture`, ask, { events: redeemed });
      const { id: _id, created_at: at, actor: _actor, ...rest } = transaction;
      assert.deepEqual(rest, {
        gift_card_id: id, kind: 'capture', amount, currency: 'USD', balance_after: '15.00', reference: 'checkout',
        note: 'of the hold', order_id: 5, order_reference: null, external_id: null, location_id: null, hold_id: placed.id, reverses: null,
      });
      assert.deepEqual(hold, { ...placed, status: 'captured', captured_amount: '10.00', closed_at: at });
      assert.deepEqual([card.balance, card.held, card.available], ['15.00', '0.00', '15.00']);
      assert.deepEqual(viewOf(await shop.ask(`GET /holds/${placed.id}`)), { hold, gift_card: card });
    });
  }
}); // prettier-ignore

test('a partial capture releases the rest, and returns both amounts', async () => {
  const { id } = await shop.issue();
  const other = await shop.holds(id, '5');
  const placed = await shop.holds(id, '10');
  const json = { transaction: { amount: '8.01', note: 'all but the vase' } };
  const { transaction, hold, gift_card: card } = await shop.does(`POST /holds/${placed.id}/capture`, { json }, { events: [...redeemed, ...released] });
  assert.deepEqual([transaction.amount, transaction.balance_after, transaction.note], ['-8.01', '16.99', 'all but the vase']);
  assert.deepEqual([hold.status, hold.amount, hold.captured_amount], ['captured', '10.00', '8.01']);
  assert.deepEqual([card.balance, card.held, card.available], ['16.99', '5.00', '11.99']);
  assert.equal(viewOf(await shop.ask(`GET /holds/${other.id}`)).hold.status, 'open');
}); // prettier-ignore

test('a capture cannot exceed the hold, even if the card has more', async () => {
  const { id } = await shop.issue();
  const { id: holdId } = await shop.holds(id, '10');
  const errors = { amount: ['must be at most 10.00, the amount of the hold'] };
  await shop.rejects(
    `POST /holds/${holdId}/capture`,
    { json: { amount: '10.01' } },
    { code: 'capture-exceeds-hold', errors, held: '10.00' },
  );
  assert.equal(viewOf(await shop.ask(`GET /holds/${holdId}`)).hold.status, 'open');
});

test('a void releases the amount and leaves the balance unchanged', async (t) => {
  for (const [name, ask] of [['no body', {}], ['an empty object', { json: {} }], ['a wrapped one', { json: { hold: {} } }], ['an empty form', { form: '' }]] as const) {
    await t.test(name, async () => {
      const { id } = await shop.issue();
      const placed = await shop.holds(id, '10');
      const { hold, gift_card: card } = await shop.does(`POST /holds/${placed.id}/void`, ask, { status: 200, events: released });
      assert.deepEqual({ ...hold, closed_at: null }, { ...placed, status: 'voided' });
      assert.ok(hold.closed_at);
      assert.deepEqual([card.balance, card.held, card.available], ['25.00', '0.00', '25.00']);
      assert.equal((await shop.transactions(id)).length, 1);
    });
  }
}); // prettier-ignore

test('a captured or voided hold cannot be captured or voided again', async () => {
  const { id } = await shop.issue();
  const captured = await shop.holds(id, '10');
  await shop.does(
    `POST /holds/${captured.id}/capture`,
    { json: { amount: 1 } },
    { events: [...redeemed, ...released] },
  );
  const voided = await shop.holds(id, '10');
  await shop.does(`POST /holds/${voided.id}/void`, {}, { status: 200, events: released });
  for (const hold of [captured, voided]) {
    for (const what of ['capture', 'void'])
      await shop.rejects(`POST /holds/${hold.id}/${what}`, {}, { code: 'hold-closed' });
  }
});

test('a hold outlives the expiry of its card: it can be captured, voided and retrieved', async () => {
  const { id } = await shop.issue();
  const [one, other] = [await shop.holds(id, '10'), await shop.holds(id, '5')];
  await shop.does(
    `PUT /gift_card/${id}`,
    { json: { expires_on: '2020-01-01' } },
    { events: ['gift_card.updated'] },
  );
  assert.equal(viewOf(await shop.ask(`GET /holds/${one.id}`)).hold.status, 'open');
  const { gift_card: card } = await shop.does(`POST /holds/${one.id}/capture`, {}, { events: redeemed });
  assert.deepEqual([card.balance, card.held], ['15.00', '5.00']);
  await shop.does(`POST /holds/${other.id}/void`, {}, { status: 200, events: released });
});

test('the list contains the holds of one card, newest first, including closed ones', async () => {
  const { id } = await shop.issue();
  const stranger = await shop.issue();
  await shop.holds(stranger.id, '1');
  const first = await shop.holds(id, '1');
  const second = await shop.holds(id, '2');
  await shop.does(`POST /holds/${first.id}/void`, {}, { status: 200, events: released });
  const { holds } = viewOf(await shop.ask(`GET /gift_card/${id}/holds`));
  assert.deepEqual(
    holds.map((hold) => [hold.id, hold.status]),
    [
      [second.id, 'open'],
      [first.id, 'voided'],
    ],
  );
});

test('the log and the database contain no code', () => shop.assertNoCodeLeaked());
