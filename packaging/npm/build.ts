/**
 * `npm run build`: emits the JavaScript of the npm package into `dist`, with the files that it reads at run time.
 * `npm pack` and `npm publish` run it.
 */

import { execFileSync } from 'node:child_process';
import { cpSync, globSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readFolders } from '../files.ts';

const root = join(import.meta.dirname, '../..');
process.chdir(root);
// A file that no longer has a source must not be in the package.
for (const folder of ['dist', 'build/npm']) rmSync(folder, { recursive: true, force: true });
execFileSync('node_modules/.bin/tsc', ['-p', 'tsconfig.build.json'], { stdio: 'inherit' });
renameSync('build/npm/src', 'dist');
// The package contains the client library, which `largesse mcp` uses, as a part of itself.
renameSync('build/npm/packages/client/src', 'dist/client');
for (const file of globSync('dist/mcp/*.js')) {
  const text = readFileSync(file, 'utf8');
  writeFileSync(file, text.replaceAll("'../../packages/client/src/", "'../client/"));
}
for (const folder of readFolders) cpSync(join('src', folder), join('dist', folder), { recursive: true });
