/** Checkpoints: signed statements of a log's size and root, and the proofs that refer to them. */

import { hash as digest } from 'node:crypto';
import type { Context } from '../../../core/storage/context.ts';
import { checkpointText, inclusionProofText, type Checkpoint } from '../domain/checkpoint.ts';
import { addDays, dayOf, startOfDay } from '../../../core/domain/day.ts';
import { checkpointCreatedEvent } from '../domain/checkpoint-event.ts';
import { Fault } from '../../../core/domain/fault.ts';
import { consistencyProofOf, inclusionProofOf } from '../domain/log-tree.ts';
import type { Store } from '../../../core/stores/domain/store.ts';
import { sameBytes, verifySignature, type Signer } from '../../../platform/keys.ts';
import type { CardKey } from '../../../core/cards/storage/card.ts';
import {
  findCheckpoint,
  findDailyCheckpoint,
  insertCheckpoint,
  insertCheckpointKey,
  listPublicKeys,
  listCheckpointsAfter,
  listCheckpointsBefore,
  listStoresWithoutKey,
  type CheckpointKey,
} from '../storage/checkpoint.ts';
import { recordEvent } from '../../../core/events/storage/event.ts';
import { findLog, findPlace, type EntryLog } from '../../../core/log/storage/log.ts';
import { findCursorOwner } from '../../../core/log/storage/log-cursor.ts';
import type { EntryId } from '../../../core/log/storage/log-entry.ts';
import { parallel, type Script } from '../../../database/sql/sql.ts';
import { listChain, type Chain, type ChainText } from '../storage/chain.ts';
import {
  newerPage,
  olderPage,
  type ListPage,
  type PageRequest,
} from '../../../core/money/service/movements.ts';
import { appendNewEntries, openLog, TreeReader } from './log.ts';
import { requireCard } from '../../../core/cards/service/present-card.ts';

/** The first byte of an Ed25519 key in a signed note. */
const ed25519 = Buffer.of(1);

function keyHash(name: string, publicKey: Uint8Array): Buffer {
  const hashed = Buffer.concat([Buffer.from(`${name}\n`), ed25519, publicKey]);
  return digest('sha256', hashed, 'buffer').subarray(0, 4);
}

/** The verifier key of a log (c2sp.org/signed-note): `name+hash+key`. */
function verifierKey(name: string, publicKey: Uint8Array): string {
  const key = Buffer.concat([ed25519, publicKey]).toString('base64');
  return `${name}+${keyHash(name, publicKey).toString('hex')}+${key}`;
}

/** A signed note (c2sp.org/signed-note) with one signature for each signer. */
function noteOf(
  name: string,
  { size, root, signers }: Pick<Checkpoint, 'size' | 'root'> & { readonly signers: readonly Signer[] },
): string {
  const text = checkpointText(name, { size, root });
  const signatures = signers.map((signer) => {
    const signature = Buffer.concat([keyHash(name, signer.publicKey()), signer.sign(text)]);
    return `— ${name} ${signature.toString('base64')}\n`;
  });
  return `${text}\n${signatures.join('')}`;
}

/** Whether a note is the signed checkpoint of a log, with a valid signature of every one of its lines. */
export function isSignedNote(
  note: string,
  {
    name,
    keys,
    ...tree
  }: Pick<Checkpoint, 'size' | 'root'> & { readonly name: string; readonly keys: readonly Uint8Array[] },
): boolean {
  const text = checkpointText(name, tree);
  if (!note.startsWith(`${text}\n`) || !note.endsWith('\n')) return false;
  const lines = note.slice(text.length + 1, -1).split('\n');
  const head = `— ${name} `;
  return lines.every((line) => {
    if (!line.startsWith(head)) return false;
    const signature = Buffer.from(line.slice(head.length), 'base64');
    return keys.some(
      (key) =>
        signature.subarray(0, 4).equals(keyHash(name, key)) &&
        verifySignature(key, text, signature.subarray(4)),
    );
  });
}

function currentSigner({ keys }: Context): Signer {
  const [signer] = keys.signers;
  if (!signer) throw new Error('there is no key');
  return signer;
}

function isKeyOf(signer: Signer, { publicKey }: CheckpointKey): boolean {
  return sameBytes(signer.publicKey(), publicKey);
}

/**
 * The signers of a store's next checkpoint: the current one. Its first checkpoint is also signed by the one before, so
 * that a client that trusts that one can trust this one.
 */
function signersOf(ctx: Context, keys: readonly CheckpointKey[]): readonly Signer[] {
  const current = currentSigner(ctx);
  if (keys.some((key) => isKeyOf(current, key))) return [current];
  const before = keys
    .toReversed()
    .map((key) => ctx.keys.signers.find((signer) => isKeyOf(signer, key)))
    .find((signer) => signer !== undefined);
  return before ? [current, before] : [current];
}

/** Batches of entries that a request for a checkpoint appends. */
const batchesMax = 4;

/**
 * Returns a checkpoint of the store's log with the entries that are committed. If nothing was added since the last one,
 * and its key is still in use, it returns that one.
 */
export function* addCheckpoint(ctx: Context, store: Store): Script<Checkpoint> {
  const owner = yield* findCursorOwner(store.id);
  for (let batch = 0; batch < batchesMax; batch += 1)
    if ((yield* appendNewEntries(ctx, [owner])) !== 'a part') break;
  const log = yield* openLog(ctx, store.id);
  const { newest, keys, isDue } = yield* lastOf(ctx, log);
  return newest && !isDue ? newest : yield* signLog(ctx, { log, keys, newest, day: null });
}

/** Whether a store's log needs no checkpoint of the background job. */
export function* needsNoCheckpoint(ctx: Context, store: Store): Script<boolean> {
  const log = yield* findLog(store.id);
  return !log || (yield* findDue(ctx, store, log)) === null;
}

/** When a store's log can need the next checkpoint (ms); null: there is no log. */
export function* findNextCheckpoint(ctx: Context, store: Store): Script<number | null> {
  if (!(yield* findLog(store.id))) return null;
  const today = dayOf(ctx.clock.earliest(), store.timeZone);
  return startOfDay(addDays(today, 1), store.timeZone);
}

/** Returns the open stores whose checkpoints were signed with other keys than the one in use. */
export function* listRotatedStores(
  ctx: Context,
  page: { readonly after: number; readonly limit: number },
): Script<readonly number[]> {
  return yield* listStoresWithoutKey(currentSigner(ctx).publicKey(), page);
}

/**
 * Creates the checkpoint of the last finished day in the store's time zone, unless there is one or nothing was added
 * since the last checkpoint. It can contain entries of the day that has begun. After a key rotation it creates one at
 * once, while the key file still has the former key.
 */
export function* addDueCheckpoint(ctx: Context, store: Store): Script<void> {
  const log = yield* openLog(ctx, store.id);
  const due = yield* findDue(ctx, store, log);
  if (due) yield* signLog(ctx, { log, ...(yield* lastOf(ctx, log)), day: due.day });
}

/** The checkpoint that a store's log needs; null: none. */
function* findDue(ctx: Context, store: Store, log: EntryLog): Script<{ readonly day: string | null } | null> {
  const today = dayOf(ctx.clock.earliest(), store.timeZone);
  const day = addDays(today, -1);
  const [existing, { isDue, isRotated }] = yield* parallel(
    findDailyCheckpoint(store.id, day),
    lastOf(ctx, log),
  );
  if (isRotated) return { day: null };
  const isFirstDay = log.createdAt >= startOfDay(today, store.timeZone);
  return log.size === 0 || isFirstDay || existing || !isDue ? null : { day };
}

/** The newest checkpoint of a log, and the keys that have signed its checkpoints. */
function* lastOf(ctx: Context, { storeId, size }: EntryLog) {
  const [[newest], keys] = yield* parallel(
    listCheckpointsBefore(storeId, { before: Number.MAX_SAFE_INTEGER, limit: 1 }),
    listPublicKeys(storeId),
  );
  const isKnownKey = keys.some((key) => isKeyOf(currentSigner(ctx), key));
  return {
    newest,
    keys,
    /** Whether a new checkpoint would say something new. */
    isDue: newest?.size !== size || !isKnownKey,
    isRotated: keys.length > 0 && !isKnownKey,
  };
}

function* signLog(
  ctx: Context,
  {
    log,
    keys,
    newest,
    day,
  }: {
    readonly log: EntryLog;
    readonly keys: readonly CheckpointKey[];
    readonly newest: Checkpoint | undefined;
    readonly day: string | null;
  },
): Script<Checkpoint> {
  const { storeId, name, size } = log;
  const root = yield* new TreeReader(storeId).root({ from: 0, to: size });
  const signers = signersOf(ctx, keys);
  const createdAt = ctx.clock.now();
  for (const signer of signers) {
    if (keys.some((key) => isKeyOf(signer, key))) continue;
    yield* insertCheckpointKey(storeId, { keyId: signer.keyId, publicKey: signer.publicKey(), createdAt });
  }
  const note = noteOf(name, { size, root, signers });
  // The newest checkpoint has the highest id, even if the clock was set back.
  const id = Math.max(ctx.random.id(), (newest?.id ?? 0) + 1);
  const checkpoint = { id, size, root, day, note, createdAt };
  yield* insertCheckpoint(storeId, checkpoint);
  yield* recordEvent(ctx, checkpointCreatedEvent(storeId, checkpoint));
  return checkpoint;
}

/** @throws Fault `invalid-query` if `before` or `after` is not the id of a checkpoint of the store. */
export function* listStoreCheckpoints(
  storeId: number,
  { limit, before, after }: PageRequest,
): Script<ListPage<Checkpoint>> {
  const id = after ?? before;
  if (id !== null && !(yield* findCheckpoint(storeId, id))) {
    const name = after === null ? 'before' : 'after';
    throw new Fault('invalid-query', { errors: { [name]: ['must be the id of an entry in this list'] } });
  }
  if (after !== null)
    return newerPage(yield* listCheckpointsAfter(storeId, { after, limit: limit + 1 }), limit);
  const found = yield* listCheckpointsBefore(storeId, {
    before: before ?? Number.MAX_SAFE_INTEGER,
    limit: limit + 1,
  });
  return olderPage(found, { limit, isFirst: before === null });
}

/** A public key of a log, as a verifier key. */
export type LogKey = {
  readonly key: string;
  /** Instant (ms) of its first checkpoint; null: none yet. */
  readonly createdAt: number | null;
  readonly isCurrent: boolean;
};

/** Returns the store's log and all its public keys, the current one first. @throws Fault `not-found` if there is no log. */
export function* showLog(
  ctx: Context,
  storeId: number,
): Script<{ readonly name: string; readonly size: number; readonly keys: readonly LogKey[] }> {
  const [log, stored] = yield* parallel(findLog(storeId), listPublicKeys(storeId));
  if (!log) throw new Fault('not-found');
  const { name, size } = log;
  const current = currentSigner(ctx);
  const used = stored.find((key) => isKeyOf(current, key));
  const others = stored.filter((key) => key !== used).toReversed();
  return {
    name,
    size,
    keys: [
      { key: verifierKey(name, current.publicKey()), createdAt: used?.createdAt ?? null, isCurrent: true },
      ...others.map(({ publicKey, createdAt }) => ({
        key: verifierKey(name, publicKey),
        createdAt,
        isCurrent: false,
      })),
    ],
  };
}

/**
 * Proves that the log with `to` entries begins with the log with `from` entries (RFC 9162, section 2.1.4).
 * @throws Fault `invalid-query` unless 1 <= from <= to <= the size of the log.
 */
export function* consistencyHashes(
  storeId: number,
  { from, to }: { readonly from: number; readonly to: number },
): Script<readonly Uint8Array[]> {
  const size = (yield* findLog(storeId))?.size ?? 0;
  if (to > size)
    throw new Fault('invalid-query', {
      errors: { to: [`is larger than the log, which has ${size} entries`] },
    });
  if (from > to) throw new Fault('invalid-query', { errors: { from: ['must be at most to'] } });
  return yield* new TreeReader(storeId).roots(consistencyProofOf(from, to));
}

/**
 * Returns the leaves of the log after the first `after` ones, at most `limit`, and the size of the log.
 * @throws Fault `invalid-query` if the log has fewer.
 */
export function* readLeaves(
  storeId: number,
  { after, limit }: { readonly after: number; readonly limit: number },
): Script<{ readonly size: number; readonly hashes: readonly Uint8Array[] }> {
  const size = (yield* findLog(storeId))?.size ?? 0;
  if (after > size)
    throw new Fault('invalid-query', {
      errors: { after: [`is larger than the log, which has ${size} entries`] },
    });
  const hashes = yield* new TreeReader(storeId).leaves({ from: after, to: Math.min(size, after + limit) });
  return { size, hashes };
}

/** One of the two chains of a card, in part, and the proof that the log contains one of its last entries. */
export type ProvenChain = {
  readonly entries: readonly ChainText[];
  /** The number of entries of the whole chain. */
  readonly length: number;
  /** A tlog-proof of one entry; null: the log contains none of the chain's last entries yet. */
  readonly proof: string | null;
  /** The number of the entry that the proof is about, from 1; 0: none. */
  readonly proven: number;
};

/** Newest entries that can be missing in the log: those of the last second, or of open transactions. */
const newestMax = 64;

/** A part of a chain: the entries after the one with a number. */
export type ChainPart = { readonly after: number; readonly limit: number };

/**
 * Returns parts of a card's chains, and proves the newest entries that the log contains. The proofs are for a
 * checkpoint of the log as it is now, which is signed but not stored.
 * @throws Fault `not-found`.
 */
export function* proveCard(
  ctx: Context,
  key: CardKey,
  parts: { readonly transfers: ChainPart; readonly changes: ChainPart },
): Script<{ readonly transfers: ProvenChain; readonly changes: ProvenChain }> {
  const [, log, transfers, changes] = yield* parallel(
    requireCard(key.storeId, key.cardId),
    findLog(key.storeId),
    listChain('transfers', key, { ...parts.transfers, newestMax }),
    listChain('card_changes', key, { ...parts.changes, newestMax }),
  );
  const prover = log && new Prover(ctx, log);
  return { transfers: yield* provenOf(prover, transfers), changes: yield* provenOf(prover, changes) };
}

function* provenOf(prover: Prover | undefined, { entries, length, newest }: Chain): Script<ProvenChain> {
  for (const entry of newest) {
    const proof = prover && (yield* prover.prove(entry));
    if (proof !== undefined) return { entries, length, proof, proven: entry.sequence };
  }
  return { entries, length, proof: null, proven: 0 };
}

/** Proofs of entries for one checkpoint of a log as it is now. */
class Prover {
  readonly #ctx: Context;
  readonly #log: EntryLog;
  readonly #reader: TreeReader;
  #note: string | undefined;

  constructor(ctx: Context, log: EntryLog) {
    this.#ctx = ctx;
    this.#log = log;
    this.#reader = new TreeReader(log.storeId);
  }

  /** Returns undefined if the log does not contain the entry. */
  *prove(entry: EntryId): Script<string | undefined> {
    const { storeId, name, size } = this.#log;
    const index = yield* findPlace(storeId, entry);
    if (index === undefined) return undefined;
    const hashes = yield* this.#reader.roots(inclusionProofOf(index, size));
    if (this.#note === undefined) {
      const root = yield* this.#reader.root({ from: 0, to: size });
      this.#note = noteOf(name, { size, root, signers: [currentSigner(this.#ctx)] });
    }
    return inclusionProofText({ index, hashes, note: this.#note });
  }
}
