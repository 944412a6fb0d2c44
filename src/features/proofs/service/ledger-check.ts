/**
 * Verifies the ledger of a store: recomputes every balance, chain and total, and compares cards with their events and
 * codes. The command line verifies a whole store in one script, and the running service one page of cards at a time.
 */

import type { Account } from '../../../core/money/domain/ledger.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import { isErasingCustomer, listCodesOf, listEventsOf, type ScannedEvent } from '../storage/references.ts';
import {
  cardsByIdMax,
  findCardIdAfter,
  scanCardIds,
  scanCards,
  scanCardsById,
  scanExtensions,
  scanHeld,
  scanHolds,
  scanRows,
  walkChains,
  type CardIdRange,
  type ScannedCard,
  type ScannedExtension,
  type ScannedHold,
} from '../storage/ledger-scan.ts';
import { scanWritten, type WrittenTransfer } from '../storage/entry-scan.ts';
import { parallel, type ScannedInteger, type Script } from '../../../database/sql/sql.ts';
import { listLooseTransfers } from '../../../core/money/storage/transfer.ts';
import { CardTrails } from './card-trails.ts';
import { ChainWalk } from './chain-walk.ts';
import type { Finding, StoreVerifying } from './row-check.ts';
import { ExactSums } from '../../books/service/exact-sums.ts';
import { int64Max } from '../../../core/domain/int64.ts';

/** Cards in a page of the running service's verification. */
const pageSize = 500;

/** Below and above every id and lookup. */
const [lowest, highest] = [-int64Max - 1n, int64Max];

type VerifiedStore = Pick<Store, 'id' | 'currency'>;

export type VerifiedPage = {
  readonly cards: number;
  readonly mismatches: readonly Finding[];
  /** The start of the next page; undefined after the last. */
  readonly next: ScannedInteger | undefined;
};

/** Verifies the chains and balances of the page of a store's cards after the id `after`. */
export function* verifyPage(store: VerifiedStore, after: ScannedInteger): Script<VerifiedPage> {
  const cards = yield* scanCards(store.id, { after, limit: pageSize });
  const next = cards.length < pageSize ? undefined : cards.at(-1)?.id;
  const mismatches: Finding[] = [];
  yield* walkCards(store, {
    cards,
    range: { after, upTo: next ?? highest },
    found: (finding) => mismatches.push(finding),
  });
  return { cards: cards.length, mismatches, next };
}

/** Verifies the chains and balances of some cards of a store. */
export function* verifyCards(
  store: VerifiedStore,
  cardIds: readonly ScannedInteger[],
): Script<readonly Finding[]> {
  const findings: Finding[] = [];
  const found = (finding: Finding): void => void findings.push(finding);
  for (let from = 0; from < cardIds.length; from += cardsByIdMax) {
    const ids = cardIds.slice(from, from + cardsByIdMax);
    const cards = yield* scanCardsById(store.id, ids);
    if (cards.length < ids.length) found({ cardId: null, problem: 'a gift card is missing' });
    yield* parallel(...cards.map((card) => walkCards(store, { ...only(card), found })));
  }
  return findings;
}

/** One card, and its range. */
function only(card: ScannedCard): { readonly cards: readonly ScannedCard[]; readonly range: CardIdRange } {
  return { cards: [card], range: { after: BigInt(card.id) - 1n, upTo: card.id } };
}

/** Walks the chains of cards from their ends. */
function* walkCards(
  { id: storeId, currency }: VerifiedStore,
  {
    cards,
    range,
    found,
  }: {
    readonly cards: readonly ScannedCard[];
    readonly range: CardIdRange;
    readonly found: (finding: Finding) => void;
  },
): Script<ChainWalk> {
  const [entries, held] = yield* parallel(walkChains(storeId, range), scanHeld(storeId, range));
  const walk = new ChainWalk(
    storeId,
    currency,
    cards.map(({ id }) => id),
  );
  for (const entry of entries) {
    const place = walk.places.of(entry.chain_of);
    if (place === undefined) continue;
    for (const problem of walk.append(place, entry)) found({ cardId: Number(entry.chain_of), problem });
  }
  for (const [place, card] of cards.entries())
    for (const problem of walk.conclude(place, card, held.get(card.id) ?? 0))
      found({ cardId: Number(card.id), problem });
  return walk;
}

/** A store's liability and the totals of its accounts. Amounts are in minor units. */
export type StoreTotals = {
  readonly store: string;
  readonly currency: string;
  readonly decimals: number;
  readonly cards: number;
  readonly transfers: number;
  /** The sum of all balances: the store's liability. */
  readonly outstanding: bigint;
  /** The total that each system account has given (negative) or received (positive). With `outstanding` the sum is 0. */
  readonly accounts: Readonly<Partial<Record<Account, bigint>>>;
};

/** The counts of a pass over the cards of a store, or of all passes. */
export type LedgerCounts = {
  readonly cards: number;
  readonly transfers: number;
  /** Transfers that are part of a chain. */
  readonly chained: number;
  readonly outstanding: bigint;
  /** The sums that moved from an account to another, by the names of both. */
  readonly moved: Readonly<Record<string, bigint>>;
};

/** The counts of a pass that is not complete. */
type Counting = { -readonly [K in Exclude<keyof LedgerCounts, 'moved'>]: LedgerCounts[K] } & {
  readonly moved: ExactSums;
};

/** Divides the cards of a store into ranges, each for one pass. Together they contain all ids. */
export function* listPasses(storeId: number, cardsInPass: number): Script<readonly CardIdRange[]> {
  const ranges: CardIdRange[] = [];
  for (let after: ScannedInteger = lowest; ;) {
    const upTo: ScannedInteger | undefined = yield* findCardIdAfter(storeId, after, cardsInPass);
    ranges.push({ after, upTo: upTo ?? highest });
    if (upTo === undefined) return ranges;
    after = upTo;
  }
}

/**
 * Verifies the cards in a range, and what refers to them. Rows of cards that do not exist are compared in the pass whose
 * range contains the id.
 */
export function* verifyPass(
  store: Store,
  range: CardIdRange,
  verifying: StoreVerifying,
): Script<LedgerCounts> {
  const counts = { cards: 0, transfers: 0, chained: 0, outstanding: 0n, moved: new ExactSums() };
  const pass: Pass = { store, range, verifying, counts };
  const walk = new ChainWalk(store.id, store.currency, yield* listCardIds(store.id, range));
  const suspects = yield* scanChains(pass, walk);
  const trails = new CardTrails(store.currency, walk.places, {
    ids: verifying.publicIds,
    isErasing: yield* isErasingCustomer(store.id),
  });
  yield* concludeChains(pass, { walk, suspects, trails });
  yield* compareEvents(pass, trails);
  yield* compareHolds(pass, trails);
  yield* compareExtensions(pass, trails);
  yield* compareCodes(pass, trails);
  for (const finding of trails.conclude()) verifying.found(finding);
  return { ...counts, moved: counts.moved.totals() };
}

/** Compares what the passes over all cards of a store have counted, and returns its totals. */
export function* concludeLedger(
  store: Store,
  passes: readonly LedgerCounts[],
  { found, left }: Pick<StoreVerifying, 'found' | 'left'>,
): Script<StoreTotals> {
  const sumOf = (name: 'cards' | 'transfers' | 'chained'): number =>
    passes.reduce((sum, counts) => sum + counts[name], 0);
  const outstanding = passes.reduce((sum, counts) => sum + counts.outstanding, 0n);
  if (sumOf('transfers') !== sumOf('chained')) {
    for (const { cardId, id, hasCard } of yield* listLooseTransfers(store.id, left())) {
      const problem = hasCard
        ? `transfer ${id} is not part of its chain`
        : 'has transfers, but the card does not exist';
      found({ cardId, problem });
    }
  }
  const { card: inCards = 0n, ...accounts } = totalsOf(passes);
  if (inCards !== outstanding)
    found({ cardId: null, problem: 'the totals of the ledger are not the sum of the balances' });
  const { domain, currency } = store;
  return {
    store: domain,
    currency: currency.code,
    decimals: currency.decimals,
    cards: sumOf('cards'),
    transfers: sumOf('transfers'),
    outstanding,
    accounts,
  };
}

/** The totals of accounts. */
function totalsOf(passes: readonly LedgerCounts[]): Readonly<Record<string, bigint>> {
  const totals: Record<string, bigint> = {};
  for (const [accounts, amount] of passes.flatMap(({ moved }) => Object.entries(moved))) {
    const [debit = '', credit = ''] = accounts.split(' ');
    totals[debit] = (totals[debit] ?? 0n) - amount;
    totals[credit] = (totals[credit] ?? 0n) + amount;
  }
  return totals;
}

/** A pass over the rows of the cards in a range. */
type Pass = {
  readonly store: Store;
  readonly range: CardIdRange;
  readonly verifying: StoreVerifying;
  readonly counts: Counting;
};

function* listCardIds(
  storeId: number,
  { after: first, upTo }: CardIdRange,
): Script<readonly ScannedInteger[]> {
  const ids: ScannedInteger[] = [];
  for (let after = first; ;) {
    const page = yield* scanCardIds(storeId, { after, upTo });
    ids.push(...page);
    const last = page.at(-1);
    if (last === undefined || page.length < scanRows) return ids;
    after = last;
  }
}

/**
 * Reads the transfers in the order of their ids, in which those of a card almost always have the order of its chain.
 * @returns the cards whose chains have to be walked from their ends, because an entry is wrong or has another order.
 */
function* scanChains(
  { store, range, verifying, counts }: Pass,
  walk: ChainWalk,
): Script<Set<ScannedInteger>> {
  const suspects = new Set<ScannedInteger>();
  for (let after: ScannedInteger = lowest; ;) {
    const entries: readonly WrittenTransfer[] = yield* scanWritten(store, range, after);
    for (const entry of entries) {
      counts.moved.add(entry.accounts, entry.amount);
      const place = walk.places.of(entry.card_id);
      if (place === undefined || suspects.has(entry.card_id)) continue;
      if (!walk.follow(place, entry)) suspects.add(entry.card_id);
    }
    counts.transfers += entries.length;
    verifying.read(entries.length);
    const last = entries.at(-1);
    if (!last || entries.length < scanRows) return suspects;
    after = last.id;
  }
}

/** Compares the cards with their chains, walks the chains of suspects, and adds the trails of all cards. */
function* concludeChains(
  { store, range, verifying, counts }: Pass,
  {
    walk,
    suspects,
    trails,
  }: {
    readonly walk: ChainWalk;
    readonly suspects: ReadonlySet<ScannedInteger>;
    readonly trails: CardTrails;
  },
): Script<void> {
  for (let { after } = range; ;) {
    const cards: readonly ScannedCard[] = yield* scanCards(store.id, { after, limit: scanRows });
    const last = cards.at(-1);
    const held = yield* scanHeld(store.id, { after, upTo: last?.id ?? after });
    for (const card of cards) {
      if (card.id > range.upTo) return;
      const place = walk.places.of(card.id) ?? 0;
      counts.cards += 1;
      counts.outstanding += BigInt(card.balance);
      verifying.read(1);
      const isSound =
        !suspects.has(card.id) && walk.conclude(place, card, held.get(card.id) ?? 0).length === 0;
      const { found } = verifying;
      const [walked, at] = isSound ? [walk, place] : [yield* walkCards(store, { ...only(card), found }), 0];
      counts.chained += walked.lengthOf(at);
      trails.add(card, walked.digestOf(at));
    }
    if (!last || cards.length < scanRows) return;
    after = last.id;
  }
}

function* compareHolds({ store, range, verifying }: Pass, trails: CardTrails): Script<void> {
  for (let after: ScannedInteger = lowest; ;) {
    const holds: readonly ScannedHold[] = yield* scanHolds(store.id, range, after);
    for (const hold of holds) {
      const finding = trails.compareHold(hold);
      if (finding) verifying.found(finding);
    }
    verifying.read(holds.length);
    const last = holds.at(-1);
    if (!last || holds.length < scanRows) return;
    after = last.id;
  }
}

function* compareExtensions({ store, range, verifying }: Pass, trails: CardTrails): Script<void> {
  for (let after: ScannedExtension | undefined; ;) {
    const found: readonly ScannedExtension[] = yield* scanExtensions(store.id, range, after);
    for (const extension of found) trails.compareExtension(extension);
    verifying.read(found.length);
    after = found.at(-1);
    if (!after || found.length < scanRows) return;
  }
}

function* compareEvents(pass: Pass, trails: CardTrails): Script<void> {
  yield* forEachPage(pass, function* (events) {
    const reads = events.map((event) => trails.readQuickly(event));
    yield* addRecords(
      pass,
      trails,
      events.filter((_, place) => !reads[place]),
    );
    return events.map((event, place) => trails.compareEvent(event, reads[place]));
  });
  if (!trails.hasUnordered) return;
  yield* forEachPage(pass, function* (events) {
    const unordered = events.filter((event) => trails.isUnordered(event));
    yield* addRecords(pass, trails, unordered);
    return unordered.map((event) => trails.compareUnordered(event));
  });
}

/** Adds the records of the cards of events that have to be parsed. */
function* addRecords({ store }: Pass, trails: CardTrails, events: readonly ScannedEvent[]): Script<void> {
  const lacking = events.filter((event) => trails.lacksRecord(event));
  const ids = [...new Set(lacking.map(({ subjectId }) => subjectId))];
  for (let from = 0; from < ids.length; from += cardsByIdMax)
    for (const card of yield* scanCardsById(store.id, ids.slice(from, from + cardsByIdMax)))
      trails.addRecord(card);
}

function* forEachPage(
  { store, range, verifying }: Pass,
  compare: (events: readonly ScannedEvent[]) => Script<readonly (Finding | undefined)[]>,
): Script<void> {
  for (let after: ScannedInteger = lowest; ;) {
    const events: readonly ScannedEvent[] = yield* listEventsOf(store.id, range, after);
    for (const finding of yield* compare(events)) if (finding) verifying.found(finding);
    verifying.read(events.length);
    const last = events.at(-1);
    if (!last || events.length < scanRows) return;
    after = last.id;
  }
}

function* compareCodes({ store, range, verifying }: Pass, trails: CardTrails): Script<void> {
  for (let from = lowest; ;) {
    const codes = yield* listCodesOf(store.id, range, from);
    for (const code of codes) {
      const finding = trails.compareCode(code);
      if (finding) verifying.found(finding);
    }
    verifying.read(codes.length);
    const last = codes.at(-1);
    if (!last || codes.length < scanRows || last.lookup === highest) return;
    from = last.lookup + 1n;
  }
}
