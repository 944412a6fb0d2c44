import assert from 'node:assert/strict';
import test from 'node:test';
import { cardCreated, cardEnabled, cardMoved, cardUpdated, customerCreated } from '../../src/domain/event.ts';
import { holdRecordOf, recordOf, transactionOf } from '../../src/domain/record.ts';
import { amount, cardWith, holdWith, transferWith } from './samples.ts';

const card = cardWith({ version: 4 });
const about = { storeId: 17, subjectId: 244_212_357_349, subjectVersion: 4 };
const gift_card = recordOf(card);

test('a created card is told as its record', () => {
  assert.deepEqual(cardCreated(card), {
    type: 'gift_card.created',
    ...about,
    data: { gift_card, changed: [] },
  });
});

test('an update names what changed, by the names of the record', () => {
  assert.deepEqual(cardUpdated(card, { balance: amount(1n), expiresOn: null, note: 'x' }), [
    { type: 'gift_card.updated', ...about, data: { gift_card, changed: ['balance', 'expires_on', 'note'] } },
  ]);
  assert.deepEqual(
    cardUpdated(card, { note: null }).map(({ data }) => data['changed']),
    [['note']],
  );
});

test('a disabling is told by a name of its own, after whatever else changed', () => {
  const disabled = { type: 'gift_card.disabled', ...about, data: { gift_card, changed: ['disabled_at'] } };
  assert.deepEqual(cardUpdated(card, { disable: true }), [disabled]);
  assert.deepEqual(cardUpdated(card, { disable: true, balance: amount(1n) }), [
    { type: 'gift_card.updated', ...about, data: { gift_card, changed: ['balance'] } },
    disabled,
  ]);
});

test('an update that changes nothing is not told', () => {
  assert.deepEqual(cardUpdated(card, {}), []);
});

const transaction = transactionOf(transferWith({ kind: 'debit', credit: 'redemptions' }));
const hold = holdRecordOf(holdWith(), 0);

test('a movement is told with the card after it, and with the transaction or hold that explains it', () => {
  assert.deepEqual(cardMoved('gift_card.redeemed', card, { transaction, hold }), {
    type: 'gift_card.redeemed',
    ...about,
    data: { gift_card, changed: ['balance'], transaction, hold },
  });
  for (const [type, changed, cause] of [
    ['gift_card.credited', ['balance'], { transaction }],
    ['gift_card.reversed', ['balance'], { transaction }],
    ['gift_card.held', [], { hold }],
    ['gift_card.hold_released', [], { hold }],
  ] as const) {
    assert.deepEqual(cardMoved(type, card, cause), {
      type,
      ...about,
      data: { gift_card, changed, ...cause },
    });
  }
});

test('a disabling that is withdrawn is told as an update, of the same field as the disabling', () => {
  assert.deepEqual(cardEnabled(card), {
    type: 'gift_card.updated',
    ...about,
    data: { gift_card, changed: ['disabled_at'] },
  });
});

test('a created customer is told with its address, as a subject without versions', () => {
  assert.deepEqual(customerCreated(17, { id: 51, email: 'Ada@Example.com' }), {
    type: 'customer.created',
    storeId: 17,
    subjectId: 51,
    subjectVersion: 0,
    data: { customer: { id: 51, email: 'Ada@Example.com' } },
  });
});

test('no event about a card carries a code, and each is JSON', () => {
  for (const event of [
    cardCreated(card),
    ...cardUpdated(card, { disable: true, note: 'x' }),
    cardMoved('gift_card.redeemed', card, { transaction, hold }),
    cardEnabled(card),
  ]) {
    assert.deepEqual(JSON.parse(JSON.stringify(event.data)), event.data);
    assert.ok(!JSON.stringify(event).includes('"code"'));
  }
});
