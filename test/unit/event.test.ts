import assert from 'node:assert/strict';
import test from 'node:test';
import {
  cardCreated,
  cardEnabled,
  cardMoved,
  cardUpdated,
  customerCreated,
  eventJson,
} from '../../src/domain/event.ts';
import { holdRecordOf, recordOf, transactionOf } from '../../src/domain/record.ts';
import { amount, cardWith, holdWith, transferWith, sameIds } from './samples.ts';

const card = cardWith({ version: 4 });
const about = { storeId: 17, subjectId: 244_212_357_349, subjectVersion: 4 };
const gift_card = recordOf(sameIds, card);

test('a created card is told as its record', () => {
  assert.deepEqual(cardCreated(sameIds, card), { type: 'gift_card.created', ...about, data: { gift_card } });
});

test('an update names what changed, by the names of the record', () => {
  assert.deepEqual(cardUpdated(sameIds, card, { balance: amount(1n), expiresOn: null, note: 'x' }), [
    { type: 'gift_card.updated', ...about, data: { gift_card, changed: ['balance', 'expires_on', 'note'] } },
  ]);
  assert.deepEqual(
    cardUpdated(sameIds, card, { note: null }).map(({ data }) => data['changed']),
    [['note']],
  );
});

test('a disabling is told by a name of its own, after whatever else changed', () => {
  const disabled = { type: 'gift_card.disabled', ...about, data: { gift_card, changed: ['disabled_at'] } };
  assert.deepEqual(cardUpdated(sameIds, card, { disable: true }), [disabled]);
  assert.deepEqual(cardUpdated(sameIds, card, { disable: true, balance: amount(1n) }), [
    { type: 'gift_card.updated', ...about, data: { gift_card, changed: ['balance'] } },
    disabled,
  ]);
});

test('an update that changes nothing is not told', () => {
  assert.deepEqual(cardUpdated(sameIds, card, {}), []);
});

const transaction = transactionOf(sameIds, transferWith({ kind: 'debit', credit: 'redemptions' }));
const hold = holdRecordOf(sameIds, holdWith(), 0);

test('a movement is told with the card after it, and with the transaction or hold that explains it', () => {
  assert.deepEqual(cardMoved(sameIds, 'gift_card.redeemed', card, { transaction, hold }), {
    type: 'gift_card.redeemed',
    ...about,
    data: { gift_card, transaction, hold },
  });
  for (const [type, cause] of [
    ['gift_card.credited', { transaction }],
    ['gift_card.reversed', { transaction }],
    ['gift_card.held', { hold }],
    ['gift_card.hold_released', { hold }],
  ] as const) {
    assert.deepEqual(cardMoved(sameIds, type, card, cause), {
      type,
      ...about,
      data: { gift_card, ...cause },
    });
  }
});

test('a disabling that is withdrawn is told as an update, of the same field as the disabling', () => {
  assert.deepEqual(cardEnabled(sameIds, card), {
    type: 'gift_card.updated',
    ...about,
    data: { gift_card, changed: ['disabled_at'] },
  });
});

test('a created customer is told with its address, as a subject without versions', () => {
  assert.deepEqual(
    customerCreated(sameIds, 17, { id: 51, email: 'Ada@Example.com', storefrontCustomerId: 7, createdAt: 1 }),
    {
      type: 'customer.created',
      storeId: 17,
      subjectId: 51,
      subjectVersion: 0,
      data: { customer: { id: 51, email: 'Ada@Example.com', storefront_customer_id: 7 } },
    },
  );
});

test('an event is told with its head, what has changed, and its data as it was written', () => {
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
  const [updated] = cardUpdated(sameIds, card, { note: 'x' });
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

test('no event about a card carries a code, and each is JSON', () => {
  for (const event of [
    cardCreated(sameIds, card),
    ...cardUpdated(sameIds, card, { disable: true, note: 'x' }),
    cardMoved(sameIds, 'gift_card.redeemed', card, { transaction, hold }),
    cardEnabled(sameIds, card),
  ]) {
    assert.deepEqual(JSON.parse(JSON.stringify(event.data)), event.data);
    assert.ok(!JSON.stringify(event).includes('"code"'));
  }
});
