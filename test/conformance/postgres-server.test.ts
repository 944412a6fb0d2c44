/** The PostgreSQL servers of the tests: stopping, killing, copying and replicating them, and cleaning up. */

import assert from 'node:assert/strict';
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { deadlineIn } from '../support/deadline.ts';
import { queryOnce } from '../support/postgres-client.ts';
import {
  createPostgresDatabase,
  sharedPostgres,
  startSharedPostgres,
  templateDatabase,
} from '../support/postgres-database.ts';
import { fillDisk, freeDisk } from '../support/postgres-disk.ts';
import { takesConnections } from '../support/postgres-port.ts';
import { startPostgres, type PostgresServer } from '../support/postgres-server.ts';
import { startStandby } from '../support/postgres-standby.ts';
import { startProgram } from '../support/programs.ts';

/** Waits until the condition is true. @throws Error after ten seconds. */
async function until(hasComeAbout: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = deadlineIn(10_000);
  while (!(await hasComeAbout())) {
    assert.ok(!deadline.isOver(), 'the condition did not become true');
    await wait(20);
  }
}

async function countRows(server: PostgresServer): Promise<number> {
  const [row] = await server.query('select count(*)::int as count from notes');
  return Number(row?.['count']);
}

test('a server that was stopped in any way starts again with its data and port, and leaves nothing at the end', async () => {
  const server = await startPostgres({ durable: true });
  {
    await using disposed = server;
    assert.notEqual(statSync(disposed.data).uid, 0, 'PostgreSQL does not run as root');
    await disposed.query('create table notes (id int)');
    for (const mode of ['smart', 'fast', 'immediate'] as const) {
      await disposed.query('insert into notes values (1)');
      await disposed.stop(mode);
      assert.equal(await takesConnections(disposed.port), false);
      await disposed.start();
    }
    await disposed.query('insert into notes values (1)');
    const processes = [...disposed.processes];
    assert.ok(processes.length > 0);
    await disposed.killHard();
    assert.equal(await takesConnections(disposed.port), false);
    await disposed.start();
    assert.equal(await countRows(disposed), 4);
    assert.match(disposed.log(), /not properly shut down/);
    assert.match(disposed.url('other'), new RegExp(`@127\\.0\\.0\\.1:${disposed.port}/other$`));
  }
  assert.equal(await takesConnections(server.port), false);
  assert.equal(existsSync(server.folder) || existsSync(server.data), false);
});

test('the servers of a killed process are removed, including stopped ones', async () => {
  const harness = join(import.meta.dirname, '../support/postgres-server.ts');
  const script = `
    const { startPostgres } = await import(${JSON.stringify(harness)});
    const [one, other] = await Promise.all([startPostgres(), startPostgres({ durable: true })]);
    await other.killHard();
    console.log(JSON.stringify([one, other].map(({ port, folder, data }) => ({ port, folder, data }))) + ';');
    setInterval(() => {}, 1000);
  `;
  const environment = process.env as Record<string, string>;
  await using program = startProgram(process.execPath, ['--input-type=module', '-e', script], {
    environment,
  });
  const [, line = ''] = await program.written(/^(.*);$/m);
  const servers = JSON.parse(line) as readonly Pick<PostgresServer, 'port' | 'folder' | 'data'>[];
  assert.equal(servers.length, 2);
  assert.equal(await takesConnections(servers[0]?.port ?? 0), true);
  program.kill('SIGKILL');
  await program.ended();
  for (const { port, folder, data } of servers) {
    await until(() => !existsSync(folder) && !existsSync(data));
    assert.equal(await takesConnections(port), false);
  }
});

test('the shared server does not have the default settings', async () => {
  await using server = await startSharedPostgres();
  await using database = await createPostgresDatabase(server);
  const [row] = await database.query(
    `select current_setting('timezone') as zone, current_setting('datestyle') as dates, $1::int as number`,
    [1],
  );
  assert.deepEqual(row, { zone: 'Asia/Kathmandu', dates: 'SQL, DMY', number: 1 });
});

test('a template is filled once, and copied into separate databases concurrently', async () => {
  const server = await sharedPostgres();
  let fillings = 0;
  const fill = async (url: string): Promise<void> => {
    fillings += 1;
    await queryOnce(url, 'create table notes as select 1 as id');
  };
  const key = `postgres-server.test ${process.pid}`;
  const names = await Promise.all([1, 2, 3].map(() => templateDatabase(server, key, fill)));
  assert.equal(new Set(names).size, 1);
  assert.equal(fillings, 1);
  const [template = ''] = names;
  const databases = await Promise.all(
    Array.from({ length: 12 }, () => createPostgresDatabase(server, { template })),
  );
  assert.equal(new Set(databases.map(({ name }) => name)).size, 12);
  await Promise.all(databases.slice(1).map((database) => database.query('insert into notes values (2)')));
  const [first] = databases;
  assert.deepEqual(await first?.query('select id from notes'), [{ id: 1 }]);
  await Promise.all(databases.map((database) => database.drop()));
  const left = await queryOnce(server.url(), 'select 1 from pg_database where datname = any($1)', [
    databases.map(({ name }) => name),
  ]);
  assert.deepEqual(left, []);
});

test('a synchronous standby has everything that its primary acknowledged, and can be promoted', async () => {
  await using primary = await startPostgres({ durable: true });
  await primary.query('create table notes (id int)');
  await using standby = await startStandby(primary, { name: 'second', synchronous: true });
  assert.equal(await standby.isInRecovery(), true);
  await primary.query('insert into notes values (1)');
  await assert.rejects(standby.server.query('insert into notes values (2)'), /read-only transaction/);
  await standby.promote();
  assert.equal(await standby.isInRecovery(), false);
  await standby.server.query('insert into notes values (2)');
  assert.equal(await countRows(standby.server), 2);
  assert.equal(await takesConnections(primary.port), false);
  await assert.rejects(primary.start(), /fenced/);
  primary.unfence();
  await primary.start();
  assert.equal(await countRows(primary), 1);
});

test('an asynchronous standby streams as well', async () => {
  await using primary = await startPostgres({ durable: true });
  await using standby = await startStandby(primary, { name: 'second', synchronous: false });
  await standby.server.stop();
  await standby.server.start();
  await standby.streams();
});

test('a table does not grow on a full disk, and grows again once space is free', async () => {
  await using server = await startPostgres({ durable: true });
  await server.query('create table notes (id int, text text)');
  const grow = () =>
    server.query(`insert into notes select 1, repeat('x', 1900) from generate_series(1, 1000)`);
  fillDisk(server, 'tables');
  await assert.rejects(grow(), /could not extend file/);
  assert.equal(await countRows(server), 0);
  freeDisk(server);
  await grow();
  assert.equal(await countRows(server), 1_000);
});

test('a server without space for its log stops, and starts with all acknowledged rows once space is free', async () => {
  await using server = await startPostgres({ durable: true });
  await server.query('create table notes (id int, text text)');
  fillDisk(server, 'log');
  const counts = { done: 0, failed: 0 };
  await until(async () => {
    const written = server.query(`insert into notes values (1, repeat(md5(random()::text), 50))`);
    const outcome = await written.then(
      () => 'done' as const,
      () => 'failed' as const,
    );
    counts[outcome] += 1;
    return !server.isRunning;
  });
  assert.match(server.log(), /PANIC: .*(File too large|No space left)/);
  await server.start();
  const count = await countRows(server);
  assert.ok(
    counts.done <= count && count <= counts.done + counts.failed,
    `${count}, ${JSON.stringify(counts)}`,
  );
});
