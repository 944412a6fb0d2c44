/**
 * The proof of the ledger: every balance, every chain and every total, computed anew.
 *
 * The walk goes store by store and card by card, in pages, so that it can be a script of the
 * command line over the whole database, or small scripts of the running service.
 */

import type { Account } from '../domain/ledger.ts';
import { chainStart, effectOf } from '../domain/ledger.ts';
import { sameBytes } from '../keys.ts';
import {
  listAccountTotals,
  listBalances,
  listHeld,
  listMissingStores,
  type CachedBalance,
} from '../storage/ledger.ts';
import { together, type Script } from '../storage/sql.ts';
import { listStores } from '../storage/store.ts';
import { chainHash, listTransfers, type ChainedTransfer } from '../storage/transfer.ts';

/** Something that is off. */
type Mismatch = {
  readonly store: string;
  /** Null where it is about a store's totals. */
  readonly cardId: number | null;
  readonly problem: string;
};

const pageSize = 500;

export type Page = {
  readonly cards: readonly CachedBalance[];
  readonly transfers: readonly ChainedTransfer[];
  readonly mismatches: readonly Omit<Mismatch, 'store'>[];
  /** Where the next page starts; undefined after the last. */
  readonly next: number | undefined;
};

/** Verifies the next cards of a store behind the id `after`. */
export function* verifyPage(storeId: number, after: number): Script<Page> {
  const cards = yield* listBalances(storeId, { after, limit: pageSize });
  const last = cards.at(-1);
  const isLastPage = !last || cards.length < pageSize;
  // The last page looks to the end of time for transfers, so that none without a card escapes.
  const upTo = isLastPage ? Number.MAX_SAFE_INTEGER : last.cardId;
  const [transfers, held] = yield* together(
    listTransfers(storeId, { after, upTo }),
    listHeld(storeId, { after, upTo }),
  );
  const chains = Map.groupBy(transfers, ({ transfer }) => transfer.cardId);
  const mismatches = cards.flatMap((card) =>
    problemsOf(card, { chain: chains.get(card.cardId) ?? [], held: held.get(card.cardId) ?? 0n }),
  );
  const known = new Set(cards.map(({ cardId }) => cardId));
  for (const cardId of chains.keys()) {
    if (!known.has(cardId)) mismatches.push({ cardId, problem: 'has transfers, but there is no such card' });
  }
  return { cards, transfers, mismatches, next: isLastPage ? undefined : last.cardId };
}

function problemsOf(
  card: CachedBalance,
  { chain, held }: { readonly chain: readonly ChainedTransfer[]; readonly held: bigint },
): Omit<Mismatch, 'store'>[] {
  const problems: string[] = [];
  let balance = 0n;
  let previousHash = chainStart;
  /** What may still be given back of each transfer so far. */
  const reversible = new Map<number, bigint>();
  for (const [index, { transfer, hash }] of chain.entries()) {
    const name = `transfer ${transfer.id}`;
    balance += effectOf(transfer);
    if (transfer.sequence !== index + 1)
      problems.push(`${name} has the place ${transfer.sequence}, not ${index + 1}`);
    if ((transfer.kind === 'issue') !== (index === 0))
      problems.push(`${name} is an ${transfer.kind} at place ${index + 1}`);
    if (transfer.amount.currency.code !== card.balance.currency.code)
      problems.push(`${name} is in another currency`);
    if (transfer.balanceAfter.minor !== balance)
      problems.push(`${name} tells another balance than the sum so far`);
    if (balance < 0n) problems.push(`${name} leaves less than nothing`);
    if (!sameBytes(hash, chainHash(previousHash, transfer)))
      problems.push(`the hash of ${name} does not fit its content`);
    previousHash = hash;
    reversible.set(transfer.id, transfer.amount.minor);
    if (transfer.reverses !== null) {
      const left = (reversible.get(transfer.reverses) ?? 0n) - transfer.amount.minor;
      if (left < 0n) problems.push(`${name} gives back more than there was`);
      reversible.set(transfer.reverses, left);
    }
  }
  if (chain[0]?.transfer.amount.minor !== card.initialValue.minor)
    problems.push('was not issued for its initial value');
  if (card.held.minor !== held) problems.push('holds another amount than its open holds');
  if (card.balance.minor !== balance) problems.push('has a balance that is not the sum of its transfers');
  return problems.map((problem) => ({ cardId: card.cardId, problem }));
}

/** What a store owes, and how it came about. Amounts in minor units. */
export type StoreTotals = {
  readonly store: string;
  readonly currency: string;
  readonly decimals: number;
  readonly cards: number;
  readonly transfers: number;
  /** The sum of all balances: the store's liability. */
  readonly outstanding: bigint;
  /** What each system account has given (negative) or taken (positive). With `outstanding` it sums to 0. */
  readonly accounts: Readonly<Partial<Record<Account, bigint>>>;
};

export type Verification = {
  readonly stores: readonly StoreTotals[];
  readonly mismatches: readonly Mismatch[];
};

/** Verifies everything, in one transaction. At most `mismatchesMax` are listed. */
export function* verify(mismatchesMax: number): Script<Verification> {
  const stores: StoreTotals[] = [];
  const mismatches: Mismatch[] = [];
  for (const { store } of yield* listStores()) {
    const walked = { cards: 0, transfers: 0, outstanding: 0n };
    let after: number | undefined = 0;
    while (after !== undefined) {
      const page: Page = yield* verifyPage(store.id, after);
      walked.cards += page.cards.length;
      walked.transfers += page.transfers.length;
      for (const { balance } of page.cards) walked.outstanding += balance.minor;
      for (const mismatch of page.mismatches) mismatches.push({ store: store.domain, ...mismatch });
      after = page.next;
    }
    const accounts = yield* accountTotals(store.id);
    // The books' totals, added up by the database, against what the walk found card by card.
    if ((accounts.card ?? 0n) !== walked.outstanding) {
      mismatches.push({
        store: store.domain,
        cardId: null,
        problem: 'the totals of the ledger are not the sum of the balances',
      });
    }
    const { card: _, ...systemAccounts } = accounts;
    const { currency } = store;
    stores.push({
      store: store.domain,
      currency: currency.code,
      decimals: currency.decimals,
      ...walked,
      accounts: systemAccounts,
    });
  }
  for (const id of yield* listMissingStores()) {
    mismatches.push({
      store: String(id),
      cardId: null,
      problem: 'has cards or transfers, but there is no such store',
    });
  }
  return { stores, mismatches: mismatches.slice(0, mismatchesMax) };
}

function* accountTotals(storeId: number): Script<Partial<Record<Account, bigint>>> {
  const totals: Partial<Record<Account, bigint>> = {};
  for (const { debit, credit, minor } of yield* listAccountTotals(storeId)) {
    totals[debit] = (totals[debit] ?? 0n) - minor;
    totals[credit] = (totals[credit] ?? 0n) + minor;
  }
  return totals;
}
