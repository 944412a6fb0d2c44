/** A machine that is killed while a browser restores a backup has the fresh database or the restored one. */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import test from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { examined, freshMachine, upload } from '../support/fresh-machine.ts';
import { sealedShop } from '../support/sealed-shop.ts';
import { seeded } from '../support/seeded.ts';
import { command, serve } from '../support/served.ts';

const rounds = Number(process.env['RESTORE_KILLS'] ?? 20);
const { backup, key, keys } = await sealedShop();
const seed = Number(process.env['RESTORE_KILLS_SEED'] ?? Date.now() % 1_000_000);
const random = seeded(seed);

test(`${rounds} kills during a restore leave one complete database, its keys, and nothing else`, async (t) => {
  const outcomes = { fresh: 0, restored: 0 };
  for (let round = 0; round < rounds; round += 1) {
    await using machine = await freshMachine();
    const { browser, setup, database, served } = machine;
    const freshKeys = readFileSync(database.keysFile, 'utf8');
    await upload(machine, backup);
    assert.match(await examined(machine, key), /This is in the backup/);
    const installing = browser.post(`${setup}/restore/install`, { shop: 'Flowers' }).catch(() => undefined);
    await wait(random.between(0, 800));
    served.kill('SIGKILL');
    await served.ended();
    await installing;
    await using again = await serve(database.environment);
    const names = readdirSync(dirname(database.keysFile));
    assert.deepEqual(
      names.filter((name) => /receiving|restored|fresh/.test(name)),
      [],
    );
    const stores = await command(database.environment, 'store', 'list', '--json');
    assert.equal(stores.code, 0, stores.errors);
    const isRestored = stores.output.includes('flowers.example');
    assert.equal(readFileSync(database.keysFile, 'utf8'), isRestored ? keys : freshKeys);
    const verified = await command(database.environment, 'verify');
    assert.equal(verified.code, 0, verified.errors);
    outcomes[isRestored ? 'restored' : 'fresh'] += 1;
    again.kill('SIGTERM');
    await again.ended();
  }
  t.diagnostic(`RESTORE_KILLS_SEED=${seed}: fresh ${outcomes.fresh}, restored ${outcomes.restored}`);
});
