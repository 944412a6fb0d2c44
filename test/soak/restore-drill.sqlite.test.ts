/** The drills for the restore of a backup: `deploy/drills/restore.sh` and `backup-under-load.sh`. */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import test from 'node:test';
import { ask, cardOf, makeHome, type Home } from '../e2e/largesse.ts';
import { startProgram, type Result } from '../support/programs.ts';

const drills = join(import.meta.dirname, '../../deploy/drills');
const domain = 'demo.localhost';
const drillMaxMs = 300_000;

type Drill = { readonly home: Home; readonly backup: string; readonly scratch: string };

async function drill(name: string, ...args: readonly string[]): Promise<Result> {
  // Settings of the caller that the service of the drill must not receive.
  const environment = { SMTP_URL: 'smtp://127.0.0.1:1', DATABASE_URL: 'file:/nowhere/largesse.db' };
  await using program = startProgram('bash', [join(drills, name), ...args], { environment });
  const exit = await program.ended(drillMaxMs);
  return { ...exit, output: program.output(), errors: program.errors() };
}

/** A port that accepts no connections. */
async function closedPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}

/** A service with a card, a webhook that does not respond, and a backup. */
async function makeBackup(home: Home): Promise<Drill> {
  const [backups, scratch] = [join(home.folder, 'backups'), join(home.folder, 'scratch')];
  mkdirSync(backups);
  mkdirSync(scratch);
  const service = await home.serve();
  await home.json('webhook', 'create', '--url', `http://127.0.0.1:${await closedPort()}/`, '--events', '*');
  cardOf(await ask(`${service.url}/gift_card`, { json: { initial_value: 25 } }), 201);
  await home.json('backup', join(backups, 'older.db'));
  cardOf(await ask(`${service.url}/gift_card`, { json: { initial_value: 25 } }), 201);
  await home.json('backup', join(backups, 'newer.db'));
  await service.stop();
  return { home, backup: join(backups, 'newer.db'), scratch };
}

/** The files of the database, with their content. */
function contentOf({ folder }: Home): readonly string[] {
  const files = readdirSync(folder).filter((name) => name.startsWith('largesse.'));
  assert.ok(files.length >= 2, files.join(', '));
  return files.map((name) => {
    const digest = createHash('sha256').update(readFileSync(join(folder, name)));
    return `${name} ${digest.digest('hex')}`;
  });
}

const restore = ({ home, scratch }: Drill, ...args: readonly string[]): Promise<Result> =>
  drill(
    'restore.sh',
    '--backups',
    join(home.folder, 'backups'),
    '--keys',
    home.keysFile,
    '--scratch',
    scratch,
    ...args,
  );

test('the restore drill passes on the newest backup, sends nothing, and leaves the live database unchanged', async () => {
  await using home = await makeHome();
  const made = await makeBackup(home);
  const before = contentOf(home);

  const { code, output, errors } = await restore(made, '--max-age', '1', '--keep');
  assert.equal(code, 0, `${output}${errors}`);
  assert.match(output, new RegExp(`^ {2}${domain}: 2 cards, 2 transfers, outstanding 50.00 USD$`, 'm'));
  assert.match(output, /: balance 25\.00, as its last transaction says$/m);
  assert.match(output, /^PASSED in \d+\.\d s: newer\.db can be restored\.$/m);
  assert.deepEqual(contentOf(home), before);

  const [kept = ''] = readdirSync(made.scratch);
  const rows = (file: string, table: string): unknown => {
    using database = new DatabaseSync(file, { readOnly: true });
    return database.prepare(`select count(*) as rows from ${table}`).get()?.['rows'];
  };
  for (const table of ['webhooks', 'webhook_deliveries']) {
    assert.notEqual(rows(made.backup, table), 0, table);
    assert.equal(rows(join(made.scratch, kept, 'largesse.db'), table), 0, table);
  }
  assert.match(readFileSync(join(made.scratch, kept, 'service.log'), 'utf8'), /SMTP_URL is not set/);
});

test('the restore drill fails for another key file, an old backup, a damaged one and none, and removes its folder', async () => {
  await using home = await makeHome();
  const made = await makeBackup(home);
  const assertFails = ({ code, errors }: Result, message: RegExp): void => {
    assert.equal(code, 1, errors);
    assert.match(errors, message);
    assert.deepEqual(readdirSync(made.scratch), []);
  };

  const other = join(home.folder, 'other.json');
  const secret = Buffer.alloc(32, 7).toString('base64');
  writeFileSync(other, JSON.stringify({ keys: [{ id: 'other', secret }] }));
  assertFails(await restore(made, '--keys', other), /the key file lacks the key[\s\S]*FAILED: restored/);
  assertFails(await restore(made, '--max-age', '0'), /FAILED: the newest backup is \d+ minutes old/);
  truncateSync(made.backup, readFileSync(made.backup).length - 8_192);
  assertFails(await restore(made), /was not restored[\s\S]*FAILED: restored/);
  assertFails(await restore(made, '--backups', made.scratch), /FAILED: \S+ contains no backup/);

  const wrong = await restore(made, '--max-age', 'soon');
  assert.deepEqual(
    [wrong.code, wrong.errors],
    [2, 'restore.sh: --max-age must be a number of hours. See --help.\n'],
  );
});

test('a backup under load contains every change that was acknowledged before it', async () => {
  const { code, output, errors } = await drill('backup-under-load.sh', '--cards', '500', '--seconds', '1');
  assert.equal(code, 0, `${output}${errors}`);
  assert.match(output, /^liability equal to that of the live service /m);
  assert.match(output, /^ {2}live: 0 lost, 0 made twice$/m);
  assert.match(output, /^ {2}restored: 0 lost, 0 made twice$/m);
  assert.match(output, /^PASSED$/m);
});
