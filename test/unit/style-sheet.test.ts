/** The style sheets of the console: each class is used by a page or a script, and each rule has one place. */

import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';

const folder = join(import.meta.dirname, '../../src');
const sheet = ['largesse.css', 'buy.css']
  .map((name) => readFileSync(join(folder, 'pages/assets', name), 'utf8'))
  .join('\n');

type Rule = {
  /** The layer and the conditions. */
  readonly context: string;
  readonly selector: string;
};

function rulesOf(css: string): readonly Rule[] {
  const open: string[] = [];
  const rules: Rule[] = [];
  for (const [, text = '', end] of css.replaceAll(/\/\*.*?\*\//gs, '').matchAll(/([^{};]*)([{};])/g)) {
    const prelude = text.trim().replaceAll(/\s+/g, ' ');
    if (end === '}') open.pop();
    if (end !== '{') continue;
    const isInKeyframes = open.at(-1)?.startsWith('@keyframes') ?? false;
    if (!prelude.startsWith('@') && !isInKeyframes)
      rules.push({ context: open.join(' '), selector: prelude });
    open.push(prelude);
  }
  return rules;
}

/** The classes that pages and scripts can set: words in `class="…"`, and words in quotes, from which classes are made. */
function usedClasses(): ReadonlySet<string> {
  const used = new Set<string>();
  for (const file of globSync('{pages,features/*/pages}/**/*.{ts,js}', { cwd: folder })) {
    const source = readFileSync(join(folder, file), 'utf8');
    const texts = [...source.matchAll(/class="([^"]*)"/g), ...source.matchAll(/'([a-z][a-z -]*)'/g)];
    for (const [, text = ''] of texts) for (const [word] of text.matchAll(/[\w-]+/g)) used.add(word);
  }
  return used;
}

test('every class of the style sheets is used', () => {
  const used = usedClasses();
  const styled = new Set(
    rulesOf(sheet).flatMap(({ selector }) =>
      Array.from(selector.replaceAll(/'[^']*'/g, '').matchAll(/\.([a-z][\w-]*)/gi), ([, name = '']) => name),
    ),
  );
  assert.ok(styled.has('button'));
  assert.deepEqual(
    [...styled].filter((name) => !used.has(name)),
    [],
  );
});

test('no selector has two rules in one layer, under the same conditions', () => {
  const rules = rulesOf(sheet);
  assert.ok(rules.length > 100);
  const places = rules.map(({ context, selector }) => `${context} { ${selector}`);
  assert.deepEqual(
    places.filter((place, index) => places.indexOf(place) < index),
    [],
  );
});
