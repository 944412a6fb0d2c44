/** A machine that is killed at any step of a restore in a browser has the fresh database or the restored one. */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import test from 'node:test';
import { examined, freshMachine, isServing, upload } from '../support/fresh-machine.ts';
import { until } from '../support/delivering.ts';
import { sealedShop } from '../support/sealed-shop.ts';
import { command, serve } from '../support/served.ts';

const killedStep = join(import.meta.dirname, '../support/killed-step.ts');
const { backup, key, keys } = await sealedShop();

/** Kills the service before a step of the installation. @returns whether it was killed, and which database the next start has. */
async function killAt(step: number): Promise<{ readonly isKilled: boolean; readonly isRestored: boolean }> {
  await using machine = await freshMachine({
    NODE_OPTIONS: `--import=${killedStep}`,
    KILLED_STEP: String(step),
    KILLED_PATH: '.restored',
  });
  const { browser, setup, database, served } = machine;
  const freshKeys = readFileSync(database.keysFile, 'utf8');
  await upload(machine, backup);
  assert.match(await examined(machine, key), /This is in the backup/);
  let exit: string | null | undefined;
  void served.ended(600_000).then(({ signal }) => (exit = signal));
  await browser.post(`${setup}/restore/install`, { shop: 'Flowers' }).catch(() => undefined);
  await until(async () => exit !== undefined || (await isServing(served.url)));
  served.kill('SIGKILL');
  const isKilled = exit !== undefined;
  await served.ended();
  const environment = { ...database.environment, NODE_OPTIONS: '' };
  await using again = await serve(environment);
  assert.deepEqual(
    readdirSync(dirname(database.keysFile)).filter((name) => /receiving|restored|fresh/.test(name)),
    [],
  );
  const stores = await command(environment, 'store', 'list', '--json');
  assert.equal(stores.code, 0, stores.errors);
  const isRestored = stores.output.includes('flowers.example');
  assert.equal(readFileSync(database.keysFile, 'utf8'), isRestored ? keys : freshKeys);
  const verified = await command(environment, 'verify');
  assert.equal(verified.code, 0, verified.errors);
  again.kill('SIGTERM');
  await again.ended();
  return { isKilled, isRestored };
}

test('a kill at each step of a restore leaves one complete database, its keys, and nothing else', async (t) => {
  const outcomes: string[] = [];
  for (let step = 1; ; step += 1) {
    const { isKilled, isRestored } = await killAt(step);
    outcomes.push(isRestored ? 'restored' : 'fresh');
    if (!isKilled) break;
  }
  t.diagnostic(`after a kill before each step, and without one: ${outcomes.join(', ')}`);
  assert.ok(
    outcomes.length > 4 && outcomes[0] === 'fresh' && outcomes.at(-2) === 'restored',
    outcomes.join(),
  );
});
