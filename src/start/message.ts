/** The message at a terminal after the start: six lines instead of log lines, below the QR code of a setup link. */

import type { Https } from '../features/https/start/https.ts';
import { emailTransportOf, isDevelopment, shownLocation, type Config } from './config.ts';
import type { EmailSetup } from '../features/emails/start/email.ts';
import type { Log } from '../platform/log.ts';
import type { StoredState } from '../features/https/platform/certificates/folder.ts';
import { isLoopback } from '../platform/loopback.ts';
import { version } from '../platform/version.ts';
import { terminalQr } from './terminal-qr.ts';

/** Returns the origin at which a browser reaches the service: `https://cards.flowers.example`, or this machine. */
function browserOrigin({ publicUrl }: Pick<Config, 'publicUrl'>, port: number): string {
  return publicUrl?.origin ?? `http://localhost:${port}`;
}

/** The URL of a link to set up the service. */
export function setupUrl(
  config: Pick<Config, 'publicUrl' | 'basePath'>,
  port: number,
  token: string,
): string {
  return `${browserOrigin(config, port)}${config.basePath}/setup/${token}`;
}

export type Started = {
  /** The port that the service listens on. */
  readonly port: number;
  /** Whether requests from this machine use the demonstration store without a credential. */
  readonly developmentMode: boolean;
  /** The token of a link to set up the service; null: it has an owner, or no pages. */
  readonly setupToken: string | null;
  /** Whether stores have mail servers of their own. */
  readonly hasOwnServers: boolean;
};

export function startMessage(
  config: Config,
  { port, developmentMode, setupToken, hasOwnServers }: Started,
): string {
  const home = `${browserOrigin(config, port)}${config.basePath}`;
  const open =
    setupToken === null
      ? `${home}/`
      : `${setupUrl(config, port, setupToken)} (sets up your shop, once, in the next 24 hours)`;
  const lines = [
    `Largesse ${version}`,
    `  Open  ${open}`,
    `  API   ${home}/docs`,
    `  Data  ${shownLocation(config.database)}`,
    `  Keys  ${config.keysFile}`,
    `  Mode  ${modeOf(config, developmentMode)}; ${emailsOf(config, hasOwnServers)}`,
  ];
  const qr = setupToken === null ? '' : setupQr(config, setupUrl(config, port, setupToken));
  return `${qr}${lines.join('\n')}\n`;
}

/** The QR code of a setup link at a terminal; empty: phones cannot open it. */
export function setupQr({ publicUrl }: Pick<Config, 'publicUrl'>, url: string): string {
  return publicUrl && !isLoopback(publicUrl.hostname) ? terminalQr(url) : '';
}

function modeOf(config: Config, developmentMode: boolean): string {
  if (config.isSandbox) return 'sandbox: gift cards have no value';
  if (developmentMode)
    return 'development, with a demonstration store for programs on this machine until there is a shop';
  return isDevelopment(config) ? 'development' : 'production';
}

function emailsOf(config: Config, hasOwnServers: boolean): string {
  switch (emailTransportOf(config)) {
    case 'smtp':
      return 'emails are sent by the mail server of SMTP_URL';
    case 'folder':
      return `emails are kept in ${config.emailFolder}`;
    case 'none':
      return hasOwnServers
        ? 'emails are sent by the mail servers of the stores'
        : 'no email is sent, because SMTP_URL is not set';
  }
}

/**
 * The lines about the first attempt to obtain a certificate, before the message; empty: none was made.
 * @param startedAt when the service started, ms since 1970 UTC.
 */
export function certificateText(state: StoredState | null, startedAt: number): string {
  if (state === null || state.at < startedAt) return '';
  return `${progressText(state)}\n${state.failure ? `${state.failure.why}\n` : ''}`;
}

const steps = [
  { name: 'dns', title: 'DNS' },
  { name: 'port', title: 'port 80' },
  { name: 'order', title: 'certificate' },
] as const;

/**
 * The steps to a certificate: `DNS ✓ · port 80 ✓ · certificate ✓ 0.6 s`. With `?`, a router can be the reason why no request
 * of this machine has reached it.
 */
export function progressText({
  failure,
  tookMs,
  step,
  isReached,
}: Pick<StoredState, 'failure' | 'tookMs' | 'step' | 'isReached'>): string {
  const place = steps.findIndex(({ name }) => name === step);
  const marks = steps.slice(0, place + 1).map(({ name, title }, index) => {
    if (tookMs !== null) return `${title} ✓`;
    if (index < place) return `${title} ${name === 'port' && !isReached ? '?' : '✓'}`;
    return `${title} ${failure ? '✗' : '…'}`;
  });
  return `${marks.join(' · ')}${tookMs === null ? '' : ` ${(tookMs / 1_000).toFixed(1)} s`}`;
}

/** Writes to a terminal; undefined: the stream is not a terminal. */
export function terminalOf(stream: NodeJS.WriteStream): ((text: string) => void) | undefined {
  return stream.isTTY ? (text) => void stream.write(text) : undefined;
}

/** Logs where the service serves, and what it does not do. */
export function logStart(
  config: Config,
  {
    url,
    ports,
    developmentMode,
    email: { transportKind, kept },
    hasSetup,
    hasOwnServers,
    process,
    logger,
  }: {
    readonly url: string;
    /** The ports of HTTPS; undefined: it is off. */
    readonly ports: Https['ports'] | undefined;
    readonly developmentMode: boolean;
    readonly email: EmailSetup;
    /** Whether the service waits for its first owner. */
    readonly hasSetup: boolean;
    readonly hasOwnServers: boolean;
    /** The number of this process; undefined: it is the only one. */
    readonly process: number | undefined;
    readonly logger: Log['logger'];
  },
): void {
  logger.info(
    {
      url: `${url}${config.basePath}`,
      docs: `${url}${config.basePath}/docs`,
      database: shownLocation(config.database),
      ...(ports && { https_port: ports.https, http_port: ports.http }),
      ...(kept && { emails: `${url}${config.basePath}/dev/mails` }),
      process,
    },
    'largesse serves',
  );
  // The first process logs the rest for all.
  if (process !== undefined && process > 1) return;
  // The link itself is not logged, because a log is stored for longer, and more people read it.
  if (hasSetup)
    logger.info('there is no owner yet: "largesse setup link" prints a link to set up the shop in a browser');
  if (config.isSandbox)
    logger.warn('the database is a sandbox: its gift cards have no value, and no email is sent');
  else if (transportKind === 'folder') {
    logger.warn(
      { folder: config.emailFolder },
      'SMTP_URL is not set: the emails of every store are kept in the folder and are not sent',
    );
  }
  if (transportKind === 'none') {
    if (hasOwnServers)
      logger.info('SMTP_URL is not set: only stores with a mail server of their own send email');
    else
      logger.warn(
        'SMTP_URL is not set: no email is sent, and the response to the creation of a card that would be emailed has the header Email-Status: not-configured',
      );
  }
  if (developmentMode) {
    logger.warn(
      'DEVELOPMENT MODE: until the database contains a real store, requests from this machine do not need a credential and use the demonstration store',
    );
  }
}
