/** The page of the stock of printed cards. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { joinAs } from '../support/counter.ts';
import { until } from '../support/delivering.ts';
import { startService } from '../support/service.ts';
import { shopOf } from '../support/shop.ts';
import { plainText } from '../support/till.ts';

test('the page lists what was printed, sold, left and voided, for people who read cards', async () => {
  await using service = await startService({ stores: [{ domain: 'flowers.example', name: 'Flowers' }] });
  const shop = await shopOf(service, 'flowers.example');
  const accountant = await joinAs(service, { role: 'accountant', name: 'ann' });
  const empty = await accountant.get('/cards/stock');
  assert.match(plainText(empty), /There are no printed cards in stock/);
  const codes = Array.from({ length: 7 }, (_, place) => `COUNTED-CODE-${place}`);
  const created = await shop.ask('POST /stocks', {
    json: { name: 'Counter <b>', codes, minimum_value: 10, maximum_value: 150 },
  });
  const { id } = (created.json as { readonly stock: { readonly id: number } }).stock;
  await until(async () => (await shop.ask(`GET /stocks/${id}`)).text.includes('"complete"'));
  await shop.creates({ json: { code: codes[0], initial_value: '25.00' } });
  await shop.ask(`POST /stocks/${id}/void`, { json: { codes: codes.slice(1, 3) } });
  const page = await accountant.get('/cards/stock');
  assert.equal(page.status, 200);
  assert.match(page.text, /Counter &lt;b&gt;/);
  const cells = [...page.text.matchAll(/<td role="cell" class="sum">(\d+)<\/td>/g)].map(([, count]) =>
    Number(count),
  );
  assert.deepEqual(cells, [7, 1, 4, 2]);
  assert.match(plainText(page), /\$10\.00 – \$150\.00/);
  for (const code of codes)
    assert.ok(!page.text.toLowerCase().includes(code.toLowerCase().replaceAll('-', '')));
  const cashier = await joinAs(service, { role: 'cashier', name: 'ben' });
  assert.equal((await cashier.get('/cards/stock')).status, 403);
});
