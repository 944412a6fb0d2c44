/** Backups in a folder: on another disk, in that of the operator, or next to the database. */

import { errorText } from '../../../platform/system-error.ts';
import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, open, readdir, rename, rm, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { BackupError, type BackupTrouble } from '../domain/backup.ts';
import { codeOf } from '../../../platform/error-code.ts';
import type { BackupTarget, SealedFile } from './target.ts';

const partialEnd = '.partial';

const troubles: Readonly<Record<string, BackupTrouble>> = {
  EACCES: 'notWritable',
  EPERM: 'notWritable',
  EROFS: 'notWritable',
  ENOSPC: 'full',
  EDQUOT: 'full',
  EFBIG: 'tooLarge',
  ENOENT: 'diskMissing',
  ENOTDIR: 'diskMissing',
  ENODEV: 'diskMissing',
  ENXIO: 'diskMissing',
  EIO: 'diskMissing',
  ESTALE: 'diskMissing',
  EHOSTDOWN: 'diskMissing',
  ENOTCONN: 'diskMissing',
  ETIMEDOUT: 'noResponse',
};

/** Runs a change of the folder. @throws BackupError. */
async function explained<Result>(change: () => Promise<Result>): Promise<Result> {
  try {
    return await change();
  } catch (error) {
    if (error instanceof BackupError || (error instanceof Error && error.name === 'AbortError')) throw error;
    const trouble = troubles[codeOf(error)] ?? 'other';
    throw new BackupError(trouble, errorText(error), { cause: error });
  }
}

/**
 * @param folder is created in its parent, which must exist.
 * @param assertPresent throws BackupError if the disk of the folder is not there. It also runs after a file was written,
 * because the files of a disk that is removed go to the disk below.
 */
export function folderTarget(folder: string, assertPresent: () => void): BackupTarget {
  const at = (name: string): string => join(folder, name);
  const list = async (): Promise<readonly string[]> => {
    assertPresent();
    return await explained(async () => await readdir(folder));
  };
  return {
    list,
    async prepare() {
      assertPresent();
      await explained(async () => {
        await mkdir(folder, { mode: 0o700 }).catch((error: unknown) => {
          if (codeOf(error) !== 'EEXIST') throw error;
        });
        for (const name of await readdir(folder))
          if (name.endsWith(partialEnd)) await rm(at(name), { force: true });
      });
    },
    async put(name, file, signal) {
      const partial = `${at(name)}${partialEnd}`;
      try {
        await explained(async () => {
          await assertSpace(folder, file.bytes);
          await pipeline(
            createReadStream(file.path),
            createWriteStream(partial, { mode: 0o600, flush: true }),
            { signal },
          );
          if ((await hashOf(partial, signal)) !== file.sha256)
            throw new BackupError('differs', 'the file differs from what was written');
          assertPresent();
          await rename(partial, at(name));
          await syncNames(folder);
        });
      } catch (error) {
        await rm(partial, { force: true }).catch(() => undefined);
        throw error;
      }
    },
    async *read(name) {
      assertPresent();
      yield* createReadStream(at(name)) as AsyncIterable<Uint8Array>;
    },
    async remove(name) {
      assertPresent();
      await explained(async () => await rm(at(name), { force: true }));
    },
  };
}

/** @throws BackupError if the disk has not enough space. Some shares do not report it. */
async function assertSpace(folder: string, bytes: number): Promise<void> {
  const { bavail, bsize, blocks } = await statfs(folder);
  if (blocks > 0 && bavail * bsize < bytes)
    throw new BackupError('full', `${bytes} bytes are needed, and ${bavail * bsize} are free`);
}

async function hashOf(path: string, signal: AbortSignal): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash, { signal });
  return hash.digest('hex');
}

/** Makes the names in a folder durable, where its file system can. */
async function syncNames(folder: string): Promise<void> {
  await using handle = await open(folder);
  await handle.sync().catch((error: unknown) => {
    // File systems of other systems and networks have no sync of folders.
    if (!['EINVAL', 'ENOTSUP', 'ENOSYS', 'EBADF'].includes(codeOf(error))) throw error;
  });
}

/** The SHA-256 of a file on this machine, as `SealedFile` has it. */
export async function hashesTo(
  source: AsyncIterable<Uint8Array>,
  { sha256, bytes }: SealedFile,
): Promise<boolean> {
  const hash = createHash('sha256');
  let length = 0;
  for await (const chunk of source) {
    length += chunk.length;
    if (length > bytes) return false;
    hash.update(chunk);
  }
  return length === bytes && hash.digest('hex') === sha256;
}
