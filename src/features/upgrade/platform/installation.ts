/** The kind of installation of this program, which decides how a person replaces it. */

import { existsSync, realpathSync } from 'node:fs';
import { isSea } from 'node:sea';
import { runsSources } from '../../../platform/program-files.ts';

export type Installation = 'executable' | 'package' | 'container' | 'npm' | 'clone';

/** The folder of the executable in the Debian package. */
const packageFolder = '/usr/lib/largesse/';
/** The executable of the container image. Docker and Podman make one of the files in each container. */
const imagePath = '/usr/bin/largesse';
const containerFiles = ['/.dockerenv', '/run/.containerenv'];

/** The installation of this process. */
export function findInstallation(): Installation {
  if (!isSea()) return runsSources ? 'clone' : 'npm';
  const path = realpathSync(process.execPath);
  if (path.startsWith(packageFolder)) return 'package';
  const isImage = path === imagePath && containerFiles.some((file) => existsSync(file));
  return isImage ? 'container' : 'executable';
}

const debianNames: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' };

/** The command that replaces an installation. @param version the new one; null: the newest. @param architecture as `process.arch`. */
export function upgradeCommand(
  installation: Installation,
  {
    version,
    architecture = process.arch,
  }: { readonly version: string | null; readonly architecture?: string },
): string {
  switch (installation) {
    case 'executable':
      return 'largesse upgrade';
    case 'package':
      return `sudo apt install ./largesse_${version ?? '<version>'}_${debianNames[architecture] ?? architecture}.deb`;
    case 'container':
      return 'docker load --input largesse.tar';
    case 'npm':
      return `npm install ./largesse-${version ?? '<version>'}.tgz`;
    case 'clone':
      return 'git pull && npm ci';
  }
}
