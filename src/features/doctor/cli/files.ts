/** The files of the service: who owns them, who can access them, and the space on their disk. */

import { access, constants, stat, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { assessDisk } from '../../health/domain/health.ts';
import { codeOf } from '../../../platform/error-code.ts';
import type { Config } from '../../../start/config.ts';
import { failure, messageOf, ok, warning, type CheckName, type DoctorFinding } from '../../../cli/finding.ts';

/** The account that runs the command; null on a system without user ids. */
export type SystemAccount = { readonly uid: number } | null;

type FileState = { readonly path: string; readonly mode: number; readonly uid: number };

async function stateOf(path: string): Promise<FileState | undefined> {
  try {
    const { mode, uid } = await stat(path);
    return { path, mode, uid };
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

/**
 * Checks the key file, the database file, and the files that settings name.
 * @param secretFiles the paths in variables such as `SMTP_URL_FILE` and `TLS_KEY_FILE`.
 */
export async function checkFiles(
  { keysFile, database }: Pick<Config, 'keysFile' | 'database'>,
  { account, secretFiles }: { readonly account: SystemAccount; readonly secretFiles: readonly string[] },
): Promise<readonly DoctorFinding[]> {
  const keys = await stateOf(keysFile);
  const stored = database.kind === 'file' ? await stateOf(database.file) : undefined;
  const folder = database.kind === 'file' ? await stateOf(dirname(database.file)) : undefined;
  const findings: DoctorFinding[] = [];
  if (keys)
    findings.push(
      ...(await checkAccess('key_file', keys, { account, isWritten: false })),
      ...(await exposed('key_file', keys, 0o077)),
    );
  for (const state of [folder, stored])
    if (state) findings.push(...(await checkAccess('files', state, { account, isWritten: true })));
  if (stored) findings.push(...(await exposed('files', stored, 0o077)));
  for (const path of secretFiles) {
    const state = await stateOf(path);
    // The group of the service can read a file that belongs to root.
    if (state) findings.push(...(await exposed('files', state, 0o007)));
  }
  if (keys && stored && keys.uid !== stored.uid)
    findings.push(
      warning(
        'files',
        `the key file belongs to uid ${keys.uid} and the database to uid ${stored.uid}`,
        `let the account of the service own both: chown ${stored.uid} ${keysFile}`,
      ),
    );
  return findings.length > 0
    ? findings
    : [ok('files', 'only the account of the service can access its files')];
}

/** @param others the bits of the accounts that must not have access. */
async function exposed(
  check: CheckName,
  { path, mode }: FileState,
  others: number,
): Promise<readonly DoctorFinding[]> {
  const folder = await stateOf(dirname(path));
  // A file in a folder that an account cannot search is out of its reach.
  const reachable = (bits: number, search: number): number =>
    ((folder?.mode ?? 0) & search) === 0 ? 0 : bits;
  if ((mode & others & (reachable(0o070, 0o010) | reachable(0o007, 0o001))) === 0) return [];
  const shown = (mode & 0o777).toString(8).padStart(4, '0');
  return [
    warning(
      check,
      `accounts other than the owner can access ${path} (mode ${shown})`,
      `chmod ${others === 0o077 ? 'go=' : 'o='} ${path}`,
    ),
  ];
}

async function checkAccess(
  check: CheckName,
  { path, uid }: FileState,
  { account, isWritten }: { readonly account: SystemAccount; readonly isWritten: boolean },
): Promise<readonly DoctorFinding[]> {
  try {
    await access(path, constants.R_OK | (isWritten ? constants.W_OK : 0));
  } catch (error) {
    const what = isWritten ? 'read and write' : 'read';
    return [
      failure(
        check,
        isDenied(error) ? `this account cannot ${what} ${path}` : messageOf(error),
        'run this command as the account of the service; if it is that account, give it the file with chown',
      ),
    ];
  }
  if (!account || account.uid === uid) return [];
  return [
    warning(
      check,
      `${path} belongs to uid ${uid}, and this command runs as uid ${account.uid}`,
      `run commands as the account of the service (uid ${uid}), so that it can access the files that they create`,
    ),
  ];
}

export async function checkDisk({
  database,
  keysFile,
  limits,
}: Pick<Config, 'database' | 'keysFile' | 'limits'>): Promise<readonly DoctorFinding[]> {
  const folder = dirname(database.kind === 'file' ? database.file : keysFile);
  if (!(await stateOf(folder))) return [ok('disk', `${folder} does not exist yet`)];
  const { bavail, bsize } = await statfs(folder);
  const free = bavail * bsize;
  const message = `${Math.floor(free / 2 ** 20)} MiB are free on the disk of ${folder}`;
  const remedy = 'delete what the disk does not need, such as old backups, or use a larger disk';
  const bytesMin = limits.diskFreeBytesMin;
  switch (assessDisk(free, { bytesMin })) {
    case 'error':
      return [failure('disk', `${message}, and the service needs ${bytesMin / 2 ** 20}`, remedy)];
    case 'warning':
      return [warning('disk', message, remedy)];
    case null:
      return [ok('disk', message)];
  }
}

function isDenied(error: unknown): boolean {
  return ['EACCES', 'EPERM'].includes(codeOf(error));
}
