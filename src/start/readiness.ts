/** Whether the service can serve: `/readyz`. */

import { setTimeout as wait } from 'node:timers/promises';
import type { ClockGuard } from './clock-guard.ts';
import type { Config } from './config.ts';
import { migrationsOf, type Database } from './database.ts';
import { Fault } from '../core/domain/fault.ts';
import type { Unreadiness } from '../http/readiness.ts';
import { isOfFullDisk } from '../platform/system-error.ts';
import type { FreeSpace } from '../platform/disk.ts';
import type { Metrics } from '../http/metrics.ts';
import type { Log } from '../platform/log.ts';
import { StartError } from './error.ts';
import { beat } from '../database/heartbeat.ts';
import { pending } from '../database/schema/migrate.ts';

export type Primaries = {
  readonly found: (servers: readonly string[]) => void;
  /** Whether at most one server accepts writes. */
  readonly hasAtMostOne: () => boolean;
  /** @throws StartError that names the servers that accept writes if there are several. */
  readonly assertOne: () => void;
};

/** Counts the servers among several hosts that accept writes: a second one is an old primary. */
export function watchPrimaries(metrics: Metrics, logger: Log['logger']): Primaries {
  let servers: readonly string[] = [];
  const hasAtMostOne = (): boolean => servers.length <= 1;
  const advice =
    'stop the old primary, usually that with the lower timeline, and make it a standby from a fresh copy';
  return {
    found(next) {
      const hadAtMostOne = hasAtMostOne();
      servers = next;
      metrics.setPrimaries(servers.length);
      if (hadAtMostOne && !hasAtMostOne())
        logger.error({ servers }, `${servers.length} servers of DATABASE_URL accept writes: ${advice}`);
      if (!hadAtMostOne && hasAtMostOne())
        logger.info({ servers }, 'at most one server of DATABASE_URL accepts writes again');
    },
    hasAtMostOne,
    assertOne() {
      if (!hasAtMostOne())
        throw new StartError(
          `${servers.length} servers of DATABASE_URL accept writes, ${servers.join(' and ')}: ${advice}`,
        );
    },
  };
}

/**
 * Returns why the service cannot serve, null if it can: whether the database accepts writes, its schema is current, and its disk has space. Polled often, it checks once a
 * second.
 */
export function readiness(
  config: Config,
  {
    ctx,
    storage,
    guard,
    freeSpace,
  }: Database & { readonly guard: ClockGuard; readonly freeSpace: FreeSpace | null },
  mayServe: () => boolean,
): () => Promise<Unreadiness | null> {
  const migrations = migrationsOf(config);
  const check = async (): Promise<Unreadiness | null> => {
    try {
      await storage.write(() => beat(guard.isTrusted() ? ctx.clock.now() : null));
      const free = await freeSpace?.();
      if (free !== undefined && free < config.limits.diskFreeBytesMin) return 'full';
      return pending(migrations, await storage.applied()).length === 0 ? null : 'outdated';
    } catch (error) {
      if (!(error instanceof Fault && error.code === 'not-writable')) return 'unavailable';
      return isOfFullDisk(error.cause) ? 'full' : 'read-only';
    }
  };
  let checkedAt = Number.NEGATIVE_INFINITY;
  let isChecking = false;
  let last: Promise<Unreadiness | null> = Promise.resolve('unavailable');
  return async () => {
    if (!mayServe()) return 'unavailable';
    const now = performance.now();
    if (!isChecking && now - checkedAt >= config.limits.readinessPeriodMs) {
      checkedAt = now;
      isChecking = true;
      last = check().finally(() => {
        isChecking = false;
      });
    }
    // The response does not wait for a database that hangs.
    const late = wait(
      Math.max(1, checkedAt + config.limits.readinessWaitMaxMs - now),
      'unavailable' as const,
      {
        ref: false,
      },
    );
    return Promise.race([last, late]);
  };
}
