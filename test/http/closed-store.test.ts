/** A store that is closed, because it is moved to another installation: its requests, its staff and its background work. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { openBrowser } from '../support/browser.ts';
import { join, staffPassword as password } from '../support/console.ts';
import { problemOf } from '../support/responses.ts';
import { createStoreElsewhere } from '../support/second-process.ts';
import { startService } from '../support/service.ts';
import { shopOf } from '../support/shop.ts';

const domain = 'flowers.example';
const other = 'tea.example';

test('a closed store rejects requests with 503, its staff get a page, and other stores are served', async () => {
  await using service = await startService({ stores: [{ domain, name: 'Flowers', proxySecret: 'hush-hush-hush' }] });
  const owner = await join(service, 'owner');
  
  const shop = await shopOf(service, domain);
  const card = await shop.issue();
  assert.equal((await shop.read(card.id)).balance, '25.00');
  await createStoreElsewhere(service, other);
  const neighbour = await shopOf(service, other);

  for (const status of ['closing', 'closed', 'moved', 'arriving']) {
    // Another process closes it: the next request notices.
    await service.database.meddle(`update stores set status = '${status}' where domain = '${domain}'`);
    for (const [line, json] of [[`GET /gift_card/${card.id}`], ['POST /gift_card', { initial_value: 5 }]] as const) {
      const [method = '', path = ''] = line.split(' ');
      const response = await service.request(path, { method, token: shop.token, ...(json && { json }) });
      problemOf(response, { code: 'store-closed' });
      assert.equal(response.headers.get('retry-after'), '30');
    }
    const unknown = await service.request(`/gift_card/${card.id}`, { token: `${shop.token.slice(0, -1)}${shop.token.endsWith('a') ? 'b' : 'a'}` });
    assert.equal(unknown.status, 401, 'a wrong token does not learn that the store is closed');

    const page = await owner.get('/account');
    assert.equal(page.status, 503);
    assert.match(page.text, /<h1|<title/);
    const signIn = await openBrowser(service).get('/sign-in');
    assert.ok(!signIn.text.includes('Flowers'), 'the store cannot be chosen');
    const posted = await openBrowser(service).post('/sign-in', { email: `owner@${domain}`, password, store: domain });
    assert.notEqual(posted.status, 303);
    assert.equal((await openBrowser(service).post(`/b/${domain}`, { code: card.code })).status, 503);
    await neighbour.issue();
  }
  await service.database.meddle("update stores set status = 'open'");
  assert.equal((await shop.read(card.id)).balance, '25.00');
  assert.equal((await owner.get('/account')).status, 200);
}); // prettier-ignore
