/** `largesse doctor`: each check finds what is wrong, says what to do, and shows no secret. */

import assert from 'node:assert/strict';
import { chmodSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import test from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { checkDatabase } from '../../src/features/doctor/cli/database.ts';
import { checkConfiguration, checkNode } from '../../src/features/doctor/cli/environment.ts';
import { checkDisk, checkFiles } from '../../src/features/doctor/cli/files.ts';
import { checked, ok, type CheckName, type DoctorFinding } from '../../src/cli/finding.ts';
import { checkEmails, checkPublicUrl, checkService } from '../../src/features/doctor/cli/services.ts';
import { inspectEnvironment, readConfig, type Config } from '../../src/start/config.ts';
import { openDatabase } from '../../src/start/database.ts';
import { smtpServer, scriptedServer } from '../delivery/email/smtp-server.ts';
import { runCommand } from '../support/command-line.ts';
import { engine } from '../support/engine.ts';
import { startHttpServer } from '../support/http-server.ts';
import { startService, type TestService } from '../support/service.ts';

const domain = 'flowers.example';
const dayMs = 24 * 60 * 60 * 1_000;

function startShop(environment: Readonly<Record<string, string>> = {}): Promise<TestService> {
  return startService({ stores: [{ domain }], environment });
}

function configOf(service: TestService, environment: Readonly<Record<string, string>> = {}): Config {
  return readConfig({ ...service.environment, PORT: new URL(service.url).port, ...environment });
}

/** The findings of a check, in short. Every finding that is not ok has a remedy. */
function only(findings: readonly DoctorFinding[], check: CheckName): string {
  for (const { status, remedy } of findings) assert.equal(remedy === null, status === 'ok');
  return findings
    .filter((finding) => finding.check === check)
    .map(({ status, message }) => `${status}: ${message}`)
    .join('\n');
}

type Report = {
  readonly ok: boolean;
  readonly findings: readonly DoctorFinding[];
  readonly settings: readonly Readonly<Record<string, string | null>>[];
};

test('doctor exits with 0 while the service runs, and without one, if nothing is wrong', async () => {
  await using service = await startShop();
  const environment = { ...service.environment, PORT: new URL(service.url).port };
  for (const command of ['backup', 'verify']) {
    const args = command === 'backup' ? [command, join(service.database.folder, 'copy.db')] : [command];
    assert.equal((await runCommand(args, { environment })).code, 0);
  }
  const running = await runCommand(['doctor'], { environment });
  assert.equal(running.code, 0, running.output);
  assert.match(running.output, /^✓ service: ready at http:\/\/127\.0\.0\.1:\d+$/m);
  assert.match(running.output, /^✓ key file: \S+ has every key of the database \(1\)$/m);
  assert.match(running.output, /^✓ backup: the last verified backup is from 20/m);
  assert.match(running.output, /^ {4}PORT=\d+$/m);
  assert.match(running.output, /\nEvery check succeeded\.\n$/);
  await service.database.meddle('delete from setup_steps');
  const stateBefore = await service.state();
  const { code, output } = await runCommand(['doctor', '--json'], { environment });
  const report = JSON.parse(output) as Report;
  assert.deepEqual([code, report.ok], [0, true], 'a warning is not an error');
  assert.equal(only(report.findings, 'backup'), 'warning: no backup was ever verified');
  assert.equal(await service.state(), stateBefore, 'nothing is written');
  const { findings } = JSON.parse(
    (await runCommand(['doctor', '--json'], { environment: { ...environment, PORT: '2' } })).output,
  ) as Report;
  assert.match(
    only(findings, 'service'),
    /^warning: the service does not respond at \S+:2: nothing listens at 127\.0\.0\.1:2/,
  );
  assert.match(only(findings, 'database'), /^ok: .*stores: 1$/);
});

test('an invalid setting exits with 2, and other checks do not run', async () => {
  const environment = {
    PORT: '70000',
    SMTP_URL: 'smtp://user:hunter22@mail.example:x',
    METRICS_TOKEN: 'short',
  };
  const { code, output, errors } = await runCommand(['doctor'], { environment });
  assert.deepEqual({ code, errors }, { code: 2, errors: '' });
  assert.match(output, /^✗ configuration: PORT must be a port from 0/m);
  assert.match(output, /^✗ configuration: METRICS_TOKEN must be a secret/m);
  assert.match(output, /\nA setting is invalid\. Other checks need valid settings\.\n$/);
  assert.ok(!output.includes('hunter22') && !output.includes('database'), output);
});

test('an old Node.js and an unsound SQLite are errors', () => {
  assert.equal(checkNode(process.versions)[0]?.status, 'ok');
  assert.equal(only(checkNode({ node: '24.1.0', sqlite: '3.53.4' }), 'node'), 'error: Node.js 24.1.0 is too old: 26 or later is required');
  assert.match(only(checkNode({ node: '26.1.0', sqlite: '3.50.0' }), 'node'), /^error: .*SQLite 3\.50\.0, which can corrupt/);
}); // prettier-ignore

test('variables that look like settings are found, and those of other programs are not', () => {
  const unknown = (...names: readonly string[]): readonly (string | null)[] =>
    inspectEnvironment(Object.fromEntries(names.map((name) => [name, 'x']))).doubts.map(
      ({ message, remedy }) =>
        `${/^\S+/.exec(message)?.[0]} ${/^if you mean (\S+), correct/.exec(remedy)?.[1] ?? null}`,
    );
  // One letter, two neighbours, an underscore, or a plural.
  assert.deepEqual(unknown('DATABSE_URL', 'PUBLIC_ULR', 'PROCESS', 'KEYFILE', 'RATELIMT', 'MAIL_FORM'), [
    'DATABSE_URL DATABASE_URL',
    'KEYFILE KEYS_FILE',
    'MAIL_FORM MAIL_FROM',
    'PROCESS PROCESSES',
    'PUBLIC_ULR PUBLIC_URL',
    'RATELIMT RATE_LIMIT',
  ]);
  assert.deepEqual(unknown('DATABSE_URL', 'SMTP_HOST', 'PUBLIC_URI', 'Trusted_Proxy', 'LARGESSE_PORT_X'), [
    'DATABSE_URL DATABASE_URL',
    'LARGESSE_PORT_X null',
    'PUBLIC_URI PUBLIC_URL',
    'SMTP_HOST null',
  ]);
  assert.deepEqual(
    unknown(
      'PATH', 'HOME', 'POST', 'HOSTNAME', 'NODE_OPTIONS', 'LOGNAME', 'SESSION_MANAGER', 'TZ',
      'LARGESSE_PORT', 'LARGESSE_SERVICE_HOST', 'DATABASE_PORT_5432_TCP_ADDR', 'SMTP_URL_FILE', 'PORT',
      'SSL_CERT_FILE',
    ),
    [],
  );
  const findings = checkConfiguration(inspectEnvironment({ SMTP_HOST: 'x', PORT: '2' }), []);
  assert.match(only(findings, 'configuration'), /^ok: 1 settings are given, \d+ have their default\nwarning: SMTP_HOST is set/);
}); // prettier-ignore

test('settings that have no effect are found', () => {
  const doubts = (environment: Readonly<Record<string, string>>): readonly string[] =>
    inspectEnvironment(environment).doubts.map(({ message, remedy }) => `${message}: ${remedy}`);
  const files = { TLS_CERT_FILE: 'cert.pem', TLS_KEY_FILE: 'key.pem' };
  assert.deepEqual(doubts(files), [
    'TLS_CERT_FILE is set and has no effect, because HTTPS is off: set HTTPS=files, or remove TLS_CERT_FILE',
    'TLS_KEY_FILE is set and has no effect, because HTTPS is off: set HTTPS=files, or remove TLS_KEY_FILE',
  ]);
  assert.deepEqual(doubts({ ...files, HTTPS: 'files', HTTPS_PORT: '8443' }), []);
  assert.deepEqual(doubts({ HTTPS_PORT: '8443', HTTPS: 'auto', ACME_URL: 'https://acme.example/' }), []);
  assert.deepEqual(doubts({ HTTPS_PORT: '8443', ACME_URL: 'https://acme.example/', HTTPS: 'files' }), [
    'ACME_URL is set and has no effect, because HTTPS is files: set HTTPS=auto, or remove ACME_URL',
  ]);
  assert.deepEqual(doubts({ HTTP_PORT: '8080' }), [
    'HTTP_PORT is set and has no effect, because HTTPS is off: set HTTPS=auto or HTTPS=files, or remove HTTP_PORT',
  ]);
  assert.deepEqual(doubts({ MAIL_FROM: 'cards@flowers.example', SMTP_URL_FILE: '/run/secrets/smtp' }), []);
  assert.deepEqual(doubts({ MAIL_FROM: 'cards@flowers.example' }), [
    'MAIL_FROM is set and has no effect, because SMTP_URL is not set: set SMTP_URL, or remove MAIL_FROM',
  ]);
});

test('settings are shown with their source, and secrets are not', () => {
  const { sources } = inspectEnvironment({
    PORT: '2',
    SMTP_URL: 'smtp://user:hunter22@mail.example',
    DATABASE_URL_FILE: '/run/secrets/url',
    HOST: 'a\nb',
    PUBLIC_URL: 'https://:hunter22@shop.example',
    MAIL_FROM: 'x'.repeat(5_000),
  });
  const shown = new Map(sources.map(({ variable, source, text }) => [variable, `${source} ${text}`]));
  assert.equal(shown.get('PORT'), 'environment 2');
  assert.equal(shown.get('SMTP_URL'), 'environment null');
  assert.equal(shown.get('DATABASE_URL'), 'file /run/secrets/url');
  assert.equal(shown.get('HOST'), 'environment a b');
  assert.equal(shown.get('PUBLIC_URL'), 'environment https://…@shop.example');
  assert.equal(shown.get('CONSOLE'), 'default null');
  assert.ok((shown.get('MAIL_FROM') ?? '').length < 250);
  assert.ok(!JSON.stringify(sources).includes('hunter22'));
  const textOf = (variable: string, text: string): string | null | undefined =>
    inspectEnvironment({ [variable]: text }).sources.find((source) => source.variable === variable)?.text;
  for (const start of ['https:', 'https:/', 'https:\\\\'])
    assert.equal(textOf('PUBLIC_URL', `${start}user:hunter22@shop.example`), `${start}…@shop.example`);
  assert.equal(textOf('PUBLIC_URL', 'user:hunter22@shop.example'), 'user:…@shop.example');
  assert.equal(textOf('MAIL_FROM', 'Flowers <cards@flowers.example>'), 'Flowers <cards@flowers.example>');
});

test('files that other accounts can access, and files of another account, are found', async () => {
  await using service = await startShop();
  const config = configOf(service);
  const uid = process.getuid?.() ?? 0;
  const mine = { account: { uid }, secretFiles: [] };
  const secret = join(service.database.folder, 'smtp-url');
  writeFileSync(secret, 'x', { mode: 0o640 });
  chmodSync(service.database.folder, 0o755);
  for (const file of [config.keysFile, join(service.database.folder, 'largesse.db')]) chmodSync(file, 0o600);
  assert.equal(only(await checkFiles(config, { ...mine, secretFiles: [secret] }), 'files'), 'ok: only the account of the service can access its files');
  chmodSync(config.keysFile, 0o640);
  assert.equal(only(await checkFiles(config, mine), 'key_file'), `warning: accounts other than the owner can access ${config.keysFile} (mode 0640)`);
  chmodSync(secret, 0o644);
  assert.match(only(await checkFiles(config, { ...mine, secretFiles: [secret] }), 'files'), /^warning: accounts .*smtp-url \(mode 0644\)$/);
  chmodSync(service.database.folder, 0o700);
  assert.match(only(await checkFiles(config, { ...mine, secretFiles: [secret] }), 'files'), /^ok: /, 'the folder protects its files');
  const other = await checkFiles(config, { ...mine, account: { uid: uid + 1 } });
  assert.match(only(other, 'files'), /belongs to uid \d+, and this command runs as uid \d+/);
  const missing = { ...config, keysFile: join(service.database.folder, 'none', 'keys') };
  assert.equal(only(await checkFiles(missing, mine), 'key_file'), '');
}); // prettier-ignore

test('a disk with little space is found', async () => {
  await using database = await engine.createDatabase();
  const config = readConfig(database.environment);
  const withMinimum = (diskFreeBytesMin: number): Promise<readonly DoctorFinding[]> =>
    checkDisk({ ...config, limits: { ...config.limits, diskFreeBytesMin } });
  assert.match(only(await withMinimum(1), 'disk'), /^ok: \d+ MiB are free on the disk of /);
  assert.match(
    only(await withMinimum(2 ** 53), 'disk'),
    /^error: \d+ MiB are free .*, and the service needs \d+$/,
  );
  const [finding] = await withMinimum(1);
  const free = Number(/^\d+/.exec(finding?.message ?? '')?.[0]) * 2 ** 20;
  assert.match(only(await withMinimum(free / 4), 'disk'), /^warning: /);
});

test('a database that is missing, not a database, without a schema, or newer is found', async () => {
  await using database = await engine.createDatabase();
  const config = readConfig(database.environment);
  const at = (file: string): Config => ({ ...config, database: { kind: 'file', file } });
  assert.match(only(await checkDatabase(at('/nowhere/x.db')), 'database'), /^warning: there is no database yet at \/nowhere\/x\.db$/);
  const wrong = join(database.folder, 'wrong.db');
  writeFileSync(wrong, 'not a database, but a text of some length'.repeat(50));
  assert.match(only(await checkDatabase(at(wrong)), 'database'), /^error: the database cannot be used: /);
  await database.meddle('delete from schema_migrations where version > 1');
  assert.match(only(await checkDatabase(config), 'migrations'), /^warning: migrations are pending, the first is 2 \(file-lines\)$/);
  await database.meddle("insert into schema_migrations values (9999, 'later', 'x', 0)");
  assert.match(only(await checkDatabase(config), 'migrations'), /^error: the database has migration 9999 \(later\)/);
  const empty = join(database.folder, 'empty.db');
  writeFileSync(empty, '');
  assert.match(only(await checkDatabase(at(empty)), 'migrations'), /^warning: the database has no schema yet$/);
}); // prettier-ignore

test('a key file that is missing, damaged, or of another database is found', async () => {
  await using service = await startShop();
  const config = configOf(service);
  const { keysFile } = config;
  const found = async (): Promise<string> => only(await checkDatabase(config), 'key_file');
  assert.match(await found(), /^ok: \S+ has every key of the database \(1\)$/);
  const text = readFileSync(keysFile, 'utf8');
  const { keys } = JSON.parse(text) as { readonly keys: readonly { readonly id: string }[] };
  const secret = Buffer.alloc(32, 7).toString('base64');
  for (const [content, message] of [
    [
      { keys: keys.map(({ id }) => ({ id, secret })) },
      /^error: the key "\w+" is not the one that this database/,
    ],
    [{ keys: [{ id: 'other', secret }] }, /^error: the key file lacks the key "\w+"/],
    [{}, /^error: \S+ is not a key file/],
  ] as const) {
    writeFileSync(keysFile, JSON.stringify(content));
    assert.match(await found(), message);
    assert.ok(!(await found()).includes(secret));
  }
  renameSync(keysFile, `${keysFile}.away`);
  assert.match(await found(), /^error: the key file \S+ is missing$/);
  writeFileSync(keysFile, text);
});

test('a clock that contradicts the database is found', async () => {
  await using service = await startShop();
  const config = configOf(service);
  const now = Date.now();
  const found = async (at: number, changed: Partial<Config> = {}): Promise<string> =>
    only(await checkDatabase({ ...config, ...changed }, at), 'clock');
  const token = await service.token(domain);
  await service.request('/gift_card', { method: 'POST', token, json: { initial_value: 5 } });
  assert.equal(await found(now), 'ok: agrees with the database');
  for (const at of [Date.UTC(2024, 11, 31), Date.UTC(2059, 0, 1)])
    assert.match(await found(at, { implausibleClockAllowed: true }), /^error: .* the years 2025 to 2058: the service does not start$/);
  assert.match(await found(now + 30 * dayMs), /^ok: is later than every time in the database/);
  await service.database.meddle(`update heartbeat set beaten_at = ${now}`);
  assert.match(await found(now - dayMs), /^error: the system clock is at .*: the service does not start$/);
  assert.match(await found(now - dayMs, { implausibleClockAllowed: true }), /^warning: .*IMPLAUSIBLE_CLOCK allows it$/);
}); // prettier-ignore

test('a clock is not said to agree with a database that has no time, and its range is checked without one', async () => {
  await using database = await engine.createDatabase();
  const config = readConfig({ ...database.environment });
  const found = async (at: number): Promise<string> => only(await checkDatabase(config, at), 'clock');
  const dates = [Date.now(), Date.UTC(2070, 0, 1)] as const;
  const nothing = 'ok: is not compared, because the database has no recent time';
  const never = /^error: .* the years 2025 to 2058: the service does not start$/;
  assert.equal(await found(dates[0]), nothing, 'no database');
  assert.match(await found(dates[1]), never);
  await using _opened = await openDatabase(config, { prepare: true });
  await database.meddle('update heartbeat set beaten_at = 0');
  assert.equal(await found(dates[0]), nothing, 'no events and no heartbeat');
  assert.match(await found(dates[1]), never);
  await database.meddle('delete from schema_migrations where version = (select max(version) from schema_migrations)');
  assert.match(await found(dates[1]), never, 'a pending migration');
}); // prettier-ignore

test('an old backup, an old verification and one that found problems are found', async () => {
  await using service = await startShop();
  const config = configOf(service);
  const now = Date.now();
  assert.match(only(await checkDatabase(config), 'verification'), /^warning: the database was never completely verified$/);
  const ago = (days: number): number => now - days * dayMs;
  await service.database.meddle(`
    insert into setup_steps (store_id, step, done_at) values ((select id from stores), 'backup', ${ago(4)});
    insert into verifications (store_id, verified_at, rows_read, mismatches, actor) values ((select id from stores), ${ago(40)}, 5, 0, 'x')`);
  const old = await checkDatabase(config);
  assert.match(only(old, 'backup'), /^warning: the last verified backup is from /);
  assert.match(only(old, 'verification'), /^warning: the last complete verification was on /);
  await service.database.meddle(`
    update setup_steps set done_at = ${ago(1)}; update verifications set verified_at = ${ago(1)}, mismatches = 2`);
  const recent = await checkDatabase(config);
  assert.match(only(recent, 'backup'), /^ok: /);
  assert.match(only(recent, 'verification'), /^error: .* and found 2 problems$/);
}); // prettier-ignore

test('the mail server is tried without an email, and its failures are explained', async () => {
  await using database = await engine.createDatabase();
  const found = async (url: string | undefined, changed: Readonly<Record<string, string>> = {}): Promise<string> => {
    const email = url === undefined ? {} : { SMTP_URL: url, MAIL_FROM: 'cards@flowers.example' };
    return only(await checkEmails(readConfig({ ...database.environment, ...email, ...changed })), 'emails');
  };
  assert.match(await found(undefined), /^ok: SMTP_URL is not set: in development, emails are kept in /);
  assert.equal(await found(undefined, { NODE_ENV: 'production' }), 'warning: SMTP_URL is not set: no email is sent');
  {
    await using server = await smtpServer({
      authOptional: false,
      allowInsecureAuth: true,
      onAuth: ({ username, password }, _session, done) =>
        password === 'hunter22' ? done(null, { user: username }) : done(new Error(`wrong password ${password}`)),
    });
    assert.match(await found(server.url('', 'ann:hunter22@').reveal()), /^ok: signed in at 127\.0\.0\.1:\d+, sender cards@/);
    assert.equal(server.received.length, 0);
    const url = server.url('', 'ann:hunter23@').reveal();
    assert.match(await found(url), /^error: the mail server 127\.0\.0\.1:\d+ does not accept this service: .*535/);
    const { code, output } = await runCommand(['doctor'], {
      environment: { ...database.environment, PORT: '2', SMTP_URL: url, MAIL_FROM: 'cards@flowers.example' },
    });
    assert.equal(code, 1);
    assert.match(output, /^✗ emails: .*\[redacted\].*\n {4}→ check the user, the password and the encryption/m);
    assert.ok(!output.includes('hunter23'), 'the response of the server repeats the password');
  }
  {
    await using server = await scriptedServer({});
    assert.match(await found(server.url('?starttls=required').reveal()), /^error: .*502/);
    assert.match(await found(server.url().reveal()), /^ok: connected without a user at /);
  }
  {
    await using server = await scriptedServer({ greeting: 'hang up' });
    assert.match(await found(server.url().reveal()), /^error: /);
  }
  {
    await using server = await scriptedServer({ greeting: 'stall' });
    const config = readConfig({ ...database.environment, SMTP_URL: server.url().reveal(), MAIL_FROM: 'cards@flowers.example' });
    const timeouts = { connectMs: 200, greetingMs: 200, responseMs: 200 };
    assert.match(only(await checkEmails(config, { timeouts }), 'emails'), /^error: .*(Timeout|Greeting never received)$/);
  }
}); // prettier-ignore

test('a service that is not ready, and another program on its port, are found', async () => {
  {
    await using service = await startService({ limits: { diskFreeBytesMin: Number.MAX_SAFE_INTEGER } });
    assert.match(only(await checkService(configOf(service)), 'service'), /^error: the service at \S+ is not ready, status 503: The disk of the database is full/);
    assert.match(only(await checkService({ ...configOf(service), port: 0 }), 'service'), /^warning: PORT is 0/);
  }
  await using other = await startHttpServer((_request, response) => void response.end('{"status":"up"}'));
  assert.match(only(await checkService({ ...readConfig({}), port: other.port }), 'service'), /^error: another program responds at /);
}); // prettier-ignore

type Proxy = AsyncDisposable & { readonly url: string; forwardTo(url: string): void };

/** A proxy on this machine that sends these headers. */
async function startProxy(headers: Readonly<Record<string, string>> = {}): Promise<Proxy> {
  let to = '';
  const { port, [Symbol.asyncDispose]: dispose } = await startHttpServer((incoming, outgoing) => {
    const sent = request(`${to}${incoming.url}`, { headers: { host: incoming.headers.host, ...headers } }, (response) => {
      outgoing.writeHead(response.statusCode ?? 502, response.headers);
      response.pipe(outgoing);
    });
    sent.end();
  });
  return {
    url: `http://localhost:${port}`,
    forwardTo(url) {
      to = url;
    },
    [Symbol.asyncDispose]: dispose,
  };
} // prettier-ignore

test('PUBLIC_URL is compared with the service behind the proxy', async () => {
  await using proxy = await startProxy();
  await using service = await startShop({ PUBLIC_URL: proxy.url });
  proxy.forwardTo(service.url);
  const found = async (publicUrl: string | null, changed: Partial<Config> = {}): Promise<string> => {
    const config = { ...configOf(service), publicUrl: publicUrl === null ? null : new URL(publicUrl), ...changed };
    return only(await checkPublicUrl(config, { isRunning: true }), 'public_url');
  };
  assert.match(await found(proxy.url), /^ok: http:\/\/localhost:\d+ reaches the service/);
  assert.match(await found(proxy.url, { basePath: '/other' }), /^error: \S+\/other\/healthz has status 40\d and is not/);
  {
    await using other = await startProxy();
    other.forwardTo(service.url);
    assert.equal(await found(other.url), `error: the service at ${other.url} has the PUBLIC_URL ${proxy.url}`);
  }
  {
    await using replacing = await startProxy({ host: 'inside.example' });
    await using behind = await startShop({ PUBLIC_URL: replacing.url });
    replacing.forwardTo(behind.url);
    assert.match(await found(replacing.url), /^error: the proxy of \S+ replaces the Host of requests/);
  }
  assert.match(await found('http://localhost:1'), /^warning: this machine does not reach http:\/\/localhost:1\/healthz: /);
  assert.equal(await found(null), 'ok: is not set, and not required');
  assert.match(await found(null, { isProduction: true }), /^warning: PUBLIC_URL is not set/);
  const untrusted = { ...configOf(service), publicUrl: new URL('https://shop.example'), trustedProxies: [] };
  assert.match(only(await checkPublicUrl(untrusted, { isRunning: false }), 'public_url'), /^warning: .*TRUSTED_PROXIES is empty.*\nok: not requested/);
}); // prettier-ignore

test('a check that does not end, and one that fails, are findings', async () => {
  const hangs = await checked('disk', () => wait(60_000, [], { ref: false }), 20);
  assert.equal(only(hangs, 'disk'), 'error: the check did not end within 0.02 s');
  const fails = await checked('disk', () => Promise.reject(new Error('EIO')));
  assert.equal(only(fails, 'disk'), 'error: EIO');
  assert.deepEqual(await checked('disk', async () => [ok('disk', 'fine')]), [ok('disk', 'fine')]);
});
