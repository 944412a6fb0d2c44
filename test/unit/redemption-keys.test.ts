/** The keys of redemptions. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { isCurrent, isKeyOf, newKey } from '../../src/features/till/pages/key.ts';
import { manualClock, testContext } from '../support/fixtures.ts';

const found = { storeId: 1, staffId: 2, cardId: 3 };

test('a key is of one person and one card', () => {
  const clock = manualClock();
  const ctx = testContext({ clock });
  const key = newKey(ctx, found);
  assert.equal(isKeyOf(ctx, key, found), true);
  for (const other of [{ storeId: 9 }, { staffId: 9 }, { cardId: 9 }])
    assert.equal(isKeyOf(ctx, key, { ...found, ...other }), false);
  const bytes = Buffer.from(key, 'base64url');
  for (const place of bytes.keys()) {
    const changed = Buffer.from(bytes);
    changed[place] = (changed[place] ?? 0) ^ 1;
    assert.equal(isKeyOf(ctx, changed.toString('base64url'), found), false, `byte ${place}`);
  }
  clock.advance(20 * 60 * 60_000);
  assert.equal(isKeyOf(ctx, key, found), false);
});

test('a key can be used for 20 hours', () => {
  const clock = manualClock();
  const ctx = testContext({ clock });
  const key = newKey(ctx, found);
  assert.match(key, /^[\w-]{22}$/);
  assert.notEqual(newKey(ctx, found), key);
  assert.equal(isCurrent(ctx, key), true);
  clock.advance(20 * 60 * 60_000 - 60_000);
  assert.equal(isCurrent(ctx, key), true);
  clock.advance(60_000);
  assert.equal(isCurrent(ctx, key), false);
  for (const text of ['', 'x', 'A'.repeat(22), '_'.repeat(22)]) assert.equal(isCurrent(ctx, text), false);
});
