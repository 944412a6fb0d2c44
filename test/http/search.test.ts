/** `GET /gift_card?last_characters=…&email=…`: which card is found, and the budget of failed lookups. */

import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { giftCardOf, problemOf } from '../support/responses.ts';
import { startService, type TestResponse } from '../support/service.ts';
import { countEvents, shopOf, unchanged, type Shop } from '../support/shop.ts';

const service = await startService({
  stores: [
    { domain: 'flowers.example' },
    { domain: 'books.example' },
    { domain: 'kiritimati.example', timeZone: 'Pacific/Kiritimati' },
    { domain: 'pago-pago.example', timeZone: 'Pacific/Pago_Pago' },
  ],
});
after(() => service[Symbol.asyncDispose]());
const flowers = await shopOf(service, 'flowers.example');
const books = await shopOf(service, 'books.example');

let made = 0;
const newAddress = (): string => `searched-${(made += 1)}@example.com`;
let lastNumber = 0;
/** Returns a new code with this ending. */
const codeEnding = (end: string): string => `${String((lastNumber += 1)).padStart(8, '0')}${end}`;

const pathOf = (last_characters: string, email: string): `/${string}` =>
  `/gift_card?${new URLSearchParams({ last_characters, email }).toString()}`;

function search(shop: Shop, last: string, email: string): Promise<TestResponse> {
  return shop.ask(`GET ${pathOf(last, email)}`);
}

async function found(shop: Shop, last: string, email: string): Promise<number> {
  return giftCardOf(await search(shop, last, email)).id;
}

test('a search finds a card by its customer or recipient, and does not return its code', async () => {
  const [customer, recipient] = [newAddress(), newAddress()];
  const { code, ...issued } = await flowers.issue({ email: customer, recipient_email: recipient });
  for (const address of [customer, recipient]) {
    const { card, response } = await flowers.accepts(`GET ${pathOf(issued.last_characters, address)}`);
    assert.deepEqual(card, issued);
    assert.ok(!response.text.includes(code));
    assert.equal(
      response.headers.get('etag'),
      (await flowers.ask(`GET /gift_card/${issued.id}`)).headers.get('etag'),
    );
  }
  const both = newAddress();
  const one = await flowers.issue({ email: both, recipient_email: both });
  assert.equal(await found(flowers, one.last_characters, both), one.id);
});

test('a search ignores case and surrounding space in the characters and the email', async () => {
  const address = newAddress();
  const { id } = await flowers.issue({ code: codeEnding('aB9z'), recipient_email: address });
  for (const last of ['ab9z', 'AB9Z', 'Ab9z']) {
    for (const email of [address, address.toUpperCase(), ` ${address} `]) {
      assert.equal(await found(flowers, last, email), id);
    }
  }
});

test('a successful search publishes no event and changes nothing', async () => {
  const address = newAddress();
  const { last_characters } = await flowers.issue({ email: address });
  await unchanged(service, () => search(flowers, last_characters, address));
});

test('all missing and malformed parameters are rejected together', async (t) => {
  const email = newAddress();
  const characters = 'must be exactly 4 letters or digits';
  const address = 'must be one valid email address';
  const rejected: readonly (readonly [query: string, errors: Record<string, string[]>])[] = [
    ['', { last_characters: ['is required'], email: ['is required'] }],
    ['?', { last_characters: ['is required'], email: ['is required'] }],
    ['?last_characters=abcd', { email: ['is required'] }],
    [`?email=${email}`, { last_characters: ['is required'] }],
    [`?last_characters=&email=${email}`, { last_characters: ['is required'] }],
    ['?last_characters=abcd&email=', { email: ['is required'] }],
    [`?last_characters=abc&email=${email}`, { last_characters: [characters] }],
    [`?last_characters=abcde&email=${email}`, { last_characters: [characters] }],
    [`?last_characters=ab%20d&email=${email}`, { last_characters: [characters] }],
    [`?last_characters=abc%25&email=${email}`, { last_characters: [characters] }],
    [`?last_characters=abc%C3%B1&email=${email}`, { last_characters: [characters] }],
    [`?last_characters=abcd%E2%84%AA&email=${email}`, { last_characters: [characters] }],
    ['?last_characters=abcd&email=ada', { email: [address] }],
    ['?last_characters=abcd&email=%25@example.com,ada@example.com', { email: [address] }],
    [`?last_characters=abcd&email=${'x'.repeat(250)}@example.com`, { email: ['must have at most 254 characters'] }],
    ['?last_characters=a&email=ada', { last_characters: [characters], email: [address] }],
  ]; // prettier-ignore
  for (const [query, errors] of rejected) {
    await t.test(query.slice(0, 60) || 'no query', () =>
      flowers.rejects(`GET /gift_card${query}`, {}, { code: 'invalid-parameter', errors }),
    );
  }
});

test('a search prefers usable cards to disabled and expired ones, then the newest', async (t) => {
  const today = Temporal.Now.plainDateISO('UTC');
  const expired = { expires_on: today.subtract({ days: 1 }).toString() };
  const issue = (email: string): Promise<{ readonly id: number }> =>
    flowers.issue({ code: codeEnding('same'), email });
  const put = (id: number, json: object): Promise<unknown> => flowers.ask(`PUT /gift_card/${id}`, { json });

  await t.test('the newest usable card', async () => {
    const address = newAddress();
    await issue(address);
    await issue(address);
    const { id } = await issue(address);
    assert.equal(await found(flowers, 'same', address), id);
  });
  await t.test('a usable card before newer disabled and expired ones', async () => {
    const address = newAddress();
    const usable = await issue(address);
    await put((await issue(address)).id, { disable: true });
    await put((await issue(address)).id, expired);
    assert.equal(await found(flowers, 'same', address), usable.id);
  });
  await t.test('a newer usable card before older ones in any state', async () => {
    const address = newAddress();
    await put((await issue(address)).id, { disable: true });
    const usable = await issue(address);
    assert.equal(await found(flowers, 'same', address), usable.id);
  });
  await t.test('the newest card if none is usable', async () => {
    const address = newAddress();
    await put((await issue(address)).id, expired);
    const newest = await issue(address);
    await put(newest.id, { disable: true });
    assert.equal(await found(flowers, 'same', address), newest.id);
    const other = newAddress();
    await put((await issue(other)).id, { disable: true });
    const last = await issue(other);
    await put(last.id, expired);
    assert.equal(await found(flowers, 'same', other), last.id);
  });
  await t.test('an empty card is usable', async () => {
    const address = newAddress();
    await issue(address);
    const empty = await issue(address);
    await put(empty.id, { balance: 0 });
    assert.equal(await found(flowers, 'same', address), empty.id);
  });
  await t.test('a card with the email as customer and recipient', async () => {
    const address = newAddress();
    const asCustomer = await issue(address);
    const asRecipient = await flowers.issue({ code: codeEnding('same'), recipient_email: address });
    assert.equal(await found(flowers, 'same', address), asRecipient.id);
    await put(asRecipient.id, { disable: true });
    assert.equal(await found(flowers, 'same', address), asCustomer.id);
  });
});

test('a card is usable until the end of its last day in the store’s time zone', async (t) => {
  for (const [domain, timeZone] of [
    ['kiritimati.example', 'Pacific/Kiritimati'],
    ['pago-pago.example', 'Pacific/Pago_Pago'],
  ] as const) {
    await t.test(timeZone, async () => {
      const shop = await shopOf(service, domain);
      const here = (): Temporal.ZonedDateTime =>
        Temporal.Instant.fromEpochMilliseconds(service.clock.now()).toZonedDateTimeISO(timeZone);
      const address = newAddress();
      // This card is newer and usable until the end of the store's current day. The older one never expires.
      const everGood = await shop.issue({ code: codeEnding('last'), email: address });
      const lastDay = here().toPlainDate().add({ days: 1 });
      const ending = await shop.issue({
        code: codeEnding('last'),
        email: address,
        expires_on: lastDay.toString(),
      });
      const endOfDay = lastDay.add({ days: 1 }).toZonedDateTime(timeZone).epochMilliseconds;
      service.clock.advance(endOfDay - 5_000 - service.clock.now());
      assert.equal(here().toPlainDate().toString(), lastDay.toString());
      assert.equal(await found(shop, 'last', address), ending.id);
      service.clock.advance(endOfDay + 1 - service.clock.now());
      assert.equal(await found(shop, 'last', address), everGood.id);
      const { disabled_at, expires_on } = await shop.read(ending.id);
      assert.deepEqual([disabled_at, expires_on], [null, lastDay.toString()]);
      // A later day makes the card usable again.
      await shop.accepts(
        `PUT /gift_card/${ending.id}`,
        { json: { expires_on: here().toPlainDate().toString() } },
        { events: ['gift_card.updated expires_on'] },
      );
      assert.equal(await found(shop, 'last', address), ending.id);
    });
  }
});

const headersOf = ({ headers }: TestResponse): readonly (readonly [string, string])[] =>
  [...headers].filter(([name]) => name !== 'date');

test('an unknown email, a wrong ending and a card of another store get the same bytes', async () => {
  const [mine, theirs, unknown] = [newAddress(), newAddress(), newAddress()];
  await flowers.issue({ code: codeEnding('mine'), email: mine });
  await books.issue({ code: codeEnding('them'), email: theirs });
  const ask = (last: string, email: string): Promise<TestResponse> =>
    flowers.ask(`GET ${pathOf(last, email)}`, { headers: { 'x-request-id': 'one-and-the-same' } });
  const responses = [await ask('them', mine), await ask('them', unknown), await ask('them', theirs)] as const;
  const [first] = responses;
  problemOf(first, { code: 'not-found' });
  for (const response of responses) {
    assert.equal(response.text, first.text);
    assert.deepEqual(headersOf(response), headersOf(first));
  }
});

test('a failed search stores no event, customer or email', async () => {
  const address = newAddress();
  const before = await countEvents(service);
  await flowers.rejects(`GET ${pathOf('none', address)}`, {}, { code: 'not-found' });
  assert.equal(await countEvents(service), before);
  assert.deepEqual(await service.query('select id from customers where email_key = ?', address), []);
  const rows = await service.query('select caller from lookup_throttle');
  assert.ok(rows.length > 0);
  assert.ok(rows.every(({ caller }) => /^token:\d+$/.test(String(caller))));
});
