import assert from 'node:assert/strict';
import test from 'node:test';
import {
  isHoldExpired,
  holdLimitDefaultDays,
  holdSecondsDefault,
  holdSecondsMax,
  type HoldStatus,
} from '../../src/core/money/domain/hold.ts';

test('a hold lasts 15 minutes by default, 7 days in a new store and 90 days at most', () => {
  assert.deepEqual([holdSecondsDefault, holdLimitDefaultDays, holdSecondsMax], [900, 7, 90 * 86_400]);
});

test('an open hold is expired from its expiry time on, and a closed one never expires', () => {
  const expected = {
    open: [false, true, true],
    captured: [false, false, false],
    voided: [false, false, false],
    expired: [false, false, false],
  } as const satisfies Record<HoldStatus, readonly boolean[]>;
  for (const status of Object.keys(expected) as HoldStatus[]) {
    const found = [999, 1_000, 1_001].map((now) => isHoldExpired({ status, expiresAt: 1_000 }, now));
    assert.deepEqual(found, expected[status], status);
  }
});
