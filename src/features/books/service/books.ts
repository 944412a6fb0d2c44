/**
 * Sums the books of a store: closed days in small transactions, and the days after them for a report.
 *
 * A transfer belongs to the day of its `created_at`, unless it was committed after the closing of that day began. Then
 * it belongs to the first day whose closing had not begun. A trigger records such *late* entries.
 */

import {
  findCardTerms,
  findFirstInstant,
  findLastClosings,
  listCardEntries,
  listClosedDays,
  listTransfersBetween,
  type CardTerms,
  type ChainTransfer,
  type ClosingDay,
  type ReadTransfer,
} from '../storage/books.ts';
import { listLateEntries } from '../storage/late-entries.ts';
import { listTermsChanges, type TermsChange } from '../../../core/cards/storage/terms.ts';
import { type Script, parallel } from '../../../database/sql/sql.ts';
import {
  dayAfter,
  firstDay,
  isSuspendedAt,
  placeWhere,
  transitionsOf,
  type SummedCard,
  type SummedTransfer,
  type BooksDay,
  type Terms,
  bucketAt,
} from '../domain/books.ts';
import type { Sums } from '../domain/sums.ts';
import { dayOf } from '../../../core/domain/day.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import { readVat, taxesOf, taxIn } from '../../../core/money/domain/vat.ts';

/** Consecutive days that are summed. */
export type Period = {
  readonly days: readonly BooksDay[];
  /** The day before them; null: they are the first days of the books. */
  readonly before: BooksDay | null;
  /** The place of the first day to which late entries are added that no day contains yet; none if it is not a place. */
  readonly openFrom: number;
};

type Months = readonly { readonly month: string; readonly fromAt: number }[];

/** The data that the sums of a period depend on. */
export type Books = { readonly store: Store; readonly period: Period; readonly months: Months };

/** The place of an entry in the days of a period and when it counts; place -1: before them; null: after them. */
function placeOf(
  { days, before, openFrom }: Period,
  { createdAt, late }: { readonly createdAt: number; readonly late: { readonly day: string | null } | null },
): { readonly place: number; readonly at: number } | null {
  let place: number;
  if (late === null) {
    if (before && createdAt < before.untilAt) return { place: -1, at: createdAt };
    place = placeWhere(days, ({ untilAt }) => untilAt > createdAt);
  } else if (late.day === null) {
    place = Math.max(
      openFrom,
      placeWhere(days, ({ untilAt }) => untilAt > createdAt),
    );
  } else {
    const { day } = late;
    if (before && day <= before.day) return { place: -1, at: createdAt };
    place = placeWhere(days, (one) => one.day >= day);
    if (days[place]?.day !== day) return null;
  }
  const found = days[place];
  return found ? { place, at: Math.max(createdAt, found.fromAt) } : null;
}

function monthOf({ store, months }: Pick<Books, 'store' | 'months'>, instant: number): string {
  const found = months.findLast(({ fromAt }) => fromAt <= instant) ?? months[0];
  return found?.month ?? dayOf(instant, store.timeZone).slice(0, 7);
}

/** @param changes the latest first. */
export function summedCardOf(books: Books, card: CardTerms, changes: readonly TermsChange[]): SummedCard {
  const terms: Terms[] = [];
  let { expiresOn, disabledAt, suspendedAt } = card;
  for (const change of changes) {
    const placed = placeOf(books.period, change);
    const since = placed?.at ?? Number.POSITIVE_INFINITY;
    // A change before the period is in effect during all of it.
    if (placed && placed.place < 0) break;
    terms.unshift({ since, expiresOn, disabledAt, suspendedAt });
    if (change.expiresOn !== undefined) ({ expiresOn } = change);
    if (change.disabledAt !== undefined) ({ disabledAt } = change);
    if (change.suspendedAt !== undefined) ({ suspendedAt } = change);
  }
  terms.unshift({ since: Number.NEGATIVE_INFINITY, expiresOn, disabledAt, suspendedAt });
  return { terms, vat: card.vat, issued: monthOf(books, card.issuedAt) };
}

function* withChanges(books: Books, cardId: number, card: CardTerms): Script<SummedCard> {
  const changes = card.isChanged ? yield* listTermsChanges(books.store.id, [cardId]) : undefined;
  return summedCardOf(books, card, changes?.get(cardId) ?? []);
}

/** The card; undefined if there is none. */
export function* loadSummedCard(books: Books, cardId: number): Script<SummedCard | undefined> {
  const found = yield* findCardTerms({ storeId: books.store.id, cardId });
  return found && (yield* withChanges(books, cardId, found));
}

type Late = { readonly day: string | null } | null;

/** The VAT in transfers that is due at the sale, by their ids. Those without it are absent. */
type Taxes = ReadonlyMap<number, bigint>;

/** The rate of the VAT that is due at the sale of a card; null: none is. */
export function rateAtSale(vat: string): string | null {
  const read = vat === '' ? null : readVat(vat);
  return read?.kind === 'single_purpose' ? read.rate : null;
}

/** The VAT in the transfers of a card's chain. */
function taxesOfChain(chain: readonly ChainTransfer[], vat: string): Taxes {
  const rate = rateAtSale(vat);
  if (rate === null) return new Map();
  const taxes = taxesOf(chain, rate);
  return new Map(chain.map(({ id }, place) => [id, taxes[place] ?? 0n]));
}

/** Reads the chains of single-purpose cards, except for their issues. */
export function* loadTaxes({ store }: Books, transfers: readonly ReadTransfer[]): Script<Taxes> {
  const taxes = new Map<number, bigint>();
  const vats = new Map<number, string>();
  for (const { id, cardId, sequence, effect, card } of transfers) {
    const rate = rateAtSale(card.vat);
    if (rate === null) continue;
    if (sequence === 1) taxes.set(id, taxIn(effect, rate));
    else vats.set(cardId, card.vat);
  }
  const cards = [...vats];
  for (let from = 0; from < cards.length; from += cardsAtOnce) {
    const some = cards.slice(from, from + cardsAtOnce);
    const chains = yield* parallel(...some.map(([cardId]) => listCardEntries(store, cardId)));
    for (const [place, chain] of chains.entries())
      for (const [id, tax] of taxesOfChain(chain, some[place]?.[1] ?? '')) taxes.set(id, tax);
  }
  return taxes;
}

/** @param taxes those of the transfer's card. */
export function summedTransferOf(
  period: Period,
  { sequence, ...transfer }: Omit<ReadTransfer, 'card'>,
  { late, taxes }: { readonly late: Late; readonly taxes: Taxes },
): SummedTransfer | undefined {
  const placed = placeOf(period, { createdAt: transfer.createdAt, late });
  const tax = taxes.get(transfer.id) ?? 0n;
  return placed ? { ...transfer, ...placed, tax, isFirst: sequence === 1, count: 1 } : undefined;
}

export type CountedTransfer = { readonly transfer: ReadTransfer; readonly late: Late };

function* addTransfers(books: Books, sums: Sums, entries: readonly CountedTransfer[]): Script<void> {
  const taxes = yield* loadTaxes(
    books,
    entries.map(({ transfer }) => transfer),
  );
  const placed = entries.flatMap(({ transfer, late }) => {
    const summed = summedTransferOf(books.period, transfer, { late, taxes });
    return summed && summed.place >= 0 ? [{ transfer, summed }] : [];
  });
  const cards = yield* parallel(
    ...placed.map(({ transfer: { cardId, card } }) => withChanges(books, cardId, card)),
  );
  for (const [place, { summed }] of placed.entries()) {
    const card = cards[place];
    if (card) sums.addTransfer(card, summed);
  }
}

/** Adds the transfers of the period that are not late, after an id. @returns the last id; undefined if there are no more. */
export function* sumTransfers(
  books: Books,
  sums: Sums,
  { after, limit }: { readonly after: number; readonly limit: number },
): Script<number | undefined> {
  const { store, period } = books;
  const [fromAt, untilAt] = [period.days.at(0)?.fromAt ?? 0, period.days.at(-1)?.untilAt ?? 0];
  const transfers = yield* listTransfersBetween(store, { after, fromAt, untilAt, limit });
  yield* addTransfers(
    books,
    sums,
    transfers.map((transfer) => ({ transfer, late: null })),
  );
  return transfers.length < limit ? undefined : transfers.at(-1)?.id;
}

/** Adds the late transfers of a day, or those that no day contains. @returns as `sumTransfers`. */
export function* sumLateTransfers(
  books: Books,
  sums: Sums,
  { day, after, limit }: { readonly day: string | null; readonly after: number; readonly limit: number },
): Script<number | undefined> {
  const entries = yield* listLateEntries(books.store, { day, after, limit });
  yield* addTransfers(
    books,
    sums,
    entries.flatMap((late) => (late.transfer ? [{ transfer: late.transfer, late }] : [])),
  );
  return entries.length < limit ? undefined : entries.at(-1)?.id;
}

/** The balance of a card at an instant of a period (minor units), if it is suspended and in the bucket `active` then. */
export function* findSuspendedBalance(
  books: Books,
  cardId: number,
  { day, at }: { readonly day: BooksDay; readonly at: number },
): Script<bigint | undefined> {
  const card = yield* loadSummedCard(books, cardId);
  if (!card || !isSuspendedAt(card, at) || bucketAt(card, day.day, at) !== 'active') return undefined;
  const placed = (yield* listCardEntries(books.store, cardId)).flatMap((transfer) => {
    const place = placeOf(books.period, transfer);
    return place && place.at <= at ? [transfer.effect] : [];
  });
  return placed.length === 0 ? undefined : placed.reduce((sum, effect) => sum + effect, 0n);
}

/** Adds the moves between buckets of cards. */
export function* sumMoves(books: Books, sums: Sums, cardIds: readonly number[]): Script<void> {
  const { store, period } = books;
  for (let from = 0; from < cardIds.length; from += cardsAtOnce) {
    const some = cardIds.slice(from, from + cardsAtOnce);
    const loaded = yield* parallel(
      ...some.map((cardId) => parallel(loadSummedCard(books, cardId), listCardEntries(store, cardId))),
    );
    for (const [card, chain] of loaded) {
      if (!card) continue;
      const taxes = taxesOfChain(chain, card.vat);
      const transfers = chain.flatMap(
        (transfer) => summedTransferOf(period, transfer, { late: transfer.late, taxes }) ?? [],
      );
      sums.addMoves(card, transfers, transitionsOf(card, period.days, period.before));
    }
  }
}

/** The last closed day, the day that is being closed, if there is one, and the start of the books. */
export type BooksState = {
  readonly closed: ClosingDay | null;
  readonly closing: ClosingDay | null;
  /** The days after the last closed one, up to the one that contains the present. */
  readonly open: readonly BooksDay[];
};

/** @param now the end of the last open day that is needed. Undefined result: the store has no entry. */
export function* findBooksState(store: Store, now: number): Script<BooksState | undefined> {
  const [last, previous] = yield* findLastClosings(store.id);
  const isClosed = last?.part === 'closed';
  const closed = (isClosed ? last : previous) ?? null;
  const closing = (isClosed ? null : last) ?? null;
  const open: BooksDay[] = closing ? [closing] : [];
  for (;;) {
    const end = open.at(-1) ?? closed;
    if (end && end.untilAt > now) break;
    if (end) open.push(dayAfter(end, store.timeZone));
    else {
      const from = yield* findFirstInstant(store.id);
      if (from === undefined) return undefined;
      open.push(firstDay(from, store.timeZone));
    }
  }
  return { closed, closing, open };
}

const daysInPage = 1_000;

/** All closed days of a store. */
export function* listAllClosedDays(storeId: number): Script<readonly BooksDay[]> {
  const days: BooksDay[] = [];
  for (let from = ''; ;) {
    const page = yield* listClosedDays(storeId, { from, limit: daysInPage });
    days.push(...page.filter(({ day }) => day !== from));
    const last = page.at(-1);
    if (!last || page.length < daysInPage) return days;
    from = last.day;
  }
}

/** The closed days of the month of a day, up to that day. */
export function* listClosedDaysUpTo(storeId: number, last: string): Script<readonly BooksDay[]> {
  const days = yield* listClosedDays(storeId, { from: last.slice(0, 7), limit: 31 });
  return days.filter(({ day }) => day <= last);
}

/** Cards whose statements are sent together. */
const cardsAtOnce = 50;
