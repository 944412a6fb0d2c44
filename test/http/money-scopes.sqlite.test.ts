/** Scopes: every operation with every single scope, and with ids of another store and unknown ids. */

import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { scopes, type Scope } from '../../src/core/stores/domain/store.ts';
import { operations } from '../../src/api/index.ts';
import { withoutRequestId } from '../support/money-responses.ts';
import { shopOf, type Ask, type Shop } from '../support/shop.ts';
import { startService, type TestResponse } from '../support/service.ts';

const undoWindowMinutes = 60;
const service = await startService({
  stores: [{ domain: 'flowers.example', undoWindowMinutes }, { domain: 'books.example', undoWindowMinutes }],
}); // prettier-ignore
after(() => service[Symbol.asyncDispose]());
const shop = await shopOf(service, 'flowers.example');
const books = await shopOf(service, 'books.example');

type Scene = {
  readonly id: number;
  readonly code: string;
  readonly last: string;
  readonly debitId: number;
  readonly creditId: number;
  readonly holdId: number;
  readonly disabledId: number;
  readonly locationId: number;
};

async function scene(own: Shop): Promise<Scene> {
  const { id, code, last_characters: last } = await own.issue({ email: 'ada@example.com' });
  const { id: debitId } = await own.debits(id, '5');
  const { transaction } = await own.does(`POST /gift_card/${id}/credit`, { json: { amount: 5 } }, { events: ['gift_card.credited'] });
  const { id: holdId } = await own.holds(id, '4');
  const other = await own.issue();
  await own.does(`PUT /gift_card/${other.id}`, { json: { disable: true } }, { events: ['gift_card.disabled'] });
  const added = await own.ask('POST /locations', { json: { name: 'Harbour' } });
  const { location } = added.json as { location: { id: number } };
  return { id, code, last, debitId, creditId: transaction.id, holdId, disabledId: other.id, locationId: location.id };
} // prettier-ignore

type Case = {
  readonly operation: string;
  readonly line: (scene: Scene) => string;
  readonly json?: (scene: Scene) => object;
  /** One of these is sufficient. */
  readonly by: readonly Scope[];
};

const [read, write, redeem] = [
  'read_gift_cards',
  'write_gift_cards',
  'redeem_gift_cards',
] as const satisfies Scope[];
const amount = () => ({ amount: 1 });

/** From the requirements: a till can spend and look up, but not issue, credit, update or read histories. */
const cases: readonly Case[] = [
  { operation: 'createGiftCard', line: () => 'POST /gift_card', json: () => ({ initial_value: 5 }), by: [write] },
  { operation: 'searchGiftCard', line: ({ last }) => `GET /gift_card?last_characters=${last}&email=ada@example.com`, by: [read] },
  { operation: 'retrieveGiftCard', line: ({ id }) => `GET /gift_card/${id}`, by: [read] },
  { operation: 'createLocation', line: () => 'POST /locations', json: () => ({ name: 'Market' }), by: [write] },
  { operation: 'listLocations', line: () => 'GET /locations', by: [read] },
  { operation: 'retrieveLocation', line: ({ locationId }) => `GET /locations/${locationId}`, by: [read] },
  { operation: 'updateLocation', line: ({ locationId }) => `PUT /locations/${locationId}`, json: () => ({ name: 'Harbour' }), by: [write] },
  { operation: 'listStoreTransactions', line: () => 'GET /transactions', by: [read] },
  { operation: 'listStoreHolds', line: () => 'GET /holds', by: [read] },
  { operation: 'listGiftCards', line: () => 'GET /gift_cards', by: [read] },
  { operation: 'countGiftCards', line: () => 'GET /gift_cards/count', by: [read] },
  { operation: 'retrieveGiftCardDetails', line: ({ id }) => `GET /gift_cards/${id}`, by: [read] },
  { operation: 'updateGiftCard', line: ({ id }) => `PUT /gift_card/${id}`, json: () => ({ note: 'x' }), by: [write] },
  { operation: 'reenableGiftCard', line: ({ disabledId }) => `POST /gift_card/${disabledId}/undo`, by: [write] },
  { operation: 'suspendGiftCard', line: ({ id }) => `POST /gift_card/${id}/suspend?dry_run=true`, by: [write] },
  { operation: 'resumeGiftCard', line: ({ id }) => `POST /gift_card/${id}/resume`, by: [write] },
  { operation: 'lookUpGiftCard', line: () => 'POST /gift_card/lookup', json: ({ code }) => ({ code }), by: [read, redeem] },
  { operation: 'retrieveBalance', line: ({ id }) => `GET /gift_card/${id}/balance`, by: [read, redeem] },
  { operation: 'redeemGiftCard', line: () => 'POST /gift_card/redeem', json: ({ code }) => ({ code, amount: 1 }), by: [redeem] },
  { operation: 'debitGiftCard', line: ({ id }) => `POST /gift_card/${id}/debit`, json: amount, by: [redeem] },
  { operation: 'creditGiftCard', line: ({ id }) => `POST /gift_card/${id}/credit`, json: amount, by: [write] },
  { operation: 'createHold', line: ({ id }) => `POST /gift_card/${id}/holds`, json: amount, by: [redeem] },
  { operation: 'listHolds', line: ({ id }) => `GET /gift_card/${id}/holds`, by: [read, redeem] },
  { operation: 'retrieveHold', line: ({ holdId }) => `GET /holds/${holdId}`, by: [read, redeem] },
  { operation: 'extendHold', line: ({ holdId }) => `POST /holds/${holdId}/extend`, json: () => ({ expires_in: 900 }), by: [redeem] },
  { operation: 'captureHold', line: ({ holdId }) => `POST /holds/${holdId}/capture`, by: [redeem] },
  { operation: 'voidHold', line: ({ holdId }) => `POST /holds/${holdId}/void`, by: [redeem] },
  { operation: 'listHistory', line: ({ id }) => `GET /gift_card/${id}/history`, by: [read] },
  { operation: 'listTransactions', line: ({ id }) => `GET /gift_card/${id}/transactions`, by: [read] },
  { operation: 'retrieveTransaction', line: ({ debitId }) => `GET /transactions/${debitId}`, by: [read] },
  { operation: 'proveGiftCard', line: ({ id }) => `GET /gift_card/${id}/proof`, by: [read] },
  { operation: 'reverseTransaction', line: ({ debitId }) => `POST /transactions/${debitId}/reverse`, by: [redeem] },
  { operation: 'reverseTransaction', line: ({ creditId }) => `POST /transactions/${creditId}/reverse`, by: [write] },
]; // prettier-ignore

const askOf = ({ json }: Case, given: Scene, token: string | null): Ask => ({
  ...(json && { json: json(given) }),
  token,
});

test('every operation on cards has a case in this test', () => {
  assert.deepEqual(
    [...new Set(cases.map(({ operation }) => operation))].toSorted(),
    operations
      .filter(
        ({ path, id }) => path.startsWith('/gift_card') || cases.some(({ operation }) => operation === id),
      )
      // Operations that send email need a mail server: see test/http/emails.test.ts.
      .filter(({ path }) => !/(?:deliveries|notify|rotate_code)$/.test(path))
      .map(({ id }) => id)
      .toSorted(),
  );
});

for (const one of cases) {
  const { operation, line, by } = one;
  test(`${operation} requires ${by.join(' or ')}, and rejects requests without a token`, async (t) => {
    const given = await scene(shop);
    for (const scope of scopes.filter((name) => !by.includes(name))) {
      await t.test(`not ${scope}`, async () => {
        const ask = askOf(one, given, await shop.tokenFor(scope));
        await shop.rejects(line(given), ask, { code: 'insufficient-scope', errors: 'Forbidden' });
      });
    }
    await t.test('no token', async () => {
      await shop.rejects(line(given), askOf(one, given, null), { code: 'unauthenticated' });
    });
    await t.test('an invalid token', async () => {
      await shop.rejects(line(given), askOf(one, given, `${shop.token}x`), { code: 'unauthenticated' });
    });
    for (const scope of by) {
      await t.test(scope, async () => {
        const fresh = await scene(shop);
        const { status, text } = await shop.ask(line(fresh), askOf(one, fresh, await shop.tokenFor(scope)));
        assert.ok(status === 200 || status === 201, text);
      });
    }
  });
}

const unknown: Scene = {
  id: 9_007_199_254_740_991,
  code: 'zzzzzzzzzzzzzzzz',
  last: 'zzzz',
  debitId: 9_007_199_254_740_991,
  creditId: 9_007_199_254_740_991,
  holdId: 9_007_199_254_740_991,
  disabledId: 9_007_199_254_740_991,
  locationId: 9_007_199_254_740_991,
};

/** Operations that do not name a record. */
const ofNoRecord: ReadonlySet<string> = new Set([
  'createGiftCard',
  'listGiftCards',
  'countGiftCards',
  'listStoreTransactions',
  'listStoreHolds',
  'createLocation',
  'listLocations',
]);

for (const one of cases.filter(({ operation }) => !ofNoRecord.has(operation))) {
  const { operation, line } = one;
  test(`${operation}: a record of another store gets the same bytes as an unknown one`, async () => {
    const theirs = await scene(books);
    shop.codes.add(theirs.code);
    const responses: TestResponse[] = [];
    for (const given of [theirs, unknown]) {
      const ask = askOf(one, given, shop.token);
      responses.push(await shop.returnsError(line(given), ask, { code: 'not-found', errors: 'Not Found' }));
    }
    const [bytes, others] = responses.map(withoutRequestId);
    assert.equal(bytes, others);
    const [names, otherNames] = responses.map(({ headers }) => [...headers.keys()].join(' '));
    assert.equal(names, otherNames);
    // The store of the record finds it.
    const own = await books.ask(line(theirs), askOf(one, theirs, books.token));
    assert.ok(own.status < 300, own.text);
  });
}

test('an invalid id is a 404', async () => {
  for (const id of ['0', '-1', '1.0', 'abc', '01', '9007199254740992', '99999999999999999999', '%20', 'x'.repeat(300)]) {
    for (const line of [
      `POST /gift_card/${id}/debit`, `POST /gift_card/${id}/credit`, `POST /gift_card/${id}/holds`,
      `POST /gift_card/${id}/undo`, `GET /gift_card/${id}/holds`, `GET /gift_card/${id}/transactions`,
      `GET /holds/${id}`, `POST /holds/${id}/capture`, `POST /holds/${id}/void`, `GET /transactions/${id}`,
      `POST /transactions/${id}/reverse`,
    ]) {
      const takesAmount = /debit|credit|holds$/.test(line) && line.startsWith('POST');
      await shop.rejects(line, takesAmount ? { json: { amount: 1 } } : {}, { code: 'not-found' });
    }
  }
}); // prettier-ignore

test('another method on a known path is a 405 with the allowed methods', async () => {
  for (const [line, allow] of [
    ['GET /gift_card/1/debit', 'OPTIONS, POST'],
    ['PUT /gift_card/1/credit', 'OPTIONS, POST'],
    ['DELETE /gift_card/1/holds', 'GET, HEAD, OPTIONS, POST'],
    ['GET /holds/1/capture', 'OPTIONS, POST'],
    ['DELETE /holds/1', 'GET, HEAD, OPTIONS'],
    ['POST /transactions/1', 'GET, HEAD, OPTIONS'],
    ['POST /gift_card/1/transactions', 'GET, HEAD, OPTIONS'],
  ] as const) {
    const { headers } = await shop.returnsError(line, {}, { code: 'method-not-allowed' });
    assert.equal(headers.get('allow'), allow, line);
  }
});

test('HEAD returns the response of GET without the body', async () => {
  const { id, holdId, debitId } = await scene(shop);
  for (const path of [`/holds/${holdId}`, `/transactions/${debitId}`, `/gift_card/${id}/transactions`, `/gift_card/${id}/holds`]) {
    const [head, get] = [await service.request(path, { method: 'HEAD', token: shop.token }), await service.request(path, { token: shop.token })];
    assert.deepEqual([head.status, head.text], [200, ''], path);
    for (const name of ['etag', 'content-type', 'content-length', 'link', 'cache-control']) assert.equal(head.headers.get(name), get.headers.get(name), `${path} ${name}`);
  }
}); // prettier-ignore

test('the log and the database contain no code', async () => {
  await shop.assertNoCodeLeaked();
  await books.assertNoCodeLeaked();
});
