/** A software authenticator with one passkey (ES256), which also makes responses that a browser would not make. */

import assert from 'node:assert/strict';
import {
  createHash,
  createPrivateKey,
  generateKeyPairSync,
  randomBytes,
  sign,
  type KeyObject,
} from 'node:crypto';

export type CreationOptions = {
  readonly challenge: string;
  readonly rp: { readonly id: string };
  readonly user: { readonly id: string };
};

export type RequestOptions = { readonly challenge: string; readonly rpId: string };

type Attestation = { readonly fmt: string; readonly attStmt: ReadonlyMap<string, unknown> };

/** An attestation of the authenticator's data and the hash of the client's data. */
type Attest = (signed: Uint8Array) => Attestation;

/** The certificate and key of a manufacturer of authenticators: `C=US, O=Test, OU=Authenticator Attestation, CN=Test`. */
const certificate =
  'MIIB8zCCAZigAwIBAgIUGlfJn+7wH2UyWgUec5bZmXT3Be0wCgYIKoZIzj0EAwIwTzELMAkGA1UEBhMCVVMxDTALBgNVBAoMBFRlc3QxIjAgBgNVBAsMGUF1dGhlbnRpY2F0b3IgQXR0ZXN0YXRpb24xDTALBgNVBAMMBFRlc3QwIBcNMjYxMTIyMjAzODIyWhgPMjEyNjEwMjkyMDM4MjJaME8xCzAJBgNVBAYTAlVTMQ0wCwYDVQQKDARUZXN0MSIwIAYDVQQLDBlBdXRoZW50aWNhdG9yIEF0dGVzdGF0aW9uMQ0wCwYDVQQDDARUZXN0MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE70KLGdRzLKItuOYldOPv3IsH2b8NoM2/yttCRUtm4MPazyz2frJ1AiNdtdWclDjWjPUAZgROZpPWChi9vAZ+j6NQME4wHQYDVR0OBBYEFBJOFObavTTYYh4bx/My1AAPPuN7MB8GA1UdIwQYMBaAFBJOFObavTTYYh4bx/My1AAPPuN7MAwGA1UdEwEB/wQCMAAwCgYIKoZIzj0EAwIDSQAwRgIhAM8uRg40n2OK2ZlzpNNn95wPCK349CVD4Et7Kjm2191GAiEAtyTufczICh1W0rsQcNJs0UODfL/Nu/K/xfmTeoh+dQA=';
const manufacturerKey = createPrivateKey({
  format: 'jwk',
  key: {
    kty: 'EC',
    crv: 'P-256',
    x: '70KLGdRzLKItuOYldOPv3IsH2b8NoM2_yttCRUtm4MM',
    y: '2s8s9n6ydQIjXbXVnJQ41oz1AGYETmaT1goYvbwGfo8',
    d: '0cZ7y00-IufX5DXTpwCx_PxkG-iYGXSNc4HNnMVEc5k',
  },
});

export const withoutAttestation: Attest = () => ({ fmt: 'none', attStmt: new Map() });

/** A valid attestation with the certificate of a manufacturer. */
export const withCertificate: Attest = (signed) => ({
  fmt: 'packed',
  attStmt: new Map<string, unknown>([
    ['alg', -7],
    ['sig', sign('sha256', signed, manufacturerKey)],
    ['x5c', [Buffer.from(certificate, 'base64')]],
  ]),
});

export type Authenticator = {
  readonly credentialId: string;
  /** The counter of the next response. */
  signCount: number;
  isVerifying: boolean;
  attest: Attest;
  /** The JSON of the response to `create`. */
  create(options: CreationOptions, origin: string): string;
  /** The JSON of the response to `get`. */
  get(options: RequestOptions, origin: string): string;
};

/** CBOR (RFC 8949) of the values that attestations have. */
function cbor(value: unknown): Buffer {
  const head = (major: number, count: number): Buffer => {
    if (count < 24) return Buffer.of((major << 5) | count);
    if (count < 256) return Buffer.of((major << 5) | 24, count);
    return Buffer.of((major << 5) | 25, count >> 8, count & 255);
  };
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
    attest: withoutAttestation,
    create({ challenge, rp, user }, origin) {
      userHandle = user.id;
      const length = Buffer.of(0, id.length);
      const extra = Buffer.concat([Buffer.alloc(16), length, id, coseKey(publicKey)]);
      const [client, data] = [clientDataOf('webauthn.create', challenge, origin), dataOf(rp.id, extra)];
      const { fmt, attStmt } = own.attest(Buffer.concat([data, sha256(client)]));
      const attestation = new Map<string, unknown>([
        ['fmt', fmt],
        ['attStmt', attStmt],
        ['authData', data],
      ]);
      return credentialOf({
        clientDataJSON: client.toString('base64url'),
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
