/** The places of cards in a list of their ids: a hash table of numbers, which takes a quarter of the time of a `Map`. */

import type { ScannedInteger } from '../../../database/sql/sql.ts';

const empty = -1;

export class CardPlaces {
  readonly #ids: Float64Array;
  /** Places, by the hashes of their ids; at most half of it is used. */
  readonly #table: Int32Array;
  readonly #mask: number;
  /** Ids above 2^53, which the program does not write. */
  readonly #large = new Map<bigint, number>();

  constructor(ids: readonly ScannedInteger[]) {
    this.#ids = new Float64Array(ids.length);
    this.#table = new Int32Array(2 ** Math.ceil(Math.log2(2 * ids.length + 2))).fill(empty);
    this.#mask = this.#table.length - 1;
    for (const [place, id] of ids.entries()) {
      if (typeof id === 'bigint') this.#large.set(id, place);
      else {
        let slot = this.#slotOf(id);
        while (this.#table[slot] !== empty) slot = (slot + 1) & this.#mask;
        this.#table[slot] = place;
        this.#ids[place] = id;
      }
    }
  }

  /** Undefined if the list does not contain the id. */
  of(id: ScannedInteger): number | undefined {
    if (typeof id === 'bigint') return this.#large.get(id);
    for (let slot = this.#slotOf(id); ; slot = (slot + 1) & this.#mask) {
      const place = this.#table[slot] ?? empty;
      if (place === empty) return undefined;
      if (this.#ids[place] === id) return place;
    }
  }

  #slotOf(id: number): number {
    const mixed = Math.imul((id | 0) ^ Math.floor(id / 2 ** 32), 0x9e37_79b1);
    return (mixed ^ (mixed >>> 15)) & this.#mask;
  }
}

/** Integers by place. An array of numbers of this size would be an object for each that is above 2^31. */
export class Integers {
  readonly #numbers: Float64Array;
  /** The places of ids above 2^53. */
  readonly #large = new Map<number, bigint>();

  constructor(length: number) {
    this.#numbers = new Float64Array(length).fill(Number.NaN);
  }

  /** Null if it was not set. */
  get(place: number): ScannedInteger | null {
    const value = this.#numbers[place] ?? Number.NaN;
    return Number.isNaN(value) ? (this.#large.get(place) ?? null) : value;
  }

  set(place: number, value: ScannedInteger): void {
    this.#numbers[place] = typeof value === 'number' ? value : Number.NaN;
    if (typeof value === 'bigint') this.#large.set(place, value);
  }
}
