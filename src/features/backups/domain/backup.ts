/** Sealed backups that the service makes itself: where they are, how often, and how long they are kept. */

import { accepted, rejected, type Parsed } from '../../../platform/parsed.ts';

/** The place that an owner chooses. */
export type BackupPlace =
  /** Another disk of this machine. @param mount where it is mounted. */
  | { readonly kind: 'disk'; readonly mount: string }
  | ({ readonly kind: 's3' } & S3Bucket)
  /** A folder next to the database with the newest backup, which a person downloads. */
  | { readonly kind: 'download' };

export type S3Bucket = {
  /** The host and the port of the service, which is asked with `https`. */
  readonly host: string;
  readonly port: number;
  readonly region: string;
  readonly bucket: string;
  readonly keyId: string;
};

/** The place of the operator, with `BACKUP_FOLDER`, or that of an owner. */
export type AnyPlace = BackupPlace | { readonly kind: 'folder'; readonly folder: string };

/** A text by which the backups at a place are found. Other credentials are the same place. */
export function placeKey(place: AnyPlace): string {
  switch (place.kind) {
    case 'disk':
      return `disk ${place.mount}`;
    case 's3':
      return `s3 ${place.host}:${place.port}/${place.bucket}`;
    case 'download':
      return 'download';
    case 'folder':
      return `folder ${place.folder}`;
  }
}

export const backupRhythms = ['nightly', 'hourly'] as const;
export type BackupRhythm = (typeof backupRhythms)[number];

/** A backup that was read back and compared. */
export type Backup = {
  readonly name: string;
  /** When the copy was made (ms). */
  readonly at: number;
  readonly bytes: number;
  /** The size of the copy of the database. */
  readonly databaseBytes: number;
  readonly verifiedAt: number;
  /** When a person downloaded it (ms); null: never. */
  readonly downloadedAt: number | null;
};

/** The reason why the last backup failed, as far as a person can do something about it. */
export type BackupTrouble =
  | 'diskMissing'
  | 'notWritable'
  | 'full'
  | 'noSpace'
  | 'damaged'
  | 'differs'
  | 'noSuchHost'
  | 'notPublic'
  | 'noConnection'
  | 'noResponse'
  | 'access'
  | 'noBucket'
  | 'tooLarge'
  | 'rejected'
  | 'other';

/** A failure with a known reason. Its message is what the system or the server said, for the page. */
export class BackupError extends Error {
  override readonly name = 'BackupError';
  readonly trouble: BackupTrouble;

  constructor(trouble: BackupTrouble, message: string, options?: ErrorOptions) {
    super(message, options);
    this.trouble = trouble;
  }
}

const nameForm = /^largesse-(\d{4})(\d{2})(\d{2})T(\d{2})(\d{2})(\d{2})Z-([0-9A-F]{4})\.tar\.zst\.age$/;

/** The name of a backup file. @param at ms since 1970 UTC. @param sheet the id of the recovery sheet that opens it. */
export function backupNameOf(at: number, sheet: string): string {
  const stamp = Temporal.Instant.fromEpochMilliseconds(at).toString({ smallestUnit: 'second' });
  return `largesse-${stamp.replaceAll(/[-:]/g, '')}-${sheet}.tar.zst.age`;
}

/** When a backup was made (ms), and the id of its sheet, by its name; undefined: it is not the name of a backup. */
export function readBackupName(name: string): { readonly at: number; readonly sheet: string } | undefined {
  const [, ...parts] = nameForm.exec(name) ?? [];
  const [year, month, day, hour, minute, second, sheet = ''] = parts;
  const text = `${year}-${month}-${day}T${hour}:${minute}:${second}Z`;
  if (parts.length === 0) return undefined;
  try {
    return { at: Temporal.Instant.from(text).epochMilliseconds, sheet };
  } catch {
    return undefined;
  }
}

const textLengthMax = 200;

/** Parses a part of the settings of S3 without spaces, such as a region. */
export function parseS3Text(text: string): Parsed<string> {
  return text !== '' && text.length <= textLengthMax && /^[\x21-\x7e]+$/.test(text)
    ? accepted(text)
    : rejected(`must have 1 to ${textLengthMax} letters, digits and signs, without spaces`);
}

/** Parses the name of a bucket, which is part of paths. */
export function parseBucket(text: string): Parsed<string> {
  return /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(text) && !text.includes('..')
    ? accepted(text)
    : rejected('must have 3 to 63 small letters, digits, dots and hyphens');
}

/** A secret key of S3 has 40 characters; other services have longer ones. */
export const s3SecretLengthMax = 500;

/** When a person is asked again whether the recovery sheet is still there. */
export const sheetPeriodMs = 183 * 24 * 60 * 60 * 1_000;

/** A backup that only a person can bring to another place is due every week. */
export const downloadOverdueMs = 7 * 24 * 60 * 60 * 1_000;
