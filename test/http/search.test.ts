/** `GET /gift_card?last_characters=…&email=…`: what is found, what is preferred, and the budget of misses. */

import assert from 'node:assert/strict';
import test, { after } from 'node:test';
import { giftCardOf, problemOf } from '../harness/answers.ts';
import { startService, type TestAnswer } from '../harness/service.ts';
import { countEvents, shopOf, unchanged, type Shop } from '../harness/shop.ts';

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
let drawn = 0;
/** A code of the store's own with the given end. */
const codeEnding = (end: string): string => `${String((drawn += 1)).padStart(8, '0')}${end}`;

const pathOf = (last_characters: string, email: string): `/${string}` =>
  `/gift_card?${new URLSearchParams({ last_characters, email }).toString()}`;

function search(shop: Shop, last: string, email: string): Promise<TestAnswer> {
  return shop.ask(`GET ${pathOf(last, email)}`);
}

async function found(shop: Shop, last: string, email: string): Promise<number> {
  return giftCardOf(await search(shop, last, email)).id;
}

test('a card is found by its customer and by its recipient, without its code', async () => {
  const [customer, recipient] = [newAddress(), newAddress()];
  const { code, ...issued } = await flowers.issue({ email: customer, recipient_email: recipient });
  for (const address of [customer, recipient]) {
    const { card, answer } = await flowers.accepts(`GET ${pathOf(issued.last_characters, address)}`);
    assert.deepEqual(card, issued);
    assert.ok(!answer.text.includes(code));
    assert.equal(
      answer.headers.get('etag'),
      (await flowers.ask(`GET /gift_card/${issued.id}`)).headers.get('etag'),
    );
  }
  const both = newAddress();
  const one = await flowers.issue({ email: both, recipient_email: both });
  assert.equal(await found(flowers, one.last_characters, both), one.id);
});

test('neither the case of the characters nor that of the address counts, nor space around it', async () => {
  const address = newAddress();
  const { id } = await flowers.issue({ code: codeEnding('aB9z'), recipient_email: address });
  for (const last of ['ab9z', 'AB9Z', 'Ab9z']) {
    for (const email of [address, address.toUpperCase(), ` ${address} `]) {
      assert.equal(await found(flowers, last, email), id);
    }
  }
});

test('a search that finds fires no event and changes nothing', async () => {
  const address = newAddress();
  const { last_characters } = await flowers.issue({ email: address });
  await unchanged(service, () => search(flowers, last_characters, address));
});

test('a missing or malformed parameter is refused, and all of them together', async (t) => {
  const email = newAddress();
  const characters = 'must be exactly 4 letters or digits';
  const address = 'must be one valid e-mail address';
  const refused: readonly (readonly [query: string, errors: Record<string, string[]>])[] = [
    ['', { last_characters: ['is required'], email: ['is required'] }],
    ['?', { last_characters: ['is required'], email: ['is required'] }],
    ['?last_characters=abcd', { email: ['is required'] }],
    [`?email=${email}`, { last_characters: ['is required'] }],
    [`?last_characters=&email=${email}`, { last_characters: ['is required'] }],
    ['?last_characters=abcd&email=', { email: ['is required'] }],
    [`?last_characters=abc&email=${email}`, { last_characters: [characters] }],
    [`?last_characters=abcde&email=${email}`, { last_characters: [characters] }],
    [`?last_characters=ab%20d&email=${email}`, { last_characters: [characters] }],
    [`?last_characters=ab-d&email=${email}`, { last_characters: [characters] }],
    [`?last_characters=abc%25&email=${email}`, { last_characters: [characters] }],
    [`?last_characters=abc_&email=${email}`, { last_characters: [characters] }],
    [`?last_characters=abc%C3%A9&email=${email}`, { last_characters: [characters] }],
    [`?last_characters=abc%E2%84%AA&email=${email}`, { last_characters: [characters] }],
    [`?last_characters=abcd%0A&email=${email}`, { last_characters: [characters] }],
    ['?last_characters=abcd&email=ada', { email: [address] }],
    ['?last_characters=abcd&email=%25@example.com,ada@example.com', { email: [address] }],
    [`?last_characters=abcd&email=${'x'.repeat(250)}@example.com`, { email: ['must have at most 254 characters'] }],
    ['?last_characters=a&email=ada', { last_characters: [characters], email: [address] }],
  ]; // prettier-ignore
  for (const [query, errors] of refused) {
    await t.test(query.slice(0, 60) || 'no query', () =>
      flowers.refuses(`GET /gift_card${query}`, {}, { code: 'invalid-parameter', errors }),
    );
  }
});

test('of several cards a usable one comes before a disabled or expired one, then the newest', async (t) => {
  const today = Temporal.Now.plainDateISO('UTC');
  const expired = { expires_on: today.subtract({ days: 1 }).toString() };
  const issue = (email: string): Promise<{ readonly id: number }> =>
    flowers.issue({ code: codeEnding('same'), email });
  const put = (id: number, json: object): Promise<unknown> => flowers.ask(`PUT /gift_card/${id}`, { json });

  await t.test('the newest of the usable ones', async () => {
    const address = newAddress();
    await issue(address);
    await issue(address);
    const { id } = await issue(address);
    assert.equal(await found(flowers, 'same', address), id);
  });
  await t.test('a usable one before newer disabled and expired ones', async () => {
    const address = newAddress();
    const usable = await issue(address);
    await put((await issue(address)).id, { disable: true });
    await put((await issue(address)).id, expired);
    assert.equal(await found(flowers, 'same', address), usable.id);
  });
  await t.test('a newer usable one before older ones, whatever their state', async () => {
    const address = newAddress();
    await put((await issue(address)).id, { disable: true });
    const usable = await issue(address);
    assert.equal(await found(flowers, 'same', address), usable.id);
  });
  await t.test('the newest where none is usable', async () => {
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
  await t.test('an empty card is still a usable one', async () => {
    const address = newAddress();
    await issue(address);
    const empty = await issue(address);
    await put(empty.id, { balance: 0 });
    assert.equal(await found(flowers, 'same', address), empty.id);
  });
  await t.test('as customer and as recipient together', async () => {
    const address = newAddress();
    const asCustomer = await issue(address);
    const asRecipient = await flowers.issue({ code: codeEnding('same'), recipient_email: address });
    assert.equal(await found(flowers, 'same', address), asRecipient.id);
    await put(asRecipient.id, { disable: true });
    assert.equal(await found(flowers, 'same', address), asCustomer.id);
  });
});

test('a card is good through the whole of its last day in the store’s time zone', async (t) => {
  for (const [domain, timeZone] of [
    ['kiritimati.example', 'Pacific/Kiritimati'],
    ['pago-pago.example', 'Pacific/Pago_Pago'],
  ] as const) {
    await t.test(timeZone, async () => {
      const shop = await shopOf(service, domain);
      const here = (): Temporal.ZonedDateTime =>
        Temporal.Instant.fromEpochMilliseconds(service.clock.now()).toZonedDateTimeISO(timeZone);
      const address = newAddress();
      // Newer, and good until the end of the store's present day; the older one never expires.
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
      // Moving the day revives it.
      await shop.accepts(
        `PUT /gift_card/${ending.id}`,
        { json: { expires_on: here().toPlainDate().toString() } },
        { events: ['gift_card.updated expires_on'] },
      );
      assert.equal(await found(shop, 'last', address), ending.id);
    });
  }
});

const headersOf = ({ headers }: TestAnswer): readonly (readonly [string, string])[] =>
  [...headers].filter(([name]) => name !== 'date');

test('an unknown address, a wrong ending and another store’s card are the same bytes, after misses too', async () => {
  const [mine, theirs, unknown] = [newAddress(), newAddress(), newAddress()];
  await flowers.issue({ code: codeEnding('mine'), email: mine });
  await books.issue({ code: codeEnding('them'), email: theirs });
  const ask = (last: string, email: string): Promise<TestAnswer> =>
    flowers.ask(`GET ${pathOf(last, email)}`, { headers: { 'x-request-id': 'one-and-the-same' } });
  for (let round = 1; round <= 12; round += 1) {
    const answers = [await ask('them', mine), await ask('them', unknown), await ask('them', theirs)] as const;
    const [first] = answers;
    problemOf(first, { code: round <= 10 ? 'not-found' : 'too-many-misses' });
    for (const answer of answers) {
      assert.equal(answer.text, first.text);
      if (round <= 10) assert.deepEqual(headersOf(answer), headersOf(first));
    }
  }
});

test('ten misses of an address are answered, then 429 with Retry-After for the rest of the hour', async () => {
  const address = newAddress();
  const { last_characters, id } = await flowers.issue({ code: codeEnding('good'), email: address });
  const other = await shopOf(service, 'flowers.example', { scopes: ['read_gift_cards'] });
  const start = service.clock.now();
  for (let miss = 0; miss < 10; miss += 1) {
    // Hits in between do not count, neither in the budget nor against it.
    assert.equal(await found(flowers, last_characters, address), id);
    const spelled = miss % 2 === 0 ? address.toUpperCase() : ` ${address}`;
    // Two clients share one budget.
    await (miss % 3 === 0 ? other : flowers).refuses(
      `GET ${pathOf(`bad${miss}`, spelled)}`,
      {},
      { code: 'not-found' },
    );
  }
  for (const shop of [flowers, other]) {
    for (const last of ['none', last_characters]) {
      const line = `GET ${pathOf(last, address)}` as const;
      await shop.refuses(line, {}, { code: 'too-many-misses' });
      const { headers } = await shop.ask(line);
      const wait = Number(headers.get('retry-after'));
      assert.ok(wait > 3_590 && wait <= 3_600, `${wait}`);
    }
  }
  const elsewhere = newAddress();
  await flowers.refuses(`GET ${pathOf('none', elsewhere)}`, {}, { code: 'not-found' });
  await books.refuses(`GET ${pathOf('none', address)}`, {}, { code: 'not-found' });

  const { headers } = await search(flowers, 'none', address);
  service.clock.advance((Number(headers.get('retry-after')) - 2) * 1_000);
  await flowers.refuses(`GET ${pathOf('none', address)}`, {}, { code: 'too-many-misses' });
  service.clock.advance(start + 3_600_000 + 10_000 - service.clock.now());
  assert.equal(await found(flowers, last_characters, address), id);
  await flowers.refuses(`GET ${pathOf('none', address)}`, {}, { code: 'not-found' });
});

test('only misses count: what is refused for its form, its credential or its query does not', async () => {
  const address = newAddress();
  const { last_characters, id } = await flowers.issue({ email: address });
  const writer = await shopOf(service, 'flowers.example', { scopes: ['write_gift_cards'] });
  for (let count = 0; count < 12; count += 1) {
    problemOf(await search(flowers, 'bad', address), {
      code: 'invalid-parameter',
      errors: { last_characters: ['must be exactly 4 letters or digits'] },
    });
    problemOf(await search(writer, 'none', address), { code: 'insufficient-scope' });
    problemOf(await service.request(pathOf('none', address)), { code: 'unauthenticated' });
  }
  assert.equal(await found(flowers, last_characters, address), id);
});

test('a miss leaves no event, no customer and no address behind', async () => {
  const address = newAddress();
  const before = await countEvents(service);
  await flowers.refuses(`GET ${pathOf('none', address)}`, {}, { code: 'not-found' });
  assert.equal(await countEvents(service), before);
  assert.deepEqual(await service.query('select id from customers where email_key = ?', address), []);
  const misses = await service.query('select subject_digest from misses');
  assert.ok(misses.length > 0);
  assert.ok(
    misses.every(({ subject_digest: digest }) => !Buffer.from(digest as Uint8Array).includes(address)),
  );
});

test('the misses of one address in two stores cannot be told to be of one address', async () => {
  const address = newAddress();
  const digests = (await service.query('select subject_digest from misses')).length;
  for (const shop of [flowers, books]) {
    await shop.refuses(`GET ${pathOf('none', address)}`, {}, { code: 'not-found' });
  }
  const misses = await service.query(
    'select subject_digest from misses order by missed_at desc, id desc limit 2',
  );
  assert.equal((await service.query('select subject_digest from misses')).length, digests + 2);
  const [one, other] = misses.map(({ subject_digest: digest }) => Buffer.from(digest as Uint8Array));
  assert.ok(one && other && !one.equals(other));
});
