/** The page of backups on each engine: a server is backed up by its operator. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { openStaffedShop, textOfPage } from '../support/counter-staff.ts';
import { engine } from '../support/engine.ts';

test('with a server the page names its operator, and forms change nothing', async () => {
  await using shop = await openStaffedShop({ environment: { MACHINE: 'owner' } });
  const owner = await shop.as('owner');
  const path = '/settings/machine/backups';
  const sentence = /The database is on a PostgreSQL server, and its operator backs it up/;
  const isServer = engine.id !== 'sqlite';
  assert.equal(sentence.test(textOfPage(await owner.get(path))), isServer);
  const response = await owner.post(path, { kind: 'download', rhythm: 'nightly' });
  assert.equal(response.status, isServer ? 200 : 303);
  const [row] = await shop.service.query('select place from backup_settings');
  assert.equal(row?.['place'] ?? null, isServer ? null : '{"kind":"download"}');
});
