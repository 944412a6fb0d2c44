/**
 * Compares events and codes with the cards and their transfers. Events and codes do not have an index by card, so they
 * are read in the order of their own keys. Each row is compared with its card's *trail*: a few numbers in memory.
 */

import type { Currency } from '../../../core/money/domain/currency.ts';
import type { PublicIds } from '../../../platform/public-id.ts';
import type { ScannedCode, ScannedEvent } from '../storage/references.ts';
import type { ScannedCard, ScannedExtension, ScannedHold } from '../storage/ledger-scan.ts';
import type { ScannedInteger } from '../../../database/sql/sql.ts';
import type { Finding } from './row-check.ts';
import { digestWith } from './digest.ts';
import type { CardPlaces } from '../../books/service/card-places.ts';
import { ExpiryDays } from './expiry-days.ts';
import { Repeated, type ParsedRecord, type RecordDigests } from './event-digests.ts';
import {
  type VersionRecord,
  type ReadEvent,
  keepingVersion,
  knownTypes,
  noObject,
  hasDetails,
  readDetails,
  parseObject,
  isObject,
} from './event-record.ts';

/**
 * Maximum number of events that precede the event of the previous version, and of those that follow an event of a later
 * one. Only concurrent transactions cause them.
 */
const unorderedEventsMax = 100_000;

/** In place of the text of a row that is not one that the program writes. No digest is equal. */
const unreadable = { digest: Number.NaN, length: 0 };

/** In `seen`: an event of the card is wrong. Consequential problems are not reported. */
const broken = -1;

/**
 * An event contains the version and the balance of its card. The versions of a card's events must not have a gap, and
 * their balances, without repetitions, must be the balances after its transfers. The events of one version have the same
 * record. After the retention of events, the first ones of a card are missing: then only the balance in the last one is
 * compared.
 */
export class CardTrails {
  readonly #currency: Currency;
  // One array per number, because one object per card uses several times as much memory.
  readonly #ids: number[] = [];
  readonly #versions: number[] = [];
  /** Digests and lengths of the texts of the records. */
  readonly #texts: number[] = [];
  readonly #textLengths: number[] = [];
  /** The digests of the records of the cards that have an event with another record, by the index of the card. */
  readonly #records = new Map<number, RecordDigests>();
  /** Digests of the balances after the transfers, and of the balances in the events so far. */
  readonly #balances: number[] = [];
  readonly #balancesInEvents: number[] = [];
  /** The version up to which the events have no gap, and the balance and the digest of the record in that version. */
  readonly #seen: number[] = [];
  readonly #lastBalances: number[] = [];
  readonly #lastRecords: number[] = [];
  readonly #codes: number[] = [];
  /** The number of codes that the card has had, by the events so far. */
  readonly #codesInEvents: number[] = [];
  /** The cards that refer to a code, by their index. */
  readonly #renamed = new Set<number>();
  /** Sums of the digests of the holds, minus those in the events so far. */
  readonly #holds: number[] = [];
  /** The days of the expiry events: of the cards, and of the last events so far, by the index of the card. */
  readonly #expiryDays = {
    'gift_card.expired': new ExpiryDays(),
    'gift_card.expiring_soon': new ExpiryDays(),
  };
  /** The codes that cards refer to and that were not read yet, by the index of the card. */
  readonly #namedCodes = new Map<number, bigint>();
  /** Records of events by version, by the index of the card. */
  readonly #early = new Map<number, Map<number, VersionRecord>>();
  #earlyCount = 0;
  /** Events that did not follow one of their version, by the index of the card and the version: `compareUnordered`. */
  readonly #unordered = new Map<string, { readonly id: ScannedInteger; readonly record: number }[]>();

  /** The last version whose event was erased, and the present balance, by the index of the card. */
  readonly #erased = new Map<number, { readonly version: number; readonly balance: number }>();

  readonly #repeated: Repeated;
  readonly #places: Pick<CardPlaces, 'of'>;
  readonly #isErasing: boolean;

  /**
   * @param places the index of each card, in the order in which they are added.
   * @param ids undefined: encrypted ids in events are not compared.
   * @param isErasing whether a customer is being erased, who is missing in the cards and is still in their events: then
   * only the versions and balances of events are compared.
   */
  constructor(
    currency: Currency,
    places: Pick<CardPlaces, 'of'>,
    { ids, isErasing = false }: { readonly ids?: PublicIds | undefined; readonly isErasing?: boolean } = {},
  ) {
    this.#currency = currency;
    this.#places = places;
    this.#repeated = new Repeated(currency, ids);
    this.#isErasing = isErasing;
  }

  /** Adds a card with the highest id so far. @param balances the digest of the balances after its transfers. */
  add(card: ScannedCard, balances: number): void {
    const place = this.#ids.push(Number(card.id)) - 1;
    this.#versions.push(Number(card.version));
    const { digest, length } = this.#repeated.ofText(card) ?? unreadable;
    this.#texts.push(digest);
    this.#textLengths.push(length);
    this.#codesInEvents.push(0);
    this.#holds.push(0);
    this.#expiryDays['gift_card.expired'].ofCards.set(place, card.expired_event_day);
    this.#expiryDays['gift_card.expiring_soon'].ofCards.set(place, card.expiring_soon_event_day);
    this.#balances.push(balances);
    this.#balancesInEvents.push(0);
    const erasedVersion = Number(card.erased_event_version ?? 0);
    if (erasedVersion > 0) this.#erased.set(place, { version: erasedVersion, balance: Number(card.balance) });
    this.#seen.push(erasedVersion);
    this.#lastBalances.push(Number.NaN);
    this.#lastRecords.push(0);
    this.#codes.push(0);
    if (card.code_lookup === null) return;
    this.#namedCodes.set(place, BigInt(card.code_lookup));
    this.#renamed.add(place);
  }

  /** Compares a hold, after all events of its card. @returns the problem of the row; undefined if there is none. */
  compareHold(hold: ScannedHold): Finding | undefined {
    const place = this.#placeOf(hold.card_id);
    if (place < 0) return { cardId: Number(hold.card_id), problem: 'has holds, but there is no such card' };
    this.#addToHolds(place, this.#repeated.ofHold(hold));
    return undefined;
  }

  /** Compares an extension of a hold, after all events of its card. */
  compareExtension(extension: ScannedExtension): void {
    const place = this.#placeOf(extension.card_id);
    if (place >= 0) this.#addToHolds(place, this.#repeated.ofExtension(extension));
  }

  /** Adds the record of a card. */
  addRecord(card: ScannedCard): void {
    this.#records.set(this.#placeOf(card.id), this.#repeated.ofCard(card));
  }

  /** Whether the record of an event's card was not added: it is needed unless the event is read quickly. */
  lacksRecord({ subjectId }: ScannedEvent): boolean {
    const place = this.#placeOf(subjectId);
    return place >= 0 && !this.#records.has(place);
  }

  /** @param quick as `readQuickly` returns it. @returns the problem of the event; undefined if there is none. */
  compareEvent(event: ScannedEvent, quick: ReadEvent | undefined): Finding | undefined {
    return quick && this.#seen[quick.place] !== broken
      ? this.#compareRead(event, quick)
      : this.#compareParsed(event, this.#placeOf(event.subjectId));
  }

  /** Whether `compareUnordered` has to compare all events, after `compareEvent`. */
  get hasUnordered(): boolean {
    return this.#unordered.size > 0;
  }

  /** Whether `compareUnordered` compares the event. */
  isUnordered({ subjectId, version }: ScannedEvent): boolean {
    return this.#unordered.has(`${this.#placeOf(subjectId)} ${version}`);
  }

  /** Compares an event with those of its version that did not follow one. @returns as `compareEvent`. */
  compareUnordered({ subjectId, version, data }: ScannedEvent): Finding | undefined {
    const place = this.#placeOf(subjectId);
    if (place < 0 || this.#seen[place] === broken) return undefined;
    const key = `${place} ${version}`;
    const unordered = this.#unordered.get(key);
    if (!unordered) return undefined;
    const { gift_card: record } = parseObject(data) ?? noObject;
    const read = this.#readRecord(record, { place, version: Number(version) });
    const other = unordered.find((event) => event.record !== read?.digest);
    if (!other) return undefined;
    this.#unordered.delete(key);
    return this.#wrongEvent(
      Number(subjectId),
      `event ${other.id} has another record than an earlier event of the same version`,
    );
  }

  /** Parses an event and compares it. */
  #compareParsed(event: ScannedEvent, place: number): Finding | undefined {
    const { id, type } = event;
    const [subjectId, version] = [Number(event.subjectId), Number(event.version)];
    const isAboutCard = type.startsWith('gift_card.');
    const data = parseObject(event.data);
    if (!knownTypes.has(type) || !data || !hasDetails(type, data))
      return this.#wrongEvent(isAboutCard || place >= 0 ? subjectId : null, `event ${id} cannot be read`);
    if (!isAboutCard) return undefined;
    if (place < 0) return { cardId: subjectId, problem: 'has events, but the card does not exist' };
    if (this.#seen[place] === broken) return undefined;
    const { gift_card: record } = data;
    const read = this.#readRecord(record, { place, version });
    if (!read || !isObject(record))
      return this.#wrongEvent(subjectId, `event ${id} has a record that differs from the card's`);
    return this.#compareRead(event, { ...read, place, data, record });
  }

  /** Reads an event whose record repeats all that the card has now; undefined: it has to be parsed. */
  readQuickly({ type, subjectId, data }: ScannedEvent): ReadEvent | undefined {
    if (this.#isErasing || keepingVersion.has(type) || !knownTypes.has(type)) return undefined;
    if (!type.startsWith('gift_card.')) return undefined;
    const place = this.#placeOf(subjectId);
    const [digest, length] = [this.#texts[place], this.#textLengths[place]];
    if (digest === undefined || length === undefined) return undefined;
    const read = this.#repeated.readEvent(data, { digest, length });
    const balance = read && this.#minorOf(read.balance);
    const details = read && readDetails(type, data, read.end);
    if (balance === undefined || !details) return undefined;
    return { place, balance, digest: digestWith(digest, balance), data: details, record: noObject };
  }

  #compareRead(
    event: ScannedEvent,
    { place, balance, digest, data, record }: ReadEvent,
  ): Finding | undefined {
    const { id, type } = event;
    const [subjectId, version] = [Number(event.subjectId), Number(event.version)];
    if (version < 1 || version > (this.#versions[place] ?? 0))
      return this.#wrongEvent(subjectId, `event ${id} has version ${version}, which the card never had`);
    // An event that a webhook still has to deliver is not erased.
    if (version <= (this.#erased.get(place)?.version ?? 0)) return undefined;
    const seen = this.#seen[place] ?? 0;
    if (version === seen && digest !== this.#lastRecords[place]) {
      const what = balance === this.#lastBalances[place] ? 'record' : 'balance';
      return this.#wrongEvent(
        subjectId,
        `event ${id} has another ${what} than an earlier event of the same version`,
      );
    }
    const isKeeping = keepingVersion.has(type);
    if (isKeeping) this.#keepExpiryDay(place, type, record);
    if (version < seen || (isKeeping && version > seen)) this.#keepUnordered(place, event, digest);
    else if (version > seen + 1) this.#keepEarly(place, event, { balance, digest });
    else if (version === seen + 1) this.#advance(place, version, { balance, digest });
    if (type === 'gift_card.created' || type === 'gift_card.code_rotated')
      this.#codesInEvents[place] = (this.#codesInEvents[place] ?? 0) + 1;
    this.#compareHoldOf(place, event, data);
    return undefined;
  }

  /** @returns the problem of the row; undefined if there is none. */
  compareCode({ cardId: ofCard, lookup, digest }: ScannedCode): Finding | undefined {
    const cardId = Number(ofCard);
    const place = this.#placeOf(ofCard);
    if (place < 0) return { cardId, problem: 'has codes, but the card does not exist' };
    this.#codes[place] = (this.#codes[place] ?? 0) + 1;
    if (this.#namedCodes.get(place) === lookup) this.#namedCodes.delete(place);
    const isWhole =
      digest.length === 32 &&
      new DataView(digest.buffer, digest.byteOffset, digest.byteLength).getBigInt64(0) === lookup;
    return isWhole ? undefined : { cardId, problem: 'has a code that is stored with a wrong digest' };
  }

  /** Reports what is missing, after all events and codes of the cards were compared. */
  *conclude(): Generator<Finding> {
    for (const [place, cardId] of this.#ids.entries()) {
      const [seen = 0, version = 0, codes = 0] = [
        this.#seen[place],
        this.#versions[place],
        this.#codes[place],
      ];
      const ofCodes = this.#problemOfCodes(place, codes);
      if (ofCodes !== undefined) yield { cardId, problem: ofCodes };
      if (seen === broken) continue;
      const erased = this.#erased.get(place);
      if (seen > version)
        yield { cardId, problem: `has erased events up to version ${seen}, which it never had` };
      else if (seen < version) yield { cardId, problem: `has no event of version ${seen + 1}` };
      else if (erased) {
        const last = this.#lastBalances[place] ?? Number.NaN;
        if (!Number.isNaN(last) && last !== erased.balance)
          yield { cardId, problem: 'has another balance than its last event' };
      } else if (this.#balances[place] !== this.#balancesInEvents[place])
        yield { cardId, problem: 'has events whose balances differ from its transfers' };
      else {
        if (ofCodes === undefined && codes !== this.#codesInEvents[place])
          yield { cardId, problem: 'has another number of codes than its events' };
        yield* this.#concludeEvents(place, cardId);
      }
    }
  }

  #problemOfCodes(place: number, codes: number): string | undefined {
    if (codes === 0) return 'has no code';
    if (this.#namedCodes.has(place)) return 'refers to a code that does not exist';
    return codes > 1 && !this.#renamed.has(place) ? 'has several codes and refers to none' : undefined;
  }

  *#concludeEvents(place: number, cardId: number): Generator<Finding> {
    if (this.#holds[place] !== 0 && !this.#isErasing)
      yield { cardId, problem: 'has holds that differ from their events' };
    for (const [type, days] of Object.entries(this.#expiryDays))
      if (!days.areEqual(place)) yield { cardId, problem: `has another day than its last event ${type}` };
  }

  #keepExpiryDay(place: number, type: string, record: ParsedRecord): void {
    if (type === 'gift_card.expired' || type === 'gift_card.expiring_soon')
      this.#expiryDays[type].ofEvents.set(place, record['expires_on']);
  }

  /** Subtracts the digest of the hold in an event from those of the card's holds. */
  #compareHoldOf(place: number, { id, type, version }: ScannedEvent, { hold }: ParsedRecord): void {
    if (!isObject(hold)) return;
    this.#addToHolds(place, -this.#repeated.ofHoldInEvent(hold, Number(id), type));
    // The debit and the release of a capture in part have one version, whose digests cancel out.
    const isPartial = hold['status'] === 'captured' && hold['amount'] !== hold['captured_amount'];
    const ofVersion = isPartial ? digestWith(0, Number(version)) : 0;
    this.#addToHolds(place, type === 'gift_card.redeemed' ? ofVersion : -ofVersion);
  }

  #addToHolds(place: number, digest: number): void {
    this.#holds[place] = ((this.#holds[place] ?? 0) + digest) | 0;
  }

  #wrongEvent(cardId: number | null, problem: string): Finding {
    const place = cardId === null ? -1 : this.#placeOf(cardId);
    if (place >= 0) this.#break(place);
    return { cardId, problem };
  }

  #break(place: number): void {
    this.#seen[place] = broken;
    this.#earlyCount -= this.#early.get(place)?.size ?? 0;
    this.#early.delete(place);
  }

  /** Reads an event's record; undefined if it does not match the card. */
  #readRecord(
    record: unknown,
    { place, version }: { readonly place: number; readonly version: number },
  ): VersionRecord | undefined {
    if (!isObject(record)) return undefined;
    if (this.#isErasing) {
      const only = this.#minorOf(record['balance']);
      return only === undefined ? undefined : { balance: only, digest: digestWith(0, only) };
    }
    const { issued, changing } = this.#repeated.ofRecord(record);
    const ofCard = this.#records.get(place);
    if (issued !== ofCard?.issued) return undefined;
    const isPresent = changing === ofCard.changing;
    if (version === this.#versions[place] && !isPresent) return undefined;
    const balance = this.#minorOf(record['balance']);
    const text = this.#texts[place];
    if (balance === undefined || text === undefined) return undefined;
    // An event with the present record can be read quickly or parsed.
    return { balance, digest: digestWith(isPresent ? text : changing, balance) };
  }

  #minorOf(amount: unknown): number | undefined {
    if (typeof amount !== 'string') return undefined;
    const [, whole, decimals = ''] = /^(\d{1,15})(?:\.(\d{1,4}))?$/.exec(amount) ?? [];
    if (whole === undefined || decimals.length !== this.#currency.decimals) return undefined;
    return Number(whole + decimals);
  }

  #keepUnordered(place: number, { id, version }: ScannedEvent, record: number): void {
    if (this.#unordered.size === unorderedEventsMax) return;
    const key = `${place} ${version}`;
    const ofVersion = this.#unordered.get(key) ?? [];
    this.#unordered.set(key, ofVersion);
    ofVersion.push({ id, record });
  }

  #keepEarly(place: number, event: ScannedEvent, read: VersionRecord): void {
    const version = Number(event.version);
    const ofCard = this.#early.get(place) ?? new Map<number, VersionRecord>();
    this.#early.set(place, ofCard);
    if (ofCard.has(version)) return this.#keepUnordered(place, event, read.digest);
    this.#earlyCount += 1;
    ofCard.set(version, read);
    // This many early events mean that versions are missing, which `conclude` reports.
    if (this.#earlyCount > unorderedEventsMax) this.#forgetEarly();
  }

  #forgetEarly(): void {
    this.#early.clear();
    this.#earlyCount = 0;
  }

  /** Applies the event of the next version, and early events of the versions after it. */
  #advance(place: number, version: number, read: VersionRecord): void {
    const early = this.#early.get(place);
    let next: VersionRecord | undefined = read;
    for (let at = version; next; at += 1) {
      const { balance, digest }: VersionRecord = next;
      this.#seen[place] = at;
      this.#lastRecords[place] = digest;
      if (balance !== this.#lastBalances[place]) {
        this.#lastBalances[place] = balance;
        this.#balancesInEvents[place] = digestWith(this.#balancesInEvents[place] ?? 0, balance);
      }
      next = early?.get(at + 1);
      if (early?.delete(at + 1)) this.#earlyCount -= 1;
    }
    if (early?.size === 0) this.#early.delete(place);
  }

  /** The index of a card; -1 if it does not exist. */
  #placeOf(cardId: ScannedInteger): number {
    return this.#places.of(cardId) ?? -1;
  }
}
