import assert from 'node:assert/strict';
import test from 'node:test';
import { namesItsColumns, rowMaker } from '../../src/database/sql/rows.ts';

test('a row has each value under the name of its column', () => {
  const rowOf = rowMaker(['id', 'customer_email', 'note']);
  assert.deepEqual(rowOf([1n, null, 'a note']), { id: 1n, customer_email: null, note: 'a note' });
  assert.deepEqual(rowOf([2n, 'ann@example.com', null]), {
    id: 2n,
    customer_email: 'ann@example.com',
    note: null,
  });
});

test('the last of two columns with one name is used', () => {
  assert.deepEqual(rowMaker(['id', 'id'])([1n, 2n]), { id: 2n });
});

test('a column name can contain any characters', () => {
  const names = [
    'count(*)',
    "it's",
    '"quoted"',
    'a\nb',
    '${x}',
    '\\',
    '], process.exit(1), [',
    'constructor',
  ];
  const row = rowMaker(names)(names.map((_, index) => index));
  assert.deepEqual(Object.entries(row), names.map((name, index) => [name, index])); // prettier-ignore
});

test('a statement names its columns unless it contains an asterisk for columns', () => {
  for (const text of ['select id, name from stores', 'select count(*) from stores where id = ?'])
    assert.equal(namesItsColumns(text), true, text);
  for (const text of [
    'select * from stores',
    'select g.*, 1 as one from gift_cards g',
    'delete from stores returning *',
    'select id from (select * from stores)',
  ])
    assert.equal(namesItsColumns(text), false, text);
});
