/**
 * Random bytes of a database file are changed. Either the damage is reported, or `verify` names a problem, or no value
 * that is verified has changed.
 *
 * `CORRUPTIONS` sets the number of files, `CORRUPTION_SEED` the seed.
 */

import assert from 'node:assert/strict';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import test from 'node:test';
import { readDatabaseConfig } from '../../src/config.ts';
import { openDatabase } from '../../src/database.ts';
import { tables, type Decision } from '../conformance/corruption-cases.ts';
import { fillLedger } from '../conformance/corruption.ts';
import { sqliteEngine } from '../support/engine-sqlite.ts';
import { testContext } from '../support/fixtures.ts';
import { seeded, type Seeded } from '../support/seeded.ts';
import { command } from '../support/served.ts';

const files = Number(process.env['CORRUPTIONS'] ?? 2_000);
const seed = Number(process.env['CORRUPTION_SEED'] ?? Date.now() % 2 ** 31);

/** Parts of verified columns that nothing else repeats. */
const partlyVerified: Readonly<Record<string, string>> = {
  // Only the first 64 bits are repeated, in the lookup.
  'gift_card_codes.digest': 'substr(digest, 1, 8)',
  // Earlier events repeat neither the later values of a card's record nor every detail of their cause.
  'events.data': `data ->> '$.gift_card.balance'`,
};

/** The values of the ledger that are verified, as text. @throws the error of a file that SQLite cannot read. */
function contentOf(file: string): string {
  using database = new DatabaseSync(file, { readOnly: true, readBigInts: true });
  const rows = Object.entries(tables).flatMap(([table, { columns }]) => {
    const verified = Object.entries(columns).filter(
      ([column, decision]) => isVerified(decision) && column !== 'transaction_id',
    );
    const listed = verified.map(([column]) => partlyVerified[`${table}.${column}`] ?? column);
    const key = table === 'gift_card_codes' ? 'lookup' : 'id';
    return database.prepare(`select ${listed.join(', ')} from ${table} order by store_id, ${key}`).all();
  });
  return JSON.stringify(rows, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
}

function isVerified(decision: Decision): boolean {
  return 'finds' in decision;
}

/** Changes one to three bytes: one bit of each, or the whole byte. */
function changeBytes(bytes: Buffer, random: Seeded): readonly number[] {
  const places = Array.from({ length: random.between(1, 3) }, () => random.between(0, bytes.length - 1));
  for (const place of places)
    bytes[place] =
      (bytes[place] ?? 0) ^ (random() < 0.5 ? 1 << random.between(0, 7) : random.between(1, 255));
  return places;
}

test(`changed bytes of ${files} files are reported, or have changed nothing that is verified`, async (t) => {
  t.diagnostic(`seed ${seed} (CORRUPTION_SEED)`);
  const random = seeded(seed);
  await using database = await sqliteEngine.createDatabase({ empty: true });
  const config = readDatabaseConfig(database.environment);
  assert.equal(config.database.kind, 'file');
  const { file } = config.database;
  {
    await using opened = await openDatabase(config, { prepare: true });
    await fillLedger(opened.storage, { ...testContext(), keys: opened.ctx.keys });
  }
  const sound = join(database.folder, 'sound.db');
  copyFileSync(file, sound);
  const content = contentOf(sound);
  const counts = { reported: 0, unchanged: 0 };
  for (let round = 0; round < files; round += 1) {
    const bytes = readFileSync(sound);
    const places = changeBytes(bytes, random);
    writeFileSync(file, bytes);
    const { code, output } = await command(database.environment, 'verify', '--json');
    if (code === 0) {
      assert.equal(contentOf(file), content, `round ${round}, bytes ${places.join(', ')}: ${output}`);
      counts.unchanged += 1;
    } else counts.reported += 1;
  }
  t.diagnostic(`reported ${counts.reported}, nothing verified changed ${counts.unchanged}`);
  assert.ok(counts.reported > 0 && counts.unchanged > 0);
});
