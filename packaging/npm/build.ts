/**
 * `npm run build`: emits the JavaScript of the npm package into `dist`, with the files that it reads at run time.
 * `npm pack` and `npm publish` run it.
 */

import { execFileSync } from 'node:child_process';
import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { readFolders } from '../files.ts';

const root = join(import.meta.dirname, '../..');
process.chdir(root);
// A file that no longer has a source must not be in the package.
rmSync('dist', { recursive: true, force: true });
execFileSync('node_modules/.bin/tsc', ['-p', 'tsconfig.build.json'], { stdio: 'inherit' });
for (const folder of readFolders) cpSync(join('src', folder), join('dist', folder), { recursive: true });
