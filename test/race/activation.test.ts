/** Activations that race for one printed card. */

import assert from 'node:assert/strict';
import { assertBooksAgree } from '../support/books.ts';
import { until } from '../support/delivering.ts';
import { openRaceStore, race } from '../support/race.ts';
import { problemOf } from '../support/responses.ts';
import { shopOf } from '../support/shop.ts';

const callers = 20;
const cards = 5;

race('a printed card is activated once, or voided, however many tills race', async (processes) => {
  const { service, domain } = await openRaceStore(processes);
  const shop = await shopOf(service, domain);
  const codes = Array.from({ length: cards }, (_, place) => `RACED-CARD-${String(place).padStart(4, '0')}`);
  const created = await shop.ask('POST /stocks', { json: { codes, fixed_value: '25.00' } });
  const { id } = (created.json as { readonly stock: { readonly id: number } }).stock;
  const read = async () =>
    (await shop.ask(`GET /stocks/${id}`)).json as { readonly stock: Readonly<Record<string, unknown>> };
  await until(async () => (await read()).stock['state'] === 'complete');
  let sold = 0;
  for (const code of codes) {
    const responses = await Promise.all(
      Array.from({ length: callers }, (_, place) =>
        place === 7
          ? shop.ask(`POST /stocks/${id}/void`, { json: { codes: [code] } })
          : shop.ask('POST /gift_card', { json: { code, initial_value: '25.00', stock: 'required' } }),
      ),
    );
    const won = responses.filter(({ status }) => status < 300);
    assert.equal(won.length, 1, responses.map(({ status }) => status).join(' '));
    const isSold = won[0]?.status === 201;
    sold += Number(isSold);
    for (const response of responses)
      if (response.status >= 300)
        problemOf(response, {
          code: isSold && !response.text.includes('codes[0]') ? 'already-activated' : 'invalid-parameter',
        });
  }
  const { stock } = await read();
  assert.deepEqual(
    [stock['printed'], stock['sold'], stock['voided'], stock['left']],
    [cards, sold, cards - sold, 0],
  );
  await assertBooksAgree(service.environment, domain);
});
