/** A certificate with its private key: what it is for, and whether both belong together. */

import { createPrivateKey, X509Certificate, type KeyObject } from 'node:crypto';
import { isIP } from 'node:net';
import { createSecureContext } from 'node:tls';

export type Certificate = {
  /** The certificate and those of its authorities, in PEM. */
  readonly chain: string;
  /** The private key in PEM. */
  readonly key: string;
  /** When it is valid, ms since 1970 UTC. */
  readonly from: number;
  readonly until: number;
  readonly serial: string;
};

/** A certificate cannot be used. The message says why, and reads after a colon. */
export class CertificateError extends Error {
  override readonly name = 'CertificateError';
}

/** The first version of TLS that clients can use. */
export const tlsVersionMin = 'TLSv1.2';

/**
 * Checks a certificate with its key for a host. Its period is not checked.
 * @param host a name, or an address as in a URL.
 * @throws CertificateError.
 */
export function readCertificate(
  { chain, key }: Pick<Certificate, 'chain' | 'key'>,
  host: string,
): Certificate {
  const first = certificateOf(chain);
  if (!first.checkPrivateKey(privateKeyOf(key)))
    throw new CertificateError('the private key is not that of the certificate');
  const address = host.replace(/^\[(.*)\]$/, '$1');
  const covers = isIP(address) === 0 ? first.checkHost(address) : first.checkIP(address);
  if (covers === undefined)
    throw new CertificateError(`the certificate is for ${namesOf(first)}, not for ${host}`);
  try {
    createSecureContext({ cert: chain, key, minVersion: tlsVersionMin });
  } catch (error) {
    throw new CertificateError(`the certificate cannot be used for TLS: ${(error as Error).message}`, {
      cause: error,
    });
  }
  return {
    chain,
    key,
    from: Date.parse(first.validFrom),
    until: Date.parse(first.validTo),
    serial: first.serialNumber,
  };
}

/** The reason why a certificate is not valid at an instant (ms); undefined: it is valid. */
export function periodProblem(
  { from, until }: Pick<Certificate, 'from' | 'until'>,
  now: number,
): string | undefined {
  if (now >= until) return `the certificate has expired, on ${new Date(until).toISOString()}`;
  if (now < from)
    return `the certificate is not valid before ${new Date(from).toISOString()}: the clock of this machine may be wrong`;
  return undefined;
}

function certificateOf(chain: string): X509Certificate {
  try {
    return new X509Certificate(chain);
  } catch (error) {
    throw new CertificateError('the file has no certificate in PEM', { cause: error });
  }
}

function privateKeyOf(key: string): KeyObject {
  try {
    return createPrivateKey(key);
  } catch (error) {
    throw new CertificateError('the file has no private key in PEM without a password', { cause: error });
  }
}

const namesMax = 10;

function namesOf({ subjectAltName = '' }: X509Certificate): string {
  const names = subjectAltName.split(', ').map((name) => name.replace(/^(?:DNS|IP Address):/, ''));
  const shown = names.slice(0, namesMax).join(', ');
  if (subjectAltName === '') return 'no name';
  return names.length > namesMax ? `${shown} and others` : shown;
}
