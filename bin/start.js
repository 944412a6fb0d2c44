// Runs the command line in this process: the sources of a clone, or else the JavaScript of the npm package.
import { existsSync } from 'node:fs';

const source = new URL('../src/cli.ts', import.meta.url);
await import((existsSync(source) ? source : new URL('../dist/cli.js', import.meta.url)).href);
