import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import test from 'node:test';
import { loggedError } from '../../src/platform/logged-error.ts';

const secret = 'ada@example.com';

/** Returns an error as node-postgres creates it. */
function postgresError(code: string, message: string): Error {
  return Object.assign(new Error(message), {
    name: 'error',
    severity: 'ERROR',
    code,
    detail: `Key (email_key)=(${secret}) already exists.`,
    hint: secret,
    where: `unnamed portal parameter $1 = '${secret}'`,
    internalQuery: `select '${secret}'`,
    parameters: [secret],
    table: 'customers',
    constraint: 'customers_email_key',
    routine: '_bt_check_unique',
  });
}

test('the log contains only names of a PostgreSQL error', () => {
  const { stack, ...rest } = loggedError(postgresError('23505', 'duplicate key value'));
  assert.deepEqual(rest, {
    type: 'error',
    message: 'duplicate key value',
    severity: 'ERROR',
    code: '23505',
    table: 'customers',
    constraint: 'customers_email_key',
    routine: '_bt_check_unique',
  });
  assert.match(stack, /^at /);
});

test('a message is omitted unless its class of codes contains no values', () => {
  for (const code of ['22P02', '22001', '22021', '22P05', 'XX000', 'HV000', '21000', '44000', 'P0002']) {
    const logged = loggedError(postgresError(code, `invalid input syntax: "${secret}"\n    at ${secret}`));
    assert.match(logged.message, /^withheld/, code);
    assert.ok(!JSON.stringify(logged).includes(secret), code);
  }
});

test('causes and aggregated errors are logged with the same rules', () => {
  const inner = postgresError('22P02', secret);
  const wrapped = new Error('could not be done', { cause: new AggregateError([inner, inner], 'all failed') });
  const logged = loggedError(Object.assign(wrapped, { request: { body: secret }, response: secret }));
  assert.ok(!JSON.stringify(logged).includes(secret));
  assert.equal(logged.message, 'could not be done');
  assert.deepEqual(
    logged.cause?.errors?.map(({ code }) => code),
    ['22P02', '22P02'],
  );
});

test('circular causes are followed to a limit', () => {
  const error = new Error('one');
  error.cause = error;
  assert.equal(JSON.stringify(loggedError(error)).match(/"message":"one"/g)?.length, 6);
});

test('a thrown value that is not an error is not logged', () => {
  for (const thrown of [secret, { secret }, undefined, null, 5])
    assert.ok(!JSON.stringify(loggedError(thrown)).includes(secret));
});

test('SQLite errors contain columns and constraints, and no values', () => {
  const database = new DatabaseSync(':memory:');
  database.exec(`
    create table customers (id integer primary key, email text not null unique check (email <> '${'b'.repeat(9)}'),
      address blob check (length(address) < 3), named text constraint named_check check (length(named) < 3)) strict;
    create table cards (customer integer references customers (id), n integer generated always as (customer) stored) strict;
    create unique index by_expression on customers (lower(email));
    create trigger rejects before delete on customers begin select raise(abort, 'cannot be deleted'); end;
    insert into customers (id, email) values (1, '${secret}');`);
  const violations: readonly (readonly [string, readonly (string | number | null | Uint8Array)[]])[] = [
    ['insert into customers (email) values (?)', [secret]],
    ['insert into customers (email) values (?)', [secret.toUpperCase()]],
    ['insert into customers (email) values (?)', [null]],
    ['insert into customers (email) values (?)', ['b'.repeat(9)]],
    ['insert into customers (email, address) values (?, ?)', ['c', secret]],
    ['insert into customers (email, address) values (?, ?)', ['c', Buffer.from(secret)]],
    ['insert into customers (email, named) values (?, ?)', ['c', secret]],
    ['insert into customers (id, email) values (?, ?)', [secret, 'c']],
    ['insert into customers (id, email) values (?, ?)', [1, 'c']],
    ['insert into cards (customer) values (?)', [77_123]],
    ['insert into cards (customer) values (?)', [secret]],
    ['delete from customers where email = ?', [secret]],
    ['select json(?)', [`{"${secret}`]],
    ['select json_extract(?, ?)', ['{}', secret]],
    ['select abs(?)', ['-9223372036854775808']],
  ];
  let failed = 0;
  for (const [text, values] of violations) {
    try {
      database.prepare(text).all(...values);
    } catch (error) {
      failed += 1;
      const logged = loggedError(error);
      assert.equal(logged['code'], 'ERR_SQLITE_ERROR');
      assert.equal(typeof logged['errcode'], 'number');
      const written = JSON.stringify(logged);
      for (const value of [secret, secret.toUpperCase(), '77123'])
        assert.ok(!written.includes(value), `${text}: ${written}`);
    }
  }
  assert.ok(failed >= 12, `${failed} violations`);
});
