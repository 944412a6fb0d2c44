/** docs/deployment.md and compose.yaml agree with the program. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { settings, type Setting } from '../../src/settings.ts';
import { loadMigrations } from '../../src/storage/migrate.ts';

const page = readFileSync('docs/deployment.md', 'utf8');
const compose = readFileSync('compose.yaml', 'utf8');

/** Returns the first group of every match. */
function found(text: string, pattern: RegExp): readonly string[] {
  return Array.from(text.matchAll(pattern), ([, name = '']) => name);
}

test('the list for Citus distributes every table with the data of stores, and drops the triggers that Citus rejects', () => {
  const schema = loadMigrations('postgres')
    .map(({ text }) => text)
    .join('\n');
  const dropped = new Set(found(schema, /^drop table (\w+);$/gm));
  // PostgreSQL renames the same tables in a block that also renames their partitions.
  const sqlite = loadMigrations('sqlite')
    .map(({ text }) => text)
    .join('\n');
  const droppedLater = new Set(found(sqlite, /^drop table (\w+);$/gm));
  const renames = [...sqlite.matchAll(/^alter table (\w+) rename to (\w+);$/gm)];
  const renamed = new Map(
    renames.flatMap(([, from = '', to = '']) => (droppedLater.has(to) ? [] : [[from, to]])),
  );
  const divided = found(schema, /^create table (\w+) \(\n(?:(?!\n\);)[\s\S])*\n\); -- by store$/gm)
    .filter((name) => !dropped.has(name))
    .map((name) => renamed.get(name) ?? name);
  assert.ok(divided.length > 5);
  assert.deepEqual(found(page, /create_distributed_table\('(\w+)'/g), divided);
  const ofStatements = found(schema, /^create trigger (\w+) before truncate/gm);
  assert.deepEqual(found(page, /^drop trigger (\w+) on/gm).toSorted(), ofStatements.toSorted());
});

test('compose.yaml publishes on this machine only, sets supported variables, and contains no password', () => {
  const ports = found(compose, /^ +- (\S+:3000)$/gm);
  assert.deepEqual(ports, ['127.0.0.1:${PORT:-3000}:3000']);
  const [, environment = ''] = /^ {2}environment:\n([\s\S]*?)^ {2}\w/m.exec(compose) ?? [];
  const names = found(environment, /^ {4}([A-Z_]+):/gm);
  assert.ok(names.includes('DATABASE_URL_FILE') && names.includes('KEYS_FILE'));
  const rows = Object.values<Readonly<Record<string, Setting<unknown>>>>(settings).flatMap((group) =>
    Object.values(group),
  );
  const known = new Set(rows.flatMap(({ variable }) => [variable, `${variable}_FILE`]));
  assert.deepEqual(
    names.filter((name) => !known.has(name)),
    [],
    'the service does not read these',
  );
  assert.doesNotMatch(compose, /PASSWORD:|postgres:\/\//);
  assert.match(compose, /^ +image: postgres:\d+$/m);
});
