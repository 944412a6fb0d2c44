/** A backup that a person uploads to a fresh machine: its slices, its examination, and the restore at the next start. */

import { access, constants, open, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import {
  sliceBytes,
  type RestoredShop,
  type RestoreProblem,
  type LeftOut,
  type RestoreState,
  type RestoreTools,
} from '../domain/restore.ts';
import { readNewestOf } from '../delivery/s3-target.ts';
import type { PublicNetwork } from '../../../delivery/public-socket.ts';
import { BackupError, type S3Bucket } from '../domain/backup.ts';
import type { Clock } from '../../../platform/clock.ts';
import type { FreeSpace } from '../../../platform/disk.ts';
import { codeOf } from '../../../platform/error-code.ts';
import { makeFolder } from '../../../platform/folders.ts';
import type { Log } from '../../../platform/log.ts';
import { SealedBackupError } from '../platform/error.ts';
import { backupHeadBytes, readBackupTime } from '../platform/open.ts';
import { parseRecoveryKey, sheetIdOf, type RecoveryKey } from '../platform/recovery-key.ts';
import type { Secret } from '../../../platform/secret.ts';
import { markRestored } from '../service/restored.ts';
import { tryLockFile } from '../../../database/sqlite/file-lock.ts';
import { removeDatabase, syncFile } from '../../../database/sqlite/restore.ts';
import { hasRealStores, listOpenStores } from '../../../core/stores/storage/store.ts';
import type { Storage } from '../../../database/storage.ts';
import { openOrder, runInThread, type OpenReport } from './thread.ts';
import type { Config, DatabaseConfig } from '../../../start/config.ts';
import { databaseConfigOf, openDatabase } from '../../../start/database.ts';
import {
  commitRestore,
  removeAbandonedUpload,
  restoreFolderOf,
  type RestoreFolder,
} from './restore-install.ts';

type Parts = {
  readonly config: Config;
  /** The fresh database. */
  readonly storage: Storage;
  readonly freeSpace: FreeSpace;
  readonly clock: Pick<Clock, 'now'>;
  readonly network: PublicNetwork;
  readonly logger: Log['logger'];
  /** Starts the service again. */
  readonly restart: () => void;
};

type Found = { readonly madeAt: number; readonly shops: readonly RestoredShop[] };

/** Null: the database is on a server, which has tools of its own. */
export function restoringOf(
  parts: Omit<Parts, 'freeSpace'> & { readonly freeSpace: FreeSpace | null },
): RestoreTools | null {
  const { config, freeSpace } = parts;
  return config.database.kind === 'file' && freeSpace
    ? new Restoring({ ...parts, freeSpace }, config.database.file)
    : null;
}

class Restoring implements RestoreTools {
  readonly #parts: Parts;
  readonly #file: string;
  readonly #folder: RestoreFolder;
  #lock: Disposable | null = null;
  #upload: { readonly bytes: number; readonly received: number } | null = null;
  #step: RestoreState['step'] = 'uploading';
  #problem: RestoreProblem | null = null;
  #trouble: RestoreState['trouble'] = null;
  #source: S3Bucket | null = null;
  #leftOut: readonly LeftOut[] = [];
  /** Ends a backup that is being fetched. */
  #fetching = new AbortController();
  #found: Found | null = null;
  /** Only one change at a time. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(parts: Parts, file: string) {
    this.#parts = parts;
    this.#file = file;
    this.#folder = restoreFolderOf(file);
  }

  state(): RestoreState {
    return {
      upload: this.#upload,
      step: this.#step,
      problem: this.#problem,
      trouble: this.#trouble,
      source: this.#source,
      leftOut: this.#leftOut,
      found: this.#found,
    };
  }

  begin(bytes: number): Promise<RestoreProblem | null> {
    return this.#inTurn(async () => {
      if (this.#isBusy()) return 'failed';
      if (!(await this.#prepare(bytes))) return this.#problem;
      this.#upload = { bytes, received: 0 };
      return null;
    });
  }

  async fetch(
    source: S3Bucket,
    { secret, key: typed }: { readonly secret: Secret; readonly key: Secret },
  ): Promise<void> {
    const key = await parseRecoveryKey(typed.reveal());
    await this.#inTurn(async () => {
      if (this.#isBusy()) return;
      this.#source = source;
      if (!key.ok) {
        this.#reset();
        this.#problem = 'no-key';
        return;
      }
      if (!(await this.#prepare(0))) return;
      this.#step = 'fetching';
      this.#fetching = new AbortController();
      // The page shows the result when there is one.
      void this.#receive(source, { secret, key: key.value, signal: this.#fetching.signal });
    });
  }

  append(number: number, slice: Uint8Array): Promise<number | RestoreProblem> {
    return this.#inTurn(async () => {
      const upload = this.#upload;
      if (!upload || this.#step !== 'uploading') return 'failed';
      const next = Math.ceil(upload.received / sliceBytes);
      const expected = Math.min(sliceBytes, upload.bytes - upload.received);
      // A slice whose response was lost is sent again.
      if (number !== next || slice.length !== expected) return next;
      if (!(await this.#hasSpace(slice.length))) return (this.#problem = 'no-space');
      const file = await open(this.#folder.upload, 'r+');
      try {
        const { bytesWritten } = await file.write(slice, 0, slice.length, upload.received);
        // A disk that becomes full stores a part of it.
        if (bytesWritten < slice.length) return (this.#problem = 'no-space');
      } finally {
        await file.close();
      }
      const received = upload.received + slice.length;
      this.#upload = { ...upload, received };
      if (received === upload.bytes) this.#step = 'uploaded';
      return next + 1;
    });
  }

  async examine(key: string): Promise<void> {
    const parsed = await parseRecoveryKey(key);
    if (this.#step !== 'uploaded' && this.#step !== 'examined') return;
    if (!parsed.ok) {
      this.#problem = 'no-key';
      return;
    }
    this.#step = 'examining';
    this.#problem = null;
    this.#found = null;
    // The page shows the result when there is one.
    void this.#inTurn(async () => {
      try {
        this.#found = await this.#examine(parsed.value.identity);
        this.#step = 'examined';
      } catch (error) {
        this.#problem = problemIn(error);
        if (this.#problem === 'failed')
          this.#parts.logger.error({ err: error }, 'a backup could not be examined');
        this.#step = 'uploaded';
      }
    });
  }

  install(typedName: string): Promise<boolean> {
    return this.#inTurn(async () => {
      const found = this.#found;
      if (!found || this.#step !== 'examined') return false;
      if (!found.shops.some(({ name }) => normalized(name) === normalized(typedName))) return false;
      if (await this.#parts.storage.read(hasRealStores)) return false;
      this.#step = 'installing';
      try {
        await this.#mark(found);
      } catch (error) {
        this.#step = 'uploaded';
        this.#found = null;
        this.#problem = problemIn(error);
        this.#parts.logger.error({ err: error }, 'a backup could not be restored');
        return true;
      }
      this.#lock?.[Symbol.dispose]();
      this.#lock = null;
      commitRestore(this.#file);
      this.#parts.logger.info('the service starts again with the restored database');
      this.#parts.restart();
      return true;
    });
  }

  drop(): Promise<void> {
    return this.#inTurn(async () => {
      if (this.#step === 'fetching') this.#fetching.abort();
      if (!this.#isBusy() || this.#step === 'fetching') this.#reset();
      return await Promise.resolve();
    });
  }

  #inTurn<Result>(task: () => Promise<Result>): Promise<Result> {
    const done = this.#last.then(task);
    this.#last = done.catch(() => undefined);
    return done;
  }

  #isBusy(): boolean {
    return ['fetching', 'examining', 'installing'].includes(this.#step);
  }

  #reset(): void {
    this.#lock?.[Symbol.dispose]();
    this.#lock = null;
    removeAbandonedUpload(this.#file);
    this.#upload = null;
    this.#step = 'uploading';
    this.#problem = null;
    this.#trouble = null;
    this.#leftOut = [];
    this.#found = null;
  }

  /** Begins with an empty file. @param bytes its size; 0: it is not known. @returns false: `#problem` says why it cannot. */
  async #prepare(bytes: number): Promise<boolean> {
    this.#reset();
    this.#problem = await this.#problemOf(bytes);
    if (this.#problem !== null) return false;
    makeFolder(this.#folder.path);
    this.#lock = tryLockFile(this.#folder.lock);
    if (!this.#lock) this.#problem = 'failed';
    else await (await open(this.#folder.upload, 'wx', 0o600)).close();
    return this.#problem === null;
  }

  /** Stores the newest backup of a bucket, and begins to examine it. */
  async #receive(
    bucket: S3Bucket,
    {
      secret,
      key,
      signal,
    }: { readonly secret: Secret; readonly key: RecoveryKey; readonly signal: AbortSignal },
  ): Promise<void> {
    const leftOut: LeftOut[] = [];
    const sheet = sheetIdOf(key.recipient);
    const accepts = async (name: string, head: Uint8Array, at: number): Promise<boolean> => {
      const reason = await reasonAgainst(head, { identity: key.identity, at });
      if (reason !== null) leftOut.push({ name, reason });
      return reason === null;
    };
    const { clock, network } = this.#parts;
    let received = 0;
    let problem: RestoreProblem | null = null;
    let trouble: RestoreState['trouble'] = null;
    try {
      const source = await readNewestOf(bucket, {
        secret,
        sheet,
        clock,
        network,
        signal,
        headBytes: backupHeadBytes,
        accepts,
      });
      if (!source) throw new RestoreError('none-found');
      await using file = await open(this.#folder.upload, 'r+');
      let checkedAt = -sliceBytes;
      for await (const part of source) {
        if (received - checkedAt >= sliceBytes) {
          if (!(await this.#hasSpace(sliceBytes))) throw new RestoreError('no-space');
          checkedAt = received;
        }
        await file.writeFile(part);
        received += part.length;
        if (!signal.aborted) this.#upload = { bytes: received, received };
      }
    } catch (error) {
      if (error instanceof BackupError) trouble = { kind: error.trouble, said: error.message };
      else problem = problemIn(error);
      if (problem === 'failed' && !signal.aborted)
        this.#parts.logger.error({ err: error }, 'a backup could not be fetched');
    }
    // Another backup can have begun.
    if (signal.aborted) return;
    if (problem === null && trouble === null) {
      this.#step = 'uploaded';
      this.#leftOut = leftOut;
      await this.examine(key.identity.reveal());
      return;
    }
    this.#reset();
    this.#problem = problem;
    this.#trouble = trouble;
    this.#leftOut = leftOut;
  }

  async #problemOf(bytes: number): Promise<RestoreProblem | null> {
    try {
      await access(dirname(this.#parts.config.keysFile), constants.W_OK);
    } catch {
      return 'no-access';
    }
    return (await this.#hasSpace(bytes)) ? null : 'no-space';
  }

  async #spareBytes(): Promise<number> {
    const { config, freeSpace } = this.#parts;
    return ((await freeSpace()) ?? 0) - config.limits.diskFreeBytesMin;
  }

  async #hasSpace(bytes: number): Promise<boolean> {
    return (await this.#spareBytes()) >= bytes;
  }

  /** The configuration of the copy in the folder. */
  #copyConfig(): DatabaseConfig {
    const { database, keys } = this.#folder;
    return { ...this.#parts.config, database: { kind: 'file', file: database }, keysFile: keys };
  }

  async #examine(identity: Secret): Promise<Found> {
    const { upload, database, keys } = this.#folder;
    removeDatabase(database);
    await rm(keys, { force: true });
    const databaseBytesMax = Math.max(0, await this.#spareBytes());
    const order = openOrder({
      // A thread gets a copy, and the other settings cannot be copied.
      config: databaseConfigOf(this.#parts.config),
      files: { copy: database, sealed: upload, keys },
      identity,
      databaseBytesMax,
    });
    const { problem, at: madeAt, stores } = await runInThread(order, new AbortController().signal);
    if (problem !== null) throw new RestoreError(problemOf(problem));
    await using copy = await openDatabase(this.#copyConfig(), { prepare: false });
    if (copy.ctx.testClock) throw new RestoreError('sandbox');
    const shops = (await copy.storage.read(listOpenStores)).flatMap(({ store }) =>
      store.demonstration
        ? []
        : [
            {
              name: store.name,
              domain: store.domain,
              cards: stores.find((each) => each.store === store.domain)?.cards ?? 0,
            },
          ],
    );
    if (shops.length === 0) throw new RestoreError('no-shop');
    return { madeAt, shops };
  }

  async #mark({ madeAt }: Found): Promise<void> {
    const { database } = this.#folder;
    {
      await using copy = await openDatabase(this.#copyConfig(), { prepare: false });
      await copy.storage.write(() => markRestored(copy.ctx, madeAt));
    }
    syncFile(database);
  }
}

/** The reason why an object of a storage is not fetched; null: it is a backup that was made at the time of its name. */
async function reasonAgainst(
  head: Uint8Array,
  { identity, at }: { readonly identity: Secret; readonly at: number },
): Promise<LeftOut['reason'] | null> {
  try {
    return (await readBackupTime(head, identity)) === at ? null : 'renamed';
  } catch (error) {
    if (!(error instanceof SealedBackupError)) throw error;
    // The size is compared later.
    return error.problem === 'too-large' ? 'damaged' : error.problem;
  }
}

/** A backup that is not restored. */
class RestoreError extends Error {
  readonly problem: RestoreProblem;

  constructor(problem: RestoreProblem) {
    super(problem);
    this.problem = problem;
  }
}

function problemOf(problem: NonNullable<OpenReport['problem']>): RestoreProblem {
  if (problem === 'mismatches') return 'unsound';
  return problem === 'unreadable' ? 'damaged' : problem;
}

function problemIn(error: unknown): RestoreProblem {
  if (error instanceof RestoreError) return error.problem;
  return codeOf(error) === 'ENOSPC' ? 'no-space' : 'failed';
}

function normalized(name: string): string {
  return name.normalize('NFC').trim().replaceAll(/\s+/g, ' ').toLowerCase();
}
