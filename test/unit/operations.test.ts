import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { operations } from '../../src/api/index.ts';

test('the list of operations contains the method and path of each', () => {
  const listed = [
    ...readFileSync('src/api/index.ts', 'utf8').matchAll(/^ {2}(?:\w+\.)?(\w+), \/\/ (\w+) (\S+)$/gm),
  ];
  assert.deepEqual(
    listed.map(([, name, method, path]) => ({ name, method, path })),
    operations.map(({ id, method, path }) => ({ name: id, method, path })),
  );
});

test('no two operations have the same id, or the same method and path', () => {
  const ids = operations.map(({ id }) => id);
  const routes = operations.map(({ method, path }) => `${method} ${path}`);
  for (const list of [ids, routes]) assert.deepEqual([...new Set<string>(list)], list);
});
