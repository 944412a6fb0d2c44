/**
 * Reads ZIP archives from strangers. The sizes in the directory are compared with the limits before anything is
 * unpacked, and `yauzl` rejects a part that becomes larger or smaller than the directory says.
 */

import { buffer as bytesOf } from 'node:stream/consumers';
import { crc32 } from 'node:zlib';
import { fromBufferPromise, getFileNameLowLevel, type Entry } from 'yauzl';

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

export type Archive = {
  /** Returns the bytes of a part; undefined: there is none with the name. @throws UnreadableArchive. */
  readonly read: (name: string) => Promise<Uint8Array | undefined>;
};

export function isArchive(bytes: Uint8Array): boolean {
  return bytes[0] === 0x50 && bytes[1] === 0x4b && bytes[2] === 0x03 && bytes[3] === 0x04;
}

/** @throws UnreadableArchive if its directory cannot be read. */
export async function openArchive(bytes: Uint8Array, limits: ArchiveLimits): Promise<Archive> {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const zip = await readable(fromBufferPromise(buffer, { decodeStrings: false }));
  if (zip.entryCount > limits.entriesMax) throw new UnreadableArchive('has too many parts');
  const entries = byName(await readable(Array.fromAsync(zip.eachEntry())));
  let left = limits.bytesMax;
  return {
    read: async (name) => {
      const entry = entries.get(name);
      if (!entry) return undefined;
      const { uncompressedSize: size, compressedSize: packed } = entry;
      if (size > left || size > Math.max(packed, 1) * limits.ratioMax)
        throw new UnreadableArchive('is larger than its limits');
      left -= size;
      const content = await readable(zip.openReadStreamPromise(entry).then(bytesOf));
      if (crc32(content) !== entry.crc32) throw new UnreadableArchive('has a damaged part');
      return content;
    },
  };
}

/** Names may begin with `/`, which `yauzl` rejects where it decodes them. */
function byName(list: readonly Entry[]): ReadonlyMap<string, Entry> {
  const entries = new Map<string, Entry>();
  for (const entry of list) {
    const { generalPurposeBitFlag, fileNameRaw, extraFields } = entry;
    const name = getFileNameLowLevel(generalPurposeBitFlag, fileNameRaw, extraFields, false).replace(
      /^\//,
      '',
    );
    // Readers differ in which of them they read.
    if (entries.has(name)) throw new UnreadableArchive('has two parts with one name');
    entries.set(name, entry);
  }
  return entries;
}

async function readable<Result>(reading: Promise<Result>): Promise<Result> {
  try {
    return await reading;
  } catch (error) {
    throw new UnreadableArchive('cannot be read', { cause: error });
  }
}
