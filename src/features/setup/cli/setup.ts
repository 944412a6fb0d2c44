/** `largesse setup link` */

import type { Command } from 'commander';
import { readConfig, readDatabaseConfig } from '../../../start/config.ts';
import { openDatabase } from '../../../start/database.ts';
import { formatInstant } from '../../../core/domain/day.ts';
import { createSetupLink } from '../service/setup.ts';
import { setupQr, setupUrl } from '../../../start/message.ts';
import { CommandError } from '../../../cli/failure.ts';
import { print, printJson } from '../../../cli/output.ts';

export function addSetupCommands(root: Command): void {
  root
    .command('setup')
    .description('set up the first shop in a browser')
    .command('link')
    .description('print a link with which the first owner sets up the shop; it works once, for 24 hours')
    .option('--json', 'print JSON')
    .action(async ({ json }: { json?: boolean }) => {
      const config = readConfig();
      if (!config.hasConsole) throw new CommandError('there are no pages: CONSOLE is off');
      await using database = await openDatabase(readDatabaseConfig(), { prepare: true });
      const { ctx, storage } = database;
      const link = await storage.read(() => createSetupLink(ctx));
      if (!link)
        throw new CommandError(
          'there is an owner: "largesse staff invite <email>" prints a link to join, or for a new password',
        );
      const url = setupUrl(config, config.port, link.token.reveal());
      if (json) printJson({ link: url, expires_at: formatInstant(link.expiresAt) });
      else {
        const qr = process.stdout.isTTY ? setupQr(config, url) : '';
        print(`${qr}${url}\nThe link works once, for 24 hours.`);
      }
    });
}
