/** Test files that share a process run one after another, each with its own setup and cleanup. */

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { runProgram } from '../support/programs.ts';

const main = join(import.meta.dirname, '../support/run-files.ts');

/** Runs files with these texts in one process, and returns its exit code and what the files log. */
async function runTogether(texts: Readonly<Record<string, string>>) {
  const folder = mkdtempSync(join(tmpdir(), 'largesse-run-files-'));
  try {
    const files = Object.entries(texts).map(([name, text]) => {
      const file = join(folder, `${name}.test.mjs`);
      writeFileSync(file, `import test, { after } from 'node:test';\n${text}`);
      return file;
    });
    const { code, output } = await runProgram(process.execPath, [main, ...files]);
    return { code, output, logged: [...output.matchAll(/^logged: (.*)$/gm)].map(([, line]) => line) };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** A file that logs its setup, its two tests and its cleanup, each after a pause. */
const orderly = (name: string): string => `
  const log = async (what) => {
    await new Promise((resolve) => setTimeout(resolve, 20));
    console.log('logged: ${name} ' + what);
  };
  await log('setup');
  after(() => log('cleanup'));
  test('${name} one', () => log('one'));
  test('${name} two', () => log('two'));`;

test('files run one after another, each from its setup to its cleanup', async () => {
  const { code, logged } = await runTogether({ first: orderly('first'), second: orderly('second') });
  const steps = ['setup', 'one', 'two', 'cleanup'];
  assert.deepEqual(logged, [
    ...steps.map((step) => `first ${step}`),
    ...steps.map((step) => `second ${step}`),
  ]);
  assert.equal(code, 0);
});

for (const [name, text] of [
  ['cannot be loaded', "throw new Error('broken');"],
  ['has a failing test', "test('fails', () => { throw new Error('broken'); });"],
  ['fails in its cleanup', "test('passes', () => {}); after(() => { throw new Error('broken'); });"],
] as const) {
  test(`a file that ${name} fails the process, and the next file runs`, async () => {
    const { code, output, logged } = await runTogether({ bad: text, good: orderly('good') });
    assert.equal(code, 1, output);
    assert.match(output, /broken/);
    assert.equal(logged.length, 4);
  });
}
