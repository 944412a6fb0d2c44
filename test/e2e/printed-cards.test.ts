/** Runs the example of printed cards in two shops: its page shows its actual output, and the ledger is right. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { exampleOf, normalised } from '../support/example.ts';
import { startService } from '../support/service.ts';

const { run, block } = exampleOf('printed-cards');

test('the example of printed cards prints what its page says, twice', async () => {
  await using service = await startService();
  assert.equal(block('sh').trim(), 'npx node examples/printed-cards.ts --url http://127.0.0.1:3000');
  for (let count = 0; count < 2; count += 1) {
    const { exitCode, stdout, stderr } = await run('--url', service.url);
    assert.equal(exitCode, 0, stderr);
    assert.equal(normalised(stdout), normalised(block('text')));
  }
  assert.deepEqual(
    (await service.query('select balance, held from gift_cards')).map(({ balance, held }) => [balance, held]),
    [
      [7000, 0],
      [7000, 0],
    ],
  );
});

test('the example of printed cards works for a store with a token', async () => {
  await using service = await startService({ stores: [{ domain: 'flowers.example' }] });
  const token = await service.token('flowers.example');
  const { exitCode, stdout, stderr } = await run('--url', service.url, '--token', token);
  assert.equal(exitCode, 0, stderr);
  assert.equal(normalised(stdout), normalised(block('text')));
});
