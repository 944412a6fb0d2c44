/** Looks for new versions once a day, if the operator or an owner allows it. Without a list, nothing is requested. */

import { DownloadError, readNewest } from '../delivery/download.ts';
import { isVersionCheckDue, nextVersionCheck, type VersionCheck } from '../domain/versions.ts';
import type { Log } from '../../../platform/log.ts';
import type { ReleaseList } from '../platform/list.ts';
import { version } from '../../../platform/version.ts';
import {
  claimVersionCheck,
  findVersionCheck,
  looksForVersions,
  saveNewestVersion,
  saveVersionFailure,
  type VersionRule,
} from '../service/versions.ts';
import type { Config } from '../../../start/config.ts';
import type { Database } from '../../../start/database.ts';

export type VersionRuns = {
  readonly rule: VersionRule;
  /** Reads the list if that is due. A failure is stored, and not thrown. */
  readonly runIfDue: () => Promise<void>;
};

export function versionRuleOf({ releases: { url, key, isChecked } }: Pick<Config, 'releases'>): VersionRule {
  const host = url !== null && key !== null ? new URL(url).host : null;
  return { byOperator: isChecked, host, present: version };
}

type Parts = {
  readonly config: Pick<Config, 'releases'>;
  readonly database: Database;
  readonly logger: Log['logger'];
};

export function versionRuns({ config, database: { ctx, storage }, logger }: Parts): VersionRuns {
  const rule = versionRuleOf(config);
  const { url, key } = config.releases;
  if (url === null || key === null) return { rule, runIfDue: () => Promise.resolve() };
  const source = { url: new URL(url), key };
  const listKey = Buffer.from(key).toString('base64');
  let running: Promise<void> | undefined;

  const read = async (check: VersionCheck): Promise<void> => {
    const now = ctx.wallClock.now();
    const nextAt = nextVersionCheck(now, (ctx.random.bytes(1)[0] ?? 0) / 256);
    if (!(await storage.write(() => claimVersionCheck(check.nextAt, nextAt)))) return;
    try {
      const list = await readNewest(source, now);
      assertNotOlder(list, check, listKey);
      const { version: newest, publishedAt } = list;
      await storage.write(() => saveNewestVersion({ newest, listKey, publishedAt, checkedAt: now }));
    } catch (error) {
      if (!(error instanceof DownloadError)) throw error;
      const problem = error.message.slice(0, problemLengthMax);
      logger.warn({ problem }, 'the list of versions was not accepted');
      await storage.write(() => saveVersionFailure(problem, now));
    }
  };

  return {
    rule,
    async runIfDue() {
      if (running) return await running;
      const check = await storage.read(findVersionCheck);
      if (!looksForVersions(rule, check) || !isVersionCheckDue(check, ctx.wallClock.now())) return undefined;
      running = read(check);
      try {
        return await running;
      } finally {
        running = undefined;
      }
    },
  };
}

const problemLengthMax = 500;

/** A server that was taken over could go back to a list before a version that closes a hole. @throws DownloadError. */
function assertNotOlder(
  { publishedAt }: ReleaseList,
  { publishedAt: known, listKey: knownKey }: VersionCheck,
  listKey: string,
): void {
  if (known === null || knownKey !== listKey || publishedAt >= known) return;
  const [found, earlier] = [publishedAt, known].map((at) => new Date(at).toISOString());
  throw new DownloadError(`the list of versions is from ${found}, and an earlier one was from ${earlier}`);
}
