/** The books: closed days and their sums, and what has to be read to sum a day. */

import { idSkewMaxMs } from '../../../core/money/storage/transfer.ts';
import assert from 'node:assert/strict';
import type { BooksDay, EntryKind } from '../domain/books.ts';
import { type Account, effectOf } from '../../../core/money/domain/ledger.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import { idsAt } from '../../../platform/random.ts';
import type { CardKey } from '../../../core/cards/storage/card.ts';
import { columns, integer, text, unchanged, type RowOf } from '../../../database/sql/columns.ts';
import {
  all,
  execute,
  first,
  one,
  part,
  sql,
  toNumber,
  toNumberOrNull,
  ValueList,
  type Part,
  type Script,
} from '../../../database/sql/sql.ts';
import { forUpdate, newestTransaction, oldestTransaction } from '../../../database/sql/fragments.ts';
import type { StoreKey } from './stored-sums.ts';

/** The parts of a closing, in order. */
type ClosingPart = 'late' | 'late_transfers' | 'transfers' | 'cards' | 'closed';

/** A day that is closed, or being closed. */
export type ClosingDay = BooksDay & {
  readonly part: ClosingPart;
  /** The last entry or card of the part that is done. */
  readonly doneId: number;
};

const closings = columns({
  day: text('day'),
  from_at: integer('fromAt'),
  until_at: integer('untilAt'),
  part: unchanged<ClosingPart>()('part'),
  done_id: integer('doneId'),
});

type ClosingRow = RowOf<typeof closings>;

/** Returns the last day that is closed or being closed, and the one before it. */
export function* findLastClosings(storeId: number): Script<readonly ClosingDay[]> {
  const rows = yield* all(sql<ClosingRow>`
    select ${closings.names} from store_closings where store_id = ${storeId} order by day desc limit 2`);
  return rows.map(closings.read);
}

/** Returns the closed days in order, from one on. */
export function* listClosedDays(
  storeId: number,
  { from, limit }: { readonly from: string; readonly limit: number },
): Script<readonly BooksDay[]> {
  const rows = yield* all(sql<ClosingRow>`
    select ${closings.names} from store_closings
    where store_id = ${storeId} and day >= ${from} and part = 'closed' order by day limit ${limit}`);
  return rows.map(closings.read);
}

/** Returns the closed day that contains an instant, and the closed day before it. */
export function* findClosedDayOf(
  storeId: number,
  instant: number,
): Script<{ readonly day: BooksDay | undefined; readonly before: BooksDay | undefined }> {
  const rows = yield* all(sql<ClosingRow>`
    select ${closings.names} from store_closings
    where store_id = ${storeId} and from_at <= ${instant} and part = 'closed' order by from_at desc limit 2`);
  const [last, before] = rows.map(closings.read);
  return last && instant < last.untilAt ? { day: last, before } : { day: undefined, before: last };
}

/** Returns the start of each month of the books in order, with the name of the month, `YYYY-MM`. */
export function* listMonths(
  storeId: number,
): Script<readonly { readonly month: string; readonly fromAt: number }[]> {
  const rows = yield* all(sql<{ month: string; from_at: bigint }>`
    select substr(day, 1, 7) as month, min(from_at) as from_at from store_closings
    where store_id = ${storeId} group by substr(day, 1, 7) order by 1`);
  return rows.map((row) => ({ month: row.month, fromAt: toNumber(row.from_at) }));
}

/** Returns the instant (ms) of the store's first entry; undefined if it has none. */
export function* findFirstInstant(storeId: number): Script<number | undefined> {
  const row = yield* first(sql<{ first: bigint | null; late: bigint | null }>`
    select (select created_at from transfers where store_id = ${storeId} order by id limit 1) as first,
      (select min(created_at) from late_entries where store_id = ${storeId}) as late`);
  const found = [row?.first ?? null, row?.late ?? null].flatMap((at) => (at === null ? [] : [toNumber(at)]));
  return found.length === 0 ? undefined : Math.min(...found);
}

/** Begins the closing of a day. Entries before its end that are committed from now on are late. */
export function* insertClosing(storeId: number, { day, fromAt, untilAt }: BooksDay): Script<void> {
  yield* execute(sql`
    insert into store_closings (store_id, day, from_at, until_at, part, done_id)
    values (${storeId}, ${day}, ${fromAt}, ${untilAt}, 'late', 0) on conflict do nothing`);
}

/** Locks and returns a day that is being closed; undefined if it is closed. */
export function* claimClosing(storeId: number, day: string): Script<ClosingDay | undefined> {
  const row = yield* first(sql<ClosingRow>`
    select ${closings.names} from store_closings
    where store_id = ${storeId} and day = ${day} and part <> 'closed' ${forUpdate}`);
  return row && closings.read(row);
}

/** Records what is summed next. @param closedAt when the day is closed; null: it is not. */
export function* advanceClosing(
  storeId: number,
  { day, part: reached, doneId }: Pick<ClosingDay, 'day' | 'part' | 'doneId'>,
  closedAt: number | null,
): Script<void> {
  yield* execute(sql`
    update store_closings set part = ${reached}, done_id = ${doneId}, closed_at = ${closedAt}
    where store_id = ${storeId} and day = ${day}`);
}

/** A day that is being closed. Its row is on the server of the store's transactions. */
export type ClosingKey = { readonly storeId: number; readonly day: string };

/** A number that every transaction of the store that is open now is below. */
export function* findNewestTransaction({ storeId, day }: ClosingKey): Script<bigint> {
  return (yield* one(sql<{ id: bigint }>`
    select ${newestTransaction} as id from store_closings where store_id = ${storeId} and day = ${day}`)).id;
}

/** Returns whether every transaction of the store below a number has ended. */
export function* haveEnded({ storeId, day }: ClosingKey, before: bigint): Script<boolean> {
  return (
    (yield* one(sql<{ id: bigint }>`
      select ${oldestTransaction} as id from store_closings where store_id = ${storeId} and day = ${day}`))
      .id >= before
  );
}

/** A transfer with the columns of its card that its bucket depends on. */
export type ReadTransfer = {
  readonly id: number;
  readonly cardId: number;
  readonly createdAt: number;
  readonly kind: EntryKind;
  readonly account: Account;
  readonly actor: string;
  readonly locationId: number | null;
  readonly effect: bigint;
  /** The place in the card's chain, starting at 1. */
  readonly sequence: number;
  readonly card: CardTerms;
};

/** The present terms of a card. */
export type CardTerms = {
  readonly expiresOn: string | null;
  readonly disabledAt: number | null;
  readonly suspendedAt: number | null;
  readonly vat: string;
  /** Instant in ms. */
  readonly issuedAt: number;
  readonly isChanged: boolean;
};

export type BooksTransferRow = {
  readonly id: bigint;
  readonly card_id: bigint;
  readonly created_at: bigint;
  readonly kind: EntryKind;
  readonly amount: bigint;
  readonly debit_account: Account;
  readonly credit_account: Account;
  readonly actor: string;
  readonly location_id: bigint | null;
  readonly sequence: bigint;
};

/** The kind of a transfer `t` in the books. Only an issue is the first entry of its card. */
export function entryKindOf(storeId: number): Part {
  return part`case when t.kind = 'reversal' and exists (
    select 1 from transfers r where r.store_id = ${storeId} and r.id = t.reverses and r.sequence = 1
  ) then 'cancellation' else t.kind end`;
}

/** The columns of a transfer `t`. */
export function entryColumns(storeId: number): Part {
  return part`t.id, t.card_id, t.created_at, ${entryKindOf(storeId)} as kind, t.amount, t.debit_account,
    t.credit_account, t.actor, t.location_id, t.sequence`;
}

/** The columns of a card `g` that its bucket depends on. */
export const termsColumns = part`g.expires_on, g.disabled_at, g.suspended_at, g.vat, g.created_at as issued_at,
  cast(case when g.last_change_id is null then 0 else 1 end as bigint) as is_changed`;

export type TermsRow = {
  readonly expires_on: string | null;
  readonly disabled_at: bigint | null;
  readonly suspended_at: bigint | null;
  readonly vat: string | null;
  readonly issued_at: bigint;
  readonly is_changed: bigint;
};

export function toEntry(row: BooksTransferRow, currency: Store['currency']): Omit<ReadTransfer, 'card'> {
  const effect = effectOf({ amount: { minor: row.amount, currency }, credit: row.credit_account });
  return {
    id: toNumber(row.id),
    cardId: toNumber(row.card_id),
    createdAt: toNumber(row.created_at),
    kind: row.kind,
    account: row.credit_account === 'card' ? row.debit_account : row.credit_account,
    actor: row.actor,
    locationId: toNumberOrNull(row.location_id),
    effect,
    sequence: toNumber(row.sequence),
  };
}

export function toTerms(row: TermsRow): CardTerms {
  return {
    expiresOn: row.expires_on,
    disabledAt: toNumberOrNull(row.disabled_at),
    suspendedAt: toNumberOrNull(row.suspended_at),
    vat: row.vat ?? '',
    issuedAt: toNumber(row.issued_at),
    isChanged: row.is_changed === 1n,
  };
}

/**
 * Returns the transfers of a period that are not late, in the order of their ids, after the id `after`.
 * @param untilAt the end of the period, which it does not include.
 */
export function* listTransfersBetween(
  { id: storeId, currency }: StoreKey,
  {
    after,
    fromAt,
    untilAt,
    limit,
  }: { readonly after: number; readonly fromAt: number; readonly untilAt: number; readonly limit: number },
): Script<readonly ReadTransfer[]> {
  const from = Math.max(after, idsAt(fromAt - idSkewMaxMs) - 1);
  const rows = yield* all(sql<BooksTransferRow & TermsRow>`
    select ${entryColumns(storeId)}, ${termsColumns}
    from transfers t join gift_cards g on g.store_id = t.store_id and g.id = t.card_id
    where t.store_id = ${storeId} and t.id > ${from} and t.id < ${idsAt(untilAt + idSkewMaxMs + 1)}
      and t.created_at >= ${fromAt} and t.created_at < ${untilAt}
      and not exists (select 1 from late_entries l where l.store_id = ${storeId} and l.id = t.id)
    order by t.id limit ${limit}`);
  return rows.map((row) => ({ ...toEntry(row, currency), card: toTerms(row) }));
}

/** Returns transfers by their ids, at most `transfersMax`. */
export function* listTransfersById(
  { id: storeId, currency }: StoreKey,
  ids: readonly number[],
): Script<readonly ReadTransfer[]> {
  assert(ids.length <= transfersMax);
  // A statement has the same number of values each time. Id 0 does not exist.
  const list = new ValueList([...ids, ...Array.from({ length: transfersMax - ids.length }, () => 0)]);
  const rows = yield* all(sql<BooksTransferRow & TermsRow>`
    select ${entryColumns(storeId)}, ${termsColumns}
    from transfers t join gift_cards g on g.store_id = t.store_id and g.id = t.card_id
    where t.store_id = ${storeId} and t.id in (${list})`);
  return rows.map((row) => ({ ...toEntry(row, currency), card: toTerms(row) }));
}

export const transfersMax = 250;

/** A place in a list of cards by a day or an instant, and their ids. */
export type CardAt<T> = { readonly at: T; readonly id: number };

/** Returns cards by their last valid day, after a place, up to before the day `until`. */
export function* listCardsWithExpiry(
  storeId: number,
  { after, until, limit }: { readonly after: CardAt<string>; readonly until: string; readonly limit: number },
): Script<readonly CardAt<string>[]> {
  const rows = yield* all(sql<{ at: string; id: bigint }>`
    select expires_on as at, id from gift_cards
    where store_id = ${storeId} and expires_on is not null and expires_on >= ${after.at} and expires_on < ${until}
      and (expires_on > ${after.at} or id > ${after.id})
    order by expires_on, id limit ${limit}`);
  return rows.map(({ at, id }) => ({ at, id: toNumber(id) }));
}

/** Returns cards by when they were disabled, after a place, up to before the instant `until`. */
export function* listCardsDisabled(
  storeId: number,
  { after, until, limit }: { readonly after: CardAt<number>; readonly until: number; readonly limit: number },
): Script<readonly CardAt<number>[]> {
  const rows = yield* all(sql<{ at: bigint; id: bigint }>`
    select disabled_at as at, id from gift_cards
    where store_id = ${storeId} and disabled_at is not null and disabled_at >= ${after.at} and disabled_at < ${until}
      and (disabled_at > ${after.at} or id > ${after.id})
    order by disabled_at, id limit ${limit}`);
  return rows.map(({ at, id }) => ({ at: toNumber(at), id: toNumber(id) }));
}

/** A transfer of a card's chain. */
export type ChainTransfer = Omit<ReadTransfer, 'card'> & {
  /** If it is a late entry. */
  readonly late: { readonly day: string | null } | null;
};

/** Returns the present terms of a card; undefined if there is no such card. */
export function* findCardTerms({ storeId, cardId }: CardKey): Script<CardTerms | undefined> {
  const row = yield* first(sql<TermsRow>`
    select ${termsColumns} from gift_cards g
    where g.store_id = ${storeId} and g.id = ${cardId}`);
  return row && toTerms(row);
}

/** Returns all transfers of a card, in the order of its chain. */
export function* listCardEntries(
  { id: storeId, currency }: StoreKey,
  cardId: number,
): Script<readonly ChainTransfer[]> {
  const rows = yield* all(sql<
    BooksTransferRow & { readonly is_late: bigint; readonly late_day: string | null }
  >`
    with recursive chain (id, previous_id, sequence) as (
      select t.id, t.previous_id, t.sequence from gift_cards g
      join transfers t on t.store_id = ${storeId} and t.id = g.last_transfer_id
      where g.store_id = ${storeId} and g.id = ${cardId}
      union all
      select t.id, t.previous_id, t.sequence from chain c
      join transfers t on t.store_id = ${storeId} and t.id = c.previous_id
      -- Ends even if rows that were tampered with refer to each other.
      where t.sequence < c.sequence
    )
    select ${entryColumns(storeId)},
      cast(case when l.id is null then 0 else 1 end as bigint) as is_late, l.day as late_day
    from chain c join transfers t on t.store_id = ${storeId} and t.id = c.id
    left join late_entries l on l.store_id = ${storeId} and l.id = t.id
    order by t.sequence`);
  return rows.map((row) => ({
    ...toEntry(row, currency),
    late: row.is_late === 1n ? { day: row.late_day } : null,
  }));
}
