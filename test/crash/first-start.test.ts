/**
 * The service is killed while it creates its database, and while the first shop is set up.
 *
 * `CRASH_ROUNDS` sets the number of kills of each, `CRASH_SEED` the seed.
 */

import assert from 'node:assert/strict';
import test from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { openBrowser } from '../support/browser.ts';
import { staffPassword } from '../support/console.ts';
import { send } from '../support/http-client.ts';
import { assertVerified } from '../support/kills.ts';
import { seeded } from '../support/seeded.ts';
import { command, databaseToServe, serve, startServing } from '../support/served.ts';

const rounds = Number(process.env['CRASH_ROUNDS'] ?? 3);
const seed = Number(process.env['CRASH_SEED'] ?? Date.now() % 2 ** 31);
const random = seeded(seed);

test('the service starts after it was killed at any moment of creating its database', async (t) => {
  t.diagnostic(`seed ${seed} (CRASH_SEED)`);
  const found = new Map<string, number>();
  for (let round = 0; round < rounds; round += 1) {
    await using database = await databaseToServe({ empty: true });
    {
      await using starting = startServing(database.environment);
      for (let tries = 0; !(await database.isTouched()) && tries < 20_000; tries += 1) await wait(1);
      await wait(random.between(0, 30));
      starting.kill('SIGKILL');
      await starting.ended();
    }
    const traces = (await database.traces()).join(' ').replaceAll('largesse.', '');
    found.set(traces, (found.get(traces) ?? 0) + 1);
    await using service = await serve(database.environment);
    const json = { initial_value: 5 };
    const { status, text } = await send(`${service.url}/gift_card`, { method: 'POST', json });
    assert.equal(status, 201, text);
    await assertVerified(database.environment);
  }
  t.diagnostic(`${rounds} first starts were killed; they left ${JSON.stringify(Object.fromEntries(found))}`);
});

test('a kill during the setup leaves one shop with its owner, or none and a link that works', async (t) => {
  t.diagnostic(`seed ${seed} (CRASH_SEED)`);
  const outcomes = { none: 0, whole: 0 };
  const email = 'ada@flowers.example';
  let setupMs = 200;
  for (let round = 0; round < rounds; round += 1) {
    await using database = await databaseToServe({ empty: true });
    const { environment } = database;
    await using served = await serve(environment);
    const browserOf = (url: string) =>
      openBrowser({ url, request: (path, request) => send(`${url}${path}`, request) });
    const { output } = await command(environment, 'setup', 'link', '--json');
    const { pathname } = new URL((JSON.parse(output) as { readonly link: string }).link);
    const form = {
      shop: 'Flowers',
      currency: 'EUR – Euro',
      time_zone: 'Europe/Berlin',
      locale: 'en',
      limit: '500',
      domain: 'flowers.example',
      name: 'Ada',
      email,
      how: 'password',
      password: staffPassword,
    };
    const settingUp = browserOf(served.url)
      .post(`${pathname}/owner`, form)
      .catch(() => undefined);
    const startedAt = performance.now();
    // The first round is not interrupted, and measures.
    await (round === 0 ? settingUp : wait(1.3 * setupMs * random()));
    if (round === 0) setupMs = performance.now() - startedAt;
    served.kill('SIGKILL');
    await Promise.all([served.ended(), settingUp]);
    const count = async (query: string) => Number((await database.query(query))[0]?.['count']);
    const stores = await count('select count(*) as count from stores where demonstration = 0');
    const owners = "select count(*) as count from staff where role = 'owner' and joined_at is not null";
    assert.equal(await count(owners), stores);
    outcomes[stores === 0 ? 'none' : 'whole'] += 1;
    await using again = await serve(environment);
    if (stores === 0) {
      const response = await browserOf(again.url).post(`${pathname}/owner`, form);
      assert.equal(response.status, 303, response.text);
    }
    const signedIn = await browserOf(again.url).post('/sign-in', { email, password: staffPassword });
    assert.equal(signedIn.status, 303, signedIn.text);
    await assertVerified(environment);
  }
  t.diagnostic(JSON.stringify(outcomes));
});
