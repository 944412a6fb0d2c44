/** The plugin of WooCommerce: its translations, and the version that it names. Its own tests are in `integrations`. */

import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { moOf, parsePo } from '../../packaging/woocommerce/translations.ts';

const plugin = join(import.meta.dirname, '../../integrations/woocommerce');
const sources = globSync('**/*.php', { cwd: join(plugin, 'includes') }).map((file) =>
  readFileSync(join(plugin, 'includes', file), 'utf8'),
);

/** The texts that PHP translates. */
const texts = new Set(
  sources.flatMap((source) =>
    Array.from(source.matchAll(/\b(?:esc_html|esc_attr)?__\(\s*'((?:[^'\\]|\\.)*)'/g), ([, text = '']) =>
      text.replaceAll("\\'", "'"),
    ),
  ),
);

const placeholders = (text: string): readonly string[] => (text.match(/%(?:\d\$)?[sd]/g) ?? []).toSorted();

test('every text of the plugin for WooCommerce is translated, with its placeholders', () => {
  assert.ok(texts.size > 100, `${texts.size} texts`);
  for (const language of ['de_DE', 'es_ES', 'fr_FR']) {
    const file = join(plugin, 'languages', `largesse-gift-cards-${language}.po`);
    const messages = parsePo(readFileSync(file, 'utf8'));
    assert.match(messages.get('') ?? '', new RegExp(`Language: ${language}\n`));
    for (const text of texts) {
      const translation = messages.get(text) ?? '';
      assert.notEqual(translation, '', `${language}: ${text}`);
      assert.deepEqual(placeholders(translation), placeholders(text), `${language}: ${text}`);
    }
    const unused = [...messages.keys()].filter((text) => text !== '' && !texts.has(text));
    assert.deepEqual(unused, [], language);
  }
});

test('a text of a plugin is translated in its own domain', () => {
  const calls = sources.flatMap(
    (source) => source.match(/\b(?:esc_html|esc_attr)?__\(\s*'(?:[^'\\]|\\.)*'[^)]*\)/g) ?? [],
  );
  for (const call of calls) assert.match(call, /, 'largesse-gift-cards'\)$/);
});

test('a binary file of translations has its texts in the order of their bytes', () => {
  const file = moOf(
    parsePo('msgid ""\nmsgstr "H\\n"\n\nmsgid "b"\nmsgstr "Zwei"\n\nmsgid "a"\n"c"\nmsgstr "Eins"\n'),
  );
  const read = (table: number, index: number): string => {
    const at = file.readUInt32LE(table) + index * 8;
    return file.subarray(file.readUInt32LE(at + 4)).toString('utf8', 0, file.readUInt32LE(at));
  };
  assert.equal(file.readUInt32LE(0), 0x950412de);
  assert.equal(file.readUInt32LE(8), 3);
  assert.deepEqual([0, 1, 2].map((index) => [read(12, index), read(16, index)]), [['', 'H\n'], ['ac', 'Eins'], ['b', 'Zwei']]); // prettier-ignore
  assert.throws(() => parsePo('nonsense'), SyntaxError);
});

test('the plugin for WooCommerce names the version of the repository', () => {
  const { version } = JSON.parse(readFileSync(join(plugin, '../../package.json'), 'utf8')) as {
    version: string;
  };
  const main = readFileSync(join(plugin, 'largesse-gift-cards.php'), 'utf8');
  assert.ok(main.includes(` * Version: ${version}\n`));
  assert.ok(sources.some((source) => source.includes(`const VERSION = '${version}';`)));
});
