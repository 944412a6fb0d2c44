/**
 * Recomputes the chains of cards, one entry at a time, and compares their ends with the cards. The entries of several
 * cards can alternate. It keeps about 160 bytes of each card.
 */

import { CardPlaces, Integers } from '../../books/service/card-places.ts';
import { plus } from '../../books/service/exact-sums.ts';
import { findCurrency, type Currency } from '../../../core/money/domain/currency.ts';
import {
  chainStart,
  entryText,
  hasText,
  increases,
  type LedgerTexts,
} from '../../../core/money/domain/ledger.ts';
import { sameBytes } from '../../../platform/keys.ts';
import type { ScannedCard, ScannedTransfer } from '../storage/ledger-scan.ts';
import type { ScannedInteger } from '../../../database/sql/sql.ts';
import { digestMark, saltMark, type WrittenTransfer } from '../storage/entry-scan.ts';
import {
  entryHash,
  hashAfter,
  hashed,
  saltLength,
  textDigestOf,
} from '../../../core/money/storage/transfer.ts';
import { digestWith } from './digest.ts';

const hashLength = 32;

export class ChainWalk {
  readonly #storeId: number;
  readonly #currency: Currency;
  /** The positions of the cards. */
  readonly places: CardPlaces;
  // One array per value, because one object per card uses several times as much memory.
  readonly #lengths: Int32Array;
  /** Digests of the balances after the entries. */
  readonly #digests: Int32Array;
  /** The hashes of the last entries. */
  readonly #heads: Buffer;
  // The values of the last entries.
  readonly #lastIds: Integers;
  readonly #balances: Integers;
  readonly #redeemed: Integers;
  // The values of the first entries.
  readonly #issued: Integers;
  readonly #createdAt: Integers;
  /** The VAT of the cards that were issued with one, by their place. */
  readonly #vats = new Map<number, string>();
  /** The remaining amounts of reversed transfers, by their ids. */
  readonly #reversible = new Map<ScannedInteger, ScannedInteger>();

  constructor(storeId: number, currency: Currency, cardIds: readonly ScannedInteger[]) {
    this.#storeId = storeId;
    this.#currency = currency;
    this.places = new CardPlaces(cardIds);
    this.#lengths = new Int32Array(cardIds.length);
    this.#digests = new Int32Array(cardIds.length);
    this.#heads = Buffer.alloc(cardIds.length * hashLength);
    this.#lastIds = new Integers(cardIds.length);
    this.#balances = new Integers(cardIds.length);
    this.#redeemed = new Integers(cardIds.length);
    this.#issued = new Integers(cardIds.length);
    this.#createdAt = new Integers(cardIds.length);
  }

  lengthOf(place: number): number {
    return this.#lengths[place] ?? 0;
  }

  /** The digest of the balances after the entries, as `digestWith` computes it. */
  digestOf(place: number): number {
    return this.#digests[place] ?? 0;
  }

  /** Appends an entry to the chain of a card. @returns what is wrong with it. */
  append(place: number, entry: ScannedTransfer): readonly string[] {
    const problems: string[] = [];
    const { id } = entry;
    const index = this.lengthOf(place);
    const balance = sumOf(this.#balances.get(place) ?? 0, entry.amount, increases(entry.credit_account));
    if (entry.card_id !== entry.chain_of) problems.push(`transfer ${id} is a transfer of another card`);
    if (entry.sequence !== index + 1)
      problems.push(`transfer ${id} has the sequence number ${entry.sequence}, not ${index + 1}`);
    if ((entry.kind === 'issue') !== (index === 0))
      problems.push(`transfer ${id} is the entry ${index + 1} of the card, but of the kind ${entry.kind}`);
    if (entry.currency !== this.#currency.code) problems.push(`transfer ${id} is in another currency`);
    if (entry.balance_after !== balance)
      problems.push(`transfer ${id} has a balance that is not the sum up to it`);
    if (balance < 0) problems.push(`transfer ${id} makes the balance negative`);
    if (!this.#isLinked(place, entry)) problems.push(`the hash of transfer ${id} does not match its content`);
    if (!isTextCommitted(entry)) problems.push(`a text of transfer ${id} was changed`);
    if (entry.reverses !== null && this.#reverse(entry.reverses, entry) < 0)
      problems.push(`transfer ${id} reverses more than the remaining amount`);
    this.#lengths[place] = index + 1;
    this.#lastIds.set(place, id);
    this.#balances.set(place, balance);
    this.#redeem(place, entry.amount, `${entry.debit_account} ${entry.credit_account}`);
    this.#digests[place] = digestWith(this.digestOf(place), Number(entry.balance_after));
    if (index === 0) {
      this.#issued.set(place, entry.amount);
      this.#createdAt.set(place, entry.created_at);
      if (entry.issued_vat !== null) this.#vats.set(place, entry.issued_vat);
    }
    return problems;
  }

  /**
   * Appends an entry whose text the database has composed, as `append` does with a row.
   * @returns whether it is sound. If not, the chain of the card has to be walked with `append`.
   */
  follow(place: number, entry: WrittenTransfer): boolean {
    const { id, content, amount } = entry;
    const index = this.lengthOf(place);
    const balance = sumOf(this.#balances.get(place) ?? 0, amount, entry.accounts.endsWith(raising));
    const isSound =
      content !== null &&
      entry.sequence === index + 1 &&
      entry.previous_id === this.#lastIds.get(place) &&
      entry.balance_after === balance &&
      this.#hasHash(place, content, entry) &&
      (entry.reverses === null || this.#reverse(entry.reverses, entry) >= 0);
    if (!isSound) return false;
    this.#heads.write(entry.hash, place * hashLength, 'hex');
    this.#lengths[place] = index + 1;
    this.#lastIds.set(place, id);
    this.#balances.set(place, balance);
    this.#redeem(place, amount, entry.accounts);
    this.#digests[place] = digestWith(this.digestOf(place), Number(balance));
    if (index === 0) {
      this.#issued.set(place, amount);
      this.#createdAt.set(place, entry.created_at);
      if (entry.issued_vat !== null) this.#vats.set(place, entry.issued_vat);
    }
    return true;
  }

  /** Whether the hash covers the content after the last entry. The heads of new chains are zero bytes, as `chainStart`. */
  #hasHash(place: number, content: string, entry: WrittenTransfer): boolean {
    const { text_digest: digest, text_salt: textSalt, texts } = entry;
    if (textSalt !== null && texts !== null) {
      if (textSalt.length !== 2 * saltLength) return false;
      hashed.write(textSalt, 'hex');
      if (digest !== hashAfter(saltLength, texts, 'hex')) return false;
    }
    this.#heads.copy(hashed, 0, place * hashLength, (place + 1) * hashLength);
    return hashAfter(hashLength, writtenContent(content, entry), 'hex') === entry.hash;
  }

  /** @param accounts the debited and the credited one. */
  #redeem(place: number, amount: ScannedInteger, accounts: string): void {
    const isRedemption = accounts.endsWith(redemption);
    if (!isRedemption && !accounts.startsWith(refund)) return;
    this.#redeemed.set(place, sumOf(this.#redeemed.get(place) ?? 0, amount, isRedemption));
  }

  /** Compares a card with its chain, after its last entry. @returns what is wrong with it. */
  conclude(place: number, card: ScannedCard, held: ScannedInteger): readonly string[] {
    const problems: string[] = [];
    if (card.currency !== this.#currency.code) problems.push('is in another currency');
    if (card.initial_value !== (this.#issued.get(place) ?? 0))
      problems.push('was not issued for its initial value');
    if (card.vat !== (this.#vats.get(place) ?? null)) problems.push('was not issued with its VAT');
    if (this.lengthOf(place) > 0 && card.created_at !== this.#createdAt.get(place))
      problems.push('was not created at the time of its first transfer');
    if (!this.#isEnd(place, card)) problems.push('has another last transfer than the end of its chain');
    if (card.held !== held) problems.push('has a held amount that is not the sum of its open holds');
    if (card.redeemed !== (this.#redeemed.get(place) ?? 0))
      problems.push('has a redeemed amount that is not the sum of its redemptions');
    if (card.balance !== (this.#balances.get(place) ?? 0))
      problems.push('has a balance that is not the sum of its transfers');
    return problems;
  }

  /** Returns what remains of the reversed amount after a reversal. */
  #reverse(
    reversed: ScannedInteger,
    { amount, reversible }: Pick<ScannedTransfer, 'amount' | 'reversible'>,
  ): ScannedInteger {
    const left = sumOf(this.#reversible.get(reversed) ?? reversible ?? 0, amount, false);
    this.#reversible.set(reversed, left);
    return left;
  }

  #isEnd(place: number, card: ScannedCard): boolean {
    return (
      card.last_transfer_id === this.#lastIds.get(place) &&
      card.chain_length === this.#lengths[place] &&
      sameBytes(card.chain_hash, this.#headOf(place))
    );
  }

  #headOf(place: number): Uint8Array {
    return this.#heads.subarray(place * hashLength, (place + 1) * hashLength);
  }

  /** Whether the entry follows the last one and its hash is right. The next entry follows its stored hash. */
  #isLinked(place: number, entry: ScannedTransfer): boolean {
    const isFirst = this.#lengths[place] === 0;
    const head = this.#headOf(place);
    const computed = entryHash(
      isFirst ? chainStart : head,
      composedContent(this.#storeId, this.#currency, entry),
    );
    const { hash } = entry;
    let isSame = hash.length === hashLength;
    for (let at = 0; at < hashLength; at += 1) {
      const byte = hash[at] ?? 0;
      head[at] = byte;
      if (computed.charCodeAt(at) !== byte) isSame = false;
    }
    if (!isSame || entry.previous_id !== this.#lastIds.get(place)) return false;
    return isFirst
      ? entry.salt !== null
      : entry.salt === null && entry.issued_expires_on === null && entry.issued_vat === null;
  }
}

/** The end of the accounts of a redemption, and the start of those of its reversal. */
const [redemption, refund] = [' redemptions', 'redemptions '];

/** The end of the accounts of an entry that raises the balance. */
const raising = ' card';

/** The content of an entry that the database has composed, with its bytes. */
export function writtenContent(
  content: string,
  { salt, text_digest: digest }: Pick<WrittenTransfer, 'salt' | 'text_digest'>,
): string {
  const withDigest = digest === null ? content : content.replace(digestMark, base64Of(digest));
  return salt === null ? withDigest : withDigest.replace(saltMark, base64Of(salt));
}

function base64Of(hexadecimal: string): string {
  return Buffer.from(hexadecimal, 'hex').toString('base64');
}

/** The content of an entry, which the program composes. */
export function composedContent(storeId: number, ofStore: Currency, entry: ScannedTransfer): string {
  const { currency: code } = entry;
  return entryText({
    storeId,
    cardId: entry.card_id,
    sequence: entry.sequence,
    id: entry.id,
    kind: entry.kind,
    amount: entry.amount,
    currency: code === ofStore.code ? ofStore : (findCurrency(code) ?? { code, decimals: 0 }),
    debit: entry.debit_account,
    credit: entry.credit_account,
    balanceAfter: entry.balance_after,
    actor: entry.actor,
    textDigest: entry.text_digest,
    orderId: entry.order_id,
    holdId: entry.hold_id,
    reverses: entry.reverses,
    createdAt: entry.created_at,
    locationId: entry.location_id,
    salt: entry.salt,
    issuedExpiresOn: entry.issued_expires_on,
    issuedVat: entry.issued_vat,
  });
}

/** The texts of an entry. */
export function scannedTextsOf({
  reference,
  note,
  order_reference: orderReference,
  external_id: externalId,
}: ScannedTransfer): LedgerTexts {
  return { reference, note, orderReference, externalId };
}

/** Whether the texts are those that the hash covers. All can have been erased, with their salt. */
function isTextCommitted(entry: ScannedTransfer): boolean {
  const { text_salt: salt, text_digest: digest } = entry;
  const texts = scannedTextsOf(entry);
  if (salt === null) return !hasText(texts);
  return digest !== null && hasText(texts) && sameBytes(digest, textDigestOf(salt, texts));
}

function sumOf(balance: ScannedInteger, amount: ScannedInteger, isIncrease: boolean): ScannedInteger {
  return plus(balance, isIncrease ? amount : -amount);
}
