/**
 * Reads transfers with the text of their entries, which the database composes: the program only hashes and compares. The
 * text equals that of `entryContent`, or the row is not one that the program writes and `head` is null.
 */

import type { Currency } from '../../domain/money/currency.ts';
import type { CardIdRange } from './ledger-scan.ts';
import {
  all,
  endOfHex,
  endOfJsonText,
  hex,
  part,
  jsonText,
  scan,
  type Part,
  type ScannedInteger,
  type Script,
} from '../sql/sql.ts';

/** A transfer and its entry: `head`, the digest of its texts, `tail`, the salt and `terms` in a first entry, and `ending`. */
export type WrittenTransfer = {
  readonly id: ScannedInteger;
  readonly card_id: ScannedInteger;
  readonly sequence: ScannedInteger;
  readonly previous_id: ScannedInteger | null;
  /** 1 or 0. */
  readonly is_issue: ScannedInteger;
  readonly amount: ScannedInteger;
  readonly debit_account: string;
  readonly credit_account: string;
  readonly balance_after: ScannedInteger;
  readonly created_at: ScannedInteger;
  readonly head: string | null;
  readonly tail: string;
  readonly ending: string;
  /** Null in all entries but the first. */
  readonly terms: string | null;
  readonly salt: Uint8Array | null;
  readonly issued_vat: string | null;
  /** `committedText`; null: there is no text, or the texts were erased. */
  readonly texts: string | null;
  readonly text_salt: Uint8Array | null;
  readonly text_digest: Uint8Array | null;
  /** Hexadecimal. */
  readonly hash: string;
  readonly reverses: ScannedInteger | null;
  /** The same field as in `ScannedTransfer`. */
  readonly reversible: ScannedInteger | null;
};

/** An amount as `formatMinor` writes it, if it is not negative. */
function amountOf(column: Part, { decimals }: Currency): Part {
  // SQLite divides by a bigint as an integer, and by a number as a fraction.
  const scale = 10n ** BigInt(decimals);
  const point = decimals === 0 ? '' : '.';
  return part`(${column} / ${scale}) || cast(${point} as text) || substr('' || (${scale} + ${column} % ${scale}), 2)`;
}

/** The content of an entry up to the digest of its texts. */
const headOf = (currency: Currency): Part => part`
  case when t.location_id is null then '["transfer/2",' else '["transfer/3",' end || t.store_id || ',' || t.card_id || ',' || t.sequence || ',' || t.id || ',' || ${jsonText} t.kind ${endOfJsonText} || ',"'
    || ${amountOf(part`t.amount`, currency)} || '",' || ${jsonText} t.currency ${endOfJsonText}
    || ',' || ${jsonText} t.debit_account ${endOfJsonText} || ',' || ${jsonText} t.credit_account ${endOfJsonText} || ',"'
    || ${amountOf(part`t.balance_after`, currency)} || '",' || ${jsonText} t.actor ${endOfJsonText} || ','`;

/** The content between the digest and the salt. */
const tailOf = part`
  ',' || coalesce(cast(t.order_id as text), 'null') || ',' || coalesce(cast(t.hold_id as text), 'null') || ','
    || coalesce(cast(t.reverses as text), 'null') || ',' || t.created_at || ','`;

const jsonOrNull = (column: Part): Part =>
  part`case when ${column} is null then 'null' else ${jsonText} ${column} ${endOfJsonText} end`;

const writtenOf = (storeId: number, currency: Currency): Part => part`
  t.id, t.card_id, t.sequence, t.previous_id, case when t.kind = 'issue' then 1 else 0 end as is_issue, t.amount,
  t.debit_account, t.credit_account, t.balance_after, t.created_at,
  case when t.currency = ${currency.code} and t.balance_after >= 0
      and (t.text_salt is null)
        = (t.reference is null and t.note is null and t.order_reference is null and t.external_id is null)
      and (t.salt is not null or (t.issued_expires_on is null and t.issued_vat is null))
    then ${headOf(currency)} end as head,
  ${tailOf} as tail,
  case when t.location_id is null then ']' else ',' || t.location_id || ']' end as ending,
  case when t.salt is not null then
    '[' || ${jsonOrNull(part`t.issued_expires_on`)} || ',' || ${jsonOrNull(part`t.issued_vat`)} || ']' end as terms,
  t.salt, t.issued_vat,
  case when t.text_salt is not null then
    '[' || ${jsonOrNull(part`t.reference`)} || ',' || ${jsonOrNull(part`t.note`)}
    || case when t.order_reference is null and t.external_id is null then ''
      else ',' || ${jsonOrNull(part`t.order_reference`)} || ',' || ${jsonOrNull(part`t.external_id`)} end || ']' end as texts,
  t.text_salt, t.text_digest, ${hex} t.hash ${endOfHex} as hash, t.reverses,
  case when t.reverses is not null then (
    select o.amount from transfers o
    where o.store_id = ${storeId} and o.id = t.reverses and o.card_id = t.card_id and o.sequence < t.sequence
  ) end as reversible`;

/** Returns the page after the id `after` of the transfers of the cards in the range, in the order of their ids. */
export function* scanWritten(
  { id: storeId, currency }: { readonly id: number; readonly currency: Currency },
  range: CardIdRange,
  after: ScannedInteger,
): Script<readonly WrittenTransfer[]> {
  return yield* all(scan<WrittenTransfer>`
    select ${writtenOf(storeId, currency)} from transfers t
    where t.store_id = ${storeId} and t.id > ${after} and t.card_id > ${range.after} and t.card_id <= ${range.upTo}
    order by t.id limit 500`);
}
