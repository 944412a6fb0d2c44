/** The condition of the machine for the pages, from what the service observes anyway. */

import type { MachineCondition } from '../domain/health.ts';
import { failingVersionsSince } from '../../upgrade/domain/versions.ts';
import { looksForVersions } from '../../upgrade/service/versions.ts';
import type { Base } from '../../../start/base.ts';
import { versionRuleOf } from '../../upgrade/start/versions.ts';

export async function machineCondition({
  config,
  freeSpace,
  guard,
  certificate,
  database,
  state: { upkeep },
}: Base): Promise<MachineCondition> {
  const freeBytes = await freeSpace?.();
  const hasBackups = config.database.kind === 'file' && upkeep !== null && upkeep.firstStoreAt !== null;
  const looks = upkeep !== null && looksForVersions(versionRuleOf(config), upkeep.versions);
  return {
    disk: freeBytes === undefined ? null : { freeBytes, bytesMin: config.limits.diskFreeBytesMin },
    clockJumpMs: guard.jumpMs(),
    certificate: certificate && { period: certificate.period, failure: certificate.failure() },
    backup: hasBackups ? { lastAt: upkeep.lastBackupAt, sinceAt: upkeep.firstStoreAt } : null,
    hasLateEmails: upkeep?.hasLateEmails ?? false,
    hasRejectedHints: (upkeep?.rejectedHints ?? 0) > 0,
    versionsFailingSince: looks ? failingVersionsSince(upkeep.versions, database.ctx.wallClock.now()) : null,
  };
}
