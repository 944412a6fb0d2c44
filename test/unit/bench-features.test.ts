/** The requests that make the other cards of a store, whose features the measured cards do not use. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { otherCards } from '../../bench/features.ts';
import type { Request } from '../../bench/load.ts';

function bodyOf({ text }: Request): unknown {
  const [head = '', body = ''] = text.split('\r\n\r\n');
  assert.match(head, /\r\nAuthorization: Bearer secret\r\n/);
  assert.match(head, new RegExp(`\r\nContent-Length: ${body.length}$`));
  return JSON.parse(body);
}

const issued: number[] = [];
const onIssued = (id: number): void => void issued.push(id);

test('other cards have locations in turn, and external ids that differ', () => {
  const others = otherCards({ token: 'secret', places: [7, 8], onIssued });
  assert.deepEqual([0, 1, 2].map(others.creation).map(bodyOf), [
    { initial_value: 25, external_id: 'card/0', location_id: 7 },
    { initial_value: 25, external_id: 'card/1', location_id: 8 },
    { initial_value: 25, external_id: 'card/2', location_id: 7 },
  ]);
  const debit = others.debit(100, 1);
  assert.match(debit.text, /^POST \/gift_card\/100\/debit HTTP/);
  assert.deepEqual(bodyOf(debit), { amount: '0.01', external_id: 'sale/1', location_id: 8 });
  const suspension = others.suspension(100);
  assert.match(suspension.text, /^POST \/gift_card\/100\/suspend HTTP/);
  assert.deepEqual([bodyOf(suspension), suspension.status], [{}, 200]);
});

test('without features, the other cards are like the measured ones', () => {
  const others = otherCards({ token: 'secret', places: [], onIssued });
  assert.deepEqual(bodyOf(others.creation(3)), { initial_value: 25 });
  assert.deepEqual(bodyOf(others.debit(100, 3)), { amount: '0.01' });
});

test('the id of each card is known from its response', () => {
  const { check } = otherCards({ token: 'secret', places: [], onIssued }).creation(0);
  check?.('{"gift_card":{"id":512}}');
  assert.deepEqual(issued, [512]);
});
