/**
 * Writes ZIP archives: large ones as streams, whose parts a thread of the pool compresses, and small ones in memory
 * without compression.
 */

import { Readable } from 'node:stream';
import { buffer as bytesOf } from 'node:stream/consumers';
import { finished } from 'node:stream/promises';
import { ZipFile } from 'yazl';

export type ZipPart = { readonly name: string; readonly content: AsyncIterable<string> };

/** 1 January 1980, as in archives that say nothing about time. */
const options = { mtime: new Date(1980, 0, 1), forceDosTimestamp: true } as const;

/** A stream. */
export async function* zipOf(parts: AsyncIterable<ZipPart>): AsyncGenerator<Buffer, void> {
  const zip = new ZipFile();
  const output = outputOf(zip);
  let input: Readable | undefined;
  const write = async (): Promise<void> => {
    for await (const { name, content } of parts) {
      if (output.destroyed) return;
      input = Readable.from(content, { objectMode: false });
      zip.addReadStream(input, name, options);
      await finished(input);
    }
    zip.end();
  };
  const writing = write().catch((error: unknown) => output.destroy(error as Error));
  try {
    for await (const chunk of output) yield chunk as Buffer;
  } finally {
    input?.destroy();
    await writing;
  }
}

/** A small archive of files by their names, whose content is compressed already. */
export async function storedZip(files: ReadonlyMap<string, Uint8Array>): Promise<Buffer> {
  const zip = new ZipFile();
  for (const [name, content] of files)
    zip.addBuffer(Buffer.from(content), name, { ...options, compress: false });
  zip.end();
  return await bytesOf(outputOf(zip));
}

function outputOf(zip: ZipFile): Readable {
  return zip.outputStream as Readable;
}
