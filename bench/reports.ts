/**
 * `npm run bench:reports -- --cards 200000`: closing a year of days, and every report of it. The cards and their entries are
 * those of `largesse demo load`, 2.7 entries a card.
 *
 *   --cards 200000       in a new database
 *   --engine embedded    or postgres
 *   --requests 4         of each report
 *
 * It shows how long the service takes to close the days of the year, and the longest response of /healthz in that time.
 * Then it shows the lower quartile of the times of each report, on the clock of the wall and of the service's processor.
 * At the end `largesse verify` compares the sums of all days with the ledger. There are no limits, because times depend
 * on the machine.
 */

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { readDatabaseConfig } from '../src/start/config.ts';
import { openDatabase } from '../src/start/database.ts';
import { addDays } from '../src/core/domain/day.ts';
import { beginClosing } from '../src/features/books/service/closing.ts';
import { loadDemo } from '../src/features/sandbox/service/sample-data.ts';
import { beat } from '../src/database/heartbeat.ts';
import { listStores } from '../src/core/stores/storage/store.ts';
import { createFile, stop } from './fixture.ts';
import { countOf, markdown } from './format.ts';
import { createDatabase, startDatabase } from './postgres.ts';
import {
  cpuMicros,
  killServers,
  largesse,
  startService,
  type Environment,
  type Server,
} from './processes.ts';
import { lowerQuartile } from './statistics.ts';
import { thisTree } from './tree.ts';

const { values } = parseArgs({
  options: {
    cards: { type: 'string', default: '200000' },
    engine: { type: 'string', default: 'embedded' },
    requests: { type: 'string', default: '4' },
  },
});
const requestsPerReport = Number(values.requests);
const healthPeriodMs = 20;
const domain = 'demo.localhost';

/** Fills a database with the year before now. @returns the first day. */
async function fill(environment: Environment, cards: number): Promise<string> {
  const config = readDatabaseConfig(environment);
  await using database = await openDatabase(config, { prepare: true, withoutTimeLimit: true });
  const { ctx, storage } = database;
  const { from } = await storage.write(() => loadDemo(ctx, { cards }));
  // The service trusts the clock, as after `largesse demo load`, which also closes the days.
  await storage.write(() => beat(ctx.clock.now()));
  return from;
}

async function healthMs({ port }: Server): Promise<number> {
  const sentAt = performance.now();
  const response = await fetch(`http://127.0.0.1:${port}/healthz`);
  await response.arrayBuffer();
  assert.equal(response.status, 200);
  return performance.now() - sentAt;
}

type Catching = {
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly health: readonly number[];
};

/** Waits until the service has closed all days. */
async function catchUp(environment: Environment, service: Server): Promise<Catching> {
  await using database = await openDatabase(readDatabaseConfig(environment), { prepare: false });
  const { ctx, storage } = database;
  const trustedUntil = Number.POSITIVE_INFINITY;
  const health: number[] = [];
  const [startedAt, cpuBefore] = [performance.now(), cpuMicros([service.pid])];
  for (let requests = 0; ; requests += 1) {
    health.push(await healthMs(service));
    if (requests % 50 === 0) {
      const day = await storage.read(function* () {
        const [{ store } = assert.fail('there is no store')] = yield* listStores();
        return yield* beginClosing(ctx, store, { isDryRun: true, trustedUntil });
      });
      if (!day) break;
    }
    await wait(healthPeriodMs);
  }
  const seconds = (performance.now() - startedAt) / 1_000;
  return { seconds, cpuSeconds: (cpuMicros([service.pid]) - cpuBefore) / 1e6, health };
}

/** Opens the demonstration in a browser. @returns its cookie. */
async function signIn({ port }: Server): Promise<string> {
  const origin = `http://127.0.0.1:${port}`;
  const response = await fetch(`${origin}/demonstration`, {
    method: 'POST',
    redirect: 'manual',
    headers: { origin },
    body: new URLSearchParams({}),
  });
  assert.equal(response.status, 303);
  return response.headers
    .getSetCookie()
    .map((each) => each.split(';', 1)[0] ?? '')
    .join('; ');
}

/** Moments and periods of the year. @param from the first day, and today. */
function pathsOf(from: string, today: string): readonly string[] {
  const day = (daysAgo: number): string => {
    const found = addDays(today, -daysAgo);
    return found < from ? from : found;
  };
  const month = day(120).slice(0, 7);
  const endOfMonth = addDays(`${day(90).slice(0, 7)}-01`, -1);
  const instants = [
    from,
    `${from}T18:00:00Z`,
    day(350),
    `${day(100)}T12:00:00Z`,
    `${month}-16T15:30:00Z`,
    `${endOfMonth}T23:00:00Z`,
    `${endOfMonth.slice(0, 7)}-01T09:00:00Z`,
    day(1),
    `${day(1)}T20:00:00Z`,
  ];
  const periods = [
    [day(365), today],
    [day(365), day(1)],
    [`${month}-01`, `${month}-28`],
    [day(30), today],
    [today, today],
  ].map(([first = '', last = '']) => `from=${first}&to=${last}`);
  const moments = [undefined, ...instants].map((at) => (at === undefined ? '' : `?as_of=${at}`));
  const days = [undefined, from, day(350), day(100), endOfMonth, day(1)].map((at) =>
    at === undefined ? '' : `?as_of=${at}`,
  );
  return [
    ...['liability', 'aging'].flatMap((name) => moments.map((query) => `/reports/${name}${query}`)),
    ...periods.flatMap((query) => [
      `/reports/journal?${query}`,
      ...['day', 'month', 'actor'].map((by) => `/reports/activity?by=${by}&${query}`),
      `/reports/breakage?${query}`,
    ]),
    ...['liability', 'aging'].flatMap((name) => days.map((query) => `/books/${name}${query}`)),
    ...periods.flatMap((query) => [
      `/books/journal?${query}`,
      `/books/activity?by=actor&${query}`,
      `/books/breakage?${query}`,
    ]),
    '/today',
  ];
}

type Measured = { readonly path: string; readonly wallMs: number; readonly cpuMs: number };

async function measure(service: Server, path: string, cookie: string): Promise<Measured> {
  const [wall, cpu]: [number[], number[]] = [[], []];
  for (let request = 0; request < requestsPerReport; request += 1) {
    const [sentAt, cpuBefore] = [performance.now(), service.usage().micros];
    const headers = path.startsWith('/reports') ? undefined : { cookie, accept: 'text/html' };
    const response = await fetch(`http://127.0.0.1:${service.port}${path}`, headers && { headers });
    const text = await response.text();
    assert.equal(response.status, 200, `${path}: ${text}`);
    wall.push(performance.now() - sentAt);
    cpu.push((service.usage().micros - cpuBefore) / 1_000);
  }
  return { path, wallMs: lowerQuartile(wall), cpuMs: lowerQuartile(cpu) };
}

function timesOf(ms: readonly number[]): string {
  const sorted = ms.toSorted((left, right) => left - right);
  const at = (share: number): string =>
    (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0).toFixed(1);
  return `${at(0.5)} ms (median), ${at(0.99)} ms (99 %) and ${at(1)} ms (longest of ${sorted.length})`;
}

async function report(environment: Environment, log: string, from: string): Promise<void> {
  const settings = { ...environment, NODE_ENV: 'development', LOG_LEVEL: 'warn' };
  const service = await startService(thisTree, { environment: settings, log });
  const { seconds, cpuSeconds, health } = await catchUp(environment, service);
  // The same without closing shows what the machine adds.
  const idle: number[] = [];
  for (let request = 0; request < 500; request += 1) {
    idle.push(await healthMs(service));
    await wait(healthPeriodMs);
  }
  console.log(
    `Closing the days since ${from} took ${seconds.toFixed(0)} s, of which ${cpuSeconds.toFixed(0)} s of processor time. ` +
      `/healthz took ${timesOf(health)}; afterwards ${timesOf(idle)}.\n`,
  );
  const cookie = await signIn(service);
  const today = Temporal.Now.plainDateISO('UTC').toString();
  const measured: Measured[] = [];
  for (const path of pathsOf(from, today)) measured.push(await measure(service, path, cookie));
  // One instant of each week, of which the slowest is shown.
  for (const name of ['liability', 'aging']) {
    let slowest: Measured | undefined;
    for (let day = addDays(from, 3); day < today; day = addDays(day, 7)) {
      const found = await measure(service, `/reports/${name}?as_of=${day}T22:00:00Z`, cookie);
      if (!slowest || found.cpuMs > slowest.cpuMs) slowest = found;
    }
    if (slowest) measured.push({ ...slowest, path: `${slowest.path} (slowest week)` });
  }
  const outstanding = await outstandingOf(service);
  await stop(service);
  const slowest = measured.reduce((left, right) => (left.wallMs > right.wallMs ? left : right));
  const rows = measured.map(({ path, wallMs, cpuMs }) => [path, wallMs.toFixed(0), cpuMs.toFixed(0)]);
  const title = `Reports with ${countOf(Number(values.cards))} cards, ${values.engine}`;
  console.log(markdown({ title, headings: ['report', 'ms', 'processor time, ms'], rows }));
  console.log(`\nThe slowest took ${slowest.wallMs.toFixed(0)} ms: ${slowest.path}`);
  const { ok, stores } = largesse(thisTree, environment, ['verify']) as {
    readonly ok: boolean;
    readonly stores: readonly { readonly store: string; readonly outstanding: string; transfers: number }[];
  };
  const verified = stores.find(({ store }) => store === domain);
  assert.ok(ok && verified);
  assert.equal(verified.outstanding, outstanding);
  console.log(
    `The sums of all days match the ledger, and their total is that of the balances: ${outstanding} after ${countOf(verified.transfers)} entries.`,
  );
}

async function outstandingOf({ port }: Server): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${port}/reports/liability`);
  const { liability } = (await response.json()) as { readonly liability: { readonly outstanding: string } };
  return liability.outstanding;
}

const folder = mkdtempSync(join(tmpdir(), 'largesse-reports-'));
try {
  const log = join(folder, 'service.log');
  const file = createFile(folder);
  const environment = { DATABASE_URL: file.url, KEYS_FILE: join(folder, 'keys.json') };
  console.error(`filling ${values.cards} cards`);
  const from = await fill(environment, Number(values.cards));
  if (values.engine === 'embedded') await report(environment, log, from);
  else {
    await using postgres = await startDatabase();
    await using database = await createDatabase(postgres, 'reports');
    console.error('copying them to PostgreSQL');
    largesse(thisTree, environment, ['copy', '--from', file.url, '--to', database.url]);
    await database.settle();
    await report({ ...environment, DATABASE_URL: database.url }, log, from);
  }
} finally {
  killServers();
  rmSync(folder, { recursive: true, force: true });
}
