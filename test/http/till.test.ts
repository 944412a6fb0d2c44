/** The data that a till with `redeem_gift_cards` only can read. */

import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { shopOf, type Ask } from '../support/shop.ts';
import { publicIdsOf } from '../support/public-ids.ts';
import { startService } from '../support/service.ts';

const service = await startService({
  stores: [{ domain: 'flowers.example' }, { domain: 'books.example' }],
  environment: { LOOKUP_MISSES: '100000' },
});
after(() => service[Symbol.asyncDispose]());
const shop = await shopOf(service, 'flowers.example');
const till = await shop.tokenFor('redeem_gift_cards');

const secrets = {
  email: 'buyer@example.com',
  recipient_email: 'holder@example.com',
  note: 'a private note',
  message: 'a private message',
};

const seenByTill = [
  'id',
  'balance',
  'held',
  'available',
  'currency',
  'expires_on',
  'state',
  'last_characters',
].toSorted();

const seenOfBalance = seenByTill.filter((name) => name !== 'id' && name !== 'last_characters');

type Step = { readonly line: string; readonly json?: object };

/** Every request of a till on a card, in an order in which each succeeds. */
async function stepsOf(): Promise<readonly (() => Promise<Step>)[]> {
  const { id, code } = await shop.issue({ ...secrets, initial_value: 100 });
  const hold = async () => (await shop.holds(id, '5')).id;
  return [
    async () => ({ line: 'POST /gift_card/lookup', json: { code } }),
    async () => ({ line: 'POST /gift_card/redeem', json: { code, amount: 1 } }),
    async () => ({ line: `POST /gift_card/${id}/debit`, json: { amount: 1 } }),
    async () => ({ line: `POST /gift_card/${id}/debit`, json: { amount: 1000, partial: false } }),
    async () => ({ line: `POST /gift_card/${id}/holds`, json: { amount: 1 } }),
    async () => ({ line: `GET /gift_card/${id}/holds` }),
    async () => ({ line: `GET /gift_card/${id}/balance` }),
    async () => ({ line: `GET /holds/${await hold()}` }),
    async () => ({ line: `POST /holds/${await hold()}/capture`, json: { amount: 1 } }),
    async () => ({ line: `POST /holds/${await hold()}/void` }),
    async () => ({
      line: `POST /transactions/${(await shop.debits(id, '2')).id}/reverse`,
      json: { amount: 1 },
    }),
  ];
}

test('a till receives no email, note or message, in dry runs, replays and errors too', async () => {
  for (const dryRun of [false, true]) {
    for (const next of await stepsOf()) {
      const { line, json } = await next();
      const isWrite = line.startsWith('POST') && !line.endsWith('/lookup');
      if (dryRun && !isWrite) continue;
      const ask: Ask = {
        token: till,
        ...(json && { json }),
        ...(isWrite && { headers: { 'idempotency-key': `${line} ${dryRun}`.replaceAll(' ', '-') } }),
      };
      const asked = dryRun ? `${line}?dry_run=true` : line;
      for (const response of [await shop.ask(asked, ask), await shop.ask(asked, ask)]) {
        for (const secret of Object.values(secrets))
          assert.ok(!response.text.includes(secret), `${asked}: ${response.text}`);
        const { gift_card: card } = response.json as { readonly gift_card?: object };
        const seen = asked.endsWith('/balance') ? seenOfBalance : seenByTill;
        if (card) assert.deepEqual(Object.keys(card).toSorted(), seen, asked);
      }
    }
  }
});

test('a caller with read_gift_cards too receives the whole record', async () => {
  const both = await shop.tokenFor('redeem_gift_cards', 'read_gift_cards');
  const { id } = await shop.issue(secrets);
  const { text } = await shop.ask(`POST /gift_card/${id}/debit`, { json: { amount: 1 }, token: both });
  for (const secret of Object.values(secrets)) assert.ok(text.includes(secret), text);
});

test('ids near a known one, internal ids and ids of another store are a 404 for every operation of a till', async () => {
  const books = await shopOf(service, 'books.example');
  const own = await shop.issue();
  const neighbors = [await shop.issue(), await shop.issue(), await books.issue()];
  const ids = publicIdsOf(service.database.keysFile);
  const guesses = [
    ...Array.from({ length: 40 }, (_, index) => own.id + index - 20).filter((id) => id !== own.id),
    ...neighbors.flatMap(({ id }) => ids.read(id) ?? []),
    neighbors[2]?.id ?? 0,
  ];
  for (const guess of guesses) {
    for (const [line, json] of [
      [`POST /gift_card/${guess}/debit?dry_run=true`, { amount: 1 }],
      [`POST /gift_card/${guess}/holds`, { amount: 1 }],
      [`GET /gift_card/${guess}/holds`, undefined],
      [`GET /gift_card/${guess}/balance`, undefined],
      [`GET /holds/${guess}`, undefined],
      [`POST /holds/${guess}/void`, undefined],
      [`POST /transactions/${guess}/reverse`, undefined],
    ] as const) {
      const response = await shop.ask(line, { token: till, ...(json && { json }) });
      assert.equal(response.status, 404, `${line}: ${response.text}`);
    }
  }
});

test('consecutive cards and transactions have unordered ids, and their lists are in the order of creation', async () => {
  const cards = [];
  for (let index = 0; index < 12; index += 1) cards.push(await shop.issue());
  const issued = cards.map(({ id }) => id);
  assert.notDeepEqual(
    issued,
    issued.toSorted((left, right) => left - right),
  );
  const { id } = cards[0] ?? assert.fail();
  const debits = [];
  for (let index = 0; index < 12; index += 1) debits.push((await shop.debits(id, '0.10')).id);
  assert.notDeepEqual(
    debits,
    debits.toSorted((left, right) => left - right),
  );
  const listed = await shop.transactions(id);
  assert.deepEqual(
    listed.slice(0, 12).map((transaction) => transaction.id),
    debits.toReversed(),
  );
  const page = await shop.ask(`GET /gift_card/${id}/transactions?limit=5&before=${debits[8]}`);
  const { transactions } = page.json as { readonly transactions: readonly { readonly id: number }[] };
  assert.deepEqual(
    transactions.map((transaction) => transaction.id),
    debits.slice(3, 8).toReversed(),
  );
});

type Shown = {
  readonly held: string;
  readonly available: string;
  readonly state: string;
  readonly tag: string;
};

test('the balance of a card follows its holds, expiry and disabling', async () => {
  const { id } = await shop.issue({ initial_value: 20, expires_on: '2099-12-31' });
  const ask = async (): Promise<Shown> => {
    const { json, headers } = await shop.ask(`GET /gift_card/${id}/balance`, { token: till });
    return {
      ...(json as { readonly gift_card: Omit<Shown, 'tag'> }).gift_card,
      tag: headers.get('etag') ?? '',
    };
  };
  const fresh = await ask();
  const { tag, ...shown } = fresh;
  assert.deepEqual(shown, {
    balance: '20.00',
    held: '0.00',
    available: '20.00',
    currency: 'USD',
    expires_on: '2099-12-31',
    state: 'active',
  });
  assert.match(tag, new RegExp(`^"${id}-\\d{1,10}-1"$`));
  const same = await service.request(`/gift_card/${id}/balance`, {
    token: till,
    headers: { 'if-none-match': tag },
  });
  assert.deepEqual([same.status, same.text], [304, '']);

  await shop.holds(id, '5', { expires_in: 60 });
  const held = await ask();
  assert.deepEqual([held.held, held.available], ['5.00', '15.00']);
  service.clock.advance(61_000);
  const released = await shop.ask(`GET /gift_card/${id}/balance`, {
    token: till,
    headers: { 'if-none-match': held.tag },
  });
  assert.equal(released.status, 200, 'an expired hold changes the response, not the version');

  // The service can close the hold before this request.
  await shop.ask(`PUT /gift_card/${id}`, { json: { expires_on: '2020-01-01' } });
  assert.equal((await ask()).state, 'expired');
  await shop.does(`PUT /gift_card/${id}`, { json: { disable: true } }, { events: ['gift_card.disabled'] });
  assert.equal((await ask()).state, 'disabled');
});
