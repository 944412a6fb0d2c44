/**
 * `node packaging/releases/sign.ts`: signs the list of the newest version, which `largesse upgrade` reads.
 *
 *   --generate-key <file>   makes a private key with mode 0600, and prints the public one for RELEASES_KEY
 *   --key <file>            the private key
 *   --version <version>     the newest version
 *   --base-url <url>        the folder in which the files are published
 *   --days <days>           the list ends after so many days: sign it again before (default 45)
 *   --output <file>         the signed list
 *   <platform>=<file>…      the executables, such as linux-x64=build/binary/largesse-linux-x64
 */

import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, sign } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { parseArgs } from 'node:util';
import {
  isVersion,
  parseReleaseKey,
  readReleaseList,
  signedPrefix,
} from '../../src/features/upgrade/platform/list.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    'generate-key': { type: 'string' },
    key: { type: 'string' },
    version: { type: 'string' },
    'base-url': { type: 'string' },
    days: { type: 'string', default: '45' },
    output: { type: 'string' },
  },
});

/** The public half of a private key, as RELEASES_KEY has it. */
function publicOf(privateKey: string): string {
  const der = createPublicKey(createPrivateKey(privateKey)).export({ format: 'der', type: 'spki' });
  return der.subarray(-32).toString('base64');
}

function required(name: 'key' | 'version' | 'base-url' | 'output'): string {
  const value = values[name];
  if (value === undefined) throw new Error(`--${name} is missing`);
  return value;
}

function signList(): void {
  const privateKey = readFileSync(required('key'), 'utf8');
  const version = required('version');
  if (!isVersion(version)) throw new Error(`${version} is not a version`);
  const base = required('base-url').replace(/\/?$/, '/');
  const now = Date.now();
  const days = Number(values.days);
  if (!(days >= 1 && days <= 400)) throw new Error('--days must be from 1 to 400');
  const files = positionals.map((text) => {
    const [, platform = '', path = ''] = /^([a-z]+-[a-z0-9]+)=(.+)$/.exec(text) ?? [];
    if (path === '') throw new Error(`${text} is not <platform>=<file>`);
    const content = readFileSync(path);
    const sha256 = createHash('sha256').update(content).digest('hex');
    return [platform, { url: new URL(basename(path), base).href, bytes: content.length, sha256 }] as const;
  });
  if (files.length === 0) throw new Error('name at least one file as <platform>=<file>');
  const list = JSON.stringify({
    version,
    published: new Date(now).toISOString(),
    expires: new Date(now + days * 24 * 60 * 60 * 1_000).toISOString(),
    files: Object.fromEntries(files),
  });
  const signature = sign(null, Buffer.from(`${signedPrefix}${list}`), privateKey).toString('base64');
  const document = `${JSON.stringify({ list, signature }, null, 2)}\n`;
  const key = parseReleaseKey(publicOf(privateKey));
  if (!key.ok) throw new Error('the private key is not one of Ed25519');
  readReleaseList(document, key.value, now);
  writeFileSync(required('output'), document);
  process.stdout.write(`Signed version ${version} for ${files.map(([platform]) => platform).join(', ')}.\n`);
}

if (values['generate-key'] === undefined) signList();
else {
  const { privateKey } = generateKeyPairSync('ed25519');
  const pem = privateKey.export({ format: 'pem', type: 'pkcs8' });
  writeFileSync(values['generate-key'], pem, { mode: 0o600, flag: 'wx' });
  process.stdout.write(`RELEASES_KEY=${publicOf(pem)}\n`);
}
