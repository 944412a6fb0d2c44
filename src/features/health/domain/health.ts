/**
 * The limits at which something of the machine needs a person. `largesse doctor` and the page “Today” use the same ones, and
 * each has its own words for them.
 */

import type { LateEmails } from '../../emails/domain/late.ts';
import {
  assessCertificate,
  type CertificatePeriod,
  type CertificateFailure,
} from '../../https/domain/failure.ts';
import type { ProviderKind } from '../../online-sales/domain/payment.ts';
import type { WalletKind } from '../../wallets/domain/wallet.ts';

/** `warning`: it fails soon. `error`: it fails now. */
export type HealthLevel = 'warning' | 'error';

const dayMs = 24 * 60 * 60 * 1_000;

/** A backup is made every day. One that failed is repeated, so it needs a person when the last one is this old. */
const backupAgeMaxMs = 3 * dayMs;

/** The first one of a new shop is a step of its checklist. @param lastAt null: there was none. @param sinceAt of the first store. */
export function isBackupOverdue(
  { lastAt, sinceAt }: { readonly lastAt: number | null; readonly sinceAt: number },
  now: number,
): boolean {
  return now - (lastAt ?? sinceAt) > backupAgeMaxMs;
}

/** With less than this many times the free space that the service needs, a person is warned. */
const spareFactor = 8;

/** @param bytesMin with less free space, the service is not ready. */
export function assessDisk(
  freeBytes: number,
  { bytesMin }: { readonly bytesMin: number },
): HealthLevel | null {
  if (freeBytes < bytesMin) return 'error';
  return freeBytes < bytesMin * spareFactor ? 'warning' : null;
}

/** An email that is not sent so long (ms) after its time has a cause: most first attempts succeed within seconds. */
export const emailLateMs = 5 * 60 * 1_000;

/** The condition of the machine, as the service last observed it. */
export type MachineCondition = {
  /** Null: the database is on a server. */
  readonly disk: { readonly freeBytes: number; readonly bytesMin: number } | null;
  /** Ms that the clock is ahead of the expected time during a jump; 0: it has not jumped. */
  readonly clockJumpMs: number;
  /** Null: the service does not serve HTTPS itself. */
  readonly certificate: {
    readonly period: CertificatePeriod | null;
    readonly failure: CertificateFailure | null;
  } | null;
  /** Null: there is no shop yet, the first examination of the database has not ended, or a server has tools of its own. */
  readonly backup: { readonly lastAt: number | null; readonly sinceAt: number } | null;
  /** Whether emails of any store are late. */
  readonly hasLateEmails: boolean;
  /** Whether notifications of a payment provider of any store have wrong signatures. */
  readonly hasRejectedHints: boolean;
  /** Since when (ms) no list of versions was accepted although one was to be read each day; null: all is well. */
  readonly versionsFailingSince: number | null;
};

export type HealthFinding =
  | { readonly about: 'no-mail-server'; readonly level: 'error' }
  | { readonly about: 'late-emails'; readonly level: 'error'; readonly late: LateEmails }
  | { readonly about: 'disk'; readonly level: HealthLevel; readonly freeBytes: number }
  | { readonly about: 'clock'; readonly level: 'error'; readonly aheadMs: number }
  | { readonly about: 'backup'; readonly level: 'error'; readonly lastAt: number | null }
  | {
      readonly about: 'certificate';
      readonly level: HealthLevel;
      readonly until: number | null;
      readonly failure: CertificateFailure | null;
    }
  /** Notifications of a payment provider have wrong signatures since an instant (ms). */
  | {
      readonly about: 'payment-notifications';
      readonly level: 'warning';
      readonly kind: ProviderKind;
      readonly since: number;
    }
  | { readonly about: 'versions'; readonly level: 'warning'; readonly since: number }
  /** A certificate that expires, or updates that are not accepted. */
  | {
      readonly about: 'wallet';
      readonly kind: WalletKind;
      readonly level: HealthLevel;
      readonly expiresAt: number | null;
      /** Instant in ms; null: updates are accepted. */
      readonly failingSince: number | null;
    };

/** Returns what is wrong with the machine, the most urgent first. @param now in ms. */
export function findMachineProblems(
  { disk, clockJumpMs, certificate, backup, versionsFailingSince }: MachineCondition,
  now: number,
): readonly HealthFinding[] {
  const findings: HealthFinding[] = [];
  const diskLevel = disk && assessDisk(disk.freeBytes, disk);
  if (disk && diskLevel) findings.push({ about: 'disk', level: diskLevel, freeBytes: disk.freeBytes });
  if (clockJumpMs !== 0) findings.push({ about: 'clock', level: 'error', aheadMs: clockJumpMs });
  if (backup && isBackupOverdue(backup, now))
    findings.push({ about: 'backup', level: 'error', lastAt: backup.lastAt });
  const certificateLevel = certificate && assessCertificate(certificate.period, now);
  if (certificate && certificateLevel)
    findings.push({
      about: 'certificate',
      level: certificateLevel,
      until: certificate.period?.until ?? null,
      failure: certificate.failure,
    });
  if (versionsFailingSince !== null)
    findings.push({ about: 'versions', level: 'warning', since: versionsFailingSince });
  return findings;
}
