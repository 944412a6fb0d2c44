/** An account that can only read the database: commands that read work, and others say in one sentence what to do. */

import assert from 'node:assert/strict';
import {
  chmodSync,
  constants,
  copyFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { after, before } from 'node:test';
import { makePackage } from '../../packaging/npm/package.ts';
import { runCommand } from '../support/command-line.ts';
import { runProgram, type Result } from '../support/programs.ts';
import { serve, startServing, type Runner } from '../support/served.ts';

/** Root can write every file, so a test that runs as root uses the account that owns nothing. */
const account = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : undefined;

const runCommandsModule = 'test/support/run-commands.ts';

const folders: string[] = [];
after(() => {
  for (const folder of folders) {
    chmodSync(folder, 0o700);
    rmSync(folder, { recursive: true });
  }
});

function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'largesse-account-'));
  folders.push(folder);
  chmodSync(folder, 0o777);
  return folder;
}

/** Undefined: this account runs the program. */
let runner: Runner | undefined;
let commandsRunner = runCommandsModule;

// The account may be unable to read the folder of this clone, Node.js in it, and the bundle of the run.
before(async () => {
  if (!account) return;
  const folder = makeFolder();
  await makePackage(join(folder, 'program'), { 'run-commands': runCommandsModule });
  const node = join(folder, 'node');
  copyFileSync(process.execPath, node, constants.COPYFILE_FICLONE);
  for (const path of readdirSync(folder, { recursive: true, encoding: 'utf8' }))
    chmodSync(join(folder, path), 0o755);
  runner = { account, node, commandLine: join(folder, 'program/dist/cli.js') };
  commandsRunner = join(folder, 'program/dist/run-commands.js');
});

/** A folder with a database of one store. */
async function makeDatabase() {
  const folder = makeFolder();
  const file = join(folder, 'largesse.db');
  const environment = { DATABASE_URL: `file:${file}`, PORT: '0', RATE_LIMIT: 'off', LOG_LEVEL: 'info' };
  for (const args of [
    ['migrate'],
    ['store', 'create', 'flowers.example', '--currency', 'EUR', '--time-zone', 'Europe/Paris'],
    ['card', 'issue', '--value', '20'],
  ]) {
    const { code, errors } = await runCommand(args, { environment });
    assert.equal(code, 0, errors);
  }
  return { folder, file, environment };
}

type Made = Awaited<ReturnType<typeof makeDatabase>>;

/** Lets every account read the files of a folder, and none write them by default. */
function protect({ folder }: Made, folderMode = 0o555, fileMode = 0o444): void {
  for (const name of readdirSync(folder)) chmodSync(join(folder, name), fileMode);
  chmodSync(folder, folderMode);
}

/** Gives a database the log that a service leaves which is killed. */
async function leaveLog(
  { file, environment }: Made,
  { hasSharedMemory }: { readonly hasSharedMemory: boolean },
) {
  await using service = await serve(environment);
  service.kill('SIGKILL');
  await service.ended();
  if (!hasSharedMemory) rmSync(`${file}-shm`);
}

/** Runs commands in one process of the account. */
async function run(
  { environment }: Made,
  commands: readonly (readonly string[])[],
): Promise<readonly Result[]> {
  const node = runner?.node ?? process.execPath;
  const { code, output, errors } = await runProgram(node, [commandsRunner, JSON.stringify(commands)], {
    environment,
    ...(account && { account, folder: tmpdir() }),
  });
  assert.equal(code, 0, errors);
  return JSON.parse(output) as readonly Result[];
}

/** The raw texts of Node.js and SQLite. */
const raw = /\bE[A-Z]{3,}: |errcode|attempt to write|unable to open|\n\s+at /;

const reading = (target: string): readonly (readonly string[])[] => [
  ['verify', '--json'],
  ['backup', join(target, 'copy.db')],
  ['status'],
  ['token', 'list'],
  ['store', 'list'],
  ['store', 'show', 'flowers.example'],
  ['store', 'status', 'flowers.example'],
  ['location', 'list'],
  ['staff', 'list'],
  ['webhook', 'list'],
  ['stock', 'list'],
  ['mail', 'list'],
  ['checkpoint', 'list'],
  ['card', 'export', '--output', join(target, 'cards.csv')],
];

const writing: readonly (readonly string[])[] = [
  ['token', 'create', '--name', 'shop'],
  ['store', 'create', 'late.example', '--currency', 'EUR', '--time-zone', 'Europe/Paris'],
  ['vacuum'],
  ['demo', 'load'],
];

async function assertReadsOnly(made: Made): Promise<void> {
  const filesBefore = readdirSync(made.folder);
  const target = makeFolder();
  const commands = reading(target);
  const results = await run(made, [...commands, ...writing, ['doctor']]);
  for (const [index, args] of commands.entries()) {
    const { code, errors } = results[index] ?? assert.fail();
    assert.equal(code, 0, `${args.join(' ')}: ${errors}`);
    assert.doesNotMatch(errors, raw);
  }
  assert.ok(existsSync(join(target, 'copy.db')));
  for (const [index, args] of writing.entries()) {
    const { code, errors } = results[commands.length + index] ?? assert.fail();
    assert.equal(code, 1, args.join(' '));
    assert.match(
      errors,
      /^largesse: \S+largesse\.db cannot be written, because .+: run the command as .+\n$/,
    );
    assert.doesNotMatch(errors, raw);
  }
  const doctor = results.at(-1)?.output ?? '';
  assert.match(doctor, /✓ database: \S+largesse\.db, stores: 1/);
  assert.match(doctor, /this account cannot read and write/);
  assert.doesNotMatch(doctor, raw);
  await assertServes(made);
  assert.deepEqual(
    readdirSync(made.folder),
    filesBefore,
    'the account has left files that the service cannot write',
  );
}

async function assertServes({ environment }: Made): Promise<void> {
  await using service = await serve(environment, undefined, runner);
  assert.equal((await fetch(`${service.url}/healthz`)).status, 200);
  const ready = await fetch(`${service.url}/readyz`);
  assert.equal(ready.status, 503);
  assert.match(await ready.text(), /The database can only be read: mount its disk for writing/);
  assert.match(service.output() + service.errors(), /largesse\.db cannot be written, because/);
  service.kill('SIGTERM');
  assert.equal((await service.ended()).code, 0);
}

for (const [name, folderMode] of [
  ['cannot write', 0o555],
  ['can write', 0o777],
] as const) {
  test(`in a folder that it ${name}, an account reads a database without a log`, async () => {
    const made = await makeDatabase();
    protect(made, folderMode);
    await assertReadsOnly(made);
  });

  test(`in a folder that it ${name}, an account reads the log of a service that was killed`, async () => {
    const made = await makeDatabase();
    await leaveLog(made, { hasSharedMemory: true });
    protect(made, folderMode);
    await assertReadsOnly(made);
  });

  test(`in a folder that it ${name}, every command names a log that cannot be read without writing`, async () => {
    const made = await makeDatabase();
    await leaveLog(made, { hasSharedMemory: false });
    protect(made, folderMode);
    const expected =
      /^largesse: \S+largesse\.db cannot be written, and \S+largesse\.db-wal holds changes that cannot be read without writing: copy both files .+\n$/;
    for (const { code, errors } of await run(made, [...reading(makeFolder()), ...writing])) {
      assert.equal(code, 1);
      assert.match(errors, expected);
    }
    await using service = startServing(made.environment, undefined, runner);
    assert.equal((await service.ended()).code, 1);
    assert.match(service.errors(), expected);
  });
}

test('an account reads a database that it can write, in a folder where it can create no log', async () => {
  const made = await makeDatabase();
  protect(made, 0o555, 0o666);
  await assertReadsOnly(made);
});

test('an account reads a database with an empty log', async () => {
  const made = await makeDatabase();
  writeFileSync(`${made.file}-wal`, '');
  protect(made);
  await assertReadsOnly(made);
});

test('an account reads the database of a running service', async () => {
  const made = await makeDatabase();
  await using service = await serve(made.environment);
  protect(made);
  const commands = reading(makeFolder());
  for (const [index, { code, errors }] of (await run(made, commands)).entries())
    assert.equal(code, 0, `${commands[index]?.join(' ')}: ${errors}`);
  assert.equal((await fetch(`${service.url}/healthz`)).status, 200);
});

test('every command names the file that an account cannot read', async () => {
  for (const end of ['', '-wal']) {
    const made = await makeDatabase();
    if (end === '-wal') await leaveLog(made, { hasSharedMemory: true });
    protect(made);
    chmodSync(`${made.file}${end}`, 0o000);
    const expected = new RegExp(
      `^largesse: this account \\(uid \\d+\\) cannot access \\S+largesse\\.db${end}: run the command as the account of the service, or .+\n$`,
    );
    for (const { code, errors } of await run(made, [...reading(makeFolder()), ...writing])) {
      assert.equal(code, 1);
      assert.match(errors, expected);
    }
  }
});

test('every command names the key file that an account cannot read', async () => {
  const made = await makeDatabase();
  protect(made);
  chmodSync(join(made.folder, 'largesse.keys.json'), 0o000);
  for (const { code, errors } of await run(made, [...reading(makeFolder()), ...writing])) {
    assert.equal(code, 1);
    assert.match(
      errors,
      /^largesse: the key file \S+ cannot be read, because this account \(uid \d+\) cannot access \S+: run .+\n$/,
    );
  }
});

test('an account that cannot create the folder of a new database is named, with the folder', async () => {
  const folder = makeFolder();
  chmodSync(folder, 0o555);
  const environment = {
    DATABASE_URL: `file:${folder}/data/largesse.db`,
    PORT: '0',
    RATE_LIMIT: 'off',
    LOG_LEVEL: 'info',
  };
  const expected =
    /^largesse: this account \(uid \d+\) cannot create the folder \S+\/data: run the command as the account of the service, or .+\n$/;
  const [migrated = assert.fail()] = await run({ folder, file: '', environment }, [['migrate']]);
  assert.equal(migrated.code, 1);
  assert.match(migrated.errors, expected);
  await using service = startServing(environment, undefined, runner);
  assert.equal((await service.ended()).code, 1);
  assert.match(service.errors(), expected);
});

test('a copy of a database and its log can be read, as the message about the log says', async () => {
  const made = await makeDatabase();
  await leaveLog(made, { hasSharedMemory: false });
  const folder = makeFolder();
  const file = join(folder, 'largesse.db');
  for (const end of ['', '-wal']) {
    copyFileSync(`${made.file}${end}`, `${file}${end}`);
    chmodSync(`${file}${end}`, 0o666);
  }
  chmodSync(join(made.folder, 'largesse.keys.json'), 0o444);
  const environment = {
    ...made.environment,
    DATABASE_URL: `file:${file}`,
    KEYS_FILE: join(made.folder, 'largesse.keys.json'),
  };
  const [verified = assert.fail()] = await run({ ...made, environment }, [['verify']]);
  assert.equal(verified.code, 0, verified.errors);
});
