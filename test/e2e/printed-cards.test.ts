/** Runs the example of printed cards in two shops: its page shows its actual output, and the ledger is right. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { addAmounts } from '../../packages/client/src/index.ts';
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

test('the example of printed cards works for a store with a token, whose reports agree per location', async () => {
  await using service = await startService({ stores: [{ domain: 'flowers.example' }] });
  const token = await service.token('flowers.example');
  const { exitCode, stdout, stderr } = await run('--url', service.url, '--token', token);
  assert.equal(exitCode, 0, stderr);
  assert.equal(normalised(stdout), normalised(block('text')));
  const day = new Date(service.clock.now()).toISOString().slice(0, 10);
  const read = async (by: string): Promise<readonly Readonly<Record<string, string>>[]> => {
    const path = `/reports/activity?by=${by}&from=${day}&to=${day}`;
    const { json } = await service.request(path, { token });
    return (json as { activity: { rows: Record<string, string>[] } }).activity.rows;
  };
  const [ofStore, ...otherDays] = await read('day');
  assert.deepEqual(otherDays, []);
  const ofLocations = await read('location');
  assert.equal(ofLocations.length, 2);
  for (const name of ['issued', 'topped_up', 'redeemed', 'refunded', 'adjusted', 'change'])
    assert.equal(addAmounts(...ofLocations.map((row) => row[name] ?? '')), ofStore?.[name], name);
  const { json } = await service.request('/reports/liability', { token });
  assert.equal((json as { liability: { outstanding: string } }).liability.outstanding, '70.00');
});
