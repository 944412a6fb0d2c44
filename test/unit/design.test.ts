/** The designs of cards: their colors, and the drawings and rules that have the same colors. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { legibilityOn, type Colour } from '../../src/features/emails/delivery/colour.ts';
import {
  cardDesigns,
  designColors,
  designOf,
  parseDesign,
  type PicturedDesign,
} from '../../src/core/cards/domain/design.ts';

const assets = new URL('../../src/pages/assets/', import.meta.url);
const sheet = readFileSync(new URL('largesse.css', assets), 'utf8');
const pictured = Object.keys(designColors) as readonly PicturedDesign[];

function drawingOf(design: PicturedDesign): string {
  return readFileSync(new URL(`design-${design.replace('_', '-')}.svg`, assets), 'utf8');
}

function luminance(color: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const value = Number.parseInt(color.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** The contrast of WCAG 2, 1 to 21. */
function contrastOf(one: string, other: string): number {
  const [light = 0, dark = 0] = [luminance(one), luminance(other)].toSorted((left, right) => right - left);
  return (light + 0.05) / (dark + 0.05);
}

for (const design of pictured)
  test(`the text on ${design} has a contrast of at least 7, on the ground of its drawing and of its rule`, () => {
    const { ground, ink } = designColors[design];
    assert.ok(contrastOf(ground, ink) >= 7, String(contrastOf(ground, ink)));
    const svg = drawingOf(design);
    assert.ok(svg.includes(`<path fill="${ground}" d="M0 0h416v262H0z"/>`), 'the ground fills the drawing');
    const rule = `.design-${design.replace('_', '-')} {\n    --brand: ${ground};\n    --on-brand: ${ink};\n  }`;
    assert.ok(sheet.includes(rule), rule);
  });

test('the plain design of a store without a color has a contrast of at least 7', () => {
  const { colour, contrast } = legibilityOn(null);
  assert.ok(contrast >= 7, `${colour satisfies Colour}: ${contrast}`);
});

test('the drawings have at most 40 kB, and load nothing', () => {
  const svgs = pictured.map(drawingOf);
  assert.ok(Buffer.byteLength(svgs.join('')) <= 40_000);
  for (const svg of svgs) assert.doesNotMatch(svg, /href|url\(|<script|<style|<image|@import/i);
});

test('a design is one of the names, and that of the store without one', () => {
  for (const design of cardDesigns) assert.deepEqual(parseDesign(design), { ok: true, value: design });
  for (const wrong of ['', 'Birthday', 'birthday ', 'constructor', 7, ['birthday'], {}])
    assert.equal(parseDesign(wrong).ok, false);
  assert.equal(designOf('love', 'winter'), 'love');
  assert.equal(designOf(null, 'winter'), 'winter');
});
