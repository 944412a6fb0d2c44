/**
 * An old primary that starts again without being fenced: the service does not use it after a restart. `failovers` has the one
 * that starts while the service runs.
 */

import assert from 'node:assert/strict';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import test from 'node:test';
import {
  comeBack,
  errorOf,
  stalled,
  startCluster,
  timelinesFileIn,
  untilPrimaries,
} from '../support/old-primary.ts';
import {
  clientOf,
  emptyFolder,
  environmentOn,
  keysFileIn,
  startOn,
  untilReadiness,
} from '../support/postgres-service.ts';
import { command, openShop, startServing } from '../support/served.ts';

test('an old primary that is named first is rejected at a restart, alone and together with the new one', async () => {
  await using cluster = await startCluster();
  const { old, next, standby } = cluster;
  using folder = emptyFolder();
  const environment = environmentOn(folder, [old, next]);
  const token = await openShop(environment, 'flowers.example');
  let id = 0;
  {
    await using service = await startOn(environment);
    await standby.promote();
    await untilReadiness(service.url, 200);
    const issued = await clientOf(service.url, token)('POST /gift_card', { initial_value: '10.00' });
    assert.equal(issued.status, 201);
    id = issued.card?.id ?? 0;
  }
  await comeBack(old);

  const both =
    `2 servers of DATABASE_URL accept writes, 127.0.0.1:${next.port} (timeline 2) and 127.0.0.1:${old.port} (timeline 1): ` +
    'stop the old primary, usually that with the lower timeline, and make it a standby from a fresh copy';
  {
    await using program = startServing(environment);
    assert.equal((await program.ended()).code, 1, program.output());
    assert.equal(program.errors(), `largesse: ${both}\n`);
  }
  // Also without recorded timelines, as on another machine.
  using elsewhere = emptyFolder();
  writeFileSync(keysFileIn(elsewhere), readFileSync(keysFileIn(folder)));
  assert.equal(await errorOf(environmentOn(elsewhere, [old, next])), both);
  // A command continues with the newest timeline.
  const verified = await command(environment, 'verify', '--json');
  assert.equal(verified.code, 0, verified.errors);
  assert.equal((JSON.parse(verified.output) as { stores: { cards: number }[] }).stores[0]?.cards, 1);

  const alone = await stalled(next, () => errorOf(environment));
  assert.match(
    alone,
    new RegExp(
      `127\\.0\\.0\\.1:${old.port}: the server is an old primary: it is on timeline 1, and timeline 2 was used before; .*remove ${timelinesFileIn(folder)}`,
    ),
  );
  assert.match(alone, new RegExp(`127\\.0\\.0\\.1:${next.port}: no response within`));
  // A URL with only the old host is recognized as well.
  assert.match(await errorOf(environmentOn(folder, [old])), /is an old primary/);

  await old.stop();
  {
    await using service = await startOn(environment);
    assert.equal((await clientOf(service.url, token)(`GET /gift_card/${id}`)).card?.balance, '10.00');
  }
  // A restored backup can have an older timeline: the file is removed, as the message says.
  await next.stop();
  await old.start();
  rmSync(timelinesFileIn(folder));
  await using service = await startOn(environment);
  assert.equal((await clientOf(service.url, token)(`GET /gift_card/${id}`)).status, 404);
});

test('a standby promoted while its primary accepts writes is detected without a lost connection', async () => {
  await using cluster = await startCluster();
  const { old, next } = cluster;
  using folder = emptyFolder();
  const environment = environmentOn(folder, [old, next]);
  const token = await openShop(environment, 'flowers.example');
  await using service = await startOn(environment, { primaryCheckPeriodMs: 300 });
  const ask = clientOf(service.url, token);
  assert.equal((await ask('POST /gift_card', { initial_value: '10.00' })).status, 201);
  await untilPrimaries(service.url, 1);

  const [row] = await next.query('select pg_promote(true, 30) as done');
  assert.equal(row?.['done'], true);
  await untilPrimaries(service.url, 2);
  assert.match(service.log(), /"level":50.*2 servers of DATABASE_URL accept writes/);
  await untilReadiness(service.url, 503);
  const { card } = await ask('POST /gift_card', { initial_value: '20.00' });
  assert.ok(card);
  const count = 'select count(*)::int as cards from gift_cards';
  assert.deepEqual(await next.query(count), [{ cards: 2 }]);
  assert.deepEqual(await old.query(count), [{ cards: 1 }]);
  await old.stop();
  await untilPrimaries(service.url, 1);
  await untilReadiness(service.url, 200);
  assert.match(service.log(), /at most one server of DATABASE_URL accepts writes again/);
});
