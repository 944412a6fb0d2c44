/**
 * The first member of a backup: when it was made, and what is in it, with a MAC under a key of the recovery sheet. Anyone can
 * encrypt a file for a sheet, but only the service that has the sheet's MAC key, and people with the sheet, can make this.
 */

import { createHmac, timingSafeEqual } from 'node:crypto';
import { SealedBackupError } from './error.ts';

export type Content = {
  readonly bytes: number;
  /** SHA-256 in hexadecimal digits. */
  readonly sha256: string;
};

export type Manifest = {
  /** Seconds since 1970 UTC. */
  readonly at: number;
  readonly keys: Content;
  readonly database: Content;
};

/** The sizes and hashes have a fixed number of digits at most. */
export const manifestBytesMax = 512;

const form =
  /^(largesse backup 1\nat (\d{1,12})\nkeys (\d{1,16}) ([0-9a-f]{64})\ndatabase (\d{1,16}) ([0-9a-f]{64})\n)mac ([0-9a-f]{64})\n$/;

function macOf(text: string, macKey: Uint8Array): Buffer {
  return createHmac('sha256', macKey).update(text).digest();
}

export function writeManifest({ at, keys, database }: Manifest, macKey: Uint8Array): Buffer {
  const text = `largesse backup 1\nat ${at}\nkeys ${keys.bytes} ${keys.sha256}\ndatabase ${database.bytes} ${database.sha256}\n`;
  return Buffer.from(`${text}mac ${macOf(text, macKey).toString('hex')}\n`);
}

/** @throws SealedBackupError `forged` unless the MAC is right. */
export function readManifest(content: Buffer, macKey: Uint8Array): Manifest {
  const [, text = '', at, keysBytes, keysHash = '', databaseBytes, databaseHash = '', mac = ''] =
    form.exec(content.toString('latin1')) ?? [];
  if (text === '' || !timingSafeEqual(Buffer.from(mac, 'hex'), macOf(text, macKey))) throw forged();
  return {
    at: Number(at),
    keys: { bytes: Number(keysBytes), sha256: keysHash },
    database: { bytes: Number(databaseBytes), sha256: databaseHash },
  };
}

/** The content does not match a manifest, or has none. */
export function forged(): SealedBackupError {
  return new SealedBackupError(
    'forged',
    'the backup was not made by a service that has this recovery sheet, or was put together from parts of others',
  );
}
