#!/usr/bin/env node
// Starts the command line on the Node.js that this project is pinned to, whichever Node.js found this file.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const oldestMajor = 26;
const command = fileURLToPath(new URL('../src/cli.ts', import.meta.url));
const pinned = fileURLToPath(new URL('../node_modules/node/bin/node', import.meta.url));

if (Number(process.versions.node.split('.')[0]) >= oldestMajor) {
  await import(command);
} else if (existsSync(pinned)) {
  const child = spawn(pinned, [command, ...process.argv.slice(2)], { stdio: 'inherit' });
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('exit', (code, signal) => process.exit(code ?? (signal ? 1 : 0)));
} else {
  console.error(
    `largesse needs Node.js ${oldestMajor} or later; this is ${process.version}. Run "npm ci" first.`,
  );
  process.exit(1);
}
