/** External ids under races: one object for each id, and no hold after its void. */

import assert from 'node:assert/strict';
import { viewOf } from '../support/money-responses.ts';
import { assertBooksAgree } from '../support/books.ts';
import { openRaceStore, race, type Processes } from '../support/race.ts';
import { shopOf } from '../support/shop.ts';
import { seeded } from '../support/seeded.ts';

const callers = Number(process.env['RACE_CALLERS'] ?? 40);
const seed = Number(process.env['RACE_SEED'] ?? Date.now() % 2 ** 31);

async function openShop(processes: Processes) {
  const { service, domain } = await openRaceStore(processes);
  const shop = await shopOf(service, domain);
  const count = async (table: string): Promise<number> => {
    const [row] = await service.query(
      `select count(*) as n from ${table} where store_id = (select id from stores where domain = ?)`,
      domain,
    );
    return Number(row?.['n']);
  };
  return { service, domain, shop, count };
}

race('callers with one external id make one card, one debit and one hold', async (processes) => {
  const { shop, count } = await openShop(processes);
  const { id } = await shop.issue({ initial_value: '500' });
  for (const [line, json] of [
    ['/gift_card', { initial_value: '25.00', email: 'ann@example.com' }],
    [`/gift_card/${id}/debit`, { amount: '1' }],
    [`/gift_card/${id}/holds`, { amount: '1' }],
  ] as const) {
    const send = () => shop.ask(`POST ${line}`, { json: { ...json, external_id: 'order-1' } });
    const statuses = (await Promise.all(Array.from({ length: callers }, send))).map(({ status }) => status);
    assert.equal(statuses.filter((status) => status === 201).length, 1);
    assert.equal(statuses.filter((status) => status === 200).length, callers - 1);
  }
  const rows = await Promise.all(['gift_cards', 'transfers', 'holds', 'external_ids'].map(count));
  assert.deepEqual(rows, [2, 3, 1, 3]);
});

race('random requests and their repetitions make each object once', async (processes) => {
  const random = seeded(seed);
  const below = (limit: number): number => Math.floor(random() * limit);
  const { shop, service, domain } = await openShop(processes);
  const { id } = await shop.issue({ initial_value: '100000' });
  /** The amounts that each external id asked for, and the objects of its successes. */
  const asked = new Map<string, { readonly ids: Set<number>; readonly amounts: Set<string> }>();
  const work = async (): Promise<void> => {
    for (let request = 0; request < 12; request += 1) {
      const external_id = `payment-${below(25)}`;
      const amount = String(1 + below(2));
      const response = await shop.ask(`POST /gift_card/${id}/debit`, { json: { amount, external_id } });
      if (response.status === 422) continue;
      assert.ok(response.status === 201 || response.status === 200, `seed ${seed}: ${response.text}`);
      const found = asked.get(external_id) ?? { ids: new Set(), amounts: new Set() };
      asked.set(external_id, found);
      const { transaction } = viewOf(response);
      found.ids.add(transaction.id);
      found.amounts.add(transaction.amount);
      assert.equal(Number(transaction.amount), -Number(amount), `seed ${seed}`);
    }
  };
  await Promise.all(Array.from({ length: 10 }, work));
  let spent = 0;
  for (const [external_id, { ids, amounts }] of asked) {
    assert.deepEqual([ids.size, amounts.size], [1, 1], `seed ${seed}: ${external_id}`);
    spent -= [...amounts].reduce((sum, amount) => sum + Number(amount), 0);
  }
  assert.equal(Number((await shop.read(id)).balance), 100_000 - spent);
  await assertBooksAgree(service.environment, domain);
});

race('a void and its hold at the same time leave no open hold', async (processes) => {
  const { shop } = await openShop(processes);
  const { id } = await shop.issue({ initial_value: '500' });
  await Promise.all(
    Array.from({ length: callers }, async (_, place) => {
      const external_id = `checkout-${place}`;
      const send = (first: boolean) =>
        first
          ? shop.ask(`POST /gift_card/${id}/holds`, { json: { amount: '1', external_id } })
          : shop.ask(`POST /holds/external:${external_id}/void`, {});
      const [one, other] = await Promise.all([send(place % 2 === 0), send(place % 2 === 1)]);
      const [held, voided] = place % 2 === 0 ? [one, other] : [other, one];
      const outcome = `${held.status} ${voided.status}`;
      assert.ok(outcome === '201 200' || outcome === '422 404', outcome);
    }),
  );
  const { gift_card: card } = viewOf(await shop.ask(`GET /gift_card/${id}/balance`));
  assert.equal(card.available, '500.00');
});
