/** Cards at past instants: after any operations, they are what they were then. */

import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import type { Card, CardChanges } from '../../src/core/cards/domain/card.ts';
import { dayOf } from '../../src/core/domain/day.ts';
import { Fault } from '../../src/core/domain/fault.ts';
import { reenableCard, update } from '../../src/core/cards/service/card.ts';
import { resumeCard, suspendCard } from '../../src/core/cards/service/suspension.ts';
import { rotateCode } from '../../src/core/emails/service/email.ts';
import { capture, extendOpenHold, placeHold, voidOpenHold } from '../../src/core/money/service/hold.ts';
import { presentCard } from '../../src/core/cards/service/present-card.ts';
import { cardAt, cardsAt } from '../../src/core/cards/service/past-card.ts';
import { credit, debit } from '../../src/core/money/service/spend.ts';
import { topUp } from '../../src/core/money/service/top-up.ts';
import { changeStore } from '../../src/core/stores/service/store.ts';
import { verify } from '../../src/features/proofs/service/verify.ts';
import { eraseChangeTexts, listChanges } from '../../src/core/cards/storage/change.ts';
import type { Script } from '../../src/database/sql/sql.ts';
import { longTest } from '../support/long-test.ts';
import { assertCovering } from '../support/covering.ts';
import type { StorageFactory } from '../support/database.ts';
import { manualClock, money, testContext, updateCommand } from '../support/fixtures.ts';
import { openStore, type OpenStore } from '../support/open-store.ts';
import { expireHolds } from '../support/upkeep.ts';

const runs = Number(process.env['PAST_RUNS'] ?? 10);
const seed = Number(process.env['PAST_SEED'] ?? Date.now() % 2 ** 31);

const amount = fc.integer({ min: 1, max: 900 }).map((minor) => money((minor / 100).toFixed(2)));
const dayOfYear = fc.integer({ min: 10, max: 25 }).map((day) => `2026-03-${day}`);
const orNull = <T>(value: fc.Arbitrary<T>) => fc.option(value, { freq: 4 });

type Step = { readonly kind: string; readonly card: number; readonly run: (on: On) => Script<unknown> };
type On = OpenStore & { readonly cardId: number; readonly zones: string[]; readonly holds: number[] };

const withoutCard = { versions: null, actor: 'test', reference: null, note: null, orderId: null };

function step<T>(
  kind: string,
  values: fc.Arbitrary<T>,
  run: (on: On, value: T) => Script<unknown>,
): fc.Arbitrary<Step> {
  return fc
    .record({ card: fc.nat({ max: 3 }), value: values })
    .map(({ card, value }) => ({ kind, card, run: (on) => run(on, value) }));
}

const changes: fc.Arbitrary<CardChanges> = fc.record(
  {
    expiresOn: orNull(dayOfYear),
    note: orNull(fc.constantFrom('one', 'two', 'three')),
    balance: amount,
  },
  { requiredKeys: [] },
);

const steps = fc.oneof(
  { weight: 6, arbitrary: step('update', changes, ({ ctx, store, cardId }, value) =>
    update(ctx, updateCommand(store, cardId, value, { releaseHolds: true }))) },
  { weight: 2, arbitrary: step('disable', fc.constantFrom({ disable: true }, { disable: true, note: 'lost' }), ({ ctx, store, cardId }, value) =>
    update(ctx, updateCommand(store, cardId, value, { releaseHolds: true }))) },
  { weight: 5, arbitrary: step('re-enable', fc.constant(null), ({ ctx, store, cardId }) =>
    reenableCard(ctx, { store, cardId, actor: 'test', versions: null })) },
  { weight: 3, arbitrary: step('suspend', fc.constantFrom(null, 'lost', 'disputed'), ({ ctx, store, cardId }, reason) =>
    suspendCard(ctx, { store, cardId, actor: 'test', versions: null, reason })) },
  { weight: 3, arbitrary: step('resume', fc.constant(null), ({ ctx, store, cardId }) =>
    resumeCard(ctx, { store, cardId, actor: 'test', versions: null })) },
  { weight: 3, arbitrary: step('rotate', fc.constant(null), ({ ctx, store, cardId }) =>
    rotateCode(ctx, { store, cardId, actor: 'test', versions: null })) },
  { weight: 3, arbitrary: step('debit', amount, ({ ctx, store, cardId }, value) =>
    debit(ctx, { ...withoutCard, store, cardId, amount: value, partial: true })) },
  { weight: 2, arbitrary: step('credit', amount, ({ ctx, store, cardId }, value) =>
    credit(ctx, { ...withoutCard, store, cardId, amount: value })) },
  { weight: 2, arbitrary: step('top-up', amount, ({ ctx, store, cardId }, value) =>
    topUp(ctx, { ...withoutCard, store, cardId, amount: value, expiresOn: '2099-12-31', notify: false })) },
  { weight: 5, arbitrary: step('hold', fc.record({ value: amount, seconds: fc.integer({ min: 1, max: 604_800 }) }),
    function* ({ ctx, store, cardId, holds }, { value, seconds }) {
      const { hold } = yield* placeHold(ctx, { ...withoutCard, store, cardId, amount: value, seconds });
      holds.push(hold.id);
    }) },
  { weight: 5, arbitrary: step('capture', fc.nat({ max: 2 }), ({ ctx, store, holds }, place) =>
    capture(ctx, { ...withoutCard, store, holdId: holds.at(-1 - place) ?? 0, amount: null, versionsOf: () => null })) },
  { weight: 5, arbitrary: step('extend', fc.record({ place: fc.nat({ max: 2 }), seconds: fc.integer({ min: 1, max: 700_000 }) }),
    ({ ctx, store, holds }, { place, seconds }) =>
      extendOpenHold(ctx, { store, holdId: holds.at(-1 - place) ?? 0, actor: 'test', seconds, versionsOf: () => null })) },
  { weight: 1, arbitrary: step('void', fc.nat({ max: 2 }), ({ ctx, store, holds }, place) =>
    voidOpenHold(ctx, { store, holdId: holds.at(-1 - place) ?? 0, versionsOf: () => null })) },
  { weight: 1, arbitrary: step('expire', fc.constant(null), ({ ctx }) => expireHolds(ctx, 10)) },
  { weight: 1, arbitrary: step('zone', fc.constantFrom('UTC', 'Asia/Tokyo', 'America/New_York'), function* ({ ctx, store, zones }, timeZone) {
    yield* changeStore(ctx, store.domain, { timeZone });
    zones.push(timeZone);
  }) },
  { weight: 4, arbitrary: step('nothing', fc.constant(null), ({ ctx, store, cardId }) =>
    presentCard(ctx, { storeId: store.id, id: cardId })) },
); // prettier-ignore

/** 0: the same ms. */
const waits = fc.oneof(
  fc.constantFrom(0, 1, 999),
  fc.integer({ min: 1_000, max: 9_000_000 }),
  fc.constant(60_000_000),
);

type Snapshot = { readonly cards: readonly Card[]; readonly today: string };

const withoutVersion = (card: Card): Card => ({ ...card, version: 0 });

export function testPastCards(factory: StorageFactory): void {
  longTest(factory, 'after any operations, each card is at each instant what it was then', async (t) => {
    t.diagnostic(`PAST_SEED=${seed}`);
    const done = new Set<string>();
    const plan = fc.array(fc.tuple(waits, steps), { minLength: 40, maxLength: 70 });
    await assertCovering(
      fc.asyncProperty(plan, async (planned) => {
        await using opened = await openStore(factory, { undoWindowMinutes: 60 });
        const { storage, ctx, store } = opened;
        const cards: Card[] = [];
        const [zones, holds]: [string[], number[]] = [['UTC'], []];
        const snapshots = new Map<number, Snapshot>();
        for (const [place, [wait, { kind, card, run }]] of planned.entries()) {
          ctx.clock.advance(wait);
          if (place % 12 === 0)
            cards.push(
              (await opened.issue({ note: 'new', expiresOn: '2026-03-20', isSuspended: place % 24 === 0 }))
                .card,
            );
          const cardId = cards[card % cards.length]?.id ?? 0;
          try {
            // Cards can be re-enabled whenever they were disabled.
            const forever = { ...store, undoWindowMinutes: 1_000_000 };
            const on = { ...opened, store: forever, cardId, zones: [], holds };
            await storage.write(() => run(on));
            zones.push(...on.zones);
            done.add(kind);
          } catch (error) {
            if (!(error instanceof Fault)) throw error;
          }
          const now = ctx.clock.now();
          const present: Card[] = [];
          for (const { id } of cards)
            present.push(await storage.read(() => presentCard(ctx, { storeId: store.id, id })));
          snapshots.set(now, { cards: present, today: dayOf(now, zones.at(-1) ?? '') });
        }
        const timeZone = zones.at(-1) ?? '';
        const present = [...snapshots.values()].at(-1)?.cards ?? [];
        const before = (cards[0]?.createdAt ?? 0) - 1;
        const none = await storage.read(() => cardsAt({ ...store, timeZone }, present, before));
        assert.deepEqual(none.cards, []);
        const times = [...snapshots.keys()];
        for (const [place, at] of times.entries()) {
          const expected = snapshots.get(at);
          const past = await storage.read(() => cardsAt({ ...store, timeZone }, present, at));
          assert.ok(past.cards.every(({ isComplete }) => isComplete));
          assert.deepEqual(
            past.cards.map(({ card }) => withoutVersion(card)),
            expected?.cards.map(withoutVersion),
            `at ${at}`,
          );
          assert.equal(past.today, expected?.today);
          const next = times[place + 1];
          if (next === undefined || next === at + 1) continue;
          // Until the next operation, only holds can have expired.
          const later = await storage.read(() => cardsAt({ ...store, timeZone }, present, next - 1));
          for (const [index, { card }] of later.cards.entries()) {
            const then = expected?.cards[index];
            assert.ok(then && card.held.minor <= then.held.minor);
            assert.deepEqual(withoutVersion({ ...card, held: then.held }), withoutVersion(then));
          }
        }
        assert.deepEqual((await storage.read(() => verify(10))).mismatches, []);
      }),
      { seed, numRuns: runs },
      {
        kinds: [
          'update',
          'disable',
          're-enable',
          'suspend',
          'resume',
          'rotate',
          'debit',
          'hold',
          'capture',
          'extend',
          'zone',
        ],
        done,
      },
    );
  });

  test('a long chain has the same past as its entries say', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx, store } = opened;
    const { card } = await opened.issue();
    const expected: (readonly [at: number, balance: bigint, note: string | null])[] = [
      [ctx.clock.now(), card.balance.minor, null],
    ];
    for (let count = 1; count <= 100; count += 1) {
      ctx.clock.advance(count % 7 === 0 ? 0 : 10);
      const changed = await storage.write(() =>
        update(
          ctx,
          updateCommand(store, card.id, { balance: money(String(100 + count)), note: `n${count}` }),
        ),
      );
      expected.push([ctx.clock.now(), changed.balance.minor, changed.note]);
    }
    const last = new Map(expected.map((entry) => [entry[0], entry]));
    for (const [at, balance, note] of last.values()) {
      const { card: then } = await storage.read(() => cardAt(store, card.id, at));
      assert.deepEqual([then.balance.minor, then.note], [balance, note], `at ${at}`);
    }
  });

  test('a card did not exist before its creation, nor in another store', async () => {
    await using opened = await openStore(factory);
    const { storage, store } = opened;
    const { card } = await opened.issue();
    const at = (instant: number, storeId = store.id) =>
      storage.read(() => cardAt({ ...store, id: storeId }, card.id, instant));
    assert.equal((await at(card.createdAt)).card.id, card.id);
    await assert.rejects(at(card.createdAt - 1), { code: 'not-found' });
    await assert.rejects(at(card.createdAt, store.id + 1), { code: 'not-found' });
  });

  test('a change by a process with a slow clock is after the changes before it in the chain', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx, store } = opened;
    const { card } = await opened.issue({ note: 'first' });
    const start = ctx.clock.now();
    const slow = testContext({ clock: manualClock(start + 5_000) });
    const set = (by: typeof ctx, note: string) =>
      storage.write(() => update(by, updateCommand(store, card.id, { note })));
    ctx.clock.advance(10_000);
    await set(ctx, 'second');
    await set(slow, 'third');
    const noteAt = async (ms: number) =>
      (await storage.read(() => cardAt(store, card.id, start + ms))).card.note;
    assert.deepEqual(await Promise.all([0, 4_999, 5_000, 10_000].map(noteAt)), [
      'first',
      'first',
      'third',
      'third',
    ]);
  });

  test('an erased text is null at every past instant, and the other fields stay', async () => {
    await using opened = await openStore(factory);
    const { storage, ctx, store } = opened;
    const { card } = await opened.issue({ note: 'Ann', expiresOn: '2026-12-31' });
    const start = ctx.clock.now();
    ctx.clock.advance(1_000);
    await storage.write(() =>
      update(ctx, updateCommand(store, card.id, { note: 'Bea', expiresOn: '2027-12-31' })),
    );
    const [change] = await storage.read(() => listChanges(store.id, { after: 0, upTo: card.id }));
    await storage.write(() => eraseChangeTexts({ storeId: store.id, id: change?.id ?? 0 }, ['note']));
    const { card: then } = await storage.read(() => cardAt(store, card.id, start));
    assert.deepEqual([then.note, then.expiresOn], [null, '2026-12-31']);
    assert.deepEqual((await storage.read(() => verify(10))).mismatches, []);
  });
}
