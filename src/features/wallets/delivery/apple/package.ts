/** Packs and signs a pass (https://developer.apple.com/documentation/walletpasses/building-a-pass). */

import { createHash } from 'node:crypto';
import type { AppleCredential } from '../../domain/wallet.ts';
import type { Logo } from '../../../../core/stores/domain/logo.ts';
import { passTextNames } from '../../domain/apple-pass.ts';
import { squarePng } from '../../../../platform/png.ts';
import { storedZip } from '../../../../platform/zip-file.ts';
import { languageOf, languages } from '../../../emails/delivery/language.ts';

type PassParts = {
  /** `pass.json` */
  readonly content: object;
  readonly logo: Logo | null;
  /** `#rrggbb`: the ground of the icon, and its drawing. */
  readonly color: string;
  readonly textColor: string;
  /** When it is signed (ms). */
  readonly at: number;
};

/** Returns the bytes of the `.pkpass` file. */
export async function signedPass(
  credential: AppleCredential,
  { content, logo, color, textColor, at }: PassParts,
): Promise<Uint8Array> {
  const files = new Map<string, Uint8Array>([
    ['pass.json', Buffer.from(JSON.stringify(content))],
    ['icon.png', icon(29, color, textColor)],
    ['icon@2x.png', icon(58, color, textColor)],
    ['icon@3x.png', icon(87, color, textColor)],
    // A pass can have PNG images only.
    ...(logo?.type === 'image/png' ? [['logo.png', logo.content] as const] : []),
    ...languages.map((tag) => [`${tag}.lproj/pass.strings`, stringsOf(tag)] as const),
  ]);
  const hashes = Array.from(files, ([name, bytes]) => [name, createHash('sha1').update(bytes).digest('hex')]);
  const manifest = Buffer.from(JSON.stringify(Object.fromEntries(hashes)));
  files.set('manifest.json', manifest);
  files.set('signature', await signatureOf(manifest, credential, at));
  return await storedZip(files);
}

/** The texts of a language. */
function stringsOf(tag: string): Buffer {
  const { texts } = languageOf(tag);
  const lines = passTextNames.map((name) => `"${name}" = ${JSON.stringify(texts[name])};\n`);
  return Buffer.from(lines.join(''));
}

/** A card with a ribbon. */
function icon(side: number, color: string, textColor: string): Buffer {
  const within = (value: number, from: number, to: number): boolean =>
    value >= from * side && value < to * side;
  return squarePng(side, (x, y) => {
    const isCard = within(x, 0.16, 0.84) && within(y, 0.28, 0.72);
    const isRibbon = within(x, 0.34, 0.42) || within(y, 0.42, 0.5);
    return isCard && !isRibbon ? textColor : color;
  });
}

/** A detached PKCS #7 signature with the certificate of Apple that issued the store's. */
async function signatureOf(
  manifest: Uint8Array,
  { certificate, intermediate, key }: AppleCredential,
  at: number,
): Promise<Buffer> {
  const { default: forge } = await import('node-forge');
  const { oids } = forge.pki;
  const signed = forge.pkcs7.createSignedData();
  signed.content = forge.util.createBuffer(Buffer.from(manifest).toString('latin1'));
  signed.addCertificate(certificate);
  signed.addCertificate(intermediate);
  signed.addSigner({
    key: key.reveal(),
    certificate,
    digestAlgorithm: String(oids['sha256']),
    authenticatedAttributes: [
      { type: String(oids['contentType']), value: String(oids['data']) },
      { type: String(oids['messageDigest']) },
      // The types of the library say a text; a date is encoded as a time.
      { type: String(oids['signingTime']), value: new Date(at) as unknown as string },
    ],
  });
  signed.sign({ detached: true });
  return Buffer.from(forge.asn1.toDer(signed.toAsn1()).getBytes(), 'latin1');
}
