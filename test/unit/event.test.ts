import assert from 'node:assert/strict';
import test from 'node:test';
import { cardCreated, cardUpdated, customerCreated } from '../../src/domain/event.ts';
import { recordOf } from '../../src/domain/record.ts';
import { amount, cardWith } from './samples.ts';

const card = cardWith({ version: 4 });
const about = { storeId: 17, subjectId: 244_212_357_349, subjectVersion: 4 };
const gift_card = recordOf(card);

test('a created card is told as its record', () => {
  assert.deepEqual(cardCreated(card), { type: 'gift_card.created', ...about, data: { gift_card } });
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
  for (const event of [cardCreated(card), ...cardUpdated(card, { disable: true, note: 'x' })]) {
    assert.deepEqual(JSON.parse(JSON.stringify(event.data)), event.data);
    assert.ok(!JSON.stringify(event).includes('"code"'));
  }
});
