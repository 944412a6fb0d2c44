/** The texts about the settings are generated from their table. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { format, resolveConfig } from 'prettier';
import { program } from '../../src/cli/program.ts';
import { settingsHelp, settingsPage } from '../../src/cli/settings.ts';
import { settings, type Setting } from '../../src/start/settings.ts';

const rows = Object.values<Readonly<Record<string, Setting<unknown>>>>(settings).flatMap((group) =>
  Object.values(group),
);

test('docs/settings.md is the output of "npm run docs:settings"', async () => {
  const path = 'docs/settings.md';
  const options = await resolveConfig(path);
  assert.equal(readFileSync(path, 'utf8'), await format(settingsPage(), { ...options, filepath: path }));
});

test('the page and the help of serve describe every setting with its default', () => {
  const help = settingsHelp();
  const plain = (text: string): string => text.replaceAll('`', '').replaceAll(/\s+/g, ' ');
  for (const text of [help, settingsPage()]) {
    for (const { variable, description, accepts, shownDefault, contains } of rows) {
      assert.match(text, new RegExp(`\\b${variable}\\b`));
      for (const part of [description, accepts, shownDefault])
        assert.ok(plain(text).includes(plain(part)), variable);
      assert.equal(text.includes(`${variable}_FILE`), contains !== undefined, variable);
    }
  }
  for (const line of help.split('\n')) assert.ok(line.length <= 100, line);
});

test('the help of serve contains the settings, and the help does not list settings-page', () => {
  const root = program();
  const serve = root.commands.find((command) => command.name() === 'serve');
  let help = '';
  serve?.configureOutput({ writeOut: (text) => (help += text) });
  serve?.outputHelp();
  assert.ok(help.includes(settingsHelp()));
  assert.doesNotMatch(root.helpInformation(), /settings-page/);
});
