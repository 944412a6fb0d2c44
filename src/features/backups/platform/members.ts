/**
 * The tar archive of a backup: the manifest, the key file, and the database. The writer makes a plain POSIX archive (IEEE
 * 1003.1, pax, "ustar"); the reader accepts only these members, in this order, from any program.
 */

import { createHash } from 'node:crypto';
import { SealedBackupError } from './error.ts';
import { forged, manifestBytesMax, readManifest, type Content, type Manifest } from './manifest.ts';

export const memberNames = {
  manifest: 'largesse.manifest',
  keys: 'largesse.keys.json',
  database: 'largesse.db',
} as const;

const blockBytes = 512;
/** Archives end with two empty blocks; programs add empty blocks up to a record of this size. */
const recordBytes = 20 * blockBytes;
/** The largest size in 11 octal digits. Larger ones are binary, as GNU tar writes them. */
const octalSizeMax = 8 ** 11 - 1;
const checksumAt = 148;
const sizeAt = 124;

export type Member = {
  readonly name: string;
  readonly bytes: number;
  /** Seconds since 1970 UTC. */
  readonly at: number;
};

/** The bytes that follow a member's content, so that the next header starts at a block. */
function paddingOf(bytes: number): number {
  return (blockBytes - (bytes % blockBytes)) % blockBytes;
}

function octal(value: number, length: number): string {
  return value.toString(8).padStart(length - 1, '0');
}

export function headerOf({ name, bytes, at }: Member): Buffer {
  const header = Buffer.alloc(blockBytes);
  header.write(name, 0, 100);
  header.write(octal(0o600, 8), 100);
  header.write(octal(0, 8), 108);
  header.write(octal(0, 8), 116);
  if (bytes <= octalSizeMax) header.write(octal(bytes, 12), sizeAt);
  else {
    header[sizeAt] = 0x80;
    header.writeBigUInt64BE(BigInt(bytes), sizeAt + 4);
  }
  header.write(octal(at, 12), 136);
  header.write('0', 156);
  header.write('ustar\u000000', 257);
  header.write(`${octal(checksumOf(header), 7)}\0 `, checksumAt);
  return header;
}

/** The sum of the header's bytes, with spaces in place of the sum itself. */
function checksumOf(header: Uint8Array): number {
  let sum = 8 * 0x20;
  for (const [at, byte] of header.entries()) if (at < checksumAt || at >= checksumAt + 8) sum += byte;
  return sum;
}

/** @throws SealedBackupError if the block is not the header of a regular file. */
function readHeader(block: Buffer): Member {
  const digits = (at: number, length: number): number => {
    const text = /^ *([0-7]{1,12})[ \0]/.exec(`${block.toString('latin1', at, at + length)}\0`)?.[1];
    if (text === undefined) throw unexpected();
    return Number.parseInt(text, 8);
  };
  if (digits(checksumAt, 8) !== checksumOf(block)) throw unexpected();
  const type = block.toString('latin1', 156, 157);
  if (type !== '0' && type !== '\0') throw unexpected();
  const name = block.toString('latin1', 0, 100).split('\0', 1)[0] ?? '';
  const isBinary = block[sizeAt] === 0x80;
  const bytes = isBinary ? Number(block.readBigUInt64BE(sizeAt + 4)) : digits(sizeAt, 12);
  if (!Number.isSafeInteger(bytes)) throw unexpected();
  return { name, bytes, at: digits(136, 12) };
}

function unexpected(): SealedBackupError {
  return new SealedBackupError('not-a-backup', 'the file contains something else than a backup of Largesse');
}

function cutOff(): SealedBackupError {
  return new SealedBackupError('damaged', 'the backup is cut off: copy or upload it again');
}

/** The content of an archive. A member is exactly as long as it says. */
export async function* writeMembers(
  members: readonly (Member & { readonly content: AsyncIterable<Uint8Array> })[],
): AsyncGenerator<Uint8Array> {
  for (const { content, ...member } of members) {
    yield headerOf(member);
    let written = 0;
    for await (const chunk of content) {
      written += chunk.length;
      if (written > member.bytes) break;
      yield chunk;
    }
    if (written !== member.bytes) throw new Error(`${member.name} was changed while it was read`);
    yield Buffer.alloc(paddingOf(member.bytes));
  }
  yield Buffer.alloc(2 * blockBytes);
}

/** Reads exactly as many bytes as are asked for, from chunks of any size. */
class Blocks {
  readonly #chunks: AsyncIterator<Uint8Array>;
  #rest: Uint8Array = Buffer.alloc(0);

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#chunks = source[Symbol.asyncIterator]();
  }

  /** Yields the next bytes in pieces. @throws SealedBackupError if the source ends before. */
  async *take(bytes: number): AsyncGenerator<Uint8Array> {
    for (let left = bytes; left > 0;) {
      if (this.#rest.length === 0) {
        const next = await this.#next();
        if (next === null) throw cutOff();
        this.#rest = next;
      }
      const piece = this.#rest.subarray(0, left);
      this.#rest = this.#rest.subarray(piece.length);
      left -= piece.length;
      if (piece.length > 0) yield piece;
    }
  }

  async all(bytes: number): Promise<Buffer> {
    const pieces: Uint8Array[] = [];
    for await (const piece of this.take(bytes)) pieces.push(piece);
    return Buffer.concat(pieces, bytes);
  }

  /** Reads to the end, which has nothing but empty blocks. @throws SealedBackupError. */
  async end(): Promise<void> {
    let read = 0;
    for (let chunk: Uint8Array | null = this.#rest; chunk !== null; chunk = await this.#next()) {
      read += chunk.length;
      if (read > recordBytes || chunk.some((byte) => byte !== 0)) throw unexpected();
    }
    if (read < 2 * blockBytes) throw cutOff();
  }

  async close(): Promise<void> {
    await this.#chunks.return?.();
  }

  async #next(): Promise<Uint8Array | null> {
    const next = await this.#chunks.next();
    return next.done === true ? null : next.value;
  }
}

export type ReadMembers = Pick<Manifest, 'at' | 'database'> & { readonly keys: Buffer };

/** A key file has a few keys of 60 bytes. */
const keysBytesMax = 65_536;

/**
 * Reads an archive to its end, after its manifest. @param write receives the content of the database.
 * @throws SealedBackupError if it is not a backup, is cut off, differs from its manifest, or its database is larger than
 * allowed.
 */
export async function readMembers(
  source: AsyncIterable<Uint8Array>,
  {
    databaseBytesMax,
    macKey,
    write,
  }: {
    readonly databaseBytesMax: number;
    readonly macKey: Uint8Array;
    readonly write: (chunk: Uint8Array) => Promise<void>;
  },
): Promise<ReadMembers> {
  const blocks = new Blocks(source);
  try {
    const manifest = await takeManifest(blocks, macKey);
    const { bytes } = readExpected(await blocks.all(blockBytes), memberNames.keys);
    if (bytes > keysBytesMax) throw unexpected();
    const keys = await blocks.all(bytes);
    assertSame(manifest.keys, { bytes, sha256: createHash('sha256').update(keys).digest('hex') });
    await blocks.all(paddingOf(bytes));
    const database = readExpected(await blocks.all(blockBytes), memberNames.database);
    if (database.bytes > databaseBytesMax)
      throw new SealedBackupError(
        'too-large',
        `the database has ${database.bytes} bytes, and at most ${databaseBytesMax} are accepted`,
      );
    const hash = createHash('sha256');
    for await (const chunk of blocks.take(database.bytes)) {
      hash.update(chunk);
      await write(chunk);
    }
    assertSame(manifest.database, { bytes: database.bytes, sha256: hash.digest('hex') });
    await blocks.all(paddingOf(database.bytes));
    await blocks.end();
    return { at: manifest.at, keys, database: manifest.database };
  } finally {
    await blocks.close();
  }
}

/** Reads only the manifest. @throws SealedBackupError as `readMembers` does. */
export async function readFirstMember(
  source: AsyncIterable<Uint8Array>,
  macKey: Uint8Array,
): Promise<Manifest> {
  const blocks = new Blocks(source);
  try {
    return await takeManifest(blocks, macKey);
  } finally {
    await blocks.close();
  }
}

async function takeManifest(blocks: Blocks, macKey: Uint8Array): Promise<Manifest> {
  const { name, bytes } = readHeader(await blocks.all(blockBytes));
  // Any program can make an archive without a manifest.
  if (name === memberNames.keys) throw forged();
  if (name !== memberNames.manifest || bytes > manifestBytesMax) throw unexpected();
  const content = await blocks.all(bytes);
  await blocks.all(paddingOf(bytes));
  return readManifest(content, macKey);
}

/** @throws SealedBackupError. */
function assertSame(listed: Content, { bytes, sha256 }: Content): void {
  if (listed.bytes !== bytes || listed.sha256 !== sha256) throw forged();
}

function readExpected(block: Buffer, name: string): Member {
  const member = readHeader(block);
  if (member.name !== name) throw unexpected();
  return member;
}
