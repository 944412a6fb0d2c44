/** Features that can be deleted: `src` compiles without the folder of one and its line in `src/features.ts`. */

import assert from 'node:assert/strict';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { compileCopy } from '../support/compiled-copy.ts';

const deletable = ['app-proxy', 'doctor', 'mcp'];

/** The errors of the compiler without a feature. */
function errorsWithout(feature: string): string {
  return compileCopy((src) => {
    rmSync(join(src, 'features', feature), { recursive: true });
    const list = join(src, 'features.ts');
    const lines = readFileSync(list, 'utf8').split('\n');
    const [, value] =
      /import \{ (\w+) \}/.exec(lines.find((line) => line.includes(`/${feature}/`)) ?? '') ?? [];
    assert.ok(value, `src/features.ts has no ${feature}`);
    writeFileSync(list, lines.filter((line) => !line.includes(value)).join('\n'));
  });
}

for (const feature of deletable)
  test(`src compiles without ${feature}`, () => assert.equal(errorsWithout(feature), ''));

test('src does not compile without a feature that others need', () => {
  assert.match(errorsWithout('emails'), /error TS2307/);
});
