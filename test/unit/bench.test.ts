/** The command line of the benchmark and the evaluation of its figures. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { Worker } from 'node:worker_threads';
import { format, resolveConfig } from 'prettier';
import { changesIn, changesSince, type Change } from '../../bench/compare.ts';
import { markdown } from '../../bench/format.ts';
import { goalsOf } from '../../bench/goals.ts';
import { operationNames } from '../../bench/operations.ts';
import { readCommand, recordedFile } from '../../bench/options.ts';
import { comparisonTables, pageOf, tablesOf, unmetGoals, warningsOf } from '../../bench/page.ts';
import { cpuMicros } from '../../bench/processes.ts';
import {
  joined,
  type Comparison,
  type FixtureResults,
  type Import,
  type Measured,
  type Results,
  type Rounds,
  type SmallLoad,
} from '../../bench/results.ts';
import { latencyOf, lowerQuartile, median, pairedRatio, spread } from '../../bench/statistics.ts';

/** Rounds with the given µs per request. */
function rounds(micros: readonly number[], given: Partial<Rounds> = {}): Rounds {
  return {
    microsPerRequest: micros,
    databaseMicros: null,
    writtenBytes: [8_400],
    requestsPerSecond: micros.map((value) => 1e6 / value),
    latency: { p50Ms: 1, p99Ms: 12, p999Ms: 30 },
    memoryMb: 200,
    ...given,
  };
}

/** An operation with the given µs per round, and 10 µs in the baseline. */
function measured(
  operation: Measured['operation'],
  micros: readonly number[],
  given: Partial<Rounds> = {},
): Measured {
  return { operation, service: rounds(micros, given), baseline: rounds([10]) };
}

function fixture(given: Partial<FixtureResults> = {}): FixtureResults {
  return {
    engine: 'embedded',
    cards: 1_000_000,
    cardsAtEnd: 1_000_001,
    fillSeconds: 100,
    bytesPerCard: 1_000,
    readyAfterMs: 500,
    memoryMb: { atRest: 80, underLoad: 190 },
    measured: [],
    halfCapacity: null,
    writes: null,
    verifySeconds: 10,
    ...given,
  };
}

function results(fixtures: readonly FixtureResults[], given: Partial<Results> = {}): Results {
  return {
    revision: 'abcdef0',
    measuredOn: '2026-01-02',
    minutes: 15,
    machine: {
      processor: 'a processor',
      cores: 2,
      memoryGb: 8,
      kernel: 'linux 6.1',
      isInMemory: false,
      fdatasync: { p50Ms: 0.2, p99Ms: 1 },
      node: '26.0.0',
    },
    isPinned: true,
    connections: 64,
    rounds: 15,
    secondsPerRound: 0.3,
    warmUpRequests: 50_000,
    fixtures,
    ...given,
  };
}

test('a lower quartile ignores rounds that other programs slowed down', () => {
  assert.equal(lowerQuartile([90, 10, 11, 12, 13, 70, 80, 60]), 12);
  assert.equal(median([3, 1, 2]), 2);
  assert.equal(spread([10, 10, 15, 16]), 0.5);
  assert.ok(Number.isNaN(lowerQuartile([])));
});

test('latencies include those of all rounds', () => {
  const fast = new Float64Array(990).fill(1);
  const slow = new Float64Array(10).fill(50);
  assert.deepEqual(latencyOf([slow, fast]), { p50Ms: 1, p99Ms: 50, p999Ms: 50 });
  assert.deepEqual(latencyOf([fast, fast]), { p50Ms: 1, p99Ms: 1, p999Ms: 1 });
});

test('the processor time of a process includes all its threads', async () => {
  const busyMs = 300;
  const code = `const { parentPort } = require('node:worker_threads');
    for (const { user } = process.threadCpuUsage(); process.threadCpuUsage().user - user < ${busyMs} * 1000;);
    parentPort.postMessage('done');
    parentPort.on('message', () => {});`;
  const before = cpuMicros([process.pid]);
  const worker = new Worker(code, { eval: true });
  await once(worker, 'message');
  const spent = cpuMicros([process.pid]) - before;
  await worker.terminate();
  assert.ok(spent >= busyMs * 1_000, `${spent} µs`);
});

test('results of several runs are merged, and the first one of the same fixture is used', () => {
  const one = results(
    [fixture({ cards: 10_000, readyAfterMs: 1 }), fixture({ engine: 'postgres', cards: 10_000 })],
    { revision: 'one', minutes: 2 },
  );
  const other = results([fixture({ cards: 10_000_000 }), fixture({ cards: 10_000, readyAfterMs: 9 })], {
    revision: 'other',
    minutes: 3,
    rounds: 3,
  });
  const all = joined([one, other]);
  assert.deepEqual(
    all.fixtures.map(({ engine, cards, readyAfterMs }) => [engine, cards, readyAfterMs === 9]),
    [['embedded', 10_000, false], ['embedded', 10_000_000, false], ['postgres', 10_000, false]],
  ); // prettier-ignore
  assert.deepEqual([all.minutes, all.revision, all.rounds], [5, 'one and other', 3]);
  assert.throws(() => joined([]), /no run/);
  const repeated = [...unusedFeatures, ...unusedFeatures.map((each) => ({ ...each, ratios: [2] }))];
  assert.deepEqual(joined([one, results([], { unusedFeatures: repeated })]).unusedFeatures, unusedFeatures);
});

test('the command line selects the measurements', async (t) => {
  await t.test('by default both engines run with ten thousand and a million cards', () => {
    const { plan, from, record, compareWith } = readCommand([]);
    assert.deepEqual(plan.engines, ['embedded', 'postgres']);
    assert.deepEqual(plan.cards, [10_000, 1_000_000]);
    assert.ok(plan.rounds >= 15 && plan.warmUpRequests >= 50_000);
    assert.deepEqual({ from, record, compareWith }, { from: [], record: false, compareWith: null });
    assert.equal(plan.importCards, 100_000);
  });
  await t.test('--quick, --full, --cards and --engine', () => {
    const { plan } = readCommand(['--quick']);
    assert.deepEqual([plan.cards, plan.engines, plan.rounds], [[10_000], ['embedded'], 15]);
    assert.ok(plan.firstWarmUpRequests >= 50_000 && plan.warmUpRequests >= 10_000);
    assert.deepEqual(readCommand(['--quick', '--engine', 'postgres']).plan.engines, ['postgres']);
    assert.deepEqual(readCommand(['--full']).plan.cards, [10_000, 1_000_000, 10_000_000]);
    assert.deepEqual(readCommand(['--cards', '5,60']).plan.cards, [5, 60]);
  });
  await t.test('--import, and runs that import nothing', () => {
    const importedBy = (...args: readonly string[]): number => readCommand(args).plan.importCards;
    assert.deepEqual([importedBy('--quick'), importedBy('--full')], [10_000, 1_000_000]);
    assert.deepEqual([importedBy('--import', '50', '--quick'), importedBy('--import', '0')], [50, 0]);
    for (const args of [['--compare'], ['--against', '.'], ['--operation', 'debit']])
      assert.equal(importedBy(...args), 0, args.join(' '));
  });
  await t.test('--features, and runs that measure nothing else or none', () => {
    const roundsBy = (...args: readonly string[]): number => readCommand(args).plan.featureRounds;
    assert.deepEqual([roundsBy(), roundsBy('--quick'), roundsBy('--features', '8')], [61, 21, 8]);
    for (const args of [['--compare'], ['--against', '.'], ['--operation', 'debit'], ['--features', '0']])
      assert.equal(roundsBy(...args), 0, args.join(' '));
    assert.deepEqual(readCommand(['--cards', 'none']).plan.cards, []);
  });
  await t.test('--operation and --warm-up', () => {
    const { plan } = readCommand(['--operation', 'debit', '--operation', 'create', '--warm-up', '0']);
    assert.deepEqual(plan.operations, ['create', 'debit']);
    assert.deepEqual([plan.firstWarmUpRequests, plan.warmUpRequests], [0, 0]);
    assert.deepEqual(readCommand([]).plan.operations, operationNames);
  });
  await t.test('--against uses ten thousand cards, and excludes what needs a baseline', () => {
    const { plan, against } = readCommand(['--against', '../other']);
    assert.deepEqual([plan.cards, plan.rounds, against], [[10_000], 21, '../other']);
    for (const other of [['--compare'], ['--record'], ['--from', 'one.json']])
      assert.throws(() => readCommand(['--against', 'main', ...other]), /excludes/);
  });
  await t.test('--compare uses the recorded results or a file', () => {
    assert.equal(readCommand(['--compare']).compareWith, recordedFile);
    assert.equal(readCommand(['--compare', 'other.json']).compareWith, 'other.json');
    assert.deepEqual(readCommand(['--compare']).plan.cards, [10_000]);
  });
  await t.test('a wrong option is rejected', () => {
    for (const args of [
      ['--rounds', '0'], ['--rounds', '1.5'], ['--seconds', 'many'], ['--cards', '10,'], ['--engine', 'oracle'],
      ['--operation', 'refund'], ['--warm-up', '-1'], ['--import', '-1'], ['--features', '-1'], ['--against'],
      ['stray.json'], ['--compare', 'one.json', 'two.json'], ['--fast'],
    ])
      assert.throws(() => readCommand(args), Error, args.join(' '));
  }); // prettier-ignore
});

test('the ratio of two services is the median of their pairs, with an interval of 99 %', async (t) => {
  const quotients = [1.3, 0.7, 0.9, 1.02, 1.03, 0.97, 0.98, 1.1, 0.99, 1.01, 0.8, 1.2, 0.95, 1.05, 1];
  const costs = quotients.map((_, pair) => 100 + pair * 40);
  const ratioOf = (pairs: number) =>
    pairedRatio(
      costs.slice(0, pairs),
      costs.slice(0, pairs).map((cost, pair) => cost * (quotients[pair] ?? 0)),
    );
  await t.test('a slow moment that affects both rounds of a pair changes nothing', () => {
    const { ratio, low, high } = ratioOf(15);
    // Two of 15 on each side are further out in 0.74 % of cases, and three in 3.5 %.
    assert.deepEqual([ratio, low, high].map((value) => value.toFixed(2)), ['1.00', '0.90', '1.10']);
  }); // prettier-ignore
  await t.test('with eight pairs the interval contains all of them', () => {
    const { low, high } = ratioOf(8);
    assert.deepEqual([low.toFixed(2), high.toFixed(2)], ['0.70', '1.30']);
  });
  await t.test('with seven pairs there is no interval', () => {
    const { low, high } = ratioOf(7);
    assert.deepEqual([low, high], [0, Infinity]);
  });
});

function comparison(before: Rounds, after: Rounds): Comparison {
  const compared = [{ operation: 'debit', before, after }] as const;
  const fixtures = [{ engine: 'postgres', cards: 10_000, compared }] as const;
  return { ...results([]), against: '1234567', fixtures };
}

test('--against reports the operations that cost more or less than in the other service', async (t) => {
  const noise = [0.96, 1.04, 0.99, 1.01, 1, 0.98, 1.02, 1, 0.97];
  const costing = (micros: number): readonly number[] => noise.map((factor) => micros * factor);
  const verdicts = (before: readonly number[], after: readonly number[]) =>
    changesIn(comparison(rounds(before), rounds(after))).map(({ verdict }) => verdict);
  const flat = noise.map(() => 100);
  await t.test('5 % more in every pair', () => assert.deepEqual(verdicts(flat, costing(105)), ['higher']));
  await t.test('5 % less in every pair', () => assert.deepEqual(verdicts(flat, costing(95)), ['lower']));
  await t.test('2 % more, but less in some pairs', () =>
    assert.deepEqual(verdicts(flat, costing(102)), ['no difference']),
  );
  await t.test('0.5 % more in every pair', () =>
    assert.deepEqual(verdicts(costing(100), costing(100.5)), ['no difference']),
  );
  await t.test('too few pairs', () => {
    assert.deepEqual(verdicts(flat.slice(0, 7), costing(200)), ['too few rounds']);
  });
  await t.test('a cost without a figure', () => assert.deepEqual(verdicts(flat, []), ['higher']));
  await t.test('the database server is compared as well', () => {
    const served = (micros: number): Rounds => rounds(flat, { databaseMicros: costing(micros) });
    const changes = changesIn(comparison(served(50), served(60)));
    assert.deepEqual(
      changes.map(({ what, verdict }) => [what, verdict]),
      [
        ['PostgreSQL, 10,000 cards: debit', 'no difference'],
        ['PostgreSQL, 10,000 cards: debit, in the server', 'higher'],
      ],
    );
  });
});

test('the tables of a comparison show both services', () => {
  const compared = comparison(rounds(Array<number>(15).fill(100)), rounds(Array<number>(15).fill(80)));
  const [costs, others] = comparisonTables(compared);
  assert.equal(costs?.title, 'Processor time per request in µs: abcdef0 against 1234567');
  const what = 'PostgreSQL, 10,000 cards: debit';
  assert.deepEqual(costs.rows, [[what, '100', '80', '0.800', '0.800 – 0.800', 'lower']]);
  assert.deepEqual(others?.rows, [
    [what, '100', '80', '10,000', '12,500', '12.0', '12.0', '8.4', '8.4', '200', '200'],
  ]);
});

test('--compare reports a request that costs more than recorded, beyond the spread of both runs', async (t) => {
  const costing = (...micros: readonly number[]): Results =>
    results([fixture({ measured: [measured('create', micros)] })]);
  const recorded = costing(30, 30, 30, 30);
  const verdict = (now: Results): Change['verdict'] | undefined => changesSince(recorded, now)[0]?.verdict;
  await t.test('4 % more is within the minimum', () => assert.equal(verdict(costing(31.2)), 'no difference'));
  await t.test('6 % more is higher', () => {
    const [change] = changesSince(recorded, costing(31.8));
    assert.equal(change?.what, 'SQLite, 1,000,000 cards: create');
    assert.deepEqual([change.before, change.after, change.verdict], [3, 3.18, 'higher']);
  });
  await t.test('10 % more is not higher if the median lies 12 % above the quartile', () => {
    assert.equal(verdict(costing(32, 33, 37, 38)), 'no difference');
    assert.equal(verdict(costing(32, 33, 33, 38)), 'higher');
  });
  await t.test('a few slow rounds change nothing', () => {
    assert.equal(verdict(costing(30, 30, 30, 30, 90)), 'no difference');
  });
  await t.test('half the cost is lower', () => assert.equal(verdict(costing(15)), 'lower'));
  await t.test('a cost without a measurement is higher', () => {
    assert.equal(verdict(costing(Number.NaN)), 'higher');
  });
  await t.test('a fixture of only one run is ignored', () => {
    assert.deepEqual(changesSince(recorded, results([fixture({ cards: 5 })])), []);
  });
  await t.test('the processor time of the database server is compared as well', () => {
    const served = (...databaseMicros: readonly number[]): Results =>
      results([fixture({ engine: 'postgres', measured: [measured('debit', [20], { databaseMicros })] })]);
    const higher = changesSince(served(50), served(60)).filter((change) => change.verdict === 'higher');
    assert.deepEqual(
      higher.map(({ what }) => what),
      ['PostgreSQL, 1,000,000 cards: debit, in the server'],
    );
  });
});

function smallLoad(given: Partial<SmallLoad>): SmallLoad {
  const latency = { p50Ms: 0.5, p99Ms: 2, p999Ms: 3 };
  return {
    operation: 'create',
    rate: 100,
    microsPerRequest: 500,
    requestsPerSecond: given.rate ?? 1_000,
    latency,
    ...given,
  };
}

/** Ten pairs of rounds. */
const unusedFeatures = (['create', 'debit'] as const).map((operation, place) => ({
  engine: 'embedded' as const,
  cards: 20_000,
  operation,
  ratios: [1, 1.1, 0.9, 1, 1.2, 1, 0.8, 1, 1, 1].map((ratio) => ratio + place / 10),
}));

const complete = results(
  [
    fixture({ cards: 10_000, measured: [measured('create', [60])] }),
    fixture({
      measured: [
        measured('create', [61]),
        measured('create with a key', [70]),
        measured('debit', [70]),
        measured('retrieve', [25, 20, 20, 20, 90]),
      ],
      halfCapacity: { requestsPerSecond: 4_000, latency: { p50Ms: 1, p99Ms: 6, p999Ms: 9 } },
      smallLoads: [
        smallLoad({ rate: 100, microsPerRequest: 600 }),
        smallLoad({ rate: 1_500, microsPerRequest: 160, floorMicros: 120 }),
        smallLoad({ rate: null, microsPerRequest: 290 }),
        smallLoad({ operation: 'debit', rate: null, microsPerRequest: 310 }),
      ],
      idlePercent: 0.25,
      writes: [
        { operation: 'create', logBytes: 8_400, pages: 2, pagesByTree: { events: 0.3, stores: 0.01 } },
      ],
    }),
    fixture({
      engine: 'postgres',
      measured: [measured('create', [50], { databaseMicros: [100] })],
    }),
  ],
  { unusedFeatures },
);

test('each goal is compared with its figure', () => {
  const goals = new Map(goalsOf(complete).map((goal) => [`${goal.what}, ${goal.unit}`, goal]));
  const figures = Array.from(goals, ([what, { figure, isMet }]) => [what, figure, isMet]);
  assert.deepEqual(figures, [
    ['Create, 10,000 cards, µs', 60, true],
    ['Create, 1,000,000 cards, µs', 61, false],
    ['Create at 1,500/s, µs', 160, false],
    ['Create, one caller, µs', 290, true],
    ['Idle, % of a core', 0.25, false],
    ['Retrieve, of the baseline, by processor time', 0.5, false],
    ['Mixed 90/10, of the baseline, by processor time', null, null],
    ['Create with a key ÷ create, ×', 70 / 61, true],
    ['Debit ÷ create, ×', 70 / 61, false],
    ['List, 1,000,000 ÷ 10,000 cards, ×', null, null],
    ['Create, 10,000,000 ÷ 10,000 cards, ×', null, null],
    ['Create, if other cards use features, of the cost without them', 1, true],
    ['Debit, if other cards use features, of the cost without them', 1.1, false],
    ['Create, bytes of the log', 8_400, false],
    ['Debit, bytes of the log', null, null],
    ['p99 of create at half capacity, ms', 6, false],
    ['p99 of create in a closed loop, ms', 12, true],
    ["PostgreSQL: create, of the baseline's rate", 0.2, true],
    ["PostgreSQL: retrieve, of the baseline's rate", null, null],
    ['Memory under load, 1,000,000 cards, MB', 190, true],
    ['Import of 1,000,000 cards, min', null, null],
  ]);
});

test('a small load that costs more than its goal is compared with a bare server that writes', () => {
  const line = unmetGoals(complete).find((text) => text.startsWith('- **Create at 1,500/s'));
  assert.match(line ?? '', /inserts one row, commits and syncs takes 120 µs/);
});

test('the goal of the import is compared with the largest one, at its rate', () => {
  const imported = (given: Partial<Import>): Import => ({
    engine: 'embedded',
    cards: 100_000,
    seconds: 12,
    microsPerCard: 80,
    databaseMicros: null,
    memoryMb: 200,
    ...given,
  });
  const goalOf = (imports: readonly Import[]) => goalsOf(results([], { imports })).at(-1);
  assert.deepEqual([goalOf([imported({})])?.figure, goalOf([imported({})])?.isMet], [2, true]);
  assert.match(goalOf([imported({})])?.what ?? '', /, at the rate of 100,000$/);
  const million = imported({ cards: 1_000_000, seconds: 240 });
  const both = results([], { imports: [imported({}), million] });
  assert.deepEqual([goalsOf(both).at(-1)?.figure, unmetGoals(both).length], [4, 1]);
  assert.doesNotMatch(goalsOf(both).at(-1)?.what ?? '', /rate/);
  for (const other of [imported({ cards: 10_000 }), imported({ engine: 'postgres' })])
    assert.equal(goalOf([other])?.figure, null);
  const table = tablesOf(both).find(({ title }) => title === 'Imports');
  assert.deepEqual(table?.rows.at(-1), ['SQLite, 1,000,000 cards', '240', '4,167', '80', '–', '200']);
  assert.deepEqual(joined([both, results([], { imports: [million] })]).imports, both.imports);
});

test('the page says what was tried for each goal that is not met', () => {
  const slow = results([fixture({ measured: [measured('retrieve', [25]), measured('debit', [70])] })]);
  const [retrieve, ...others] = unmetGoals(slow);
  assert.match(retrieve ?? '', /^- \*\*Retrieve, of the baseline, by processor time\.\*\* The kernel/);
  assert.deepEqual(others, []);
  assert.ok(pageOf(slow).includes(`### Goals that are not met\n\n${retrieve}`));
  const fast = results([fixture({ measured: [measured('search', [19])] })]);
  assert.deepEqual(unmetGoals(fast), []);
  assert.ok(!pageOf(fast).includes('not met'));
});

test('each goal that the recorded run does not meet has a reason, unless its figures are provisional', () => {
  const recorded = JSON.parse(readFileSync(recordedFile, 'utf8')) as Results;
  const withoutReason = goalsOf(recorded).filter(({ isMet, floor }) => isMet === false && floor === null);
  if (warningsOf(recorded).length === 0)
    assert.deepEqual(
      withoutReason.map(({ what, unit }) => `${what}, ${unit}`),
      [],
    );
});

test('tables have a row for each operation, and a column for the database server if there is one', () => {
  const tables = new Map(tablesOf(complete).map((table) => [table.title, table]));
  assert.deepEqual(tables.get('SQLite, 10,000 cards')?.rows, [
    ['create', '60', '0.17', '8.4', '16,667', '0.17', '1.0', '12.0', '30.0'],
  ]);
  assert.deepEqual(tables.get('SQLite, 1,000,000 cards')?.rows.slice(-5), [
    ['create, half capacity', '', '', '', '4,000', '', '1.0', '6.0', '9.0'],
    ['create at 100/s', '600', '', '', '100', '', '0.5', '2.0', '3.0'],
    ['create at 1,500/s', '160', '0.75', '', '1,500', '', '0.5', '2.0', '3.0'],
    ['create, one caller', '290', '', '', '1,000', '', '0.5', '2.0', '3.0'],
    ['debit, one caller', '310', '', '', '1,000', '', '0.5', '2.0', '3.0'],
  ]); // prettier-ignore
  assert.deepEqual(tables.get('Features that other cards use')?.rows, [
    ['SQLite, 20,000 cards: create', '1.000', '0.800 – 1.200'],
    ['SQLite, 20,000 cards: debit', '1.100', '0.900 – 1.300'],
  ]);
  assert.deepEqual(tables.get('PostgreSQL, 1,000,000 cards')?.rows, [
    ['create', '50', '0.20', '100', '8.4', '20,000', '0.20', '1.0', '12.0', '30.0'],
  ]);
  const writes = tablesOf(complete).find(({ title }) => title.startsWith('Writes per operation'));
  assert.deepEqual(writes?.rows, [['create', '8,400', '2.00', 'events 0.30']]);
  const table = { title: 'Title', headings: ['', 'one', 'two'], rows: [['row', '1,5', 'text']] };
  const lines = ['## Title', '', '|  | one | two |', '| --- | --: | --- |', '| row | 1,5 | text |'];
  assert.equal(markdown(table), lines.join('\n'));
});

test('the page begins with what one process does on each engine', () => {
  const page = pageOf(complete);
  const [start = ''] = page.split('## Goals');
  assert.match(start, /^\| with 1,000,000 cards \| SQLite \| PostgreSQL \|$/m);
  assert.match(start, /^\| cards issued per second \| 16,393 \| 20,000 \|$/m);
  assert.match(start, /^\| cards redeemed per second \| 14,286 \| – \|$/m);
  assert.match(start, /^\| seconds to verify a million cards \| 10 \| 10 \|$/m);
  assert.match(
    start,
    /In a month without requests, the service takes 108 minutes of processor time; 1,000 cards, issued and redeemed one after another, add 0.6 s, and 100,000 cards 60 s\./,
  );
  assert.match(start, /10,000 cards are issued and redeemed costs 1 s of processor time on SQLite/);
  assert.ok(!page.includes('## SQLite, 10,000 cards'));
  assert.doesNotMatch(pageOf(results([fixture()])), /NaN|costs|In a month/);
});

test('a run with figures that cannot be compared has a warning', () => {
  const first = (given: Partial<Results>): string | undefined =>
    warningsOf(results([], given))[0]?.split(':')[0];
  assert.equal(first({}), undefined);
  assert.equal(first({ isPinned: false }), 'Not pinned');
  assert.equal(first({ machine: { ...complete.machine, isInMemory: true } }), 'Not durable');
  assert.equal(first({ rounds: 3 }), 'Provisional');
  assert.equal(first({ warmUpRequests: 3_000 }), 'Provisional');
});

test('docs/performance.md is generated from the recorded results and is short', async () => {
  const recorded = JSON.parse(readFileSync(recordedFile, 'utf8')) as Results;
  const file = 'docs/performance.md';
  const page = await format(pageOf(recorded), { ...(await resolveConfig(file)), filepath: file });
  assert.equal(readFileSync(file, 'utf8'), page, 'run npm run bench -- --from bench/recorded.json --record');
  // Figures do not count as words.
  const words = page.match(/\S*\p{L}{2}\S*/gu)?.length ?? 0;
  assert.ok(words <= 1_400, `${words} words`);
});
