/** The version of the program, and what the service knows of later ones. */

import { failingVersionsSince } from '../../upgrade/domain/versions.ts';
import { findInstallation, upgradeCommand } from '../../upgrade/platform/installation.ts';
import { findVersionCheck, laterVersion, looksForVersions } from '../../upgrade/service/versions.ts';
import type { Config } from '../../../start/config.ts';
import { versionRuleOf } from '../../upgrade/start/versions.ts';
import type { Storage } from '../../../database/storage.ts';
import { ok, warning, type DoctorFinding } from '../../../cli/finding.ts';

/** Reads what the service has stored, and requests nothing. */
export async function checkVersions(
  config: Config,
  { storage, now }: { readonly storage: Storage; readonly now: number },
): Promise<readonly DoctorFinding[]> {
  const rule = versionRuleOf(config);
  const check = await storage.read(findVersionCheck);
  const { present } = rule;
  if (!looksForVersions(rule, check))
    return [ok('versions', `version ${present}; the service does not look for new ones`)];
  const later = laterVersion(rule, check);
  if (later !== null) {
    const command = upgradeCommand(findInstallation(), { version: later });
    return [
      warning(
        'versions',
        `version ${later} is available, and this is ${present}`,
        `make a backup, then "${command}"`,
      ),
    ];
  }
  const { checkedAt, problem } = check;
  const since = failingVersionsSince(check, now);
  if (since !== null)
    return [
      warning(
        'versions',
        `version ${present}; the list of versions was not accepted since ${new Date(since).toISOString()}: ${problem}`,
        'check RELEASES_URL and RELEASES_KEY, or ask the distributor of the program',
      ),
    ];
  const read =
    checkedAt === null ? 'was not read yet' : `of ${new Date(checkedAt).toISOString()} has no later one`;
  return [ok('versions', `version ${present}; the list of versions ${read}`)];
}
