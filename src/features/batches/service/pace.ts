/**
 * The parts of a batch that one transaction issues. Several cost less each: they share a commit and its sync. On SQLite,
 * requests wait for the transaction, so it is short while there are requests.
 */

export type Pace = {
  /** The maximum number of parts of the next transaction. Called before each transaction. */
  nextParts(): number;
};

/** For processes that do not know of requests. */
export const onePart: Pace = { nextParts: () => 1 };

/** While there are no requests. The first request waits for such a transaction: 5 to 10 ms. */
const partsWithoutRequests = 6;
/** So many transactions after a request issue one part: about a tenth of a second. */
const shortAfterRequest = 16;

/** @param requests the number of requests so far. */
export function paceByRequests(requests: () => number): Pace {
  let seen = requests();
  let short = 0;
  return {
    nextParts() {
      const count = requests();
      short = count === seen ? Math.max(short - 1, 0) : shortAfterRequest;
      seen = count;
      return short > 0 ? 1 : partsWithoutRequests;
    },
  };
}
