/** The checks of connections: the mail server, its own port, and the URL that browsers use. */

import { emailTransportOf, machineRuleOf, type Config } from '../../../start/config.ts';
import { openToExamine } from '../../../start/database.ts';
import { hasEmailServers } from '../../emails/storage/server.ts';
import { trySignIn, type MailerOptions } from '../../emails/delivery/smtp.ts';
import { parseSmtpUrl } from '../../../platform/smtp-url.ts';
import { version } from '../../../platform/version.ts';
import { getJson, localUrl, textOfField } from '../../../cli/service-request.ts';
import { failure, messageOf, ok, warning, type DoctorFinding } from '../../../cli/finding.ts';

/** Together shorter than the limit of a check. */
const smtpTimeouts = { connectMs: 4_000, greetingMs: 4_000, responseMs: 4_000 } as const;
const requestMaxMs = 4_000;
/** The document of the API has about 400 kB. */
const documentBytesMax = 4 * 2 ** 20;

export async function checkEmails(
  config: Config,
  options: Partial<Pick<MailerOptions, 'timeouts' | 'authority'>> = {},
): Promise<readonly DoctorFinding[]> {
  const kind = emailTransportOf(config);
  if (kind === 'folder')
    return [ok('emails', `SMTP_URL is not set: in development, emails are kept in ${config.emailFolder}`)];
  if (kind === 'none' || !config.email) {
    const mayOwn = machineRuleOf(config) !== 'operator';
    if (mayOwn && (await hasOwnServers(config)))
      return [ok('emails', 'SMTP_URL is not set: only stores with a mail server of their own send email')];
    return [
      warning(
        'emails',
        'SMTP_URL is not set: no email is sent',
        mayOwn
          ? 'set the mail server under Settings, Emails, set SMTP_URL and MAIL_FROM, or send codes yourself'
          : 'set SMTP_URL and MAIL_FROM, or send codes yourself',
      ),
    ];
  }
  const server = parseSmtpUrl(config.email.url);
  const place = server.ok ? `${server.value.host}:${server.value.port}` : '';
  const failed = await trySignIn({ ...config.email, timeouts: smtpTimeouts, ...options });
  if (failed)
    return [
      failure(
        'emails',
        `the mail server ${place} does not accept this service: ${failed.response}`,
        failed.isOfTheSettings
          ? 'check the user, the password and the encryption in SMTP_URL, and the certificate of the server'
          : 'check the host and the port in SMTP_URL, and that a firewall lets this machine connect',
      ),
    ];
  const user = server.ok && server.value.user !== null ? 'signed in' : 'connected without a user';
  return [
    ok('emails', `${user} at ${place}, sender ${config.email.from}; "largesse mail test" sends an email`),
  ];
}

/** The finding about the database says why it cannot be read. */
async function hasOwnServers(config: Config): Promise<boolean> {
  try {
    await using storage = await openToExamine(config, { primariesFound() {} });
    return await storage.read(hasEmailServers);
  } catch {
    return false;
  }
}

export async function checkService(config: Config): Promise<readonly DoctorFinding[]> {
  if (config.port === 0) return [warning('service', 'PORT is 0, so the port is not known', 'set PORT')];
  const url = localUrl(config);
  let response;
  try {
    response = await getJson(`${url}/readyz`, { timeoutMs: requestMaxMs });
  } catch (error) {
    return [
      warning(
        'service',
        `the service does not respond at ${url}: ${messageOf(error)}`,
        'start it; if it runs, its HOST and PORT differ from those of this command',
      ),
    ];
  }
  const { status, json } = response;
  if (status === 200 && textOfField(json, 'status') === 'ready') return [ok('service', `ready at ${url}`)];
  if (textOfField(json, 'request_id') === undefined)
    return [failure('service', `another program responds at ${url}`, 'stop it, or set PORT to another port')];
  return [
    failure(
      'service',
      `the service at ${url} is not ready, status ${status}: ${textOfField(json, 'detail')}`,
      'the other findings, and the log of the service, say why',
    ),
  ];
}

/** @param ca a certificate authority (PEM) to trust instead of the public ones. */
export async function checkPublicUrl(
  { publicUrl, basePath, hasConsole, trustedProxies, isProduction, https }: Config,
  { isRunning, ca }: { readonly isRunning: boolean; readonly ca?: string },
): Promise<readonly DoctorFinding[]> {
  if (!publicUrl) {
    if (!hasConsole || !isProduction) return [ok('public_url', 'is not set, and not required')];
    return [
      warning(
        'public_url',
        'PUBLIC_URL is not set: only browsers on this machine reach the pages',
        'set PUBLIC_URL to the address of the pages, or CONSOLE=off if there are none',
      ),
    ];
  }
  const findings: DoctorFinding[] = [];
  const hasProxy = https.kind === 'off';
  if (hasProxy && publicUrl.protocol === 'https:' && trustedProxies.length === 0)
    findings.push(
      warning(
        'public_url',
        'PUBLIC_URL is https, which a proxy provides, and TRUSTED_PROXIES is empty: all clients count as one',
        'set TRUSTED_PROXIES to the address from which the proxy connects',
      ),
    );
  if (!isRunning)
    return [...findings, ok('public_url', 'not requested, because the service does not respond')];
  const base = `${publicUrl.origin}${basePath}`;
  const reached = await checkOrigin(base, { hasConsole, hasProxy, ca });
  return [...findings, ...reached];
}

type OriginOptions = {
  readonly hasConsole: boolean;
  readonly hasProxy: boolean;
  readonly ca: string | undefined;
};

async function checkOrigin(base: string, options: OriginOptions): Promise<readonly DoctorFinding[]> {
  const { hasConsole, hasProxy, ca } = options;
  const limits = { timeoutMs: requestMaxMs, ...(ca !== undefined && { ca }) };
  let health;
  try {
    health = await getJson(`${base}/healthz`, limits);
  } catch (error) {
    return [unreached(base, error, hasProxy)];
  }
  if (health.status !== 200 || textOfField(health.json, 'status') !== 'ok')
    return [anotherServer(base, health.status, hasProxy)];
  // The document names the PUBLIC_URL of the running service.
  const { json } = await getJson(`${base}/openapi.json`, { ...limits, bodyBytesMax: documentBytesMax });
  const { served, servedVersion } = identityOf(json);
  if (served !== base)
    return [
      failure(
        'public_url',
        `the service at ${base} has ${served === '' ? 'no PUBLIC_URL' : `the PUBLIC_URL ${served}`}`,
        'restart the service with the PUBLIC_URL that this command has',
      ),
    ];
  // The pages are found only with the Host of PUBLIC_URL.
  const { status } = await getJson(`${base}/sign-in`, { ...limits, bodyBytesMax: documentBytesMax });
  if (hasConsole && status === 404)
    return [
      failure(
        'public_url',
        `the proxy of ${base} replaces the Host of requests, so the pages are not found`,
        'let the proxy send the Host of the client unchanged',
      ),
    ];
  if (servedVersion !== version)
    return [
      warning(
        'public_url',
        `${base} is served by version ${servedVersion}, and this command has version ${version}`,
        'restart the service after an update, on every machine',
      ),
    ];
  const proxy = hasProxy ? ', and its proxy sends the Host of the client' : '';
  return [ok('public_url', `${base} reaches the service${proxy}`)];
}

function unreached(base: string, error: unknown, hasProxy: boolean): DoctorFinding {
  return warning(
    'public_url',
    `this machine does not reach ${base}/healthz: ${messageOf(error)}`,
    `open it in a browser on another machine; if that fails, check the name, the certificate and the ${hasProxy ? 'proxy' : 'firewall'}`,
  );
}

function anotherServer(base: string, status: number, hasProxy: boolean): DoctorFinding {
  return failure(
    'public_url',
    `${base}/healthz has status ${status} and is not a response of Largesse`,
    hasProxy
      ? 'let the proxy forward all paths to the service unchanged; below a path, set BASE_PATH to it'
      : 'correct the DNS record: the name leads to another server',
  );
}

/** Returns the URL and the version that the OpenAPI document names. */
function identityOf(json: unknown): { readonly served: string; readonly servedVersion: string } {
  const { externalDocs, info } = (json ?? {}) as { readonly externalDocs?: unknown; readonly info?: unknown };
  const reference = textOfField(externalDocs, 'url') ?? '';
  return { served: reference.replace(/\/docs$/, ''), servedVersion: textOfField(info, 'version') ?? '' };
}
