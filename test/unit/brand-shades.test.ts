/** The shades of a shop's color, on every ground that its buttons, links and bars have. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { brandOf } from '../../src/features/emails/delivery/colour.ts';
import { light as email, rulesFor } from '../../src/features/emails/delivery/style.ts';

/** Relative luminance of WCAG 2.2, written a second time. @param color `#rrggbb`. */
function luminance(color: string): number {
  const linear = [1, 3, 5].map((at) => {
    const value = Number.parseInt(color.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  const [red = 0, green = 0, blue = 0] = linear;
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(left: string, right: string): number {
  const [one, other] = [luminance(left), luminance(right)];
  return (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
}

const darkRules = String(rulesFor({ color: '#ffffff', text: '#000000' }));

/** The dark ground of a class of emails. */
function darkGround(name: string): string {
  return new RegExp(`\\.${name} \\{ background: (#[\\da-f]{6}) `).exec(darkRules)?.[1] ?? assert.fail(name);
}

const grounds = {
  light: ['#f2efe8', '#ffffff', email.page, email.sheet, email.panel],
  dark: ['#222623', '#121412', darkGround('page'), darkGround('sheet'), darkGround('panel')],
} as const;

/** Each channel in steps of 15, and every gray. */
function* manyColors(): Generator<string> {
  const digits = (value: number): string => value.toString(16).padStart(2, '0');
  for (let red = 0; red < 256; red += 15)
    for (let green = 0; green < 256; green += 15)
      for (let blue = 0; blue < 256; blue += 15) yield `#${digits(red)}${digits(green)}${digits(blue)}`;
  for (let gray = 0; gray < 256; gray += 1) yield `#${digits(gray).repeat(3)}`;
}

test('every color has shades with a contrast of 4.5 on each ground, and readable text on them', () => {
  let count = 0;
  for (const color of manyColors()) {
    const { shades } = brandOf(color);
    for (const theme of ['light', 'dark'] as const) {
      const shade = shades[theme];
      for (const ground of grounds[theme])
        assert.ok(contrast(shade.color, ground) >= 4.5, `${color}: ${shade.color} on ${ground}`);
      assert.ok(contrast(shade.text, shade.color) >= 4.5, `${color}: ${shade.text} on ${shade.color}`);
    }
    count += 1;
  }
  assert.equal(count, 18 ** 3 + 256);
});
