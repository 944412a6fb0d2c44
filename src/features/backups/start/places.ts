/** Opens the place of the backups. */

import { createHash } from 'node:crypto';
import { dirname, join } from 'node:path';
import { folderTarget } from '../delivery/folder-target.ts';
import { s3Target } from '../delivery/s3-target.ts';
import type { BackupTarget } from '../delivery/target.ts';
import { BackupError, type AnyPlace } from '../domain/backup.ts';
import { otherDisks, parseMounts } from '../../../platform/mounts.ts';
import { openBucketSecret, type BackupSettings } from '../service/backups.ts';
import type { BackupParts } from './parts.ts';

/** The folder at every place: another installation with the same disk or bucket has another one. */
function folderNameOf({ publicIdKey }: { readonly publicIdKey: readonly number[] }): string {
  const id = createHash('sha256')
    .update(`backup folder ${publicIdKey.join(' ')}`)
    .digest('hex')
    .slice(0, 8);
  return `largesse-${id}`;
}

/** Opens a place. @throws BackupError if it cannot be used. */
export function targetOf(
  { config, database: { ctx }, network, readMounts }: BackupParts,
  place: AnyPlace,
  { sealedSecret }: Pick<BackupSettings, 'sealedSecret'>,
): BackupTarget {
  const name = folderNameOf(ctx.keys);
  const file = config.database.kind === 'file' ? config.database.file : '';
  switch (place.kind) {
    case 'disk':
      return folderTarget(join(place.mount, name), () => {
        if (!otherDisks(file, parseMounts(readMounts())).some(({ path }) => path === place.mount))
          throw new BackupError('diskMissing', `${place.mount} is not mounted, or is not another disk`);
      });
    case 'folder':
      return folderTarget(join(place.folder, name), () => {});
    case 'download':
      return folderTarget(join(dirname(file), 'largesse.backups'), () => {});
    case 's3':
      if (sealedSecret === null) throw new BackupError('access', 'the secret key is missing');
      return s3Target(place, {
        folder: name,
        secret: openBucketSecret(ctx, place, sealedSecret),
        clock: ctx.wallClock,
        network,
      });
  }
}
