/** Creations that race: for one idempotency key, for one new customer, for one code. */

import assert from 'node:assert/strict';
import { setTimeout as wait } from 'node:timers/promises';
import { giftCardOf, issuedGiftCardOf, problemOf } from '../support/responses.ts';
import { assertBooksAgree } from '../support/books.ts';
import { openRaceStore, race, type Processes } from '../support/race.ts';
import type { TestResponse } from '../support/service.ts';
import { shopOf, type Shop } from '../support/shop.ts';

/** The number of concurrent callers, a multiple of 20. `npm run test:soak` has more. */
const callers = Number(process.env['RACE_CALLERS'] ?? 100);

/** A store of a service that the races share, with a function that counts its rows of a table. */
async function openShop(processes: Processes) {
  const { service, domain } = await openRaceStore(processes);
  const shop = await shopOf(service, domain);
  const count = async (table: string, condition = 'true'): Promise<number> => {
    const [row] = await service.query(
      `select count(*) as n from ${table} where ${condition} and store_id = (select id from stores where domain = ?)`,
      domain,
    );
    return Number(row?.['n']);
  };
  return { service, domain, shop, count };
}

/** Repeats a request while the response says that its key is in use. */
async function untilDecided(send: () => Promise<TestResponse>): Promise<TestResponse> {
  for (let attempt = 0; attempt < 50; attempt += 1) {
    const response = await send();
    if (response.status !== 409) return response;
    // Random delays keep callers from retrying in step.
    await wait(Math.random() * 20 * (attempt + 1));
  }
  throw new Error('the key was in use all the time');
}

function at<T>(values: readonly T[], index: number): T {
  const value = values[index % values.length];
  assert.ok(value !== undefined);
  return value;
}

race('callers with one idempotency key create one card, and all get the same response', async (processes) => {
  const { shop, count } = await openShop(processes);
  const request = {
    json: { initial_value: '25.00', email: 'ann@example.com' },
    headers: { 'idempotency-key': 'one-key' },
  };
  const send = (): Promise<TestResponse> => shop.ask('POST /gift_card', request);
  const responses = await Promise.all(Array.from({ length: callers }, send));
  const created = responses.filter(({ status }) => status === 201);
  const conflicts = responses.filter(({ status }) => status === 409);
  assert.ok(created.length > 0);
  assert.equal(created.length + conflicts.length, callers);
  for (const response of conflicts) problemOf(response, { code: 'idempotency-key-in-use' });
  assert.equal(created.filter(({ headers }) => !headers.has('idempotent-replayed')).length, 1);
  const [first] = created;
  assert.ok(first);
  issuedGiftCardOf(first);

  // A few at a time: hundreds of concurrent retries would block each other.
  const retried: TestResponse[] = [];
  while (retried.length < conflicts.length)
    retried.push(...(await Promise.all(Array.from({ length: 8 }, () => untilDecided(send)))));
  for (const response of [...created, ...retried]) assert.equal(response.text, first.text);
  for (const { headers } of retried) assert.equal(headers.get('idempotent-replayed'), 'true');
  assert.deepEqual(
    await Promise.all(
      ['gift_cards', 'gift_card_codes', 'transfers', 'customers', 'idempotency_records'].map((table) =>
        count(table),
      ),
    ),
    [1, 1, 1, 1, 1],
  );
});

race('callers with ten keys create one card for each', async (processes) => {
  const { service, domain, shop, count } = await openShop(processes);
  const keys = Array.from({ length: 10 }, (_, index) => `key-${index}`);
  const responses = await Promise.all(
    Array.from({ length: callers }, async (_, index) => {
      // Two consecutive callers, at both processes, have the same key.
      const key = at(keys, Math.floor(index / 2));
      const json = { initial_value: '25.00', note: key, email: `${key}@example.com` };
      const request = { json, headers: { 'idempotency-key': key } };
      return { key, response: await untilDecided(() => shop.ask('POST /gift_card', request)) };
    }),
  );
  for (const { response } of responses) assert.equal(response.status, 201, response.text);
  for (const key of keys) {
    const ofKey = responses.filter((each) => each.key === key);
    assert.equal(ofKey.length, callers / keys.length);
    assert.equal(new Set(ofKey.map(({ response }) => response.text)).size, 1);
  }
  assert.equal(await count('gift_cards'), keys.length);
  assert.equal(await count('customers'), keys.length);
  assert.equal((await assertBooksAgree(service.environment, domain)).transfers, keys.length);
});

race(
  'one of several different requests that race for one key succeeds, and the others are rejected',
  async (processes) => {
    const { shop, count } = await openShop(processes);
    const responses = await Promise.all(
      Array.from({ length: 60 }, (_, index) =>
        shop.ask('POST /gift_card', {
          json: { initial_value: `${index + 1}.00` },
          headers: { 'idempotency-key': 'one-key' },
        }),
      ),
    );
    const created = responses.filter(({ status }) => status === 201);
    assert.equal(created.length, 1);
    for (const response of responses) {
      if (response.status === 409) problemOf(response, { code: 'idempotency-key-in-use' });
      else if (response.status !== 201) problemOf(response, { code: 'idempotency-key-reused' });
    }
    assert.equal(await count('gift_cards'), 1);
  },
);

race(
  'a rejected request with a key of many callers is rejected for all with the same text',
  async (processes) => {
    const { shop, count } = await openShop(processes);
    const send = () =>
      shop.ask('POST /gift_card', {
        json: { initial_value: '0' },
        headers: { 'idempotency-key': 'one-key' },
      });
    const responses = await Promise.all(Array.from({ length: 50 }, () => untilDecided(send)));
    assert.deepEqual(new Set(responses.map(({ status }) => status)), new Set([422]));
    assert.equal(new Set(responses.map(({ text }) => text)).size, 1);
    assert.equal(await count('gift_cards'), 0);
  },
);

race('creations with one new email address create one customer', async (processes) => {
  const { shop, count } = await openShop(processes);
  const spellings = ['ann@example.com', 'Ann@Example.com', 'ANN@EXAMPLE.COM'];
  const cards = await Promise.all(
    Array.from({ length: callers }, (_, index) => {
      const address = at(spellings, index);
      return shop.issue(index % 2 === 0 ? { email: address } : { recipient_email: address });
    }),
  );
  const ids = cards.map(({ customer_id: customer, recipient_id: recipient }) => customer ?? recipient);
  assert.equal(new Set(ids).size, 1);
  assert.notEqual(ids[0], null);
  const emails = cards.map(
    ({ customer_email: customer, recipient_email: recipient }) => customer ?? recipient,
  );
  assert.equal(new Set(emails).size, 1);
  assert.equal(new Set(cards.map(({ id }) => id)).size, callers);
  assert.equal(new Set(cards.map(({ code }) => code)).size, callers);
  assert.equal(await count('customers'), 1);
  assert.equal(await count('events', "type = 'customer.created'"), 1);
});

async function issueWithCode(shop: Shop, index: number): Promise<TestResponse> {
  const spelled = at(['OWN-CODE-1234', 'owncode1234', 'own code 1234'], index);
  return shop.ask('POST /gift_card', { json: { initial_value: '5', code: spelled, note: String(index) } });
}

race(
  'one of several creations that race for one chosen code succeeds, and the others get an error on the code',
  async (processes) => {
    const { service, domain, shop, count } = await openShop(processes);
    const responses = await Promise.all(
      Array.from({ length: 100 }, (_, index) => issueWithCode(shop, index)),
    );
    const [winner, ...others] = responses.toSorted((left, right) => left.status - right.status);
    assert.ok(winner);
    const card = issuedGiftCardOf(winner);
    assert.equal(card.code, 'owncode1234');
    for (const response of others)
      problemOf(response, { code: 'invalid-parameter', errors: { code: ['is taken'] } });
    assert.equal(others.length, 99);
    assert.equal(await count('gift_cards'), 1);
    const { code: _, ...record } = card;
    assert.deepEqual(giftCardOf(await shop.ask(`GET /gift_card/${card.id}`)), record);
    assert.equal((await assertBooksAgree(service.environment, domain)).outstanding, 500n);
  },
);
