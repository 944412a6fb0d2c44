/**
 * A database that behaves like one of Citus when its tables are distributed, on a server without Citus: a table is its own
 * shard. The functions record their calls, and reject what Citus 13.2.2 rejects, with its messages
 * (`test/support/citus-rules.ts`).
 */

import { queryOnce } from './postgres-client.ts';
import type { PostgresServer } from './postgres-server.ts';

/** The role of the service, which is not a superuser. */
const role = 'largesse';

/** The functions of Citus that the service uses, its catalog, and the calls in order. */
const extension = `
set allow_system_table_mods = on;
create table pg_catalog.pg_dist_local_group (groupid int not null);
insert into pg_catalog.pg_dist_local_group values (0);
create table pg_catalog.pg_dist_node (groupid int, nodename text, nodeport int, isactive boolean, shouldhaveshards boolean);
insert into pg_catalog.pg_dist_node values (0, 'coordinator', 1, true, false), (1, 'worker', 2, true, true);
-- h: by a hash; n: everywhere (without colocated tables), or only on the coordinator (with the number 0).
create table pg_catalog.pg_dist_partition (logicalrelid regclass primary key, partmethod "char", colocationid int);
create table pg_catalog.citus_calls (id bigint generated always as identity, name text, argument text, colocate_with text);
insert into pg_extension (oid, extname, extowner, extnamespace, extrelocatable, extversion)
values (99999, 'citus', 10, 'pg_catalog'::regnamespace, false, 'an imitation');

create function pg_catalog.assert_citus_keys(name regclass, kind "char", colocation int) returns void language plpgsql as $body$
declare
  key pg_constraint;
  referenced pg_catalog.pg_dist_partition;
  store smallint := (select attnum from pg_attribute where attrelid = name and attname = 'store_id' and kind = 'h');
begin
  if exists (select from pg_trigger where tgrelid = name and not tgisinternal)
    and current_setting('citus.enable_unsafe_triggers', true) is distinct from 'on' then
    raise 'cannot distribute relation "%" because it has triggers', name using errcode = 'XX000';
  end if;
  if kind = 'h' and exists (select from pg_index where indrelid = name and indisunique and not store = any (indkey)) then
    raise 'cannot create constraint on "%"', name using errcode = '0A000';
  end if;
  for key in select * from pg_constraint where contype = 'f' and conrelid = name loop
    continue when key.confrelid = name;
    select * into referenced from pg_catalog.pg_dist_partition p where p.logicalrelid = key.confrelid;
    if kind = 'n' and referenced.partmethod = 'h' then
      raise 'cannot create foreign key constraint since foreign keys from reference tables and local tables to distributed tables are not supported' using errcode = '0A000';
    end if;
    if referenced.logicalrelid is null
      and (kind = 'h' or current_setting('citus.enable_local_reference_table_foreign_keys', true) = 'off') then
      raise 'referenced table "%" must be a distributed table or a reference table', key.confrelid::regclass
        using errcode = '42P16';
    end if;
    continue when referenced.partmethod is distinct from 'h';
    if referenced.colocationid <> colocation then
      raise 'cannot create foreign key constraint since relations are not colocated or not referencing a reference table' using errcode = '0A000';
    end if;
    if not exists (
      select from generate_subscripts(key.conkey, 1) place
      join pg_attribute a on a.attrelid = key.confrelid and a.attnum = key.confkey[place] and a.attname = 'store_id'
      where key.conkey[place] = store
    ) then
      raise 'cannot create foreign key constraint' using errcode = '0A000';
    end if;
  end loop;
  if kind = 'h' and exists (
    select from pg_constraint c join pg_catalog.pg_dist_partition p on p.logicalrelid = c.conrelid
    where c.contype = 'f' and c.confrelid = name and p.partmethod = 'n'
  ) then
    raise 'cannot create foreign key constraint since foreign keys from reference tables and local tables to distributed tables are not supported' using errcode = '0A000';
  end if;
end $body$;

create function pg_catalog.create_distributed_table(name regclass, store text, colocate_with text default 'default')
returns void language plpgsql security definer as $body$
declare
  colocation int := (select coalesce(max(colocationid), 0) + 1 from pg_catalog.pg_dist_partition);
  other regclass;
begin
  if exists (select from pg_catalog.pg_dist_partition where logicalrelid = name and colocationid > 0) then
    raise 'table "%" is already distributed', name using errcode = '42P16';
  end if;
  if not exists (select from pg_attribute where attrelid = name and attname = store) then
    raise 'column "%" of relation "%" does not exist', store, name using errcode = '42703';
  end if;
  if colocate_with <> 'none' then
    other := colocate_with::regclass;
    select colocationid into colocation from pg_catalog.pg_dist_partition where logicalrelid = other and colocationid > 0;
    if not found then
      raise 'relation % is not distributed', other using errcode = 'XX000';
    end if;
    if (select partmethod from pg_catalog.pg_dist_partition where logicalrelid = other) <> 'h'
      or (select array_agg(distinct atttypid) from pg_attribute where attrelid in (name, other) and attname = store)
        <> array['bigint'::regtype::oid] then
      raise 'cannot colocate tables % and %', other, name using errcode = 'XX000';
    end if;
  end if;
  perform assert_citus_keys(name, 'h', colocation);
  delete from pg_catalog.pg_dist_partition where logicalrelid = name;
  insert into pg_catalog.pg_dist_partition values (name, 'h', colocation);
  insert into pg_catalog.citus_calls (name, argument, colocate_with)
  values ('create_distributed_table', name, colocate_with);
end $body$;

create function pg_catalog.create_reference_table(name regclass) returns void language plpgsql security definer as $body$
declare
  everywhere constant int := 1000000;
begin
  if exists (select from pg_catalog.pg_dist_partition where logicalrelid = name and colocationid > 0) then
    raise 'table "%" is already distributed', name using errcode = '42P16';
  end if;
  perform assert_citus_keys(name, 'n', everywhere);
  delete from pg_catalog.pg_dist_partition where logicalrelid = name;
  insert into pg_catalog.pg_dist_partition values (name, 'n', everywhere);
  -- The default: tables that foreign keys connect with it become tables of the cluster on the coordinator.
  if current_setting('citus.enable_local_reference_table_foreign_keys', true) is distinct from 'off' then
    insert into pg_catalog.pg_dist_partition
    with recursive linked (id) as (
      select name::oid
      union select case c.conrelid when l.id then c.confrelid else c.conrelid end
      from linked l join pg_constraint c on c.contype = 'f' and l.id in (c.conrelid, c.confrelid)
    )
    select id, 'n', 0 from linked on conflict do nothing;
  end if;
  insert into pg_catalog.citus_calls (name, argument) values ('create_reference_table', name);
end $body$;

create function pg_catalog.run_command_on_workers(command text)
returns table (nodename text, nodeport int, success boolean, result text) language plpgsql security definer as $body$
declare
  output text := '';
begin
  if current_setting('transaction_read_only') = 'on' then
    -- The worker is another database of this server.
    execute command into output;
  else
    insert into pg_catalog.citus_calls (name, argument) values ('run_command_on_workers', command);
  end if;
  return query select n.nodename, n.nodeport, true, output from pg_catalog.pg_dist_node n where n.groupid <> 0;
end $body$;

create function pg_catalog.get_shard_id_for_distribution_column(name regclass, store_id bigint) returns bigint
language sql immutable as 'select 0::bigint';
create function pg_catalog.shard_name(name regclass, shard bigint) returns text language sql stable as 'select name::text';

create function pg_catalog.lose_worker() returns boolean language plpgsql stable as $body$
begin
  raise 'connection to the remote node worker:2 failed' using errcode = '08006';
end $body$;

grant select on pg_catalog.pg_dist_local_group, pg_catalog.pg_dist_node, pg_catalog.pg_dist_partition to public;`;

/** The settings of a server for it, which logs every statement. */
export const settingsOfImitation = {
  log_statement: 'all',
  log_line_prefix: '%d ',
  log_error_verbosity: 'terse',
} as const;

export type Call = {
  readonly name: 'create_distributed_table' | 'create_reference_table' | 'run_command_on_workers';
  readonly argument: string;
  readonly colocate_with: string | null;
};

/** An empty database of the service's role, with the functions of Citus. */
export async function createCoordinator(server: PostgresServer, name: string): Promise<void> {
  const { password } = new URL(server.url());
  await server.query(`
    do $$ begin
      if to_regrole('${role}') is null then create role ${role} login password '${password}' in role pg_read_all_stats; end if;
    end $$`);
  await server.query(`create database ${name} owner ${role} template template0 encoding 'UTF8'`);
  await queryOnce(server.url(name), extension);
}

/** The URL of the service's database. */
export function urlOf(server: PostgresServer, name: string): string {
  const url = new URL(server.url(name));
  url.username = role;
  return url.href;
}

export async function callsOf(server: PostgresServer, name: string): Promise<readonly Call[]> {
  const rows = await queryOnce(
    server.url(name),
    'select name, argument, colocate_with from pg_catalog.citus_calls order by id',
  );
  return rows as unknown as readonly Call[];
}

/**
 * Makes a database that has what a worker has: the tables that were distributed, and what was run on the workers. No
 * process uses the coordinator.
 */
export async function createWorker(server: PostgresServer, coordinator: string, name: string): Promise<void> {
  await server.query(`create database ${name} owner ${role} template ${coordinator}`);
  const url = server.url(name);
  await queryOnce(
    url,
    `do $$
    declare
      local regclass;
    begin
      update pg_catalog.pg_dist_local_group set groupid = 1;
      for local in select oid from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace
        and oid not in (select logicalrelid from pg_catalog.pg_dist_partition where colocationid > 0)
      loop
        execute format('drop table %s cascade', local);
      end loop;
    end $$`,
  );
  for (const { name: called, argument } of await callsOf(server, coordinator))
    if (called === 'run_command_on_workers') await queryOnce(urlOf(server, name), argument);
}

/** Every statement that reads or changes tables by store fails from now on, as while no worker can be reached. */
export async function loseWorkers(server: PostgresServer, name: string): Promise<void> {
  await queryOnce(
    server.url(name),
    `do $$
    declare
      divided name;
    begin
      for divided in
        select relname from pg_class join pg_catalog.pg_dist_partition p on p.logicalrelid = oid where p.partmethod = 'h'
      loop
        execute format('alter table %I rename to %I', divided, 'lost_' || divided);
        -- Without a column in its condition, it is checked also if there are no rows.
        execute format('create view %I as select * from %I where lose_worker() with cascaded check option', divided, 'lost_' || divided);
        execute format('alter view %I owner to ${role}', divided);
        update pg_catalog.pg_dist_partition set logicalrelid = divided::regclass
        where logicalrelid = ('lost_' || divided)::regclass;
      end loop;
    end $$;
    create or replace function pg_catalog.run_command_on_workers(command text)
    returns table (nodename text, nodeport int, success boolean, result text) language sql security definer as
      'select n.nodename, n.nodeport, false, ''failed to connect'' from pg_catalog.pg_dist_node n where n.groupid <> 0'`,
  );
}

/** The statements that a database received, in order. */
export function statementsIn(log: string, name: string): readonly string[] {
  const entry = /^(\S+) LOG: {2}(?:statement|execute [^:]*): ((?:.*\n)(?:\t.*\n)*)/gm;
  return [...log.matchAll(entry)].flatMap(([, database, text = '']) =>
    database === name ? [text.trim().replaceAll(/\s+/g, ' ')] : [],
  );
}
