/**
 * Preloads a program (`node --import`), and kills it before one of its steps: the operation with the number `KILLED_STEP` that
 * removes, links or renames a file whose path contains `KILLED_PATH`.
 */

import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

const { KILLED_STEP: step, KILLED_PATH: path = '' } = process.env;
let left = Number(step);

/** The operation, and the kill before it. */
function killing<Args extends readonly unknown[]>(operation: (...args: Args) => void) {
  return (...args: Args): void => {
    if (args.some((arg) => String(arg).includes(path))) left -= 1;
    if (left === 0) process.kill(process.pid, 'SIGKILL');
    operation(...args);
  };
}

Object.assign(fs, {
  rmSync: killing(fs.rmSync),
  linkSync: killing(fs.linkSync),
  renameSync: killing(fs.renameSync),
});
syncBuiltinESMExports();
