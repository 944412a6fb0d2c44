#!/usr/bin/env node
/** The command line: `largesse <command>`. Exit codes: 0 done, 1 refused or failed, 2 wrong usage or configuration. */

import { program } from './cli/program.ts';
import { reportFailure } from './cli/failure.ts';

// What the service makes (database, keys, backups) is for its owner only.
process.umask(0o077);

try {
  await program().parseAsync();
} catch (error) {
  process.exitCode = reportFailure(error);
}
