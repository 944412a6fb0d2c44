/** Stores on a Citus cluster, and clients that work in them. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readDatabaseConfig } from '../../src/start/config.ts';
import { openDatabase } from '../../src/start/database.ts';
import { scopes } from '../../src/core/stores/domain/store.ts';
import { createStore } from '../../src/core/stores/service/store.ts';
import { createToken } from '../../src/core/stores/service/token.ts';
import type { Environment } from '../support/engine-database.ts';
import { newStore } from '../support/fixtures.ts';
import { queryOnce, type Row } from '../support/postgres-client.ts';
import { newRetryingClients, type RetryingClient } from '../support/retrying-client.ts';
import type { Seeded } from '../support/seeded.ts';
import { createDatabase, migrate, type Cluster } from './cluster.ts';

export type Shop = {
  readonly domain: string;
  readonly storeId: number;
  readonly token: string;
};

/** A distributed database with stores, and the environment of a service on it. */
export type Shops = Disposable & {
  readonly url: string;
  readonly environment: Environment;
  readonly keysFile: string;
  readonly shops: readonly Shop[];
  /** Runs a query on the coordinator. */
  readonly query: (text: string, values?: readonly unknown[]) => Promise<readonly Row[]>;
  /** The port of the worker with the rows of each store. */
  readonly places: () => Promise<ReadonlyMap<number, number>>;
};

export const seed = Number(process.env['CITUS_SEED'] ?? Date.now() % 2 ** 31);

/** Creates the database, distributes its tables, and creates stores with a token each. */
export async function openShops(cluster: Cluster, count: number): Promise<Shops> {
  const url = await createDatabase(cluster, 'largesse');
  const folder = mkdtempSync(join(tmpdir(), 'largesse-citus-'));
  using made = new DisposableStack();
  made.defer(() => rmSync(folder, { recursive: true, force: true }));
  const keysFile = join(folder, 'largesse.keys.json');
  const environment = { DATABASE_URL: url, KEYS_FILE: keysFile, PORT: '0', RATE_LIMIT: 'off' };
  await migrate(environment);
  const query = (text: string, values?: readonly unknown[]): Promise<readonly Row[]> =>
    queryOnce(url, text, values);
  const shops = await createShops(environment, count);
  const kept = made.move();
  return {
    url,
    environment,
    keysFile,
    shops,
    query,
    async places() {
      const rows = await query(`
        select s.id::text as id, nodeport from stores s
        join pg_dist_placement p on p.shardid = get_shard_id_for_distribution_column('gift_cards', s.id)
        join pg_dist_node n on n.groupid = p.groupid`);
      return new Map(rows.map(({ id, nodeport }) => [Number(id), Number(nodeport)]));
    },
    [Symbol.dispose]: () => kept.dispose(),
  };
}

async function createShops(environment: Environment, count: number): Promise<readonly Shop[]> {
  await using database = await openDatabase(readDatabaseConfig(environment), { prepare: true });
  const { ctx, storage } = database;
  const shops: Shop[] = [];
  for (let place = 1; place <= count; place += 1) {
    const domain = `shop-${place}.example`;
    const store = await storage.write(() => createStore(ctx, newStore({ domain })));
    const { secret } = await storage.write(() => createToken(ctx, { store, name: 'test', scopes }));
    shops.push({ domain, storeId: store.id, token: secret.reveal() });
  }
  return shops;
}

/** A client for each store. */
export function clientsOf(shops: readonly Shop[], random: Seeded): ReadonlyMap<Shop, RetryingClient> {
  return new Map(
    shops.flatMap((shop) =>
      newRetryingClients(1, { token: shop.token, random }).map((client) => [shop, client] as const),
    ),
  );
}

/** Prints figures of a scenario. */
export function report(text: string): void {
  console.log(`${new Date().toISOString().slice(11, 19)} ${text}`);
}
