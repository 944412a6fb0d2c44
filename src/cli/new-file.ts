/** Files that commands make. */

import { codeOf } from '../platform/error-code.ts';
import { errorText } from '../platform/system-error.ts';
import { closeSync, existsSync, openSync, rmSync } from 'node:fs';
import { userInfo } from 'node:os';
import { dirname } from 'node:path';
import { CommandError } from './failure.ts';

/**
 * Makes a file and removes it, so that a command fails before its work and not after it.
 * @throws CommandError that names the file and the account if it exists or cannot be made.
 */
export function assertCanMake(file: string): void {
  try {
    closeSync(openSync(file, 'wx', 0o600));
  } catch (error) {
    const code = codeOf(error);
    const folder = dirname(file);
    if (code === 'EEXIST') throw new CommandError(`${file} already exists`);
    if (code === 'ENOENT' && !existsSync(folder))
      throw new CommandError(`the folder ${folder} does not exist`);
    const isDenied = code === 'EACCES' || code === 'EPERM';
    throw new CommandError(
      isDenied
        ? `${accountOf()} cannot make a file in the folder ${folder}: give that account the folder with chown, or choose another one`
        : errorText(error),
      { cause: error },
    );
  }
  rmSync(file);
}

function accountOf(): string {
  const uid = process.geteuid?.();
  if (uid === undefined) return 'this account';
  const { username, uid: real } = nameOfUser() ?? { username: '', uid: -1 };
  return real === uid ? `the account ${username} (uid ${uid})` : `the account with uid ${uid}`;
}

/** Undefined: the system has no name for the account, as in a container. */
function nameOfUser(): { readonly username: string; readonly uid: number } | undefined {
  try {
    return userInfo();
  } catch {
    return undefined;
  }
}
