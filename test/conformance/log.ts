/** The logs: every entry once, in the order of the commits, and what they prove. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  checkConsistency,
  checkInclusion,
  readCheckpoint,
  recomputeChain,
} from '../../examples/verify-ledger.ts';
import type { Checkpoint } from '../../src/features/proofs/domain/checkpoint.ts';
import { consistencyProofOf } from '../../src/features/proofs/domain/log-tree.ts';
import { chainStart } from '../../src/core/money/domain/ledger.ts';
import type { Store } from '../../src/core/stores/domain/store.ts';
import { update } from '../../src/core/cards/service/card.ts';
import { issue } from '../../src/core/cards/service/issue.ts';
import {
  addCheckpoint,
  addDueCheckpoint,
  needsNoCheckpoint,
  showLog,
  listStoreCheckpoints,
  proveCard,
  consistencyHashes,
} from '../../src/features/proofs/service/checkpoint.ts';
import { leafHash, rootOf, TreeReader } from '../../src/features/proofs/service/log.ts';
import { debit } from '../../src/core/money/service/spend.ts';
import { createStore } from '../../src/core/stores/service/store.ts';
import { verify } from '../../src/features/proofs/service/verify.ts';
import type { ChainText } from '../../src/features/proofs/storage/chain.ts';
import { readLogPage } from '../../src/core/log/storage/log.ts';
import type { EntryId } from '../../src/core/log/storage/log-entry.ts';
import { all, execute, sql, type Statement } from '../../src/database/sql/sql.ts';
import type { Storage } from '../../src/database/storage.ts';
import { chainHash, listTransfers } from '../../src/core/money/storage/transfer.ts';
import { appendAll, sizeOfLog as sizeOf, untilAppended } from '../support/appended.ts';
import type { StorageFactory } from '../support/database.ts';
import {
  issueCommand,
  manualClock,
  masterKey,
  money,
  newStore,
  testContext,
  updateCommand,
  type TestContext,
} from '../support/fixtures.ts';
import { until } from '../support/delivering.ts';
import { openStore, type OpenStore } from '../support/open-store.ts';
import { appendNewEntries, hasEntriesToAppend } from '../support/upkeep.ts';

const day = 24 * 60 * 60 * 1_000;

async function entriesOf(storage: Storage, { id }: Store): Promise<readonly EntryId[]> {
  const entries: EntryId[] = [];
  for (let place = 0; ; place += 1) {
    const page = await storage.read(() => readLogPage(id, place));
    if (!page) return entries;
    entries.push(...page.entries);
  }
}

function debitOnce({ ctx, store }: OpenStore, cardId: number) {
  const command = { store, cardId, actor: 'test', amount: money('0.01'), partial: false };
  return debit(ctx, { ...command, reference: null, note: null, orderId: null, versions: null });
}

/** Issues cards and debits them, in transactions of several scripts: `count` entries. */
async function write(opened: OpenStore, count: number): Promise<number> {
  const { card } = await opened.issue();
  const debits = Array.from({ length: count - 1 }, () =>
    opened.storage.write(() => debitOnce(opened, card.id)),
  );
  await Promise.all(debits);
  return card.id;
}

async function mismatchesOf({ storage }: OpenStore): Promise<readonly string[]> {
  return (await storage.read(() => verify(10_000))).mismatches.map(({ problem }) => problem);
}

/** The root of all entry hashes, computed at once. */
async function expectedRoot(
  storage: Storage,
  { id }: Store,
  entries: readonly EntryId[],
): Promise<Uint8Array> {
  const rows = await storage.read(() =>
    all(sql<{ source: string; id: bigint; hash: Uint8Array }>`
      select 'transfers' as source, id, hash from transfers where store_id = ${id}
      union all select 'card_changes', id, hash from card_changes where store_id = ${id}`),
  );
  const hashes = new Map(rows.map((row) => [`${row.source} ${row.id}`, row.hash]));
  return rootOf(
    entries.map((entry) => {
      const hash = hashes.get(`${entry.source} ${entry.id}`);
      assert.ok(hash);
      return leafHash(hash);
    }),
  );
}

/** An entry as a response has it. */
function sent({ content, hash }: ChainText): { readonly content: string; readonly hash: string } {
  return { content, hash: hash.toBase64() };
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}

async function keysOfLog({ storage, ctx, store }: OpenStore): Promise<readonly string[]> {
  return (await storage.read(() => showLog(ctx, store.id))).keys.map(({ key }) => key);
}

function checkpointNow({ storage, ctx, store }: OpenStore): Promise<Checkpoint> {
  return storage.write(() => addCheckpoint(ctx, store));
}

export function testLog(factory: StorageFactory): void {
  test('every entry is appended once, over page boundaries, and the root is that of all entries', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx, store } = opened;
    for (const count of [1, 200, 55, 1, 300, 40]) {
      await write(opened, count);
      await untilAppended(opened);
    }
    const entries = await entriesOf(storage, store);
    assert.equal(entries.length, 597);
    assert.equal(new Set(entries.map(({ id }) => id)).size, 597);
    for (const size of [0, 1, 2, 255, 256, 257, 300, 512, 513, 597]) {
      const root = await storage.read(() => new TreeReader(store.id).root({ from: 0, to: size }));
      assert.equal(hex(root), hex(await expectedRoot(storage, store, entries.slice(0, size))), `${size}`);
    }
    assert.equal(await storage.read(hasEntriesToAppend), false);
    assert.equal(await storage.write(() => appendNewEntries(ctx)), false);
    assert.deepEqual(await mismatchesOf(opened), []);
  });

  test('changes of cards are entries, and stores have separate logs', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx, store } = opened;
    const other = await storage.write(() => createStore(ctx, newStore({ domain: 'books.example' })));
    const { card } = await opened.issue({ note: 'before' });
    await storage.write(() => issue(ctx, issueCommand(other)));
    await storage.write(() => update(ctx, updateCommand(store, card.id, { note: 'after' })));
    await until(async () => {
      await appendAll(storage, ctx);
      return (await sizeOf(storage, store)) === 2 && (await sizeOf(storage, other)) === 1;
    });
    const sources = (await entriesOf(storage, store)).map(({ source }) => source);
    assert.deepEqual(sources.toSorted(), ['card_changes', 'transfers']);
    assert.deepEqual((await entriesOf(storage, other)).map(({ source }) => source), ['transfers']); // prettier-ignore
    assert.deepEqual(await mismatchesOf(opened), []);
  });

  test('entries with lower ids than the last one are appended, as after a clock was set back', async () => {
    await using opened = await openStore(factory);
    const { storage, store } = opened;
    await write(opened, 300);
    await untilAppended(opened);
    const ctx = testContext({ clock: manualClock(Date.UTC(2025, 6, 1)) });
    const { card } = await storage.write(() => issue(ctx, issueCommand(store)));
    await untilAppended(opened);
    const entries = await entriesOf(storage, store);
    assert.equal(entries.length, 301);
    assert.ok((entries.at(-1)?.id ?? 0) < (entries[0]?.id ?? 0), 'the last entry has the lowest id');
    const { transfers } = await storage.read(() =>
      proveCard(ctx, { storeId: store.id, cardId: card.id }, all50),
    );
    assert.equal(transfers.proven, 1);
    assert.deepEqual(await mismatchesOf(opened), []);
  });

  test('a card is proven by its last entry, and its chain can be recomputed', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx, store } = opened;
    const cardId = await write(opened, 120);
    await storage.write(() => update(ctx, updateCommand(store, cardId, { note: 'Tulips' })));
    await storage.write(() => update(ctx, updateCommand(store, cardId, { note: 'Roses' })));
    await write(opened, 200);
    const key = { storeId: store.id, cardId };
    const before = await storage.read(() => proveCard(ctx, key, all50));
    assert.deepEqual(
      [before.transfers.proof, before.transfers.proven, before.transfers.length],
      [null, 0, 120],
    );
    await untilAppended(opened);
    const keys = await keysOfLog(opened);
    const hashes: Uint8Array[] = [];
    for (;;) {
      const { transfers } = await storage.read(() =>
        proveCard(ctx, key, { ...all50, transfers: { after: hashes.length, limit: 50 } }),
      );
      hashes.push(...recomputeChain(transfers.entries.map(sent), hashes.at(-1)));
      assert.deepEqual([transfers.proven, transfers.length], [120, 120]);
      if (transfers.entries.length < 50) break;
    }
    assert.equal(hashes.length, 120);
    const { transfers, changes } = await storage.read(() => proveCard(ctx, key, all50));
    const last = hashes.at(-1);
    assert.ok(last && transfers.proof !== null && changes.proof !== null);
    assert.equal(checkInclusion(transfers.proof, last, keys).size, 322);
    assert.throws(
      () => checkInclusion(transfers.proof ?? '', hashes[0] ?? chainStart, keys),
      /does not contain/,
    );
    const ofChanges = recomputeChain(changes.entries.map(sent));
    assert.deepEqual([changes.length, changes.proven, ofChanges.length], [2, 2, 2]);
    assert.equal(checkInclusion(changes.proof, ofChanges.at(-1) ?? chainStart, keys).size, 322);
    const altered = transfers.entries.map(sent).map(({ content, hash }, place) => ({
      content: place === 3 ? content.replace('0.01', '0.02') : content,
      hash,
    }));
    assert.throws(() => recomputeChain(altered), /does not match its content/);
  });

  test('a checkpoint covers what was committed, and each continues the one before', async () => {
    await using opened = await openStore(factory);
    const { storage, store } = opened;
    const kept: Checkpoint[] = [];
    let written = 0;
    for (const count of [1, 3, 254, 100, 700]) {
      await write(opened, count);
      written += count;
      await until(async () => (await checkpointNow(opened)).size === written);
      kept.push(await checkpointNow(opened));
    }
    const keys = await keysOfLog(opened);
    for (const [place, from] of kept.entries()) {
      const earlier = readCheckpoint(from.note, keys);
      for (const to of kept.slice(place)) {
        const proof = await storage.read(() => consistencyHashes(store.id, { from: from.size, to: to.size }));
        assert.equal(proof.length, consistencyProofOf(from.size, to.size).length);
        checkConsistency(earlier, readCheckpoint(to.note, keys), proof);
      }
    }
    assert.deepEqual(await mismatchesOf(opened), []);
  });

  test('a checkpoint of a log that has not grown is the last one, and an empty log has one', async () => {
    await using opened = await openStore(factory);
    const { storage, store } = opened;
    const empty = await checkpointNow(opened);
    assert.equal(empty.size, 0);
    assert.equal((await checkpointNow(opened)).id, empty.id);
    readCheckpoint(empty.note, await keysOfLog(opened));
    await write(opened, 2);
    await until(async () => (await checkpointNow(opened)).size === 2);
    const next = await checkpointNow(opened);
    assert.equal((await checkpointNow(opened)).id, next.id);
    const { items } = await storage.read(() => listStoreCheckpoints(store.id, { limit: 10, before: null, after: null })); // prettier-ignore
    assert.equal(items[0]?.id, next.id);
    assert.equal(items.at(-1)?.id, empty.id);
    assert.deepEqual(await mismatchesOf(opened), []);
  });

  test('a day that ended gets one checkpoint, only if the log has grown', async () => {
    const ctx = testContext();
    await using opened = await openStore(factory, { ctx, timeZone: 'America/New_York' });
    const { storage, store } = opened;
    await write(opened, 3);
    await untilAppended(opened);
    const daily = async (): Promise<readonly (string | null)[]> => {
      if (!(await storage.read(() => needsNoCheckpoint(ctx, store))))
        await storage.write(() => addDueCheckpoint(ctx, store));
      const { items } = await storage.read(() => listStoreCheckpoints(store.id, { limit: 10, before: null, after: null })); // prettier-ignore
      return items.map((checkpoint) => checkpoint.day);
    };
    assert.deepEqual(await daily(), [], 'the first day has not ended');
    // From 08:00 to 23:59 and 00:01 in New York.
    ctx.clock.advance(16 * 60 * 60 * 1_000 - 60_000);
    assert.deepEqual(await daily(), []);
    ctx.clock.advance(120_000);
    assert.deepEqual(await daily(), ['2026-03-15']);
    assert.deepEqual(await daily(), ['2026-03-15']);
    ctx.clock.advance(day);
    assert.deepEqual(await daily(), ['2026-03-15'], 'nothing was added');
    await write(opened, 1);
    await untilAppended(opened);
    assert.deepEqual(await daily(), ['2026-03-16', '2026-03-15']);
  });

  test('the first checkpoint of a new key is signed with both keys, and all keys are kept', async () => {
    const [old, fresh] = [masterKey('old', 1), masterKey('fresh', 2)];
    await using opened = await openStore(factory, { ctx: testContext({ masters: [old] }) });
    const { storage, store } = opened;
    await write(opened, 2);
    await until(async () => (await checkpointNow(opened)).size === 2);
    const [oldKey = ''] = await keysOfLog(opened);
    const rotated = { ...opened, ctx: testContext({ masters: [fresh, old] }) };
    assert.equal(await storage.read(() => needsNoCheckpoint(opened.ctx, store)), true);
    assert.equal(await storage.read(() => needsNoCheckpoint(rotated.ctx, store)), false);
    await storage.write(() => addDueCheckpoint(rotated.ctx, store));
    assert.equal(await storage.read(() => needsNoCheckpoint(rotated.ctx, store)), true);
    const both = await checkpointNow(rotated);
    assert.equal(both.size, 2, 'the log has not grown, but the key is new');
    const keys = await keysOfLog(rotated);
    assert.equal(keys.length, 2);
    assert.deepEqual(readCheckpoint(both.note, keys).signedBy, keys);
    assert.deepEqual(readCheckpoint(both.note, [oldKey]).signedBy, [oldKey]);
    await write(rotated, 1);
    await until(async () => (await checkpointNow(rotated)).size === 3);
    const later = await checkpointNow(rotated);
    assert.throws(() => readCheckpoint(later.note, [oldKey]), /no trusted key/);
    assert.deepEqual(readCheckpoint(later.note, keys).signedBy, [keys[0]]);
    const { keys: listed } = await storage.read(() => showLog(rotated.ctx, store.id));
    assert.deepEqual(listed.map(({ isCurrent, createdAt }) => [isCurrent, createdAt !== null]), [[true, true], [false, true]]); // prettier-ignore
    assert.deepEqual(await mismatchesOf(opened), []);
  });

  test('a log that has lost its cursors appends nothing twice, and misses nothing', async () => {
    await using opened = await openStore(factory);
    const { storage, database } = opened;
    await write(opened, 600);
    await untilAppended(opened);
    await write(opened, 20);
    await database.tamper(sql`delete from log_cursors`, sql`delete from log_backfills`);
    assert.deepEqual(await mismatchesOf(opened), [], 'a copy has no cursors');
    await write(opened, 20);
    await untilAppended(opened);
    assert.equal((await entriesOf(storage, opened.store)).length, 640);
    assert.deepEqual(await mismatchesOf(opened), []);
  });

  test('two processes that append while others write append every entry once', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx, database } = opened;
    const second = database.open();
    const otherCtx = testContext();
    let isWriting = true;
    const sequencer = async (engine: Storage, context: TestContext): Promise<void> => {
      while (isWriting) {
        await appendAll(engine, context);
        await nextTurn();
      }
    };
    const sequencers = [sequencer(storage, ctx), sequencer(second, otherCtx)];
    const writers = [opened, { ...opened, storage: second, ctx: otherCtx }].map(async (one) => {
      for (let round = 0; round < 15; round += 1) {
        const { card } = await one.storage.write(() => issue(one.ctx, issueCommand(one.store)));
        await Promise.all(Array.from({ length: 10 }, () => one.storage.write(() => debitOnce(one, card.id))));
      }
    });
    await Promise.all(writers);
    isWriting = false;
    await Promise.all(sequencers);
    await untilAppended(opened);
    assert.equal((await entriesOf(storage, opened.store)).length, 330);
    assert.deepEqual(await mismatchesOf(opened), []);
  });

  test('logs and checkpoints cannot be changed or deleted', async () => {
    await using opened = await openStore(factory);
    const { storage } = opened;
    await write(opened, 300);
    await until(async () => (await checkpointNow(opened)).size === 300);
    for (const statement of [
      sql`update logs set size = size - 1`,
      sql`delete from logs`,
      sql`update log_pages set entries = substr(entries, 9)`,
      sql`delete from log_pages`,
      sql`update log_subtrees set level = level + 1`,
      sql`delete from log_subtrees`,
      sql`update checkpoints set size = size + 1`,
      sql`delete from checkpoints`,
      sql`update checkpoint_keys set created_at = 0`,
      sql`delete from checkpoint_keys`,
    ])
      await assert.rejects(
        storage.write(() => execute(statement)),
        /a log only grows|checkpoints are never|public keys are kept/,
        statement.strings.join('?'),
      );
  });

  for (const { what, statements, found } of tamperings)
    test(`${what} is found by verify`, async () => {
      await using opened = await openStore(factory);
      const { database } = opened;
      await write(opened, 270);
      await until(async () => (await checkpointNow(opened)).size === 270);
      assert.deepEqual(await mismatchesOf(opened), []);
      const pages = await opened.storage.read(() =>
        all(sql<{ entries: Uint8Array }>`select entries from log_pages order by place`),
      );
      await database.tamper(...statements(pages.map(({ entries }) => Buffer.from(entries))));
      const mismatches = await mismatchesOf(opened);
      assert.ok(mismatches.some((problem) => found.test(problem)), mismatches.join('\n')); // prettier-ignore
    });

  test('a rewrite of history with the keys is found by a kept checkpoint, and not without it', async () => {
    await using opened = await openStore(factory);
    const { storage, store, database, ctx } = opened;
    const cardId = await write(opened, 5);
    await until(async () => (await checkpointNow(opened)).size === 5);
    const kept = await checkpointNow(opened);
    const keys = await keysOfLog(opened);
    // The last debit gets another reference to its actor; the chain, the log and the checkpoints are made again.
    const chain = await storage.read(() =>
      listTransfers(store.id, { after: 0, upTo: Number.MAX_SAFE_INTEGER }),
    );
    const [before, last] = chain.slice(-2);
    assert.ok(before && last);
    const rewritten = chainHash(before.hash, { ...last.transfer, actor: 'nobody' }, last);
    await database.tamper(
      sql`update transfers set actor = 'nobody', hash = ${rewritten} where id = ${last.transfer.id}`,
      sql`update gift_cards set chain_hash = ${rewritten} where id = ${cardId}`,
      sql`delete from checkpoints`,
      sql`delete from events where type = 'checkpoint.created'`,
    );
    await write(opened, 3);
    await until(async () => (await checkpointNow(opened)).size === 8);
    const forged = await checkpointNow(opened);
    assert.deepEqual(await mismatchesOf(opened), [], 'nothing in the database shows it');
    const { transfers } = await storage.read(() => proveCard(ctx, { storeId: store.id, cardId }, all50));
    checkInclusion(
      transfers.proof ?? '',
      recomputeChain(transfers.entries.map(sent)).at(-1) ?? chainStart,
      keys,
    );
    const proof = await storage.read(() => consistencyHashes(store.id, { from: 5, to: 8 }));
    assert.throws(
      () => checkConsistency(readCheckpoint(kept.note, keys), readCheckpoint(forged.note, keys), proof),
      /does not begin with the 5 entries/,
    );
  });

  test('an old copy shows as a smaller log', async () => {
    await using opened = await openStore(factory);
    const { storage, store } = opened;
    await write(opened, 5);
    await until(async () => (await checkpointNow(opened)).size === 5);
    const old = await checkpointNow(opened);
    const keys = await keysOfLog(opened);
    await write(opened, 4);
    await until(async () => (await checkpointNow(opened)).size === 9);
    const kept = await checkpointNow(opened);
    assert.throws(
      () => checkConsistency(readCheckpoint(kept.note, keys), readCheckpoint(old.note, keys), []),
      /smaller/,
    );
    await assert.rejects(
      storage.read(() => consistencyHashes(store.id, { from: 9, to: 10 })),
      /invalid-query|larger/,
    );
  });
}

const all50 = { transfers: { after: 0, limit: 200 }, changes: { after: 0, limit: 200 } };

type Tampering = {
  readonly what: string;
  readonly statements: (pages: readonly Buffer[]) => readonly Statement[];
  readonly found: RegExp;
};

/** Copies the entry at one place of a page to another place. */
function copied(page: Buffer | undefined, { from, to }: { readonly from: number; readonly to: number }) {
  assert.ok(page);
  const changed = Buffer.from(page);
  page.copy(changed, to * 8, from * 8, from * 8 + 8);
  return changed;
}

/** Changes of a log of 270 entries with one checkpoint. */
const tamperings: readonly Tampering[] = [
  {
    what: 'another hash of a subtree',
    statements: () => [sql`update log_subtrees set hash = ${new Uint8Array(32)} where place = 0`],
    found: /log: the hash of the subtree 0 of level 1 does not match its entries/,
  },
  {
    what: 'a subtree that was deleted',
    statements: () => [sql`delete from log_subtrees where place = 0`],
    found: /log: the subtree 0 of level 1 is missing/,
  },
  {
    what: 'a subtree that is not complete',
    statements: () => [
      sql`insert into log_subtrees (store_id, level, place, hash) select store_id, 1, 1, hash from log_subtrees where place = 0`,
    ],
    found: /log: has the subtree 1 of level 1, which is not complete/,
  },
  {
    what: 'a page with other entries',
    statements: ([first]) => [
      sql`update log_pages set entries = ${copied(copied(first, { from: 0, to: 1 }), { from: 2, to: 0 })} where place = 0`,
    ],
    found: /log: the hash of the subtree 0 of level 1 does not match its entries/,
  },
  {
    what: 'an entry that is twice in the log',
    statements: ([, last]) => [
      sql`update log_pages set entries = ${copied(last, { from: 1, to: 0 })} where place = 1`,
    ],
    found: /log: contains the transfer \d+ twice/,
  },
  {
    what: 'an entry that is not in the log',
    statements: ([, last]) => [
      sql`update log_pages set entries = ${copied(last, { from: 1, to: 0 })} where place = 1`,
    ],
    found: /log: the transfer \d+ is missing/,
  },
  {
    what: 'a page that was deleted',
    statements: () => [sql`delete from log_pages where place = 1`],
    found: /log: has 256 entries in its pages, but the size 270/,
  },
  {
    what: 'another range of ids of a page',
    statements: () => [sql`update log_pages set lowest_id = lowest_id + 1 where place = 1`],
    found: /log: the range of ids of page 1 does not match/,
  },
  {
    what: 'a smaller size',
    statements: () => [sql`update logs set size = size - 1`],
    found: /log: has 270 entries in its pages, but the size 269/,
  },
  {
    what: 'another root of a checkpoint',
    statements: () => [sql`update checkpoints set root = ${new Uint8Array(32)} where size = 270`],
    found: /log: the root of the checkpoint \d+ does not match the first 270 entries/,
  },
  {
    what: 'another size of a checkpoint',
    statements: () => [sql`update checkpoints set size = 700 where size = 270`],
    found: /log: the checkpoint \d+ has 700 entries, more than the log/,
  },
  {
    what: 'another note of a checkpoint',
    statements: () => [sql`update checkpoints set note = replace(note, '270', '271')`],
    found: /log: the note of the checkpoint \d+ is not signed/,
  },
  {
    what: 'another name of a log',
    statements: () => [sql`update logs set name = 'elsewhere.example/largesse/00000000'`],
    found: /log: the note of the checkpoint \d+ is not signed/,
  },
  {
    what: 'another public key',
    statements: () => [sql`update checkpoint_keys set public_key = ${new Uint8Array(32)}`],
    found: /log: the note of the checkpoint \d+ is not signed/,
  },
  {
    what: 'a transfer that was changed with its chain and card',
    statements: () => [sql`update transfers set hash = ${new Uint8Array(32).fill(1)} where sequence = 5`],
    found: /log: the hash of the subtree 0 of level 1 does not match its entries/,
  },
  {
    what: 'a transfer that was deleted',
    statements: () => [sql`delete from transfers where sequence = 5`],
    found: /log: entry \d+ is the transfer \d+, which does not exist/,
  },
];
