/**
 * Copies an SQLite database with 100,000 cards into a Citus cluster, and verifies it there:
 * `npx node test/citus/copy.ts`. `CITUS_CARDS` sets the number of cards.
 */

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { populate } from '../../bench/population.ts';
import { startProgram } from '../support/programs.ts';
import { openShop, serve } from '../support/served.ts';
import { createDatabase, migrate, startCluster } from './cluster.ts';
import { report } from './shops.ts';

const cards = Number(process.env['CITUS_CARDS'] ?? 100_000);
const stores = 4;
const commandTimeoutMs = 30 * 60_000;

const folder = mkdtempSync(join(tmpdir(), 'largesse-citus-'));
using _folder = { [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) };
const keysFile = join(folder, 'largesse.keys.json');
const source = `file:${join(folder, 'largesse.db')}`;
const environment = {
  DATABASE_URL: source,
  KEYS_FILE: keysFile,
  PORT: '0',
  RATE_LIMIT: 'off',
  LOG_LEVEL: 'warn',
};

/** Runs a command of the command line and returns what it prints and its duration. */
async function largesse(
  variables: Readonly<Record<string, string>>,
  ...args: readonly string[]
): Promise<{ readonly output: unknown; readonly seconds: number }> {
  const startedAt = performance.now();
  await using program = startProgram(process.execPath, ['src/cli.ts', ...args, '--json'], {
    environment: variables,
  });
  const { code } = await program.ended(commandTimeoutMs);
  assert.equal(code, 0, `${args.join(' ')}: ${program.output()}\n${program.errors()}`);
  return { output: JSON.parse(program.output()), seconds: (performance.now() - startedAt) / 1_000 };
}

{
  const tokens: string[] = [];
  for (let place = 1; place <= stores; place += 1)
    tokens.push(await openShop(environment, `shop-${place}.example`));
  await using service = await serve({ ...environment, LOG_LEVEL: 'info' });
  const port = Number(new URL(service.url).port);
  const startedAt = performance.now();
  for (const token of tokens) await populate({ port }, { token, cards: cards / stores, connections: 16 });
  report(
    `${cards} cards of ${stores} stores in a file, in ${Math.round((performance.now() - startedAt) / 1_000)} s`,
  );
}

await using cluster = await startCluster();
const url = await createDatabase(cluster, 'largesse');
const onCitus = { DATABASE_URL: url, KEYS_FILE: keysFile };
await migrate(onCitus);
const { output, seconds } = await largesse(
  { ...onCitus, SOURCE: source },
  'copy',
  '--from',
  'env:SOURCE',
  '--to',
  'env:DATABASE_URL',
);
const { ok, copied, differences } = output as {
  readonly ok: boolean;
  readonly copied: number;
  readonly differences: readonly string[];
};
assert.deepEqual({ ok, differences }, { ok: true, differences: [] });
report(`copied ${copied} rows and compared both in ${seconds.toFixed(1)} s: equal`);
const verified = await largesse(onCitus, 'verify');
const totals = verified.output as {
  readonly ok: boolean;
  readonly stores: readonly { readonly cards: number }[];
};
assert.equal(totals.ok, true);
assert.equal(
  totals.stores.reduce((sum, store) => sum + store.cards, 0),
  cards,
);
report(`verified ${cards} cards in ${verified.seconds.toFixed(1)} s`);
