/** Every command of the command line: its help, its JSON, its exit codes, and its errors. */

import assert from 'node:assert/strict';
import { copyFileSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { once } from 'node:events';
import test from 'node:test';
import { readDatabaseConfig } from '../../src/start/config.ts';
import { openDatabase } from '../../src/start/database.ts';
import { requireStore } from '../../src/core/stores/service/store.ts';
import { findOrInsertCustomer } from '../../src/core/customers/storage/customer.ts';
import { helpOf } from '../support/command-help.ts';
import { email } from '../support/fixtures.ts';
import { runProgram, type Result } from '../support/programs.ts';
import { engine } from '../support/engine.ts';
import { ask, makeHome, type Home } from './largesse.ts';

/** The commands that print data and accept `--json`. */
const printing = [
  'migrate',
  'status',
  'doctor',
  'certificate',
  'upgrade',
  'sandbox',
  'verify',
  'backup',
  'restore',
  'copy',
  'store create',
  'store update',
  'store show',
  'store list',
  'store status',
  'token create',
  'token rotate',
  'token revoke',
  'token list',
  'location add',
  'location list',
  'location change',
  'location close',
  'location reopen',
  'stock create',
  'stock list',
  'stock void',
  'card suspend',
  'card resume',
  'card issue',
  'card import',
  'customer show',
  'customer link',
  'customer unlink',
  'customer erase',
  'reports rebuild',
  'vacuum',
  'webhook create',
  'webhook list',
  'webhook update',
  'webhook delete',
  'webhook rotate-secret',
  'webhook test',
  'webhook deliveries',
  'checkpoint create',
  'checkpoint list',
  'checkpoint keys',
  'mail preview',
  'mail text',
  'mail test',
  'mail list',
  'demo load',
  'setup link',
  'staff invite',
  'staff list',
];

const domain = 'flowers.example';
/** The number of independent commands that run concurrently. */
const concurrency = availableParallelism();

async function homeWithStore(): Promise<Home> {
  const home = await makeHome();
  await home.json('store', 'create', domain, '--currency', 'EUR');
  return home;
}

function assertRejected({ code, output, errors }: Result, expected: number, message: RegExp): void {
  assert.deepEqual({ code, output }, { code: expected, output: '' }, errors);
  assert.match(errors, message);
}

/** Asserts one line with the error and nothing else: no stack, no help text. */
function assertOneLine(result: Result, message: RegExp): void {
  assertRejected(result, 1, message);
  assert.match(result.errors, /^largesse: [^\n]+\n$/);
}

/** The commands below a command, as its help lists them, each with its own help. */
function readHelp(...path: readonly string[]): readonly (readonly [command: string, help: string])[] {
  const output = helpOf(...path);
  assert.ok(output.startsWith(`Usage: ${['largesse', ...path].join(' ')} `), output);
  const [, listed] = /^Commands:\n((?: +.*\n)+)/m.exec(output) ?? [];
  if (listed === undefined) return [[path.join(' '), output]];
  const names = Array.from(listed.matchAll(/^ {2}([a-z-]+)/gm), ([, name = '']) => name);
  return names.filter((name) => name !== 'help').flatMap((name) => readHelp(...path, name));
}

test('every command has help, and commands that print data accept --json', async () => {
  await using home = await makeHome();
  const helps = new Map(readHelp());
  assert.deepEqual(
    new Set(helps.keys()),
    new Set([
      ...printing,

      'serve',
      'health',
      'app-proxy',
      'mcp',
      'card export',
      'location assign',
      'stock codes',
      'checkpoint export',
      'customer export',
      'staff disable',
      'staff enable',
      'staff limit',
      'store reopen',
    ]),
  );
  for (const [command, help] of helps) {
    assert.equal(help.includes('--json'), printing.includes(command), command);
  }
  for (const path of [[], ['store'], ['token', 'rotate']]) {
    const { code, output, errors } = await home.runProcess([...path, '--help']);
    assert.deepEqual({ code, output, errors }, { code: 0, output: helpOf(...path), errors: '' });
  }
  const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as { readonly version: string };
  assert.equal((await home.runProcess(['--version'])).output, `${manifest.version}\n`);
  assert.deepEqual(await home.database.traces(), []);
});

test('a command succeeds if its reader closes the pipe early', async () => {
  const launcher = join(import.meta.dirname, '../../bin/largesse.js');
  const script = 'set -o pipefail; "$0" "$1" --help | (exec <&-; sleep 2)';
  const ran = await runProgram('bash', ['-c', script, process.execPath, launcher]);
  assert.deepEqual({ code: ran.code, errors: ran.errors }, { code: 0, errors: '' });
});

test('wrong usage exits with code 2 and changes nothing', { concurrency }, async (t) => {
  await using home = await makeHome();
  const create = ['store', 'create', domain, '--currency'];
  const wrong: readonly (readonly [args: readonly string[], message: RegExp])[] = [
    [['frobnicate'], /^error: unknown command 'frobnicate'$/m],
    [['store', 'frobnicate'], /^error: unknown command 'frobnicate'$/m],
    [['verify', '--frobnicate'], /^error: unknown option '--frobnicate'$/m],
    [['copy', '--to', 'file:b.db'], /^error: required option '--from <address>' not specified$/m],
    [['backup'], /^error: missing required argument 'file'$/m],
    [['restore'], /^error: missing required argument 'file'$/m],
    [['store', 'create', domain], /^error: required option '--currency <code>' not specified$/m],
    [['store', 'create', 'fl owers', '--currency', 'EUR'], /^error: .*'fl owers'.* must be a host name such as/m],
    [[...create, 'XQZ'], /^error: .*'XQZ'.* current ISO 4217 code such as USD\.$/m],
    [[...create, 'BGN'], /^error: .*'BGN'.* current ISO 4217 code such as USD\.$/m],
    [[...create, 'EUR', '--time-zone', 'Mars/Olympus'], /^error: .*'Mars\/Olympus'.* IANA name such as/m],
    [[...create, 'EUR', '--proxy-secret', 'abc'], /^error: .*--proxy-secret.* at least 4 characters\.$/m],
    [['token', 'create', '--store', domain, '--scopes', 'all'], /^error: .*'all'.* some of read_gift_cards,/m],
    [['token', 'revoke', '--store', domain, 'till'], /^error: .*'till'.* an id that largesse token list shows\.$/m],
    [['app-proxy', '--store', domain, '--prefix', 'apps'], /^error: .*'apps'.* a path such as/m],
    [['app-proxy', '--store', domain, '--listen', '70000'], /^error: .*'70000'.* a port from 0 to 65535\.$/m],
    [['app-proxy', '--store', domain, '--to', 'ftp://x'], /^error: .*'ftp:\/\/x'.* an http URL such as/m],
    [['app-proxy', '--store', domain, '--to', 'http://:x@localhost'], /^error: .* must not contain a user name or password\.$/m],
    [['app-proxy', '--store', domain, '--customer', '-'], /^error: .*'-'.* a customer's id, an integer from 1 to 2\^53 - 1\.$/m],
  ]; // prettier-ignore
  await Promise.all([
    ...wrong.map(([args, message]) =>
      t.test(args.join(' '), async () => {
        const result = await home.run(args);
        assertRejected(result, 2, message);
        assert.match(result.errors, /^error: [^\n]+\n\(see --help\)\n$/);
      }),
    ),
    ...[[], ['store'], ['token']].map((args) =>
      t.test(`"${args.join(' ')}" alone`, async () => {
        assertRejected(await home.run(args), 2, /^Usage: largesse /);
      }),
    ),
  ]);
  assert.deepEqual(await home.database.traces(), []);
});

test('an error is reported in one line, with exit code 1', { concurrency }, async (t) => {
  await using home = await homeWithStore();
  const nowhere = ['--store', 'nowhere.example'];
  const noStore = /there is no store nowhere\.example/;
  const rejected: readonly (readonly [args: readonly string[], message: RegExp])[] = [
    [['store', 'show', 'nowhere.example'], noStore],
    [['store', 'update', 'nowhere.example', '--name', 'x'], noStore],
    [['token', 'create', ...nowhere], noStore],
    [['token', 'list', ...nowhere], noStore],
    [['token', 'rotate', ...nowhere, '1'], noStore],
    [['token', 'revoke', ...nowhere, '1'], noStore],
    [['app-proxy', ...nowhere, '--listen', '0'], noStore],
    [['token', 'rotate', '--store', domain, '1'], /not found/],
    [['token', 'revoke', '--store', domain, '1'], /not found/],
    [['store', 'create', domain, '--currency', 'USD'], /domain is taken/],
    [['store', 'create', domain.toUpperCase(), '--currency', 'USD'], /domain is taken/],
    [['store', 'create', 'a.example', '--currency', 'JPY', '--issue-limit', '10.5'], /--issue-limit .*JPY has no decimals/],
    [['store', 'update', domain, '--issue-limit', '0'], /--issue-limit must be greater than 0/],
    [['store', 'update', domain, '--issue-limit', '1e3'], /--issue-limit must be a decimal number/],
    [['store', 'create', 'a.example', '--currency', 'EUR', '--require-signature'], /--proxy-secret/],
    [['store', 'update', domain, '--require-signature'], /require_signature cannot be true without a proxy secret/],
    [['store', 'update', domain, '--mail-language', 'tlh'], /--mail-language must be a tag of a known language: en, .*\bpt\b.*zh-Hans$/m],
    [['store', 'update', domain, '--mail-language', 'no tag'], /--mail-language must be a language tag such as/],
    [['app-proxy', '--store', domain, '--listen', '0'], /flowers\.example has no proxy secret: largesse store update/],
  ]; // prettier-ignore
  await Promise.all(
    rejected.map(([args, message]) =>
      t.test(args.join(' '), async () => assertOneLine(await home.run(args), message)),
    ),
  );
  const stores = await home.json<readonly { readonly domain: string }[]>('store', 'list');
  assert.deepEqual(
    stores.map((store) => store.domain),
    [domain],
  );
});

/** Every command that needs a database, with arguments that are valid if there is one. */
const anyCalls: readonly (readonly string[])[] = [
  ['backup', 'copy.db'],
  ['copy', '--from', 'env:DATABASE_URL', '--to', 'file:copy.db'],
  ['store', 'update', domain, '--name', 'x'],
  ['store', 'show', domain],
  ['store', 'list'],
  ['token', 'create', '--store', domain],
  ['token', 'rotate', '--store', domain, '1'],
  ['token', 'revoke', '--store', domain, '1'],
  ['token', 'list', '--store', domain],
  ['token', 'list'],
  ['status'],
  ['verify'],
  ['app-proxy', '--store', domain],
];

test('a missing database is an error, and is not created', { concurrency }, async (t) => {
  await using home = await makeHome();
  await Promise.all(
    anyCalls.map((args) =>
      t.test(args.join(' '), async () => {
        assertOneLine(await home.run(args), engine.notMade);
      }),
    ),
  );
  assert.deepEqual(await home.database.traces(), []);
});

test('a missing, invalid or different key file is an error, and is not replaced', async (t) => {
  await using home = await homeWithStore();
  const kept = `${home.keysFile}.kept`;
  copyFileSync(home.keysFile, kept);
  const { keys } = JSON.parse(readFileSync(kept, 'utf8')) as { readonly keys: readonly { id: string }[] };
  const id = keys[0]?.id ?? '';
  const secret = Buffer.alloc(32, 7).toString('base64');
  const broken: readonly (readonly [what: string, content: string | null, message: RegExp])[] = [
    ['missing', null, /the key file \S+largesse\.keys\.json is missing, .*: put it back, or set KEYS_FILE$/m],
    ['cut off', readFileSync(kept, 'utf8').slice(0, 40), /largesse\.keys\.json is not a key file/],
    ['without keys', '{"keys": []}', /largesse\.keys\.json is not a key file/],
    ['with a short secret', `{"keys": [{"id": "${id}", "secret": "AAAA"}]}`, /largesse\.keys\.json is not a key file/],
    ['of another database', `{"keys": [{"id": "other", "secret": "${secret}"}]}`, new RegExp(`lacks the key "${id}"`)],
    ['with another secret', `{"keys": [{"id": "${id}", "secret": "${secret}"}]}`, new RegExp(`the key "${id}" is not the one`)],
  ]; // prettier-ignore
  for (const [what, content, message] of broken) {
    await t.test(what, async () => {
      if (content === null) rmSync(home.keysFile);
      else writeFileSync(home.keysFile, content, { mode: 0o600 });
      // The service is a process of its own, and reads the file with the same function as the other commands.
      const calls = content === null ? [['serve'], ['migrate']] : [['verify']];
      calls.push(['store', 'list']);
      const results = await Promise.all(calls.map((args) => home.run(args)));
      for (const result of results) assertOneLine(result, message);
      if (content === null) assert.ok(!readdirSync(home.folder).includes('largesse.keys.json'));
    });
  }
  copyFileSync(kept, home.keysFile);
  assert.equal((await home.run(['verify'])).code, 0);
});

test('serve reports all invalid settings together', async () => {
  await using home = await makeHome();
  const wrong = {
    DATABASE_URL: 'mysql://localhost/cards',
    PORT: '70000',
    HOST: 'not a host',
    BASE_PATH: 'apps',
    LOG_LEVEL: 'loud',
    RATE_LIMIT: 'some',
    TRUSTED_PROXIES: '10.0.0.0/8,somewhere',
    METRICS_TOKEN: 'short',
  };
  const result = await home.run(['serve'], wrong);
  assertRejected(result, 2, /^The configuration is wrong:\n/);
  const [, ...problems] = result.errors.trimEnd().split('\n');
  const named = problems.map((problem) => /^ {2}([A-Z_]+) must be .+/.exec(problem)?.[1]);
  assert.deepEqual(new Set(named), new Set(Object.keys(wrong)));
  assert.equal(named.length, Object.keys(wrong).length);
  assert.ok(!result.errors.includes('short'), 'a secret is not repeated');
  assert.deepEqual(await home.database.traces(), []);
});

test('serve does not start without a store, or on a port in use', async (t) => {
  await using home = await makeHome(engine, { durable: true });
  for (const environment of [{ NODE_ENV: 'production' }, { HOST: '0.0.0.0' }]) {
    const [[name, value]] = Object.entries(environment) as [[string, string]];
    await t.test(`${name}=${value} without a store`, async () => {
      const result = await home.run(['serve'], environment);
      assertRejected(result, 2, new RegExp(`^largesse: With ${name}=${value} the service needs a store`));
      assert.match(result.errors, /largesse store create .*\n.*largesse token create/);
    });
  }
  await t.test('the port is in use', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const address = other.address();
    assert.ok(typeof address === 'object' && address !== null);
    const result = await home.run(['serve'], { PORT: String(address.port) });
    other.close();
    assertOneLine(
      result,
      new RegExp(`^largesse: port ${address.port} of 127\\.0\\.0\\.1 is in use: set PORT`),
    );
  });
});

test('stores and tokens are created, changed and listed, as JSON and as text', async () => {
  await using home = await makeHome();
  const store = {
    domain,
    status: 'open',
    name: 'Flowers',
    currency: 'EUR',
    time_zone: 'Europe/Paris',
    issue_limit: '500.00',
    proxy_secret: 'set',
    require_signature: true,
    customer_search: true,
    stock_required: 'no',
    undo_window_minutes: 60,
    expiring_soon_days: 0,
    hold_limit_days: 7,
    lookup_failures_per_hour: null,
    vat: null,
    datev: null,
    demonstration: false,
  };
  const emailSettings = {
    mail: true,
    mail_name: null,
    mail_address: null,
    mail_reply_to: null,
    mail_colour: null,
    card_design: 'plain',
    website: null,
    phone: null,
    hours: null,
    terms: null,
    mail_language: 'en',
    mail_page: null,
    mail_expiry_reminders: null,
    mail_balance_reminders: null,
    mail_tell_failures: false,
  };
  const settings = ['--name', 'Flowers', '--time-zone', 'Europe/Paris', '--issue-limit', '500'];
  const signed = ['--proxy-secret', 'hush-hush', '--require-signature', '--customer-search'];
  const created = await home.run([
    'store', 'create', 'Flowers.Example', '--currency', 'eur', ...settings, ...signed, '--json',
  ]); // prettier-ignore
  assert.deepEqual(JSON.parse(created.output), { ...store, ...emailSettings });
  assert.deepEqual(await home.json('store', 'show', domain), { ...store, ...emailSettings });
  assert.deepEqual(await home.json('store', 'update', domain), { ...store, ...emailSettings });

  const changes = [
    '--name',
    'Blumen',
    '--issue-limit',
    'none',
    '--no-require-signature',
    '--no-customer-search',
    '--lookup-failures-per-hour',
    '50',
  ];
  const changed = {
    ...store,
    name: 'Blumen',
    issue_limit: null,
    require_signature: false,
    customer_search: false,
    stock_required: 'no',
    lookup_failures_per_hour: 50,
  };
  assert.deepEqual(await home.json('store', 'update', domain, ...changes), { ...changed, ...emailSettings });
  const contact = ['--website', 'https://flowers.example', '--phone', '+33 1 42', '--hours', 'Mo–Fr\nSa'];
  const looks = [
    ...contact,
    '--terms',
    'https://flowers.example/agb',
    '--mail-colour',
    '#abc',
    '--card-design',
    'winter',
    '--mail-expiry-reminders',
    '7,30',
    '--mail-language',
    'pt-br',
  ];
  const looked = {
    ...emailSettings,
    mail_colour: '#aabbcc',
    card_design: 'winter',
    website: 'https://flowers.example/',
    phone: '+33 1 42',
    hours: 'Mo–Fr\nSa',
    terms: 'https://flowers.example/agb',
    mail_expiry_reminders: '30,7',
    mail_language: 'pt-BR',
  };
  assert.deepEqual(await home.json('store', 'update', domain, ...looks), { ...changed, ...looked });
  const removed = ['website', 'phone', 'hours', 'terms'].flatMap((name) => [`--${name}`, 'none']);
  for (const [name, value] of [
    ['website', 'http://flowers.example'],
    ['terms', 'javascript:alert(1)'],
    ['phone', 'call me'],
    ['hours', 'a\n'.repeat(8)],
  ] as const)
    assertRejected(await home.run(['store', 'update', domain, `--${name}`, value]), 2, /It must /);
  const plain = [
    ...removed,
    '--mail-colour',
    'none',
    '--card-design',
    'plain',
    '--mail-expiry-reminders',
    'none',
    '--mail-language',
    'en',
  ];
  assert.deepEqual(await home.json('store', 'update', domain, ...plain), { ...changed, ...emailSettings });
  assert.deepEqual(await home.json('store', 'list'), [changed]);
  assert.match((await home.run(['store', 'list'])).output, /^DOMAIN .*\nflowers\.example +Blumen +EUR .*\n$/);

  for (const wrong of ['0', '100001', '1.5', 'many'])
    assertRejected(
      await home.run(['store', 'update', domain, '--lookup-failures-per-hour', wrong]),
      2,
      /It must be an integer from 1 to 100000, or default/,
    );
  const reset = await home.json('store', 'update', domain, '--lookup-failures-per-hour', 'default');
  assert.deepEqual(reset, { ...changed, ...emailSettings, lookup_failures_per_hour: null });

  const { migrations } = await home.json<{ readonly migrations: readonly unknown[] }>('migrate');
  assert.ok(migrations.length > 0);
  assert.equal((await home.json<{ readonly ok: boolean }>('verify')).ok, true);
  const everything = (await home.database.bytes()).toString('latin1');
  assert.ok(everything.includes('Blumen') && !everything.includes('hush-hush'), 'the secret is sealed');
});

test('a store can issue cards of up to 2,000 units of its currency by default, or up to --issue-limit', async () => {
  await using home = await makeHome();
  const limitOf = async (name: string, ...settings: readonly string[]): Promise<unknown> => {
    const made = await home.json<{ readonly issue_limit: unknown }>('store', 'create', name, ...settings);
    return made.issue_limit;
  };
  assert.equal(await limitOf('a.example', '--currency', 'EUR'), '2000.00');
  assert.equal(await limitOf('b.example', '--currency', 'JPY'), '2000');
  assert.equal(await limitOf('c.example', '--currency', 'KWD'), '2000.000');
  assert.equal(await limitOf('d.example', '--currency', 'EUR', '--issue-limit', 'none'), null);
  assert.equal(await limitOf('e.example', '--currency', 'EUR', '--issue-limit', '50'), '50.00');
  assert.match((await home.run(['store', 'create', '--help'])).output, /default 2000/);
});

test('a command without --store uses the only store, or lists several', async (t) => {
  await using home = await makeHome();
  assertOneLine(await home.run(['migrate']).then(() => home.run(['token', 'list'])), /there is no store: create one/);
  await home.json('store', 'create', domain, '--currency', 'EUR', '--proxy-secret', 'hush-hush');
  const { id } = await home.json<{ readonly id: number }>('token', 'create');
  assert.deepEqual((await home.json<readonly { id: number }[]>('token', 'list')).map((token) => token.id), [id]);
  assert.equal((await home.run(['webhook', 'list'])).output, `${domain} has no webhooks.\n`);
  assert.match((await home.run(['mail', 'list'])).output, /flowers\.example has no emails\./);
  const proxy = home.start(['app-proxy', '--listen', '0']);
  await proxy.written(/simulates the app proxy of flowers\.example/);
  proxy.kill('SIGTERM');
  await home.json('store', 'create', 'tea.example', '--currency', 'EUR');
  for (const args of [['token', 'create'], ['token', 'list'], ['webhook', 'list'], ['mail', 'list'], ['app-proxy']]) {
    await t.test(args.join(' '), async () => {
      assertOneLine(await home.run(args), /--store is required .*: flowers\.example, tea\.example$/m);
    });
  }
}); // prettier-ignore

test('a command without --store uses the demonstration store if there is no other', async () => {
  await using home = await makeHome();
  const service = await home.serve();
  assert.match((await home.run(['mail', 'list'])).output, /demo\.localhost has no emails\./);
  await home.json('store', 'create', domain, '--currency', 'EUR');
  assert.match((await home.run(['mail', 'list'])).output, /flowers\.example has no emails\./);
  await service.stop();
});

test('status prints the URL, the stores, the email transport, and the numbers of waiting jobs', async () => {
  await using home = await makeHome();
  await home.json('store', 'create', domain, '--currency', 'EUR');
  const { token } = await home.json<{ readonly token: string }>('token', 'create');
  const smtp = { SMTP_URL: 'smtp://cards:hush-hush@127.0.0.1:9', MAIL_FROM: 'cards@flowers.example' };
  const service = await home.serve(smtp);
  const issued = await ask(`${service.url}/gift_card`, {
    token,
    json: { initial_value: 25, recipient_email: 'grace@example.com' },
  });
  assert.equal(issued.status, 201);
  const statusOf = async (environment: Readonly<Record<string, string>>): Promise<unknown> => {
    const { code, output, errors } = await home.run(['status', '--json'], environment);
    assert.deepEqual({ code, errors }, { code: 0, errors: '' });
    assert.ok(!output.includes('hush-hush'), 'a password is not shown');
    return JSON.parse(output);
  };
  const { database } = (await statusOf({})) as { readonly database: string };
  assert.ok(!database.includes('@'));
  const common = { database, stores: [domain], pending_emails: 1 };
  const place = `${dirname(home.keysFile)}/mails`;
  assert.deepEqual(await statusOf({ PORT: '3001', BASE_PATH: '/apps/x', ...smtp }), {
    address: 'http://127.0.0.1:3001/apps/x',
    ...common,
    emails: { way: 'smtp', place: '127.0.0.1:9' },
  });
  assert.deepEqual(await statusOf({ PORT: '3000' }), {
    address: 'http://127.0.0.1:3000',
    ...common,
    emails: { way: 'folder', place },
  });
  assert.deepEqual(await statusOf({ PORT: '80', HOST: '::' }), {
    address: 'http://[::]:80',
    ...common,
    emails: { way: 'none', place: null },
  });
  const { output } = await home.run(['status'], { NODE_ENV: 'production', PORT: '3000' });
  assert.match(output, /^address +http:\/\/127\.0\.0\.1:3000\ndatabase +\S+\nstores +flowers\.example\n/);
  assert.match(output, /^emails +not sent: SMTP_URL is not set\npending emails +1\n$/m);
  await service.stop();
});

test('a customer is linked to an id of the storefront, which belongs to one customer', async () => {
  await using home = await homeWithStore();
  const emails = ['ada@example.com', 'grace@example.com'];
  await using database = await openDatabase(readDatabaseConfig(home.database.environment), { prepare: false });
  const { ctx, storage } = database;
  const { store } = await storage.read(() => requireStore(domain));
  for (const text of emails)
    await storage.write(() => findOrInsertCustomer(ctx, store.id, email(text)));
  const run = (...args: readonly string[]) => home.run(['customer', ...args, '--store', domain]);
  const json = (...args: readonly string[]) =>
    home.json<Readonly<Record<string, unknown>>>('customer', ...args, '--store', domain);

  const shown = await json('show', 'Ada@Example.com');
  assert.deepEqual(Object.keys(shown), ['id', 'email', 'storefront_customer_id', 'created_at']);
  assert.equal(shown['storefront_customer_id'], null);
  const linked = { ...shown, storefront_customer_id: 1001 };
  assert.deepEqual(await json('link', 'ada@example.com', '1001'), linked);
  assert.deepEqual(await json('link', 'ada@example.com', '1001'), linked);
  assertRejected(await run('link', 'grace@example.com', '1001'), 1, /storefront_customer_id is taken/);
  assert.deepEqual(await json('unlink', 'ada@example.com'), shown);
  assert.equal((await json('link', 'grace@example.com', '1001'))['storefront_customer_id'], 1001);
  assertRejected(await run('show', 'unknown@example.com'), 1, /there is no customer unknown@example\.com/);
  for (const [address, id] of [['ada', '5'], ['ada@example.com', '0'], ['ada@example.com', '1.5'], ['ada@example.com', '9007199254740992']])
    assertRejected(await run('link', address ?? '', id ?? ''), 2, /error: /);
}); // prettier-ignore

test('a token is shown once, and is not in a list or in the database', async () => {
  await using home = await homeWithStore();
  type Token = { readonly id: number; readonly token?: string; readonly api_client_id: number };
  const created = await home.json<Token>('token', 'create', '--store', domain, '--name', 'till');
  const rotated = await home.json<Token>('token', 'rotate', '--store', domain, String(created.id));
  const shown = await home.run(['token', 'create', '--store', domain, '--scopes', 'read_gift_cards']);
  const [printed] = /lgs_\w+/.exec(shown.output) ?? [];
  assert.match(shown.output, /Save it now: it is not shown again\.\n$/);
  assert.equal(rotated.api_client_id, created.api_client_id);

  const tokens = [created.token, rotated.token, printed];
  for (const token of tokens) assert.match(token ?? '', /^lgs_[0-9a-z]+_[0-9A-Za-z]{40}$/);
  assert.equal(new Set(tokens).size, tokens.length);

  const list = ['token', 'list', '--store', domain];
  const listed = await home.json<readonly (Token & { readonly revoked_at: string | null })[]>(...list);
  assert.deepEqual(
    listed.map(({ id, token, revoked_at: revokedAt }) => [id, token, revokedAt === null]),
    [[created.id, undefined, false], [rotated.id, undefined, true], [listed[2]?.id, undefined, true]],
  ); // prettier-ignore
  const output = [JSON.stringify(listed), (await home.run(list)).output].join('\n');
  const stored = (await home.database.bytes()).toString('latin1');
  for (const token of tokens) {
    const secret = token?.split('_')[2] ?? '';
    assert.ok(secret !== '' && !output.includes(secret) && !stored.includes(secret));
  }
});

test('emails are listed with the terms of the API, as JSON and as text', async () => {
  await using home = await homeWithStore();
  await home.database.meddle(`
    insert into gift_cards (store_id, id, version, currency, initial_value, balance, held, last_characters, created_at,
      last_transfer_id, chain_length, chain_hash)
    select id, 7, 1, 'EUR', 500, 500, 0, 'abcd', 0, 1, 1, (select digest from key_checks) from stores`);
  for (const [id, state, response, nextAt] of [
    [1, 'sent', `'250 2.0.0 taken'`, 'null'],
    [2, 'deferred', `'connect ECONNREFUSED'`, '9000'],
    [3, 'cancelled', `'the card is disabled'`, 'null'],
  ] as const) {
    await home.database.meddle(`
      insert into email_deliveries (store_id, card_id, id, kind, address, state, send_at, next_at, attempts, first_at,
        last_at, response, created_at, ended_at)
      select id, 7, ${id}, 'receipt', 'ada@example.com', '${state}', 0, ${nextAt}, 1, 1000, 1000, ${response}, 0,
        ${nextAt === 'null' ? 2000 : 'null'} from stores`);
  }
  const { statuses, deliveries } = await home.json<{
    readonly statuses: Readonly<Record<string, number>>;
    readonly deliveries: readonly {
      readonly status: string;
      readonly last_attempt: { readonly response: string | null };
      readonly cancel_reason: string | null;
    }[];
  }>('mail', 'list', '--store', domain);
  assert.deepEqual(
    [statuses['sent'], statuses['deferred'], statuses['cancelled'], statuses['dead']],
    [1, 1, 1, 0],
  );
  assert.deepEqual(
    deliveries.map(({ status, last_attempt: last, cancel_reason: reason }) => [
      status,
      last.response,
      reason,
    ]),
    [
      ['cancelled', null, 'the card is disabled'],
      ['deferred', null, null],
      ['sent', '250 2.0.0 taken', null],
    ],
  );
  const { output } = await home.run(['mail', 'list', '--store', domain]);
  assert.match(output, /STATUS +ATTEMPTS +SEND AT +RESPONSE +FAILURE/);
  assert.match(output, /deferred .* connect ECONNREFUSED/);
});

test('a command whose server cannot be reached reports it and fails', async (t) => {
  await using home = await makeHome();
  const environment = {
    DATABASE_URL: 'postgres://shop:hush-hush@127.0.0.1:1/shop',
    KEYS_FILE: home.keysFile,
  };
  const commands = [['verify'], ['store', 'list'], ['status'], ['token', 'list'], ['migrate']];
  // Each tries for three seconds.
  const ending = Promise.all(commands.map((args) => home.runProcess(args, environment)));
  for (const [place, args] of commands.entries()) {
    await t.test(args.join(' '), async () => {
      const { code, output, errors } = (await ending)[place] ?? assert.fail();
      assert.deepEqual([code, output], [1, '']);
      assert.match(
        errors,
        /^largesse: the database cannot be used: no server accepts writes: 127\.0\.0\.1:1: [^\n]+\n$/,
      );
      assert.ok(!errors.includes('hush-hush'));
    });
  }
});
