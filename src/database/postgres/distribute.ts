/** Distributes the tables of a database over the servers of a Citus cluster. */

import { numberByServer, tableKinds } from './distribution.ts';
import type { Session } from './session.ts';
import { shardTriggers } from './shard-triggers.ts';

/** Tables that every server has for itself. */
const ownTables = `
create table if not exists heartbeat (id bigint primary key check (id = 1), beaten_at bigint not null);
insert into heartbeat (id, beaten_at) values (1, 0) on conflict do nothing;
create table if not exists log_turn (id bigint primary key check (id = 1));
insert into log_turn (id) values (1) on conflict do nothing`;

/** The database cannot be distributed as it is. */
export class DistributionError extends Error {
  override readonly name = 'DistributionError';
}

/** Settings of a session that changes the tables of a distributed database. */
export const schemaSettings: readonly string[] = [
  'set default_transaction_read_only = off',
  "set default_transaction_isolation = 'read committed'",
  'set lock_timeout = 0',
  'set enable_seqscan = on',
  // Row triggers of these tables only use rows of their own store, which are on the same server.
  'set citus.enable_unsafe_triggers = on',
  // Without this, a table that refers to another one is added to the cluster with it, and cannot be distributed then.
  'set citus.enable_local_reference_table_foreign_keys = off',
];

type TableRow = { readonly name: string; readonly is_partitioned: bigint; readonly is_known: bigint };

/**
 * Distributes the tables that are not distributed yet. If it is interrupted, it continues when it is called again.
 * @returns the names of the tables that it distributed.
 * @throws DistributionError if the server has no Citus or is not the coordinator, its tables have partitions, or it has stores
 * that are not distributed.
 */
export async function distributeTables(session: Session): Promise<readonly string[]> {
  await assertCoordinator(session);
  for (const setting of schemaSettings) await session.send([setting]);
  const tables = await rowsOf<TableRow>(
    session,
    `select t.relname::text as name, (t.relkind = 'p')::int as is_partitioned,
       (p.logicalrelid is not null)::int as is_known
     from pg_class t left join pg_catalog.pg_dist_partition p on p.logicalrelid = t.oid
     where t.relkind in ('r', 'p') and not t.relispartition
       and t.relnamespace = current_schema()::regnamespace order by t.relname`,
  );
  const partitioned = tables.filter((table) => table.is_partitioned > 0n);
  if (partitioned.length > 0)
    throw new DistributionError(
      'the tables have partitions: copy the database into one that was created without PARTITIONS',
    );
  const unknown = tables.filter(({ name }) => tableKinds[name] === undefined).map(({ name }) => name);
  if (unknown.length > 0)
    throw new DistributionError(`these tables are not tables of this service: ${unknown.join(', ')}`);
  const isDone = (name: string): boolean =>
    tables.some((table) => table.name === name && table.is_known > 0n);
  if (!isDone('events')) {
    await assertWithoutStores(session);
    await inTransaction(session, numberByServer);
  }
  const references = await rowsOf<{ readonly name: string; readonly referenced: string }>(
    session,
    `select conrelid::regclass::text as name, confrelid::regclass::text as referenced from pg_constraint
     where contype = 'f' and connamespace = current_schema()::regnamespace`,
  );
  const names = inReferenceOrder(tables, references);
  const divided = names.filter((name) => tableKinds[name] === 'by store');
  // The rows of a store in all these tables are on one server. A new table joins those that are distributed already.
  const [first = null] = [...divided.filter(isDone), ...divided];
  const distributed: string[] = [];
  for (const name of names) {
    const call = callFor(name, name === first ? 'none' : first);
    if (call === undefined || isDone(name)) continue;
    await session.runText(call);
    distributed.push(name);
  }
  await session.runText(`begin; ${shardTriggers} commit`);
  await assertOnWorkers(session, ownTables);
  // Plans of small shards are kept, as those of small tables.
  await assertOnWorkers(
    session,
    `do $$ begin execute format('alter database %I set enable_seqscan = off', current_database()); end $$`,
  );
  return distributed;
}

/**
 * Citus copies the rows of a table into its shards with the triggers of the table, which would write again what other tables
 * have already.
 */
async function assertWithoutStores(session: Session): Promise<void> {
  const [found] = await rowsOf<{ readonly stores: bigint }>(session, 'select count(*) as stores from stores');
  if (found?.stores !== 0n)
    throw new DistributionError(
      'the database has stores: distribute a database without stores, and copy this one into it with "largesse copy"',
    );
}

/** Tables that others refer to, first. */
function inReferenceOrder(
  tables: readonly { readonly name: string }[],
  references: readonly { readonly name: string; readonly referenced: string }[],
): readonly string[] {
  const sorted: string[] = [];
  const add = (name: string): void => {
    if (sorted.includes(name)) return;
    for (const { referenced } of references.filter((reference) => reference.name === name))
      if (referenced !== name) add(referenced);
    sorted.push(name);
  };
  // Reference tables first, so that no table that refers to them is in the way.
  for (const kind of ['everywhere', 'by store', 'own'] as const)
    for (const { name } of tables) if (tableKinds[name] === kind) add(name);
  return sorted;
}

function callFor(name: string, colocatedWith: string | null): string | undefined {
  switch (tableKinds[name]) {
    case 'by store':
      return `select create_distributed_table('${name}', 'store_id', colocate_with => '${colocatedWith}')`;
    case 'everywhere':
      return `select create_reference_table('${name}')`;
    default:
      return undefined;
  }
}

async function assertCoordinator(session: Session): Promise<void> {
  const [found] = await rowsOf<{ readonly citus: bigint }>(
    session,
    `select count(*) as citus from pg_extension where extname = 'citus'`,
  );
  if (found?.citus !== 1n)
    throw new DistributionError(
      'the database has no extension citus: run "create extension citus" in it on every server, and add the workers on the coordinator',
    );
  const [node] = await rowsOf<{ readonly own: bigint; readonly others: bigint }>(
    session,
    `select (select groupid from pg_catalog.pg_dist_local_group) as own,
       (select count(*) from pg_catalog.pg_dist_node where shouldhaveshards and isactive) as others`,
  );
  if (node?.own !== 0n) throw new DistributionError('the server is a worker: connect to the coordinator');
  if (node.others === 0n)
    throw new DistributionError(
      'the cluster has no workers: add them with citus_add_node on the coordinator',
    );
}

/** Runs a command on every worker, for that worker alone. @throws DistributionError with the first error. */
async function assertOnWorkers(session: Session, command: string): Promise<void> {
  const results = await rowsOf<{ readonly node: string; readonly ok: bigint; readonly result: string }>(
    session,
    `select nodename || ':' || nodeport as node, success::int as ok, result
     from run_command_on_workers($command$set citus.enable_ddl_propagation = off; ${command}$command$)`,
  );
  const failed = results.find(({ ok }) => ok === 0n);
  if (failed) throw new DistributionError(`${failed.node}: ${failed.result}`);
}

async function inTransaction(session: Session, text: string): Promise<void> {
  await session.runText(`begin; ${text}; commit`);
}

async function rowsOf<Row>(session: Session, text: string): Promise<readonly Row[]> {
  const results = await session.send([text]);
  // The rows are those of the text.
  return (results.at(-1)?.rows ?? []) as readonly Row[];
}
