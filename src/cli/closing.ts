/** Commands that write many entries sum the days that are over, so that reports and pages need not wait for it. */

import type { DatabaseConfig } from '../start/config.ts';
import type { Database } from '../start/database.ts';
import { closeDays } from '../features/books/service/closing.ts';
import { appendEntries } from '../features/proofs/service/log.ts';
import { assessClock, findClockEvidence } from '../core/service/clock.ts';
import { beat } from '../database/heartbeat.ts';

/**
 * The instant (ms) up to which a command can rely on the clock, by the evidence with which a service starts. It is called
 * before the command writes, because a database without events confirms any clock.
 */
export async function findTrustedUntil(
  { ctx, storage }: Pick<Database, 'ctx' | 'storage'>,
  { database: { kind }, limits }: Pick<DatabaseConfig, 'database' | 'limits'>,
): Promise<number> {
  const { isDistributed } = storage;
  const evidence = await storage.read(() =>
    findClockEvidence({
      hasServer: kind === 'server',
      isDistributed,
      aheadMs: ctx.testClock?.offsetMs() ?? 0,
    }),
  );
  const { kind: verdict } = assessClock(evidence, { now: ctx.clock.now(), limits });
  const isTrusted = verdict === 'confirmed' || verdict === 'unopposed';
  return isTrusted ? Number.POSITIVE_INFINITY : evidence.heartbeatAt;
}

/** Sums the days that are over. The next start of the service relies on the clock as this command does. */
export async function closePastDays(
  { ctx, storage }: Pick<Database, 'ctx' | 'storage'>,
  { limits }: Pick<DatabaseConfig, 'limits'>,
  trustedUntil: number,
): Promise<void> {
  // The first entry of a store makes its closing due when the log appends it.
  await appendEntries({ ctx, storage });
  await closeDays({ ctx, storage }, limits.closingRowsMax, trustedUntil);
  if (trustedUntil === Number.POSITIVE_INFINITY) await storage.write(() => beat(ctx.clock.now()));
}
