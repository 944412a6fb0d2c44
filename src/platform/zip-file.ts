/**
 * Writes ZIP archives (APPNOTE.TXT 6.3.10, without ZIP64) as streams: the sizes of a part follow it, so no part is in
 * memory. A thread of the pool compresses.
 */

import { pipeline, Readable } from 'node:stream';
import { crc32, createDeflateRaw } from 'node:zlib';

export type ZipPart = { readonly name: string; readonly content: AsyncIterable<string> };

/** The entry of a part in the directory. */
type Written = {
  readonly name: Buffer;
  readonly crc: number;
  readonly packed: number;
  readonly size: number;
  readonly offset: number;
};

/** Sizes and places have 32 bits. */
const bytesMax = 0xffff_ffff;
const chunkBytes = 64 * 1024;
const version = 20;
/** The sizes follow the part, and names are UTF-8. */
const flags = 0x0008 | 0x0800;
const deflated = 8;
/** 1 January 1980, as in archives that say nothing about time. */
const dosDay = 0x0021;

/** @throws RangeError if a part or the archive would have more than 4 GiB. */
export async function* zipOf(parts: AsyncIterable<ZipPart>): AsyncGenerator<Buffer, void> {
  const directory: Written[] = [];
  let at = 0;
  for await (const { name, content } of parts) {
    const nameBytes = Buffer.from(name, 'utf8');
    const head = headOf(nameBytes);
    const offset = at;
    yield head;
    const sums = { crc: 0, size: 0, packed: 0 };
    for await (const chunk of packedOf(content, sums)) {
      sums.packed += chunk.length;
      assertSize(at + head.length + sums.packed);
      yield chunk;
    }
    yield descriptorOf(sums);
    at += head.length + sums.packed + 16;
    directory.push({ name: nameBytes, ...sums, offset });
  }
  const entries = directory.map(entryOf);
  const length = entries.reduce((sum, entry) => sum + entry.length, 0);
  assertSize(at + length);
  yield Buffer.concat([...entries, endOf({ count: entries.length, length, offset: at })]);
}

function assertSize(bytes: number): void {
  if (bytes > bytesMax) throw new RangeError('an archive has at most 4 GiB');
}

type Sums = { crc: number; size: number };

/** The compressed bytes of a text. @param sums get the size and the checksum of what was read. */
async function* packedOf(content: AsyncIterable<string>, sums: Sums): AsyncGenerator<Buffer, void> {
  const deflate = createDeflateRaw({ chunkSize: chunkBytes });
  // The callback gets the error that ends the loop below as well.
  pipeline(Readable.from(chunksOf(content, sums), { objectMode: false }), deflate, () => undefined);
  for await (const chunk of deflate) yield chunk as Buffer;
}

async function* chunksOf(content: AsyncIterable<string>, sums: Sums): AsyncGenerator<Buffer, void> {
  let texts: string[] = [];
  let length = 0;
  const take = (): Buffer => {
    const chunk = Buffer.from(texts.join(''), 'utf8');
    texts = [];
    length = 0;
    sums.crc = crc32(chunk, sums.crc);
    sums.size += chunk.length;
    assertSize(sums.size);
    return chunk;
  };
  for await (const text of content) {
    texts.push(text);
    length += text.length;
    if (length >= chunkBytes) yield take();
  }
  if (length > 0) yield take();
}

function headOf(name: Buffer): Buffer {
  const head = Buffer.alloc(30);
  head.writeUInt32LE(0x04034b50, 0);
  head.writeUInt16LE(version, 4);
  head.writeUInt16LE(flags, 6);
  head.writeUInt16LE(deflated, 8);
  head.writeUInt16LE(dosDay, 12);
  head.writeUInt16LE(name.length, 26);
  return Buffer.concat([head, name]);
}

function descriptorOf({ crc, packed, size }: Pick<Written, 'crc' | 'packed' | 'size'>): Buffer {
  const descriptor = Buffer.alloc(16);
  descriptor.writeUInt32LE(0x08074b50, 0);
  descriptor.writeUInt32LE(crc, 4);
  descriptor.writeUInt32LE(packed, 8);
  descriptor.writeUInt32LE(size, 12);
  return descriptor;
}

function entryOf({ name, crc, packed, size, offset }: Written): Buffer {
  const entry = Buffer.alloc(46);
  entry.writeUInt32LE(0x02014b50, 0);
  entry.writeUInt16LE(version, 4);
  entry.writeUInt16LE(version, 6);
  entry.writeUInt16LE(flags, 8);
  entry.writeUInt16LE(deflated, 10);
  entry.writeUInt16LE(dosDay, 14);
  entry.writeUInt32LE(crc, 16);
  entry.writeUInt32LE(packed, 20);
  entry.writeUInt32LE(size, 24);
  entry.writeUInt16LE(name.length, 28);
  entry.writeUInt32LE(offset, 42);
  return Buffer.concat([entry, name]);
}

function endOf({
  count,
  length,
  offset,
}: {
  readonly count: number;
  readonly length: number;
  readonly offset: number;
}): Buffer {
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(count, 8);
  end.writeUInt16LE(count, 10);
  end.writeUInt32LE(length, 12);
  end.writeUInt32LE(offset, 16);
  return end;
}
