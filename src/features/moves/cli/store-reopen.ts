/** `largesse store reopen` */

import type { Command } from 'commander';
import { readDatabaseConfig } from '../../../start/config.ts';
import { openDatabase } from '../../../start/database.ts';
import { findClosed, listClosedTables, openTable, reopen } from '../service/store-copy.ts';
import { endRecordingOf } from './open-copying.ts';
import { findStoreState } from '../storage/store-copy.ts';
import type { Storage } from '../../../database/storage.ts';
import { print } from '../../../cli/output.ts';
import { readDomain } from '../../../cli/read.ts';

const help = `
"largesse copy --store" closes the store that it moves: at the end if it leaves a file, otherwise from the
beginning on. If the move was interrupted and you do not want to continue it, this command opens the store
again where it was, and ends the recording of its changes. The copy in the target stays closed there, and
the next move deletes it.`;

/** Ends the recording of the changes of an open store. @returns whether there was one. */
async function giveUpMove(storage: Storage, domain: string): Promise<boolean> {
  const state = await storage.read(() => findStoreState(domain));
  return state?.status === 'open' && (await endRecordingOf(storage, state.id));
}

export function addStoreReopenCommand(store: Command): void {
  store
    .command('reopen')
    .description('open a store again that was closed to be moved')
    .argument('<domain>', 'such as flowers.example', readDomain)
    .option(
      '--although-moved',
      'even if the move was complete; the other installation must not have the store',
    )
    .addHelpText('after', help)
    .action(async (domain: string, options: { readonly althoughMoved?: boolean }) => {
      await using database = await openDatabase(readDatabaseConfig(), { prepare: false });
      const { storage } = database;
      const isMovedAllowed = options.althoughMoved === true;
      if (await giveUpMove(storage, domain)) return print(`${domain} is open, and its move is given up.`);
      const state = await storage.read(() => findClosed(domain, { isMovedAllowed }));
      for (const table of await storage.read(() => listClosedTables(state.id)))
        await storage.write(() => openTable(state.id, table));
      await storage.write(() => reopen(state));
      await endRecordingOf(storage, state.id);
      print(`${domain} is open.`);
    });
}
