/**
 * Random bytes of a database file are changed. Either the damage is reported, or `verify` names a problem, or no value
 * that is verified has changed.
 *
 * `CORRUPTIONS` sets the number of files, `CORRUPTION_SEED` the seed.
 */

import assert from 'node:assert/strict';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync, type SQLOutputValue } from 'node:sqlite';
import test from 'node:test';
import { readDatabaseConfig } from '../../src/start/config.ts';
import { openDatabase } from '../../src/start/database.ts';
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
  // Events repeat the times of a hold in whole seconds.
  'holds.created_at': 'created_at / 1000',
  'holds.expires_at': 'expires_at / 1000',
  'holds.closed_at': 'closed_at / 1000',
};

/** The values of the ledger that are verified, each with its table, row and column. @throws the error of a file that SQLite cannot read. */
function contentOf(file: string): ReadonlyMap<string, string> {
  using database = new DatabaseSync(file, { readOnly: true, readBigInts: true });
  const values = new Map<string, string>();
  for (const [table, { columns }] of Object.entries(tables)) {
    const listed = Object.entries(columns)
      .filter(([column, decision]) => isVerified(decision) && column !== 'transaction_id')
      .map(([column]) => `${partlyVerified[`${table}.${column}`] ?? column} as "${column}"`);
    const key = table === 'gift_card_codes' ? 'lookup' : 'id';
    const rows = database
      .prepare(`select ${listed.join(', ')} from ${table} order by store_id, ${key}`)
      .all();
    for (const [index, row] of rows.entries())
      for (const [column, value] of Object.entries(row))
        values.set(`${table}[${index}].${column}`, textOf(value));
  }
  return values;
}

function textOf(value: SQLOutputValue): string {
  return value instanceof Uint8Array ? Buffer.from(value).toString('hex') : String(value);
}

/** The values that differ. */
function differences(
  before: ReadonlyMap<string, string>,
  after: ReadonlyMap<string, string>,
): readonly string[] {
  return Array.from(new Set([...before.keys(), ...after.keys()]))
    .filter((name) => before.get(name) !== after.get(name))
    .map((name) => `${name}: ${before.get(name)} → ${after.get(name)}`);
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
    const { code } = await command(database.environment, 'verify', '--json');
    if (code === 0) {
      assert.deepEqual(
        differences(content, contentOf(file)),
        [],
        `round ${round}, bytes ${places.join(', ')}`,
      );
      counts.unchanged += 1;
    } else counts.reported += 1;
  }
  t.diagnostic(`reported ${counts.reported}, nothing verified changed ${counts.unchanged}`);
  assert.ok(counts.reported > 0 && counts.unchanged > 0);
});
