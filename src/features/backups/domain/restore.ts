/** A backup that is restored in a browser on a fresh machine, and what was on its way when the backup was made. */

import type { BackupTrouble, S3Bucket } from './backup.ts';
import type { Secret } from '../../../platform/secret.ts';

/** The bytes of a slice of an upload; only the last one can be shorter. */
export const sliceBytes = 4 * 2 ** 20;

/** The reason why a backup is not restored. */
export type RestoreProblem =
  | 'not-a-backup'
  | 'other-key'
  /** It was encrypted for the sheet, but not by the service that has it. */
  | 'forged'
  | 'damaged'
  | 'too-large'
  /** The typed text is not the key of a recovery sheet. */
  | 'no-key'
  /** A balance does not match the ledger. */
  | 'unsound'
  /** A later version of the program made it. */
  | 'newer'
  | 'no-shop'
  /** The storage has no backup, or none for the sheet. */
  | 'none-found'
  | 'sandbox'
  | 'no-space'
  /** The service may not write the key file. */
  | 'no-access'
  | 'failed';

/** A shop of the backup. */
export type RestoredShop = { readonly name: string; readonly domain: string; readonly cards: number };

/** An object of a storage that has the name of a backup of the sheet, but is not one. */
export type LeftOut = {
  readonly name: string;
  /** `renamed`: it was made at another time than its name says. */
  readonly reason: 'not-a-backup' | 'other-key' | 'forged' | 'damaged' | 'renamed';
};

export type RestoreState = {
  /** The size of the upload, and the bytes that have arrived; null: there is none. */
  readonly upload: { readonly bytes: number; readonly received: number } | null;
  readonly step: 'uploading' | 'fetching' | 'uploaded' | 'examining' | 'examined' | 'installing';
  /** Null: nothing went wrong since the last form. */
  readonly problem: RestoreProblem | null;
  /** The reason why a storage did not send a backup, and its own words. */
  readonly trouble: { readonly kind: BackupTrouble; readonly said: string } | null;
  /** The storage that was typed last, without its secret, so that a wrong field can be corrected; null: there is none. */
  readonly source: S3Bucket | null;
  /** The objects of the storage that were not fetched, the newest first. */
  readonly leftOut: readonly LeftOut[];
  /** Null: the backup was not examined, or cannot be restored. */
  readonly found: { readonly madeAt: number; readonly shops: readonly RestoredShop[] } | null;
};

/** The steps of a restore. Only one backup is restored at a time. */
export type RestoreTools = {
  readonly state: () => RestoreState;
  /** Begins an upload, and removes an earlier one. @returns the problem; null: it can begin. */
  readonly begin: (bytes: number) => Promise<RestoreProblem | null>;
  /** Stores a slice. @returns the number of the next one, which differs if this one was not expected; or the problem. */
  readonly append: (number: number, slice: Uint8Array) => Promise<number | RestoreProblem>;
  /** Fetches and examines the newest backup of a recovery sheet in a storage, which can take minutes. */
  readonly fetch: (
    source: S3Bucket,
    secrets: { readonly secret: Secret; readonly key: Secret },
  ) => Promise<void>;
  /** Opens and verifies the backup, which can take minutes. @param key the typed key of the recovery sheet. */
  readonly examine: (key: string) => Promise<void>;
  /** Restores the examined backup, and starts the service again. @returns false if the name is not that of a shop of it. */
  readonly install: (typedName: string) => Promise<boolean>;
  readonly drop: () => Promise<void>;
};
