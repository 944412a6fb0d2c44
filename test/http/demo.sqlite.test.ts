/** `largesse demo load`: a year of history in the demonstration store. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { assertBooksAgree } from '../support/books.ts';
import { command } from '../support/served.ts';
import { startService, type TestService } from '../support/service.ts';

const domain = 'demo.localhost';

async function load(service: TestService) {
  return await command(service.environment, 'demo', 'load', '--json');
}

test('a running service in development mode has a year of history after demo load', async () => {
  await using service = await startService();
  const { code, output, errors } = await load(service);
  assert.equal(code, 0, errors);
  const { store, cards, from } = JSON.parse(output) as Readonly<Record<string, unknown>>;
  assert.deepEqual({ store, cards }, { store: domain, cards: 2_000 });
  assert.match(String(from), /^\d{4}-\d{2}-\d{2}$/);

  const { cards: counted, transfers } = await assertBooksAgree(service.environment, domain);
  assert.equal(counted, 2_000);
  assert.ok(transfers > 4_000, `only ${transfers} transfers`);
  // The command sums the days itself, and the next start can rely on the clock as it did.
  const [closed] = await service.query(`select count(*) as days from store_closings where part = 'closed'`);
  assert.ok(Number(closed?.['days']) > 340, `only ${Number(closed?.['days'])} days are closed`);
  const aging = await service.request('/reports/aging');
  assert.equal(aging.status, 200, aging.text);

  const kinds = await service.query('select distinct kind from transfers order by kind');
  assert.deepEqual(
    kinds.map(({ kind }) => kind),
    ['adjustment', 'capture', 'debit', 'issue', 'reversal', 'top_up'],
  );
  const [dates] = await service.query(
    'select min(created_at) as oldest, max(created_at) as newest from transfers',
  );
  const daysBetween = (Number(dates?.['newest']) - Number(dates?.['oldest'])) / 86_400_000;
  assert.ok(daysBetween > 340, `only ${daysBetween} days`);
  const [states] = await service.query(
    `select sum(case when disabled_at is not null then 1 else 0 end) as disabled,
       sum(case when expired_event_day is not null then 1 else 0 end) as expired from gift_cards`,
  );
  assert.ok(Number(states?.['disabled']) > 0 && Number(states?.['expired']) > 0);

  const { status } = await service.request('/gift_card', { method: 'POST', json: { initial_value: 25 } });
  assert.equal(status, 201, 'development mode has ended');
  const again = await load(service);
  assert.equal(again.code, 1);
  assert.match(again.errors, /^largesse: the demonstration store already has cards/);
});

test('demo load does not add to a database with a real store', async () => {
  await using service = await startService({ stores: [{ domain: 'flowers.example' }] });
  const { code, errors } = await load(service);
  assert.equal(code, 1);
  assert.match(errors, /^largesse: the database contains a real store/);
  assert.deepEqual(await service.query('select domain from stores'), [{ domain: 'flowers.example' }]);
});
