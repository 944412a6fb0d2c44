/**
 * Writes ZIP archives (APPNOTE.TXT 6.3.10, without ZIP64): large ones as streams, whose parts a thread of the pool
 * compresses, and small ones in memory without compression.
 */

import { pipeline, Readable } from 'node:stream';
import { crc32, createDeflateRaw } from 'node:zlib';

export type ZipPart = { readonly name: string; readonly content: AsyncIterable<string> };

/** The general purpose flags and the compression method of a part. */
type Form = { readonly flags: number; readonly method: number };

/** Names are UTF-8. */
const namesInUtf8 = 0x0800;
/** The sizes follow the part, so it is not in memory. */
const streamed: Form = { flags: namesInUtf8 | 0x0008, method: 8 };
const stored: Form = { flags: namesInUtf8, method: 0 };

/** The entry of a part in the directory. */
type Written = {
  readonly form: Form;
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
/** 1 January 1980, as in archives that say nothing about time. */
const dosDay = 0x0021;

/** A stream. @throws RangeError if a part or the archive would have more than 4 GiB. */
export async function* zipOf(parts: AsyncIterable<ZipPart>): AsyncGenerator<Buffer, void> {
  const directory: Written[] = [];
  let at = 0;
  for await (const { name, content } of parts) {
    const nameBytes = Buffer.from(name, 'utf8');
    const head = headOf(streamed, nameBytes);
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
    directory.push({ form: streamed, name: nameBytes, ...sums, offset });
  }
  const end = directoryOf(directory, at);
  assertSize(at + end.length);
  yield end;
}

/** A small archive of files by their names, whose content is compressed already. */
export function storedZip(files: ReadonlyMap<string, Uint8Array>): Buffer {
  const parts: Uint8Array[] = [];
  const directory: Written[] = [];
  let at = 0;
  for (const [name, content] of files) {
    const sums = { crc: crc32(content), packed: content.length, size: content.length };
    const nameBytes = Buffer.from(name, 'utf8');
    const head = headOf(stored, nameBytes);
    writeSums(head, 14, sums);
    parts.push(head, content);
    directory.push({ form: stored, name: nameBytes, ...sums, offset: at });
    at += head.length + content.length;
  }
  return Buffer.concat([...parts, directoryOf(directory, at)]);
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

/** The head of a part, without its sums. */
function headOf({ flags, method }: Form, name: Buffer): Buffer {
  const head = Buffer.alloc(30);
  head.writeUInt32LE(0x04034b50, 0);
  head.writeUInt16LE(version, 4);
  head.writeUInt16LE(flags, 6);
  head.writeUInt16LE(method, 8);
  head.writeUInt16LE(dosDay, 12);
  head.writeUInt16LE(name.length, 26);
  return Buffer.concat([head, name]);
}

type PartSums = Pick<Written, 'crc' | 'packed' | 'size'>;

function writeSums(record: Buffer, at: number, { crc, packed, size }: PartSums): void {
  record.writeUInt32LE(crc, at);
  record.writeUInt32LE(packed, at + 4);
  record.writeUInt32LE(size, at + 8);
}

function descriptorOf(sums: PartSums): Buffer {
  const descriptor = Buffer.alloc(16);
  descriptor.writeUInt32LE(0x08074b50, 0);
  writeSums(descriptor, 4, sums);
  return descriptor;
}

function entryOf({ form: { flags, method }, name, offset, ...sums }: Written): Buffer {
  const entry = Buffer.alloc(46);
  entry.writeUInt32LE(0x02014b50, 0);
  entry.writeUInt16LE(version, 4);
  entry.writeUInt16LE(version, 6);
  entry.writeUInt16LE(flags, 8);
  entry.writeUInt16LE(method, 10);
  entry.writeUInt16LE(dosDay, 14);
  writeSums(entry, 16, sums);
  entry.writeUInt16LE(name.length, 28);
  entry.writeUInt32LE(offset, 42);
  return Buffer.concat([entry, name]);
}

/** The directory and the end of an archive, whose parts end at the offset. */
function directoryOf(directory: readonly Written[], offset: number): Buffer {
  const entries = Buffer.concat(directory.map(entryOf));
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(directory.length, 8);
  end.writeUInt16LE(directory.length, 10);
  end.writeUInt32LE(entries.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([entries, end]);
}
