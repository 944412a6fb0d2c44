#!/usr/bin/env node
/** The command line: `largesse <command>`. Exit codes: 0 success, 1 error, 2 wrong usage or configuration. */

import { enableCompileCache } from 'node:module';
import { join } from 'node:path';
import { isSea } from 'node:sea';

// Only the owner can access the files that the service creates (database, keys, backups).
process.umask(0o077);

// Caches the compiled sources, which makes the next start a third faster. The cache must be enabled before the sources
// are loaded, by the dynamic imports below. If the folder is not writable, Node.js starts without a cache.
// The single executable contains its compiled source.
if (!isSea()) enableCompileCache(join(import.meta.dirname, '../node_modules/.cache/largesse'));
// A reader such as `head` can close the pipe before everything is written, which is not an error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});

// A function, because the script of a single executable cannot await at its top level.
async function run(): Promise<void> {
  const { nameSourcesInStacks } = await import('./platform/stack-traces.ts');
  nameSourcesInStacks();
  const { program } = await import('./cli/program.ts');
  const { reportFailure } = await import('./cli/failure.ts');
  try {
    await program().parseAsync();
  } catch (error) {
    process.exitCode = reportFailure(error);
  }
}
void run();
