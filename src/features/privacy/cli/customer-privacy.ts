/** `largesse customer export|erase` */

import { once } from 'node:events';
import type { Command } from 'commander';
import { setTimeout as wait } from 'node:timers/promises';
import { readDatabaseConfig } from '../../../start/config.ts';
import { openDatabase, type Database } from '../../../start/database.ts';
import type { EmailAddress } from '../../../core/domain/email-address.ts';
import { erasureRecordOf } from '../domain/erasure-record.ts';
import type { ErasureRecord } from '../../../core/customers/domain/customer-schemas.ts';
import { showCustomerByEmail } from '../../../core/customers/service/customer.ts';
import { customerExport } from '../service/export.ts';
import { continueErasure, findStartedErasure, showErasure, startErasure } from '../service/erasure.ts';
import { chooseStore, storeOption } from '../../../cli/choose-store.ts';
import { print, printFields, printJson } from '../../../cli/output.ts';

type EraseOptions = { readonly store?: string; readonly notes?: boolean; readonly json?: boolean };

/** Emptying the log is retried so often, after this time, while another process uses it. */
const truncation = { attemptsMax: 20, waitMs: 250 } as const;

export function addPrivacyCommands(customer: Command, readEmail: (text: string) => EmailAddress): void {
  customer
    .command('export')
    .description('print everything that is stored about a customer as one JSON document')
    .addOption(storeOption('the store of the customer'))
    .argument('<email>', 'such as ada@example.com', readEmail)
    .action(async (address: EmailAddress, { store: domain }: { readonly store?: string }) => {
      await using database = await openDatabase(readDatabaseConfig(), { prepare: false });
      const { ctx, storage } = database;
      const { store, id } = await storage.read(function* () {
        const chosen = yield* chooseStore(domain);
        const { id: customerId } = yield* showCustomerByEmail(chosen.store.id, address);
        return { store: chosen.store, id: customerId };
      });
      for await (const part of customerExport({ ctx, storage, store }, id))
        if (!process.stdout.write(part)) await once(process.stdout, 'drain');
    });

  customer
    .command('erase')
    .description("erase a customer's personal data, which cannot be undone; the money stays")
    .addOption(storeOption('the store of the customer'))
    .option(
      '--notes',
      "also erase the notes and references of the customer's cards, and those with the address",
    )
    .option('--json', 'print JSON')
    .argument('<email>', 'such as ada@example.com', readEmail)
    .action(async (address: EmailAddress, options: EraseOptions) => {
      await using database = await openDatabase(readDatabaseConfig(), { prepare: false });
      const erasure = await erase(database, address, options);
      const isEmptied = await emptyLog(database);
      const hasRemains = await database.storage.hasRemains();
      const { unsent_gift_card_ids: unsent, ...fields } = erasure;
      if (options.json) printJson({ ...erasure, log_emptied: isEmptied, vacuum_required: hasRemains });
      else {
        printFields(fields);
        if (unsent.length > 0)
          print(
            `The codes of these gift cards were not sent: ${unsent.join(', ')}. Send or disable the cards.`,
          );
        if (!isEmptied)
          print('Another process uses the log of the database: the running service empties it later.');
        if (hasRemains)
          print(
            'An earlier version wrote to this file, which can contain remains of deleted rows: run "largesse vacuum" once.',
          );
      }
    });
}

/** Starts an erasure, or continues one that was interrupted, until it is complete. */
async function erase(
  { ctx, storage }: Database,
  address: EmailAddress,
  { store: domain, notes = false }: EraseOptions,
): Promise<ErasureRecord> {
  const key = await storage.write(function* () {
    const { store } = yield* chooseStore(domain);
    const started = yield* findStartedErasure(ctx, store.id, address);
    const customerId = started?.customerId ?? (yield* showCustomerByEmail(store.id, address)).id;
    return yield* startErasure(ctx, {
      storeId: store.id,
      customerId,
      eraseNotes: notes,
      actor: 'command_line',
    });
  });
  while (!(await storage.write(() => continueErasure(ctx, key))));
  return erasureRecordOf(ctx.keys.publicIds, await storage.read(() => showErasure(key)));
}

async function emptyLog({ storage }: Database): Promise<boolean> {
  for (let attempt = 1; attempt < truncation.attemptsMax; attempt += 1) {
    if (await storage.clearDeleted()) return true;
    await wait(truncation.waitMs);
  }
  return storage.clearDeleted();
}
