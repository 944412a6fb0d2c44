/** The files of the pages: style, scripts, fonts and icons. Their URLs contain a hash of all of them, so browsers keep them. */

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { extname } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { ServedDocument } from '../../http/documents.ts';
import { programFilesIn, readProgramFile } from '../../platform/program-files.ts';

const types: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.woff2': 'font/woff2',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.wasm': 'application/wasm',
};

export type Assets = {
  /** Changes with the content of any file. */
  readonly version: string;
  readonly find: (name: string) => ServedDocument | undefined;
};

const folder = 'pages/assets';

/** A style sheet without comments and indentation, which are a sixth of what browsers load. */
function compactStyle(style: Buffer): Buffer {
  const compact = style
    .toString()
    .replaceAll(/\/\*[^*]{0,500}\*\//g, '')
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/ ?([{};]) ?/g, '$1');
  return Buffer.from(compact);
}

/** Files of packages: they read codes from the camera in browsers that have no `BarcodeDetector`. */
export function packagedAssets(): readonly (readonly [name: string, file: URL])[] {
  const detector = import.meta.resolve('barcode-detector/ponyfill');
  const reader = createRequire(detector).resolve('zxing-wasm/reader/zxing_reader.wasm');
  return [
    ['barcode-detector.js', new URL(detector)],
    // The file above imports it under this name.
    ['zxing-exported.js', new URL('zxing-exported.js', detector)],
    ['zxing-reader.wasm', pathToFileURL(reader)],
  ];
}

export function loadAssets(): Assets {
  const assets = new Map<string, ServedDocument>();
  const add = (name: string, content: Buffer): void => {
    const type = types[extname(name)];
    // Licences are not served.
    if (type === undefined) return;
    assets.set(name, { type, content: name.endsWith('.css') ? compactStyle(content) : content });
  };
  const own = programFilesIn(folder);
  for (const name of own) add(name, readProgramFile(`${folder}/${name}`));
  // The npm package and the single executable contain the files of packages next to the others.
  if (!own.includes('barcode-detector.js'))
    for (const [name, file] of packagedAssets()) add(name, readFileSync(file));
  const digest = createHash('sha256');
  for (const [, { content }] of [...assets].toSorted(([one], [other]) => (one < other ? -1 : 1)))
    digest.update(content);
  return { version: digest.digest('base64url').slice(0, 12), find: (name) => assets.get(name) };
}
