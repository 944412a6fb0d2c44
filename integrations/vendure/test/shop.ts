/** A shop on Vendure whose gift cards are in a service of Largesse, with a gateway between them that loses messages. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createClient, type Largesse } from 'largesse-client';
import { engine } from '../../../test/support/engine.ts';
import { openLosingGateway } from '../../../test/support/losing-gateway.ts';
import { runProgram, startProgram, type Program } from '../../../test/support/programs.ts';
import { createPostgresDatabase, sharedPostgres } from '../../../test/support/postgres-database.ts';
import { databaseToServe, serve } from '../../../test/support/served.ts';
import { administratorOf } from './administrator.ts';
import { openStore } from './store.ts';

const shopMain = join(import.meta.dirname, 'shop-main.ts');

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

export type Shop = Awaited<ReturnType<typeof openShop>>;

/** Starts Largesse, the gateway and Vendure, with a database that has two products. */
export async function openShop() {
  await using stack = new AsyncDisposableStack();
  const database = stack.use(await databaseToServe({ durable: true }));
  const { token, operatorToken } = await openStore(database.environment, 'USD');
  let service = await serve(database.environment);
  stack.defer(() => service[Symbol.asyncDispose]());
  const gateway = stack.use(await openLosingGateway(service.url));
  const shopDatabase = stack.use(await openShopDatabase(database.folder));
  const port = String(await freePort());
  const url = `http://127.0.0.1:${port}`;
  const environment = {
    SHOP_DATABASE: shopDatabase.name,
    SHOP_PORT: port,
    LARGESSE_URL: gateway.url,
    LARGESSE_TOKEN: token,
    VENDURE_DISABLE_TELEMETRY: 'true',
  };
  const populated = await runProgram(process.execPath, [shopMain, 'populate'], { environment });
  assert.equal(populated.code, 0, populated.output + populated.errors);

  const startServer = async (): Promise<Program> => {
    const program = startProgram(process.execPath, [shopMain, 'serve'], { environment });
    await program.written(/now running on port/, 60_000);
    return program;
  };
  let server = await startServer();
  stack.defer(() => server[Symbol.asyncDispose]());
  const administrator = administratorOf(() => url);
  await administrator.signIn();
  const catalog = await administrator.catalog();
  const cards = (): Largesse => createClient({ url: service.url, token: operatorToken });
  let earlierLog = '';
  const owned = stack.move();

  return {
    url,
    catalog,
    administrator,
    gateway,
    /** Largesse, as its operator sees it. */
    cards,
    /** Everything that Vendure has logged. */
    log: (): string => earlierLog + server.output() + server.errors(),
    /** The bytes of the database of Vendure. */
    shopBytes: shopDatabase.bytes,
    /** Kills Vendure, and starts it again. */
    async restartVendure(): Promise<void> {
      server.kill('SIGKILL');
      await server.ended();
      earlierLog += server.output() + server.errors();
      server = await startServer();
    },
    killVendure: (): void => server.kill('SIGKILL'),
    /** Kills Largesse, and starts it again. */
    async restartLargesse(): Promise<void> {
      service.kill('SIGKILL');
      await service.ended();
      service = await serve(database.environment);
      gateway.target = service.url;
    },
    killLargesse: (): void => service.kill('SIGKILL'),
    /** Lets the time of a hold end. */
    async expire(holdId: string | null): Promise<void> {
      const { hold } = await cards().holds.retrieve(Number(holdId));
      await database.meddle(
        `update holds set expires_at = created_at + 1 where external_id = '${hold.external_id}'`,
      );
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

type ShopDatabase = AsyncDisposable & {
  /** A file, or a URL. */
  readonly name: string;
  /** All that it contains. */
  readonly bytes: () => Promise<Buffer>;
};

/** The database of Vendure, on the same engine as that of Largesse. */
async function openShopDatabase(folder: string): Promise<ShopDatabase> {
  const file = join(folder, 'shop.sqlite');
  if (engine.id === 'sqlite')
    return { name: file, bytes: async () => readFileSync(file), async [Symbol.asyncDispose]() {} };
  const database = await createPostgresDatabase(await sharedPostgres());
  // The server of the tests has unusual settings on purpose; TypeORM reads only dates in this style.
  await database.query(`alter database ${database.name} set datestyle to 'ISO'`);
  return {
    name: database.url,
    async bytes() {
      const tables = await database.query(
        "select table_name as name from information_schema.tables where table_schema = 'public'",
      );
      const texts = await Promise.all(
        tables.map(({ name }) => database.query(`select t::text as row from "${String(name)}" t`)),
      );
      return Buffer.from(JSON.stringify(texts));
    },
    [Symbol.asyncDispose]: () => database[Symbol.asyncDispose](),
  };
}
