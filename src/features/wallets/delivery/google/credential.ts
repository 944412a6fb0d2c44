/** The key of a service account of Google: the uploaded file, and its stored form. Only this file writes and reads them. */

import { createPrivateKey, type KeyObject } from 'node:crypto';
import {
  credentialBytesMax,
  isIssuerId,
  type GoogleCredential,
  type GoogleKey,
  type GoogleProblem,
  type ReadGoogle,
} from '../../domain/wallet.ts';
import { Secret } from '../../../../platform/secret.ts';

type Upload = {
  /** The JSON file of a key of the account. */
  readonly file: Uint8Array | undefined;
  readonly issuerId: string;
};

/** Shorter keys are too weak, and longer ones make a link too long. Google makes keys of 2,048 bits. */
const keyBits = { min: 2_048, max: 4_096 } as const;

const accountPattern = /^[\w.+-]{1,64}@[a-z\d.-]{1,100}\.gserviceaccount\.com$/;

/** The URLs in the file are not read: the service sends the key's signatures to Google only. */
export function readGoogleKey({ file, issuerId }: Upload): ReadGoogle {
  if (!file || file.length === 0) return { ok: false, problem: 'missing' };
  if (file.length > credentialBytesMax) return { ok: false, problem: 'size' };
  const parsed = parsedJson(Buffer.from(file).toString());
  if (!parsed) return { ok: false, problem: 'unreadable' };
  const { type, client_email: account, private_key: pem } = parsed;
  if (type !== 'service_account' || typeof account !== 'string' || !accountPattern.test(account))
    return { ok: false, problem: 'notAccount' };
  const key = typeof pem === 'string' ? parsedKey(pem) : undefined;
  if (!key) return { ok: false, problem: 'noKey' };
  const problem = problemOf(key, issuerId);
  if (problem) return { ok: false, problem };
  const text = key.export({ type: 'pkcs8', format: 'pem' });
  return { ok: true, key: { account, issuerId, key: new Secret(text) } };
}

function problemOf(key: KeyObject, issuerId: string): GoogleProblem | undefined {
  const bits = key.asymmetricKeyDetails?.modulusLength ?? 0;
  if (key.asymmetricKeyType !== 'rsa' || bits < keyBits.min || bits > keyBits.max) return 'keyKind';
  return isIssuerId(issuerId) ? undefined : 'issuer';
}

function parsedJson(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null
      ? (value as Readonly<Record<string, unknown>>)
      : undefined;
  } catch {
    return undefined;
  }
}

function parsedKey(pem: string): KeyObject | undefined {
  try {
    return createPrivateKey(pem);
  } catch {
    return undefined;
  }
}

/** The text that is sealed. */
export function googleCredentialText({ account, key }: GoogleKey): string {
  return JSON.stringify({ account, key: key.reveal() });
}

export function readGoogleCredential(text: string): GoogleCredential {
  const { account, key } = JSON.parse(text) as { readonly account: string; readonly key: string };
  return { account, key: new Secret(key) };
}
