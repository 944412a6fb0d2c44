/** One module finds the files that the program reads, because bundles and the executable have no sources. */

import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { findPackageJSON } from 'node:module';
import test from 'node:test';
import { threads } from '../../packaging/bundle.ts';
import { programFilesIn, readProgramFile } from '../../src/platform/program-files.ts';

const sources = globSync('src/**/*.ts').map((path) => ({ path, text: readFileSync(path, 'utf8') }));
const using = (pattern: RegExp): readonly string[] =>
  sources.filter(({ text }) => pattern.test(text)).map(({ path }) => path);

test('no other module finds files next to itself or starts a thread', () => {
  assert.deepEqual(using(/\bimport\.meta\b/).toSorted(), [
    'src/cli.ts', // the cache of compiled sources
    'src/pages/kit/assets.ts', // files of other packages
    'src/platform/program-files.ts',
  ]);
  assert.deepEqual(using(/\bnew Worker\(/), ['src/platform/program-files.ts']);
});

test('the main module of every thread exists and is bundled', () => {
  const mains = sources.flatMap(({ text }) =>
    Array.from(text.matchAll(/\bstartThread\(\s*'([^']+)'/g), ([, main = '']) => main),
  );
  for (const main of mains) assert.ok(readProgramFile(`${main}.ts`).length > 0, main);
  assert.deepEqual(mains.toSorted(), threads.toSorted(), 'each is bundled');
});

test('a CommonJS package that is imported when it is needed has only its default export in the bundle', () => {
  const imports = sources.flatMap(({ path, text }) =>
    Array.from(
      text.matchAll(/const \{ ([^}]+) \} = await import\('([^.'][^']*)'\)/g),
      ([, names = '', name = '']) => ({ path, names, name }),
    ),
  );
  assert.ok(imports.length > 4, `only ${imports.length} imports`);
  const isModule = (name: string): boolean => {
    const file = findPackageJSON(name, import.meta.url) ?? assert.fail(name);
    const { type, module } = JSON.parse(readFileSync(file, 'utf8')) as { type?: string; module?: string };
    return type === 'module' || module !== undefined;
  };
  const wrong = imports.filter(({ names, name }) => !names.startsWith('default:') && !isModule(name));
  assert.deepEqual(wrong, []);
});

test('the files of a folder are listed in order', () => {
  const files = programFilesIn('database/migrations');
  assert.deepEqual(files, files.toSorted());
  assert.equal(files[0], '0001_schema.postgres.sql');
  assert.match(readProgramFile('database/migrations/0001_schema.sqlite.sql').toString(), /^create table /m);
});
