/**
 * Puts a restored copy in the place of the database of a fresh machine.
 *
 * A complete copy with its key file is in the folder `<database>.restored`, whose name appears at once. Each start repeats the
 * steps until the folder is gone, before anything opens the database. So a machine that is switched off at any moment
 * starts with the fresh database or with the restored one, and its keys.
 */

import { existsSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Log } from '../../../platform/log.ts';
import { makeFolder, syncFolder } from '../../../platform/folders.ts';
import { tryLockFile } from '../../../database/sqlite/file-lock.ts';
import {
  copyDurably,
  InUseError,
  lockFile,
  removeDatabase,
  replaceFile,
} from '../../../database/sqlite/restore.ts';
import { hasRealStores } from '../../../core/stores/storage/store.ts';
import type { Config, DatabaseConfig } from '../../../start/config.ts';
import { openToExamine } from '../../../start/database.ts';
import { StartError } from '../../../start/error.ts';

/** The files of a backup that is being restored. */
export type RestoreFolder = {
  readonly path: string;
  readonly lock: string;
  readonly upload: string;
  readonly database: string;
  readonly keys: string;
};

/** The folder of an upload, which the next start removes. */
export function restoreFolderOf(database: string): RestoreFolder {
  return folderAt(`${database}.receiving`);
}

/** The folder of a copy that the next start puts in the place of the database. */
function installFolderOf(database: string): RestoreFolder {
  return folderAt(`${database}.restored`);
}

function folderAt(path: string): RestoreFolder {
  return {
    path,
    lock: join(path, 'lock'),
    upload: join(path, 'upload'),
    database: join(path, 'largesse.db'),
    keys: join(path, 'largesse.keys.json'),
  };
}

/** Makes a folder with a complete copy the one that the next start installs. From here on, the copy is restored. */
export function commitRestore(database: string): void {
  const [from, to] = [restoreFolderOf(database), installFolderOf(database)];
  rmSync(from.upload, { force: true });
  rmSync(from.lock, { force: true });
  syncFolder(from.path);
  rmSync(to.path, { recursive: true, force: true });
  renameSync(from.path, to.path);
  syncFolder(dirname(database));
}

/** Removes an upload that no process continues. @returns whether there was one. */
export function removeAbandonedUpload(database: string): boolean {
  const { path, lock } = restoreFolderOf(database);
  if (!existsSync(path)) return false;
  using held = tryLockFile(lock);
  if (!held) return false;
  rmSync(path, { recursive: true, force: true });
  syncFolder(dirname(database));
  return true;
}

/**
 * Finishes a restore, and removes what an interrupted one has left.
 * @throws StartError if another process uses the database, or the key file cannot be written.
 */
export async function finishRestore(config: Config, logger: Log['logger']): Promise<void> {
  if (config.database.kind !== 'file') return;
  const { file } = config.database;
  if (!existsSync(dirname(file))) return;
  if (removeAbandonedUpload(file)) logger.warn('removed a backup whose restore was interrupted');
  const folder = installFolderOf(file);
  if (!existsSync(folder.path)) return;
  if (existsSync(folder.database)) {
    if (await hasShop(config)) {
      logger.error('a backup was not restored, because the database has a shop');
      return removeFolder(folder);
    }
    try {
      install(config, { file, folder });
    } catch (error) {
      if (!(error instanceof InUseError)) throw error;
      throw new StartError(error.message, { cause: error });
    }
    logger.info('the backup was restored');
  }
  removeDatabase(freshOf(file));
  return removeFolder(folder);
}

async function hasShop(
  config: DatabaseConfig & { readonly database: { readonly kind: 'file' | 'server' } },
): Promise<boolean> {
  if (config.database.kind !== 'file' || !existsSync(config.database.file)) return false;
  await using storage = await openToExamine(config);
  return (await storage.applied()).length > 0 && (await storage.read(hasRealStores));
}

/** Replaces the keys, and then the database: until then, the next start repeats both. */
function install(
  { keysFile }: Pick<Config, 'keysFile'>,
  { file, folder }: { readonly file: string; readonly folder: RestoreFolder },
): void {
  using _locked = existsSync(file) && statSync(file).size > 0 ? lockFile(file) : undefined;
  const keysFolder = dirname(keysFile);
  const next = `${keysFile}.restored`;
  makeFolder(keysFolder);
  rmSync(next, { force: true });
  copyDurably(folder.keys, next, keysFolder);
  renameSync(next, keysFile);
  syncFolder(keysFolder);
  // An interrupted start can have kept it.
  removeDatabase(freshOf(file));
  replaceFile(file, folder.database, freshOf(file));
}

/** The previous database while it is replaced. It is of a fresh machine, and has no shop. */
function freshOf(file: string): string {
  return `${file}.fresh`;
}

function removeFolder({ path }: RestoreFolder): void {
  rmSync(path, { recursive: true, force: true });
  syncFolder(dirname(path));
}
