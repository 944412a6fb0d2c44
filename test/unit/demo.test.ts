/** The plan of the demonstration: each step is possible at its instant. */

import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { dayOf } from '../../src/core/domain/day.ts';
import { planDemo, type DemoStep } from '../../src/features/sandbox/domain/demo.ts';
import { seeded } from '../support/seeded.ts';

const dayMs = 24 * 60 * 60 * 1_000;
const instants = fc.integer({ min: Date.UTC(2026, 1, 1), max: Date.UTC(2050, 0, 1) });

type State = {
  balance: number;
  held: number;
  readonly soldAt: number;
  expiresOn: string | null;
  isDisabled: boolean;
  readonly movements: number[];
};

/** Applies a step to a card, and asserts that a card in this state allows it. */
function apply(state: State, step: Exclude<DemoStep, { kind: 'issue' }>): void {
  assert.ok(!state.isDisabled, `${step.kind} of a disabled card`);
  const isExpired = state.expiresOn !== null && state.expiresOn < dayOf(step.at, 'UTC');
  const available = state.balance - state.held;
  if (step.kind !== 'reverse' && step.kind !== 'extend')
    assert.ok(!isExpired, `${step.kind} of an expired card`);
  if ('amount' in step && step.amount !== null) assert.ok(step.amount > 0 && Number.isInteger(step.amount));
  switch (step.kind) {
    case 'debit':
      assert.ok(step.amount <= available);
      state.balance -= step.amount;
      state.movements[step.movement] = step.amount;
      break;
    case 'top_up':
      state.balance += step.amount;
      state.movements[step.movement] = 0;
      break;
    case 'hold':
      assert.ok(step.amount <= available);
      assert.equal(state.held, 0);
      state.held = step.amount;
      break;
    case 'capture':
      assert.ok(state.held > 0);
      state.balance -= state.held;
      state.movements[step.movement] = state.held;
      state.held = 0;
      break;
    case 'void':
      assert.ok(state.held > 0);
      state.held = 0;
      break;
    case 'reverse': {
      const left = state.movements[step.movement] ?? 0;
      const amount = step.amount ?? left;
      assert.ok(amount > 0 && amount <= left);
      state.movements[step.movement] = left - amount;
      state.balance += amount;
      break;
    }
    case 'adjust':
      assert.ok(step.balance !== state.balance);
      state.balance = step.balance;
      break;
    case 'extend':
      assert.ok(state.expiresOn !== null && step.expiresOn > state.expiresOn);
      state.expiresOn = step.expiresOn;
      break;
    case 'disable':
      assert.equal(state.held, 0);
      state.isDisabled = true;
      break;
  }
}

test('each step of a plan is possible, in order and in the past year', () => {
  fc.assert(
    fc.property(fc.integer(), instants, (seed, now) => {
      const states = new Map<number, State>();
      let last = 0;
      for (const step of planDemo(seeded(seed), { cards: 60, now })) {
        assert.ok(step.at >= last && step.at < now && step.at > now - 367 * dayMs);
        last = step.at;
        if (step.kind === 'issue') {
          assert.ok(!states.has(step.card));
          const { value, expiresOn, at: soldAt } = step;
          states.set(step.card, {
            balance: value,
            held: 0,
            soldAt,
            expiresOn,
            isDisabled: false,
            movements: [],
          });
          continue;
        }
        const state = states.get(step.card);
        assert.ok(state, 'a card is used before it is sold');
        assert.ok(step.at > state.soldAt);
        apply(state, step);
      }
      assert.equal(states.size, 60);
    }),
    { numRuns: 200 },
  );
});
