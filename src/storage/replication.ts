/** Replication settings of a PostgreSQL server, which decide whether acknowledged changes survive its loss. */

import { one, sql, type Script } from './sql.ts';

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
  readonly standbys: bigint;
  readonly synchronous: bigint;
};

/**
 * Reads the replication state of a PostgreSQL server. Other engines do not have these tables.
 *
 * Backups, log receivers and logical subscribers are not counted as standbys, because they cannot be promoted.
 * The server hides the state of standbys from roles without `pg_read_all_stats`; a hidden one counts as
 * synchronous if the settings require synchronous standbys.
 */
export function* findReplication(): Script<Replication> {
  const row = yield* one(sql<Row>`
    select current_setting('fsync') as fsync, current_setting('full_page_writes') as full_page_writes,
      current_setting('synchronous_standby_names') as standby_names,
      count(r.pid) as standbys,
      count(r.pid) filter (where coalesce(r.sync_state, 'sync') in ('sync', 'quorum', 'potential')) as synchronous
    from pg_stat_replication r
    where coalesce(r.state, 'streaming') in ('streaming', 'catchup')
      and coalesce(r.application_name, '') not in ('pg_basebackup', 'pg_receivewal')
      and not exists (select 1 from pg_replication_slots s where s.active_pid = r.pid and s.slot_type = 'logical')`);
  return {
    isDurable: row.fsync !== 'off',
    hasWholePages: row.full_page_writes !== 'off',
    standbys: Number(row.standbys),
    isSynchronous: row.standby_names.trim() !== '' && row.synchronous > 0n,
  };
}
