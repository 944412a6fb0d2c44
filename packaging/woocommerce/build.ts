/** Builds the zip that WordPress installs: `npm run woocommerce:zip`. */

import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { storedZip } from '../../src/platform/zip-file.ts';
import { moOf, parsePo } from './translations.ts';

const plugin = join(import.meta.dirname, '../../integrations/woocommerce');
const name = 'largesse-gift-cards';

/** The rest of the folder is for developers. */
const folders = ['includes', 'assets'] as const;
const files = [`${name}.php`, 'uninstall.php', 'LICENSE', 'README.md'] as const;

const contents = new Map<string, Uint8Array>();
for (const file of files) contents.set(`${name}/${file}`, await readFile(join(plugin, file)));
for (const folder of folders)
  for (const file of (await readdir(join(plugin, folder))).toSorted())
    contents.set(`${name}/${folder}/${file}`, await readFile(join(plugin, folder, file)));
for (const file of (await readdir(join(plugin, 'languages'))).toSorted()) {
  const messages = parsePo(await readFile(join(plugin, 'languages', file), 'utf8'));
  contents.set(`${name}/languages/${file.replace(/\.po$/, '.mo')}`, moOf(messages));
}

await writeFile(join(plugin, `${name}.zip`), await storedZip(contents));
