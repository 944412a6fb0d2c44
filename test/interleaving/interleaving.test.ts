/**
 * Whatever callers do to the same cards at once, statement by statement, comes out as if they had come
 * one after another. How they are run at once, and what that leaves out, is told in the scheduler.
 *
 * `SCHEDULES` sets how many are tried, `SCHEDULE_SEED` the first seed.
 */

import assert from 'node:assert/strict';
import test from 'node:test';
import { seeded } from '../support/seeded.ts';
import { contend, openArena, type Violation } from './contest.ts';
import { drawContest, type RandomContest } from './random-contest.ts';

const schedules = Number(process.env['SCHEDULES'] ?? 3_000);
const firstSeed = Number(process.env['SCHEDULE_SEED'] ?? Date.now() % 2 ** 31);

/** A violation, and the contest that it came up in. */
type Found = Violation & { readonly seed: number; readonly contest: RandomContest };

const found: Found[] = [];

function describe({ seed, contest, told }: Found): string {
  const write = (value: unknown): string =>
    JSON.stringify(value, (_key, part: unknown) => (typeof part === 'bigint' ? Number(part) : part));
  const before = contest.preparation.map((each) => `  before: ${write(each)}`);
  const actions = contest.actions.map((each, caller) => `  caller ${caller}: ${write(each)}`);
  return [`SCHEDULE_SEED=${seed} SCHEDULES=1`, ...before, ...actions, told].join('\n');
}

/** Fails if there was a violation of this kind, and tells the one with the fewest callers. */
function assertNone(...kinds: readonly Violation['kind'][]): void {
  const those = found.filter(({ kind }) => kinds.includes(kind));
  const [least] = those.toSorted((left, right) => left.contest.actions.length - right.contest.actions.length);
  assert.ok(!least, `${those.length} of ${schedules} schedules\n${least ? describe(least) : ''}`);
}

test(`of ${schedules} contests of two to five callers`, async (t) => {
  using arena = openArena();
  let reruns = 0;
  let deadlocks = 0;
  for (let seed = firstSeed; seed < firstSeed + schedules; seed += 1) {
    const random = seeded(seed);
    const contest = drawContest(random);
    const { violation, ran } = contend(arena, contest, random);
    reruns += ran.reruns;
    deadlocks += ran.deadlocks;
    if (violation) found.push({ ...violation, seed, contest });
  }
  t.diagnostic(`seeds from ${firstSeed} (SCHEDULE_SEED); ${reruns} reruns, ${deadlocks} deadlocks`);
  if (schedules >= 1_000) assert.ok(reruns > 0, 'no two callers ever met');

  await t.test('in none do callers wait for each other in a circle', () => assert.equal(deadlocks, 0));
  await t.test('in none does the ledger disagree', () => assertNone('books'));
  await t.test('in none does a caller meet an error that is no refusal', () => assertNone('error'));
  await t.test('every one has the effect of some order, one after another', () => assertNone('effect'));
  await t.test('in every one refusals tell what they would tell in that order', () => assertNone('words'));
});
