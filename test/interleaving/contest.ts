/**
 * A contest: callers that use the same cards concurrently. It is fair if all responses and the final state
 * are possible in some sequential order.
 */

import { wallClockOf } from '../../src/platform/clock.ts';
import { systemRandom } from '../../src/platform/random.ts';
import { CodeCohorts } from '../../src/core/cards/storage/code-cohorts.ts';
import type { Context } from '../../src/core/storage/context.ts';
import { Fault } from '../../src/core/domain/fault.ts';
import { effectOf } from '../../src/core/money/domain/ledger.ts';
import type { Store } from '../../src/core/stores/domain/store.ts';
import { keysOf } from '../../src/platform/keys.ts';
import { listCardHolds, listCardTransfers } from '../../src/core/money/service/movements.ts';
import { requireCard } from '../../src/core/cards/service/present-card.ts';
import { createStore } from '../../src/core/stores/service/store.ts';
import { verify } from '../../src/features/proofs/service/verify.ts';
import { all, sql, type Script } from '../../src/database/sql/sql.ts';
import type { Action } from '../support/reference-model.ts';
import { openStage, type Outcome, type Ran, type Stage } from '../support/scheduler.ts';
import type { StoppedClock } from '../money/open-books.ts';
import { newStore, stoppedClock } from '../money/open-books.ts';
import { perform, type Desk, type Done } from '../money/service-under-test.ts';
import { expireHolds } from '../support/upkeep.ts';

type Ids = { readonly cards: number[]; readonly holds: number[]; readonly transfers: number[] };

/** The place of contests: a stage with one store. */
export type Arena = Disposable & {
  readonly stage: Stage;
  readonly ctx: Context;
  readonly store: Store;
  readonly clock: StoppedClock;
};

export function openArena(): Arena {
  const stage = openStage();
  const clock = stoppedClock();
  const keys = keysOf([{ id: 'test', secret: new Uint8Array(32).fill(7) }]);
  const ctx: Context = {
    clock,
    wallClock: wallClockOf(clock),
    testClock: null,
    random: systemRandom(clock),
    keys,
    codeCohorts: new CodeCohorts(),
  };
  const store = stage.run(createStore(ctx, newStore));
  return { stage, ctx, store, clock, [Symbol.dispose]: () => stage[Symbol.dispose]() };
}

/** The steps before the contest: sequential actions, and the passage of time. */
export type Preparation = readonly (Action | { readonly kind: 'pass'; readonly seconds: number })[];

/** The actions of a caller. */
export type Contender = (desk: ContestDesk) => Script<Done>;

/** The desk has the versions of the cards before the contest. */
type ContestDesk = Desk & { readonly versions: readonly number[] };

export type Contest = {
  readonly preparation: Preparation;
  readonly contenders: readonly Contender[];
};

/**
 * A violation of a contest. `error`: a caller got an unexpected error. `books`: the ledger does not agree.
 * `effect`: no order explains the successes and errors. `data`: an order explains those, but not the data of an
 * error, such as the available amount.
 */
export type Violation = {
  readonly kind: 'error' | 'books' | 'effect' | 'data';
  readonly description: string;
};

export type Verdict = {
  /** Undefined if the contest was fair. */
  readonly violation: Violation | undefined;
  readonly ran: Pick<Ran<Done>, 'reruns' | 'deadlocks'>;
};

/** Prepares the stage, runs the contest in a random order, and rolls everything back. */
export function contend(arena: Arena, contest: Contest, random: () => number): Verdict {
  return withContest(arena, contest, (run) => run(random));
}

/**
 * Prepares the stage, and rolls everything back after `body`, which can run the contest any number of times:
 * each run begins from the same state. The result of a sequential order is the same each time.
 */
export function withContest<T>(
  { stage, ctx, store, clock }: Arena,
  { preparation, contenders }: Contest,
  body: (run: (random: () => number) => Verdict) => T,
): T {
  const start = clock.now();
  return stage.attempt(() => {
    const ids: Ids = { cards: [], holds: [], transfers: [] };
    for (const each of preparation) {
      if (each.kind === 'pass') clock.advance(each.seconds * 1_000);
      else prepare(stage, { ctx, store, places: ids }, each, ids);
    }
    const versions = ids.cards.map((id) => stage.run(requireCard(store.id, id)).version);
    const desk: ContestDesk = { ctx, store, places: ids, versions };
    const scripts = contenders.map((each) => () => each(desk));
    const see = (outcomes: readonly Outcome<Done>[]): Seen => seenOf(stage, desk, outcomes);
    const known = new Map<string, Seen>();
    const inOrder = (order: readonly number[]): Seen => {
      const key = order.join();
      const seen = known.get(key) ?? stage.attempt(() => see(stage.inTurn(scripts, order)));
      known.set(key, seen);
      return seen;
    };
    const result = body((random) => {
      const { ran, seen } = stage.attempt(() => {
        const interleaved = stage.interleave(scripts, random);
        return { ran: interleaved, seen: see(interleaved.outcomes) };
      });
      return { violation: evaluate(seen, ran, inOrder), ran };
    });
    clock.advance(start - clock.now());
    return result;
  });
}

function evaluate(
  seen: Seen,
  { outcomes, order }: Ran<Done>,
  inOrder: (order: readonly number[]) => Seen,
): Violation | undefined {
  const hasBroken = outcomes.some((outcome) => 'thrown' in outcome && !(outcome.thrown instanceof Fault));
  if (hasBroken) return { kind: 'error', description: seen.words };
  if (!seen.agrees) return { kind: 'books', description: seen.words };
  const serial = new Set<string>();
  let hasEffect = false;
  // The order in which they ended explains most contests.
  for (const tried of [order, ...permutations(outcomes.length)]) {
    const other = inOrder(tried);
    if (other.words === seen.words) return undefined;
    hasEffect ||= other.effect === seen.effect;
    serial.add(`  in turn: ${other.words}`);
  }
  return {
    kind: hasEffect ? 'data' : 'effect',
    description: [`  at once: ${seen.words}`, ...serial].join('\n'),
  };
}

/** Executes an action before the contest. One that is rejected is omitted. */
function prepare(stage: Stage, desk: Desk, action: Action, ids: Ids): void {
  let done: Done = {};
  try {
    done = stage.run(perform(desk, action));
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
  }
  if (action.kind === 'issue' && done.card) ids.cards.push(done.card.id);
  if (action.kind === 'hold' && done.hold) ids.holds.push(done.hold.id);
  if (done.transfer) ids.transfers.push(done.transfer.id);
}

/** The responses of the callers and the final state, as texts without random values. */
type Seen = {
  readonly effect: string;
  /** Includes the data of errors. */
  readonly words: string;
  /** Whether the ledger agrees with every balance. */
  readonly agrees: boolean;
};

/**
 * Closes all expired holds first, and does not count their closing in versions: an expired hold reserves
 * nothing whether it is closed or not, and any caller can close it.
 */
function seenOf(stage: Stage, desk: Desk, outcomes: readonly Outcome<Done>[]): Seen {
  // An event's id can be taken: the trigger has moved the id of a concurrent transaction beyond those generated so far.
  const [expired] = stage.inTurn([() => expireHolds(desk.ctx, 1_000)], [0]);
  if (expired && 'thrown' in expired) throw expired.thrown;
  const left = desk.places.cards.map((cardId) => stage.run(stateOf(desk, cardId)));
  const { mismatches } = stage.run(verify(5));
  const write = (errorOf: (error: unknown) => unknown): string => {
    const results = outcomes.map((outcome) =>
      'done' in outcome ? stage.run(reportOf(desk, outcome.done)) : errorOf(outcome.thrown),
    );
    return JSON.stringify({ results, left, ...(mismatches.length > 0 && { mismatches }) }, (_key, value: unknown) =>
      typeof value === 'bigint' ? Number(value) : value,
    );
  };
  return { effect: write(codeOf), words: write(wordsOf), agrees: mismatches.length === 0 };
} // prettier-ignore

/** The versions of a card in which expired holds were closed. */
function* closings({ store }: Desk, cardId: number): Script<readonly number[]> {
  const rows = yield* all(sql<{ subject_version: bigint; data: string }>`
    select subject_version, data from events
    where store_id = ${store.id} and subject_id = ${cardId} and type = 'gift_card.hold_released'`);
  return rows
    .filter(({ data }) => data.includes('"status":"expired"'))
    .map((row) => Number(row.subject_version));
}

/** Returns a version without the closings up to it. */
function without(closed: readonly number[], version: number): number {
  return version - closed.filter((at) => at <= version).length;
}

function* reportOf(desk: Desk, { card, hold: held, transfer }: Done): Script<unknown> {
  const closed = card ? yield* closings(desk, card.id) : [];
  return {
    ...(card && {
      version: without(closed, card.version),
      balance: card.balance.minor,
      held: card.held.minor,
    }),
    ...(transfer && { [transfer.kind]: effectOf(transfer), after: transfer.balanceAfter.minor }),
    ...(held && { hold: held.status, amount: held.amount.minor, captured: held.captured.minor }),
  };
}

function codeOf(error: unknown): unknown {
  return error instanceof Fault ? error.code : String(error);
}

function wordsOf(error: unknown): unknown {
  return error instanceof Fault
    ? { rejected: error.code, ...error.extensions, errors: error.errors }
    : String(error);
}

function* stateOf(desk: Desk, cardId: number): Script<Record<string, unknown>> {
  const { store } = desk;
  const key = { storeId: store.id, cardId };
  const page = { limit: 1_000, before: null, after: null };
  const card = yield* requireCard(store.id, cardId);
  const transfers = (yield* listCardTransfers(key, page)).items.toReversed();
  const holds = (yield* listCardHolds(key, page)).items;
  const events = yield* all(sql<{ type: string; subject_version: bigint }>`
    select type, subject_version from events
    where store_id = ${store.id} and subject_id = ${cardId} order by subject_version, type`);
  const closed = yield* closings(desk, cardId);
  const { version, balance, held, disabledAt, suspendedAt, expiresOn, note } = card;
  const placeOf = (id: number | null): number => transfers.findIndex((transfer) => transfer.id === id);
  return {
    card: [
      without(closed, version),
      balance.minor,
      held.minor,
      disabledAt !== null,
      suspendedAt !== null,
      expiresOn,
      note,
    ],
    transfers: transfers.map((transfer) => [
      transfer.kind,
      effectOf(transfer),
      ...(transfer.reverses === null ? [] : [placeOf(transfer.reverses)]),
    ]),
    holds: holds.map(({ amount, status, captured }) => [amount.minor, status, captured.minor].join(' ')).toSorted(),
    events: events
      .filter(({ type, subject_version: at }) => type !== 'gift_card.hold_released' || !closed.includes(Number(at)))
      .map(({ type, subject_version: at }) => `${without(closed, Number(at))} ${type}`),
  };
} // prettier-ignore

function* permutations(count: number, chosen: readonly number[] = []): Generator<readonly number[]> {
  if (chosen.length === count) yield chosen;
  for (let next = 0; next < count; next += 1) {
    if (!chosen.includes(next)) yield* permutations(count, [...chosen, next]);
  }
}

/** An action as a contender. One that names the current version names the one from before the contest. */
export function contender(action: Action): Contender {
  return (desk) => {
    const version = 'isCurrent' in action && action.isCurrent === true ? desk.versions[action.card] : undefined;
    return perform(desk, action, version === undefined ? null : [version]);
  };
} // prettier-ignore
