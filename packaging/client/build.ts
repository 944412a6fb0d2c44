/**
 * `npm run client:build`: emits the JavaScript and the declarations of `packages/client`, or of another package that is named,
 * into its `dist`. `npm pack` in that folder makes the package.
 */

import { execFileSync } from 'node:child_process';
import { cpSync, globSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '../..');
const folder = join(root, process.argv[2] ?? 'packages/client');
// A file that no longer has a source must not be in the package.
rmSync(join(folder, 'dist'), { recursive: true, force: true });
execFileSync(join(root, 'node_modules/.bin/tsc'), ['-p', 'tsconfig.build.json'], {
  cwd: folder,
  stdio: 'inherit',
});
// The compiler rewrites the extensions of imports in the JavaScript only.
for (const file of globSync(join(folder, 'dist/**/*.d.ts'))) {
  const text = readFileSync(file, 'utf8');
  writeFileSync(file, text.replaceAll(/(?<= from '\.[^']*)\.ts(?=';$)/gm, '.js'));
}
cpSync(join(root, 'LICENSE'), join(folder, 'LICENSE'));
