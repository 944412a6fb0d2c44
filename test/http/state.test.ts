/** `state`, which tests compare to detect changes, contains every change. */

import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { startService } from '../support/service.ts';
import { shopOf } from '../support/shop.ts';

const service = await startService({ stores: [{ domain: 'flowers.example' }] });
after(() => service[Symbol.asyncDispose]());
const shop = await shopOf(service, 'flowers.example');
const { id } = await shop.issue({ note: 'one' });

test('the state contains the change of a write, and a read does not change it', async () => {
  const before = await service.state();
  assert.match(before, /^gift_cards\n\{.*"one"/m);
  await shop.read(id);
  assert.equal(await service.state(), before);
  await shop.accepts(
    `PUT /gift_card/${id}`,
    { json: { note: 'two' } },
    { events: ['gift_card.updated note'] },
  );
  const changed = await service.state();
  assert.notEqual(changed, before);
  assert.match(changed, /^gift_cards\n\{.*"two"/m);
});

test('the state contains a row that was changed in the database, and excludes the heartbeat', async () => {
  const before = await service.state();
  await service.database.meddle('update heartbeat set beaten_at = beaten_at + 1');
  assert.equal(await service.state(), before);
  await service.database.meddle("update gift_cards set note = 'three'");
  assert.notEqual(await service.state(), before);
});
