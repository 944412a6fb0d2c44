/** A full or read-only disk: changes are rejected without being executed, and reads succeed. */

import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import test, { suite } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { deadlineIn } from '../support/deadline.ts';
import { faultyDisk, type FaultyDisk, type Switches } from '../support/faulty-disk.ts';
import { seeded } from '../support/seeded.ts';
import {
  command,
  commandProcess,
  databaseToServe,
  openShop,
  serve,
  startServing,
  type Served,
} from '../support/served.ts';
import { assertHolds } from '../support/stored.ts';
import { openLoadClients, untilMoreAcknowledged, type LoadClient } from '../support/load-client.ts';

const seed = Number(process.env['CRASH_SEED'] ?? Date.now() % 2 ** 31);

const full: Switches = { isFull: 1, growthLeft: 0 };
const readOnly: Switches = { isReadOnly: 1 };
const ordinary: Switches = { isFull: 0, isReadOnly: 0 };

async function fixture() {
  const database = await databaseToServe();
  const token = await openShop(database.environment, 'flowers.example');
  const disk = faultyDisk(database.folder, { isTraced: false });
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const client = (url: string) => ({
    async issue() {
      const response = await fetch(`${url}/gift_card`, {
        method: 'POST',
        headers,
        body: '{"initial_value": 5}',
      });
      return { status: response.status, text: await response.text(), headers: response.headers };
    },
    async read(id: number) {
      const response = await fetch(`${url}/gift_card/${id}`, { headers });
      return { status: response.status, text: await response.text() };
    },
    status: async (path: string) => (await fetch(`${url}${path}`)).status,
    text: async (path: string) => (await fetch(`${url}${path}`)).text(),
  });
  return {
    database,
    token,
    disk,
    client,
    environment: { ...database.environment, ...disk.environment },
    async [Symbol.asyncDispose]() {
      disk[Symbol.dispose]();
      await database[Symbol.asyncDispose]();
    },
  };
}

type Client = ReturnType<Awaited<ReturnType<typeof fixture>>['client']>;

function idOf({ status, text }: { readonly status: number; readonly text: string }): number {
  assert.equal(status, 201, text);
  return (JSON.parse(text) as { readonly gift_card: { readonly id: number } }).gift_card.id;
}

async function assertRejects(client: Client): Promise<void> {
  const { status, text, headers } = await client.issue();
  assert.equal(status, 503, text);
  assert.match(text, /\/docs\/problems\/not-writable"/);
  assert.match(text, /The change was not made/);
  assert.doesNotMatch(text, /unknown|largesse\.db|sqlite|tmp/i);
  assert.ok(Number(headers.get('retry-after')) >= 1);
}

async function becomes(status: number, client: Client): Promise<void> {
  const deadline = deadlineIn(20_000);
  while ((await client.status('/readyz')) !== status) {
    assert.ok(!deadline.isOver(), `/readyz does not become ${status}`);
    await wait(100);
  }
}

async function kill(service: Served, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
  service.kill(signal);
  await service.ended();
}

suite('a disk that becomes full', () => {
  test('changes are rejected without effect, reads are served, readiness reports it, and the service recovers', async () => {
    await using given = await fixture();
    const { disk, client, environment } = given;
    await using service = await serve(environment);
    const shop = client(service.url);
    const id = idOf(await shop.issue());
    await becomes(200, shop);
    disk.set(full);
    await assertRejects(shop);
    assert.equal((await shop.read(id)).status, 200);
    await becomes(503, shop);
    assert.match(await shop.text('/readyz'), /The disk of the database is full/);
    assert.match(await shop.text('/metrics'), /^largesse_database_free_bytes 0$/m);
    await assertRejects(shop);
    await service.written(
      /largesse\.db cannot be written, because the disk of \S+ is full: free space on it/,
    );
    assert.equal((await given.database.query('select count(*) as count from gift_cards'))[0]?.['count'], 1);

    disk.set(ordinary);
    idOf(await shop.issue());
    await becomes(200, shop);
    await kill(service, 'SIGTERM');
    assert.doesNotMatch(service.output(), /"level":"fatal"/);
  });

  test('a service with little free space is not ready, though it accepts changes', async () => {
    await using given = await fixture();
    await using service = await serve(given.environment);
    const shop = given.client(service.url);
    await becomes(200, shop);
    given.disk.set({ isFull: 1, growthLeft: 31 * 2 ** 20 });
    idOf(await shop.issue());
    await becomes(503, shop);
    given.disk.set({ growthLeft: 64 * 2 ** 20 });
    await becomes(200, shop);
  });

  test('a change that is rejected because the shared memory cannot grow is not found after a crash', async (t) => {
    t.diagnostic(`seed ${seed} (CRASH_SEED)`);
    await using given = await fixture();
    const { database, disk, environment, token } = given;
    const clients = openLoadClients(16, token, seeded(seed));
    {
      await using service = await serve(environment);
      const working = clients.map((client) => client.work(service.url, () => false));
      await untilMoreAcknowledged(clients, 16);
      disk.set({ isFull: 2 });
      const outcomes = await Promise.all(working);
      assert.deepEqual(new Set(outcomes.map((outcome) => outcome?.status)), new Set([503]));
      await service.written(/not-writable/);
      assert.doesNotMatch(service.output(), /"level":"fatal"/);
      assert.equal(await given.client(service.url).status('/healthz'), 200);
      await kill(service, 'SIGKILL');
    }
    disk.set(ordinary);
    await using service = await serve(environment);
    assert.equal((await assertHolds(database, clients)).size, 0, 'the rejected change was found');
    await Promise.all(clients.map(async (client: LoadClient) => client.open && client.decide(service.url)));
    assert.equal((await assertHolds(database, clients)).size, 0);
    for (const client of clients) client.close();
  });
});

/** `serve`, `verify` and `backup` work, and report that the disk is not writable. */
async function assertReads({
  given: { database, environment, client, disk },
  id,
}: {
  readonly given: Awaited<ReturnType<typeof fixture>>;
  readonly id: number;
}): Promise<void> {
  const verified = await commandProcess(environment, 'verify', '--json');
  assert.equal(verified.code, 0, verified.errors);
  assert.equal((JSON.parse(verified.output) as { readonly ok: boolean }).ok, true);
  await using elsewhere = await databaseToServe();
  const target = join(elsewhere.folder, 'copy.db');
  const copied = await commandProcess(environment, 'backup', target);
  assert.equal(copied.code, 0, copied.errors);
  const copy = { DATABASE_URL: `file:${target}`, KEYS_FILE: database.keysFile };
  assert.equal((await command(copy, 'verify')).code, 0);

  await using service = await serve(environment);
  const shop = client(service.url);
  assert.equal((await shop.read(id)).status, 200);
  await assertRejects(shop);
  await becomes(503, shop);
  assert.match(
    service.output() + service.errors(),
    /largesse\.db cannot be written, because .*: (?:free space|mount it for writing|run the command)/,
  );
  const rejected = await commandProcess(environment, 'store', 'create', 'late.example', '--currency', 'USD');
  assert.equal(rejected.code, 1);
  assert.match(rejected.errors, /largesse\.db cannot be written/);
  await assertRejects(shop);
  await endsWhenWritable(disk, service, shop);
}

/** A service that was opened read-only ends when the disk becomes writable, and the next one can write. */
async function endsWhenWritable(disk: FaultyDisk, service: Served, shop: Client): Promise<void> {
  disk.set(ordinary);
  const deadline = deadlineIn(20_000);
  while (!deadline.isOver()) {
    const { status } = await shop.issue().catch(() => ({ status: 0 }));
    // A service that has the log open for writing continues.
    if (status === 201) return kill(service, 'SIGTERM');
    if (status === 0) break;
    await wait(100);
  }
  assert.deepEqual(await service.ended(), { code: 1, signal: null });
  assert.match(service.output(), /can be written again/);
}

for (const [name, switches] of [
  ['full', full],
  ['read-only', readOnly],
] as const) {
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    const after = signal === 'SIGTERM' ? 'was stopped' : 'was killed';
    test(`on a ${name} disk the database of a service that ${after} can be served, verified and backed up`, async () => {
      await using given = await fixture();
      let id;
      {
        await using service = await serve(given.environment);
        id = idOf(await given.client(service.url).issue());
        await kill(service, signal);
      }
      given.disk.set(switches);
      await assertReads({ given, id });
      await using service = await serve(given.environment);
      const shop = given.client(service.url);
      idOf(await shop.issue());
      assert.equal((await shop.read(id)).status, 200);
    });
  }
}

test('the error about a log that cannot be read without writing names it and the remedy', async () => {
  await using given = await fixture();
  const { environment, database, disk } = given;
  {
    await using service = await serve(environment);
    idOf(await given.client(service.url).issue());
    await kill(service, 'SIGKILL');
  }
  rmSync(join(database.folder, 'largesse.db-shm'));
  disk.set(readOnly);
  for (const name of ['verify', 'serve']) {
    await using program = startServing(environment);
    const { code, errors } =
      name === 'serve'
        ? { ...(await program.ended()), errors: program.errors() }
        : await commandProcess(environment, name);
    assert.equal(code, 1);
    assert.match(
      errors,
      /largesse\.db-wal holds changes that cannot be read without writing: copy both files/,
    );
  }
});

test('a database is not created on a full or read-only disk, and the message names the file', async () => {
  for (const switches of [full, readOnly]) {
    await using database = await databaseToServe({ empty: true });
    using disk = faultyDisk(database.folder, { isTraced: false });
    disk.set(switches);
    await using program = startServing({ ...database.environment, ...disk.environment });
    assert.equal((await program.ended()).code, 1);
    assert.match(
      program.errors(),
      /largesse\.db cannot be written, because .*: (?:free space|mount it for writing)/,
    );
  }
});
