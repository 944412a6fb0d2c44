/** The storage size of idempotency records. */

import assert from 'node:assert/strict';
import test from 'node:test';
import { engine } from '../support/engine.ts';
import { startService, type TestService } from '../support/service.ts';

/** Returns the bytes of the table and its indexes, including free space in their pages. */
async function storedBytes(service: TestService): Promise<number> {
  const [row] = await service.query(
    engine.id === 'sqlite'
      ? "select sum(pgsize) as bytes from dbstat where name like '%idempotency_records%'"
      : "select cast(pg_total_relation_size('idempotency_records') as integer) as bytes",
  );
  return Number(row?.['bytes']);
}

test('the idempotency record of a creation, a debit or a hold takes less than 600 bytes', async (t) => {
  await using service = await startService({ stores: [{ domain: 'flowers.example' }] });
  const token = await service.token('flowers.example');
  const post = async (path: string, json: object, key: string) => {
    const response = await service.request(path, {
      method: 'POST', token, json, headers: { 'idempotency-key': key },
    }); // prettier-ignore
    assert.equal(response.status, 201, response.text);
    return response;
  };
  const issueAndSpend = async (number: number): Promise<void> => {
    const { json } = await post('/gift_card', { initial_value: '25.00' }, `issue-${number}`);
    const { gift_card: card } = json as { readonly gift_card: { readonly id: number } };
    const order = { amount: '3.50', reference: `order ${number}` };
    await post(`/gift_card/${card.id}/debit`, order, `debit-${number}`);
    await post(`/gift_card/${card.id}/holds`, order, `hold-${number}`);
  };
  const before = await storedBytes(service);
  for (let from = 0; from < 500; from += 50)
    await Promise.all(Array.from({ length: 50 }, (_, place) => issueAndSpend(from + place)));
  const each = ((await storedBytes(service)) - before) / 1_500;
  t.diagnostic(`${each.toFixed(0)} bytes per record`);
  assert.ok(each < 600, `${each.toFixed(0)} bytes per record`);
});
