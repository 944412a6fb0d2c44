/** Power cuts: compares the database after a power failure to the records of the clients. */

import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { readDatabaseConfig } from '../../src/start/config.ts';
import { openDatabase } from '../../src/start/database.ts';
import { verify } from '../../src/features/proofs/service/verify.ts';
import { recordsOf, TracedFolder, type TraceRecord } from './disk-trace.ts';
import { reading } from './engine-sqlite.ts';
import type { EngineDatabase, Environment } from './engine-database.ts';
import { faultyDisk, type FaultyDisk, type Switches } from './faulty-disk.ts';
import type { Seeded } from './seeded.ts';
import { databaseToServe, openShop, serve, type Served } from './served.ts';
import { assertHolds } from './stored.ts';
import { LoadClient, untilMoreAcknowledged, type KnownCard, type OpenRequest } from './load-client.ts';

type Acknowledged = {
  readonly request: OpenRequest;
  readonly card: KnownCard;
  /** The position of the trace when the client had the response. */
  readonly position: number;
};

/** A client, and its acknowledged requests. */
type TracedClient = { readonly client: LoadClient; readonly history: readonly Acknowledged[] };

function openTracedClient(
  name: string,
  { token, random, disk }: { readonly token: string; readonly random: Seeded; readonly disk: FaultyDisk },
): TracedClient {
  const history: Acknowledged[] = [];
  const client = new LoadClient({
    name,
    token,
    random,
    acknowledged: (request, card) => history.push({ request, card, position: disk.position() }),
  });
  return { client, history };
}

/** The knowledge of a client at a position of the trace. Positions must be requested in ascending order. */
class Known implements Pick<LoadClient, 'cards' | 'open'> {
  readonly cards = new Map<number, KnownCard>();
  open: OpenRequest | undefined;
  acknowledged = 0;
  readonly #of: TracedClient;

  constructor(of: TracedClient) {
    this.#of = of;
  }

  advance(position: number): void {
    const { client, history } = this.#of;
    let next = history[this.acknowledged];
    while (next && next.position <= position) {
      this.cards.set(next.card.id, next.card);
      this.acknowledged += 1;
      next = history[this.acknowledged];
    }
    // A client sends its next request when it has the response to the last one.
    this.open = next?.request ?? client.open;
  }
}

type PowerCuts = {
  readonly cuts: number;
  /** The number of acknowledged requests that could be lost, over all cuts. */
  readonly acknowledged: number;
  /** The number of requests without a response that were executed. */
  readonly done: number;
};

const fileName = 'largesse.db';

/** Images in memory are created faster. */
const imageFolder = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

export type TracedShop = AsyncDisposable & {
  readonly database: EngineDatabase;
  /** The database file. */
  readonly file: string;
  readonly disk: FaultyDisk;
  /** The environment of a service on the faulty disk. */
  readonly environment: Environment;
  readonly clients: readonly LoadClient[];
  /** The ends of the selected records so far. */
  readonly places: (wanted: (record: TraceRecord) => boolean) => readonly number[];
  /**
   * Cuts the power at positions of the trace, and opens the rest as the service does each time. Only once for
   * a shop.
   * @throws Error if an acknowledged request is lost or partly executed, or the file is damaged.
   */
  readonly cutPower: (places: readonly number[]) => Promise<PowerCuts>;
};

/** A store on a faulty disk that records its operations. */
export async function openTracedShop(random: Seeded, connections: number): Promise<TracedShop> {
  const database = await databaseToServe();
  const token = await openShop(database.environment, 'flowers.example');
  const folder = new TracedFolder(database.folder, random);
  const disk = faultyDisk(database.folder, { isTraced: true });
  // About the duration on a good disk.
  disk.set({ syncUs: 1_000 });
  const traced = Array.from({ length: connections }, (_, index) =>
    openTracedClient(`client-${index}`, { token, random, disk }),
  );
  const keysName = basename(database.keysFile);
  return {
    database,
    file: join(database.folder, fileName),
    disk,
    environment: { ...database.environment, ...disk.environment },
    clients: traced.map(({ client }) => client),
    places(wanted) {
      const ends: number[] = [];
      for (const record of recordsOf(disk.trace)) if (wanted(record)) ends.push(record.end);
      return ends;
    },
    async cutPower(places) {
      const known = traced.map((client) => new Known(client));
      const totals = { cuts: 0, acknowledged: 0, done: 0 };
      const rest = places.toSorted((one, other) => one - other);
      for (const record of recordsOf(disk.trace)) {
        folder.apply(record);
        while (rest[0] !== undefined && rest[0] <= record.end) {
          const place = rest.shift() ?? 0;
          for (const each of known) each.advance(place);
          const image = mkdtempSync(join(imageFolder, 'largesse-image-'));
          try {
            folder.writeTorn(image);
            totals.done += await assertWhole(image, { known, keysName });
          } catch (error) {
            throw new Error(`after a power cut at ${place} of the trace (${record.kind})`, { cause: error });
          } finally {
            rmSync(image, { recursive: true });
          }
          totals.cuts += 1;
          totals.acknowledged += known.reduce((sum, { acknowledged }) => sum + acknowledged, 0);
        }
      }
      assert.deepEqual(rest, [], 'positions beyond the trace');
      return totals;
    },
    async [Symbol.asyncDispose]() {
      for (const { client } of traced) client.close();
      disk[Symbol.dispose]();
      await database[Symbol.asyncDispose]();
    },
  };
}

/** Opens the database as the service does, and compares it with the known cards. */
async function assertWhole(
  image: string,
  { known, keysName }: { readonly known: readonly Known[]; readonly keysName: string },
): Promise<number> {
  const file = join(image, fileName);
  const keysFile = join(image, keysName);
  const environment = { DATABASE_URL: `file:${file}`, KEYS_FILE: keysFile };
  await using database = await openDatabase(readDatabaseConfig(environment), { prepare: true, serves: true });
  const { mismatches } = await database.storage.read(() => verify(10));
  assert.deepEqual(mismatches, []);
  const [integrity] = reading(file, (opened) => opened.prepare('pragma integrity_check').all());
  assert.equal(integrity?.['integrity_check'], 'ok');
  const query = async (text: string) => reading(file, (opened) => opened.prepare(text).all());
  return (await assertHolds({ keysFile, query }, known)).size;
}

async function decideAll(clients: readonly LoadClient[], { url }: Served): Promise<void> {
  await Promise.all(clients.map(async (client) => client.open && client.decide(url)));
}

/**
 * Sends the open requests again, and lets the clients work until this many more requests are acknowledged.
 */
async function work({ clients }: TracedShop, service: Served, requests: number): Promise<void> {
  await decideAll(clients, service);
  let isOver = false;
  const working = Promise.all(clients.map((client) => client.work(service.url, () => isOver)));
  await untilMoreAcknowledged(clients, requests);
  isOver = true;
  await working;
}

/** Starts a service, lets the clients work, and ends it with a signal. */
export async function workUntilEnded(
  shop: TracedShop,
  requests: number,
  signal: 'SIGTERM' | 'SIGKILL',
): Promise<void> {
  await using service = await serve(shop.environment);
  await work(shop, service, requests);
  service.kill(signal);
  await service.ended();
}

/** Starts a service, lets the clients work, and sets switches of the disk that make the service end. */
export async function workUntilItFails(
  shop: TracedShop,
  requests: number,
  switches: Switches,
): Promise<void> {
  await using service = await serve(shop.environment);
  await decideAll(shop.clients, service);
  const working = Promise.all(shop.clients.map((client) => client.work(service.url, () => false)));
  await untilMoreAcknowledged(shop.clients, requests);
  shop.disk.set(switches);
  await working;
  assert.deepEqual(await service.ended(), { code: 1, signal: null });
}
