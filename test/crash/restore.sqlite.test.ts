/** A backup that is restored in place of the database. */

import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import {
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { removeAbandonedCopies } from '../../src/database/sqlite/restore.ts';
import { reading } from '../support/engine-sqlite.ts';
import type { EngineDatabase } from '../support/engine-database.ts';
import { command, databaseToServe, openShop, serve } from '../support/served.ts';

/** Issues cards with a service that is then killed, which leaves its log. */
async function issue({ environment }: EngineDatabase, token: string, count: number): Promise<void> {
  await using service = await serve(environment);
  for (let issued = 0; issued < count; issued += 1) {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const response = await fetch(`${service.url}/gift_card`, {
      method: 'POST',
      headers,
      body: '{"initial_value": 5}',
    });
    assert.equal(response.status, 201);
    await response.text();
  }
  service.kill('SIGKILL');
  await service.ended();
}

function countCards(file: string): number {
  return reading(file, (database) =>
    Number(database.prepare('select count(*) as count from gift_cards').get()?.['count']),
  );
}

/** The token, and the files of a database with 2 cards in a backup and 5 later ones, most of them in a leftover log. */
async function makeFiles() {
  await using database = await databaseToServe();
  const { environment, folder } = database;
  const token = await openShop(environment, 'flowers.example');
  await issue(database, token, 2);
  const backup = join(folder, 'backup.db');
  const taken = await command(environment, 'backup', backup);
  assert.equal(taken.code, 0, taken.errors);
  await issue(database, token, 3);
  assert.ok(existsSync(join(folder, 'largesse.db-wal')));
  const files = readdirSync(folder).map((name) => [name, readFileSync(join(folder, name))] as const);
  return { token, files };
}

let shared: ReturnType<typeof makeFiles> | undefined;

/** A database and a backup of it, in a new folder. */
async function fixture(making = (shared ??= makeFiles())) {
  const { token, files } = await making;
  const database = await databaseToServe({ empty: true });
  for (const [name, bytes] of files) writeFileSync(join(database.folder, name), bytes, { mode: 0o600 });
  return {
    database,
    token,
    backup: join(database.folder, 'backup.db'),
    file: join(database.folder, 'largesse.db'),
    environment: database.environment,
    [Symbol.asyncDispose]: () => database[Symbol.asyncDispose](),
  };
}

type Done = { readonly kept: readonly string[]; readonly stores: readonly { readonly cards: number }[] };

test('restore replaces the database, keeps the previous one with its log, and reports both', async () => {
  await using given = await fixture();
  const { database, environment, backup, file } = given;
  const bytes = readFileSync(backup);
  const rejected = await command(environment, 'restore', backup);
  assert.equal(rejected.code, 1);
  assert.match(rejected.errors, /largesse\.db exists: use --replace/);
  assert.equal(countCards(file), 5);

  const restored = await command(environment, 'restore', backup, '--replace', '--json');
  assert.equal(restored.code, 0, restored.errors);
  const { kept, stores } = JSON.parse(restored.output) as Done;
  assert.deepEqual(
    stores.map(({ cards }) => cards),
    [2],
  );
  assert.equal(kept.length, 1);
  assert.equal(countCards(file), 2);
  assert.equal(countCards(kept[0] ?? ''), 5);
  assert.deepEqual(readFileSync(backup), bytes, 'the backup was changed');
  for (const each of [file, kept[0] ?? '']) {
    const verified = await command(
      { ...environment, DATABASE_URL: `file:${each}`, KEYS_FILE: database.keysFile },
      'verify',
    );
    assert.equal(verified.code, 0, verified.errors);
  }
  await issue(database, given.token, 1);
  assert.equal(countCards(file), 3);
  assert.deepEqual(
    readdirSync(database.folder).filter((name) => name.includes('restoring')),
    [],
  );
  const again = await command(environment, 'restore', backup, '--replace');
  assert.equal(again.code, 0, again.errors);
  assert.match(again.output, /^flowers\.example: 2 gift cards, 2 transfers/m);
  assert.match(
    again.output,
    /^Restored .*backup\.db to .*largesse\.db, with the keys of .*largesse\.keys\.json\.$/m,
  );
  assert.match(again.output, /^Kept the previous database: .*largesse\.db\.replaced-\d{8}T\d{6}Z\.$/m);
});

test('restore fails while a process has the database open', async () => {
  await using given = await fixture();
  await using service = await serve(given.environment);
  const rejected = await command(given.environment, 'restore', given.backup, '--replace');
  assert.equal(rejected.code, 1);
  assert.match(rejected.errors, /a process has .*largesse\.db open: stop the service first/);
  assert.equal((await fetch(`${service.url}/healthz`)).status, 200);
  assert.equal(countCards(given.file), 5);
});

test('restore rejects a damaged backup or one with other keys, and changes nothing', async () => {
  await using given = await fixture();
  const { database, environment, backup, file } = given;
  await using other = await fixture(makeFiles());
  const damaged = join(database.folder, 'damaged.db');
  copyFileSync(backup, damaged);
  // The balance of a card in the file, where triggers do not guard it.
  await using tampered = await damagedBackup(given);
  const text = join(database.folder, 'text.db');
  writeFileSync(text, 'no database');
  const bytes = readFileSync(damaged);
  bytes.fill(0xab, 4_096 * 3);
  writeFileSync(damaged, bytes);
  const cases: readonly [name: string, path: string, message: RegExp][] = [
    ['one that is missing', join(database.folder, 'none.db'), /there is no file .*none\.db/],
    ['the database itself', file, /is the database itself/],
    ['no database', text, /text\.db is not a SQLite database/],
    ['a damaged one', damaged, /damaged\.db was not restored, and the database was not changed: /],
    ['one with a wrong balance', tampered.path, /it is damaged: flowers\.example, gift card \d+ /],
    ['one of another key file', other.backup, /backup\.db was not restored.*key file lacks the key/],
  ];
  for (const [name, path, message] of cases) {
    const rejected = await command(environment, 'restore', path, '--replace');
    assert.equal(rejected.code, 1, name);
    assert.match(rejected.errors, message, name);
    assert.equal(countCards(file), 5, name);
  }
  const without = { ...environment, KEYS_FILE: join(database.folder, 'missing.json') };
  const rejected = await command(without, 'restore', backup, '--replace');
  assert.equal(rejected.code, 1);
  assert.match(rejected.errors, /the key file .*missing\.json is missing: put back the one/);
  assert.deepEqual(
    readdirSync(database.folder).filter((name) => /restoring|replaced|missing/.test(name)),
    [],
  );
  const verified = await command(environment, 'verify');
  assert.equal(verified.code, 0, verified.errors);
});

/** A backup whose only error is a balance. */
async function damagedBackup({ backup, database }: Awaited<ReturnType<typeof fixture>>) {
  const copy = await databaseToServe();
  const path = join(copy.folder, 'largesse.db');
  copyFileSync(backup, path);
  await copy.meddle('update gift_cards set balance = balance + 1');
  const target = join(database.folder, 'tampered.db');
  const taken = await command({ ...copy.environment, KEYS_FILE: database.keysFile }, 'backup', target);
  assert.equal(taken.code, 1, 'a damaged copy is not given its name');
  return { path: `${target}.unverified`, [Symbol.asyncDispose]: () => copy[Symbol.asyncDispose]() };
}

test('restore creates a missing database, and moves a leftover log', async () => {
  await using given = await fixture();
  const { database, environment, backup, file } = given;
  renameSync(file, join(database.folder, 'lost.db'));
  const restored = await command(environment, 'restore', backup, '--json');
  assert.equal(restored.code, 0, restored.errors);
  const { kept } = JSON.parse(restored.output) as Done;
  assert.deepEqual(
    kept.map((path) => path.endsWith('-wal') && existsSync(path)),
    [true],
  );
  assert.equal(countCards(file), 2);

  await using elsewhere = await databaseToServe({ empty: true });
  const target = join(elsewhere.folder, 'new', 'folder', 'largesse.db');
  const moved = { ...environment, DATABASE_URL: `file:${target}`, KEYS_FILE: database.keysFile };
  const made = await command(moved, 'restore', backup);
  assert.equal(made.code, 0, made.errors);
  assert.equal(countCards(target), 2);
  assert.equal((await command(moved, 'verify')).code, 0);
});

test('restore replaces a database that SQLite cannot read, and keeps it with its log', async () => {
  await using given = await fixture();
  const { environment, backup, file } = given;
  const bytes = readFileSync(file);
  bytes.fill(0xab, 0, 4_096);
  writeFileSync(file, bytes);
  const restored = await command(environment, 'restore', backup, '--replace');
  assert.equal(restored.code, 0, restored.errors);
  assert.match(restored.output, /Kept the previous database: .*replaced-\w+, .*replaced-\w+-wal\./);
  assert.match(restored.output, /SQLite cannot read the previous database/);
  assert.equal(countCards(file), 2);
  assert.equal((await command(environment, 'verify')).code, 0);
});

test('restore of a database on a server names the tool to use', async () => {
  const rejected = await command({ DATABASE_URL: 'postgres://user@db.example/largesse' }, 'restore', 'x.db');
  assert.equal(rejected.code, 1);
  assert.match(rejected.errors, /pg_restore/);
});

/** The files of copies that a restore has not removed. */
function copiesIn(folder: string): readonly string[] {
  return readdirSync(folder).filter((name) => name.includes('restoring'));
}

/** Starts a restore, and sends it a signal while it verifies its copy. @returns the process. */
async function interruptRestore(
  { environment, backup, database }: Awaited<ReturnType<typeof fixture>>,
  signal: 'SIGKILL' | 'SIGSTOP',
): Promise<ChildProcess> {
  const restore = spawn(process.execPath, ['bin/largesse.js', 'restore', backup, '--replace'], {
    env: { ...process.env, ...environment },
    stdio: 'ignore',
  });
  const { size } = statSync(backup);
  const isCopied = (): boolean =>
    copiesIn(database.folder).some(
      (name) => (statSync(join(database.folder, name), { throwIfNoEntry: false })?.size ?? 0) >= size,
    );
  while (!isCopied()) {
    assert.equal(restore.exitCode, null, 'the restore ended before its copy was seen');
    await wait(1);
  }
  restore.kill(signal);
  if (signal === 'SIGKILL') await once(restore, 'exit');
  return restore;
}

test('the next restore, and the next start, remove the copy that a killed restore has left', async () => {
  await using given = await fixture();
  const { database, environment, backup, file } = given;
  const other = join(database.folder, 'largesse.db.restoring-old');
  writeFileSync(other, 'not made by a restore');
  await interruptRestore(given, 'SIGKILL');
  const [copy = ''] = copiesIn(database.folder);
  assert.match(copy, /^largesse\.db\.restoring-\d{8}T\d{6}Z-[0-9a-f]{8}/);
  const restored = await command(environment, 'restore', backup, '--replace');
  assert.equal(restored.code, 0, restored.errors);
  assert.match(
    restored.errors,
    /^Removed the copies of a restore that was interrupted: \S+restoring-\S+[^,]$/m,
  );
  assert.deepEqual(copiesIn(database.folder), ['largesse.db.restoring-old']);

  await interruptRestore(given, 'SIGKILL');
  await using service = await serve(environment);
  assert.deepEqual(copiesIn(database.folder), ['largesse.db.restoring-old']);
  assert.match(service.output(), /removed the copies of a restore that was interrupted/);
  assert.equal(countCards(file), 2);
});

test('the copy of a restore that runs is not removed', async () => {
  await using given = await fixture();
  const { database, environment } = given;
  const running = await interruptRestore(given, 'SIGSTOP');
  try {
    const copies = copiesIn(database.folder);
    assert.deepEqual(removeAbandonedCopies(given.file), { removed: [], left: [] });
    assert.deepEqual(copiesIn(database.folder), copies);
  } finally {
    running.kill('SIGKILL');
    await once(running, 'exit');
  }
  assert.equal(removeAbandonedCopies(given.file).removed.length, 1);
  assert.deepEqual(copiesIn(database.folder), []);
  assert.equal((await command(environment, 'verify')).code, 0);
});
