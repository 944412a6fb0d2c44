/** The source trees that the benchmark can run. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { after } from 'node:test';
import { openTree } from '../../bench/tree.ts';

const folder = mkdtempSync(join(tmpdir(), 'largesse-tree-'));
after(() => rmSync(folder, { recursive: true }));

/** A repository with one commit, and its dependencies. */
function makeRepository(name: string): {
  readonly repository: string;
  readonly write: Write;
  readonly commit: Commit;
} {
  const repository = join(folder, name);
  const git = (...args: readonly string[]): string =>
    execFileSync('git', ['-c', 'user.name=test', '-c', 'user.email=test@example.com', ...args], {
      cwd: repository,
      encoding: 'utf8',
    }).trim();
  const write: Write = (file, text) => writeFileSync(join(repository, file), text);
  const commit: Commit = () => {
    git('add', '--all');
    git('commit', '--quiet', '--message', 'a commit');
    return git('rev-parse', '--short', 'HEAD');
  };
  mkdirSync(join(repository, 'src'), { recursive: true });
  mkdirSync(join(repository, 'node_modules'));
  git('init', '--quiet');
  write('.gitignore', 'node_modules');
  write('src/cli.ts', 'first');
  write('package-lock.json', '{}');
  return { repository, write, commit };
}

type Write = (file: string, text: string) => void;
type Commit = () => string;

const readService = (root: string): string => readFileSync(join(root, 'src/cli.ts'), 'utf8');

test('a commit is extracted, and uses the dependencies of the working tree', () => {
  const { repository, write, commit } = makeRepository('commits');
  const first = commit();
  write('src/cli.ts', 'second');
  commit();
  const tree = openTree('HEAD~1', { folder, repository });
  assert.equal(readService(tree.root), 'first');
  assert.equal(tree.revision, first);
  assert.equal(realpathSync(join(tree.root, 'node_modules')), realpathSync(join(repository, 'node_modules')));
  assert.notEqual(openTree(first, { folder, repository }).root, tree.root);
});

test('a folder is used as it is', () => {
  const { repository, write, commit } = makeRepository('folder');
  const revision = commit();
  write('src/cli.ts', 'changed');
  const tree = openTree(repository, { folder });
  assert.equal(readService(tree.root), 'changed');
  assert.equal(tree.revision, `${revision}-dirty`);
});

test('a tree that cannot run is rejected', async (t) => {
  const { repository, write, commit } = makeRepository('rejected');
  await t.test('neither a folder nor a commit', () => {
    for (const name of ['no-such-branch', '--output=file'])
      assert.throws(() => openTree(name, { folder, repository }), /is neither a folder nor a commit/);
  });
  await t.test('a folder without a service', () => {
    assert.throws(() => openTree(folder, { folder }), /has no src\/cli\.ts/);
  });
  await t.test('a commit with other dependencies', () => {
    commit();
    write('package-lock.json', '{"other": true}');
    assert.throws(() => openTree('HEAD', { folder, repository }), /has other dependencies/);
  });
  await t.test('a folder without dependencies', () => {
    rmSync(join(repository, 'node_modules'), { recursive: true });
    assert.throws(() => openTree(repository, { folder }), /has no node_modules: run npm ci there/);
  });
});
