/** The turns of long reads, which the pages and the API share. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { consoleDomain, join } from '../support/console.ts';
import { startService } from '../support/service.ts';

test('lists, figures and days of the pages wait for the turns of the API', async () => {
  // No read can wait, and each is at the end of the line.
  await using service = await startService({
    stores: [{ domain: consoleDomain, name: 'Flowers' }],
    limits: { waitingListsMax: 0 },
  });
  const owner = await join(service, 'owner');
  const ofApi = await service.request('/gift_cards', { token: await service.token(consoleDomain) });
  assert.equal(ofApi.status, 503, ofApi.text);
  for (const path of ['/cards', '/cards?text=any', '/today', '/till/day']) {
    const response = await owner.get(path);
    assert.equal(response.status, 503, path);
    assert.ok(Number(response.headers.get('retry-after')) > 0, path);
  }
  for (const path of ['/cards/new', '/till', '/audit', '/cards/export'])
    assert.equal((await owner.get(path)).status, 200, path);
});
