/**
 * `npm run build:binary`: makes a single executable of the Node.js that runs this script, or of the one that --node
 * names. It contains the bundled program with its compiled code, the threads and every file that the program reads.
 *
 *   --output <file>   default build/binary/largesse
 *   --node <file>     a Node.js of the same version, such as a verified download. That of another architecture runs
 *                     under emulation, because compiled code is of its architecture: see packaging/arm64
 *   --no-strip        keep the symbols, which native stack traces need
 */

import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempDisposableSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { build } from 'esbuild';
import { packagedAssets } from '../../src/console/kit/assets.ts';
import { readFolders } from '../files.ts';

const root = join(import.meta.dirname, '../..');
const threads = [
  'storage/sqlite/checkpoint-worker',
  'delivery/webhooks/thread-main',
  'cli/verify-worker',
  'start/backups/thread-main',
];

const { values } = parseArgs({
  options: {
    output: { type: 'string', default: join(root, 'build/binary/largesse') },
    node: { type: 'string', default: process.execPath },
    strip: { type: 'boolean', default: true },
  },
  allowNegative: true,
});
const output = resolve(values.output);
const node = resolve(values.node);
const [version, architecture] = execFileSync(node, ['--print', 'process.version + " " + process.arch'], {
  encoding: 'utf8',
})
  .trim()
  .split(' ');
/** The names of GNU for architectures, with which its tools for another one begin. */
const gnuNames: Readonly<Record<string, string>> = { arm64: 'aarch64', x64: 'x86-64' };
const strip =
  architecture === process.arch ? 'strip' : `${gnuNames[architecture ?? ''] ?? architecture}-linux-gnu-strip`;
if (version !== process.version)
  throw new Error(
    `${node} is ${version}, and this is ${process.version}: compiled code needs the same version`,
  );

using work = mkdtempDisposableSync(join(tmpdir(), 'largesse-binary-'));

/** Bundles a main module into one script, and returns the script and the packages in it. */
async function bundle(
  main: string,
): Promise<{ readonly file: string; readonly packages: readonly string[] }> {
  // Two threads can have main modules of the same name in different folders.
  const file = join(work.path, `${main.replaceAll('/', '-')}.js`);
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: [`src/${main}.ts`],
    outfile: file,
    bundle: true,
    platform: 'node',
    // Compiled code is stored for scripts only, not for modules.
    format: 'cjs',
    target: `node${process.versions.node}`,
    // An optional native client of pg that is not installed, and `largesse mcp`, which belongs to the npm package.
    external: ['pg-native', './src/mcp/serve.ts'],
    keepNames: true,
    legalComments: 'none',
    metafile: true,
    // `import.meta` is used only where the program is not a single executable.
    logOverride: { 'empty-import-meta': 'silent' },
  });
  const folders = Object.keys(metafile.inputs).flatMap(
    (path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path) ?? [],
  );
  return { file, packages: folders };
}

/** Returns the licences of the packages that the executable contains. */
function licencesOf(packages: readonly string[]): string {
  const parts = [...new Set(packages)].toSorted().map((folder) => {
    const {
      name,
      version: packageVersion,
      license,
    } = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8')) as {
      readonly name: string;
      readonly version: string;
      readonly license?: string;
    };
    const [file] = globSync('{LICENSE,LICENCE,License,license}*', { cwd: join(root, folder) });
    const text =
      file === undefined
        ? `Licence: ${license ?? 'unknown'}`
        : readFileSync(join(root, folder, file), 'utf8');
    return `${name} ${packageVersion}\n\n${text.trim()}`;
  });
  // The archive of Node.js has its licence, with the ones of its libraries, next to its programs.
  const ofNode = join(dirname(dirname(node)), 'LICENSE');
  parts.unshift(
    `Node.js ${version}\n\n${existsSync(ofNode) ? readFileSync(ofNode, 'utf8').trim() : `https://github.com/nodejs/node/blob/${version}/LICENSE`}`,
  );
  return `${parts.join(`\n\n${'-'.repeat(80)}\n\n`)}\n`;
}

const main = await bundle('cli');
const bundles = await Promise.all(threads.map(async (thread) => ({ thread, ...(await bundle(thread)) })));
const packaged = packagedAssets().map(
  ([name, url]) => [`console/assets/${name}`, fileURLToPath(url)] as const,
);
const assets = Object.fromEntries([
  ...readFolders.flatMap((folder) =>
    globSync(`src/${folder}/*`, { cwd: root }).map(
      (path) => [relative('src', path), join(root, path)] as const,
    ),
  ),
  ...packaged,
  ...bundles.map(({ thread, file }) => [`${thread}.js`, file] as const),
  ['../package.json', join(root, 'package.json')],
]) as Readonly<Record<string, string>>;

let executable = node;
if (values.strip) {
  executable = join(work.path, 'node');
  copyFileSync(node, executable);
  execFileSync(strip, ['--strip-all', executable], { stdio: 'inherit' });
}
const configuration = join(work.path, 'sea.json');
mkdirSync(dirname(output), { recursive: true });
writeFileSync(
  configuration,
  JSON.stringify({
    main: main.file,
    executable,
    output,
    assets,
    useCodeCache: true,
    disableExperimentalSEAWarning: true,
  }),
);
execFileSync(node, ['--build-sea', configuration], { stdio: 'inherit' });
const packages = [main, ...bundles].flatMap((each) => each.packages);
const ofAssets = packaged.map(([, file]) =>
  relative(root, file).replace(/^(.*node_modules\/(?:@[^/]+\/)?[^/]+).*$/, '$1'),
);
writeFileSync(`${output}.licences.txt`, licencesOf([...packages, ...ofAssets]));
