/** Runs every check. */

import { ConfigError } from '../../../start/settings-reader.ts';
import { inspectEnvironment, readConfig, type Config } from '../../../start/config.ts';
import { readKeyFile } from '../../../platform/key-file.ts';
import type { SettingSource } from '../../../start/setting-sources.ts';
import { parseSmtpUrl } from '../../../platform/smtp-url.ts';
import { checkCertificate } from '../../https/cli/check-certificate.ts';
import { checkDatabase } from './database.ts';
import { checkConfiguration, checkNode } from './environment.ts';
import { checkDisk, checkFiles } from './files.ts';
import { checkNames, checked, type DoctorFinding } from '../../../cli/finding.ts';
import { checkEmails, checkPublicUrl, checkService } from './services.ts';

export type Examination = {
  readonly findings: readonly DoctorFinding[];
  readonly settings: readonly SettingSource[];
  /** Whether every setting is accepted; if not, only the program and the settings are examined. */
  readonly isConfigured: boolean;
};

export async function examine(): Promise<Examination> {
  const inspected = inspectEnvironment();
  const node = checkNode(process.versions);
  let config: Config;
  try {
    config = readConfig();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const findings = [...node, ...checkConfiguration(inspected, error.problems)];
    return { findings, settings: inspected.sources, isConfigured: false };
  }
  const uid = process.getuid?.();
  const secretFiles = inspected.sources.flatMap(({ source, text }) =>
    source === 'file' && text !== null ? [text] : [],
  );
  const keyFile = config.https.kind === 'files' ? [config.https.keyFile] : [];
  const files = { account: uid === undefined ? null : { uid }, secretFiles: [...secretFiles, ...keyFile] };
  const service = checked('service', () => checkService(config));
  const found = await Promise.all([
    checked('files', () => checkFiles(config, files)),
    checked('disk', () => checkDisk(config)),
    checked('database', () => checkDatabase(config)),
    checked('emails', () => checkEmails(config)),
    service,
    checked('certificate', () => checkCertificate(config.https)),
    checked('public_url', async () => {
      const isRunning = (await service).some(({ status }) => status === 'ok');
      return checkPublicUrl(config, { isRunning });
    }),
  ]);
  const findings = [...node, ...checkConfiguration(inspected, []), ...found.flat()];
  const redacted = redactorOf(config);
  return {
    findings: findings
      .toSorted((one, other) => checkNames.indexOf(one.check) - checkNames.indexOf(other.check))
      .map((finding) => ({ ...finding, message: redacted(finding.message) })),
    settings: inspected.sources,
    isConfigured: true,
  };
}

/** Shorter texts are part of other words, and do not protect anything. */
const secretLengthMin = 4;

/** Returns a function that removes secrets from a message, because the response of a server can repeat them. */
function redactorOf(config: Config): (text: string) => string {
  const { metricsToken, email, database, keysFile } = config;
  const server = email && parseSmtpUrl(email.url);
  const passwords = [
    server?.ok ? server.value.password?.reveal() : undefined,
    metricsToken?.reveal(),
    ...(database.kind === 'server' ? database.urls.map((url) => new URL(url.reveal()).password) : []),
    ...secretsOfKeys(keysFile),
  ].filter((text) => text !== undefined && text.length >= secretLengthMin);
  const forms = passwords.flatMap((text = '') => [
    text,
    decoded(text),
    encodeURIComponent(text),
    Buffer.from(text).toString('base64'),
  ]);
  return (text) => forms.reduce((shown, secret) => shown.replaceAll(secret, '[redacted]'), text);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function secretsOfKeys(path: string): readonly string[] {
  try {
    return (readKeyFile(path) ?? []).map(({ secret }) => Buffer.from(secret).toString('base64'));
  } catch {
    return [];
  }
}
