/** Transfers: the rows of the ledger. Each card's transfers form a hash chain. */

import { hash as digest } from 'node:crypto';
import type { Context } from '../../storage/context.ts';
import {
  chainStart,
  committedText,
  entryContent,
  hasText,
  type Account,
  type LedgerTexts,
  type Opening,
  type Transfer,
  type TransferKind,
} from '../domain/ledger.ts';
import type { CardKey, ChainEnd } from '../../cards/storage/card.ts';
import {
  bytes,
  bytesOrNull,
  columns,
  integer,
  integerOrNull,
  money,
  unchanged,
  text,
  textOrNull,
  writeOnly,
  type RowOf,
} from '../../../database/sql/columns.ts';
import { all, first, execute, sql, toNumber, type Script } from '../../../database/sql/sql.ts';

/** The times of an entry that is not late and of its id differ by at most this. A trigger records the others. */
export const idSkewMaxMs = 5 * 60_000;

const transfers = columns({
  store_id: integer('storeId'),
  card_id: integer('cardId'),
  sequence: integer('sequence'),
  id: integer('id'),
  kind: unchanged<TransferKind>()('kind'),
  amount: money('amount'),
  currency: writeOnly<string>()((transfer: Transfer) => transfer.amount.currency.code),
  debit_account: unchanged<Account>()('debit'),
  credit_account: unchanged<Account>()('credit'),
  balance_after: money('balanceAfter'),
  actor: text('actor'),
  reference: textOrNull('reference'),
  note: textOrNull('note'),
  order_id: integerOrNull('orderId'),
  order_reference: textOrNull('orderReference'),
  external_id: textOrNull('externalId'),
  location_id: integerOrNull('locationId'),
  hold_id: integerOrNull('holdId'),
  reverses: integerOrNull('reverses'),
  created_at: integer('createdAt'),
});

export type TransferRow = RowOf<typeof transfers>;

export { transfers as transferColumns };

/** The columns of a transfer's entry in its card's chain. */
const entries = columns({
  previous_id: integerOrNull('previousId'),
  salt: bytesOrNull('salt'),
  issued_expires_on: textOrNull('issuedExpiresOn'),
  issued_vat: textOrNull('issuedVat'),
  text_salt: bytesOrNull('textSalt'),
  text_digest: bytesOrNull('textDigest'),
  hash: bytes('hash'),
});

type EntryRow = RowOf<typeof entries>;

/** A transfer without its position in the chain. */
export type NewTransfer = Omit<Transfer, 'id' | 'sequence'>;

/** The parts of a transfer's entry in the chain, beyond the transfer itself. */
export type Entry = {
  /** The card's transfer before this one; null: this is the first. */
  readonly previousId: number | null;
  /** The salt of the chain, in its first entry only: 16 random bytes. */
  readonly salt: Uint8Array | null;
  /** The day until which the card was valid when it was issued; null also in all entries but the first. */
  readonly issuedExpiresOn: string | null;
  /** The VAT with which the card was issued; null also in all entries but the first. */
  readonly issuedVat: string | null;
  /** 16 random bytes; null if there is no text, or if the texts were erased. */
  readonly textSalt: Uint8Array | null;
  /** The digest of the texts, which the hash covers; null if there never was one. */
  readonly textDigest: Uint8Array | null;
  readonly hash: Uint8Array;
};

export type ChainedTransfer = Entry & { readonly transfer: Transfer };

export const saltLength = 16;

/** Returns the hash of a transfer after one with the hash `previous`: SHA-256, 32 bytes. */
export function chainHash(
  previous: Uint8Array,
  transfer: Transfer,
  {
    salt,
    issuedExpiresOn,
    issuedVat,
    textDigest,
  }: Pick<Entry, 'salt' | 'issuedExpiresOn' | 'issuedVat' | 'textDigest'>,
): Uint8Array {
  const opening: Opening | null = salt && { salt, expiresOn: issuedExpiresOn, vat: issuedVat };
  return Buffer.from(entryHash(previous, entryContent(transfer, { opening, textDigest })), 'latin1');
}

/** Longer contents, which this program does not write, have a buffer of their own. */
const hashedMax = 4_096;
/** Begins with the bytes that `hashAfter` hashes before the content. */
export const hashed = Buffer.allocUnsafe(hashedMax);

/**
 * Returns the hash of an entry's content after one with the hash `previous`, one character per byte: as bytes, it would
 * take twice the time.
 */
export function entryHash(previous: Uint8Array, content: string): string {
  hashed.set(previous);
  return hashAfter(previous.length, content, 'latin1');
}

/** Returns SHA-256 of the first bytes of `hashed`, at most 32, and a content. */
export function hashAfter(length: number, content: string, encoding: 'latin1' | 'hex'): string {
  const needed = length + content.length * 3;
  let buffer = hashed;
  if (needed > hashedMax) {
    buffer = Buffer.allocUnsafe(needed);
    hashed.copy(buffer, 0, 0, length);
  }
  const written = buffer.write(content, length);
  return digest('sha256', buffer.subarray(0, length + written), encoding);
}

/** Returns the digest that commits to a transfer's texts. */
export function textDigestOf(salt: Uint8Array, texts: LedgerTexts): Uint8Array {
  return digest('sha256', Buffer.concat([salt, Buffer.from(committedText(texts))]), 'buffer');
}

/** The end of a chain whose last entry this is. */
export function endAt({ transfer, hash }: ChainedTransfer): ChainEnd {
  return { transferId: transfer.id, sequence: transfer.sequence, hash };
}

/** Completes the first transfer of a card, which must be inserted after the card. */
export function openChain(
  ctx: Context,
  written: NewTransfer,
  terms: Pick<Entry, 'issuedExpiresOn' | 'issuedVat'>,
): ChainedTransfer {
  const opening = { salt: ctx.random.bytes(saltLength), ...terms };
  return chained(ctx, written, { end: null, opening });
}

/**
 * Appends a transfer to its card's chain, whose end the same transaction has read after it has locked the card. The
 * database rejects a transfer that does not follow the last one, and updates the end.
 */
export function* recordTransfer(ctx: Context, end: ChainEnd, written: NewTransfer): Script<Transfer> {
  const added = chained(ctx, written, { end, opening: null });
  yield* insertTransfer(added);
  return added.transfer;
}

function chained(
  ctx: Context,
  written: NewTransfer,
  {
    end,
    opening,
  }: {
    readonly end: ChainEnd | null;
    readonly opening: Pick<Entry, 'salt' | 'issuedExpiresOn' | 'issuedVat'> | null;
  },
): ChainedTransfer {
  const transfer: Transfer = { ...written, id: ctx.random.id(), sequence: (end?.sequence ?? 0) + 1 };
  const textSalt = hasText(transfer) ? ctx.random.bytes(saltLength) : null;
  const details = {
    salt: opening?.salt ?? null,
    issuedExpiresOn: opening?.issuedExpiresOn ?? null,
    issuedVat: opening?.issuedVat ?? null,
    textDigest: textSalt && textDigestOf(textSalt, transfer),
  };
  const hash = chainHash(end?.hash ?? chainStart, transfer, details);
  return { transfer, previousId: end?.transferId ?? null, ...details, textSalt, hash };
}

/** Inserts a transfer. */
export function* insertTransfer(added: ChainedTransfer): Script<void> {
  yield* execute(sql`
    insert into transfers (${transfers.names}, ${entries.names})
    values (${transfers.values(added.transfer)}, ${entries.values(added)})`);
}

/** The chains of cards, and the card whose chain an entry belongs to. */
export type WalkedTransfer = ChainedTransfer & { readonly chainOf: number };

/**
 * Returns the chains of the cards with ids above `after` and at most `upTo`, each from its first entry. A
 * chain begins behind a missing entry, or one with an unexpected place.
 */
export function* listTransfers(
  storeId: number,
  { after, upTo }: { readonly after: number; readonly upTo: number },
): Script<readonly WalkedTransfer[]> {
  const rows = yield* all(sql<TransferRow & EntryRow & { readonly chain_of: bigint }>`
    with recursive chain (chain_of, id, previous_id, sequence) as (
      select g.id, t.id, t.previous_id, t.sequence from gift_cards g
      join transfers t on t.store_id = ${storeId} and t.id = g.last_transfer_id
      where g.store_id = ${storeId} and g.id > ${after} and g.id <= ${upTo}
      union all
      select l.chain_of, t.id, t.previous_id, t.sequence from chain l
      join transfers t on t.store_id = ${storeId} and t.id = l.previous_id
      -- Ends even if rows that were tampered with refer to each other.
      where t.sequence < l.sequence
    )
    select l.chain_of, ${transfers.of('t')}, ${entries.of('t')} from chain l
    join transfers t on t.store_id = ${storeId} and t.id = l.id
    order by l.chain_of, t.sequence`);
  return rows.map((row) => ({
    chainOf: Number(row.chain_of),
    transfer: transfers.read(row),
    ...entries.read(row),
  }));
}

/** A transfer that is neither the end of its card's chain nor before another transfer. */
export type LooseTransfer = { readonly id: number; readonly cardId: number; readonly hasCard: boolean };

/** Returns transfers that no chain contains, or the last one of several. */
export function* listLooseTransfers(storeId: number, limit: number): Script<readonly LooseTransfer[]> {
  const rows = yield* all(sql<{ id: bigint; card_id: bigint; known: bigint | null }>`
    with loose as (
      select id from transfers where store_id = ${storeId}
      except select previous_id from transfers where store_id = ${storeId} and previous_id is not null
      except select last_transfer_id from gift_cards where store_id = ${storeId}
    )
    select t.id, t.card_id, g.id as known from loose l
    join transfers t on t.store_id = ${storeId} and t.id = l.id
    left join gift_cards g on g.store_id = t.store_id and g.id = t.card_id
    order by t.id limit ${limit}`);
  return rows.map((row) => ({
    id: Number(row.id),
    cardId: Number(row.card_id),
    hasCard: row.known !== null,
  }));
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

/** Sums the reversals of an entry that one actor made, in minor units. */
export function* sumReversalsBy(actor: string, storeId: number, id: number): Script<bigint> {
  const rows = yield* all(sql<{ amount: bigint }>`
    select amount from transfers where store_id = ${storeId} and reverses = ${id} and actor = ${actor}`);
  return rows.reduce((sum, reversal) => sum + reversal.amount, 0n);
}

/** Returns a card's newest transfers, or those before the transfer with the id `before`, newest first. */
export function* listTransfersBefore(
  { storeId, cardId }: CardKey,
  { before, limit }: { readonly before: number | null; readonly limit: number },
): Script<readonly Transfer[]> {
  const rows = yield* all(sql<TransferRow>`
    with recursive listed (id, place) as (
      select case when cast(${before} as bigint) is null then g.last_transfer_id else (
          select b.previous_id from transfers b
          where b.store_id = ${storeId} and b.id = ${before} and b.card_id = ${cardId}
        ) end, 1
      from gift_cards g where g.store_id = ${storeId} and g.id = ${cardId}
      union all
      select t.previous_id, l.place + 1 from listed l
      join transfers t on t.store_id = ${storeId} and t.id = l.id
      where l.place < ${limit}
    )
    select ${transfers.of('t')} from listed l join transfers t on t.store_id = ${storeId} and t.id = l.id
    order by l.place`);
  return rows.map(transfers.read);
}

/**
 * Returns a card's transfers after a sequence number, oldest first. It walks the chain from behind them: from the next
 * entry of the index that contains every 32nd transfer of a card, or from the end.
 */
export function* listTransfersAfter(
  key: CardKey,
  page: { readonly after: number; readonly limit: number },
): Script<readonly Transfer[]> {
  return (yield* listChainAfter(key, page)).map(({ transfer }) => transfer);
}

/** Lists transfers as `listTransfersAfter` does, with the columns of the chain. */
export function* listChainAfter(
  { storeId, cardId }: CardKey,
  { after, limit }: { readonly after: number; readonly limit: number },
): Script<readonly ChainedTransfer[]> {
  const rows = yield* all(sql<TransferRow & EntryRow>`
    with recursive listed (id, previous_id, sequence) as (
      select s.id, s.previous_id, s.sequence from transfers s
      where s.store_id = ${storeId} and s.sequence > ${after} and s.id = coalesce((
          select m.id from transfers m
          where m.store_id = ${storeId} and m.card_id = ${cardId} and m.sequence % 32 = 0
            and m.sequence >= ${after + limit}
          order by m.sequence limit 1
        ), (select g.last_transfer_id from gift_cards g where g.store_id = ${storeId} and g.id = ${cardId}))
      union all
      select t.id, t.previous_id, t.sequence from listed l
      join transfers t on t.store_id = ${storeId} and t.id = l.previous_id
      where t.sequence > ${after}
    )
    select ${transfers.of('t')}, ${entries.of('t')} from listed l
    join transfers t on t.store_id = ${storeId} and t.id = l.id
    order by t.sequence limit ${limit}`);
  return rows.map((row) => ({ transfer: transfers.read(row), ...entries.read(row) }));
}
