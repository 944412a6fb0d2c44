/** The program that tests start as a process: the bundle that `test/run.ts` makes once, else the sources. */

import { join } from 'node:path';

/** The folder of the npm package. */
const bundled = process.env['TEST_PROGRAM'];
const root = join(import.meta.dirname, '../..');

/** The command line of the sources, into which a test can load modules of the sources. */
export const sourceCommandLine = join(root, 'src/cli.ts');
export const commandLine = bundled ? join(bundled, 'dist/cli.js') : sourceCommandLine;
/** The launcher. */
export const executable = join(bundled ?? root, 'bin/largesse.js');
