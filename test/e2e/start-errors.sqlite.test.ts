/** Errors of the system and of SQLite: every command says in one sentence which file is wrong and what to do. */

import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { after } from 'node:test';
import { once } from 'node:events';
import { runCommand } from '../support/command-line.ts';
import { command, databaseToServe, startServing } from '../support/served.ts';

const folder = mkdtempSync(join(tmpdir(), 'largesse-errors-'));
after(() => rmSync(folder, { recursive: true }));
writeFileSync(join(folder, 'plain'), 'hello');
writeFileSync(join(folder, 'text.db'), 'not a database'.repeat(1_000));
mkdirSync(join(folder, 'folder.db'));
symlinkSync(join(folder, 'circle'), join(folder, 'circle'));
symlinkSync(join(folder, 'unmounted'), join(folder, 'link'));

/** Every command that opens the database of `DATABASE_URL`. */
const commands: readonly (readonly string[])[] = [
  ['migrate'],
  ['verify'],
  ['verify', '--json'],
  ['backup', join(folder, 'copy.db')],
  ['vacuum'],
  ['status'],
  ['setup', 'link'],
  ['demo', 'load'],
  ['token', 'list'],
  ['token', 'create', '--name', 'shop'],
  ['store', 'list'],
  ['store', 'show', 'flowers.example'],
  ['store', 'create', 'flowers.example', '--currency', 'EUR', '--time-zone', 'Europe/Paris'],
  ['store', 'status', 'flowers.example'],
  ['staff', 'list'],
  ['location', 'list'],
  ['webhook', 'list'],
  ['stock', 'list'],
  ['mail', 'list'],
  ['checkpoint', 'list'],
  ['card', 'issue', '--value', '20'],
  ['card', 'export', '--output', join(folder, 'cards.csv')],
  ['customer', 'show', 'ada@flowers.example'],
  ['reports', 'rebuild'],
];

/** The raw texts of Node.js and SQLite, and stack traces. */
const raw = /\bE[A-Z]{3,}: |errcode|ERR_|unable to open|not a database\)|\n\s+at /;

/** Defects of the database, each with its sentence; `creating` has that of commands that create a missing one. */
const cases: readonly {
  readonly name: string;
  readonly file: string;
  readonly expected: RegExp;
  readonly creating?: RegExp;
}[] = [
  {
    name: 'a file that is not a database',
    file: join(folder, 'text.db'),
    expected: /text\.db is not a database, or is damaged: correct DATABASE_URL, or restore a backup/,
  },
  {
    name: 'a folder',
    file: join(folder, 'folder.db'),
    expected: /folder\.db is a folder and must be a file: correct the path/,
  },
  {
    name: 'a path through a circle of links',
    file: join(folder, 'circle/largesse.db'),
    expected: /the links on the path \S+circle\S* form a circle: correct them/,
  },
  {
    name: 'a name that is too long',
    file: join(folder, `${'x'.repeat(300)}.db`),
    expected: /the path \S+ is too long: choose a shorter one/,
  },
  {
    name: 'a path through a file',
    file: join(folder, 'plain/largesse.db'),
    expected: /there is no database at \S+plain\/largesse\.db: correct the path, or create the database with/,
    creating: /plain exists and is not a folder: mount the disk that it leads to, move it away, or choose/,
  },
  {
    name: 'a disk that is not mounted',
    file: join(folder, 'link/largesse.db'),
    expected: /there is no database at \S+link\/largesse\.db: correct the path, or create the database with/,
    creating: /link exists and is not a folder: mount the disk that it leads to, move it away, or choose/,
  },
  {
    name: 'a folder that the system does not create',
    file: '/proc/nowhere/largesse.db',
    expected:
      /there is no database at \/proc\/nowhere\/largesse\.db: correct the path, or create the database/,
    creating: /the folder \/proc\/nowhere cannot be created: mount the disk that it belongs to, or correct/,
  },
  {
    name: 'a full disk',
    file: '/dev/full',
    expected: /\/dev\/full cannot be written, because the disk of \/dev\/full is full: free space on it/,
  },
];

for (const { name, file, expected, creating = expected } of cases) {
  test(`every command explains a DATABASE_URL that leads to ${name}`, async () => {
    const environment = { DATABASE_URL: `file:${file}`, KEYS_FILE: join(folder, 'keys.json') };
    for (const args of commands) {
      const { code, output, errors } = await runCommand(args, { environment });
      const shown = `${args.join(' ')}: ${output}${errors}`;
      assert.equal(code, 1, shown);
      assert.doesNotMatch(errors, raw, shown);
      // A damaged file is a finding of the verification.
      if (args[0] === 'verify' && name === 'a file that is not a database') continue;
      assert.match(errors, new RegExp(`^largesse: .*(?:${expected.source}|${creating.source}).*\n$`), shown);
    }
    const doctor = await runCommand(['doctor'], { environment });
    assert.doesNotMatch(doctor.output, raw, doctor.output);
    await using service = startServing({ ...environment, PORT: '0' });
    assert.equal((await service.ended()).code, 1);
    assert.match(service.errors(), new RegExp(`^largesse: .*${creating.source}.*\n$`));
  });
}

test('a start on a port that is in use says so', async () => {
  await using database = await databaseToServe();
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  assert.ok(typeof address === 'object' && address);
  try {
    await using service = startServing({ ...database.environment, PORT: String(address.port) });
    assert.equal((await service.ended()).code, 1);
    assert.match(service.errors(), /^largesse: port \d+ of \S+ is in use: set PORT to another port\n$/);
  } finally {
    server.close();
  }
});

test('a key file that is a folder, and one in a folder that cannot be created, are explained', async () => {
  await using database = await databaseToServe({ empty: true });
  const migrated = (file: string) => command({ ...database.environment, KEYS_FILE: file }, 'migrate');
  const isFolder = await migrated(folder);
  assert.match(
    isFolder.errors,
    /^largesse: the key file \S+ cannot be read, because \S+ is a folder and must be a file: /,
  );
  const nowhere = await migrated('/proc/nowhere/keys.json');
  assert.match(nowhere.errors, /^largesse: the folder \/proc\/nowhere cannot be created: mount the disk /);
});
