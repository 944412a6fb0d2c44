/** `largesse reports rebuild` */

import type { Command } from 'commander';
import { readDatabaseConfig } from '../../../start/config.ts';
import { openDatabase } from '../../../start/database.ts';
import { rebuildSums } from '../service/rebuild.ts';
import { listStores } from '../../../core/stores/storage/store.ts';
import { CommandError } from '../../../cli/failure.ts';
import { printJson, printTable } from '../../../cli/output.ts';
import { readDomain } from '../../../cli/read.ts';

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
      for (const store of chosen) {
        const days = await rebuildSums(database.storage, store);
        if (days === undefined)
          throw new CommandError('days were closed while the sums were computed: run the command again');
        rows.push({ store: store.domain, days });
      }
      if (json) printJson(rows);
      else printTable(rows, { none: 'There are no stores.' });
    });
}
