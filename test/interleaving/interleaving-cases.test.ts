/**
 * Single races, each in a hundred orders or more (`ORDERS`), statement by statement: the responses to two callers and the
 * final state are those of a sequential order. Amounts are minor units.
 */

import assert from 'node:assert/strict';
import test from 'node:test';
import type { Action, Changes } from '../support/reference-model.ts';
import { seeded } from '../support/seeded.ts';
import { contender, openArena, withContest, type Preparation } from './contest.ts';

const orders = Number(process.env['ORDERS'] ?? 100);

const issued: Action = { kind: 'issue', amount: 3_000n, expiresOn: null };
type On = { readonly card: number; readonly isCurrent: boolean | null };
const any: On = { card: 0, isCurrent: null };
const ifMatch: On = { card: 0, isCurrent: true };
const pass = { kind: 'pass', seconds: 120 } as const;
const expire: Action = { kind: 'expire' };
const undo: Action = { kind: 'undo', ...any };

const debit = (amount: bigint, on: On = any): Action => ({ kind: 'debit', amount, partial: false, ...on });
const partial = (amount: bigint): Action => ({ kind: 'debit', amount, partial: true, ...any });
const credit = (amount: bigint): Action => ({ kind: 'credit', amount, ...any });
const topUp = (amount: bigint): Action => ({ kind: 'top_up', amount, expiresOn: null, ...any });
const hold = (amount: bigint, seconds = 600): Action => ({ kind: 'hold', amount, seconds, ...any });
/** Expires during `pass`. */
const shortHold = (amount: bigint): Action => hold(amount, 60);
const change = (changes: Changes, on: On = any, releaseHolds = false): Action => ({ kind: 'update', changes, releaseHolds, ...on }); // prettier-ignore
const capture = (amount: bigint | null = null): Action => ({ kind: 'capture', hold: 0, amount });
const empty: Action = { kind: 'void', hold: 0 };
const reverse = (amount: bigint | null = null): Action => ({
  kind: 'reverse',
  transfer: 0,
  amount,
  maySell: true,
});

type Case = readonly [name: string, before: Preparation, ...actions: Action[]];

const cases: readonly Case[] = [
  ['two debits when the card can afford one', [issued], debit(2_000n), debit(2_000n)],
  ['five debits when the card can afford three', [issued], ...Array.from({ length: 5 }, () => debit(1_000n))],
  ['a hold and a debit of the last money', [issued], hold(3_000n), debit(1n)],
  ['two captures of one hold', [issued, hold(2_000n)], capture(), capture(500n)],
  ['a capture and a void of one hold', [issued, hold(2_000n)], capture(), empty],
  ['a void and a disabling that releases holds', [issued, hold(2_000n)], empty, change({ disable: true }, any, true)],
  ['two reversals of one debit, each of the whole', [issued, debit(2_000n)], reverse(), reverse()],
  ['two reversals of one debit, and a disabling', [issued, debit(2_000n)], reverse(), reverse(), change({ disable: true })],
  ['three reversals of one debit when two fit', [issued, debit(2_000n)], reverse(1_000n), reverse(1_000n), reverse(1_000n)],
  ['a reversal of a credit and a debit of the same money', [issued, credit(1_000n)], reverse(), debit(4_000n)],
  ['two credits when the limit allows one', [issued], credit(1_500n), credit(1_500n)],
  ['a credit and a top-up when the limit allows one', [issued], credit(1_500n), topUp(1_500n)],
  ['a reversal of a top-up and a debit of the same money', [issued, topUp(1_000n)], reverse(), debit(4_000n)],
  ['two updates of one version', [issued], change({ balance: 1n }, ifMatch), change({ balance: 2n }, ifMatch)],
  ['a debit of one version and another debit', [issued], debit(1_000n, ifMatch), debit(500n)],
  ['two undoings of one disabling', [issued, change({ disable: true })], undo, undo],
  ['two releases of one expired hold', [issued, shortHold(2_000n), pass], expire, expire],
  ['two debits that both need the amount of an expired hold', [issued, shortHold(2_000n), pass], debit(2_000n), debit(2_000n)],

  ['a partial debit takes the rest during another debit', [issued], partial(2_000n), debit(2_000n)],
  ['a partial debit takes the rest during a hold', [issued], partial(2_000n), hold(2_000n)],
  ['a debit during the undoing of a disabling succeeds, or is rejected as disabled', [issued, change({ disable: true })], debit(1_000n), undo],
  ['a debit of an expired card during a change of its date succeeds, or is rejected as expired', [issued, change({ expiresOn: '2027-05-13' })], debit(1_000n), change({ expiresOn: null })],
  ['a reversal during the undoing of a disabling succeeds, or is rejected as disabled', [issued, debit(1_000n), change({ disable: true })], reverse(), undo],
  ['a debit of the amount of an expired hold succeeds during its release', [issued, shortHold(3_000n), pass], debit(2_000n), expire],
  ['only one of a debit of one version, with an expired hold, and another debit succeeds', [issued, shortHold(2_500n), pass], debit(1_000n, ifMatch), debit(500n)],
  ['a rejected debit does not report a sufficient balance during a credit', [issued], debit(4_000n), credit(2_000n)],
  ['only one of an update of one version of a card with a hold, and a debit, succeeds', [issued, hold(1_000n)], change({ balance: 2_500n }, ifMatch), debit(500n)],
  ['an update of a card with a hold, during another hold, does not set the balance below the held amount', [issued, hold(500n)], change({ balance: 1_000n }), hold(1_000n)],
  ['two updates of a card with a hold to the same balance', [issued, hold(500n)], change({ balance: 1_000n }), change({ balance: 1_000n })],
  ['only one of a disabling that releases no holds, and a hold, succeeds', [issued, shortHold(500n), pass], change({ disable: true }), hold(1_000n)],
  ['a disabling that releases holds leaves no hold open during a hold', [issued, hold(500n)], change({ disable: true }, any, true), hold(1_000n)],
  ['a disabling succeeds during the release of an expired hold', [issued, shortHold(500n), pass], change({ disable: true }), expire],
  ['a new balance during a disabling is set before it, or rejected', [issued, shortHold(500n), pass], change({ disable: true }), change({ balance: 1_000n })],
]; // prettier-ignore

for (const [name, preparation, ...actions] of cases) {
  test(name, () => {
    using arena = openArena();
    const kinds = new Map<string, number>();
    let example = '';
    withContest(arena, { preparation, contenders: actions.map(contender) }, (run) => {
      for (let seed = 1; seed <= orders; seed += 1) {
        const { violation } = run(seeded(seed));
        if (!violation) continue;
        kinds.set(violation.kind, (kinds.get(violation.kind) ?? 0) + 1);
        example ||= `seed ${seed}\n${violation.description}`;
      }
    });
    const violations = [...kinds].map(([kind, times]) => `${kind} ${times}`).join(', ');
    assert.equal(violations, '', `of ${orders} orders; ${example}`);
  });
}
