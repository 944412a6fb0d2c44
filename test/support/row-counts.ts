/** Generic rows that tests write and count: stores, identified by their domain. */

import {
  all,
  first,
  one,
  execute,
  sql,
  toNumber,
  type Script,
  type Statement,
} from '../../src/database/sql/sql.ts';

export function insertion(id: number, name: string, value = 'USD'): Statement {
  return sql`
    insert into stores (id, domain, name, currency, time_zone, require_signature, customer_search,
      demonstration, created_at, updated_at)
    values (${id}, ${name}, ${name}, ${value}, 'UTC', 0, 0, 0, 0, 0)`;
}

/** Inserts a row. @throws a database error if the name or the id is taken. */
export function* insertRow(id: number, name: string, value = 'USD'): Script<void> {
  yield* execute(insertion(id, name, value));
}

/** The names of all rows, sorted. */
export function* listRows(): Script<readonly string[]> {
  const rows = yield* all(sql<{ domain: string }>`select domain from stores order by domain`);
  return rows.map(({ domain }) => domain);
}

export function* hasRow(name: string): Script<boolean> {
  return (yield* first(sql<{ id: bigint }>`select id from stores where domain = ${name}`)) !== undefined;
}

/** Adds to a row's counter, which starts at 0, and returns its new value. */
export function* addTo(name: string, added: number): Script<number> {
  const row = yield* one(sql<{ updated_at: bigint }>`
    update stores set updated_at = updated_at + ${added} where domain = ${name} returning updated_at`);
  return toNumber(row.updated_at);
}

export function* counterOf(name: string): Script<number> {
  const row = yield* one(sql<{ updated_at: bigint }>`select updated_at from stores where domain = ${name}`);
  return toNumber(row.updated_at);
}

/** The sum of all counters. */
export function* sumOfCounters(): Script<number> {
  const row = yield* one(sql<{ total: bigint }>`
    select cast(coalesce(sum(updated_at), 0) as bigint) as total from stores`);
  return toNumber(row.total);
}
