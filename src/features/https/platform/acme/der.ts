/** ASN.1 in DER, as far as certificate signing requests and the ids of certificates (RFC 9773) need it. */

import { createPublicKey, sign, X509Certificate, type KeyObject } from 'node:crypto';

const tags = { integer: 0x02, bits: 0x03, octets: 0x04, oid: 0x06, sequence: 0x30, set: 0x31 } as const;
/** `[0]` of a constructed type, `[0]` of bytes, `[2]` of a text (a DNS name), and `[3]` of a constructed type. */
const context = { constructed0: 0xa0, bytes0: 0x80, text2: 0x82, constructed3: 0xa3 } as const;

const oids = {
  ecdsaWithSha256: [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02],
  extensionRequest: [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x0e],
  subjectAltName: [0x55, 0x1d, 0x11],
  authorityKeyIdentifier: [0x55, 0x1d, 0x23],
} as const;

function lengthOf(length: number): readonly number[] {
  if (length < 0x80) return [length];
  return length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
}

function encode(tag: number, ...parts: readonly (Uint8Array | readonly number[])[]): Buffer {
  const body = Buffer.concat(parts.map((part) => Uint8Array.from(part)));
  return Buffer.concat([Uint8Array.from([tag, ...lengthOf(body.length)]), body]);
}

/** A certificate signing request in DER for a P-256 key, with an empty subject and one DNS name. */
export function signingRequestOf(domain: string, key: KeyObject): Buffer {
  const names = encode(tags.sequence, encode(context.text2, Buffer.from(domain)));
  const extension = encode(tags.sequence, encode(tags.oid, oids.subjectAltName), encode(tags.octets, names));
  const attribute = encode(
    tags.sequence,
    encode(tags.oid, oids.extensionRequest),
    encode(tags.set, encode(tags.sequence, extension)),
  );
  const content = encode(
    tags.sequence,
    encode(tags.integer, [0]),
    encode(tags.sequence),
    createPublicKey(key).export({ type: 'spki', format: 'der' }),
    encode(context.constructed0, attribute),
  );
  const algorithm = encode(tags.sequence, encode(tags.oid, oids.ecdsaWithSha256));
  return encode(tags.sequence, content, algorithm, encode(tags.bits, [0], sign('sha256', content, key)));
}

type Element = { readonly tag: number; readonly content: Buffer };

/** The elements in the content of another one. Stops at an element that is not complete. */
function elementsOf(content: Buffer): readonly Element[] {
  const elements: Element[] = [];
  for (let at = 0; at + 2 <= content.length;) {
    const tag = content.readUInt8(at);
    const first = content.readUInt8(at + 1);
    const bytes = first < 0x80 ? 0 : first & 0x7f;
    const start = at + 2 + bytes;
    if (bytes > 2 || start > content.length) break;
    const length = bytes === 0 ? first : content.readUIntBE(at + 2, bytes);
    if (start + length > content.length) break;
    elements.push({ tag, content: content.subarray(start, start + length) });
    at = start + length;
  }
  return elements;
}

function find(elements: readonly Element[], tag: number): Buffer {
  return elements.find((element) => element.tag === tag)?.content ?? Buffer.alloc(0);
}

/**
 * The id of a certificate in renewal information (RFC 9773, 4.1): its authority's key identifier and its serial number.
 * Null: the certificate does not name its authority's key.
 * @param chain in PEM, the certificate first.
 */
export function renewalIdOf(chain: string): string | null {
  const [outer] = elementsOf(new X509Certificate(chain).raw);
  const fields = elementsOf(find(elementsOf(outer?.content ?? Buffer.alloc(0)), tags.sequence));
  const serial = find(fields, tags.integer);
  const [list] = elementsOf(find(fields, context.constructed3));
  const extension = elementsOf(list?.content ?? Buffer.alloc(0))
    .map(({ content }) => elementsOf(content))
    .find((parts) => find(parts, tags.oid).equals(Uint8Array.from(oids.authorityKeyIdentifier)));
  const [identifier] = elementsOf(find(extension ?? [], tags.octets));
  const keyId = find(elementsOf(identifier?.content ?? Buffer.alloc(0)), context.bytes0);
  if (keyId.length === 0 || serial.length === 0) return null;
  return `${keyId.toString('base64url')}.${serial.toString('base64url')}`;
}
