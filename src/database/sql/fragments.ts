/** Parts of statements that the engines write in different ways. */

/** A piece of SQL without values. A call site always uses the same one. */
export class Fragment {
  readonly text: (dialect: Dialect) => string;

  constructor(text: (dialect: Dialect) => string) {
    this.text = text;
  }
}

type FragmentName =
  | 'for update'
  | 'for update skip locked'
  | 'for key share'
  | 'commit order'
  | 'last committed first'
  | 'final order'
  | 'newest transaction'
  | 'oldest transaction'
  | 'quiet place'
  | 'catalog columns'
  | 'catalog references'
  | 'catalog triggers'
  | 'position'
  | 'one of'
  | 'end of one of'
  | 'json array'
  | 'end of json array'
  | 'json comma'
  | 'json value'
  | 'end of json value'
  | 'hex'
  | 'end of hex'
  | 'entry place'
  | 'cursor owners'
  | 'owned by'
  | 'cursor of'
  | 'owner of store'
  | 'ended entries'
  | `owners of ${EntryTable}`
  | `start of ${EntryTable}`
  | `stale cursor of ${EntryTable}`;

/** The tables whose rows are entries of the stores' logs. */
export type EntryTable = 'transfers' | 'card_changes';

/** A piece of SQL with a different text for each engine. */
function ofEngine(name: FragmentName): Fragment {
  return new Fragment(({ fragments }) => fragments[name]);
}

/** At the end of a select: locks its rows until the transaction ends. Other transactions wait for the lock. */
export const forUpdate = ofEngine('for update');

/** Locks rows, but skips those that another transaction has locked: for work that any process can do. */
export const forUpdateSkipLocked = ofEngine('for update skip locked');

/** At the end of a select: until the transaction ends, the keys of its rows do not change. */
export const forKeyShare = ofEngine('for key share');

/** Columns that sort events in commit order: `(${commitOrder}) > (…)`, `order by ${commitOrder}`. */
export const commitOrder = ofEngine('commit order');

/** In `order by`: descending commit order. */
export const lastCommittedFirst = ofEngine('last committed first');

/** A condition on events: later commits cannot insert an event before this one in commit order. */
export const hasFinalOrder = ofEngine('final order');

/** A number that all transactions that are open when the statement begins are below. */
export const newestTransaction = ofEngine('newest transaction');

/** The lowest number of an open transaction. */
export const oldestTransaction = ofEngine('oldest transaction');

/** A number that every later commit changes; null while older transactions are open, or if the engine has no such number. */
export const quietPlace = ofEngine('quiet place');

/** In `from`: the columns of all tables, with `table_name`, `column_name` and `key_place` (from 1; 0: not in the key). */
export const catalogColumns = ofEngine('catalog columns');

/** In `from`: the foreign keys of all tables, with `table_name` and `referenced_name`. */
export const catalogReferences = ofEngine('catalog references');

/** In `from`: the triggers of all tables, with `trigger_name` and `table_name`. */
export const catalogTriggers = ofEngine('catalog triggers');

/** A column of entries that rises with their commits: equal for entries of one transaction at most. */
export const entryPlace = ofEngine('entry place');

/** In `from`: the `id` of each store that has a cursor; 0: one for all stores. */
export const cursorOwners = ofEngine('cursor owners');

/** `${ownedBy} ${owner}`: a condition on the rows of stores whose cursor has this owner. */
export const ownedBy = ofEngine('owned by');

/** `${cursorOfStore} ${storeId}`: a condition on `log_cursors c`: the cursor is that of the store. */
export const cursorOfStore = ofEngine('cursor of');

/** The owner of the cursors of the store in the column `store_id`. */
export const ownerOfStore = ofEngine('owner of store');

/** A further condition on entries: no transaction is open that can commit an entry before them. */
export const andEnded = ofEngine('ended entries');

/** The cursors of a log's entries. */
export type EntryOrder = {
  /** In `from`: `owner` of each cursor after which there are entries. */
  readonly pendingOwners: Fragment;
  /** `from ${start} ${owner}) s`: `place` and `last_id` of the last entry that a new cursor does not read. */
  readonly start: Fragment;
  /** A condition on `log_cursors c`: its place is not one of this database, so that it has to begin again. */
  readonly isStale: Fragment;
};

export function entryOrderOf(table: EntryTable): EntryOrder {
  return {
    pendingOwners: ofEngine(`owners of ${table}`),
    start: ofEngine(`start of ${table}`),
    isStale: ofEngine(`stale cursor of ${table}`),
  };
}

/** A function of a text and another one: where the second begins in the first, from 1; 0: nowhere. */
export const position = ofEngine('position');

/**
 * `id ${oneOf} select … ${endOfOneOf}`: a condition that is checked by an index on `id` for each row of the select,
 * whatever number of them the planner expects.
 */
export const oneOf = ofEngine('one of');

export const endOfOneOf = ofEngine('end of one of');

/**
 * `${jsonArray} ${jsonValue} a ${endOfJsonValue} ${jsonComma} ${jsonValue} b ${endOfJsonValue} ${endOfJsonArray}`: the
 * text of an array of texts, integers and nulls as `JSON.stringify` writes it. An array in it is not a `jsonValue`.
 */
export const jsonArray = ofEngine('json array');

export const endOfJsonArray = ofEngine('end of json array');

export const jsonComma = ofEngine('json comma');

export const jsonValue = ofEngine('json value');

export const endOfJsonValue = ofEngine('end of json value');

/** `${hex} bytes ${endOfHex}`: bytes as lower-case hexadecimal digits. */
export const hex = ofEngine('hex');

export const endOfHex = ofEngine('end of hex');

/** Names the index that SQLite uses for a table. On PostgreSQL the condition has to leave no other choice. */
export function indexedBy(index: string): Fragment {
  return new Fragment(({ hasIndexHints }) => (hasIndexHints ? `indexed by ${index}` : ''));
}

/** A piece of SQL that is the same on every engine, without values. */
export function fragment(strings: TemplateStringsArray, ...written: readonly Fragment[]): Fragment {
  return new Fragment((dialect) =>
    String.raw({ raw: strings }, ...written.map((piece) => piece.text(dialect))),
  );
}

/** The SQL syntax of an engine. */
export type Dialect = {
  /** Text of the n-th parameter, from 1: `?` or `$n`. */
  readonly placeholder: (position: number) => string;
  readonly fragments: Readonly<Record<FragmentName, string>>;
  /** Whether `indexed by` exists. */
  readonly hasIndexHints: boolean;
  /** Whether a trigger calls a function; if not, it contains statements. */
  readonly hasTriggerFunctions: boolean;
  /** Whether the stores are on different servers. */
  readonly isDistributed: boolean;
};
