// Runs the command line on the Node.js that npm ci installed in a clone for development.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const installed = fileURLToPath(new URL('../node_modules/node/bin/node', import.meta.url));
const start = fileURLToPath(new URL('start.js', import.meta.url));

/** Returns false if there is none. */
export function startInstalled() {
  if (!existsSync(installed)) return false;
  const child = spawn(installed, [start, ...process.argv.slice(2)], { stdio: 'inherit' });
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('exit', (code, signal) => process.exit(code ?? (signal ? 1 : 0)));
  return true;
}
