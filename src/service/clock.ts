/** Compares the clock at start with the times in the database and with the server's clock. */

import { instantOf } from '../random.ts';
import { findNewestEventId } from '../storage/event.ts';
import { lastBeat } from '../storage/heartbeat.ts';
import { findServerTime } from '../storage/server-clock.ts';
import { resolved, parallel, type Script } from '../storage/sql.ts';

/** Instants in ms since 1970 UTC. */
export type ClockEvidence = {
  /** When the newest event of any store was written, according to its id; null if there is none. */
  readonly newestEventAt: number | null;
  /** When a process that trusted its clock last wrote the time. */
  readonly heartbeatAt: number;
  /** The current time of the database server; null if there is no server. */
  readonly serverAt: number | null;
};

/** @param isDistributed then the events are not read, because a start must not need every server. */
export function* findClockEvidence({
  hasServer,
  isDistributed,
}: {
  readonly hasServer: boolean;
  readonly isDistributed: boolean;
}): Script<ClockEvidence> {
  const [newestEventId, heartbeatAt, serverAt] = yield* parallel(
    isDistributed ? resolved(undefined) : findNewestEventId(),
    lastBeat(),
    hasServer ? findServerTime() : resolved(null),
  );
  return {
    newestEventAt: newestEventId === undefined ? null : instantOf(newestEventId),
    heartbeatAt,
    serverAt,
  };
}

/** Describes what contradicts a clock that is at `now` (ms); undefined if nothing does. */
export function contradictionOf(
  { newestEventAt, heartbeatAt, serverAt }: ClockEvidence,
  { now, offsetMaxMs }: { readonly now: number; readonly offsetMaxMs: number },
): string | undefined {
  const clock = `the system clock is at ${shown(now)}`;
  if (serverAt !== null && Math.abs(now - serverAt) > offsetMaxMs)
    return `${clock}, and the clock of the database server is at ${shown(serverAt)}`;
  if (newestEventAt !== null && now < newestEventAt - offsetMaxMs)
    return `${clock}, and the newest event in the database is from ${shown(newestEventAt)}`;
  if (now < heartbeatAt - offsetMaxMs)
    return `${clock}, and the service last ran on this database at ${shown(heartbeatAt)}`;
  return undefined;
}

/**
 * Whether a clock that is at `now` (ms) is confirmed: by the server's clock or, without a server, by a recent heartbeat.
 * A database without events, where nothing can be erased, also confirms it.
 */
export function isConfirmed(
  { newestEventAt, heartbeatAt, serverAt }: ClockEvidence,
  {
    now,
    jumpMaxMs,
    stableMs,
  }: { readonly now: number; readonly jumpMaxMs: number; readonly stableMs: number },
): boolean {
  if (serverAt !== null) return Math.abs(now - serverAt) <= jumpMaxMs;
  return newestEventAt === null || (now >= heartbeatAt - jumpMaxMs && now <= heartbeatAt + stableMs);
}

function shown(instant: number): string {
  return new Date(instant).toISOString();
}
