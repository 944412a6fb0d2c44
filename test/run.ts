/**
 * Runs the tests: `npm test`, `npm test -- test/unit/money.test.ts`, `npm test -- --name redeem`, `npm test
 * -- --engine sqlite`.
 *
 * `npm run test:fast` runs the unit, HTTP and delivery tests on SQLite.
 *
 * A file runs once for each engine, which `TEST_ENGINE` names. A file whose name ends in `.sqlite.test.ts` or
 * `.postgres.test.ts` runs only on that engine.
 *
 * Several files of `test/unit`, `test/http`, `test/delivery` and `test/conformance` share a process, one after another,
 * which saves its start. A file that is the only one, and every file of a run with `--name`, has its own process.
 *
 * `npm run test:soak` runs the long rounds in `test/soak/` instead. Files that need a missing Debian package
 * or a browser are omitted with a notice, and fail the run if `CI` is set.
 *
 * A process in which a test fails runs its files once more at the end, each alone. The end of the output names what failed
 * before, and the run fails if it fails again. With more than a few such processes, nothing is repeated.
 *
 * It is stricter than `node --test`: a skipped or unfinished test fails the run, and so does a file in which
 * no test ran (an early `process.exit(0)` would otherwise count as a pass).
 */
import { accessSync, constants, existsSync, globSync, mkdirSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { delimiter, join, relative } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { run } from 'node:test';
import { spec, type TestEvent } from 'node:test/reporters';
import { parseArgs } from 'node:util';
import { makePackage } from '../packaging/npm/package.ts';
import { findChromium } from './support/chromium.ts';
import { engineNames, type EngineId } from './support/engine-database.ts';
import { startSharedPostgres } from './support/postgres-database.ts';
import { openRunFolder, runFolder } from './support/scratch.ts';
import { isOnServerLater, isOnSqliteFirst, readSent, unrepeated } from './support/server-files.ts';

/** These files use no engine, or all of them, or test the command line: they run once. */
const once =
  /^test\/((unit|interleaving|conformance|failover|delivery)\/|e2e\/(app-proxy|cli|copy|counter|printed-cards|webhook-receiver)\.)/;
/** A run of only these files starts no PostgreSQL server. */
const withoutServer = /^test\/(unit|interleaving|delivery)\//;
/** These files send the statements that are compared (`test/support/server-files.ts`). */
const recorded = /^test\/(?:http|money|race|conformance)\//;
/** A run of only these files makes no bundle: they start few processes, from the sources. */
const withoutBundle = /^test\/(unit|http|delivery|conformance|interleaving)\//;
/** These files start, load and kill whole servers: two of them run at a time. */
const heavy = /^test\/(crash|failover|faults|soak)\//;
const heavyAtOnce = 2;
/**
 * These run only in the soak: they kill processes, fail disks and servers, or walk through whole days in a browser, which
 * takes long, and other tests use most of the same code.
 */
const onlySoak =
  /^test\/(?:(?:soak|crash|failover|faults)\/|browser\/(?:bulk-day|code-secrecy|first-run|import|pages|pdf|print|receipts|reference|settings|shop-day|till-app|till-kills)\.|conformance\/(?:earlier-schema|postgres-(?:corruption|proofs)|sqlite-(?:corruption|damage|remains)|store-copy)\.|e2e\/(?:app-proxy|backup|checkpoint|cli-running|copy|processes|restore-page)\.|interleaving\/(?:interleaving-cases|planted)\.|race\/migration\.|unit\/(?:hostile-tables|removed-entries|worst-strings)\.)/;
/** `npm run test:fast` runs these, on SQLite. */
const fast = /^test\/(unit|http|delivery)\//;
/**
 * `npm run test:soak` runs its own files, and these with more rounds. The environment can set other numbers.
 */
const longer: readonly {
  readonly files: RegExp;
  /** Absent: each engine. */
  readonly engine?: EngineId;
  readonly rounds: Readonly<Record<string, string>>;
}[] = [
  { files: /^test\/crash\/online-sales\./, rounds: { CRASH_ROUNDS: '40' } },
  // One caller at a time: the engine changes nothing but the time that a step takes.
  { files: /^test\/money\/model\./, engine: 'sqlite', rounds: { MODEL_RUNS: '1000' } },
  { files: /^test\/money\/model\./, engine: 'postgres', rounds: { MODEL_RUNS: '150' } },
  { files: /^test\/money\/online-sales\./, engine: 'sqlite', rounds: { SALES: '2000' } },
  { files: /^test\/money\/online-sales\./, engine: 'postgres', rounds: { SALES: '600' } },
  { files: /^test\/money\/race\./, rounds: { RACE_CALLERS: '1000', EXPIRY_ROUNDS: '60' } },
  { files: /^test\/e2e\/copy\./, rounds: { COPY_KILLS: '8' } },
  { files: /^test\/http\/client\./, rounds: { CLIENT_REQUESTS: '1200' } },
  { files: /^test\/http\/mcp\./, rounds: { MCP_RUNS: '100' } },
  { files: /^test\/race\/creation\./, rounds: { RACE_CALLERS: '400' } },
  { files: /^test\/race\/start\./, rounds: { STARTS: '10' } },
  { files: /^test\/interleaving\/interleaving\./, rounds: { SCHEDULES: '12000' } },
  { files: /^test\/interleaving\/interleaving-cases\./, rounds: { ORDERS: '600' } },
  { files: /^test\/browser\/pages\./, rounds: { PAGES: 'all' } },
  {
    files: /^test\/conformance\/(sqlite|postgres-(services|proofs))\./,
    rounds: { LONG_TESTS: 'all', SERIES_RUNS: '100', PAST_RUNS: '20' },
  },
  // On tables without partitions, it runs in `npm test`.
  { files: /^test\/conformance\/postgres-services\./, rounds: { TEST_PARTITIONS: '4' } },
  { files: /^test\/failover\/(connection|sharing)\./, rounds: { FAILOVER_CUTS: '120' } },
  { files: /^test\/browser\/pdf\./, rounds: { PRINTED_CARDS: '500' } },
];
/** The files of one folder share processes: their tests use separate stores, services and databases. */
const sharing = /^test\/(unit|http|delivery|conformance)\//;
/** These files measure processor time, change the environment or take long: each has its own process. */
const alone =
  /\/(worst-strings\.sqlite|expressions|smtp|conformance\/(sqlite|postgres|postgres-(services|server)|sqlite-checkpoints))\.test\.ts$/;
/** With more files, one process would run long after the others have ended. */
const filesInProcessMax = 12;
const sharedMain = 'test/support/run-files.ts';
const processorTime = join(import.meta.dirname, 'support/processor-time.ts');
const recordedStatements = join(import.meta.dirname, 'support/recorded-statements.ts');
/** The longest files start first, which keeps them from running alone at the end. */
const order = [
  heavy,
  /^test\/(e2e|browser)\//,
  /^test\/(money|race)\//,
  /^test\/(conformance|interleaving)\//,
];
const slowestShown = 10;
/** The most processes whose files are repeated: more of them have a cause that a repetition does not change. */
const repeatedMax = 5;
const failureTextMax = 1_000;

/** The programs that a file runs and npm does not install, each with its Debian package. */
const programs: readonly { readonly files: RegExp; readonly program: string; readonly package: string }[] = [
  {
    files: /^test\/(faults\/.*\.sqlite|soak\/(power-cuts|full-disk|failed-sync))\./,
    program: 'gcc',
    package: 'gcc libc6-dev',
  },
  { files: /^test\/faults\/clock/, program: 'faketime', package: 'faketime' },
  { files: /^test\/soak\/pgbouncer/, program: 'pgbouncer', package: 'pgbouncer' },
  { files: /^test\/http\/wallets/, program: 'openssl', package: 'openssl' },
  { files: /^test\/browser\/pdf/, program: 'pdftoppm', package: 'poppler-utils' },
  { files: /^test\/browser\/pdf/, program: 'zbarimg', package: 'zbar-tools' },
  {
    files: /^test\/(?:e2e\/processes|crash\/(?:erased-bytes|shop)|e2e\/restore-page)\./,
    program: 'ps',
    package: 'procps',
  },
  { files: /^test\/soak\/restore-drill/, program: 'curl', package: 'curl' },
  { files: /^test\/soak\/restore-drill/, program: 'jq', package: 'jq' },
  { files: /^test\/soak\/code-samples/, program: 'curl', package: 'curl' },
  { files: /^test\/soak\/code-samples/, program: 'php', package: 'php-cli' },
  { files: /^test\/soak\/code-samples/, program: 'python3', package: 'python3' },
  { files: /^test\/soak\/backups/, program: 'age', package: 'age' },
  { files: /^test\/soak\/backups/, program: 'zstd', package: 'zstd' },
  { files: /^test\/soak\/prometheus/, program: 'promtool', package: 'prometheus' },
  { files: /^test\/(?:e2e\/https|soak\/certificates)\./, program: 'pebble', package: 'pebble' },
  { files: /^test\/soak\/whole-way\./, program: 'pebble', package: 'pebble' },
  { files: /^test\/soak\/whole-way\./, program: 'certutil', package: 'libnss3-tools' },
  { files: /^test\/soak\/whole-way\./, program: 'ip', package: 'iproute2' },
  { files: /^test\/soak\/certificates\./, program: 'systemd-socket-activate', package: 'systemd' },
  { files: /^test\/soak\/deb\./, program: 'dpkg-deb', package: 'dpkg' },
  { files: /^test\/soak\/deb\./, program: 'systemd-analyze', package: 'systemd' },
];

/** These files need a browser: an installed one, or the one of a package. */
const inBrowser = /^test\/browser\//;

/** The files of a process, and their engine; null: they run once. */
type Job = { readonly files: readonly [string, ...string[]]; readonly engine: EngineId | null };

const { values, positionals } = parseArgs({
  options: {
    name: { type: 'string' },
    engine: { type: 'string' },
    fast: { type: 'boolean', default: false },
    soak: { type: 'boolean', default: false },
  },
  allowPositionals: true,
});
const engines = Object.keys(engineNames) as readonly EngineId[];
const wanted = values.fast ? 'sqlite' : values.engine;
const chosen = engines.filter((engine) => wanted === undefined || wanted === engine);
const named = positionals.map((path) => relative('', path));
const runKind = values.soak ? 'soak' : 'test';
const isOnCluster = Boolean(process.env['TEST_CITUS_WORKERS']);
/** On a cluster, all of whose servers are on this machine, a file can take an hour. */
const minutesPerFile = { cluster: 120, soak: 30, test: 15 } as const;
/** `npm test` without a selection compares the statements that its files send. */
const isRecorded =
  named.length === 0 && values.name === undefined && wanted === undefined && !values.soak && !isOnCluster;
const timeoutPerFileMs = minutesPerFile[isOnCluster ? 'cluster' : runKind] * 60_000;
const testFiles =
  named.length > 0 ? named : globSync('test/**/*.test.ts').filter(isOfThisRun).toSorted(byOrder);
/** Most files wait part of the time. */
const atOnce = availableParallelism() + 2;
const totals = new Map<string, number>();
const complaints: string[] = [];
const notices: string[] = [];
/** The tests of each suite, and the sum of the seconds of its files. */
const suites = new Map<string, { tests: number; seconds: number }>();
const durations: { readonly name: string; readonly seconds: number }[] = [];

function isOfThisRun(file: string): boolean {
  if (values.soak)
    return onlySoak.test(file) || isOnServerLater(file) || longer.some((each) => each.files.test(file));
  return !onlySoak.test(file) && (!values.fast || fast.test(file));
}

function byOrder(one: string, other: string): number {
  const rank = (file: string): number =>
    (order.findIndex((part) => part.test(file)) + order.length + 1) % (order.length + 1);
  return rank(one) - rank(other) || (one < other ? -1 : 1);
}

function isInstalled(program: string): boolean {
  return [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin'].some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

/** Whether a browser runs on this machine. Starts one only if a file needs it. */
async function findsBrowser(): Promise<boolean> {
  if (!testFiles.some((file) => inBrowser.test(file))) return false;
  await using chromium = await findChromium();
  return chromium !== null;
}

/** Whether this machine has the programs of the file. Logs the missing packages. */
function canRun(file: string): boolean {
  const packages = programs
    .filter((need) => need.files.test(file) && !isInstalled(need.program))
    .map((need) => need.package);
  if (inBrowser.test(file) && !hasBrowser) packages.push('chromium (or another Chrome or Chromium)');
  for (const name of packages) {
    const notice = `${file}: not run, it needs the Debian package ${name}`;
    if (process.env['CI'] === undefined) notices.push(notice);
    else complaints.push(notice);
  }
  return packages.length === 0;
}

/** The runs of a file. */
function jobsOf(file: string): readonly Job[] {
  if (!canRun(file)) return [];
  if (once.test(file))
    return values.engine === undefined || named.length > 0 ? [{ files: [file], engine: null }] : [];
  const [, only] = /\.([a-z]+)\.test\.ts$/.exec(file) ?? [];
  if (only !== undefined && !(only in engineNames))
    complaints.push(`${file}: its name has an unknown engine`);
  return chosen
    .filter((engine) => only === undefined || only === engine)
    .filter((engine) => isOfThisEngine(file, engine))
    .map((engine) => ({ files: [file], engine }));
}

function isOfThisEngine(file: string, engine: EngineId): boolean {
  if (named.length > 0 || values.engine !== undefined || !isOnSqliteFirst(file)) return true;
  if (engine === 'postgres') return values.soak && isOnServerLater(file);
  // The soak runs a file on SQLite only for more rounds.
  return !values.soak || longer.some((each) => each.files.test(file));
}

/** Puts files of one folder and engine into shared processes, in the place of their first file. */
function share(single: readonly Job[]): readonly Job[] {
  if (values.name !== undefined) return single;
  const keyOf = ({ files: [file], engine }: Job): string =>
    sharing.test(file) && !alone.test(file) ? `${folderOf(file)} ${engine}` : `${file} ${engine}`;
  return [...Map.groupBy(single, keyOf).values()].flatMap((group) => {
    const processes = Math.ceil(group.length / filesInProcessMax);
    // Neighbours in the alphabet are often alike, so each process takes every nth file.
    const dealt = Map.groupBy(group.entries(), ([index]) => index % processes);
    return [...dealt.values()].flatMap((hand) => {
      const [first, ...others] = hand.map(([, job]) => job);
      return first
        ? [{ ...first, files: [...first.files, ...others.flatMap(({ files }) => files)] as const }]
        : [];
    });
  });
}

/** `test/unit`, for a file in it or in its folders. */
function folderOf(file: string): string {
  return file.split('/').slice(0, 2).join('/');
}

function nameOf(file: string, engine: EngineId | null): string {
  return engine === null ? file : `${file} on ${engineNames[engine]}`;
}

function describe({ files, engine }: Job): string {
  return nameOf(files.join(', '), engine);
}

/** The suite of a run: its folder, on its engine. */
function suiteOf({ files: [file], engine }: Job): { tests: number; seconds: number } {
  const name = nameOf(folderOf(file), engine);
  const suite = suites.get(name) ?? { tests: 0, seconds: 0 };
  suites.set(name, suite);
  return suite;
}

type Ran = {
  readonly job: Job;
  readonly events: readonly TestEvent[];
  /** With the processes that it started. */
  readonly processorSeconds: number;
};

let processes = 0;

async function runFiles(job: Job): Promise<Ran> {
  const startedAt = performance.now();
  const record = join(runFolder(), `processor-time-${(processes += 1)}`);
  const [file] = job.files;
  const isShared = job.files.length > 1;
  // Files that share a process take seconds each.
  const signal = AbortSignal.timeout(isShared ? 2 * timeoutPerFileMs : timeoutPerFileMs);
  const rounds = longer.filter(
    ({ files, engine }) =>
      values.soak && job.files.some((each) => files.test(each)) && (engine ?? job.engine) === job.engine,
  );
  const env = {
    ...Object.fromEntries(rounds.flatMap((each) => Object.entries(each.rounds))),
    ...process.env,
    ...(job.engine !== null && { TEST_ENGINE: job.engine }),
    TEST_RUNNER: String(process.pid),
    TEST_PROCESSOR_TIME: record,
    TEST_FILE: file,
  };
  const stream: AsyncIterable<TestEvent> = run({
    files: [isShared ? sharedMain : file],
    argv: isShared ? [...job.files] : [],
    execArgv: [processorTime, ...(isRecorded && recorded.test(file) ? [recordedStatements] : [])].flatMap(
      (module) => ['--import', module],
    ),
    signal,
    testNamePatterns: values.name,
    env,
  });
  const events = await Array.fromAsync(stream);
  const seconds = (performance.now() - startedAt) / 1_000;
  suiteOf(job).seconds += seconds;
  if (!isShared) durations.push({ name: describe(job), seconds });
  // A process that was killed has none.
  const processorSeconds = existsSync(record) ? Number(readFileSync(record, 'utf8')) : 0;
  return { job, events, processorSeconds };
}

/** Adds one file's results to the totals and yields the events to show. */
function* evaluate({ job, events, processorSeconds }: Ran): Generator<TestEvent> {
  const summaries = events.flatMap((event) => (event.type === 'test:summary' ? [event.data] : []));
  const testsInFile = summaries.find((summary) => summary.file !== undefined)?.counts.tests;
  if (values.name !== undefined && testsInFile === 0) return;
  yield heading(`${describe(job)}: ${processorSeconds.toFixed(1)} s of processor time`);
  const failures = failuresOf(job, events);
  complaints.push(...failures);
  if (failures.length === 0 && !summaries.every((summary) => summary.success))
    complaints.push(`${describe(job)}: failed`);
  else if ((testsInFile ?? 0) === 0)
    complaints.push(`${describe(job)}: no test in it, or ended before its tests did`);
  suiteOf(job).tests += testsInFile ?? 0;
  if (job.files.length > 1) checkEachFile(job, events);
  for (const event of nameFailures(job, events)) {
    if (event.type === 'test:diagnostic' && event.data.file === undefined) {
      const [, name, count] = /^(\w+) ([\d.]+)$/.exec(event.data.message) ?? [];
      if (name !== undefined) totals.set(name, (totals.get(name) ?? 0) + Number(count));
      continue;
    }
    if (event.type === 'test:pass' || event.type === 'test:fail') {
      const { name, skip = false, todo = false } = event.data;
      if (skip !== false || todo !== false)
        complaints.push(`${describe(job)}: skipped or unfinished: ${name}`);
    }
    yield event;
  }
}

function failuresOf(job: Job, events: readonly TestEvent[]): readonly string[] {
  return events.flatMap((event) => (event.type === 'test:fail' ? failureOf(job, event.data) : []));
}

/**
 * The name and the error of a failed test: the last lines of the output say what failed. A test that failed only because of
 * its subtests has none.
 */
function failureOf(
  { engine }: Job,
  { name, file, line, details }: Extract<TestEvent, { readonly type: 'test:fail' }>['data'],
): readonly string[] {
  const { error } = details;
  const { failureType } = error as { readonly failureType?: string };
  if (failureType === 'subtestsFailed') return [];
  const place = `${relative('', file ?? '')}:${line}`;
  const { cause } = error;
  const message = cause instanceof Error ? cause.message : error.message;
  return [`${nameOf(place, engine)}: ${name}: ${message.slice(0, failureTextMax)}`];
}

/** Checks that a test ran in each file of a shared process, where a suite has the name of the file. */
function checkEachFile({ files, engine }: Job, events: readonly TestEvent[]): void {
  let tests = 0;
  const missing = new Set(files);
  for (const event of events) {
    if (event.type !== 'test:pass' && event.type !== 'test:fail') continue;
    const { name, nesting, details } = event.data;
    if (nesting > 0) {
      if (details.type !== 'suite') tests += 1;
      continue;
    }
    durations.push({ name: nameOf(name, engine), seconds: details.duration_ms / 1_000 });
    if (tests > 0) missing.delete(name);
    tests = 0;
  }
  for (const file of missing)
    complaints.push(`${nameOf(file, engine)}: no test in it, or ended before its tests did`);
}

/** Adds the engine to the names of failures, which are repeated at the end, far from the heading. */
function nameFailures({ engine }: Job, events: readonly TestEvent[]): readonly TestEvent[] {
  if (engine === null) return events;
  const namedEvents = new Set(['test:start', 'test:pass', 'test:fail']);
  const keyOf = ({ data }: TestEvent): string => {
    const { name, line, column, nesting } = data as unknown as Readonly<Record<string, unknown>>;
    return [name, line, column, nesting].join(' ');
  };
  const failed = new Set(events.filter(({ type }) => type === 'test:fail').map(keyOf));
  return events.map((event) => {
    if (!namedEvents.has(event.type) || !failed.has(keyOf(event))) return event;
    // A kind of event and its data stay together; only the name changes.
    const { name } = event.data as { readonly name: string };
    return { ...event, data: { ...event.data, name: `${name} [${engineNames[engine]}]` } } as TestEvent;
  });
}

/** Takes the next job that can run with the running ones. */
function takeNext(waiting: Job[], running: readonly Job[]): Job | undefined {
  if (running.length >= atOnce) return undefined;
  const isFull = running.filter(({ files: [file] }) => heavy.test(file)).length >= heavyAtOnce;
  const place = waiting.findIndex(({ files: [file] }) => !isFull || !heavy.test(file));
  return place < 0 ? undefined : waiting.splice(place, 1)[0];
}

async function* runAll(jobs: readonly Job[]): AsyncGenerator<TestEvent> {
  const waiting = [...jobs];
  const failed: Ran[] = [];
  const running = new Map<Job, ReturnType<typeof runFiles>>();
  while (waiting.length + running.size > 0) {
    for (
      let next = takeNext(waiting, [...running.keys()]);
      next;
      next = takeNext(waiting, [...running.keys()])
    )
      running.set(next, runFiles(next));
    const ran = await Promise.race(running.values());
    running.delete(ran.job);
    if (hasFailed(ran)) {
      failed.push(ran);
      const reasons = failuresOf(ran.job, ran.events);
      yield heading(`failed, and runs again at the end: ${describe(ran.job)}\n${reasons.join('\n')}`);
    } else yield* evaluate(ran);
  }
  for (const ran of failed) {
    const { job, events } = ran;
    if (failed.length > repeatedMax) {
      yield* evaluate(ran);
      continue;
    }
    const failures = failuresOf(job, events);
    const reasons = failures.length > 0 ? failures : [`${describe(job)}: failed without a failed test`];
    notices.push(...reasons.map((reason) => `failed, and ran again: ${reason}`));
    for (const file of job.files) yield* evaluate(await runFiles({ ...job, files: [file] }));
  }
}

function hasFailed({ events }: Ran): boolean {
  return events.some((event) => event.type === 'test:summary' && !event.data.success);
}

function note(message: string): TestEvent {
  return { type: 'test:diagnostic', data: { nesting: 0, level: 'info', message } };
}

function heading(text: string): TestEvent {
  return { type: 'test:stdout', data: { message: `\n${text}\n`, file: '' } };
}

/**
 * Runs the files on PostgreSQL of whose statements some are sent by no test there. Some statements depend on the time that a
 * step takes, so a run names the files, and does not fail.
 */
async function* runUnrepeated(statements: string): AsyncGenerator<TestEvent> {
  for (const [file, sentence] of unrepeated(readSent(statements))) {
    if (isOnSqliteFirst(file)) {
      notices.push(`${sentence}\nIt has run on PostgreSQL now.`);
      yield* evaluate(await runFiles({ files: [file], engine: 'postgres' }));
    } else complaints.push(sentence);
  }
}

/** @param statements the folder of the statements that tests have sent. */
async function* runEverything(jobs: readonly Job[], statements: string): AsyncGenerator<TestEvent> {
  yield* runAll(jobs);
  if (isRecorded && complaints.length === 0) yield* runUnrepeated(statements);
  totals.set('duration_ms', Math.round(performance.now()));
  for (const [name, { tests, seconds }] of suites)
    yield note(`${name}: ${tests} tests in ${Math.round(seconds)} s`);
  const slowest = durations.toSorted((one, other) => other.seconds - one.seconds).slice(0, slowestShown);
  for (const { name, seconds } of slowest) yield note(`slowest: ${name} in ${Math.round(seconds)} s`);
  for (const [name, count] of totals) yield note(`${name} ${count}`);
}

if (chosen.length === 0) complaints.push(`--engine ${values.engine} must be ${engines.join(' or ')}`);
const hasBrowser = await findsBrowser();
const jobs = share(testFiles.flatMap(jobsOf));
// Node.js caches compiled sources for all processes of this run and the next one.
process.env['NODE_COMPILE_CACHE'] ??= join(import.meta.dirname, '../node_modules/.cache/largesse-tests');
{
  using _folder = openRunFolder();
  const isNamed = Boolean(process.env['TEST_POSTGRES_URL']);
  const needsServer = jobs.some(
    ({ files: [file], engine }) => engine !== 'sqlite' && !withoutServer.test(file),
  );
  // A preloaded module of a cluster changes the limits of the sources.
  if (!isOnCluster && jobs.some(({ files: [file] }) => !withoutBundle.test(file))) {
    const program = join(runFolder(), 'program');
    await makePackage(program);
    process.env['TEST_PROGRAM'] = program;
  }
  await using postgres = isNamed || !needsServer ? undefined : await startSharedPostgres();
  if (postgres) process.env['TEST_POSTGRES_URL'] = postgres.url();
  const statements = join(runFolder(), 'statements');
  mkdirSync(statements);
  if (isRecorded) process.env['TEST_STATEMENTS'] = statements;
  await pipeline(runEverything(jobs, statements), new spec(), process.stdout, { end: false });
}
if ((totals.get('tests') ?? 0) === 0) complaints.push('no test ran');
for (const notice of notices) console.warn(notice);
for (const complaint of complaints) console.error(complaint);
process.exitCode = complaints.length > 0 ? 1 : 0;
