import assert from 'node:assert/strict';
import test from 'node:test';
import { currencyOf } from '../../src/core/money/domain/currency.ts';
import {
  money,
  columns,
  flag,
  integer,
  integerOrNull,
  text,
  textOrNull,
  writeOnly,
  type RowOf,
} from '../../src/database/sql/columns.ts';
import { sql } from '../../src/database/sql/sql.ts';
import { Fragment, fragment, type Dialect } from '../../src/database/sql/fragments.ts';
import { sqliteDialect } from '../../src/database/sqlite/connection.ts';

const notes = columns({
  id: integer('id'),
  is_public: flag('isPublic'),
  currency: writeOnly<string>()(
    ({ price }: { readonly price: { readonly currency: { readonly code: string } } }) => price.currency.code,
  ),
  price: money('price'),
  title: text('title'),
  summary: textOrNull('summary'),
  order_id: integerOrNull('orderId'),
  author_id: {
    field: 'author',
    read: (id: bigint | null, row: { readonly author_name: string }) => id && `${id} ${row.author_name}`,
    write: ({ author }: { readonly author: string | null }) =>
      author && BigInt(author.split(' ', 1)[0] ?? ''),
  },
});

const euro = currencyOf('EUR');
const note = {
  id: 7,
  isPublic: true,
  price: { minor: 250n, currency: euro },
  title: 'A "title"',
  summary: null,
  orderId: null,
  author: '5 Ann',
};
const row: RowOf<typeof notes> = {
  id: 7n,
  is_public: 1n,
  currency: 'EUR',
  price: 250n,
  title: 'A "title"',
  summary: null,
  order_id: null,
  author_id: 5n,
  author_name: 'Ann',
};

test('a row becomes a record, with values of several columns in one field', () => {
  assert.deepEqual(notes.read(row), note);
  assert.deepEqual(notes.read({ ...row, order_id: 3n, is_public: 0n, author_id: null }), {
    ...note,
    orderId: 3,
    isPublic: false,
    author: null,
  });
});

test('an integer above 2^53 cannot be read', () => {
  assert.throws(() => notes.read({ ...row, id: 2n ** 53n }), /exceeds 2\^53/);
});

test('an insert has one placeholder per column, and the values in the order of the names', () => {
  const statement = sql`insert into notes (store_id, ${notes.names}) values (${1}, ${notes.values(note)})`;
  assert.equal(
    statement.text(sqliteDialect),
    'insert into notes (store_id, id, is_public, currency, price, title, summary, order_id, author_id) ' +
      'values (?, ?, ?, ?, ?, ?, ?, ?, ?)',
  );
  assert.deepEqual(statement.values, [1, 7, 1, 'EUR', 250n, 'A "title"', null, null, 5n]);
});

test('placeholders are numbered across values and lists of values', () => {
  const numbered: Dialect = { ...sqliteDialect, placeholder: (position) => `$${position}` };
  const pair = columns({ a: integer('a'), b: integer('b') });
  const statement = sql`update t set (${pair.names}) = (${pair.values({ a: 1, b: 2 })}) where c = ${3}`;
  assert.equal(statement.text(numbered), 'update t set (a, b) = ($1, $2) where c = $3');
  assert.deepEqual(statement.values, [1, 2, 3]);
});

test('lists of names have an alias, and fragments contain fragments', () => {
  const pair = columns({ a: integer('a'), b: integer('b') });
  const joined = fragment`${pair.of('t')}, ${new Fragment(() => 'u.c')}`;
  assert.equal(sql`select ${joined} from t`.text(sqliteDialect), 'select t.a, t.b, u.c from t');
  assert.equal(sql`set ${pair.excluded}`.text(sqliteDialect), 'set a = excluded.a, b = excluded.b');
});
