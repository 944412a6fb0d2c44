/**
 * Every setting of the service: its environment variable, its default, what it means and what it accepts.
 *
 * The type of the configuration, `largesse serve --help` and docs/settings.md are derived from this table. To add a
 * setting, add a row, run `npm run docs:settings` and add its values to test/unit/config.test.ts.
 */

import type { RateLimit } from '../platform/limits.ts';
import { resolve } from 'node:path';
import { parseSenderAddress } from '../core/domain/email-address.ts';
import { Secret } from '../platform/secret.ts';
import { parseSmtpUrl } from '../platform/smtp-url.ts';
import { agentSettings } from './agent-settings.ts';
import { releaseSettings } from '../features/upgrade/start/release-settings.ts';
import {
  explainPort,
  parsePort,
  parseHost,
  parseBasePath,
  parseRateLimit,
  parseCount,
  parseDays,
  parseHours,
  parsePermission,
  parseSwitch,
  parsePortOrOff,
  parseSecureUrl,
  parseOrigin,
  parseNetworks,
  parseFileUrl,
  parseServerUrl,
  type DatabaseLocation,
  type Setting,
} from './setting-values.ts';

export type { Setting } from './setting-values.ts';

/** The values of a group of settings. */
export type ValuesOf<Group> = {
  readonly [Field in keyof Group]: Group[Field] extends Setting<infer T> ? T : never;
};

const httpsModes = ['off', 'auto', 'files'] as const;
const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

function setting<T>(row: Setting<T>): Setting<T> {
  return row;
}

/** The values of `HTTPS` with which a setting has an effect. */
function withHttps(
  ...values: readonly (typeof httpsModes)[number][]
): NonNullable<Setting<unknown>['usedWith']> {
  return { variable: 'HTTPS', values };
}

const serviceSettings = {
  port: setting({
    variable: 'PORT',
    description: 'The port to listen on.',
    accepts: 'a port from 0 (any free one) to 65535',
    default: 3_000,
    shownDefault: '`3000`',
    parse: parsePort,
    explain: explainPort,
  }),
  host: setting({
    variable: 'HOST',
    description: 'The address or host name to listen on.',
    accepts: 'an address or host name, such as `127.0.0.1` or `0.0.0.0`',
    default: '127.0.0.1',
    shownDefault: '`127.0.0.1`',
    parse: parseHost,
  }),
  isProduction: setting({
    variable: 'NODE_ENV',
    description:
      'With `production`, the service requires `PUBLIC_URL`, or a store and a token, and emails are sent by a mail server or not at all.',
    accepts: '`production`; any other text means development',
    default: false,
    shownDefault: 'development',
    parse: (text) => text === 'production',
  }),
  basePath: setting({
    variable: 'BASE_PATH',
    description: 'The path that a reverse proxy serves the service under.',
    accepts: 'a path such as `/apps/gcf/api`, of letters, digits and `-._~`',
    default: '',
    shownDefault: 'none',
    parse: parseBasePath,
  }),
  logLevel: setting<(typeof logLevels)[number]>({
    variable: 'LOG_LEVEL',
    description: 'The least severe messages to log.',
    accepts: `one of ${logLevels.map((level) => `\`${level}\``).join(', ')}`,
    default: 'info',
    shownDefault: '`info`',
    parse: (text) => logLevels.find((level) => level === text),
  }),
  processes: setting({
    variable: 'PROCESSES',
    description:
      'The processes that serve on the same ports. Each uses one processor, and has the limits of a process.',
    accepts: 'a number from 1 to 64',
    default: 1,
    shownDefault: '`1`',
    parse: parseCount(64),
  }),
  rateLimit: setting<RateLimit | null>({
    variable: 'RATE_LIMIT',
    description: 'The requests that a token can make to one process.',
    accepts: 'requests per second and burst, such as `50/100`, or `off`',
    default: { perSecond: 500, burst: 1_000 },
    shownDefault: '`500/1000`',
    parse: parseRateLimit,
  }),
  lookupFailuresPerHour: setting({
    variable: 'LOOKUP_MISSES',
    description:
      'The failed searches and lookups that a caller can make per hour, unless the store has another limit.',
    accepts: 'a number from 1 to 100000',
    default: 1_000,
    shownDefault: '`1000`',
    parse: parseCount(100_000),
  }),
  visitorLookupFailuresPerHour: setting({
    variable: 'VISITOR_LOOKUP_MISSES',
    description:
      'The failed searches and lookups per hour of one visitor that a program names with `Largesse-Visitor`, unless the limit of its caller is lower. All visitors of a token together have the limit of a caller.',
    accepts: 'a number from 1 to 100000',
    default: 20,
    shownDefault: '`20`',
    parse: parseCount(100_000),
  }),
  trustedProxies: setting<readonly string[]>({
    variable: 'TRUSTED_PROXIES',
    description: 'The reverse proxies whose `X-Forwarded-For` and `X-Forwarded-Proto` are accepted.',
    accepts: 'addresses or networks separated by commas, such as `10.0.0.0/8,::1`',
    default: [],
    shownDefault: 'none',
    parse: parseNetworks,
  }),
  publicUrl: setting<URL | null>({
    variable: 'PUBLIC_URL',
    description: 'The address at which browsers reach the pages for staff and customers.',
    accepts:
      'an origin without a path, such as `https://cards.flowers.example`; `http` only for this machine',
    default: null,
    shownDefault: 'none (only browsers on this machine reach the pages)',
    parse: parseOrigin,
    explain: (text) => (text.includes('@') ? 'must not contain a user name or password' : explainPort(text)),
  }),
  hasConsole: setting({
    variable: 'CONSOLE',
    description: 'Whether the service has pages for staff and customers.',
    accepts: '`on` or `off`',
    default: true,
    shownDefault: '`on`',
    parse: parseSwitch,
  }),
  /** Null: it depends on the database. */
  machine: setting<'owner' | 'operator' | null>({
    variable: 'MACHINE',
    description:
      'Who may set the mail server of a store and the backups on the pages, and whether these are used: the owners of the store, or only the operator, with `SMTP_URL` and `largesse backup`.',
    accepts: '`owner` or `operator`',
    default: null,
    shownDefault: '`owner` with the embedded database while it has one store, otherwise `operator`',
    parse: (text) => (text === 'owner' || text === 'operator' ? text : undefined),
  }),
  backupFolder: setting<string | null>({
    variable: 'BACKUP_FOLDER',
    description:
      'The folder of the encrypted backups that the service makes itself, on another disk or a share, in place of the one that owners choose on the pages. It must exist. Only with the embedded database, where owners may set backups up (`MACHINE`).',
    accepts: 'the path of a folder',
    default: null,
    shownDefault: 'none (owners choose on the pages)',
    parse: (text) => resolve(text),
  }),
  metricsToken: setting<Secret | null>({
    variable: 'METRICS_TOKEN',
    description: 'The bearer token that `/metrics` requires.',
    accepts: 'a secret of at least 16 characters',
    default: null,
    shownDefault: 'none (`/metrics` accepts only requests from this machine to a loopback name)',
    parse: (text) => (text.length < 16 ? undefined : new Secret(text)),
    contains: 'secret',
  }),
};

const httpsSettings = {
  mode: setting<(typeof httpsModes)[number]>({
    variable: 'HTTPS',
    description:
      'Whether the service itself serves HTTPS at `PUBLIC_URL`, on every address of this machine: with a certificate that it obtains and renews (`auto`, which accepts the terms of the certificate authority), or with that of `TLS_CERT_FILE` (`files`). `HOST` and `PORT` remain for programs on this machine.',
    accepts: '`off`, `auto` or `files`',
    default: 'off',
    shownDefault: '`off` (a reverse proxy serves HTTPS)',
    parse: (text) => httpsModes.find((mode) => mode === text),
  }),
  httpsPort: setting({
    variable: 'HTTPS_PORT',
    usedWith: withHttps('auto', 'files'),
    explain: explainPort,
    description: 'The port for HTTPS, to which port 443 of `PUBLIC_URL` must lead.',
    accepts: 'a port from 0 (any free one) to 65535',
    default: 443,
    shownDefault: '`443`',
    parse: parsePort,
  }),
  httpPort: setting<number | null>({
    variable: 'HTTP_PORT',
    usedWith: withHttps('auto', 'files'),
    explain: explainPort,
    description:
      'The port that redirects browsers to HTTPS, and on which the certificate authority checks the domain: port 80 of the domain must lead to it. `HTTPS=auto` requires it.',
    accepts: 'a port from 0 (any free one) to 65535, or `off`',
    default: 80,
    shownDefault: '`80`',
    parse: parsePortOrOff,
  }),
  certFile: setting<string | null>({
    variable: 'TLS_CERT_FILE',
    usedWith: withHttps('files'),
    description:
      'With `HTTPS=files`, the certificate and those of its authorities. The service uses a new one within a minute.',
    accepts: 'the path of a PEM file',
    default: null,
    shownDefault: 'none',
    parse: (text) => resolve(text),
  }),
  keyFile: setting<string | null>({
    variable: 'TLS_KEY_FILE',
    usedWith: withHttps('files'),
    description: 'With `HTTPS=files`, the private key of the certificate.',
    accepts: 'the path of a PEM file without a password',
    default: null,
    shownDefault: 'none',
    parse: (text) => resolve(text),
  }),
  directory: setting({
    variable: 'ACME_URL',
    usedWith: withHttps('auto'),
    description: 'With `HTTPS=auto`, the directory of the certificate authority (ACME).',
    accepts: 'an `https` URL without a user',
    default: 'https://acme-v02.api.letsencrypt.org/directory',
    shownDefault: '`https://acme-v02.api.letsencrypt.org/directory` (Let’s Encrypt)',
    parse: parseSecureUrl,
    explain: (text) => (text.includes('@') ? 'must not contain a user name or password' : explainPort(text)),
  }),
  authorityFile: setting<string | null>({
    variable: 'ACME_CA_FILE',
    usedWith: withHttps('auto'),
    description:
      'The certificates that the server of `ACME_URL` itself can have, for an authority inside of a network.',
    accepts: 'the path of a PEM file',
    default: null,
    shownDefault: 'none (the public authorities)',
    parse: (text) => resolve(text),
  }),
};

const databaseSettings = {
  database: setting<DatabaseLocation>({
    variable: 'DATABASE_URL',
    description:
      'The database: a file, or a PostgreSQL server with one or more hosts separated by commas, of which one is the primary.',
    accepts:
      'the file of the embedded database, such as `file:./data/largesse.db`, or a server, such as `postgres://user:password@host:5432/largesse`',
    default: { kind: 'file', file: resolve('data/largesse.db') },
    shownDefault: '`file:./data/largesse.db`',
    parse: (text) => parseFileUrl(text) ?? parseServerUrl(text),
    contains: 'url',
  }),
  keysFile: setting<string | null>({
    variable: 'KEYS_FILE',
    description: 'The key file, the same one for every process.',
    accepts: 'the path of a file',
    default: null,
    shownDefault: '`largesse.keys.json` in the folder of the database file, or, with a server, in `data`',
    parse: (text) => resolve(text),
  }),
  connectionsMax: setting({
    variable: 'DATABASE_CONNECTIONS',
    description:
      'The maximum number of connections of one process to a server. The sum of all processes must be less than the server’s `max_connections`.',
    accepts: 'a number from 1 to 500',
    default: 16,
    shownDefault: '`16`',
    parse: parseCount(500),
  }),
  partitions: setting<number | null>({
    variable: 'PARTITIONS',
    description:
      'The number of partitions of each table on a server. Rows are partitioned by store. Applies only when the tables are created.',
    accepts: 'a number from 1 to 1024',
    default: null,
    shownDefault: 'none (whole tables)',
    parse: parseCount(1_024),
  }),
  asynchronousStandbyAllowed: setting({
    variable: 'ASYNCHRONOUS_STANDBY',
    description:
      'Whether the service starts although an asynchronous standby follows the server, which loses acknowledged changes if it is promoted.',
    accepts: '`allow` or `reject`',
    default: false,
    shownDefault: '`reject`',
    parse: parsePermission,
  }),
  implausibleClockAllowed: setting({
    variable: 'IMPLAUSIBLE_CLOCK',
    description:
      'Whether the service starts although its clock is more than an hour behind the newest event in the database, or more than an hour off the server’s clock.',
    accepts: '`allow` or `reject`',
    default: false,
    shownDefault: '`reject`',
    parse: parsePermission,
  }),
};

const emailSettings = {
  smtpUrl: setting<Secret | null>({
    variable: 'SMTP_URL',
    description: 'The mail server that sends the emails, with STARTTLS (`smtp`) or TLS (`smtps`).',
    accepts:
      'a URL such as `smtp://user:password@mail.example:587` or `smtps://user:password@mail.example:465`',
    default: null,
    shownDefault: 'none (in development emails are kept on this machine, otherwise none are sent)',
    parse: (text) => (parseSmtpUrl(new Secret(text)).ok ? new Secret(text) : undefined),
    explain(text) {
      const parsed = parseSmtpUrl(new Secret(text));
      return parsed.ok ? undefined : parsed.error;
    },
    contains: 'secret',
  }),
  sender: setting<string | null>({
    variable: 'MAIL_FROM',
    usedWith: { variable: 'SMTP_URL', values: null },
    description: 'The default sender of emails, for stores without a sender address. `SMTP_URL` requires it.',
    accepts: 'an email address such as `gift-cards@flowers.example`',
    default: null,
    shownDefault: 'none',
    parse(text) {
      const address = parseSenderAddress(text);
      return address.ok ? address.value : undefined;
    },
  }),
};

const retentionSettings = {
  eventsDays: setting<number | null>({
    variable: 'EVENT_RETENTION_DAYS',
    description:
      'How long events are stored, and how long a subscriber that reads `GET /events` can be offline. Events that a webhook still has to deliver stay.',
    accepts: 'a number of days from 7 to 36500, or `forever`',
    default: 400,
    shownDefault: '`400`',
    parse: parseDays(7),
  }),
  emailsDays: setting<number | null>({
    variable: 'EMAIL_RETENTION_DAYS',
    description: 'How long sent, failed and cancelled emails are listed.',
    accepts: 'a number of days from 7 to 36500, or `forever`',
    default: 400,
    shownDefault: '`400`',
    parse: parseDays(7),
  }),
  deliveriesDays: setting({
    variable: 'DELIVERY_RETENTION_DAYS',
    description: 'How long ended webhook deliveries and the responses of receivers are stored.',
    accepts: 'a number of days from 1 to 3650',
    default: 30,
    shownDefault: '`30`',
    parse: parseCount(3_650),
  }),
  sessionsDays: setting({
    variable: 'SESSION_RETENTION_DAYS',
    description:
      'How long sessions of staff, links to join and tills are stored after their end, and digests of unknown addresses after a failed sign-in. The audit log stays.',
    accepts: 'a number of days from 1 to 3650',
    default: 90,
    shownDefault: '`90`',
    parse: parseCount(3_650),
  }),
  idempotencyHours: setting({
    variable: 'IDEMPOTENCY_RETENTION_HOURS',
    description:
      'How long the response to a request with an `Idempotency-Key` is stored, and returned to a repeated request.',
    accepts: 'a number of hours from 24 to 720',
    default: 24,
    shownDefault: '`24`',
    parse: parseHours(24),
  }),
  lookupsHours: setting({
    variable: 'LOOKUP_RETENTION_HOURS',
    description:
      'How long the counter of a caller’s failed searches and lookups is stored after its budget is full again.',
    accepts: 'a number of hours from 0 to 720',
    default: 0,
    shownDefault: '`0`',
    parse: parseHours(0),
  }),
};

export const settings = {
  service: serviceSettings,
  https: httpsSettings,
  retention: retentionSettings,
  database: databaseSettings,
  email: emailSettings,
  releases: releaseSettings,
  agent: agentSettings,
} as const;

/** Returns one sentence that says why a text is rejected, without secrets. */
export function problemOf(
  { accepts, explain, contains }: Setting<unknown>,
  name: string,
  text: string,
): string {
  const explained = explain?.(text);
  if (explained !== undefined) return `${name} ${explained}`;
  const must = `${name} must be ${withoutMarkup(accepts)}`;
  if (contains === 'secret') return must;
  // Only the scheme of a URL is shown, because the rest can contain a password.
  const shown = contains === 'url' ? text.replace(/^(?!file:)([a-z]+:\/\/).*$/is, '$1…') : text;
  return `${must}, not ${JSON.stringify(shown)}`;
}

/** Removes the backquotes from a text of the table. */
export function withoutMarkup(text: string): string {
  return text.replaceAll('`', '');
}
