/** Self-signed certificates for tests, with any names and any period. */

import { createPublicKey, generateKeyPairSync, sign, type KeyObject } from 'node:crypto';

export type IssuedCertificate = { readonly chain: string; readonly key: string };

type Bytes = Uint8Array | readonly number[];

function der(tag: number, ...parts: readonly Bytes[]): Buffer {
  const body = Buffer.concat(parts.map((part) => Uint8Array.from(part)));
  const { length } = body;
  const size = length < 128 ? [length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Uint8Array.from([tag, ...size]), body]);
}

const sequence = (...parts: readonly Bytes[]): Buffer => der(0x30, ...parts);
const ecdsaWithSha256 = sequence(der(6, [0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 2]));

function timeOf(instant: number): Buffer {
  const digits = new Date(instant).toISOString().replaceAll(/[-:T]|\.\d+/g, '');
  return der(0x18, Buffer.from(digits));
}

/**
 * @param names DNS names.
 * @param from when it is valid, ms since 1970 UTC.
 */
export function issueCertificateFor(
  names: readonly string[],
  {
    from,
    until,
    serial = 1,
    authorityKeyId,
  }: {
    readonly from: number;
    readonly until: number;
    readonly serial?: number;
    readonly authorityKeyId?: Uint8Array;
  },
): IssuedCertificate {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const name = sequence(der(0x31, sequence(der(6, [0x55, 4, 3]), der(12, Buffer.from('test')))));
  const subjectAltName = sequence(...names.map((each) => der(0x82, Buffer.from(each))));
  const keyId = authorityKeyId
    ? [sequence(der(6, [0x55, 0x1d, 0x23]), der(4, sequence(der(0x80, authorityKeyId))))]
    : [];
  const extensions = der(
    0xa3,
    sequence(sequence(der(6, [0x55, 0x1d, 0x11]), der(4, subjectAltName)), ...keyId),
  );
  const content = sequence(
    der(0xa0, der(2, [2])),
    der(2, [serial]),
    ecdsaWithSha256,
    name,
    sequence(timeOf(from), timeOf(until)),
    name,
    publicKeyOf(privateKey),
    extensions,
  );
  const bytes = sequence(content, ecdsaWithSha256, der(3, [0], sign('sha256', content, privateKey)));
  const lines = bytes.toString('base64').replaceAll(/.{64}(?=.)/g, '$&\n');
  return {
    chain: `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
  };
}

function publicKeyOf(key: KeyObject): Buffer {
  return createPublicKey(key).export({ type: 'spki', format: 'der' });
}
