/** A lock on a file that the system releases when its process ends, however it ends. */

import { closeSync, openSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';

/** Locks a file, which it creates with mode 0600. Null: another process, or this one, has locked it. */
export function tryLockFile(path: string): Disposable | null {
  closeSync(openSync(path, 'a', 0o600));
  const database = new DatabaseSync(path, { timeout: 0 });
  try {
    database.exec('begin exclusive');
  } catch (error) {
    database.close();
    if (error instanceof Error && 'errcode' in error && error.errcode === busy) return null;
    throw error;
  }
  return { [Symbol.dispose]: () => database.close() };
}

/** SQLITE_BUSY */
const busy = 5;
