/** The results as tables, and `docs/performance.md`, which consists of them. */

import { changesIn, titleOf, type Change } from './compare.ts';
import { countOf, engineTitles, figureOf, markdown, type Table } from './format.ts';
import { costShare, featureRatio, goalsOf, rateShare, serviceMicros } from './goals.ts';
import { roundsMin, warmUpRequestsMin } from './options.ts';
import type { OperationName } from './operations.ts';
import type { Comparison, FixtureResults, HalfCapacity, Results, Rounds, Run } from './results.ts';
import { lowerQuartile, mean, median, type Latency } from './statistics.ts';
import { scriptsPerTransaction } from './writes.ts';

export function tablesOf(results: Results): readonly Table[] {
  return [
    goalTable(results),
    ...results.fixtures.map(operationTable),
    fixtureTable(results),
    ...importTables(results),
    ...featureTables(results),
    ...writesTables(results),
  ];
}

function goalTable(results: Results): Table {
  const verdicts = new Map([[true, 'met'], [false, 'not met'], [null, 'not measured']]); // prettier-ignore
  return {
    title: 'Goals',
    headings: ['', 'goal', 'measured', ''],
    rows: goalsOf(results).map(({ what, limit, isMaximum, unit, figure, isMet }) => [
      what,
      `${isMaximum ? '≤' : '≥'} ${figureOf(limit)} ${unit}`,
      figure === null ? '–' : figureOf(figure),
      verdicts.get(isMet) ?? '',
    ]),
  };
}

/** A line for each goal that is not met: what was tried, and the measured floor. */
export function unmetGoals(results: Results): readonly string[] {
  return goalsOf(results)
    .filter(({ isMet }) => isMet === false)
    .map(({ what, unit, floor }) => `- **${what}, ${unit}.** ${floor ?? 'The reason is not known yet.'}`);
}

function operationTable(fixture: FixtureResults): Table {
  const hasServer = fixture.engine === 'postgres';
  const ofServer = (cell: string): readonly string[] => (hasServer ? [cell] : []);
  return {
    title: titleOf(fixture),
    headings: [
      '', 'µs', 'of baseline', ...ofServer('server µs'), 'kB written', 'requests/s', 'of baseline', 'p50 ms', 'p99 ms', 'p99.9 ms',
    ],
    rows: [
      ...fixture.measured.map((measured) => [
        measured.operation,
        figureOf(serviceMicros(measured)),
        costShare(measured).toFixed(2),
        ...ofServer(figureOf(lowerQuartile(measured.service.databaseMicros ?? []))),
        writtenCell(measured.service),
        countOf(median(measured.service.requestsPerSecond)),
        rateShare(measured).toFixed(2),
        ...latencyCells(measured.service.latency),
      ]),
      ...pacedRows(fixture),
    ],
  }; // prettier-ignore
}

/** On SQLite only. */
function pacedRows({ halfCapacity, smallLoads = [] }: FixtureResults): readonly (readonly string[])[] {
  const row = (
    title: string,
    micros: readonly [own: string, share: string],
    { requestsPerSecond, latency }: HalfCapacity,
  ) => [title, ...micros, '', countOf(requestsPerSecond), '', ...latencyCells(latency)] as const;
  return [
    ...(halfCapacity ? [row('create, half capacity', ['', ''], halfCapacity)] : []),
    ...smallLoads.map((load) => {
      const pace = load.rate === null ? ', one caller' : ` at ${countOf(load.rate)}/s`;
      const { microsPerRequest: micros, floorMicros: floor } = load;
      const share = floor === undefined ? '' : (floor / micros).toFixed(2);
      return row(`${load.operation}${pace}`, [figureOf(micros), share], load);
    }),
  ];
}

function latencyCells({ p50Ms, p99Ms, p999Ms }: Latency): readonly string[] {
  return [p50Ms, p99Ms, p999Ms].map((ms) => ms.toFixed(1));
}

function fixtureTable({ fixtures }: Results): Table {
  return {
    title: 'Databases',
    headings: ['', 'filled, cards/s', 'bytes per card', 'ready after ms', 'MB at rest', 'MB under load', 'cards at end', 'verified, cards/s'],
    rows: fixtures.map((fixture) => [
      titleOf(fixture),
      countOf(fixture.cards / fixture.fillSeconds),
      countOf(fixture.bytesPerCard),
      countOf(fixture.readyAfterMs),
      countOf(fixture.memoryMb.atRest),
      countOf(fixture.memoryMb.underLoad),
      countOf(fixture.cardsAtEnd),
      countOf(fixture.cardsAtEnd / fixture.verifySeconds),
    ]),
  }; // prettier-ignore
}

function importTables({ imports = [] }: Results): readonly Table[] {
  if (imports.length === 0) return [];
  const rows = imports.map(({ engine, cards, seconds, microsPerCard, databaseMicros, memoryMb }) => [
    titleOf({ engine, cards }),
    figureOf(seconds),
    countOf(cards / seconds),
    figureOf(microsPerCard),
    databaseMicros === null ? '–' : figureOf(databaseMicros),
    countOf(memoryMb),
  ]);
  return [{ title: 'Imports', headings: ['', 's', 'cards/s', 'µs', 'server µs', 'MB'], rows }];
}

/** The cost of features for cards that use none of them. */
function featureTables({ unusedFeatures = [] }: Results): readonly Table[] {
  if (unusedFeatures.length === 0) return [];
  const rows = unusedFeatures.map((measured) => {
    const { ratio, low, high } = featureRatio(measured);
    const what = `${titleOf(measured)}: ${measured.operation}`;
    return [what, ratio.toFixed(3), `${low.toFixed(3)} – ${high.toFixed(3)}`];
  });
  return [{ title: 'Features that other cards use', headings: ['', 'ratio', 'between'], rows }];
}

/** The writes to the largest SQLite database. */
function writesTables({ fixtures }: Results): readonly Table[] {
  const largest = fixtures.findLast(({ writes }) => writes !== null);
  if (!largest?.writes) return [];
  const rows = largest.writes.map(({ operation, logBytes, pages, pagesByTree }) => {
    const shares = Object.entries(pagesByTree).filter(([, share]) => share >= 0.1);
    const trees = shares.map(([name, share]) => `${name} ${share.toFixed(2)}`).join(', ');
    return [operation, countOf(logBytes), pages.toFixed(2), trees];
  });
  const title = `Writes per operation: ${titleOf(largest)}, ${scriptsPerTransaction} operations in a transaction`;
  return [{ title, headings: ['', 'bytes of the log', 'pages', 'of these'], rows }];
}

/** The tables of two services that ran in turn. */
export function comparisonTables(comparison: Comparison): readonly Table[] {
  const title = `Processor time per request in µs: ${comparison.revision} against ${comparison.against}`;
  const rows = comparison.fixtures.flatMap((fixture) =>
    fixture.compared.map(({ operation, before, after }) => [
      `${titleOf(fixture)}: ${operation}`,
      ...[before, after].map(({ microsPerRequest }) => figureOf(mean(microsPerRequest))),
      ...[before, after].map(({ requestsPerSecond }) => countOf(median(requestsPerSecond))),
      ...[before, after].map(({ latency }) => latency.p99Ms.toFixed(1)),
      ...[before, after].map(writtenCell),
      ...[before, after].map(({ memoryMb }) => countOf(memoryMb ?? Number.NaN)),
    ]),
  );
  return [
    changeTable(title, changesIn(comparison)),
    {
      title: 'Other figures, before and after',
      headings: [
        '',
        'mean µs',
        'after',
        'requests/s',
        'after',
        'p99 ms',
        'after',
        'kB written',
        'after',
        'MB',
        'after',
      ],
      rows,
    },
  ];
}

export function changeTable(title: string, changes: readonly Change[]): Table {
  return {
    title,
    headings: ['', 'before', 'after', 'ratio', 'between', 'cost'],
    rows: changes.map(({ what, before, after, ratio, low, high, verdict }) => [
      what,
      figureOf(before),
      figureOf(after),
      ratio.toFixed(3),
      `${low.toFixed(3)} – ${high.toFixed(3)}`,
      verdict,
    ]),
  };
}

/** kB per request. */
function writtenCell({ writtenBytes }: Rounds): string {
  return writtenBytes ? (median(writtenBytes) / 1_000).toFixed(1) : '–';
}

/** The reasons why the figures of a run must not be compared with others. */
export function warningsOf(results: Results): readonly string[] {
  const { rounds, warmUpRequests } = results;
  const isProvisional = rounds < roundsMin || warmUpRequests < warmUpRequestsMin;
  const figures = `${rounds} rounds after ${countOf(warmUpRequests)} warm-up requests`;
  return [...circumstancesOf(results), ...(isProvisional ? [`Provisional: ${figures} are too few.`] : [])];
}

/** Returns the other problems of a run: they affect both services of a comparison. */
export function circumstancesOf({ isPinned, machine }: Run): readonly string[] {
  return [
    ...(isPinned ? [] : ['Not pinned: servers and load generator compete for the same cores.']),
    ...(machine.isInMemory ? ['Not durable: the databases are in memory, where a sync costs nothing.'] : []),
  ];
}

/** The cards of a shop whose figures come first. */
const shopCards = 1_000_000;
const salesOfDay = 10_000;

/** The figures of one process, for people who choose a machine. */
function shopTable({ fixtures, imports = [] }: Results): Table {
  const shown = fixtures.filter(({ cards }) => cards === shopCards);
  const row = (title: string, cell: (fixture: FixtureResults) => string): readonly string[] => [
    title,
    ...shown.map(cell),
  ];
  const rateOf = (operation: OperationName) => (fixture: FixtureResults) =>
    cellOf(fixture, operation, ({ requestsPerSecond }) => countOf(median(requestsPerSecond)));
  return {
    title: 'What to expect',
    headings: [`with ${countOf(shopCards)} cards`, ...shown.map(({ engine }) => engineTitles[engine])],
    rows: [
      row('cards issued per second', rateOf('create')),
      row('cards redeemed per second', rateOf('debit')),
      row('cards retrieved per second', rateOf('retrieve')),
      row('ms until the response to a redemption', (fixture) =>
        cellOf(fixture, 'debit', ({ latency }) => latency.p50Ms.toFixed(1)),
      ),
      row('ms that 99 % of them do not exceed', (fixture) =>
        cellOf(fixture, 'debit', ({ latency }) => latency.p99Ms.toFixed(1)),
      ),
      row('MB of memory', ({ memoryMb }) => countOf(memoryMb.underLoad)),
      row('kB on the disk for each card', ({ bytesPerCard }) => (bytesPerCard / 1_000).toFixed(1)),
      row('seconds until the service is ready', ({ readyAfterMs }) => (readyAfterMs / 1_000).toFixed(1)),
      row('minutes to import a million cards', ({ engine }) => {
        const largest = imports
          .filter((one) => one.engine === engine)
          .toSorted((a, b) => b.cards - a.cards)[0];
        return largest ? figureOf((largest.seconds * shopCards) / largest.cards / 60) : '–';
      }),
      row('seconds to verify a million cards', ({ cardsAtEnd, verifySeconds }) =>
        countOf((verifySeconds * shopCards) / cardsAtEnd),
      ),
    ],
  };
}

function cellOf(
  { measured }: FixtureResults,
  operation: OperationName,
  cell: (rounds: Rounds) => string,
): string {
  const found = measured.find((one) => one.operation === operation);
  return found ? cell(found.service) : '–';
}

/** Says how little of a core the sales of a day are; undefined: they were not measured. */
function dayText({ fixtures }: Results): string | undefined {
  const shop = fixtures.find(({ engine, cards }) => engine === 'embedded' && cards === shopCards);
  const [create, debit] = (['create', 'debit'] as const).map((name) =>
    shop?.measured.find(({ operation }) => operation === name),
  );
  if (!create || !debit) return undefined;
  const seconds = (salesOfDay * (serviceMicros(create) + serviceMicros(debit))) / 1e6;
  return `A day on which ${countOf(salesOfDay)} cards are issued and redeemed costs ${figureOf(Number(seconds.toPrecision(1)))} s of processor time on SQLite.`;
}

const monthSeconds = 30 * 24 * 60 * 60;
const salesOfMonth = [1_000, 100_000] as const;

/** Says what a shop pays in a month; undefined: it was not measured. */
function monthText({ fixtures }: Results): string | undefined {
  const shop = fixtures.find(({ engine, cards }) => engine === 'embedded' && cards === shopCards);
  const microsOf = (name: OperationName): number | undefined =>
    shop?.smallLoads?.find(({ operation, rate }) => operation === name && rate === null)?.microsPerRequest;
  const [create, debit] = [microsOf('create'), microsOf('debit')];
  if (shop?.idlePercent === undefined || create === undefined || debit === undefined) return undefined;
  const idleMinutes = figureOf(Math.round((shop.idlePercent / 100) * (monthSeconds / 60)));
  const [few, many] = salesOfMonth.map((cards) => {
    const seconds = (cards * (create + debit)) / 1e6;
    return { cards: countOf(cards), seconds: figureOf(Number(seconds.toPrecision(2))) };
  });
  return `In a month without requests, the service takes ${idleMinutes} minutes of processor time; ${few?.cards} cards, issued and redeemed one after another, add ${few?.seconds} s, and ${many?.cards} cards ${many?.seconds} s.`;
}

/** The text of `docs/performance.md`. */
export function pageOf(results: Results): string {
  const { machine, connections, rounds, secondsPerRound, warmUpRequests, revision } = results;
  const shown = results.fixtures.filter(({ cards }) => cards === shopCards);
  const unmet = unmetGoals(results);
  return [
    '# Performance',
    '<!-- Generated by `npm run bench -- --record` from bench/recorded.json: change bench/page.ts instead. -->',
    ...warningsOf(results).map((warning) => `> **${warning}**`),
    markdown(shopTable(results)),
    [
      `These are the figures of one process on one core while ${connections} callers send requests without a pause; a PostgreSQL server has a core of its own.`,
      dayText(results),
      monthText(results),
      '[Growing](growing.md) says when you need more than one file.',
    ]
      .filter((text) => text !== undefined)
      .join(' '),
    'The rest of this page is for developers. [Decisions](decisions/performance.md) lists what was tried, and [Measure it](../CONTRIBUTING.md#measure-it) the commands. `npm run bench -- --from bench/recorded.json` prints the results with other numbers of cards, of imports, and what each operation writes.',
    `Measured on ${results.measuredOn} at ${revision}: ${machine.processor}, ${machine.cores} cores, ${machine.memoryGb} GB, ${machine.kernel}, Node.js ${machine.node}. \`fdatasync\` of a page takes ${machine.fdatasync.p50Ms.toFixed(2)} ms (p50) and ${machine.fdatasync.p99Ms.toFixed(2)} ms (p99).`,
    markdown(goalTable(results)),
    `Goals without a number of cards are for SQLite with 1,000,000 cards.`,
    ...(unmet.length > 0 ? ['### Goals that are not met', unmet.join('\n')] : []),
    '## How it is measured',
    [
      `- **Rounds.** The service and the baseline, a bare \`node:http\` server of the same Node.js that returns as many bytes, run in turn for ${secondsPerRound} s each, ${rounds} rounds per operation, after ${countOf(warmUpRequests)} warm-up requests to both.`,
      '- **µs** is the processor time of all threads of the service per request. The figure is the lower quartile of the rounds, because other programs can only add to it. The share of the baseline is the quotient of both quartiles. For the loads far below the capacity, the baseline also inserts a row, commits and syncs.',
      '- **kB written** per request: with SQLite by the service, log lines included; with PostgreSQL to the log of the server, which makes no checkpoint during the run.',
      '- **Requests/s** are medians in a closed loop: each of ' +
        `${connections} keep-alive connections sends its next request when its response has arrived. Latencies are over all rounds.`,
      '- **Half capacity** is an open loop at half the rate of the closed one. Latency counts from the time at which a request was due. The µs of small loads include what the service does between the requests.',
      '- **Idle** is the processor time of the service without requests, a few seconds after its start.',
      '- **Features of other cards.** The services of two stores run in turn. In one, half of the cards have locations, external ids and suspensions, and 10,000 printed codes are in stock; the requests concern the other half.',
      '- **Requests.** Every card has a note and one in four a customer; cards are chosen at random. Mixed 90/10 is 80 retrievals, 10 searches, 5 creations and 5 debits, half of the writes with an `Idempotency-Key`. Only the rate limit is off.',
      '- **Cores.** With SQLite, the service has core 0 and the load generator core 1. With PostgreSQL, the database server has core 1, and the service shares core 0 with the load generator.',
      '- **Imports.** Batches of 10,000 cards are created through the API, in an empty database, without other requests.',
      '- **Proof.** Every response must have its status, and a sample of the bodies is checked. At the end `largesse verify` recomputes the ledger, which must follow from the responses.',
    ].join('\n'),
    ...shown.map(operationTable).map(markdown),
  ].join('\n\n');
}
