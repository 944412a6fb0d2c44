#!/usr/bin/env node
/** The command line: `largesse <command>`. Exit codes: 0 done, 1 refused or failed, 2 wrong usage or configuration. */

import { enableCompileCache } from 'node:module';
import { join } from 'node:path';

// What the service makes (database, keys, backups) is for its owner only.
process.umask(0o077);

// What Node.js makes of the sources is kept beside the packages, and the next start takes a third less time. It has to
// be said before they are read, hence the imports below. Who may not write there starts as if there were no cache.
enableCompileCache(join(import.meta.dirname, '../node_modules/.cache/largesse'));
// A reader such as `head` may close the pipe before everything is written: that is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});
const { program } = await import('./cli/program.ts');
const { reportFailure } = await import('./cli/failure.ts');

try {
  await program().parseAsync();
} catch (error) {
  process.exitCode = reportFailure(error);
}
