/** The linter rejects files that break the rules about folders. Each test lints a temporary tree. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempDisposableSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, posix, resolve } from 'node:path';
import test from 'node:test';
import { partOf, sees, seesTypesOf } from './arrows.ts';

type Report = { readonly diagnostics: readonly Diagnostic[] };
type Diagnostic = {
  readonly filename: string;
  readonly code: string;
  readonly labels: readonly { readonly span: { readonly line: number } }[];
};

/** Lints temporary files, given as path → lines. */
function lint(files: Readonly<Record<string, readonly string[]>>): readonly Diagnostic[] {
  using tree = mkdtempDisposableSync(join(tmpdir(), 'largesse-lint-'));
  for (const file of ['.oxlintrc.json', 'tsconfig.json']) cpSync(file, join(tree.path, file));
  symlinkSync(resolve('node_modules'), join(tree.path, 'node_modules'));
  for (const [path, lines] of Object.entries(files)) {
    mkdirSync(dirname(join(tree.path, path)), { recursive: true });
    writeFileSync(join(tree.path, path), `${lines.join('\n')}\n`);
  }
  const program = resolve('node_modules/oxlint/bin/oxlint');
  const { stdout, stderr } = spawnSync(process.execPath, [program, '--type-aware', '--format=json'], {
    cwd: tree.path,
    encoding: 'utf8',
  });
  assert.match(stdout, /^\s*\{/, `the linter returned no report: ${stdout}${stderr}`);
  return (JSON.parse(stdout) as Report).diagnostics;
}

test('the linter rejects exactly the imports that the table does not allow', async (t) => {
  const folders = Object.keys(sees);
  // A file of the layer, and one of a noun in it.
  const imported = [
    ...folders.flatMap((folder) =>
      folder === 'mcp' ? ['features/mcp/mcp/card.ts'] : [`${folder}/card.ts`, `core/cards/${folder}/card.ts`],
    ),
    'platform/secret.ts',
    'cli.ts',
  ];
  const importers = imported.map((path) => path.replace('card.ts', 'importer.ts'));

  const specifier = (importer: string, path: string): string => {
    const way = posix.relative(posix.dirname(importer), path);
    return way.startsWith('.') ? way : `./${way}`;
  };
  const diagnostics = lint(
    Object.fromEntries(
      importers.map((importer) => [
        `src/${importer}`,
        imported.map((path, index) => `export { card as card${index} } from '${specifier(importer, path)}';`),
      ]),
    ),
  );
  for (const importer of importers) {
    await t.test(importer, () => {
      const rejected = diagnostics
        .filter(
          ({ filename, code }) => filename === `src/${importer}` && code === 'eslint(no-restricted-imports)',
        )
        .map(({ labels }) => imported[(labels[0]?.span.line ?? 0) - 1]);
      // The domain is pure, and so are few files of the platform.
      const isImpure = (path: string): boolean =>
        partOf(importer) === 'domain' && partOf(path) === 'platform' && path !== 'platform/secret.ts';
      const isType = (path: string): boolean =>
        seesTypesOf[partOf(importer)]?.includes(partOf(path)) === true;
      const forbidden = imported.filter(
        (path) => isImpure(path) || isType(path) || !sees[partOf(importer)]?.includes(partOf(path)),
      );
      assert.deepEqual(new Set(rejected), new Set(forbidden));
    });
  }
});

test('the linter rejects forbidden lines of a folder, and accepts allowed ones', async (t) => {
  const generator = 'Generator<string, number, number>';
  const lines: readonly (readonly [folder: string, line: string, rejectedBy: string | undefined])[] = [
    ['src/core/cards/domain', "export { readFileSync } from 'node:fs';", 'eslint(no-restricted-imports)'],
    ['src/core/cards/domain', "export { fastify } from 'fastify';", 'eslint(no-restricted-imports)'],
    ['src/core/cards/domain', "export { default as currencies } from 'currency-codes';", undefined],
    ['src/core/cards/domain', "export { default as Type } from 'typebox';", undefined],
    ['src/core/cards/domain', "export { default as isEmail } from 'validator/lib/isEmail.js';", undefined],
    ['src/core/cards/domain', 'export const now = new Date();', 'eslint(no-restricted-globals)'],
    ['src/core/cards/domain', "export const day = Temporal.PlainDate.from('2025-08-15');", undefined],
    ['src/core/cards/domain', 'export const folder = process.cwd();', 'eslint(no-restricted-globals)'],
    ['src/core/cards/domain', 'export const timer = globalThis.setTimeout;', 'eslint(no-restricted-globals)'],
    ['src/core/cards/domain', 'export async function later(): Promise<void> {}', 'oxc(no-async-await)'],
    ['src/core/cards/service', 'export const now = Date.now();', 'eslint(no-restricted-properties)'],
    [
      'src/core/cards/service',
      'export const now = Temporal.Now.instant();',
      'eslint(no-restricted-properties)',
    ],
    ['src/core/cards/service', 'export const random = Math.random();', 'eslint(no-restricted-properties)'],
    ['src/core/cards/service', 'export const id = crypto.randomUUID();', 'eslint(no-restricted-globals)'],
    ['src/core/cards/service', "export const port = process.env['PORT'];", 'node(no-process-env)'],
    ['src/core/cards/service', "console.log('ready');", 'eslint(no-console)'],
    ['src/core/cards/service', 'export {}; Promise.resolve();', 'typescript(no-floating-promises)'],
    [
      'src/core/cards/service',
      `export function* run(script: ${generator}): ${generator} { return yield* script; }`,
      undefined,
    ],
    ['src/pages/kit', "export type { Card } from '../../core/cards/storage/card.ts';", undefined],
    [
      'src/pages/kit',
      "import type { Card } from '../../core/cards/storage/card.ts'; export type Shown = Card;",
      undefined,
    ],
    [
      'src/pages/kit',
      "export { findCard } from '../../core/cards/storage/card.ts';",
      'eslint(no-restricted-imports)',
    ],
    ['src/cli', "console.log('ready');", undefined],
    [
      'test/unit',
      "import { it } from 'node:test'; it('redeems', async () => { await Promise.resolve(); });",
      undefined,
    ],
    ['test/unit', 'export {}; Promise.resolve();', 'typescript(no-floating-promises)'],
  ];
  const pathOf = (index: number): string => `${lines[index]?.[0]}/line-${index}.ts`;
  const diagnostics = lint(Object.fromEntries(lines.map(([, line], index) => [pathOf(index), [line]])));
  for (const [index, [folder, line, rejectedBy]] of lines.entries()) {
    await t.test(`${folder}: ${line}`, () => {
      const rules = diagnostics.filter(({ filename }) => filename === pathOf(index)).map(({ code }) => code);
      if (rejectedBy === undefined) assert.deepEqual(rules, []);
      else assert.ok(rules.includes(rejectedBy), `rejected by ${rules.join(', ') || 'nothing'}`);
    });
  }
});
