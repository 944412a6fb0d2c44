import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { hasLink, hasNumber } from '../../src/features/online-sales/domain/buyer-text.ts';

/** The plugin for WooCommerce has the same rule. */
const { links, harmless, numbers, names } = JSON.parse(
  readFileSync(
    join(import.meta.dirname, '../../integrations/woocommerce/test/unit/buyer-texts.json'),
    'utf8',
  ),
) as {
  readonly links: Readonly<Record<string, readonly string[]>>;
  readonly harmless: readonly string[];
  readonly numbers: readonly string[];
  readonly names: readonly string[];
};

test('a text that email programs show as a link is rejected', async (t) => {
  for (const [kind, texts] of Object.entries(links))
    await t.test(kind, () => assert.deepEqual(texts.filter((text) => !hasLink(text)), [])); // prettier-ignore
});

test('a text without a link is accepted', () => {
  assert.deepEqual(
    harmless.filter((text) => hasLink(text)),
    [],
  );
});

test('a full stop before the next sentence needs a space', () => {
  for (const text of ['Dr.Müller', 'Mr.Smith', 'Hello.World', 'xoxo.Mum', '20.Geburtstag', '축하해.사랑해'])
    assert.deepEqual([hasLink(text), hasLink(text.replace('.', '. '))], [true, false], text);
});

test('a name has no phone number and no amount', () => {
  assert.deepEqual(numbers.filter((name) => !hasNumber(name)), []); // prettier-ignore
  assert.deepEqual(names.filter((name) => hasNumber(name) || hasLink(name)), []); // prettier-ignore
});
