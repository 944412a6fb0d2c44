// Runs the command line in this process: the sources of a clone, or else the bundle of the npm package.
import { existsSync } from 'node:fs';
import { enableCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';

// As in src/cli.ts, which enables the cache too late for itself: with the cache, Node.js does not load its compiler of
// TypeScript, which takes 15 MB.
process.umask(0o077);
enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/largesse', import.meta.url)));

const source = new URL('../src/cli.ts', import.meta.url);
await import((existsSync(source) ? source : new URL('../dist/cli.js', import.meta.url)).href);
