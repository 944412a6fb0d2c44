/** Online sales. A row changes only after `lockSale`, so what was read with it is true until the transaction ends. */

import { currencyOf } from '../../../core/money/domain/currency.ts';
import type { Money } from '../../../core/money/domain/money.ts';
import type { CardDesign } from '../../../core/cards/domain/design.ts';
import type { DisputeState, ProviderKind } from '../domain/payment.ts';
import type { DayLimit, SoldBefore } from '../domain/rules.ts';
import type {
  SaleDelivery,
  OnlineSale,
  ReturnReason,
  ReviewReason,
  SaleKey,
  SaleState,
} from '../domain/sale.ts';
import { finishedWaitMs } from '../domain/schedule.ts';
import { Secret } from '../../../platform/secret.ts';
import { sealNonceLength } from '../../../platform/keys.ts';
import type { Context } from '../../../core/storage/context.ts';
import {
  bytesOrNull,
  columns,
  flag,
  integer,
  integerOrNull,
  money,
  text,
  textOrNull,
  unchanged,
  writeOnly,
  type Column,
  type RowOf,
} from '../../../database/sql/columns.ts';
import { forUpdate, forUpdateSkipLocked } from '../../../database/sql/fragments.ts';
import { all, execute, first, one, part, sql, toNumber, type Script } from '../../../database/sql/sql.ts';
import { ofOpenStore } from '../../../core/stores/storage/store.ts';
import type { ProviderPlace } from './provider.ts';

function flagOrNull<Field extends string>(field: Field): Column<bigint | null, Field, boolean | null> {
  return {
    field,
    read: (stored) => (stored === null ? null : stored === 1n),
    write: (record) => {
      const value = record[field];
      return value === null ? null : Number(value);
    },
  };
}

function reasons<Field extends string>(field: Field): Column<string, Field, readonly ReviewReason[]> {
  return {
    field,
    // The database has what was written by this function.
    read: (stored) => (stored === '' ? [] : (stored.split(',') as ReviewReason[])),
    write: (record) => record[field].join(','),
  };
}

/** An amount of what was paid, whose currency can be another one than that of the sale. */
function paidMoney<Field extends string>(
  field: Field,
): Column<bigint, Field, Money, { readonly paid_currency: string }> {
  return {
    field,
    read: (minor, row) => ({ minor, currency: currencyOf(row.paid_currency) }),
    write: (record) => record[field].minor,
  };
}

/** Columns that never change. */
const fixed = {
  store_id: integer('storeId'),
  id: integer('id'),
  form_key: text('key'),
  provider: unchanged<ProviderKind>()('provider'),
  is_test: flag('isTest'),
  amount: money('amount'),
  currency: writeOnly<string>()((sale: Pick<OnlineSale, 'amount'>) => sale.amount.currency.code),
  design: unchanged<CardDesign>()('design'),
  delivery: unchanged<SaleDelivery>()('delivery'),
  send_on: textOrNull('sendOn'),
  language: text('language'),
  created_at: integer('createdAt'),
} as const;

const changing = {
  session_id: textOrNull('sessionId'),
  session_url: textOrNull('sessionUrl'),
  session_expires_at: integerOrNull('sessionExpiresAt'),
  payment_id: textOrNull('paymentId'),
  state: unchanged<SaleState>()('state'),
  buyer_name: textOrNull('buyerName'),
  buyer_address: textOrNull('buyerAddress'),
  buyer_key: textOrNull('buyerKey'),
  recipient_name: textOrNull('recipientName'),
  recipient_address: textOrNull('recipientAddress'),
  recipient_key: textOrNull('recipientKey'),
  sender_name: textOrNull('senderName'),
  message: textOrNull('message'),
  method: textOrNull('method'),
  fingerprint: bytesOrNull('fingerprint'),
  network: bytesOrNull('network'),
  mailbox: bytesOrNull('mailbox'),
  card_country: textOrNull('cardCountry'),
  is_bank_checked: flagOrNull('isBankChecked'),
  is_risky: flag('isRisky'),
  review_reasons: reasons('reviewReasons'),
  return_reason: unchanged<ReturnReason | null>()('returnReason'),
  card_id: integerOrNull('cardId'),
  issue_id: integerOrNull('issueId'),
  code: bytesOrNull('sealedCode'),
  dispute: unchanged<DisputeState | null>()('dispute'),
  disputed_at: integerOrNull('disputedAt'),
  paid_currency: writeOnly<string>()((sale: Pick<OnlineSale, 'paid'>) => sale.paid.currency.code),
  disputed: paidMoney('disputed'),
  stopped_at: integerOrNull('stoppedAt'),
  paid: paidMoney('paid'),
  refunded: paidMoney('refunded'),
  loss: paidMoney('loss'),
  owed: paidMoney('owed'),
  paid_at: integerOrNull('paidAt'),
  decided_at: integerOrNull('decidedAt'),
  review_until: integerOrNull('reviewUntil'),
  next_at: integerOrNull('nextAt'),
  attempts: integer('attempts'),
  hinted_at: integerOrNull('hintedAt'),
  notice_at: integerOrNull('noticeAt'),
  notice_attempts: integer('noticeAttempts'),
  erased_at: integerOrNull('erasedAt'),
} as const;

const sales = columns({ ...fixed, ...changing });
const changes = columns(changing);

/** A sale with what only the service needs. */
export type StoredSale = ReturnType<typeof sales.read>;

export type SaleRow = RowOf<typeof sales>;

/** The columns of `SaleRow`. */
export const saleColumns = sales.of('o');

export const toSale: (row: SaleRow) => StoredSale = sales.read;

function boundTo({ storeId, saleId }: SaleKey): string {
  return `online sale ${storeId} ${saleId}`;
}

export function sealSaleCode({ keys, random }: Context, key: SaleKey, code: Secret): Uint8Array {
  const nonce = random.bytes(sealNonceLength);
  return keys.seal('online-sale-code', Buffer.from(code.reveal()), boundTo(key), nonce);
}

/** @throws Error if the code was sealed for another sale, or its key is missing. */
export function openSaleCode(
  { keys }: Pick<Context, 'keys'>,
  key: SaleKey,
  { sealedCode }: Pick<StoredSale, 'sealedCode'>,
): Secret | null {
  return (
    sealedCode && new Secret(Buffer.from(keys.open('online-sale-code', sealedCode, boundTo(key))).toString())
  );
}

/** Inserts a sale. @returns false: the store has one of the same form. */
export function* insertSale(sale: StoredSale): Script<boolean> {
  const row = yield* first(sql<{ id: bigint }>`
    insert into online_sales (${sales.names}) values (${sales.values(sale)})
    on conflict (store_id, form_key) do nothing returning id`);
  return row !== undefined;
}

/** Saves a sale that `lockSale` has returned, and ends a claim of it. */
export function* updateSale(sale: StoredSale): Script<void> {
  yield* execute(sql`
    update online_sales set (${changes.names}) = (${changes.values(sale)}), lease = null
    where store_id = ${sale.storeId} and id = ${sale.id}`);
}

/** Finds a sale, and locks it until the transaction ends. */
export function* lockSale({ storeId, saleId }: SaleKey): Script<StoredSale | undefined> {
  const row = yield* first(sql<SaleRow>`
    select ${saleColumns} from online_sales o where o.store_id = ${storeId} and o.id = ${saleId} ${forUpdate}`);
  return row && toSale(row);
}

export function* findStoredSale({ storeId, saleId }: SaleKey): Script<StoredSale | undefined> {
  const row = yield* first(sql<SaleRow>`
    select ${saleColumns} from online_sales o where o.store_id = ${storeId} and o.id = ${saleId}`);
  return row && toSale(row);
}

export function* findSaleOfForm(storeId: number, key: string): Script<StoredSale | undefined> {
  const row = yield* first(sql<SaleRow>`
    select ${saleColumns} from online_sales o where o.store_id = ${storeId} and o.form_key = ${key}`);
  return row && toSale(row);
}

export function* findSaleOfCard(storeId: number, cardId: number): Script<StoredSale | undefined> {
  const row = yield* first(sql<SaleRow>`
    select ${saleColumns} from online_sales o where o.store_id = ${storeId} and o.card_id = ${cardId}`);
  return row && toSale(row);
}

/** Hints name few sessions. */
const hintedMax = 20;

/** The sales of a session or payment of a provider. */
export function* listSalesOf(
  storeId: number,
  { provider, id }: { readonly provider: ProviderKind; readonly id: string },
): Script<readonly StoredSale[]> {
  const rows = yield* all(sql<SaleRow>`
    select ${saleColumns} from online_sales o
    where o.store_id = ${storeId} and o.session_id = ${id} and o.provider = ${provider}
    union all
    select ${saleColumns} from online_sales o
    where o.store_id = ${storeId} and o.payment_id = ${id} and o.provider = ${provider}
      and o.session_id <> ${id}
    limit ${hintedMax}`);
  return rows.map(toSale);
}

/** The digests by which the limits of a day recognize a sale; null: unknown. */
export type SaleTraces = Pick<StoredSale, 'mailbox' | 'network' | 'fingerprint'>;

/** Counts the forms of a network since an instant, and those of a mailbox in it, that are not paid: up to `limit`. */
export function* countUnpaidForms(
  storeId: number,
  { mailbox, network }: Pick<SaleTraces, 'mailbox' | 'network'>,
  {
    since,
    limit,
  }: { /** The internal id from which forms are read. */ readonly since: number; readonly limit: number },
): Script<{ readonly ofNetwork: number; readonly ofAddress: number }> {
  const row = yield* one(sql<{ of_network: bigint; of_address: bigint }>`
    select cast(count(*) as bigint) as of_network,
      cast(coalesce(sum(case when mailbox = ${mailbox} then 1 else 0 end), 0) as bigint) as of_address
    from (
      select mailbox from online_sales
      where store_id = ${storeId} and network = ${network} and id >= ${since} and paid_at is null
      order by id desc limit ${limit}) forms`);
  return { ofNetwork: Number(row.of_network), ofAddress: Number(row.of_address) };
}

/**
 * Sums the payments since an instant (ms) that have a card or are reviewed, in minor units: those of the mailbox, payment card
 * and network of a sale, and those of the store.
 */
export function* sumPaidSales(
  storeId: number,
  { mailbox, fingerprint, network }: SaleTraces,
  since: number,
): Script<SoldBefore> {
  return yield* one(sql<Record<DayLimit, bigint>>`
    select
      cast(coalesce(sum(case when mailbox = ${mailbox} then amount else 0 end), 0) as bigint) as address,
      cast(coalesce(sum(case when fingerprint = ${fingerprint} then amount else 0 end), 0) as bigint) as card,
      cast(coalesce(sum(case when network = ${network} then amount else 0 end), 0) as bigint) as network,
      cast(coalesce(sum(amount), 0) as bigint) as store
    from online_sales where store_id = ${storeId} and paid_at >= ${since} and state in ('review', 'issued')`);
}

/** Whether a card was made for an earlier sale of an address. */
export function* hasBought(storeId: number, buyerKey: string): Script<boolean> {
  const row = yield* first(sql<{ one: bigint }>`
    select 1 as one from online_sales where store_id = ${storeId} and buyer_key = ${buyerKey} and state = 'issued'
    limit 1`);
  return row !== undefined;
}

/** A claim of a due sale: its times in ms, and its name. */
export type SaleClaim = { readonly now: number; readonly until: number; readonly lease: number };

/** Sales whose buyer waits for the payment or the card. */
const unfinished = part`state in ('new', 'open', 'waiting', 'review')`;

const isOfFailing = part`exists (
  select 1 from payment_providers p
  where p.store_id = o.store_id and p.kind = o.provider and p.is_test = o.is_test and p.failing_since is not null)`;

/**
 * The providers with sales that are due, the longest due first: those whose last request has failed, or the others. After a
 * restore, sales wait until an owner has confirmed it.
 */
export function* listPlacesWithDueSales(
  now: number,
  { isFailing, limit }: { readonly isFailing: boolean; readonly limit: number },
): Script<readonly ProviderPlace[]> {
  type Row = { store_id: bigint; provider: ProviderKind; is_test: bigint };
  const due = part`
    select store_id, provider, is_test from online_sales o where next_at <= ${now} and ${ofOpenStore}
      and not exists (select 1 from setup_steps t where t.store_id = o.store_id and t.step = 'restored_copy')`;
  const longest = part`group by store_id, provider, is_test order by min(next_at), store_id limit ${limit}`;
  const rows = yield* all(
    isFailing
      ? sql<Row>`${due} and ${isOfFailing} ${longest}`
      : sql<Row>`${due} and not ${isOfFailing} ${longest}`,
  );
  return rows.map((row) => ({
    storeId: toNumber(row.store_id),
    kind: row.provider,
    isTest: row.is_test === 1n,
  }));
}

/** Claims the sale of a provider that is due for longest, a finished one only if no other is due. */
export function* claimDueSale(
  place: ProviderPlace,
  { now, until, lease }: SaleClaim,
): Script<StoredSale | undefined> {
  const { storeId, kind, isTest } = place;
  const due = part`
    select id from online_sales
    where store_id = ${storeId} and provider = ${kind} and is_test = ${Number(isTest)} and next_at <= ${now}`;
  const longest = part`order by next_at, id limit 1 ${forUpdateSkipLocked}`;
  const found =
    (yield* first(sql<{ id: bigint }>`${due} and ${unfinished} ${longest}`)) ??
    (yield* first(sql<{ id: bigint }>`${due} ${longest}`));
  if (!found) return undefined;
  const row = yield* one(sql<SaleRow>`
    update online_sales set next_at = ${until}, lease = ${lease}, attempts = attempts + 1, hinted_at = null
    where store_id = ${storeId} and id = ${found.id} returning ${sales.names}`);
  return toSale(row);
}

/**
 * Makes a sale due because of a notification, also one that is claimed: what its process reads can be older. A finished sale
 * waits, so that several notifications cause one reading. An earlier time stays. @param now instant in ms.
 */
export function* makeSaleDue({ storeId, saleId }: SaleKey, now: number): Script<void> {
  const later = now + finishedWaitMs;
  yield* execute(sql`
    update online_sales set lease = null, attempts = 0, hinted_at = ${now},
      next_at = case
        when next_at <= ${now} then next_at
        when ${unfinished} then ${now}
        when next_at < ${later} then next_at
        else ${later} end
    where store_id = ${storeId} and id = ${saleId}`);
}

/** Ends a claim without a result. Nothing happens if the sale has changed, or another process has claimed it, since. */
export function* deferSale({ storeId, saleId }: SaleKey, lease: number, nextAt: number): Script<void> {
  yield* execute(sql`
    update online_sales set next_at = ${nextAt}, lease = null
    where store_id = ${storeId} and id = ${saleId} and lease = ${lease}`);
}

/** The paid sales of a provider since an instant (ms), after an id, which were read there. */
export function* listPaidSales(
  { storeId, kind, isTest }: { storeId: number; kind: ProviderKind; isTest: boolean },
  { since, after, limit }: { readonly since: number; readonly after: number; readonly limit: number },
): Script<readonly StoredSale[]> {
  const rows = yield* all(sql<SaleRow>`
    select ${saleColumns} from online_sales o
    where o.store_id = ${storeId} and o.id > ${after} and o.paid_at >= ${since} and o.provider = ${kind}
      and o.is_test = ${Number(isTest)}
    order by o.id limit ${limit}`);
  return rows.map(toSale);
}
