import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import test, { type TestContext } from 'node:test';
import {
  ConfigError,
  isLoopback,
  limits,
  readConfig,
  readDatabaseConfig,
  shownLocation,
} from '../../src/config.ts';
import { show } from './samples.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** What is wrong with an environment; fails if nothing is. */
function problemsOf(environment: Environment): readonly string[] {
  try {
    readConfig(environment);
  } catch (error) {
    assert.ok(error instanceof ConfigError);
    return error.problems;
  }
  return assert.fail('nothing was refused');
}

function fileOf(t: TestContext, content: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'largesse-config-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'secret');
  writeFileSync(path, content);
  return path;
}

test('with nothing set, the service listens to this machine only, on port 3000', () => {
  assert.deepEqual(readConfig({}), {
    database: { kind: 'file', file: resolve('data/largesse.db') },
    keysFile: resolve('data/largesse.keys.json'),
    connectionsMax: 16,
    partitions: null,
    implausibleClockAllowed: false,
    asynchronousStandbyAllowed: false,
    mail: null,
    mailFolder: resolve('data/mails'),
    port: 3000,
    host: '127.0.0.1',
    isLoopback: true,
    isProduction: false,
    basePath: '',
    logLevel: 'info',
    rateLimit: { perSecond: 500, burst: 1_000 },
    trustedProxies: [],
    lookupFailuresPerHour: 1_000,
    metricsToken: null,
    limits,
  });
});

test('an empty variable counts as absent', () => {
  const names = [
    'PORT', 'HOST', 'BASE_PATH', 'LOG_LEVEL', 'RATE_LIMIT', 'TRUSTED_PROXIES', 'METRICS_TOKEN', 'METRICS_TOKEN_FILE', 'DATABASE_URL', 'DATABASE_URL_FILE',
    'DATABASE_CONNECTIONS', 'PARTITIONS', 'ASYNCHRONOUS_STANDBY', 'IMPLAUSIBLE_CLOCK', 'KEYS_FILE', 'NODE_ENV', 'LOOKUP_MISSES', 'SMTP_URL', 'SMTP_URL_FILE', 'MAIL_FROM',
  ]; // prettier-ignore
  assert.deepEqual(readConfig(Object.fromEntries(names.map((name) => [name, '']))), readConfig({}));
});

test('nobody can change a configuration', () => {
  assert.ok(Object.isFrozen(readConfig({})));
  assert.ok(Object.isFrozen(readDatabaseConfig({})));
  assert.ok(Object.isFrozen(limits));
});

test('everything that could grow has a maximum', () => {
  assert.equal(limits.bodyBytesMax, 64 * 1024);
  for (const [name, limit] of Object.entries(limits)) {
    assert.ok(Number.isSafeInteger(limit) && limit > 0, name);
  }
});

test('all problems are told together, each with its variable and what that takes', () => {
  const problems = problemsOf({
    DATABASE_URL: 'sqlite:x',
    DATABASE_CONNECTIONS: '0',
    PARTITIONS: 'many',
    ASYNCHRONOUS_STANDBY: 'yes',
    IMPLAUSIBLE_CLOCK: 'yes',
    PORT: 'http',
    HOST: 'a b',
    BASE_PATH: 'apps',
    LOG_LEVEL: 'loud',
    RATE_LIMIT: 'fast',
    TRUSTED_PROXIES: 'me',
    LOOKUP_MISSES: 'many',
    METRICS_TOKEN: 'short',
  });
  const takes = {
    DATABASE_URL:
      'the file of the embedded database, such as file:./data/largesse.db, or a server, such as postgres://user:password@host:5432/largesse',
    DATABASE_CONNECTIONS: 'a number from 1 to 500',
    PARTITIONS: 'a number from 1 to 1024',
    ASYNCHRONOUS_STANDBY: 'allow or refuse',
    IMPLAUSIBLE_CLOCK: 'allow or refuse',
    PORT: 'a port from 0 (any free one) to 65535',
    HOST: 'an address or host name, such as 127.0.0.1 or 0.0.0.0',
    BASE_PATH: 'a path such as /apps/gcf/api, of letters, digits and -._~',
    LOG_LEVEL: 'one of trace, debug, info, warn, error, fatal, silent',
    RATE_LIMIT: 'requests per second and burst, such as 50/100, or off',
    TRUSTED_PROXIES: 'addresses or networks separated by commas, such as 10.0.0.0/8,::1',
    LOOKUP_MISSES: 'how many searches and lookups of a caller may find nothing per hour, from 1 to 100000',
    METRICS_TOKEN: 'a secret of at least 16 characters',
  };
  for (const [name, words] of Object.entries(takes)) {
    const told = problems.filter(
      (problem) => problem.startsWith(name) && problem.endsWith(`: takes ${words}`),
    );
    assert.equal(told.length, 1, name);
  }
  assert.equal(problems.length, Object.keys(takes).length);
  const error = new ConfigError(problems);
  for (const problem of problems) assert.ok(error.message.includes(problem));
});

/** What a variable's texts are read as, and which texts it refuses. */
function judge(
  name: string,
  read: (environment: Environment) => unknown,
  {
    accepted,
    refused,
  }: { readonly accepted: readonly (readonly [string, unknown])[]; readonly refused: readonly string[] },
): void {
  test(`${name} is read`, async (t) => {
    for (const [text, value] of accepted) {
      await t.test(show(text), () => assert.deepEqual(read({ [name]: text }), value));
    }
  });
  test(`${name} refuses what it does not take`, async (t) => {
    for (const text of refused) {
      await t.test(show(text), () => {
        const [problem = '', ...others] = problemsOf({ [name]: text });
        assert.ok(problem.startsWith(name) && problem.includes(': takes '), problem);
        assert.deepEqual(others, []);
      });
    }
  });
}

judge('PORT', (environment) => readConfig(environment).port, {
  accepted: [['0', 0], ['80', 80], ['3000', 3000], ['65535', 65_535], ['00080', 80]],
  refused: ['65536', '99999', '-1', '+80', '80.5', '1e3', '0x50', ' 80', '80 ', 'http', '123456', '８０', '80\n'],
}); // prettier-ignore

judge('HOST', (environment) => readConfig(environment).host, {
  accepted: [['0.0.0.0', '0.0.0.0'], ['::1', '::1'], ['::', '::'], ['localhost', 'localhost'], ['gifts.example', 'gifts.example'], ['10.0.0.7', '10.0.0.7']],
  refused: ['a b', 'http://localhost', 'localhost:3000', '/tmp/socket', '[::1]', 'host_name', 'hôte'],
}); // prettier-ignore

judge('BASE_PATH', (environment) => readConfig(environment).basePath, {
  accepted: [['/', ''], ['/apps/gcf/api', '/apps/gcf/api'], ['/apps/gcf/api/', '/apps/gcf/api'], ['/a', '/a'], ['/a.b/-._~/A9', '/a.b/-._~/A9'], ['/.well-known', '/.well-known'], ['/...', '/...']],
  refused: ['apps', 'apps/gcf', '//', '//apps', '/apps//api', '/apps//', '/..', '/.', '/apps/../api', '/apps/./api', '/a b', '/a?b', '/a#b', '/%20', '/é', '/a\\b', '/:id', '/*', 'http://x/y', '/a\n'],
}); // prettier-ignore

judge('LOG_LEVEL', (environment) => readConfig(environment).logLevel, {
  accepted: ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'].map(
    (level) => [level, level] as const,
  ),
  refused: ['INFO', 'verbose', 'warning', ' info', '30', '__proto__'],
});

judge('RATE_LIMIT', (environment) => readConfig(environment).rateLimit, {
  accepted: [
    ['off', null], ['50/100', { perSecond: 50, burst: 100 }], ['50', { perSecond: 50, burst: 100 }], ['0.5', { perSecond: 0.5, burst: 1 }],
    ['0.1', { perSecond: 0.1, burst: 1 }], ['0.7/3', { perSecond: 0.7, burst: 3 }], ['1.001', { perSecond: 1.001, burst: 3 }],
    ['1/1', { perSecond: 1, burst: 1 }], ['50:100', { perSecond: 50, burst: 100 }], ['50, 100', { perSecond: 50, burst: 100 }],
    ['999999/999999', { perSecond: 999_999, burst: 999_999 }],
  ],
  refused: ['0', '0/5', '0.000', '5/0', '-5', '5/-1', '1e3', 'on', 'OFF', '5/', '/5', '5/5/5', '5/1.5', '0.0001', '1000000', '5/1000000', ' 5', 'Infinity', 'NaN', '5\n'],
}); // prettier-ignore

judge('LOOKUP_MISSES', (environment) => readConfig(environment).lookupFailuresPerHour, {
  accepted: [['1', 1], ['10', 10], ['1000', 1_000], ['100000', 100_000]],
  refused: ['0', '100001', '1000000', '100/30', '-1', '1.5', '1e2', ' 100', 'off', '100\n'],
}); // prettier-ignore

test('of a server, everything but the password is shown, and each host is an address of its own', () => {
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

judge('DATABASE_CONNECTIONS', (environment) => readDatabaseConfig(environment).connectionsMax, {
  accepted: [['1', 1], ['500', 500]],
  refused: ['0', '501', '-1', '1.5', '1e2', 'all'],
}); // prettier-ignore

judge('PARTITIONS', (environment) => readDatabaseConfig(environment).partitions, {
  accepted: [['1', 1], ['1024', 1_024]],
  refused: ['0', '1025', '-1', '1.5', '1e2', 'some'],
}); // prettier-ignore

judge('ASYNCHRONOUS_STANDBY', (environment) => readDatabaseConfig(environment).asynchronousStandbyAllowed, {
  accepted: [['allow', true], ['refuse', false]],
  refused: ['true', '1', 'yes', 'Allow'],
}); // prettier-ignore

judge('IMPLAUSIBLE_CLOCK', (environment) => readDatabaseConfig(environment).implausibleClockAllowed, {
  accepted: [['allow', true], ['refuse', false]],
  refused: ['true', '1', 'yes', 'Allow'],
}); // prettier-ignore

judge('TRUSTED_PROXIES', (environment) => readConfig(environment).trustedProxies, {
  accepted: [
    ['10.0.0.1', ['10.0.0.1']], ['10.0.0.0/8, ::1 ,fd00::/8', ['10.0.0.0/8', '::1', 'fd00::/8']], ['0.0.0.0/0', ['0.0.0.0/0']],
    ['10.0.0.1/32', ['10.0.0.1/32']], ['::/128', ['::/128']],
  ],
  refused: ['true', '*', 'localhost', '10.0.0', '10.0.0.0/33', '::/129', '10.0.0.0/', '10.0.0.0/-1', '10.0.0.0/8/8', '10.0.0.1,', ',', '10.0.0.256', '10.0.0.0/a', '10.0.0.1;10.0.0.2', '10.0.0.0/1e1'],
}); // prettier-ignore

const locationOf = (environment: Environment): string =>
  shownLocation(readDatabaseConfig(environment).database);

judge('DATABASE_URL', locationOf, {
  accepted: [
    ['file:./data/x.db', resolve('data/x.db')], ['file:x.db', resolve('x.db')], ['file:/var/lib/x.db', '/var/lib/x.db'],
    ['file:///var/lib/x.db', '/var/lib/x.db'], ['file:///var/lib/a%20b.db', '/var/lib/a b.db'],
    ['postgres://u:p@h/d', 'postgres://h/d'], ['postgresql://u:p%40@h:5433/d', 'postgres://h:5433/d'], ['postgres://h/d?sslmode=verify-full', 'postgres://h/d'],
    ['postgres://u:p@one:5432,two:5433,[::1]:1/d', 'postgres://one:5432,two:5433,[::1]:1/d'],
  ],
  refused: [
    'x.db', '/var/lib/x.db', 'file:', 'file://', 'file:x.db?mode=ro', 'file:x.db#a', 'file:data/', 'file://host/x.db', 'sqlite:x.db', 'mysql://h/d',
    'FILE:x.db', ':memory:', 'postgres://', 'postgres://h', 'postgres://h/', 'postgres://u:p@/d', 'postgres://h:port/d', 'postgres://one,,two/d', 'postgres://h/d#a', 'postgres://h/d/e', 'file:///a%zz', 'file:///a%2Fb.db',
  ],
}); // prettier-ignore

test('the key file lies beside the database, unless it is named', () => {
  const read = (environment: Environment): string => readDatabaseConfig(environment).keysFile;
  assert.equal(read({ DATABASE_URL: 'file:/var/lib/x.db' }), '/var/lib/largesse.keys.json');
  assert.equal(read({ DATABASE_URL: 'file:/var/lib/x.db', KEYS_FILE: '/run/keys.json' }), '/run/keys.json');
  assert.equal(read({ KEYS_FILE: 'keys.json' }), resolve('keys.json'));
  assert.equal(read({ DATABASE_URL: 'postgres://h/d' }), resolve('data/largesse.keys.json'));
});

test('commands that only need the database are not stopped by other variables', () => {
  assert.equal(readDatabaseConfig({ PORT: 'x', DATABASE_URL: 'file:/x.db' }).keysFile, '/largesse.keys.json');
  assert.throws(() => readDatabaseConfig({ DATABASE_URL: 'x' }), ConfigError);
});

test('production is what NODE_ENV says, to the letter', () => {
  assert.equal(readConfig({ NODE_ENV: 'production' }).isProduction, true);
  for (const value of ['Production', 'prod', 'development', 'production ']) {
    assert.equal(readConfig({ NODE_ENV: value }).isProduction, false);
  }
});

test('a secret comes from its variable or from a file, and never shows', (t) => {
  const read = (environment: Environment) => readConfig(environment).metricsToken;
  assert.equal(read({ METRICS_TOKEN: '0123456789abcdef' })?.reveal(), '0123456789abcdef');
  assert.equal(read({ METRICS_TOKEN_FILE: fileOf(t, ' 0123456789abcdef\n') })?.reveal(), '0123456789abcdef');
  assert.equal(read({ METRICS_TOKEN_FILE: fileOf(t, '\n') }), null);
  assert.ok(!JSON.stringify(readConfig({ METRICS_TOKEN: '0123456789abcdef' })).includes('0123456789'));
});

test('a secret that is too short, twice there, or in a file that cannot be read is refused, unseen', (t) => {
  assert.deepEqual(problemsOf({ METRICS_TOKEN: '0123456789abcde' }), [
    'METRICS_TOKEN: takes a secret of at least 16 characters',
  ]);
  assert.deepEqual(problemsOf({ METRICS_TOKEN_FILE: fileOf(t, '0123456789abcde\n') }), [
    'METRICS_TOKEN: takes a secret of at least 16 characters',
  ]);
  const file = fileOf(t, '0123456789abcdef');
  assert.deepEqual(problemsOf({ METRICS_TOKEN: 'fedcba9876543210', METRICS_TOKEN_FILE: file }), [
    'METRICS_TOKEN and METRICS_TOKEN_FILE: only one of them may be set',
  ]);
  assert.deepEqual(problemsOf({ METRICS_TOKEN_FILE: '/nowhere/secret' }), [
    'METRICS_TOKEN_FILE=/nowhere/secret: takes the path of a file that can be read',
  ]);
});

test('a database address with a password in it is refused without showing the password', async (t) => {
  const addresses = [
    'postgres://largesse:hush-hush@db.example',
    'mysql://largesse:p@hush-hush@db.example/gifts',
    'postgres://:hush-hush@db.example',
    // A slash in a password should be encoded, and often is not.
    'postgres://largesse:pass/hush-hush@db.example/gifts',
    'postgres://db.example?user=largesse&password=hush-hush',
  ];
  for (const address of addresses) {
    await t.test(address, () => {
      const [problem = '', ...others] = problemsOf({ DATABASE_URL: address });
      assert.ok(problem.startsWith('DATABASE_URL') && !problem.includes('hush-hush'), problem);
      assert.deepEqual(others, []);
    });
  }
});

test('only this machine reaches a loopback address', async (t) => {
  const inside = ['127.0.0.1', '127.1.2.3', '127.255.255.255', '::1', '[::1]', 'localhost', 'LOCALHOST'];
  const outside = [
    '', '0.0.0.0', '::', '[::]', '10.0.0.1', '128.0.0.1', '1.127.0.0', '127.0.0.1.evil.example', '127.evil.example', 'localhost.evil.example',
    'evil.localhost.example', '127', '127.1', '2130706433', '0x7f.0.0.1', '::2', '[::1', '::1]', ' localhost', 'localhost:3000', '169.254.1.1',
  ]; // prettier-ignore
  for (const host of inside) {
    await t.test(`${host} is one`, () => assert.equal(isLoopback(host), true));
  }
  for (const host of outside) {
    await t.test(`${show(host)} is none`, () => assert.equal(isLoopback(host), false));
  }
  assert.equal(readConfig({ HOST: 'localhost' }).isLoopback, true);
  assert.equal(readConfig({ HOST: '0.0.0.0' }).isLoopback, false);
});

test('a mail server needs a sender, both are told what is wrong, and no password is shown', () => {
  assert.equal(readConfig({}).mail, null);
  assert.equal(readConfig({ MAIL_FROM: 'cards@flowers.example' }).mail, null);
  const { mail } = readConfig({
    SMTP_URL: 'smtps://ada:hush-hush@mail.example',
    MAIL_FROM: 'cards@flowers.example',
  });
  assert.deepEqual(
    [mail?.url.reveal(), mail?.from],
    ['smtps://ada:hush-hush@mail.example', 'cards@flowers.example'],
  );
  const cases: readonly (readonly [given: Record<string, string>, told: readonly RegExp[]])[] = [
    [{ SMTP_URL: 'smtp://mail.example' }, [/^MAIL_FROM: is needed with SMTP_URL/]],
    [{ MAIL_FROM: 'nobody' }, [/^MAIL_FROM=nobody: takes the address/]],
    [
      { SMTP_URL: 'http://ada:hush-hush@mail.example', MAIL_FROM: 'nobody', PORT: 'x' },
      [/^MAIL_FROM=nobody/, /^SMTP_URL: must be an address/, /^PORT=x/],
    ],
    [
      { SMTP_URL: 'smtp://ada:hush-hush@mail.example?proxy=x', MAIL_FROM: 'a@b.example' },
      [/^SMTP_URL: may be followed/],
    ],
    [{ SMTP_URL_FILE: '/nowhere', MAIL_FROM: 'a@b.example' }, [/^SMTP_URL_FILE=\/nowhere: takes the path/]],
  ];
  for (const [given, told] of cases) {
    const problems = problemsOf(given);
    assert.equal(problems.length, told.length, problems.join('; '));
    for (const words of told)
      assert.ok(
        problems.some((problem) => words.test(problem)),
        String(words),
      );
    assert.ok(!problems.join().includes('hush'));
  }
});
