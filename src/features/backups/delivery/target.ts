/** A place at which backups are kept, in a folder of their own. */

export type SealedFile = {
  /** A path on this machine. */
  readonly path: string;
  readonly bytes: number;
  /** In hex. */
  readonly sha256: string;
};

/** Its functions throw BackupError with the reason, which a page explains. */
export type BackupTarget = {
  /** Fails early if the place cannot be used, and removes what an interrupted backup has left. */
  readonly prepare: () => Promise<void>;
  /** Sends a file, reads it back, and compares it. After an error, the place has no file with the name. */
  readonly put: (name: string, file: SealedFile, signal: AbortSignal) => Promise<void>;
  /** The names of all files there, in any order. */
  readonly list: () => Promise<readonly string[]>;
  /** The content of a file. */
  readonly read: (name: string) => AsyncIterable<Uint8Array>;
  /** Removes a file, if it exists. */
  readonly remove: (name: string) => Promise<void>;
};
