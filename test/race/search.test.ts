/** Searches that race for one budget of misses. */

import assert from 'node:assert/strict';
import { limits } from '../../src/config.ts';
import { missPeriodMs } from '../../src/service/miss-budget.ts';
import { giftCardOf, problemOf } from '../harness/answers.ts';
import { race } from '../harness/race.ts';
import { startService } from '../harness/service.ts';
import { shopOf } from '../harness/shop.ts';

const domain = 'flowers.example';

race(
  'of 50 failed searches of one address at once exactly 10 are answered, and no more',
  async (processes) => {
    await using service = await startService({
      stores: [{ domain }, { domain: 'other.example' }],
      processes,
    });
    const shop = await shopOf(service, domain);
    const card = await shop.issue({ email: 'ann@example.com', code: 'aaaaaaaa9999' });
    const spellings = ['ann%40example.com', 'ANN%40example.com', 'Ann%40Example.Com'];
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, index) => {
        const characters = String(1_000 + index);
        const address = spellings[index % spellings.length];
        return shop.ask(`GET /gift_card?last_characters=${characters}&email=${address}`);
      }),
    );
    const missed = answers.filter(({ status }) => status === 404);
    assert.equal(missed.length, limits.searchMissesMax);
    assert.equal(limits.searchMissesMax, 10);
    for (const answer of missed) problemOf(answer, { code: 'not-found' });
    for (const answer of answers) if (answer.status !== 404) problemOf(answer, { code: 'too-many-misses' });

    // Even what is there is no longer told: otherwise the budget would only slow a guesser down.
    const right = 'GET /gift_card?last_characters=9999&email=ann%40example.com';
    problemOf(await shop.ask(right), { code: 'too-many-misses' });
    const other = await shopOf(service, 'other.example');
    problemOf(await other.ask(right), { code: 'not-found' });
    service.clock.advance(missPeriodMs);
    assert.equal(giftCardOf(await shop.ask(right)).id, card.id);
  },
);

race('failed searches of many addresses at once do not use up each other', async (processes) => {
  await using service = await startService({ stores: [{ domain }], processes });
  const shop = await shopOf(service, domain);
  const answers = await Promise.all(
    Array.from({ length: 120 }, (_, index) =>
      shop.ask(`GET /gift_card?last_characters=aaaa&email=person-${index % 12}%40example.com`),
    ),
  );
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([404]));
});
