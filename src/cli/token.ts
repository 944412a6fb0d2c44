/** `largesse token create|list|rotate|revoke` */

import { InvalidArgumentError, Option, type Command } from 'commander';
import { readDatabaseConfig } from '../config.ts';
import { openDatabase } from '../database.ts';
import { formatInstant, formatInstantOrNull } from '../domain/day.ts';
import { isScope, scopes, type Scope } from '../domain/store.ts';
import { createToken, revoke, rotateToken, type NewToken } from '../service/token.ts';
import { listTokens, type Token } from '../storage/token.ts';
import { chooseStore, storeOption } from './choose-store.ts';
import { print, printFields, printJson, printTable, type OutputRow } from './output.ts';
import { idParser, readName } from './read.ts';

type Options = {
  readonly store?: string;
  readonly name?: string;
  readonly scopes: readonly Scope[];
  readonly json?: boolean;
};

function readScopes(text: string): readonly Scope[] {
  const names = [...new Set(text.split(',').map((name) => name.trim()))];
  const read = names.filter(isScope);
  if (read.length !== names.length)
    throw new InvalidArgumentError(`It must list some of ${scopes.join(',')}.`);
  return read;
}

const readId = idParser('token list');

const owner = 'the store of the token';

export function addTokenCommands(root: Command): void {
  const token = root.command('token').description("manage a store's access tokens");

  token
    .command('create')
    .description('create an access token and show it only once')
    .addOption(storeOption(owner))
    .addOption(new Option('--name <name>', "the token's name").argParser(readName).default('token'))
    .addOption(
      new Option('--scopes <scopes>', "the token's scopes")
        .argParser(readScopes)
        .default(scopes, scopes.join(',')),
    )
    .option('--json', 'print JSON')
    .action(async ({ store: domain, name = 'token', scopes: granted, json }: Options) => {
      await using database = await openDatabase(readDatabaseConfig(), { prepare: false });
      const { ctx, storage } = database;
      const { store } = await storage.read(() => chooseStore(domain));
      showOnce(await storage.write(() => createToken(ctx, { store, name, scopes: granted })), json);
    });

  token
    .command('rotate')
    .description('revoke a token and create its replacement, which is shown only once')
    .addOption(storeOption(owner))
    .argument('<id>', 'the id from token list', readId)
    .option('--json', 'print JSON')
    .action(async (id: number, { store: domain, json }: Options) => {
      await using database = await openDatabase(readDatabaseConfig(), { prepare: false });
      const { ctx, storage } = database;
      const { store } = await storage.read(() => chooseStore(domain));
      showOnce(await storage.write(() => rotateToken(ctx, store, id)), json);
    });

  token
    .command('revoke')
    .description('revoke a token immediately')
    .addOption(storeOption(owner))
    .argument('<id>', 'the id from token list', readId)
    .option('--json', 'print JSON')
    .action(async (id: number, { store: domain, json }: Options) => {
      await using database = await openDatabase(readDatabaseConfig(), { prepare: false });
      const { ctx, storage } = database;
      const { store } = await storage.read(() => chooseStore(domain));
      await storage.write(() => revoke(ctx, store, id));
      if (json) printJson({ revoked: id });
      else print(`Token ${id} is revoked.`);
    });

  token
    .command('list')
    .description("list a store's tokens, without their secrets")
    .addOption(storeOption(owner))
    .option('--json', 'print JSON')
    .action(async ({ store: domain, json }: Options) => {
      await using database = await openDatabase(readDatabaseConfig(), { prepare: false });
      const { storage } = database;
      const { store } = await storage.read(() => chooseStore(domain));
      const tokens = await storage.read(() => listTokens(store.id));
      if (json) printJson(tokens.map((listed) => ({ ...rowOf(listed), scopes: listed.scopes })));
      else printTable(tokens.map(rowOf), { none: `${store.domain} has no tokens.` });
    });
}

function showOnce({ token, secret }: NewToken, json: boolean | undefined): void {
  if (json) {
    printJson({ ...rowOf(token), scopes: token.scopes, token: secret.reveal() });
    return;
  }
  printFields({ id: token.id, name: token.name, scopes: token.scopes.join(','), token: secret.reveal() });
  print('\nSave it now: it is not shown again.');
}

function rowOf({
  id,
  name,
  apiClientId,
  scopes: granted,
  createdAt,
  lastUsedAt,
  revokedAt,
}: Token): OutputRow {
  return {
    id,
    name,
    api_client_id: apiClientId,
    scopes: granted.join(','),
    created_at: formatInstant(createdAt),
    last_used_at: formatInstantOrNull(lastUsedAt),
    revoked_at: formatInstantOrNull(revokedAt),
  };
}
