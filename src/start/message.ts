/** The message at a terminal after the start: six lines, instead of log lines. */

import { emailTransportOf, isDevelopment, shownLocation, type Config } from './config.ts';
import { version } from '../platform/version.ts';

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
};

export function startMessage(config: Config, { port, developmentMode, setupToken }: Started): string {
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
    `  Mode  ${modeOf(config, developmentMode)}; ${emailsOf(config)}`,
  ];
  return `${lines.join('\n')}\n`;
}

function modeOf(config: Config, developmentMode: boolean): string {
  if (developmentMode)
    return 'development, with a demonstration store for programs on this machine until there is a shop';
  return isDevelopment(config) ? 'development' : 'production';
}

function emailsOf(config: Config): string {
  switch (emailTransportOf(config)) {
    case 'smtp':
      return 'emails are sent by the mail server of SMTP_URL';
    case 'folder':
      return `emails are kept in ${config.emailFolder}`;
    case 'none':
      return 'no email is sent, because SMTP_URL is not set';
  }
}
