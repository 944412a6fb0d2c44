/** Batches: each card is issued once, also by several processes and after an interruption, and its code is erased. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { resultOf } from '../../src/core/domain/paused.ts';
import { batchCodesMs, parseBatch, type Batch } from '../../src/features/batches/domain/batch.ts';
import type { FileColumn } from '../../src/features/batches/domain/column-names.ts';
import { batchRecordOf } from '../../src/features/batches/domain/record.ts';
import {
  batchPartCards,
  checkBatch,
  continueBatch,
  startBatch,
  findCreatedBatch,
  batchKeyOf,
} from '../../src/features/batches/service/batch.ts';
import {
  listCardsOfBatch,
  listStoreBatches,
  listFailures,
  showBatch,
  type BatchCards,
  type BatchCardsPage,
} from '../../src/features/batches/service/batch-lists.ts';
import { listRememberedColumns, rememberColumns } from '../../src/features/batches/service/columns.ts';
import type { Pace } from '../../src/features/batches/service/pace.ts';
import { createStore } from '../../src/core/stores/service/store.ts';
import { verify } from '../../src/features/proofs/service/verify.ts';
import { findCardIdByCode } from '../../src/core/cards/storage/code.ts';
import { listStoreEmails } from '../../src/core/emails/storage/email.ts';
import { all, sql } from '../../src/database/sql/sql.ts';
import type { Storage } from '../../src/database/storage.ts';
import type { StorageFactory } from '../support/database.ts';
import { code, newStore } from '../support/fixtures.ts';
import { countRows, listEvents, openStore, type OpenStore } from '../support/open-store.ts';
import { dying } from '../support/dying-storage.ts';
import { eraseCodesOfBatches } from '../support/upkeep.ts';

type Sent = Readonly<Record<string, unknown>>;

function cardsOf({ store, ctx }: Pick<OpenStore, 'store' | 'ctx'>, sent: readonly Sent[], canSend = false) {
  const parsed = resultOf(parseBatch(sent, { store, now: ctx.clock.now(), canSend }));
  assert.ok(parsed.ok, 'the cards have errors');
  return parsed;
}

/** Different values, so that a card that is issued twice and one that is lost do not cancel out. */
function values(count: number): readonly Sent[] {
  return Array.from({ length: count }, (_, place) => ({
    initial_value: `${place + 1}.00`,
    note: `n${place}`,
  }));
}

async function create(
  opened: OpenStore,
  sent: readonly Sent[],
  { key, canSend = false }: { readonly key?: string; readonly canSend?: boolean } = {},
): Promise<Batch> {
  const { ctx, storage, store } = opened;
  const { cards, total } = cardsOf(opened, sent, canSend);
  return storage.write(() =>
    startBatch(ctx, {
      store,
      name: null,
      actor: 'test',
      apiClientId: null,
      cards,
      total,
      ...(key !== undefined && { key }),
    }),
  );
}

async function cardsIn({ ctx, storage }: OpenStore, batch: Batch) {
  const { cards, next } = await storage.read(() =>
    listCardsOfBatch(ctx, batchKeyOf(batch), { from: 0, limit: 1_000, withCodes: true }),
  );
  assert.equal(next, null);
  return cards;
}

/** Asserts that each card of `values` was issued once, with a code that finds it, and that the ledger is sound. */
async function assertIssued(opened: OpenStore, created: Batch, count: number): Promise<void> {
  const { ctx, storage, store } = opened;
  const batch = await storage.read(() => showBatch(batchKeyOf(created)));
  assert.deepEqual(
    [batch.state, batch.cards, batch.issued, batch.failed, batch.issuedTotal],
    ['complete', count, count, 0, batch.total],
  );
  const cards = await cardsIn(opened, batch);
  assert.deepEqual(
    cards.map(({ index, card }) => [index, card.note, card.balance.minor]),
    Array.from({ length: count }, (_, place) => [place, `n${place}`, BigInt(place + 1) * 100n]),
  );
  for (const { card, code: found } of cards) {
    assert.ok(found);
    assert.equal(await storage.read(() => findCardIdByCode(ctx, store.id, found)), card.id);
  }
  const rows = await storage.read(countRows);
  assert.deepEqual([rows.cards, rows.codes, rows.transfers, rows.events], [count, count, count, count + 1]);
  const published = (await storage.read(listEvents)).filter(({ type }) => type === 'batch.completed');
  assert.deepEqual(
    published.map(({ subject, data }) => [subject, data['batch']]),
    [[batch.id, batchRecordOf(batch, ctx.clock.now())]],
  );
  assert.deepEqual((await storage.read(() => verify(10))).mismatches, []);
}

function paceOf(parts: number): Pace {
  return { nextParts: () => parts };
}

export function testBatches(factory: StorageFactory): void {
  test('a batch issues each card once, in order, with its code', async () => {
    await using opened = await openStore(factory);
    const { ctx, storage } = opened;
    const count = 2 * batchPartCards + 3;
    const batch = await create(opened, values(count));
    assert.deepEqual([batch.state, batch.issued, batch.nextPart], ['running', 0, 0]);
    let parts = 0;
    await continueBatch({ ctx, storage }, batchKeyOf(batch), { onProgress: () => void (parts += 1) });
    assert.equal(parts, 3);
    await assertIssued(opened, batch, count);
    await continueBatch({ ctx, storage }, batchKeyOf(batch));
    await assertIssued(opened, batch, count);
  });

  test('one transaction can issue several parts, and ends with the batch', async () => {
    await using opened = await openStore(factory);
    const { ctx, storage } = opened;
    const count = 4 * batchPartCards + 3;
    const batch = await create(opened, values(count));
    const reached: number[] = [];
    const progress: Promise<void>[] = [];
    const show = async (): Promise<void> => {
      const { issued } = await storage.read(() => showBatch(batchKeyOf(batch)));
      reached.push(issued);
    };
    await continueBatch({ ctx, storage }, batchKeyOf(batch), {
      pace: paceOf(3),
      onProgress: () => void progress.push(show()),
    });
    await Promise.all(progress);
    assert.equal(reached.length, 2);
    assert.equal(reached.at(-1), count);
    await assertIssued(opened, batch, count);
  });

  test('cards with and without customers have ids in the order of the request', async () => {
    await using opened = await openStore(factory);
    const { ctx, storage } = opened;
    const sent = values(batchPartCards + 5).map((fields, place) => ({
      ...fields,
      ...(place % 3 === 0 && { email: `buyer-${place % 2}@example.com`, notify: false }),
    }));
    const batch = await create(opened, sent);
    await continueBatch({ ctx, storage }, batchKeyOf(batch));
    const cards = (await cardsIn(opened, batch)).map(({ card }) => card);
    assert.deepEqual(
      cards.map(({ note }) => note),
      sent.map((_, place) => `n${place}`),
    );
    assert.deepEqual(
      cards.map(({ id }) => id),
      cards.map(({ id }) => id).toSorted((one, other) => one - other),
    );
    assert.deepEqual(
      cards.map(({ customer }) => customer?.email ?? null),
      sent.map((_, place) => (place % 3 === 0 ? `buyer-${place % 2}@example.com` : null)),
    );
    assert.equal((await storage.read(() => all(sql`select id from customers`))).length, 2);
    assert.deepEqual((await storage.read(() => verify(10))).mismatches, []);
  });

  test('the pages of a batch contain each card once', async () => {
    await using opened = await openStore(factory);
    const { ctx, storage } = opened;
    const count = 2 * batchPartCards + 3;
    const batch = await create(opened, values(count));
    await continueBatch({ ctx, storage }, batchKeyOf(batch));
    for (const limit of [1, 7, batchPartCards, batchPartCards + 1, count]) {
      const found: number[] = [];
      for (let from: number | null = 0; from !== null;) {
        const page: BatchCardsPage = { from, limit, withCodes: false };
        const { cards, next }: BatchCards = await storage.read(() =>
          listCardsOfBatch(ctx, batchKeyOf(batch), page),
        );
        for (const { index, code: shown } of cards) {
          assert.equal(shown, null);
          found.push(index);
        }
        from = next;
      }
      assert.deepEqual(found, [...values(count).keys()], `pages of ${limit}`);
    }
  });

  test('two processes issue each card of a batch once', async () => {
    await using opened = await openStore(factory);
    const { ctx, database, storage } = opened;
    await using second = database.open();
    const count = 6 * batchPartCards;
    const batch = await create(opened, values(count));
    const parts = [0, 0];
    const work = async (place: 0 | 1, own: Storage): Promise<void> => {
      while ((await own.read(() => showBatch(batchKeyOf(batch)))).state === 'running')
        await continueBatch({ ctx, storage: own }, batchKeyOf(batch), {
          onProgress: () => void (parts[place] = (parts[place] ?? 0) + 1),
        });
    };
    await Promise.all([work(0, storage), work(1, second)]);
    assert.equal((parts[0] ?? 0) + (parts[1] ?? 0), 6, parts.join());
    await assertIssued(opened, batch, count);
  });

  test('a batch continues after a process is killed at any write', async () => {
    for (const when of ['before', 'inside', 'after'] as const)
      for (let at = 1; at <= 2; at += 1) {
        await using opened = await openStore(factory);
        const { ctx, storage } = opened;
        const parts = at;
        const count = (parts + 1) * batchPartCards + 2;
        const batch = await create(opened, values(count));
        const pace = paceOf(parts);
        const killed = continueBatch({ ctx, storage: dying(storage, { at, when }) }, batchKeyOf(batch), {
          pace,
        });
        await assert.rejects(killed, /killed/, `${when} write ${at}`);
        await continueBatch({ ctx, storage }, batchKeyOf(batch), { pace });
        await assertIssued(opened, batch, count);
      }
  });

  test('a batch that is killed while it is created does not exist', async () => {
    await using opened = await openStore(factory);
    const { storage, store } = opened;
    const dead = { ...opened, storage: dying(storage, { at: 1, when: 'inside' }) };
    await assert.rejects(create(dead, values(3)), /killed/);
    const { items } = await storage.read(() =>
      listStoreBatches(store.id, { limit: 5, before: null, after: null }),
    );
    assert.deepEqual(items, []);
    assert.equal((await storage.read(() => all(sql`select part from batch_parts`))).length, 0);
  });

  test('a card whose code was taken after the request fails alone, and the reason is listed', async () => {
    await using opened = await openStore(factory);
    const { ctx, storage, store } = opened;
    const sent = values(batchPartCards + 1).map((fields, place) =>
      place === 2 || place === batchPartCards ? { ...fields, code: `taken-code-${place + 10}` } : fields,
    );
    const batch = await create(opened, sent);
    await opened.issue({ code: code('taken-code-12') });
    await continueBatch({ ctx, storage }, batchKeyOf(batch), { pace: paceOf(2) });
    const { state, issued, failed, total, issuedTotal } = await storage.read(() =>
      showBatch(batchKeyOf(batch)),
    );
    assert.deepEqual([state, issued, failed], ['complete', batchPartCards, 1]);
    assert.equal(total.minor - issuedTotal.minor, 300n);
    assert.deepEqual(await storage.read(() => listFailures(batchKeyOf(batch))), [
      { index: 2, field: 'code', message: 'is taken' },
    ]);
    const indexes = (await cardsIn(opened, batch)).map(({ index }) => index);
    assert.deepEqual(
      indexes,
      [...sent.keys()].filter((place) => place !== 2),
    );
    assert.deepEqual((await storage.read(() => verify(10))).mismatches, []);
    const again = cardsOf(opened, sent.slice(0, 3));
    assert.deepEqual(await checkBatch({ ctx, storage }, { store, cards: again.cards }), [
      { index: 2, field: 'code', message: 'is taken' },
    ]);
  });

  test('lines and codes are sealed, lines are deleted with the issue, and codes 24 hours later', async () => {
    await using opened = await openStore(factory);
    const { ctx, storage } = opened;
    const batch = await create(opened, [
      { initial_value: '25.00', recipient_email: 'grace@example.com', code: 'SPRING-2031-0001' },
    ]);
    const parts = () =>
      storage.read(() =>
        all(
          sql<{ lines: Uint8Array | null; codes: Uint8Array | null }>`select lines, codes from batch_parts`,
        ),
      );
    const [before] = await parts();
    assert.ok(before?.lines && !before.codes);
    for (const secret of ['grace', 'spring20310001'])
      assert.equal(Buffer.from(before.lines).includes(secret), false, secret);
    await continueBatch({ ctx, storage }, batchKeyOf(batch));
    const [issued] = await parts();
    assert.ok(issued?.codes && issued.lines === null);
    assert.equal(Buffer.from(issued.codes).includes('spring20310001'), false);
    const shown = async () => (await cardsIn(opened, batch)).map((each) => each.code?.reveal() ?? null);
    assert.deepEqual(await shown(), ['spring20310001']);
    ctx.clock.advance(batchCodesMs - 1);
    await storage.write(() => eraseCodesOfBatches(ctx, 10));
    assert.deepEqual(await shown(), ['spring20310001']);
    ctx.clock.advance(1);
    assert.deepEqual(await shown(), [null], 'before they are erased');
    ctx.clock.advance(1);
    assert.equal(await storage.write(() => eraseCodesOfBatches(ctx, 10)), false);
    assert.deepEqual((await parts())[0]?.codes, null);
    assert.equal((await storage.read(() => showBatch(batchKeyOf(batch)))).codesUntil, null);
    assert.deepEqual(await shown(), [null]);
  });

  test('a card that is emailed has its code in the email only', async () => {
    await using opened = await openStore(factory);
    const { ctx, storage, store } = opened;
    const sent = [
      { initial_value: '1.00', recipient_email: 'grace@example.com' },
      { initial_value: '2.00' },
      { initial_value: '3.00', email: 'ada@example.com', notify: false },
    ];
    const batch = await create(opened, sent, { canSend: true });
    await continueBatch({ ctx, storage }, batchKeyOf(batch));
    const cards = await cardsIn(opened, batch);
    assert.deepEqual(
      cards.map((each) => each.code !== null),
      [false, true, true],
    );
    const emails = await storage.read(() => listStoreEmails(store.id, 10));
    assert.deepEqual(
      emails.map(({ kind, address, cardId }) => [kind, address, cardId]),
      [['gift_card', 'grace@example.com', cards[0]?.card.id]],
    );
    const emailed = await create(opened, sent.slice(0, 1), { canSend: true });
    await continueBatch({ ctx, storage }, batchKeyOf(emailed));
    assert.equal((await storage.read(() => showBatch(batchKeyOf(emailed)))).codesUntil, null);
  });

  test('a key returns the same batch, and rejects other cards', async () => {
    await using opened = await openStore(factory);
    const { ctx, storage, store } = opened;
    const batch = await create(opened, values(2), { key: 'gift-cards.csv' });
    assert.equal((await create(opened, values(2), { key: 'gift-cards.csv' })).id, batch.id);
    await assert.rejects(create(opened, values(3), { key: 'gift-cards.csv' }), {
      code: 'idempotency-key-reused',
    });
    assert.notEqual((await create(opened, values(2))).id, batch.id);
    assert.equal((await storage.read(() => findCreatedBatch(ctx, store.id, 'gift-cards.csv')))?.id, batch.id);
    const other = await storage.write(() => createStore(ctx, newStore({ domain: 'books.example' })));
    assert.equal(await storage.read(() => findCreatedBatch(ctx, other.id, 'gift-cards.csv')), undefined);
    const elsewhere = await create({ ...opened, store: other }, values(2), { key: 'gift-cards.csv' });
    assert.notEqual(elsewhere.id, batch.id);
    await assert.rejects(
      storage.read(() => showBatch({ storeId: other.id, batchId: batch.id })),
      { code: 'not-found' },
    );
  });

  test('a store remembers what was decided about headings, and only the latest decisions', async () => {
    await using opened = await openStore(factory);
    const { ctx, storage, store } = opened;
    const decide = (headings: readonly string[], columns: readonly FileColumn[]): Promise<void> =>
      storage.write(() => rememberColumns(ctx, store.id, { headings, columns }));
    const remembered = async (storeId = store.id) => [
      ...(await storage.read(() => listRememberedColumns(storeId))),
    ];
    assert.deepEqual(await remembered(), []);
    // A heading that suggests the decision is not remembered.
    await decide(['Betrag', 'Gruß', 'Filiale', ''], ['initial_value', 'message', null, null]);
    assert.deepEqual(await remembered(), [
      ['gruss', 'message'],
      ['filiale', null],
    ]);
    await decide(['Filiale', 'Gruß (kurz)', 'Betrag'], ['tags', 'note', 'email']);
    assert.deepEqual(await remembered(), [
      ['filiale', 'tags'],
      ['gruss', 'note'],
      ['betrag', 'email'],
    ]);
    await decide(['Betrag'], ['initial_value']);
    assert.equal((await remembered()).length, 2);
    const many = Array.from({ length: 64 }, (_, place) => `Spalte ${place}x`);
    for (let round = 0; round < 4; round += 1)
      await decide(
        many.map((heading) => `${heading} ${round}`),
        many.map(() => null),
      );
    const latest = await remembered();
    assert.deepEqual([latest.length, latest.at(-1)], [200, ['spalte63x3', null]]);
    const other = await storage.write(() => createStore(ctx, newStore({ domain: 'books.example' })));
    assert.deepEqual(await remembered(other.id), []);
  });

  test('a store has at most 20 running batches, which are listed newest first', async () => {
    await using opened = await openStore(factory);
    const { ctx, storage, store } = opened;
    const created: number[] = [];
    for (let place = 0; place < 20; place += 1) created.unshift((await create(opened, values(1))).id);
    await assert.rejects(create(opened, values(1)), { code: 'too-many-requests' });
    const page = { limit: 7, before: null, after: null };
    const first = await storage.read(() => listStoreBatches(store.id, page));
    assert.deepEqual(
      [first.items.map(({ id }) => id), first.hasOlder, first.hasNewer],
      [created.slice(0, 7), true, false],
    );
    const before = first.items.at(-1)?.id ?? 0;
    const second = await storage.read(() => listStoreBatches(store.id, { ...page, before }));
    assert.deepEqual(
      second.items.map(({ id }) => id),
      created.slice(7, 14),
    );
    const back = await storage.read(() =>
      listStoreBatches(store.id, { ...page, after: second.items[0]?.id ?? 0 }),
    );
    assert.deepEqual(
      back.items.map(({ id }) => id),
      created.slice(0, 7),
    );
    const [newest = 0] = created;
    await continueBatch({ ctx, storage }, { storeId: store.id, batchId: newest });
    await create(opened, values(1));
  });
}
