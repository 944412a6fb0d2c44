/**
 * Verifies the ledger: recomputes every balance, chain and total, and checks the rows that refer to cards. The command
 * line verifies the whole database in one script, and the running service one page of cards at a time.
 */

import type { Account } from '../domain/ledger.ts';
import { chainStart, effectOf, hasText } from '../domain/ledger.ts';
import type { Store } from '../domain/store.ts';
import { sameBytes } from '../keys.ts';
import {
  countUnreadableRecords,
  listBrokenReferences,
  listCodesOf,
  listEventsOf,
  type CardIdRange,
} from '../storage/audit.ts';
import type { ChainEnd } from '../storage/card.ts';
import { listKeyChecks } from '../storage/key-check.ts';
import {
  listAccountTotals,
  listBalances,
  listHeld,
  type AccountTotal,
  type CachedBalance,
} from '../storage/ledger.ts';
import { parallel, type Script } from '../storage/sql.ts';
import { listStores } from '../storage/store.ts';
import { listMissingStores, listTables } from '../storage/table.ts';
import {
  chainHash,
  endAt,
  listLooseTransfers,
  listTransfers,
  textDigestOf,
  type ChainedTransfer,
  type WalkedTransfer,
} from '../storage/transfer.ts';
import { compareBooks } from './books-audit.ts';
import { CardTrails, type Finding } from './card-trails.ts';
import { verifyChanges } from './verify-changes.ts';

/** A problem. `cardId` is null if it does not concern one card, `store` if it does not concern one store. */
export type Mismatch = Finding & { readonly store: string | null };

const pageSize = 500;

/** Cards whose events and codes are compared in one pass. Each uses about 100 bytes of memory. */
const cardsInPassMax = 500_000;

const lowestLookup = -(2n ** 63n);

export type VerifiedPage = {
  readonly cards: readonly CachedBalance[];
  readonly transfers: readonly WalkedTransfer[];
  readonly mismatches: readonly Finding[];
  /** Where the next page starts; undefined after the last. */
  readonly next: number | undefined;
};

/** Verifies the page of a store's cards after the id `after`. */
export function* verifyPage(storeId: number, after: number): Script<VerifiedPage> {
  const cards = yield* listBalances(storeId, { after, limit: pageSize });
  const last = cards.at(-1);
  const isLastPage = !last || cards.length < pageSize;
  const upTo = isLastPage ? Number.MAX_SAFE_INTEGER : last.cardId;
  const [transfers, held] = yield* parallel(
    listTransfers(storeId, { after, upTo }),
    listHeld(storeId, { after, upTo }),
  );
  const chains = Map.groupBy(transfers, ({ chainOf }) => chainOf);
  const mismatches = cards.flatMap((card) =>
    problemsOf(card, { chain: chains.get(card.cardId) ?? [], held: held.get(card.cardId) ?? 0n }),
  );
  return { cards, transfers, mismatches, next: isLastPage ? undefined : last.cardId };
}

function problemsOf(
  card: CachedBalance,
  { chain, held }: { readonly chain: readonly ChainedTransfer[]; readonly held: bigint },
): Finding[] {
  const problems: string[] = [];
  let balance = 0n;
  let previous: ChainedTransfer | undefined;
  /** The amount of each transfer so far that can still be reversed. */
  const reversible = new Map<number, bigint>();
  for (const [index, chained] of chain.entries()) {
    const { transfer, hash } = chained;
    const name = `transfer ${transfer.id}`;
    if (transfer.cardId !== card.cardId) problems.push(`${name} is a transfer of another card`);
    balance += effectOf(transfer);
    if (transfer.sequence !== index + 1)
      problems.push(`${name} has the sequence number ${transfer.sequence}, not ${index + 1}`);
    if ((transfer.kind === 'issue') !== (index === 0))
      problems.push(`${name} is the entry ${index + 1} of the card, but of the kind ${transfer.kind}`);
    if (transfer.amount.currency.code !== card.balance.currency.code)
      problems.push(`${name} is in another currency`);
    if (transfer.balanceAfter.minor !== balance)
      problems.push(`${name} has a balance that is not the sum up to it`);
    if (balance < 0n) problems.push(`${name} makes the balance negative`);
    if (
      chained.previousId !== (previous?.transfer.id ?? null) ||
      (chained.salt === null) !== (previous !== undefined) ||
      !sameBytes(hash, chainHash(previous?.hash ?? chainStart, transfer, chained))
    )
      problems.push(`the hash of ${name} does not match its content`);
    if (!isTextCommitted(chained)) problems.push(`the reference or note of ${name} was changed`);
    previous = chained;
    reversible.set(transfer.id, transfer.amount.minor);
    if (transfer.reverses !== null) {
      const left = (reversible.get(transfer.reverses) ?? 0n) - transfer.amount.minor;
      if (left < 0n) problems.push(`${name} reverses more than the remaining amount`);
      reversible.set(transfer.reverses, left);
    }
  }
  if (chain[0]?.transfer.amount.minor !== card.initialValue.minor)
    problems.push('was not issued for its initial value');
  if (!previous || !isSameEnd(endAt(previous), card.chainEnd))
    problems.push('has another last transfer than the end of its chain');
  if (card.held.minor !== held) problems.push('has a held amount that is not the sum of its open holds');
  if (card.balance.minor !== balance) problems.push('has a balance that is not the sum of its transfers');
  return problems.map((problem) => ({ cardId: card.cardId, problem }));
}

function isSameEnd(left: ChainEnd, right: ChainEnd): boolean {
  return (
    left.transferId === right.transferId &&
    left.sequence === right.sequence &&
    sameBytes(left.hash, right.hash)
  );
}

/** Whether a reference and note are those that the hash covers. Both can have been erased, with their salt. */
function isTextCommitted({ transfer, textSalt, textDigest }: ChainedTransfer): boolean {
  if (textSalt === null) return !hasText(transfer);
  return textDigest !== null && hasText(transfer) && sameBytes(textDigest, textDigestOf(textSalt, transfer));
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

export type Verification = {
  readonly stores: readonly StoreTotals[];
  readonly mismatches: readonly Mismatch[];
};

/** Collects mismatches up to a maximum number. */
class Mismatches {
  readonly found: Mismatch[] = [];
  readonly #max: number;

  constructor(max: number) {
    this.#max = max;
  }

  /** How many more are collected. */
  get left(): number {
    return this.#max - this.found.length;
  }

  add(store: string | null, finding: Finding): void {
    if (this.found.length < this.#max) this.found.push({ store, ...finding });
  }
}

/**
 * Verifies all rows in one transaction: the ledger, and whether events, codes and references match it. Returns at most
 * `mismatchesMax` mismatches.
 */
export function* verify(mismatchesMax: number, cardsInPass = cardsInPassMax): Script<Verification> {
  const mismatches = new Mismatches(mismatchesMax);
  const listed = yield* listStores();
  const stores: StoreTotals[] = [];
  for (const { store } of listed) stores.push(yield* verifyStore(store, { mismatches, cardsInPass }));
  const domains = new Map(listed.map(({ store }) => [store.id, store.domain]));
  for (const { storeId, ...finding } of yield* listBrokenReferences(mismatchesMax))
    mismatches.add(domains.get(storeId) ?? String(storeId), finding);
  for (const table of yield* listTables()) {
    const problem = `${table.name}: has rows of this store, but there is no such store`;
    for (const id of yield* listMissingStores(table)) mismatches.add(String(id), { cardId: null, problem });
  }
  const keyChecks = yield* listKeyChecks();
  const unreadable = yield* countUnreadableRecords(keyChecks.map(({ keyId }) => keyId));
  const problem = `idempotency_records: ${unreadable} were not sealed with a key of this database`;
  if (unreadable > 0) mismatches.add(null, { cardId: null, problem });
  return { stores, mismatches: mismatches.found };
}

function* verifyStore(
  store: Store,
  { mismatches, cardsInPass }: { readonly mismatches: Mismatches; readonly cardsInPass: number },
): Script<StoreTotals> {
  const walked = { cards: 0, transfers: 0, outstanding: 0n };
  const found = (finding: Finding): void => mismatches.add(store.domain, finding);
  let after: number | undefined = 0;
  while (after !== undefined) {
    const trails = new CardTrails(store.currency);
    // Rows of cards that do not exist are compared in the pass whose range contains the id.
    const from: number = after === 0 ? Number.MIN_SAFE_INTEGER : after;
    while (after !== undefined && trails.size < cardsInPass) {
      const page: VerifiedPage = yield* verifyPage(store.id, after);
      walked.cards += page.cards.length;
      walked.transfers += page.transfers.length;
      for (const { balance } of page.cards) walked.outstanding += balance.minor;
      addTrails(trails, page);
      for (const finding of page.mismatches) found(finding);
      after = page.next;
    }
    const pass = { range: { after: from, upTo: after ?? Number.MAX_SAFE_INTEGER }, trails, found };
    yield* compareEvents(store.id, pass);
    yield* compareCodes(store.id, pass);
    for (const finding of trails.conclude()) found(finding);
  }
  for (const finding of yield* verifyChanges(store, mismatches.left)) found(finding);
  const totals = yield* listAccountTotals(store.id);
  const { card: inCards = 0n, ...accounts } = accountTotals(totals);
  // Transfers that no chain contains are not walked.
  if (totals.reduce((sum, { transfers }) => sum + transfers, 0) !== walked.transfers) {
    for (const { cardId, id, hasCard } of yield* listLooseTransfers(store.id, mismatches.left)) {
      const problem = hasCard
        ? `transfer ${id} is not part of its chain`
        : 'has transfers, but the card does not exist';
      found({ cardId, problem });
    }
  }
  // Compares the totals that the database computes with the sum over the cards.
  if (inCards !== walked.outstanding)
    found({ cardId: null, problem: 'the totals of the ledger are not the sum of the balances' });
  for (const finding of yield* compareBooks(store)) found(finding);
  const { domain, currency } = store;
  return { store: domain, currency: currency.code, decimals: currency.decimals, ...walked, accounts };
}

function addTrails(trails: CardTrails, { cards, transfers }: VerifiedPage): void {
  const chains = Map.groupBy(transfers, ({ chainOf }) => chainOf);
  for (const card of cards) {
    const chain = chains.get(card.cardId) ?? [];
    trails.add(
      card,
      chain.map(({ transfer }) => transfer.balanceAfter.minor),
    );
  }
}

/** A pass over the events and codes of a range of cards. */
type Pass = {
  readonly range: CardIdRange;
  readonly trails: CardTrails;
  readonly found: (finding: Finding) => void;
};

function* compareEvents(storeId: number, { range, trails, found }: Pass): Script<void> {
  for (let after = 0; ;) {
    const events = yield* listEventsOf(storeId, range, { after, limit: pageSize });
    for (const event of events) {
      const finding = trails.compareEvent(event);
      if (finding) found(finding);
    }
    const last = events.at(-1);
    if (!last || events.length < pageSize) return;
    after = last.id;
  }
}

function* compareCodes(storeId: number, { range, trails, found }: Pass): Script<void> {
  for (let from = lowestLookup; ;) {
    const codes = yield* listCodesOf(storeId, range, { from, limit: pageSize });
    for (const code of codes) {
      const finding = trails.compareCode(code);
      if (finding) found(finding);
    }
    const last = codes.at(-1);
    if (!last || codes.length < pageSize) return;
    from = last.lookup + 1n;
  }
}

function accountTotals(rows: readonly AccountTotal[]): Partial<Record<Account, bigint>> {
  const totals: Partial<Record<Account, bigint>> = {};
  for (const { debit, credit, minor } of rows) {
    totals[debit] = (totals[debit] ?? 0n) - minor;
    totals[credit] = (totals[credit] ?? 0n) + minor;
  }
  return totals;
}
