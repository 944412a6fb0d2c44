/** `largesse certificate` */

import { setTimeout as wait } from 'node:timers/promises';
import type { Command } from 'commander';
import { periodProblem, readCertificate } from '../platform/certificates/certificate.ts';
import { openCertificateFolder, type CertificateFolder } from '../platform/certificates/folder.ts';
import { systemClock } from '../../../platform/clock.ts';
import { readConfig, type HttpsConfig } from '../../../start/config.ts';
import { progressText } from '../../../start/message.ts';
import { checkCertificate } from './check-certificate.ts';
import { CommandError } from '../../../cli/failure.ts';
import { print, printJson } from '../../../cli/output.ts';

/** The longest time for an attempt of the service, with the checks before it. */
const waitMaxMs = 150_000;
const pollMs = 200;

type Options = { readonly wait?: boolean; readonly retry?: boolean; readonly json?: boolean };

export function addCertificateCommand(root: Command): void {
  root
    .command('certificate')
    .description('show the certificate of HTTPS, and why it could not be obtained or renewed')
    .option('--wait', 'wait until the service has a certificate, or has failed to obtain it')
    .option('--retry', 'let the next start of the service try at once, although an attempt failed')
    .option('--json', 'print JSON')
    .action(async ({ wait: isAwaited = false, retry = false, json = false }: Options) => {
      const { https } = readConfig();
      if (https.kind === 'off') throw new CommandError('HTTPS is off: set HTTPS to auto or files');
      if (retry) await forgetFailure(https);
      else if (isAwaited) await awaitCertificate(https);
      else await show(https, json);
    });
}

async function show(https: HttpsConfig, json: boolean): Promise<void> {
  const findings = await checkCertificate(https);
  const isSound = findings.every(({ status }) => status !== 'error');
  if (json) printJson({ ok: isSound, findings });
  else
    for (const { message, remedy } of findings) print(remedy === null ? message : `${message}\n→ ${remedy}`);
  if (!isSound) process.exitCode = 1;
}

function folderOf({ folder, domain }: HttpsConfig & { readonly kind: 'auto' }): CertificateFolder {
  return openCertificateFolder(folder, domain);
}

async function forgetFailure(https: HttpsConfig): Promise<void> {
  if (https.kind !== 'auto') throw new CommandError('the certificate is that of TLS_CERT_FILE');
  await folderOf(https).remove('state');
}

async function awaitCertificate(https: HttpsConfig): Promise<void> {
  if (https.kind !== 'auto') throw new CommandError('the certificate is that of TLS_CERT_FILE');
  const folder = folderOf(https);
  const until = systemClock.monotonic() + waitMaxMs;
  for (let shown = ''; ; await wait(pollMs)) {
    const state = await folder.read('state');
    const stored = await folder.read('certificate');
    if (state && progressText(state) !== shown) {
      shown = progressText(state);
      print(shown);
    }
    const isValid =
      stored && periodProblem(readCertificate(stored, https.domain), systemClock.now()) === undefined;
    if (isValid && state?.kind !== 'asking') return;
    if (state?.failure) throw new CommandError(state.failure.why);
    if (systemClock.monotonic() > until)
      throw new CommandError('the service has not obtained a certificate: does it run?');
  }
}
