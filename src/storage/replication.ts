/** How a PostgreSQL server is set up: what becomes of acknowledged changes when it, or its machine, is gone. */

import { one, sql, type Script } from './sql.ts';

export type Replication = {
  /** Whether what it has acknowledged survives a crash of its machine. */
  readonly isDurable: boolean;
  /** Whether a crash leaves no page half written, unless its file system sees to that. */
  readonly hasWholePages: boolean;
  /** Standbys that follow it now. */
  readonly standbys: number;
  /** Whether a commit waits for one of them. */
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
 * Looks at a PostgreSQL server; no other has these tables.
 *
 * Copies of the log and of the data folder in the making are no standbys, nor are logical subscribers: none of
 * them can be promoted. What a standby does is hidden from roles without `pg_read_all_stats`; one that is hidden
 * counts as synchronous if the server's settings ask for any.
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
