/** Figures of the database that operators are alerted of. */

import type { Context } from '../../../core/storage/context.ts';
import { findEmailDelay } from '../../emails/storage/queue.ts';
import { findLastBackup } from '../../../core/stores/storage/setup-step.ts';
import { countRejectedHints } from '../../online-sales/storage/provider.ts';
import { parallel, type Script } from '../../../database/sql/sql.ts';
import { emailLateMs } from '../domain/health.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import type { VersionCheck } from '../../upgrade/domain/versions.ts';
import { findFirstOpenStore, findFirstRealStoreAt } from '../../../core/stores/storage/store.ts';
import { findVersionCheck } from '../../upgrade/storage/version-check.ts';
import { findLastVerification } from '../../proofs/storage/verification.ts';
import { countPausedWebhooks } from '../../webhooks/storage/webhook.ts';
import { beginClosing } from '../../books/service/closing.ts';
import { needsNoCheckpoint } from '../../proofs/service/checkpoint.ts';

export type Upkeep = {
  /** Instants in ms; null: never. */
  readonly lastBackupAt: number | null;
  readonly lastVerificationAt: number | null;
  /** Problems that the last complete verification found. */
  readonly problems: number;
  readonly pausedWebhooks: number;
  /** Payment providers whose notifications have wrong signatures. */
  readonly rejectedHints: number;
  /** For how long an email is due, and for how long one has been tried without success. */
  readonly emailOverdueMs: number;
  readonly emailRetriedMs: number;
  /** Whether an email was to be sent minutes ago, and is not. */
  readonly hasLateEmails: boolean;
  /** Whether there is an open store. */
  readonly hasStores: boolean;
  /** When the first store was created, in ms; null: there is none, or only the demonstration. */
  readonly firstStoreAt: number | null;
  readonly versions: VersionCheck;
};

export function* findUpkeep(ctx: Context): Script<Upkeep> {
  const now = ctx.clock.now();
  const [
    lastBackupAt,
    { verifiedAt, mismatches },
    pausedWebhooks,
    rejectedHints,
    emails,
    firstStoreAt,
    versions,
    open,
  ] = yield* parallel(
    findLastBackup(),
    findLastVerification(),
    countPausedWebhooks(),
    countRejectedHints(),
    findEmailDelay(now),
    findFirstRealStoreAt(),
    findVersionCheck(),
    findFirstOpenStore(),
  );
  const { dueAt, firstAt, triedSendAt } = emails;
  const lateSince = Math.min(dueAt ?? now, triedSendAt ?? now);
  return {
    lastBackupAt,
    lastVerificationAt: verifiedAt,
    problems: mismatches,
    pausedWebhooks,
    rejectedHints,
    emailOverdueMs: Math.max(0, now - (dueAt ?? now)),
    emailRetriedMs: Math.max(0, now - (firstAt ?? now)),
    hasLateEmails: now - lateSince > emailLateMs,
    hasStores: open !== undefined,
    firstStoreAt,
    versions,
  };
}

/** The waiting work of the background jobs for a store. */
export type Delay = {
  /** The time since the first open day could have been closed. */
  readonly closingMs: number;
  readonly needsCheckpoint: boolean;
};

export function* findDelay(ctx: Context, store: Store): Script<Delay> {
  const day = yield* beginClosing(ctx, store, { isDryRun: true, trustedUntil: Number.POSITIVE_INFINITY });
  return {
    closingMs: day ? Math.max(0, ctx.clock.now() - day.untilAt) : 0,
    needsCheckpoint: !(yield* needsNoCheckpoint(ctx, store)),
  };
}
