/**
 * The key of a recovery sheet: an X25519 identity of age (https://age-encryption.org/v1). The service keeps only its
 * public half, the recipient, and the key of the MAC that it derives when it makes the sheet.
 */

import { createHash, hkdfSync } from 'node:crypto';
import { accepted, rejected, type Parsed } from '../../../platform/parsed.ts';
import { Secret } from '../../../platform/secret.ts';

/** `AGE-SECRET-KEY-1` and 58 characters of bech32, whose last six are a checksum. */
export const recoveryKeyLength = 74;

export type RecoveryKey = {
  /** The 74 characters of the sheet. */
  readonly identity: Secret;
  /** `age1…`, which is not secret. */
  readonly recipient: string;
  /** The key of the MAC of its backups, which the service keeps as well. The identity cannot be found from it. */
  readonly macKey: Uint8Array;
};

export async function makeRecoveryKey(): Promise<RecoveryKey> {
  const { generateX25519Identity } = await import('age-encryption');
  const identity = await generateX25519Identity();
  return await keyOf(identity);
}

async function keyOf(text: string): Promise<RecoveryKey> {
  const { identityToRecipient } = await import('age-encryption');
  const identity = new Secret(text);
  return { identity, recipient: await identityToRecipient(text), macKey: backupMacKeyOf(identity) };
}

export function backupMacKeyOf(identity: Secret): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', identity.reveal(), '', 'largesse/backup-mac', 32));
}

/** Spaces between the groups of a printed key, and a few that people add. */
const typedLengthMax = 3 * recoveryKeyLength;

/** Reads a typed or scanned key, in any case and with spaces. */
export async function parseRecoveryKey(text: string): Promise<Parsed<RecoveryKey>> {
  const identity = text.length > typedLengthMax ? '' : text.replaceAll(/\s/g, '').toUpperCase();
  if (!identity.startsWith('AGE-SECRET-KEY-1') || identity.length !== recoveryKeyLength)
    return rejected(`must have ${recoveryKeyLength} characters and start with AGE-SECRET-KEY-1`);
  try {
    return accepted(await keyOf(identity));
  } catch {
    return rejected('has a wrong character: compare it with the recovery sheet');
  }
}

/** The short id of a recovery sheet, which is printed on it and is part of the names of its backups: `7F3A`. */
export function sheetIdOf(recipient: string): string {
  return createHash('sha256').update(recipient).digest('hex').slice(0, 4).toUpperCase();
}
