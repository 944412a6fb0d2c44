/** SQLite versions that can corrupt a file are rejected. */

import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { openDatabase } from '../../src/start/database.ts';
import { readConfig } from '../../src/start/config.ts';
import { requireSoundSqlite } from '../../src/database/sqlite/version.ts';

test('SQLite below 3.51.3 is rejected, and a later one is accepted', () => {
  for (const version of ['3.51.3', '3.51.10', '3.52.0', '3.100.0', '4.0.0', process.versions['sqlite']])
    requireSoundSqlite(version);
  for (const version of ['3.51.2', '3.51', '3.50.9', '3.6.23', '2.60.0', '', 'unknown', undefined])
    assert.throws(() => requireSoundSqlite(version), /SQLite 3\.51\.3 or later is required/, version);
});

test('with an old SQLite, the database is not opened and no file is created', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'largesse-sqlite-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'largesse.db');
  const present = Object.getOwnPropertyDescriptor(process, 'versions');
  assert.ok(present);
  Object.defineProperty(process, 'versions', {
    ...present,
    value: { ...process.versions, sqlite: '3.51.2' },
  });
  try {
    const config = readConfig({ DATABASE_URL: `file:${file}` });
    await assert.rejects(openDatabase(config, { prepare: true }), /this Node\.js contains SQLite 3\.51\.2/);
  } finally {
    Object.defineProperty(process, 'versions', present);
  }
  assert.ok(!existsSync(file));
});
