/** Work that only one of several processes does: when one is killed, the others continue its work. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Client } from 'pg';
import { deadlineIn } from '../support/deadline.ts';
import { plainClock, systemClock, wallClockOf } from '../../src/platform/clock.ts';
import { readDatabaseConfig } from '../../src/start/config.ts';
import { openDatabase } from '../../src/start/database.ts';
import { issue } from '../../src/core/cards/service/issue.ts';
import { placeHold } from '../../src/core/money/service/hold.ts';
import { requireStore } from '../../src/core/stores/service/store.ts';
import { issueCommand, money } from '../support/fixtures.ts';
import { startPostgres } from '../support/postgres-server.ts';
import { assertVerifies, environmentOn, emptyFolder } from '../support/postgres-service.ts';
import { startProgram, type Program } from '../support/programs.ts';
import { openShop } from '../support/served.ts';
import type { Environment } from '../support/engine-database.ts';

const holdsCount = 240;
const program = fileURLToPath(import.meta.resolve('../support/eager-service.ts'));

async function startEager(environment: Environment): Promise<Program> {
  const service = startProgram(process.execPath, [program], { environment });
  await service.written(/serves/);
  return service;
}

/** Places expired holds: two on each card, so many that they need several transactions. */
async function placeRunOutHolds(environment: Environment): Promise<void> {
  const hourAgo = plainClock(() => systemClock.now() - 3_600_000);
  await using database = await openDatabase(readDatabaseConfig(environment), {
    prepare: false,
    clock: wallClockOf(hourAgo),
  });
  const { ctx, storage } = database;
  const { store } = await storage.read(() => requireStore('flowers.example'));
  const cards = await Promise.all(
    Array.from({ length: holdsCount / 2 }, () =>
      storage.write(() => issue(ctx, issueCommand(store, { value: money('100.00') }))),
    ),
  );
  for (let placed = 0; placed < holdsCount; placed += cards.length) {
    await Promise.all(
      cards.map(({ card }) =>
        storage.write(() =>
          placeHold(ctx, {
            store,
            cardId: card.id,
            actor: 'test',
            reference: null,
            note: null,
            orderId: null,
            versions: null,
            amount: money('1.00'),
            seconds: 60,
          }),
        ),
      ),
    );
  }
}

test('holds expire once, although a process is killed in the middle and another one continues', async (t) => {
  await using server = await startPostgres({ durable: true });
  using folder = emptyFolder();
  const environment = environmentOn(folder, [server]);
  await openShop(environment, 'flowers.example');
  await placeRunOutHolds(environment);
  const count = async (status: string): Promise<number> =>
    Number(
      (await server.query('select count(*)::int as count from holds where status = $1', [status]))[0]?.[
        'count'
      ],
    );
  assert.equal(await count('open'), holdsCount);

  // A lock delays the events of expired holds, so that the first process waits in the middle of its transaction. The
  // second one finds the same holds first, and leaves them alone while they are locked.
  const locker = new Client({ connectionString: server.url() });
  locker.on('error', () => undefined);
  await locker.connect();
  await locker.query('begin; lock table events in exclusive mode');
  await using killed = await startEager(environment);
  const deadline = deadlineIn(60_000);
  const blocked = `select count(*)::int as count from pg_stat_activity where wait_event_type = 'Lock'`;
  while (Number((await server.query(blocked))[0]?.['count']) === 0) {
    assert.ok(!deadline.isOver(), 'the first process expires no hold');
    await wait(20);
  }
  await using other = await startEager(environment);
  killed.kill('SIGKILL');
  await killed.ended();
  assert.equal(await count('open'), holdsCount);
  await locker.query('rollback');
  await locker.end();

  while ((await count('open')) > 0) {
    assert.ok(!deadline.isOver(), `${await count('open')} holds are still open`);
    await wait(20);
  }
  assert.equal(await count('expired'), holdsCount);
  const released = await server.query(`
    select count(*)::int as events, count(distinct (data::json -> 'hold' ->> 'id'))::int as holds
    from events where type = 'gift_card.hold_released'`);
  assert.deepEqual(released, [{ events: holdsCount, holds: holdsCount }]);
  assert.deepEqual(await server.query('select distinct held::int as held from gift_cards'), [{ held: 0 }]);
  await assertVerifies(environment);
  assert.equal(other.errors(), '');
  t.diagnostic(`${holdsCount} holds`);
});
