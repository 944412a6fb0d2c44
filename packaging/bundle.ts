/** The program as bundles of JavaScript, for the npm package, the executable, and the services that tests start. */

import { globSync, readFileSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { packagedAssets } from '../src/pages/kit/assets.ts';

const root = join(import.meta.dirname, '..');

/** Folders in `src` whose files are read by name. */
const readFolders = [
  'database/migrations',
  'pages/assets',
  'features/reference/docs/assets',
  'features/emails/delivery/designs',
] as const;

/** The main modules of threads, by their paths in `src`. */
export const threads = [
  'database/sqlite/checkpoint-worker',
  'features/webhooks/delivery/thread-main',
  'features/proofs/cli/verify-worker',
  'features/batches/service/table-thread-main',
  'features/backups/start/thread-main',
] as const;

export type Bundle = {
  /** The folders of the packages in it, from the root. */
  readonly packages: readonly string[];
};

/** The file of a main module in the folder of a bundle. @param main its path in `src`. */
export function bundledFile(main: string): string {
  return `${main.replaceAll('/', '-')}.js`;
}

/**
 * Writes the command line and the threads into a folder. Modules share chunks, which are loaded when they are needed;
 * scripts, which the executable compiles in advance, contain everything.
 * @param others more main modules, from the root, by the names of their files without an extension.
 */
export async function bundle(
  folder: string,
  format: 'modules' | 'scripts',
  others: Readonly<Record<string, string>> = {},
): Promise<Bundle> {
  const isScript = format === 'scripts';
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: {
      ...Object.fromEntries(
        ['cli', ...threads].map((main) => [basename(bundledFile(main), '.js'), `src/${main}.ts`]),
      ),
      ...others,
    },
    outdir: folder,
    bundle: true,
    platform: 'node',
    format: isScript ? 'cjs' : 'esm',
    splitting: !isScript,
    chunkNames: 'chunk-[hash]',
    target: `node${process.versions.node}`,
    minify: true,
    // V8 stores a file with a character above U+00FF in two bytes for each character.
    charset: 'ascii',
    // An optional native client of pg that is not installed. `largesse mcp` belongs to the npm package.
    external: ['pg-native', ...(isScript ? ['./src/features/mcp/mcp/serve.ts'] : [])],
    legalComments: 'none',
    sourcemap: 'external',
    sourcesContent: false,
    metafile: true,
    // `import.meta` is used only where the program is not a single executable.
    logOverride: { 'empty-import-meta': 'silent' },
    // Packages that are CommonJS modules require modules of Node.js.
    ...(!isScript && {
      banner: { js: "import{createRequire}from'node:module';const require=createRequire(import.meta.url);" },
    }),
  });
  const folders = Object.keys(metafile.inputs).flatMap((path) => packageFolderOf(path) ?? []);
  return { packages: [...new Set(folders)].toSorted() };
}

function packageFolderOf(path: string): string | undefined {
  return /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0];
}

/** The files that the program reads, by their paths in `src`, and the folders of the packages that some come from. */
export function filesToRead(): {
  readonly files: ReadonlyMap<string, string>;
  readonly packages: readonly string[];
} {
  const own = readFolders.flatMap((folder) =>
    globSync(`src/${folder}/*`, { cwd: root }).map(
      (path) => [relative('src', path), join(root, path)] as const,
    ),
  );
  const packaged = packagedAssets().map(
    ([name, url]) => [`pages/assets/${name}`, fileURLToPath(url)] as const,
  );
  const packages = packaged.flatMap(([, file]) => packageFolderOf(relative(root, file)) ?? []);
  return { files: new Map([...own, ...packaged]), packages };
}

/** The licences of packages. @param folders from the root. */
export function licencesOf(folders: readonly string[]): readonly string[] {
  return [...new Set(folders)].toSorted().map((folder) => {
    const { name, version, license } = JSON.parse(
      readFileSync(join(root, folder, 'package.json'), 'utf8'),
    ) as { readonly name: string; readonly version: string; readonly license?: string };
    const [file] = globSync('{LICENSE,LICENCE,License,license}*', { cwd: join(root, folder) });
    const text =
      file === undefined
        ? `Licence: ${license ?? 'unknown'}`
        : readFileSync(join(root, folder, file), 'utf8');
    return `${name} ${version}\n\n${text.trim()}`;
  });
}

/** One text of several. */
export function joinLicences(parts: readonly string[]): string {
  return `${parts.join(`\n\n${'-'.repeat(80)}\n\n`)}\n`;
}
