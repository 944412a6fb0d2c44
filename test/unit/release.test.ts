/** The conditions of a release: one version, and a workflow without secrets. */

import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import test from 'node:test';

const { version, dependencies, ...manifest } = JSON.parse(readFileSync('package.json', 'utf8')) as {
  readonly version: string;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly private?: boolean;
  readonly engines: { readonly node: string };
};

test('the newest version of the changelog is the version of the package', () => {
  const [, newest] =
    /^## \[([^\]]+)\] - (?:\d{4}-\d{2}-\d{2}|Unreleased)$/m.exec(readFileSync('CHANGELOG.md', 'utf8')) ?? [];
  assert.equal(newest, version);
});

test('the other packages have the version of the service', () => {
  for (const folder of ['packages/client', 'integrations/vendure']) {
    const other = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8')) as { readonly version: string };
    assert.equal(other.version, version, folder);
  }
});

test('only the built package can be published, and depends on no package that brings a Node.js', () => {
  assert.equal(manifest.private, true);
  assert.equal(manifest.engines.node, '>=26');
  assert.equal(dependencies['node'], undefined);
});

test('the workflows have no secret, and each job has only the rights that it names', () => {
  for (const path of globSync('.github/workflows/*.yml')) {
    const text = readFileSync(path, 'utf8');
    assert.doesNotMatch(text, /secrets\.|NODE_AUTH_TOKEN|_TOKEN:(?! \$\{\{ github\.token \}\})/, path);
    assert.match(text, /^permissions:\n {2}contents: read\n/m, path);
    const checkouts = text.match(/uses: actions\/checkout@/g)?.length;
    assert.equal(text.match(/persist-credentials: false/g)?.length, checkouts, path);
  }
});
