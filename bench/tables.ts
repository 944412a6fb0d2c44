/**
 * `npm run bench:tables`: what files of tables cost others that are made to be expensive, and what usual ones cost. A service
 * on SQLite gets each file of `test/support/hostile-tables.ts` in the form of new cards and in that of addresses.
 *
 *   --heap 512            the heap of the service in MB (--max-old-space-size). Default: that of Node.js
 *   --against <tree>      measure the service of another commit or folder
 *   --name <text>         only files whose names contain a text
 *
 * For each file: the time until the response, the longest time of a GET /healthz while it is read, the longest turn of the
 * event loop in processor time, the processor time of all threads, and by how much the memory of the process grew. The exit
 * code is 1 if a response is not a 422 with a reason within 5 s, or memory grew by more than 150 MB. `/healthz` and the
 * longest turn have no limit, because other programs of the machine and collections of garbage add to them.
 */

import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { hostileTables } from '../test/support/hostile-tables.ts';
import { workbookOf } from '../test/support/workbook.ts';
import { createFile, createStore, domain } from './fixture.ts';
import { markdown } from './format.ts';
import { killServers, largesse, startService, type Server } from './processes.ts';
import { openTree, thisTree } from './tree.ts';
import { addBatch, signIn, type Visit } from './visit.ts';

const { values } = parseArgs({
  options: { heap: { type: 'string' }, against: { type: 'string' }, name: { type: 'string', default: '' } },
});

const responseMsMax = 5_000;
const memoryMbMax = 150;

type File = { readonly name: string; readonly bytes: () => Uint8Array; readonly isUsual?: boolean };

/** Cards for people, as a shop imports them. */
function usualRows(): readonly (readonly (string | number)[])[] {
  const rows = Array.from({ length: 10_000 }, (_, index) => [
    `Person ${index}`,
    `person${index}@example.com`,
    '25.50',
    `Thank you for ${index} years!`,
  ]);
  return [['Name', 'Email', 'Amount', 'Message'], ...rows];
}

const files: readonly File[] = [
  { name: 'usual workbook of 10,000 cards', isUsual: true, bytes: () => workbookOf(usualRows()) },
  {
    name: 'usual CSV of 10,000 cards',
    isUsual: true,
    bytes: () =>
      Buffer.from(
        usualRows()
          .map((cells) => cells.join(','))
          .join('\n'),
      ),
  },
  ...hostileTables,
].filter(({ name }) => name.includes(values.name));

type Watch = { readonly healthMs: number; readonly memoryMb: number };

/** Requests `/healthz` and reads the memory until the work ends. */
async function watched<Result>(
  { port, pid }: Server,
  work: Promise<Result>,
): Promise<Watch & { readonly result: Result }> {
  let isRunning = true;
  let [healthMs, memoryMb] = [0, 0];
  const health = async (): Promise<void> => {
    while (isRunning) {
      const before = performance.now();
      await (await fetch(`http://127.0.0.1:${port}/healthz`)).arrayBuffer();
      healthMs = Math.max(healthMs, performance.now() - before);
      await setTimeout(5);
    }
  };
  const memory = async (): Promise<void> => {
    while (isRunning) {
      memoryMb = Math.max(memoryMb, residentMb(pid));
      await setTimeout(10);
    }
  };
  const watches = Promise.all([health(), memory()]);
  try {
    return { result: await work, ...(await stopped()) };
  } finally {
    isRunning = false;
  }
  async function stopped(): Promise<Watch> {
    isRunning = false;
    await watches;
    return { healthMs, memoryMb };
  }
}

function residentMb(pid: number): number {
  const [, kilobytes] = /^RssAnon:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kilobytes) / 1_024;
}

/** The processor time of the process in ms, with that of threads that have ended. */
function processorMs(pid: number): number {
  const [, fields = ''] = /^.*\) (.*)$/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8').trim()) ?? [];
  const [user = 0, system = 0] = fields.split(' ').slice(11, 13).map(Number);
  // The unit of Linux is 10 ms.
  return (user + system) * 10;
}

/** The longest turn of the event loop since the last call, in ms of processor time. */
async function longestTurn({ pid }: Server, file: string): Promise<number> {
  rmSync(file, { force: true });
  process.kill(pid, 'SIGUSR2');
  while (!existsSync(file)) await setTimeout(5);
  return Number(readFileSync(file, 'utf8'));
}

function reasonIn(page: string): string {
  const [, alert] = /role="alert">(.*?)<\/p>/s.exec(page) ?? [];
  const [, error] = /<p class="error"[^>]*>(.*?)<\/p>/s.exec(page) ?? [];
  return (error ?? alert ?? '').replaceAll(/<[^>]*>/g, '').slice(0, 90);
}

type Place = { readonly service: Server; readonly visit: Visit; readonly probe: string };

async function measure(
  { service, visit, probe }: Place,
  path: string,
  { name, bytes, isUsual = false }: File,
): Promise<{ readonly row: readonly string[]; readonly isWrong: boolean }> {
  const form = new FormData();
  form.set('kind', 'file');
  form.set('file', new Blob([Buffer.from(bytes())]), 'table.xlsx');
  await longestTurn(service, probe);
  const before = residentMb(service.pid);
  const processor = processorMs(service.pid);
  const startedAt = performance.now();
  const request = async () => {
    const response = await visit(path, form);
    return { status: response.status, page: await response.text() };
  };
  const { result, healthMs, memoryMb } = await watched(service, request());
  const ms = performance.now() - startedAt;
  const reason = reasonIn(result.page);
  const grown = memoryMb - before;
  const isWrong =
    (!isUsual && (result.status !== 422 || reason === '')) || ms > responseMsMax || grown > memoryMbMax;
  const figures = [
    ms,
    healthMs,
    await longestTurn(service, probe),
    processorMs(service.pid) - processor,
    grown,
  ].map((figure) => figure.toFixed(0));
  return { isWrong, row: [`${isWrong ? '**' : ''}${name}`, String(result.status), ...figures, reason] };
}

const folder = mkdtempSync(join(tmpdir(), 'largesse-tables-'));
try {
  const tree = values.against === undefined ? thisTree : openTree(values.against, { folder });
  await using database = createFile(folder);
  const { environment, log } = createStore(tree, { database, folder });
  const invite = ['staff', 'invite', 'owner@bench.example', '--role', 'owner', '--store', domain];
  const { link } = largesse(tree, environment, invite) as { readonly link: string };
  const probe = join(folder, 'probe');
  const heap = values.heap === undefined ? '' : ` --max-old-space-size=${values.heap}`;
  const settings = {
    ...environment,
    // In production, pages need PUBLIC_URL.
    NODE_ENV: 'development',
    LOG_LEVEL: 'warn',
    LOOP_PROBE: probe,
    NODE_OPTIONS: `--import=${join(import.meta.dirname, 'loop-probe.ts')}${heap}`,
  };
  await using service = await startService(tree, { environment: settings, log });
  const visit = await signIn(service, link);
  const batch = await addBatch(visit, { count: 1, value: 10 });
  await setTimeout(1_000);
  const idle = await watched(service, setTimeout(3_000));
  const place = { service, visit, probe };
  let isWrong = false;
  for (const path of ['/cards/batches/new', `${batch}/addresses`]) {
    const rows: (readonly string[])[] = [];
    for (const file of files) {
      const measured = await measure(place, path, file);
      rows.push(measured.row);
      isWrong ||= measured.isWrong;
    }
    console.log(
      markdown({
        title: `${path.replace(/\d+/, ':id')} of ${tree.revision}${heap}: /healthz took at most ${idle.healthMs.toFixed(0)} ms before, in ${idle.memoryMb.toFixed(0)} MB`,
        headings: ['file', 'status', 'ms', 'healthz ms', 'turn ms', 'processor ms', 'memory MB', 'reason'],
        rows,
      }),
    );
  }
  if (isWrong) process.exitCode = 1;
} finally {
  killServers();
  rmSync(folder, { recursive: true, force: true });
}
