/**
 * The shape of a log's tree (RFC 9162, section 2.1): which subtrees make up a root, an inclusion proof or a consistency
 * proof. The hashes are computed in `features/proofs/service/log.ts`.
 */

/** The leaves from `from` up to, and without, `to`. The tree of these leaves is a part of the log's tree. */
export type LeafRange = { readonly from: number; readonly to: number };

/** The complete subtree of the leaves from `place * 2^height` up to, and without, `(place + 1) * 2^height`. */
export type Subtree = { readonly height: number; readonly place: number };

/** The largest power of two that is smaller than `n`, which is at least 2. */
function splitOf(n: number): number {
  let power = 1;
  while (power * 2 < n) power *= 2;
  return power;
}

/**
 * Splits a range into complete subtrees, from left to right. The root of the range is
 * `node(s1, node(s2, … node(s(k-1), sk)))`.
 */
export function subtreesOf({ from, to }: LeafRange): readonly Subtree[] {
  const subtrees: Subtree[] = [];
  for (let start = from; start < to;) {
    let [height, width] = [0, 1];
    while (width * 2 <= to - start) [height, width] = [height + 1, width * 2];
    subtrees.push({ height, place: start / width });
    start += width;
  }
  return subtrees;
}

/**
 * The inclusion proof of a leaf in the tree of the first `size` leaves, from the leaf's sibling to the child of the root.
 * @throws RangeError if the tree does not contain the leaf.
 */
export function inclusionProofOf(index: number, size: number): readonly LeafRange[] {
  if (index < 0 || index >= size) throw new RangeError('the tree does not contain the leaf');
  const proof: LeafRange[] = [];
  let { from, to }: LeafRange = { from: 0, to: size };
  while (to - from > 1) {
    const middle = from + splitOf(to - from);
    if (index < middle) {
      proof.unshift({ from: middle, to });
      to = middle;
    } else {
      proof.unshift({ from, to: middle });
      from = middle;
    }
  }
  return proof;
}

/**
 * The proof that the tree of the first `size` leaves begins with the tree of the first `before`.
 * @throws RangeError unless 0 < before <= size.
 */
export function consistencyProofOf(before: number, size: number): readonly LeafRange[] {
  if (before < 1 || before > size) throw new RangeError('the smaller tree must have 1 to all leaves');
  const proof: LeafRange[] = [];
  let { from, to }: LeafRange = { from: 0, to: size };
  while (before < to) {
    const middle = from + splitOf(to - from);
    if (before <= middle) {
      proof.unshift({ from: middle, to });
      to = middle;
    } else {
      proof.unshift({ from, to: middle });
      from = middle;
    }
  }
  // A verifier knows the root of the smaller tree.
  return from === 0 ? proof : [{ from, to }, ...proof];
}
