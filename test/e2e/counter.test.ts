/** Runs the counter example against a separate service: its page shows its actual output. */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { startService } from '../support/service.ts';

const folder = join(import.meta.dirname, '../../examples');
const page = readFileSync(join(folder, 'counter.md'), 'utf8');

type Outcome = { readonly exitCode: unknown; readonly stdout: string; readonly stderr: string };

function runCounter(...options: readonly string[]): Promise<Outcome> {
  return new Promise((resolve) => {
    const args = [join(folder, 'counter.ts'), ...options];
    execFile(process.execPath, args, { timeout: 60_000 }, (error, stdout, stderr) => {
      resolve({ exitCode: error === null ? 0 : (error.code ?? error.signal), stdout, stderr });
    });
  });
}

/** Returns the fenced block of a language on the page. */
function block(language: string): string {
  const [, text] = new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'm').exec(page) ?? [];
  assert.ok(text, `counter.md has no block of ${language}`);
  return text;
}

/**
 * Replaces ids by #1, #2, … in order of appearance, which keeps references equal, and removes the digits of
 * times.
 */
function normalised(output: string): string {
  const ids = new Map<string, string>();
  return output.replaceAll(/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, '<time>').replaceAll(/\b\d{12,16}\b/g, (id) => {
    const name = ids.get(id) ?? `#${ids.size + 1}`;
    ids.set(id, name);
    return name;
  });
} // prettier-ignore

test('the counter prints what counter.md says, in development mode', async () => {
  await using service = await startService();
  const [command, ...others] = block('sh').trim().split('\n');
  assert.equal(command, 'npx node examples/counter.ts --url http://127.0.0.1:3000');
  assert.equal(others.length, 0);
  const { exitCode, stdout, stderr } = await runCounter('--url', service.url);
  assert.equal(exitCode, 0, stderr);
  assert.equal(stderr, '');
  assert.equal(normalised(stdout), normalised(block('text')));
  assert.match(normalised(stdout), /\(of #\d\)[\s\S]*#/);
});

test('the counter works for a store with a token, below a base path, and sells another card each time', async () => {
  await using service = await startService({
    stores: [{ domain: 'flowers.example', undoWindowMinutes: 0 }],
    environment: { BASE_PATH: '/apps/gift-cards' },
  });
  const token = await service.token('flowers.example');
  for (let count = 0; count < 2; count += 1) {
    const { exitCode, stdout, stderr } = await runCounter('--url', `${service.url}/`, '--token', token);
    assert.equal(exitCode, 0, stderr);
    assert.equal(normalised(stdout), normalised(block('text')));
  }
  const cards = await service.query('select balance, held from gift_cards');
  assert.deepEqual(
    cards.map(({ balance, held }) => [balance, held]),
    [
      [0, 0],
      [0, 0],
    ],
  );
});

test('the counter ends with an error if it is not authorized', async () => {
  await using service = await startService({ stores: [{ domain: 'flowers.example', undoWindowMinutes: 0 }] });
  const { exitCode, stdout, stderr } = await runCounter('--url', service.url);
  assert.equal(exitCode, 1);
  assert.equal(stdout, '');
  assert.match(stderr, /unauthenticated/);
});
