/** A connection: statements that are sent together return together, and the first error skips the rest. */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import test from 'node:test';
import { Secret } from '../../src/platform/secret.ts';
import { openSession, type Session } from '../../src/database/postgres/session.ts';
import { sql, type SqlValue } from '../../src/database/sql/sql.ts';
import { createPostgresDatabase, sharedPostgres } from '../support/postgres-database.ts';

async function open(setting = "timezone = 'UTC'"): Promise<AsyncDisposable & { readonly session: Session }> {
  const database = await createPostgresDatabase(await sharedPostgres());
  await database.query(`alter database ${database.name} set ${setting}`);
  const { session } = await openSession({
    url: new Secret(database.url),
    connectTimeoutMs: 5_000,
    lockWaitMaxMs: 5_000,
    idleTransactionMaxMs: 15_000,
    sessionsKeptBy: new Set(),
  });
  await session.runText(`
    begin read write;
    create table notes (id bigint primary key, text text, bytes bytea, check (id > 0));
    commit`);
  return {
    session,
    async [Symbol.asyncDispose]() {
      await session.close();
      await database.drop();
    },
  };
}

type Note = { readonly id: SqlValue; readonly text?: SqlValue; readonly bytes?: SqlValue };

const insert = ({ id, text = null, bytes = null }: Note) =>
  sql`insert into notes (id, text, bytes) values (${id}, ${text}, ${bytes})`;
const list = () => sql`select id, text, bytes from notes order by id`;
const count = () => sql`select count(*) as count from notes`;

async function countNotes(session: Session): Promise<unknown> {
  const [result] = await session.send([count()]);
  return result?.rows[0];
}

test('each statement of a batch returns its own rows and columns', async () => {
  await using opened = await open();
  const { session } = opened;
  // The second time, the statement is not described again.
  for (const id of [1n, 2n]) {
    const note = { id, text: `ä${id}`, bytes: Uint8Array.of(0, 255) };
    const results = await session.send([
      'begin read write',
      count(),
      insert(note),
      list(),
      count(),
      'commit',
    ]);
    assert.deepEqual(
      results.map(({ command }) => command),
      ['BEGIN', 'SELECT 1', 'INSERT 0 1', `SELECT ${id}`, 'SELECT 1', 'COMMIT'],
    );
    assert.deepEqual(results[1]?.rows, [{ count: id - 1n }]);
    assert.deepEqual(results[2]?.rows, []);
    assert.deepEqual(results[3]?.rows.at(-1), { ...note, bytes: Buffer.from(note.bytes) });
    assert.deepEqual(results[4]?.rows, [{ count: id }]);
  }
});

test('an error skips the rest of its batch, including the commit', async () => {
  await using opened = await open();
  const { session } = opened;
  for (const place of [0, 1, 2]) {
    const notes = [1, 2, 3].map((id, at) => insert({ id: at === place ? -id : id }));
    await assert.rejects(session.send(['begin read write', ...notes, 'commit']), /check constraint/);
    session.post('rollback');
    assert.deepEqual(await countNotes(session), { count: 0n });
  }
});

test('a statement that fails the first time on a connection can be sent again', async () => {
  await using opened = await open();
  const { session } = opened;
  const tag = (id: number) => sql`insert into notes (id, text) values (${id}, 'tagged')`;
  // The statement fails when it runs, when it is parsed (an unknown column), and after another error.
  await assert.rejects(session.send(['begin read write', tag(-1), 'commit']), /check constraint/);
  session.post('rollback');
  const later = () => sql`select later from notes`;
  await assert.rejects(session.send([later()]), /later/);
  await assert.rejects(session.send([later(), list()]), /later/);
  await session.runText('begin read write; alter table notes add column later text; commit');
  await session.send(['begin read write', tag(1), tag(2), 'commit']);
  assert.deepEqual((await session.send([later()]))[0]?.rows, [{ later: null }, { later: null }]);
  assert.deepEqual(await countNotes(session), { count: 2n });
});

test('a statement sent after an unawaited command runs after it', async () => {
  await using opened = await open();
  const { session } = opened;
  await session.send(['begin read write', insert({ id: 1 })]);
  session.post('rollback');
  session.post('begin read write');
  const sent = [session.send([insert({ id: 1 })]), session.send([insert({ id: 2 }), 'commit'])];
  await Promise.all(sent);
  assert.deepEqual(await countNotes(session), { count: 2n });
});

test('nothing is written outside of a transaction that requests to write', async () => {
  await using opened = await open();
  await assert.rejects(opened.session.send([insert({ id: 1 })]), /read-only/);
});

test('the name of a prepared statement depends only on its text', async () => {
  await using opened = await open();
  const { session } = opened;
  await session.send([count(), list(), sql`select count(*) as count from notes`]);
  const [result] = await session.send([
    sql`select name, statement from pg_prepared_statements where statement like ${'select % from notes%'}`,
  ]);
  const texts = ['select count(*) as count from notes', 'select id, text, bytes from notes order by id'];
  assert.deepEqual(
    new Set(result?.rows.map((row) => JSON.stringify(row))),
    new Set(texts.map((statement) => JSON.stringify({ name: hashOf(statement), statement }))),
  );
});

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 22);
}

test('a warning is noticed, also in a database whose setting hides warnings', async () => {
  await using opened = await open('client_min_messages = error');
  const { session } = opened;
  assert.equal(session.hasWarned(), false);
  await session.runText(`do $$ begin raise warning 'planned'; end $$`);
  assert.equal(session.hasWarned(), true);
  assert.equal(session.hasWarned(), false);
});
