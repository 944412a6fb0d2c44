/** `largesse checkpoint create|list|export|keys` */

import { Option, type Command } from 'commander';
import { readDatabaseConfig } from '../../../start/config.ts';
import { openDatabase, type Database } from '../../../start/database.ts';
import { checkpointRecordOf } from '../domain/checkpoint.ts';
import { formatInstantOrNull } from '../../../core/domain/day.ts';
import { Fault } from '../../../core/domain/fault.ts';
import type { CheckpointRecord } from '../domain/proof-schemas.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import { addCheckpoint, listStoreCheckpoints, showLog } from '../service/checkpoint.ts';
import { findCheckpoint } from '../storage/checkpoint.ts';
import { chooseStore, storeOption } from '../../../cli/choose-store.ts';
import { CommandError } from '../../../cli/failure.ts';
import { printFields, printJson, printTable, type OutputRow } from '../../../cli/output.ts';
import { idParser } from '../../../cli/read.ts';

type Options = { readonly store?: string; readonly id?: number; readonly json?: boolean };

const listedMax = 250;

const readId = idParser('checkpoint list');

async function withStore<T>(
  { store: domain }: Options,
  action: (database: Database, store: Store) => Promise<T>,
): Promise<T> {
  await using database = await openDatabase(readDatabaseConfig(), { prepare: false });
  const { store } = await database.storage.read(() => chooseStore(domain));
  return await action(database, store);
}

function addCommand(group: Command, name: string, description: string): Command {
  return group.command(name).description(description).addOption(storeOption('the store of the log'));
}

export function addCheckpointCommands(root: Command): void {
  const checkpoint = root
    .command('checkpoint')
    .description("create, list and export signed checkpoints of a store's log");

  addCommand(checkpoint, 'create', 'sign the present size and root of the log')
    .option('--json', 'print JSON')
    .action((options: Options) =>
      withStore(options, async ({ ctx, storage }, store) => {
        const created = checkpointRecordOf(await storage.write(() => addCheckpoint(ctx, store)));
        if (options.json) printJson(created);
        else printFields(rowOf(created));
      }),
    );

  addCommand(checkpoint, 'list', `list the ${listedMax} newest checkpoints`)
    .option('--json', 'print JSON')
    .action((options: Options) =>
      withStore(options, async ({ storage }, { id, domain }) => {
        const page = { limit: listedMax, before: null, after: null };
        const { items } = await storage.read(() => listStoreCheckpoints(id, page));
        const records = items.map(checkpointRecordOf);
        if (options.json) printJson(records);
        else printTable(records.map(rowOf), { none: `${domain} has no checkpoints.` });
      }),
    );

  addCommand(checkpoint, 'export', 'print a checkpoint as a signed note, to be kept elsewhere')
    .addOption(new Option('--id <id>', 'the checkpoint; the default is the newest one').argParser(readId))
    .action((options: Options) =>
      withStore(options, async ({ storage }, { id: storeId, domain }) => {
        const { id } = options;
        const found = await storage.read(function* () {
          if (id !== undefined) return yield* findCheckpoint(storeId, id);
          return (yield* listStoreCheckpoints(storeId, { limit: 1, before: null, after: null })).items[0];
        });
        if (found) process.stdout.write(found.note);
        else if (id === undefined) throw new CommandError(`${domain} has no checkpoints`);
        else throw new Fault('not-found');
      }),
    );

  addCommand(checkpoint, 'keys', 'print the public keys of the log, the current one first')
    .option('--json', 'print JSON')
    .action((options: Options) =>
      withStore(options, async ({ ctx, storage }, { id }) => {
        const { keys } = await storage.read(() => showLog(ctx, id));
        const records = keys.map(({ key, createdAt, isCurrent }) => ({
          key,
          created_at: formatInstantOrNull(createdAt),
          is_current: isCurrent,
        }));
        if (options.json) printJson(records);
        else printTable(records, { none: '' });
      }),
    );
}

/** A checkpoint without its note, which has several lines. */
function rowOf({ id, size, root, created_at: createdAt, day }: CheckpointRecord): OutputRow {
  return { id, size, root, created_at: createdAt, day };
}
