/**
 * Closes stores. While a store is closed, triggers of its own reject every change of its rows, whichever process, request
 * or version makes it. They exist only then, because a check in every change of every store would cost more.
 */

import { all, execute, Lock, sql, Statement, type Script } from './sql/sql.ts';
import { catalogTriggers, Fragment } from './sql/fragments.ts';

/** The error that the triggers raise. The schema has it as well, for PostgreSQL. */
export const storeClosedMessage = 'the store is closed';

/** The triggers of a store begin with this prefix and its id. */
const prefix = 'store_closed_';

/** The triggers that record the changes of a store while it moves out of a file begin with this prefix. */
export const movingPrefix = 'store_moving_';

const operations = ['insert', 'update', 'delete'] as const;
type Operation = (typeof operations)[number];

type Guard = { readonly name: string; readonly table: string };

function nameOf(storeId: number, table: string, operation: Operation): string {
  return `${prefix}${storeId}_${table}_${operation}`;
}

/** The condition in which a change of a table is one of the store. */
function conditionOf(storeId: number, table: string, operation: Operation): string {
  // The move itself records only a change of the status.
  if (table === 'stores') return `old.id = ${storeId} and new.status = old.status`;
  return `${operation === 'delete' ? 'old' : 'new'}.store_id = ${storeId}`;
}

function creation(storeId: number, table: string, operation: Operation): Fragment {
  const name = nameOf(storeId, table, operation);
  const condition = conditionOf(storeId, table, operation);
  return new Fragment(({ hasTriggerFunctions }) =>
    hasTriggerFunctions
      ? `create trigger ${name} before ${operation} on ${table}
         for each row when (${condition}) execute function reject_change_of_closed_store()`
      : `create trigger ${name} before ${operation} on ${table} when ${condition}
         begin select raise(abort, '${storeClosedMessage}'); end`,
  );
}

function removal({ name, table }: Guard): Fragment {
  return new Fragment(({ hasTriggerFunctions }) =>
    hasTriggerFunctions ? `drop trigger ${name} on ${table}` : `drop trigger ${name}`,
  );
}

/** A statement that runs once. */
function once(text: Fragment): Statement {
  return new Statement(['', ''], [text]);
}

/** The server's other transactions wait behind one that changes a table's triggers, so it does not wait long itself. */
const shortLockWait = new Lock(['set local lock_timeout = 1000'], []);

function* listGuards(storeId: number): Script<readonly Guard[]> {
  const found = yield* all(
    sql<{
      trigger_name: string;
      table_name: string;
    }>`select trigger_name, table_name from ${catalogTriggers}`,
  );
  return found
    .filter(({ trigger_name: name }) => name.startsWith(`${prefix}${storeId}_`))
    .map(({ trigger_name: name, table_name: table }) => ({ name, table }));
}

/**
 * From this commit on, no row of the store in a table changes. On PostgreSQL the change of the table waits for the
 * transactions that write to it.
 */
export function* closeTable(storeId: number, table: string): Script<void> {
  const present = new Set((yield* listGuards(storeId)).map(({ name }) => name));
  const missing = (table === 'stores' ? (['update'] as const) : operations).filter(
    (operation) => !present.has(nameOf(storeId, table, operation)),
  );
  if (missing.length === 0) return;
  yield* execute(shortLockWait, ...missing.map((operation) => once(creation(storeId, table, operation))));
}

/** Returns the tables that `closeTable` has closed. */
export function* listClosedTables(storeId: number): Script<readonly string[]> {
  return [...new Set((yield* listGuards(storeId)).map(({ table }) => table))];
}

/** Ends what `closeTable` began. */
export function* openTable(storeId: number, table: string): Script<void> {
  const guards = (yield* listGuards(storeId)).filter((guard) => guard.table === table);
  if (guards.length === 0) return;
  yield* execute(shortLockWait, ...guards.map((guard) => once(removal(guard))));
}

/**
 * Removes the triggers of all closed stores, so that a migration can change their rows, and those of stores that move while
 * they are open, whose copies begin again. Closed stores stay closed: an update restarts the processes whose requests the
 * triggers rejected.
 */
export function* openAllTables(): Script<void> {
  const found = yield* all(
    sql<{
      trigger_name: string;
      table_name: string;
    }>`select trigger_name, table_name from ${catalogTriggers}`,
  );
  const guards = found
    .filter(({ trigger_name: name }) => name.startsWith(prefix) || name.startsWith(movingPrefix))
    .map(({ trigger_name: name, table_name: table }) => ({ name, table }));
  if (guards.length > 0) yield* execute(...guards.map((guard) => once(removal(guard))));
}
