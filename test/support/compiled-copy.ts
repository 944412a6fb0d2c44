/** Compiles a copy of `src` that a test has changed. */

import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempDisposableSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

/** @param change receives the folder of the copy. @returns the output of the compiler: its errors. */
export function compileCopy(change: (src: string) => void): string {
  using tree = mkdtempDisposableSync(join(tmpdir(), 'largesse-compiled-'));
  const copy = join(tree.path, 'src');
  cpSync('src', copy, { recursive: true, filter: (path) => !/\.(?:sql|ttf|woff2|png)$/.test(path) });
  for (const file of ['package.json', 'tsconfig.json']) cpSync(file, join(tree.path, file));
  for (const folder of ['node_modules', 'packages']) symlinkSync(resolve(folder), join(tree.path, folder));
  change(copy);
  const compiler = resolve('node_modules/typescript/bin/tsc');
  return spawnSync(process.execPath, [compiler, '--noEmit'], { cwd: tree.path, encoding: 'utf8' }).stdout;
}
