/** The files of the pages: style, scripts, fonts and icons. Their URLs contain a hash of all of them, so browsers keep them. */

import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { extname } from 'node:path';
import { pathToFileURL } from 'node:url';

const types: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.woff2': 'font/woff2',
  '.svg': 'image/svg+xml',
  '.wasm': 'application/wasm',
};

type Asset = { readonly type: string; readonly bytes: Buffer };

export type Assets = {
  /** Changes with the content of any file. */
  readonly version: string;
  readonly find: (name: string) => Asset | undefined;
};

const folder = new URL('assets/', import.meta.url);

const detector = import.meta.resolve('barcode-detector/ponyfill');

/** Files of packages: they read codes from the camera in browsers that have no `BarcodeDetector`. */
const packaged: readonly (readonly [name: string, file: URL])[] = [
  ['barcode-detector.js', new URL(detector)],
  // The file above imports it under this name.
  ['zxing-exported.js', new URL('zxing-exported.js', detector)],
  [
    'zxing-reader.wasm',
    pathToFileURL(createRequire(detector).resolve('zxing-wasm/reader/zxing_reader.wasm')),
  ],
];

export function loadAssets(): Assets {
  const assets = new Map<string, Asset>();
  const own = readdirSync(folder)
    .toSorted()
    .map((name) => [name, new URL(name, folder)] as const);
  for (const [name, file] of [...own, ...packaged]) {
    const type = types[extname(name)];
    // Licences are not served.
    if (type !== undefined) assets.set(name, { type, bytes: readFileSync(file) });
  }
  const digest = createHash('sha256');
  for (const { bytes } of assets.values()) digest.update(bytes);
  return { version: digest.digest('base64url').slice(0, 12), find: (name) => assets.get(name) };
}
