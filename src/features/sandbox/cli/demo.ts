/** `largesse demo load` */

import type { Command } from 'commander';
import { readDatabaseConfig } from '../../../start/config.ts';
import { openDatabase } from '../../../start/database.ts';
import { demoCards, loadDemo } from '../service/sample-data.ts';
import { closePastDays, findTrustedUntil } from '../../../cli/closing.ts';
import { print, printJson } from '../../../cli/output.ts';

export function addDemoCommands(root: Command): void {
  root
    .command('demo')
    .description('fill the demonstration store')
    .command('load')
    .description(
      `issue ${demoCards} invented cards in the demonstration store, and use them during the past year; the database must not contain a real store`,
    )
    .option('--json', 'print JSON')
    .action(async ({ json }: { json?: boolean }) => {
      const config = readDatabaseConfig();
      await using database = await openDatabase(config, { prepare: true, withoutTimeLimit: true });
      const { ctx, storage } = database;
      const trustedUntil = await findTrustedUntil(database, config);
      const { store, cards, from } = await storage.write(() => loadDemo(ctx, { cards: demoCards }));
      await closePastDays(database, config, trustedUntil);
      if (json) printJson({ store: store.domain, cards, from });
      else print(`The store ${store.domain} has ${cards} cards, sold since ${from}.`);
    });
}
