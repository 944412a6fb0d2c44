/** Runs of reports: they are shared, they end when their clients leave, and they have a time limit. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { Fault } from '../../src/core/domain/fault.ts';
import {
  reportRuns,
  type ReportSource,
  type RequestedReport,
} from '../../src/features/books/service/report-runs.ts';
import { resolved } from '../../src/database/sql/sql.ts';
import { createTurns } from '../../src/core/service/turns.ts';

const anyStore = { id: 1, domain: 'flowers.example', timeZone: 'UTC', accountNames: {} };

function setUp({ maxMs = 1_000, runsMax = 4 } = {}) {
  const clock = { at: 0, now: () => clock.at, monotonic: () => clock.at };
  let reads = 0;
  const late: string[] = [];
  const runs = reportRuns({
    clock,
    storage: {
      async read(script) {
        reads += 1;
        const step = script().next([]);
        assert.ok(step.done);
        return step.value;
      },
    },
    turns: createTurns(100),
    maxMs,
    runsMax,
    tookTooLong: ({ name }) => late.push(name),
  });
  const requested = (given: Partial<RequestedReport> = {}): RequestedReport => ({
    store: anyStore,
    name: 'liability',
    made: ['operation', {}],
    isPast: false,
    signal: new AbortController().signal,
    ...given,
  });
  return { runs, requested, clock, late, readsOf: () => reads };
}

/** Makes a report of some parts. @returns when it was made. */
function makes(parts: number) {
  return async ({ storage, now }: ReportSource): Promise<number> => {
    for (let part = 0; part < parts; part += 1) await storage.read(() => resolved(part));
    return now;
  };
}

test('equal reports that are requested at the same time are made once', async () => {
  const { runs, requested, readsOf } = setUp();
  await Promise.all([1, 2, 3].map(() => runs(requested(), makes(5))));
  assert.equal(readsOf(), 5);
});

test('reports of other stores, parameters and names are made apart', async () => {
  const { runs, requested, readsOf } = setUp();
  await Promise.all([
    runs(requested(), makes(1)),
    runs(requested({ name: 'aging' }), makes(1)),
    runs(requested({ made: ['operation', { by: 'day' }] }), makes(1)),
    runs(requested({ store: { ...anyStore, id: 2 } }), makes(1)),
  ]);
  assert.equal(readsOf(), 4);
});

test('a report of now is never of a time before its request, and requests that wait share the next run', async () => {
  const { runs, requested, clock, readsOf } = setUp();
  const first = runs(requested(), makes(5));
  await turn();
  clock.at = 7;
  const others = [runs(requested(), makes(5)), runs(requested(), makes(5))];
  assert.equal(await first, 0);
  assert.deepEqual(await Promise.all(others), [7, 7]);
  assert.equal(readsOf(), 10);
});

test('a report of the past shares a run that has begun', async () => {
  const { runs, requested, clock, readsOf } = setUp();
  const first = runs(requested({ isPast: true }), makes(5));
  await turn();
  clock.at = 7;
  assert.equal(await runs(requested({ isPast: true }), makes(5)), 0);
  await first;
  assert.equal(readsOf(), 5);
});

test('a result is not kept', async () => {
  const { runs, requested, clock } = setUp();
  assert.equal(await runs(requested({ isPast: true }), makes(1)), 0);
  clock.at = 9;
  assert.equal(await runs(requested({ isPast: true }), makes(1)), 9);
});

test('a run ends when its last client leaves, and the next request begins another', async () => {
  const { runs, requested, readsOf, late } = setUp();
  const clients = [new AbortController(), new AbortController()];
  const waiting = clients.map(({ signal }) => runs(requested({ signal }), makes(1_000)));
  await turn();
  clients[0]?.abort();
  await turn();
  const readsWithOne = readsOf();
  await turn();
  assert.ok(readsOf() > readsWithOne, 'the run ended although a client waits');
  clients[1]?.abort();
  for (const each of waiting) await assert.rejects(each, Fault);
  const reads = readsOf();
  await turn();
  assert.equal(readsOf(), reads);
  assert.ok(reads < 1_000);
  assert.equal(await runs(requested(), makes(1)), 0);
  assert.deepEqual(late, []);
});

test('a run that takes too long ends with an error and is reported once', async () => {
  const { runs, requested, clock, late } = setUp({ maxMs: 10 });
  const slow = async ({ storage }: ReportSource): Promise<void> => {
    for (;;) {
      clock.at += 4;
      await storage.read(() => resolved(0));
    }
  };
  const results = await Promise.allSettled([runs(requested(), slow), runs(requested(), slow)]);
  for (const result of results) {
    assert.ok(result.status === 'rejected' && result.reason instanceof Fault);
    assert.equal(result.reason.code, 'overloaded');
    assert.equal(result.reason.retryAfterSeconds, 60);
  }
  assert.deepEqual(late, ['liability']);
});

test('more different reports than the maximum are rejected, until one is complete', async () => {
  const { runs, requested } = setUp({ runsMax: 2 });
  const running = ['a', 'b'].map((name) => runs(requested({ name }), makes(3)));
  await assert.rejects(runs(requested({ name: 'c' }), makes(1)), { code: 'overloaded' });
  await Promise.all(running);
  await runs(requested({ name: 'c' }), makes(1));
});
