/**
 * Verifies the ledger of a store without trusting the service that keeps it. It uses only Node's own modules, and none of
 * the service's code.
 *
 *   TOKEN=… npx node examples/verify-ledger.ts --url https://cards.example --keep kept.json [--card <id>]…
 *
 * The file of --keep holds the newest checkpoint that was verified, and the keys that are trusted. The first run trusts
 * the key that the service returns. Each later run verifies that the log still begins with the entries of the kept
 * checkpoint, and then keeps the new one. --card also verifies the chain of a card. Exit code 1: something is wrong.
 */

import { createHash, createPublicKey, verify } from 'node:crypto';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';

export class Rejected extends Error {}

export interface Tree {
  size: number;
  root: Uint8Array;
}

function sha256(...parts: readonly (Uint8Array | string)[]): Uint8Array {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest();
}

function node(left: Uint8Array, right: Uint8Array): Uint8Array {
  return sha256(Uint8Array.of(1), left, right);
}

function isEqual(left: Uint8Array, right: Uint8Array): boolean {
  return Buffer.compare(left, right) === 0;
}

/** The root that an inclusion proof leads to (RFC 9162, section 2.1.3.2). */
export function inclusionRoot(
  leaf: Uint8Array,
  { index, size, proof }: { index: number; size: number; proof: readonly Uint8Array[] },
): Uint8Array {
  if (index >= size) throw new Rejected('the checkpoint does not cover the entry');
  let [place, last, root] = [index, size - 1, leaf];
  for (const hash of proof) {
    if (last === 0) throw new Rejected('the inclusion proof is too long');
    if (place % 2 === 1 || place === last) {
      root = node(hash, root);
      while (place % 2 === 0 && place > 0) [place, last] = [place / 2, Math.floor(last / 2)];
    } else root = node(root, hash);
    [place, last] = [Math.floor(place / 2), Math.floor(last / 2)];
  }
  if (last !== 0) throw new Rejected('the inclusion proof is too short');
  return root;
}

/** The roots of the smaller and the larger tree that a consistency proof leads to (RFC 9162, section 2.1.4.2). */
export function consistencyRoots({
  from,
  to,
  proof,
  fromRoot,
}: {
  from: number;
  to: number;
  proof: readonly Uint8Array[];
  fromRoot: Uint8Array;
}): [Uint8Array, Uint8Array] {
  if (from > to) throw new Rejected(`the log has become smaller: ${to} entries, ${from} before`);
  if (from === to) {
    if (proof.length > 0) throw new Rejected('the consistency proof is too long');
    return [fromRoot, fromRoot];
  }
  const isPower = Number.isInteger(Math.log2(from)) && 2 ** Math.log2(from) === from;
  const [first, ...rest] = isPower ? [fromRoot, ...proof] : proof;
  if (!first) throw new Rejected('the consistency proof is too short');
  let [place, last] = [from - 1, to - 1];
  while (place % 2 === 1) [place, last] = [Math.floor(place / 2), Math.floor(last / 2)];
  let [before, after] = [first, first];
  for (const hash of rest) {
    if (last === 0) throw new Rejected('the consistency proof is too long');
    if (place % 2 === 1 || place === last) {
      [before, after] = [node(hash, before), node(hash, after)];
      while (place % 2 === 0 && place > 0) [place, last] = [place / 2, Math.floor(last / 2)];
    } else after = node(after, hash);
    [place, last] = [Math.floor(place / 2), Math.floor(last / 2)];
  }
  if (last !== 0) throw new Rejected('the consistency proof is too short');
  return [before, after];
}

/** Verifies that the tree of `later` begins with the tree of `earlier`. */
export function checkConsistency(earlier: Tree, later: Tree, proof: readonly Uint8Array[]): void {
  const { size: from, root: fromRoot } = earlier;
  const [before, after] = consistencyRoots({ from, to: later.size, proof, fromRoot });
  if (!isEqual(before, fromRoot) || !isEqual(after, later.root))
    throw new Rejected(`the log with ${later.size} entries does not begin with the ${from} entries before`);
}

/** Whether a key has signed a note (c2sp.org/signed-note). A key is `name+hash+base64`. */
function hasSigned(key: string, text: string, signatures: readonly string[]): boolean {
  const [, name = '', hash = '', encoded = ''] = /^([^+]+)\+([0-9a-f]{8})\+(.+)$/.exec(key) ?? [];
  const bytes = Buffer.from(encoded, 'base64');
  const head = Buffer.from(hash, 'hex');
  if (bytes.length !== 33 || bytes[0] !== 1 || !isEqual(sha256(`${name}\n`, bytes).subarray(0, 4), head))
    throw new Rejected(`${key} is not an Ed25519 verifier key`);
  const der = Buffer.concat([Buffer.from('302a300506032b6570032100', 'hex'), bytes.subarray(1)]);
  const publicKey = createPublicKey({ key: der, format: 'der', type: 'spki' });
  return signatures.some((line) => {
    const [, signer, signature = ''] = /^— (\S+) (\S+)$/.exec(line) ?? [];
    const signed = Buffer.from(signature, 'base64');
    if (signer !== name || !isEqual(signed.subarray(0, 4), head)) return false;
    return verify(null, Buffer.from(text), publicKey, signed.subarray(4));
  });
}

/** Reads a checkpoint that one of the keys has signed. @returns its tree, and the keys that have signed it. */
export function readCheckpoint(note: string, keys: readonly string[]): Tree & { signedBy: string[] } {
  const end = note.lastIndexOf('\n\n');
  const text = note.slice(0, end + 1);
  const [name, size, root, ...others] = text.split('\n');
  const signedBy = keys.filter((key) => hasSigned(key, text, note.slice(end + 2).split('\n')));
  if (signedBy.length === 0) throw new Rejected('no trusted key has signed the checkpoint');
  const isForm = size !== undefined && /^(0|[1-9]\d{0,15})$/.test(size) && others.join('') === '';
  if (!isForm || !signedBy.every((key) => key.startsWith(`${name}+`)))
    throw new Rejected('the signed text is not a checkpoint of this log');
  return { size: Number(size), root: Buffer.from(root ?? '', 'base64'), signedBy };
}

/** Recomputes a chain from its first entry. @returns the hash of each entry. */
export function recomputeChain(
  entries: readonly { content: string; hash: string }[],
  before: Uint8Array = new Uint8Array(32),
): Uint8Array[] {
  let previous = before;
  return entries.map(({ content, hash }) => {
    previous = sha256(previous, content);
    if (!isEqual(previous, Buffer.from(hash, 'base64')))
      throw new Rejected(`the hash of an entry does not match its content: ${content}`);
    return previous;
  });
}

/** Verifies a proof (c2sp.org/tlog-proof@v1) of an entry with this hash. @returns the tree of its checkpoint. */
export function checkInclusion(proofText: string, entryHash: Uint8Array, keys: readonly string[]): Tree {
  const [, index, hashes, note] =
    /^c2sp\.org\/tlog-proof@v1\nindex (\d{1,16})\n((?:[A-Za-z0-9+/=]{44}\n)*)\n([^]*)$/.exec(proofText) ?? [];
  if (index === undefined || hashes === undefined || note === undefined)
    throw new Rejected('the proof does not have the expected form');
  const proof = hashes.split('\n').slice(0, -1).map((hash) => Buffer.from(hash, 'base64')); // prettier-ignore
  const tree = readCheckpoint(note, keys);
  const leaf = sha256(Uint8Array.of(0), entryHash);
  if (!isEqual(inclusionRoot(leaf, { index: Number(index), size: tree.size, proof }), tree.root))
    throw new Rejected('the log does not contain the entry');
  return tree;
}

interface Kept {
  /** The newest checkpoint that was verified. */
  note: string;
  /** The keys that are trusted. */
  keys: string[];
  /** The last hash of each chain that was verified. */
  proven: Record<string, { length: number; hash: string }>;
}
type Fetch = <T>(path: string) => Promise<T>;
interface Listed {
  checkpoints: { id: number; note: string }[];
}

/** Returns the trusted keys, and the new ones that a trusted key has signed a checkpoint with. */
async function keysFrom(fetched: Fetch, trusted: readonly string[]): Promise<string[]> {
  const { log } = await fetched<{ log: { keys: { key: string }[] } }>('/checkpoints/key');
  const known = log.keys.map(({ key }) => key);
  if (trusted.length === 0) return known;
  const accepted = [...trusted];
  const unknown = (): string[] => known.filter((key) => !accepted.includes(key));
  for (let before = ''; unknown().length > 0;) {
    const { checkpoints } = await fetched<Listed>(`/checkpoints?limit=250${before}`);
    for (const { note } of checkpoints.toReversed()) {
      const signers = [...accepted, ...unknown()];
      const { signedBy } = readCheckpoint(note, signers);
      if (signedBy.some((key) => accepted.includes(key)))
        accepted.push(...signedBy.filter((key) => !accepted.includes(key)));
    }
    const last = checkpoints.at(-1);
    if (!last || checkpoints.length < 250) break;
    before = `&before=${last.id}`;
  }
  return accepted;
}

async function checkBetween(fetched: Fetch, one: Tree, other: Tree): Promise<void> {
  const [earlier, later] = one.size <= other.size ? [one, other] : [other, one];
  if (earlier.size === 0) return;
  const path = `/checkpoints/consistency?from=${earlier.size}&to=${later.size}`;
  const { consistency } = await fetched<{ consistency: { hashes: string[] } }>(path);
  checkConsistency(earlier, later, consistency.hashes.map((hash) => Buffer.from(hash, 'base64'))); // prettier-ignore
}

/** Fetches a whole chain of a card, recomputes it, and verifies the proof of its newest entry in the log. */
async function checkChain(
  fetched: Fetch,
  { card, chain, keys }: { card: string; chain: 'transactions' | 'changes'; keys: readonly string[] },
): Promise<{ tree: Tree | undefined; entries: string[]; hashes: Uint8Array[] }> {
  const isMoney = chain === 'transactions';
  const entries: string[] = [];
  const hashes: Uint8Array[] = [];
  for (;;) {
    const query = `limit=250${entries.length > 0 ? `&${isMoney ? 'after' : 'changes_after'}=${entries.length}` : ''}`;
    const { gift_card_proof: page } = await fetched<CardProof>(`/gift_card/${card}/proof?${query}`);
    const part = isMoney ? page.entries : page.changes;
    hashes.push(...recomputeChain(part, hashes.at(-1)));
    entries.push(...part.map(({ content }) => content));
    const proof = isMoney ? page.proof : page.changes_proof;
    const proven = isMoney ? page.proven : page.changes_proven;
    if (part.length === 250) continue;
    const entryHash = hashes[proven - 1];
    if (proof !== null && entryHash)
      return { tree: checkInclusion(proof, entryHash, keys), entries: entries.slice(0, proven), hashes: hashes.slice(0, proven) }; // prettier-ignore
    if (isMoney || entries.length > 0) throw new Rejected(`the log contains none of the ${chain}`);
    return { tree: undefined, entries, hashes };
  }
}

/** Verifies what a card's transactions say: one card, no gap, and balances that are the sums of the amounts. */
function checkTransactions(entries: readonly string[]): string {
  let [balance, card]: [bigint, unknown] = [0n, undefined];
  let shown = '';
  for (const [place, content] of entries.entries()) {
    const entry = JSON.parse(content) as string[];
    const [format, , cardId, sequence, , , amount, currency, , credit, after] = entry;
    card ??= cardId;
    const minor = (text = ''): bigint => BigInt(text.replace('.', ''));
    balance += credit === 'card' ? minor(amount) : -minor(amount);
    const isKnown =
      format === 'transfer/2' ? entry.length === 19 : format === 'transfer/3' && entry.length === 20;
    if (!isKnown || cardId !== card || Number(sequence) !== place + 1)
      throw new Rejected(`not entry ${place + 1} of the card's transactions: ${content}`);
    if (minor(after) !== balance) throw new Rejected(`the balance is not the sum of the amounts: ${content}`);
    shown = `${after} ${currency}`;
  }
  return shown;
}

/** Verifies a store's log and some of its cards. @returns what to keep, and one line for each result. */
export async function verifyLedger(
  fetched: Fetch,
  { kept, cards }: { kept: Kept | undefined; cards: readonly string[] },
): Promise<{ keep: Kept; lines: string[] }> {
  const keys = await keysFrom(fetched, kept?.keys ?? []);
  const [newest] = (await fetched<Listed>('/checkpoints?limit=1')).checkpoints;
  if (!newest) throw new Rejected('there is no checkpoint');
  const tree = readCheckpoint(newest.note, keys);
  if (kept) {
    const before = readCheckpoint(kept.note, kept.keys);
    if (tree.size < before.size)
      throw new Rejected(`the log has become smaller: ${tree.size} entries, ${before.size} before`);
    await checkBetween(fetched, before, tree);
  }
  const lines = [`checkpoint: ${tree.size} entries${kept ? ', continues the kept one' : ''}`];
  const proven: Kept['proven'] = { ...kept?.proven };
  for (const card of cards) {
    const lengths: string[] = [];
    let balance = '';
    for (const chain of ['transactions', 'changes'] as const) {
      const { tree: later, entries, hashes } = await checkChain(fetched, { card, chain, keys });
      if (later) await checkBetween(fetched, tree, later);
      if (chain === 'transactions') balance = checkTransactions(entries);
      const name = `${card} ${chain}`;
      const before = proven[name];
      const now = Buffer.from(hashes[(before?.length ?? 0) - 1] ?? []).toString('base64');
      if (before && now !== before.hash) throw new Rejected(`the ${chain} are not those that were kept`);
      const last = hashes.at(-1);
      if (last) proven[name] = { length: hashes.length, hash: Buffer.from(last).toString('base64') };
      lengths.push(`${hashes.length} ${chain}`);
    }
    lines.push(`gift card ${card}: balance ${balance}; the log contains its ${lengths.join(' and ')}`);
  }
  return { keep: { note: newest.note, keys, proven }, lines };
}

interface CardProof {
  gift_card_proof: {
    entries: { content: string; hash: string }[];
    proven: number;
    proof: string | null;
    changes: { content: string; hash: string }[];
    changes_proven: number;
    changes_proof: string | null;
  };
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      url: { type: 'string' },
      keep: { type: 'string' },
      card: { type: 'string', multiple: true, default: [] },
    },
  });
  const { url, keep: file, card: cards } = values;
  const token = process.env['TOKEN'];
  if (!url || !file || !token) throw new Error('--url, --keep and the variable TOKEN are required');
  const fetched = async <T>(path: string): Promise<T> => {
    const response = await fetch(`${url}${path}`, { headers: { authorization: `Bearer ${token}` } });
    if (!response.ok) throw new Rejected(`${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as T;
  };
  const kept = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Kept) : undefined;
  const { keep, lines } = await verifyLedger(fetched, { kept, cards });
  for (const line of lines) console.log(line);
  writeFileSync(`${file}.new`, `${JSON.stringify(keep, null, 2)}\n`);
  renameSync(`${file}.new`, file);
}

if (import.meta.main) {
  try {
    await main();
  } catch (error) {
    if (!(error instanceof Rejected)) throw error;
    console.error(`REJECTED: ${error.message}`);
    process.exitCode = 1;
  }
}
