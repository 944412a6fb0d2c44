/**
 * Imports between the areas of `src` follow `areas.json`: how many imports of each other area an area may have. An area
 * without an entry may import none, and numbers may only fall. `UPDATE_AREAS=1` writes the numbers that it finds.
 */

import assert from 'node:assert/strict';
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { posix } from 'node:path';
import test from 'node:test';
import { areaOf } from './arrows.ts';

type Arrows = Readonly<Record<string, Readonly<Record<string, number>>>>;

/** These wire all features, and are not counted. */
const wiring = new Set(['start', 'cli', 'api', 'jobs', 'cli.ts', 'feature.ts', 'features.ts']);
/** Every area imports these. */
const ground = new Set(['platform', 'database', 'http', 'delivery', 'pages', 'core']);
const file = 'test/unit/areas.json';

function readArrows(): Arrows {
  const found: Record<string, Record<string, number>> = {};
  const pattern = /\b(?:from|import)\s*\(?\s*'(\.[^'\n]+)'/g;
  for (const path of globSync('src/**/*.ts').toSorted()) {
    const from = areaOf(posix.relative('src', path));
    if (wiring.has(from)) continue;
    for (const [, specifier = ''] of readFileSync(path, 'utf8').matchAll(pattern)) {
      const imported = posix.join(posix.dirname(path), specifier);
      const to = areaOf(posix.relative('src', imported));
      if (!imported.startsWith('src/') || to === from || wiring.has(to) || ground.has(to)) continue;
      found[from] ??= {};
      const ofArea = found[from];
      ofArea[to] = (ofArea[to] ?? 0) + 1;
    }
  }
  return found;
}

test('an area imports features as often as listed, which can only become less often', () => {
  const found = readArrows();
  if (process.env['UPDATE_AREAS'] === '1') writeFileSync(file, `${JSON.stringify(found, null, 2)}\n`);
  assert.deepEqual(found, JSON.parse(readFileSync(file, 'utf8')));
});
