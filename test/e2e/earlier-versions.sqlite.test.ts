/**
 * A database of an earlier version is opened, verified, backed up and restored. The fixture has a card with a debit, holds
 * in each state and a changed note, and was written over HTTP by commit dbefbdb, in which holds in events had no actor.
 */

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { gunzipSync } from 'node:zlib';
import { makeHome } from './largesse.ts';

const keys = '{"keys":[{"id":"11a29548","secret":"2MWWmz9A+dAscH5dFQXnaR3HAHnra4KPxXoS5Nq9UZA="}]}';
const fixture = join(import.meta.dirname, '../support/before-hold-actors.db.gz');

test('a database of an earlier version is migrated, verified, backed up and restored', async () => {
  await using home = await makeHome();
  const file = join(home.folder, 'earlier.db');
  writeFileSync(file, gunzipSync(readFileSync(fixture)));
  const keysFile = join(home.folder, 'earlier.keys.json');
  writeFileSync(keysFile, keys, { mode: 0o600 });
  const on = { DATABASE_URL: `file:${file}`, KEYS_FILE: keysFile };
  const outcomes = [];
  const restored = { ...on, DATABASE_URL: `file:${join(home.folder, 'restored.db')}` };
  for (const [args, environment] of [
    [['migrate'], on],
    [['verify'], on],
    [['backup', 'backup.db'], on],
    [['restore', 'backup.db'], restored],
    [['verify'], restored],
  ] as const) {
    const { code, output, errors } = await home.run(args, environment);
    outcomes.push({ args, code, errors: errors.replaceAll(/^verified: .*$/gm, '').trim() });
    if (args[0] === 'verify') assert.match(output, /28\.50 +USD/);
  }
  assert.deepEqual(
    outcomes.map(({ args, code, errors }) => [args[0], code, errors]),
    ['migrate', 'verify', 'backup', 'restore', 'verify'].map((command) => [command, 0, '']),
  );
});
