/**
 * The client library with a real service: every write is applied once, whatever the network loses, and lists and the stream of
 * events are complete.
 *
 * `CLIENT_REQUESTS` sets the number of writes on a bad network, `CLIENT_SEED` the seed.
 */

import assert from 'node:assert/strict';
import { setTimeout as wait } from 'node:timers/promises';
import test, { after } from 'node:test';
import {
  ApiError,
  addAmounts,
  createClient,
  responseOf,
  subtractAmounts,
  type ClientOptions,
  type Largesse,
  type WebhookEvent,
} from '../../packages/client/src/index.ts';
import { openLosingGateway } from '../support/losing-gateway.ts';
import { seeded } from '../support/seeded.ts';
import { startService, type TestService } from '../support/service.ts';

const requests = Number(process.env['CLIENT_REQUESTS'] ?? 120);
const seed = Number(process.env['CLIENT_SEED'] ?? Date.now() % 2 ** 31);

const service = await startService({
  stores: ['flowers.example', 'books.example', 'tea.example', 'toys.example'].map((domain) => ({ domain })),
});
after(() => service[Symbol.asyncDispose]());

async function clientOf(
  domain: string,
  options: Partial<ClientOptions> = {},
  of: TestService = service,
): Promise<Largesse> {
  return createClient({ url: of.url, token: await of.token(domain), retry: { pauseMs: 1 }, ...options });
}

/** One caller's card, as its acknowledged requests say. */
type Account = {
  readonly id: number;
  readonly code: string;
  balance: string;
  entries: number;
  holds: { readonly id: number; readonly amount: string }[];
};

test('every write is applied once on a network that loses requests and responses', async (t) => {
  t.diagnostic(`seed ${seed} (CLIENT_SEED), ${requests} requests`);
  await using gateway = await openLosingGateway(service.url);
  const random = seeded(seed);
  let losses = 0;
  gateway.lose = () => {
    const chance = random();
    if (chance < 0.6) return 'none';
    losses += 1;
    if (chance < 0.75) return 'before';
    if (chance < 0.9) return 'after';
    // The client has given up and sent it again when this one arrives.
    return wait(150).then(() => 'after' as const);
  };
  const client = await clientOf('flowers.example', {
    url: gateway.url,
    timeoutMs: 100,
    retry: { pauseMs: 1, attemptsMax: 200 },
  });

  const work = async (count: number): Promise<Account> => {
    const { gift_card: card } = await client.cards.create({ initial_value: '5000.00' });
    const account: Account = { id: card.id, code: card.code, balance: '5000.00', entries: 1, holds: [] };
    const amountOf = (): string => `${random.between(0, 2)}.${random.between(10, 99)}`;
    for (let done = 0; done < count; done += 1) await act(client, account, random(), amountOf());
    return account;
  };
  const accounts = await Promise.all(Array.from({ length: 4 }, () => work(Math.ceil(requests / 4))));

  assert.ok(losses > requests / 4, `only ${losses} losses`);
  const direct = await clientOf('flowers.example');
  for (const { id, balance, entries, holds } of accounts) {
    const { gift_card: card } = await direct.cards.retrieveDetails(id);
    const held = addAmounts('0.00', ...holds.map(({ amount }) => amount));
    assert.deepEqual({ balance: card.balance, held: card.held }, { balance, held });
    const amounts: string[] = [];
    for await (const { amount } of direct.cards.listTransactions(id, { limit: 50 })) amounts.push(amount);
    assert.equal(amounts.length, entries);
    assert.equal(addAmounts(...amounts), balance);
    const open = await direct.cards.listHolds(id, { limit: 250 });
    const openIds = open.holds.filter(({ status }) => status === 'open').map((hold) => hold.id);
    assert.deepEqual(new Set(openIds), new Set(holds.map((hold) => hold.id)));
  }
  assert.equal((await direct.cards.count()).count, accounts.length);
});

/** One write, and what its result says about the card. */
async function act(client: Largesse, account: Account, chance: number, amount: string): Promise<void> {
  const { id, code } = account;
  const hold = account.holds.at(-1);
  const move = (change: string): void => {
    account.balance = addAmounts(account.balance, change);
    account.entries += 1;
  };
  if (chance < 0.25) {
    move((await client.cards.debit(id, { amount })).transaction.amount);
  } else if (chance < 0.45) {
    move((await client.cards.redeem({ code, amount })).transaction.amount);
  } else if (chance < 0.6) {
    const { transaction } = await client.cards.credit(id, { amount });
    move(transaction.amount);
    if (chance < 0.53) move((await client.transactions.reverse(transaction.id)).transaction.amount);
  } else if (chance < 0.8 || !hold) {
    const made = await client.cards.hold(id, { amount });
    account.holds.push({ id: made.hold.id, amount });
  } else {
    account.holds.pop();
    if (chance < 0.9) await client.holds.void(hold.id);
    else move((await client.holds.capture(hold.id)).transaction?.amount ?? '0.00');
  }
}

test('a write of another process repeats with the external id, and never moves money twice', async () => {
  const client = await clientOf('books.example');
  const { gift_card: card } = await client.cards.create({ initial_value: '20.00' });
  const payment = { code: card.code, amount: '5.00', external_id: 'payment-7' };
  const first = await client.cards.redeem(payment);
  const again = await client.cards.redeem(payment);
  assert.deepEqual([responseOf(first).status, responseOf(again).status], [201, 200]);
  assert.equal(again.transaction.id, first.transaction.id);
  await assert.rejects(client.cards.redeem({ ...payment, amount: '6.00' }), { code: 'external-id-used' });
  assert.equal((await client.cards.retrieve(card.id)).gift_card.balance, '15.00');
});

test('the client waits while it is over the limit of requests', async () => {
  await using limited = await startService({
    stores: [{ domain: 'flowers.example' }],
    environment: { RATE_LIMIT: '2/2' },
  });
  let rejected = 0;
  const client = await clientOf('flowers.example', {
    retry: { pauseMs: 1, attemptsMax: 10 },
    fetch: async (url, init) => {
      const response = await fetch(url, init);
      if (response.status === 429) rejected += 1;
      return response;
    },
  }, limited);
  const { gift_card: card } = await client.cards.create({ initial_value: '9.00' });
  await Promise.all(Array.from({ length: 3 }, () => client.cards.debit(card.id, { amount: '1.00' })));
  assert.ok(rejected > 0);
  assert.deepEqual(
    (await limited.query('select balance from gift_cards')).map(({ balance }) => Number(balance)),
    [600],
  );
}); // prettier-ignore

test('the client waits for a service that restarts', async () => {
  await using gateway = await openLosingGateway('http://127.0.0.1:9');
  const client = await clientOf('books.example', { url: gateway.url, retry: { pauseMs: 20 } });
  setTimeout(() => (gateway.target = service.url), 100);
  const { gift_card: card } = await client.cards.create(
    { initial_value: '1.00' },
    { idempotencyKey: 'restart' },
  );
  const same = await client.cards.create({ initial_value: '1.00' }, { idempotencyKey: 'restart' });
  assert.equal(responseOf(same).isReplayed, true);
  assert.equal(same.gift_card.code, card.code);
});

test('a list returns every record of all pages, newest first', async () => {
  const client = await clientOf('tea.example');
  const ids: number[] = [];
  for (let count = 0; count < 7; count += 1)
    ids.push((await client.cards.create({ initial_value: `${count + 1}.00` })).gift_card.id);
  const listed: number[] = [];
  for await (const { id } of client.cards.list({ limit: 3 })) listed.push(id);
  assert.deepEqual(listed, ids.toReversed());
  const values: (string | undefined)[] = [];
  for await (const card of client.cards.list({ limit: 2, sort: 'balance', fields: 'balance' })) values.push(card.balance);
  assert.deepEqual(values, ids.map((_, index) => `${index + 1}.00`));

  const [id = 0] = ids;
  for (let count = 0; count < 4; count += 1) await client.cards.debit(id, { amount: '0.10' });
  const balances: string[] = [];
  for await (const one of client.cards.listTransactions(id, { limit: 2 })) balances.push(one.balance_after);
  assert.deepEqual(balances, ['0.60', '0.70', '0.80', '0.90', '1.00']);
  assert.equal(subtractAmounts(balances[4] ?? '', balances[0] ?? ''), '0.40');

  const { batch } = await client.batches.create({ count: 5, initial_value: '1.00' });
  while ((await client.batches.retrieve(batch.id)).batch.state !== 'complete') await wait(10);
  const places: number[] = [];
  for await (const { index } of client.batches.listCards(batch.id, { limit: 2 })) places.push(index);
  assert.deepEqual(places, [0, 1, 2, 3, 4]);

  // The list of events ends at the newest one, whose page has a link to later ones.
  const types: string[] = [];
  for await (const { type } of client.events.list({ limit: 4 })) types.push(type);
  assert.equal(types.length, 17);
}); // prettier-ignore

/** Cuts each response of the stream after some bytes, in the middle of a line or not. */
function cutting(random: ReturnType<typeof seeded>): {
  readonly fetch: typeof fetch;
  readonly cuts: () => number;
} {
  let cuts = 0;
  return {
    cuts: () => cuts,
    fetch: async (url, init) => {
      const response = await fetch(url, init);
      if (!response.body || !response.url.includes('/events/stream')) return response;
      let left = random.between(0, 3_000);
      const reader: ReadableStreamDefaultReader<Uint8Array> = response.body.getReader();
      const body = new ReadableStream({
        async pull(controller) {
          const read = await reader.read();
          if (read.done) return controller.close();
          const part = read.value.subarray(0, left);
          left -= part.length;
          if (part.length > 0) controller.enqueue(part);
          if (left > 0) return;
          cuts += 1;
          await reader.cancel();
          if (random() < 0.5) controller.close();
          else controller.error(new TypeError('terminated'));
        },
        cancel: (reason) => reader.cancel(reason),
      });
      return new Response(body, { status: response.status, headers: response.headers });
    },
  };
}

test('a stream that is cut again and again returns every event once, from the first of a store', async (t) => {
  t.diagnostic(`seed ${seed} (CLIENT_SEED)`);
  const { fetch: cut, cuts } = cutting(seeded(seed));
  const client = await clientOf('toys.example', { fetch: cut });
  const received: WebhookEvent[] = [];
  const stop = new AbortController();
  const reading = (async () => {
    for await (const event of client.events.stream(undefined, { signal: stop.signal })) received.push(event);
  })();
  // The stream has started before the first event, in a store that has none.
  await wait(200);
  const direct = await clientOf('toys.example');
  const { gift_card: card } = await direct.cards.create({ initial_value: '50.00' });
  for (let count = 0; count < 25; count += 1) {
    await direct.cards.debit(card.id, { amount: '1.00' });
    await wait(count % 5);
  }
  for (let look = 0; received.length < 26 && look < 2_000; look += 1) await wait(10);
  stop.abort(new Error('enough'));
  await assert.rejects(reading, /enough/);

  const expected: number[] = [];
  for await (const { id } of direct.events.list()) expected.push(id);
  assert.deepEqual(received.map(({ id }) => id), expected);
  assert.ok(cuts() > 2, `only ${cuts()} cuts`);
  const spent = received.flatMap(({ type, data }) => (type === 'gift_card.redeemed' ? [data.transaction?.amount] : []));
  assert.equal(spent.length, 25);

  // From an event on, and ended by the reader.
  const later: number[] = [];
  for await (const { id } of direct.events.stream({ after: expected[20] ?? 0 })) if (later.push(id) === 5) break;
  assert.deepEqual(later, expected.slice(21));
}); // prettier-ignore

test('a stream ends with the error of a token that may not read it', async () => {
  const token = await service.token('toys.example', ['read_gift_cards']);
  const client = createClient({ url: service.url, token });
  await assert.rejects(async () => {
    for await (const event of client.events.stream({ after: 1 })) assert.fail(event.type);
  }, (error) => error instanceof ApiError && error.code === 'insufficient-scope'); // prettier-ignore
});
