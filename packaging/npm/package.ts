/** The npm package. Its program is a bundle, so that it has no dependencies. */

import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { bundle, filesToRead, joinLicences, licencesOf } from '../bundle.ts';

const root = join(import.meta.dirname, '../..');
/** The fields of the manifest that the package has. */
const published = new Set(['name', 'version', 'description', 'license', 'keywords', 'repository', 'type', 'engines', 'exports', 'bin']); // prettier-ignore

/**
 * Makes the package.
 * @param folder is emptied first.
 * @param others more main modules of its program, as in `bundle`.
 */
export async function makePackage(
  folder: string,
  others: Readonly<Record<string, string>> = {},
): Promise<void> {
  const program = join(folder, 'dist');
  rmSync(folder, { recursive: true, force: true });
  const { packages } = await bundle(program, 'modules', others);
  const { files, packages: ofAssets } = filesToRead();
  for (const [path, file] of files) {
    const target = join(program, path);
    mkdirSync(dirname(target), { recursive: true });
    cpSync(file, target);
  }
  writeFileSync(join(program, 'licences.txt'), joinLicences(licencesOf([...packages, ...ofAssets])));
  for (const name of ['bin', 'README.md', 'LICENSE', 'CHANGELOG.md'])
    cpSync(join(root, name), join(folder, name), { recursive: true });
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as object;
  const fields = Object.fromEntries(Object.entries(manifest).filter(([name]) => published.has(name)));
  const contents = { ...fields, files: ['bin', 'dist', 'CHANGELOG.md'] };
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(contents, null, 2)}\n`);
}
