/**
 * `npm run bench:verify`: how long `largesse verify` takes for a database with a year of closed days, on SQLite.
 *
 *   --cards 377000      cards of the demonstration, each with 2.65 entries on average: about 1,000,000 entries
 *   --runs 3            verifications; the fastest counts, because other programs can only add to one
 *   --threads 1         how many threads share it, as `largesse verify` does with large files on a machine with more cores
 *   --rebuild           build the database again; without it, the one of an earlier run in the temporary folder is used
 *
 * Prints entries per second of processor time of the main thread and of the process, which includes collecting garbage
 * and the other thread, and the highest memory. A report without limits.
 */

import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { verifyRows } from '../src/features/proofs/cli/verify-thread.ts';
import { readDatabaseConfig } from '../src/start/config.ts';
import { openDatabase, type Database } from '../src/start/database.ts';
import type { Store } from '../src/core/stores/domain/store.ts';
import { listAllClosedDays } from '../src/features/books/service/books.ts';
import { beginClosing } from '../src/features/books/service/closing.ts';
import { recompute } from '../src/features/books/service/recompute.ts';
import { replaceAges, replaceDay } from '../src/features/books/service/replace.ts';
import { addCheckpoint } from '../src/features/proofs/service/checkpoint.ts';
import { loadDemo } from '../src/features/sandbox/service/sample-data.ts';
import { appendEntries } from '../src/features/proofs/service/log.ts';
import { advanceClosing } from '../src/features/books/storage/books.ts';

const { values } = parseArgs({
  options: {
    cards: { type: 'string', default: '377000' },
    runs: { type: 'string', default: '3' },
    threads: { type: 'string', default: '1' },
    rebuild: { type: 'boolean', default: false },
  },
});
const cards = Number(values.cards);

/** Closes all days without their sums, and computes these at once, as `largesse reports rebuild` does. */
async function closeDays({ ctx, storage }: Database, store: Store): Promise<void> {
  const closeOne = () =>
    storage.write(function* () {
      const day = yield* beginClosing(ctx, store, {
        isDryRun: false,
        trustedUntil: Number.POSITIVE_INFINITY,
      });
      if (day) yield* advanceClosing(store.id, { ...day, part: 'closed', doneId: 0 }, ctx.clock.now());
      return day !== undefined;
    });
  while (await closeOne());
  const days = await storage.read(() => listAllClosedDays(store.id));
  const sums = await storage.read(() => recompute(store));
  const byDay = Map.groupBy(sums.days, ({ day }) => day);
  await storage.write(function* () {
    for (const { day } of days) yield* replaceDay(store, day, byDay.get(day) ?? []);
    yield* replaceAges(store, { lastDay: days.at(-1)?.day ?? '', ages: sums.ages });
  });
}

async function build(database: Database): Promise<void> {
  const { ctx, storage } = database;
  const { store } = await storage.write(() => loadDemo(ctx, { cards }));
  await appendEntries(database);
  await closeDays(database, store);
  await storage.write(() => addCheckpoint(ctx, store));
}

const folder = join(tmpdir(), `largesse-bench-verify-${cards}`);
const complete = join(folder, 'complete');
if (values.rebuild || !existsSync(complete)) rmSync(folder, { recursive: true, force: true });
process.env['DATABASE_URL'] = `file:${join(folder, 'largesse.db')}`;
delete process.env['KEYS_FILE'];
mkdirSync(folder, { recursive: true });
const config = readDatabaseConfig();
await using database = await openDatabase(config, { prepare: true, withoutTimeLimit: true });
if (!existsSync(complete)) {
  console.error(`building ${cards} cards in ${folder}`);
  await build(database);
  mkdirSync(complete);
}

const seconds = ({ user, system }: { readonly user: number; readonly system: number }): number =>
  (user + system) / 1e6;
for (let run = 0; run < Number(values.runs); run += 1) {
  const [ofProcess, ofThread, startedAt] = [process.cpuUsage(), process.threadCpuUsage(), performance.now()];
  const { stores, mismatches } = await verifyRows(database, config, {
    mismatchesMax: 10,
    reached() {},
    threads: Number(values.threads),
  });
  if (mismatches.length > 0) throw new Error(JSON.stringify(mismatches));
  const entries = stores.reduce((sum, { transfers }) => sum + transfers, 0);
  const [thread, all] = [process.threadCpuUsage(ofThread), process.cpuUsage(ofProcess)].map(seconds);
  const perSecond = (taken = 0): string => Math.round(entries / taken).toLocaleString('en');
  console.log(
    `${entries.toLocaleString('en')} entries: ${perSecond(thread)}/s of the thread, ${perSecond(all)}/s of the process, ` +
      `${perSecond((performance.now() - startedAt) / 1_000)}/s elapsed; at most ${Math.round(process.resourceUsage().maxRSS / 1_024)} MB`,
  );
}
