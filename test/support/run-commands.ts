/**
 * Runs commands one after another in one process, which a test starts with another account. The argument is a JSON array of their
 * arguments; the output is a JSON array of their results.
 */

import { runCommand } from './command-line.ts';
import type { Result } from './programs.ts';

const commands = JSON.parse(process.argv[2] ?? '[]') as readonly (readonly string[])[];
const { env } = process;
const environment = Object.fromEntries(
  Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined),
);
const results: Result[] = [];
for (const args of commands) results.push(await runCommand(args, { environment }));
process.stdout.write(JSON.stringify(results));
