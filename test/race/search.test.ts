/** Searches and lookups that race for one budget of failures. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { giftCardOf, problemOf } from '../support/responses.ts';
import { race } from '../support/race.ts';
import { startService } from '../support/service.ts';
import { shopOf } from '../support/shop.ts';

const domain = 'flowers.example';
const hourMs = 3_600_000;
const right = 'GET /gift_card?last_characters=9999&email=ann%40example.com';

race('exactly as many of 60 concurrent wrong searches are tried as the budget allows', async (processes) => {
  await using service = await startService({
    stores: [{ domain }, { domain: 'other.example' }],
    environment: { LOOKUP_MISSES: '10' },
    processes,
  });
  const shop = await shopOf(service, domain);
  const card = await shop.issue({ email: 'ann@example.com', code: 'plastic-9999' });
  const lines = Array.from(
    { length: 60 },
    (_, index) => `GET /gift_card?last_characters=${1_000 + index}&email=ann%40example.com` as const,
  );
  const responses = await Promise.all(lines.map((line) => shop.ask(line)));
  const notFound = responses.filter(({ status }) => status === 404);
  assert.equal(notFound.length, 10);
  for (const response of notFound) problemOf(response, { code: 'not-found' });
  for (const response of responses)
    if (response.status !== 404) problemOf(response, { code: 'too-many-misses' });

  // A correct guess is rejected as well: otherwise the limit would only slow down a guesser.
  for (let process = 0; process < processes; process += 1)
    problemOf(await shop.ask(right), { code: 'too-many-misses' });
  const another = await shopOf(service, domain);
  assert.equal(giftCardOf(await another.ask(right)).id, card.id, 'another caller is not affected');
  const other = await shopOf(service, 'other.example');
  problemOf(await other.ask(right), { code: 'not-found' });
  // A second process has the system's clock.
  if (processes > 1) return;
  service.clock.advance(hourMs / 10);
  assert.equal(giftCardOf(await shop.ask(right)).id, card.id);
});

race(
  'exactly as many wrong codes of visitors are tried as the budgets of each and of all allow',
  async (processes) => {
    await using service = await startService({
      stores: [{ domain }],
      environment: { LOOKUP_MISSES: '12', VISITOR_LOOKUP_MISSES: '5' },
      processes,
    });
    const shop = await shopOf(service, domain);
    const { code } = await shop.issue({ code: 'plastic-0001' });
    const look = async (visitor: string, json: object) =>
      (await shop.ask('POST /gift_card/lookup', { json, headers: { 'largesse-visitor': visitor } })).status;
    const failed = async (visitor: string): Promise<number> => {
      const wrong = Array.from({ length: 20 }, (_, index) =>
        look(visitor, { code: `wrong-${visitor}-${index}` }),
      );
      const statuses = await Promise.all(wrong);
      assert.deepEqual(new Set(statuses), new Set([404, 429]));
      return statuses.filter((status) => status === 404).length;
    };
    assert.deepEqual([await failed('one'), await failed('two'), await failed('three')], [5, 5, 2]);
    for (let process = 0; process < processes; process += 1) {
      assert.equal(await look('one', { code }), 429, 'the budget of a visitor');
      assert.equal(await look('four', { code }), 429, 'the budget of all visitors');
      assert.equal((await shop.ask('POST /gift_card/lookup', { json: { code } })).status, 200);
    }
  },
);

test('after a burst of wrong codes, a generated code is found and a chosen one is not', async () => {
  await using service = await startService({ stores: [{ domain }], environment: { LOOKUP_MISSES: '5' } });
  const shop = await shopOf(service, domain);
  const { code } = await shop.issue();
  const { code: chosen } = await shop.issue({ code: 'plastic-0001' });
  const look = async (codes: readonly string[]) => {
    const responses = await Promise.all(
      codes.map((each) => shop.ask('POST /gift_card/lookup', { json: { code: each } })),
    );
    return Map.groupBy(responses, ({ status }) => status);
  };
  const wrong = await look(Array.from({ length: 45 }, (_, index) => `wrong0000000${index}`));
  assert.deepEqual([wrong.get(404)?.length, wrong.get(429)?.length], [5, 40]);
  const later = await look([code, chosen, code, chosen, code]);
  assert.deepEqual([later.get(200)?.length, later.get(429)?.length], [3, 2]);
});

race('lookups that find their cards all succeed, with any size of the budget', async (processes) => {
  await using service = await startService({
    stores: [{ domain }],
    environment: { LOOKUP_MISSES: '1' },
    processes,
  });
  const shop = await shopOf(service, domain);
  const { code } = await shop.issue();
  const responses = await Promise.all(
    Array.from({ length: 40 }, () => shop.ask('POST /gift_card/lookup', { json: { code } })),
  );
  assert.deepEqual(new Set(responses.map(({ status }) => status)), new Set([200]));
  assert.deepEqual(await service.query('select caller from lookup_throttle'), []);
});
