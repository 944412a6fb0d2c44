/** The files of the pages: style, fonts and icons. Their URLs contain a hash of all of them, so browsers keep them. */

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

const types = {
  'largesse.css': 'text/css; charset=utf-8',
  'fraunces.woff2': 'font/woff2',
  'instrument-sans.woff2': 'font/woff2',
  'mark.svg': 'image/svg+xml',
} as const;

export type AssetName = keyof typeof types;

export type Asset = { readonly type: string; readonly bytes: Buffer };

export type Assets = {
  /** Changes with the content of any file. */
  readonly version: string;
  readonly find: (name: string) => Asset | undefined;
};

export function loadAssets(): Assets {
  const names = Object.keys(types) as AssetName[];
  const assets = new Map<string, Asset>(
    names.map((name) => [
      name,
      { type: types[name], bytes: readFileSync(new URL(`assets/${name}`, import.meta.url)) },
    ]),
  );
  const digest = createHash('sha256');
  for (const { bytes } of assets.values()) digest.update(bytes);
  return { version: digest.digest('base64url').slice(0, 12), find: (name) => assets.get(name) };
}
