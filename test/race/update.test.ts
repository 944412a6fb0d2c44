/** Updates of one card that race. */

import assert from 'node:assert/strict';
import { giftCardOf, problemOf } from '../support/responses.ts';
import { assertBooksAgree } from '../support/books.ts';
import { openRaceStore, race, type Processes } from '../support/race.ts';
import type { TestResponse, TestService } from '../support/service.ts';
import { shopOf } from '../support/shop.ts';

const rounds = 10;

async function openShop(processes: Processes) {
  const { service, domain } = await openRaceStore(processes);
  const shop = await shopOf(service, domain);
  const card = await shop.issue({ initial_value: '15.00' });
  return { service, shop, card };
}

async function versionOf(service: TestService, id: number): Promise<number> {
  const [row] = await service.query('select version from gift_cards where id = ?', service.internalId(id));
  return Number(row?.['version']);
}

async function adjustmentsOf(service: TestService, id: number): Promise<number> {
  const rows = await service.query(
    "select count(*) as n from transfers where card_id = ? and kind = 'adjustment'",
    service.internalId(id),
  );
  return Number(rows[0]?.['n']);
}

function statuses(responses: readonly TestResponse[]): readonly number[] {
  return responses.map(({ status }) => status).toSorted((left, right) => left - right);
}

race('one of two updates of the same version succeeds and one is rejected, every time', async (processes) => {
  const opened = await openShop(processes);
  const { service, shop, card } = opened;
  for (let round = 0; round < rounds; round += 1) {
    const { headers } = await shop.ask(`GET /gift_card/${card.id}`);
    const tag = headers.get('etag') ?? '';
    const responses = await Promise.all(
      ['left', 'right'].map((side, index) =>
        shop.ask(`PUT /gift_card/${card.id}`, {
          json: { note: `${side} ${round}`, balance: `${100 + round * 2 + index}.00` },
          headers: { 'if-match': tag },
        }),
      ),
    );
    assert.deepEqual(statuses(responses), [200, 412]);
    for (const response of responses)
      if (response.status === 412) problemOf(response, { code: 'precondition-failed' });
    const winner = responses.find(({ status }) => status === 200);
    assert.ok(winner);
    assert.deepEqual(await shop.read(card.id), giftCardOf(winner));
  }
  assert.equal(await versionOf(service, card.id), rounds + 1);
  assert.equal(await adjustmentsOf(service, card.id), rounds);
});

race(
  '100 concurrent updates of one balance all succeed, one after another, and the ledger agrees',
  async (processes) => {
    const opened = await openShop(processes);
    const { service, shop, card } = opened;
    const responses = await Promise.all(
      Array.from({ length: 100 }, (_, index) =>
        shop.ask(`PUT /gift_card/${card.id}`, { json: { balance: `${index + 100}.00` } }),
      ),
    );
    for (const response of responses) assert.equal(giftCardOf(response).id, card.id);
    assert.equal(
      new Set(responses.map(({ headers }) => headers.get('etag'))).size,
      100,
      'each created a version',
    );
    const version = await versionOf(service, card.id);
    assert.equal(version, 101);
    assert.equal(await adjustmentsOf(service, card.id), version - 1);
    const { outstanding } = await assertBooksAgree(service.environment, shop.domain);
    const { balance } = await shop.read(card.id);
    assert.equal(outstanding, BigInt(balance.replace('.', '')));
  },
);

race('100 callers with one key change a balance once', async (processes) => {
  const opened = await openShop(processes);
  const { service, shop, card } = opened;
  const responses = await Promise.all(
    Array.from({ length: 100 }, () =>
      shop.ask(`PUT /gift_card/${card.id}`, {
        json: { balance: '7.00' },
        headers: { 'idempotency-key': 'one-key' },
      }),
    ),
  );
  const done = responses.filter(({ status }) => status === 200);
  assert.ok(done.length > 0);
  assert.equal(new Set(done.map(({ text }) => text)).size, 1);
  assert.deepEqual(
    new Set(responses.map(({ status }) => status).filter((status) => status !== 200)).difference(
      new Set([409]),
    ),
    new Set(),
  );
  assert.equal(await versionOf(service, card.id), 2);
  assert.equal(await adjustmentsOf(service, card.id), 1);
});

race('a read of a card during changes sees one complete version', async (processes) => {
  const opened = await openShop(processes);
  const { shop, card } = opened;
  await shop.ask(`PUT /gift_card/${card.id}`, { json: { balance: '1.00', note: '1.00' } });
  let isDone = false;
  const seen = new Map<string, string>();
  const read = async (): Promise<void> => {
    while (!isDone) {
      const response = await shop.ask(`GET /gift_card/${card.id}`);
      const { balance, note } = giftCardOf(response);
      assert.equal(balance, note);
      const tag = response.headers.get('etag') ?? '';
      assert.equal(seen.get(tag) ?? response.text, response.text, 'one tag, one content');
      seen.set(tag, response.text);
    }
  };
  const readers = Array.from({ length: 8 }, read);
  for (let round = 2; round < 60; round += 1) {
    const amount = `${round}.00`;
    await shop.ask(`PUT /gift_card/${card.id}`, { json: { balance: amount, note: amount } });
  }
  isDone = true;
  await Promise.all(readers);
  assert.ok(seen.size > 5, `readers saw ${seen.size} versions`);
});

race(
  'a card that is disabled during changes of its balance keeps the balance at the disabling',
  async (processes) => {
    const opened = await openShop(processes);
    const { service, shop, card } = opened;
    const responses = await Promise.all(
      Array.from({ length: 80 }, (_, index) => {
        const json = index % 8 === 4 ? { disable: true } : { balance: `${index + 100}.00` };
        return shop.ask(`PUT /gift_card/${card.id}`, { json });
      }),
    );
    for (const response of responses) {
      if (response.status !== 200) {
        problemOf(response, {
          code: 'invalid-parameter',
          errors: { balance: ['cannot be changed: the card is disabled'] },
        });
      }
    }
    const disablings = responses.filter((_, index) => index % 8 === 4);
    assert.equal(new Set(disablings.map((response) => giftCardOf(response).disabled_at)).size, 1);
    assert.equal(new Set(disablings.map((response) => giftCardOf(response).balance)).size, 1);
    const changes = responses.filter((response, index) => index % 8 !== 4 && response.status === 200);
    assert.ok(changes.length < 70, 'some came too late');
    assert.equal(await adjustmentsOf(service, card.id), changes.length);
    assert.equal(await versionOf(service, card.id), changes.length + 2);
    const { balance } = await shop.read(card.id);
    const [disabled] = disablings;
    assert.ok(disabled);
    assert.equal(balance, giftCardOf(disabled).balance);
    await assertBooksAgree(service.environment, shop.domain);
  },
);
