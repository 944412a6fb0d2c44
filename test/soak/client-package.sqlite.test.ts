/** The package `largesse-client`, as npm installs it: its README runs on each installed Node.js, and its types are checked. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { accessSync, constants, mkdtempDisposableSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import test, { after } from 'node:test';
import { openSampleServer, sampleToken } from '../support/code-samples.ts';
import { runProgram } from '../support/programs.ts';
import { startService } from '../support/service.ts';

const root = join(import.meta.dirname, '../..');
const source = join(root, 'packages/client');
const readme = readFileSync(join(source, 'README.md'), 'utf8');

/** The code of a block of the README. */
function blockOf(name: string): string {
  const [, code] = new RegExp(`<!-- test: ${name} -->\n+\`\`\`js\n([^]*?)\`\`\``).exec(readme) ?? [];
  return code ?? assert.fail(`the README has no block ${name}`);
}

/** The Node.js of this process, and those that are installed on the machine. */
function installedNodes(): readonly string[] {
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter((one) => !one.includes('node_modules'));
  const found = folders
    .map((folder) => join(folder, 'node'))
    .filter((path) => {
      try {
        accessSync(path, constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });
  const versions = new Map(found.map((path) => [versionOf(path), path]));
  return [...versions.set(process.version, process.execPath).values()];
}

function versionOf(path: string): string {
  return execFileSync(path, ['--version'], { encoding: 'utf8' }).trim();
}

const folder = mkdtempDisposableSync(join(tmpdir(), 'largesse-client-'));
after(() => folder.remove());
execFileSync(process.execPath, [join(root, 'packaging/client/build.ts')], { stdio: 'inherit' });
const [packed] = JSON.parse(
  execFileSync('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', folder.path], {
    cwd: source,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  }),
) as readonly {
  readonly filename: string;
  readonly files: readonly { readonly path: string; readonly size: number }[];
}[];
assert.ok(packed);
const installed = join(folder.path, 'node_modules/largesse-client');
writeFileSync(join(folder.path, 'package.json'), '{"type": "module"}');
const [, install = ''] = /<!-- test: install -->\n+```sh\n([^]*?)```/.exec(readme) ?? [];
assert.ok(install.includes(packed.filename), 'the README does not install the packed file');
execFileSync('sh', ['-c', `set -e\n${install}`], {
  cwd: folder.path,
  env: { ...process.env, npm_config_offline: 'true' },
});

test('the package has its JavaScript, its types, its README and its licence, and is small', () => {
  const paths = packed.files.map(({ path }) => path);
  for (const path of ['package.json', 'README.md', 'LICENSE', 'dist/index.js', 'dist/index.d.ts'])
    assert.ok(paths.includes(path), path);
  assert.deepEqual(paths.filter((path) => !/^(?:dist\/.*\.(?:js|d\.ts)|package\.json|README\.md|LICENSE)$/.test(path)), []);
  const code = packed.files.filter(({ path }) => path.endsWith('.js'));
  assert.ok(code.reduce((bytes, { size }) => bytes + size, 0) < 40_000);
  for (const { path } of code)
    assert.doesNotMatch(readFileSync(join(installed, path), 'utf8'), /from '(?!\.)|\brequire\(|\bprocess\b|\bBuffer\b/, path);
  type Manifest = { readonly license: string; readonly dependencies?: object };
  const read = (path: string): Manifest => JSON.parse(readFileSync(path, 'utf8')) as Manifest;
  const [own, main] = [read(join(installed, 'package.json')), read(join(root, 'package.json'))];
  assert.equal(own.license, main.license);
  assert.equal(own.dependencies, undefined);
}); // prettier-ignore

test('the README runs on each installed Node.js', async (t) => {
  await using service = await startService({ stores: [{ domain: 'flowers.example' }] });
  const program = `
    import assert from 'node:assert/strict';
    import { createHmac } from 'node:crypto';
    import { ApiError, verifyWebhook } from 'largesse-client';
    ${blockOf('checkout')}
    const sell = async (initial_value) => (await largesse.cards.create({ initial_value })).gift_card.code;
    const codes = [await sell('30.00'), await sell('50.00')];
    const order = 'order-' + codes[0];
    const { holds, due } = await reserve(order, '90.00', codes);
    assert.equal(due, '10.00');
    const repeated = await reserve(order, '90.00', codes);
    assert.deepEqual([new Set(repeated.holds), repeated.due], [new Set(holds), '10.00']);
    await cancel(holds);
    const again = await reserve(order + '-2', '60.00', codes);
    assert.equal(again.due, '0.00');
    await ship(again.holds);
    await refund(order + '-2', '35.00');
    const balances = await Promise.all(codes.map(async (code) => (await largesse.cards.lookup({ code })).gift_card.balance));
    assert.deepEqual(balances, ['5.00', '50.00']);
    ${blockOf('lists')}
    assert.ok(newest.length >= 2);
    let lastId = (await largesse.events.list({ limit: 1 })).events[0].id;
    const stop = new AbortController();
    const { signal } = stop;
    const first = lastId;
    setTimeout(() => stop.abort(new Error('enough')), 1_000);
    await assert.rejects(async () => {
      ${blockOf('stream')}
    }, /enough/);
    assert.ok(lastId > first);
    await assert.rejects(largesse.cards.redeem({ code: codes[0], amount: '60.00' }), (error) =>
      error instanceof ApiError && error.code === 'insufficient-balance' && error.problem.available === '5.00');
    const secret = 'whsec_' + Buffer.alloc(32, 7).toString('base64');
    const time = String(Math.floor(Date.now() / 1_000));
    const signature = createHmac('sha256', Buffer.alloc(32, 7)).update('1.' + time + '.{}').digest('base64');
    const headers = { 'webhook-id': '1', 'webhook-timestamp': time, 'webhook-signature': 'v1,' + signature };
    assert.deepEqual(await verifyWebhook({ body: '{}', headers, secrets: secret }), {});
    console.log('done with', process.version);
  `;
  const path = join(folder.path, 'readme.js');
  writeFileSync(path, program);
  const token = await service.token('flowers.example');
  for (const node of installedNodes()) {
    await t.test(versionOf(node), async () => {
      const environment = { LARGESSE_URL: service.url, LARGESSE_TOKEN: token, NODE_OPTIONS: '', NODE_COMPILE_CACHE: '' };
      const { code, output, errors } = await runProgram(node, [path], { folder: folder.path, environment });
      assert.equal(code, 0, errors);
      assert.match(output, /done with v\d+/);
    });
  }
}); // prettier-ignore

const strictOptions = {
  strict: true,
  exactOptionalPropertyTypes: true,
  noEmit: true,
  target: 'es2022',
  lib: ['es2022', 'dom', 'dom.iterable'],
  types: [],
  module: 'nodenext',
};

/** A program that compiles. Each line after `@ts-expect-error` does not. */
const consumer = `
import {
  ApiError, createClient, verifyWebhook, responseOf, type GiftCard, type Largesse, type List, type WebhookEvent,
} from 'largesse-client';

const client: Largesse = createClient({ url: 'https://cards.example', token: 'lgs_1', fetch });

export async function right(code: string): Promise<string> {
  const { gift_card: card } = await client.cards.create({ initial_value: '25.00', note: undefined });
  const issued: string = card.code;
  const other = await client.cards.create({ initial_value: '25.00', external_id: 'order-1' });
  const maybe: string | undefined = 'code' in other.gift_card ? other.gift_card.code : undefined;
  const { transaction } = await client.cards.redeem({ code, amount: '1.00' }, { idempotencyKey: 'k', ifMatch: '"1"' });
  await client.holds.capture('external:order-1');
  await client.transactions.reverse(transaction.id, { amount: '0.50' }, { signal: new AbortController().signal });
  const page = await client.cards.list();
  const whole: string = page.gift_cards.map((one) => one.balance).join();
  const list: List<unknown, GiftCard> = client.cards.list({ state: 'active' });
  for await (const one of list) console.log(one.balance.length);
  for await (const one of client.cards.list({ fields: 'id' })) console.log(one.balance?.length);
  const csv: string = await client.reports.liability({ format: 'csv' });
  const owed: string = (await client.reports.liability()).liability.outstanding;
  for await (const event of client.events.stream()) console.log(described(event));
  const event = await verifyWebhook({ body: new Uint8Array(), headers: new Headers(), secrets: ['a', 'b'] });
  return [issued, maybe, whole, csv, owed, responseOf(page).etag, described(event)].join();
}

function described(event: WebhookEvent): string {
  switch (event.type) {
    case 'gift_card.redeemed': {
      const type: 'gift_card.redeemed' = event.type;
      return type + event.data.transaction.amount;
    }
    default:
      return event.type;
  }
}

export async function wrong(error: unknown): Promise<void> {
  // @ts-expect-error An amount is a string.
  await client.cards.create({ initial_value: 25 });
  // @ts-expect-error A mistyped field.
  await client.cards.create({ initial_value: '25.00', expires_at: '2031-12-31' });
  // @ts-expect-error A required field is missing.
  await client.cards.redeem({ amount: '1.00' });
  // @ts-expect-error An unknown method.
  await client.cards.remove(1);
  // @ts-expect-error A card has no external path.
  await client.cards.retrieve('external:order-1');
  // @ts-expect-error Another form of external id.
  await client.holds.void('order-1');
  // @ts-expect-error An unknown filter.
  await client.cards.list({ status: 'active' });
  // @ts-expect-error An unknown state.
  await client.cards.list({ state: 'open' });
  // @ts-expect-error A read has no key.
  await client.cards.retrieve(1, { idempotencyKey: 'k' });
  // @ts-expect-error The operation has no If-Match.
  await client.locations.create({ name: 'x' }, { ifMatch: '"1"' });
  // @ts-expect-error A repetition has no code.
  (await client.cards.create({ initial_value: '1', external_id: 'a' })).gift_card.code.length;
  // @ts-expect-error A retrieved card has no code.
  (await client.cards.retrieve(1)).gift_card.code;
  // @ts-expect-error Only some fields are there.
  for await (const { balance } of client.cards.list({ fields: 'id' })) balance.length;
  // @ts-expect-error A field of a record that is not there.
  (await client.holds.retrieve(1)).hold.balance;
  // @ts-expect-error An unknown type of event.
  for await (const { type } of client.events.stream()) if (type === 'gift_card.redeem') return;
  // @ts-expect-error The event of a customer has no gift card.
  for await (const event of client.events.stream()) if (event.type === 'customer.created') event.data.gift_card.id;
  // @ts-expect-error The body must not be parsed.
  await verifyWebhook({ body: { id: 1 }, headers: new Headers(), secrets: 'a' });
  // @ts-expect-error An unknown option.
  createClient({ url: 'https://cards.example', auth: 'x' });
  // @ts-expect-error The status is a number.
  if (error instanceof ApiError && error.status === '422') return;
}
`;

test('the samples of the API reference compile, and make the documented requests', async () => {
  await using server = await openSampleServer();
  const samples = join(folder.path, 'samples');
  const files = server.writeSamples(samples, 'JavaScript', 'js');
  writeFileSync(join(samples, 'process.d.ts'), 'declare const process: { env: { TOKEN: string } };');
  const compilerOptions = { ...strictOptions, allowJs: true, checkJs: true };
  writeFileSync(join(samples, 'tsconfig.json'), JSON.stringify({ compilerOptions }));
  execFileSync(join(root, 'node_modules/.bin/tsc'), ['-p', samples], { stdio: 'inherit' });

  // The stream has no end: the server rejects it.
  const run = `
    for (const file of ${JSON.stringify(files)})
      await import('./' + file).catch((error) => {
        if (file !== 'streamEvents.js' || error.status !== 404) throw error;
      });
  `;
  writeFileSync(join(samples, 'run.mjs'), run);
  const environment = { TOKEN: sampleToken, NODE_OPTIONS: '', NODE_COMPILE_CACHE: '' };
  const { code, errors } = await runProgram(process.execPath, ['run.mjs'], { folder: samples, environment });
  assert.equal(code, 0, errors);
  server.assertReceived();
});

test('the types accept what the API accepts, and reject wrong fields', () => {
  writeFileSync(join(folder.path, 'consumer.ts'), consumer);
  writeFileSync(
    join(folder.path, 'tsconfig.json'),
    JSON.stringify({ compilerOptions: strictOptions, files: ['consumer.ts'] }),
  );
  const compile = (): string =>
    execFileSync(join(root, 'node_modules/.bin/tsc'), ['-p', folder.path], { encoding: 'utf8' });
  assert.equal(compile(), '');
  // The errors are those of the compiler, not missing types.
  writeFileSync(join(folder.path, 'consumer.ts'), consumer.replaceAll(/^.*@ts-expect-error.*$/gm, ''));
  assert.throws(compile, ({ stdout }: { readonly stdout: string }) => {
    assert.equal(stdout.match(/error TS/g)?.length, consumer.match(/@ts-expect-error/g)?.length, stdout);
    return true;
  });
});
