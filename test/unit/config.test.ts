import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import test, { type TestContext } from 'node:test';
import { ConfigError } from '../../src/start/settings-reader.ts';
import {
  readConfig,
  readCopyConfig,
  readDatabaseConfig,
  readInheritedSockets,
  readLocalUse,
  withServeOptions,
  readEmailConfig,
  shownLocation,
  type HttpsConfig,
} from '../../src/start/config.ts';
import { isLoopback } from '../../src/platform/loopback.ts';
import { limits } from '../../src/platform/limits.ts';
import type { Secret } from '../../src/platform/secret.ts';
import { blockedPorts } from '../../src/start/setting-values.ts';
import { settings, type Setting } from '../../src/start/settings.ts';
import { show } from './samples.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** Returns the problems of an environment. Fails if there are none. */
function problemsOf(environment: Environment): readonly string[] {
  try {
    readConfig(environment);
  } catch (error) {
    assert.ok(error instanceof ConfigError);
    return error.problems;
  }
  return assert.fail('nothing was rejected');
}

function fileOf(t: TestContext, content: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'largesse-config-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'secret');
  writeFileSync(path, content);
  return path;
}

type Case = {
  readonly read: (environment: Environment) => unknown;
  /** The value if the variable is absent or empty. */
  readonly default: unknown;
  readonly accepted: readonly (readonly [text: string, value: unknown])[];
  readonly rejected: readonly string[];
};

const revealed = (secret: Secret | null | undefined): string | null => secret?.reveal() ?? null;
const sender = 'cards@flowers.example';
const day = 24 * 60 * 60_000;

/** The settings that HTTPS requires. */
const ofHttps = { PUBLIC_URL: 'https://cards.flowers.example', TLS_CERT_FILE: '/cert.pem', TLS_KEY_FILE: '/key.pem' }; // prettier-ignore

function readHttps(environment: Environment): Exclude<HttpsConfig, { readonly kind: 'off' }> {
  const { https } = readConfig({ ...ofHttps, ...environment });
  assert.ok(https.kind !== 'off');
  return https;
}

/** The compiler requires an entry here for each setting. */
const cases: {
  readonly [Group in keyof typeof settings]: {
    readonly [Field in keyof (typeof settings)[Group]]: Case;
  };
} = {
  service: {
    port: {
      read: (environment) => readConfig(environment).port,
      default: 3_000,
      accepted: [['0', 0], ['80', 80], ['3000', 3000], ['65535', 65_535], ['00080', 80]],
      rejected: ['65536', '99999', '-1', '+80', '80.5', '1e3', '0x50', ' 80', '80 ', 'http', '123456', '８０', '80\n'],
    },
    host: {
      read: (environment) => readConfig(environment).host,
      default: '127.0.0.1',
      accepted: [['0.0.0.0', '0.0.0.0'], ['::1', '::1'], ['::', '::'], ['localhost', 'localhost'], ['gifts.example', 'gifts.example'], ['10.0.0.7', '10.0.0.7']],
      rejected: ['a b', 'http://localhost', 'localhost:3000', '/tmp/socket', '[::1]', 'host_name', 'hôte'],
    },
    isProduction: {
      read: (environment) => readConfig(environment).isProduction,
      default: false,
      accepted: [['production', true], ['Production', false], ['prod', false], ['development', false], ['production ', false]],
      rejected: [],
    },
    basePath: {
      read: (environment) => readConfig(environment).basePath,
      default: '',
      accepted: [['/', ''], ['/apps/gcf/api', '/apps/gcf/api'], ['/apps/gcf/api/', '/apps/gcf/api'], ['/a', '/a'], ['/a.b/-._~/A9', '/a.b/-._~/A9'], ['/.well-known', '/.well-known'], ['/...', '/...']],
      rejected: ['apps', 'apps/gcf', '//', '//apps', '/apps//api', '/apps//', '/..', '/.', '/apps/../api', '/apps/./api', '/a b', '/a?b', '/a#b', '/%20', '/é', '/a\\b', '/:id', '/*', 'http://x/y', '/a\n'],
    },
    logLevel: {
      read: (environment) => readConfig(environment).logLevel,
      default: 'info',
      accepted: ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'].map((level) => [level, level] as const),
      rejected: ['INFO', 'verbose', 'warning', ' info', '30', '__proto__'],
    },
    processes: {
      read: (environment) => readConfig(environment).processes,
      default: 1,
      accepted: [['1', 1], ['2', 2], ['64', 64]],
      rejected: ['0', '65', '-1', '1.5', '2 ', 'auto'],
    },
    rateLimit: {
      read: (environment) => readConfig(environment).rateLimit,
      default: { perSecond: 500, burst: 1_000 },
      accepted: [
        ['off', null], ['50/100', { perSecond: 50, burst: 100 }], ['50', { perSecond: 50, burst: 100 }], ['0.5', { perSecond: 0.5, burst: 1 }],
        ['0.1', { perSecond: 0.1, burst: 1 }], ['0.7/3', { perSecond: 0.7, burst: 3 }], ['1.001', { perSecond: 1.001, burst: 3 }],
        ['1/1', { perSecond: 1, burst: 1 }], ['50:100', { perSecond: 50, burst: 100 }], ['50, 100', { perSecond: 50, burst: 100 }],
        ['999999/999999', { perSecond: 999_999, burst: 999_999 }],
      ],
      rejected: ['0', '0/5', '0.000', '5/0', '-5', '5/-1', '1e3', 'on', 'OFF', '5/', '/5', '5/5/5', '5/1.5', '0.0001', '1000000', '5/1000000', ' 5', 'Infinity', 'NaN', '5\n'],
    },
    lookupFailuresPerHour: {
      read: (environment) => readConfig(environment).lookupFailuresPerHour,
      default: 1_000,
      accepted: [['1', 1], ['10', 10], ['1000', 1_000], ['100000', 100_000]],
      rejected: ['0', '100001', '1000000', '100/30', '-1', '1.5', '1e2', ' 100', 'off', '100\n'],
    },
    visitorLookupFailuresPerHour: {
      read: (environment) => readConfig(environment).visitorLookupFailuresPerHour,
      default: 20,
      accepted: [['1', 1], ['20', 20], ['100000', 100_000]],
      rejected: ['0', '100001', '-1', '1.5', '1e2', ' 20', 'off', '20\n'],
    },
    trustedProxies: {
      read: (environment) => readConfig(environment).trustedProxies,
      default: [],
      accepted: [
        ['10.0.0.1', ['10.0.0.1']], ['10.0.0.0/8, ::1 ,fd00::/8', ['10.0.0.0/8', '::1', 'fd00::/8']], ['0.0.0.0/0', ['0.0.0.0/0']],
        ['10.0.0.1/32', ['10.0.0.1/32']], ['::/128', ['::/128']],
      ],
      rejected: ['true', '*', 'localhost', '10.0.0', '10.0.0.0/33', '::/129', '10.0.0.0/', '10.0.0.0/-1', '10.0.0.0/8/8', '10.0.0.1,', ',', '10.0.0.256', '10.0.0.0/a', '10.0.0.1;10.0.0.2', '10.0.0.0/1e1'],
    },
    publicUrl: {
    read: (environment) => readConfig(environment).publicUrl?.href ?? null,
    default: null,
    accepted: [
      ['https://cards.flowers.example', 'https://cards.flowers.example/'],
      ['http://localhost:3000', 'http://localhost:3000/'],
      ['http://[::1]:3000/', 'http://[::1]:3000/'],
    ],
    rejected: ['http://cards.flowers.example', 'https://a.example/path', 'https://u@a.example', 'https://:p@a.example', 'https://@a.example', 'a.example'],
  },
  hasConsole: {
    read: (environment) => readConfig(environment).hasConsole,
    default: true,
    accepted: [['off', false]],
    rejected: ['no', 'OFF'],
  },
  machine: {
    read: (environment) => readConfig(environment).machine,
    default: null,
    accepted: [['owner', 'owner'], ['operator', 'operator']],
    rejected: ['Owner', 'anyone', 'owner ', '1'],
  },
  backupFolder: {
    read: (environment) => readConfig(environment).backupFolder,
    default: null,
    accepted: [['/srv/backups', '/srv/backups'], ['/srv/backups/', '/srv/backups']],
    rejected: [],
  },
  metricsToken: {
      read: (environment) => revealed(readConfig(environment).metricsToken),
      default: null,
      accepted: [['0123456789abcdef', '0123456789abcdef'], ['a much longer hush', 'a much longer hush']],
      rejected: ['hush', 'hush-hush-hush-'],
    },
  },
  releases: {
    url: {
      read: (environment) => readConfig(environment).releases.url,
      default: null,
      accepted: [['https://releases.example/list.json', 'https://releases.example/list.json']],
      rejected: ['http://releases.example/list.json', 'https://u@releases.example', 'list.json'],
    },
    key: {
      read: (environment) => readConfig(environment).releases.key?.toBase64() ?? null,
      default: null,
      accepted: [['11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=', '11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=']],
      rejected: ['11qYAYKxCrfVS', 'x'.repeat(44), '11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo'],
    },
    isChecked: {
      read: (environment) => readConfig(environment).releases.isChecked,
      default: null,
      accepted: [['on', true], ['off', false]],
      rejected: ['yes', 'daily', 'true', 'ON'],
    },
  },
  agent: {
    url: {
      read: (environment) => readConfig(environment).agent.url,
      default: 'http://127.0.0.1:3000',
      accepted: [['https://cards.example/api', 'https://cards.example/api'], ['http://localhost:3000', 'http://localhost:3000/']],
      rejected: ['cards.example', 'ftp://cards.example', 'https://u@cards.example', 'https://cards.example/?a', 'https://cards.example/#a'],
    },
    token: {
      read: (environment) => readConfig(environment).agent.token?.reveal() ?? null,
      default: null,
      accepted: [['lgs_1_secret', 'lgs_1_secret']],
      rejected: ['a b', 'é', 'x'.repeat(256)],
    },
  },
  https: {
    mode: {
      read: (environment) => readConfig({ ...ofHttps, ...environment }).https.kind,
      default: 'off',
      accepted: [['off', 'off'], ['auto', 'auto'], ['files', 'files']],
      rejected: ['on', 'Auto', 'true', 'letsencrypt', ' auto'],
    },
    httpsPort: {
      read: (environment) => readHttps({ ...environment, HTTPS: 'auto' }).httpsPort,
      default: 443,
      accepted: [['0', 0], ['8443', 8_443], ['65535', 65_535]],
      rejected: ['65536', '-1', 'off', '443 '],
    },
    httpPort: {
      read: (environment) => readHttps({ ...environment, HTTPS: 'files' }).httpPort,
      default: 80,
      accepted: [['0', 0], ['8080', 8_080], ['off', null]],
      rejected: ['65536', '-1', 'OFF', 'none'],
    },
    certFile: {
      read(environment) {
        const https = readHttps({ TLS_CERT_FILE: '', ...environment, HTTPS: 'files' });
        return https.kind === 'files' && https.certFile;
      },
      default: new ConfigError(['TLS_CERT_FILE and TLS_KEY_FILE must be set, because HTTPS is files']),
      accepted: [['/etc/cert.pem', '/etc/cert.pem'], ['cert.pem', resolve('cert.pem')]],
      rejected: [],
    },
    keyFile: {
      read(environment) {
        const https = readHttps({ TLS_KEY_FILE: '', ...environment, HTTPS: 'files' });
        return https.kind === 'files' && https.keyFile;
      },
      default: new ConfigError(['TLS_CERT_FILE and TLS_KEY_FILE must be set, because HTTPS is files']),
      accepted: [['/etc/key.pem', '/etc/key.pem'], ['key.pem', resolve('key.pem')]],
      rejected: [],
    },
    directory: {
      read(environment) {
        const https = readHttps({ ...environment, HTTPS: 'auto' });
        return https.kind === 'auto' && https.directory;
      },
      default: 'https://acme-v02.api.letsencrypt.org/directory',
      accepted: [['https://127.0.0.1:14000/dir', 'https://127.0.0.1:14000/dir'], ['https://ca.example/a?b=c', 'https://ca.example/a?b=c']],
      rejected: ['http://ca.example/dir', 'ca.example', 'https://ada:hush@ca.example/dir', 'https://ca.example/dir#a', 'https://'],
    },
    authorityFile: {
      read(environment) {
        const https = readHttps({ ...environment, HTTPS: 'auto' });
        return https.kind === 'auto' && https.authorityFile;
      },
      default: null,
      accepted: [['/etc/ca.pem', '/etc/ca.pem'], ['ca.pem', resolve('ca.pem')]],
      rejected: [],
    },
  },
  retention: {
    eventsDays: {
      read: (environment) => readConfig(environment).retention.eventsMs,
      default: 400 * day,
      accepted: [['7', 7 * day], ['365', 365 * day], ['36500', 36_500 * day], ['forever', null]],
      rejected: ['0', '6', '-7', '36501', '7.5', '7d', 'never', 'Forever', ' 7', '1e3'],
    },
    emailsDays: {
      read: (environment) => readConfig(environment).retention.emailsMs,
      default: 400 * day,
      accepted: [['7', 7 * day], ['90', 90 * day], ['forever', null]],
      rejected: ['0', '6', '-7', '36501', '7.5', 'none'],
    },
    deliveriesDays: {
      read: (environment) => readConfig(environment).retention.deliveriesMs,
      default: 30 * day,
      accepted: [['1', day], ['3650', 3_650 * day]],
      rejected: ['0', '3651', 'forever', '1.5', '-1'],
    },
    sessionsDays: {
      read: (environment) => readConfig(environment).retention.sessionsMs,
      default: 90 * day,
      accepted: [['1', day], ['3650', 3_650 * day]],
      rejected: ['0', '3651', 'forever', '1.5', '-1'],
    },
    idempotencyHours: {
      read: (environment) => readConfig(environment).retention.idempotencyMs,
      default: day,
      accepted: [['24', day], ['72', 3 * day], ['720', 30 * day]],
      rejected: ['0', '23', '721', 'forever', '1d', '24.0'],
    },
    lookupsHours: {
      read: (environment) => readConfig(environment).retention.lookupsMs,
      default: 0,
      accepted: [['0', 0], ['24', day], ['720', 30 * day]],
      rejected: ['-1', '721', 'forever', '1.5'],
    },
  },
  database: {
    database: {
      read: (environment) => shownLocation(readDatabaseConfig(environment).database),
      default: resolve('data/largesse.db'),
      accepted: [
        ['file:./data/x.db', resolve('data/x.db')], ['file:x.db', resolve('x.db')], ['file:/var/lib/x.db', '/var/lib/x.db'],
        ['file:///var/lib/x.db', '/var/lib/x.db'], ['file:///var/lib/a%20b.db', '/var/lib/a b.db'],
        ['postgres://u:p@h/d', 'postgres://h/d'], ['postgresql://u:p%40@h:5433/d', 'postgres://h:5433/d'], ['postgres://h/d?sslmode=verify-full', 'postgres://h/d'],
        ['postgres://u:p@one:5432,two:5433,[::1]:1/d', 'postgres://one:5432,two:5433,[::1]:1/d'],
      ],
      rejected: [
        'x.db', '/var/lib/x.db', 'file:', 'file://', 'file:x.db?mode=ro', 'file:x.db#a', 'file:data/', 'file://host/x.db', 'sqlite:x.db', 'mysql://h/d',
        'FILE:x.db', ':memory:', 'postgres://', 'postgres://h', 'postgres://h/', 'postgres://u:hush@/d', 'postgres://h:port/d', 'postgres://one,,two/d', 'postgres://h/d#a', 'postgres://h/d/e', 'file:///a%zz', 'file:///a%2Fb.db',
        'postgres://largesse:hush-hush@db.example', 'mysql://largesse:p@hush-hush@db.example/gifts', 'postgres://:hush-hush@db.example',
        // A slash in a password should be encoded, but often is not.
        'postgres://largesse:pass/hush-hush@db.example/gifts', 'postgres://db.example?user=largesse&password=hush-hush',
      ],
    },
    keysFile: {
      read: (environment) => readDatabaseConfig(environment).keysFile,
      default: resolve('data/largesse.keys.json'),
      accepted: [['/run/keys.json', '/run/keys.json'], ['keys.json', resolve('keys.json')]],
      rejected: [],
    },
    connectionsMax: {
      read: (environment) => readDatabaseConfig(environment).connectionsMax,
      default: 16,
      accepted: [['1', 1], ['500', 500]],
      rejected: ['0', '501', '-1', '1.5', '1e2', 'all'],
    },
    partitions: {
      read: (environment) => readDatabaseConfig(environment).partitions,
      default: null,
      accepted: [['1', 1], ['1024', 1_024]],
      rejected: ['0', '1025', '-1', '1.5', '1e2', 'some'],
    },
    asynchronousStandbyAllowed: {
      read: (environment) => readDatabaseConfig(environment).asynchronousStandbyAllowed,
      default: false,
      accepted: [['allow', true], ['reject', false]],
      rejected: ['true', '1', 'yes', 'Allow'],
    },
    implausibleClockAllowed: {
      read: (environment) => readDatabaseConfig(environment).implausibleClockAllowed,
      default: false,
      accepted: [['allow', true], ['reject', false]],
      rejected: ['true', '1', 'yes', 'Allow'],
    },
  },
  email: {
    smtpUrl: {
      read: (environment) => revealed(readEmailConfig({ MAIL_FROM: sender, ...environment })?.url),
      default: null,
      accepted: ['smtp://mail.example', 'smtps://ada:hush-hush@mail.example', 'smtp://[::1]:2525?starttls=optional'].map((url) => [url, url] as const),
      rejected: ['hush', 'http://ada:hush-hush@mail.example', 'smtp://ada:hush-hush@mail.example/path', 'smtp://ada:hush-hush@mail.example?proxy=x', 'smtps://ada:hush@mail.example?starttls=never', 'smtp://ada:hush@mail.example?starttls=maybe', 'smtp://:hush@mail.example', 'smtp://ada:%hush@mail.example'],
    },
    sender: {
      read: (environment) => readEmailConfig({ SMTP_URL: 'smtp://mail.example', ...environment })?.from,
      default: new ConfigError(['MAIL_FROM must be set to the email address of the sender, because SMTP_URL is set']),
      accepted: [[sender, sender]],
      rejected: ['flowers', 'cards@', 'ä@flowers.example', `${sender}\r\nx`],
    },
  },
}; // prettier-ignore

/** Returns the value or the error. */
function valueOf(read: () => unknown): unknown {
  try {
    return read();
  } catch (error) {
    return error;
  }
}

const rows = Object.entries(settings).flatMap(([group, fields]) =>
  Object.entries(fields).map(([field, row]: [string, Setting<unknown>]) => ({
    row,
    given: (cases as Readonly<Record<string, Readonly<Record<string, Case>>>>)[group]?.[field],
  })),
);

for (const { row, given } of rows) {
  const { variable, contains } = row;
  assert.ok(given, variable);
  test(`${variable} has a default`, () => {
    for (const environment of [{}, { [variable]: '' }])
      assert.deepEqual(
        valueOf(() => given.read(environment)),
        given.default,
      );
  });
  test(`${variable} is read`, async (t) => {
    for (const [text, value] of given.accepted)
      await t.test(show(text), () => assert.deepEqual(given.read({ [variable]: text }), value));
  });
  test(`${variable} rejects all other values with one sentence`, async (t) => {
    for (const text of given.rejected) {
      await t.test(show(text), () => {
        const [problem = '', ...others] = problemsOf({ [variable]: text });
        assert.deepEqual(others, []);
        const isExplained = row.explain?.(text) !== undefined;
        if (isExplained) assert.match(problem, new RegExp(`^${variable} (?:must|cannot) `));
        else assert.ok(problem.startsWith(`${variable} must be ${row.accepts.replaceAll('`', '')}`), problem);
        assert.ok(
          contains !== undefined || isExplained || problem.endsWith(`, not ${JSON.stringify(text)}`),
          problem,
        );
        assert.doesNotMatch(problem, /hush|\n/);
      });
    }
  });
}

test('without configuration, the service listens on this machine only, on port 3000', () => {
  const of = (group: Readonly<Record<string, Case>>): object =>
    Object.fromEntries(Object.entries(group).map(([field, given]) => [field, given.default]));
  assert.deepEqual(readConfig({}), {
    ...of(cases.service),
    ...of(cases.database),
    database: { kind: 'file', file: resolve('data/largesse.db') },
    releases: { url: null, key: null, isChecked: null },
    agent: { url: 'http://127.0.0.1:3000', token: null },
    retention: {
      eventsMs: 400 * day,
      emailsMs: 400 * day,
      deliveriesMs: 30 * day,
      sessionsMs: 90 * day,
      idempotencyMs: day,
      lookupsMs: 0,
    },
    email: null,
    emailFolder: resolve('data/mails'),
    https: { kind: 'off' },
    isLoopback: true,
    isSandbox: false,
    limits,
  });
});

test('every setting has its own variable and a description that ends like a sentence', () => {
  assert.equal(new Set(rows.map(({ row }) => row.variable)).size, rows.length);
  for (const { row } of rows) {
    assert.match(row.variable, /^[A-Z]+(?:_[A-Z]+)*$/);
    assert.match(row.description, /^[A-Z][^\n|]+\.$/);
    for (const text of [row.accepts, row.shownDefault]) assert.match(text, /^[^\n|]*[^\n|.]$/);
  }
});

test('a configuration is immutable', () => {
  assert.ok(Object.isFrozen(readConfig({})));
  assert.ok(Object.isFrozen(readDatabaseConfig({})));
  assert.ok(Object.isFrozen(limits));
});

test('every limit has a maximum', () => {
  assert.equal(limits.bodyBytesMax, 64 * 1024);
  for (const [name, limit] of Object.entries(limits)) {
    assert.ok(Number.isSafeInteger(limit) && limit > 0, name);
  }
});

test('all invalid variables are reported together', () => {
  const wrong = Object.fromEntries(
    rows.flatMap(({ row, given }) =>
      given?.rejected[0] === undefined ? [] : [[row.variable, given.rejected[0]]],
    ),
  );
  const problems = problemsOf(wrong);
  assert.deepEqual(new Set(problems.map((problem) => problem.split(' ')[0])), new Set(Object.keys(wrong)));
  assert.equal(problems.length, Object.keys(wrong).length);
  const error = new ConfigError(problems);
  for (const problem of problems) assert.ok(error.message.includes(problem));
});

test('an invalid text is shown with its control characters escaped', () => {
  assert.deepEqual(problemsOf({ PORT: '80\n\u001b[2J' }), [
    'PORT must be a port from 0 (any free one) to 65535, not "80\\n\\u001b[2J"',
  ]);
});

test('a server is shown without its password, and each host has its own URL', () => {
  const { database } = readDatabaseConfig({
    DATABASE_URL: 'postgres://u:hush@one:1,two:2/d?sslmode=verify-full',
  });
  assert.ok(database.kind === 'server');
  assert.ok(!JSON.stringify(database).includes('hush'));
  assert.deepEqual(
    database.urls.map((url) => url.reveal()),
    ['postgres://u:hush@one:1/d?sslmode=verify-full', 'postgres://u:hush@two:2/d?sslmode=verify-full'],
  );
});

test('the key file is in the folder of the database by default', () => {
  const read = (environment: Environment): string => readDatabaseConfig(environment).keysFile;
  assert.equal(read({ DATABASE_URL: 'file:/var/lib/x.db' }), '/var/lib/largesse.keys.json');
  assert.equal(read({ DATABASE_URL: 'file:/var/lib/x.db', KEYS_FILE: '/run/keys.json' }), '/run/keys.json');
  assert.equal(read({ DATABASE_URL: 'postgres://h/d' }), resolve('data/largesse.keys.json'));
});

test('commands that only need the database ignore other invalid variables', () => {
  assert.equal(readDatabaseConfig({ PORT: 'x', DATABASE_URL: 'file:/x.db' }).keysFile, '/largesse.keys.json');
  assert.throws(() => readDatabaseConfig({ DATABASE_URL: 'x' }), ConfigError);
});

const withFile = rows.filter(({ row }) => row.contains !== undefined);
assert.equal(withFile.length, 4);
for (const { row, given } of withFile) {
  const { variable } = row;
  test(`${variable} can come from the file in ${variable}_FILE`, (t) => {
    assert.ok(given);
    const [[text, value] = []] = given.accepted;
    assert.ok(text !== undefined);
    assert.deepEqual(given.read({ [`${variable}_FILE`]: fileOf(t, ` ${text}\n`) }), value);
    assert.deepEqual(given.read({ [`${variable}_FILE`]: fileOf(t, '\n') }), given.default);
    assert.equal(problemsOf({ [`${variable}_FILE`]: fileOf(t, `${given.rejected[0]}\n`) }).length, 1);
    assert.ok(
      problemsOf({ [variable]: text, [`${variable}_FILE`]: fileOf(t, text) }).includes(
        `${variable} and ${variable}_FILE cannot both be set`,
      ),
    );
    assert.deepEqual(problemsOf({ [`${variable}_FILE`]: '/nowhere/secret' }), [
      `${variable}_FILE must be the path of a readable file, not "/nowhere/secret"`,
    ]);
  });
}

test('a secret is never shown', () => {
  assert.ok(!JSON.stringify(readConfig({ METRICS_TOKEN: '0123456789abcdef' })).includes('0123456789'));
});

test('the databases of a copy are given by a URL, a variable or a file', (t) => {
  const file = fileOf(t, 'postgres://u:hush@h/d\n');
  const environment = { TARGET: 'file:/y.db' };
  const read = (from: string, to: string): readonly string[] => {
    const { source, target, exposed } = readCopyConfig({ from, to }, environment);
    return [shownLocation(source.database), shownLocation(target.database), ...exposed];
  };
  assert.deepEqual(read('file:/x.db', 'env:TARGET'), ['/x.db', '/y.db']);
  assert.deepEqual(read(`@${file}`, 'postgres://u:hush@h/d'), ['postgres://h/d', 'postgres://h/d', '--to']);
  const problems = valueOf(() => read('env:NONE', 'mysql://u:hush@h/d'));
  assert.ok(problems instanceof ConfigError);
  assert.deepEqual(
    problems.problems.map((problem) => problem.replace(/ a database, | the file .*@file, /, ' … ')),
    [
      '--from must name a variable or a file that contains the URL of … not "env:NONE"',
      '--to must be … not "mysql://…"',
    ],
  );
});

test('isLoopback accepts only addresses and names of this machine', async (t) => {
  const inside = ['127.0.0.1', '127.1.2.3', '127.255.255.255', '::1', '[::1]', 'localhost', 'LOCALHOST'];
  const outside = [
    '', '0.0.0.0', '::', '[::]', '10.0.0.1', '128.0.0.1', '1.127.0.0', '127.0.0.1.evil.example', '127.evil.example', 'localhost.evil.example',
    'evil.localhost.example', '127', '127.1', '2130706433', '0x7f.0.0.1', '::2', '[::1', '::1]', ' localhost', 'localhost:3000', '169.254.1.1',
  ]; // prettier-ignore
  for (const host of inside) {
    await t.test(`${host} is a loopback host`, () => assert.equal(isLoopback(host), true));
  }
  for (const host of outside) {
    await t.test(`${show(host)} is not a loopback host`, () => assert.equal(isLoopback(host), false));
  }
  assert.equal(readConfig({ HOST: 'localhost' }).isLoopback, true);
  assert.equal(readConfig({ HOST: '0.0.0.0' }).isLoopback, false);
});

test('a mail server needs a sender', () => {
  assert.equal(readConfig({ MAIL_FROM: sender }).email, null);
  const { email } = readConfig({ SMTP_URL: 'smtps://ada:hush-hush@mail.example', MAIL_FROM: sender });
  assert.deepEqual([email?.url.reveal(), email?.from], ['smtps://ada:hush-hush@mail.example', sender]);
  assert.ok(!JSON.stringify(email).includes('hush'));
});

test('HTTPS needs a PUBLIC_URL that a certificate can be for', () => {
  const problem = (environment: Environment): string => problemsOf(environment).join(' / ');
  const secure = 'PUBLIC_URL must be set to an https origin, such as https://cards.flowers.example, because HTTPS is';
  assert.equal(problem({ HTTPS: 'auto' }), `${secure} auto`);
  assert.equal(problem({ HTTPS: 'files' }), `${secure} files`);
  assert.equal(problem({ HTTPS: 'auto', PUBLIC_URL: 'http://localhost' }), `${secure} auto`);
  for (const host of ['192.0.2.1', '[2001:db8::1]', 'localhost', 'shop', 'shop.local', 'a.home.arpa', 'pc.lan'])
    assert.equal(
      problem({ HTTPS: 'auto', PUBLIC_URL: `https://${host}` }),
      `PUBLIC_URL must have a public domain name, not ${host}, because HTTPS is auto`,
    );
  assert.equal(problem({ ...ofHttps, HTTPS: 'auto', HTTP_PORT: 'off' }), 'HTTP_PORT cannot be off, because HTTPS is auto');
  assert.equal(readHttps({ HTTPS: 'files', PUBLIC_URL: 'https://192.0.2.1:8443' }).host, '192.0.2.1');
}); // prettier-ignore

test('a service with HTTPS is not in development, because every machine can connect', () => {
  const environment = { ...ofHttps, HTTPS: 'auto' };
  assert.equal(readConfig(environment).isLoopback, false);
  assert.equal(readLocalUse(environment).isDevelopment, false);
});

test('the domain of a command replaces the settings of the environment', () => {
  const environment = { HTTPS: 'files', PUBLIC_URL: 'https://other.example', PORT: '4000' };
  assert.deepEqual(withServeOptions({}, environment), environment);
  assert.equal(readConfig(withServeOptions({ processes: '4' }, {})).processes, 4);
  const { https, port } = readConfig(withServeOptions({ domain: 'cards.flowers.example' }, environment));
  assert.deepEqual(https, {
    kind: 'auto',
    origin: 'https://cards.flowers.example',
    host: 'cards.flowers.example',
    domain: 'cards.flowers.example',
    httpsPort: 443,
    httpPort: 80,
    directory: 'https://acme-v02.api.letsencrypt.org/directory',
    authorityFile: null,
    folder: resolve('data/largesse.tls'),
  });
  assert.equal(port, 4_000);
  assert.throws(
    () => readConfig(withServeOptions({ domain: 'https://cards.flowers.example' }, {})),
    ConfigError,
  );
});

test('the sockets of systemd are those for this process', () => {
  assert.equal(readInheritedSockets({}), null);
  assert.equal(readInheritedSockets({ LISTEN_PID: '2', LISTEN_FDS: '2' }, 1), null);
  assert.deepEqual(readInheritedSockets({ LISTEN_PID: '1', LISTEN_FDS: '2' }, 1), { http: 3, https: 4 });
  assert.throws(
    () => readInheritedSockets({ LISTEN_PID: '1', LISTEN_FDS: '1' }, 1),
    /systemd passes 1 sockets, and the service needs two/,
  );
});

test('a port that browsers block is rejected in every setting, with one sentence', async () => {
  const urls = { PUBLIC_URL: 'https://cards.flowers.example', LARGESSE_URL: 'http://127.0.0.1', ACME_URL: 'https://acme.example', RELEASES_URL: 'https://releases.example' };
  for (const port of blockedPorts) {
    for (const variable of ['PORT', 'HTTPS_PORT', 'HTTP_PORT'])
      assert.deepEqual(problemsOf({ [variable]: String(port) }), [`${variable} must have another port than ${port}, which browsers block`]);
    for (const [variable, url] of Object.entries(urls))
      assert.deepEqual(problemsOf({ [variable]: `${url}:${port}` }), [`${variable} must have another port than ${port}, which browsers block`]);
    const outcome = await fetch(`http://127.0.0.1:${port}`).catch((error: unknown) => error);
    assert.match(String((outcome as Error).cause), /bad port/);
  }
}); // prettier-ignore
