/**
 * The key file: `{"keys": [{"id": "…", "secret": "<32 bytes, base64>"}]}`, the key in use first.
 * To rotate, insert a new key at the front and keep the old ones, which existing rows still need.
 */

import {
  closeSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  statSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import type { Random } from './random.ts';
import { makeFolder, syncFolder } from './folders.ts';
import type { MasterKey } from './keys.ts';
import { errorText, withPath } from './system-error.ts';

export class KeyFileError extends Error {
  override readonly name = 'KeyFileError';
}

/** Reads the keys of a file; undefined if it does not exist. @throws KeyFileError if it is unreadable or invalid. */
export function readKeyFile(path: string): readonly MasterKey[] | undefined {
  let text;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw new KeyFileError(
      `the key file ${path} cannot be read, because ${errorText(withPath(error, path))}`,
      {
        cause: error,
      },
    );
  }
  const keys = parseKeys(text);
  if (!keys) {
    throw new KeyFileError(
      `${path} is not a key file: it must contain {"keys": [{"id": "…", "secret": "<32 bytes in base64>"}]}`,
    );
  }
  return keys;
}

function parseKeys(text: string): readonly MasterKey[] | undefined {
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof content !== 'object' || content === null || !('keys' in content) || !Array.isArray(content.keys))
    return undefined;
  const keys = content.keys.map(parseKey);
  const valid = keys.filter((key) => key !== undefined);
  return valid.length === keys.length && keys.length > 0 ? valid : undefined;
}

function parseKey(entry: unknown): MasterKey | undefined {
  if (typeof entry !== 'object' || entry === null || !('id' in entry) || !('secret' in entry))
    return undefined;
  if (typeof entry.id !== 'string' || typeof entry.secret !== 'string') return undefined;
  const secret = Buffer.from(entry.secret, 'base64');
  return secret.length === 32 ? { id: entry.id, secret } : undefined;
}

/**
 * Creates a key file with one random key, with mode 0600. The file appears complete or not at all. If another process
 * creates it at the same time, that file is kept.
 */
export function makeKeyFile(path: string, random: Random): void {
  const id = Buffer.from(random.bytes(4)).toString('hex');
  const secret = Buffer.from(random.bytes(32)).toString('base64');
  const temporary = `${path}.${id}`;
  makeFolder(dirname(path));
  const file = openSync(temporary, 'wx', 0o600);
  try {
    writeSync(file, `${JSON.stringify({ keys: [{ id, secret }] }, null, 2)}\n`);
    fsyncSync(file);
  } catch (error) {
    throw withPath(error, temporary);
  } finally {
    closeSync(file);
  }
  try {
    linkSync(temporary, path);
    syncFolder(dirname(path));
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  } finally {
    unlinkSync(temporary);
  }
}

/** Whether users other than the owner can access the file. */
export function isExposed(path: string): boolean {
  return (statSync(path).mode & 0o077) !== 0;
}
