/** Transfers: the rows of the ledger. Each card's transfers form a hash chain. */

import { hash as digest } from 'node:crypto';
import type { Context } from '../context.ts';
import { currencyOf, findCurrency, type Currency } from '../domain/currency.ts';
import {
  canonicalContent,
  chainStart,
  type Account,
  type Transfer,
  type TransferKind,
} from '../domain/ledger.ts';
import type { CardKey } from './card.ts';
import {
  money,
  columns,
  integer,
  integerOrNull,
  unchanged,
  text,
  textOrNull,
  writeOnly,
  type RowOf,
} from './columns.ts';
import { all, first, execute, sql, toNumber, type Script } from './sql.ts';

type Reading = {
  readonly toInteger: (value: bigint) => number;
  readonly toCurrency: (code: string) => Currency;
};

/** A value that cannot be converted exactly changes the content, so its hash does not match. */
export const auditing: Reading = {
  toInteger: Number,
  toCurrency: (code) => findCurrency(code) ?? { code, decimals: 0 },
};

function columnsOfTransfers({ toInteger, toCurrency }: Reading) {
  const nullable = (value: bigint | null): number | null => (value === null ? null : toInteger(value));
  return columns({
    store_id: integer('storeId', toInteger),
    card_id: integer('cardId', toInteger),
    sequence: integer('sequence', toInteger),
    id: integer('id', toInteger),
    kind: unchanged<TransferKind>()('kind'),
    amount: money('amount', toCurrency),
    currency: writeOnly<string>()((transfer: Transfer) => transfer.amount.currency.code),
    debit_account: unchanged<Account>()('debit'),
    credit_account: unchanged<Account>()('credit'),
    balance_after: money('balanceAfter', toCurrency),
    actor: text('actor'),
    reference: textOrNull('reference'),
    note: textOrNull('note'),
    order_id: integerOrNull('orderId', nullable),
    hold_id: integerOrNull('holdId', nullable),
    reverses: integerOrNull('reverses', nullable),
    created_at: integer('createdAt', toInteger),
  });
}

const transfers = columnsOfTransfers({ toInteger: toNumber, toCurrency: currencyOf });

/** An audit also accepts values that this program does not write. */
const auditedTransfers = columnsOfTransfers(auditing);

type TransferRow = RowOf<typeof transfers>;

/** A transfer without its position in the chain. */
export type NewTransfer = Omit<Transfer, 'id' | 'sequence'>;

export type ChainedTransfer = { readonly transfer: Transfer; readonly hash: Uint8Array };

/** The last transfer of a card's chain. */
export type ChainEnd = { readonly sequence: number; readonly hash: Uint8Array };

/** The chain end of a card without transfers. */
export const noChain: ChainEnd = { sequence: 0, hash: chainStart };

/** Returns the hash of a transfer after one with the hash `previous`: SHA-256, 32 bytes. */
export function chainHash(previous: Uint8Array, transfer: Transfer): Uint8Array {
  return digest('sha256', Buffer.concat([previous, Buffer.from(canonicalContent(transfer))]), 'buffer');
}

/**
 * Returns the end of a card's chain. It can change during the transaction unless the same transaction has
 * updated the card's row before.
 */
export function* findChainEnd({ storeId, cardId }: CardKey): Script<ChainEnd> {
  const last = yield* first(sql<{ sequence: bigint; hash: Uint8Array }>`
    select sequence, hash from transfers
    where store_id = ${storeId} and card_id = ${cardId}
    order by sequence desc limit 1`);
  return last ? { sequence: toNumber(last.sequence), hash: last.hash } : noChain;
}

/**
 * Appends a transfer to its card's chain. The database reports a unique violation if another one has this
 * position.
 */
export function* recordTransfer(ctx: Context, end: ChainEnd, written: NewTransfer): Script<Transfer> {
  const transfer: Transfer = { ...written, id: ctx.random.id(), sequence: end.sequence + 1 };
  yield* execute(sql`
    insert into transfers (${transfers.names}, hash)
    values (${transfers.values(transfer)}, ${chainHash(end.hash, transfer)})`);
  return transfer;
}

/** Returns the transfers of cards with ids above `after` and at most `upTo`, in chain order, for an audit. */
export function* listTransfers(
  storeId: number,
  { after, upTo }: { readonly after: number; readonly upTo: number },
): Script<readonly ChainedTransfer[]> {
  const rows = yield* all(sql<TransferRow & { readonly hash: Uint8Array }>`
    select ${auditedTransfers.names}, hash from transfers
    where store_id = ${storeId} and card_id > ${after} and card_id <= ${upTo}
    order by card_id, sequence`);
  return rows.map((row) => ({ transfer: auditedTransfers.read(row), hash: row.hash }));
}

/** Returns undefined if the store has no transfer with this id. */
export function* findTransfer(storeId: number, id: number): Script<Transfer | undefined> {
  const row = yield* first(sql<TransferRow>`
    select ${transfers.names} from transfers where store_id = ${storeId} and id = ${id}`);
  return row && transfers.read(row);
}

/** Returns a transfer and its card's version, or undefined if the store has no transfer with this id. */
export function* findTransferAndVersion(
  storeId: number,
  id: number,
): Script<{ readonly transfer: Transfer; readonly cardVersion: number } | undefined> {
  const row = yield* first(sql<TransferRow & { card_version: bigint }>`
    select ${transfers.of('t')}, g.version as card_version from transfers t
    join gift_cards g on g.store_id = t.store_id and g.id = t.card_id
    where t.store_id = ${storeId} and t.id = ${id}`);
  return row && { transfer: transfers.read(row), cardVersion: toNumber(row.card_version) };
}

/** Returns the sum of a transfer's reversals, in minor units. */
export function* sumReversals(storeId: number, id: number): Script<bigint> {
  const rows = yield* all(sql<{ amount: bigint }>`
    select amount from transfers where store_id = ${storeId} and reverses = ${id}`);
  return rows.reduce((sum, reversal) => sum + reversal.amount, 0n);
}

/** Returns a card's transfers before a sequence number, newest first. */
export function* listTransfersBefore(
  { storeId, cardId }: CardKey,
  { before, limit }: { readonly before: number; readonly limit: number },
): Script<readonly Transfer[]> {
  const rows = yield* all(sql<TransferRow>`
    select ${transfers.names} from transfers where store_id = ${storeId} and card_id = ${cardId} and sequence < ${before}
    order by sequence desc limit ${limit}`);
  return rows.map(transfers.read);
}

/** Returns a card's transfers after a sequence number, oldest first. */
export function* listTransfersAfter(
  { storeId, cardId }: CardKey,
  { after, limit }: { readonly after: number; readonly limit: number },
): Script<readonly Transfer[]> {
  const rows = yield* all(sql<TransferRow>`
    select ${transfers.names} from transfers where store_id = ${storeId} and card_id = ${cardId} and sequence > ${after}
    order by sequence limit ${limit}`);
  return rows.map(transfers.read);
}
