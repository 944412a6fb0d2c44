/** The database and its keys: nothing is written. */

import { existsSync } from 'node:fs';
import { emailLateMs, isBackupOverdue } from '../../health/domain/health.ts';
import { liveClock, systemClock } from '../../../platform/clock.ts';
import { CodeCohorts } from '../../../core/cards/storage/code-cohorts.ts';
import { shownLocation, type Config } from '../../../start/config.ts';
import type { Context } from '../../../core/storage/context.ts';
import { migrationsOf, openToExamine } from '../../../start/database.ts';
import { readKeyFile } from '../../../platform/key-file.ts';
import { keysOf } from '../../../platform/keys.ts';
import { systemRandom } from '../../../platform/random.ts';
import {
  findClockEvidence,
  assessClock,
  noEvidence,
  type ClockEvidence,
} from '../../../core/service/clock.ts';
import { assertNotHalfCopied } from '../../moves/service/copy.ts';
import { checkKeysWithoutWriting, hasKeys } from '../../proofs/service/key-check.ts';
import { assertDurable } from '../../../start/checks.ts';
import { isBeforeRelease, pending } from '../../../database/schema/migrate.ts';
import { findLateEmails } from '../../emails/storage/queue.ts';
import { findLastBackup } from '../../../core/stores/storage/setup-step.ts';
import { findOffset } from '../../sandbox/storage/sandbox.ts';
import type { Storage } from '../../../database/storage.ts';
import { listOpenStores, listStores } from '../../../core/stores/storage/store.ts';
import { findLastVerification } from '../../proofs/storage/verification.ts';
import { checkPayments } from './payments.ts';
import { checkVersions } from './versions.ts';
import { checked, failure, messageOf, ok, warning, type DoctorFinding } from '../../../cli/finding.ts';

const dayMs = 24 * 60 * 60 * 1_000;
const verificationAgeMaxMs = 35 * dayMs;

export async function checkDatabase(
  config: Config,
  now = systemClock.now(),
): Promise<readonly DoctorFinding[]> {
  const location = shownLocation(config.database);
  const alone = clockFinding(config, { evidence: noEvidence, now });
  const impossible = alone.status === 'error' ? [alone] : [];
  if (config.database.kind === 'file' && !existsSync(config.database.file))
    return [
      alone,
      warning(
        'database',
        `there is no database yet at ${location}`,
        'the first start of the service creates it; if there is one already, set DATABASE_URL to it',
      ),
    ];
  let primaries: readonly string[] = [];
  let storage: Storage;
  try {
    storage = await openToExamine(config, { primariesFound: (servers) => (primaries = servers) });
  } catch (error) {
    return [unusable(error), ...impossible];
  }
  await using _storage = storage;
  const schema = await checkSchema(config, storage);
  if (schema.findings.length > 0) {
    if (schema.isUnreadable) return [...schema.findings, ...impossible];
    const clock =
      schema.newest === 0 ? [alone] : await checked('clock', () => checkClockOf(config, { storage, now }));
    return [...schema.findings, ...clock];
  }
  const findings = [
    await checked('key_file', () => checkKeyFile(config, storage)),
    await checked('database', async () => {
      await storage.read(assertNotHalfCopied);
      const stores = await storage.read(listStores);
      return [ok('database', `${location}, stores: ${stores.length}`)];
    }),
    [ok('migrations', `the schema is current (migration ${schema.newest})`)],
    await checked('clock', () => checkClockOf(config, { storage, now })),
    await checked('durability', () => checkDurability(config, storage)),
    await checked('backup', () => checkBackup(config, { storage, now })),
    await checked('verification', () => checkVerification(storage, now)),
    await checked('emails', () => checkQueue(storage, now)),
    await checked('payments', () => checkPayments(storage)),
    await checked('versions', () => checkVersions(config, { storage, now })),
  ];
  if (primaries.length > 1)
    findings.push([
      failure(
        'database',
        `${primaries.length} servers of DATABASE_URL accept writes, ${primaries.join(' and ')}`,
        'stop the old primary, usually that with the lower timeline, and make it a standby from a fresh copy',
      ),
    ]);
  return findings.flat();
}

function unusable(error: unknown): DoctorFinding {
  return failure(
    'database',
    `the database cannot be used: ${messageOf(error)}`,
    'check DATABASE_URL, and that the disk or the server of the database works',
  );
}

async function checkSchema(
  config: Config,
  storage: Storage,
): Promise<{
  readonly findings: readonly DoctorFinding[];
  readonly newest: number;
  readonly isUnreadable?: true;
}> {
  let applied;
  try {
    applied = await storage.applied();
  } catch (error) {
    return { findings: [unusable(error)], newest: 0, isUnreadable: true };
  }
  const newest = applied.at(-1)?.version ?? 0;
  let missing;
  try {
    missing = pending(migrationsOf(config), applied);
  } catch (error) {
    const remedy = isBeforeRelease(applied)
      ? 'see "largesse copy --help"'
      : 'use the version of the program that last migrated the database, or a later one';
    return { findings: [failure('migrations', messageOf(error), remedy)], newest };
  }
  if (missing.length === 0) return { findings: [], newest };
  return {
    findings: [
      warning(
        'migrations',
        newest === 0
          ? 'the database has no schema yet'
          : `migrations are pending, the first is ${missing[0]?.version} (${missing[0]?.name})`,
        'start the service, which applies them, or run "largesse migrate"; before an update, make a backup',
      ),
    ],
    newest,
  };
}

async function checkKeyFile({ keysFile }: Config, storage: Storage): Promise<readonly DoctorFinding[]> {
  const remedy = 'put the right key file back, or set KEYS_FILE; without it, codes are not found';
  const hasChecks = await storage.read(hasKeys);
  let masterKeys;
  try {
    masterKeys = readKeyFile(keysFile);
    if (!masterKeys) {
      return hasChecks
        ? [failure('key_file', `the key file ${keysFile} is missing`, remedy)]
        : [warning('key_file', `there is no key file yet at ${keysFile}`, 'the first start creates it')];
    }
    const ctx: Context = {
      clock: liveClock(systemClock),
      wallClock: systemClock,
      testClock: null,
      random: systemRandom(systemClock),
      keys: keysOf(masterKeys),
      codeCohorts: new CodeCohorts(),
    };
    if (hasChecks) await storage.read(() => checkKeysWithoutWriting(ctx));
  } catch (error) {
    return [failure('key_file', messageOf(error), remedy)];
  }
  return [ok('key_file', `${keysFile} has every key of the database (${masterKeys.length})`)];
}

async function checkClockOf(
  config: Config,
  { storage, now }: { readonly storage: Storage; readonly now: number },
): Promise<readonly DoctorFinding[]> {
  const aheadMs = await storage.read(findOffset);
  const { isDistributed } = storage;
  const evidence = await storage.read(() =>
    findClockEvidence({ hasServer: config.database.kind === 'server', isDistributed, aheadMs }),
  );
  return [clockFinding(config, { evidence, now: now + aheadMs })];
}

/** The finding about a clock, which says that the service does not start with it if it does not. */
function clockFinding(
  { limits, implausibleClockAllowed }: Config,
  { evidence, now }: { readonly evidence: ClockEvidence; readonly now: number },
): DoctorFinding {
  const verdict = assessClock(evidence, { now, limits });
  const remedy = 'set the clock that is wrong, and synchronize it (NTP)';
  switch (verdict.kind) {
    case 'impossible':
      return failure('clock', `${verdict.reason}: the service does not start`, remedy);
    case 'contradicted':
      return implausibleClockAllowed
        ? warning('clock', `${verdict.reason}; IMPLAUSIBLE_CLOCK allows it`, remedy)
        : failure('clock', `${verdict.reason}: the service does not start`, remedy);
    case 'confirmed':
      return ok(
        'clock',
        verdict.by === 'server' ? 'agrees with the clock of the server' : 'agrees with the database',
      );
    case 'unopposed':
      return ok('clock', 'is not compared, because the database has no recent time');
    case 'unconfirmed': {
      const { serverAt } = evidence;
      if (serverAt === null && verdict.isLater)
        return ok('clock', 'is later than every time in the database, which does not confirm it further');
      const other = serverAt === null ? 'the time in the database' : 'the clock of the server';
      return warning(
        'clock',
        `differs by more than ${limits.clockJumpMaxMs / 60_000} min from ${other}`,
        remedy,
      );
    }
  }
}

async function checkDurability(config: Config, storage: Storage): Promise<readonly DoctorFinding[]> {
  if (config.database.kind !== 'server') return [];
  const warnings: string[] = [];
  const remedy =
    'the chapter "PostgreSQL with a synchronous standby" of docs/deployment.md describes the settings';
  try {
    await assertDurable(config, storage, (text) => void warnings.push(text));
  } catch (error) {
    return [failure('durability', messageOf(error), remedy)];
  }
  if (warnings.length > 0) return warnings.map((text) => warning('durability', text, remedy));
  return [ok('durability', 'the server keeps what it has acknowledged')];
}

async function checkBackup(
  { database: { kind } }: Config,
  { storage, now }: { readonly storage: Storage; readonly now: number },
): Promise<readonly DoctorFinding[]> {
  if (kind === 'server')
    return [ok('backup', 'the server is backed up with its own tools, which this command does not check')];
  const stores = await storage.read(listStores);
  const last = await storage.read(findLastBackup);
  if (last === null && stores.length === 0) return [ok('backup', 'there are no stores yet to back up')];
  const remedy =
    'set up backups under Settings, Backups, or let a timer run "largesse backup <file>" once a day';
  if (last === null) return [warning('backup', 'no backup was ever verified', remedy)];
  const message = `the last verified backup is from ${new Date(last).toISOString()}`;
  return [
    isBackupOverdue({ lastAt: last, sinceAt: last }, now)
      ? warning('backup', message, remedy)
      : ok('backup', message),
  ];
}

/** The mail server itself is another check: it can accept this command and reject an email. */
async function checkQueue(storage: Storage, now: number): Promise<readonly DoctorFinding[]> {
  const findings: DoctorFinding[] = [];
  for (const { store } of await storage.read(listOpenStores)) {
    const late = await storage.read(() => findLateEmails(store.id, now - emailLateMs));
    if (!late) continue;
    const response =
      late.response === null ? 'none was tried' : `the last response to them: ${late.response}`;
    findings.push(
      warning(
        'emails',
        `${late.count} emails of ${store.domain} wait since ${new Date(late.since).toISOString()}; ${response}`,
        'correct what the response names; they are sent by themselves once the mail server accepts them',
      ),
    );
  }
  return findings;
}

async function checkVerification(storage: Storage, now: number): Promise<readonly DoctorFinding[]> {
  const { verifiedAt, mismatches } = await storage.read(findLastVerification);
  const remedy = 'run "largesse verify", once a month';
  if (verifiedAt === null) {
    const stores = await storage.read(listStores);
    if (stores.length === 0) return [ok('verification', 'there are no stores yet to verify')];
    return [warning('verification', 'the database was never completely verified', remedy)];
  }
  const message = `the last complete verification was on ${new Date(verifiedAt).toISOString()}`;
  if (mismatches > 0)
    return [
      failure(
        'verification',
        `${message} and found ${mismatches} problems`,
        'run "largesse verify", which names them',
      ),
    ];
  return [
    now - verifiedAt > verificationAgeMaxMs
      ? warning('verification', message, remedy)
      : ok('verification', message),
  ];
}
