/** The days of the expiry events of cards, which `CardTrails` compares. */

/** The days of one kind of expiry event, by the index of the card. */
export class ExpiryDays {
  readonly ofCards = new SparseMap<string | null>();
  readonly ofEvents = new SparseMap<unknown>();

  areEqual(place: number): boolean {
    return (this.ofCards.get(place) ?? null) === (this.ofEvents.get(place) ?? null);
  }
}

/** A map that stores no nulls. */
class SparseMap<T> extends Map<number, T> {
  override set(place: number, value: T): this {
    return value === null ? this : super.set(place, value);
  }
}
