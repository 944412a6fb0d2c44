/** The benchmark as a command, with numbers that are too small for its figures to mean anything. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { after } from 'node:test';
import type { Comparison, Results, Rounds } from '../../bench/results.ts';

const root = join(import.meta.dirname, '../..');
const folder = mkdtempSync(join(tmpdir(), 'largesse-bench-test-'));
after(() => rmSync(folder, { recursive: true }));

const small = '--quick --engine embedded --cards 200 --rounds 2 --seconds 0.05 --warm-up 100 --connections 8';

function bench(...args: readonly string[]): { readonly shown: string; readonly json: string } {
  const file = join(folder, 'results.json');
  const command = ['bench/bench.ts', ...small.split(' '), ...args, '--json', file];
  const shown = execFileSync(process.execPath, command, { cwd: root, encoding: 'utf8', stdio: 'pipe' });
  return { shown, json: readFileSync(file, 'utf8') };
}

function assertMeasured({ microsPerRequest, requestsPerSecond, writtenBytes }: Rounds): void {
  for (const values of [microsPerRequest, requestsPerSecond, writtenBytes ?? []]) {
    assert.equal(values.length, 2);
    assert.ok(values.every((value) => value >= 0));
  }
  assert.ok(microsPerRequest.every((micros) => micros > 0));
}

test('--against measures two services in turn and verifies their ledgers', () => {
  const { shown, json } = bench('--against', '.', '--operation', 'debit', '--operation', 'search');
  const { fixtures } = JSON.parse(json) as Comparison;
  const compared = fixtures.flatMap((fixture) => fixture.compared);
  assert.deepEqual(
    compared.map(({ operation }) => operation),
    ['debit', 'search'],
  );
  for (const { before, after: now } of compared) for (const rounds of [before, now]) assertMeasured(rounds);
  assert.match(shown, /SQLite, 200 cards: debit +\|.* too few rounds/);
});

test('without --against, the service and the baseline are measured in turn', () => {
  const operations = ['--operation', 'create', '--operation', 'mixed 90/10'];
  const { shown, json } = bench(...operations, '--import', '60', '--features', '8');
  const {
    fixtures: [fixture],
    imports = [],
    unusedFeatures = [],
  } = JSON.parse(json) as Results;
  assert.deepEqual(
    imports.map(({ engine, cards }) => [engine, cards]),
    [['embedded', 60]],
  );
  assert.ok(imports.every(({ seconds, microsPerCard }) => seconds > 0 && microsPerCard > 0));
  for (const { service, baseline } of fixture?.measured ?? []) {
    assertMeasured(service);
    assert.equal(baseline.microsPerRequest.length, 2);
  }
  assert.equal(fixture?.measured.length, 2);
  assert.ok((fixture.halfCapacity?.requestsPerSecond ?? 0) > 0);
  assert.deepEqual(
    fixture.smallLoads?.map(({ operation, rate }) => [operation, rate]),
    [['create', 100], ['create', 1_500], ['create', null]],
  ); // prettier-ignore
  assert.ok(
    fixture.smallLoads.every(
      ({ microsPerRequest, floorMicros = 0 }) => microsPerRequest > floorMicros && floorMicros > 0,
    ),
  );
  assert.ok((fixture.idlePercent ?? 0) > 0);
  assert.deepEqual(
    unusedFeatures.map(({ cards, operation, ratios }) => [cards, operation, ratios.length]),
    [[400, 'create', 8], [400, 'debit', 8]],
  ); // prettier-ignore
  assert.ok(unusedFeatures.flatMap(({ ratios }) => ratios).every((ratio) => ratio > 0));
  assert.ok(fixture.cardsAtEnd > 200);
  assert.match(shown, /Provisional: 2 rounds after 100 warm-up requests are too few/);
});
