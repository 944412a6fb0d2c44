/** The configuration: the environment in, a frozen Config out, every problem reported together. */

import { readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { Secret } from './domain/secret.ts';
import { isLoopback } from './loopback.ts';
import { problemOf, settings, type DatabaseLocation, type Setting, type ValuesOf } from './settings.ts';

export { isLoopback };
export type { DatabaseLocation, RateLimit } from './settings.ts';

/** What the command line needs to reach the database. */
export type DatabaseConfig = Omit<ValuesOf<typeof settings.database>, 'keysFile'> & {
  /** Absolute path of the key file. */
  readonly keysFile: string;
  readonly limits: Limits;
};

/** The mail server that emails are sent to. */
export type MailConfig = {
  readonly url: Secret;
  /** The sender of the envelope, and of stores that have no address of their own. */
  readonly from: string;
};

export type Config = DatabaseConfig &
  ValuesOf<typeof settings.service> & {
    /** Null: no email is sent. */
    readonly mail: MailConfig | null;
    /** Absolute path of the folder in which a service in development keeps emails. */
    readonly mailFolder: string;
    /** Whether only programs on this machine can reach `host`. */
    readonly isLoopback: boolean;
  };

/** The location of the database without user and password. */
export function shownLocation(location: DatabaseLocation): string {
  return location.kind === 'file' ? location.file : location.shown;
}

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
  /** How often the time is written to the database, for the next start to compare its clock with. */
  heartbeatPeriodMs: 60_000,
  /** A clock that is further than this from where it is expected has jumped. */
  clockJumpMaxMs: 5 * 60_000,
  /** How long a clock that has jumped, or that nothing confirms, must be stable until it is trusted. */
  clockStableMs: 60 * 60_000,
  /** How far the clock may be behind what the database has seen, and from its server's, at start. */
  clockOffsetMaxMs: 60 * 60_000,
  reminderPeriodMs: 5 * 60_000,
  readinessWaitMaxMs: 2_000,
});

export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  /** One sentence per variable: what is wrong, and what is accepted. */
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(`The configuration is wrong:\n${problems.map((problem) => `  ${problem}`).join('\n')}`);
    this.problems = problems;
  }
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Reads settings and collects what is wrong with them. An empty variable counts as absent. */
class Reader {
  readonly problems: string[] = [];
  readonly #environment: Environment;

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  read<T>(row: Setting<T>): T {
    const { variable, contains } = row;
    const text = contains ? this.#textOf(variable) : this.#environment[variable];
    if (text === undefined || text === '') return row.default;
    return this.#parse(row, variable, text);
  }

  /** The values of a group of settings. */
  readGroup<Group extends Readonly<Record<string, Setting<unknown>>>>(group: Group): ValuesOf<Group> {
    const values = Object.entries(group).map(([field, row]) => [field, this.read(row)]);
    // Each field has the value of its own row.
    return Object.fromEntries(values) as ValuesOf<Group>;
  }

  isGiven({ variable }: Setting<unknown>): boolean {
    return Boolean(this.#environment[variable]);
  }

  /** The location that an option of the command line names: a URL, `env:NAME` or `@path`. */
  readLocation(option: string, given: string): DatabaseLocation {
    const [, name] = /^env:(\w+)$/.exec(given) ?? [];
    const text = name === undefined ? this.#fileOr(given) : this.#environment[name];
    const row = {
      ...settings.database.database,
      accepts: `${settings.database.database.accepts}, \`env:NAME\` or \`@file\``,
    };
    if (text !== undefined && text !== '') return this.#parse(row, option, text);
    this.problems.push(
      `${option} must name a variable or a file that contains the URL of a database, not ${JSON.stringify(given)}`,
    );
    return row.default;
  }

  #parse<T>(row: Setting<T>, name: string, text: string): T {
    const value = row.parse(text);
    if (value !== undefined) return value;
    this.problems.push(problemOf(row, name, text));
    return row.default;
  }

  #fileOr(given: string): string | undefined {
    if (!given.startsWith('@')) return given;
    try {
      return readFileSync(given.slice(1), 'utf8').trim();
    } catch {
      return undefined;
    }
  }

  /** The text of a variable, or of the file that `<name>_FILE` names; undefined if there is none, or it is empty. */
  #textOf(name: string): string | undefined {
    const file = this.#environment[`${name}_FILE`];
    const text = this.#environment[name] || undefined;
    if (!file) return text;
    if (text) this.problems.push(`${name} and ${name}_FILE cannot both be set`);
    try {
      return readFileSync(file, 'utf8').trim() || undefined;
    } catch {
      this.problems.push(`${name}_FILE must be the path of a readable file, not ${JSON.stringify(file)}`);
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
  const service = reader.readGroup(settings.service);
  const database = readDatabase(reader);
  return reader.finish({
    ...database,
    ...service,
    isLoopback: isLoopback(service.host),
    mail: readMail(reader),
    mailFolder: join(dirname(database.keysFile), 'mails'),
  });
}

/**
 * `mayDevelop` for a command that needs nothing else of the configuration. In development webhooks may lead to this
 * machine, until the database holds a real store.
 */
export function isDevelopment(environment: Environment = process.env): boolean {
  const reader = new Reader(environment);
  const { host, isProduction } = settings.service;
  return mayDevelop({ isLoopback: isLoopback(reader.read(host)), isProduction: reader.read(isProduction) });
}

/** What the commands need that only work on the database. @throws ConfigError. */
export function readDatabaseConfig(environment: Environment = process.env): DatabaseConfig {
  const reader = new Reader(environment);
  return reader.finish(readDatabase(reader));
}

/** What the commands need that send emails. @throws ConfigError. */
export function readMailConfig(environment: Environment = process.env): MailConfig | null {
  const reader = new Reader(environment);
  return reader.finish({ mail: readMail(reader) }).mail;
}

/** The two databases of a copy. */
export type CopyConfig = {
  readonly source: DatabaseConfig;
  readonly target: DatabaseConfig;
  /** The options with a password in plain sight: other users of the machine see the arguments of a command. */
  readonly exposed: readonly string[];
};

/**
 * Reads the locations of two databases as `copy` accepts them: a URL, `env:NAME` for a variable that contains it, or
 * `@path` for a file. Other settings apply to both.
 * @throws ConfigError.
 */
export function readCopyConfig(
  given: { readonly from: string; readonly to: string },
  environment: Environment = process.env,
): CopyConfig {
  const reader = new Reader(environment);
  return reader.finish({
    source: readDatabase(reader, reader.readLocation('--from', given.from)),
    target: readDatabase(reader, reader.readLocation('--to', given.to)),
    exposed: (['from', 'to'] as const)
      .filter((name) => passwordInSight.test(given[name]))
      .map((name) => `--${name}`),
  });
}

const passwordInSight = /^\w+:\/\/(?:[^@/?#:]*:[^@/?#]+@|.*[?&]password=)/;

function readDatabase(reader: Reader, given?: DatabaseLocation): DatabaseConfig {
  const { database: location, ...others } = settings.database;
  const database = given ?? reader.read(location);
  const { keysFile, ...values } = reader.readGroup(others);
  const folder = database.kind === 'file' ? dirname(database.file) : resolve('data');
  return { ...values, database, keysFile: keysFile ?? join(folder, 'largesse.keys.json'), limits };
}

function readMail(reader: Reader): MailConfig | null {
  const { smtpUrl, mailFrom } = settings.email;
  const url = reader.read(smtpUrl);
  const from = reader.read(mailFrom);
  if (!url) return null;
  if (from === null && !reader.isGiven(mailFrom))
    reader.problems.push('MAIL_FROM must be set to the email address of the sender, because SMTP_URL is set');
  return from === null ? null : { url, from };
}
