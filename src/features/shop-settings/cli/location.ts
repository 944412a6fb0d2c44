/** `largesse location add|list|change|close|reopen|assign` */

import { InvalidArgumentError, Option, type Command } from 'commander';
import type { Database } from '../../../start/database.ts';
import { formatInstant, formatInstantOrNull, isTimeZone } from '../../../core/domain/day.ts';
import {
  locationAddressLengthMax,
  locationRecordOf,
  type Location,
  type LocationFields,
} from '../../../core/stores/domain/location.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import { parseText } from '../../../core/domain/text.ts';
import {
  addLocation,
  changeLocation,
  listAllLocations,
  moveTokenTo,
} from '../../../core/stores/service/location.ts';
import { moveTillTo } from '../../till/service/till.ts';
import type { Script } from '../../../database/sql/sql.ts';
import { storeOption, openStore } from '../../../cli/choose-store.ts';
import { print, printFields, printJson, printTable, type OutputRow } from '../../../cli/output.ts';
import { idParser, readName } from '../../../cli/read.ts';

type Options = {
  readonly store?: string;
  readonly name?: string;
  readonly address?: string;
  readonly timeZone?: string;
  readonly token?: number;
  readonly till?: number;
  readonly json?: boolean;
};

const readId = idParser('location list');
const readTokenId = idParser('token list');
const readTillId = idParser('till page');

function readTimeZone(text: string): string {
  if (!isTimeZone(text)) throw new InvalidArgumentError('It must be an IANA name such as Europe/Paris.');
  return text;
}

function readAddress(text: string): string {
  const parsed = parseText(text.replaceAll('\\n', '\n'), locationAddressLengthMax);
  if (!parsed.ok) throw new InvalidArgumentError(`It ${parsed.error}.`);
  return parsed.value ?? '';
}

function rowOf(location: Location): OutputRow {
  const { id, name, address, timeZone, createdAt, closedAt } = location;
  return {
    id,
    name,
    address,
    time_zone: timeZone,
    created_at: formatInstant(createdAt),
    closed_at: formatInstantOrNull(closedAt),
  };
}

function changesOf({ name, address, timeZone }: Options): Partial<LocationFields> {
  return {
    ...(name !== undefined && { name }),
    ...(address !== undefined && { address: address === '' ? null : address }),
    ...(timeZone !== undefined && { timeZone }),
  };
}

async function writing<T>(
  { store: domain }: Options,
  script: (ctx: Database['ctx'], store: Store) => Script<T>,
): Promise<T> {
  await using database = await openStore(domain);
  const { ctx, storage, store } = database;
  return await storage.write(() => script(ctx, store));
}

function show(location: Location, json: boolean | undefined): void {
  if (json) printJson(locationRecordOf(location));
  else printFields(rowOf(location));
}

const owner = 'the store of the location';

function fieldsOf(command: Command): Command {
  return command
    .addOption(storeOption(owner))
    .addOption(new Option('--address <text>', 'its address, with \\n between lines').argParser(readAddress))
    .addOption(new Option('--time-zone <name>', 'the time zone of its receipts').argParser(readTimeZone))
    .option('--json', 'print JSON');
}

function stateCommand(location: Command, name: 'close' | 'reopen', description: string): void {
  location
    .command(name)
    .description(description)
    .addOption(storeOption(owner))
    .argument('<id>', 'the id from location list', readId)
    .option('--json', 'print JSON')
    .action(async (id: number, options: Options) => {
      const changed = await writing(options, (ctx, store) =>
        changeLocation(ctx, { storeId: store.id, id }, { isClosed: name === 'close' }),
      );
      show(changed, options.json);
    });
}

export function addLocationCommands(root: Command): void {
  const location = root.command('location').description("manage a store's locations");

  fieldsOf(location.command('add').description('add a location'))
    .addOption(new Option('--name <name>', "the location's name").argParser(readName).makeOptionMandatory())
    .action(add);

  location
    .command('list')
    .description("list a store's locations")
    .addOption(storeOption(owner))
    .option('--json', 'print JSON')
    .action(list);

  fieldsOf(location.command('change').description('change the fields that are given'))
    .addOption(new Option('--name <name>', "the location's name").argParser(readName))
    .argument('<id>', 'the id from location list', readId)
    .action(change);

  stateCommand(location, 'close', 'close a location: no new movement can name it');
  stateCommand(location, 'reopen', 'open a closed location again');

  location
    .command('assign')
    .description('let a token or a till belong to a location, or to none')
    .addOption(storeOption(owner))
    .argument('<location>', 'the id from location list, or none', (text) =>
      text === 'none' ? 0 : readId(text),
    )
    .addOption(new Option('--token <id>', 'the id of a token').argParser(readTokenId).conflicts('till'))
    .addOption(new Option('--till <id>', 'the id of a till').argParser(readTillId))
    .action(assign);
}

async function add(options: Options & { readonly name: string }): Promise<void> {
  const { name, address = null, timeZone = null } = changesOf(options);
  const added = await writing(options, (ctx, store) =>
    addLocation(ctx, store.id, { name: name ?? options.name, address, timeZone }),
  );
  show(added, options.json);
}

async function list({ store: domain, json }: Options): Promise<void> {
  await using database = await openStore(domain);
  const { storage, store } = database;
  const found = await storage.read(() => listAllLocations(store.id));
  if (json) printJson(found.map(locationRecordOf));
  else printTable(found.map(rowOf), { none: `${store.domain} has no locations.` });
}

async function change(id: number, options: Options): Promise<void> {
  const changed = await writing(options, (ctx, store) =>
    changeLocation(ctx, { storeId: store.id, id }, changesOf(options)),
  );
  show(changed, options.json);
}

async function assign(id: number, options: Options): Promise<void> {
  const { token, till } = options;
  const named = token === undefined ? 'till' : 'token';
  const target = token ?? till;
  if (target === undefined) throw new InvalidArgumentError('--token or --till is required.');
  const locationId = id === 0 ? null : id;
  const move = named === 'till' ? moveTillTo : moveTokenTo;
  await writing<unknown>(options, (_, { id: storeId }) => move({ storeId, id: target }, locationId));
  print(
    `The ${named} ${target} belongs to ${locationId === null ? 'no location' : `the location ${locationId}`}.`,
  );
}
