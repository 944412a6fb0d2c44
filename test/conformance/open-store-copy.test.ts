/** A store that leaves a file while it is open: its changes during the copy arrive, and an interruption loses and doubles none. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { endRecordingOf } from '../../src/features/moves/cli/open-copying.ts';
import type { MoveSide } from '../../src/features/moves/cli/moving.ts';
import type { Store } from '../../src/core/stores/domain/store.ts';
import { Secret } from '../../src/platform/secret.ts';
import { issue } from '../../src/core/cards/service/issue.ts';
import { addWebhook } from '../../src/features/webhooks/service/webhook.ts';
import { placeHold } from '../../src/core/money/service/hold.ts';
import { debit } from '../../src/core/money/service/spend.ts';
import { appendEntries } from '../../src/features/proofs/service/log.ts';
import { verify } from '../../src/features/proofs/service/verify.ts';
import { all, execute, sql, type Statement } from '../../src/database/sql/sql.ts';
import { listTables } from '../../src/database/sql/table.ts';
import type { Storage } from '../../src/database/storage.ts';
import { listRecordedChanges } from '../../src/features/moves/storage/moving-changes.ts';
import { storeTablesOf } from '../../src/core/stores/storage/table.ts';
import { takeStoreTotals } from '../../src/features/moves/service/store-copy.ts';
import { email, issueCommand, money } from '../support/fixtures.ts';
import {
  domain,
  factories,
  fill,
  install,
  move,
  statusOf,
  type Installation,
} from '../support/installations.ts';
import { sqliteFactory } from '../support/sqlite.ts';

/** A side with some methods of its storage replaced. */
function replacing(side: Installation, methods: Partial<Storage>): MoveSide {
  return { ...side, storage: Object.assign(Object.create(side.storage) as Storage, methods) };
}

/** The changes of a shop: cards, money, holds, webhooks, a card in a wallet, and rows that are deleted. */
function shopOf({ ctx, storage }: Installation, store: Store): { work(): Promise<void>; balances(): ReadonlyMap<number, bigint> } {
  const balances = new Map<number, bigint>();
  let turn = 0;
  const change = (statement: Statement): Promise<void> => storage.write(() => execute(statement));
  return {
    balances: () => balances,
    async work() {
      turn += 1;
      const person = turn % 2 === 0 ? { customer: email(`guest-${turn}@example.com`) } : {};
      const { card } = await storage.write(() => issue(ctx, issueCommand(store, person)));
      balances.set(card.id, card.balance.minor);
      const any = [...balances.keys()][Math.floor(turn / 2)] ?? card.id;
      const spent = { store, cardId: any, actor: 'test', reference: `r-${turn}`, note: null, orderId: turn, versions: null };
      const { card: after } = await storage.write(() => debit(ctx, { ...spent, amount: money('0.50'), partial: false }));
      balances.set(any, after.balance.minor);
      await storage.write(() => placeHold(ctx, { ...spent, reference: null, amount: money('0.10'), seconds: 60 }));
      const now = ctx.clock.now();
      if (turn % 3 === 1)
        await storage.write(() =>
          addWebhook(ctx, { storeId: store.id, url: `https://hooks.example/${turn}`, patterns: ['*'], secret: new Secret('whsec_c2VjcmV0') }),
        );
      if (turn % 9 === 0) await change(sql`delete from webhooks where store_id = ${store.id} and id = (select min(id) from webhooks)`);
      if (turn % 5 === 0) await change(sql`update webhooks set status = 'paused', paused_at = ${now}, pause_reason = 'requested' where store_id = ${store.id} and id = (select max(id) from webhooks)`);
      if (turn % 4 === 0) await change(sql`delete from events where store_id = ${store.id} and id = (select min(id) from events)`);
      if (turn === 2) await change(sql`insert into wallets (store_id, kind, name, holder, credential, expires_at, set_at) values (${store.id}, 'google', '3388', 'x', ${new Uint8Array([0, 39])}, null, ${now})`);
      if (turn > 2) await change(sql`insert into wallet_cards (store_id, card_id, kind, changed_at, object, code) values (${store.id}, ${card.id}, 'google', ${now}, '3388.object', null)`);
      if (turn % 6 === 0) await change(sql`update wallet_cards set next_at = null where store_id = ${store.id}`);
      await change(sql`insert into lookup_throttle (store_id, caller, refilled_at) values (${store.id}, ${`it's ${turn}`}, ${now})`);
      await change(sql`update stores set name = ${`Shop ${turn}`} where id = ${store.id}`);
      if (turn % 3 === 0) await appendEntries({ ctx, storage });
    },
  };
} // prettier-ignore

async function totalsOf({ storage }: MoveSide, storeId: number): Promise<unknown> {
  return await storage.read(function* () {
    return yield* takeStoreTotals(storeId, storeTablesOf(yield* listTables()), () => undefined);
  });
}

/** Asserts that only the target has the store open, with all that the shop has changed. */
async function assertMoved(
  source: Installation,
  target: Installation,
  { store, balances }: { readonly store: Store; readonly balances: ReadonlyMap<number, bigint> },
): Promise<void> {
  assert.deepEqual([await statusOf(source), await statusOf(target)], [[{ status: 'moved' }], [{ status: 'open' }]]);
  assert.deepEqual(await totalsOf(target, store.id), await totalsOf(source, store.id));
  const found = await target.storage.read(() =>
    all(sql<{ id: bigint; balance: bigint }>`select id, balance from gift_cards where store_id = ${store.id}`),
  );
  const inTarget = new Map(found.map(({ id, balance }) => [Number(id), balance]));
  for (const [id, balance] of balances) assert.equal(inTarget.get(id), balance, `card ${id}`);
  for (const { storage, ctx } of [source, target])
    assert.deepEqual((await storage.read(() => verify(10, { keys: ctx.keys }))).mismatches, []);
  const triggers = await source.storage.read(() =>
    all(sql`select name from sqlite_schema where type = 'trigger' and name like 'store_moving_%'`),
  );
  assert.deepEqual([triggers, await source.storage.read(() => listRecordedChanges(store.id, { after: 0, limit: 1 }))], [[], []]);
} // prettier-ignore

for (const to of ['PostgreSQL', 'SQLite'] as const)
  test(`a store moves from a file to ${to} while it is changed between all steps`, async () => {
    await using source = await install(sqliteFactory, { other: 'left.example' });
    await using target = await install(factories[to]);
    const store = await fill(source);
    const shop = shopOf(source, store);
    let works = 0;
    // Until the store is closed. The target is written to before and after each change.
    const write: Storage['write'] = async (script, scope) => {
      const [{ status = '' } = {}] = (await statusOf(source)) as readonly { readonly status?: string }[];
      if (status === 'open') {
        works += 1;
        await shop.work();
      }
      return await target.storage.write(script, scope);
    };
    const outcome = await move(source, replacing(target, { write }));
    assert.deepEqual([outcome.resumed, outcome.differences], [false, []]);
    assert.ok(works > 20, `only ${works} changes`);
    await assertMoved(source, target, { store, balances: shop.balances() });
  });

test('a move that is interrupted at any write continues, and the store is never open on both sides', async () => {
  await using source = await install(sqliteFactory, { other: 'left.example' });
  await using target = await install(sqliteFactory);
  const store = await fill(source);
  const shop = shopOf(source, store);
  let interruptions = 0;
  let resumed = 0;
  for (let allowed = 0; ; allowed += 1) {
    let left = allowed;
    // Neither side is written to after a kill.
    const dying = (side: Installation): MoveSide =>
      replacing(side, {
        async write(script, scope) {
          left -= 1;
          if (left < 0) throw new Error('interrupted');
          return await side.storage.write(script, scope);
        },
      });
    try {
      const outcome = await move(dying(source), dying(target), { run: `run ${allowed}` });
      assert.deepEqual(outcome.differences, []);
      break;
    } catch (error) {
      assert.match(String(error), /interrupted/);
      interruptions += 1;
    }
    const [[from], [to]] = [await statusOf(source), await statusOf(target)] as readonly (readonly { readonly status: string }[])[] as never as [[{ status: string }], [{ status: string } | undefined]];
    assert.ok(!(from.status === 'open' && to?.status === 'open'), `open on both sides after ${allowed} writes`);
    if (to?.status === 'open') break;
    if (from.status === 'open') await shop.work();
    if (to) resumed += 1;
  }
  assert.ok(interruptions > 15 && resumed > 10, `${interruptions} interruptions, ${resumed} of a copy`);
  await endRecordingOf(source.storage, store.id);
  await assertMoved(source, target, { store, balances: shop.balances() });
}); // prettier-ignore

test('a move whose recording has ended fails, the store stays open, and the next one begins again', async () => {
  await using source = await install(sqliteFactory, { other: 'left.example' });
  await using target = await install(sqliteFactory);
  const store = await fill(source);
  const shop = shopOf(source, store);
  let writes = 0;
  const write: Storage['write'] = async (script, scope) => {
    writes += 1;
    if (writes === 4) await endRecordingOf(source.storage, store.id);
    await shop.work();
    return await target.storage.write(script, scope);
  };
  await assert.rejects(
    move(source, replacing(target, { write })),
    /the changes of flowers\.example are no longer recorded.*\n.*flowers\.example is open in the source/,
  );
  assert.deepEqual(
    [await statusOf(source), await statusOf(target)],
    [[{ status: 'open' }], [{ status: 'arriving' }]],
  );
  const outcome = await move(source, target, { run: 'again' });
  assert.deepEqual([outcome.resumed, outcome.differences], [false, []]);
  await assertMoved(source, target, { store, balances: shop.balances() });
});

test('a change that the copy has lost is found before the store opens in the target', async () => {
  await using source = await install(sqliteFactory, { other: 'left.example' });
  await using target = await install(sqliteFactory);
  const store = await fill(source);
  let isCompared = false;
  // After all was compared, the target loses a row.
  const read: Storage['read'] = async (script) => {
    const [{ status = '' } = {}] = (await statusOf(source)) as readonly { readonly status?: string }[];
    if (status === 'closed' && !isCompared) {
      isCompared = true;
      await target.database.tamper(sql`delete from events where store_id = ${store.id} and type = 'customer.created'`);
    }
    return await target.storage.read(script);
  };
  const { differences } = await move(source, replacing(target, { read }));
  assert.deepEqual(differences, ['events has another number of rows in the source and in the target']);
  assert.deepEqual([await statusOf(source), await statusOf(target)], [[{ status: 'open' }], [{ status: 'arriving' }]]);
  assert.deepEqual((await move(source, target, { run: 'again' })).differences, []);
  await assertMoved(source, target, { store, balances: new Map() });
  await assert.rejects(move(source, target), /flowers\.example was moved before, and the target has it/);
  assert.equal(domain, store.domain);
}); // prettier-ignore
