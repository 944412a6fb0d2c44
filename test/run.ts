/**
 * Runs the tests: `npm test`, `npm test -- test/unit/money.test.ts`, `npm test -- --name redeem`.
 *
 * Stricter than `node --test`: a skipped or unfinished test fails the run, and so does a file in which no
 * test ran (an early `process.exit(0)` would otherwise count as a pass).
 */
import { globSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { relative } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { run } from 'node:test';
import { spec, type TestEvent } from 'node:test/reporters';
import { parseArgs } from 'node:util';
import { startSharedPostgres } from './harness/postgres-database.ts';

const timeoutPerFileMs = 5 * 60_000;
/** These start, load and kill whole servers: they run last, one file at a time. */
const alone = /^test\/(crash|e2e|failover)\//;
/** No PostgreSQL server is started for a run of these alone. */
const withoutServer = /^test\/unit\//;

const { values, positionals } = parseArgs({ options: { name: { type: 'string' } }, allowPositionals: true });
const named = positionals.map((path) => relative('', path));
const files = named.length > 0 ? named : globSync('test/**/*.test.ts').toSorted();
const totals = new Map<string, number>();
const complaints: string[] = [];

async function runFile(file: string): Promise<{ file: string; events: TestEvent[] }> {
  const signal = AbortSignal.timeout(timeoutPerFileMs);
  const stream: AsyncIterable<TestEvent> = run({ files: [file], signal, testNamePatterns: values.name });
  return { file, events: await Array.fromAsync(stream) };
}

/** Adds one file's results to the totals and passes on the events that are to be shown. */
function* judge(file: string, events: readonly TestEvent[]): Generator<TestEvent> {
  const summaries = events.flatMap((event) => (event.type === 'test:summary' ? [event.data] : []));
  const testsInFile = summaries.find((summary) => summary.file !== undefined)?.counts.tests;
  if (values.name !== undefined && testsInFile === 0) return;
  if (!summaries.every((summary) => summary.success)) complaints.push(`${file}: failed`);
  else if ((testsInFile ?? 0) === 0) complaints.push(`${file}: no test in it, or ended before its tests did`);
  for (const event of events) {
    if (event.type === 'test:diagnostic' && event.data.file === undefined) {
      const [, name, count] = /^(\w+) ([\d.]+)$/.exec(event.data.message) ?? [];
      if (name !== undefined) totals.set(name, (totals.get(name) ?? 0) + Number(count));
      continue;
    }
    if (event.type === 'test:pass' || event.type === 'test:fail') {
      const { name, skip = false, todo = false } = event.data;
      if (skip !== false || todo !== false) complaints.push(`${file}: skipped or unfinished: ${name}`);
    }
    yield event;
  }
}

async function* runAll(waiting: string[], atOnce: number): AsyncGenerator<TestEvent> {
  const running = new Map<string, ReturnType<typeof runFile>>();
  while (waiting.length + running.size > 0) {
    for (const file of waiting.splice(0, atOnce - running.size)) running.set(file, runFile(file));
    const { file, events } = await Promise.race(running.values());
    running.delete(file);
    yield* judge(file, events);
  }
}

async function* runEverything(): AsyncGenerator<TestEvent> {
  const { last = [], first = [] } = Object.groupBy(files, (file) => (alone.test(file) ? 'last' : 'first'));
  yield* runAll(first, availableParallelism());
  yield* runAll(last, 1);
  totals.set('duration_ms', Math.round(performance.now()));
  for (const [name, count] of totals) {
    yield { type: 'test:diagnostic', data: { nesting: 0, level: 'info', message: `${name} ${count}` } };
  }
}

{
  const isNamed = Boolean(process.env['TEST_POSTGRES_URL']);
  await using postgres =
    isNamed || files.every((file) => withoutServer.test(file)) ? undefined : await startSharedPostgres();
  if (postgres) process.env['TEST_POSTGRES_URL'] = postgres.url();
  await pipeline(runEverything(), new spec(), process.stdout, { end: false });
}
if ((totals.get('tests') ?? 0) === 0) complaints.push('no test ran');
for (const complaint of complaints) console.error(complaint);
process.exitCode = complaints.length > 0 ? 1 : 0;
