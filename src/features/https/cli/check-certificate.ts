/** The certificate of HTTPS that the service itself serves. */

import { assessCertificate } from '../domain/failure.ts';
import type { HttpsConfig } from '../../../start/config.ts';
import {
  CertificateError,
  periodProblem,
  readCertificate,
  type Certificate,
} from '../platform/certificates/certificate.ts';
import { readCertificateFiles } from '../platform/certificates/files.ts';
import { openCertificateFolder, type StoredState } from '../platform/certificates/folder.ts';
import { systemClock } from '../../../platform/clock.ts';
import { failure, ok, warning, type DoctorFinding } from '../../../cli/finding.ts';

export async function checkCertificate(
  https: HttpsConfig,
  now = systemClock.now(),
): Promise<readonly DoctorFinding[]> {
  switch (https.kind) {
    case 'off':
      return [];
    case 'files':
      return await checkFilesOf(https, now);
    case 'auto':
      return await checkStored(https, now);
  }
}

const replaceFiles = 'replace TLS_CERT_FILE and TLS_KEY_FILE; the service uses new files within a minute';

async function checkFilesOf(
  files: HttpsConfig & { readonly kind: 'files' },
  now: number,
): Promise<readonly DoctorFinding[]> {
  try {
    return [periodFinding(await readCertificateFiles(files, files.host), { now, remedy: replaceFiles })];
  } catch (error) {
    if (error instanceof CertificateError) return [failure('certificate', error.message, replaceFiles)];
    throw error;
  }
}

async function checkStored(
  { folder: path, domain, directory }: HttpsConfig & { readonly kind: 'auto' },
  now: number,
): Promise<readonly DoctorFinding[]> {
  const folder = openCertificateFolder(path, domain);
  const stored = await folder.read('certificate');
  const state = await folder.read('state');
  const findings: DoctorFinding[] = [];
  const remedy = 'the log of the service says why it was not renewed';
  if (stored) findings.push(periodFinding(readCertificate(stored, domain), { now, remedy }));
  else if (!state?.failure)
    findings.push(
      warning(
        'certificate',
        `there is no certificate of ${directory} yet`,
        'start the service, which obtains it',
      ),
    );
  if (state?.failure) findings.push(failedFinding(state, state.failure, stored === null));
  return findings;
}

function failedFinding(
  { failures, nextAt }: StoredState,
  { why }: NonNullable<StoredState['failure']>,
  isMissing: boolean,
): DoctorFinding {
  const next = nextAt === null ? '' : `; the next attempt is at ${new Date(nextAt).toISOString()}`;
  const message = `${isMissing ? 'the certificate' : 'its renewal'} could not be obtained, ${failures} times${next}`;
  return isMissing ? failure('certificate', message, why) : warning('certificate', message, why);
}

function periodFinding(
  certificate: Certificate,
  { now, remedy }: { readonly now: number; readonly remedy: string },
): DoctorFinding {
  const problem = periodProblem(certificate, now);
  if (problem !== undefined) return failure('certificate', problem, remedy);
  const message = `valid until ${new Date(certificate.until).toISOString()}`;
  return assessCertificate(certificate, now) === 'warning'
    ? warning('certificate', `${message}, which is less than a quarter of its lifetime`, remedy)
    : ok('certificate', message);
}
