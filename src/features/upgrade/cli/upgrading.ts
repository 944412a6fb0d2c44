/** Replaces the executable by the newest version of a signed list. The previous one is kept. */

import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, linkSync, renameSync, rmSync, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { readBounded } from '../delivery/download.ts';
import { isLater, type ReleaseFile, type ReleaseList } from '../platform/list.ts';
import { syncFolder } from '../../../platform/folders.ts';
import { CommandError } from '../../../cli/failure.ts';

export type Installed = {
  /** The path of the executable. */
  readonly path: string;
  readonly version: string;
  /** Such as `linux-x64`. */
  readonly platform: string;
};

const downloadMaxMs = 30 * 60_000;

/**
 * Replaces the executable with one rename, after its size, hash and version were checked. A failure changes nothing.
 * @returns the path of the previous executable; null: the present version is the newest one.
 * @throws CommandError. @throws DownloadError.
 */
export async function upgrade(list: ReleaseList, installed: Installed): Promise<string | null> {
  const { path, version, platform } = installed;
  if (!isLater(list.version, version)) return null;
  const file = list.files.get(platform);
  if (!file) throw new CommandError(`version ${list.version} has no executable for ${platform}`);
  const next = `${path}.next`;
  const { mode } = statSync(path);
  rmSync(next, { force: true });
  try {
    await download(file, { path: next, mode });
    assertVersion(next, list.version);
    const previous = `${path}.previous`;
    const kept = `${next}.kept`;
    rmSync(kept, { force: true });
    linkSync(path, kept);
    renameSync(kept, previous);
    renameSync(next, path);
    syncFolder(dirname(path));
    return previous;
  } finally {
    if (existsSync(next)) rmSync(next, { force: true });
  }
}

/** Stores a file that is exactly the one of the list. */
async function download(
  { url, bytes, sha256 }: ReleaseFile,
  { path, mode }: { readonly path: string; readonly mode: number },
): Promise<void> {
  const target = await open(path, 'wx', mode & 0o777);
  const hash = createHash('sha256');
  let read = 0;
  try {
    await readBounded(new URL(url), {
      bytesMax: bytes,
      maxMs: downloadMaxMs,
      async take(part) {
        read += part.length;
        hash.update(part);
        await target.writeFile(part);
      },
    });
    // The mode of a new file is limited by the umask.
    await target.chmod(mode & 0o777);
    await target.sync();
  } finally {
    await target.close();
  }
  if (read !== bytes || hash.digest('hex') !== sha256)
    throw new CommandError('the downloaded file is not the one of the list of versions, so it was removed');
}

const startMaxMs = 30_000;

/** The new executable must start on this machine, and be what the list says. @throws CommandError. */
function assertVersion(path: string, version: string): void {
  const { stdout, status } = spawnSync(path, ['--version'], { encoding: 'utf8', timeout: startMaxMs });
  if (status !== 0 || stdout.trim() !== version)
    throw new CommandError(`the new executable does not start as version ${version}, so it was removed`);
}
