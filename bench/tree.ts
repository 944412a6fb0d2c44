/** The source code that a service runs from: this working tree, another one, or a commit. */

import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, symlinkSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';

export type Tree = {
  readonly root: string;
  /** The commit, with `-dirty` if files differ from it. */
  readonly revision: string;
};

const here = join(import.meta.dirname, '..');

export const thisTree: Tree = { root: here, revision: revisionOf(here) };

/**
 * @param name of a folder with a working tree and its dependencies, or of a commit of this repository.
 * @param options.folder receives the files of a commit, which use the dependencies of this working tree.
 * @throws Error if there is no service, or if its dependencies are missing.
 */
export function openTree(
  name: string,
  { folder, repository = here }: { readonly folder: string; readonly repository?: string },
): Tree {
  if (!existsSync(name)) return extract(name, { folder, repository });
  const root = resolve(name);
  if (!existsSync(join(root, 'src/cli.ts'))) throw new Error(`${name} has no src/cli.ts`);
  if (!existsSync(join(root, 'node_modules')))
    throw new Error(`${name} has no node_modules: run npm ci there`);
  return { root, revision: revisionOf(root) };
}

function extract(
  name: string,
  { folder, repository }: { readonly folder: string; readonly repository: string },
): Tree {
  const git = (...args: readonly string[]) => spawnSync('git', args, { cwd: repository, encoding: 'utf8' });
  const commit = git(
    'rev-parse',
    '--verify',
    '--quiet',
    '--end-of-options',
    `${name}^{commit}`,
  ).stdout.trim();
  if (commit === '') throw new Error(`${name} is neither a folder nor a commit`);
  const root = mkdtempSync(join(folder, 'tree-'));
  const archive = join(folder, `${commit}.tar`);
  mkdirSync(root, { recursive: true });
  execFileSync('git', ['archive', '--output', archive, commit], { cwd: repository });
  execFileSync('tar', ['-xf', archive, '-C', root]);
  const lockOf = (tree: string): string => readFileSync(join(tree, 'package-lock.json'), 'utf8');
  if (lockOf(root) !== lockOf(repository))
    throw new Error(
      `${name} has other dependencies: check it out in a folder, run npm ci there and name the folder`,
    );
  symlinkSync(join(repository, 'node_modules'), join(root, 'node_modules'));
  return { root, revision: git('describe', '--always', commit).stdout.trim() };
}

function revisionOf(root: string): string {
  const { stdout } = spawnSync('git', ['describe', '--always', '--dirty'], { cwd: root, encoding: 'utf8' });
  return stdout?.trim() || basename(root);
}
