/** Reads the files of a pass type certificate: a `.p12`, or PEM, and the certificate of Apple that issued it. */

import { createPrivateKey, X509Certificate, type KeyObject } from 'node:crypto';
import {
  credentialBytesMax,
  credentialPasswordLengthMax,
  type AppleProblem,
  type ReadApple,
} from '../../domain/wallet.ts';
import { Secret } from '../../../../platform/secret.ts';
import { openPkcs12 } from './pkcs12.ts';

type Files = {
  /** The certificate with its key. */
  readonly certificate: Uint8Array | undefined;
  /** Absent: the first file has it as well. */
  readonly intermediate: Uint8Array | undefined;
  readonly password: Secret;
};

type Found = { readonly keys: readonly KeyObject[]; readonly certificates: readonly X509Certificate[] };

class Unreadable extends Error {
  readonly problem: AppleProblem;

  constructor(problem: AppleProblem) {
    super(problem);
    this.problem = problem;
  }
}

/** @param now instant in ms. */
export async function readAppleCertificate(files: Files, now: number): Promise<ReadApple> {
  try {
    return { ok: true, certificate: await read(files, now) };
  } catch (error) {
    if (error instanceof Unreadable) return { ok: false, problem: error.problem };
    throw error;
  }
}

async function read({ certificate: file, intermediate, password }: Files, now: number) {
  if (!file) throw new Unreadable('missing');
  if (password.reveal().length > credentialPasswordLengthMax) throw new Unreadable('password');
  const first = await partsOf(file, password);
  const second = intermediate ? await partsOf(intermediate, password) : { certificates: [] };
  const [key] = first.keys;
  if (!key) throw new Unreadable('noKey');
  // Apple issues certificates for RSA keys only, and the signature of a pass has no other.
  if (key.asymmetricKeyType !== 'rsa') throw new Unreadable('keyKind');
  const certificates = [...first.certificates, ...second.certificates];
  const own = certificates.find((each) => each.checkPrivateKey(key));
  if (!own) throw new Unreadable('mismatch');
  const passTypeId = /^UID=(pass\.[\w.-]{1,100})$/m.exec(own.subject)?.[1];
  const teamId = /^OU=([A-Z0-9]{10})$/m.exec(own.subject)?.[1];
  if (passTypeId === undefined || teamId === undefined) throw new Unreadable('notPass');
  const expiresAt = own.validToDate.getTime();
  if (expiresAt <= now || own.validFromDate.getTime() > now) throw new Unreadable('expired');
  const issuer = certificates.find(
    (each) => each !== own && own.checkIssued(each) && own.verify(each.publicKey),
  );
  if (!issuer) throw new Unreadable('noIntermediate');
  return {
    passTypeId,
    teamId,
    expiresAt,
    certificate: own.toString(),
    intermediate: issuer.toString(),
    key: new Secret(key.export({ type: 'pkcs1', format: 'pem' })),
  };
}

/** The keys and certificates of a file, whatever its form is. */
async function partsOf(file: Uint8Array, password: Secret): Promise<Found> {
  if (file.length > credentialBytesMax) throw new Unreadable('size');
  const blocks = pemBlocks(Buffer.from(file).toString('latin1'));
  if (blocks.length > 0) return pemParts(blocks, password);
  const certificate = parsed(() => new X509Certificate(file));
  if (certificate) return { keys: [], certificates: [certificate] };
  const opened = await openPkcs12(file, password);
  if (opened === 'password' || opened === 'unreadable') throw new Unreadable(opened);
  return pemParts(pemBlocks(opened), new Secret(''));
}

type Block = { readonly label: string; readonly text: string };

/** The blocks of a PEM file (RFC 7468), and nothing between them. */
function pemBlocks(text: string): readonly Block[] {
  const begin = '-----BEGIN ';
  return text
    .split(begin)
    .slice(1)
    .flatMap((part) => {
      const label = part.slice(0, 40).split('-----', 1)[0] ?? '';
      const end = `-----END ${label}-----`;
      const endAt = part.indexOf(end);
      return endAt < 0 ? [] : [{ label, text: `${begin}${part.slice(0, endAt + end.length)}\n` }];
    });
}

function pemParts(blocks: readonly Block[], password: Secret): Found {
  const certificates = blocks.flatMap(({ label, text }) => {
    const found = label === 'CERTIFICATE' ? parsed(() => new X509Certificate(text)) : undefined;
    return found ? [found] : [];
  });
  const keyBlock = blocks.find(({ label }) => label.endsWith('PRIVATE KEY'));
  if (!keyBlock) return { keys: [], certificates };
  const key = parsed(() => createPrivateKey({ key: keyBlock.text, passphrase: password.reveal() }));
  if (!key) throw new Unreadable(keyBlock.text.includes('ENCRYPTED') ? 'password' : 'unreadable');
  return { keys: [key], certificates };
}

function parsed<Value>(parse: () => Value): Value | undefined {
  try {
    return parse();
  } catch {
    return undefined;
  }
}
