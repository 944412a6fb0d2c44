/** The link with which a person adds a card to Google Wallet (https://developers.google.com/wallet/reference/rest/v1/Jwt). */

import type { GoogleCredential } from '../../domain/wallet.ts';
import { Secret } from '../../../../platform/secret.ts';
import { signedJwt } from './jwt.ts';

const saveOrigin = 'https://pay.google.com';

type SaveParts = {
  readonly objectId: string;
  readonly classId: string;
  /** The origin of the page that has the link. */
  readonly origin: string;
  /** When it is signed (ms). */
  readonly at: number;
};

/**
 * The token has only the ids. Google has the object already, because a link must have at most 1,800 characters, and
 * because the code in it would be in the history of the browser.
 */
export async function saveLink(
  credential: GoogleCredential,
  { objectId, classId, origin, at }: SaveParts,
): Promise<Secret> {
  const token = await signedJwt(credential, {
    iss: credential.account,
    aud: 'google',
    typ: 'savetowallet',
    iat: Math.floor(at / 1_000),
    origins: [origin],
    payload: { giftCardObjects: [{ id: objectId, classId }] },
  });
  return new Secret(`${saveOrigin}/gp/v/save/${token}`);
}
