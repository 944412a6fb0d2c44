/**
 * Reads ZIP archives (APPNOTE.TXT 6.3.10, without ZIP64 and encryption) from strangers. The sizes in the directory are
 * compared with the limits before anything is unpacked, and no part becomes larger than the directory says.
 */

import { promisify } from 'node:util';
import { crc32, inflateRaw } from 'node:zlib';

/** The bytes are not an archive that can be read, or it is larger than its limits. */
export class UnreadableArchive extends Error {
  override readonly name = 'UnreadableArchive';
}

export type ArchiveLimits = {
  readonly entriesMax: number;
  /** The most bytes that all parts that are read have together. */
  readonly bytesMax: number;
  /** The highest ratio of a part's size to that of its packed bytes. */
  readonly ratioMax: number;
};

type Entry = {
  readonly packed: number;
  readonly size: number;
  readonly crc: number;
  readonly method: number;
  readonly offset: number;
};

export type Archive = {
  /** Returns the bytes of a part; undefined: there is none with the name. @throws UnreadableArchive. */
  readonly read: (name: string) => Promise<Uint8Array | undefined>;
};

const unpack = promisify(inflateRaw);

const endSignature = 0x06054b50;
const entrySignature = 0x02014b50;
const partSignature = 0x04034b50;
const endLength = 22;
const entryLength = 46;
const partLength = 30;
const commentLengthMax = 0xffff;
const isEncrypted = 1;
const stored = 0;
const deflated = 8;

export function isArchive(bytes: Uint8Array): boolean {
  return bytes[0] === 0x50 && bytes[1] === 0x4b && bytes[2] === 0x03 && bytes[3] === 0x04;
}

/** @throws UnreadableArchive if its directory cannot be read. */
export function openArchive(bytes: Uint8Array, limits: ArchiveLimits): Archive {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const entries = directoryOf(buffer, limits);
  let left = limits.bytesMax;
  return {
    read: async (name) => {
      const entry = entries.get(name);
      if (!entry) return undefined;
      const { size, packed } = entry;
      if (size > left || size > Math.max(packed, 1) * limits.ratioMax)
        throw new UnreadableArchive('is larger than its limits');
      left -= size;
      const content = await contentOf(packedBytes(buffer, entry), entry);
      if (content.length !== size || crc32(content) !== entry.crc)
        throw new UnreadableArchive('has a damaged part');
      return content;
    },
  };
}

function directoryOf(buffer: Buffer, { entriesMax }: ArchiveLimits): ReadonlyMap<string, Entry> {
  const lowest = Math.max(0, buffer.length - endLength - commentLengthMax);
  let end = buffer.length - endLength;
  while (end >= lowest && buffer.readUInt32LE(end) !== endSignature) end -= 1;
  if (end < lowest) throw new UnreadableArchive('has no directory');
  const count = buffer.readUInt16LE(end + 10);
  if (count > entriesMax) throw new UnreadableArchive('has too many parts');
  const entries = new Map<string, Entry>();
  let at = buffer.readUInt32LE(end + 16);
  for (let index = 0; index < count; index += 1) {
    if (at + entryLength > buffer.length || buffer.readUInt32LE(at) !== entrySignature)
      throw new UnreadableArchive('has a damaged directory');
    const nameLength = buffer.readUInt16LE(at + 28);
    const name = buffer.toString('utf8', at + entryLength, at + entryLength + nameLength);
    if ((buffer.readUInt16LE(at + 8) & isEncrypted) !== 0) throw new UnreadableArchive('is encrypted');
    const key = name.replace(/^\//, '');
    // Readers differ in which of them they read.
    if (entries.has(key)) throw new UnreadableArchive('has two parts with one name');
    entries.set(key, {
      method: buffer.readUInt16LE(at + 10),
      crc: buffer.readUInt32LE(at + 16),
      packed: buffer.readUInt32LE(at + 20),
      size: buffer.readUInt32LE(at + 24),
      offset: buffer.readUInt32LE(at + 42),
    });
    at += entryLength + nameLength + buffer.readUInt16LE(at + 30) + buffer.readUInt16LE(at + 32);
  }
  return entries;
}

function packedBytes(buffer: Buffer, { offset, packed }: Entry): Buffer {
  if (offset + partLength > buffer.length || buffer.readUInt32LE(offset) !== partSignature)
    throw new UnreadableArchive('has a damaged part');
  const start = offset + partLength + buffer.readUInt16LE(offset + 26) + buffer.readUInt16LE(offset + 28);
  if (start + packed > buffer.length) throw new UnreadableArchive('has a part that is cut off');
  return buffer.subarray(start, start + packed);
}

async function contentOf(packed: Buffer, { method, size }: Entry): Promise<Uint8Array> {
  if (method === stored) return packed;
  if (method !== deflated) throw new UnreadableArchive('has an unknown method of compression');
  try {
    // A thread of the pool unpacks it. More bytes than the directory says are an error.
    return await unpack(packed, { maxOutputLength: Math.max(size, 1) });
  } catch {
    throw new UnreadableArchive('has a damaged part');
  }
}
