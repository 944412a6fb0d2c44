/** Runs test files in this process, one after another, each as a suite: `node run-files.ts <file>…`. */

import { relative, resolve } from 'node:path';
import { suite } from 'node:test';

for (const path of process.argv.slice(2)) {
  // The setup of the next file does not run during the tests and the cleanup of this one.
  await suite(relative('', path), async () => {
    process.env['TEST_FILE'] = path;
    await import(resolve(path));
  });
}
