/** Signs JSON Web Tokens with the key of a service account (RFC 7515, RS256). */

import { sign } from 'node:crypto';
import { promisify } from 'node:util';
import type { GoogleCredential } from '../../domain/wallet.ts';

const signAsync = promisify(sign);

/** Signs in a thread of the pool, because an RSA signature takes about a millisecond. */
export async function signedJwt({ key }: Pick<GoogleCredential, 'key'>, claims: object): Promise<string> {
  const content = [{ alg: 'RS256', typ: 'JWT' }, claims].map(encoded).join('.');
  const signature = await signAsync('sha256', Buffer.from(content), key.reveal());
  return `${content}.${signature.toString('base64url')}`;
}

function encoded(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}
