/** A software authenticator with one passkey (ES256), which also makes responses that a browser would not make. */

import assert from 'node:assert/strict';
import { createHash, generateKeyPairSync, randomBytes, sign, type KeyObject } from 'node:crypto';

export type CreationOptions = {
  readonly challenge: string;
  readonly rp: { readonly id: string };
  readonly user: { readonly id: string };
};

export type RequestOptions = { readonly challenge: string; readonly rpId: string };

type Attestation = { readonly fmt: string; readonly attStmt: ReadonlyMap<string, unknown> };

export type Authenticator = {
  readonly credentialId: string;
  /** The counter of the next response. */
  signCount: number;
  isVerifying: boolean;
  attestation: Attestation;
  /** The JSON of the response to `create`. */
  create(options: CreationOptions, origin: string): string;
  /** The JSON of the response to `get`. */
  get(options: RequestOptions, origin: string): string;
};

/** CBOR (RFC 8949) of the values that attestations have. */
function cbor(value: unknown): Buffer {
  const head = (major: number, count: number): Buffer =>
    count < 24
      ? Buffer.of((major << 5) | count)
      : count < 256
        ? Buffer.of((major << 5) | 24, count)
        : Buffer.of((major << 5) | 25, count >> 8, count & 255);
  if (typeof value === 'number') return value < 0 ? head(1, -1 - value) : head(0, value);
  if (typeof value === 'string')
    return Buffer.concat([head(3, Buffer.byteLength(value)), Buffer.from(value)]);
  if (value instanceof Uint8Array) return Buffer.concat([head(2, value.length), value]);
  if (Array.isArray(value)) return Buffer.concat([head(4, value.length), ...value.map(cbor)]);
  assert.ok(value instanceof Map);
  return Buffer.concat([
    head(5, value.size),
    ...Array.from(value, ([name, part]) => Buffer.concat([cbor(name), cbor(part)])),
  ]);
}

function sha256(text: string | Uint8Array): Buffer {
  return createHash('sha256').update(text).digest();
}

function coseKey(publicKey: KeyObject): Buffer {
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' });
  const entries: readonly (readonly [number, unknown])[] = [
    [1, 2],
    [3, -7],
    [-1, 1],
    [-2, Buffer.from(x, 'base64url')],
    [-3, Buffer.from(y, 'base64url')],
  ];
  return cbor(new Map(entries));
}

export function openAuthenticator(): Authenticator {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const id = randomBytes(32);
  let userHandle = '';

  const clientDataOf = (type: string, challenge: string, origin: string): Buffer =>
    Buffer.from(JSON.stringify({ type, challenge, origin, crossOrigin: false }));
  const dataOf = (rpId: string, extra: Buffer): Buffer => {
    const count = Buffer.alloc(4);
    count.writeUInt32BE(own.signCount);
    const flags = 0x01 | (own.isVerifying ? 0x04 : 0) | (extra.length > 0 ? 0x40 : 0);
    return Buffer.concat([sha256(rpId), Buffer.of(flags), count, extra]);
  };
  const credentialOf = (response: object): string =>
    JSON.stringify({
      id: own.credentialId,
      rawId: own.credentialId,
      type: 'public-key',
      clientExtensionResults: {},
      response,
    });

  const own: Authenticator = {
    credentialId: id.toString('base64url'),
    signCount: 0,
    isVerifying: true,
    attestation: { fmt: 'none', attStmt: new Map() },
    create({ challenge, rp, user }, origin) {
      userHandle = user.id;
      const length = Buffer.of(0, id.length);
      const extra = Buffer.concat([Buffer.alloc(16), length, id, coseKey(publicKey)]);
      const { fmt, attStmt } = own.attestation;
      const attestation = new Map<string, unknown>([
        ['fmt', fmt],
        ['attStmt', attStmt],
        ['authData', dataOf(rp.id, extra)],
      ]);
      return credentialOf({
        clientDataJSON: clientDataOf('webauthn.create', challenge, origin).toString('base64url'),
        attestationObject: cbor(attestation).toString('base64url'),
        transports: ['internal', 'hybrid'],
      });
    },
    get({ challenge, rpId }, origin) {
      const [client, data] = [clientDataOf('webauthn.get', challenge, origin), dataOf(rpId, Buffer.alloc(0))];
      const signature = sign('sha256', Buffer.concat([data, sha256(client)]), privateKey);
      return credentialOf({
        clientDataJSON: client.toString('base64url'),
        authenticatorData: data.toString('base64url'),
        signature: signature.toString('base64url'),
        userHandle,
      });
    },
  };
  return own;
}
