/** Lists of emails: pages in both directions, filters and counts. */

import assert from 'node:assert/strict';
import test from 'node:test';
import type { StorageFactory } from '../support/database.ts';
import { email } from '../support/fixtures.ts';
import { openStore, type OpenStore } from '../support/open-store.ts';
import { Fault } from '../../src/core/domain/fault.ts';
import {
  cancelEmail,
  countEmailConcerns,
  pageOfStoreEmails,
  searchStoreEmails,
  showEmail,
  type ListedEmails,
  type WantedEmails,
} from '../../src/features/emails/service/list.ts';
import { countEmailsIn, countUndelivered } from '../../src/features/emails/storage/list.ts';
import { execute, sql } from '../../src/database/sql/sql.ts';

/** Inserts emails with the ids 1, 2, … after the last one, by their states and kinds. */
async function insertEmails(
  { storage, store }: OpenStore,
  cardId: number,
  emails: readonly (readonly [state: string, kind: string])[],
  last = 0,
): Promise<void> {
  await storage.write(function* () {
    for (const [place, [state, kind]] of emails.entries()) {
      const isPending = ['scheduled', 'queued', 'deferred'].includes(state);
      yield* execute(sql`
        insert into email_deliveries (store_id, card_id, id, kind, address, state, send_at, next_at, created_at, ended_at)
        values (${store.id}, ${cardId}, ${last + place + 1}, ${kind}, 'grace@example.com', ${state}, 1, ${isPending ? 2 : null},
          1, ${isPending ? null : 2})`);
    }
  });
}

export function testEmailLists(factory: StorageFactory): void {
  test('pages of emails lead to the last one and back, with and without filters', async () => {
    await using opened = await openStore(factory);
    const { storage, store } = opened;
    const { card } = await opened.issue();
    const states = ['sent', 'sent', 'bounced', 'queued', 'deferred', 'cancelled', 'dead'];
    const kinds = ['receipt', 'expiry_reminder', 'balance_reminder', 'receipt'];
    const emails = Array.from(
      { length: 230 },
      (_, place) => [states[place % states.length] ?? '', kinds[place % kinds.length] ?? ''] as const,
    );
    await insertEmails(opened, card.id, emails);
    const filters = [
      {},
      { states: ['sent'] },
      { states: ['queued', 'deferred'] },
      { kinds: ['expiry_reminder', 'balance_reminder'] },
      { states: ['bounced', 'dead'], kinds: ['receipt'] },
      { states: ['scheduled'] },
    ] as const;
    for (const filter of filters) {
      const page = (from: number | null, isBackwards: boolean) =>
        storage.read(() => pageOfStoreEmails(store.id, filter, { from, isBackwards }));
      const { states: wanted, kinds: ofKinds } = filter as {
        readonly states?: readonly string[];
        readonly kinds?: readonly string[];
      };
      const expected = emails
        .map(([state, kind], place) => ({ state, kind, id: place + 1 }))
        .filter(({ state, kind }) => (wanted?.includes(state) ?? true) && (ofKinds?.includes(kind) ?? true))
        .map(({ id }) => id)
        .toReversed();
      const forwards: number[][] = [];
      let shown = await page(null, false);
      assert.equal(shown.newer, null);
      for (;;) {
        forwards.push(shown.emails.map((listed) => listed.email.id));
        assert.ok(shown.emails.every((each) => each.card.lastCharacters === card.lastCharacters));
        if (shown.older === null) break;
        shown = await page(shown.older, false);
      }
      assert.deepEqual(forwards.flat(), expected);
      assert.ok(forwards.every((ids) => ids.length <= 50));
      for (const ids of forwards.slice(0, -1).toReversed()) {
        assert.ok(shown.newer !== null);
        shown = await page(shown.newer, true);
        assert.deepEqual(
          shown.emails.map((listed) => listed.email.id),
          ids,
        );
      }
      assert.equal(shown.newer, null, 'the first page');
    }
    const other = await storage.read(() =>
      pageOfStoreEmails(store.id + 1, {}, { from: null, isBackwards: false }),
    );
    assert.deepEqual(other.emails, []);
  });

  test('the emails about the cards of an address or about one card are found, in pages', async () => {
    await using opened = await openStore(factory);
    const { storage, store } = opened;
    const [ada, grace] = [email('ada@example.com'), email('grace@example.com')];
    const bought = (await opened.issue({ customer: ada, recipient: grace })).card;
    const own = (await opened.issue({ customer: ada, recipient: ada })).card;
    const other = (await opened.issue({ recipient: email('emma@example.com') })).card;
    const sent = Array.from({ length: 30 }, () => ['sent', 'gift_card'] as const);
    await insertEmails(opened, bought.id, [...sent, ['bounced', 'receipt']]);
    await insertEmails(opened, own.id, sent, 40);
    await insertEmails(opened, other.id, [['sent', 'receipt']], 80);
    const listed = async (wanted: WantedEmails, from: number | null = null, isBackwards = false) =>
      await storage.read(() => pageOfStoreEmails(store.id, wanted, { from, isBackwards }));
    const cardsOf = ({ emails }: ListedEmails): readonly number[] =>
      emails.map(({ email: each }) => each.cardId);
    const customerId = bought.customer?.id ?? 0;
    const subject = { customerId };
    const first = await listed({ subject });
    assert.equal(first.emails.length, 50);
    const second = await listed({ subject }, first.older);
    assert.deepEqual([second.emails.length, second.older], [11, null]);
    assert.deepEqual(new Set([...cardsOf(first), ...cardsOf(second)]), new Set([bought.id, own.id]));
    const ids = [...first.emails, ...second.emails].map(({ email: each }) => each.id);
    assert.deepEqual(
      ids,
      [...new Set(ids)].toSorted((left, right) => right - left),
    );
    assert.deepEqual(await listed({ subject }, second.newer, true), { ...first, newer: null });
    assert.deepEqual(
      cardsOf(await listed({ subject: { customerId: bought.recipient?.id ?? 0 } })).length,
      31,
    );
    assert.deepEqual(cardsOf(await listed({ subject, states: ['bounced'] })), [bought.id]);
    assert.deepEqual(cardsOf(await listed({ subject, kinds: ['receipt'], states: ['sent'] })), []);
    assert.deepEqual(cardsOf(await listed({ subject: { cardId: other.id } })), [other.id]);
    assert.deepEqual(cardsOf(await listed({ subject: { customerId: 0 } })), []);
  });

  test('a part of an address or of a name finds emails, in bounded steps and in pages', async () => {
    await using opened = await openStore(factory);
    const { storage, store } = opened;
    const cards = [
      await opened.issue({ recipient: email('grace@example.com'), recipientName: 'Alan Turing' }),
      await opened.issue({ recipient: email('grace@example.com'), recipientName: 'ADA Lovelace' }),
    ].map(({ card }) => card);
    const emails = Array.from({ length: 240 }, (_, place) => ({ id: place + 1, card: cards[place % 2] }));
    for (const { id, card } of emails)
      await insertEmails(opened, card?.id ?? 0, [[id % 3 === 0 ? 'bounced' : 'sent', 'receipt']], id - 1);
    await storage.write(() =>
      execute(sql`
        update email_deliveries set address = 'Emma@Books.example' where store_id = ${store.id} and id = 3`),
    );
    const max = { step: 7, page: 70 };
    const search = async (
      text: string,
      position: { readonly from: number | null; readonly isBackwards: boolean },
      filter: WantedEmails = {},
    ) => await searchStoreEmails(storage, store.id, { ...filter, text }, position, max);
    const all = async (text: string, filter: WantedEmails = {}): Promise<readonly number[]> => {
      const ids: number[] = [];
      let from: number | null = null;
      do {
        const page: ListedEmails = await search(text, { from, isBackwards: false }, filter);
        assert.ok(page.emails.length <= 50);
        const shown = page.emails.map((listed) => listed.email.id);
        if (from !== null) {
          // Back from this page are the emails before it.
          assert.ok(page.newer !== null);
          const before = await search(text, { from: page.newer, isBackwards: true }, filter);
          assert.ok(before.emails.every((listed) => ids.includes(listed.email.id)));
          assert.ok(before.older !== null && before.older >= (shown[0] ?? 0));
        }
        ids.push(...shown);
        from = page.older;
      } while (from !== null);
      return ids;
    };
    const idsOf = (isFound: (email: { readonly id: number; readonly card: unknown }) => boolean) =>
      emails
        .filter((each) => isFound(each))
        .map(({ id }) => id)
        .toReversed();
    assert.deepEqual(
      await all('alan'),
      idsOf(({ card }) => card === cards[0]),
    );
    assert.deepEqual(
      await all('A LOVE'),
      idsOf(({ card }) => card === cards[1]),
    );
    assert.deepEqual(
      await all('alan', { states: ['bounced'] }),
      idsOf(({ id, card }) => card === cards[0] && id % 3 === 0),
    );
    assert.deepEqual(await all('@books'), [3]);
    assert.deepEqual(
      await all(cards[0]?.lastCharacters.toUpperCase() ?? ''),
      idsOf(({ card }) => card === cards[0]),
    );
    assert.deepEqual(await all('alan', { kinds: ['gift_card'] }), []);
    // Characters of patterns have no meaning.
    assert.deepEqual(await all('%'), []);
    // A page ends where its steps end, and leads further.
    const empty = await search('@books', { from: null, isBackwards: false });
    assert.deepEqual([empty.emails.length, empty.newer, empty.older], [0, null, 171]);
    const [found] = (await search('@books', { from: 20, isBackwards: false })).emails;
    assert.deepEqual(found?.card, {
      lastCharacters: cards[0]?.lastCharacters,
      recipientName: 'Alan Turing',
      initialValue: cards[0]?.initialValue.minor,
    });
    const other = await searchStoreEmails(
      storage,
      store.id + 1,
      { text: 'alan' },
      { from: null, isBackwards: false },
    );
    assert.deepEqual(other.emails, []);
  });

  test('counts of emails are capped, and a failed code needs attention until there is another one', async () => {
    await using opened = await openStore(factory);
    const { storage, store, ctx } = opened;
    const today = '2026-03-15';
    const [first, expired] = [await opened.issue(), await opened.issue({ expiresOn: '2026-03-14' })];
    await insertEmails(opened, first.card.id, [
      ['bounced', 'receipt'],
      ['bounced', 'gift_card'],
      ['sent', 'receipt'],
      ['deferred', 'receipt'],
      ['queued', 'receipt'],
      ['queued', 'receipt'],
    ]);
    await insertEmails(opened, expired.card.id, [['dead', 'gift_card']]);
    const undelivered = (max: number) => storage.read(() => countUndelivered(store.id, { today, max }));
    assert.deepEqual(await undelivered(10), { count: 1, isExact: true });
    assert.deepEqual(await undelivered(1), { count: 1, isExact: false });
    assert.equal(await storage.read(() => countEmailsIn(store.id, ['queued', 'deferred'], 1)), 2);
    const { waiting, scheduled } = await storage.read(() => countEmailConcerns(ctx, store));
    assert.deepEqual([waiting, scheduled.count], [{ count: 3, isExact: true }, 0]);
    await storage.write(() =>
      execute(sql`
        insert into email_deliveries (store_id, card_id, id, kind, address, state, send_at, created_at, ended_at)
        values (${store.id}, ${first.card.id}, 9, 'gift_card', 'grace@example.com', 'sent', 1, 1, 2)`),
    );
    assert.deepEqual(await undelivered(10), { count: 0, isExact: true });
  });

  test('only a scheduled email is cancelled, and its code is erased', async () => {
    await using opened = await openStore(factory);
    const { storage, store, ctx } = opened;
    const sendAt = ctx.clock.now() + 86_400_000;
    await opened.issue({
      recipient: email('grace@example.com'),
      emails: { sendAt },
      customer: email('ada@example.com'),
    });
    const { emails } = await storage.read(() =>
      pageOfStoreEmails(store.id, {}, { from: null, isBackwards: false }),
    );
    const [receipt, gift] = emails.map((listed) => listed.email.id);
    assert.ok(receipt !== undefined && gift !== undefined);
    const isFault = (error: unknown): boolean =>
      error instanceof Fault && error.code === 'precondition-failed';
    await assert.rejects(
      storage.write(() => cancelEmail(ctx, store.id, receipt)),
      isFault,
    );
    await storage.write(() => cancelEmail(ctx, store.id, gift));
    await assert.rejects(
      storage.write(() => cancelEmail(ctx, store.id, gift)),
      isFault,
    );
    const { email: cancelled, isReplaced } = await storage.read(() => showEmail(store.id, gift));
    assert.deepEqual([cancelled.state, cancelled.nextAt, isReplaced], ['cancelled', null, false]);
    await assert.rejects(
      storage.read(() => showEmail(store.id + 1, gift)),
      Fault,
    );
  });
}
