/**
 * `npm run bench:stores`: a service with many stores without cards, which gets no requests.
 *
 *   --stores 10000       in a new database
 *   --engine embedded    or postgres, or citus: a cluster of two workers (test/citus/README.md)
 *   --seconds 120        of the measurement
 *   --tree .             or a commit, or a folder with a working tree
 *
 * It shows how long a start takes and how much processor time it needs until then, and the share of a core that the service
 * and the database server use afterwards. The first minute does not count. There are no limits, because times depend on the
 * machine.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type * as Config from '../src/start/config.ts';
import type * as Databases from '../src/start/database.ts';
import type * as Log from '../src/features/proofs/service/log.ts';
import type * as Stores from '../src/core/stores/service/store.ts';
import type * as Currencies from '../src/core/money/domain/currency.ts';
import { createFile, stop, type Database } from './fixture.ts';
import { createDatabase, startDatabase } from './postgres.ts';
import {
  cpuMicros,
  killServers,
  largesse,
  startService,
  type Environment,
  type Server,
} from './processes.ts';
import { openTree } from './tree.ts';
import {
  createDatabase as createCitusDatabase,
  migrate,
  startCluster,
  type Cluster,
} from '../test/citus/cluster.ts';
import { queryOnce } from '../test/support/postgres-client.ts';

const { values } = parseArgs({
  options: {
    stores: { type: 'string', default: '10000' },
    engine: { type: 'string', default: 'embedded' },
    seconds: { type: 'string', default: '120' },
    tree: { type: 'string', default: '.' },
  },
});
const settledAfterMs = 60_000;
const storesInTransaction = 100;

/** Adds stores, with the code of the tree that is measured. */
async function fill(root: string, environment: Environment): Promise<void> {
  const load = async <Module>(file: string): Promise<Module> => (await import(join(root, file))) as Module;
  const { readDatabaseConfig } = await load<typeof Config>('src/start/config.ts');
  const { openDatabase } = await load<typeof Databases>('src/start/database.ts');
  const stores = await load<typeof Stores>('src/core/stores/service/store.ts');
  const log = await load<typeof Log>('src/features/proofs/service/log.ts');
  const { currencyOf } = await load<typeof Currencies>('src/core/money/domain/currency.ts');
  const settings = {
    currency: currencyOf('EUR'),
    timeZone: 'Europe/Berlin',
    issueLimit: null,
    proxySecret: null,
    requireSignature: false,
    customerSearch: false,
    stockRequired: 'no' as const,
    undoWindowMinutes: 0,
  };
  await using database = await openDatabase(readDatabaseConfig(environment), {
    prepare: true,
    withoutTimeLimit: true,
  });
  const { ctx, storage } = database;
  // The log begins: for stores that exist before, it would look for earlier entries.
  await log.appendEntries(database);
  const count = Number(values.stores);
  for (let from = 0; from < count; from += storesInTransaction)
    await storage.write(function* addStores() {
      for (let place = from; place < Math.min(count, from + storesInTransaction); place += 1) {
        const name = `shop-${place}`;
        yield* stores.createStore(ctx, { ...settings, name, domain: `${name}.example` });
      }
    });
}

function environmentOf(url: string, folder: string): Environment {
  return { DATABASE_URL: url, KEYS_FILE: join(folder, 'keys.json') };
}

/** A database of a cluster, whose usage is that of all servers. */
function databaseOn(
  { coordinator, workers }: Cluster,
  url: string,
): Pick<Database, 'url' | 'usage' | 'settle'> {
  const servers = [coordinator, ...workers];
  return {
    url,
    usage: () =>
      Promise.resolve({ micros: cpuMicros(servers.flatMap(({ processes }) => processes)), bytes: 0 }),
    async settle() {
      await queryOnce(url, 'vacuum analyze');
      for (const server of servers) await server.query('checkpoint');
      return 0;
    },
  };
}

async function measure(
  root: string,
  folder: string,
  database: Pick<Database, 'url' | 'usage' | 'settle'>,
): Promise<void> {
  const tree = openTree(root, { folder });
  const environment = environmentOf(database.url, folder);
  console.error(`adding ${values.stores} stores`);
  await fill(tree.root, environment);
  largesse(tree, environment, ['token', 'create', '--store', 'shop-0.example']);
  await database.settle();
  const options = { environment: { ...environment, LOG_LEVEL: 'warn' }, log: join(folder, 'service.log') };
  const ofServer = async (): Promise<number> => (await database.usage?.())?.micros ?? 0;
  const starts: string[] = [];
  const start = async (): Promise<Server> => {
    const before = await ofServer();
    const service = await startService(tree, options);
    const micros = service.usage().micros + (await ofServer()) - before;
    starts.push(`${(service.readyAfterMs / 1_000).toFixed(2)} s (${(micros / 1e6).toFixed(2)} s)`);
    return service;
  };
  const first = await start();
  await wait(settledAfterMs);
  const seconds = Number(values.seconds);
  const usageOf = async (): Promise<readonly [service: number, server: number]> => [
    first.usage().micros,
    await ofServer(),
  ];
  const before = await usageOf();
  await wait(seconds * 1_000);
  const after = await usageOf();
  await stop(first);
  for (let again = 0; again < 2; again += 1) await stop(await start());
  const share = (place: 0 | 1): string => ((after[place] - before[place]) / 1e4 / seconds).toFixed(2);
  console.log(
    `${values.stores} stores, ${values.engine}, ${tree.revision}: ready after (processor time) ` +
      `${starts.join(', ')}; then idle, ` +
      `${share(0)} % of a core in the service` +
      (database.usage ? `, ${share(1)} % in the server` : ''),
  );
}

const folder = mkdtempSync(join(tmpdir(), 'largesse-stores-'));
try {
  if (values.engine === 'embedded') {
    await using database = createFile(folder);
    await measure(values.tree, folder, database);
  } else if (values.engine === 'citus') {
    await using cluster = await startCluster();
    const url = await createCitusDatabase(cluster, 'stores');
    await migrate(environmentOf(url, folder));
    await measure(values.tree, folder, databaseOn(cluster, url));
  } else {
    await using postgres = await startDatabase();
    await using database = await createDatabase(postgres, 'stores');
    await measure(values.tree, folder, database);
  }
} finally {
  killServers();
  rmSync(folder, { recursive: true, force: true });
}
