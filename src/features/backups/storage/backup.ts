/**
 * The backups that the service makes itself, and their settings. There is one row of settings, because there is one
 * database. Backups of the cluster of a server are not made here, so the tables are empty there.
 */

import type { Backup, BackupPlace, BackupRhythm, BackupTrouble } from '../domain/backup.ts';
import { sealNonceLength } from '../../../platform/keys.ts';
import { Secret } from '../../../platform/secret.ts';
import type { Context } from '../../../core/storage/context.ts';
import {
  bytesOrNull,
  columns,
  integer,
  integerOrNull,
  text,
  textOrNull,
  unchanged,
  type RowOf,
} from '../../../database/sql/columns.ts';
import { all, execute, one, sql, toNumberOrNull, type Script } from '../../../database/sql/sql.ts';

const settings = columns({
  recipient: textOrNull('recipient'),
  sheet_made_at: integerOrNull('sheetMadeAt'),
  sheet_seen_at: integerOrNull('sheetSeenAt'),
  sheet_digest: bytesOrNull('sheetDigest'),
  draft_recipient: textOrNull('draftRecipient'),
  mac_key: bytesOrNull('sealedMacKey'),
  draft_digest: bytesOrNull('draftDigest'),
  place: textOrNull('placeText'),
  secret: bytesOrNull('sealedSecret'),
  secret_set_at: integerOrNull('secretSetAt'),
  rhythm: unchanged<BackupRhythm>()('rhythm'),
  place_set_at: integerOrNull('placeSetAt'),
  failures: integer('failures'),
  failed_at: integerOrNull('failedAt'),
  trouble: unchanged<BackupTrouble | null>()('trouble'),
  response: textOrNull('response'),
  next_at: integerOrNull('nextAt'),
  trial: textOrNull('trialText'),
});

type StoredSettings = ReturnType<typeof settings.read>;

/** The result of the last trial; `problem` is null if the backup was opened and every balance was verified. */
export type BackupTrial = {
  /** Instants in ms: the trial, and the backup. */
  readonly triedAt: number;
  readonly name: string;
  readonly problem:
    'other-key' | 'forged' | 'damaged' | 'not-a-backup' | 'too-large' | 'mismatches' | 'unreadable' | null;
  readonly stores: readonly {
    readonly store: string;
    readonly currency: string;
    readonly cards: number;
    /** Minor units. */
    readonly outstanding: string;
  }[];
};

export type BackupSettings = Omit<StoredSettings, 'placeText' | 'trialText'> & {
  /** Null: an owner has not chosen one. */
  readonly place: BackupPlace | null;
  readonly trial: BackupTrial | null;
};

export function* findBackupSettings(): Script<BackupSettings> {
  const row = yield* one(
    sql<RowOf<typeof settings>>`select ${settings.names} from backup_settings where id = 1`,
  );
  const { placeText, trialText, ...stored } = settings.read(row);
  return {
    ...stored,
    // Only this file writes them.
    place: placeText === null ? null : (JSON.parse(placeText) as BackupPlace),
    trial: trialText === null ? null : (JSON.parse(trialText) as BackupTrial),
  };
}

/** The part of a sheet that the service keeps. */
export type KeptSheet = {
  /** The public half of the key. */
  readonly recipient: string;
  /** The digest of the last characters. */
  readonly digest: Uint8Array;
  readonly sealedMacKey: Uint8Array;
};

/** Stores a sheet that is not confirmed yet. */
export function* saveSheetDraft({ recipient, digest, sealedMacKey }: KeptSheet): Script<void> {
  yield* execute(sql`
    update backup_settings set draft_recipient = ${recipient}, draft_digest = ${digest}, draft_mac_key = ${sealedMacKey}
    where id = 1`);
}

/** Uses the draft for the next backups. */
export function* useSheetDraft(now: number): Script<void> {
  yield* execute(sql`
    update backup_settings set recipient = draft_recipient, sheet_digest = draft_digest, mac_key = draft_mac_key,
      sheet_made_at = ${now}, sheet_seen_at = ${now}, draft_recipient = null, draft_digest = null, draft_mac_key = null
    where id = 1 and draft_recipient is not null`);
}

export function* saveSheetSeen(now: number): Script<void> {
  yield* execute(sql`update backup_settings set sheet_seen_at = ${now} where id = 1`);
}

/** Replaces the place. Failures at an earlier one are forgotten. @param secret null: the stored one stays. */
export function* saveBackupPlace(
  place: BackupPlace,
  {
    rhythm,
    secret,
    now,
  }: { readonly rhythm: BackupRhythm; readonly secret: Uint8Array | null; readonly now: number },
): Script<void> {
  const isS3 = Number(place.kind === 's3');
  yield* execute(sql`
    update backup_settings set place = ${JSON.stringify(place)}, rhythm = ${rhythm}, place_set_at = ${now},
      secret = case when ${isS3} = 0 then null else coalesce(${secret}, secret) end,
      secret_set_at = case when ${isS3} = 0 then null when ${secret === null ? 1 : 0} = 1 then secret_set_at
        else ${now} end,
      failures = 0, failed_at = null, trouble = null, response = null, next_at = null
    where id = 1`);
}

/** Ends the backups. Those that were made stay where they are. */
export function* removeBackupPlace(): Script<void> {
  yield* execute(sql`
    update backup_settings set place = null, place_set_at = null, secret = null, secret_set_at = null, failures = 0,
      failed_at = null, trouble = null, response = null, next_at = null
    where id = 1`);
}

/** Counts a failure in a row. */
export function* saveBackupFailure({
  trouble,
  response,
  failedAt,
  nextAt,
}: {
  readonly trouble: BackupTrouble;
  readonly response: string;
  readonly failedAt: number;
  readonly nextAt: number;
}): Script<void> {
  yield* execute(sql`
    update backup_settings set failures = failures + 1, failed_at = ${failedAt}, trouble = ${trouble},
      response = ${response}, next_at = ${nextAt}
    where id = 1`);
}

export function* saveBackupTrial(trial: BackupTrial): Script<void> {
  yield* execute(sql`update backup_settings set trial = ${JSON.stringify(trial)} where id = 1`);
}

const backups = columns({
  name: text('name'),
  made_at: integer('at'),
  bytes: integer('bytes'),
  database_bytes: integer('databaseBytes'),
  verified_at: integer('verifiedAt'),
  downloaded_at: integerOrNull('downloadedAt'),
});

/** Records a verified backup, and forgets failures before it. @param place as `placeKey`. */
export function* saveBackup(place: string, backup: Backup): Script<void> {
  yield* execute(
    sql`
      insert into backups (place, ${backups.names}) values (${place}, ${backups.values(backup)})
      on conflict (place, name) do update set ${backups.excluded}`,
    sql`
      update backup_settings set failures = 0, failed_at = null, trouble = null, response = null, next_at = null
      where id = 1`,
  );
}

/** The verified backups at a place, the newest first. */
export function* listBackups(place: string, limit: number): Script<readonly Backup[]> {
  const rows = yield* all(sql<RowOf<typeof backups>>`
    select ${backups.names} from backups where place = ${place} order by made_at desc, name desc limit ${limit}`);
  return rows.map(backups.read);
}

export function* deleteBackup(place: string, name: string): Script<void> {
  yield* execute(sql`delete from backups where place = ${place} and name = ${name}`);
}

/** Forgets backups at places that are no longer used. */
export function* deleteOtherBackups(place: string, madeBefore: number): Script<void> {
  yield* execute(sql`delete from backups where place <> ${place} and made_at < ${madeBefore}`);
}

export function* saveDownload(place: string, name: string, now: number): Script<void> {
  yield* execute(sql`
    update backups set downloaded_at = ${now} where place = ${place} and name = ${name}`);
}

/** When the newest verified backup at any place was made (ms), and when one was last downloaded; null: never. */
export function* findNewestBackup(): Script<{
  readonly madeAt: number | null;
  readonly downloadedAt: number | null;
}> {
  const row = yield* one(sql<{ made: bigint | null; downloaded: bigint | null }>`
    select max(made_at) as made, max(downloaded_at) as downloaded from backups`);
  return { madeAt: toNumberOrNull(row.made), downloadedAt: toNumberOrNull(row.downloaded) };
}

type BoundTo = Pick<BackupPlace & { readonly kind: 's3' }, 'host' | 'port' | 'bucket' | 'keyId'>;

/** A sealed secret is valid only for this bucket and key. */
function boundTo({ host, port, bucket, keyId }: BoundTo): string {
  return JSON.stringify(['backup bucket', host, port, bucket, keyId]);
}

export function sealBucketSecret({ keys, random }: Context, place: BoundTo, secret: Secret): Uint8Array {
  return keys.seal(
    'backup-bucket',
    Buffer.from(secret.reveal()),
    boundTo(place),
    random.bytes(sealNonceLength),
  );
}

/** @throws Error if the secret was sealed for another bucket, or its key is missing. */
export function openBucketSecret(
  { keys }: Pick<Context, 'keys'>,
  place: BoundTo,
  sealed: Uint8Array,
): Secret {
  return new Secret(Buffer.from(keys.open('backup-bucket', sealed, boundTo(place))).toString());
}

export function sealMacKey({ keys, random }: Context, recipient: string, macKey: Uint8Array): Uint8Array {
  return keys.seal('backup-mac', macKey, recipient, random.bytes(sealNonceLength));
}

/** @throws Error if the key was sealed for another sheet, or its own key is missing. */
export function openMacKey(
  { keys }: Pick<Context, 'keys'>,
  recipient: string,
  sealed: Uint8Array,
): Uint8Array {
  return keys.open('backup-mac', sealed, recipient);
}
