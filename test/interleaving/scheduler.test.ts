/** The scheduler itself: it shows exactly what PostgreSQL shows at READ COMMITTED. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { RetryTransaction, one, execute, sql, type Script } from '../../src/database/sql/sql.ts';
import { openStage, type Ran, type Stage } from '../support/scheduler.ts';
import { seeded } from '../support/seeded.ts';

const schedules = 300;

type Row = { readonly id: bigint; readonly balance: bigint };

/** A stage with two cards of 100. These tests do not need a store. */
function openTwoCards(): Stage {
  const stage = openStage();
  stage.run(
    execute(
      sql`insert into stores (id, domain, name, currency, time_zone, require_signature, customer_search,
        undo_window_minutes, demonstration, created_at, updated_at) values (1, 'a', 'a', 'USD', 'UTC', 0, 0, 0, 0, 1, 1)`,
      ...[1, 2].map(
        (id) => sql`insert into gift_cards (store_id, id, version, currency, initial_value, balance, held,
          last_characters, created_at, last_transfer_id, chain_length, chain_hash)
          values (1, ${id}, 1, 'USD', 100, 100, 0, 'abcd', 1, 1, 1, ${new Uint8Array(32)})`,
      ),
    ),
  );
  return stage;
}

const read = (id: number): Script<Row> =>
  one(sql<Row>`select id, balance from gift_cards where store_id = 1 and id = ${id}`);

const add = (id: number, amount: number): Script<Row> =>
  one(
    sql<Row>`update gift_cards set balance = balance + ${amount} where store_id = 1 and id = ${id} returning id, balance`,
  );

/** Runs scripts in many orders, and asserts the condition after each. */
function inManyOrders<T>(
  scripts: readonly (() => Script<T>)[],
  check: (ran: Ran<T>, balances: readonly bigint[]) => void,
): void {
  using stage = openTwoCards();
  for (let seed = 1; seed <= schedules; seed += 1) {
    stage.attempt(() => {
      const ran = stage.interleave(scripts, seeded(seed));
      check(
        ran,
        [1, 2].map((id) => stage.run(read(id)).balance),
      );
    });
  }
}

const done = <T>({ outcomes }: Ran<T>): readonly T[] =>
  outcomes.flatMap((outcome) => ('done' in outcome ? [outcome.done] : []));

test('uncommitted writes are invisible, and a statement sees what was committed before it', () => {
  const seen = new Set<string>();
  inManyOrders<readonly bigint[]>(
    [
      function* () {
        yield* add(1, 5);
        yield* add(1, 5);
        return [];
      },
      function* () {
        return [(yield* read(1)).balance, (yield* read(1)).balance];
      },
    ],
    (ran) => seen.add(String(done(ran)[1])),
  );
  assert.deepEqual(seen, new Set(['100,100', '100,110', '110,110']));
});

test('rolled back writes are never visible', () => {
  inManyOrders<bigint>(
    [
      function* () {
        yield* add(1, 5);
        throw new Error('given up');
      },
      function* () {
        return (yield* read(1)).balance;
      },
    ],
    (ran, [balance]) => {
      assert.deepEqual([...done(ran), balance], [100n, 100n]);
    },
  );
});

test('an update of a locked row waits, and adds to the committed value', () => {
  const adding = function* (): Script<bigint> {
    yield* read(1);
    return (yield* add(1, 10)).balance;
  };
  inManyOrders([adding, adding, adding], (ran, [balance]) => {
    assert.equal(balance, 130n);
    assert.deepEqual(new Set(done(ran)), new Set([110n, 120n, 130n]));
    assert.equal(ran.reruns, 0);
  });
});

test('a deadlock of two callers is detected, and one of them is run again', () => {
  const both = (left: number, right: number) =>
    function* (): Script<bigint> {
      yield* add(left, 1);
      return (yield* add(right, 1)).balance;
    };
  let deadlocks = 0;
  inManyOrders([both(1, 2), both(2, 1)], (ran, balances) => {
    assert.deepEqual(balances, [102n, 102n]);
    assert.equal(ran.reruns, ran.deadlocks);
    deadlocks += ran.deadlocks;
  });
  assert.ok(deadlocks > 0);
});

test('a script that requests a rerun runs again without its earlier writes, up to a limit', () => {
  let starts = 0;
  inManyOrders<bigint>(
    [
      function* () {
        starts += 1;
        const { balance } = yield* add(1, 1);
        if (starts % 3 !== 0) throw new RetryTransaction('again');
        return balance;
      },
      function* () {
        yield* add(2, 1);
        throw new RetryTransaction('always');
      },
    ],
    (ran, balances) => {
      assert.deepEqual(balances, [101n, 100n]);
      assert.equal(done(ran).length, 1);
      assert.equal(ran.reruns, 2 + 5);
    },
  );
});

test('one seed gives one schedule', () => {
  using stage = openTwoCards();
  const adding = function* (): Script<bigint> {
    yield* read(1);
    return (yield* add(1, 10)).balance;
  };
  const runs = [7, 7, 8].map((seed) =>
    stage.attempt(() => stage.interleave([adding, adding, adding, adding], seeded(seed)).order.join(' ')),
  );
  assert.equal(runs[0], runs[1]);
});
