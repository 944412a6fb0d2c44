/** Lists of cards: their pages under random filters and orders, compared to all cards, while cards are issued and change. */

import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { cardStates, stateOf } from '../../src/core/cards/domain/state.ts';
import { meetsFieldFilters } from '../../src/core/cards/domain/field-filters.ts';
import { currencyOf } from '../../src/core/money/domain/currency.ts';
import { addDays, startOfDay } from '../../src/core/domain/day.ts';
import { Fault } from '../../src/core/domain/fault.ts';
import { lowerLetters, searchedTag } from '../../src/core/cards/domain/tags.ts';
import type { Store } from '../../src/core/stores/domain/store.ts';
import { update } from '../../src/core/cards/service/card.ts';
import { issue } from '../../src/core/cards/service/issue.ts';
import { suspendCard } from '../../src/core/cards/service/suspension.ts';
import {
  type CardListPage,
  countCards,
  findSortableSince,
  listCards,
  type RowsMax,
  showCardDetails,
} from '../../src/core/cards/service/list.ts';
import { debit } from '../../src/core/money/service/spend.ts';
import { loadCard } from '../../src/core/cards/service/present-card.ts';
import { createStore } from '../../src/core/stores/service/store.ts';
import { anyCard, type CardFilter } from '../../src/core/cards/storage/filter.ts';
import type { CardPosition, CardSort } from '../../src/core/cards/storage/list.ts';
import type { DetailedCard } from '../../src/core/cards/storage/detailed-card.ts';
import { findCardView, saveFirstView, type FirstView } from '../../src/core/cards/storage/view.ts';
import { findCustomerByEmail } from '../../src/core/customers/storage/customer.ts';
import { execute, sql } from '../../src/database/sql/sql.ts';
import type { Storage } from '../../src/database/storage.ts';
import { findTransfer, listTransfersAfter } from '../../src/core/money/storage/transfer.ts';
import { longTest } from '../support/long-test.ts';
import type { StorageFactory } from '../support/database.ts';
import {
  email,
  issueCommand,
  money,
  newStore,
  updateCommand,
  type TestContext,
} from '../support/fixtures.ts';
import { addShop, openStore } from '../support/open-store.ts';
import { seeded } from '../support/seeded.ts';

const seed = Number(process.env['LIST_SEED'] ?? Date.now() % 2 ** 31);

const today = '2026-03-15';
const people = ['ann@example.com', 'bea@example.com', 'cem@example.com'] as const;
const notes = [null, 'Sold at the COUNTER', 'counter 2', '100 % off_', 'Größe'] as const;
const tagLists = [null, '\nVIP\n', '\nspring\nvip 2\n', '\nÄ\nVip\n'] as const;

/** A card, and the time of its last entry. */
type ListedCard = DetailedCard &
  FirstView & {
    readonly lastActivityAt: number;
    readonly locationId: number | null;
    readonly isRedeemed: boolean;
  };

type Books = { readonly storage: Storage; readonly ctx: TestContext; readonly store: Store };

/** All cards of the store, each read alone. */
async function readAll(
  { storage, ctx, store }: Books,
  ids: readonly number[],
): Promise<readonly ListedCard[]> {
  const cards: ListedCard[] = [];
  for (const cardId of ids) {
    const found = await storage.read(() => showCardDetails(ctx, { storeId: store.id, cardId }));
    const { chainEnd } = await storage.read(() => loadCard(ctx, { storeId: store.id, cardId }));
    const last = await storage.read(() => findTransfer(store.id, chainEnd.transferId));
    const transfers = await storage.read(() =>
      listTransfersAfter({ storeId: store.id, cardId }, { after: 0, limit: 9 }),
    );
    const view = await storage.read(() => findCardView({ storeId: store.id, cardId }));
    cards.push({
      ...found,
      ...view,
      lastActivityAt: last?.createdAt ?? 0,
      locationId: transfers[0]?.locationId ?? null,
      isRedeemed: transfers.some(({ credit }) => credit === 'redemptions'),
    });
  }
  return cards;
}

/** Returns whether a card meets the filter, without SQL. */
function meets(listed: ListedCard, filter: CardFilter): boolean {
  const { card, emailStatus, lastActivityAt, locationId, batchId, viewedAt, isRedeemed } = listed;
  const within = <T extends string | number | bigint>(
    value: T | null,
    range: { readonly min: T; readonly max: T } | null,
  ): boolean => range === null || (value !== null && value >= range.min && value <= range.max);
  return (
    (filter.state === null || stateOf(card, { today, emailStatus }) === filter.state) &&
    (filter.emailStatus === null || emailStatus === filter.emailStatus) &&
    (filter.customerId === null ||
      card.customer?.id === filter.customerId ||
      card.recipient?.id === filter.customerId) &&
    within(card.createdAt, filter.createdAt) &&
    within(card.disabledAt, filter.disabledAt) &&
    within(lastActivityAt, filter.lastActivityAt) &&
    within(card.expiresOn, filter.expiresOn) &&
    within(card.balance.minor, filter.balance) &&
    (filter.orderId === null || card.orderId === filter.orderId) &&
    (filter.batchId === null || batchId === filter.batchId) &&
    (filter.viewed === null || (viewedAt !== null) === filter.viewed) &&
    (filter.redeemed === null || isRedeemed === filter.redeemed) &&
    (filter.lastCharacters === null || card.lastCharacters === filter.lastCharacters) &&
    meetsFieldFilters(card, filter) &&
    (filter.issuedAt === null || (locationId !== null && filter.issuedAt.includes(locationId))) &&
    (filter.tag === null || lowerLetters(card.tags ?? '').includes(filter.tag)) &&
    (filter.text === null ||
      [card.senderName, card.recipientName, card.note].some((text) =>
        lowerLetters(text ?? '').includes(filter.text ?? ''),
      ))
  );
}

function compare<T>(left: T, right: T): number {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}

/** The ids of the cards in the order of the sort. */
function sortedIds(cards: readonly DetailedCard[], { by, isDescending }: CardSort): readonly number[] {
  const direction = isDescending ? -1 : 1;
  return cards
    .map(({ card }) => card)
    .toSorted((left, right) => {
      const key = (): number => {
        if (by === 'balance') return compare(left.balance.minor, right.balance.minor);
        if (by === 'created_at') return 0;
        const never = compare(left.expiresOn === null, right.expiresOn === null) * direction;
        return never === 0 ? compare(left.expiresOn ?? '', right.expiresOn ?? '') : never;
      };
      const compared = key();
      return direction * (compared === 0 ? compare(left.id, right.id) : compared);
    })
    .map(({ id }) => id);
}

/** All pages of a list. @param between runs after each page. */
async function listAll(
  { storage, ctx, store }: Books,
  { filter, sort, limit }: { readonly filter: CardFilter; readonly sort: CardSort; readonly limit: number },
  rowsMax: RowsMax,
  between: () => Promise<void>,
): Promise<readonly DetailedCard[]> {
  const cards: DetailedCard[] = [];
  let after: CardPosition | null = null;
  for (let pages = 0; pages < 2_000; pages += 1) {
    const position: CardPosition | null = after;
    const page: CardListPage = await storage.read(() =>
      listCards(ctx, { store, filter, sort, after: position, limit }, rowsMax),
    );
    assert.ok(page.cards.length <= limit);
    cards.push(...page.cards);
    if (page.next === null) return cards;
    after = page.next;
    await between();
  }
  return assert.fail('the list does not end');
}

/** The cards before a position, collected page by page from the last one to the first. */
async function listBack(
  { storage, ctx, store }: Books,
  {
    before,
    ...list
  }: {
    readonly filter: CardFilter;
    readonly sort: CardSort;
    readonly limit: number;
    readonly before: CardPosition;
  },
  rowsMax: RowsMax,
): Promise<readonly DetailedCard[]> {
  const pages: (readonly DetailedCard[])[] = [];
  let after: CardPosition | null = before;
  for (let count = 0; count < 2_000; count += 1) {
    const position: CardPosition | null = after;
    const page: CardListPage = await storage.read(() =>
      listCards(ctx, { store, ...list, after: position, isBackwards: true }, rowsMax),
    );
    assert.ok(page.cards.length <= list.limit);
    pages.unshift(page.cards);
    if (page.next === null) return pages.flat();
    after = page.next;
  }
  return assert.fail('the list does not begin');
}

const plainDebit = {
  actor: 'test',
  reference: null,
  note: null,
  orderId: null,
  versions: null,
  partial: false,
} as const;

/** Cards of all kinds, two thirds of them with emails. */
async function fill(
  books: Books,
  count: number,
  random: () => number,
  locations: readonly number[] = [],
): Promise<number[]> {
  const { storage, ctx, store } = books;
  const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)] as T;
  const ids: number[] = [];
  for (let at = 0; at < count; at += 1) {
    const person = pick([null, ...people]);
    const recipient = pick([null, ...people]);
    const isEmailed = random() < 0.6 && (person !== null || recipient !== null);
    const { card } = await storage.write(() =>
      issue(ctx, {
        ...issueCommand(store, {
          value: money(pick(['1', '5', '10', '10.01', '25'])),
          customer: person && email(person),
          recipient: recipient && email(recipient),
          note: pick(notes),
          tags: pick(tagLists),
          locationId: pick([null, ...locations]),
          expiresOn: pick([null, today, addDays(today, 1), addDays(today, 400)]),
          senderName: pick([null, 'Ada']),
          recipientName: pick([null, 'Linus', 'Ada Lin']),
        }),
        ...(isEmailed && { emails: { sendAt: pick([null, ctx.clock.now() + 3_600_000]) } }),
        ...(random() < 0.4 && { batchId: pick([555, 556]) }),
      }),
    );
    ids.push(card.id);
    const change = Math.floor(random() * 8);
    if (change === 0)
      await storage.write(() => update(ctx, updateCommand(store, card.id, { disable: true })));
    if (change === 1)
      await storage.write(() => update(ctx, updateCommand(store, card.id, { balance: money('0') })));
    if (change === 2)
      await storage.write(() =>
        update(ctx, updateCommand(store, card.id, { expiresOn: addDays(today, -1) })),
      );
    if (change === 3)
      await storage.write(() =>
        execute(sql`update gift_cards set order_id = 77 where store_id = ${store.id} and id = ${card.id}`),
      );
    if (change === 4)
      await storage.write(() => debit(ctx, { ...plainDebit, store, cardId: card.id, amount: money('0.01') }));
    if (random() < 0.3)
      await storage.write(() => saveFirstView({ storeId: store.id, cardId: card.id }, ctx.clock.now()));
    if (change !== 0 && random() < 0.15)
      await storage.write(() =>
        suspendCard(ctx, { store, cardId: card.id, actor: 'test', versions: null, reason: null }),
      );
    if (isEmailed && change >= 5) {
      const state = pick(['bounced', 'dead', 'sent']);
      await storage.write(() =>
        execute(sql`
          update email_deliveries set state = ${state}, next_at = null, code = null, ended_at = ${ctx.clock.now()}
          where store_id = ${store.id} and card_id = ${card.id} and kind = 'gift_card'`),
      );
    }
    if (random() < 0.2) ctx.clock.advance(1_000);
  }
  return ids;
}

export function testCardLists(factory: StorageFactory): void {
  longTest(
    factory,
    'lists under random filters and orders have exactly the cards that meet the filters',
    async (t) => {
      t.diagnostic(`seed ${seed} (LIST_SEED)`);
      await using opened = await openStore(factory);
      const { storage, ctx, store } = opened;
      const random = seeded(seed);
      const other = await storage.write(() =>
        createStore(ctx, newStore({ domain: 'books.example', currency: currencyOf('USD') })),
      );
      const startedAt = ctx.clock.now();
      await fill({ storage, ctx, store: other }, 20, random);
      const locations = [await addShop(opened), await addShop(opened)];
      const ids = await fill(opened, 80, random, locations);
      const lastCharacters = (await readAll(opened, ids))[7]?.card.lastCharacters ?? '';
      const customers = await Promise.all(
        people.map(async (person) => {
          const found = await storage.read(() => findCustomerByEmail(store.id, email(person)));
          return found?.id ?? 0;
        }),
      );
      const range = <T>(values: fc.Arbitrary<T>) =>
        fc
          .tuple(values, values)
          .map(([one, two]) => (one <= two ? { min: one, max: two } : { min: two, max: one }));
      const instants = range(fc.integer({ min: -1, max: 40 }).map((minutes) => startedAt + minutes * 60_000));
      // More than the difference of ids and times that lists allow for.
      const farInstants = range(
        fc.integer({ min: -3, max: 3 }).map((hours) => startedAt + hours * 3_600_000),
      );
      const rarely = <T>(values: fc.Arbitrary<T>) => fc.option(values, { freq: 2, nil: null });
      const filters: fc.Arbitrary<CardFilter> = fc.record({
        state: rarely(fc.constantFrom(...cardStates)),
        emailStatus: rarely(fc.constantFrom('bounced', 'dead', 'sent', 'queued')),
        customerId: rarely(fc.constantFrom(...customers, 0)),
        createdAt: rarely(instants),
        disabledAt: rarely(instants),
        lastActivityAt: rarely(fc.oneof(instants, farInstants)),
        expiresOn: rarely(range(fc.integer({ min: -2, max: 401 }).map((days) => addDays(today, days)))),
        balance: rarely(range(fc.constantFrom(0n, 100n, 1_000n, 1_001n, 9_999n))),
        orderId: rarely(fc.constantFrom(77, 78)),
        batchId: rarely(fc.constantFrom(555, 556, 557)),
        viewed: rarely(fc.boolean()),
        redeemed: rarely(fc.boolean()),
        lastCharacters: rarely(fc.constantFrom(lastCharacters)),
        note: rarely(fc.constantFrom('counter', '%', '_', 'Größe', 'größe')),
        externalId: rarely(fc.constantFrom('order-1', 'order-2', 'order-3')),
        issuedAt: rarely(fc.subarray([...locations, 7])),
        tag: rarely(fc.constantFrom('vip', 'VIP 2', 'ä', 'Ä').map(searchedTag)),
        text: rarely(fc.constantFrom('ada', 'lin', 'counter', 'größe', '%')),
      });
      const few = filters.map((filter) => {
        // Most conditions are left out, so that some cards meet the others.
        const names = Object.keys(filter) as (keyof CardFilter)[];
        const kept = names.filter(() => random() < 0.3);
        return { ...anyCard, ...Object.fromEntries(kept.map((name) => [name, filter[name]])) };
      });
      const sorts = fc.record({
        by: fc.constantFrom<CardSort['by']>('created_at', 'balance', 'expires_on'),
        isDescending: fc.boolean(),
      });
      const large = { found: 2_000, walk: 10_000, slowWalk: 2_500 };
      // Every path is bounded by the number of rows that it reads; small numbers give short and empty pages.
      const limits = fc.constantFrom<RowsMax>(
        large,
        { found: 6, walk: 7, slowWalk: 3 },
        { found: 0, walk: 9, slowWalk: 4 },
      );
      const known = [...(await readAll(opened, ids))];
      let matched = 0;
      await fc.assert(
      fc.asyncProperty(
        few, sorts, fc.integer({ min: 1, max: 50 }), limits, fc.boolean(),
        async (filter, sort, limit, small, areIssued) => {
          const before = known.map(({ card }) => card.id);
          let issuedNow = 0;
          const rowsMax = sort.by === 'balance' ? { ...small, walk: large.walk } : small;
          const listed = await listAll(opened, { filter, sort, limit }, rowsMax, async () => {
            if (!areIssued || issuedNow === 3) return;
            issuedNow += 1;
            const issued = await fill(opened, 1, random, locations);
            known.push(...(await readAll(opened, issued)));
            await fill({ storage, ctx, store: other }, 1, random);
          });
          const listedIds = listed.map(({ card }) => card.id);
          const expected = known.filter((card) => meets(card, filter));
          assert.equal(new Set(listedIds).size, listedIds.length, 'a card is on two pages');
          const expectedIds = new Set(expected.map(({ card }) => card.id));
          assert.ok(listed.every(({ card }) => card.storeId === store.id && expectedIds.has(card.id)));
          const present = areIssued ? before : known.map(({ card }) => card.id);
          const sorted = sortedIds(expected, sort);
          assert.deepEqual(
            listedIds.filter((id) => present.includes(id)),
            sorted.filter((id) => present.includes(id)),
          );
          assert.deepEqual(listedIds, sorted.filter((id) => listedIds.includes(id)));
          matched += listed.length;
          const last = listed.at(-1)?.card;
          if (last && !areIssued) {
            const end = { id: last.id, balance: last.balance.minor, expiresOn: last.expiresOn };
            const back = await listBack(opened, { filter, sort, limit, before: end }, rowsMax);
            assert.deepEqual(back.map(({ card }) => card.id), listedIds.slice(0, -1));
          }
          const count = await storage.read(() => countCards(ctx, { store, filter }, small));
          if (count.isExact) assert.equal(count.count, expected.length);
          else assert.ok(count.count <= expected.length && known.length > small.slowWalk);
        },
      ),
      { seed, numRuns: 80 },
    ); // prettier-ignore
      assert.ok(matched > 100, `the filters found only ${matched} cards`);
    },
  );

  test('a sort by balance is rejected if too many cards would have to be sorted', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx, store } = opened;
    const at = ctx.clock.now();
    for (let count = 0; count < 4; count += 1) await opened.issue();
    ctx.clock.advance(3 * 3_600_000);
    for (let count = 0; count < 3; count += 1) await opened.issue();
    const rowsMax = { found: 2, walk: 4, slowWalk: 4 };
    const list = (filter: CardFilter) =>
      storage.read(() =>
        listCards(
          ctx,
          { store, filter, sort: { by: 'balance', isDescending: true }, after: null, limit: 9 },
          rowsMax,
        ),
      );
    await assert.rejects(list(anyCard), (error) => error instanceof Fault && error.code === 'invalid-query');
    const first = await list({ ...anyCard, createdAt: { min: at, max: at } });
    assert.equal(first.cards.length, 4);
    const since = () => storage.read(() => findSortableSince(ctx, store, rowsMax));
    assert.equal(await since(), undefined, 'too many were issued today');
    ctx.clock.advance(48 * 3_600_000);
    await opened.issue();
    const day = (await since()) ?? '';
    const min = startOfDay(day, store.timeZone);
    assert.ok(min > at && min <= ctx.clock.now(), day);
    assert.equal((await list({ ...anyCard, createdAt: { min, max: ctx.clock.now() } })).cards.length, 1);
    assert.equal(
      await storage.read(() => findSortableSince(ctx, store, { ...rowsMax, walk: 8 })),
      undefined,
      'all can be sorted',
    );
  });

  test('a page has an end and a next page, even if none of its cards meet the filter', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx, store } = opened;
    const { card } = await opened.issue({ note: 'found' });
    for (let count = 0; count < 9; count += 1) await opened.issue();
    const rowsMax = { found: 0, walk: 4, slowWalk: 4 };
    const sort = { by: 'created_at', isDescending: true } as const;
    const filter = { ...anyCard, note: 'found' };
    const pages: number[][] = [];
    let after: CardPosition | null = null;
    do {
      const position: CardPosition | null = after;
      const page: CardListPage = await storage.read(() =>
        listCards(ctx, { store, filter, sort, after: position, limit: 9 }, rowsMax),
      );
      pages.push(page.cards.map((found) => found.card.id));
      after = page.next;
    } while (after !== null);
    assert.deepEqual(pages, [[], [], [card.id]]);
    const count = await storage.read(() => countCards(ctx, { store, filter }, rowsMax));
    assert.deepEqual(count, { count: 0, isExact: false });
  });
}
