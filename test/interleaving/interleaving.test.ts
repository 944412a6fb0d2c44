/**
 * Concurrent actions on the same cards, statement by statement, have the effect of some sequential order.
 * `test/support/scheduler.ts` describes the model and its limits.
 *
 * `SCHEDULES` sets the number of schedules, `SCHEDULE_SEED` the first seed.
 */

import assert from 'node:assert/strict';
import test from 'node:test';
import { seeded } from '../support/seeded.ts';
import { contend, openArena, type Violation } from './contest.ts';
import { drawContest, type RandomContest } from './random-contest.ts';

const schedules = Number(process.env['SCHEDULES'] ?? 120);
const firstSeed = Number(process.env['SCHEDULE_SEED'] ?? Date.now() % 2 ** 31);

/** A violation, and its contest. */
type Found = Violation & { readonly seed: number; readonly contest: RandomContest };

const found: Found[] = [];

function describe({ seed, contest, description }: Found): string {
  const write = (value: unknown): string =>
    JSON.stringify(value, (_key, part: unknown) => (typeof part === 'bigint' ? Number(part) : part));
  const before = contest.preparation.map((each) => `  before: ${write(each)}`);
  const actions = contest.actions.map((each, caller) => `  caller ${caller}: ${write(each)}`);
  return [`SCHEDULE_SEED=${seed} SCHEDULES=1`, ...before, ...actions, description].join('\n');
}

/** Fails if a violation of this kind was found, and reports the one with the fewest callers. */
function assertNone(...kinds: readonly Violation['kind'][]): void {
  const those = found.filter(({ kind }) => kinds.includes(kind));
  const [least] = those.toSorted((left, right) => left.contest.actions.length - right.contest.actions.length);
  assert.ok(!least, `${those.length} of ${schedules} schedules\n${least ? describe(least) : ''}`);
}

test(`${schedules} contests of two to five callers`, async (t) => {
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
  if (schedules >= 1_000) assert.ok(reruns > 0, 'no two callers ever conflicted');

  await t.test('callers never deadlock', () => assert.equal(deadlocks, 0));
  await t.test('the ledger always agrees', () => assertNone('books'));
  await t.test('callers never get an unexpected error', () => assertNone('error'));
  await t.test('each contest has the effect of some sequential order', () => assertNone('effect'));
  await t.test('errors report the data of that order', () => assertNone('data'));
});
