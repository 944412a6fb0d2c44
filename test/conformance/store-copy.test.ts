/** The scripts that move a store, and those that copy all: what closes a store, what its copy contains, and what is rejected. */

import assert from 'node:assert/strict';
import test, { suite } from 'node:test';
import { workKinds } from '../../src/core/stores/storage/work.ts';
import { copyDatabase } from '../../src/features/moves/cli/copying.ts';
import type { MoveSide } from '../../src/features/moves/cli/moving.ts';
import { Secret } from '../../src/platform/secret.ts';
import { placeHold } from '../../src/core/money/service/hold.ts';
import { inviteStaff, linkTokens, openLink } from '../../src/core/staff/service/staff.ts';
import { createSession, findSignedIn, sessionTokens } from '../../src/core/staff/service/session.ts';
import { addWebhook } from '../../src/features/webhooks/service/webhook.ts';
import { claimDeliveries, listDueWebhooks } from '../../src/features/webhooks/storage/delivery-queue.ts';
import { listExpiredHolds } from '../../src/core/money/storage/hold.ts';
import { listOpenStores } from '../../src/core/stores/storage/store.ts';
import { openWebhookSecret } from '../../src/features/webhooks/storage/webhook.ts';
import { issue } from '../../src/core/cards/service/issue.ts';
import { checkKeys } from '../../src/features/proofs/service/key-check.ts';
import { debit } from '../../src/core/money/service/spend.ts';
import { createStore } from '../../src/core/stores/service/store.ts';
import {
  closeTable,
  findClosed,
  listClosedTables,
  openTable,
  reopen,
} from '../../src/features/moves/service/store-copy.ts';
import { verify } from '../../src/features/proofs/service/verify.ts';
import { listPublishedEvents } from '../../src/features/webhooks/service/event.ts';
import { findCardIdByCode } from '../../src/core/cards/storage/code.ts';
import { tableKinds } from '../../src/database/postgres/distribution.ts';
import { all, execute, parallel, sql, Statement } from '../../src/database/sql/sql.ts';
import type { Storage } from '../../src/database/storage.ts';
import { openAllTables } from '../../src/database/store-closing.ts';
import { storeTablesOf, tablesOfNoStore } from '../../src/core/stores/storage/table.ts';
import { listTables, type Table } from '../../src/database/sql/table.ts';
import { openMigrated } from '../support/database.ts';
import { code, email, issueCommand, masterKey, money, newStore, testContext } from '../support/fixtures.ts';
import {
  appendAll,
  domain,
  factories,
  fill,
  install,
  listEvents,
  masters,
  move,
  quiet,
  statusOf,
  type Installation,
} from '../support/installations.ts';
import { sqliteFactory } from '../support/sqlite.ts';

function tablesOf({ storage }: MoveSide): Promise<readonly Table[]> {
  return storage.read(listTables);
}

test('every table belongs to stores and is copied with one, or is named as one that is not', async () => {
  await using opened = await openMigrated(sqliteFactory);
  const tables = await opened.storage.read(listTables);
  const copied = storeTablesOf(tables).ofStore.map(({ name }) => name);
  assert.deepEqual(
    [...copied, 'stores', ...tablesOfNoStore].toSorted(),
    tables.map(({ name }) => name).toSorted(),
  );
  for (const name of copied) assert.equal(tableKinds[name], 'by store', name);
  const extra: Table = { name: 'extras', key: ['id'], columns: ['id'] };
  assert.throws(() => storeTablesOf([...tables, extra]), /the key of extras does not begin with store_id/);
});

for (const [engine, factory] of Object.entries(factories))
  suite(`${engine}, closing a store`, () => {
    test('rejects every change of its rows, and no change of other stores', async () => {
      await using source = await install(factory);
      const { ctx, storage, other } = source;
      const store = await fill(source);
      await appendAll(source, store.id, 4);
      const { ofStore } = storeTablesOf(await tablesOf(source));
      for (const { name } of ofStore) await storage.write(() => closeTable(store.id, name));
      await storage.write(() => closeTable(store.id, 'stores'));
      // A second run finds what the first has done.
      await storage.write(() => closeTable(store.id, 'gift_cards'));
      assert.equal((await storage.read(() => listClosedTables(store.id))).length, ofStore.length + 1);

      const rejected = { code: 'store-closed', retryAfterSeconds: 30 };
      let changed = 0;
      for (const { name } of ofStore) {
        const change = (id: number) =>
          storage.write(function* script() {
            const text = `update ${name} set store_id = store_id where store_id = `;
            return yield* all(new Statement([text, ' returning store_id'], [id]));
          });
        const hasRows = (await storage.read(() => all(new Statement([`select 1 as one from ${name} where store_id = `, ' limit 1'], [store.id])))).length;
        if (hasRows === 0) continue;
        changed += 1;
        // Some tables reject the change of any store.
        const isRejected = (error: Error): boolean =>
          ('code' in error && error.code === rejected.code) || /append-only|only grows|does not change/.test(error.message);
        await assert.rejects(change(store.id), isRejected, name);
      }
      assert.ok(changed >= 7, `only ${changed} tables have rows`);
      await assert.rejects(storage.write(() => issue(ctx, issueCommand(store))), rejected);
      await assert.rejects(storage.write(() => execute(sql`delete from events where store_id = ${store.id}`)), rejected);
      await assert.rejects(storage.write(() => execute(sql`update stores set name = 'x' where id = ${store.id}`)), rejected);
      // If two scripts share a transaction, only the one of the closed store fails.
      const both = await Promise.allSettled([
        storage.write(() => issue(ctx, issueCommand(store)), { storeId: store.id, cardId: null }),
        storage.write(() => issue(ctx, issueCommand(other)), { storeId: other.id, cardId: null }),
      ]);
      assert.deepEqual(both.map(({ status }) => status), ['rejected', 'fulfilled']);

      for (const table of await storage.read(() => listClosedTables(store.id)))
        await storage.write(() => openTable(store.id, table));
      await storage.write(() => issue(ctx, issueCommand(store)));
      assert.deepEqual((await storage.read(() => verify(10, { keys: ctx.keys }))).mismatches, []);
    });

    test('does not prevent a migration from changing its rows', async () => {
      await using source = await install(factory);
      const { storage } = source;
      const store = await fill(source);
      for (const table of ['gift_cards', 'stores']) await storage.write(() => closeTable(store.id, table));
      const migration = { version: 9_999, name: 'later', text: 'update gift_cards set note = null; update stores set name = name;', checksum: '1' };
      await storage.migrate([...factory.migrations, migration]);
      assert.deepEqual(await storage.read(() => listClosedTables(store.id)), []);
      await storage.write(openAllTables);
    });
  }); // prettier-ignore

const pairs = [
  ['SQLite', 'PostgreSQL'],
  ['PostgreSQL', 'SQLite'],
  ['SQLite', 'SQLite'],
  ['PostgreSQL', 'PostgreSQL'],
] as const;

for (const [from, to] of pairs)
  test(`a store moves from ${from} to ${to}, into a database with another store`, async () => {
    await using source = await install(factories[from], { shown: 'here', other: 'left.example' });
    await using target = await install(factories[to]);
    const { ctx } = target;
    const store = await fill(source);
    const before = await listEvents(source, store.id);
    const outcome = await move(source, target);
    assert.deepEqual([outcome.resumed, outcome.differences, outcome.reordered], [false, [], 0]);
    assert.deepEqual(await statusOf(source), [{ status: 'moved' }]);
    assert.deepEqual(await statusOf(target), [{ status: 'open' }]);
    const due = await target.storage.read(() => all(sql`select kind from store_work where store_id = ${store.id} and at = 0`));
    assert.equal(due.length, workKinds.length, 'all of its work is due');

    assert.deepEqual(await listEvents(target, store.id), before);
    const after = before[1]?.id ?? 0;
    assert.deepEqual(await target.storage.read(() => listPublishedEvents(store.id, { after, limit: 100 })), before.slice(2));
    const cardId = await target.storage.read(() => findCardIdByCode(ctx, store.id, code('same-code-0001')));
    assert.ok(typeof cardId === 'number');
    assert.notEqual(cardId, await target.storage.read(() => findCardIdByCode(ctx, target.other.id, code('same-code-0001'))));
    const spent = { store, cardId, actor: 'test', reference: null, note: null, orderId: null, versions: null };
    await target.storage.write(() => debit(ctx, { ...spent, amount: money('2'), partial: false }));
    await appendAll(target, store.id, 5);
    for (const { storage } of [source, target])
      assert.deepEqual((await storage.read(() => verify(10, { keys: ctx.keys }))).mismatches, []);
    await assert.rejects(source.storage.write(() => issue(ctx, issueCommand(store))), { code: 'store-closed' });
    await assert.rejects(move(source, target), /flowers\.example was moved before, and the target has it/);
  }); // prettier-ignore

test('an interrupted move out of a server continues, and one of an earlier closing begins again', async () => {
  await using source = await install(factories.PostgreSQL);
  await using target = await install(sqliteFactory);
  const { ctx } = source;
  const store = await fill(source);
  /** The target fails at the n-th write from now on. */
  const failing = (writes: number): MoveSide => {
    let left = writes;
    const write: Storage['write'] = (script, scope) => {
      left -= 1;
      if (left < 0) return Promise.reject(new Error('interrupted'));
      return target.storage.write(script, scope);
    };
    return { ...target, storage: Object.assign(Object.create(target.storage) as Storage, { write }) };
  };
  await assert.rejects(move(source, failing(4)), /interrupted/);
  assert.deepEqual([await statusOf(source), await statusOf(target)], [[{ status: 'closed' }], [{ status: 'arriving' }]]);
  // The other stores of the target are verified, and the incomplete copy is not.
  const { stores, mismatches } = await target.storage.read(() => verify(10));
  assert.deepEqual([stores.map((each) => each.store), mismatches], [['tea.example'], []]);

  const state = await source.storage.read(() => findClosed(domain, { isMovedAllowed: false }));
  for (const table of await source.storage.read(() => listClosedTables(state.id)))
    await source.storage.write(() => openTable(state.id, table));
  await source.storage.write(() => reopen(state));
  await source.storage.write(() => issue(ctx, issueCommand(store, { note: 'after the reopening' })));
  ctx.clock.advance(1_000);

  // After the old copy was removed from each table, and before the new one is complete.
  await assert.rejects(move(source, failing(63)), /interrupted/);
  const outcome = await move(source, target, { run: 'third' });
  assert.deepEqual([outcome.resumed, outcome.differences], [true, []]);
  const notes = await target.storage.read(() => all(sql`select note from gift_cards where store_id = ${store.id} and note is not null`));
  assert.deepEqual(notes, [{ note: 'after the reopening' }]);
  assert.deepEqual((await target.storage.read(() => verify(10, { keys: ctx.keys }))).mismatches, []);
}); // prettier-ignore

test('events of a server keep the order of their commits', async () => {
  await using source = await install(factories.PostgreSQL);
  await using server = await install(factories.PostgreSQL);
  const { storage } = source;
  const store = await fill(source);
  const [a, b, c, d, e, ...others] = (await listEvents(source, store.id)).map(({ id }) => id);
  const order = [e, b, c, a, d, ...others];
  for (const [place, id = 0] of order.entries())
    await source.database.tamper(sql`update events set transaction_id = ${place + 3} where store_id = ${store.id} and id = ${id}`);

  // A copy of all stores, and then a move of this one.
  const copying = { ctx: source.ctx, source: storage, run: 'run', progress: quiet };
  await using copy = await openMigrated(factories.PostgreSQL);
  const copied = await copyDatabase({ ...copying, target: copy.storage, isTargetFile: false }, 'here');
  assert.deepEqual([copied.differences, copied.reordered], [[], 0]);
  assert.deepEqual((await listEvents(copy, store.id)).map(({ id }) => id), order);
  await using fileCopy = await openMigrated(sqliteFactory);
  const inFile = await copyDatabase({ ...copying, target: fileCopy.storage, isTargetFile: true }, 'here');
  assert.deepEqual([inFile.differences, inFile.reordered], [[], 2]);

  const outcome = await move(source, server);
  assert.deepEqual([outcome.differences, outcome.reordered], [[], 0]);
  const listed = await listEvents(server, store.id);
  assert.deepEqual(listed.map(({ id }) => id), order);

  await using file = await install(sqliteFactory);
  const state = await source.storage.read(() => findClosed(domain, { isMovedAllowed: true }));
  assert.equal(state.movedTo, 'there');
  for (const table of await storage.read(() => listClosedTables(state.id))) await storage.write(() => openTable(state.id, table));
  await storage.write(() => reopen(state));
  assert.equal((await move(source, file)).reordered, 2, 'a file lists events by their ids');
}); // prettier-ignore

test('a move that cannot succeed is rejected before anything changes', async (t) => {
  await using source = await install(sqliteFactory);
  const store = await fill(source);
  const cases: readonly (readonly [what: string, given: () => Promise<Installation>, message: RegExp, named?: string])[] = [
    ['an unknown store', () => install(sqliteFactory), /the source has no store tulips\.example/, 'tulips.example'],
    ['a store with the same domain', () => install(sqliteFactory, { other: domain }), /the target has another store flowers\.example/],
    ['a store with the same id', async () => {
      const target = await install(sqliteFactory);
      await target.storage.write(() => createStore(testContext({ masters, random: { id: () => store.id } }), newStore({ domain: 'oak.example' })));
      return target;
    }, /the target has oak\.example with the id of flowers\.example: a store keeps its id/],
    ['other keys', () => install(sqliteFactory, { ctx: testContext({ masters: [masterKey('test', 8)] }) }), /the oldest keys of the two databases differ/],
    ['the source itself', async () => ({ ...source, async [Symbol.asyncDispose]() {} }), /the target has flowers\.example already: it is the same database/],
  ];
  for (const [what, given, message, named = domain] of cases)
    await t.test(what, async () => {
      await using target = await given();
      const count = () => target.storage.read(() => all(sql`select count(*) as stores from stores`));
      const stores = await count();
      await assert.rejects(move(source, target, { domain: named }), message);
      assert.deepEqual([await statusOf(source), await count()], [[{ status: 'open' }], stores]);
    });

  await t.test('a key that only the source has', async () => {
    await using target = await install(sqliteFactory);
    const rotated = testContext({ masters: [masterKey('newer', 9), ...masters] });
    await source.storage.write(() => checkKeys(rotated));
    await assert.rejects(move(source, target), /the target lacks the key "newer" of the source/);
    await target.storage.write(() => checkKeys(rotated));
  });

  await t.test('a wrong ledger', async () => {
    await using target = await install(sqliteFactory, { ctx: testContext({ masters: [masterKey('newer', 9), ...masters] }) });
    await source.database.tamper(sql`update gift_cards set balance = balance + 1 where store_id = ${store.id}`);
    await assert.rejects(move(source, target), /the ledger of flowers\.example is wrong \(has a balance that is not the sum/);
    assert.deepEqual(await statusOf(source), [{ status: 'open' }]);
  });
}); // prettier-ignore

for (const [from, status] of [['PostgreSQL', 'closed'], ['SQLite', 'open']] as const)
  test(`a copy from ${from} that differs is not opened, and is replaced by the next move`, async () => {
  await using source = await install(factories[from]);
  await using target = await install(sqliteFactory);
  const store = await fill(source);
  // The target loses a row after it was copied.
  const read: Storage['read'] = async (script) => {
    await target.database.tamper(sql`delete from events where store_id = ${store.id} and type = 'customer.created'`);
    return await target.storage.read(script);
  };
  const damaged = { ...target, storage: Object.assign(Object.create(target.storage) as Storage, { read }) };
  const { differences } = await move(source, damaged);
  assert.ok(differences.some((line) => line.startsWith('events has ')), differences.join('\n'));
  assert.deepEqual([await statusOf(source), await statusOf(target)], [[{ status }], [{ status: 'arriving' }]]);
  const again = await move(source, target, { run: 'again' });
  assert.deepEqual([again.resumed, again.differences], [false, []]);
  assert.deepEqual(await statusOf(target), [{ status: 'open' }]);
}); // prettier-ignore

test('a session, a link, a webhook with a due delivery and an expired hold continue in the target only', async () => {
  await using source = await install(sqliteFactory);
  await using target = await install(factories.PostgreSQL);
  const { ctx, storage } = source;
  const store = await fill(source);
  const webhook = await storage.write(() =>
    addWebhook(ctx, { storeId: store.id, url: 'https://hooks.example/', patterns: ['*'], secret: new Secret('whsec_c2VjcmV0') }),
  );
  const { card } = await storage.write(() => issue(ctx, issueCommand(store)));
  const held = { store, cardId: card.id, actor: 'test', reference: null, note: null, orderId: null, versions: null };
  await storage.write(() => placeHold(ctx, { ...held, amount: money('1'), seconds: 60 }));
  const { member, token: link } = await storage.write(() =>
    inviteStaff(ctx, { store, by: null, name: 'Ann', email: email('ann@flowers.example'), role: 'owner', saleLimit: null, refundLimit: null, locationIds: null }),
  );
  const { token } = await storage.write(() => createSession(ctx, member, { method: 'password', tillId: null, userAgent: 'x' }));
  ctx.clock.advance(120_000);
  const now = ctx.clock.now();
  const dueIn = (side: MoveSide) =>
    side.storage.read(() =>
      parallel(
        listDueWebhooks({ storeId: 0, id: 0 }, { now, limit: 10 }),
        listExpiredHolds(now, 10),
        listOpenStores(),
      ),
    );
  const session = sessionTokens.parse(token.reveal());
  const invitation = linkTokens.parse(link.reveal());
  assert.ok(session && invitation);

  const [before] = await dueIn(source);
  assert.equal(before.length, 1);
  await move(source, target);

  const [webhooks, holds, stores] = await dueIn(source);
  assert.deepEqual([webhooks, holds], [[], []]);
  assert.deepEqual(stores.map((each) => each.store.domain), ['tea.example']);
  await assert.rejects(storage.read(() => findSignedIn(ctx, session)), { code: 'store-closed' });

  const [due, expired] = await dueIn(target);
  assert.equal(expired.length, 1);
  const [kept] = due;
  assert.ok(kept);
  assert.equal(openWebhookSecret(ctx, kept.webhook, kept.sealedSecret).reveal(), 'whsec_c2VjcmV0');
  const claimed = await target.storage.write(() =>
    claimDeliveries({ storeId: store.id, webhookId: webhook.webhook.id, limit: 10 }, { lease: 1, now, until: now + 1 }),
  );
  assert.ok(claimed.some(({ event }) => event.type === 'gift_card.created'));
  assert.equal((await target.storage.read(() => findSignedIn(ctx, session)))?.member.name, 'Ann');
  assert.equal((await target.storage.read(() => openLink(ctx, invitation)))?.member.id, member.id);
}); // prettier-ignore
