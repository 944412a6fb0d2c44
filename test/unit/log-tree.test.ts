/** The tree of a log, with the vectors of Certificate Transparency, and proofs of all sizes. */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import test from 'node:test';
import fc from 'fast-check';
import {
  consistencyProofOf,
  inclusionProofOf,
  subtreesOf,
  type LeafRange,
} from '../../src/features/proofs/domain/log-tree.ts';
import { leafHash, nodeHash, rootOf } from '../../src/features/proofs/service/log.ts';
import { consistencyRoots, inclusionRoot } from '../../examples/verify-ledger.ts';

/** The leaves of the tests of Certificate Transparency. */
const vectorLeaves = [
  '', '00', '10', '2021', '3031', '40414243', '5051525354555657', '606162636465666768696a6b6c6d6e6f',
]; // prettier-ignore

/** Their roots by the number of leaves. */
const vectorRoots = [
  'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
  '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
  'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125',
  'aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77',
  'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
  '4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4',
  '76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef',
  'ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c',
  '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328',
];

/** The leaf of bytes of any length, as in Certificate Transparency. */
function vectorLeaf(bytes: Uint8Array): Uint8Array {
  return createHash('sha256').update(Uint8Array.of(0)).update(bytes).digest();
}

/** The root by the definition of RFC 9162. */
function definedRoot(leaves: readonly Uint8Array[]): Uint8Array {
  const [only] = leaves;
  if (!only) return createHash('sha256').digest();
  if (leaves.length === 1) return only;
  let half = 1;
  while (half * 2 < leaves.length) half *= 2;
  return nodeHash(definedRoot(leaves.slice(0, half)), definedRoot(leaves.slice(half)));
}

function rangeRoot(leaves: readonly Uint8Array[], range: LeafRange): Uint8Array {
  const hashes = subtreesOf(range).map(({ height, place }) =>
    rootOf(leaves.slice(place * 2 ** height, (place + 1) * 2 ** height)),
  );
  return hashes.length === 0 ? rootOf([]) : hashes.reduceRight((right, left) => nodeHash(left, right));
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}

/** Distinct leaves. */
const many = Array.from({ length: 600 }, (_, index) => leafHash(Buffer.alloc(32, `leaf ${index} `)));
const definedRoots = new Map<number, Uint8Array>();
function rootAt(size: number): Uint8Array {
  let root = definedRoots.get(size);
  if (!root) definedRoots.set(size, (root = definedRoot(many.slice(0, size))));
  return root;
}

test('roots are those of the vectors of Certificate Transparency', () => {
  const leaves = vectorLeaves.map((text) => vectorLeaf(Buffer.from(text, 'hex')));
  for (const [size, root] of vectorRoots.entries()) {
    assert.equal(hex(rangeRoot(leaves, { from: 0, to: size })), root, `${size} leaves`);
    assert.equal(hex(rootOf(leaves.slice(0, size))), root, `${size} leaves`);
  }
});

test('the inclusion proof of the vectors of Certificate Transparency is the same', () => {
  const leaves = vectorLeaves.map((text) => vectorLeaf(Buffer.from(text, 'hex')));
  const proof = inclusionProofOf(5, 8).map((range) => hex(rangeRoot(leaves, range)));
  assert.deepEqual(proof, [
    'bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b',
    'ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0',
    'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
  ]);
});

test('the consistency proof of the vectors of Certificate Transparency is the same', () => {
  const leaves = vectorLeaves.map((text) => vectorLeaf(Buffer.from(text, 'hex')));
  const proof = consistencyProofOf(6, 8).map((range) => hex(rangeRoot(leaves, range)));
  assert.deepEqual(proof, [
    '0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a',
    'ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0',
    'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
  ]);
});

test('roots of every size up to 600 are those of the definition', () => {
  for (let size = 0; size <= many.length; size += 1)
    assert.equal(hex(rangeRoot(many, { from: 0, to: size })), hex(rootAt(size)), `${size} leaves`);
});

test('every inclusion proof up to 130 leaves, and random ones above, is accepted', () => {
  const check = (index: number, size: number): void => {
    const proof = inclusionProofOf(index, size).map((range) => rangeRoot(many, range));
    const leaf = many[index];
    assert.ok(leaf);
    assert.equal(hex(inclusionRoot(leaf, { index, size, proof })), hex(rootAt(size)), `${index} of ${size}`);
  };
  for (let size = 1; size <= 130; size += 1) for (let index = 0; index < size; index += 1) check(index, size);
  fc.assert(
    fc.property(fc.integer({ min: 131, max: 600 }), fc.nat(), (size, seed) => check(seed % size, size)),
  );
});

test('an altered inclusion proof is rejected', () => {
  fc.assert(
    fc.property(fc.integer({ min: 2, max: 600 }), fc.nat(), fc.nat(), fc.nat(), (size, a, b, bit) => {
      const index = a % size;
      const leaf = many[index];
      assert.ok(leaf);
      const proof = inclusionProofOf(index, size).map((range) => rangeRoot(many, range));
      const root = hex(rootAt(size));
      const rootWith = (altered: readonly Uint8Array[], at = index, of = leaf): string => {
        try {
          return hex(inclusionRoot(of, { index: at, size, proof: altered }));
        } catch {
          return 'rejected';
        }
      };
      const flipped = proof.map((hash, place) => (place === b % proof.length ? flip(hash, bit) : hash));
      assert.notEqual(rootWith(flipped), root);
      assert.notEqual(rootWith(proof.slice(1)), root);
      assert.notEqual(rootWith([...proof, leaf]), root);
      assert.notEqual(rootWith(proof, (index + 1) % size), root);
      assert.notEqual(rootWith(proof, index, flip(leaf, bit)), root);
    }),
  );
});

function flip(hash: Uint8Array, bit: number): Uint8Array {
  const copy = Uint8Array.from(hash);
  const place = bit % 256;
  copy[place >> 3] = (copy[place >> 3] ?? 0) ^ (1 << (place & 7));
  return copy;
}

test('every consistency proof up to 130 leaves, and random ones above, is accepted', () => {
  const check = (from: number, to: number): void => {
    const proof = consistencyProofOf(from, to).map((range) => rangeRoot(many, range));
    const [before, after] = consistencyRoots({ from, to, proof, fromRoot: rootAt(from) });
    assert.equal(hex(before), hex(rootAt(from)), `${from} to ${to}`);
    assert.equal(hex(after), hex(rootAt(to)), `${from} to ${to}`);
  };
  for (let to = 1; to <= 130; to += 1) for (let from = 1; from <= to; from += 1) check(from, to);
  fc.assert(
    fc.property(fc.integer({ min: 131, max: 600 }), fc.nat(), (to, seed) => check(1 + (seed % to), to)),
  );
});

test('an altered consistency proof is rejected', () => {
  fc.assert(
    fc.property(fc.integer({ min: 2, max: 600 }), fc.nat(), fc.nat(), fc.nat(), (to, a, b, bit) => {
      const from = 1 + (a % (to - 1));
      const proof = consistencyProofOf(from, to).map((range) => rangeRoot(many, range));
      const accepts = (altered: readonly Uint8Array[], fromRoot = rootAt(from)): boolean => {
        try {
          const [before, after] = consistencyRoots({ from, to, proof: altered, fromRoot });
          return hex(before) === hex(fromRoot) && hex(after) === hex(rootAt(to));
        } catch {
          return false;
        }
      };
      assert.ok(accepts(proof));
      assert.ok(!accepts(proof.map((hash, place) => (place === b % proof.length ? flip(hash, bit) : hash))));
      assert.ok(!accepts(proof.slice(1)));
      assert.ok(!accepts([...proof, rootAt(1)]));
      assert.ok(!accepts(proof, flip(rootAt(from), bit)));
    }),
  );
});

test('proofs of trees that do not exist are rejected', () => {
  assert.throws(() => inclusionProofOf(5, 5), RangeError);
  assert.throws(() => inclusionProofOf(-1, 5), RangeError);
  assert.throws(() => consistencyProofOf(0, 5), RangeError);
  assert.throws(() => consistencyProofOf(6, 5), RangeError);
});
