/** `largesse sandbox` */

import cluster from 'node:cluster';
import { Option, type Command } from 'commander';
import type { CommandFrame } from '../../../cli/frame.ts';
import { fixedCodes } from '../../../core/cards/domain/fixed-codes.ts';
import { currencyOf, findNewCurrency } from '../../../core/money/domain/currency.ts';
import { openSandbox } from '../service/sandbox.ts';
import { readConfig, shownLocation, withSandbox } from '../../../start/config.ts';
import { openDatabase } from '../../../start/database.ts';
import { CommandError } from '../../../cli/failure.ts';
import { print, printJson, printTable } from '../../../cli/output.ts';
import { readDomain } from '../../../cli/read.ts';

const help = `
The database is data/sandbox/largesse.db, or the new one that DATABASE_URL names. It is a sandbox for ever: its gift
cards have no value, and "copy" and "restore" reject it. Each start prints the same token. "largesse serve" on the
database serves the same sandbox.`;

type Options = {
  readonly store: string;
  readonly currency: string;
  readonly serve: boolean;
  readonly json?: boolean;
};

export function addSandboxCommand(root: Command, frame: CommandFrame): void {
  root
    .command('sandbox')
    .description('start a service to test with: its cards have no value, and its clock can be moved forward')
    .addOption(
      new Option('--store <domain>', 'the domain of its store')
        .argParser(readDomain)
        .default('sandbox.example'),
    )
    .option('--currency <code>', 'the currency of its store', 'USD')
    .option('--no-serve', 'create the database and print its token, without starting the service')
    .option('--json', 'print JSON')
    .addHelpText('after', help)
    .action((options: Options) => run(options, frame));
}

async function run(
  { store: domain, currency: code, serve: isServed, json }: Options,
  { serve }: CommandFrame,
): Promise<void> {
  // The process that supervises this one has opened and shown the sandbox.
  if (cluster.isWorker) return await serve(withSandbox());
  if (!findNewCurrency(code))
    throw new CommandError(`--currency must be a current ISO 4217 code, not ${code}`);
  const environment = withSandbox();
  const config = readConfig(environment);
  const base = `${config.publicUrl?.origin ?? `http://localhost:${config.port}`}${config.basePath}`;
  {
    await using database = await openDatabase(config, { prepare: true, becomesSandbox: true });
    const { ctx, storage } = database;
    const { store, token } = await storage.write(() =>
      openSandbox(ctx, { domain, currency: currencyOf(code) }),
    );
    const codes = Object.values(fixedCodes).map((fixed) => ({ code: fixed.code, about: fixed.about }));
    const shown = {
      base_url: base,
      store: store.domain,
      currency: store.currency.code,
      token: token.reveal(),
      docs: `${base}/docs`,
      emails: `${base}/dev/mails`,
      database: shownLocation(config.database),
    };
    if (json) printJson({ ...shown, codes });
    else {
      print('Sandbox: gift cards here have no value.\n');
      print(`  URL       ${shown.base_url}`);
      print(`  Token     ${shown.token}`);
      print(`  Store     ${shown.store}, ${shown.currency}`);
      print(`  Docs      ${shown.docs}`);
      print(`  Emails    ${shown.emails}`);
      print(`  Database  ${shown.database}\n`);
      printTable(codes, { none: '' });
      print('');
    }
  }
  if (isServed) await serve(environment);
}
