/** Opens a sealed backup. Anyone with the recipient can encrypt one, so nothing is trusted before the MAC of its manifest. */

import { open, rm } from 'node:fs/promises';
import { pipeline, Readable } from 'node:stream';
import { constants, createZstdDecompress } from 'node:zlib';
import type { Secret } from '../../../platform/secret.ts';
import { SealedBackupError } from './error.ts';
import { readFirstMember, readMembers, type ReadMembers } from './members.ts';
import { backupMacKeyOf } from './recovery-key.ts';

export type OpenSealedOptions = {
  /** The key of the recovery sheet, as `parseRecoveryKey` returns it. */
  readonly identity: Secret;
  /** The path of the new file for the copy of the database. */
  readonly database: string;
  /** The most bytes that the copy can have, such as the free space of its disk. */
  readonly databaseBytesMax: number;
};

export type OpenedBackup = {
  /** The content of the key file, at most 64 KiB. It is not checked. */
  readonly keys: Buffer;
  /** The size of the copy of the database. */
  readonly databaseBytes: number;
  /** When the backup was made, ms since 1970 UTC. */
  readonly at: number;
};

/** The header has one line of 200 bytes for a recipient. */
const headerBytesMax = 4_096;
/** The memory that a compressed file can make the reader use: 8 MiB. Sealing uses 2 MiB. */
const windowLogMax = 23;

/**
 * Opens a backup into a new file with mode 0600, which is durable, and removes it after a failure. The database in it is
 * not verified: it can be any file. It needs less than 20 MiB of memory for a backup of any size.
 * @throws SealedBackupError if it is not a complete backup for this key. @throws the error of the source or the file.
 */
export async function openBackup(
  source: AsyncIterable<Uint8Array>,
  { identity, database, databaseBytesMax }: OpenSealedOptions,
): Promise<OpenedBackup> {
  const file = await open(database, 'wx', 0o600);
  let isComplete = false;
  try {
    const write = async (chunk: Uint8Array): Promise<void> => {
      await file.writeFile(chunk);
    };
    const macKey = backupMacKeyOf(identity);
    const opened = await openMembers(source, identity, { databaseBytesMax, macKey, write });
    await file.sync();
    isComplete = true;
    const { keys, database: content, at } = opened;
    return { keys, databaseBytes: content.bytes, at: at * 1_000 };
  } finally {
    await file.close();
    if (!isComplete) await rm(database, { force: true });
  }
}

async function openMembers(
  source: AsyncIterable<Uint8Array>,
  identity: Secret,
  options: Parameters<typeof readMembers>[1],
): Promise<ReadMembers> {
  let ofSource: { readonly error: unknown } | undefined;
  const watched = async function* (): AsyncGenerator<Uint8Array> {
    try {
      yield* source;
    } catch (error) {
      ofSource = { error };
      throw error;
    }
  };
  let ofFile: { readonly error: unknown } | undefined;
  const write = async (chunk: Uint8Array): Promise<void> => {
    try {
      await options.write(chunk);
    } catch (error) {
      ofFile = { error };
      throw error;
    }
  };
  try {
    return await readMembers(await archiveIn(watched(), identity), { ...options, write });
  } catch (error) {
    if (ofSource) throw ofSource.error;
    if (ofFile) throw ofFile.error;
    throw explained(error);
  }
}

function explained(error: unknown): SealedBackupError {
  if (error instanceof SealedBackupError) return error;
  return new SealedBackupError('damaged', 'the backup was changed or cut off: copy or upload it again', {
    cause: error,
  });
}

async function archiveIn(source: AsyncIterable<Uint8Array>, identity: Secret): Promise<Readable> {
  const decrypted = await decrypt(withHeader(source), identity);
  const params = { [constants.ZSTD_d_windowLogMax]: windowLogMax };
  // Errors reach the reader through the last stream.
  return pipeline(decrypted, createZstdDecompress({ params }), () => undefined);
}

/** The bytes from which `readBackupTime` reads: more than the header, a block of zstd and a chunk of age. */
export const backupHeadBytes = 262_144;

/**
 * Reads from the first bytes of a backup when it was made (ms since 1970 UTC). The rest is not known to be whole.
 * @throws SealedBackupError unless a service that has the sheet made it.
 */
export async function readBackupTime(head: Uint8Array, identity: Secret): Promise<number> {
  const isRead = Promise.withResolvers<void>();
  // A head that ended would be called cut off before its first member was read.
  const source = async function* (): AsyncGenerator<Uint8Array> {
    yield head;
    if (head.length >= backupHeadBytes) await isRead.promise;
  };
  try {
    const content = await archiveIn(source(), identity);
    return (await readFirstMember(content, backupMacKeyOf(identity))).at * 1_000;
  } catch (error) {
    throw explained(error);
  } finally {
    isRead.resolve();
  }
}

/** Passes a file on whose first bytes are the header of an age file. @throws SealedBackupError before the first bytes. */
async function* withHeader(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let head = Buffer.alloc(0);
  let isRead = false;
  for await (const chunk of source) {
    if (isRead) {
      yield chunk;
      continue;
    }
    head = Buffer.concat([head, chunk.subarray(0, headerBytesMax)]);
    isRead = isHeader(head);
    if (!isRead && head.length >= headerBytesMax) throw notAge();
    if (isRead) {
      yield head;
      yield chunk.subarray(headerBytesMax);
    }
  }
  if (!isRead) throw notAge();
}

/** Whether the bytes contain a whole header with recipients of X25519, and of other kinds that this program does not know. */
function isHeader(head: Buffer): boolean {
  return /^age-encryption\.org\/v1\n->[\x20-\x7e\n]+\n--- [\w+/]{43}\n/.test(head.toString('latin1'));
}

function notAge(cause?: unknown): SealedBackupError {
  return new SealedBackupError('not-a-backup', 'the file is not an encrypted backup', { cause });
}

/** @throws SealedBackupError. */
async function decrypt(source: AsyncGenerator<Uint8Array>, identity: Secret): Promise<Readable> {
  const { Decrypter } = await import('age-encryption');
  const decrypter = new Decrypter();
  decrypter.addIdentity(identity.reveal());
  const web = Readable.toWeb(Readable.from(source)) as ReadableStream<Uint8Array>;
  let content: ReadableStream<Uint8Array>;
  try {
    content = await decrypter.decrypt(web);
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    if (error.message.startsWith('no identity matched'))
      throw new SealedBackupError('other-key', 'the backup was made for another recovery sheet', {
        cause: error,
      });
    throw error;
  }
  return Readable.fromWeb(content as Parameters<typeof Readable.fromWeb>[0]);
}
