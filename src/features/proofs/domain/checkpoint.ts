/** Checkpoints: signed statements of a log's size and root (c2sp.org/tlog-checkpoint in a c2sp.org/signed-note). */

import { formatInstant } from '../../../core/domain/day.ts';
import type { CheckpointRecord } from './proof-schemas.ts';

export type Checkpoint = {
  readonly id: number;
  /** The number of entries in the log. */
  readonly size: number;
  /** The root of their tree: 32 bytes. */
  readonly root: Uint8Array;
  /** The day in the store's time zone that it concludes; null: created on demand. */
  readonly day: string | null;
  /** The signed note. */
  readonly note: string;
  /** Instant in ms. */
  readonly createdAt: number;
};

/** The name of a log, which all of its checkpoints begin with. @param random 4 bytes. */
export function logNameOf(domain: string, random: Uint8Array): string {
  return `${domain}/largesse/${random.toHex()}`;
}

/** The text that is signed. */
export function checkpointText(name: string, { size, root }: Pick<Checkpoint, 'size' | 'root'>): string {
  return `${name}\n${size}\n${root.toBase64()}\n`;
}

/** A proof that a checkpoint covers an entry (c2sp.org/tlog-proof@v1). */
export function inclusionProofText({
  index,
  hashes,
  note,
}: {
  readonly index: number;
  readonly hashes: readonly Uint8Array[];
  readonly note: string;
}): string {
  const lines = ['c2sp.org/tlog-proof@v1', `index ${index}`, ...hashes.map((hash) => hash.toBase64())];
  return `${lines.join('\n')}\n\n${note}`;
}

export function checkpointRecordOf({ id, size, root, day, note, createdAt }: Checkpoint): CheckpointRecord {
  return { id, size, root: root.toBase64(), created_at: formatInstant(createdAt), day, note };
}
