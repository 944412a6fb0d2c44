/** The disks of this machine, by the mounts that Linux lists (proc_pid_mountinfo(5)). */

import { accessSync, constants, existsSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

export type Mount = {
  /** The folder at which it is mounted. */
  readonly path: string;
  /** `major:minor` */
  readonly device: string;
  /** The type of the file system. */
  readonly type: string;
  /** A device such as `/dev/sdb1`, or a share such as `//nas/backup`. */
  readonly source: string;
  readonly isReadOnly: boolean;
};

/** Enough for a machine with thousands of containers. */
const textLengthMax = 2 ** 20;

/** Parses the list of mounts. Lines in another form are ignored. */
export function parseMounts(text: string): readonly Mount[] {
  return text
    .slice(0, textLengthMax)
    .split('\n')
    .flatMap((line) => {
      const [before = '', after] = line.split(' - ', 2);
      const [, , device, , path, options] = before.split(' ');
      const [type, source, ofSystem] = (after ?? '').split(' ');
      if (device === undefined || path === undefined || type === undefined || source === undefined) return [];
      const flags = [...(options ?? '').split(','), ...(ofSystem ?? '').split(',')];
      return [
        { path: unescaped(path), device, type, source: unescaped(source), isReadOnly: flags.includes('ro') },
      ];
    });
}

/** The kernel writes spaces, tabs, line feeds and backslashes as octal numbers. */
function unescaped(text: string): string {
  return text.replaceAll(/\\([0-7]{3})/g, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 8)),
  );
}

/** File systems on disks and on the network. Others are in memory, or belong to the system. */
const diskTypes: ReadonlySet<string> = new Set(
  'ext2 ext3 ext4 xfs btrfs zfs f2fs jfs reiserfs bcachefs vfat exfat ntfs ntfs3 fuseblk hfsplus nfs nfs4 cifs smb3 ceph glusterfs fuse.sshfs fuse.glusterfs fuse.rclone 9p virtiofs'.split(
    ' ',
  ),
);

/** Parts of the system on partitions of their own. */
const systemPath = /^\/(?:boot|etc|usr|snap|var\/lib\/docker)(?:\/|$)/;

/** The mount that contains a path: the longest one, and the last of those that are over each other. */
export function mountOf(path: string, mounts: readonly Mount[]): Mount | undefined {
  const containing = mounts.filter(
    (mount) => mount.path === '/' || path === mount.path || path.startsWith(`${mount.path}/`),
  );
  return containing.reduce<Mount | undefined>(
    (best, mount) => (best === undefined || mount.path.length >= best.path.length ? mount : best),
    undefined,
  );
}

/** The whole disk of a device: `8:1` of `sda1` is a part of `sda`. Devices without one, such as shares, are whole. */
function diskOf(device: string): string {
  const link = `/sys/dev/block/${device}`;
  try {
    const path = realpathSync(link);
    return existsSync(`${path}/partition`) ? dirname(path) : path;
  } catch {
    return device;
  }
}

/**
 * The mounts that are on another disk than a folder, in the order of their paths.
 * @param disk the whole disk of a device, for tests.
 */
export function otherDisks(
  folder: string,
  mounts: readonly Mount[],
  disk: (device: string) => string = diskOf,
): readonly Mount[] {
  const own = mountOf(folder, mounts);
  const isOther = ({ device, source }: Mount): boolean =>
    own !== undefined && disk(device) !== disk(own.device) && source !== own.source;
  return mounts
    .filter((mount) => diskTypes.has(mount.type) && !mount.isReadOnly && !systemPath.test(mount.path))
    .filter(isOther)
    .slice(0, disksMax)
    .filter((mount) => mountOf(mount.path, mounts) === mount)
    .toSorted((left, right) => (left.path < right.path ? -1 : 1));
}

/** More would not help a person who chooses one. */
const disksMax = 50;

/** The list of mounts of this process; empty where the system has none. */
export function readMounts(): string {
  try {
    return readFileSync('/proc/self/mountinfo', 'utf8');
  } catch {
    return '';
  }
}

/** Whether this account can make files in a folder. */
export function isWritableFolder(path: string): boolean {
  try {
    accessSync(path, constants.W_OK | constants.X_OK);
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}
