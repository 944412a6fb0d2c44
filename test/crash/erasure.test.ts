/** The erasure of a customer with many cards continues after its process is killed, and then nothing is left. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { readDatabaseConfig } from '../../src/start/config.ts';
import { openDatabase } from '../../src/start/database.ts';
import { issue } from '../../src/core/cards/service/issue.ts';
import { createStore } from '../../src/core/stores/service/store.ts';
import { email as addressOf, issueCommand, newStore } from '../support/fixtures.ts';
import { assertVerified } from '../support/kills.ts';
import { startProgram } from '../support/programs.ts';
import { seeded } from '../support/seeded.ts';
import { command, databaseToServe } from '../support/served.ts';
import { commandLine } from '../support/program.ts';

const seed = Number(process.env['CRASH_SEED'] ?? Date.now() % 2 ** 31);
const random = seeded(seed);
const cards = Number(process.env['ERASURE_CARDS'] ?? 300);
const email = 'ada.lovelace@example.com';

test('an erasure that is killed repeatedly continues, and leaves no byte of the address', async (t) => {
  t.diagnostic(`seed ${seed} (CRASH_SEED)`);
  await using database = await databaseToServe();
  const { environment } = database;
  {
    await using opened = await openDatabase(readDatabaseConfig(environment), { prepare: true });
    const { ctx, storage } = opened;
    const store = await storage.write(() => createStore(ctx, newStore({ domain: 'flowers.example' })));
    for (let place = 0; place < cards; place += 1) {
      const person = addressOf(email);
      const other = addressOf(`friend-${place}@example.com`);
      const [customer, recipient] = place % 2 === 0 ? [person, other] : [other, person];
      const note = `for ${email}`;
      await storage.write(() => issue(ctx, issueCommand(store, { customer, recipient, note })));
    }
  }
  assert.ok((await database.bytes()).includes(email));
  const erase = ['customer', 'erase', email, '--notes', '--json'];
  let kills = 0;
  let isDone = false;
  while (!isDone) {
    await using program = startProgram(process.execPath, [commandLine, ...erase], { environment });
    const isKilled = kills < 2;
    if (isKilled) {
      await wait(random.between(300, 900));
      program.kill('SIGKILL');
      kills += 1;
    }
    const { code } = await program.ended();
    isDone = code !== null;
    // A command that was killed after its last commit has erased the customer.
    if (isDone && code !== 0) assert.match(program.errors(), /there is no customer/);
  }
  const [erasure] = await database.query('select * from customer_erasures');
  assert.equal(erasure?.['step'], 'complete');
  assert.equal(erasure['cards'], cards);
  assert.equal(erasure['address'], null);
  assert.equal((await database.query('select 1 from customer_erasure_cards')).length, 0);
  assert.equal((await database.bytes()).includes(email), false);
  const again = await command(environment, ...erase);
  assert.notEqual(again.code, 0);
  assert.match(again.output + again.errors, /there is no customer/);
  await assertVerified(environment);
});
