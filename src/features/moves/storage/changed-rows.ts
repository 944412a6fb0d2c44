/** Rows that are read by their keys in one database, and written as they are into another. */

import {
  all,
  execute,
  first,
  parallel,
  sql,
  Statement,
  type Script,
  type SqlValue,
} from '../../../database/sql/sql.ts';
import {
  between,
  isSameRow,
  quoted,
  valuesOf,
  type Key,
  type Table,
  type TableRow,
} from '../../../database/sql/table.ts';

type Texts = {
  readonly byKey: readonly string[];
  /** Empty: the key has all columns. */
  readonly update: readonly string[];
  readonly remove: readonly string[];
  /** The columns that are not in the key. */
  readonly others: readonly string[];
};

/** By table and columns: engines cache prepared statements by the arrays. */
const texts = new Map<string, Texts>();

function textsOf({ name, key, columns }: Table): Texts {
  const described = `${name} (${columns.join(', ')})`;
  let found = texts.get(described);
  if (!found) {
    const others = columns.filter((column) => !key.includes(column));
    const ofKey = (start: string): readonly string[] => [
      `${start} where (${key.map(quoted).join(', ')}) = (`,
      ...between(', ', key.length),
      ')',
    ];
    const sets = others.map((column, place) => `${place === 0 ? '' : ', '}${quoted(column)} = `);
    const [end = '', ...rest] = ofKey('');
    found = {
      others,
      byKey: ofKey(`select ${columns.map(quoted).join(', ')} from ${quoted(name)}`),
      update:
        sets.length === 0
          ? []
          : [`update ${quoted(name)} set ${sets[0] ?? ''}`, ...sets.slice(1), end, ...rest],
      remove: ofKey(`delete from ${quoted(name)}`),
    };
    texts.set(described, found);
  }
  return found;
}

/** Returns the rows with these keys, in their order; undefined for each that does not exist. */
export function* findRows(table: Table, keys: readonly Key[]): Script<readonly (TableRow | undefined)[]> {
  const { byKey } = textsOf(table);
  return yield* parallel(...keys.map((key) => first(new Statement<TableRow>(byKey, key))));
}

/** Writes the columns of a row that exists. */
export function* updateRow(table: Table, row: TableRow): Script<void> {
  const { update, others } = textsOf(table);
  if (others.length === 0) return;
  yield* execute(new Statement(update, [...valuesOf(row, others), ...valuesOf(row, table.key)]));
}

export function* deleteRow(table: Table, key: Key): Script<void> {
  yield* execute(new Statement(textsOf(table).remove, key));
}

/** Inserts events of a store, without what triggers do with a new event: that is copied as well. */
export function* withoutReactions(
  storeId: number,
  { wallets, cardIds }: { readonly wallets: Table; readonly cardIds: readonly SqlValue[] },
  insert: Script<void>,
): Script<void> {
  const [active, inWallets] = yield* parallel(
    all(sql<{ id: bigint }>`
      update webhooks set status = 'paused', paused_at = 0, pause_reason = 'requested'
      where store_id = ${storeId} and status = 'active' returning id`),
    all(sql<{ card_id: bigint }>`select card_id from wallet_cards where store_id = ${storeId} limit 1`),
  );
  const keys = inWallets.length === 0 ? [] : yield* listWalletKeys(storeId, [...new Set(cardIds)]);
  const before = yield* findRows(wallets, keys);
  yield* insert;
  const after = yield* findRows(wallets, keys);
  for (const [place, row] of before.entries())
    if (row && !isSameRow(wallets, row, after[place])) yield* updateRow(wallets, row);
  for (const { id } of active)
    yield* execute(sql`
      update webhooks set status = 'active', paused_at = null, pause_reason = null
      where store_id = ${storeId} and id = ${id}`);
}

function* listWalletKeys(storeId: number, cardIds: readonly SqlValue[]): Script<readonly Key[]> {
  const kinds = yield* parallel(
    ...cardIds.map((cardId) =>
      all(sql<{ kind: string }>`
        select kind from wallet_cards where store_id = ${storeId} and card_id = ${cardId}`),
    ),
  );
  return cardIds.flatMap((cardId, place) =>
    (kinds[place] ?? []).map(({ kind }): Key => [storeId, cardId, kind]),
  );
}
