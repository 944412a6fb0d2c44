/**
 * Reads transfers with the text of their entries, which the database composes: the program only hashes and compares. The
 * text equals that of `entryContent`, except that it has a mark for bytes. If the row is not one that the program writes,
 * it is null.
 */

import type { Currency } from '../../../core/money/domain/currency.ts';
import type { CardIdRange } from './ledger-scan.ts';
import {
  all,
  joined,
  part,
  scan,
  type Part,
  type ScannedInteger,
  type Script,
} from '../../../database/sql/sql.ts';
import {
  endOfHex,
  endOfJsonArray,
  endOfJsonValue,
  hex,
  jsonArray,
  jsonComma,
  jsonValue,
} from '../../../database/sql/fragments.ts';

/** In the text of an entry: in place of the digest of its texts, and of its salt. */
export const [digestMark, saltMark] = ['<digest>', '<salt>'];

/** A transfer and its entry. */
export type WrittenTransfer = {
  readonly id: ScannedInteger;
  readonly card_id: ScannedInteger;
  readonly sequence: ScannedInteger;
  readonly previous_id: ScannedInteger | null;
  readonly amount: ScannedInteger;
  /** The debited and the credited account, with a space between them. */
  readonly accounts: string;
  readonly balance_after: ScannedInteger;
  readonly created_at: ScannedInteger;
  /** Null: the row is not one that the program writes. */
  readonly content: string | null;
  // Bytes are hexadecimal, which takes a third of the time.
  readonly salt: string | null;
  readonly issued_vat: string | null;
  /** `committedText`; null: there is no text, or the texts were erased. */
  readonly texts: string | null;
  readonly text_salt: string | null;
  readonly text_digest: string | null;
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

const value = (written: Part): Part => part`${jsonValue} ${written} ${endOfJsonValue}`;

const arrayOf = (...elements: readonly Part[]): Part =>
  part`${jsonArray} ${joined(
    elements.map((element, place) => (place === 0 ? element : part`${jsonComma} ${element}`)),
    '',
  )} ${endOfJsonArray}`;

const contentOf = (currency: Currency): Part => {
  const contentAs = (format: string, ...more: readonly Part[]): Part =>
    arrayOf(
      // PostgreSQL needs the type.
      value(part`cast(${format} as text)`),
      value(part`t.store_id`),
      value(part`t.card_id`),
      value(part`t.sequence`),
      value(part`t.id`),
      value(part`t.kind`),
      value(amountOf(part`t.amount`, currency)),
      value(part`t.currency`),
      value(part`t.debit_account`),
      value(part`t.credit_account`),
      value(amountOf(part`t.balance_after`, currency)),
      value(part`t.actor`),
      value(part`case when t.text_digest is not null then cast(${digestMark} as text) end`),
      value(part`t.order_id`),
      value(part`t.hold_id`),
      value(part`t.reverses`),
      value(part`t.created_at`),
      value(part`case when t.salt is not null then cast(${saltMark} as text) end`),
      part`case when t.salt is null then ${value(part`cast(null as text)`)} else ${arrayOf(value(part`t.issued_expires_on`), value(part`t.issued_vat`))} end`,
      ...more,
    );
  return part`case when t.location_id is null then ${contentAs('transfer/2')} else ${contentAs('transfer/3', value(part`t.location_id`))} end`;
};

const writtenOf = (storeId: number, currency: Currency): Part => part`
  t.id, t.card_id, t.sequence, t.previous_id, t.amount, t.debit_account || ' ' || t.credit_account as accounts,
  t.balance_after, t.created_at,
  case when t.currency = ${currency.code} and t.balance_after >= 0 and (t.kind = 'issue') = (t.sequence = 1)
      and (t.salt is null) = (t.sequence <> 1)
      and (t.text_salt is null)
        = (t.reference is null and t.note is null and t.order_reference is null and t.external_id is null)
      and (t.salt is not null or (t.issued_expires_on is null and t.issued_vat is null))
    then ${contentOf(currency)} end as content,
  ${hex} t.salt ${endOfHex} as salt, t.issued_vat,
  case when t.text_salt is null then null
    when t.order_reference is null and t.external_id is null
      then ${arrayOf(value(part`t.reference`), value(part`t.note`))}
    else ${arrayOf(value(part`t.reference`), value(part`t.note`), value(part`t.order_reference`), value(part`t.external_id`))}
  end as texts,
  ${hex} t.text_salt ${endOfHex} as text_salt, ${hex} t.text_digest ${endOfHex} as text_digest, ${hex} t.hash ${endOfHex} as hash, t.reverses,
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
