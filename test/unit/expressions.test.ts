/** The time of every regular expression of the service is linear in its text. */

import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import test from 'node:test';
import { assertQuick, shorten } from '../support/worst-strings.ts';
import { expressionsOf, samplesOf, triesEveryPlace, type Expression } from './expressions.ts';

const expressions = new Map(
  globSync('src/**/*.ts')
    .toSorted()
    .flatMap((path) =>
      expressionsOf(path, readFileSync(path, 'utf8')).map(
        (expression) => [`${path} /${expression.source}/${expression.flags}`, expression] as const,
      ),
    ),
);

const show = ({ source, flags }: Expression): string => `/${source}/${flags}`;

/** The documentation is generated from the service's own texts. */
const ownTexts = 'src/features/reference/docs/';

/** Each exception has its reason. This list can only shrink. */
const allowed: Readonly<Record<string, string>> = {
  [String.raw`src/http/etag.ts /(W\/)?"([\x21\x23-\x7e\x80-\xff]*)"/g`]:
    'a match starts at a quotation mark or just before it, and the repeated part contains none: each run is read once',
};

test('the expressions of every layer are found, as literals and as strings', () => {
  const found = [...expressions.keys()];
  assert.ok(found.length > 80, `only ${found.length} expressions`);
  for (const one of ['src/core/emails/domain/email.ts /', 'src/http/request-head.ts /', 'src/core/cards/domain/given-code.ts /', 'src/start/config.ts /'])
    assert.ok(found.some((name) => name.startsWith(one)), one);
}); // prettier-ignore

test('no unanchored expression has an unbounded repetition before another part', () => {
  const found = [...expressions].filter(
    ([name, expression]) => !name.startsWith(ownTexts) && triesEveryPlace(expression),
  );
  assert.deepEqual(
    found.map(([name]) => name).toSorted(),
    Object.keys(allowed).toSorted(),
    'anchor the expression, bound the repetition, or give the reason why it is safe',
  );
});

test('triesEveryPlace finds quadratic expressions', () => {
  const expression = ({ source, flags }: RegExp): Expression => ({ source, flags });
  for (const bad of [
    /0+$/, / *$/, /^ +| +$/g, /a(?:b+c?)$/, /(?:^a|b)\s*$/, /\s{2,}$/, /.*@/, /"[^"]*"/, /x?(?:ab)+$/, /[^\x20-\x7e].*@/, /(?:a+|b)(?:$|c)/,
  ]) assert.ok(triesEveryPlace(expression(bad)), show(bad));
  for (const good of [
    /^0+$/, /^(?:a|b)*$/, /0$/, /:\d{1,5}$/, /\s+/g, /^[ \t]+/, /(?:^a|^b)c*$/, /^https?:\/\/.*$/i, /(?=a+$)b/, /a+b?/, /\p{Cc}/u, /^a*$/gm, /a+b/y,
  ]) assert.ok(!triesEveryPlace(expression(good)), show(good));
}); // prettier-ignore

const lengthMax = 65_536;

for (const [name, expression] of expressions) {
  if (name.startsWith(ownTexts)) continue;
  test(`the time of ${name} is linear in the text`, async () => {
    const { source, flags } = expression;
    const matcher = new RegExp(
      flags.includes('y') ? `^(?:${source})` : source,
      flags.replaceAll(/[gy]/g, ''),
    );
    const samples = samplesOf(expression).slice(0, 16);
    const starts = samples.map((_, index) => samples.slice(0, index).join(''));
    const units = new Set([
      ...samples,
      ...samples.map((sample, index) => sample + (samples[index + 1] ?? '')),
    ]);
    for (const unit of units) {
      if (unit === '') continue;
      for (const start of new Set(['', ...starts])) {
        for (const end of ['', '\u0000']) {
          const text = start + unit.repeat(lengthMax / unit.length) + end;
          await assertQuick(shorten(text), () => matcher.test(text));
        }
      }
    }
  });
}
