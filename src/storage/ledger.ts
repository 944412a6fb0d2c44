/** Queries of the audit: cached balances in pages, and the ledger's totals. */

import type { Account } from '../domain/ledger.ts';
import type { Money } from '../domain/money.ts';
import { all, sql, toNumber, type Script } from './sql.ts';
import type { ChainEnd } from './card.ts';
import { auditing } from './transfer.ts';

export type CachedBalance = {
  readonly cardId: number;
  readonly initialValue: Money;
  readonly balance: Money;
  readonly held: Money;
  readonly version: number;
  /** Lookup of the current code; null: the card has had only one code. */
  readonly codeLookup: bigint | null;
  readonly chainEnd: ChainEnd;
};

/** Returns the cards with ids above `after`, ordered by id. */
export function* listBalances(
  storeId: number,
  { after, limit }: { readonly after: number; readonly limit: number },
): Script<readonly CachedBalance[]> {
  const rows = yield* all(sql<{
    id: bigint;
    currency: string;
    initial_value: bigint;
    balance: bigint;
    held: bigint;
    version: bigint;
    code_lookup: bigint | null;
    last_transfer_id: bigint;
    chain_length: bigint;
    chain_hash: Uint8Array;
  }>`
    select id, currency, initial_value, balance, held, version, code_lookup, last_transfer_id,
      chain_length, chain_hash
    from gift_cards
    where store_id = ${storeId} and id > ${after} order by id limit ${limit}`);
  return rows.map((row) => {
    const currency = auditing.toCurrency(row.currency);
    return {
      cardId: toNumber(row.id),
      initialValue: { minor: row.initial_value, currency },
      balance: { minor: row.balance, currency },
      held: { minor: row.held, currency },
      version: Number(row.version),
      codeLookup: row.code_lookup,
      chainEnd: {
        transferId: Number(row.last_transfer_id),
        sequence: Number(row.chain_length),
        hash: row.chain_hash,
      },
    };
  });
}

/** Sum of all transfers of a store from one account to another, in minor units. */
export type AccountTotal = {
  readonly debit: Account;
  readonly credit: Account;
  readonly currency: string;
  readonly transfers: number;
  readonly minor: bigint;
};

export function* listAccountTotals(storeId: number): Script<readonly AccountTotal[]> {
  type Row = {
    debit_account: Account;
    credit_account: Account;
    currency: string;
    transfers: bigint;
    minor: string;
  };
  const rows = yield* all(sql<Row>`
    select debit_account, credit_account, currency, count(*) as transfers, cast(sum(amount) as text) as minor
    from transfers where store_id = ${storeId}
    group by debit_account, credit_account, currency
    order by currency, debit_account, credit_account`);
  return rows.map((row) => ({
    debit: row.debit_account,
    credit: row.credit_account,
    currency: row.currency,
    transfers: toNumber(row.transfers),
    minor: BigInt(row.minor),
  }));
}

/** Returns the open holds' total of each card with an id above `after` and at most `upTo`, in minor units. */
export function* listHeld(
  storeId: number,
  { after, upTo }: { readonly after: number; readonly upTo: number },
): Script<ReadonlyMap<number, bigint>> {
  const rows = yield* all(sql<{ card_id: bigint; held: string }>`
    select card_id, cast(sum(amount) as text) as held from holds
    where store_id = ${storeId} and card_id > ${after} and card_id <= ${upTo} and status = 'open'
    group by card_id`);
  return new Map(rows.map((row) => [toNumber(row.card_id), BigInt(row.held)]));
}
