/** Replication settings of a PostgreSQL server, which decide whether acknowledged changes survive its loss. */

import { all, one, sql, type Script } from '../sql/sql.ts';
import { fragment } from '../sql/fragments.ts';

export type Replication = {
  /** Whether acknowledged changes survive a crash of the server's machine (`fsync`). */
  readonly isDurable: boolean;
  /** Whether the server protects pages against partial writes (`full_page_writes`). */
  readonly hasWholePages: boolean;
  /** Number of connected standbys. */
  readonly standbys: number;
  /** Whether a commit waits for a standby. */
  readonly isSynchronous: boolean;
};

type Row = {
  readonly fsync: string;
  readonly full_page_writes: string;
  readonly standby_names: string;
  readonly standbys: bigint | number;
  readonly synchronous: bigint | number;
};

/**
 * Reads the replication state of a PostgreSQL server. Other engines do not have these tables.
 *
 * Backups, log receivers and logical subscribers are not counted as standbys, because they cannot be promoted.
 * The server hides the state of standbys from roles without `pg_read_all_stats`; a hidden one counts as
 * synchronous if the settings require synchronous standbys.
 */
export function* findReplication(): Script<Replication> {
  return toReplication(yield* one(sql<Row>`${selectReplication}`));
}

/** A server of a cluster. */
export type WorkerReplication = {
  /** Its host and port. */
  readonly name: string;
  /** Null: it cannot be reached. */
  readonly replication: Replication | null;
};

/** Finds the replication of the other servers of a distributed database. */
export function* findWorkerReplication(): Script<readonly WorkerReplication[]> {
  const rows = yield* all(sql<{ name: string; is_reached: bigint; result: string }>`
    select nodename || ':' || nodeport as name, success::int as is_reached, result
    from run_command_on_workers($command$select to_json(r)::text from (${selectReplication}) r$command$)`);
  return rows.map(({ name, is_reached: isReached, result }) => ({
    name,
    // The columns are those of `Row`.
    replication: isReached === 1n ? toReplication(JSON.parse(result) as Row) : null,
  }));
}

const selectReplication = fragment`
  select current_setting('fsync') as fsync, current_setting('full_page_writes') as full_page_writes,
    current_setting('synchronous_standby_names') as standby_names,
    count(r.pid) as standbys,
    count(r.pid) filter (where coalesce(r.sync_state, 'sync') in ('sync', 'quorum', 'potential')) as synchronous
  from pg_stat_replication r
  where coalesce(r.state, 'streaming') in ('streaming', 'catchup')
    and coalesce(r.application_name, '') not in ('pg_basebackup', 'pg_receivewal')
    and not exists (select 1 from pg_replication_slots s where s.active_pid = r.pid and s.slot_type = 'logical')`;

function toReplication(row: Row): Replication {
  return {
    isDurable: row.fsync !== 'off',
    hasWholePages: row.full_page_writes !== 'off',
    standbys: Number(row.standbys),
    isSynchronous: row.standby_names.trim() !== '' && row.synchronous > 0,
  };
}
