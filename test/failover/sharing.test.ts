/**
 * Connections that are cut at any point of a shared transaction: each of its writes is executed once, or its
 * caller gets an unknown outcome.
 *
 * `FAILOVER_SEED` sets the seed.
 */

import assert from 'node:assert/strict';
import test from 'node:test';
import { retrieve } from '../../src/core/cards/service/card.ts';
import { issue } from '../../src/core/cards/service/issue.ts';
import { debit } from '../../src/core/money/service/spend.ts';
import { createStore } from '../../src/core/stores/service/store.ts';
import { verify } from '../../src/features/proofs/service/verify.ts';
import { Fault } from '../../src/core/domain/fault.ts';
import { loadMigrations } from '../../src/database/schema/migrate.ts';
import { issueCommand, money, newStore, testContext } from '../support/fixtures.ts';
import { startProxy, type Direction } from '../support/postgres-proxy.ts';
import { startServerToCut } from '../support/server-to-cut.ts';
import { openPostgresEngine } from '../support/postgres.ts';
import { seeded } from '../support/seeded.ts';

const seed = Number(process.env['FAILOVER_SEED'] ?? Date.now() % 2 ** 31);
const random = seeded(seed);
const cuts = Number(process.env['FAILOVER_CUTS'] ?? 40);
const cardCount = 20;

test(`${cardCount} writes that wait together are not lost or executed twice when cut ${cuts} times at any point`, async (t) => {
  t.diagnostic(`seed ${seed} (FAILOVER_SEED)`);
  await using server = await startServerToCut();
  await using proxy = await startProxy(server);
  await using direct = openPostgresEngine(server.url());
  await direct.migrate(loadMigrations('postgres'));
  const ctx = testContext();
  const store = await direct.write(() => createStore(ctx, newStore()));
  const sizes: number[] = [];
  await using storage = openPostgresEngine(proxy.url(), {
    connectionsMax: 3,
    observer: { committed: ({ size }) => void sizes.push(size), failed() {} },
  });
  const issuing = issueCommand(store, { value: money('1000.00') });
  const cards = await Promise.all(
    Array.from({ length: cardCount }, async () => {
      const { card } = await direct.write(() => issue(ctx, issuing));
      return { id: card.id, done: 0, unknown: 0 };
    }),
  );
  const details = { actor: 'test', reference: null, note: null, orderId: null, versions: null };
  const spend = async (card: (typeof cards)[number]): Promise<void> => {
    const command = { store, cardId: card.id, ...details, amount: money('0.01'), partial: false };
    try {
      await storage.write(() => debit(ctx, command), { storeId: store.id, cardId: card.id });
      card.done += 1;
    } catch (error) {
      assert.ok(error instanceof Fault && error.code === 'unavailable', String(error));
      card.unknown += 1;
    }
  };

  // The bytes of a round once its statements are prepared on the connections.
  for (let round = 0; round < 3; round += 1) await Promise.all(cards.map(spend));
  proxy.cutAfter('sent', Number.MAX_SAFE_INTEGER);
  await Promise.all(cards.map(spend));
  const length = { ...proxy.bytes };
  let met = 0;
  for (let cut = 0; cut < cuts; cut += 1) {
    const direction: Direction = cut % 2 === 0 ? 'sent' : 'responded';
    proxy.cutAfter(direction, 1 + Math.floor(random() * length[direction]));
    await Promise.all(cards.map(spend));
    if (proxy.hasCut) met += 1;
  }
  proxy.cutAfter('sent', Number.MAX_SAFE_INTEGER);
  await Promise.all(cards.map(spend));

  for (const { id, done, unknown } of cards) {
    const { balance } = await direct.read(() => retrieve(store.id, id));
    const spent = 100_000 - Number(balance.minor);
    assert.ok(spent >= done && spent <= done + unknown, `${spent} of ${done} and perhaps ${unknown}`);
  }
  const unknown = cards.reduce((total, card) => total + card.unknown, 0);
  t.diagnostic(
    `${met} cuts met a round; ${unknown} writes had an unknown outcome; the largest transaction had ${Math.max(...sizes)}`,
  );
  assert.ok(met > cuts / 2 && unknown > 0 && Math.max(...sizes) > 5);
  assert.deepEqual((await direct.read(() => verify(10))).mismatches, []);
});
