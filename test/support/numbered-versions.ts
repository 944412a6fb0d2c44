/** Versions of a card by their numbers alone, for tests that compute them. */

/** Versions that include each version with one of these numbers, whatever the card's state is. */
export function numberedVersions(numbers: readonly number[]): readonly string[] {
  return Object.assign(numbers.map(String), {
    includes: (tag: string) => numbers.includes(Number(tag.split('-').at(-1))),
  });
}
