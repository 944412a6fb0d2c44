/** The configuration: the environment in, a frozen Config out, every problem reported together. */

import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseSenderAddress } from './domain/email.ts';
import { Secret } from './domain/secret.ts';
import { isLoopback } from './loopback.ts';
import { parseSmtpUrl } from './smtp-url.ts';

export { isLoopback };

const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

export type RateLimit = {
  /** Requests per second that a caller may make for ever. */
  readonly perSecond: number;
  /** Requests that a caller may make at once. */
  readonly burst: number;
};

/** Where the database is: a file of the embedded one, or a server. */
export type DatabaseLocation =
  | { readonly kind: 'file'; /** Absolute. */ readonly file: string }
  | {
      readonly kind: 'server';
      /** One a host; any of them may be the primary. */
      readonly urls: readonly Secret[];
      /** The address without user and password. */
      readonly shown: string;
    };

/** What the command line needs to reach the database. */
export type DatabaseConfig = {
  readonly database: DatabaseLocation;
  /** Absolute path of the key file. */
  readonly keysFile: string;
  /** Connections that one process may have to the server. */
  readonly connectionsMax: number;
  /** Into how many parts new tables on a server are divided by their store; null: they are whole. */
  readonly partitions: number | null;
  /** Whether the service may start although a standby that is not synchronous may be promoted. */
  readonly asynchronousStandbyAllowed: boolean;
  readonly limits: Limits;
};

/** The database's place as it may be told. */
export function shownLocation(location: DatabaseLocation): string {
  return location.kind === 'file' ? location.file : location.shown;
}

/** The mail server that mails are handed to. */
export type MailConfig = {
  readonly url: Secret;
  /** The sender of the envelope, and of stores that have no address of their own. */
  readonly from: string;
};

export type Config = DatabaseConfig & {
  /** Null: no mail is sent. */
  readonly mail: MailConfig | null;
  /** Absolute path of the folder in which a service in development keeps emails. */
  readonly mailFolder: string;
  readonly port: number;
  readonly host: string;
  /** Whether only programs on this machine can reach `host`. */
  readonly isLoopback: boolean;
  readonly isProduction: boolean;
  /** `''` or `/path` without a slash at its end. */
  readonly basePath: string;
  readonly logLevel: (typeof logLevels)[number];
  /** Null: off. */
  readonly rateLimit: RateLimit | null;
  /** Addresses and networks whose X-Forwarded-For is believed. */
  readonly trustedProxies: readonly string[];
  /** What a scraper from another machine has to present; null: only this machine may read the metrics. */
  readonly metricsToken: Secret | null;
  /** Searches and lookups of one caller that may find nothing per hour, if the store sets no limit of its own. */
  readonly lookupFailuresPerHour: number;
};

/** How emails are sent: by a mail server, into a folder on this machine, or not at all. */
export type MailWay = 'smtp' | 'folder' | 'none';

/** Whether this is development: a loopback address, and `NODE_ENV` is not `production`. */
export function mayDevelop({
  isLoopback: isLocal,
  isProduction,
}: Pick<Config, 'isLoopback' | 'isProduction'>): boolean {
  return isLocal && !isProduction;
}

export function mailWayOf(config: Config): MailWay {
  if (config.mail) return 'smtp';
  return mayDevelop(config) ? 'folder' : 'none';
}

/** The maxima of everything that could grow. */
export type Limits = { readonly [Name in keyof typeof limits]: number };

export const limits = Object.freeze({
  bodyBytesMax: 65_536,
  headerBytesMax: 16_384,
  headersMax: 100,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  keepAliveTimeoutMs: 65_000,
  /** How often connections are checked for the two timeouts of a request. */
  connectionsCheckPeriodMs: 1_000,
  /** How long a connection may take nothing of a response. */
  stallTimeoutMs: 60_000,
  /** After a response to a request that is not read to its end, what still arrives is discarded within these limits. */
  lingerIdleMs: 1_000,
  lingerMaxMs: 10_000,
  lingerBytesMax: 16 * 2 ** 20,
  connectionsMax: 4_096,
  /** Connections of one peer address (IPv6: of one /64) that is not a trusted proxy. */
  connectionsPerPeerMax: 1_024,
  /** When fewer places than this are free, each new connection closes the one that has been idle for longest. */
  connectionsSpare: 64,
  /** How long the rest of a request may take to arrive once the service is stopped. */
  stopReceiveTimeoutMs: 2_000,
  /** How long requests in flight may take once the service is told to stop. */
  stopTimeoutMs: 25_000,
  scriptsQueuedMax: 4_096,
  scriptsInGroupMax: 256,
  lockWaitMaxMs: 5_000,
  /** With less free space on the disk of the embedded database the service is not ready. */
  diskFreeBytesMin: 32 * 2 ** 20,
  /** Of a server: how long connecting to one host, waiting for a connection, and a script with all its waiting may take. */
  connectTimeoutMs: 2_000,
  connectionWaitMaxMs: 3_000,
  scriptMaxMs: 10_000,
  idleTransactionMaxMs: 15_000,
  rateLimitedCallersMax: 20_000,
  tokensRememberedMax: 4_096,
  shopsRememberedMax: 1_024,
  idempotencyKeysInFlightMax: 8_192,
  /** Searches of one signed-in storefront customer that may find nothing per hour. */
  customerLookupFailuresPerHour: 10,
  lookupCallersRememberedMax: 20_000,
  holdExpiryPeriodMs: 10_000,
  /** How often cards are looked for whose expiry is to be told. */
  expiryPeriodMs: 60_000,
  eventStreamsMax: 64,
  tokenUsesPeriodMs: 60_000,
  retiredCodesPeriodMs: 1_000,
  upkeepPeriodMs: 60_000,
  upkeepRowsMax: 500,
  /** One page of cards is verified in the background every so often. */
  auditPeriodMs: 5_000,
  readinessPeriodMs: 1_000,
  reminderPeriodMs: 5 * 60_000,
  readinessWaitMaxMs: 2_000,
});

export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  /** One a variable: its name and what it takes. */
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(`The configuration is wrong:\n${problems.map((problem) => `  ${problem}`).join('\n')}`);
    this.problems = problems;
  }
}

/** A text as it may be told: of an address only the scheme, because the rest may hold a password. */
function withoutPassword(text: string): string {
  return text.replace(/^(?!file:)([a-z]+:\/\/).*$/is, '$1…');
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Reads variables and collects what is wrong with them. An empty variable counts as absent. */
class Reader {
  readonly problems: string[] = [];
  readonly #environment: Environment;

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  /** `parse` answers undefined for a text that it does not take; `takes` says what it does. */
  read<T>(name: string, absent: T, takes: string, parse: (text: string) => T | undefined): T {
    const text = this.#environment[name];
    if (text === undefined || text === '') return absent;
    const value = parse(text);
    if (value !== undefined) return value;
    this.problems.push(`${name}=${withoutPassword(text)}: takes ${takes}`);
    return absent;
  }

  /** As `read`, of a text that may hold a password: `<name>_FILE` may name a file with it. */
  readHidden<T>(name: string, absent: T, takes: string, parse: (text: string) => T | undefined): T {
    const text = this.#textOf(name);
    if (text === undefined) return absent;
    const value = parse(text);
    if (value !== undefined) return value;
    this.problems.push(`${name}=${withoutPassword(text)}: takes ${takes}`);
    return absent;
  }

  isGiven(name: string): boolean {
    return Boolean(this.#environment[name]);
  }

  /** An address as an option gives it: itself, `env:NAME` or `@path`. */
  readAddress(option: string, absent: DatabaseLocation, given: string): DatabaseLocation {
    const [, name] = /^env:(\w+)$/.exec(given) ?? [];
    const text = name === undefined ? this.#fileOr(given) : this.#environment[name];
    if (text === undefined || text === '') {
      this.problems.push(`${option} ${withoutPassword(given)}: names nothing that holds an address`);
      return absent;
    }
    const location = parseLocation(text);
    if (!location)
      this.problems.push(`${option} ${withoutPassword(text)}: takes ${locationTakes}, env:NAME or @file`);
    return location ?? absent;
  }

  #fileOr(given: string): string | undefined {
    if (!given.startsWith('@')) return given;
    try {
      return readFileSync(given.slice(1), 'utf8').trim();
    } catch {
      return undefined;
    }
  }

  /** A secret from the variable, or from the file that `<name>_FILE` names. */
  readSecret(name: string, { lengthMin }: { readonly lengthMin: number }): Secret | null {
    const text = this.#textOf(name);
    if (text === undefined) return null;
    if (text.length < lengthMin)
      this.problems.push(`${name}: takes a secret of at least ${lengthMin} characters`);
    return new Secret(text);
  }

  /** The text of a variable, or of the file that `<name>_FILE` names; undefined if there is none, or it is empty. */
  #textOf(name: string): string | undefined {
    const file = this.#environment[`${name}_FILE`];
    const text = this.#environment[name] || undefined;
    if (!file) return text;
    if (text) this.problems.push(`${name} and ${name}_FILE: only one of them may be set`);
    try {
      return readFileSync(file, 'utf8').trim() || undefined;
    } catch {
      this.problems.push(`${name}_FILE=${file}: takes the path of a file that can be read`);
      return undefined;
    }
  }

  finish<T extends object>(value: T): Readonly<T> {
    if (this.problems.length > 0) throw new ConfigError(this.problems);
    return Object.freeze(value);
  }
}

/**
 * The configuration of the service.
 * @throws ConfigError that names every variable that is wrong.
 */
export function readConfig(environment: Environment = process.env): Config {
  const reader = new Reader(environment);
  const { host, isProduction } = readPlace(reader, environment);
  const database = readDatabase(reader);
  return reader.finish({
    ...database,
    mail: readMail(reader),
    mailFolder: join(dirname(database.keysFile), 'mails'),
    port: reader.read('PORT', 3000, 'a port from 0 (any free one) to 65535', parsePort),
    host,
    isLoopback: isLoopback(host),
    isProduction,
    basePath: reader.read(
      'BASE_PATH',
      '',
      'a path such as /apps/gcf/api, of letters, digits and -._~',
      parseBasePath,
    ),
    logLevel: reader.read('LOG_LEVEL', 'info', `one of ${logLevels.join(', ')}`, (text) =>
      logLevels.find((level) => level === text),
    ),
    rateLimit: reader.read<RateLimit | null>(
      'RATE_LIMIT',
      { perSecond: 500, burst: 1_000 },
      'requests per second and burst, such as 50/100, or off',
      parseRateLimit,
    ),
    trustedProxies: reader.read<readonly string[]>(
      'TRUSTED_PROXIES',
      [],
      'addresses or networks separated by commas, such as 10.0.0.0/8,::1',
      parseNetworks,
    ),
    lookupFailuresPerHour: reader.read(
      'LOOKUP_MISSES',
      1_000,
      'how many searches and lookups of a caller may find nothing per hour, from 1 to 100000',
      parseCount(100_000),
    ),
    metricsToken: reader.readSecret('METRICS_TOKEN', { lengthMin: 16 }),
  });
}

/**
 * `mayDevelop` for a command that needs nothing else of the configuration. In development webhooks may lead to this
 * machine, until the database holds a real store.
 */
export function isDevelopment(environment: Environment = process.env): boolean {
  const { host, isProduction } = readPlace(new Reader(environment), environment);
  return mayDevelop({ isLoopback: isLoopback(host), isProduction });
}

/** What the commands need that only work on the database. @throws ConfigError. */
export function readDatabaseConfig(environment: Environment = process.env): DatabaseConfig {
  const reader = new Reader(environment);
  return reader.finish(readDatabase(reader));
}

function readPlace(
  reader: Reader,
  environment: Environment,
): { readonly host: string; readonly isProduction: boolean } {
  const host = reader.read(
    'HOST',
    '127.0.0.1',
    'an address or host name, such as 127.0.0.1 or 0.0.0.0',
    (text) => (isIP(text) !== 0 || /^[a-z0-9.-]+$/i.test(text) ? text : undefined),
  );
  return { host, isProduction: environment['NODE_ENV'] === 'production' };
}

/** The two databases of a copy. */
export type CopyConfig = {
  readonly source: DatabaseConfig;
  readonly target: DatabaseConfig;
  /** The options with a password in plain sight: other users of the machine see what a command was called with. */
  readonly exposed: readonly string[];
};

/**
 * Reads two addresses as they are given to `copy`: the address itself, `env:NAME` for a variable that holds it, or
 * `@path` for a file. Everything else about the two databases is configured as ever.
 * @throws ConfigError.
 */
export function readCopyConfig(
  given: { readonly from: string; readonly to: string },
  environment: Environment = process.env,
): CopyConfig {
  const reader = new Reader(environment);
  const nowhere: DatabaseLocation = { kind: 'file', file: '' };
  const readAddress = (option: string, text: string): DatabaseLocation =>
    reader.readAddress(option, nowhere, text);
  return reader.finish({
    source: readDatabase(reader, readAddress('--from', given.from)),
    target: readDatabase(reader, readAddress('--to', given.to)),
    exposed: (['from', 'to'] as const)
      .filter((name) => passwordInSight.test(given[name]))
      .map((name) => `--${name}`),
  });
}

const passwordInSight = /^\w+:\/\/(?:[^@/?#:]*:[^@/?#]+@|.*[?&]password=)/;

const locationTakes =
  'the file of the embedded database, such as file:./data/largesse.db, or a server, such as postgres://user:password@host:5432/largesse';

function parseLocation(text: string): DatabaseLocation | undefined {
  return parseFileUrl(text) ?? parseServerUrl(text);
}

function readDatabase(reader: Reader, given?: DatabaseLocation): DatabaseConfig {
  const database =
    given ??
    reader.readHidden<DatabaseLocation>(
      'DATABASE_URL',
      { kind: 'file', file: resolve('data/largesse.db') },
      locationTakes,
      parseLocation,
    );
  const folder = database.kind === 'file' ? dirname(database.file) : resolve('data');
  return {
    database,
    keysFile: reader.read(
      'KEYS_FILE',
      join(folder, 'largesse.keys.json'),
      'the path of the key file',
      (text) => resolve(text),
    ),
    connectionsMax: reader.read('DATABASE_CONNECTIONS', 16, 'a number from 1 to 500', parseCount(500)),
    partitions: reader.read<number | null>('PARTITIONS', null, 'a number from 1 to 1024', parseCount(1024)),
    asynchronousStandbyAllowed: reader.read('ASYNCHRONOUS_STANDBY', false, 'allow or refuse', (text) =>
      ['allow', 'refuse'].includes(text) ? text === 'allow' : undefined,
    ),
    limits,
  };
}

/** What the commands need that send mails. @throws ConfigError. */
export function readMailConfig(environment: Environment = process.env): MailConfig | null {
  const reader = new Reader(environment);
  return reader.finish({ mail: readMail(reader) }).mail;
}

function readMail(reader: Reader): MailConfig | null {
  const url = reader.readSecret('SMTP_URL', { lengthMin: 1 });
  const from = reader.read<string | null>(
    'MAIL_FROM',
    null,
    'the address that mails are sent from, such as gift-cards@flowers.example',
    (text) => {
      const address = parseSenderAddress(text);
      return address.ok ? address.value : undefined;
    },
  );
  if (!url) return null;
  const server = parseSmtpUrl(url);
  if (!server.ok) reader.problems.push(`SMTP_URL: ${server.refusal}`);
  if (from === null && !reader.isGiven('MAIL_FROM'))
    reader.problems.push('MAIL_FROM: is needed with SMTP_URL; takes the address that mails are sent from');
  return from === null ? null : { url, from };
}

function parseFileUrl(text: string): DatabaseLocation | undefined {
  if (!text.startsWith('file:') || text.includes('?') || text.includes('#')) return undefined;
  try {
    const path = text.startsWith('file://') ? fileURLToPath(text) : text.slice('file:'.length);
    return path === '' || path.endsWith('/') ? undefined : { kind: 'file', file: resolve(path) };
  } catch {
    return undefined;
  }
}

/** Takes several hosts separated by commas, as PostgreSQL's own clients do. */
function parseServerUrl(text: string): DatabaseLocation | undefined {
  const [, user = '', hosts, path, query = ''] =
    /^postgres(?:ql)?:\/\/([^@/?#]*@)?([^@/?#]+)(\/[^/?#]+)(\?[^#]*)?$/.exec(text) ?? [];
  if (hosts === undefined || path === undefined) return undefined;
  const urls = hosts.split(',').map((host) => `postgres://${user}${host}${path}${query}`);
  if (!urls.every((url) => URL.canParse(url) && new URL(url).hostname !== '')) return undefined;
  return { kind: 'server', urls: urls.map((url) => new Secret(url)), shown: `postgres://${hosts}${path}` };
}

function parseCount(most: number): (text: string) => number | undefined {
  return (text) => {
    const count = /^\d{1,6}$/.test(text) ? Number(text) : Number.NaN;
    return count >= 1 && count <= most ? count : undefined;
  };
}

function parsePort(text: string): number | undefined {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  return port <= 65_535 ? port : undefined;
}

function parseBasePath(text: string): string | undefined {
  const path = text.replace(/\/$/, '');
  if (path === '') return '';
  const segments = path.split('/').slice(1);
  const isPath =
    path.startsWith('/') && segments.every((segment) => /^(?!\.{1,2}$)[A-Za-z0-9._~-]+$/.test(segment));
  return isPath ? path : undefined;
}

function parseRateLimit(text: string): RateLimit | null | undefined {
  if (text === 'off') return null;
  const [, rate, burst] = /^(\d{1,6}(?:\.\d{1,3})?)(?:[/,:; ]+(\d{1,6}))?$/.exec(text) ?? [];
  const perSecond = Number(rate);
  if (!(perSecond > 0)) return undefined;
  const most = burst === undefined ? Math.max(1, Math.ceil(perSecond * 2)) : Number(burst);
  return most >= 1 ? { perSecond, burst: most } : undefined;
}

function parseNetworks(text: string): readonly string[] | undefined {
  const networks = text.split(',').map((network) => network.trim());
  return networks.every(isNetwork) ? networks : undefined;
}

function isNetwork(text: string): boolean {
  const [address = '', prefix, ...rest] = text.split('/');
  const version = isIP(address);
  if (version === 0 || rest.length > 0) return false;
  return prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= (version === 4 ? 32 : 128));
}
