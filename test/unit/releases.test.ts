/** The signed list of versions, and the replacement of the executable. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash, generateKeyPairSync, sign } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import test, { after } from 'node:test';
import { upgrade, type Installed } from '../../src/features/upgrade/cli/upgrading.ts';
import { readNewest } from '../../src/features/upgrade/delivery/download.ts';
import {
  isLater,
  parseReleaseKey,
  readReleaseList,
  signedPrefix,
} from '../../src/features/upgrade/platform/list.ts';
import { runCommand } from '../support/command-line.ts';
import { makeScratchFolder } from '../support/scratch.ts';

const folder = makeScratchFolder('largesse-releases-');
const day = 24 * 60 * 60_000;
const now = Date.now();
const signer = join(import.meta.dirname, '../../packaging/releases/sign.ts');

/** Serves the files of the test by their paths. */
const served = new Map<string, Buffer>();
const server = createServer((request, response) => {
  const content = served.get(request.url ?? '');
  response.writeHead(content ? 200 : 404).end(content);
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
after(() => server.close());
const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

const { privateKey, publicKey } = generateKeyPairSync('ed25519');
/** Its 32 bytes. */
const releaseKey = publicKey.export({ format: 'der', type: 'spki' }).subarray(-32);

/** An executable that says its version. */
function program(version: string): Buffer {
  return Buffer.from(`#!/bin/sh\necho ${version}\n`);
}

function fileOf(name: string, content: Buffer) {
  served.set(`/${name}`, content);
  const sha256 = createHash('sha256').update(content).digest('hex');
  return { url: `${base}/${name}`, bytes: content.length, sha256 };
}

function listWith(changes: Readonly<Record<string, unknown>> = {}): string {
  return JSON.stringify({
    version: '2.0.0',
    published: new Date(now - day).toISOString(),
    expires: new Date(now + day).toISOString(),
    files: { 'linux-x64': fileOf('largesse-2', program('2.0.0')) },
    ...changes,
  });
}

function signed(list: string, { key = privateKey, prefix = signedPrefix } = {}): string {
  const signature = sign(null, Buffer.from(`${prefix}${list}`), key).toString('base64');
  return JSON.stringify({ list, signature });
}

const read = (document: string) => readReleaseList(document, releaseKey, now);

test('a list is accepted only with its signature, before its end, and in its form', () => {
  assert.equal(read(signed(listWith())).version, '2.0.0');
  const changed = JSON.stringify({
    ...(JSON.parse(signed(listWith())) as object),
    list: listWith({ version: '2.0.1' }),
  });
  assert.throws(() => read(changed), /not signed/);
  const { privateKey: other } = generateKeyPairSync('ed25519');
  assert.throws(() => read(signed(listWith(), { key: other })), /not signed/);
  assert.throws(
    () => read(signed(listWith(), { prefix: '' })),
    /not signed/,
    'it was signed for another purpose',
  );
  const expires = new Date(now - 1).toISOString();
  assert.throws(() => read(signed(listWith({ expires }))), /ended on/, 'a frozen list');
  const published = new Date(now + 2 * day).toISOString();
  assert.throws(() => read(signed(listWith({ published }))), /from the future/);
  const { url, bytes, sha256 } = fileOf('x', program('2.0.0'));
  const wrong: readonly Readonly<Record<string, unknown>>[] = [
    { version: '2.0' }, { version: 2 }, { expires: 'soon' }, { files: null },
    { files: { 'linux-x64': { url: 'x', bytes, sha256 } } },
    { files: { 'linux-x64': { url, bytes: -1, sha256 } } },
    { files: { 'linux-x64': { url, bytes: 2 ** 40, sha256 } } },
    { files: { 'linux-x64': { url, bytes, sha256: 'abc' } } },
  ]; // prettier-ignore
  for (const changes of wrong) assert.throws(() => read(signed(listWith(changes))), /not a list/);
  for (const document of ['', '[]', '{}', 'null', '{"list":1,"signature":2}'])
    assert.throws(() => read(document), /not a list/);
});

test('versions are compared by their numbers, and a version before a release is earlier than it', () => {
  assert.ok(isLater('0.10.0', '0.9.9'));
  assert.ok(isLater('1.0.0', '1.0.0-beta.1'));
  assert.ok(!isLater('1.0.0', '1.0.0'));
  assert.ok(!isLater('0.9.9', '0.10.0'));
  assert.ok(!isLater('1.0.0', '1.0.1-beta.1'));
});

test('a key is 32 bytes in base64', () => {
  const raw = releaseKey.toString('base64');
  assert.ok(parseReleaseKey(raw).ok);
  for (const text of ['', 'x', raw.slice(1), `${raw} `, 'A'.repeat(44), 'x'.repeat(10_000)])
    assert.equal(parseReleaseKey(text).ok, false, text.slice(0, 50));
});

function install(name: string): Installed {
  const path = join(folder, name);
  writeFileSync(path, program('1.0.0'), { mode: 0o755 });
  return { path, version: '1.0.0', platform: 'linux-x64' };
}

async function newest(document: string) {
  served.set('/releases.json', Buffer.from(document));
  return await readNewest({ url: new URL(`${base}/releases.json`), key: releaseKey }, now);
}

function left(name: string): readonly string[] {
  return readdirSync(folder).filter((file) => file.startsWith(name) && file !== name);
}

test('the executable is replaced, and the previous one is kept', async () => {
  const installed = install('replaced');
  const list = await newest(signed(listWith()));
  writeFileSync(`${installed.path}.next`, 'left by an interrupted upgrade');
  const previous = await upgrade(list, installed);
  assert.equal(previous, `${installed.path}.previous`);
  assert.deepEqual(readFileSync(installed.path), program('2.0.0'));
  assert.equal(statSync(installed.path).mode & 0o777, 0o755);
  assert.deepEqual(readFileSync(previous), program('1.0.0'));
  assert.equal(execFileSync(previous, { encoding: 'utf8' }), '1.0.0\n');
  assert.deepEqual(left('replaced'), ['replaced.previous']);
  assert.equal(await upgrade(list, { ...installed, version: '2.0.0' }), null);
  assert.equal(await upgrade(list, { ...installed, version: '2.1.0' }), null, 'a downgrade');
});

test('a file that is not the one of the list changes nothing', async () => {
  const cases: readonly (readonly [name: string, change: () => object, said: RegExp])[] = [
    ['changed', () => {
      const file = fileOf('changed', program('2.0.0'));
      served.set('/changed', program('6.6.6'));
      return file;
    }, /not the one of the list/],
    ['longer', () => ({ ...fileOf('longer', program('2.0.0')), bytes: 5 }), /more than 5 bytes/],
    ['shorter', () => ({ ...fileOf('shorter', program('2.0.0')), bytes: 500 }), /not the one of the list/],
    ['missing', () => ({ ...fileOf('missing', program('2.0.0')), url: `${base}/nothing` }), /status 404/],
    ['other-version', () => fileOf('other-version', program('1.9.0')), /does not start as version 2\.0\.0/],
    ['broken', () => fileOf('broken', Buffer.from('#!/bin/sh\nexit 3\n')), /does not start/],
  ]; // prettier-ignore
  for (const [name, change, said] of cases) {
    const installed = install(name);
    const list = await newest(signed(listWith({ files: { 'linux-x64': change() } })));
    await assert.rejects(upgrade(list, installed), said);
    assert.deepEqual(readFileSync(installed.path), program('1.0.0'), name);
    assert.deepEqual(left(name), [], name);
  }
  const installed = { ...install('platform'), platform: 'linux-s390x' };
  await assert.rejects(upgrade(await newest(signed(listWith())), installed), /no executable for linux-s390x/);
  await assert.rejects(newest('x'.repeat(70_000)), /more than 65536 bytes/);
});

test('the maintainers sign a list that the command reads', async () => {
  const [key, file, output] = ['key.pem', 'largesse-9', 'list.json'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  const made = execFileSync(process.execPath, [signer, '--generate-key', key], { encoding: 'utf8' });
  const [, text = ''] = /^RELEASES_KEY=(\S+)$/m.exec(made) ?? [];
  const parsed = parseReleaseKey(text);
  assert.ok(parsed.ok);
  assert.equal(statSync(key).mode & 0o777, 0o600);
  writeFileSync(file, program('9.0.0'));
  const args = ['--key', key, '--version', '9.0.0', '--base-url', `${base}/files`, '--output', output];
  execFileSync(process.execPath, [signer, ...args, `linux-x64=${file}`]);
  served.set('/files/largesse-9', program('9.0.0'));
  const list = readReleaseList(readFileSync(output, 'utf8'), parsed.value, Date.now());
  const installed = install('signed');
  assert.equal(await upgrade(list, installed), `${installed.path}.previous`);
  assert.equal(execFileSync(installed.path, { encoding: 'utf8' }), '9.0.0\n');
  assert.ok(existsSync(`${installed.path}.previous`));
});

test('a clone and npm have another command, and without settings nothing is requested', async () => {
  const upgraded = await runCommand(['upgrade'], { environment: {} });
  assert.equal(upgraded.code, 1);
  assert.match(upgraded.errors, /installed from a clone: use "git pull && npm ci"/);
  const checked = await runCommand(['upgrade', '--check'], { environment: {} });
  assert.match(checked.errors, /set RELEASES_URL and RELEASES_KEY/);
});
