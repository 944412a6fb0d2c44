/** The store of a command: the one that `--store` names, or the only one. */

import { Option } from 'commander';
import type { Store } from '../core/stores/domain/store.ts';
import { requireStore } from '../core/stores/service/store.ts';
import { readDatabaseConfig } from '../start/config.ts';
import { openDatabase, type Database } from '../start/database.ts';
import type { Script } from '../database/sql/sql.ts';
import { listStores, type StoreRecord } from '../core/stores/storage/store.ts';
import { CommandError } from './failure.ts';
import { readDomain } from './read.ts';

export function storeOption(description: string): Option {
  return new Option('--store <domain>', `${description}; optional if there is only one`).argParser(
    readDomain,
  );
}

/**
 * @param domain the value of `--store`. Without it, the demonstration store counts only if there is no other store.
 * @throws Fault `not-found` if the store does not exist; CommandError if `domain` is undefined and there is not exactly
 * one store.
 */
export function* chooseStore(domain: string | undefined): Script<StoreRecord> {
  if (domain !== undefined) return yield* requireStore(domain);
  const all = yield* listStores();
  const real = all.filter(({ store }) => !store.demonstration);
  const [only, ...others] = real.length > 0 ? real : all;
  if (!only) throw new CommandError('there is no store: create one with "largesse store create"');
  if (others.length > 0) {
    const domains = [only, ...others].map(({ store }) => store.domain).join(', ');
    throw new CommandError(`--store is required because there are several stores: ${domains}`);
  }
  return only;
}

/** Opens the database of the service with the store that `chooseStore` returns. @throws as it does. */
export async function openStore(domain: string | undefined): Promise<Database & { readonly store: Store }> {
  const database = await openDatabase(readDatabaseConfig(), { prepare: false });
  try {
    const { store } = await database.storage.read(() => chooseStore(domain));
    return { ...database, store };
  } catch (error) {
    await database[Symbol.asyncDispose]();
    throw error;
  }
}
