/** Checks before the service starts: the server must keep acknowledged changes, and the clock must be plausible. */

import { ClockError } from '../platform/clock.ts';
import type { ClockGuard, ClockObserver } from './clock-guard.ts';
import type { Config } from './config.ts';
import type { Database } from './database.ts';
import type { Log } from '../platform/log.ts';
import { findClockEvidence, assessClock } from '../core/service/clock.ts';
import { StartError } from './error.ts';
import {
  findReplication,
  findWorkerReplication,
  type Replication,
} from '../database/postgres/replication.ts';

/**
 * Rejects a server that would lose what the service has acknowledged, and warns of one that can.
 * @throws StartError that says what to do.
 */
export async function assertDurable(
  config: Config,
  storage: Database['storage'],
  warn: (risk: string) => void,
): Promise<void> {
  if (config.database.kind !== 'server') return;
  const own = await storage.read(findReplication);
  assertServerDurable(config, { ...own, where: '' }, warn);
  if (config.database.urls.length > 1 && own.standbys === 0)
    warn('DATABASE_URL names several hosts, but no standby follows the primary now');
  if (!storage.isDistributed) return;
  for (const { name, replication } of await storage.read(findWorkerReplication)) {
    if (replication) assertServerDurable(config, { ...replication, where: `${name}: ` }, warn);
    else warn(`${name}: this server of the cluster cannot be reached: its stores are unavailable`);
  }
}

/** @param where the beginning of each message. */
function assertServerDurable(
  config: Config,
  { where, isDurable, hasWholePages, standbys, isSynchronous }: Replication & { readonly where: string },
  warn: (risk: string) => void,
): void {
  if (standbys > 0 && !isSynchronous) {
    const risk = `${where}the standby is asynchronous: if it is promoted, acknowledged changes are lost`;
    if (!config.asynchronousStandbyAllowed) {
      throw new StartError(
        `${risk}. Set synchronous_standby_names on the primary to its name (application_name in its ` +
          'primary_conninfo) and reload, or accept the loss with ASYNCHRONOUS_STANDBY=allow.',
      );
    }
    warn(risk);
  }
  if (!isDurable && config.isProduction) {
    throw new StartError(
      `${where}the server runs with fsync=off: when its machine fails, acknowledged changes are lost and its data is ` +
        'damaged. Set fsync=on and restart it.',
    );
  }
  if (!isDurable) warn(`${where}the server runs with fsync=off: it loses data when its machine fails`);
  if (!hasWholePages) {
    warn(
      `${where}the server runs with full_page_writes=off: unless its file system writes whole pages, its data is damaged when its machine fails`,
    );
  }
}

/**
 * Rejects a clock that contradicts the database, and trusts one that the database confirms.
 * @throws StartError that says what to do.
 */
export async function checkClock(
  { database: { kind }, implausibleClockAllowed, limits }: Config,
  { database, guard, logger }: { database: Database; guard: ClockGuard; logger: Log['logger'] },
): Promise<void> {
  const { isDistributed } = database.storage;
  const { testClock } = database.ctx;
  const evidence = await database.storage.read(() =>
    findClockEvidence({ hasServer: kind === 'server', isDistributed, aheadMs: testClock?.offsetMs() ?? 0 }),
  );
  const now = database.ctx.clock.now();
  const verdict = assessClock(evidence, { now, limits });
  switch (verdict.kind) {
    case 'impossible':
      throw new ClockError(verdict.reason);
    case 'contradicted':
      if (!implausibleClockAllowed)
        throw new StartError(
          `${verdict.reason}: set the clock that is wrong, or accept it with IMPLAUSIBLE_CLOCK=allow`,
        );
      logger.warn(verdict.reason);
      return;
    case 'confirmed':
    case 'unopposed':
      guard.confirm();
      return;
    case 'unconfirmed':
      // Its clock can have been ahead of the last heartbeat when a process was killed, and nothing of value is erased.
      if (testClock) return guard.confirm();
      logger.info(
        { stable_seconds: limits.clockStableMs / 1_000 },
        'nothing confirms the system clock: background work that erases, expires or closes new days starts once the clock has been stable for stable_seconds',
      );
  }
}

/** Logs jumps of the clock. */
export function clockLog({ limits }: Config, logger: Log['logger']): ClockObserver {
  const fields = (byMs: number): object => ({
    jump_seconds: Math.round(byMs / 1_000),
    stable_seconds: limits.clockStableMs / 1_000,
  });
  return {
    jumped: (byMs) =>
      logger.error(
        fields(byMs),
        'the system clock has jumped by jump_seconds against the monotonic clock, because it was set or the machine was suspended: background work that erases or expires is paused until the clock is back or has been stable for stable_seconds',
      ),
    returned: () => logger.info('the system clock is back where the monotonic clock expects it'),
    accepted: (byMs) =>
      logger.warn(
        fields(byMs),
        'the system clock has been stable for stable_seconds since its jump by jump_seconds: it is trusted again',
      ),
  };
}
