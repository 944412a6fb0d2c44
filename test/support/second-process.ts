/** Changes to a service's database from outside while it runs: by the command line, or another process. */

import { wallClockOf } from '../../src/platform/clock.ts';
import { readConfig } from '../../src/start/config.ts';
import { openDatabase, type Database } from '../../src/start/database.ts';
import { currencyOf } from '../../src/core/money/domain/currency.ts';
import { Secret } from '../../src/platform/secret.ts';
import {
  changeStore,
  createStore,
  requireStore,
  type StoreChanges,
} from '../../src/core/stores/service/store.ts';
import { revoke, rotateToken } from '../../src/core/stores/service/token.ts';
import type { TestService } from './service.ts';

function open({ environment, clock }: TestService): Promise<Database> {
  return openDatabase(readConfig(environment), { prepare: false, clock: wallClockOf(clock) });
}

/** Creates a real store, as `largesse store create` does. */
export async function createStoreElsewhere(service: TestService, domain: string): Promise<void> {
  await using database = await open(service);
  await database.storage.write(() =>
    createStore(database.ctx, {
      domain,
      name: domain,
      currency: currencyOf('USD'),
      timeZone: 'UTC',
      issueLimit: null,
      proxySecret: null,
      requireSignature: false,
      customerSearch: false,
      stockRequired: 'no',
      undoWindowMinutes: 0,
    }),
  );
}

export async function changeStoreElsewhere(
  service: TestService,
  domain: string,
  { proxySecret, ...changes }: Omit<StoreChanges, 'proxySecret'> & { readonly proxySecret?: string },
): Promise<void> {
  await using database = await open(service);
  const sealed = proxySecret === undefined ? {} : { proxySecret: new Secret(proxySecret) };
  await database.storage.write(() => changeStore(database.ctx, domain, { ...changes, ...sealed }));
}

/** The id of the store's newest active token. */
async function newestToken(service: TestService, domain: string): Promise<number> {
  const [row] = await service.query(
    `select t.id from access_tokens t join stores s on s.id = t.store_id
     where s.domain = ? and t.revoked_at is null order by t.id desc limit 1`,
    domain,
  );
  return Number(row?.['id']);
}

/** Revokes the store's newest token. */
export async function revokeNewest(service: TestService, domain: string): Promise<void> {
  await using database = await open(service);
  const { store } = await database.storage.read(() => requireStore(domain));
  const newest = await newestToken(service, domain);
  await database.storage.write(() => revoke(database.ctx, store, newest));
}

/** Rotates the store's newest token and returns the new one in clear. */
export async function rotateNewest(service: TestService, domain: string): Promise<string> {
  await using database = await open(service);
  const { store } = await database.storage.read(() => requireStore(domain));
  const newest = await newestToken(service, domain);
  const { secret } = await database.storage.write(() => rotateToken(database.ctx, store, newest));
  return secret.reveal();
}
