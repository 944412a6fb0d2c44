/** The files of the pages: style, fonts and icons. Their URLs contain a hash of all of them, so browsers keep them. */

import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { extname } from 'node:path';

const types: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.woff2': 'font/woff2',
  '.svg': 'image/svg+xml',
  '.wasm': 'application/wasm',
};

export type Asset = { readonly type: string; readonly bytes: Buffer };

export type Assets = {
  /** Changes with the content of any file. */
  readonly version: string;
  readonly find: (name: string) => Asset | undefined;
};

const folder = new URL('assets/', import.meta.url);

export function loadAssets(): Assets {
  const assets = new Map<string, Asset>();
  for (const name of readdirSync(folder).toSorted()) {
    const type = types[extname(name)];
    // Licences are not served.
    if (type !== undefined) assets.set(name, { type, bytes: readFileSync(new URL(name, folder)) });
  }
  const digest = createHash('sha256');
  for (const { bytes } of assets.values()) digest.update(bytes);
  return { version: digest.digest('base64url').slice(0, 12), find: (name) => assets.get(name) };
}
