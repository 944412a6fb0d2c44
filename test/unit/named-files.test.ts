/** Comments and documents name files and folders that exist: by a path, or by its last parts. */

import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import test from 'node:test';

const folders = 'bench,bin,deploy,docs,examples,integrations,packages,packaging,src,test';
const paths = globSync(`{${folders}}/**`, {
  exclude: (path) => /^(?:node_modules|dist)$/.test(basename(path)),
});
const documents = [...globSync('*.md'), ...paths.filter((path) => path.endsWith('.md'))];

/** Every path, and its last parts. */
const known = new Set(
  [...documents, ...paths].flatMap((path) => {
    const parts = path.split('/');
    return parts.map((_, from) => parts.slice(from).join('/'));
  }),
);

/** Examples, and the folder of a service. */
const others = new Set(['script.ts', '0002_name.sql', 'data']);

const file =
  /(?<![\w./@<*-])(?:\.{1,2}\/)*((?:[\w@.-]+\/)*[\w-][\w.-]*\.(?:ts|sql|css|md))(?![\w/.-]*[\w/<*-])/g;
const inFolder = /(?<![\w./@<*-])((?:bench|docs|packaging|src|test)(?:\/[\w.-]*\w)+)\/?(?![\w<*{])/g;
/** A folder as documents name it. */
const folder = /`([\w-]+(?:\/[\w-]+)*)\/`/g;

const comment = /(?<=^|\s)\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/.*$/gm;

function namesIn(text: string): readonly string[] {
  return [file, inFolder, folder].flatMap((pattern) =>
    Array.from(text.matchAll(pattern), ([, name = '']) => name),
  );
}

function unknownIn(text: string): readonly string[] {
  return [...new Set(namesIn(text))].filter((name) => !known.has(name) && !others.has(name));
}

test('comments and documents name files and folders that exist', async (t) => {
  const sources = paths.filter((path) => /\.(?:ts|css|sql)$/.test(path));
  assert.ok(sources.length > 1_500 && documents.length > 50, 'the folders are not found');
  const read = (path: string): string => readFileSync(path, 'utf8');
  const texts = [
    ...sources.map((path) => ({ path, text: read(path).match(comment)?.join('\n') ?? '' })),
    ...documents.map((path) => ({ path, text: read(path) })),
  ];
  assert.ok(texts.flatMap(({ text }) => namesIn(text)).length > 300, 'the patterns no longer match names');
  for (const { path, text } of texts) {
    const unknown = unknownIn(text);
    if (unknown.length > 0) await t.test(path, () => assert.deepEqual(unknown, []));
  }
});

test('a file and a folder that do not exist are found, and URLs and patterns are not names', () => {
  assert.deepEqual(
    unknownIn('As `storage/gone.ts` and gone.ts: see src/gone/ and docs/gone.md, not `gone/`.'),
    ['storage/gone.ts', 'gone.ts', 'docs/gone.md', 'src/gone', 'gone'],
  );
  assert.deepEqual(
    unknownIn(
      'src/core/<noun>/gone, test/*.gone.ts, https://example.org/gone.md, `src/api/index.ts`, undo.test.ts',
    ),
    [],
  );
});
