/** `largesse copy`: a copy is complete after any interruption, and an incomplete copy is not served. */

import assert from 'node:assert/strict';
import { copyFileSync, existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import test from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { listTables } from '../../src/database/sql/table.ts';
import { openMigrated } from '../support/database.ts';
import {
  createPostgresDatabase,
  sharedPostgres,
  type PostgresDatabase,
} from '../support/postgres-database.ts';
import type { Program } from '../support/programs.ts';
import { sqliteFactory } from '../support/sqlite.ts';
import {
  fileOf,
  fillSampleDatabase,
  makeSampleDatabase,
  makeFileHome,
  readSampleDatabase,
} from './sample-databases.ts';
import type { Home } from './largesse.ts';

type Copied = {
  readonly ok: boolean;
  readonly resumed: boolean;
  readonly copied: number;
  readonly tables: readonly { readonly table: string; readonly rows: number; readonly digest: string }[];
  readonly stores: readonly Readonly<Record<string, unknown>>[];
  readonly reordered_events: number;
  readonly differences: readonly string[];
};

const domain = 'flowers.example';

async function copiedTables() {
  await using database = await openMigrated(sqliteFactory);
  return await database.storage.read(listTables);
}

const tables = await copiedTables();

async function emptyServer(): Promise<PostgresDatabase> {
  return createPostgresDatabase(await sharedPostgres());
}

function fileIn(home: Home, name: string): string {
  return `file:${join(home.folder, name)}`;
}

/** Runs a copy that must succeed. The URLs are in variables, as those with passwords should be. */
async function copy(
  home: Home,
  from: string,
  to: string,
  environment: Readonly<Record<string, string>> = {},
) {
  const addresses = { FROM: from, TO: to, KEYS_FILE: home.keysFile, ...environment };
  const result = await home.run(['copy', '--from', 'env:FROM', '--to', 'env:TO', '--json'], addresses);
  assert.deepEqual({ code: result.code, errors: result.errors }, { code: 0, errors: '' }, result.output);
  return JSON.parse(result.output) as Copied;
}

function rowsOf({ tables: totals }: Copied): number {
  return totals.reduce((sum, { rows }) => sum + rows, 0);
}

/** Tables that have rows only while a customer is erased, after the retention of events, or after a store has moved. */
const transient = new Set(['customer_erasure_cards', 'erased_events', 'store_copies']);

test('a database of every kind of content is copied to servers and files and back, and is served the same', async () => {
  await using home = await makeFileHome();
  await using server = await emptyServer();
  await using divided = await emptyServer();
  const source = `file:${fileOf(home)}`;
  const sample = await makeSampleDatabase(home);

  const toServer = await copy(home, source, server.url);
  for (const { table, rows } of toServer.tables)
    assert.ok(rows > 0 || transient.has(table), `the test has no rows in ${table}`);
  assert.deepEqual(toServer.tables.map(({ table }) => table), tables.map(({ name }) => name));
  assert.deepEqual(new Set(toServer.stores.map(({ currency }) => currency)), new Set(['EUR', 'JPY']));
  const kinds = await server.query('select distinct kind from transfers order by 1');
  assert.deepEqual(kinds.map(({ kind }) => kind), ['adjustment', 'capture', 'credit', 'debit', 'issue', 'reversal', 'top_up']);
  const states = await server.query('select distinct status from holds order by 1');
  assert.deepEqual(states.map(({ status }) => status), ['captured', 'expired', 'open', 'voided']);

  const toDivided = await copy(home, server.url, divided.url, { PARTITIONS: '16' });
  const [{ parts } = {}] = await divided.query(
    "select count(*)::int as parts from pg_inherits where inhparent = 'gift_cards'::regclass",
  );
  assert.equal(parts, 16);
  const back = await copy(home, divided.url, fileIn(home, 'back.db'));
  const aside = await copy(home, fileIn(home, 'back.db'), fileIn(home, 'aside.db'));
  for (const other of [toDivided, back, aside]) {
    assert.deepEqual(other.tables, toServer.tables);
    assert.deepEqual(other.stores, toServer.stores);
    assert.deepEqual([other.resumed, other.copied, other.reordered_events, other.differences], [false, rowsOf(toServer), 0, []]);
  }

  const addresses = [source, server.url, divided.url, fileIn(home, 'back.db'), fileIn(home, 'aside.db')];
  const responses = [];
  for (const address of addresses) {
    const environment = { DATABASE_URL: address, KEYS_FILE: home.keysFile };
    const service = await home.serve(environment);
    responses.push(await readSampleDatabase(service, sample));
    assert.deepEqual(await service.stop(), { code: 0, signal: null });
    assert.equal((await home.run(['verify'], environment)).code, 0);
  }
  const [first, ...others] = responses;
  for (const other of others) assert.deepEqual(other, first);
}); // prettier-ignore

test('an empty database can be copied, also into one that was migrated before', async () => {
  await using home = await makeFileHome();
  await using server = await emptyServer();
  await home.json('migrate');
  const target = { DATABASE_URL: server.url, KEYS_FILE: home.keysFile };
  assert.equal((await home.run(['migrate'], target)).code, 0);
  const { ok, stores, ...totals } = await copy(home, `file:${fileOf(home)}`, server.url);
  assert.deepEqual([ok, stores, rowsOf({ ok, stores, ...totals })], [true, [], 1]);
  const { ok: okBack } = await copy(home, server.url, fileIn(home, 'back.db'));
  assert.ok(okBack);
});

/** Returns the number of rows in a target, or 0 while it is created. */
type Counter = () => Promise<number>;

function serverCounter({ query }: PostgresDatabase): Counter {
  const text = `select ${tables.map(({ name }) => `(select count(*) from ${name})`).join(' + ')} as rows`;
  return () => query(text).then(([row]) => Number(row?.['rows']), () => 0);
} // prettier-ignore

function fileCounter(file: string): Counter {
  const text = `select ${tables.map(({ name }) => `(select count(*) from ${name})`).join(' + ')} as rows`;
  return async () => {
    if (!existsSync(file)) return 0;
    const database = new DatabaseSync(file, { readOnly: true, timeout: 5_000 });
    try {
      return Number(database.prepare(text).get()?.['rows']);
    } catch {
      return 0;
    } finally {
      database.close();
    }
  };
}

/** Starts a copy and waits until its target has this many rows. Returns false if it ended before. */
async function startUntil(
  home: Home,
  environment: Readonly<Record<string, string>>,
  { rows, count }: { readonly rows: number; readonly count: Counter },
): Promise<Program & { readonly isRunning: boolean }> {
  const program = home.start(['copy', '--from', 'env:FROM', '--to', 'env:TO'], environment);
  let isRunning = true;
  void program.ended().then(() => (isRunning = false));
  while (isRunning && (await count()) < rows) await wait(2);
  return { ...program, isRunning };
}

/** With the variable, in both directions. */
const kills = Number(process.env['COPY_KILLS'] ?? '1');
const cards = kills * 850;
const ways = ['a file to a server', 'a server to a file'] as const;

for (const way of process.env['COPY_KILLS'] === undefined ? ways.slice(0, 1) : ways) {
  test(`a copy from ${way} that is killed repeatedly can be finished, and is not used before`, async () => {
    await using home = await makeFileHome();
    await using server = await emptyServer();
    await fillSampleDatabase({ DATABASE_URL: `file:${fileOf(home)}` }, { cards });
    const start = `file:${fileOf(home)}`;
    if (way === 'a server to a file') await copy(home, start, server.url);
    const target = join(home.folder, 'target.db');
    const [from, to, count] =
      way === 'a file to a server'
        ? [start, server.url, serverCounter(server)]
        : [server.url, `file:${target}`, fileCounter(target)];
    const environment = { FROM: from, TO: to, KEYS_FILE: home.keysFile };
    const total = await (way === 'a file to a server' ? fileCounter(fileOf(home)) : serverCounter(server))();
    assert.ok(total > cards * 5);

    const reached: number[] = [];
    for (let kill = 1; kill <= kills; kill += 1) {
      const program = await startUntil(home, environment, { rows: Math.round((total * kill) / (kills + 1)), count });
      program.kill('SIGKILL');
      await program.ended();
      reached.push(await count());
    }
    assert.deepEqual(reached, reached.toSorted((one, other) => one - other), 'copied rows are not lost');
    assert.ok(reached.filter((rows) => rows > 0 && rows < total).length >= kills - 1, `killed at ${reached.join(', ')}`);

    const onTarget = { DATABASE_URL: to, KEYS_FILE: home.keysFile };
    for (const args of [['serve'], ['migrate'], ['verify'], ['store', 'list'], ['store', 'create', 'x.example', '--currency', 'EUR']]) {
      const { code, errors } = await home.run(args, onTarget);
      assert.equal(code, 1, args.join(' '));
      assert.match(errors, /^largesse: this database is an incomplete copy of [^\n]+: to finish it, run the same "largesse copy" again\n$/);
      assert.ok(!errors.includes(new URL(server.url).password), 'passwords are not printed');
    }
    const onward = await home.run(['copy', '--from', 'env:TO', '--to', fileIn(home, 'onward.db')], environment);
    assert.match(onward.errors, /incomplete copy/);

    await using other = await makeFileHome();
    await fillSampleDatabase({ DATABASE_URL: `file:${fileOf(other)}` }, { cards: 1 });
    const mixed = await other.run(['copy', '--from', `file:${fileOf(other)}`, '--to', 'env:TO'], { TO: to });
    assert.equal(mixed.code, 1);
    assert.match(mixed.errors, /^largesse: the target contains an incomplete copy of another database, of /);

    const finished = await copy(home, from, to);
    assert.ok(finished.ok && finished.resumed && finished.copied < total);
    assert.equal(rowsOf(finished), total);
    const service = await home.serve(onTarget);
    assert.deepEqual(await service.stop(), { code: 0, signal: null });

    const again = await home.run(['copy', '--from', 'env:FROM', '--to', 'env:TO'], environment);
    assert.equal(again.code, 1);
    assert.match(again.errors, /^largesse: the target contains a complete copy of \S+, begun \S+Z: the target must be empty\n$/);
  });
} // prettier-ignore

test('a source that changes during the copy is detected', async (t) => {
  await using home = await makeFileHome();
  await fillSampleDatabase({ DATABASE_URL: `file:${fileOf(home)}` }, { cards: 2_000 });
  const pristine = join(home.folder, 'pristine.db');
  copyFileSync(fileOf(home), pristine);
  const count = fileCounter(fileOf(home));
  const total = await count();

  /** Copies half of a new source, pauses for a change, and continues. */
  const interrupt = async (name: string, change: (source: string) => Promise<void> | void) => {
    const [source, target] = [`${name}.db`, `${name}-copy.db`].map((file) => join(home.folder, file));
    assert.ok(source !== undefined && target !== undefined);
    copyFileSync(pristine, source);
    const environment = { FROM: `file:${source}`, TO: `file:${target}`, KEYS_FILE: home.keysFile };
    const program = await startUntil(home, environment, { rows: total / 2, count: fileCounter(target) });
    program.kill('SIGSTOP');
    const isHalf = (await fileCounter(target)()) < total;
    await change(source);
    program.kill('SIGCONT');
    const { code } = await program.ended();
    assert.ok(isHalf, 'the copy was too fast for this test');
    assert.equal(code, 1, program.output());
    return { program, source, target, environment };
  };
  const execute = (source: string, text: string): void => {
    const database = new DatabaseSync(source, { timeout: 5_000 });
    database.exec(text);
    database.close();
  };

  await t.test('by a change of copied rows', async () => {
    const { program, target, environment } = await interrupt('changed', (source) =>
      execute(source, "update customers set email = 'other@example.com' where id = (select min(id) from customers)"),
    );
    assert.match(program.output(), /^customers has different content in the source and in the target$/m);
    assert.match(program.output(), /^The copy is not equal to the source, and no command opens it\./m);
    const served = await home.run(['serve'], { DATABASE_URL: `file:${target}`, KEYS_FILE: home.keysFile });
    assert.equal(served.code, 1);
    assert.match(served.errors, /is a failed copy of \S+changed\.db: empty it, and copy again$/m);
    const again = await home.run(['copy', '--from', 'env:FROM', '--to', 'env:TO'], environment);
    assert.equal(again.code, 1);
    assert.match(again.errors, /the target contains a failed copy of /);
  });

  await t.test('by a new row in a copied table', async () => {
    const { program } = await interrupt('added', (source) =>
      execute(source, "insert into customers (store_id, id, email, email_key, created_at) select store_id, 1, 'new@example.com', 'new@example.com', 5 from customers limit 1"),
    );
    assert.match(program.output(), /^customers has 1001 rows in the source, 1000 in the target$/m);
  });

  await t.test('by a command or service that opens it, after which the copy can be finished', async () => {
    const { program, source, target } = await interrupt('opened', async (file) => {
      const { code } = await home.run(['store', 'list'], { DATABASE_URL: `file:${file}`, KEYS_FILE: home.keysFile });
      assert.equal(code, 0);
    });
    assert.match(program.errors(), /^largesse: another process has opened the source: stop it, and run the same command again/m);
    assert.equal(program.output(), '');
    const finished = await copy(home, `file:${source}`, `file:${target}`);
    assert.ok(finished.ok && finished.resumed);
  });
}); // prettier-ignore

test('a source whose ledger does not agree fails the copy, and the target is not served', async () => {
  await using home = await makeFileHome();
  await using server = await emptyServer();
  await fillSampleDatabase({ DATABASE_URL: `file:${fileOf(home)}` }, { cards: 20 });
  const database = new DatabaseSync(fileOf(home));
  const row = database.prepare('select min(id) as id from gift_cards').get();
  database.exec(`update gift_cards set balance = balance + 100 where id = ${String(row?.['id'])}`);
  database.close();
  const environment = { FROM: `file:${fileOf(home)}`, TO: server.url };
  const result = await home.run(['copy', '--from', 'env:FROM', '--to', 'env:TO', '--json'], environment);
  assert.equal(result.code, 1);
  const { ok, differences } = JSON.parse(result.output) as Copied;
  assert.equal(ok, false);
  for (const side of ['source', 'target']) {
    const named = `${side}: ${domain}, gift card ${String(row?.['id'])}: has a balance that is not the sum of its transfers`;
    assert.ok(differences.includes(named), differences.join('\n'));
  }
  const served = await home.run(['serve'], { DATABASE_URL: server.url, KEYS_FILE: home.keysFile });
  assert.equal(served.code, 1);
  assert.match(served.errors, /is a failed copy of /);
});

test('targets and sources that cannot be copied are rejected and left unchanged', async (t) => {
  await using home = await makeFileHome();
  await using server = await emptyServer();
  const source = `file:${fileOf(home)}`;
  await fillSampleDatabase({ DATABASE_URL: source }, { cards: 3 });
  await using full = await makeFileHome();
  await full.json('store', 'create', domain, '--currency', 'EUR');
  await using foreign = await makeFileHome();
  await foreign.json('migrate');
  const missing = fileIn(home, 'missing.db');
  const wrongKeys = { KEYS_FILE: foreign.keysFile };
  const cases: readonly (readonly [what: string, from: string, to: string, message: RegExp, more?: Record<string, string>])[] = [
    ['a target with a store', source, `file:${fileOf(full)}`, /the target is not empty \(stores\)$/m],
    ['a target that was created with other keys', source, `file:${fileOf(foreign)}`, /the target was created with the key "\w+", which the source does not have/],
    ['the source itself', source, source, /the target is not empty \(stores, /],
    ['a source that does not exist', missing, server.url, /there is no database at \S+missing\.db: correct/],
    ['a source with another key file', source, server.url, /the key file lacks the key "\w+"/, wrongKeys],
    ['a server that does not respond', source, 'postgres://127.0.0.1:9/largesse', /no server accepts writes: 127\.0\.0\.1:9: connect ECONNREFUSED/],
    ['a database that the server does not have', source, server.url.replace(server.name, 'nowhere'), /^largesse: .*database "nowhere" does not exist$/m],
  ]; // prettier-ignore
  for (const [what, from, to, message, more] of cases) {
    await t.test(what, async () => {
      const result = await home.run(['copy', '--from', 'env:FROM', '--to', 'env:TO'], { FROM: from, TO: to, ...more });
      assert.deepEqual([result.code, result.output], [1, ''], result.errors);
      assert.match(result.errors, message);
      assert.match(result.errors, /^largesse: [^\n]+\n$/);
    });
  }
  await t.test('the source itself, empty and under two names', async () => {
    const other = fileIn(foreign, '../' + foreign.folder.split('/').at(-1) + '/./largesse.db').replace('file:', 'file://');
    const result = await foreign.run(['copy', '--from', `file:${fileOf(foreign)}`, '--to', other]);
    assert.deepEqual([result.code, result.output], [1, '']);
    assert.match(result.errors, /the source and the target are the same database/);
    assert.equal((await foreign.run(['verify'])).code, 0);
  });
  assert.ok(!existsSync(join(home.folder, 'missing.db')));
  for (const untouched of [home, full]) assert.equal((await untouched.run(['verify'])).code, 0);
  assert.ok((await copy(home, source, server.url)).ok, 'the rejected attempts left nothing');
}); // prettier-ignore

test('URLs are read from variables and files, and a password in an argument causes a warning', async (t) => {
  await using home = await makeFileHome();
  await using server = await emptyServer();
  const source = `file:${fileOf(home)}`;
  await fillSampleDatabase({ DATABASE_URL: source }, { cards: 3 });
  const file = join(home.folder, 'address');
  writeFileSync(file, `${server.url}\n`);
  const { password } = new URL(server.url);

  const fromFile = await home.run(['copy', '--from', source, '--to', `@${file}`]);
  assert.equal(fromFile.code, 0, fromFile.errors);
  assert.match(fromFile.output, /^gift_cards +3 +[0-9a-f]{16}$/m);
  assert.match(fromFile.output, /^flowers\.example +3 +4 +40\.50 +USD$/m);
  assert.match(
    fromFile.output,
    /^Both databases are equal, and in both the ledger matches every balance\.$/m,
  );
  assert.match(
    fromFile.output,
    /^Serve the target, and only the target, with KEYS_FILE=\S+largesse\.keys\.json/m,
  );
  assert.match(
    fromFile.errors,
    /^copied: (\S+) of \1 rows, \S+ rows\/s\nsource read: .*\ntarget read: .*\n$/,
  );
  assert.ok(!fromFile.output.includes(password));

  const plain = await home.run(['copy', '--from', server.url, '--to', fileIn(home, 'plain.db'), '--json'], {
    KEYS_FILE: home.keysFile,
  });
  assert.equal(plain.code, 0);
  assert.equal(
    plain.errors,
    'largesse: other users of the machine can see the password in --from: see largesse copy --help\n',
  );
  assert.ok(!plain.output.includes(password));

  const wrong: readonly (readonly [from: string, to: string, message: RegExp])[] = [
    ['env:NOTHING', source, /^ {2}--from must name a variable or a file that contains the URL of a database, not "env:NOTHING"$/m],
    [source, '@/nowhere/address', /^ {2}--to must name a variable or a file that contains the URL of a database, not "@\/nowhere\/address"$/m],
    [source, 'mysql://u:secret@h/d', /^ {2}--to must be the file of the embedded database, .*, env:NAME or @file, not "mysql:\/\/…"$/m],
    ['largesse.db', source, /^ {2}--from must be the file .*, not "largesse\.db"$/m],
  ]; // prettier-ignore
  for (const [from, to, message] of wrong) {
    await t.test(`--from ${from} --to ${to}`, async () => {
      const result = await home.run(['copy', '--from', from, '--to', to]);
      assert.deepEqual([result.code, result.output], [2, '']);
      assert.match(result.errors, message);
      assert.ok(!result.errors.includes('secret'));
    });
  }
});
