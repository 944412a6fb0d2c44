/**
 * Selection of the primary: the server that accepts writes on the newest timeline of the cluster.
 *
 * A promotion starts a timeline with a higher number. A former primary that returns is still on the old
 * timeline: it accepts writes, lacks everything acknowledged since, and its new writes are lost.
 */

import type { Timeline } from '../../platform/timeline-file.ts';

/** A server that accepts writes. */
export type PrimaryServer = Timeline & {
  /** Start time in seconds. Two hosts with the same cluster and start time are the same server. */
  readonly startedAt: string;
};

/** The server is in recovery, like a standby. */
class NotPrimary extends Error {
  override readonly name = 'NotPrimary';
}

export type StandbyRow = {
  readonly standby: bigint;
  /** Whether the database has the extension Citus. */
  readonly citus: bigint;
};
export type ServerRow = StandbyRow & {
  readonly system: string;
  readonly started_at: string;
  /** Its first 8 digits are the timeline; null in recovery. */
  readonly segment: string | null;
};

export const selectStandby = `select case when pg_is_in_recovery() then 1 else 0 end as standby,
  case when to_regclass('pg_catalog.pg_dist_partition') is null then 0 else 1 end as citus`;
/**
 * After a promotion, `pg_control_checkpoint` reports the old timeline for a while. The current log segment does
 * not.
 */
export const selectServer = `${selectStandby},
  (select system_identifier::text from pg_control_system()) as system,
  extract(epoch from pg_postmaster_start_time())::text as started_at,
  case when not pg_is_in_recovery() then pg_walfile_name(pg_current_wal_lsn()) end as segment`;

/** @throws NotPrimary if the server is a standby. */
export function toServer(row: ServerRow): PrimaryServer {
  assertPrimary(row);
  const timeline = Number.parseInt(row.segment?.slice(0, 8) ?? '', 16);
  if (!(timeline >= 1)) throw new Error(`the server does not say which timeline it is on: ${row.segment}`);
  return { system: row.system, timeline, startedAt: row.started_at };
}

/** @throws NotPrimary if the server is a standby. */
export function assertPrimary({ standby }: Pick<StandbyRow, 'standby'>): void {
  if (standby !== 0n) throw new NotPrimary('the server is a standby');
}

export type WritableHost = { readonly host: string; readonly server: PrimaryServer };

/** Returns the distinct servers of the hosts, the newest timeline first. */
export function serversOf<Host extends WritableHost>(hosts: readonly Host[]): readonly Host[] {
  const servers = new Map<string, Host>();
  for (const host of hosts) {
    const { system, startedAt } = host.server;
    const key = `${system} ${startedAt}`;
    if (!servers.has(key)) servers.set(key, host);
  }
  return [...servers.values()].toSorted((one, other) => other.server.timeline - one.server.timeline);
}

export function describeHost({ host, server: { timeline } }: WritableHost): string {
  return `${host} (timeline ${timeline})`;
}

/**
 * Returns why a server that accepts writes must not be used; undefined: it can be used.
 * @param seen newest timeline used so far.
 * @param file path of the timeline file, for the message.
 */
export function reasonAgainst(
  { system, timeline }: Timeline,
  seen: Timeline | undefined,
  file: string | undefined,
): string | undefined {
  const reset = file === undefined ? '' : ` and remove ${file}`;
  if (seen && system !== seen.system) {
    return (
      `the server belongs to another cluster than before (system identifier ${system}, not ${seen.system}); ` +
      `if this is intended, stop every process${reset}`
    );
  }
  if (seen && timeline < seen.timeline) {
    return (
      `the server is an old primary: it is on timeline ${timeline}, and timeline ${seen.timeline} was used before; ` +
      `if an older backup was restored, stop every process${reset}`
    );
  }
  return undefined;
}

/**
 * Returns the primary of usable servers.
 * @param current the host in use.
 * @returns undefined if there are several candidates: the servers belong to different clusters, or several are
 * on the newest timeline and none of them is in use.
 */
export function primaryOf<Host extends WritableHost>(
  hosts: readonly Host[],
  current: string | undefined,
): Host | undefined {
  const servers = serversOf(hosts);
  const [newest] = servers;
  if (!newest) return undefined;
  const { system, timeline } = newest.server;
  if (servers.some(({ server }) => server.system !== system)) return undefined;
  const candidates = hosts.filter(({ server }) => server.timeline === timeline);
  const inUse = candidates.find(({ host }) => host === current);
  if (inUse) return inUse;
  return servers.filter(({ server }) => server.timeline === timeline).length === 1 ? newest : undefined;
}
