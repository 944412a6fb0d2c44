#!/usr/bin/env node
// Starts the command line on a Node.js that can run it: the one that runs this file, or else the one that npm ci installed.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const oldestMajor = 26;
const command = new URL('../src/cli.ts', import.meta.url);
const installed = fileURLToPath(new URL('../node_modules/node/bin/node', import.meta.url));

if (Number(process.versions.node.split('.')[0]) >= oldestMajor) {
  await import(command.href);
} else if (existsSync(installed)) {
  const child = spawn(installed, [fileURLToPath(command), ...process.argv.slice(2)], { stdio: 'inherit' });
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('exit', (code, signal) => process.exit(code ?? (signal ? 1 : 0)));
} else {
  console.error(
    `largesse: Node.js ${oldestMajor} or later is required, and this is ${process.versions.node}: install it from nodejs.org, or run "npm ci", which brings it for development.`,
  );
  process.exit(1);
}
