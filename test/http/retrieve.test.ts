/** `GET /gift_card/{gift_card_id}`. */

import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { problemOf } from '../support/responses.ts';
import { startService } from '../support/service.ts';
import { shopOf, unchanged } from '../support/shop.ts';

const service = await startService({
  stores: [{ domain: 'flowers.example' }, { domain: 'books.example' }],
});
after(() => service[Symbol.asyncDispose]());
const flowers = await shopOf(service, 'flowers.example');
const books = await shopOf(service, 'books.example');

test('a card is returned as issued, without its code, and a retrieval publishes no event', async () => {
  const { code, ...issued } = await flowers.issue({ email: 'ada@example.com', note: 'a note' });
  const { card, response } = await flowers.accepts(`GET /gift_card/${issued.id}`, {}, { events: [] });
  assert.deepEqual(card, issued);
  assert.ok(!response.text.includes(code));
  await unchanged(service, () => flowers.read(issued.id));
});

test('an invalid id of a card is a 404', async (t) => {
  const { id } = await flowers.issue();
  const ids = [
    '1', '0', '00', `0${id}`, `+${id}`, `-${id}`, `${id}.0`, `${id}e0`, `${id}x`, '1e3', '0x10', 'abc', 'NaN',
    'null', '9007199254740991', '9007199254740992', '9007199254740993', '18446744073709551617', `%20${id}`, `${id}%20`,
    `${id}%0a`, `${id}%00`, `%2b${id}`, '%E2%98%83', '٣', encodeURIComponent(`${id}/`), '..%2f', "1'--", `${id};`,
    '1'.repeat(200), '1'.repeat(1_000),
  ]; // prettier-ignore
  for (const given of ids) {
    await t.test(given.slice(0, 40), () =>
      flowers.rejects(
        `GET /gift_card/${encodeURI(decodeURI(given)).replaceAll('%25', '%')}`,
        {},
        { code: 'not-found' },
      ),
    );
  }
  await t.test('a path below a card', () =>
    flowers.rejects(`GET /gift_card/${id}/transfers`, {}, { code: 'not-found' }),
  );
  await t.test('no id at all', () => flowers.rejects('GET /gift_card/', {}, { code: 'not-found' }));
});

test('an id that is not an integer is a 404, whatever its length', () =>
  flowers.rejects(`GET /gift_card/${'1'.repeat(1_100)}`, {}, { code: 'not-found' }));

test('a card of another store gets the same bytes as an unknown one', async () => {
  const { id } = await books.issue();
  const headers = { 'x-request-id': 'same-request' };
  await unchanged(service, async () => {
    const none = await flowers.ask('GET /gift_card/244212357349', { headers });
    const others = await flowers.ask(`GET /gift_card/${id}`, { headers });
    problemOf(none, { code: 'not-found' });
    assert.equal(others.text, none.text);
    const headersOf = ({ headers: all }: typeof none): readonly (readonly [string, string])[] =>
      [...all].filter(([name]) => name !== 'date');
    assert.deepEqual(headersOf(others), headersOf(none));
  });
  assert.equal((await books.read(id)).id, id);
});
