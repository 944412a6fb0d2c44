/** Recomputes a part of a card's chain, and proves that the last checkpoint contains it. */

import type { Context } from '../../../core/storage/context.ts';
import type { Card } from '../../../core/cards/domain/card.ts';
import type { Checkpoint } from '../domain/checkpoint.ts';
import { chainStart, effectOf, hasText, type Transfer } from '../../../core/money/domain/ledger.ts';
import { inclusionProofOf } from '../domain/log-tree.ts';
import { sameBytes } from '../../../platform/keys.ts';
import type { CardKey } from '../../../core/cards/storage/card.ts';
import { listCheckpointsBefore, listPublicKeys } from '../storage/checkpoint.ts';
import { findLog, findPlace } from '../../../core/log/storage/log.ts';
import { parallel, type Script } from '../../../database/sql/sql.ts';
import {
  chainHash,
  listChainAfter,
  textDigestOf,
  type ChainedTransfer,
} from '../../../core/money/storage/transfer.ts';
import { isSignedNote } from './checkpoint.ts';
import { leafHash, nodeHash, TreeReader } from './log.ts';
import { loadCard } from '../../../core/cards/service/present-card.ts';

/** Entries of a part: recomputing one takes about 5 µs. */
export const checkedMax = 100;

type EntryProblem = 'order' | 'hash' | 'balance' | 'text';

export type CheckedEntry = {
  readonly transfer: Transfer;
  readonly hash: Uint8Array;
  /** Empty: the entry is as it was written. */
  readonly problems: readonly EntryProblem[];
};

type ProvenEntry = {
  readonly checkpoint: Checkpoint;
  /** The number of the entry in the card's chain. */
  readonly sequence: number;
  /** Hashes from the entry to the root. */
  readonly hashes: number;
  /** Whether the hashes lead to the root, and the signature of the checkpoint is right. */
  readonly isValid: boolean;
};

export type CardCheck = {
  readonly card: Card;
  /** Newest first. */
  readonly entries: readonly CheckedEntry[];
  /** The number of entries of the whole chain. */
  readonly length: number;
  /** The number of entries before this part. */
  readonly before: number;
  /** Whether the last entry of the part is the card's last one, with its balance. Null: newer entries follow. */
  readonly isEnd: boolean | null;
  /** Null: no checkpoint contains an entry of this part yet. */
  readonly proven: ProvenEntry | null;
};

/**
 * Checks the newest part of a chain, or the part after a number of entries.
 * @throws Fault `not-found`.
 */
export function* checkCard(
  ctx: Context,
  key: CardKey,
  { after }: { readonly after: number | null },
): Script<CardCheck> {
  const { card, chainEnd } = yield* loadCard(ctx, key);
  const { sequence: length } = chainEnd;
  const before = Math.min(after ?? Math.max(0, length - checkedMax), Math.max(0, length - 1));
  // The entry before the part, which its first entry refers to.
  const found = yield* listChainAfter(key, {
    after: Math.max(0, before - 1),
    limit: checkedMax + (before > 0 ? 1 : 0),
  });
  const entries = checked(found, before);
  const last = found.at(-1);
  const isLast = before + entries.length >= length;
  const isEnd =
    last !== undefined &&
    last.transfer.id === chainEnd.transferId &&
    sameBytes(last.hash, chainEnd.hash) &&
    last.transfer.balanceAfter.minor === card.balance.minor;
  return {
    card,
    entries: entries.toReversed(),
    length,
    before,
    isEnd: isLast || entries.length < checkedMax ? isEnd : null,
    proven: yield* prove(key.storeId, entries),
  };
}

function checked(found: readonly ChainedTransfer[], before: number): readonly CheckedEntry[] {
  const [previous] = before > 0 ? found : [];
  const entries: CheckedEntry[] = [];
  let place = {
    sequence: before,
    hash: previous?.hash ?? chainStart,
    balance: previous?.transfer.balanceAfter.minor ?? 0n,
  };
  for (const entry of before > 0 ? found.slice(1) : found) {
    const { transfer, hash } = entry;
    const balance = place.balance + effectOf(transfer);
    const problems: readonly (EntryProblem | false)[] = [
      transfer.sequence !== place.sequence + 1 && 'order',
      !sameBytes(hash, chainHash(place.hash, transfer, entry)) && 'hash',
      transfer.balanceAfter.minor !== balance && 'balance',
      !isTextCommitted(entry) && 'text',
    ];
    entries.push({ transfer, hash, problems: problems.filter((problem) => problem !== false) });
    place = { sequence: transfer.sequence, hash, balance: transfer.balanceAfter.minor };
  }
  return entries;
}

/** Whether the texts are those that the hash covers. All can have been erased, with their salt. */
function isTextCommitted({ transfer, textSalt, textDigest }: ChainedTransfer): boolean {
  if (textSalt === null) return !hasText(transfer);
  return textDigest !== null && hasText(transfer) && sameBytes(textDigest, textDigestOf(textSalt, transfer));
}

/** Newest entries that can have been written after the checkpoint, although their times are before it. */
const triesMax = 8;

/** Proves the newest entry that the newest checkpoint contains. Its hash covers all entries of the card before it. */
function* prove(storeId: number, entries: readonly CheckedEntry[]): Script<ProvenEntry | null> {
  const [[checkpoint], log, keys] = yield* parallel(
    listCheckpointsBefore(storeId, { before: Number.MAX_SAFE_INTEGER, limit: 1 }),
    findLog(storeId),
    listPublicKeys(storeId),
  );
  if (!checkpoint || !log) return null;
  const { size, root, note } = checkpoint;
  const earlier = entries.filter(({ transfer }) => transfer.createdAt <= checkpoint.createdAt).toReversed();
  for (const { transfer, hash } of earlier.slice(0, triesMax)) {
    const index = yield* findPlace(storeId, { source: 'transfers', id: transfer.id });
    if (index === undefined || index >= size) continue;
    const hashes = yield* new TreeReader(storeId).roots(inclusionProofOf(index, size));
    const isIncluded = sameBytes(rootFrom({ leaf: leafHash(hash), index, size }, hashes), root);
    const publicKeys = keys.map(({ publicKey }) => publicKey);
    return {
      checkpoint,
      sequence: transfer.sequence,
      hashes: hashes.length,
      isValid: isIncluded && isSignedNote(note, { name: log.name, size, root, keys: publicKeys }),
    };
  }
  return null;
}

/** The root to which an inclusion proof leads (RFC 9162, section 2.1.3.2). */
function rootFrom(
  { leaf, index, size }: { readonly leaf: Uint8Array; readonly index: number; readonly size: number },
  hashes: readonly Uint8Array[],
): Uint8Array {
  let [place, last, root] = [index, size - 1, leaf];
  for (const hash of hashes) {
    if (place % 2 === 1 || place === last) {
      root = nodeHash(hash, root);
      while (place % 2 === 0 && place !== 0) [place, last] = [place / 2, Math.floor(last / 2)];
    } else root = nodeHash(root, hash);
    [place, last] = [Math.floor(place / 2), Math.floor(last / 2)];
  }
  return root;
}
