/**
 * Single races, each in a few hundred orders, statement by statement: what two callers are told and leave
 * is what it would be one after the other. Amounts are minor units.
 */

import assert from 'node:assert/strict';
import test from 'node:test';
import type { Action, Changes } from '../support/reference-model.ts';
import { seeded } from '../support/seeded.ts';
import { contend, contender, openArena, type Preparation } from './contest.ts';

const orders = 400;

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
const hold = (amount: bigint, seconds = 600): Action => ({ kind: 'hold', amount, seconds, ...any });
/** Runs out during `pass`. */
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
  ['two debits that the card can afford only one of', [issued], debit(2_000n), debit(2_000n)],
  ['five debits that the card can afford only three of', [issued], ...Array.from({ length: 5 }, () => debit(1_000n))],
  ['a hold and a debit of the last money', [issued], hold(3_000n), debit(1n)],
  ['two captures of one hold', [issued, hold(2_000n)], capture(), capture(500n)],
  ['a capture and a void of one hold', [issued, hold(2_000n)], capture(), empty],
  ['a void and a disabling that releases holds', [issued, hold(2_000n)], empty, change({ disable: true }, any, true)],
  ['two reversals of one debit, each of the whole', [issued, debit(2_000n)], reverse(), reverse()],
  ['three reversals of one debit, of which two fit', [issued, debit(2_000n)], reverse(1_000n), reverse(1_000n), reverse(1_000n)],
  ['a reversal of a credit and a debit of the same money', [issued, credit(1_000n)], reverse(), debit(4_000n)],
  ['two credits that the limit allows one of', [issued], credit(1_500n), credit(1_500n)],
  ['two updates of one version', [issued], change({ balance: 1n }, ifMatch), change({ balance: 2n }, ifMatch)],
  ['a debit of one version and another debit', [issued], debit(1_000n, ifMatch), debit(500n)],
  ['two undoings of one disabling', [issued, change({ disable: true })], undo, undo],
  ['two releases of one hold that has run out', [issued, shortHold(2_000n), pass], expire, expire],
  ['two debits that both need what a hold that has run out reserves', [issued, shortHold(2_000n), pass], debit(2_000n), debit(2_000n)],

  ['a partial debit and another debit: it takes what is left', [issued], partial(2_000n), debit(2_000n)],
  ['a partial debit and a hold: it takes what is left', [issued], partial(2_000n), hold(2_000n)],
  ['a debit of a disabled card and the undoing: it is done, or refused because of the disabling', [issued, change({ disable: true })], debit(1_000n), undo],
  ['a debit of an expired card and its new date: it is done, or refused because of the old date', [issued, change({ expiresOn: '2027-05-13' })], debit(1_000n), change({ expiresOn: null })],
  ['a reversal on a disabled card and the undoing: it is done, or refused because of the disabling', [issued, debit(1_000n), change({ disable: true })], reverse(), undo],
  ['a debit of what a hold that has run out reserved, and its release: it is done', [issued, shortHold(3_000n), pass], debit(2_000n), expire],
  ['a debit of one version, with a hold that has run out, and another debit: only one is done', [issued, shortHold(2_500n), pass], debit(1_000n, ifMatch), debit(500n)],
  ['a debit that is refused, and a credit: it does not tell that there is enough', [issued], debit(4_000n), credit(2_000n)],
  ['an update of one version of a card with a hold, and a debit: only one is done', [issued, hold(1_000n)], change({ balance: 2_500n }, ifMatch), debit(500n)],
  ['an update of a card with a hold, and a hold: the balance does not fall below what is held', [issued, hold(500n)], change({ balance: 1_000n }), hold(1_000n)],
  ['two updates of a card with a hold to the same balance', [issued, hold(500n)], change({ balance: 1_000n }), change({ balance: 1_000n })],
  ['a disabling that releases no holds, and a hold: only one is done', [issued, shortHold(500n), pass], change({ disable: true }), hold(1_000n)],
  ['a disabling that releases holds, and a hold: none stays open', [issued, hold(500n)], change({ disable: true }, any, true), hold(1_000n)],
  ['a disabling, and a release of the hold that has run out: it is done', [issued, shortHold(500n), pass], change({ disable: true }), expire],
  ['a disabling and a new balance: it changes before, or not at all', [issued, shortHold(500n), pass], change({ disable: true }), change({ balance: 1_000n })],
]; // prettier-ignore

for (const [name, preparation, ...actions] of cases) {
  test(name, () => {
    using arena = openArena();
    const kinds = new Map<string, number>();
    let example = '';
    for (let seed = 1; seed <= orders; seed += 1) {
      const { violation } = contend(arena, { preparation, contenders: actions.map(contender) }, seeded(seed));
      if (!violation) continue;
      kinds.set(violation.kind, (kinds.get(violation.kind) ?? 0) + 1);
      example ||= `seed ${seed}\n${violation.told}`;
    }
    const tally = [...kinds].map(([kind, times]) => `${kind} ${times}`).join(', ');
    assert.equal(tally, '', `of ${orders} orders; ${example}`);
  });
}
