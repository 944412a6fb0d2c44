/**
 * Runs the scripts of several callers at once, statement by statement, in an order drawn from a seed,
 * as PostgreSQL would run their transactions at READ COMMITTED: races become reproducible.
 *
 * The construction. One SQLite connection holds what is committed. Each caller keeps a log of the
 * statements with which it has written. To run a caller's next statement, the scheduler opens a
 * savepoint, plays that caller's log, runs the statement, hands its rows to the script, and undoes
 * everything. So a statement sees exactly what is committed at that moment and what its own script
 * wrote, and nobody ever sees what is not committed. When a script returns, its log is played once
 * more and kept: that is its commit. When it throws, its log is dropped: that is its rollback.
 *
 * Why a log may be played again. Which rows a statement writes is told by temporary triggers. A
 * caller keeps a lock on each until it ends; a statement that would write a row locked by another is
 * undone, waits for the other's end, and runs again then, its `where` evaluated anew. So nothing that
 * a log touched can have been changed by a commit in between, and playing it has the same effect. An
 * insertion locks its unique keys in the same way: who inserts an equal one waits to learn whether it
 * is a conflict. A `select` never waits. A caller whose waiting would close a circle is the victim of
 * the deadlock and is run again, as is one that throws `Rerun`.
 *
 * What it does not model: statements in the midst of which something is committed (each sees one
 * state); repeatable reads and serialization failures of the higher isolation levels; shared locks of
 * foreign keys (they never conflict with updates that leave keys alone); time that passes meanwhile.
 */

import assert from 'node:assert/strict';
import { Rerun, rerunsMax, type Script, type Statement } from '../../src/storage/sql.ts';
import { connect, isKeyTaken, type Connection } from '../../src/storage/sqlite-connection.ts';
import { loadMigrations } from '../../src/storage/migrate.ts';

export type Outcome<T> = { readonly done: T } | { readonly thrown: unknown };

export type Ran<T> = {
  /** In the order of the callers. */
  readonly outcomes: readonly Outcome<T>[];
  /** The callers in the order in which they ended. */
  readonly order: readonly number[];
  readonly reruns: number;
  readonly deadlocks: number;
};

export type Stage = Disposable & {
  /** Runs a script on what is committed, and keeps what it does unless it throws. */
  run<T>(script: Script<T>): T;
  /** Runs `body` and undoes all that was done in it. */
  attempt<T>(body: () => T): T;
  /** Runs scripts one after another, each in a transaction of its own. */
  inTurn<T>(scripts: readonly (() => Script<T>)[], order: readonly number[]): readonly Outcome<T>[];
  /** Runs scripts at once, in an order drawn from the chance. */
  interleave<T>(scripts: readonly (() => Script<T>)[], random: () => number): Ran<T>;
};

/** The keys by which rows are locked: what is unique in each table that money moves in. */
const lockedKeys: Readonly<Record<string, readonly (readonly string[])[]>> = {
  gift_cards: [['id']],
  holds: [['id']],
  transfers: [['card_id', 'sequence'], ['id']],
  events: [['id']],
  gift_card_codes: [['lookup']],
  customers: [['email_key']],
  idempotency_records: [['api_client_id', 'key_digest']],
};

/** A database in memory with its schema, and the triggers that tell which rows are written. */
export function openStage(): Stage {
  const connection = connect(':memory:', { readOnly: false });
  const { database } = connection;
  for (const { text } of loadMigrations('sqlite')) database.exec(text);
  database.exec('create temp table written (row text not null)');
  for (const [table, keys] of Object.entries(lockedKeys)) {
    for (const [place, columns] of keys.entries()) {
      const row = columns.map((column) => `hex(new.${column})`).join(` || ' ' || `);
      for (const event of ['insert', 'update']) {
        database.exec(`create temp trigger ${table}_${place}_${event} after ${event} on main.${table}
          begin insert into written values ('${table} ${place} ' || ${row}); end`);
      }
    }
  }
  const forget = database.prepare('delete from written');
  const written = database.prepare('select row from written');

  const attempt = <T>(body: () => T): T => {
    connection.savepoint();
    try {
      return body();
    } finally {
      connection.undoToSavepoint();
      connection.release();
    }
  };
  const run = <T>(script: Script<T>): T => {
    connection.savepoint();
    try {
      return connection.drive(script);
    } catch (error) {
      connection.undoToSavepoint();
      throw error;
    } finally {
      connection.release();
    }
  };
  /** What a statement answers and writes for a caller that has written `log`; nothing of it stays. */
  const probe = (log: readonly Statement[], statement: Statement): Probe =>
    attempt(() => {
      play(connection, log);
      forget.run();
      const rows = play(connection, [statement]);
      return { rows, keys: written.all().map(({ row }) => String(row)) };
    });
  return {
    run,
    attempt,
    inTurn(scripts, order) {
      const outcomes = new Map(order.map((caller) => [caller, outcomeOf(() => inOneGo(run, scripts[caller]))]));
      return scripts.map((_, caller) => outcomes.get(caller) ?? { thrown: new Error('was left out') });
    },
    interleave: (scripts, random) =>
      interleave(scripts, { random, probe, commit: (log) => run(playing(log)) }),
    [Symbol.dispose]: () => database.close(),
  };
} // prettier-ignore

/** What an engine runs a script again for. */
function isRerun(error: unknown): boolean {
  return error instanceof Rerun || isKeyTaken(error);
}

function outcomeOf<T>(body: () => T): Outcome<T> {
  try {
    return { done: body() };
  } catch (thrown) {
    return { thrown };
  }
}

/** Runs a script, again if it throws `Rerun`: alone, that can only be for an id that was taken. */
function inOneGo<T>(run: Stage['run'], script: (() => Script<T>) | undefined): T {
  assert(script);
  for (let attempts = 1; ; attempts += 1) {
    try {
      return run(script());
    } catch (error) {
      if (!isRerun(error) || attempts > rerunsMax) throw error;
    }
  }
}

function play(connection: Connection, statements: readonly Statement[]): readonly unknown[] {
  let rows: readonly unknown[] = [];
  for (const statement of statements) rows = connection.drive(answers(statement));
  return rows;
}

function* answers(statement: Statement): Script<readonly unknown[]> {
  const [rows = []] = yield { statements: [statement], isAwaited: true };
  return rows;
}

function* playing(log: readonly Statement[]): Script<void> {
  yield { statements: log, isAwaited: true };
}

type Probe = { readonly rows: readonly unknown[]; readonly keys: readonly string[] };

/** A caller in the midst of its transaction. */
type Caller<T> = {
  script: Script<T>;
  /** Statements that it has yielded and that are still to be run. */
  waiting: readonly Statement[];
  /** How many of them nobody looks at: they come first. */
  unlooked: number;
  /** The rows of those that were run and that it waits for. */
  answered: (readonly unknown[])[];
  /** What it has returned, once it has: what is waiting then is run before it is committed. */
  returned: { readonly done: T } | undefined;
  log: Statement[];
  reruns: number;
  /** Who has to end before it goes on. */
  waitsFor: number | undefined;
  outcome: Outcome<T> | undefined;
};

function fresh<T>(
  script: () => Script<T>,
): Pick<Caller<T>, 'script' | 'waiting' | 'unlooked' | 'answered' | 'log' | 'returned'> {
  return { script: script(), waiting: [], unlooked: 0, answered: [], log: [], returned: undefined };
}

function interleave<T>(
  scripts: readonly (() => Script<T>)[],
  engine: {
    readonly random: () => number;
    readonly probe: (log: readonly Statement[], statement: Statement) => Probe;
    readonly commit: (log: readonly Statement[]) => void;
  },
): Ran<T> {
  const locks = new Map<string, number>();
  const order: number[] = [];
  let reruns = 0;
  let deadlocks = 0;
  const callers = scripts.map((script): Caller<T> => ({
    ...fresh(script), reruns: 0, waitsFor: undefined, outcome: undefined,
  })); // prettier-ignore

  const release = (place: number): void => {
    for (const [row, owner] of locks) if (owner === place) locks.delete(row);
    for (const caller of callers) if (caller.waitsFor === place) caller.waitsFor = undefined;
  };
  const end = (place: number, caller: Caller<T>, outcome: Outcome<T>): void => {
    caller.outcome = outcome;
    order.push(place);
    release(place);
  };
  const rerun = (place: number, caller: Caller<T>, cause: unknown): void => {
    const script = scripts[place];
    if (caller.reruns === rerunsMax || !script) {
      end(place, caller, { thrown: new Error('it was run again too often', { cause }) });
      return;
    }
    Object.assign(caller, { ...fresh(script), reruns: caller.reruns + 1 });
    reruns += 1;
    release(place);
  };
  const waitsInCircle = (place: number, owner: number): boolean => {
    let next: number | undefined = owner;
    while (next !== undefined && next !== place) next = callers[next]?.waitsFor;
    return next === place;
  };
  /**
   * Lets a script go on with the rows it waited for, up to its next rows or its end. Statements whose
   * rows it does not look at are held back until then, as an engine may.
   */
  const resume = (caller: Caller<T>): void => {
    const heldBack: Statement[] = [];
    let step = caller.script.next(caller.answered);
    while (step.done !== true && !step.value.isAwaited) {
      heldBack.push(...step.value.statements);
      step = caller.script.next(step.value.statements.map(() => []));
    }
    caller.answered = [];
    caller.unlooked = heldBack.length;
    if (step.done === true) caller.returned = { done: step.value };
    caller.waiting = step.done === true ? heldBack : [...heldBack, ...step.value.statements];
  };
  /** One turn: the script goes on until its next statement, which is run; or it is committed, which is a turn of its own. */
  const advance = (place: number, caller: Caller<T>): void => {
    if (caller.waiting.length === 0 && !caller.returned) resume(caller);
    const [statement, ...others] = caller.waiting;
    if (!statement) {
      if (!caller.returned) return;
      engine.commit(caller.log);
      end(place, caller, caller.returned);
      return;
    }
    const { rows, keys } = engine.probe(caller.log, statement);
    const owner = keys.map((key) => locks.get(key)).find((each) => each !== undefined && each !== place);
    if (owner !== undefined) {
      if (!waitsInCircle(place, owner)) caller.waitsFor = owner;
      else {
        deadlocks += 1;
        rerun(place, caller, new Error('a deadlock'));
      }
      return;
    }
    for (const key of keys) locks.set(key, place);
    if (keys.length > 0) caller.log.push(statement);
    if (caller.unlooked > 0) caller.unlooked -= 1;
    else caller.answered.push(rows);
    caller.waiting = others;
  };

  for (;;) {
    const ready = callers.flatMap((caller, place) =>
      caller.outcome === undefined && caller.waitsFor === undefined ? [{ caller, place }] : [],
    );
    const drawn = ready[Math.floor(engine.random() * ready.length)];
    if (!drawn) break;
    const { caller, place } = drawn;
    try {
      advance(place, caller);
    } catch (error) {
      if (isRerun(error)) rerun(place, caller, error);
      else end(place, caller, { thrown: error });
    }
  }
  const outcomes = callers.flatMap(({ outcome }) => (outcome ? [outcome] : []));
  assert.equal(outcomes.length, scripts.length, 'somebody waits for ever');
  return { outcomes, order, reruns, deadlocks };
}
