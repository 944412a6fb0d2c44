/** `largesse migrate`, `verify`, `backup` */

import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { Command } from 'commander';
import { readDatabaseConfig, shownLocation } from '../config.ts';
import { openDatabase } from '../database.ts';
import { currencyOf } from '../domain/currency.ts';
import { formatMoney } from '../domain/money.ts';
import { shownId } from '../domain/public-id.ts';
import { verifyDatabase } from '../service/verify.ts';
import { CommandError } from './failure.ts';
import { print, printJson, printTable } from './output.ts';

const mismatchesMax = 1_000;

export function addDatabaseCommands(root: Command): void {
  root
    .command('migrate')
    .description('make the database, or bring it up to date')
    .option('--json', 'print JSON')
    .action(async ({ json }: { json?: boolean }) => {
      const config = readDatabaseConfig();
      await using database = await openDatabase(config, { prepare: true });
      const applied = await database.storage.applied();
      if (json) printJson({ database: shownLocation(config.database), migrations: applied });
      else print(`${shownLocation(config.database)} is at migration ${applied.at(-1)?.version ?? 0}.`);
    });

  root
    .command('verify')
    .description(
      'compute every balance, every hash chain and the totals anew; exit code 1 if anything is off',
    )
    .option('--json', 'print JSON')
    .action(async ({ json }: { json?: boolean }) => {
      await using database = await openDatabase(readDatabaseConfig(), { prepare: false, unhurried: true });
      const { stores, mismatches } = await verifyDatabase(database.storage, mismatchesMax);
      const totals = stores.map(({ store, currency, cards, transfers, outstanding, accounts }) => ({
        store,
        cards,
        transfers,
        currency,
        outstanding: formatMoney({ minor: outstanding, currency: currencyOf(currency) }),
        ...Object.fromEntries(
          Object.entries(accounts).map(([account, minor]) => [
            account,
            formatMoney({ minor, currency: currencyOf(currency) }),
          ]),
        ),
      }));
      const { publicIds } = database.ctx.keys;
      const found = mismatches.map((mismatch) => ({
        ...mismatch,
        gift_card_id: mismatch.cardId === null ? null : shownId(publicIds, mismatch.cardId),
      }));
      if (json) printJson({ ok: mismatches.length === 0, stores: totals, mismatches: found });
      else {
        printTable(
          totals.map(({ store, cards, transfers, outstanding, currency }) => ({
            store,
            cards,
            transfers,
            outstanding,
            currency,
          })),
          {
            none: 'There are no stores.',
          },
        );
        for (const { store, cardId, gift_card_id: id, problem } of found)
          print(
            `${store ?? 'database'}${id === null ? '' : `, gift card ${id} (row ${cardId})`}: ${problem}`,
          );
        print(
          mismatches.length === 0 ? 'The ledger agrees with every balance.' : 'THE LEDGER DOES NOT AGREE.',
        );
      }
      if (mismatches.length > 0) process.exitCode = 1;
    });

  root
    .command('backup')
    .description(
      'copy the database into a new file while the service runs; the key file is to be kept apart from it',
    )
    .argument('<file>', 'the new file')
    .option('--json', 'print JSON')
    .action(async (file: string, { json }: { json?: boolean }) => {
      const target = resolve(file);
      await using database = await openDatabase(readDatabaseConfig(), { prepare: false });
      const { backup } = database.storage;
      if (!backup) throw new CommandError('a server is backed up with its own tools, such as pg_dump');
      if (!existsSync(dirname(target)))
        throw new CommandError(`the folder ${dirname(target)} does not exist`);
      await backup(target);
      if (json) printJson({ backup: target });
      else print(`Copied to ${target}. It opens only with the key file, which is not in it.`);
    });
}
