/** `largesse demo load` */

import type { Command } from 'commander';
import { readDatabaseConfig } from '../config.ts';
import { openDatabase } from '../database.ts';
import { demoCards, loadDemo } from '../service/demo.ts';
import { print, printJson } from './output.ts';

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
      await using database = await openDatabase(readDatabaseConfig(), {
        prepare: true,
        withoutTimeLimit: true,
      });
      const { ctx, storage } = database;
      const { store, cards, from } = await storage.write(() => loadDemo(ctx, { cards: demoCards }));
      if (json) printJson({ store: store.domain, cards, from });
      else print(`The store ${store.domain} has ${cards} cards, sold since ${from}.`);
    });
}
