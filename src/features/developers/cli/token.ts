/** `largesse token create|list|rotate|revoke` */

import { InvalidArgumentError, Option, type Command } from 'commander';
import { formatInstant, formatInstantOrNull } from '../../../core/domain/day.ts';
import { isScope, scopes, type Scope } from '../../../core/stores/domain/store.ts';
import { createToken, revoke, rotateToken, type NewToken } from '../../../core/stores/service/token.ts';
import { listTokens, type Token } from '../../../core/stores/storage/token.ts';
import { storeOption, openStore } from '../../../cli/choose-store.ts';
import { print, printFields, printJson, printTable, type OutputRow } from '../../../cli/output.ts';
import { idParser, readName } from '../../../cli/read.ts';

type Options = {
  readonly store?: string;
  readonly name?: string;
  readonly scopes: readonly Scope[];
  readonly expires: Expiry;
  readonly location?: number;
  readonly json?: boolean;
};

function readScopes(text: string): readonly Scope[] {
  const names = [...new Set(text.split(',').map((name) => name.trim()))];
  const read = names.filter(isScope);
  if (read.length !== names.length)
    throw new InvalidArgumentError(`It must list some of ${scopes.join(',')}.`);
  return read;
}

const dayMs = 24 * 60 * 60 * 1_000;
const daysMax = 3_650;

/** The period after which a token expires (ms); null: never. An object, because commander replaces null. */
type Expiry = { readonly periodMs: number | null };

function readExpiry(text: string): Expiry {
  if (text === 'never') return { periodMs: null };
  const days = /^[1-9]\d{0,3}$/.test(text) ? Number(text) : Number.NaN;
  if (!(days <= daysMax))
    throw new InvalidArgumentError(`It must be a number of days from 1 to ${daysMax}, or never.`);
  return { periodMs: days * dayMs };
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
    .addOption(
      new Option('--expires <days>', 'in how many days it expires, or never')
        .argParser(readExpiry)
        .default({ periodMs: null }, 'never'),
    )
    .addOption(
      new Option('--location <id>', 'the location where its movements take place').argParser(
        idParser('location list'),
      ),
    )
    .option('--json', 'print JSON')
    .action(create);

  token
    .command('rotate')
    .description('revoke a token and create its replacement, which is shown only once')
    .addOption(storeOption(owner))
    .argument('<id>', 'the id from token list', readId)
    .option('--json', 'print JSON')
    .action(rotate);

  token
    .command('revoke')
    .description('revoke a token immediately')
    .addOption(storeOption(owner))
    .argument('<id>', 'the id from token list', readId)
    .option('--json', 'print JSON')
    .action(revokeToken);

  token
    .command('list')
    .description("list a store's tokens, without their secrets")
    .addOption(storeOption(owner))
    .option('--json', 'print JSON')
    .action(list);
}

async function create({
  store: domain,
  name = 'token',
  scopes: granted,
  expires,
  location,
  json,
}: Options): Promise<void> {
  await using database = await openStore(domain);
  const { ctx, storage, store } = database;
  const given = { store, name, scopes: granted, locationId: location ?? null, ...expires };
  showOnce(await storage.write(() => createToken(ctx, given)), json);
}

async function rotate(id: number, { store: domain, json }: Options): Promise<void> {
  await using database = await openStore(domain);
  const { ctx, storage, store } = database;
  showOnce(await storage.write(() => rotateToken(ctx, store, id)), json);
}

async function revokeToken(id: number, { store: domain, json }: Options): Promise<void> {
  await using database = await openStore(domain);
  const { ctx, storage, store } = database;
  await storage.write(() => revoke(ctx, store, id));
  if (json) printJson({ revoked: id });
  else print(`Token ${id} is revoked.`);
}

async function list({ store: domain, json }: Options): Promise<void> {
  await using database = await openStore(domain);
  const { storage, store } = database;
  const tokens = await storage.read(() => listTokens(store.id));
  if (json) printJson(tokens.map((listed) => ({ ...rowOf(listed), scopes: listed.scopes })));
  else printTable(tokens.map(rowOf), { none: `${store.domain} has no tokens.` });
}

function showOnce({ token, secret }: NewToken, json: boolean | undefined): void {
  if (json) {
    printJson({ ...rowOf(token), scopes: token.scopes, token: secret.reveal() });
    return;
  }
  const { id, name, scopes: granted, expiresAt } = token;
  printFields({
    id,
    name,
    scopes: granted.join(','),
    ...(expiresAt !== null && { expires_at: formatInstant(expiresAt) }),
    token: secret.reveal(),
  });
  print('\nSave it now: it is not shown again.');
}

function rowOf({
  id,
  name,
  apiClientId,
  locationId,
  scopes: granted,
  createdAt,
  lastUsedAt,
  expiresAt,
  revokedAt,
}: Token): OutputRow {
  return {
    id,
    name,
    api_client_id: apiClientId,
    scopes: granted.join(','),
    location_id: locationId,
    created_at: formatInstant(createdAt),
    last_used_at: formatInstantOrNull(lastUsedAt),
    expires_at: formatInstantOrNull(expiresAt),
    revoked_at: formatInstantOrNull(revokedAt),
  };
}
