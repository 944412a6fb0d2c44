/**
 * Runs the scripts of several callers concurrently, statement by statement, in an order generated from a
 * seed, as PostgreSQL runs their transactions at READ COMMITTED. This makes races reproducible.
 *
 * Construction: one SQLite connection holds the committed state. Each caller has a log of the statements with
 * which it has written. To run a caller's next statement, the scheduler opens a savepoint, replays that
 * caller's log, runs the statement, passes its rows to the script, and rolls everything back. A statement
 * therefore sees the committed state and the writes of its own script, and nothing uncommitted. When a script
 * returns, its log is replayed and committed. When it throws, its log is dropped.
 *
 * A log can be replayed because of locks. Temporary triggers report the rows that a statement writes, and a
 * caller locks each until it ends. A statement that would write a locked row is rolled back, waits for the
 * end of the other caller, and runs again with its `where` evaluated again. A commit therefore cannot change
 * a row that a log has written, and the replay has the same effect. An insertion locks its unique keys in the
 * same way: an insertion of an equal key waits. A `select` never waits. A caller whose wait would cause a
 * deadlock is run again, as is one that throws `RetryTransaction`.
 *
 * Not modeled: commits during a statement (each sees one state); repeatable reads and serialization failures
 * of the higher isolation levels; shared locks of foreign keys (they never conflict with updates that do not
 * change keys); the passage of time.
 */

import assert from 'node:assert/strict';
import { RetryTransaction, rerunsMax, type Script, type Statement } from '../../src/database/sql/sql.ts';
import { connect, isKeyTaken, type Connection } from '../../src/database/sqlite/connection.ts';
import { loadMigrations } from '../../src/database/schema/migrate.ts';

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
  /** Runs a script on the committed state, and commits unless it throws. */
  run<T>(script: Script<T>): T;
  /** Runs `body` and rolls it back. */
  attempt<T>(body: () => T): T;
  /** Runs scripts one after another, each in its own transaction. */
  inTurn<T>(scripts: readonly (() => Script<T>)[], order: readonly number[]): readonly Outcome<T>[];
  /** Runs scripts concurrently, in an order generated from `random`. */
  interleave<T>(scripts: readonly (() => Script<T>)[], random: () => number): Ran<T>;
};

/** The keys by which rows are locked: the unique keys of each table that movements write. */
const lockedKeys: Readonly<Record<string, readonly (readonly string[])[]>> = {
  gift_cards: [['id']],
  holds: [['id']],
  transfers: [['card_id', 'sequence'], ['id']],
  events: [['id']],
  gift_card_codes: [['lookup']],
  customers: [['email_key']],
  idempotency_records: [['key_digest']],
};

let schema: string | undefined;

/** The schema after all migrations, without its rows. Creating it takes a fifth of the migrations' time. */
function schemaText(): string {
  if (schema !== undefined) return schema;
  const { database } = connect(':memory:', { readOnly: false });
  for (const { text } of loadMigrations('sqlite')) database.exec(text);
  const created = database
    .prepare(
      `select sql from sqlite_schema where sql is not null and name not like 'sqlite!_%' escape '!'
       order by case type when 'table' then 1 when 'index' then 2 else 3 end`,
    )
    .all();
  const statistics = database
    .prepare(`select format('(%Q, %Q, %Q)', tbl, idx, stat) as row from sqlite_stat1`)
    .all();
  database.close();
  schema = [
    ...created.map(({ sql }) => String(sql)),
    'analyze; delete from sqlite_stat1',
    `insert into sqlite_stat1 (tbl, idx, stat) values ${statistics.map(({ row }) => String(row)).join(', ')}`,
    'analyze sqlite_schema',
    '',
  ].join(';\n');
  return schema;
}

/** Creates a database in memory with its schema, and the triggers that report written rows. */
export function openStage(): Stage {
  const connection = connect(':memory:', { readOnly: false });
  const { database } = connection;
  database.exec(schemaText());
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
  /**
   * Returns the result and the writes of a statement for a caller that has written `log`, and rolls it back.
   */
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
      interleave(scripts, { random, probe, commit: (log) => run(replay(log)) }),
    [Symbol.dispose]: () => database.close(),
  };
} // prettier-ignore

/** Whether an engine runs a script again after the error. */
function isRerun(error: unknown): boolean {
  return error instanceof RetryTransaction || isKeyTaken(error);
}

function outcomeOf<T>(body: () => T): Outcome<T> {
  try {
    return { done: body() };
  } catch (thrown) {
    return { thrown };
  }
}

/** Runs a script, and again if it throws `RetryTransaction`: without concurrency, the only cause is a taken id. */
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
  for (const statement of statements) rows = connection.drive(runOne(statement));
  return rows;
}

function* runOne(statement: Statement): Script<readonly unknown[]> {
  const [rows = []] = yield { statements: [statement], isAwaited: true };
  return rows;
}

function* replay(log: readonly Statement[]): Script<void> {
  yield { statements: log, isAwaited: true };
}

type Probe = { readonly rows: readonly unknown[]; readonly keys: readonly string[] };

/** A caller in the middle of its transaction. */
type Caller<T> = {
  script: Script<T>;
  /** Statements that it has yielded and that have not run yet. */
  waiting: readonly Statement[];
  /** The number of unawaited statements, which come first. */
  unawaited: number;
  /** The rows of the awaited statements that have run. */
  results: (readonly unknown[])[];
  /** The script's result. Waiting statements run before the commit. */
  returned: { readonly done: T } | undefined;
  log: Statement[];
  reruns: number;
  /** The caller that must end first. */
  waitsFor: number | undefined;
  outcome: Outcome<T> | undefined;
};

function fresh<T>(
  script: () => Script<T>,
): Pick<Caller<T>, 'script' | 'waiting' | 'unawaited' | 'results' | 'log' | 'returned'> {
  return { script: script(), waiting: [], unawaited: 0, results: [], log: [], returned: undefined };
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
   * Runs a script with its awaited rows, up to its next awaited step or its end. Unawaited statements are
   * held back until then, as an engine can do.
   */
  const resume = (caller: Caller<T>): void => {
    const heldBack: Statement[] = [];
    let step = caller.script.next(caller.results);
    while (step.done !== true && !step.value.isAwaited) {
      heldBack.push(...step.value.statements);
      step = caller.script.next(step.value.statements.map(() => []));
    }
    caller.results = [];
    caller.unawaited = heldBack.length;
    if (step.done === true) caller.returned = { done: step.value };
    caller.waiting = step.done === true ? heldBack : [...heldBack, ...step.value.statements];
  };
  /** Runs one turn: the next statement of a script, or its commit. */
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
    if (caller.unawaited > 0) caller.unawaited -= 1;
    else caller.results.push(rows);
    caller.waiting = others;
  };

  for (;;) {
    const ready = callers.flatMap((caller, place) =>
      caller.outcome === undefined && caller.waitsFor === undefined ? [{ caller, place }] : [],
    );
    const chosen = ready[Math.floor(engine.random() * ready.length)];
    if (!chosen) break;
    const { caller, place } = chosen;
    try {
      advance(place, caller);
    } catch (error) {
      if (isRerun(error)) rerun(place, caller, error);
      else end(place, caller, { thrown: error });
    }
  }
  const outcomes = callers.flatMap(({ outcome }) => (outcome ? [outcome] : []));
  assert.equal(outcomes.length, scripts.length, 'a caller waits forever');
  return { outcomes, order, reruns, deadlocks };
}
