/** What the benchmark makes of what it measured, and of its command line. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { draw, roundStep } from '../../bench/chart.ts';
import { changesOf } from '../../bench/compare.ts';
import { goalsOf, type Goal } from '../../bench/goals.ts';
import { putBetweenMarks } from '../../bench/page.ts';
import { readCommand, recordedFile } from '../../bench/plan.ts';
import { costsOf, joined, ratiosOf } from '../../bench/results.ts';
import { latencyOf, median, relativeSpread } from '../../bench/statistics.ts';
import { markdown, plainText, postgresTable, rateTable, tablesOf } from '../../bench/tables.ts';
import { warningsOf } from '../../bench/warnings.ts';
import { sampleMeasured, sampleResults, sampleRound, sampleSite } from './bench-samples.ts';

test('a median of an even number of values is the mean of the two in the middle', () => {
  assert.equal(median([3, 1, 2]), 2);
  assert.equal(median([4, 1, 2, 3]), 2.5);
  assert.ok(Number.isNaN(median([])));
});

test('a spread is told as a share of the median', () => {
  assert.equal(relativeSpread([9, 10, 11]), 0.1);
  assert.equal(relativeSpread([10, 10]), 0);
});

test('latencies are those of all rounds together', () => {
  const fast = new Float64Array(990).fill(1);
  const slow = new Float64Array(10).fill(50);
  assert.deepEqual(latencyOf([slow, fast]), { p50Ms: 1, p99Ms: 50, p999Ms: 50 });
  assert.deepEqual(latencyOf([fast, fast]), { p50Ms: 1, p99Ms: 1, p999Ms: 1 });
});

test('a round is compared with the ceiling of the same round', () => {
  const measured = {
    ...sampleMeasured('create', {
      service: [
        { requestsPerSecond: 500, cpuMicrosPerRequest: 30 },
        { requestsPerSecond: 300, cpuMicrosPerRequest: 30 },
      ],
    }),
    ceiling: [sampleRound, { ...sampleRound, requestsPerSecond: 600, cpuMicrosPerRequest: 15 }],
  };
  assert.deepEqual(ratiosOf(measured), [0.5, 0.5]);
  assert.deepEqual(costsOf(measured), [3, 2]);
});

test('several runs are joined: what only one measured, and of what several did the first', () => {
  const one = sampleResults(
    [sampleSite({ engine: 'embedded', cards: 10_000, readyAfterMs: 1 }), sampleSite({ engine: 'postgres', cards: 10_000 })],
    { revision: 'one', minutes: 2 },
  ); // prettier-ignore
  const other = sampleResults(
    [sampleSite({ engine: 'embedded', cards: 10_000_000 }), sampleSite({ engine: 'embedded', cards: 10_000, readyAfterMs: 9 })],
    { revision: 'other', minutes: 3 },
  ); // prettier-ignore
  const all = joined([one, other]);
  assert.deepEqual(
    all.sites.map(({ engine, cards, readyAfterMs }) => [engine, cards, readyAfterMs === 9]),
    [
      ['embedded', 10_000, false],
      ['embedded', 10_000_000, false],
      ['postgres', 10_000, false],
    ],
  );
  assert.equal(all.minutes, 5);
  assert.equal(all.revision, 'one and other');
  assert.equal(joined([one, other, other]).revision, 'one and other');
});

test('the command line chooses what is measured', async (t) => {
  await t.test('by default both engines, with few cards and with a million', () => {
    const { plan, from, record, compareWith } = readCommand([]);
    assert.deepEqual(plan.engines, ['embedded', 'postgres']);
    assert.deepEqual(plan.cards, [10_000, 1_000_000]);
    assert.ok(plan.rounds >= 5);
    assert.ok(plan.delivery);
    assert.deepEqual({ from, record, compareWith }, { from: [], record: false, compareWith: null });
  });
  await t.test('--quick, --full and --cards', () => {
    assert.deepEqual(readCommand(['--quick']).plan.cards, [10_000]);
    assert.deepEqual(readCommand(['--full']).plan.cards, [10_000, 1_000_000, 10_000_000]);
    assert.deepEqual(readCommand(['--cards', '5,60']).plan.cards, [5, 60]);
  });
  await t.test('--compare takes the recorded results, or a file', () => {
    assert.equal(readCommand(['--compare']).compareWith, recordedFile);
    assert.equal(readCommand(['--compare', 'other.json']).compareWith, 'other.json');
    assert.deepEqual(readCommand(['--compare']).plan.cards, [10_000]);
    assert.equal(readCommand(['--compare']).plan.delivery, null);
  });
  await t.test('what it does not take is refused', () => {
    for (const args of [
      ['--rounds', '0'],
      ['--rounds', '1.5'],
      ['--seconds', 'many'],
      ['--cards', '10,'],
      ['--engine', 'oracle'],
      ['stray.json'],
      ['--compare', 'one.json', 'two.json'],
      ['--fast'],
    ])
      assert.throws(() => readCommand(args), Error, args.join(' '));
  });
});

/** A site on which a request cost so many µs in each round, 10 in the ceiling. */
function siteCosting(...micros: readonly number[]) {
  const service = micros.map((cpuMicrosPerRequest) => ({ cpuMicrosPerRequest }));
  return sampleSite({ measured: [sampleMeasured('create', { service })] });
}

test('a request that costs more than recorded is found, beyond the spread of both runs', async (t) => {
  const recorded = sampleResults([siteCosting(30, 30, 30)]);
  const changeTo = (...micros: readonly number[]) => {
    const [change] = changesOf(recorded, sampleResults([siteCosting(...micros)]));
    assert.ok(change);
    return change;
  };
  await t.test('4 % more is within the least tolerance', () => assert.equal(changeTo(31.2).isWorse, false));
  await t.test('6 % more is not', () => {
    const change = changeTo(31.8);
    assert.equal(change.what, 'embedded, 1,000,000 cards: create');
    assert.equal(change.isWorse, true);
    assert.equal(change.before, 3);
    assert.equal(change.now, 3.18);
  });
  await t.test('10 % more in rounds that lie 20 % apart says nothing', () => {
    assert.equal(changeTo(29.7, 33, 36.3, 33).isWorse, false);
  });
  await t.test('less is no worse', () => assert.equal(changeTo(15).isWorse, false));
  await t.test('what only one of them has measured is left out', () => {
    const other = sampleResults([sampleSite({ cards: 10_000, measured: siteCosting(90).measured })]);
    assert.deepEqual(changesOf(recorded, other), []);
  });
  await t.test('what the database server has to do is compared, too', () => {
    const served = (databaseCpuMicrosPerRequest: number) =>
      sampleResults([
        sampleSite({
          engine: 'postgres',
          measured: [sampleMeasured('debit', { processes: 2, service: [{ databaseCpuMicrosPerRequest }] })],
        }),
      ]);
    const worse = changesOf(served(50), served(60)).filter(({ isWorse }) => isWorse);
    assert.deepEqual(
      worse.map(({ what }) => what),
      ['postgres, 1,000,000 cards: debit by 2 processes, in the server'],
    );
  });
});

test('goals are judged by medians, and only where there are figures', async (t) => {
  const rates = (...perSecond: readonly number[]) =>
    perSecond.map((requestsPerSecond) => ({ requestsPerSecond }));
  const site = (cards: number, create: readonly number[], update: number) =>
    sampleSite({
      cards,
      measured: [
        sampleMeasured('create', {
          service: rates(...create),
          latency: { p50Ms: 4, p99Ms: 20, p999Ms: 90 },
        }),
        sampleMeasured('update', { service: rates(update) }),
      ],
    });
  const results = sampleResults([site(10_000, [900, 800, 100], 700), site(1_000_000, [500], 600)]);
  const embedded = goalsOf(results).filter(({ engine }) => engine === 'embedded');
  const goals = new Map<string, Goal>(embedded.map((goal) => [goal.what, goal]));
  const verdict = (what: string): Goal['isMet'] | undefined => goals.get(what)?.isMet;
  await t.test('met', () => {
    assert.equal(goals.get('create at 10,000 cards')?.figure, 0.8);
    assert.equal(verdict('create at 10,000 cards'), true);
    assert.equal(verdict('update against create at 1,000,000 cards'), true);
    assert.equal(verdict('p99 of create at 1,000,000 cards'), true);
    assert.equal(verdict('p99 of create against its p50 at 1,000,000 cards'), true);
    assert.equal(verdict('memory under load with 1,000,000 cards, but for mapped files'), true);
  });
  await t.test('not met', () => {
    assert.equal(verdict('create at 1,000,000 cards'), false);
    assert.equal(verdict('update against create at 10,000 cards'), false);
    assert.equal(verdict('create slows down from 10,000 to 1,000,000 cards'), false);
  });
  await t.test('not measured', () => {
    assert.equal(verdict('retrieve at 1,000,000 cards'), null);
    assert.equal(verdict('create slows down from 10,000 to 10,000,000 cards'), null);
  });
});

test('two processes are judged where each is held to a share of a core', () => {
  const scaling = { coreShare: 0.25, onePerSecond: [100, 110], twoPerSecond: [180, 190] };
  const goals = goalsOf(sampleResults([sampleSite({ engine: 'postgres', scaling })]));
  const goal = goals.find(({ what }) => what.startsWith('debits of two processes'));
  assert.equal(goal?.isMet, true);
  assert.equal(goal.figure?.toFixed(2), '1.76');
  const without = goalsOf(sampleResults([sampleSite({ engine: 'postgres' })]));
  assert.equal(without.find(({ what }) => what === goal.what)?.isMet, null);
});

test('a run that may not be compared says why', async (t) => {
  const measured = (coresUsed: number, generatorCoresUsed: number) => [
    { ...sampleMeasured('retrieve', { service: [{}] }), ceiling: [{ ...sampleRound, coresUsed, generatorCoresUsed }] },
  ]; // prettier-ignore
  const warned = (given: Parameters<typeof sampleSite>[0], more = {}) =>
    warningsOf(sampleResults([sampleSite(given)], more)).map((warning) => warning.split(':')[0]);
  await t.test('a bare server that had its core is no reason', () => {
    assert.deepEqual(warned({ measured: measured(0.99, 0.7) }), []);
    assert.deepEqual(warned({ engine: 'postgres', measured: measured(0.55, 0.42) }), []);
  });
  await t.test('it did not have its core', () => {
    assert.deepEqual(warned({ measured: measured(0.7, 0.5) }), ['DISTURBED']);
    assert.deepEqual(warned({ engine: 'postgres', measured: measured(0.4, 0.3) }), ['DISTURBED']);
  });
  await t.test('the load generator was the limit', () => {
    assert.deepEqual(warned({ measured: measured(0.7, 0.99) }), ['NO CEILING']);
  });
  await t.test('nothing was pinned, or nothing was written to a disk', () => {
    const { machine } = sampleResults([]);
    const more = { isPinned: false, machine: { ...machine, isInMemory: true } };
    assert.deepEqual(warned({ measured: measured(0.7, 0.5) }, more), ['NOT PINNED', 'NOT DURABLE']);
  });
});

test('tables tell medians and the spread of the rounds', () => {
  const service = [{ requestsPerSecond: 400 }, { requestsPerSecond: 500 }, { requestsPerSecond: 700 }];
  const site = sampleSite({ measured: [sampleMeasured('create', { service, commitGroupSize: 31.25 })] });
  const [row] = rateTable(site).rows;
  assert.deepEqual(row, [
    'create', '1000', '500 (400–700)', '0.50 (0.40–0.70)', '1.00', '2.00', '3.00', '31.3',
  ]); // prettier-ignore
  const table = { title: 'Title', headings: ['', 'one'], rows: [['row', '1']] };
  assert.equal(plainText(table), 'Title\n        one\n  row     1');
  assert.equal(markdown(table), '|  | one |\n| --- | --: |\n| row | 1 |');
});

test('what PostgreSQL alone has is told only where it was measured', () => {
  assert.deepEqual(postgresTable(sampleResults([sampleSite({})])).rows, []);
  const titles = tablesOf(sampleResults([sampleSite({})])).map(({ title }) => title);
  assert.ok(!titles.includes('Transactions on the same PostgreSQL server'));
  const scaling = { coreShare: 0.25, onePerSecond: [100], twoPerSecond: [180] };
  const pgbench = [{ transaction: 'debit', clients: 64, transactionsPerSecond: [900] }] as const;
  const served = sampleSite({ engine: 'postgres', scaling, pgbench });
  assert.equal(postgresTable(sampleResults([served])).rows.length, 3);
});

test('what is written by hand around the measured part of a page stays', () => {
  const page = 'Above.\n\n<!-- bench: begin -->\nold\n<!-- bench: end -->\n\nBelow.\n';
  const written = putBetweenMarks(page, 'new');
  assert.equal(written, 'Above.\n\n<!-- bench: begin -->\n\nnew\n\n<!-- bench: end -->\n\nBelow.\n');
  assert.equal(putBetweenMarks(written, 'new'), written);
  assert.throws(() => putBetweenMarks('no marks', 'new'), Error);
});

test('an axis has a tick every 1, 2 or 5', () => {
  assert.deepEqual([0.03, 0.2, 1, 1.1, 3, 7, 40, 5_000].map(roundStep), [0.05, 0.2, 1, 2, 5, 10, 50, 5_000]);
});

test('a chart draws a mark for every figure there is, within its image', async (t) => {
  for (const kind of ['bars', 'ranges'] as const) {
    await t.test(kind, () => {
      const mark = { low: 1, median: 2, high: 40 };
      const svg = draw({
        title: 'Shares & <costs>',
        axis: 'ms',
        kind,
        decimals: 1,
        series: ['few', 'many'],
        groups: [
          { label: 'create', marks: [mark, mark] },
          { label: 'debit', marks: [null, mark] },
        ],
      });
      assert.equal(svg.match(/class="figure"/g)?.length, 3);
      assert.ok(svg.includes('Shares &amp; &lt;costs>'));
      assert.ok(svg.includes('prefers-color-scheme: dark'));
      const places = Array.from(svg.matchAll(/ (?:x|x1|x2|cx)="([^"]*)"/g), ([, x]) => Number(x));
      assert.ok(places.length > 0);
      assert.ok(
        places.every((x) => x >= 0 && x <= 760),
        String(places),
      );
    });
  }
});
