/** Runs the counter example against a separate service: its page shows its actual output. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { exampleOf, normalised } from '../support/example.ts';
import { startService } from '../support/service.ts';

const { run: runCounter, block } = exampleOf('counter');

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
