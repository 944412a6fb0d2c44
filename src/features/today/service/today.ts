/**
 * The figures of today: what a store owes now and owed at the end of each month, and the movements of today.
 *
 * Closed days are summed in the books. The transfers after them are summed here, page by page, and a sum is kept for
 * those that no open transaction can precede, so that a request reads only the transfers of the last minutes. If there
 * are so many that they take longer than a request may, they are summed in the background.
 */

import { ToolKey } from '../../../platform/tools.ts';
import { findLastClosed, monthEndsOf, type MonthEnds } from '../../books/service/month-ends.ts';
import { setTimeout as wait } from 'node:timers/promises';
import type { Context } from '../../../core/storage/context.ts';
import { dayOf, startOfDay } from '../../../core/domain/day.ts';
import type { EntryPlaces } from '../../../core/stores/domain/location.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import type { Count } from '../../till/domain/till-day.ts';
import { idsAt } from '../../../platform/random.ts';
import { findFirstInstant, type ClosingDay } from '../../books/storage/books.ts';
import { idSkewMaxMs } from '../../../core/money/storage/transfer.ts';
import { parallel, resolved, type Script } from '../../../database/sql/sql.ts';
import type { Storage } from '../../../database/storage.ts';
import { sumLateOpenTransfers, sumOpenTransfers, type OpenDays, type OpenSum } from '../storage/today.ts';
import { listClosedMonths, type ClosedMonth } from '../../books/storage/closed-months.ts';
import type { TakenBack } from '../../till/service/till-day.ts';

/** Movements of one kind: their number, and their sum in minor units. */
export type MovementSum = { readonly entries: number; readonly amount: bigint };

export type TodaySums = Readonly<
  Record<'sold' | 'redeemed' | 'refunded' | 'added' | 'adjusted', MovementSum>
>;

export type TodayFigures = MonthEnds & {
  /** The liability now, in minor units. */
  readonly outstanding: bigint;
  /** The cards that it has issued. */
  readonly cards: number;
  readonly today: TodaySums;
};

export type FiguresReader = {
  /**
   * Undefined: too many transfers are not summed yet, and are being summed.
   * @param places the locations whose movements of today are summed. What a store owes is not divided.
   */
  read(store: Store, places: EntryPlaces): Promise<TodayFigures | undefined>;
};

/** One statement of the embedded engine blocks all others for about 2 ms. */
const pageRows = 2_000;
/** The longest wait of a request for sums that are not kept. */
const patienceMs = 100;
/** A transaction that is open now has begun after this, and its ids are not lower. */
const settlingMs = idSkewMaxMs;
/** Transfers of the last minutes that a request sums. */
const pagesOfRequest = 4;
const storesMax = 1_000;

/** The sums of the transfers of open days up to an id. */
type Settled = OpenDays & {
  /** The last closed day; empty: none. */
  readonly closedDay: string;
  lastId: number;
  sums: readonly OpenSum[];
};

type FiguresSource = { readonly ctx: Context; readonly storage: Pick<Storage, 'read'> };

class SettledFigures implements FiguresReader {
  readonly #source: FiguresSource;
  readonly #settledOf = new Map<number, Settled>();
  readonly #settling = new Map<number, Promise<void>>();

  constructor(source: FiguresSource) {
    this.#source = source;
  }

  async read(store: Store, places: EntryPlaces): Promise<TodayFigures | undefined> {
    const { ctx, storage } = this.#source;
    const isSettled = await Promise.race([
      this.#settleOnce(store).then(() => true),
      wait(patienceMs, false, { ref: false }),
    ]);
    if (!isSettled) return undefined;
    return await storage.read(() =>
      readFigures(ctx, { store, places }, (closed) => this.#currentOf(store, closed)),
    );
  }

  #begin(store: Store, closed: ClosingDay | null): Settled {
    const openFrom = closed?.untilAt ?? 0;
    const todayFrom = startOfDay(dayOf(this.#source.ctx.clock.now(), store.timeZone), store.timeZone);
    const lastId = Math.max(0, idsAt(openFrom - idSkewMaxMs) - 1);
    return { openFrom, todayFrom, closedDay: closed?.day ?? '', lastId, sums: [] };
  }

  /** The kept sums; new ones if a day has begun or was closed. */
  #currentOf(store: Store, closed: ClosingDay | null): Settled {
    const begun = this.#begin(store, closed);
    const kept = this.#settledOf.get(store.id);
    if (kept && kept.openFrom === begun.openFrom && kept.todayFrom === begun.todayFrom) return kept;
    const [oldest] = this.#settledOf.keys();
    if (oldest !== undefined && this.#settledOf.size >= storesMax) this.#settledOf.delete(oldest);
    this.#settledOf.set(store.id, begun);
    return begun;
  }

  *#nextPage(store: Store, before: number) {
    const settled = this.#currentOf(store, yield* findLastClosed(store.id));
    if (settled.lastId >= before - 1) return undefined;
    const { lastId: after } = settled;
    const page = yield* sumOpenTransfers(store, settled, { after, before, limit: pageRows });
    return { settled, after, page };
  }

  /** Adds the transfers that no open transaction can precede. */
  async #settle(store: Store): Promise<void> {
    for (;;) {
      const before = idsAt(this.#source.ctx.clock.earliest() - settlingMs);
      const next = await this.#source.storage.read(() => this.#nextPage(store, before));
      if (!next) return;
      const { settled, after, page } = next;
      // Another call has added this page.
      if (settled.lastId !== after) continue;
      settled.sums = addUp([...settled.sums, ...page.sums]);
      settled.lastId = page.last ?? before - 1;
      if (page.last === undefined) return;
    }
  }

  #settleOnce(store: Store): Promise<void> {
    const running = this.#settling.get(store.id);
    if (running) return running;
    const begun = this.#settle(store).finally(() => this.#settling.delete(store.id));
    this.#settling.set(store.id, begun);
    // A request that no longer waits does not receive the error. The next one tries again.
    begun.catch(() => undefined);
    return begun;
  }
}

export const figuresTool = new ToolKey<FiguresReader>('figures');

export function figuresReader(source: FiguresSource): FiguresReader {
  return new SettledFigures(source);
}

function* readFigures(
  ctx: Context,
  { store, places }: { readonly store: Store; readonly places: EntryPlaces },
  settledOf: (closed: ClosingDay | null) => Settled,
): Script<TodayFigures | undefined> {
  const closed = yield* findLastClosed(store.id);
  const settled = settledOf(closed);
  // A day was closed, or has begun, since the sums were settled.
  if (settled.lastId < idsAt(ctx.clock.earliest() - 2 * settlingMs)) return undefined;
  const sums: OpenSum[] = [...settled.sums];
  const { closedDay } = settled;
  const [months, firstAt, late] = yield* parallel(
    closed ? listClosedMonths(store) : resolved<readonly ClosedMonth[]>([]),
    closed ? resolved(undefined) : findFirstInstant(store.id),
    sumLateOpenTransfers(store, settled, { closedDay, limit: pageRows }),
  );
  if (late.last !== undefined) return undefined;
  sums.push(...late.sums);
  const before = Number.MAX_SAFE_INTEGER;
  let after: number | undefined = settled.lastId;
  for (let page = 0; after !== undefined; page += 1) {
    if (page === pagesOfRequest) return undefined;
    const from: number = after;
    const added = yield* sumOpenTransfers(store, settled, { after: from, before, limit: pageRows });
    sums.push(...added.sums);
    after = added.last;
  }
  return {
    ...figuresOf(sums, sumMonths(months), places),
    ...monthEndsOf(store, { closed, months, firstAt }),
  };
}

/** The liability after closed months, and the number of issued cards. */
type ClosedTotals = { readonly outstanding: bigint; readonly cards: number };

function sumMonths(months: readonly ClosedMonth[]): ClosedTotals {
  return {
    outstanding: months.reduce((total, { change }) => total + change, 0n),
    cards: months.reduce((total, { cards }) => total + cards, 0),
  };
}

function figuresOf(
  sums: readonly OpenSum[],
  before: ClosedTotals,
  places: EntryPlaces,
): Omit<TodayFigures, keyof MonthEnds> {
  let { outstanding, cards } = before;
  for (const { isRaise, amount, kind, entries } of sums) {
    outstanding += isRaise ? amount : -amount;
    if (kind === 'issue') cards += entries;
  }
  const shown = sums.filter(({ locationId }) => places?.includes(locationId) !== false);
  return { outstanding, cards, today: todayOf(shown) };
}

function addUp(sums: readonly OpenSum[]): readonly OpenSum[] {
  const groups = Map.groupBy(sums, ({ kind, isRaise, isToday, locationId }) =>
    [kind, isRaise, isToday, locationId].join(' '),
  );
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    return first ? [{ ...first, ...totalOf(group) }] : [];
  });
}

function less({ entries, amount }: MovementSum, { entries: count, minor }: Count): MovementSum {
  return { entries: entries - count, amount: amount - minor };
}

/**
 * The sums with the meaning that they have at the till: a redemption that was undone is neither redeemed nor refunded, as
 * docs/books.md defines it. Reports have the sums of the entries.
 */
export function withoutUndone(sums: TodaySums, { undone }: Pick<TakenBack, 'undone'>): TodaySums {
  return { ...sums, redeemed: less(sums.redeemed, undone), refunded: less(sums.refunded, undone) };
}

function totalOf(sums: readonly OpenSum[]): MovementSum {
  return {
    entries: sums.reduce((count, { entries }) => count + entries, 0),
    amount: sums.reduce((total, { amount }) => total + amount, 0n),
  };
}

function todayOf(sums: readonly OpenSum[]): TodaySums {
  const total = (isWanted: (sum: OpenSum) => boolean): MovementSum => {
    const wanted = sums.filter((sum) => sum.isToday && isWanted(sum));
    return {
      entries: wanted.reduce((count, { entries }) => count + entries, 0),
      amount: wanted.reduce((sum, { amount, isRaise }) => sum + (isRaise ? amount : -amount), 0n),
    };
  };
  const redeemed = total(({ kind }) => kind === 'debit' || kind === 'capture');
  const issued = total(({ kind }) => kind === 'issue');
  const cancelled = total(({ kind }) => kind === 'cancellation');
  return {
    sold: { entries: issued.entries - cancelled.entries, amount: issued.amount + cancelled.amount },
    redeemed: { ...redeemed, amount: -redeemed.amount },
    refunded: total(({ kind, isRaise }) => kind === 'reversal' && isRaise),
    // The reversal of an amount that was added takes it back.
    added: total(
      ({ kind, isRaise }) => kind === 'credit' || kind === 'top_up' || (kind === 'reversal' && !isRaise),
    ),
    adjusted: total(({ kind }) => kind === 'adjustment'),
  };
}
