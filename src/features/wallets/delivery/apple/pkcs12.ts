/** Opens `.p12` files (RFC 7292). Node.js cannot: those of macOS are encrypted with RC2, which OpenSSL 3 has no longer. */

import type { Secret } from '../../../../platform/secret.ts';

/** The tags of ASN.1 (X.690, 8.3 and 8.7). */
const tags = { integer: 2, octetString: 4 } as const;

type Asn1 = { readonly type: number; readonly value: string | readonly Asn1[] };

/** More would block the process; programs use 2,048. */
const iterationsMax = 50_000;
const depthMax = 64;

/** The exponent of public keys, which certificates have. */
const exponent = 65_537;

/** Whether an integer can be a count of iterations that is too high. Other large numbers have more bytes. */
function isCount(bytes: Buffer): boolean {
  if (bytes.length > 5) return false;
  const value = bytes.readUIntBE(0, bytes.length);
  return value > iterationsMax && value !== exponent;
}

/** The key and the certificates in PEM, or why there are none. */
export async function openPkcs12(file: Uint8Array, password: Secret): Promise<string> {
  const { default: forge } = await import('node-forge');
  const bytes = Buffer.from(file).toString('latin1');
  /** Whether a count in it, or in a text of bytes that it contains, is too high. */
  const isCostly = (node: Asn1, depth: number): boolean => {
    if (depth > depthMax) return true;
    if (typeof node.value !== 'string') return node.value.some((each) => isCostly(each, depth + 1));
    if (node.type === tags.integer) return isCount(Buffer.from(node.value, 'latin1'));
    if (node.type !== tags.octetString) return false;
    const inner = attempt(() => forge.asn1.fromDer(node.value as string) as Asn1);
    return inner !== undefined && isCostly(inner, depth + 1);
  };
  const asn1 = attempt(() => forge.asn1.fromDer(bytes));
  if (!asn1 || isCostly(asn1, 0)) return 'unreadable';
  try {
    const opened = forge.pkcs12.pkcs12FromAsn1(asn1, password.reveal());
    const bags = opened.safeContents.flatMap(({ safeBags }) => safeBags);
    return bags
      .map(({ key, cert }) => {
        if (key) return forge.pki.privateKeyToPem(key);
        return cert ? forge.pki.certificateToPem(cert) : '';
      })
      .join('');
  } catch (error) {
    return /password|MAC/i.test(String(error)) ? 'password' : 'unreadable';
  }
}

function attempt<Value>(action: () => Value): Value | undefined {
  try {
    return action();
  } catch {
    return undefined;
  }
}
