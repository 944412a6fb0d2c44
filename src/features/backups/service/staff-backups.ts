/** The backups of the machine, which an owner sets up: the recovery sheet, and the place. */

import { assertOwnersSetMachine } from '../../../core/stores/service/machine.ts';
import type { MachineRule } from '../../../core/stores/domain/machine.ts';
import type { BackupPlace, BackupRhythm } from '../domain/backup.ts';
import { Fault } from '../../../core/domain/fault.ts';
import { sameBytes } from '../../../platform/keys.ts';
import type { Secret } from '../../../platform/secret.ts';
import type { Context } from '../../../core/storage/context.ts';
import {
  findBackupSettings,
  removeBackupPlace,
  saveBackupPlace,
  saveSheetDraft,
  saveSheetSeen,
  sealBucketSecret,
  sealMacKey,
  useSheetDraft,
} from '../storage/backup.ts';
import type { Script } from '../../../database/sql/sql.ts';
import { asStaff, listAsStaff, type ByStaff } from '../../../core/staff/service/as-staff.ts';

/** So many characters at the end of the sheet are typed to confirm it. */
export const sheetTypedLength = 6;

function entryOf(fields: 'recovery_sheet' | 'backups', details: Readonly<Record<string, string | true>>) {
  return { action: 'settings-changed', subjectId: null, details: { fields, ...details } } as const;
}

function sheetText(recipient: string, typed: string): string {
  return `${recipient} ${typed.replaceAll(/\s/g, '').toUpperCase()}`;
}

/**
 * Stores the public half of a new sheet, and the key of its MAC, until its last characters are typed.
 * @throws Fault `insufficient-scope` if owners may not set backups up; as `assertMay` does.
 */
export function* draftSheet(
  ctx: Context,
  by: ByStaff,
  {
    rule,
    recipient,
    identity,
    macKey,
  }: {
    readonly rule: MachineRule;
    readonly recipient: string;
    readonly identity: Secret;
    readonly macKey: Uint8Array;
  },
): Script<void> {
  const typed = identity.reveal().slice(-sheetTypedLength);
  yield* asStaff(ctx, by, {
    permission: 'changeSettings',
    *change() {
      yield* assertOwnersSetMachine(by.store, rule);
      const digest = ctx.keys.digest('recovery-sheet', sheetText(recipient, typed));
      yield* saveSheetDraft({ recipient, digest, sealedMacKey: sealMacKey(ctx, recipient, macKey) });
    },
    entryOf: () => null,
  });
}

/** Whether typed characters are the last ones of a sheet. */
function matches(
  { keys }: Pick<Context, 'keys'>,
  { recipient, digest }: { readonly recipient: string | null; readonly digest: Uint8Array | null },
  typed: string,
): boolean {
  if (recipient === null || digest === null) return false;
  const text = sheetText(recipient, typed);
  return keys.digests('recovery-sheet', text).some((each) => sameBytes(each, digest));
}

/**
 * Uses the new sheet if its last characters were typed.
 * @returns the public half of its key; null: the characters are wrong, or there is no new sheet.
 * @throws Fault as `draftSheet` does.
 */
export function* confirmSheet(
  ctx: Context,
  by: ByStaff,
  {
    rule,
    typed,
    sheetId,
  }: { readonly rule: MachineRule; readonly typed: string; readonly sheetId: (recipient: string) => string },
): Script<string | null> {
  return yield* asStaff(ctx, by, {
    permission: 'changeSettings',
    *change() {
      yield* assertOwnersSetMachine(by.store, rule);
      const { draftRecipient: recipient, draftDigest: digest } = yield* findBackupSettings();
      if (!matches(ctx, { recipient, digest }, typed)) return null;
      yield* useSheetDraft(ctx.wallClock.now());
      return recipient;
    },
    entryOf: (recipient) =>
      recipient === null ? null : entryOf('recovery_sheet', { name: sheetId(recipient), verified: true }),
  });
}

/** Records that a person still has the sheet. @returns whether the typed characters are right. @throws Fault as `draftSheet` does. */
export function* seeSheet(
  ctx: Context,
  by: ByStaff,
  { rule, typed }: { readonly rule: MachineRule; readonly typed: string },
): Script<boolean> {
  return yield* asStaff(ctx, by, {
    permission: 'changeSettings',
    *change() {
      yield* assertOwnersSetMachine(by.store, rule);
      const { recipient, sheetDigest: digest } = yield* findBackupSettings();
      const isRight = matches(ctx, { recipient, digest }, typed);
      if (isRight) yield* saveSheetSeen(ctx.wallClock.now());
      return isRight;
    },
    entryOf: () => null,
  });
}

export type PlaceChange = {
  readonly rule: MachineRule;
  readonly place: BackupPlace;
  readonly rhythm: BackupRhythm;
  /** The secret key of S3; null: the stored one, which belongs to one bucket and key. */
  readonly secret: Secret | null;
  /** The name of the place in the audit log. */
  readonly shown: string;
};

/**
 * Sets the place of the next backups.
 * @throws Fault `invalid-parameter` on `secret` without a secret for this bucket and key; as `draftSheet` does.
 */
export function* setBackupPlace(
  ctx: Context,
  by: ByStaff,
  { rule, place, rhythm, secret, shown }: PlaceChange,
): Script<void> {
  yield* asStaff(ctx, by, {
    permission: 'changeSettings',
    *change() {
      yield* assertOwnersSetMachine(by.store, rule);
      const now = ctx.wallClock.now();
      if (place.kind === 's3' && !secret && !isSameBucket(place, (yield* findBackupSettings()).place))
        throw new Fault('invalid-parameter', { errors: { secret: ['is required'] } });
      const sealed = place.kind === 's3' && secret ? sealBucketSecret(ctx, place, secret) : null;
      yield* saveBackupPlace(place, { rhythm, secret: sealed, now });
    },
    entryOf: () => entryOf('backups', { name: shown }),
  });
}

function isSameBucket(place: BackupPlace & { readonly kind: 's3' }, stored: BackupPlace | null): boolean {
  return (
    stored?.kind === 's3' &&
    (['host', 'port', 'bucket', 'keyId'] as const).every((part) => stored[part] === place[part])
  );
}

/** Ends the backups. @throws Fault as `draftSheet` does. */
export function* removeBackups(ctx: Context, by: ByStaff, rule: MachineRule): Script<void> {
  yield* asStaff(ctx, by, {
    permission: 'changeSettings',
    *change() {
      yield* assertOwnersSetMachine(by.store, rule);
      yield* removeBackupPlace();
    },
    entryOf: () => entryOf('backups', { removed: true }),
  });
}

/** Lists that a person downloads a backup, or tries one. @throws Fault as `draftSheet` does. */
export function* listBackupUse(
  ctx: Context,
  by: ByStaff,
  {
    rule,
    name,
    use,
  }: { readonly rule: MachineRule; readonly name: string; readonly use: 'downloaded' | 'test' },
): Script<void> {
  yield* assertOwnersSetMachine(by.store, rule);
  yield* listAsStaff(ctx, by, 'changeSettings', entryOf('backups', { name, [use]: true }));
}
