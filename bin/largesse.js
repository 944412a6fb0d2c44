#!/usr/bin/env node
// Starts the command line on a Node.js that can run it. Old versions parse this file, so that they can print what they
// lack: as a script or a module, without imports and later syntax than ES2015 except `import()`.
const oldestMajor = 26;
const oldestWithoutInstalling = 20;
const version = process.versions.node;
const major = Number(version.split('.')[0]);

const reject = () => {
  console.error(
    `largesse: Node.js ${oldestMajor} or later is required, and this is ${version}: install it from nodejs.org, or in a clone run "npm ci", which brings it for development.`,
  );
  process.exitCode = 1;
};

if (major >= oldestMajor) import('./start.js');
else if (major < oldestWithoutInstalling) reject();
else import('./installed.js').then(({ startInstalled }) => startInstalled() || reject());
