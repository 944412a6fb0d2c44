/** `largesse upgrade` */

import { realpathSync } from 'node:fs';
import { isSea } from 'node:sea';
import type { Command } from 'commander';
import { readNewest } from '../delivery/download.ts';
import { systemClock } from '../../../platform/clock.ts';
import { findInstallation, upgradeCommand } from '../platform/installation.ts';
import { isLater } from '../platform/list.ts';
import { version } from '../../../platform/version.ts';
import { readConfig } from '../../../start/config.ts';
import { CommandError } from '../../../cli/failure.ts';
import { print, printJson } from '../../../cli/output.ts';
import { upgrade } from './upgrading.ts';

type Options = { readonly check?: boolean; readonly json?: boolean };

export function addUpgradeCommand(root: Command): void {
  root
    .command('upgrade')
    .description(
      'replace this executable by the newest version of the list at RELEASES_URL, and keep the previous one',
    )
    .option('--check', 'only show whether there is a later version')
    .option('--json', 'print JSON')
    .action(async ({ check = false, json = false }: Options) => {
      const { url, key } = readConfig().releases;
      if (!check) assertBareExecutable();
      if (url === null || key === null)
        throw new CommandError('set RELEASES_URL and RELEASES_KEY to those of the list of versions');
      const list = await readNewest({ url: new URL(url), key }, systemClock.now());
      const isOutdated = isLater(list.version, version);
      const path = isSea() ? realpathSync(process.execPath) : null;
      const previous =
        check || path === null
          ? null
          : await upgrade(list, { path, version, platform: `${process.platform}-${process.arch}` });
      if (json) return printJson({ version, newest: list.version, later: isOutdated, previous });
      if (!isOutdated) return print(`Version ${version} is the newest one.`);
      if (previous === null) return print(`Version ${list.version} is later than this one, ${version}.`);
      print(`Replaced ${path} by version ${list.version}. The previous executable is ${previous}.`);
      return print('Make a backup, and start the service again: it applies new migrations.');
    });
}

const installed = {
  package: 'as a Debian package',
  container: 'as a container image',
  npm: 'with npm',
  clone: 'from a clone',
} as const;

/** @throws CommandError with the command to use instead. */
function assertBareExecutable(): void {
  const installation = findInstallation();
  if (installation === 'executable') return;
  const command = upgradeCommand(installation, { version: null });
  throw new CommandError(`this program was installed ${installed[installation]}: use "${command}"`);
}
