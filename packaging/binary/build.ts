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
  mkdirSync,
  mkdtempDisposableSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { bundle, bundledFile, filesToRead, joinLicences, licencesOf, threads } from '../bundle.ts';

const root = join(import.meta.dirname, '../..');
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

const scripts = join(work.path, 'scripts');
const { packages } = await bundle(scripts, 'scripts');
const { files, packages: ofAssets } = filesToRead();
const main = join(scripts, bundledFile('cli'));
const assets = Object.fromEntries([
  ...files,
  ...threads.map((thread) => [bundledFile(thread), join(scripts, bundledFile(thread))] as const),
  ...['cli', ...threads].map(
    (each) => [`${bundledFile(each)}.map`, join(scripts, `${bundledFile(each)}.map`)] as const,
  ),
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
    main,
    executable,
    output,
    assets,
    useCodeCache: true,
    disableExperimentalSEAWarning: true,
  }),
);
execFileSync(node, ['--build-sea', configuration], { stdio: 'inherit' });
// The archive of Node.js has its licence, with the ones of its libraries, next to its programs.
const ofNode = join(dirname(dirname(node)), 'LICENSE');
const licenceOfNode = `Node.js ${version}\n\n${existsSync(ofNode) ? readFileSync(ofNode, 'utf8').trim() : `https://github.com/nodejs/node/blob/${version}/LICENSE`}`;
writeFileSync(
  `${output}.licences.txt`,
  joinLicences([licenceOfNode, ...licencesOf([...packages, ...ofAssets])]),
);
