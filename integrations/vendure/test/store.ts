/** A store of Largesse for a test. */

import { currencyOf } from '../../../src/core/money/domain/currency.ts';
import { scopes, type Scope } from '../../../src/core/stores/domain/store.ts';
import { createStore } from '../../../src/core/stores/service/store.ts';
import { createToken } from '../../../src/core/stores/service/token.ts';
import { readDatabaseConfig } from '../../../src/start/config.ts';
import { openDatabase } from '../../../src/start/database.ts';
import type { Environment } from '../../../test/support/engine-database.ts';
import { newStore } from '../../../test/support/fixtures.ts';

/** The scopes that the README asks for. */
const shopScopes = ['read_gift_cards', 'redeem_gift_cards'] as const;

/** Opens a store. Returns the token of the shop, and one of the operator. */
export async function openStore(environment: Environment, currency: string) {
  await using database = await openDatabase(readDatabaseConfig(environment), { prepare: true });
  const { ctx, storage } = database;
  const domain = `${currency.toLowerCase()}.example`;
  const store = await storage.write(() =>
    createStore(ctx, newStore({ domain, currency: currencyOf(currency) })),
  );
  const tokenOf = async (name: string, granted: readonly Scope[]): Promise<string> => {
    const { secret } = await storage.write(() => createToken(ctx, { store, name, scopes: granted }));
    return secret.reveal();
  };
  return { token: await tokenOf('vendure', shopScopes), operatorToken: await tokenOf('operator', scopes) };
}
