/**
 * Seals a backup: a tar archive of the key file and a copy of the database, compressed with zstd, encrypted with age.
 *
 * `age -d -i sheet.txt backup.tar.zst.age | zstd -d | tar x` opens it without this program.
 */

import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { pipeline, Readable } from 'node:stream';
import { createZstdCompress } from 'node:zlib';
import { Encrypter } from 'age-encryption';
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
 * @param recipient that of a recovery key.
 * @throws Error, in the call or while it is read, if the recipient is invalid or the file cannot be read.
 */
export async function sealBackup(
  { database, keys, at }: SealedParts,
  recipient: string,
): Promise<AsyncIterable<Uint8Array>> {
  const encrypter = new Encrypter();
  encrypter.addRecipient(recipient);
  const { size } = await stat(database);
  const seconds = Math.floor(at / 1_000);
  const archive = writeMembers([
    { name: memberNames.keys, bytes: keys.length, at: seconds, content: Readable.from([keys]) },
    { name: memberNames.database, bytes: size, at: seconds, content: createReadStream(database) },
  ]);
  // Errors reach the reader through the last stream.
  const compressed = pipeline(Readable.from(archive), createZstdCompress(), () => undefined);
  return await encrypter.encrypt(Readable.toWeb(compressed) as ReadableStream<Uint8Array>);
}
