/** Computes the sums of all closed days from all transfers, in one transaction. */

import assert from 'node:assert/strict';
import {
  placeWhere,
  transitionsOf,
  type BooksDay,
  type EntryKind,
  type SummedCard,
  type SummedTransfer,
  type Transition,
} from '../domain/books.ts';
import { Sums } from '../domain/sums.ts';
import { increases, type Account } from '../../../core/money/domain/ledger.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import { idsAt } from '../../../platform/random.ts';
import {
  listMonths,
  listTransfersById,
  transfersMax,
  type CardTerms,
  type ReadTransfer,
} from '../storage/books.ts';
import { idSkewMaxMs } from '../../../core/money/storage/transfer.ts';
import { listLateEntries, type LateEntry } from '../storage/late-entries.ts';
import {
  scanCardsOfBooks,
  scannedRows,
  scanTransfersOfBooks,
  type CardOfBooks,
  type TransferOfBooks,
} from '../storage/scan.ts';
import { listTermsChanges, termsCardsMax, type TermsChange } from '../../../core/cards/storage/terms.ts';
import type { CardIdRange } from '../../proofs/storage/ledger-scan.ts';
import type { ScannedInteger, Script } from '../../../database/sql/sql.ts';
import {
  listAllClosedDays,
  loadTaxes,
  rateAtSale,
  summedCardOf,
  summedTransferOf,
  type Books,
  type CountedTransfer,
} from './books.ts';
import { CardPlaces } from './card-places.ts';
import { plus } from './exact-sums.ts';
import { int64Max } from '../../../core/domain/int64.ts';

/** Cards whose transfers are read in one pass. Of each it keeps about 30 bytes. */
const cardsInPass = 500_000;

/**
 * Sums all closed days. Transfers of cards whose terms never changed are summed by what they have in common; the others,
 * and late ones, one by one.
 */
export function* recompute(store: Store): Script<Sums> {
  const days = yield* listAllClosedDays(store.id);
  const books: Books = {
    store,
    period: { days, before: null, openFrom: days.length },
    months: yield* listMonths(store.id),
  };
  const sums = new Sums(days);
  const single = new SingleTransfers(books, sums);
  for (let after: ScannedInteger | undefined = 0; after !== undefined && days.length > 0;) {
    const cards: AlikeCards = yield* readCards(books, after);
    const range = { after, upTo: cards.next ?? int64Max };
    yield* addTransfers(books, { sums, cards, range, single });
    after = cards.next;
  }
  for (const { day } of days) {
    for (let after: number | undefined = 0; after !== undefined;) {
      const entries: readonly LateEntry[] = yield* listLateEntries(store, { day, after, limit: lateInPage });
      yield* single.add(
        entries.flatMap((late) => (late.transfer ? [{ transfer: late.transfer, late }] : [])),
      );
      after = entries.length < lateInPage ? undefined : entries.at(-1)?.id;
    }
  }
  return sums;
}

const lateInPage = 1_000;

type PlacedCard = { readonly card: SummedCard; readonly transitions: readonly Transition[] };

/** Cards, and which of them are alike: they have the same constant terms, month of issue and VAT. */
type AlikeCards = {
  readonly places: CardPlaces;
  /** By the place of a card: the place in `kinds`; -1: the card is like no other. */
  readonly kindOf: Int32Array;
  readonly kinds: readonly PlacedCard[];
  /** The last id; undefined if there are no more cards. */
  readonly next: ScannedInteger | undefined;
};

const alone = -1;

function* readCards(books: Books, from: ScannedInteger): Script<AlikeCards> {
  const ids: ScannedInteger[] = [];
  const kindOf: number[] = [];
  const kinds: PlacedCard[] = [];
  const byKey = new Map<string, number>();
  for (let after = from; ;) {
    const page: readonly CardOfBooks[] = yield* scanCardsOfBooks(books.store.id, after);
    for (const card of page) {
      ids.push(card.id);
      kindOf.push(kindOfCard(books, card, { kinds, byKey }));
    }
    const last = page.at(-1);
    const isLast = !last || page.length < scannedRows;
    if (isLast || ids.length >= cardsInPass)
      return {
        places: new CardPlaces(ids),
        kindOf: Int32Array.from(kindOf),
        kinds,
        next: isLast ? undefined : last.id,
      };
    after = last.id;
  }
}

function kindOfCard(
  books: Books,
  { created_at: issuedAt, expires_on: expiresOn, vat, is_constant: isConstant }: CardOfBooks,
  { kinds, byKey }: { readonly kinds: PlacedCard[]; readonly byKey: Map<string, number> },
): number {
  const { days } = books.period;
  // The VAT that is due at the sale depends on the whole chain of the card.
  if (isConstant !== 1 || rateAtSale(vat ?? '') !== null) return alone;
  const isExpiring = expiresOn !== null && expiresOn < (days.at(-1)?.day ?? '');
  const terms = {
    expiresOn: isExpiring ? expiresOn : null,
    disabledAt: null,
    suspendedAt: null,
    vat: vat ?? '',
    issuedAt: Number(issuedAt),
    isChanged: false,
  };
  const card = summedCardOf(books, terms, []);
  const key = `${card.issued} ${terms.expiresOn} ${terms.vat}`;
  const found = byKey.get(key);
  if (found !== undefined) return found;
  byKey.set(key, kinds.length);
  return kinds.push({ card, transitions: transitionsOf(card, days, null) }) - 1;
}

function* addTransfers(
  { store, period: { days } }: Books,
  {
    sums,
    cards: { places, kindOf, kinds },
    range,
    single,
  }: {
    readonly sums: Sums;
    readonly cards: AlikeCards;
    readonly range: CardIdRange;
    readonly single: SingleTransfers;
  },
): Script<void> {
  const [fromAt, untilAt] = [days.at(0)?.fromAt ?? 0, days.at(-1)?.untilAt ?? 0];
  const alike = new AlikeTransfers(days, kinds, sums);
  for (let after: ScannedInteger = idsAt(fromAt - idSkewMaxMs) - 1; ;) {
    const page: readonly TransferOfBooks[] = yield* scanTransfersOfBooks(store.id, {
      range,
      after,
      fromAt,
      untilAt,
    });
    for (const transfer of page) {
      const place = places.of(transfer.card_id);
      if (place === undefined) continue;
      const kind = kindOf[place] ?? alone;
      if (kind === alone) yield* single.addLater(Number(transfer.id));
      else alike.add(kind, transfer);
    }
    const last = page.at(-1);
    if (!last || page.length < scannedRows) break;
    after = last.id;
  }
  alike.flush();
  yield* single.flush();
}

/** Transfers of one day that differ only in their amounts. */
type Group = { amount: ScannedInteger; count: number };

/** Sums transfers of cards that are alike. Most transfers are of the same day as the one before. */
class AlikeTransfers {
  readonly #days: readonly BooksDay[];
  readonly #kinds: readonly PlacedCard[];
  readonly #sums: Sums;
  #place = 0;
  /** Groups of the day at `#place`, by their movement and the kind of their cards. */
  readonly #groups = new Map<string, Map<number, Group>>();

  constructor(days: readonly BooksDay[], kinds: readonly PlacedCard[], sums: Sums) {
    this.#days = days;
    this.#kinds = kinds;
    this.#sums = sums;
  }

  add(kind: number, { created_at: createdAt, amount, movement }: TransferOfBooks): void {
    const day = this.#days[this.#place];
    if (!day || createdAt < day.fromAt || createdAt >= day.untilAt) {
      this.flush();
      this.#place = placeWhere(this.#days, ({ untilAt }) => untilAt > createdAt);
    }
    let byKind = this.#groups.get(movement);
    if (!byKind) this.#groups.set(movement, (byKind = new Map<number, Group>()));
    const group = byKind.get(kind);
    if (group) {
      group.amount = plus(group.amount, amount);
      group.count += 1;
    } else byKind.set(kind, { amount, count: 1 });
  }

  flush(): void {
    for (const [movement, byKind] of this.#groups)
      for (const [kind, group] of byKind) {
        const { card, transitions } = this.#kinds[kind] ?? {};
        assert(card && transitions);
        const transfer = this.#summed(movement, group);
        this.#sums.addTransfer(card, transfer);
        this.#sums.addMoves(card, [transfer], transitions);
      }
    this.#groups.clear();
  }

  #summed(movement: string, { amount, count }: Group): SummedTransfer {
    const [kind = '', debit = '', credit = '', first = '', location = '', ...actor] = movement.split(' ');
    const isRaise = increases(credit);
    return {
      place: this.#place,
      at: this.#days[this.#place]?.fromAt ?? 0,
      // Any other text differs from that of the stored sums.
      kind: kind as EntryKind,
      account: (isRaise ? debit : credit) as Account,
      actor: actor.join(' '),
      locationId: location === '-' ? null : Number(location),
      effect: isRaise ? BigInt(amount) : -BigInt(amount),
      tax: 0n,
      isFirst: first === '1',
      count,
    };
  }
}

/** Sums transfers one by one, with their cards. */
class SingleTransfers {
  readonly #books: Books;
  readonly #sums: Sums;
  readonly #cards: SummedCards;
  #waiting: number[] = [];

  constructor(books: Books, sums: Sums) {
    this.#books = books;
    this.#sums = sums;
    this.#cards = new SummedCards(books);
  }

  /** Adds a transfer that is not late, by its id. */
  *addLater(id: number): Script<void> {
    this.#waiting.push(id);
    if (this.#waiting.length === transfersMax) yield* this.flush();
  }

  *flush(): Script<void> {
    const transfers = yield* listTransfersById(this.#books.store, this.#waiting);
    this.#waiting = [];
    yield* this.add(transfers.map((transfer) => ({ transfer, late: null })));
  }

  *add(entries: readonly CountedTransfer[]): Script<void> {
    const transfers = entries.map(({ transfer }) => transfer);
    const taxes = yield* loadTaxes(this.#books, transfers);
    yield* this.#cards.load(transfers);
    for (const { transfer, late } of entries) {
      const summed = summedTransferOf(this.#books.period, transfer, { late, taxes });
      if (!summed) continue;
      const { card, transitions } = this.#cards.of(transfer);
      this.#sums.addTransfer(card, summed);
      this.#sums.addMoves(card, [summed], transitions);
    }
  }
}

const cachedCardsMax = 10_000;

/** The cards of transfers, of which the last ones are kept: a card's transfers are often close to each other. */
class SummedCards {
  readonly #books: Books;
  readonly #cards = new Map<number, PlacedCard>();

  constructor(books: Books) {
    this.#books = books;
  }

  /** Loads the cards of a page of transfers. */
  *load(transfers: readonly ReadTransfer[]): Script<void> {
    if (this.#cards.size >= cachedCardsMax) this.#cards.clear();
    const changed = new Map<number, CardTerms>();
    for (const { cardId, card } of transfers) {
      if (this.#cards.has(cardId)) continue;
      if (card.isChanged) changed.set(cardId, card);
      else this.#add(cardId, card, []);
    }
    const ids = [...changed.keys()];
    for (let from = 0; from < ids.length; from += termsCardsMax) {
      const some = ids.slice(from, from + termsCardsMax);
      const changes = yield* listTermsChanges(this.#books.store.id, some);
      for (const id of some) {
        const card = changed.get(id);
        if (card) this.#add(id, card, changes.get(id) ?? []);
      }
    }
  }

  /** The card of a transfer that was loaded. */
  of({ cardId }: ReadTransfer): PlacedCard {
    const found = this.#cards.get(cardId);
    assert(found);
    return found;
  }

  #add(cardId: number, terms: CardTerms, changes: readonly TermsChange[]): void {
    const card = summedCardOf(this.#books, terms, changes);
    this.#cards.set(cardId, { card, transitions: transitionsOf(card, this.#books.period.days, null) });
  }
}
