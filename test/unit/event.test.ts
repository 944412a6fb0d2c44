import assert from 'node:assert/strict';
import test from 'node:test';
import {
  cardCreatedEvent,
  cardReenabledEvent,
  movementEvent,
  cardUpdateEvents,
  customerCreatedEvent,
  eventJson,
} from '../../src/core/events/domain/event.ts';
import { holdRecordOf, recordOf, transactionOf } from '../../src/core/cards/domain/record.ts';
import { amount, cardWith, holdWith, transferWith, sameIds } from './samples.ts';

const card = cardWith({ version: 4 });
const about = { storeId: 17, subjectId: 244_212_357_349, subjectVersion: 4 };
const gift_card = recordOf(sameIds, card);

test('the event of a new card contains its record', () => {
  assert.deepEqual(cardCreatedEvent(sameIds, card), {
    type: 'gift_card.created',
    ...about,
    data: { gift_card },
  });
});

test('the event of an update lists the changed fields of the record', () => {
  assert.deepEqual(cardUpdateEvents(sameIds, card, { balance: amount(1n), expiresOn: null, note: 'x' }), [
    { type: 'gift_card.updated', ...about, data: { gift_card, changed: ['balance', 'expires_on', 'note'] } },
  ]);
  assert.deepEqual(
    cardUpdateEvents(sameIds, card, { note: null }).map(({ data }) => data['changed']),
    [['note']],
  );
});

test('a disabling has its own event, after the event of other changes', () => {
  const disabled = { type: 'gift_card.disabled', ...about, data: { gift_card, changed: ['disabled_at'] } };
  assert.deepEqual(cardUpdateEvents(sameIds, card, { disable: true }), [disabled]);
  assert.deepEqual(cardUpdateEvents(sameIds, card, { disable: true, balance: amount(1n) }), [
    { type: 'gift_card.updated', ...about, data: { gift_card, changed: ['balance'] } },
    disabled,
  ]);
});

test('an update without changes has no event', () => {
  assert.deepEqual(cardUpdateEvents(sameIds, card, {}), []);
});

const transaction = transactionOf(sameIds, transferWith({ kind: 'debit', credit: 'redemptions' }));
const hold = holdRecordOf(sameIds, holdWith(), 0);

test('the event of a movement contains the new state of the card and the transaction or hold', () => {
  assert.deepEqual(movementEvent(sameIds, 'gift_card.redeemed', card, { transaction, hold }), {
    type: 'gift_card.redeemed',
    ...about,
    data: { gift_card, transaction, hold },
  });
  for (const [type, cause] of [
    ['gift_card.credited', { transaction }],
    ['gift_card.reversed', { transaction }],
    ['gift_card.held', { hold }],
    ['gift_card.hold_extended', { hold }],
    ['gift_card.hold_released', { hold }],
  ] as const) {
    assert.deepEqual(movementEvent(sameIds, type, card, cause), {
      type,
      ...about,
      data: { gift_card, ...cause },
    });
  }
});

test('a re-enabling is an update event of the same field as the disabling', () => {
  assert.deepEqual(cardReenabledEvent(sameIds, card), {
    type: 'gift_card.updated',
    ...about,
    data: { gift_card, changed: ['disabled_at'] },
  });
});

test('the event of a new customer contains its email and has no version', () => {
  assert.deepEqual(
    customerCreatedEvent(sameIds, 17, {
      id: 51,
      email: 'Ada@Example.com',
      storefrontCustomerId: 7,
      createdAt: 1,
    }),
    {
      type: 'customer.created',
      storeId: 17,
      subjectId: 51,
      subjectVersion: 0,
      data: { customer: { id: 51, email: 'Ada@Example.com', storefront_customer_id: 7 } },
    },
  );
});

test('an event has its head, the changed fields, and its data as stored', () => {
  const written = {
    id: 7,
    sequence: 4,
    createdAt: Date.UTC(2026, 0, 2, 3, 4, 5),
    data: JSON.stringify({ gift_card }),
  };
  const head = { id: 7, store: 'flowers.example', created_at: '2026-01-02T03:04:05Z', sequence: 4 };
  for (const [type, changed] of [
    ['gift_card.created', []],
    ['gift_card.redeemed', ['balance']],
    ['gift_card.expired', []],
  ] as const) {
    assert.deepEqual(JSON.parse(eventJson({ ...written, type }, 'flowers.example')), {
      ...head,
      type,
      data: { changed, gift_card },
    });
  }
  const [updated] = cardUpdateEvents(sameIds, card, { note: 'x' });
  const data = JSON.stringify(updated?.data);
  assert.deepEqual(
    JSON.parse(eventJson({ ...written, type: 'gift_card.updated', data }, 'flowers.example')),
    {
      ...head,
      type: 'gift_card.updated',
      data: { gift_card, changed: ['note'] },
    },
  );
});

test('no event of a card contains a code, and each is JSON', () => {
  for (const event of [
    cardCreatedEvent(sameIds, card),
    ...cardUpdateEvents(sameIds, card, { disable: true, note: 'x' }),
    movementEvent(sameIds, 'gift_card.redeemed', card, { transaction, hold }),
    cardReenabledEvent(sameIds, card),
  ]) {
    assert.deepEqual(JSON.parse(JSON.stringify(event.data)), event.data);
    assert.ok(!JSON.stringify(event).includes('"code"'));
  }
});
