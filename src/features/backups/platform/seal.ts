/**
 * Seals a backup: a tar archive of a manifest, the key file and a copy of the database, compressed with zstd, encrypted with
 * age.
 *
 * `age -d -i sheet.txt backup.tar.zst.age | zstd -d | tar x` opens it without this program.
 */

import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { pipeline, Readable } from 'node:stream';
import { createZstdCompress } from 'node:zlib';
import { Encrypter } from 'age-encryption';
import { writeManifest, type Content } from './manifest.ts';
import { memberNames, writeMembers } from './members.ts';

export type SealedParts = {
  /** The path of a copy of the database, which does not change. */
  readonly database: string;
  /** The content of the key file. */
  readonly keys: Uint8Array;
  /** When the copy was made, ms since 1970 UTC. */
  readonly at: number;
};

/**
 * Returns the sealed backup in pieces. It needs less than 10 MiB of memory for a database of any size.
 * @param sheet the public half of a recovery key, and the key of the MAC.
 * @throws Error, in the call or while it is read, if the recipient is invalid or the file cannot be read.
 */
export async function sealBackup(
  { database, keys, at }: SealedParts,
  { recipient, macKey }: { readonly recipient: string; readonly macKey: Uint8Array },
): Promise<AsyncIterable<Uint8Array>> {
  const encrypter = new Encrypter();
  encrypter.addRecipient(recipient);
  const seconds = Math.floor(at / 1_000);
  const listed = {
    at: seconds,
    keys: await contentOf([keys]),
    database: await contentOf(createReadStream(database)),
  };
  const manifest = writeManifest(listed, macKey);
  const archive = writeMembers([
    { name: memberNames.manifest, bytes: manifest.length, at: seconds, content: Readable.from([manifest]) },
    { name: memberNames.keys, bytes: keys.length, at: seconds, content: Readable.from([keys]) },
    {
      name: memberNames.database,
      bytes: listed.database.bytes,
      at: seconds,
      content: createReadStream(database),
    },
  ]);
  // Errors reach the reader through the last stream.
  const compressed = pipeline(Readable.from(archive), createZstdCompress(), () => undefined);
  return await encrypter.encrypt(Readable.toWeb(compressed) as ReadableStream<Uint8Array>);
}

async function contentOf(source: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<Content> {
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const chunk of source) {
    hash.update(chunk);
    bytes += chunk.length;
  }
  return { bytes, sha256: hash.digest('hex') };
}
