/** Reads the configuration from environment variables, and reports all problems in one error. */

import cluster from 'node:cluster';
import { dirname, join, resolve } from 'node:path';
import type { MachineRule } from '../core/stores/domain/machine.ts';
import type { EmailConfig } from '../features/emails/delivery/transport.ts';
import type { EmailTransportKind } from '../http/services.ts';
import { certificateFolderOf } from '../features/https/platform/certificates/folder.ts';
import type { CertificateFiles } from '../features/https/platform/certificates/files.ts';
import { limits, type Limits } from '../platform/limits.ts';
import { isLoopback } from '../platform/loopback.ts';
import type { Retention } from '../core/storage/retention.ts';
import { settingDoubts, settingSources, type SettingDoubt, type SettingSource } from './setting-sources.ts';
import { settings, type ValuesOf } from './settings.ts';
import type { DatabaseLocation } from './setting-values.ts';
import { ConfigError, type Environment, SettingsReader } from './settings-reader.ts';

export type { DatabaseLocation } from './setting-values.ts';

/** The settings of commands that only use the database. */
export type DatabaseConfig = Omit<ValuesOf<typeof settings.database>, 'keysFile'> & {
  /** Absolute path of the key file. */
  readonly keysFile: string;
  readonly limits: Limits;
};

/** The HTTPS of the service itself. */
export type HttpsConfig =
  | { readonly kind: 'off' }
  | (HttpsPorts & {
      readonly kind: 'auto';
      /** The name in `PUBLIC_URL`. */
      readonly domain: string;
      /** The URL of the authority's directory. */
      readonly directory: string;
      /** Absolute path of the certificates that the authority's own server can have; null: the public ones. */
      readonly authorityFile: string | null;
      /** Absolute path of the folder of the certificate and its key. */
      readonly folder: string;
    })
  | (HttpsPorts & CertificateFiles & { readonly kind: 'files' });

type HttpsPorts = {
  /** The origin of `PUBLIC_URL`. */
  readonly origin: string;
  /** The name or address in `PUBLIC_URL`, as in a URL. */
  readonly host: string;
  readonly httpsPort: number;
  /** Null: off. */
  readonly httpPort: number | null;
};

export type Config = DatabaseConfig &
  ValuesOf<typeof settings.service> & {
    readonly https: HttpsConfig;
    /** The retention periods, by the kind of row. */
    readonly retention: Retention;
    /** Null: no mail server is configured. */
    readonly email: EmailConfig | null;
    /** Absolute path of the folder that emails are written to in development. */
    readonly emailFolder: string;
    /** Whether only programs on this machine can connect to `host`. */
    readonly isLoopback: boolean;
    /** Whether the database is a sandbox, which is known once it is open. */
    readonly isSandbox: boolean;
    readonly releases: ValuesOf<typeof settings.releases>;
    /** The service that `largesse mcp` uses. */
    readonly agent: ValuesOf<typeof settings.agent>;
  };

/** The location of the database without user and password. */
export function shownLocation(location: DatabaseLocation): string {
  return location.kind === 'file' ? location.file : location.shown;
}

/** Whether the service runs in development: on a loopback address, with a `NODE_ENV` other than `production`. */
export function isDevelopment({
  isLoopback: isLocal,
  isProduction,
}: Pick<Config, 'isLoopback' | 'isProduction'>): boolean {
  return isLocal && !isProduction;
}

/** The access of programs and browsers of other machines. */
export type LocalUse = {
  /** `isDevelopment`. */
  readonly isDevelopment: boolean;
  /** Whether `PUBLIC_URL` is set and names this machine. */
  readonly isPublicUrlLocal: boolean;
};

export function localUseOf(config: Pick<Config, 'isLoopback' | 'isProduction' | 'publicUrl'>): LocalUse {
  const { publicUrl } = config;
  return {
    isDevelopment: isDevelopment(config),
    isPublicUrlLocal: publicUrl !== null && isLoopback(publicUrl.hostname),
  };
}

export function emailTransportOf(config: Config): EmailTransportKind {
  if (config.isSandbox) return 'folder';
  if (config.email) return 'smtp';
  return isDevelopment(config) ? 'folder' : 'none';
}

/**
 * Reads the configuration of the service.
 * @throws ConfigError with the problems of all variables.
 */
export function readConfig(environment: Environment = process.env): Config {
  const reader = new SettingsReader(environment);
  const service = reader.readGroup(settings.service);
  const database = readDatabase(reader);
  const https = reader.readGroup(settings.https);
  return reader.finish({
    ...database,
    ...service,
    retention: retentionOf(reader.readGroup(settings.retention)),
    https: httpsOf(https, { ...database, ...service, problems: reader.problems }),
    isLoopback: isLoopback(service.host) && https.mode === 'off',
    email: readEmailSettings(reader),
    emailFolder: join(dirname(database.keysFile), 'mails'),
    isSandbox: false,
    releases: reader.readGroup(settings.releases),
    agent: reader.readGroup(settings.agent),
  });
}

/** Top-level domains of names that no public authority issues certificates for. */
const privateDomain = /\.(?:local|localhost|internal|lan|home|arpa)$/;

/** @param problems receives what is wrong. */
function httpsOf(
  { mode, certFile, keyFile, ...values }: ValuesOf<typeof settings.https>,
  {
    publicUrl,
    keysFile,
    problems,
  }: { readonly publicUrl: URL | null; readonly keysFile: string; readonly problems: string[] },
): HttpsConfig {
  if (mode === 'off') return { kind: 'off' };
  const because = `because HTTPS is ${mode}`;
  if (publicUrl?.protocol !== 'https:') {
    problems.push(
      `PUBLIC_URL must be set to an https origin, such as https://cards.flowers.example, ${because}`,
    );
    return { kind: 'off' };
  }
  const { origin, hostname: host } = publicUrl;
  const { httpsPort, httpPort, directory, authorityFile } = values;
  const common = { origin, host, httpsPort, httpPort };
  if (mode === 'files') {
    if (certFile === null || keyFile === null) {
      problems.push(`TLS_CERT_FILE and TLS_KEY_FILE must be set, ${because}`);
      return { kind: 'off' };
    }
    return { ...common, kind: mode, certFile, keyFile };
  }
  if (!/\.[a-z]/.test(host) || host.startsWith('[') || privateDomain.test(host))
    problems.push(`PUBLIC_URL must have a public domain name, not ${host}, ${because}`);
  if (httpPort === null) problems.push(`HTTP_PORT cannot be off, ${because}`);
  const folder = certificateFolderOf(keysFile);
  return { ...common, kind: mode, domain: host, directory, authorityFile, folder };
}

/** The options of `serve`. */
export type ServeOptions = { readonly domain?: string; readonly processes?: string };

/** The environment with which `serve` runs with these options. */
export function withServeOptions(
  { domain, processes }: ServeOptions,
  environment: Environment = process.env,
): Environment {
  return {
    ...environment,
    ...(domain !== undefined && { PUBLIC_URL: `https://${domain}`, HTTPS: 'auto' }),
    ...(processes !== undefined && { [settings.service.processes.variable]: processes }),
  };
}

/** The environment with which `sandbox` runs: with a database of its own, unless one is named. */
export function withSandbox(environment: Environment = process.env): Environment {
  const { variable } = settings.database.database;
  const isNamed = Boolean(environment[variable]) || Boolean(environment[`${variable}_FILE`]);
  return isNamed ? environment : { ...environment, [variable]: 'file:data/sandbox/largesse.db' };
}

/** The sockets that systemd has opened (sd_listen_fds): port 80, then port 443. Null: none. */
export type InheritedSockets = { readonly http: number; readonly https: number } | null;

/** @param pid the process that has them, which listens for those that it supervises. @throws ConfigError if there are others. */
export function readInheritedSockets(
  environment: Environment = process.env,
  pid = cluster.isWorker ? process.ppid : process.pid,
): InheritedSockets {
  const { LISTEN_PID, LISTEN_FDS } = environment;
  if (LISTEN_FDS === undefined || LISTEN_PID !== String(pid)) return null;
  if (LISTEN_FDS !== '2')
    throw new ConfigError([
      `systemd passes ${LISTEN_FDS} sockets, and the service needs two: port 80, then port 443, as in largesse.socket`,
    ]);
  return { http: 3, https: 4 };
}

const hourMs = 60 * 60 * 1_000;

function retentionOf(values: ValuesOf<typeof settings.retention>): Retention {
  const { eventsDays, emailsDays, deliveriesDays, sessionsDays, idempotencyHours, lookupsHours } = values;
  return {
    eventsMs: eventsDays === null ? null : eventsDays * 24 * hourMs,
    emailsMs: emailsDays === null ? null : emailsDays * 24 * hourMs,
    deliveriesMs: deliveriesDays * 24 * hourMs,
    sessionsMs: sessionsDays * 24 * hourMs,
    idempotencyMs: idempotencyHours * hourMs,
    lookupsMs: lookupsHours * hourMs,
  };
}

/** `localUseOf` for a command that does not read the whole configuration. */
export function readLocalUse(environment: Environment = process.env): LocalUse {
  const reader = new SettingsReader(environment);
  const { host, isProduction, publicUrl } = settings.service;
  return localUseOf({
    // HTTPS is served on every address.
    isLoopback: isLoopback(reader.read(host)) && reader.read(settings.https.mode) === 'off',
    isProduction: reader.read(isProduction),
    publicUrl: reader.read(publicUrl),
  });
}

/** Returns the source of each setting's value, and the variables that may not do what they are meant to do. */
export function inspectEnvironment(environment: Environment = process.env): {
  readonly sources: readonly SettingSource[];
  readonly doubts: readonly SettingDoubt[];
} {
  return { sources: settingSources(environment), doubts: settingDoubts(environment) };
}

/** Returns the address of the service, for a command that does not read the whole configuration. @throws ConfigError. */
export function readListenAddress(environment: Environment = process.env): Pick<Config, 'host' | 'port'> {
  const reader = new SettingsReader(environment);
  const { host, port } = settings.service;
  return reader.finish({ host: reader.read(host), port: reader.read(port) });
}

/** Reads the settings of commands that only use the database. @throws ConfigError. */
export function readDatabaseConfig(environment: Environment = process.env): DatabaseConfig {
  const reader = new SettingsReader(environment);
  return reader.finish(readDatabase(reader));
}

/** The people who may set the mail servers of stores. An owner of one of several stores must not decide about the machine. */
export function machineRuleOf({ machine, database }: Pick<Config, 'machine' | 'database'>): MachineRule {
  return machine ?? (database.kind === 'file' ? 'owner-of-one-store' : 'operator');
}

/** `machineRuleOf` for a command that does not read the whole configuration. */
export function readMachineRule(environment: Environment = process.env): MachineRule {
  const reader = new SettingsReader(environment);
  return machineRuleOf({
    machine: reader.read(settings.service.machine),
    database: readDatabase(reader).database,
  });
}

/** Reads the settings of commands that send emails. @throws ConfigError. */
export function readEmailConfig(environment: Environment = process.env): EmailConfig | null {
  const reader = new SettingsReader(environment);
  return reader.finish({ email: readEmailSettings(reader) }).email;
}

/** `emailTransportOf` for a command that does not read the whole configuration: whether the service sends email. */
export function sendsEmail(environment: Environment = process.env): boolean {
  return readEmailConfig(environment) !== null || readLocalUse(environment).isDevelopment;
}

/** The two databases of a copy. */
export type CopyConfig = {
  readonly source: DatabaseConfig;
  readonly target: DatabaseConfig;
  /** The options that contain a password. Other users of the machine can see the arguments of a command. */
  readonly exposed: readonly string[];
};

/**
 * Reads the locations of two databases for `copy`: a URL, `env:NAME` for a variable that contains one, or `@path` for a
 * file. Other settings apply to both.
 * @throws ConfigError.
 */
export function readCopyConfig(
  options: { readonly from: string; readonly to: string },
  environment: Environment = process.env,
): CopyConfig {
  const reader = new SettingsReader(environment);
  return reader.finish({
    source: readDatabase(reader, reader.readLocation('--from', options.from)),
    target: readDatabase(reader, reader.readLocation('--to', options.to)),
    exposed: (['from', 'to'] as const)
      .filter((name) => passwordInSight.test(options[name]))
      .map((name) => `--${name}`),
  });
}

const passwordInSight = /^\w+:\/\/(?:[^@/?#:]*:[^@/?#]+@|.*[?&]password=)/;

function readDatabase(reader: SettingsReader, chosen?: DatabaseLocation): DatabaseConfig {
  const { database: location, ...others } = settings.database;
  const database = chosen ?? reader.read(location);
  const { keysFile, ...values } = reader.readGroup(others);
  const folder = database.kind === 'file' ? dirname(database.file) : resolve('data');
  return { ...values, database, keysFile: keysFile ?? join(folder, 'largesse.keys.json'), limits };
}

function readEmailSettings(reader: SettingsReader): EmailConfig | null {
  const { smtpUrl, sender } = settings.email;
  const url = reader.read(smtpUrl);
  const from = reader.read(sender);
  if (!url) return null;
  if (from === null && !reader.isGiven(sender))
    reader.problems.push('MAIL_FROM must be set to the email address of the sender, because SMTP_URL is set');
  return from === null ? null : { url, from };
}
