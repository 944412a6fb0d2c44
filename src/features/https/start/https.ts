/** HTTPS that the service serves itself: the two ports, and the certificate of an authority or of files. */

import { errorText, withPath } from '../../../platform/system-error.ts';
import { readFileSync } from 'node:fs';
import type { FastifyBaseLogger, FastifyInstance } from 'fastify';
import { clientAddresses } from '../../../http/client-address.ts';
import type { ListenPlace } from '../../../http/listen-place.ts';
import type { CertificateFailure } from '../domain/failure.ts';
import type { Metrics } from '../../../http/metrics.ts';
import { createPlainPort, type PlainPort } from '../http/plain-port.ts';
import { createSecurePort, type SecurePort } from '../http/secure-port.ts';
import {
  CertificateError,
  periodProblem,
  readCertificate,
  type Certificate,
} from '../platform/certificates/certificate.ts';
import { readCertificateFiles, watchCertificateFiles } from '../platform/certificates/files.ts';
import { makeCertificateFolder, openCertificateFolder } from '../platform/certificates/folder.ts';
import { CertificateKeeper } from '../platform/certificates/keeper.ts';
import { findAddresses } from '../platform/certificates/reach.ts';
import type { Clock } from '../../../platform/clock.ts';
import type { Random } from '../../../platform/random.ts';
import { tryLockFile } from '../../../database/sqlite/file-lock.ts';
import { readInheritedSockets, type Config, type HttpsConfig } from '../../../start/config.ts';
import { StartError } from '../../../start/error.ts';
import { securePortError } from '../../../start/listen.ts';

/** The certificate in use, for the server, the metrics and the pages. */
export type CertificateStatus = {
  /** Null: there is none yet. */
  period: Pick<Certificate, 'from' | 'until'> | null;
  /** Whether a certificate has replaced another one, which shows that renewals work. */
  isRenewed: boolean;
  /** The last failed attempt to obtain it; null: there is none. */
  failure: () => CertificateFailure | null;
};

/** The status before a certificate is loaded. */
export function noCertificate(): CertificateStatus {
  return { period: null, isRenewed: false, failure: () => null };
}

const dayInSeconds = 86_400;
const yearInSeconds = 31_536_000;

/**
 * The value of Strict-Transport-Security. Browsers remember it, and do not connect without a valid certificate in this
 * time, so the time is short until a renewal has worked.
 */
export function transportSecurityOf({ isRenewed }: Pick<CertificateStatus, 'isRenewed'>): string {
  return `max-age=${isRenewed ? yearInSeconds : dayInSeconds}`;
}

export type Https = {
  readonly ports: { readonly https: number; readonly http: number | null };
  /** The last outcome of an authority, for the terminal; null: the certificate is in files. */
  readonly keeper: CertificateKeeper | null;
  /** Accepts no more connections. Resolves when every connection has ended. */
  readonly close: () => Promise<void>;
};

type Parts = {
  readonly app: FastifyInstance;
  readonly status: CertificateStatus;
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  readonly random: Pick<Random, 'bytes'>;
  readonly metrics: Metrics;
  readonly logger: FastifyBaseLogger;
};

type ServedHttps = Exclude<HttpsConfig, { readonly kind: 'off' }>;

/**
 * Starts to serve HTTPS. Null: `HTTPS` is off.
 * @throws StartError if a port cannot be listened on, or a certificate in files cannot be used.
 */
export async function openHttps(config: Config, parts: Parts): Promise<Https | null> {
  const { https, limits } = config;
  const { app, logger, metrics } = parts;
  const sockets = readInheritedSockets();
  if (https.kind === 'off') {
    if (sockets)
      logger.warn('systemd passes ports 80 and 443, and HTTPS is off: connections to them are not accepted');
    return null;
  }
  const guards = {
    limits,
    isTrusted: clientAddresses(config.trustedProxies).isTrusted,
    onClosed: metrics.connectionClosed,
  };
  const secure = createSecurePort(app.server, guards);
  const source = await (https.kind === 'auto'
    ? certificateOfAuthority(https, secure, parts)
    : certificateOfFiles(https, secure, { ...parts, periodMs: limits.certificateFilesPeriodMs }));
  let keeper: CertificateKeeper | null = null;
  const plain = createPlainPort({
    ...guards,
    origin: https.origin,
    isSecure: () => isUsable(parts),
    problem: () => keeper?.state?.failure?.why ?? null,
    isSandbox: config.isSandbox,
    proofOf: async (token) => (await keeper?.proofOf(token)) ?? null,
  });
  try {
    const ports = await listenOnBoth({ plain, secure }, https, sockets);
    keeper = source.start(ports.http === authorityPort ? authorityPort : null);
    parts.status.failure = () => failureOf(keeper);
    return {
      ports,
      keeper,
      async close() {
        await Promise.all([source.stop(), keeper?.[Symbol.asyncDispose](), plain.close(), secure.close()]);
      },
    };
  } catch (error) {
    await Promise.all([source.stop(), plain.close(), secure.close()]);
    throw error;
  }
}

function failureOf(keeper: CertificateKeeper | null): CertificateFailure | null {
  const state = keeper?.state;
  return state?.failure ? { failures: state.failures, why: state.failure.why, nextAt: state.nextAt } : null;
}

/** An authority checks a domain on this port (RFC 8555, 8.3). */
const authorityPort = 80;

function isUsable({ status, clock }: Pick<Parts, 'status' | 'clock'>): boolean {
  return status.period !== null && clock.now() < status.period.until;
}

type CertificateSource = {
  /** Starts to obtain the certificate, if it is that of an authority. */
  readonly start: (probePort: number | null) => CertificateKeeper | null;
  readonly stop: () => Promise<void>;
};

/** @throws StartError if the files of the settings or the folder cannot be used. */
async function certificateOfAuthority(
  { domain, directory, authorityFile, folder: path }: ServedHttps & { readonly kind: 'auto' },
  secure: SecurePort,
  { status, clock, random, logger }: Parts,
): Promise<CertificateSource> {
  const authority = authorityFile === null ? null : readAuthority(authorityFile);
  makeCertificateFolder(path);
  const folder = openCertificateFolder(path, domain);
  const adopted = (certificate: Certificate, renewals: number): void => {
    secure.use(certificate);
    status.period = certificate;
    status.isRenewed = renewals > 0;
  };
  // Requests have the stored certificate from the first one on.
  const stored = await folder.read('certificate').catch(() => null);
  try {
    if (stored) adopted(readCertificate(stored, domain), stored.renewals);
  } catch {
    // The keeper reports it, and obtains another one.
  }
  return {
    start: (probePort) =>
      new CertificateKeeper({
        domain,
        directory,
        authority,
        folder,
        tryLock: () => tryLockFile(folder.lockFile),
        findAddresses,
        probePort,
        clock,
        random,
        logger,
        adopted: (certificate, { renewals }) => adopted(certificate, renewals),
      }),
    stop: () => Promise.resolve(),
  };
}

function readAuthority(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new StartError(`ACME_CA_FILE cannot be read, because ${errorText(withPath(error, file))}`, {
      cause: error,
      isPermanent: true,
    });
  }
}

/** @throws StartError if the certificate cannot be used. An expired one can, and is logged. */
async function certificateOfFiles(
  files: ServedHttps & { readonly kind: 'files' },
  secure: SecurePort,
  { status, clock, logger, periodMs }: Parts & { readonly periodMs: number },
): Promise<CertificateSource> {
  const { host } = files;
  let first: Certificate;
  try {
    first = await readCertificateFiles(files, host);
  } catch (error) {
    if (error instanceof CertificateError)
      throw new StartError(error.message, { cause: error, isPermanent: true });
    throw error;
  }
  const problem = periodProblem(first, clock.now());
  if (problem !== undefined) logger.error({ file: files.certFile }, problem);
  const use = (certificate: Certificate): void => {
    secure.use(certificate);
    status.period = certificate;
  };
  use(first);
  const stop = watchCertificateFiles(files, {
    host,
    first,
    periodMs,
    clock,
    logger,
    replaced(certificate) {
      use(certificate);
      status.isRenewed = true;
    },
  });
  return { start: () => null, stop };
}

/** @throws StartError if a port cannot be listened on. */
async function listenOnBoth(
  { plain, secure }: { readonly plain: PlainPort; readonly secure: SecurePort },
  { httpsPort, httpPort }: ServedHttps,
  sockets: ReturnType<typeof readInheritedSockets>,
): Promise<Https['ports']> {
  const http = sockets ? { fd: sockets.http } : httpPort !== null && { port: httpPort };
  return {
    http: http === false ? null : await listenAt(plain, http, 'HTTP_PORT'),
    https: await listenAt(secure, sockets ? { fd: sockets.https } : { port: httpsPort }, 'HTTPS_PORT'),
  };
}

/** @param variable the setting of the port. @throws StartError. */
async function listenAt(
  port: Pick<PlainPort, 'listen'>,
  place: ListenPlace,
  variable: string,
): Promise<number> {
  try {
    return await port.listen(place);
  } catch (error) {
    throw securePortError(error, { place, variable });
  }
}
