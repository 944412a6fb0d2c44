/**
 * Digests and encryption with the master keys of the key file. The first key is used for writing, all keys for reading.
 * HKDF derives one key per purpose, so two purposes never share key material. The file is stored outside the database:
 * an attacker needs both.
 */

import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createPrivateKey,
  createPublicKey,
  hkdfSync,
  sign,
  timingSafeEqual,
  verify,
  type KeyObject,
} from 'node:crypto';
import assert from 'node:assert/strict';
import type { Words } from './chaskey.ts';
import { publicIdsOf, type PublicIds } from './public-id.ts';

export type MasterKey = {
  /** Short name, stored with everything that the key sealed. */
  readonly id: string;
  /** 32 bytes. */
  readonly secret: Uint8Array;
};

/** The purpose of a keyed digest or a seal. Each purpose has its own derived keys. */
export type Purpose =
  | 'gift-card-code'
  | 'gift-card-code-tag'
  | 'idempotency'
  | 'idempotency-key'
  | 'external-id'
  | 'store-secret'
  | 'webhook-secret'
  | 'mail'
  | 'email-server'
  | 'email-server-code'
  | 'backup-bucket'
  | 'backup-mac'
  | 'wallet'
  | 'wallet-pass'
  | 'wallet-object'
  | 'recovery-sheet'
  | 'batch'
  | 'batch-key'
  | 'stock'
  | 'erasure'
  | 'key-check'
  | 'public-id'
  | 'list-cursor'
  | 'checkpoint'
  | 'sign-in'
  | 'unknown-address'
  | 'client-address'
  | 'visitor'
  | 'known-browser'
  | 'staff-pin'
  | 'till-key'
  | 'setup-link'
  | 'accountant-link'
  | 'passkey-challenge'
  | 'payment-provider'
  | 'online-sale'
  | 'online-sale-code'
  | 'order-link'
  | 'sandbox-token'
  | 'test-clock';

/** An Ed25519 key, derived from a master key. */
export type Signer = {
  /** The id of the master key. */
  readonly keyId: string;
  /** 32 bytes. */
  publicKey(): Uint8Array;
  /** Returns a signature of 64 bytes. */
  sign(text: string): Uint8Array;
};

export type Keys = {
  readonly publicIds: PublicIds;
  /** The key of `publicIds`, for a thread that has no other keys. */
  readonly publicIdKey: Words;
  /** The ids of all keys, the one in use first. */
  readonly ids: readonly string[];
  /** HMAC-SHA-256 of the text under the key in use: 32 bytes. */
  digest(purpose: Purpose, text: string): Uint8Array;
  /** The digests under every key, the one in use first. They find rows that were written with an older key. */
  digests(purpose: Purpose, text: string): readonly Uint8Array[];
  /** The keys of the digests of a purpose, for a thread that has no other keys: `keyedDigest`. */
  digestKeys(purpose: Purpose): readonly Uint8Array[];
  /** Encrypts with AES-256-GCM. `boundTo` identifies the row; `open` requires the same value. */
  seal(purpose: Purpose, plain: Uint8Array, boundTo: string, nonce: Uint8Array): Uint8Array;
  /** Decrypts the result of `seal`. @throws Error if it was changed or moved to another row, or its key is missing. */
  open(purpose: Purpose, sealed: Uint8Array, boundTo: string): Uint8Array;
  /** The signer of checkpoints of every key, the one in use first. */
  readonly signers: readonly Signer[];
};

export const sealNonceLength = 12;
const tagLength = 16;

/**
 * Derives the keys from master keys, the first of which is used for writing.
 * @param publicIdKey the id of the master key that public ids are derived from, which never changes. Default: the last
 * one, which is the oldest if new keys are inserted at the front.
 * @throws AssertionError if there is no key, an id is duplicate, invalid or missing, or a secret is not 32 bytes long.
 */
export function keysOf(masterKeys: readonly MasterKey[], publicIdKey?: string): Keys {
  const rings = masterKeys.map(ringOf);
  assert.equal(new Set(rings.map(({ id }) => id)).size, rings.length, 'key ids must differ');
  const [current] = rings;
  assert(current, 'there must be a key');
  const currentHead = sealHead(current.id);
  const ofPublicIds = publicIdKey === undefined ? rings.at(-1) : rings.find(({ id }) => id === publicIdKey);
  assert(ofPublicIds, 'the key of the public ids must be in the key file');
  const publicIdWords = wordsOf(ofPublicIds.deriveKey('public-id'));
  return {
    ids: rings.map(({ id }) => id),
    publicIds: publicIdsOf(publicIdWords),
    publicIdKey: publicIdWords,
    signers: rings.map(({ id, deriveKey }) => signerOf(id, () => deriveKey('checkpoint'))),
    digest: (purpose, text) => current.digest(purpose, text),
    digests: (purpose, text) => rings.map((ring) => ring.digest(purpose, text)),
    digestKeys: (purpose) => rings.map((ring) => ring.deriveKey(purpose)),
    seal(purpose, plain, boundTo, nonce) {
      assert.equal(nonce.length, sealNonceLength);
      const cipher = createCipheriv('aes-256-gcm', current.deriveKey(purpose), nonce);
      cipher.setAAD(Buffer.from(boundTo));
      const body = cipher.update(plain);
      // GCM keeps no bytes for the end.
      cipher.final();
      return Buffer.concat([currentHead, nonce, cipher.getAuthTag(), body]);
    },
    open(purpose, sealed, boundTo) {
      const bytes = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength);
      const nonceAt = 1 + (bytes[0] ?? 0);
      const tagAt = nonceAt + sealNonceLength;
      const keyId = bytes.toString('utf8', 1, nonceAt);
      const ring = rings.find(({ id }) => id === keyId);
      if (!ring) throw new Error(`sealed with the key "${keyId}", which the key file does not contain`);
      const decipher = createDecipheriv(
        'aes-256-gcm',
        ring.deriveKey(purpose),
        bytes.subarray(nonceAt, tagAt),
        { authTagLength: tagLength },
      );
      decipher.setAAD(Buffer.from(boundTo));
      decipher.setAuthTag(bytes.subarray(tagAt, tagAt + tagLength));
      return Buffer.concat([decipher.update(bytes.subarray(tagAt + tagLength)), decipher.final()]);
    },
  };
}

/** The prefix of everything that is sealed with a key: the length of its id, and the id. */
export function sealHead(keyId: string): Uint8Array {
  const id = Buffer.from(keyId);
  return Buffer.concat([Buffer.of(id.length), id]);
}

/** The length in bytes of the shortest non-empty text after it is sealed with a key. */
export function sealedLengthMin(keyId: string): number {
  return sealHead(keyId).length + sealNonceLength + tagLength + 1;
}

function ringOf({ id, secret }: MasterKey) {
  assert.match(
    id,
    /^[A-Za-z0-9._-]{1,64}$/,
    'a key id must have 1 to 64 letters, digits, dots, hyphens or underscores',
  );
  assert.equal(secret.length, 32, `the key "${id}" must have 32 bytes`);
  const byPurpose = new Map<Purpose, Buffer>();
  const deriveKey = (purpose: Purpose): Buffer => {
    let key = byPurpose.get(purpose);
    if (!key) {
      key = Buffer.from(hkdfSync('sha256', secret, '', `largesse/${purpose}`, 32));
      byPurpose.set(purpose, key);
    }
    return key;
  };
  return {
    id,
    deriveKey,
    digest: (purpose: Purpose, text: string): Uint8Array => keyedDigest(deriveKey(purpose), text),
  };
}

/** HMAC-SHA-256 of the text: 32 bytes. */
export function keyedDigest(key: Uint8Array, text: string): Uint8Array {
  return createHmac('sha256', key).update(text).digest();
}

/** PKCS #8 of an Ed25519 key, before the 32 bytes of its seed (RFC 8410). */
const ed25519Head = Buffer.from('302e020100300506032b657004220420', 'hex');
const publicKeyLength = 32;

/** Derives the key at its first use, because most processes sign nothing. */
function signerOf(keyId: string, seed: () => Uint8Array): Signer {
  let derived: KeyObject | undefined;
  const key = (): KeyObject =>
    (derived ??= createPrivateKey({
      key: Buffer.concat([ed25519Head, seed()]),
      format: 'der',
      type: 'pkcs8',
    }));
  return {
    keyId,
    publicKey: () =>
      createPublicKey(key()).export({ format: 'der', type: 'spki' }).subarray(-publicKeyLength),
    sign: (text) => sign(null, Buffer.from(text), key()),
  };
}

/** SubjectPublicKeyInfo of an Ed25519 key, before the 32 bytes of the public key (RFC 8410). */
const ed25519PublicHead = Buffer.from('302a300506032b6570032100', 'hex');

/** Whether a signature of a text was made with the private key of a public key. */
export function verifySignature(publicKey: Uint8Array, text: string, signature: Uint8Array): boolean {
  const key = Buffer.concat([ed25519PublicHead, publicKey]);
  return verify(null, Buffer.from(text), createPublicKey({ key, format: 'der', type: 'spki' }), signature);
}

function wordsOf(key: Buffer) {
  return [key.readUInt32LE(0), key.readUInt32LE(4), key.readUInt32LE(8), key.readUInt32LE(12)] as const;
}

/** Whether two byte strings are equal, compared in a time that does not depend on their content. */
export function sameBytes(left: Uint8Array, right: Uint8Array): boolean {
  return left.length === right.length && timingSafeEqual(left, right);
}
