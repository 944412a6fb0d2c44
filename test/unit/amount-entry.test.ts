/** The script of the pages reads amounts as the server does. */

import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import fc from 'fast-check';
import { amountValue, parseTypedAmount } from '../../src/pages/kit/format.ts';
import { currencyOf } from '../../src/core/money/domain/currency.ts';

type Formats = {
  readonly parse: (text: string) => bigint | null;
  readonly typed: (minor: bigint) => string;
  readonly shown: (minor: bigint) => string;
};
type Script = { readonly formatsOf: (currency: string, decimals: number) => Formats };

const global = globalThis as { document?: unknown };
const before = global.document;
after(() => (global.document = before));
const languages = ['en', 'de', 'es', 'fr'] as const;
const scripts = new Map<string, Script>();
for (const language of languages) {
  global.document = { documentElement: { lang: language } };
  scripts.set(language, (await import(`../../src/pages/assets/amount.js?language=${language}`)) as Script);
}

const written = fc.string({
  unit: fc.constantFrom('0', '1', '2', '5', '.', ',', ' ', "'", '’', '€', '\u202f'),
});
const place = [fc.constantFrom(...languages), fc.constantFrom('EUR', 'JPY', 'KWD', 'USD', 'CHF')] as const;

function formatsIn(language: string, code: string): Formats {
  const script = scripts.get(language) ?? assert.fail(language);
  return script.formatsOf(code, currencyOf(code).decimals);
}

test('the script never reads another amount than the server', () => {
  fc.assert(
    fc.property(...place, written, (language, code, text) => {
      const minor = formatsIn(language, code).parse(text);
      if (minor === null) return;
      const parsed = parseTypedAmount(text, { currency: currencyOf(code) }, { language, zeroAllowed: true });
      assert.ok(parsed.ok && parsed.value.minor === minor, `${language} ${code} ${text} ${minor}`);
    }),
    { numRuns: 5_000, examples: [['fr', 'JPY', '2,000']] },
  );
});

test('the script reads what the pages show and what it writes', () => {
  fc.assert(
    fc.property(...place, fc.bigInt({ min: 0n, max: 10n ** 11n }), (language, code, minor) => {
      const formats = formatsIn(language, code);
      const field = amountValue({ minor, currency: currencyOf(code) }, language);
      for (const text of [formats.shown(minor), formats.typed(minor), field])
        assert.equal(formats.parse(text), minor, `${language} ${text}`);
      assert.equal(formats.typed(minor), field);
    }),
    { numRuns: 1_000 },
  );
});
