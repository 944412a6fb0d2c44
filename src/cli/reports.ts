/** `largesse reports rebuild` */

import type { Command } from 'commander';
import { readDatabaseConfig } from '../config.ts';
import { openDatabase, type Database } from '../database.ts';
import type { Store } from '../domain/store.ts';
import { replaceAges, replaceDay } from '../service/books-audit.ts';
import { listAllClosedDays, recompute } from '../service/books.ts';
import { listStores } from '../storage/store.ts';
import { CommandError } from './failure.ts';
import { printJson, printTable } from './output.ts';
import { readDomain } from './read.ts';

/** A service can close a day while the sums are computed. */
const attemptsMax = 3;

/** Computes the sums of all closed days again, and stores them, one day per transaction. @returns the number of days. */
async function rebuild({ storage }: Database, store: Store): Promise<number> {
  for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
    const { days, sums } = await storage.read(function* () {
      return { days: yield* listAllClosedDays(store.id), sums: yield* recompute(store) };
    });
    const byDay = Map.groupBy(sums.days, ({ day }) => day);
    for (const { day } of days) await storage.write(() => replaceDay(store, day, byDay.get(day) ?? []));
    const lastDay = days.at(-1)?.day;
    if (lastDay === undefined) return 0;
    if (await storage.write(() => replaceAges(store, { lastDay, ages: sums.ages }))) return days.length;
  }
  throw new CommandError('days were closed while the sums were computed: run the command again');
}

export function addReportsCommands(root: Command): void {
  root
    .command('reports')
    .description('manage the sums of closed days')
    .command('rebuild')
    .description('compute the sums of all closed days again from the ledger, while services can run')
    .argument('[domain]', 'only this store', readDomain)
    .option('--json', 'print JSON')
    .action(async (domain: string | undefined, { json }: { json?: boolean }) => {
      await using database = await openDatabase(readDatabaseConfig(), {
        prepare: false,
        withoutTimeLimit: true,
      });
      const stores = (await database.storage.read(listStores)).map(({ store }) => store);
      const chosen = stores.filter((store) => domain === undefined || store.domain === domain);
      if (domain !== undefined && chosen.length === 0) throw new CommandError(`there is no store ${domain}`);
      const rows = [];
      for (const store of chosen) rows.push({ store: store.domain, days: await rebuild(database, store) });
      if (json) printJson(rows);
      else printTable(rows, { none: 'There are no stores.' });
    });
}
