/** Compares the clock at start with the times in the database and with the server's clock. */

import { rangeProblem } from '../../platform/clock.ts';
import { instantOf } from '../../platform/random.ts';
import { findNewestEventId } from '../events/storage/event.ts';
import { lastBeat } from '../../database/heartbeat.ts';
import { findServerTime } from '../../database/sql/server-clock.ts';
import { resolved, parallel, type Script } from '../../database/sql/sql.ts';

/** Instants in ms since 1970 UTC. */
export type ClockEvidence = {
  /** When the newest event of any store was written, according to its id; null if there is none. */
  readonly newestEventAt: number | null;
  /** When a process that trusted its clock last wrote the time. */
  readonly heartbeatAt: number;
  /** The current time of the database server; null if there is no server. */
  readonly serverAt: number | null;
};

/**
 * @param aheadMs how far the clock is ahead of the time of the machine, in a sandbox.
 * @param isDistributed then the events are not read, because a start must not need every server.
 */
export function* findClockEvidence({
  hasServer,
  isDistributed,
  aheadMs,
}: {
  readonly hasServer: boolean;
  readonly aheadMs: number;
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
    serverAt: serverAt === null ? null : serverAt + aheadMs,
  };
}

/** The evidence of a database that does not exist yet. */
export const noEvidence: ClockEvidence = { newestEventAt: null, heartbeatAt: 0, serverAt: null };

export type ClockLimits = Readonly<Record<'clockOffsetMaxMs' | 'clockJumpMaxMs' | 'clockStableMs', number>>;

/** Whether the service starts with a clock, and whether background work trusts it. */
export type ClockVerdict =
  /** No setting allows it. */
  | { readonly kind: 'impossible'; readonly reason: string }
  /** `IMPLAUSIBLE_CLOCK` allows it. */
  | { readonly kind: 'contradicted'; readonly reason: string }
  | { readonly kind: 'confirmed'; readonly by: 'server' | 'heartbeat' }
  /** There is nothing to compare it with, and nothing that could be erased. */
  | { readonly kind: 'unopposed' }
  | { readonly kind: 'unconfirmed'; readonly isLater: boolean };

/** Assesses a clock that is at `now` (ms): by the server's clock or, without a server, by a recent heartbeat. */
export function assessClock(
  evidence: ClockEvidence,
  { now, limits }: { readonly now: number; readonly limits: ClockLimits },
): ClockVerdict {
  const { newestEventAt, heartbeatAt, serverAt } = evidence;
  const { clockJumpMaxMs: jumpMaxMs, clockStableMs: stableMs } = limits;
  const problem = rangeProblem(now);
  if (problem !== undefined) return { kind: 'impossible', reason: problem };
  const reason = contradictionOf(evidence, { now, offsetMaxMs: limits.clockOffsetMaxMs });
  if (reason !== undefined) return { kind: 'contradicted', reason };
  if (serverAt !== null && Math.abs(now - serverAt) <= jumpMaxMs) return { kind: 'confirmed', by: 'server' };
  const unconfirmed = { kind: 'unconfirmed', isLater: now > (serverAt ?? heartbeatAt) } as const;
  if (serverAt !== null) return unconfirmed;
  if (now >= heartbeatAt - jumpMaxMs && now <= heartbeatAt + stableMs)
    return { kind: 'confirmed', by: 'heartbeat' };
  return newestEventAt === null ? { kind: 'unopposed' } : unconfirmed;
}

/** Describes what contradicts a clock that is at `now` (ms); undefined if nothing does. */
function contradictionOf(
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

function shown(instant: number): string {
  return new Date(instant).toISOString();
}
