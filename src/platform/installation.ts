/** The kind of installation of this program, which decides how a person replaces it. */

import { existsSync, realpathSync } from 'node:fs';
import { isSea } from 'node:sea';
import { runsSources } from './program-files.ts';

export type Installation = 'executable' | 'package' | 'container' | 'npm' | 'clone';

/** The folder of the executable in the Debian package. */
const packageFolder = '/usr/lib/largesse/';
/** Docker and Podman make one of these files in each container. */
const containerFiles = ['/.dockerenv', '/run/.containerenv'];

/** The installation of this process. */
export function findInstallation(): Installation {
  if (!isSea()) return runsSources ? 'clone' : 'npm';
  if (realpathSync(process.execPath).startsWith(packageFolder)) return 'package';
  return containerFiles.some((file) => existsSync(file)) ? 'container' : 'executable';
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
      return `npm install largesse@${version ?? 'latest'}`;
    case 'clone':
      return 'git pull && npm ci';
  }
}
