/** Self-made certificates with the form of Apple's: an authority, the certificate of a pass type, and that of the push service. */

import { generateKeyPairSync } from 'node:crypto';
import forge from 'node-forge';

export type Issued = { readonly certificate: string; readonly key: string };

type Names = readonly { readonly name?: string; readonly type?: string; readonly value: string }[];

type Request = {
  readonly subject: Names;
  readonly from: number;
  readonly until: number;
  readonly host?: string;
  readonly issuer?: Issued;
};

let serial = 1;

/** @param issuer absent: it signs itself, as an authority. */
export function issueRsa({ subject, from, until, host, issuer }: Request): Issued {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
  const key = privateKey.export({ type: 'pkcs1', format: 'pem' });
  const own = forge.pki.privateKeyFromPem(key);
  const made = forge.pki.createCertificate();
  made.publicKey = forge.pki.setRsaPublicKey(own.n, own.e);
  serial += 1;
  made.serialNumber = serial.toString(16).padStart(4, '0');
  made.validity.notBefore = new Date(from);
  made.validity.notAfter = new Date(until);
  made.setSubject([...subject]);
  made.setIssuer(issuer ? forge.pki.certificateFromPem(issuer.certificate).subject.attributes : [...subject]);
  made.setExtensions([
    { name: 'basicConstraints', cA: issuer === undefined, critical: true },
    ...(host === undefined ? [] : [{ name: 'subjectAltName', altNames: [{ type: 2, value: host }] }]),
  ]);
  made.sign(issuer ? forge.pki.privateKeyFromPem(issuer.key) : own, forge.md.sha256.create());
  return { certificate: forge.pki.certificateToPem(made), key };
}

/** An authority in the place of Apple's. */
export function issueAuthority(from: number, until: number): Issued {
  return issueRsa({
    subject: [
      { name: 'commonName', value: 'Worldwide Developer Relations (test)' },
      { name: 'organizationName', value: 'Test' },
    ],
    from,
    until,
  });
}

/** The certificate of a pass type. */
export function issuePassCertificate(
  issuer: Issued,
  {
    passTypeId,
    teamId = 'TEAM012345',
    ...period
  }: { readonly passTypeId: string; readonly teamId?: string; readonly from: number; readonly until: number },
): Issued {
  return issueRsa({
    subject: [
      { type: '0.9.2342.19200300.100.1.1', value: passTypeId },
      { name: 'commonName', value: `Pass Type ID: ${passTypeId}` },
      { name: 'organizationalUnitName', value: teamId },
      { name: 'organizationName', value: 'Flowers' },
    ],
    issuer,
    ...period,
  });
}

/** A `.p12` file as the keychain exports it. */
export function pkcs12({ certificate, key }: Issued, password: string, count = 2_048): Uint8Array {
  const asn1 = forge.pkcs12.toPkcs12Asn1(
    forge.pki.privateKeyFromPem(key),
    [forge.pki.certificateFromPem(certificate)],
    password,
    { algorithm: '3des', count },
  );
  return Buffer.from(forge.asn1.toDer(asn1).getBytes(), 'latin1');
}

/** A certificate in DER, as Apple publishes its own. */
export function derOf({ certificate }: Issued): Uint8Array {
  return Buffer.from(certificate.replaceAll(/-----[A-Z ]+-----|\s/g, ''), 'base64');
}
