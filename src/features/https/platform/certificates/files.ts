/** The certificate in files of the operator, which are read again when they are replaced. */

import { errorText, withPath } from '../../../../platform/system-error.ts';
import { readFile } from 'node:fs/promises';
import type { FastifyBaseLogger } from 'fastify';
import type { Clock } from '../../../../platform/clock.ts';
import { CertificateError, periodProblem, readCertificate, type Certificate } from './certificate.ts';

export type CertificateFiles = {
  /** Paths of PEM files. */
  readonly certFile: string;
  readonly keyFile: string;
};

/** Reads the certificate for a host. @throws CertificateError that names the file and reads as a sentence. */
export async function readCertificateFiles(
  { certFile, keyFile }: CertificateFiles,
  host: string,
): Promise<Certificate> {
  const [chain, key] = await Promise.all([
    textOf('TLS_CERT_FILE', certFile),
    textOf('TLS_KEY_FILE', keyFile),
  ]);
  try {
    return readCertificate({ chain, key }, host);
  } catch (error) {
    if (!(error instanceof CertificateError)) throw error;
    throw new CertificateError(`TLS_CERT_FILE ${certFile} and TLS_KEY_FILE ${keyFile}: ${error.message}`, {
      cause: error,
    });
  }
}

async function textOf(variable: string, path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw new CertificateError(`${variable} cannot be read, because ${errorText(withPath(error, path))}`, {
      cause: error,
    });
  }
}

/**
 * Reads the files periodically, because a watch of the system misses files behind symbolic links.
 * @param first the certificate that is used now.
 * @returns ends it.
 */
export function watchCertificateFiles(
  files: CertificateFiles,
  {
    host,
    first,
    periodMs,
    clock,
    logger,
    replaced,
  }: {
    readonly host: string;
    readonly first: Certificate;
    readonly periodMs: number;
    readonly clock: Pick<Clock, 'now'>;
    readonly logger: Pick<FastifyBaseLogger, 'info' | 'error'>;
    /** Called with a certificate that differs from the last one. */
    readonly replaced: (certificate: Certificate) => void;
  },
): () => Promise<void> {
  let current = first;
  let problem: string | undefined;
  let logged: string | undefined;
  /** Logs a problem that is still there after a period: the two files are replaced one after the other. */
  const note = (found: string | undefined): void => {
    if (found !== undefined && found === problem && found !== logged) {
      logger.error(found);
      logged = found;
    }
    problem = found;
    if (found === undefined) logged = undefined;
  };
  const read = async (): Promise<void> => {
    try {
      const next = await readCertificateFiles(files, host);
      if (next.chain !== current.chain || next.key !== current.key) {
        current = next;
        replaced(next);
        logger.info({ until: new Date(next.until).toISOString() }, 'the certificate was replaced');
      }
      note(periodProblem(current, clock.now()));
    } catch (error) {
      note((error as Error).message);
    }
  };
  let reading = Promise.resolve();
  const timer = setInterval(() => {
    reading = reading.then(read);
  }, periodMs);
  timer.unref();
  return async () => {
    clearInterval(timer);
    await reading;
  };
}
