/** The embedded engine handles real disk failures, provoked from outside. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { closeSync, openSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { Fault } from '../../src/core/domain/fault.ts';
import { all, sql, type Script } from '../../src/database/sql/sql.ts';
import type { Findings } from '../support/filling-writer.ts';
import { runProgram, type Result } from '../support/programs.ts';
import { createSqliteDatabase, openEngine, sqliteFactory } from '../support/sqlite.ts';
import { insertRow, listRows } from '../support/row-counts.ts';

const fillingWriter = join(import.meta.dirname, '../support/filling-writer.ts');

/** Runs the program that writes until it fails, as the last command of a shell script. */
async function fill(prelude: string, args: readonly string[], shell: readonly string[] = ['sh']) {
  const [command = 'sh', ...options] = shell;
  const script = `${prelude} && exec "$0" "$@"`;
  const program = [process.execPath, fillingWriter, ...args];
  return findingsOf(await runProgram(command, [...options, '-c', script, ...program]));
}

function findingsOf({ code, output, errors }: Result): Findings {
  assert.equal(code, 0, `${output}\n${errors}`);
  return JSON.parse(output.trim().split('\n').at(-1) ?? '') as Findings;
}

/** Returns the names of the rows that a new engine finds in a file. */
async function rowsAfterRestart(file: string): Promise<ReadonlySet<string>> {
  await using engine = openEngine(file, { create: false });
  const [integrity] = await engine.read(() => all(sql<{ integrity_check: string }>`pragma integrity_check`));
  assert.equal(integrity?.integrity_check, 'ok');
  const names = await engine.read(listRows);
  return new Set(names.map((name) => name.split(' ', 1)[0] ?? ''));
}

test('an I/O error stops the engine, and everything acknowledged is found at the next start', async () => {
  await using database = createSqliteDatabase();
  // No file of this process can grow past this limit: a larger write fails with EFBIG, an I/O error to
  // SQLite.
  const findings = await fill('ulimit -f 3000', [database.file]);
  assert.ok(findings.acknowledged.length > 0);
  assert.deepEqual(new Set(findings.rejected.map(({ code }) => code)), new Set(['unavailable']));
  assert.equal(findings.rejected.length, 20, 'the whole group was rejected');
  assert.equal(findings.failures, 1, 'the observer was notified once');
  assert.equal(findings.readAfter, 'unavailable');
  assert.equal(findings.writeAfter, 'unavailable');

  const rows = await rowsAfterRestart(database.file);
  for (const row of findings.acknowledged) assert.ok(rows.has(row), `${row} was acknowledged and is lost`);
  const undecided = findings.rejected.filter(({ row }) => rows.has(row)).length;
  assert.ok([0, findings.rejected.length].includes(undecided), 'a group is written completely or not at all');
  assert.equal(rows.size, findings.acknowledged.length + undecided);
});

test('a page that is damaged while the engine runs stops its service', async () => {
  await using database = createSqliteDatabase();
  {
    await using maker = database.open();
    await maker.migrate(sqliteFactory.migrations);
    const ids = Array.from({ length: 3_000 }, (_, index) => index + 1);
    await Promise.all(ids.map((id) => maker.write(() => insertRow(id, `row-${id}`))));
  }
  const failures: unknown[] = [];
  const storage = database.open({
    observer: { committed() {}, failed: (cause) => failures.push(cause) },
  });
  assert.equal(await storage.read(() => countOf(1)), 1);
  const file = openSync(database.file, 'r+');
  const pageSize = 4_096;
  const noise = Buffer.alloc(pageSize, 0xab);
  for (let at = pageSize * 30; at < statSync(database.file).size; at += pageSize)
    writeSync(file, noise, 0, pageSize, at);
  closeSync(file);

  let started = 0;
  const counted = function* (): Script<readonly string[]> {
    started += 1;
    return yield* listRows();
  };
  const outcomes = await Promise.allSettled([
    storage.read(counted),
    storage.read(counted),
    storage.write(() => insertRow(9_001, 'never')),
  ]);
  for (const outcome of outcomes) assertUnavailable(outcome);
  assert.equal(failures.length, 1);
  assert.ok(failures[0] instanceof Error && /malformed/.test(failures[0].message), String(failures[0]));

  started = 0;
  assertUnavailable(...(await Promise.allSettled([storage.read(counted)])));
  assertUnavailable(...(await Promise.allSettled([storage.write(counted)])));
  assert.equal(started, 0, 'nothing runs afterwards');
  assert.equal(failures.length, 1);
  assert.equal(storage.queueDepth, 0);
});

test('a database at its size limit rejects the group, keeps serving, and recovers', async () => {
  await using database = createSqliteDatabase();
  const failures: unknown[] = [];
  const storage = database.open({
    observer: { committed() {}, failed: (cause) => failures.push(cause) },
  });
  await storage.migrate(sqliteFactory.migrations);
  const padding = 'x'.repeat(2_000);
  const write = (id: number) => storage.write(() => insertRow(id, `row-${id} ${padding}`));
  // SQLite returns SQLITE_FULL past this number of pages, as it does when the disk is full.
  await storage.write(() => all(sql`pragma max_page_count = 300`));

  const acknowledged = new Set<string>();
  let rejected: PromiseRejectedResult[] = [];
  for (let turn = 0; turn < 100 && rejected.length === 0; turn += 1) {
    const ids = Array.from({ length: 20 }, (_, index) => turn * 20 + index + 1);
    const outcomes = await Promise.allSettled(ids.map((id) => write(id)));
    rejected = outcomes.filter((outcome) => outcome.status === 'rejected');
    assert.ok([0, 20].includes(rejected.length), 'a group is rejected as a whole');
    if (rejected.length === 0) for (const id of ids) acknowledged.add(`row-${id}`);
  }
  assert.equal(rejected.length, 20);
  for (const outcome of rejected) assertFault(outcome, 'not-writable');
  const present = async () => new Set((await storage.read(listRows)).map((name) => name.split(' ', 1)[0]));
  assert.ok(acknowledged.size > 0);
  assert.deepEqual(await present(), acknowledged, 'nothing of the rejected group was written');
  assert.deepEqual(failures, []);

  await storage.write(() => all(sql`pragma max_page_count = 1000000`));
  await write(9_001);
  assert.deepEqual(await present(), new Set([...acknowledged, 'row-9001']));
});

/**
 * A shell with its own file system to fill, which is removed with its last process. Undefined if that is
 * not permitted.
 */
const ownMounts = [
  ['unshare', '--mount', 'sh'],
  ['unshare', '--user', '--map-root-user', '--mount', 'sh'],
].find(([command = '', ...args]) => {
  const attempt = spawnSync(command, [...args, '-c', 'mount -t tmpfs -o size=64k none /mnt']);
  return attempt.status === 0;
});

if (ownMounts) {
  test('a full disk rejects the group, and the engine continues once space is free', async () => {
    await using database = createSqliteDatabase();
    const { folder } = database;
    const prelude = [
      `mount -t tmpfs -o size=3m none ${folder}`,
      `dd if=/dev/zero of=${folder}/ballast bs=1k count=1500 status=none`,
      `cd ${folder}`,
    ].join(' && ');
    const findings = await fill(prelude, [join(folder, 'test.db'), join(folder, 'ballast')], ownMounts);
    assert.ok(findings.acknowledged.length > 0);
    assert.deepEqual(new Set(findings.rejected.map(({ code }) => code)), new Set(['not-writable']));
    assert.equal(findings.rejected.length, 20);
    assert.equal(findings.failures, 0, 'a full disk does not mean a damaged file');
    assert.equal(findings.readAfter, findings.acknowledged.length - 1, 'reads succeeded the whole time');
    assert.equal(findings.writeAfter, 'done');
  });
} else {
  test('a full disk could not be tested: this machine does not allow a test to mount a file system', (t) => {
    t.diagnostic('only a limit of pages caused SQLITE_FULL');
  });
}

function assertUnavailable(...outcomes: readonly PromiseSettledResult<unknown>[]): void {
  for (const outcome of outcomes) assertFault(outcome, 'unavailable');
}

function assertFault(outcome: PromiseSettledResult<unknown>, code: 'unavailable' | 'not-writable'): void {
  assert.equal(outcome.status, 'rejected');
  assert.ok(outcome.reason instanceof Fault, String(outcome.reason));
  assert.equal(outcome.reason.code, code);
  assert.ok((outcome.reason.retryAfterSeconds ?? 0) >= 1);
}

function* countOf(id: number): Script<number> {
  return (yield* all(sql`select 1 from stores where id = ${id}`)).length;
}
