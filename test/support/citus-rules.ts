/**
 * The rules of Citus for tables that are distributed, with its messages. The imitation is tested with these cases, and so is
 * Citus itself (`test/citus/rules.ts`).
 */

export type CitusRule = {
  readonly name: string;
  /** The last one is rejected, if any. */
  readonly statements: readonly string[];
  /** Null: all are accepted. */
  readonly error: string | null;
};

const parent = 'create table parent (store_id bigint, id bigint, primary key (store_id, id))';
const child = 'create table child (store_id bigint, id bigint, foreign key (store_id, id) references parent)';
const reference = 'create table everywhere (id bigint primary key)';
const withoutLinked = 'set local citus.enable_local_reference_table_foreign_keys = off';
const trigger = `
  create function do_nothing() returns trigger language plpgsql as 'begin return new; end';
  create table parent (store_id bigint);
  create trigger changed before insert on parent for each row execute function do_nothing()`;
const distribute = (table: string, colocatedWith = 'none'): string =>
  `select create_distributed_table('${table}', 'store_id', colocate_with => '${colocatedWith}')`;
const copyEverywhere = (table: string): string => `select create_reference_table('${table}')`;
const noKeysFromReferences =
  'cannot create foreign key constraint since foreign keys from reference tables and local tables to distributed tables are not supported';

export const citusRules: readonly CitusRule[] = [
  {
    name: 'a table whose keys contain the store is distributed, and one that refers to it with the store',
    statements: [parent, child, withoutLinked, distribute('parent'), distribute('child', 'parent')],
    error: null,
  },
  {
    name: 'a table is not placed with one that is not distributed',
    statements: [parent, child, withoutLinked, distribute('parent', 'child')],
    error: 'relation child is not distributed',
  },
  {
    name: 'a table is not placed with one that is everywhere',
    statements: [reference, parent, copyEverywhere('everywhere'), distribute('parent', 'everywhere')],
    error: 'cannot colocate tables everywhere and parent',
  },
  {
    name: 'a table is not placed with one whose stores have another type',
    statements: [
      parent,
      'create table child (store_id int)',
      distribute('parent'),
      distribute('child', 'parent'),
    ],
    error: 'cannot colocate tables parent and child',
  },
  {
    name: 'a unique key contains the store',
    statements: ['create table parent (store_id bigint, id bigint unique)', distribute('parent')],
    error: 'cannot create constraint on "parent"',
  },
  {
    name: 'a unique index contains the store',
    statements: [
      'create table parent (store_id bigint, id bigint)',
      'create unique index parent_ids on parent (id)',
      distribute('parent'),
    ],
    error: 'cannot create constraint on "parent"',
  },
  {
    name: 'a foreign key refers to no local table',
    statements: [parent, child, withoutLinked, distribute('child')],
    error: 'referenced table "parent" must be a distributed table or a reference table',
  },
  {
    name: 'a foreign key refers to no table of other shards',
    statements: [parent, child, withoutLinked, distribute('parent'), distribute('child')],
    error:
      'cannot create foreign key constraint since relations are not colocated or not referencing a reference table',
  },
  {
    name: 'a foreign key contains the store',
    statements: [
      parent,
      'create table child (store_id bigint, other bigint, id bigint, foreign key (other, id) references parent)',
      withoutLinked,
      distribute('parent'),
      distribute('child', 'parent'),
    ],
    error: 'cannot create foreign key constraint',
  },
  {
    name: 'a table that is everywhere refers to no local table',
    statements: [
      reference,
      'create table other (id bigint references everywhere)',
      withoutLinked,
      copyEverywhere('other'),
    ],
    error: 'referenced table "everywhere" must be a distributed table or a reference table',
  },
  {
    name: 'a table that is everywhere refers to no distributed table',
    statements: [parent, child, withoutLinked, distribute('parent'), copyEverywhere('child')],
    error: noKeysFromReferences,
  },
  {
    name: 'a table that is everywhere takes those that refer to it into the cluster, if the setting is on',
    statements: [
      reference,
      'create table parent (store_id bigint references everywhere, id bigint, primary key (store_id, id))',
      child,
      copyEverywhere('everywhere'),
      distribute('parent'),
    ],
    error: noKeysFromReferences,
  },
  {
    name: 'a table that is everywhere leaves those that refer to it, if the setting is off',
    statements: [
      reference,
      'create table parent (store_id bigint references everywhere, id bigint, primary key (store_id, id))',
      child,
      withoutLinked,
      copyEverywhere('everywhere'),
      distribute('parent'),
      distribute('child', 'parent'),
    ],
    error: null,
  },
  {
    name: 'a table has no triggers',
    statements: [trigger, distribute('parent')],
    error: 'cannot distribute relation "parent" because it has triggers',
  },
  {
    name: 'a table has triggers if the setting is on',
    statements: ['set local citus.enable_unsafe_triggers = on', trigger, distribute('parent')],
    error: null,
  },
  {
    name: 'a table is distributed once',
    statements: [parent, distribute('parent'), distribute('parent')],
    error: 'table "parent" is already distributed',
  },
  {
    name: 'a table has the column of the store',
    statements: ['create table parent (id bigint)', distribute('parent')],
    error: 'column "store_id" of relation "parent" does not exist',
  },
];

/** Runs the statements in a transaction, and undoes them. @returns the message of the last one; null: all were accepted. */
export async function messageOf(
  { statements, error }: CitusRule,
  query: (text: string) => Promise<unknown>,
): Promise<string | null> {
  await query(`begin; set local citus.multi_shard_modify_mode = 'sequential'`);
  try {
    const last = error === null ? statements.length : statements.length - 1;
    for (const text of statements.slice(0, last)) await query(text);
    if (error === null) return null;
    return await query(statements.at(-1) ?? '').then(
      () => null,
      (reason: unknown) => (reason instanceof Error ? reason.message : String(reason)),
    );
  } finally {
    await query('rollback');
  }
}
